"""Aeroliths: a position as bit sets, and captures by table, for the exact solver; see ending_search.py."""

import numpy as np

from trilithon.core.aeroliths.kernels import MAX_CELLS, beats, cell_bonus, element, side
from trilithon.core.jit import kernel
from trilithon.core.verbs import record_dtype

NO_MOVE = 1023
MOST_IN_HAND = 16  # in both hands together: what a lane holds
MAX_LITHOS = MOST_IN_HAND + MAX_CELLS
MAX_PLIES = MOST_IN_HAND + 2
MAX_MOVES = MOST_IN_HAND // 2 * MOST_IN_HAND
EDGE = MAX_CELLS  # the number of what lies beyond the board

# A solve works on one record, which kernels pass on as a pointer. A set of cells is int64 with bit c for cell c; a set
# of Lithos has bit l for Litho l of this table, those in hand first; lane s of a word is for side s.
WORK = record_dtype(
    [
        ("cell_count", np.int64),
        ("row", np.int64),  # cells in a row
        ("every_cell", np.int64),  # sets of cells
        ("not_first", np.int64),  # those not in the first column
        ("not_last", np.int64),
        ("neighbours", np.int64, (MAX_CELLS, 4)),
        ("capture", np.int64, (MAX_CELLS, 16)),  # the neighbours behind a set of sides (bit s), as a set of cells
        ("keys", np.uint64, (MAX_CELLS, 2, 2)),  # [cell, owner, part] odd multipliers
        ("same", np.int64),
        ("plus", np.int64),
        ("plus_own", np.int64),
        ("special", np.int64),  # Same or Plus
        ("combo", np.int64),  # with one of them
        ("wall", np.int64),
        ("in_order", np.int64),
        ("level_by_sums", np.int64),  # 1: values tell level counts apart by the sums of the sides
        ("salt", np.uint64),
        ("nodes", np.int64),
        ("litho_count", np.int64),
        ("in_hand", np.int64),  # how many of them were in hand when the solve began
        ("lithos", np.int64, MAX_LITHOS),  # packed
        ("sums", np.int64, MAX_LITHOS),  # of the sides
        ("spread", np.int64, MAX_LITHOS),  # the sides as four bytes
        ("twins", np.int64, MOST_IN_HAND),  # the equal Lithos of the same hand in earlier slots: those are enough
        ("before", np.int64, MOST_IN_HAND),  # the Lithos of the same hand in earlier slots, for Order
        ("beaten_by", np.int64, (MAX_CELLS, MOST_IN_HAND)),  # [cell, Litho on it] who beats it: a word
        ("fixed", np.int64, (MAX_CELLS, MOST_IN_HAND)),  # the sides through which Lithos of the first board beat it
        # What stands on the filled cells, and beyond the edge; of empty cells it is what stood there last.
        ("board", np.int64, MAX_CELLS + 1),  # the Litho
        ("words", np.int64, MAX_CELLS + 1),  # its entry of `beaten_by`
        ("values", np.int64, MAX_CELLS + 1),  # its entry of `spread`; for Same and Plus
        ("strong", np.int64, MAX_CELLS + 1),  # the sides through which it beats its neighbours; for Combo
        # The stack, by ply.
        ("own", np.int64, MAX_PLIES),  # the mover's cells
        ("opponent", np.int64, MAX_PLIES),
        ("hand", np.int64, MAX_PLIES),
        ("other_hand", np.int64, MAX_PLIES),
        ("goal", np.int64, MAX_PLIES),  # whether the value is at least this is asked
        ("best", np.int64, MAX_PLIES),
        ("best_move", np.int64, MAX_PLIES),
        ("table_move", np.int64, MAX_PLIES),
        ("next", np.int64, MAX_PLIES),
        ("count", np.int64, MAX_PLIES),
        ("key", np.uint64, MAX_PLIES),
        ("settled", np.int64, MAX_PLIES),  # the lead in cells that nobody can capture any more
        ("moves", np.int64, (MAX_PLIES, MAX_MOVES)),  # score << 36 | captured cells << 11 | Litho << 5 | cell
    ]
)
ONES = 0x0001000100010001  # bit 0 of each lane; times a set: the set in every lane
BYTES = 0x01010101
TO_SIDES = 1 << 48 | 1 << 33 | 1 << 18 | 1 << 3  # times bits at 0, 16, 32, 48: those as bits 48 .. 51
_BYTES_TO_SIDES = 1 << 24 | 1 << 17 | 1 << 10 | 1 << 3  # times bits at 0, 8, 16, 24: those as bits 24 .. 27
_U1, _U2, _U4, _U56 = (np.uint64(n) for n in (1, 2, 4, 56))
_M1, _M2, _M4, _M8 = (
    np.uint64(n) for n in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x0101010101010101)
)


@kernel
def bit_count(x):
    """Return the number of bits of a set."""
    x = np.uint64(x)
    x = x - ((x >> _U1) & _M1)
    x = (x & _M2) + ((x >> _U2) & _M2)
    return np.int64((((x + (x >> _U4)) & _M4) * _M8) >> _U56)


@kernel
def lowest(x):
    """Return the index of the lowest bit of a set that is not empty."""
    return bit_count((x & -x) - 1)


