"""A run folder: where an experiment's stages meet, so that each can be killed, rerun or looked at alone.

::

    runs/aeroliths-quick-1/
      config.yaml           what was run
      records/NNNNNN.parquet    games, one shard after another
      checkpoints/NNNNNN.safetensors, NNNNNN.json    weights, and the card that says what they are
      metrics/metrics.jsonl and TensorBoard's events
      ratings.json          how strong it got

Every file is written whole; TensorBoard's own event files alone are appended to.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trilithon.core.errors import ConfigError
from trilithon.core.files import write_whole
from trilithon.core.record import GameRecord, write_records

RUNS = Path("runs")
_LOCK = ".lock"


class RunFolder:
    """One experiment's folder; `create` makes a new one, `open` takes one that exists."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._metrics: list[dict[str, Any]] | None = None
        self._board: Any = None

    @classmethod
    def create(cls, name: str, out: str | os.PathLike[str] | None = None) -> "RunFolder":
        """Make ``runs/<name>-<n>`` with the next free n, or `out`, which must be new or empty."""
        if out is not None:
            return cls._create_at(Path(out))
        number = 1
        while True:
            path = RUNS / f"{name}-{number}"
            try:
                path.mkdir(parents=True)
                return cls(path)
            except FileExistsError:
                number += 1
            except OSError as error:
                raise ConfigError(f"cannot make the run folder {str(path)!r}: {error.strerror or error}") from None

    @staticmethod
    def check_new(path: str | os.PathLike[str]) -> None:
        """Raise `ConfigError` where `path` is taken by something else than an empty folder; make nothing."""
        path = Path(path)
        try:
            used = path.exists() and (not path.is_dir() or any(entry.name != _LOCK for entry in path.iterdir()))
        except OSError as error:
            raise ConfigError(f"cannot use {str(path)!r}: {error.strerror or error}") from None
        if used:
            what = "is not empty" if path.is_dir() else "is a file"
            raise ConfigError(f"the folder {str(path)!r} {what}; name a new folder, or remove what is there")

    @classmethod
    def _create_at(cls, path: Path) -> "RunFolder":
        cls.check_new(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot make the folder {str(path)!r}: {error.strerror or error}") from None
        return cls(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "RunFolder":
        """Take an existing run folder; `ConfigError` where there is none."""
        if not (Path(path) / "config.yaml").is_file():
            raise ConfigError(f"{str(path)!r} is not a run folder: it has no config.yaml")
        return cls(path)

    # ------------------------------------------------------------------------------------------------------- places

    @property
    def config(self) -> Path:
        """The config's file."""
        return self.path / "config.yaml"

    @property
    def records(self) -> Path:
        """The folder of record shards."""
        return self.path / "records"

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints."""
        return self.path / "checkpoints"

    @property
    def metrics(self) -> Path:
        """The folder of curves."""
        return self.path / "metrics"

    @property
    def ratings(self) -> Path:
        """The ratings' file."""
        return self.path / "ratings.json"

    # --------------------------------------------------------------------------------------------------------- lock

    @contextmanager
    def lock(self) -> Iterator["RunFolder"]:
        """Keep other processes out of the folder; the system drops the lock when this process ends, however it does.

        Raises `ConfigError`, which names the other process, where the folder is taken.
        """
        try:
            descriptor = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise ConfigError(f"cannot use the folder {str(self.path)!r}: {error.strerror or error}") from None
        try:
            if not _try_lock(descriptor):
                holder = os.read(descriptor, 20).decode("ascii", "replace").strip() or "unknown"
                raise ConfigError(
                    f"the folder {str(self.path)!r} is in use by process {holder}; wait for it, or use another folder"
                )
            os.truncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())
            yield self
        finally:
            os.close(descriptor)  # and with it the lock

    # ------------------------------------------------------------------------------------------------------ records

    def shards(self) -> list[Path]:
        """The record shards, oldest first."""
        return sorted(path for path in self.records.glob("*.parquet") if re.fullmatch(r"\d{6}", path.stem))

    def write_shard(self, records: Iterable[GameRecord], number: int | None = None) -> Path:
        """Write games as shard `number` (the next free one where None) and return its path."""
        shards = self.shards()
        if number is None:
            number = int(shards[-1].stem) + 1 if shards else 0
        return write_records(self.records / f"{number:06d}.parquet", records)

    # -------------------------------------------------------------------------------------------------- checkpoints

    def whole_checkpoints(self) -> list[Path]:
        """The ``.safetensors`` files that have their card beside them, newest first."""
        paths = [path for path in self.checkpoints.glob("*.safetensors") if re.fullmatch(r"\d{6,}", path.stem)]
        return sorted((p for p in paths if p.with_suffix(".json").is_file()), key=lambda p: int(p.stem), reverse=True)

    def newest_checkpoint(self) -> Path | None:
        """The newest whole checkpoint, None where there is none."""
        return next(iter(self.whole_checkpoints()), None)

    # ------------------------------------------------------------------------------------------------------ metrics

    def read_metrics(self) -> list[dict[str, Any]]:
        """The rows written so far."""
        if self._metrics is None:
            path = self.metrics / "metrics.jsonl"
            try:
                lines = path.read_text("utf-8").splitlines() if path.is_file() else []
                self._metrics = [dict(json.loads(line)) for line in lines]
            except (ValueError, TypeError, OSError):
                raise ConfigError(f"{str(path)!r} is damaged: not one JSON object a line") from None
        return self._metrics

    def add_metrics(self, step: int, values: Mapping[str, float], board: bool = True) -> None:
        """Add the row of `step`, and of no step twice: after a resume, rows from `step` on are written anew.

        With `board` the values also go to TensorBoard (which imports torch).
        """
        row = {"step": step, **values}
        self._metrics = [old for old in self.read_metrics() if old.get("step", -1) < step] + [row]
        text = "".join(json.dumps(old, separators=(",", ":")) + "\n" for old in self._metrics)
        write_whole(self.metrics / "metrics.jsonl", text)
        if board:
            writer = self._writer(step)
            for name, value in values.items():
                if isinstance(value, int | float):
                    writer.add_scalar(name, value, step)
            writer.flush()

    def _writer(self, step: int) -> Any:
        """TensorBoard's writer; rows of an interrupted run from `step` on are hidden by `purge_step`."""
        if self._board is None:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(self.metrics), purge_step=step)
        return self._board

    def close(self) -> None:
        """Close TensorBoard's writer."""
        if self._board is not None:
            self._board.close()
            self._board = None

    # ------------------------------------------------------------------------------------------------------ ratings

    def write_ratings(self, content: Mapping[str, Any]) -> Path:
        """Write the ratings as one JSON object."""
        return write_whole(self.ratings, json.dumps(content, indent=1) + "\n")


def _try_lock(descriptor: int) -> bool:
    """Lock an open file for this process, or say that another has it."""
    try:
        import fcntl
    except ImportError:  # Windows
        return _try_lock_windows(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _try_lock_windows(descriptor: int) -> bool:
    import msvcrt

    try:
        # A byte far behind the text, so that the holder's number can still be read.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    except OSError:
        return False
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)
    return True
