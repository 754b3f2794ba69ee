"""Boards, powers and who takes an aether tile: the part of the plain twin of Aether that knows of no turns.

Tiles and elementals are lists by slot: the element of the tile there, the owner of the elemental there, or None.
A *side* is who scores together: a player, or a team of two.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

from naive.files import DATA

WATER, FIRE, EARTH, AIR = ELEMENTS = range(4)
BEATS = {WATER: FIRE, FIRE: EARTH, EARTH: AIR, AIR: WATER}
COUNTER = {beaten: winner for winner, beaten in BEATS.items()}

LIGHT, DARK, PIT = ":#O"
NEIGHBOURS = [(0, -2), (0, 2), (-1, -1), (-1, 1), (1, -1), (1, 1)]  # (rows, columns)

Tiles = list[int | None]
Elementals = list[int | None]


class AetherTile(NamedTuple):
    """An aether tile: its value and the slots around it."""

    value: int
    around: list[int]


class Board(NamedTuple):
    """A board: its header, the kind of each slot, the slots around each slot, the aether tiles."""

    tiles_per_element: int
    elementals: list[int]  # per player, for 2, 3, ... players
    hand_tiles: int
    slots: list[str]
    neighbours: list[list[int]]
    aether: list[AetherTile]


def board_text(board: str) -> str:
    """The text of a board that is given as text, by its name or as the path of a file."""
    if "\n" in board:
        return board
    stored = DATA / "boards" / f"{board}.txt"
    return (stored if stored.exists() else Path(board)).read_text(encoding="utf-8")


def parse_board(text: str) -> Board:
    """Read a board: header lines start with `%`, each other line is a row of hexes at even text columns."""
    header: dict[str, str] = {}
    rows: list[str] = []
    for line in text.splitlines():
        if line.startswith("%"):
            key, value = line[1:].split(":")
            header[key.strip()] = value.strip()
        else:
            rows.append(line)
    hexes: dict[tuple[int, int], str] = {}  # in reading order
    for row, line in enumerate(rows):
        at = 0
        for token in line.split():
            at = line.index(token, at)
            if token != PIT:
                hexes[row, at // 2] = token
            at += len(token)
    slot_at = {place: n for n, place in enumerate(place for place in hexes if not hexes[place].isdigit())}

    def slots_around(place: tuple[int, int]) -> list[int]:
        places = [(place[0] + rows, place[1] + columns) for rows, columns in NEIGHBOURS]
        return [slot_at[other] for other in places if other in slot_at]

    return Board(
        tiles_per_element=int(header["tiles_per_element"]),
        elementals=[int(number) for number in header["elementals"].split()],
        hand_tiles=int(header["hand_tiles"]),
        slots=[hexes[place] for place in slot_at],
        neighbours=[slots_around(place) for place in slot_at],
        aether=[AetherTile(int(hexes[place]), slots_around(place)) for place in hexes if place not in slot_at],
    )


def filled_at_setup(board: Board, variant: bool) -> list[int]:
    """The slots that get a random tile at the start: all grey ones, in the variant the light grey ones."""
    grey = LIGHT if variant else LIGHT + DARK
    return [slot for slot, kind in enumerate(board.slots) if kind in grey]


def power(board: Board, tiles: Tiles, slot: int) -> int:
    """The power of an elemental on a slot: tiles of its element, its own included, less tiles of the counter."""
    element = tiles[slot]
    touching = [tiles[other] for other in board.neighbours[slot]]
    return 1 + touching.count(element) - touching.count(COUNTER[element])


def gain_of(element: int, touching: int) -> int:
    """What a touching tile gives an elemental of an element."""
    return (touching == element) - (touching == COUNTER[element])


def strongest(powers: dict[Any, int]) -> set[Any]:
    """Who has the highest power; nobody if nobody has an elemental there."""
    return {side for side in powers if powers[side] == max(powers.values())}


def powers_around(board: Board, tiles: Tiles, elementals: Elementals, around: list[int], teams: bool) -> dict[int, int]:
    """The sum of the powers on the slots around an aether tile, for each side with an elemental there."""
    sums: dict[int, int] = {}
    for slot in around:
        if elementals[slot] is not None:
            side = side_of(elementals[slot], teams)
            sums[side] = sums.get(side, 0) + power(board, tiles, slot)
    return sums


def side_of(player: int, teams: bool) -> int:
    """A player's side: the player, or the team {0, 2} or {1, 3}."""
    return player % 2 if teams else player


def takers(board: Board, tiles: Tiles, elementals: Elementals, teams: bool) -> list[set[int]]:
    """The sides that take each aether tile, several of them in a tie."""
    return [strongest(powers_around(board, tiles, elementals, tile.around, teams)) for tile in board.aether]


# --- what may still change ---


class Rest(NamedTuple):
    """What a completion can use: tiles of each element outside the board, and elementals of each player."""

    tiles: list[int]
    elementals: list[int]