@kernel
def prepare(state, work):
    """Fill the tables of who beats whom, and what stands on the board."""
    cells = work.cell_count
    for cell in range(cells):
        for m in range(work.litho_count):
            word, fixed = np.int64(0), np.int64(0)
            defender = work.lithos[m]
            f = element(defender)
            for s in range(4):
                other = work.neighbours[cell, s]
                if other == EDGE:
                    continue
                defence = side(defender, s) + cell_bonus(state, cell, f)
                for a in range(work.litho_count):
                    attacker = work.lithos[a]
                    e = element(attacker)
                    attack = side(attacker, (s + 2) & 3) + cell_bonus(state, other, e)
                    if attack - beats(f, e) > defence - beats(e, f):
                        if a < work.in_hand:
                            word |= np.int64(1) << (16 * s + a)
                        elif work.board[other] == a:
                            fixed |= np.int64(1) << s
            if m < work.in_hand:
                work.beaten_by[cell, m] = word
                work.fixed[cell, m] = fixed
            elif work.board[cell] == m:
                work.words[cell] = word
                work.values[cell] = work.spread[m]
                for s in range(4):
                    # Of two Lithos that are there already, each one's strength is found at the other.
                    other = work.neighbours[cell, s]
                    back = np.int64(1) << ((s + 2) & 3)
                    work.strong[other] = (work.strong[other] & ~back) | ((fixed >> s) & 1) * back


@kernel
def put(work, litho, cell):
    """Put a Litho on a cell: what its four sides are from now on."""
    work.board[cell] = litho
    word = work.beaten_by[cell, litho]
    work.words[cell] = word
    if work.special:
        work.values[cell] = work.spread[litho]
    if work.combo:
        strong = np.int64(0)
        for s in range(4):
            other = work.neighbours[cell, s]
            back = (s + 2) & 3
            strong |= ((work.words[other] >> (16 * back + litho)) & 1) << s
            if work.board[other] < work.in_hand:
                beaten = (word >> (16 * s + work.board[other])) & 1
            else:
                beaten = (work.fixed[cell, litho] >> s) & 1
            work.strong[other] = (work.strong[other] & ~(np.int64(1) << back)) | beaten << back
        work.strong[cell] = strong


@kernel
def attackers(work, cell, opponent):
    """Return the word of the Lithos that beat, through each side, an opponent's Litho beside an empty cell."""
    word = np.int64(0)
    for s in range(4):
        other = work.neighbours[cell, s]
        lane = (work.words[other] >> (16 * ((s + 2) & 3))) & 0xFFFF
        word |= (lane & -((opponent >> other) & 1)) << (16 * s)
    return word


@kernel
def faces(work, cell, seen, missing, spacing):
    """Return the values that face an empty cell as four bytes; ``missing + s * spacing`` where not in `seen`."""
    found = np.int64(0)
    for s in range(4):
        other = work.neighbours[cell, s]
        if (seen >> other) & 1:
            found |= ((work.values[other] >> (8 * ((s + 2) & 3))) & 255) << (8 * s)
        else:
            found |= (missing + s * spacing) << (8 * s)
    return found


@kernel
def zero_bytes(x):
    """Return four bytes with 1 where those of x are 0, else 0."""
    x = (((x & 0x7F7F7F7F) + 0x7F7F7F7F) | x) >> 7
    return ~x & BYTES


@kernel
def special_sides(work, spread, same_faces, plus_faces):
    """Return the sides, bit s, through which Same and Plus capture; compare kernels.special_captures."""
    found = np.int64(0)
    if work.same:
        equal = zero_bytes(spread ^ same_faces)
        if equal & (equal - 1):  # two at least
            found = equal
    if work.plus:
        sums = spread + plus_faces
        following = zero_bytes(sums ^ (((sums << 8) | (sums >> 24)) & 0xFFFFFFFF))  # equal to the side before
        opposite = zero_bytes(sums ^ (((sums << 16) | (sums >> 16)) & 0xFFFFFFFF))
        found |= following | opposite | (following >> 8) | ((following & 1) << 24)
    return ((found * _BYTES_TO_SIDES) >> 24) & 15


@kernel
def seen_by_same(work, own, opponent):
    """Return the cells, the edge being one, whose values Same compares."""
    return own | opponent | work.wall << EDGE


@kernel
def seen_by_plus(work, own, opponent):
    """Return the cells, the edge being one, whose values Plus adds up."""
    return (own if work.plus_own else 0) | opponent | work.wall << EDGE


@kernel
def chained(work, captured, special, opponent):
    """Return the cells that change hands when those captured by Same and Plus capture on (Combo)."""
    opponent &= ~captured
    while special and opponent:
        attacker = lowest(special)
        further = work.capture[attacker, work.strong[attacker]] & opponent
        special = (special & (special - 1)) | further
        captured |= further
        opponent ^= further
    return captured


@kernel
def all_captures(work, litho, cell, own, opponent):
    """Return the cells that change hands when a Litho is put on a cell, by all rules in force."""
    word = (attackers(work, cell, opponent) >> litho) & ONES
    captured = work.capture[cell, ((word * TO_SIDES) >> 48) & 15]
    if work.special:
        same_faces = faces(work, cell, seen_by_same(work, own, opponent), 64, 0)
        plus_faces = faces(work, cell, seen_by_plus(work, own, opponent), 32, 32)
        sides = special_sides(work, work.spread[litho], same_faces, plus_faces)
        special = work.capture[cell, sides] & opponent
        captured |= special
        if work.combo and special:
            captured = chained(work, captured, special, opponent)
    return captured


@kernel
def sum_of(work, cells):
    """Return the sum of the sides of the Lithos on a set of cells."""
    total = np.int64(0)
    while cells:
        total += work.sums[work.board[lowest(cells)]]
        cells &= cells - 1
    return total


@kernel
def final_value(work, own, opponent):
    """Return the lead at the end; a level count is 1 or -1 by the sums of the sides (0: those are level too)."""
    lead = bit_count(own) - bit_count(opponent)
    if lead == 0 and work.level_by_sums:
        lead = sum_of(work, own) - sum_of(work, opponent)
        lead = np.int64(lead > 0) - np.int64(lead < 0)
    return lead
