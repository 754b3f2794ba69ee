"""Writes the index tables of environments.md from the games' own layouts: `python docs/make_tables.py`."""

import math
from pathlib import Path

from trilithon.core import load_game
from trilithon.core.files import write_whole

PAGE = Path(__file__).parent / "environments.md"
BEGIN, END = "<!-- made by docs/make_tables.py -->\n", "<!-- end -->\n"
GAMES = {"3x3": {"size": 3}, "4x4": {"size": 4}, "5x5": {"size": 5}, "universal": {"observation": "universal"}}
TITLES = {
    "cells": ("cells", "a cell"),
    "own_hand": ("own hand", "a slot"),
    "other_hand": ("opponent's hand", "a slot"),
    "options": ("options", ""),
    "pool": ("pool (with `draft`; universal always)", "a Litho"),
}


def index_range(first: int, count: int) -> str:
    """``first .. last``."""
    return f"{first} .. {first + count - 1}"


def observations() -> list[str]:
    """Where each block lies, by size of the board."""
    blocks = {name: load_game("aeroliths", **options, draft=True).layout().blocks for name, options in GAMES.items()}
    rows = ["| block | " + " | ".join(GAMES) + " | shape |", "| --- " * (len(GAMES) + 2) + "|"]
    for block, (title, unit) in TITLES.items():
        ranges = [index_range(places[block][0], math.prod(places[block][1])) for places in blocks.values()]
        width = blocks["3x3"][block][1][-1]
        rows.append(f"| {title} | {' | '.join(ranges)} | {f'{width} {unit}'.strip()} |")
    return rows


def actions() -> list[str]:
    """Ranges of action numbers, by size of the board."""
    rows = ["| action | 3x3 | 4x4 | 5x5 | number |", "| --- | --- | --- | --- | --- |"]
    places = [load_game("aeroliths", size=size).num_distinct_actions() for size in (3, 4, 5)]
    picks = [load_game("aeroliths", size=size, draft=True).num_distinct_actions() for size in (3, 4, 5)]
    rows.append("| place | " + " | ".join(index_range(0, n) for n in places) + " | `slot * n² + cell` |")
    ranges = [index_range(first, end - first) for first, end in zip(places, picks, strict=True)]
    return [*rows, f"| pick from the pool (with `draft`) | {' | '.join(ranges)} | `H * n² + k` |"]


def page(text: str) -> str:
    """The page with its tables made anew."""
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    return head + BEGIN + "\n".join(["", *actions(), "", *observations(), "", ""]) + END + tail


if __name__ == "__main__":
    print(write_whole(PAGE, page(PAGE.read_text())))