def completions(board: Board, tiles: Tiles, elementals: Elementals, rest: Rest) -> Iterator[tuple[Tiles, Elementals]]:
    """Every completion, one by one: what `may_change` is defined by. For boards with few empty slots."""
    if None not in tiles:
        yield tiles, elementals
        return
    slot = tiles.index(None)
    for element in ELEMENTS:
        for owner in [None, *range(len(rest.elementals))]:
            left = Rest(list(rest.tiles), list(rest.elementals))
            left.tiles[element] -= 1
            if owner is not None:
                left.elementals[owner] -= 1
            if min(left.tiles + left.elementals) >= 0:
                more_tiles = [*tiles[:slot], element, *tiles[slot + 1 :]]
                more_elementals = [*elementals[:slot], owner, *elementals[slot + 1 :]]
                yield from completions(board, more_tiles, more_elementals, left)


def may_change_by_brute_force(board: Board, tiles: Tiles, elementals: Elementals, rest: Rest, teams: bool) -> bool:
    """Whether some completion changes who takes an aether tile, by trying all of them."""
    now = takers(board, tiles, elementals, teams)
    return any(takers(board, *end, teams) != now for end in completions(board, tiles, elementals, rest))


def may_change(board: Board, tiles: Tiles, elementals: Elementals, rest: Rest, teams: bool) -> bool:
    """Whether some completion changes who takes an aether tile: exact, one aether tile at a time.

    The slots that do not matter to a tile can always be filled, since all the tiles outside the board suffice for
    all its slots; and elementals away from the tile need not be put down.
    """
    limits: dict[int, int] = {}
    for player, number in enumerate(rest.elementals):
        side = side_of(player, teams)
        limits[side] = limits.get(side, 0) + number
    sides: Elementals = [None if owner is None else side_of(owner, teams) for owner in elementals]
    return any(_takers_may_change(board, tiles, sides, rest.tiles, limits, tile.around) for tile in board.aether)


def _takers_may_change(
    board: Board, tiles: Tiles, sides: Elementals, rest: list[int], limits: dict[int, int], around: list[int]
) -> bool:
    """Whether who takes one aether tile may change; `sides` are the elementals' sides, `limits` how many each has."""
    now = strongest(powers_around(board, tiles, sides, around, teams=False))
    empty = [slot for slot in around if tiles[slot] is None]
    for slots, owners, elements in _new_elementals(empty, limits):
        left = [rest[element] - elements.count(element) for element in ELEMENTS]
        if min(left) < 0:
            continue
        more_tiles, more_sides = list(tiles), list(sides)
        for slot, owner, element in zip(slots, owners, elements, strict=True):
            more_tiles[slot], more_sides[slot] = element, owner
        if any(strongest(powers) != now for powers in _possible_powers(board, more_tiles, more_sides, left, around)):
            return True
    return False


def _new_elementals(empty: list[int], limits: dict[int, int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every way to put elementals on tiles on empty slots, few first: `(slots, sides, elements of the tiles)`."""
    able = [side for side in limits if limits[side] > 0]
    for number in range(len(empty) + 1):
        for slots in combinations(empty, number):
            for owners in product(able, repeat=number):
                if all(owners.count(side) <= limits[side] for side in able):
                    for elements in product(ELEMENTS, repeat=number):
                        yield slots, owners, elements


def _possible_powers(
    board: Board, tiles: Tiles, sides: Elementals, rest: list[int], around: list[int]
) -> list[dict[int, int]]:
    """All the sums of powers around an aether tile that tiles on empty slots can lead to, without new elementals.

    A tile on an empty slot adds to each side what it gives to the elementals next to it, whatever else is laid: so
    the slots are filled one after the other, and positions with equal powers and equal rest are followed once.
    """
    start = powers_around(board, tiles, sides, around, teams=False)
    order = sorted(start)
    gains = [gain for gain in _gains(board, tiles, sides, around, order) if any(any(gain[e]) for e in ELEMENTS)]
    reached = {(tuple(start[side] for side in order), tuple(rest))}
    for position, gain in enumerate(gains):
        still_to_fill = len(gains) - position - 1
        following = set()
        for powers, left in reached:
            for element in ELEMENTS:
                if left[element] > 0:
                    more = tuple(a + b for a, b in zip(powers, gain[element], strict=True))
                    after = (count - (e == element) for e, count in enumerate(left))
                    following.add((more, tuple(min(count, still_to_fill) for count in after)))
        reached = following
    return [dict(zip(order, powers, strict=True)) for powers, _ in reached]


def _gains(
    board: Board, tiles: Tiles, sides: Elementals, around: list[int], order: list[int]
) -> Iterator[list[list[int]]]:
    """For each empty slot, by element laid there, the power that each side in `order` gains around the tile."""
    standing = [slot for slot in around if sides[slot] is not None]
    for empty in [slot for slot, element in enumerate(tiles) if element is None]:
        touching = [slot for slot in standing if empty in board.neighbours[slot]]
        yield [
            [sum(gain_of(tiles[slot], element) for slot in touching if sides[slot] == side) for side in order]
            for element in ELEMENTS
        ]
