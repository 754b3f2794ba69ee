"""Aeroliths: the alpha-beta search behind the exact solver, over bit sets, for hands that are known.

The value of a position is the final lead of the player to move, in Lithos; on an even board a level count is +1 or -1
by the sums of the sides, which keeps the order (outcome, then difference). What makes it quick:

- *Who beats whom* is a table of bit sets made once a solve: for each cell, open side and Litho on it, the Lithos that
  beat it from there, elements and elemental cells included. A capture is then one bit.
- *Keys forget what cannot matter any more.* Without Combo a Litho on the board only ever defends, through sides that
  face an empty cell, against Lithos still in a hand. So the key holds, for each such side, the set of remaining Lithos
  that beat it (with Same and Plus its number too), not which Litho it is; cells that nobody can capture any more are
  left out, and bounds are stored relative to their count. Positions that differ in nothing else share an entry.
- The same counts bound what is still to be had, which ends many lines at once.
- The value is bracketed by null-window tests from its likeliest place (most games end by 1 on odd boards, Plaat et
  al., "Best-first fixed-depth minimax algorithms", 1996: MTD); the table keeps a lower and an upper bound.
"""

import numpy as np

from trilithon.core.aeroliths.kernels import MAX_CELLS, beats, cell_bonus, element, side
from trilithon.core.jit import kernel

NO_MOVE = 1023
_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(29)
_OTHER_KEYS = 0x5DEECE66D1234566  # makes a second odd multiplier of each

# A solve works on one array, int64: kernels that pass many arrays about spend their time on that. Offsets into it:
CELL_COUNT, LITHO_COUNT, SAME, PLUS, PLUS_OWN, COMBO, WALL, IN_ORDER, SALT, NODES = range(10)
LEVEL_BY_SUMS = 10  # 1: values tell level counts apart by the sums of the sides
LITHOS = 32  # [L] packed; bit l of a set of Lithos is Litho l of this table
SUMS = 64  # [L] of the sides
TWINS = 96  # [L] the equal Lithos of the same hand in earlier slots: placing those is enough
BEFORE = 128  # [L] the Lithos of the same hand in earlier slots, for Order
BOARD = 160  # [cell] the Litho on each filled cell; bit c of a set of cells is cell c
FACES = 192  # [cell, side] the side that it faces, as 4 * cell + side; the edge is cell 31
KEYS = 320  # [cell, side, owner] odd multipliers
BEATERS = 576  # [cell, side] the Lithos that beat the one on the cell through this side
RAW = 704  # [cell, side] the number on this side of the Litho on the cell; 10 at the edge
TABLE = 832  # [cell, side, 32] `BEATERS` for each Litho
FRAMES = TABLE + 4 * MAX_CELLS * 32  # [ply, 16] the stack, its fields:
OWN, OPPONENT, HAND, OTHER_HAND, GOAL, BEST, BEST_MOVE, NEXT, COUNT, KEY, BASE, TABLE_MOVE = range(12)
MAX_PLIES = MAX_CELLS + 2
EDGE = 31
MOVES = FRAMES + 16 * MAX_PLIES  # [ply, 512]: score << 36 | captured cells << 11 | Litho << 5 | cell, those to come
MEMORY = MOVES + 512 * MAX_PLIES


@kernel
def prepare(state, work):
    """Fill the table of who beats whom, and what stands on the board."""
    cells = work[CELL_COUNT]
    for cell in range(cells):
        for s in range(4):
            other = work[FACES + 4 * cell + s] >> 2
            for m in range(work[LITHO_COUNT]):
                winners = np.int64(0)
                if other < cells:
                    word = work[LITHOS + m]
                    f = element(word)
                    defence = side(word, s) + cell_bonus(state, cell, f)
                    for a in range(work[LITHO_COUNT]):
                        e = element(work[LITHOS + a])
                        attack = side(work[LITHOS + a], (s + 2) & 3) + cell_bonus(state, other, e) - beats(f, e)
                        winners |= np.int64(attack > defence - beats(e, f)) << a
                work[TABLE + (4 * cell + s) * 32 + m] = winners
    for s in range(4):
        work[RAW + 4 * EDGE + s] = 10
    filled = np.int64(state.owned[0] | state.owned[1])
    for cell in range(cells):
        if (filled >> cell) & 1:
            put(work, work[BOARD + cell], cell)


