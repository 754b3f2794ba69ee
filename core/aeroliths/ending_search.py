"""Aeroliths: the alpha-beta search behind the exact solver, over bit sets, for hands that are known.

The value of a position is the final lead of the player to move, in Lithos; on an even board a level count is +1 or -1
by the sums of the sides, which keeps the order (outcome, then difference). What makes it quick:

- *Who beats whom* is made once a solve: a word of four lanes of 16 bits for each cell and each Litho on it, lane s
  being the set of the Lithos in hand that beat it through side s, elements and elemental cells included. A capture is
  then one bit, and what threatens a Litho one `and`.
- *Keys forget what cannot matter any more.* Without Combo a Litho on the board only ever defends, through sides that
  face an empty cell, against Lithos still in a hand. So the key holds, for each such side, the set of remaining Lithos
  that beat it (with Same and Plus its number too), not which Litho it is; cells that nobody can capture any more are
  left out, and bounds are stored relative to their count. Positions that differ in nothing else share an entry.
- The same counts bound what is still to be had, which ends many lines at once.
- The value is bracketed by null-window tests from its likeliest place (most games end by 1 on odd boards, Plaat et
  al., "Best-first fixed-depth minimax algorithms", 1996: MTD); the table keeps a lower and an upper bound.
"""

import numpy as np

from trilithon.core.aeroliths.ending_positions import (
    NO_MOVE,
    ONES,
    TO_SIDES,
    all_captures,
    attackers,
    bit_count,
    chained,
    faces,
    final_value,
    lowest,
    put,
    seen_by_plus,
    seen_by_same,
    special_sides,
    sum_of,
)
from trilithon.core.aeroliths.kernels import element
from trilithon.core.jit import kernel

_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
_U16, _U23, _U29, _U32 = (np.uint64(n) for n in (16, 23, 29, 32))


@kernel
def folded(x):
    """Return a word with every lane folded into the lower ones (one-to-one), so that a product mixes all of them."""
    x = x ^ (x >> _U32)
    return x ^ (x >> _U16)


