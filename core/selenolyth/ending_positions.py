"""The Selenolyth: late positions as numbers, what follows from them, and the table of their values; see solving.py."""

import math

import numpy as np

from trilithon.core.jit import kernel
from trilithon.core.selenolyth.kernels import CELLS, COUNTED, FILES, SELENOLYTH, STONES, WIDTH, count, has_square, pull
from trilithon.core.verbs import record_dtype

MOST_STONES = 8  # in both reserves together
NEVER = 16  # Luminance wanted that the Shards left cannot bring
RICOCHET, WAYS = 3, 4  # ways for a stone to come to a cell: the three kinds with their effects, and a ricochet
SKIP = 100  # in place of a way: the turn is skipped
FILE_A, FILE_B, FILE_C = int(FILES[0]), int(FILES[1]), int(FILES[2])

FRAME = record_dtype(
    [
        ("occupied", np.int64),
        ("own", np.int64, STONES),  # the mover's reserve
        ("other", np.int64, STONES),
        ("need", np.int64),  # Luminance the mover still wants, NEVER where out of reach
        ("other_need", np.int64),
        ("left", np.int64),  # turns until the game is cut off; 0: never
        ("key", np.int64),
        ("every", np.int64),  # whether all actions are to be valued
        ("partner", np.int64),  # whether this is the frame below with the other player to move
        ("way", np.int64),  # the outcome that is being searched
        ("cell", np.int64),
        ("free", np.int64, WIDTH),  # [file]: free cells
        ("upper", np.float64),  # the most and the least that the mover can get
        ("lower", np.float64),
        ("value", np.float64),
        ("sums", np.float64, (STONES, WIDTH)),  # [kind, file]: of the free cells' values, unknown ones as `upper`
        ("unknown", np.int64, (STONES, WIDTH)),
        ("ricochet", np.float64),  # the best known value of a ricochet
        ("unknown_ricochets", np.int64),
        ("skip", np.float64),  # the value of a skipped turn
        ("skip_known", np.int64),
    ]
)

# [Selenolyths, Diox, Orthos]: a number from 1 on for every reserve of at most seven stones.
RANKS = np.zeros((MOST_STONES, MOST_STONES, MOST_STONES), np.int64)
for _rank, _stones in enumerate(
    (s, d, o) for s in range(8) for d in range(8) for o in range(8) if 0 < s + d + o < MOST_STONES
):
    RANKS[_stones] = _rank + 1


@kernel
def wanted(need, stones):
    """Return the Luminance still wanted, NEVER where the Shards left cannot bring it (a Shard earns 4 at most)."""
    return need if need <= 4 * (stones[1] + stones[2]) else NEVER


@kernel
def most(need, stones, eclipse_value):
    """Return the most a player can get: an Eclipse only where the Shards left can bring the Luminance for it."""
    return eclipse_value if need <= 4 * (stones[1] + stones[2]) else 1.0


@kernel
def enter(frame, values, eclipse_value):
    """Prepare a frame whose position is given: key, bounds, and the values of all outcomes that end the game.

    ``values[way, cell]`` is the mover's value once the stone lies there; NaN: still to be searched.
    """
    frame.need, frame.other_need = wanted(frame.need, frame.own), wanted(frame.other_need, frame.other)
    frame.key = key_of(frame.occupied, frame.own, frame.other, frame.need, frame.other_need, frame.left)
    frame.upper = most(frame.need, frame.own, eclipse_value)
    frame.lower = -most(frame.other_need, frame.other, eclipse_value)
    frame.ricochet, frame.unknown_ricochets = -np.inf, 0
    frame.skip, frame.skip_known = 0.0, frame.left == 1
    stones = frame.own[0] + frame.own[1] + frame.own[2]
    for file in range(WIDTH):
        frame.free[file] = WIDTH - count(frame.occupied & FILES[file])
    for kind in range(STONES):
        for file in range(WIDTH):
            frame.sums[kind, file], frame.unknown[kind, file] = 0.0, 0
    for cell in range(CELLS):
        bit = np.int64(1) << cell
        if frame.occupied & bit:
            continue
        together = frame.occupied | bit
        square = has_square(together)
        for kind in range(STONES):
            if frame.own[kind] == 0:
                continue
            if kind == SELENOLYTH:
                values[RICOCHET, cell] = -1.0 if square else _unless_over(stones, frame.left)
                if math.isnan(values[RICOCHET, cell]):
                    frame.unknown_ricochets += 1
                else:
                    frame.ricochet = max(frame.ricochet, values[RICOCHET, cell])
                won, bright = has_square(pull(together, cell)), False
            else:
                won, bright = square, count(together & COUNTED[kind, cell]) >= frame.need
            if won or bright:
                values[kind, cell] = eclipse_value if won and bright else 1.0
            else:
                values[kind, cell] = _unless_over(stones, frame.left)
            file = cell % WIDTH
            if math.isnan(values[kind, cell]):
                frame.sums[kind, file] += frame.upper
                frame.unknown[kind, file] += 1
            else:
                frame.sums[kind, file] += values[kind, cell]
    if frame.ricochet >= frame.upper:
        frame.unknown_ricochets = 0


