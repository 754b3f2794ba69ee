"""Aeroliths positions drawn as text, so that a test shows the board it is about.

A token is a cell: `.` empty, `*` the empty cell where the mover will place, `o` a stone of the mover, `x` one of the
opponent, `X` one of the opponent that the placement must capture. After o, x and X come the values top, right, bottom,
left (A is 10) and perhaps an element: `x35A4:fire`. Without one the element is none.
"""

from typing import Any

ELEMENTS = ("fire", "wind", "earth", "water", "none")
FILLER = "1111"


def litho(text: str) -> list[int]:
    """The Litho that a text such as `35A4:fire` means: `[top, right, bottom, left, element id]`."""
    values, _, element = text.partition(":")
    return [10 if value == "A" else int(value) for value in values] + [ELEMENTS.index(element or "none")]


def cell_list(cells: dict[int, str] | None, n: int) -> list[int | None]:
    """The element id of every cell, from the elemental cells alone."""
    named = cells or {}
    return [ELEMENTS.index(named[cell]) if cell in named else None for cell in range(n * n)]


def hand_sizes(n: int, first_player: int) -> list[int]:
    """How many slots each player's hand has."""
    larger, smaller = (n * n + 1) // 2, n * n // 2
    return [larger, smaller] if first_player == 0 else [smaller, larger]


def drawn(
    board: str, place: str, cells: dict[int, str] | None = None, mover: int = 0
) -> tuple[dict[str, Any], int, list[int]]:
    """A setup with the drawn position, the action which places on the star, and the cells this must capture.

    The Litho to place lies in slot 0; fillers complete both hands, and the first player follows from the number of
    empty cells.
    """
    tokens = board.split()
    n = {9: 3, 16: 4, 25: 5}[len(tokens)]
    owner = {"o": mover, "x": 1 - mover, "X": 1 - mover}
    stones = [[*litho(token[1:]), owner[token[0]]] if token[0] in owner else None for token in tokens]
    empty = stones.count(None)
    # Whoever places last placed first on an odd board, and did not on an even one.
    first_player = mover if empty % 2 == n * n % 2 else 1 - mover
    sizes = hand_sizes(n, first_player)
    mover_lithos = [litho(place)] + [litho(FILLER)] * ((empty + 1) // 2 - 1)
    other_lithos = [litho(FILLER)] * (empty // 2)
    hands = [mover_lithos, other_lithos] if mover == 0 else [other_lithos, mover_lithos]
    padded = [hand + [None] * (size - len(hand)) for hand, size in zip(hands, sizes)]
    setup = {
        "first_player": first_player,
        "hands": [[], []],
        "cells": cell_list(cells, n),
        "position": {"board": stones, "hands": padded, "player": mover, "round": 0},
    }
    captured = [cell for cell, token in enumerate(tokens) if token[0] == "X"]
    return setup, tokens.index("*"), captured


def captured_cells(before: dict[str, Any], after: dict[str, Any]) -> list[int]:
    """The cells whose stone changed its owner between two states of one round."""
    pairs = enumerate(zip(before["board"], after["board"]))
    return [cell for cell, (old, new) in pairs if old is not None and old[5] != new[5]]
