"""Aeroliths: the state and the rules.

Stones ("Lithos") are numbered in a table inside the state; board and hands hold numbers. A Litho is one packed word:
four bits a side (top, right, bottom, left) and the element above them. Who owns which cell is two bit sets, one a
player, so that "which neighbours are the opponent's" is a mask and a capture is an exclusive or. One record serves the
three board sizes; a playout spends its time in the legal-action list (about half) and in the four comparisons.
"""

import numpy as np

from trilithon.core.jit import kernel
from trilithon.core.lattice import square_neighbours
from trilithon.core.rng import next_below
from trilithon.core.verbs import CHANCE, TERMINAL, record_dtype

MAX_WIDTH, MAX_CELLS, MAX_SLOTS, MAX_LITHOS = 5, 25, 13, 40
NO_ELEMENT = 4  # neutral to every element
UNIFORM, BUDGET, CATALOGUE = 0, 1, 2  # sources of Lithos

FIELDS = [
    ("current_player", np.int8),  # 0, 1, CHANCE or TERMINAL
    ("move_number", np.int16),  # actions so far, chance included
    ("aeroliths", np.uint8),  # this game's own name, see verbs.provide
    ("width", np.uint8),  # 3, 4 or 5 cells a side
    ("same", np.uint8),  # from here to draft: rule options, 0 or 1
    ("plus", np.uint8),
    ("plus_own", np.uint8),
    ("combo", np.uint8),
    ("wall", np.uint8),
    ("in_order", np.uint8),
    ("chaos", np.uint8),
    ("open_hands", np.uint8),
    ("sudden_death", np.uint8),
    ("draft", np.uint8),
    ("max_rounds", np.uint8),  # 1..99
    ("round_number", np.uint8),  # from 0
    ("first_player", np.int8),  # of round 0
    ("mover", np.int8),  # whose turn it is, also while chance picks a slot
    ("picked", np.int8),  # the slot Chaos picked, -1 when none is
    ("source", np.uint8),  # UNIFORM, BUDGET or CATALOGUE
    ("mirrored", np.uint8),  # 1: the hands were dealt as one, the first player's last Litho apart
    ("budget", np.uint8),  # side sum of the budget source
    ("catalogue_start", np.int32),  # rows of lithos.CATALOGUE_TABLE
    ("catalogue_length", np.int32),
    ("universal", np.uint8),  # 1: observe pads every size to one shape
    ("pool_count", np.uint8),  # Lithos in the draft pool at the start
    ("pool_left", np.uint64),  # bit k: pool Litho k is not picked
    ("owned", np.uint32, 2),  # [player]: bit c: the player owns cell c
    ("hand_left", np.uint16, 2),  # [player]: bit s: slot s is still in hand
    ("known", np.uint16, 2),  # [player]: bit s: the opponent knows that slot of this player's hand
    ("hand", np.int8, (2, MAX_SLOTS)),  # [player, slot]: number of the Litho the slot holds or held
    ("board", np.int8, MAX_CELLS),  # [cell]: number of the Litho on it; only where owned
    ("cell_element", np.int8, MAX_CELLS),  # [cell]: 0..3, -1 on a plain cell
    ("lithos", np.uint32, MAX_LITHOS),  # [number]: packed Litho
]
STATE = record_dtype(FIELDS)

NEIGHBOURS = np.full((MAX_WIDTH + 1, MAX_CELLS, 4), -1, np.int8)  # [width, cell, side]
for _width in (3, 4, 5):
    NEIGHBOURS[_width, : _width * _width] = square_neighbours(_width)

# BUDGET_COUNTS[k, t]: number of ways k sides of 1..10 have the sum t.
BUDGET_COUNTS = np.zeros((5, 41), np.int64)
BUDGET_COUNTS[0, 0] = 1
for _k in range(1, 5):
    for _t in range(41):
        BUDGET_COUNTS[_k, _t] = sum(BUDGET_COUNTS[_k - 1, _t - _v] for _v in range(1, 11) if _v <= _t)

# ----------------------------------------------------------------------------------------------------------- Lithos


@kernel
def pack(top, right, bottom, left, element):
    """Return a Litho as one uint32: sides 1..10 in four bits each, element 0..4 above them."""
    return np.uint32(top | (right << 4) | (bottom << 8) | (left << 12) | (element << 16))


