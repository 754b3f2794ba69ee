"""Who plays together: the sides of a game."""

from functools import lru_cache

import numpy as np

from trilithon.core.game import Game


@lru_cache(maxsize=64)
def sides_of(game: Game) -> tuple[int, ...]:
    """Return the side of each player, numbered from 0 in the order of their first members.

    Players are on one side where every way for the game to end brings them the same: in teams of two against two
    (0, 1, 0, 1), else everybody is a side of its own.
    """
    players = game.num_players()
    outcomes = game.outcomes()  # from the observer on clockwise, for whatever observer
    sides: list[int] = []
    for player in range(players):
        partners = [p for p in range(player) if np.array_equal(outcomes[:, 0], outcomes[:, player - p])]
        sides.append(sides[partners[0]] if partners else max(sides, default=-1) + 1)
    return tuple(sides)
