"""Aeroliths: what a player knows: hidden slots, redeals, and the observation that networks read."""

import numpy as np

from trilithon.core.aeroliths.kernels import (
    BUDGET,
    CATALOGUE,
    MAX_CELLS,
    MAX_LITHOS,
    MAX_SLOTS,
    MAX_WIDTH,
    UNIFORM,
    draw_litho,
    hand_size,
    slots,
)
from trilithon.core.aeroliths.lithos import catalogue_table
from trilithon.core.jit import kernel
from trilithon.core.rng import next_below
from trilithon.core.verbs import CHANCE, UNSEEN

# ---------------------------------------------------------------------------------------------------------- redeals


@kernel
def hidden_slots(state, player):
    """Return the bit set of the opponent's slots still in hand that `player` does not know."""
    if state.open_hands:
        return np.int64(0)
    other = 1 - player
    return np.int64(state.hand_left[other]) & ~np.int64(state.known[other])


@kernel
def pick_is_hidden(state, player):
    """Whether Chaos has picked a slot of the opponent's that `player` is not told: unless hands are open by option.

    Hands that became public (a draft, a later round) do not make the pick public.
    """
    return state.picked >= 0 and state.mover != player and state.open_hands == 0


@kernel
def observed_action(state, action, player):
    """The action, and for a placement the Litho that is shown by it; a pick of Chaos may be its owner's alone."""
    if state.current_player == CHANCE:
        return np.int64(action) if state.open_hands or state.mover == player else np.int64(UNSEEN)
    cells = np.int64(state.width) * np.int64(state.width)
    slot = np.int64(action) // cells
    if slot >= slots(state):
        return np.int64(action)  # a pick from the pool
    return np.int64(action) << 32 | np.int64(state.lithos[state.hand[state.mover, slot]])


@kernel
def determinize(state, player, rng):
    """Redeal the opponent's hidden slots from the source, in slot order, then a pick that only its owner knows.

    Uniform and budget: fresh draws. Catalogue: without replacement from the rows whose Lithos `player` has not seen
    (the own hand, played ones, known slots), in row order.
    """
    hidden = hidden_slots(state, player)
    if hidden and state.source == CATALOGUE:
        _redeal_from_catalogue(state, player, hidden, rng)
    elif hidden:
        for slot in range(MAX_SLOTS):
            if (hidden >> slot) & 1:
                number = state.hand[1 - player, slot]
                state.lithos[number] = draw_litho(state.source, state.budget, rng)
    if pick_is_hidden(state, player):
        hand = np.int64(state.hand_left[1 - player])
        remaining = 0
        for slot in range(MAX_SLOTS):
            remaining += (hand >> slot) & 1
        ticket = next_below(rng, remaining)
        for slot in range(MAX_SLOTS):
            if (hand >> slot) & 1:
                if ticket == 0:
                    state.picked = slot
                ticket -= 1


@kernel
def _remove_row(rows, count, litho):
    """Take the first row equal to `litho` out of ``rows[:count]``; return how many are left."""
    for row in range(count):
        if rows[row] == litho:
            for later in range(row, count - 1):
                rows[later] = rows[later + 1]
            return count - 1
    return count


@kernel
def _fill_hidden(state, player, hidden, rows, count, rng):
    """Deal distinct rows of ``rows[:count]`` to the `hidden` slots, uniformly."""
    for slot in range(MAX_SLOTS):
        if (hidden >> slot) & 1:
            if count == 0:
                state.lithos[state.hand[1 - player, slot]] = draw_litho(UNIFORM, 0, rng)
                continue
            litho = rows[next_below(rng, count)]
            state.lithos[state.hand[1 - player, slot]] = litho
            count = _remove_row(rows, count, litho)