@kernel
def side(litho, s):
    """Return the printed value, 1..10, of side s (0 top, 1 right, 2 bottom, 3 left)."""
    return (np.int64(litho) >> (4 * s)) & 15


@kernel
def element(litho):
    """Return the element: 0 fire, 1 wind, 2 earth, 3 water, 4 none."""
    return np.int64(litho) >> 16


@kernel
def side_sum(litho):
    """Return the sum of the four printed values."""
    return side(litho, 0) + side(litho, 1) + side(litho, 2) + side(litho, 3)


@kernel
def beats(e, f):
    """Return 1 where element e is strong against f (fire, wind, earth, water, fire ...), else 0."""
    return np.int64(e < NO_ELEMENT and f < NO_ELEMENT and ((e + 1) & 3) == f)


@kernel
def draw_litho(source, budget, rng):
    """Return a fresh packed Litho from the uniform or the budget source."""
    if source == UNIFORM:
        top, right = 1 + next_below(rng, 10), 1 + next_below(rng, 10)
        bottom, left = 1 + next_below(rng, 10), 1 + next_below(rng, 10)
        return pack(top, right, bottom, left, next_below(rng, 4))
    # Side by side, each with the number of ways in which the others can complete the sum: uniform over vectors.
    litho, remaining = np.uint32(0), np.int64(budget)
    for s in range(4):
        ticket = next_below(rng, BUDGET_COUNTS[4 - s, remaining])
        value = 0
        while ticket >= 0:
            value += 1
            if value <= remaining:
                ticket -= BUDGET_COUNTS[3 - s, remaining - value]
        litho |= np.uint32(value << (4 * s))
        remaining -= value
    return np.uint32(litho | np.uint32(next_below(rng, 4) << 16))


@kernel
def draw_lithos(source, budget, rng, out):
    """Fill `out`, uint32, with `draw_litho`."""
    for i in range(out.shape[0]):
        out[i] = draw_litho(source, budget, rng)


# ---------------------------------------------------------------------------------------------------------- actions


@kernel
def slots(state):
    """Return H = ceil(n * n / 2), the number of hand slots that action numbers use."""
    return (np.int64(state.width) * np.int64(state.width) + 1) // 2


@kernel
def hand_size(state, player):
    """Return how many Lithos `player` starts a round with; odd boards give the round's first player one more."""
    cells = np.int64(state.width) * np.int64(state.width)
    starter = (np.int64(state.first_player) + np.int64(state.round_number)) % 2
    return (cells + 1) // 2 if player == starter else cells // 2


@kernel
def legal_actions(state, out):
    """Place: ``slot * n * n + cell``; draft pick: ``H * n * n + k``."""
    cells = np.int64(state.width) * np.int64(state.width)
    n = 0
    if state.current_player < 0:
        return n
    if state.pool_left:
        base, left = slots(state) * cells, state.pool_left
        for k in range(np.int64(state.pool_count)):
            out[n] = base + k
            n += np.int64((left >> np.uint64(k)) & np.uint64(1))
        return n
    hand = np.int64(state.hand_left[state.mover])
    if state.picked >= 0:
        hand = np.int64(1) << np.int64(state.picked)
    elif state.in_order:
        hand &= -hand
    filled = np.int64(state.owned[0] | state.owned[1])
    first = 0
    while not (hand >> first) & 1:
        first += 1
    # The empty cells once, written one ahead of the count instead of branched on; other slots are copies.
    for cell in range(cells):
        out[n] = first * cells + cell
        n += 1 - ((filled >> cell) & 1)
    empty = n
    hand >>= first + 1
    offset = 0
    while hand:
        offset += cells
        if hand & 1:
            for i in range(empty):
                out[n + i] = out[i] + offset
            n += empty
        hand >>= 1
    return n


@kernel
def chance_outcomes(state, out, probabilities):
    """Chaos: one of the slots still in hand, uniformly."""
    if state.current_player != CHANCE:
        return 0
    hand = np.int64(state.hand_left[state.mover])
    n = 0
    for slot in range(MAX_SLOTS):
        if (hand >> slot) & 1:
            out[n] = slot
            n += 1
    for i in range(n):
        probabilities[i] = 1.0 / n
    return n


