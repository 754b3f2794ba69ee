"""Game records: a setup and the steps that were played, chance included; read, written, replayed, verified.

One schema, two files: JSON lines (one game a line) and Parquet (one row a game). A record holds no position that
replaying does not give; `states` and `legal` may be stored for other programs and are then checked by `verify`.
"""

import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trilithon.core.errors import RecordError, TrilithonError
from trilithon.core.files import write_whole
from trilithon.core.game import Game, State
from trilithon.core.registry import load_game

if TYPE_CHECKING:
    import polars

VERSION = 1
MAX_LINE_BYTES = 64_000_000
_REQUIRED = ("game", "config", "setup", "steps", "returns")
_OPTIONAL = ("version", "states", "legal", "agents", "seed", "timed_out", "analysis", "tags")


@dataclass
class GameRecord:
    """One game: `config` are the game's options, `steps` ``[[player, action], ...]`` with chance as -1."""

    game: str
    config: dict[str, Any]
    setup: dict[str, Any]
    steps: list[list[int]]
    returns: list[float]
    agents: list[str] | None = None  # specs by seat
    seed: int | None = None
    timed_out: list[int] | None = None  # steps played at random for a player whose time ran out
    analysis: list[Any] | None = None  # per step: what the agent thought, or null
    tags: dict[str, Any] | None = None
    states: list[Any] | None = field(default=None, repr=False)
    legal: list[list[int]] | None = field(default=None, repr=False)
    version: int = VERSION

    @classmethod
    def from_state(cls, state: State, **fields: Any) -> "GameRecord":
        """Return the record of a state's game up to now."""
        steps = [[int(p), int(a)] for p, a in state.history()]  # type: ignore[arg-type]
        options = dict(state.game.options)
        return cls(state.game.name, options, state.setup(), steps, state.returns().tolist(), **fields)

    @classmethod
    def from_dict(cls, content: Any) -> "GameRecord":
        """Check the shape of a record's object; `RecordError` names the field."""
        if not isinstance(content, Mapping):
            raise RecordError(f"a record is an object with {', '.join(_REQUIRED)}, not {content!r:.40}")
        missing = [name for name in _REQUIRED if name not in content]
        unknown = [name for name in content if name not in _REQUIRED + _OPTIONAL]
        if missing or unknown:
            what = f"lacks {missing[0]!r}" if missing else f"has an unknown field {unknown[0]!r:.40}"
            raise RecordError(f"a record {what}; fields: {', '.join(_REQUIRED + _OPTIONAL)}")
        version = content.get("version", VERSION)
        if type(version) is not int or version != VERSION:
            raise RecordError(f"record version {version!r:.20} is not known; this program reads version {VERSION}")
        _check_shapes(content)
        return cls(**{str(name): value for name, value in content.items()})

    @classmethod
    def from_json(cls, line: str | bytes) -> "GameRecord":
        """Read one JSON line."""
        if len(line) > MAX_LINE_BYTES:
            raise RecordError(f"a record's line may hold {MAX_LINE_BYTES} bytes, not {len(line)}")
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RecordError(f"a record's line is not JSON: {str(error).splitlines()[0]:.80}") from None
        return cls.from_dict(content)

    def to_dict(self, states: bool = False, legal: bool = False) -> dict[str, Any]:
        """Return the record as an object; `states` and `legal` are made by replaying where asked for."""
        content: dict[str, Any] = {"version": self.version}
        content |= {name: getattr(self, name) for name in _REQUIRED[:4]}
        if states or legal:
            seen_states, seen_legal = [], []
            for state, before in self._walk():
                seen_states.append(state.to_dict())
                seen_legal.append(before)
            content |= {"states": seen_states} if states else {}
            content |= {"legal": seen_legal} if legal else {}
        content["returns"] = self.returns
        for name in ("agents", "seed", "timed_out", "analysis", "tags"):
            if getattr(self, name) is not None:
                content[name] = getattr(self, name)
        return content

    def to_json(self, states: bool = False, legal: bool = False) -> str:
        """Return the record as one JSON line (without the line break)."""
        return json.dumps(self.to_dict(states, legal), separators=(",", ":"), allow_nan=False)

    def load_game(self) -> Game:
        """Return the game with the record's options."""
        return load_game(self.game, **self.config)

    def initial_state(self) -> State:
        """Return the state before the first step."""
        return self.load_game().from_setup(self.setup)

    def _walk(self) -> Iterator[tuple[State, list[int]]]:
        """Yield after each step the state (one object, moving on) and what was legal before the step."""
        state = self.initial_state()
        for number, (player, action) in enumerate(self.steps):
            legal = state.legal_actions()
            if player != state.current_player():
                raise RecordError(
                    f"step {number}: player {player} cannot act, it is the turn of {state.current_player()}"
                )
            try:
                state.apply_action(action)
            except TrilithonError as error:
                raise RecordError(f"step {number}: {error}") from None
            yield state, legal

    def replay(self) -> State:
        """Return the state after the last step; `RecordError` names the step that does not fit."""
        walked = [state for state, _ in self._walk()]
        return walked[-1] if walked else self.initial_state()

    def verify(self) -> State:
        """Replay and compare everything stored (states, legal actions, returns); return the last state."""
        try:
            state = self.initial_state()
        except RecordError:
            raise
        except TrilithonError as error:
            raise RecordError(f"setup: {error}") from None
        for number, (after, legal) in enumerate(self._walk()):
            state = after
            if self.legal is not None and self.legal[number] != legal:
                raise RecordError(f"step {number}: the stored legal actions differ from the rules'")
            if self.states is not None and self.states[number] != state.to_dict():
                raise RecordError(f"step {number}: the stored state differs from the rules'")
        expected = state.returns().tolist()
        if len(self.returns) != len(expected) or any(
            not math.isclose(a, b, abs_tol=1e-9) for a, b in zip(self.returns, expected)
        ):
            last = len(self.steps) - 1
            raise RecordError(f"step {last}: the stored returns {self.returns!r:.60} are not {expected}")
        return state


