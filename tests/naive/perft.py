"""Perft by the book: every sequence of so many actions is played to its end, one by one."""

import hashlib
import json
from typing import Any


def leaf_text(state: Any) -> str:
    """The position as JSON, keys sorted, no spaces."""
    return json.dumps(state.to_dict(), sort_keys=True, separators=(",", ":"))


def leaf_number(text: str) -> int:
    """The first 16 hexadecimal digits of SHA-256."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:16], 16)


def sequences(state: Any, depth: int) -> list[tuple[int | None, str]]:
    """The first action and the last position of every sequence of exactly `depth` actions."""
    if depth == 0:
        return [(None, leaf_text(state))]
    found = []
    for action in state.legal_actions():
        after = state.clone()
        after.apply_action(action)
        found += [(action, text) for _, text in sequences(after, depth - 1)]
    return found


def naive_perft(state: Any, depth: int) -> dict[str, Any]:
    """What ``trilithon perft --json`` prints, for a state with `legal_actions`, `apply_action`, `clone`, `to_dict`."""
    found = sequences(state, depth)
    firsts = [first for first, _ in found]
    return {
        "nodes": len(found),
        "states": len({text for _, text in found}),
        "digest": f"{sum(leaf_number(text) for _, text in found) % 2**64:016x}",
        "divide": {str(action): firsts.count(action) for action in (state.legal_actions() if depth else [])},
    }
