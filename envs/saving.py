"""The bytes of a saved environment: written, and checked on the way in."""

import itertools
import json
import math
import zlib
from dataclasses import dataclass
from typing import Any

from trilithon.core.errors import SetupError

_MAGIC = b"trilithon-env-1\n"
_MAX_BYTES = 4_000_000


@dataclass(frozen=True)
class SavedGame:
    """A game in progress inside an environment; all that `GameEnv.restore_state` needs."""

    environment: str  # the environment's name
    game: str  # the game's spec, options included
    setup: dict[str, Any]
    steps: list[int]  # actions, chance included
    timed_out: list[int]  # numbers of the steps that were played for a player whose time ran out
    generator: int  # the state of the environment's generator
    agents: int  # how many agents have not left yet
    seconds: float  # how long the mover has been thinking

    def to_bytes(self) -> bytes:
        """Return a checksum and the fields as JSON."""
        body = json.dumps(vars(self), separators=(",", ":"), sort_keys=True).encode()
        return _MAGIC + _checksum(body) + b"\n" + body

    @classmethod
    def from_bytes(cls, data: Any, environment: str, game: str) -> "SavedGame":
        """Read what `to_bytes` wrote for this environment and game; `SetupError` says what is wrong with it.

        Setup and steps are checked by whoever replays them.
        """
        if not isinstance(data, bytes) or len(data) > _MAX_BYTES or not data.startswith(_MAGIC):
            raise SetupError(f"{environment}: this is not what save_state() of this version returns")
        checksum, _, body = data[len(_MAGIC) :].partition(b"\n")
        if checksum != _checksum(body):
            raise SetupError(f"{environment}: the saved bytes are damaged (checksum)")
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            raise SetupError(f"{environment}: the saved bytes cannot be read") from None
        fields = sorted(cls.__dataclass_fields__)
        if not isinstance(content, dict) or sorted(content) != fields:
            raise SetupError(f"{environment}: the saved bytes do not hold exactly {', '.join(fields)}")
        for field, value in (("environment", environment), ("game", game)):
            if content[field] != value:
                raise SetupError(f"{environment}: the saved {field} is {content[field]!r:.80}, not {value!r}")
        saved = cls(**content)
        saved._check()
        return saved

    def _check(self) -> None:
        """Types and ranges of the fields."""
        checks = {
            "setup": isinstance(self.setup, dict),
            "steps": isinstance(self.steps, list) and all(type(a) is int for a in self.steps),
            "timed_out": _ascending(self.timed_out) and (self.timed_out or [0])[-1] < max(len(self.steps), 1),
            "generator": type(self.generator) is int and 0 <= self.generator < 1 << 64,
            "agents": type(self.agents) is int and self.agents >= 0,
            "seconds": type(self.seconds) in (int, float) and 0 <= self.seconds < math.inf,
        }
        for field, right in checks.items():
            if not right:
                raise SetupError(f"{self.environment}: the saved {field} = {getattr(self, field)!r:.60} is not allowed")


def _ascending(values: Any) -> bool:
    """Whether these are different step numbers in order."""
    if not isinstance(values, list) or not all(type(v) is int and v >= 0 for v in values):
        return False
    return all(a < b for a, b in itertools.pairwise(values))


def _checksum(body: bytes) -> bytes:
    return b"%08x" % zlib.crc32(body)
