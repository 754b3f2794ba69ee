"""Aether: what a state tells at a glance, for text and pictures: whose turn it is, powers, points, what is not seen."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trilithon.core.aether import kernels as k
from trilithon.core.aether import scoring
from trilithon.core.aether.boards import Board
from trilithon.core.verbs import CHANCE, TERMINAL


def phase(array: np.ndarray) -> str:
    """``place``, ``draw`` (of one tile), ``swap`` (its draws), ``answer`` (to a proposal to score) or ``ended``."""
    player = array["current_player"][0]
    if player == TERMINAL:
        return "ended"
    if player == CHANCE:
        return "swap" if array["swapping"][0] else "draw"
    return "answer" if array["asked"][0] >= 0 else "place"


def turn(array: np.ndarray) -> int | None:
    """Who has to act, or for whom a tile is drawn; None once the game has ended."""
    now = phase(array)
    return None if now == "ended" else int(array["asked" if now == "answer" else "mover"][0])


def scores(array: np.ndarray) -> list[int]:
    """Each player's points if the board is scored as it is; in teams the team's."""
    points = np.zeros(int(array["players"][0]), np.int64)
    scoring.scores(array[0], points)
    return [int(x) for x in points]


def draw_is_hidden(array: np.ndarray, player: int) -> bool:
    """Whether chance is to draw a tile that `player` is not shown."""
    return bool(array["current_player"][0] == CHANCE and array["mover"][0] != player)


def powers(array: np.ndarray) -> list[int | None]:
    """The power of the elemental on each slot, None where none stands."""
    state = array[0]
    owners = state["owners"][: int(state["slots"])].tolist()
    return [None if owner == k.NOBODY else int(scoring.power(state, slot)) for slot, owner in enumerate(owners)]


def sums(array: np.ndarray, board: Board) -> list[list[int | None]]:
    """The powers around each aether tile, added up by side; None for a side without an elemental there."""
    state = array[0]
    sides = 2 if state["teams"] else int(state["players"])
    found: list[list[int | None]] = []
    for tile in range(len(board.aether)):
        lanes, present = scoring.powers_around(state, tile)
        lanes, present = int(lanes), int(present)
        levels = [(lanes >> (16 * side) & 0xFFFF) - scoring.LEVEL for side in range(sides)]
        found.append([level if present >> side & 1 else None for side, level in enumerate(levels)])
    return found


def holders(row: Sequence[int | None]) -> list[int]:
    """The sides that take an aether tile, from its `sums`."""
    best = max((power for power in row if power is not None), default=None)
    return [side for side, power in enumerate(row) if power is not None and power == best]


def aside(array: np.ndarray) -> list[int]:
    """The old hand of the player who is swapping, ascending; otherwise nothing."""
    return as_tiles(array["aside"][0])


def as_tiles(counts: Any) -> list[int]:
    """Counts by element as a list of tiles, ascending."""
    return [element for element, count in enumerate(counts) for _ in range(int(count))]


def tiles_unseen(position: Mapping[str, Any], player: int, old_hand: list[int], owner: int | None) -> list[int]:
    """How many tiles of each element `player` does not see: the bag, the other hands, another's (`owner`) old hand."""
    hidden = [tile for other, hand in enumerate(position["hands"]) if other != player for tile in hand]
    hidden += old_hand if owner != player else []
    return [count + hidden.count(element) for element, count in enumerate(position["bag"])]


def headline(array: np.ndarray) -> str:
    """Who does what next, in a few words."""
    now, player, left = phase(array), turn(array), int(array["draws_left"][0])
    if now == "ended":
        return f"ended: {_winners(array)}"
    what = {
        "place": "to place or propose" if array["may_propose"][0] else "to place",
        "answer": "to agree or decline",
        "draw": "draws a tile",
        "swap": f"swaps: {left} {'tile' if left == 1 else 'tiles'} to draw",
    }
    return f"player {player} {what[now]}"


def _winners(array: np.ndarray) -> str:
    points = scores(array)
    what = "team" if array["teams"][0] else "player"
    points = points[:2] if array["teams"][0] else points
    best = [str(side) for side, score in enumerate(points) if score == max(points)]
    if len(best) == 1:
        return f"{what} {best[0]} wins"
    return f"{what}s {', '.join(best[:-1])} and {best[-1]} share the win"
