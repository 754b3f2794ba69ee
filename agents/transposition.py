"""Transposition tables: what a search knows of positions that it may meet again on another way.

A position is told by the bytes of its state record, all but those of a field named ``log``: by convention such a field
says how the position came about, for texts and for redeals, and no rule and no heuristic reads it. The key is 128 bits,
sums of the record's words times random factors (Carter and Wegman, *Universal classes of hash functions*, 1979): half
of it picks the place, the other half is compared, so that of 10 million positions some two are taken for one with a
probability of less than 10**-5.

Entries come in pairs. The first of a pair is kept for the deepest search, the second takes whatever comes (Breuker,
Uiterwijk and van den Herik, *Replacement schemes for transposition tables*, 1994). An entry of another generation, that
is of another search, counts as empty: what a search finds depends on nothing that was searched before.
"""

from typing import NamedTuple

import numpy as np

from trilithon.core.game import Game
from trilithon.core.jit import kernel
from trilithon.core.rng import next_uint64
from trilithon.core.verbs import record_dtype

HISTORY_FIELD = "log"
NONE = -1
MAX_GENERATION = np.iinfo(np.uint16).max
EXACT, LOWER, UPPER = range(3)  # what a value is: the node's, or a bound on it
COMPLETE, SURE = 1, 2  # proofs, see alphabeta.py

ENTRY = record_dtype(
    [
        ("check", np.uint64),  # half of the key
        ("value", np.float64),
        ("best", np.int32),  # action to try first
        ("generation", np.uint16),  # 0: the entry is empty
        ("depth", np.uint8),  # player actions that were looked ahead
        ("knowledge", np.uint8),  # kind of bound + 4 * proofs
    ]
)

_ONE = np.uint64(1)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


class Table(NamedTuple):
    """A table and what it needs to make keys; L words of a record matter."""

    entries: np.ndarray  # ENTRY [T], T a power of 2, or 0: no table
    offsets: np.ndarray  # int32 [L]: the byte at which a word begins
    masks: np.ndarray  # uint64 [L]: which of its bits matter
    factors: np.ndarray  # uint64 [L, 2]: odd


def allocate_table(game: Game, bits: int) -> Table:
    """Return an empty table of ``2 ** bits`` entries; without entries where `bits` is 0."""
    offsets, masks = _words_of(game.dtype)
    rng = np.array([len(offsets)], np.uint64)
    factors = np.array([[int(next_uint64(rng)) | 1 for _ in range(2)] for _ in offsets], np.uint64)
    return Table(np.zeros(1 << bits if bits else 0, ENTRY), offsets, masks, factors.reshape(-1, 2))


def _words_of(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and masks of 64-bit words that cover the bytes that matter, none of them twice."""
    matters = np.zeros(dtype.itemsize + 7, np.uint8)
    for name, field in (dtype.fields or {}).items():
        if name != HISTORY_FIELD:
            matters[field[1] : field[1] + field[0].itemsize] = 0xFF
    offsets, place = [], 0
    while matters[place:].any():
        place += int(matters[place:].argmax())
        offsets.append(place)
        place += 8
    masks = [matters[offset : offset + 8].copy().view(np.uint64)[0] for offset in offsets]
    return np.array(offsets, np.int32), np.array(masks, np.uint64)


def allocate_states(game: Game, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `count` state records and the same memory as words: uint64 ``[count, bytes]``, one from every byte on."""
    size = game.dtype.itemsize
    buffer = np.zeros(count * size + 8, np.uint8)  # the last record's last words reach beyond it
    words: np.ndarray = np.ndarray((count, size), np.uint64, buffer, strides=(size, 1))
    return buffer[: count * size].view(game.dtype), words


@kernel
def make_key(words, table):
    """Return (place, check), two uint64, of the record whose words these are."""
    place, check = _SPREAD, np.uint64(0)
    for i in range(table.offsets.shape[0]):
        # Multiplied and folded, so that neither equal changes in both halves of a word nor its top bits get lost.
        word = (words[table.offsets[i]] & table.masks[i]) * _SPREAD
        word ^= word >> _S32
        place += word * table.factors[i, 0]
        check += word * table.factors[i, 1]
    place = (place ^ (place >> _S30)) * _MIX_1
    place = (place ^ (place >> _S27)) * _MIX_2
    return place ^ (place >> _S31), check


@kernel
def find_entry(entries, place, check, generation):
    """Return the index of a position's entry, or NONE."""
    first = np.int64(place & np.uint64(entries.shape[0] - 2))
    for i in range(first, first + 2):
        if entries[i].check == check and entries[i].generation == generation:
            return i
    return NONE


@kernel
def entry_to_write(entries, place, check, generation, depth):
    """Return the index of the entry that a position searched to `depth` goes to; what was there is lost."""
    first = np.int64(place & np.uint64(entries.shape[0] - 2))
    for i in range(first, first + 2):
        if entries[i].check == check and entries[i].generation == generation:
            return i
    if entries[first].generation != generation or entries[first].depth <= depth:
        return first
    return first + 1


@kernel
def write_entry(entry, check, generation, depth, best, value, knowledge):
    """Fill an entry."""
    entry.check = check
    entry.generation = generation
    entry.depth = depth
    entry.best = best
    entry.value = value
    entry.knowledge = knowledge
