"""A hash table for solvers: keys of 128 bits, rows of numbers; open addressing, and room is made between searches.

A position is told by its key alone. Among the 10 million positions of a large search two share one with a probability
of less than 10**-24.
"""

import numpy as np

from trilithon.core.jit import kernel

_SEEDS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03))
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)
_FIRST_ROWS = 1 << 10


class Table:
    """Rows of numbers by key: `keys` uint64 ``[T, 2]``, `rows` float64 ``[T, width]``; kernels count the entries."""

    def __init__(self, width: int, most_bytes: int) -> None:
        self._width, self._most_bytes = width, most_bytes
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.keys, self.rows = np.zeros((_FIRST_ROWS, 2), np.uint64), np.zeros((_FIRST_ROWS, self._width))

    def grow(self) -> bool:
        """Make four times the room (at the end twice), or return False where that would take too many bytes."""
        size = 4 * len(self.keys)
        if size * 8 * (2 + self._width) > self._most_bytes:
            size //= 2
        if size * 8 * (2 + self._width) > self._most_bytes:
            return False
        keys, rows = np.zeros((size, 2), np.uint64), np.zeros((size, self._width))
        _move(self.keys, self.rows, keys, rows)
        self.keys, self.rows = keys, rows
        return True


@kernel
def begin_key(key):
    """Begin a key, uint64 ``[2]``."""
    key[0], key[1] = _SEEDS[0], _SEEDS[1]


@kernel
def add_to_key(key, word):
    """Mix 64 more bits into a key in place (the finaliser of splitmix64, see core/rng.py)."""
    for lane in range(2):
        z = key[lane] ^ word
        z = (z ^ (z >> _S30)) * _MIX_1
        z = (z ^ (z >> _S27)) * _MIX_2
        key[lane] = z ^ (z >> _S31)


@kernel
def row_of(keys, key):
    """Return the row of `key`, or the free one where it belongs (linear probing)."""
    mask = keys.shape[0] - 1
    row = np.int64(key[0] >> _S30) & mask
    while (keys[row, 0] != 0 or keys[row, 1] != 0) and (keys[row, 0] != key[0] or keys[row, 1] != key[1]):
        row = (row + 1) & mask
    return row


@kernel
def row_to_fill(keys, key, count):
    """Return the row of `key`, or one for it where it has none; in a crowded table one in use, or -1 for none.

    What gives way is an entry in the key's own place, so that every chain of places stays whole; free places are left
    alone then, as chains end there.
    """
    row = row_of(keys, key)
    if is_free(keys, row) and is_crowded(keys, count):
        row = np.int64(key[0] >> _S30) & (keys.shape[0] - 1)
        if is_free(keys, row):
            return -1
    return row


@kernel
def is_free(keys, row):
    """Whether a row holds nothing."""
    return keys[row, 0] == 0 and keys[row, 1] == 0


@kernel
def is_crowded(keys, count):
    """Whether it is time to make room for more than `count` entries."""
    return count > keys.shape[0] * 3 // 4


@kernel
def _move(old_keys, old_rows, keys, rows):
    """Put all rows into a larger table."""
    for i in range(old_keys.shape[0]):
        if not is_free(old_keys, i):
            row = row_of(keys, old_keys[i])
            keys[row], rows[row] = old_keys[i], old_rows[i]