@kernel
def examine(work, ply):
    """Fill key and settled lead of a frame with an empty cell; return (lower, upper), sure bounds of its value.

    On the cells that are not settled, and on the empty ones, the bounds rest.
    """
    own, opponent, hand, other_hand = work.own[ply], work.opponent[ply], work.hand[ply], work.other_hand[ply]
    combo, special, sums = work.combo, work.special, work.level_by_sums
    filled = own | opponent
    empties = ~filled & work.every_cell
    # The cells with an empty one above, to the right, below, to the left.
    above, right = (empties << work.row) & work.every_cell, (empties >> 1) & work.not_last
    below, left = empties >> work.row, (empties << 1) & work.not_first
    near = above | right | below | left
    remaining = (hand | other_hand) * ONES
    threats = hand * ONES, other_hand * ONES
    key = np.uint64(hand) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(other_hand) * np.uint64(0xC2B2AE3D27D4EB4F)
    key += np.uint64(filled) * np.uint64(0x165667B19E3779F9) + work.salt
    unsettled = np.int64(0)
    left_over = filled if combo else filled & near  # chains reach nearly everywhere
    while left_over:
        cell = lowest(left_over)
        left_over &= left_over - 1
        mine = (own >> cell) & 1
        up, on, down, back = (above >> cell) & 1, (right >> cell) & 1, (below >> cell) & 1, (left >> cell) & 1
        lanes = up | on << 16 | down << 32 | back << 48
        word = work.words[cell] & ((lanes << 16) - lanes)
        if not (special or word & threats[mine]):
            continue
        unsettled |= np.int64(1) << cell
        key += folded(np.uint64(word & remaining)) * work.keys[cell, mine, 0]
        more = np.int64(0)
        if special:
            sides = up | on << 8 | down << 16 | back << 24
            more = work.values[cell] & ((sides << 8) - sides)
            if combo:
                # It may come to attack: then its element counts, and whom it beats on the board.
                beside = 15 & ~(up | on << 1 | down << 2 | back << 3)
                more |= (work.strong[cell] & beside) << 32 | (element(work.lithos[work.board[cell]]) + 1) << 36
        if sums:
            more |= work.sums[work.board[cell]] << 40
        if special or sums:
            mixed = np.uint64(more + 1)
            key += (mixed ^ (mixed >> _U23)) * work.keys[cell, mine, 1]
    settled = bit_count(own & ~unsettled) - bit_count(opponent & ~unsettled)
    if sums:
        total = sum_of(work, own & ~unsettled) - sum_of(work, opponent & ~unsettled)
        key += np.uint64(settled * 2048 + total + 1024) * np.uint64(0x27D4EB2F165667C5)
    key = (key ^ (key >> _U29)) * _MULTIPLIER
    work.key[ply] = key ^ (key >> _U29)
    work.settled[ply] = settled
    empty, open_cells = bit_count(empties), bit_count(unsettled)
    # Who places last keeps that Litho, and who must fill cells without an empty neighbour keeps those.
    own_kept, other_kept = empty & 1, 1 - (empty & 1)
    if not combo:
        alone = bit_count(empties & ~near)
        own_kept = max(own_kept, alone - empty // 2)
        other_kept = max(other_kept, alone - (empty + 1) // 2)
    upper = settled + open_cells + empty - 2 * other_kept
    lower = settled - open_cells - empty + 2 * own_kept
    if sums:
        upper = 1 if upper == 0 else upper
        lower = -1 if lower == 0 else lower
    return lower, upper


@kernel
def last_value(work, own, opponent, hand):
    """Return the mover's final value when one cell is left, which the one Litho of `hand` fills."""
    litho, cell = lowest(hand), lowest(~(own | opponent))
    captured = all_captures(work, litho, cell, own, opponent)
    work.board[cell] = litho  # for the sums
    return final_value(work, own | captured | np.int64(1) << cell, opponent & ~captured)


@kernel
def value_of_two(work, own, opponent, hand, other_hand, goal):
    """Return the mover's final value when two cells and one Litho a hand are left.

    A lower bound if it is `goal` or more, an upper one if it is less.
    """
    litho, cell = lowest(hand), lowest(~(own | opponent))
    other = lowest(~(own | opponent | np.int64(1) << cell))
    lead = bit_count(own) - bit_count(opponent)
    best = np.int64(-100)
    for _ in range(2):
        captured = all_captures(work, litho, cell, own, opponent)
        most = lead + 2 * bit_count(captured) + work.level_by_sums
        if most < goal:
            best = max(best, most)
        else:
            put(work, litho, cell)
            value = -last_value(work, opponent & ~captured, own | captured | np.int64(1) << cell, other_hand)
            best = max(best, value)
            if best >= goal:
                break
        cell, other = other, cell
    return best


@kernel
def list_moves(work, ply):
    """List the placements of a frame with what they capture and how promising they look; return their number."""
    own, opponent = work.own[ply], work.opponent[ply]
    hand, other_hand = work.hand[ply], work.other_hand[ply]
    empties = ~(own | opponent) & work.every_cell
    candidates = np.int64(0)
    lithos = hand
    while lithos:
        litho = lowest(lithos)
        lithos &= lithos - 1
        if not (work.twins[litho] & hand or (work.in_order and work.before[litho] & hand)):
            candidates |= np.int64(1) << litho
    threats = other_hand * ONES
    same_faces, plus_faces, count = np.int64(0), np.int64(0), 0
    cells = empties
    while cells:
        cell = lowest(cells)
        cells &= cells - 1
        lanes, open_sides = np.int64(0), 0
        for s in range(4):
            empty = (empties >> work.neighbours[cell, s]) & 1
            lanes |= empty << (16 * s)
            open_sides += empty
        lanes = ((lanes << 16) - lanes) & threats
        word = attackers(work, cell, opponent)
        possible = work.special
        if possible:
            same_faces = faces(work, cell, seen_by_same(work, own, opponent), 64, 0)
            possible = bit_count(same_faces & 0x40404040) <= 2  # Same and Plus take two sides
            if work.plus:
                plus_faces = faces(work, cell, seen_by_plus(work, own, opponent), 32, 32)
        lithos = candidates
        while lithos:
            litho = lowest(lithos)
            lithos &= lithos - 1
            captured = work.capture[cell, ((((word >> litho) & ONES) * TO_SIDES) >> 48) & 15]
            if possible:
                sides = special_sides(work, work.spread[litho], same_faces, plus_faces)
                special = work.capture[cell, sides] & opponent
                captured |= special
                if work.combo and special:
                    captured = chained(work, captured, special, opponent)
            exposed = open_sides + bit_count(work.beaten_by[cell, litho] & lanes)
            move = litho << 5 | cell
            score = 1000 + 32 * bit_count(captured) - 3 * work.sums[litho] - 6 * exposed
            if move == work.table_move[ply]:
                score = 4000
            work.moves[ply, count] = score << 36 | captured << 11 | move
            count += 1
    return count


@kernel
def next_move(work, ply, index, count):
    """Swap the most promising of ``moves[ply, index:count]`` to `index` and return it."""
    best, move = index, work.moves[ply, index]
    for i in range(index + 1, count):
        if work.moves[ply, i] > move:
            best, move = i, work.moves[ply, i]
    work.moves[ply, best] = work.moves[ply, index]
    work.moves[ply, index] = move
    return move


@kernel
def look_up(table, key):
    """Return the table's entry for a key, 0 where there is none of this generation."""
    at = np.int64(key & np.uint64(table.shape[0] - 1))
    if table[at, 0] == key:
        return table[at, 1]
    return np.uint64(0)


@kernel
def store(work, table, ply, value):
    """Keep what a search with the goal of a frame found: a lower bound where it was reached, else an upper one."""
    key = work.key[ply]
    relative = value - (0 if work.level_by_sums else work.settled[ply])
    lower, upper = np.int64(-100), np.int64(100)
    old = look_up(table, key)
    move = work.best_move[ply]
    if old:
        lower, upper = np.int64(old & np.uint64(255)) - 128, np.int64((old >> np.uint64(8)) & np.uint64(255)) - 128
    if value >= work.goal[ply]:
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
    work.nodes += 1
    work.best_move[ply] = NO_MOVE
    own, opponent, goal = work.own[ply], work.opponent[ply], work.goal[ply]
    empty = work.cell_count - bit_count(own | opponent)
    if empty == 1:
        return True, last_value(work, own, opponent, work.hand[ply])
    if empty == 2:
        return True, value_of_two(work, own, opponent, work.hand[ply], work.other_hand[ply], goal)
    lower, upper = examine(work, ply)
    if lower >= goal or lower == upper:
        return True, lower
    if upper < goal:
        return True, upper
    entry = look_up(table, work.key[ply])
    work.table_move[ply] = NO_MOVE
    if entry:
        shift = 0 if work.level_by_sums else work.settled[ply]
        lower = np.int64(entry & np.uint64(255)) - 128 + shift
        upper = np.int64((entry >> np.uint64(8)) & np.uint64(255)) - 128 + shift
        work.table_move[ply] = np.int64(entry >> np.uint64(16)) & 1023
        work.best_move[ply] = work.table_move[ply]
        if lower >= goal or lower == upper:
            return True, lower
        if upper < goal:
            return True, upper
    work.count[ply] = list_moves(work, ply)
    work.next[ply] = 0
    work.best[ply] = -100
    work.best_move[ply] = NO_MOVE
    return False, 0


@kernel
def play(work, ply, move):
    """Write the frame after a move (as `list_moves` packs it) behind frame `ply`."""
    cell, litho, captured = move & 31, (move >> 5) & 63, (move >> 11) & 0x1FFFFFF
    put(work, litho, cell)
    work.opponent[ply + 1] = work.own[ply] | captured | np.int64(1) << cell
    work.own[ply + 1] = work.opponent[ply] ^ captured
    work.hand[ply + 1] = work.other_hand[ply]
    work.other_hand[ply + 1] = work.hand[ply] ^ np.int64(1) << litho
    work.goal[ply + 1] = 1 - work.goal[ply]


@kernel
def search(works, table, goal):
    """Return a bound of the value of frame 0 for its mover: at least `goal`, or less (fail-soft null window).

    `works` is a `WORK` array [1], `table` uint64 [2 ** k, 2]: keys and entries.
    """
    work = works[0]
    work.goal[0] = goal
    settled, value = enter(work, table, 0)
    if settled:
        return value
    ply = 0
    while True:
        if work.best[ply] >= work.goal[ply] or work.next[ply] == work.count[ply]:
            value = work.best[ply]
            store(work, table, ply, value)
            if ply == 0:
                return value
            ply -= 1
            if -value > work.best[ply]:
                work.best[ply] = -value
                work.best_move[ply] = work.moves[ply, work.next[ply] - 1] & 1023
            continue
        move = next_move(work, ply, work.next[ply], work.count[ply])
        work.next[ply] += 1
        play(work, ply, move)
        settled, value = enter(work, table, ply + 1)
        if settled:
            if -value > work.best[ply]:
                work.best[ply] = -value
                work.best_move[ply] = move & 1023
        else:
            ply += 1


@kernel
def solve_frame(works, table, guess, step, goal_alone):
    """Return the value of frame 0, bracketed by null windows `step` apart from a guess on.

    With `goal_alone` one test at the guess is made: a lower bound that reaches it, or an upper one that does not. The
    frame is kept but for ``best_move``, a move that reaches the value (NO_MOVE: all do).
    """
    lower, upper, goal, best_move = np.int64(-100), np.int64(100), guess, np.int64(NO_MOVE)
    while lower < upper:
        value = search(works, table, goal)
        if value >= goal:
            lower, best_move = value, works[0].best_move[0]
            goal = value + step
        else:
            upper = value
            goal = value
        if goal_alone:
            break
    works[0].best_move[0] = best_move
    return lower if lower > -100 else upper
