"""Random Aeroliths games over all options, chosen so that rare rules come up often."""

from random import Random
from typing import Any

from naive.drawn_aeroliths import hand_sizes

# Few different values make Same, Plus, chains and draws frequent; nines and tens do so for the walls.
VALUE_RANGES = ((1, 10), (4, 6), (4, 6), (5, 6), (9, 10), (8, 10), (1, 2), (5, 5))
ELEMENT_SETS = ((4,), (0, 1, 2, 3), (0, 1, 2, 3, 4), (0, 1), (3, 4))
FLAGS = ("same", "plus", "plus_own", "combo", "wall", "open_hands")


def random_config(rng: Random) -> dict[str, Any]:
    """Options of the game; Order and Chaos exclude each other."""
    config: dict[str, Any] = {"size": rng.choice((3, 3, 4, 4, 4, 5))}
    config |= {flag: rng.random() < 0.6 for flag in FLAGS}
    sequence = rng.choice(("", "order", "chaos"))
    config |= {"order": sequence == "order", "chaos": sequence == "chaos"}
    config |= {"sudden_death": rng.random() < 0.6, "max_rounds": rng.choice((1, 2, 3, 5))}
    config["draft"] = rng.random() < 0.25
    return config


def random_lithos(rng: Random, count: int) -> list[list[int]]:
    """Lithos of one narrow kind."""
    low, high = rng.choice(VALUE_RANGES)
    elements = rng.choice(ELEMENT_SETS)
    lithos = [[rng.randint(low, high) for _ in range(4)] + [rng.choice(elements)] for _ in range(count)]
    return lithos


def drawish_scenario(rng: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """4x4 with Sudden Death, equal values and neutral elements: often drawn, and its hands show who held what."""
    config = {**random_config(rng), "size": 4, "sudden_death": True, "draft": False}
    if rng.random() < 0.7:
        config |= {"same": False, "plus": False}
    elements = rng.choice(((0, 2), (1, 3), (0, 4), (2, 4)))
    lithos = [[5, 5, 5, 5, rng.choice(elements)] for _ in range(16)]
    for litho in rng.sample(lithos, rng.randrange(3)):
        litho[:4] = rng.choice(([4, 6, 5, 5], [6, 5, 4, 5], [5, 6, 5, 5]))
    setup = {"first_player": rng.randrange(2), "hands": [lithos[:8], lithos[8:]], "cells": [None] * 16}
    if rng.random() < 0.3:
        setup["cells"][rng.randrange(16)] = rng.choice(elements) % 4
    return config, setup


def random_position(rng: Random, config: dict[str, Any], first_player: int) -> dict[str, Any]:
    """A start at the beginning of some turn: any owners, any slots played, and a later round where there may be one."""
    n = config["size"]
    sizes = hand_sizes(n, first_player)
    later_rounds = n == 4 and config["sudden_death"]
    round_number = rng.randrange(config["max_rounds"]) if later_rounds else 0
    starter = (first_player + round_number) % 2
    placed = rng.randrange(n * n)
    played = {starter: (placed + 1) // 2, 1 - starter: placed // 2}
    lithos = random_lithos(rng, n * n)
    board: list[list[int] | None] = [None] * (n * n)
    for cell in rng.sample(range(n * n), placed):
        board[cell] = [*lithos.pop(), rng.randrange(2)]
    hands = []
    for player in range(2):
        gone = set(rng.sample(range(sizes[player]), played[player]))
        hands.append([None if slot in gone else lithos.pop() for slot in range(sizes[player])])
    return {"board": board, "hands": hands, "player": (starter + placed) % 2, "round": round_number}


def random_scenario(rng: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options and a setup for them: dealt hands, a pool to draft from, or a position."""
    if rng.random() < 0.08:
        return drawish_scenario(rng)
    config = random_config(rng)
    n = config["size"]
    first_player = rng.randrange(2)
    share = rng.choice((0.0, 0.0, 0.2, 0.6))  # of elemental cells
    cells = [rng.randrange(4) if rng.random() < share else None for _ in range(n * n)]
    setup: dict[str, Any] = {"first_player": first_player, "hands": [[], []], "cells": cells}
    if config["draft"]:
        setup["pool"] = random_lithos(rng, rng.randint(n * n, 40))
    if rng.random() < 0.2:
        setup["position"] = random_position(rng, config, first_player)
    elif not config["draft"]:
        lithos = random_lithos(rng, n * n)
        first = hand_sizes(n, first_player)[0]
        setup["hands"] = [lithos[:first], lithos[first:]]
    return config, setup