@kernel
def put(work, litho, cell):
    """Put a Litho on a cell: what its four sides are from now on."""
    work[BOARD + cell] = litho
    word = work[LITHOS + litho]
    for s in range(4):
        work[BEATERS + 4 * cell + s] = work[TABLE + (4 * cell + s) * 32 + litho]
        work[RAW + 4 * cell + s] = (word >> (4 * s)) & 15


@kernel
def bit_count(x):
    """Return the number of bits of a set of up to 32."""
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    return ((((x + (x >> 4)) & 0x0F0F0F0F) * 0x01010101) & 0xFFFFFFFF) >> 24


@kernel
def special_captures(work, litho, cell, own, opponent):
    """Return the cells captured by Same and Plus; compare kernels.special_captures."""
    word = work[LITHOS + litho]
    edge = work[WALL] << EDGE
    counted = opponent | edge  # whose sums take part in Plus
    if work[PLUS_OWN]:
        counted |= own
    equal, low, high = np.int64(0), np.int64(0), np.int64(0)  # bit t of low, high: one side, two sides have the sum t
    equal_sides = np.int64(0)
    for s in range(4):
        face = work[FACES + 4 * cell + s]
        other = face >> 2
        value, facing = (word >> (4 * s)) & 15, work[RAW + face]
        same = np.int64(value == facing) & ((own | opponent | edge) >> other)
        equal_sides += same & 1
        equal |= (same & 1) << other
        total = ((counted >> other) & 1) << (value + facing)
        high |= low & total
        low |= total
    captured = np.int64(0)
    if work[SAME] and equal_sides >= 2:
        captured |= equal & opponent
    if work[PLUS] and high:
        for s in range(4):
            face = work[FACES + 4 * cell + s]
            captured |= ((high >> (((word >> (4 * s)) & 15) + work[RAW + face])) & 1) << (face >> 2)
    return captured & opponent


@kernel
def basic_captures(work, litho, cell, opponent):
    """Return the cells that a Litho on a cell beats."""
    captured = np.int64(0)
    for s in range(4):
        face = work[FACES + 4 * cell + s]
        captured |= ((work[BEATERS + face] >> litho) & 1) << (face >> 2)
    return captured & opponent


@kernel
def all_captures(work, litho, cell, own, opponent):
    """Return the cells that change hands when a Litho is put on a cell, by all rules in force."""
    captured = basic_captures(work, litho, cell, opponent)
    if not (work[SAME] or work[PLUS]):
        return captured
    special = special_captures(work, litho, cell, own, opponent)
    captured |= special
    if work[COMBO] and special:
        opponent ^= captured
        while special and opponent:
            attacker = 0
            while not (special >> attacker) & 1:
                attacker += 1
            special ^= np.int64(1) << attacker
            chained = basic_captures(work, work[BOARD + attacker], attacker, opponent)
            captured |= chained
            opponent ^= chained
            special |= chained
    return captured