@kernel
def _unless_over(stones, left):
    """The value of a turn that decides nothing by itself: 1 with the last stone, 0 when the game is cut off, NaN."""
    if stones == 1:
        return 1.0
    return 0.0 if left == 1 else np.nan


@kernel
def canonical(occupied):
    """Return the least of a board's four images: files, ranks and both exchanged leave the game as it is."""
    mirrored = (occupied & FILE_A) << 5 | (occupied >> 5) & FILE_A
    mirrored |= (occupied & FILE_B) << 3 | (occupied >> 3) & FILE_B
    mirrored |= (occupied & FILE_C) << 1 | (occupied >> 1) & FILE_C
    least = min(occupied, mirrored)
    for board in (occupied, mirrored):
        turned = (board & 63) << 30 | (board >> 30) & 63
        turned |= (board & 4032) << 18 | (board >> 18) & 4032
        turned |= (board & 258048) << 6 | (board >> 6) & 258048
        least = min(least, turned)
    return least


@kernel
def key_of(occupied, own, other, need, other_need, left):
    """Return the position as a number > 0."""
    reserves = RANKS[own[0], own[1], own[2]] | RANKS[other[0], other[1], other[2]] << 7
    return canonical(occupied) | reserves << 36 | (need - 1) << 50 | (other_need - 1) << 54 | left << 58


@kernel
def follow(frame, child):
    """Write into `child` the position after the outcome ``frame.way`` and ``frame.cell``, from the other's side."""
    for kind in range(STONES):
        child.own[kind], child.other[kind] = frame.other[kind], frame.own[kind]
    child.occupied, need = frame.occupied, frame.need
    if frame.way != SKIP:
        kind = SELENOLYTH if frame.way == RICOCHET else frame.way
        child.other[kind] -= 1
        child.occupied |= np.int64(1) << frame.cell
        if kind != SELENOLYTH:
            need -= count(child.occupied & COUNTED[kind, frame.cell])
        elif frame.way == SELENOLYTH:
            child.occupied = pull(child.occupied, frame.cell)
    child.need, child.other_need = wanted(frame.other_need, child.own), wanted(need, child.other)
    child.left = frame.left - 1 if frame.left else 0
    child.every, child.partner = 0, frame.way == SKIP and frame.left == 0
    child.key = key_of(child.occupied, child.own, child.other, child.need, child.other_need, child.left)


# --------------------------------------------------------------------------------------------------------------- table


@kernel
def slot_of(keys, key):
    """Return where `key` is in the table, or the empty place where it belongs (linear probing, a power of two)."""
    mask = keys.shape[0] - 1
    mixed = key * np.int64(0x1E3779B97F4A7C15)
    slot = (mixed ^ (mixed >> 31)) & mask
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def store(keys, found, counters, key, value):
    """Put a value into the table."""
    slot = slot_of(keys, key)
    counters[1] += keys[slot] == 0
    keys[slot], found[slot] = key, value


@kernel
def rehash(old_keys, old_found, keys, found):
    """Move a table into a larger one."""
    for i in range(old_keys.shape[0]):
        if old_keys[i]:
            slot = slot_of(keys, old_keys[i])
            keys[slot], found[slot] = old_keys[i], old_found[i]
