"""Declared options: one table per game or agent, which validates values, writes specs and fills help texts."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from trilithon.core.errors import OptionError


@dataclass(frozen=True)
class Option:
    """One option: its name, default, and what is allowed.

    Allowed are `choices` (exact values), a range ``low..high`` of ints, of floats where `real`, any text where `text`,
    and None where that is the default (it then means "chosen by the program", as `doc` says).
    """

    name: str
    default: Any
    doc: str
    choices: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    real: bool = False
    text: str = ""

    def allowed(self) -> str:
        """What may be given, for messages and help."""
        parts = [str(c).lower() if isinstance(c, bool) else str(c) for c in self.choices]
        if self.low is not None or self.high is not None:
            kind = "number" if self.real else "whole number"
            if self.high is None:
                parts.append(f"a {kind} >= {self.low}")
            else:
                parts.append(f"a {kind} {self.low}..{self.high}")
        if self.text:
            parts.append(self.text)
        return " or ".join(parts)

    def validate(self, value: Any, owner: str) -> Any:
        """Return the value in its canonical type; `OptionError` names owner, option, value and what is allowed."""
        if value is None and self.default is None:
            return None
        for choice in self.choices:
            if type(value) is type(choice) and value == choice:
                return choice
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and (self.low is not None or self.high is not None) and (self.real or isinstance(value, int)):
            # A NaN fails both comparisons.
            above = self.low is None or value >= self.low
            below = self.high is None or value <= self.high
            if above and below:
                return float(value) if self.real else value
        if self.text and isinstance(value, str) and value:
            return value
        raise OptionError(f"{owner}: {self.name} = {value!r} is not allowed; allowed: {self.allowed()}")


def validate(options: Iterable[Option], values: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Return every option with its value, defaults filled in, in declared order."""
    declared = {option.name: option for option in options}
    for name in values:
        if name not in declared:
            raise OptionError(f"{owner}: unknown option {name!r}; {suggest(name, declared)}")
    return {
        name: option.validate(values[name], owner) if name in values else option.default
        for name, option in declared.items()
    }


def suggest(name: str, known: Iterable[str]) -> str:
    """A hint for a misspelt name: the nearest known one, or all of them."""
    known = list(known)
    near = difflib.get_close_matches(str(name), known, n=1)
    listed = f"known: {', '.join(known)}" if known else "there are none"
    return f"did you mean {near[0]!r}? {listed}" if near else listed