def _check_shapes(content: Mapping[str, Any]) -> None:
    """Types and lengths of a record's fields; what they mean is checked by replaying."""
    n = len(content["steps"]) if isinstance(content["steps"], list) else -1
    tests = {
        "game": isinstance(content["game"], str),
        "config": isinstance(content["config"], dict),
        "setup": isinstance(content["setup"], dict),
        "steps": n >= 0
        and all(isinstance(s, list) and len(s) == 2 and all(type(v) is int for v in s) for s in content["steps"]),
        "returns": isinstance(content["returns"], list) and all(map(_is_finite, content["returns"])),
        "agents": _optional(content, "agents", lambda v: isinstance(v, list) and all(isinstance(a, str) for a in v)),
        "seed": _optional(content, "seed", lambda v: type(v) is int),
        "timed_out": _optional(content, "timed_out", lambda v: isinstance(v, list) and all(type(i) is int for i in v)),
        "tags": _optional(content, "tags", lambda v: isinstance(v, dict)),
    }
    for name in ("states", "legal", "analysis"):
        tests[name] = _optional(content, name, lambda v: isinstance(v, list) and len(v) == n)
    for name, right in tests.items():
        if not right:
            raise RecordError(f"a record's {name} = {content.get(name)!r:.60} has the wrong type or length")


def _is_finite(value: Any) -> bool:
    """Whether this is a number that a float can hold (JSON's may be of any size, and NaN)."""
    return type(value) in (int, float) and -1e300 < value < 1e300


def _optional(content: Mapping[str, Any], name: str, test: Any) -> bool:
    return content.get(name) is None or bool(test(content[name]))


# -------------------------------------------------------------------------------------------------------------- files


def write_records(path: str | Path, records: Iterable[GameRecord]) -> Path:
    """Write a whole file of records: Parquet or, with any other ending, JSON lines."""
    path = Path(path)
    if path.suffix == ".parquet":
        return write_whole(path, _to_parquet(records))
    return write_whole(path, "".join(record.to_json() + "\n" for record in records))


