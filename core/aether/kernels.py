"""Aether: the state and the rules.

A placement writes the tile and the elemental and tells the slots around it what lies there (`ring`), so that a power is
two shifts and a score is one walk over the aether tiles. An action of a random playout, a draw counted as one, takes
about 150 ns: most of it goes into the list of legal actions (some 125 of them, two for each empty slot and element in
hand), a quarter into the two random draws, and the rest into the placement; scoring is 1 % of a game.

Hands are hidden. What a player may conclude about them depends on when each tile was drawn, so the state keeps a log:
one number a turn and one a swap, see information.py.
"""

import numpy as np

from trilithon.core.aether.boards import MAX_SLOTS, slot_neighbours
from trilithon.core.aether.completions import is_settled
from trilithon.core.aether.scoring import ELEMENTS, MAX_PLAYERS, scores
from trilithon.core.jit import kernel
from trilithon.core.verbs import CHANCE, TERMINAL, record_dtype

MAX_HAND, MAX_ELEMENTALS = 8, 99
EMPTY = NOBODY = -1
OFF, AGREEMENT, PROVED = range(3)  # early scoring
CLEAR_LEAD = 40  # points that make a margin of 1
SWAP, PROPOSE, AGREE, DECLINE = range(4)  # actions beyond the placements, see `first_other_action`
MAX_LOG = MAX_SLOTS + MAX_PLAYERS * MAX_ELEMENTALS
NO_DRAW = 4  # in a turn's entry of the log: no tile was drawn (yet)
SWAPS_FROM = ELEMENTS * (ELEMENTS + 1)  # entries of the log from here on are swaps

FIELDS = [
    ("current_player", np.int8),  # 0 .. players - 1, CHANCE or TERMINAL
    ("move_number", np.int16),  # actions so far, chance included
    ("aether", np.uint8),  # this game's own name, see verbs.provide
    ("board", np.uint16),  # row of the tables of boards, see boards.py
    ("slots", np.uint8),  # from here to first_player: options, and facts of the board
    ("players", np.uint8),
    ("teams", np.uint8),
    ("early_scoring", np.uint8),  # OFF, AGREEMENT or PROVED
    ("margin_reward", np.uint8),
    ("leftover_points", np.uint8),
    ("variant", np.uint8),
    ("hand_tiles", np.uint8),
    ("tiles_per_element", np.uint8),
    ("elementals", np.uint8),  # of a player at the start
    ("first_player", np.int8),
    ("start_player", np.int8),  # whose turn it was where the log begins
    ("mover", np.int8),  # whose turn it is
    ("draws_left", np.uint8),  # tiles that chance has to draw for the mover before anybody goes on
    ("swapping", np.uint8),  # the draws belong to a swap
    ("asked", np.int8),  # who has to answer the proposal to score, NOBODY where none is made
    ("may_propose", np.uint8),  # the turn has just begun, and proposals are in the game
    ("empty_count", np.uint8),
    ("log_count", np.uint16),
    ("unused", np.uint8, MAX_PLAYERS),  # [player]: elementals not in play
    ("sacrificed", np.uint8, MAX_PLAYERS),
    ("bag", np.uint8, ELEMENTS),  # [element]: tiles
    ("hands", np.uint8, (MAX_PLAYERS, ELEMENTS)),  # [player, element]: tiles
    ("aside", np.uint8, ELEMENTS),  # the mover's old hand during a swap
    ("first_hands", np.uint8, (MAX_PLAYERS, ELEMENTS)),  # the hands where the log begins
    ("tiles", np.int8, MAX_SLOTS),  # [slot]: element or EMPTY
    ("owners", np.int8, MAX_SLOTS),  # [slot]: whose elemental stands there, or NOBODY
    ("empties", np.uint8, MAX_SLOTS),  # the empty slots, ascending; 0 behind them
    ("ring", np.uint16, MAX_SLOTS),  # [slot]: bits 3e .. 3e + 2 count the tiles of element e around it
    ("log", np.uint8, MAX_LOG),  # a turn: placed * 5 + drawn; a swap: SWAPS_FROM + rank of the new hand
]
STATE = record_dtype(FIELDS)