@kernel
def _redeal_from_catalogue(state, player, hidden, rng):
    """Fill the `hidden` slots with distinct unseen rows of the state's catalogue, uniformly."""
    table = catalogue_table()
    start, length = np.int64(state.catalogue_start), np.int64(state.catalogue_length)
    unseen = np.empty(length, np.uint32)
    for row in range(length):
        unseen[row] = table[start + row]
    count = length
    if state.mirrored:
        # Both hands are one draw, so one row leaves for each pair; what is hidden is the longer hand's last Litho.
        for slot in range(MAX_SLOTS):
            if slot < hand_size(state, player):
                count = _remove_row(unseen, count, state.lithos[state.hand[player, slot]])
        _fill_hidden(state, player, hidden, unseen, count, rng)
        return
    # One row leaves for every Litho seen, wherever it is; a given hand may hold Lithos that no row has.
    filled = np.int64(state.owned[0] | state.owned[1])
    for cell in range(MAX_CELLS):
        if (filled >> cell) & 1:
            count = _remove_row(unseen, count, state.lithos[state.board[cell]])
    for p in range(2):
        visible = np.int64(state.hand_left[p])
        if p != player:
            visible &= ~hidden
        for slot in range(MAX_SLOTS):
            if (visible >> slot) & 1:
                count = _remove_row(unseen, count, state.lithos[state.hand[p, slot]])
    _fill_hidden(state, player, hidden, unseen, count, rng)


# ------------------------------------------------------------------------------------------------------ observation

CELL_FEATURES = 13  # owner (+1 own, -1 opponent's), 4 sides / 10, 4 elements, 4 elements of the cell
SLOT_FEATURES = 11  # in hand, known to the player who does not hold it, picked, 4 sides / 10, 4 elements
POOL_FEATURES = 9  # available, 4 sides / 10, 4 elements
OPTION_FEATURES = 26  # see _observe_options

TWO_SIDES = np.zeros((256, 2), np.float32)  # [byte of a packed Litho]: its two sides / 10
TWO_SIDES[:, 0] = (np.arange(256) & 15) * np.float32(0.1)
TWO_SIDES[:, 1] = (np.arange(256) >> 4) * np.float32(0.1)
ELEMENT_ROWS = np.zeros((6, 4), np.float32)  # [1 + element]: one-hot; zeros for no Litho (0) and for no element (5)
ELEMENT_ROWS[1:5] = np.eye(4)
ALL_SLOTS = 0xFFFF
INDEX = 1023  # a mask larger than any index into `out`: it tells the compiler that none is negative


@kernel
def observe(state, player, out):
    """Blocks one after another, own side first: cells, own hand, opponent's hand, options, pool (draft only).

    The universal shape has 25 cells (a smaller board in the top left corner), 13 slots a hand and 40 of the pool. Every
    number is written once, by tables and without branches: on 3x3 it is 253 of them, the cells and the hands taking two
    fifths of the time each.
    """
    if state.universal:
        out[:] = 0.0
    width, hand_slots = np.int64(state.width), slots(state)
    stride, hand_rows = width, hand_slots
    if state.universal:
        stride, hand_rows = MAX_WIDTH, MAX_SLOTS
    own, other = np.int64(state.owned[player]), np.int64(state.owned[1 - player])
    cell = 0
    for row in range(width):
        at = row * stride * CELL_FEATURES
        for _ in range(width):
            _observe_cell(state, (own >> cell) & 1, (other >> cell) & 1, cell & 31, out, at & INDEX)
            at += CELL_FEATURES
            cell += 1
    at = stride * stride * CELL_FEATURES
    picked = np.int64(0)
    if state.picked >= 0 and not pick_is_hidden(state, player):
        picked = np.int64(1) << np.int64(state.picked)
    own_picked = picked if state.mover == player else np.int64(0)
    known = np.int64(ALL_SLOTS) if state.open_hands else np.int64(state.known[player])
    _observe_hand(state, player, np.int64(ALL_SLOTS), known, own_picked, hand_slots, out, at)
    at += hand_rows * SLOT_FEATURES
    seen = ~hidden_slots(state, player)
    _observe_hand(state, 1 - player, seen, seen, picked ^ own_picked, hand_slots, out, at)
    at += hand_rows * SLOT_FEATURES
    _observe_options(state, player, out, at & INDEX)
    at += OPTION_FEATURES
    if state.pool_left:
        _observe_pool(state, out, at)
    else:
        for i in range(at, out.shape[0]):
            out[i] = 0.0


