"""What tests of hidden Lithos share: a catalogue of six, worlds sampled for a player, a chi-squared comparison."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scipy.stats import chisquare

from naive.drawn_aeroliths import litho
from trilithon.core import rng

DRAWS = 1500
SMALLEST_P = 1e-4  # all streams are fixed: a test that passes goes on passing

SIX = [litho(text) for text in ("1234:fire", "5678:wind", "9A12:earth", "3456:water", "789A:none", "2468:fire")]


def write_catalogue(path: Path, lithos: list[list[int]]) -> str:
    """Write a catalogue of numbered stones; its path as the option takes it."""
    names = ("fire", "wind", "earth", "water", "none")
    rows = [f"stone {k},{','.join(map(str, values))},{names[element]}\n" for k, (*values, element) in enumerate(lithos)]
    path.write_text("name,top,right,bottom,left,element\n" + "".join(rows), encoding="utf-8")
    return str(path)


def sampled(state: Any, player: int, method: str, count: int = DRAWS) -> Iterator[Any]:
    """Worlds for a player, one after the other from one generator."""
    stream = rng.seed(7)
    return (getattr(state, method)(player, stream) for _ in range(count))


def hidden_hand(world: Any, player: int) -> tuple[tuple[int, ...], ...]:
    """The Lithos left in the hand of a player's opponent, by slot."""
    return tuple(tuple(stone) for stone in world.to_dict()["hands"][1 - player] if stone is not None)


def assert_distributed(counts: Counter, expected: Mapping[Any, int]) -> None:
    """Whether counts fit the expected weights by a chi-squared test; nothing else may occur."""
    assert set(counts) <= set(expected)
    total, weight = sum(counts.values()), sum(expected.values())
    if len(expected) > 1:
        frequencies = [total * expected[key] / weight for key in expected]
        assert chisquare([counts[key] for key in expected], frequencies).pvalue > SMALLEST_P
