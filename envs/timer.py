"""The turn timer: how long the player to move has been thinking."""

import math
from collections.abc import Callable
from typing import Any

from trilithon.core.errors import OptionError


class TurnTimer:
    """Counts a turn's seconds on `clock`; a turn that takes longer than `turn_time` is overrun.

    A copy goes on counting from the seconds used, in another process too, where the clock reads differently.
    """

    def __init__(self, name: str, turn_time: Any, clock: Callable[[], float]) -> None:
        number = isinstance(turn_time, int | float) and not isinstance(turn_time, bool)
        if not (number and 0 < turn_time < math.inf):  # a NaN fails both
            raise OptionError(f"{name}: turn_time = {turn_time!r} is not allowed; allowed: None or seconds > 0")
        if not callable(clock):
            raise OptionError(f"{name}: clock = {clock!r} is not allowed; allowed: a function that returns seconds")
        self.turn_time = turn_time
        self.clock = clock
        self._started = 0.0  # on `clock`

    def start(self, used: float = 0.0) -> None:
        """Begin a turn, of which `used` seconds are gone."""
        self._started = self.clock() - used

    def seconds(self) -> float:
        """Seconds of the turn that are gone."""
        return self.clock() - self._started

    def overrun(self) -> bool:
        """Whether the turn has taken too long."""
        return self.seconds() > self.turn_time

    def __getstate__(self) -> dict[str, Any]:
        return {"turn_time": self.turn_time, "clock": self.clock, "used": self.seconds()}

    def __setstate__(self, content: dict[str, Any]) -> None:
        self.turn_time, self.clock = content["turn_time"], content["clock"]
        self.start(content["used"])