def read_records(path: str | Path) -> list[GameRecord]:
    """Read a file of records, or a folder of Parquet shards in order; `RecordError` names file and line or row."""
    path = Path(path)
    if path.is_dir():
        return [record for shard in sorted(path.glob("*.parquet")) for record in read_records(shard)]
    if not path.is_file():
        raise RecordError(f"{str(path)!r}: there is no such record file")
    records: list[GameRecord] = []
    try:
        rows: Iterable[Any]
        if path.suffix == ".parquet":
            rows = (_from_row(row) for row in _read_parquet(path).iter_rows(named=True))
        else:
            rows = (GameRecord.from_json(line) for line in path.read_text("utf-8").split("\n") if line.strip())
        records.extend(rows)
        return records
    except UnicodeDecodeError:
        raise RecordError(f"{str(path)!r}: not a UTF-8 text") from None
    except RecordError as error:
        raise RecordError(f"{str(path)!r}, game {len(records) + 1}: {error}") from None


def scan(folder: str | Path) -> "polars.DataFrame":
    """Return a folder of Parquet shards (or one shard) as a polars frame, one row a game."""
    import polars

    path = Path(folder)
    shards = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not shards:
        raise RecordError(f"{str(path)!r}: there are no Parquet shards")
    return polars.concat([_read_parquet(shard) for shard in shards])


def _schema(old: bool = False) -> dict[str, Any]:
    """Columns of a shard. Setup, config and tags differ by game, so they are JSON texts; the rest is nested.

    `old`: as files were written before an analysis could be stored whole.
    """
    import polars as pl

    fields: dict[str, Any] = {
        "player": pl.Int8,
        "action": pl.Int32,
        "values": pl.List(pl.Float64),
        "actions": pl.List(pl.Int32),
        "weights": pl.List(pl.Float32),
        "visits": pl.List(pl.Int32),
        "nodes": pl.Int64,
    }
    if not old:
        fields |= {
            "qvalues": pl.List(pl.List(pl.Float64)),
            "proven": pl.List(pl.Int8),
            "principal_variation": pl.List(pl.Int32),
            "seconds": pl.Float64,
            "depth": pl.Int32,
        }
    analysis = pl.Struct(fields)
    return {
        "version": pl.Int16,
        "game": pl.String,
        "config": pl.String,
        "setup": pl.String,
        "steps": pl.List(pl.Struct({"player": pl.Int8, "action": pl.Int32})),
        "returns": pl.List(pl.Float64),
        "agents": pl.List(pl.String),
        "seed": pl.Int64,
        "timed_out": pl.List(pl.Int32),
        "analysis": pl.List(analysis),
        "tags": pl.String,
    }


def _to_parquet(records: Iterable[GameRecord]) -> bytes:
    import polars

    rows = [
        {
            "version": record.version,
            "game": record.game,
            "config": json.dumps(record.config, separators=(",", ":")),
            "setup": json.dumps(record.setup, separators=(",", ":")),
            "steps": [{"player": player, "action": action} for player, action in record.steps],
            "returns": record.returns,
            "agents": record.agents,
            "seed": record.seed,
            "timed_out": record.timed_out,
            "analysis": record.analysis,
            "tags": None if record.tags is None else json.dumps(record.tags, separators=(",", ":")),
        }
        for record in records
    ]
    buffer = io.BytesIO()
    polars.DataFrame(rows, schema=_schema(), strict=False).write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _read_parquet(path: Path) -> "polars.DataFrame":
    import polars

    try:
        frame = polars.read_parquet(path)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError) as error:
        raise RecordError(f"{str(path)!r}: not a Parquet file: {str(error).splitlines()[0]:.80}") from None
    schema = _schema()
    if dict(frame.schema) == _schema(old=True):
        # By way of Python objects: what is not there becomes null.
        return polars.DataFrame(frame.to_dicts(), schema=schema)
    if dict(frame.schema) != schema:
        wrong = next((name for name in schema if frame.schema.get(name) != schema[name]), "an unknown column")
        raise RecordError(f"{str(path)!r}: not a file of game records: column {wrong!r} is missing or of another type")
    return frame


def _from_row(row: dict[str, Any]) -> GameRecord:
    """A Parquet row as a record."""
    try:
        content = {name: value for name, value in row.items() if value is not None}
        for name in ("config", "setup", "tags"):
            if name in content:
                content[name] = json.loads(content[name])
        content["steps"] = [[step["player"], step["action"]] for step in content["steps"]]
        if "analysis" in content:
            content["analysis"] = [
                one and {k: v for k, v in one.items() if v is not None} for one in content["analysis"]
            ]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise RecordError("a row's config, setup, steps or tags cannot be read") from None
    return GameRecord.from_dict(content)
