"""Texts such as ``aeroliths(size=4,same=true)`` or ``mcts(simulations=64)``: parsed, never evaluated."""

import json
import re
from typing import Any

from trilithon.core.errors import SpecError

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<quoted>"(?:[^"\\]|\\.)*"|'[^'\\]*')
    | (?P<word>[^\s()=,"']+)
    | (?P<mark>[()=,])
    )""",
    re.VERBOSE,
)
_INT = re.compile(r"[+-]?\d{1,18}")
_FLOAT = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d{1,3})?")
_BARE = re.compile(r"[A-Za-z_.~/:][\w.~/:+-]*")
MAX_LENGTH = 20_000

Value = bool | int | float | str


def parse_spec(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``NAME`` or ``NAME(key=value, ...)`` into the name and its values (a nested ``NAME(...)`` stays text).

    Raises `SpecError` that quotes the text and says what was expected.
    """
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_LENGTH:
        raise SpecError(f"a spec is a text NAME or NAME(key=value, ...), not {text!r:.60}")
    stripped = text.strip()
    opening = stripped.find("(")
    if opening < 0:
        if stripped.count(")"):
            raise SpecError(f"{text!r}: ')' without '('")
        return _unquote(stripped), {}
    if not stripped.endswith(")"):
        raise SpecError(f"{text!r}: expected ')' at the end")
    name = _unquote(stripped[:opening].strip())
    if not name:
        raise SpecError(f"{text!r}: expected a name before '('")
    values: dict[str, Any] = {}
    for part in _split(stripped[opening + 1 : -1], text):
        key, equals, value = part.partition("=")
        key = key.strip()
        if not equals or not key.isidentifier():
            raise SpecError(f"{text!r}: expected key=value, found {part.strip()!r}")
        if key in values:
            raise SpecError(f"{text!r}: {key!r} is given twice")
        values[key] = parse_value(value.strip(), text)
    return name, values


def parse_value(text: str, context: str = "") -> Value:
    """Read an int, float, true/false, a word or a quoted string; a spec with its own brackets stays a string."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if not text:
        raise SpecError(f"{context!r}: a value is missing after '='")
    return _unquote(text)


def format_spec(name: str, values: dict[str, Any]) -> str:
    """Write a spec that `parse_spec` reads back to the same name and values."""
    if not values:
        return name
    return f"{name}({','.join(f'{key}={format_value(value)}' for key, value in values.items())})"


def format_value(value: Any) -> str:
    """Write one value as `parse_value` reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    return text if _BARE.fullmatch(text) and text.lower() not in ("true", "false") else json.dumps(text)


def _unquote(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text, strict=False))
        except ValueError:
            raise SpecError(f"{text!r} is not a quoted text") from None
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1]
    return text


def _split(inside: str, text: str) -> list[str]:
    """Cut at the commas that stand outside brackets and quotes."""
    parts, depth, start, position = [], 0, 0, 0
    while position < len(inside):
        match = _TOKEN.match(inside, position)
        if match is None:
            if inside[position:].strip():
                raise SpecError(f"{text!r}: cannot read {inside[position:].strip()[:30]!r}")
            break
        position = match.end()
        mark = match["mark"]
        depth += (mark == "(") - (mark == ")")
        if depth < 0:
            raise SpecError(f"{text!r}: ')' without '('")
        if mark == "," and depth == 0:
            parts.append(inside[start : match.end() - 1])
            start = position
    if depth:
        raise SpecError(f"{text!r}: '(' without ')'")
    if parts or inside.strip():
        parts.append(inside[start:])
    return parts
