"""Aeroliths: what a player knows: hidden slots, redeals, and the observation that networks read."""

import numpy as np

from trilithon.core.aeroliths.kernels import (
    BUDGET,
    CATALOGUE,
    MAX_CELLS,
    MAX_SLOTS,
    MAX_WIDTH,
    NO_ELEMENT,
    UNIFORM,
    draw_litho,
    element,
    hand_size,
    side,
    slots,
)
from trilithon.core.aeroliths.lithos import catalogue_table
from trilithon.core.jit import kernel
from trilithon.core.rng import next_below
from trilithon.core.verbs import CHANCE

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


@kernel
def observe(state, player, out):
    """Blocks one after another, own side first: cells, own hand, opponent's hand, options, pool (draft only).

    The universal shape has 25 cells (a smaller board in the top left corner), 13 slots a hand and 40 of the pool.
    """
    out[:] = 0.0
    width = np.int64(state.width)
    stride = MAX_WIDTH if state.universal else width
    hand_slots = MAX_SLOTS if state.universal else slots(state)
    for row in range(width):
        for column in range(width):
            _observe_cell(state, player, row * width + column, out, (row * stride + column) * CELL_FEATURES)
    offset = stride * stride * CELL_FEATURES
    for relative in range(2):
        owner = player if relative == 0 else 1 - player
        hidden = hidden_slots(state, player) if relative else np.int64(0)
        hand = np.int64(state.hand_left[owner])
        for slot in range(hand_slots):
            if (hand >> slot) & 1:
                at = offset + slot * SLOT_FEATURES
                out[at] = 1.0
                if relative == 0:
                    open_slot = state.open_hands or (np.int64(state.known[owner]) >> slot) & 1
                    out[at + 1] = 1.0 if open_slot else 0.0
                    _observe_litho(state.lithos[state.hand[owner, slot]], out, at + 3)
                elif not (hidden >> slot) & 1:
                    out[at + 1] = 1.0
                    _observe_litho(state.lithos[state.hand[owner, slot]], out, at + 3)
        if state.picked >= 0 and state.mover == owner and not pick_is_hidden(state, player):
            out[offset + state.picked * SLOT_FEATURES + 2] = 1.0
        offset += hand_slots * SLOT_FEATURES
    _observe_options(state, player, out, offset)
    offset += OPTION_FEATURES
    if state.pool_left:
        for k in range(np.int64(state.pool_count)):
            if (state.pool_left >> np.uint64(k)) & np.uint64(1):
                at = offset + k * POOL_FEATURES
                out[at] = 1.0
                _observe_litho(state.lithos[k], out, at + 1)


@kernel
def _observe_litho(litho, out, at):
    """Four sides over 10, then the element one-hot (all zero for none)."""
    for s in range(4):
        out[at + s] = side(litho, s) * np.float32(0.1)
    e = element(litho)
    if e < NO_ELEMENT:
        out[at + 4 + e] = 1.0


@kernel
def _observe_cell(state, player, cell, out, at):
    """One cell: owner, Litho, element of the cell."""
    mine = (np.int64(state.owned[player]) >> cell) & 1
    theirs = (np.int64(state.owned[1 - player]) >> cell) & 1
    if mine or theirs:
        out[at] = 1.0 if mine else -1.0
        _observe_litho(state.lithos[state.board[cell]], out, at + 1)
    if state.cell_element[cell] >= 0:
        out[at + 9 + state.cell_element[cell]] = 1.0


@kernel
def _observe_options(state, player, out, at):
    """What holds for the whole game: size, rules, round, who moves, who started, where hidden Lithos come from."""
    out[at + np.int64(state.width) - 3] = 1.0
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
    out[at + 19 + np.int64(state.source)] = 1.0
    if state.source == BUDGET:
        out[at + 22] = state.budget * np.float32(1.0 / 40.0)
    out[at + 23] = state.catalogue_length * np.float32(1.0 / 10000.0)
    out[at + 24] = state.pool_count * np.float32(1.0 / 40.0)
    out[at + 25] = 1.0 if state.current_player == CHANCE else 0.0