@kernel
def _observe_litho(litho, there, out, at):
    """Four sides over 10, then the element one-hot (all zero for none); all zeros unless ``there`` is 1."""
    word = np.int64(litho) & -there
    low, high, e = word & 255, (word >> 8) & 255, (word >> 16) + there
    a, b, c, d = TWO_SIDES[low, 0], TWO_SIDES[low, 1], TWO_SIDES[high, 0], TWO_SIDES[high, 1]
    p, q, r, s = ELEMENT_ROWS[e, 0], ELEMENT_ROWS[e, 1], ELEMENT_ROWS[e, 2], ELEMENT_ROWS[e, 3]
    out[at], out[at + 1], out[at + 2], out[at + 3] = a, b, c, d
    out[at + 4], out[at + 5], out[at + 6], out[at + 7] = p, q, r, s


@kernel
def _observe_cell(state, mine, theirs, cell, out, at):
    """One cell: owner, Litho, element of the cell."""
    out[at] = mine - theirs
    _observe_litho(state.lithos[np.int64(state.board[cell]) & 63], mine | theirs, out, at + 1)
    e = (np.int64(state.cell_element[cell]) + 1) & 7
    p, q, r, s = ELEMENT_ROWS[e, 0], ELEMENT_ROWS[e, 1], ELEMENT_ROWS[e, 2], ELEMENT_ROWS[e, 3]
    out[at + 9], out[at + 10], out[at + 11], out[at + 12] = p, q, r, s


@kernel
def _observe_hand(state, owner, seen, known, picked, hand_slots, out, at):
    """A hand; sets of slots: those whose Litho is `seen`, `known` to the player who does not hold them, `picked`."""
    hand = np.int64(state.hand_left[owner])
    known &= hand
    seen &= hand
    for slot in range(hand_slots):
        at &= INDEX
        out[at] = (hand >> slot) & 1
        out[at + 1] = (known >> slot) & 1
        out[at + 2] = (picked >> slot) & 1
        _observe_litho(state.lithos[np.int64(state.hand[owner, slot]) & 63], (seen >> slot) & 1, out, at + 3)
        at += SLOT_FEATURES


@kernel
def _observe_pool(state, out, at):
    """The pool: what is left of it."""
    for k in range(MAX_LITHOS):
        at &= INDEX
        left = np.int64(state.pool_left >> np.uint64(k)) & 1
        out[at] = left
        _observe_litho(state.lithos[k], left, out, at + 1)
        at += POOL_FEATURES


@kernel
def _observe_options(state, player, out, at):
    """What holds for the whole game: size, rules, round, who moves, who started, where hidden Lithos come from."""
    width, source = np.int64(state.width), np.int64(state.source)
    for i in range(3):
        out[at + i] = width == 3 + i
    out[at + 3] = state.same
    out[at + 4] = state.plus
    out[at + 5] = state.plus_own
    out[at + 6] = state.combo
    out[at + 7] = state.wall
    out[at + 8] = state.in_order
    out[at + 9] = state.chaos
    out[at + 10] = state.open_hands
    out[at + 11] = state.sudden_death
    out[at + 12] = state.draft
    out[at + 13] = state.max_rounds * np.float32(1.0 / 99.0)
    out[at + 14] = state.round_number * np.float32(1.0 / 99.0)
    out[at + 15] = 1.0 if state.current_player == player else 0.0
    out[at + 16] = 1.0 if state.mover == player else 0.0
    out[at + 17] = 1.0 if state.first_player == player else 0.0
    out[at + 18] = 1.0 if state.pool_left else 0.0
    for i in range(3):
        out[at + 19 + i] = source == i
    out[at + 22] = state.budget * np.float32(1.0 / 40.0) if source == BUDGET else 0.0
    out[at + 23] = state.catalogue_length * np.float32(1.0 / 10000.0)
    out[at + 24] = state.pool_count * np.float32(1.0 / 40.0)
    out[at + 25] = 1.0 if state.current_player == CHANCE else 0.0