@kernel
def apply_action(state, action):
    """One step: chance picks a slot, a player drafts a Litho, or a player places one and its captures follow."""
    state.move_number += 1
    if state.current_player == CHANCE:
        state.picked = action
        state.current_player = state.mover
        return
    cells = np.int64(state.width) * np.int64(state.width)
    if state.pool_left:
        _pick_from_pool(state, action - slots(state) * cells)
        return
    mover = np.int64(state.mover)
    # Unsigned 32 bits: a signed 64-bit division costs as much as a capture.
    slot = np.int64(np.uint32(action) // np.uint32(cells))
    cell = action - slot * cells
    state.picked = -1
    state.hand_left[mover] ^= np.uint16(1 << slot)
    state.board[cell] = state.hand[mover, slot]
    resolve(state, mover, cell)
    state.owned[mover] |= np.uint32(1 << cell)
    if np.int64(state.owned[0] | state.owned[1]) == (np.int64(1) << cells) - 1:
        _end_round(state)
    else:
        _begin_turn(state, 1 - mover)


@kernel
def _begin_turn(state, player):
    """Give `player` the turn, by way of chance under Chaos."""
    state.mover = player
    state.current_player = CHANCE if state.chaos and not state.pool_left else player


@kernel
def _pick_from_pool(state, k):
    """Draft pool Litho k into the mover's next free slot; the last pick ends the draft."""
    mover = np.int64(state.mover)
    slot = 0
    while (state.hand_left[mover] >> slot) & 1:
        slot += 1
    state.hand[mover, slot] = k
    state.hand_left[mover] |= np.uint16(1 << slot)
    state.known[mover] |= np.uint16(1 << slot)
    state.pool_left ^= np.uint64(1) << np.uint64(k)
    picked = np.int64(state.hand_left[0]) + np.int64(state.hand_left[1])
    if picked == (1 << hand_size(state, 0)) + (1 << hand_size(state, 1)) - 2:
        state.pool_left = 0  # Lithos nobody picked leave the game
        _begin_turn(state, np.int64(state.first_player))
    else:
        state.mover = 1 - mover
        state.current_player = state.mover


# ----------------------------------------------------------------------------------------------------------- combat


@kernel
def cell_bonus(state, cell, e):
    """Return +1 for a Litho of element e on a cell of its element, -1 on another elemental cell, 0 on a plain one."""
    cell_element = np.int64(state.cell_element[cell])
    if cell_element < 0:
        return 0
    return 1 if cell_element == e else -1


@kernel
def basic_captures(state, cell, opponents):
    """Return the bit set of `opponents` that the Litho on `cell` beats in the normal comparison."""
    litho = state.lithos[state.board[cell]]
    e = element(litho)
    own_bonus = cell_bonus(state, cell, e)
    captured = np.int64(0)
    for s in range(4):
        neighbour = np.int64(NEIGHBOURS[state.width, cell, s])
        if neighbour >= 0 and (opponents >> neighbour) & 1:
            other = state.lithos[state.board[neighbour]]
            f = element(other)
            attack = side(litho, s) + own_bonus - beats(f, e)
            defence = side(other, (s + 2) & 3) + cell_bonus(state, neighbour, f) - beats(e, f)
            captured |= np.int64(attack > defence) << neighbour
    return captured


@kernel
def special_captures(state, cell, own, opponents):
    """Return the bit set of `opponents` captured by Same and Plus, both on printed values."""
    litho = state.lithos[state.board[cell]]
    equal_sides, equal_cells = 0, np.int64(0)
    sums_low, sums_high = np.int64(0), np.int64(0)  # bit t: some side, at least two sides, have the sum t
    for s in range(4):
        value = side(litho, s)
        neighbour = np.int64(NEIGHBOURS[state.width, cell, s])
        plus_sum = 0
        if neighbour < 0:
            if state.wall:
                equal_sides += np.int64(value == 10)
                plus_sum = value + 10
        elif ((own | opponents) >> neighbour) & 1:
            facing = side(state.lithos[state.board[neighbour]], (s + 2) & 3)
            if value == facing:
                equal_sides += 1
                equal_cells |= np.int64(1) << neighbour
            if state.plus_own or (opponents >> neighbour) & 1:
                plus_sum = value + facing
        if plus_sum:
            sums_high |= sums_low & (np.int64(1) << plus_sum)
            sums_low |= np.int64(1) << plus_sum
    captured = np.int64(0)
    if state.same and equal_sides >= 2:
        captured |= equal_cells & opponents
    if state.plus and sums_high:
        for s in range(4):
            neighbour = np.int64(NEIGHBOURS[state.width, cell, s])
            if neighbour >= 0 and (opponents >> neighbour) & 1:
                facing = side(state.lithos[state.board[neighbour]], (s + 2) & 3)
                captured |= ((sums_high >> (side(litho, s) + facing)) & 1) << neighbour
    return captured


@kernel
def resolve(state, mover, cell):
    """Capture for the Litho just put on `cell`: Same and Plus and Basic together, then the chain of Combo."""
    own, opponents = np.int64(state.owned[mover]), np.int64(state.owned[1 - mover])
    if not opponents:
        return
    special = np.int64(0)
    if state.same or state.plus:
        special = special_captures(state, cell, own, opponents)
    captured = special | basic_captures(state, cell, opponents)
    opponents ^= captured
    if state.combo:
        while special and opponents:
            attacker = 0
            while not (special >> attacker) & 1:
                attacker += 1
            special ^= np.int64(1) << attacker
            chained = basic_captures(state, attacker, opponents)
            captured |= chained
            opponents ^= chained
            special |= chained
    state.owned[mover] = np.uint32(own | captured)
    state.owned[1 - mover] = np.uint32(opponents)


# -------------------------------------------------------------------------------------------------------------- end


@kernel
def count_cells(state, player):
    """Return how many Lithos `player` owns on the board."""
    bits = np.int64(state.owned[player])
    n = 0
    while bits:
        bits &= bits - 1
        n += 1
    return n


@kernel
def owned_sum(state, player):
    """Return the sum of printed values over the Lithos `player` owns on the board."""
    total = 0
    for cell in range(MAX_CELLS):
        if (np.int64(state.owned[player]) >> cell) & 1:
            total += side_sum(state.lithos[state.board[cell]])
    return total


@kernel
def leader(state):
    """Return the player ahead on the board by Lithos, then by side sums; -1 where both are equal."""
    lead = count_cells(state, 0) - count_cells(state, 1)
    if lead == 0:
        lead = owned_sum(state, 0) - owned_sum(state, 1)
    if lead == 0:
        return -1
    return 0 if lead > 0 else 1


@kernel
def _end_round(state):
    """The board is full: the game ends, or Sudden Death deals each player the Lithos they own, in cell order."""
    if not state.sudden_death or state.round_number + 1 >= state.max_rounds or leader(state) >= 0:
        state.current_player = TERMINAL
        return
    for player in range(2):
        slot = 0
        for cell in range(MAX_CELLS):
            if (np.int64(state.owned[player]) >> cell) & 1:
                state.hand[player, slot] = state.board[cell]
                slot += 1
        for unused in range(slot, MAX_SLOTS):
            state.hand[player, unused] = 0
        state.hand_left[player] = np.uint16((1 << slot) - 1)
        state.known[player] = state.hand_left[player]
    state.owned[0] = 0
    state.owned[1] = 0
    state.board[:] = 0
    state.round_number += 1
    _begin_turn(state, (np.int64(state.first_player) + np.int64(state.round_number)) % 2)


@kernel
def returns(state, out):
    """+1 and -1, or 0 and 0 for a draw."""
    winner = leader(state)
    for player in range(2):
        out[player] = 0.0 if winner < 0 else (1.0 if winner == player else -1.0)


@kernel
def margin(state, out):
    """Own less the opponent's Lithos on the board, over n * n."""
    cells = np.float64(state.width) * np.float64(state.width)
    lead = count_cells(state, 0) - count_cells(state, 1)
    out[0] = lead / cells
    out[1] = -lead / cells


@kernel
def heuristic(state, out):
    """The margin before the end; the returns once ended."""
    if state.current_player == TERMINAL:
        returns(state, out)
    else:
        margin(state, out)


@kernel
def tie_break(state, action):
    """The sum of 10 - side over the placed Litho's sides that face empty cells: what it leaves open to attack."""
    cells = np.int64(state.width) * np.int64(state.width)
    slot = action // cells
    if slot >= slots(state):
        return 0.0
    litho = state.lithos[state.hand[state.mover, slot]]
    filled = np.int64(state.owned[0] | state.owned[1])
    cost = 0
    for s in range(4):
        neighbour = np.int64(NEIGHBOURS[state.width, action - slot * cells, s])
        if neighbour >= 0 and not (filled >> neighbour) & 1:
            cost += 10 - side(litho, s)
    return np.float64(cost)