@kernel
def examine(work, frame):
    """Fill key and base of a frame with an empty cell; return (lower, upper), sure bounds of its value.

    The base is the lead in cells that are settled; on the others, and on the empty ones, the bounds rest.
    """
    own, opponent, hand, other_hand = (
        work[frame + OWN],
        work[frame + OPPONENT],
        work[frame + HAND],
        work[frame + OTHER_HAND],
    )
    filled = own | opponent
    empties = ~filled & ((np.int64(1) << work[CELL_COUNT]) - 1)
    remaining = hand | other_hand
    combo = work[COMBO]
    special = work[SAME] or work[PLUS]
    reach = filled if combo else np.int64(0)  # chains reach nearly everywhere
    key = np.uint64(hand) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(other_hand) * np.uint64(0xC2B2AE3D27D4EB4F)
    key += np.uint64(filled) * np.uint64(0x165667B19E3779F9) + np.uint64(work[SALT])
    base, open_cells, sums, alone = 0, 0, 0, 0
    empty = bit_count(empties)
    for cell in range(work[CELL_COUNT]):
        if (empties >> cell) & 1:
            company = np.int64(0)
            for s in range(4):
                company |= empties >> (work[FACES + 4 * cell + s] >> 2)
            alone += 1 - (company & 1)
            continue
        mine = (own >> cell) & 1
        part, danger = np.int64(0), (reach >> cell) & 1
        attackers = other_hand if mine else hand
        for s in range(4):
            other = work[FACES + 4 * cell + s] >> 2
            beaten = work[BEATERS + 4 * cell + s]
            if (empties >> other) & 1:
                danger |= beaten & attackers
                beaten &= remaining
                if special:
                    danger = 1
                    beaten |= work[RAW + 4 * cell + s] << 40
                part += work[KEYS + 8 * cell + 2 * s + mine] * (beaten + 1)
            elif (reach >> other) & 1:
                # Under Combo a neighbour on the board may come to attack: whether it wins is all that matters.
                part += work[KEYS + 8 * cell + 2 * s + mine] * (((beaten >> work[BOARD + other]) & 1) + (1 << 50))
        litho = work[BOARD + cell]
        if danger:
            # Level counts need its sum; under Combo it may come to attack, and its element counts then.
            more = (element(work[LITHOS + litho]) + 1) * combo + 8 * work[SUMS + litho] * work[LEVEL_BY_SUMS]
            key += np.uint64(part + (work[KEYS + 8 * cell + mine] ^ _OTHER_KEYS) * more)
            open_cells += 1
        else:
            base += 2 * mine - 1
            sums += work[SUMS + litho] if mine else -work[SUMS + litho]
    if work[LEVEL_BY_SUMS]:
        key += np.uint64(np.int64(base * 1024 + sums + 512)) * np.uint64(0x27D4EB2F165667C5)
    key = (key ^ (key >> _SHIFT)) * _MULTIPLIER
    key ^= key >> _SHIFT
    work[frame + KEY] = np.int64(key)
    work[frame + BASE] = base
    # Who places last keeps that Litho, and who must fill cells without an empty neighbour keeps those.
    own_kept, other_kept = empty & 1, 1 - (empty & 1)
    if not combo:
        own_kept = max(own_kept, alone - empty // 2)
        other_kept = max(other_kept, alone - (empty + 1) // 2)
    upper = base + open_cells + empty - 2 * other_kept
    lower = base - open_cells - empty + 2 * own_kept
    if work[LEVEL_BY_SUMS]:
        upper = 1 if upper == 0 else upper
        lower = -1 if lower == 0 else lower
    return lower, upper


@kernel
def last_value(work, own, opponent, hand):
    """Return the mover's final value when one cell is left, which the one Litho of `hand` fills."""
    litho, cell = lowest(hand), lowest(~(own | opponent))
    captured = all_captures(work, litho, cell, own, opponent)
    work[BOARD + cell] = litho  # for the sums
    return final_value(work, own | captured | np.int64(1) << cell, opponent & ~captured)


@kernel
def value_of_two(work, own, opponent, hand, other_hand, goal):
    """Return the mover's final value when two cells and one Litho a hand are left (a lower bound if it is `goal`)."""
    litho, cell = lowest(hand), lowest(~(own | opponent))
    other = lowest(~(own | opponent | np.int64(1) << cell))
    best = np.int64(-100)
    for _ in range(2):
        captured = all_captures(work, litho, cell, own, opponent)
        put(work, litho, cell)
        value = -last_value(work, opponent & ~captured, own | captured | np.int64(1) << cell, other_hand)
        best = max(best, value)
        if best >= goal:
            break
        cell, other = other, cell
    return best


@kernel
def lowest(x):
    """Return the index of the lowest bit of a set that is not empty."""
    return bit_count((x & -x) - 1)


@kernel
def final_value(work, own, opponent):
    """Return the lead at the end; a level count is 1 or -1 by the sums of the sides (0: those are level too)."""
    lead = bit_count(own) - bit_count(opponent)
    if lead == 0 and work[LEVEL_BY_SUMS]:
        for cell in range(work[CELL_COUNT]):
            total = work[SUMS + work[BOARD + cell]]
            lead += total if (own >> cell) & 1 else -total
        lead = np.int64(lead > 0) - np.int64(lead < 0)
    return lead


@kernel
def list_moves(work, ply):
    """List the placements of a frame with what they capture and how promising they look; return their number."""
    frame = FRAMES + 16 * ply
    own, opponent = work[frame + OWN], work[frame + OPPONENT]
    hand, other_hand = work[frame + HAND], work[frame + OTHER_HAND]
    empties = ~(own | opponent) & ((np.int64(1) << work[CELL_COUNT]) - 1)
    ordered = bit_count(empties) > 3
    count = 0
    hand_left = hand
    while hand_left:
        litho = lowest(hand_left)
        hand_left &= hand_left - 1
        if work[TWINS + litho] & hand or (work[IN_ORDER] and work[BEFORE + litho] & hand):
            continue
        cells_left = empties
        while cells_left:
            cell = lowest(cells_left)
            cells_left &= cells_left - 1
            captured = all_captures(work, litho, cell, own, opponent)
            exposed = np.int64(0)
            for s in range(4 if ordered else 0):
                threats = work[TABLE + (4 * cell + s) * 32 + litho] & other_hand
                exposed += bit_count(threats) & -((empties >> (work[FACES + 4 * cell + s] >> 2)) & 1)
            move = litho << 5 | cell
            score = 96 + 4 * bit_count(captured) - exposed
            if move == work[frame + TABLE_MOVE]:
                score = 255
            work[MOVES + 512 * ply + count] = score << 36 | captured << 11 | move
            count += 1
    return count


@kernel
def next_move(work, ply, index, count):
    """Swap the most promising of ``moves[ply, index:count]`` to `index` and return it."""
    best = index
    for i in range(index + 1, count):
        if work[MOVES + 512 * ply + i] > work[MOVES + 512 * ply + best]:
            best = i
    move = work[MOVES + 512 * ply + best]
    work[MOVES + 512 * ply + best] = work[MOVES + 512 * ply + index]
    work[MOVES + 512 * ply + index] = move
    return move


@kernel
def look_up(table, key):
    """Return the table's entry for a key, 0 where there is none of this generation."""
    at = np.int64(np.uint64(key) & np.uint64(table.shape[0] - 1))
    if table[at, 0] == np.uint64(key):
        return table[at, 1]
    return np.uint64(0)


@kernel
def store(work, table, frame, value):
    """Keep what a search with the goal of `frame` found: a lower bound where it was reached, else an upper one."""
    key = np.uint64(work[frame + KEY])
    relative = value - (0 if work[LEVEL_BY_SUMS] else work[frame + BASE])
    lower, upper = np.int64(-100), np.int64(100)
    old = look_up(table, work[frame + KEY])
    move = work[frame + BEST_MOVE]
    if old:
        lower, upper = np.int64(old & np.uint64(255)) - 128, np.int64((old >> np.uint64(8)) & np.uint64(255)) - 128
    if value >= work[frame + GOAL]:
        lower = max(lower, relative)
    else:
        upper = min(upper, relative)
        if old and lower > -100:
            move = np.int64(old >> np.uint64(16)) & 1023  # the one that reached the lower bound
    at = np.int64(key & np.uint64(table.shape[0] - 1))
    table[at, 0] = key
    table[at, 1] = np.uint64((lower + 128) | (upper + 128) << 8 | move << 16 | 1 << 32)


@kernel
def enter(work, table, ply):
    """Begin a node: return (whether its value is settled, the value)."""
    frame = FRAMES + 16 * ply
    work[NODES] += 1
    work[frame + BEST_MOVE] = NO_MOVE
    own, opponent = work[frame + OWN], work[frame + OPPONENT]
    empty = work[CELL_COUNT] - bit_count(own | opponent)
    if empty == 1:
        return True, last_value(work, own, opponent, work[frame + HAND])
    if empty == 2:
        goal = work[frame + GOAL]
        return True, value_of_two(work, own, opponent, work[frame + HAND], work[frame + OTHER_HAND], goal)
    lower, upper = examine(work, frame)
    if lower >= work[frame + GOAL] or lower == upper:
        return True, lower
    if upper < work[frame + GOAL]:
        return True, upper
    entry = look_up(table, work[frame + KEY])
    work[frame + TABLE_MOVE] = NO_MOVE
    if entry:
        shift = 0 if work[LEVEL_BY_SUMS] else work[frame + BASE]
        lower = np.int64(entry & np.uint64(255)) - 128 + shift
        upper = np.int64((entry >> np.uint64(8)) & np.uint64(255)) - 128 + shift
        work[frame + TABLE_MOVE] = np.int64(entry >> np.uint64(16)) & 1023
        work[frame + BEST_MOVE] = work[frame + TABLE_MOVE]
        if lower >= work[frame + GOAL] or lower == upper:
            return True, lower
        if upper < work[frame + GOAL]:
            return True, upper
    work[frame + COUNT] = list_moves(work, ply)
    work[frame + NEXT] = 0
    work[frame + BEST] = -100
    work[frame + BEST_MOVE] = NO_MOVE
    return False, 0


@kernel
def play(work, ply, move):
    """Write the frame after a move (as `list_moves` packs it) behind frame `ply`."""
    frame, child = FRAMES + 16 * ply, FRAMES + 16 * ply + 16
    cell, litho, captured = move & 31, (move >> 5) & 63, (move >> 11) & 0x1FFFFFF
    put(work, litho, cell)
    work[child + OPPONENT] = work[frame + OWN] | captured | np.int64(1) << cell
    work[child + OWN] = work[frame + OPPONENT] ^ captured
    work[child + HAND] = work[frame + OTHER_HAND]
    work[child + OTHER_HAND] = work[frame + HAND] ^ np.int64(1) << litho
    work[child + GOAL] = 1 - work[frame + GOAL]


@kernel
def search(work, table, goal):
    """Return a bound of the value of frame 0 for its mover: at least `goal`, or less (fail-soft null window)."""
    work[FRAMES + GOAL] = goal
    settled, value = enter(work, table, 0)
    if settled:
        return value
    ply = 0
    while True:
        frame = FRAMES + 16 * ply
        if work[frame + BEST] >= work[frame + GOAL] or work[frame + NEXT] == work[frame + COUNT]:
            value = work[frame + BEST]
            store(work, table, frame, value)
            if ply == 0:
                return value
            ply -= 1
            parent = FRAMES + 16 * ply
            if -value > work[parent + BEST]:
                work[parent + BEST] = -value
                work[parent + BEST_MOVE] = work[MOVES + 512 * ply + work[parent + NEXT] - 1] & 1023
            continue
        move = next_move(work, ply, work[frame + NEXT], work[frame + COUNT])
        work[frame + NEXT] += 1
        play(work, ply, move)
        settled, value = enter(work, table, ply + 1)
        if settled:
            if -value > work[frame + BEST]:
                work[frame + BEST] = -value
                work[frame + BEST_MOVE] = move & 1023
        else:
            ply += 1


@kernel
def solve_frame(work, table, guess, step, goal_alone):
    """Return the value of frame 0, bracketed by null windows `step` apart from a guess on.

    With `goal_alone` one test at the guess is made: a lower bound that reaches it, or an upper one that does not. The
    frame is kept but for ``BEST_MOVE``, a move that reaches the value (NO_MOVE: all do).
    """
    lower, upper, goal, best_move = np.int64(-100), np.int64(100), guess, np.int64(NO_MOVE)
    while lower < upper:
        value = search(work, table, goal)
        if value >= goal:
            lower, best_move = value, work[FRAMES + BEST_MOVE]
            goal = value + step
        else:
            upper = value
            goal = value
        if goal_alone:
            break
    work[FRAMES + BEST_MOVE] = best_move
    return lower if lower > -100 else upper