# Hands as numbers: the multisets of each size in lexicographic order.
HAND_COUNTS = np.array([(_size + 1) * (_size + 2) * (_size + 3) // 6 for _size in range(MAX_HAND + 1)])
HANDS = np.zeros((MAX_HAND + 1, HAND_COUNTS[MAX_HAND], ELEMENTS), np.int64)  # [size, rank, element]: tiles
RANKS = np.zeros((MAX_HAND + 1, MAX_HAND + 1, MAX_HAND + 1, MAX_HAND + 1), np.int16)  # [size, water, fire, earth]
for _size in range(MAX_HAND + 1):
    _rank = 0
    for _water in range(_size + 1):
        for _fire in range(_size - _water + 1):
            for _earth in range(_size - _water - _fire + 1):
                HANDS[_size, _rank] = _water, _fire, _earth, _size - _water - _fire - _earth
                RANKS[_size, _water, _fire, _earth] = _rank
                _rank += 1

# ------------------------------------------------------------------------------------------------------------ actions


@kernel
def first_other_action(state):
    """Placements are the actions below this one; SWAP, PROPOSE, AGREE and DECLINE follow from here."""
    return 2 * ELEMENTS * np.int64(state.slots)


@kernel
def bag_size(state):
    """Return how many tiles the bag holds."""
    return np.int64(state.bag[0]) + np.int64(state.bag[1]) + np.int64(state.bag[2]) + np.int64(state.bag[3])


@kernel
def legal_actions(state, out):
    """Place: ``(element * slots + slot) * 2 + with an elemental``; then swap, propose, agree, decline."""
    player = np.int64(state.current_player)
    if player < 0:
        return 0
    other = first_other_action(state)
    if state.asked >= 0:
        out[0] = other + AGREE
        out[1] = other + DECLINE
        return 2
    n = 0
    empty = np.int64(state.empty_count)
    for element in range(ELEMENTS):
        if state.hands[player, element]:
            base = np.int32(2 * element * np.int64(state.slots))
            if state.unused[player]:
                for i in range(empty):
                    action = base + 2 * np.int32(state.empties[i])
                    out[n + 2 * i] = action
                    out[n + 2 * i + 1] = action + 1
                n += 2 * empty
            else:
                for i in range(empty):
                    out[n + i] = base + 2 * np.int32(state.empties[i])
                n += empty
    if state.unused[player] and bag_size(state) >= state.hand_tiles:
        out[n] = other + SWAP
        n += 1
    if state.may_propose:
        out[n] = other + PROPOSE
        n += 1
    return n


@kernel
def chance_outcomes(state, out, probabilities):
    """A tile is drawn: outcome e is element e, with its share of the bag."""
    if state.current_player != CHANCE:
        return 0
    n = 0
    total = np.float64(bag_size(state))
    for element in range(ELEMENTS):
        out[n] = element
        probabilities[n] = state.bag[element] / total
        n += state.bag[element] > 0
    return n


@kernel
def apply_action(state, action):
    """One step: a tile is placed or drawn, a hand is swapped, scoring is proposed or answered."""
    state.move_number += 1
    if state.current_player == CHANCE:
        _draw(state, action)
        return
    mover = np.int64(state.mover)
    choice = action - first_other_action(state)
    if choice < 0:
        _place(state, mover, action)
    elif choice == SWAP:
        _begin_swap(state, mover)
    elif choice == PROPOSE:
        state.may_propose = 0
        _ask(state, mover + 1)
    elif choice == AGREE:
        _ask(state, np.int64(state.asked) + 1)
    else:
        state.asked = NOBODY
        state.current_player = mover


@kernel
def _ask(state, player):
    """Ask the next player clockwise whether to score now; once all have agreed the game is over."""
    player = 0 if player == state.players else player
    if player == state.mover:
        state.asked = NOBODY
        state.current_player = TERMINAL
    else:
        state.asked = player
        state.current_player = player


@kernel
def _place(state, mover, action):
    """Put a tile on an empty slot, perhaps an elemental on it; then a tile is drawn, or the turn or the game ends."""
    slots = np.int64(state.slots)
    place = action >> 1
    element = np.int64(place >= slots) + np.int64(place >= 2 * slots) + np.int64(place >= 3 * slots)
    slot = place - element * slots
    state.hands[mover, element] -= np.uint8(1)
    if action & 1:
        state.unused[mover] -= np.uint8(1)
        state.owners[slot] = mover
    state.may_propose = 0
    put_tile(state, slot, element)
    _take_from_empties(state, slot)
    state.log[state.log_count] = element * (ELEMENTS + 1) + NO_DRAW
    state.log_count += np.uint16(1)
    if state.empty_count == 0 or (state.early_scoring == PROVED and is_settled(state, next_player(state, mover))):
        state.current_player = TERMINAL
    elif bag_size(state):
        state.draws_left = 1
        state.current_player = CHANCE
    else:
        _end_turn(state, mover)


@kernel
def put_tile(state, slot, element):
    """Lay a tile and count it in the rings of the slots around."""
    state.tiles[slot] = element
    neighbours = slot_neighbours()
    for i in range(6):
        other = np.int64(neighbours[state.board, slot, i])
        if other < 0:
            break
        state.ring[other] += np.uint16(1 << (3 * element))


@kernel
def _take_from_empties(state, slot):
    """Close the gap that a slot leaves; every later entry moves, so that the whole list goes in a few wide steps."""
    last = np.int64(state.empty_count) - 1
    for i in range(last):
        here = state.empties[i]
        state.empties[i] = state.empties[i + 1] if here >= slot else here
    state.empties[last] = 0
    state.empty_count = last


@kernel
def _begin_swap(state, mover):
    """Sacrifice an elemental and put the hand aside: neither in the hand nor in the bag until the new one is drawn."""
    state.unused[mover] -= np.uint8(1)
    state.sacrificed[mover] += np.uint8(1)
    for element in range(ELEMENTS):
        state.aside[element] = state.hands[mover, element]
        state.hands[mover, element] = 0
    state.may_propose = 0
    state.swapping = 1
    state.draws_left = state.hand_tiles
    state.current_player = CHANCE


@kernel
def _draw(state, element):
    """A tile goes from the bag to the mover's hand; after the last one the turn ends, or the swap."""
    mover = np.int64(state.mover)
    state.bag[element] -= np.uint8(1)
    state.hands[mover, element] += np.uint8(1)
    state.draws_left -= np.uint8(1)
    if state.draws_left:
        return
    if not state.swapping:
        state.log[state.log_count - 1] -= np.uint8(NO_DRAW - element)
        _end_turn(state, mover)
        return
    for other in range(ELEMENTS):
        state.bag[other] += state.aside[other]
        state.aside[other] = 0
    state.swapping = 0
    hand = state.hands[mover]
    state.log[state.log_count] = SWAPS_FROM + RANKS[state.hand_tiles, hand[0], hand[1], hand[2]]
    state.log_count += np.uint16(1)
    state.current_player = mover
    if state.early_scoring == PROVED and is_settled(state, mover):
        state.current_player = TERMINAL


@kernel
def next_player(state, player):
    """The next player clockwise."""
    return player + 1 if player + 1 < state.players else 0


@kernel
def _end_turn(state, mover):
    """The next player is to move."""
    mover = next_player(state, mover)
    state.mover = mover
    state.current_player = mover
    state.may_propose = state.early_scoring == AGREEMENT


@kernel
def start(state):
    """Fill what follows from board, hands, bag, elementals and mover (`ring`, `empties`, log) and begin the turn."""
    state.draws_left, state.swapping, state.log_count = 0, 0, 0
    state.asked = NOBODY
    state.ring[:] = 0
    state.empties[:] = 0
    state.log[:] = 0
    state.aside[:] = 0
    n = 0
    for slot in range(np.int64(state.slots)):
        if state.tiles[slot] == EMPTY:
            state.empties[n] = slot
            n += 1
        else:
            put_tile(state, slot, np.int64(state.tiles[slot]))
    state.empty_count = n
    for player in range(MAX_PLAYERS):
        for element in range(ELEMENTS):
            state.first_hands[player, element] = state.hands[player, element]
    state.start_player = state.mover
    state.current_player = state.mover
    state.may_propose = state.early_scoring == AGREEMENT
    if n == 0 or (state.early_scoring == PROVED and is_settled(state, np.int64(state.mover))):
        state.current_player = TERMINAL


# ---------------------------------------------------------------------------------------------------------------- end


@kernel
def _to_leads(state, out):
    """Turn scores into leads: the score less the mean of the others (in teams less the other team's), over 100.

    Whole numbers are divided once, so that every lead is the float next to the exact one.
    """
    n = out.shape[0]
    if state.teams:
        lead = (out[0] - out[1]) / 100.0
        for player in range(n):
            out[player] = lead if player & 1 == 0 else 0.0 - lead
        return
    total = 0.0
    for player in range(n):
        total += out[player]
    for player in range(n):
        out[player] = (n * out[player] - total) / (100.0 * (n - 1))


@kernel
def returns(state, out):
    """Shared wins, ``(n * w - 1) / (n - 1)`` with w = 1/k for each of k winners; or the lead, see `_to_leads`."""
    scores(state, out)
    if state.margin_reward:
        _to_leads(state, out)
        return
    n = 2 if state.teams else out.shape[0]
    best = out[0]
    for side in range(1, n):
        best = max(best, out[side])
    winners = 0
    for side in range(n):
        winners += out[side] == best
    for player in range(out.shape[0]):
        out[player] = (n - winners) / (winners * (n - 1)) if out[player] == best else -1.0 / (n - 1)


@kernel
def margin(state, out):
    """Each player's lead if the board is scored as it is, over CLEAR_LEAD points, within [-1, 1]."""
    scores(state, out)
    _to_leads(state, out)
    for player in range(out.shape[0]):
        out[player] = min(max(out[player] * (100.0 / CLEAR_LEAD), -1.0), 1.0)


@kernel
def heuristic(state, out):
    """The lead over 100 if the board is scored as it is; after the end the returns; within [-1, 1]."""
    if state.current_player == TERMINAL:
        returns(state, out)
    else:
        scores(state, out)
        _to_leads(state, out)
    for player in range(out.shape[0]):
        out[player] = min(max(out[player], -1.0), 1.0)
