"""Square lattices as tables: neighbours and symmetries. Cells count row by row from the top left."""

import numpy as np

# Sides in the order top, right, bottom, left; the side of a neighbour that touches side s is (s + 2) % 4.
SIDE_STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))


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
