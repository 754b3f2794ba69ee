"""Square and hexagonal lattices as tables: neighbours and symmetries.

Cells of a square count row by row from the top left. Hexes (pointy-top) have places (row, column) in doubled-width
coordinates: the next hex of a row is two columns further, row + column is even in all hexes of a lattice or odd in all.
"""

from collections.abc import Sequence

import numpy as np

# Sides in the order top, right, bottom, left; the side of a neighbour that touches side s is (s + 2) % 4.
SIDE_STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
# Sides of a hex, clockwise from the top right; the side of a neighbour that touches side s is (s + 3) % 6.
HEX_STEPS = ((-1, 1), (0, 2), (1, 1), (1, -1), (0, -2), (-1, -1))


def square_neighbours(n: int) -> np.ndarray:
    """Return int8 ``[n * n, 4]``: the neighbour at the top, right, bottom and left of each cell, -1 beyond the edge."""
    table = np.full((n * n, 4), -1, np.int8)
    for cell in range(n * n):
        row, column = divmod(cell, n)
        for side, (down, right) in enumerate(SIDE_STEPS):
            if 0 <= row + down < n and 0 <= column + right < n:
                table[cell, side] = (row + down) * n + column + right
    return table


def square_symmetries(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the eight symmetries of the square, identity first, as two tables.

    ``cells[g, c]`` (int16 ``[8, n * n]``) is where cell c goes under g; ``sides[g, s]`` (int8 ``[8, 4]``) is the side
    that side s becomes. Symmetry g is a reflection left-right where g >= 4, then g % 4 quarter turns clockwise.
    """
    cells = np.zeros((8, n * n), np.int16)
    sides = np.zeros((8, 4), np.int8)
    for g in range(8):
        for cell in range(n * n):
            row, column = divmod(cell, n)
            if g >= 4:
                column = n - 1 - column
            for _ in range(g % 4):
                row, column = column, n - 1 - row
            cells[g, cell] = row * n + column
        for side in range(4):
            reflected = (4 - side) % 4 if g >= 4 else side
            sides[g, side] = (reflected + g) % 4
    return cells, sides


def hex_neighbours(places: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return int16 ``[N, 6]``: the neighbour of each place at each of `HEX_STEPS`, as its index, -1 where none is."""
    index = {place: number for number, place in enumerate(places)}
    table = np.full((len(places), 6), -1, np.int16)
    for number, (row, column) in enumerate(places):
        for side, (down, right) in enumerate(HEX_STEPS):
            table[number, side] = index.get((row + down, column + right), -1)
    return table


def hex_symmetries(places: Sequence[tuple[int, int]], centre: tuple[int, int]) -> np.ndarray:
    """Return int64 ``[12, N, 2]``: where places go under the twelve symmetries about `centre`, identity first.

    `centre` is a place of the same lattice. Symmetry g is a reflection left-right where g >= 6, then g % 6 turns
    clockwise by 60 degrees.
    """
    maps = np.zeros((12, len(places), 2), np.int64)
    for g in range(12):
        for number, place in enumerate(places):
            down, right = place[0] - centre[0], place[1] - centre[1]
            if g >= 6:
                right = -right
            for _ in range(g % 6):
                # In axial coordinates (q, r) = ((right - down) / 2, down) a turn takes (q, r) to (-r, q + r).
                down, right = (right + down) // 2, (right - 3 * down) // 2
            maps[g, number] = centre[0] + down, centre[1] + right
    return maps
