"""The stored games and cases of `tests/data`."""

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "data"


def _lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def golden_games(game: str) -> list[dict[str, Any]]:
    """The whole games stored for a game."""
    return _lines(DATA / "golden" / f"{game}.jsonl")


def cases(game: str) -> list[dict[str, Any]]:
    """The single placements stored for a game."""
    return _lines(DATA / "cases" / f"{game}.jsonl")
