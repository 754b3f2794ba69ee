"""Aether: what a player knows of hidden tiles, redeals, and the observation that networks read.

What a player saw is in the state: the board, the own hands and draws, and the log, which tells who placed which element
and when somebody swapped. Opponents are taken to choose physical tiles blindly. Up to the player's first own swap
every unseen tile is then equally likely in every unseen place, and a world is a shuffle. An own swap breaks this: the
tiles given back may be drawn from then on, and not before. From there on the distribution over the others' hands (as
multisets) is carried forward exactly, event by event, and a world is sampled from its end and traced back: forward
filtering, backward sampling (Rabiner, "A tutorial on hidden Markov models", 1989). The log of the others' draws is
resampled along the way, so that a world holds all that a player of it would remember.
"""

import numpy as np

from trilithon.core.aether.boards import MAX_AETHER, aether_beside, aether_values
from trilithon.core.aether.kernels import (
    CLEAR_LEAD,
    ELEMENTS,
    HANDS,
    MAX_PLAYERS,
    NO_DRAW,
    PROPOSE,
    RANKS,
    SWAP,
    SWAPS_FROM,
    bag_size,
    next_player,
)
from trilithon.core.aether.posterior import after_own_swap, draw_hand, play_turn, write_present
from trilithon.core.aether.scoring import power
from trilithon.core.jit import kernel
from trilithon.core.rng import next_below
from trilithon.core.verbs import CHANCE, TERMINAL, UNSEEN

# ------------------------------------------------------------------------------------------------------------ redeals


@kernel
def observed_action(state, action, player):
    """The action; the tile that another player draws is not shown."""
    hidden = state.current_player == CHANCE and state.mover != player
    return np.int64(UNSEEN) if hidden else np.int64(action)


@kernel
def determinize(state, player, rng):
    """Redeal the other hands, the bag and the others' past draws from the posterior given all that `player` saw.

    One opponent: some microseconds; with an own swap behind, three opponents cost up to about 0.4 ms for each of their
    turns since then (their hands are 35 x 35 x 35 combinations).
    """
    unseen = np.zeros(ELEMENTS, np.int64)
    sizes = np.zeros(MAX_PLAYERS, np.int64)
    _unseen_at_start(state, player, unseen, sizes)
    first_swap = _forward_to_own_swap(state, player, unseen, sizes)
    hands = np.zeros((MAX_PLAYERS, ELEMENTS), np.int64)
    bag = np.zeros(ELEMENTS, np.int64)
    if first_swap < state.log_count:
        after_own_swap(state, player, first_swap, unseen, sizes, hands, bag, rng)
    else:
        for element in range(ELEMENTS):
            bag[element] = unseen[element]
            if state.swapping and state.mover == player:
                bag[element] -= np.int64(state.hands[player, element])
        for other in range(np.int64(state.players)):
            if other != player:
                draw_hand(bag, sizes[other], hands[other], rng)
        write_present(state, player, hands, bag, rng)
    _trace_back(state, player, first_swap, unseen, hands, rng)


@kernel
def _unseen_at_start(state, player, unseen, sizes):
    """Fill the tiles that `player` had not seen where the log begins, by element, and each player's number of tiles."""
    for element in range(ELEMENTS):
        unseen[element] = np.int64(state.bag[element]) + np.int64(state.aside[element])
        for other in range(np.int64(state.players)):
            unseen[element] += np.int64(state.hands[other, element])
            sizes[other] += np.int64(state.first_hands[other, element])
        unseen[element] -= np.int64(state.first_hands[player, element])
    for i in range(np.int64(state.log_count)):
        if state.log[i] < SWAPS_FROM:
            unseen[np.int64(state.log[i]) // (ELEMENTS + 1)] += 1


@kernel
def _forward_to_own_swap(state, player, unseen, sizes):
    """Follow the log up to the first own swap, or to its end; return where. `unseen`, `sizes` are brought there."""
    mover = np.int64(state.start_player)
    for i in range(np.int64(state.log_count)):
        entry = np.int64(state.log[i])
        if entry >= SWAPS_FROM:
            if mover == player:
                return i
            continue
        placed, drawn = entry // (ELEMENTS + 1), entry % (ELEMENTS + 1)
        if mover != player:
            unseen[placed] -= 1
        elif drawn != NO_DRAW:
            unseen[drawn] -= 1
        sizes[mover] -= drawn == NO_DRAW
        mover = next_player(state, mover)
    return np.int64(state.log_count)


@kernel
def _trace_back(state, player, end, unseen, hands, rng):
    """From the hands at log entry `end` back to its begin, while all unseen places are alike; fill `first_hands`.

    A tile that was drawn is any of the hand's, the hand before a swap any of what was in the bag after it. `unseen` and
    `hands` are changed to those of the beginning.
    """
    mover = _mover_at(state, end)
    old, bag = np.zeros(ELEMENTS, np.int64), np.zeros(ELEMENTS, np.int64)
    for i in range(end - 1, -1, -1):
        entry = np.int64(state.log[i])
        if entry < SWAPS_FROM:
            mover = mover - 1 if mover > 0 else np.int64(state.players) - 1
            placed, drawn = entry // (ELEMENTS + 1), entry % (ELEMENTS + 1)
            if mover == player:
                if drawn != NO_DRAW:
                    unseen[drawn] += 1
                continue
            if drawn != NO_DRAW:
                hand = hands[mover]
                ticket = next_below(rng, hand[0] + hand[1] + hand[2] + hand[3])
                drawn = 0
                while ticket >= hand[drawn]:
                    ticket -= hand[drawn]
                    drawn += 1
                hand[drawn] -= 1
            hands[mover, placed] += 1
            unseen[placed] += 1
            state.log[i] = placed * (ELEMENTS + 1) + drawn
        else:
            # An own swap is never met here. The old hand went into the bag, where it is like any other tile.
            hand = hands[mover]
            state.log[i] = SWAPS_FROM + RANKS[state.hand_tiles, hand[0], hand[1], hand[2]]
            for element in range(ELEMENTS):
                bag[element] = unseen[element]
                for other in range(np.int64(state.players)):
                    if other != player:
                        bag[element] -= hands[other, element]
            draw_hand(bag, np.int64(state.hand_tiles), old, rng)
            for element in range(ELEMENTS):
                hands[mover, element] = old[element]
    for other in range(np.int64(state.players)):
        if other != player:
            for element in range(ELEMENTS):
                state.first_hands[other, element] = hands[other, element]


@kernel
def _mover_at(state, end):
    """Whose turn it was at log entry `end`."""
    turns = np.int64(state.start_player)
    for i in range(end):
        turns += state.log[i] < SWAPS_FROM
    return turns % np.int64(state.players)


# -------------------------------------------------------------------------------------------------------- observation

# Columns of a row of the cells: value, element there (4), neighbours of each element (4), then by seat, the observer's
# own first: elemental there (n), its power (n).
SEATS_AT = 1 + 2 * ELEMENTS
CHOICES = 2 * ELEMENTS + 4  # each element without and with an elemental, then swap, propose, agree, decline
CHOICE_FEATURES = 11  # possible, element one-hot (4), with an elemental, which other choice (4), tiles in hand / 8
TABLE_FEATURES = 36  # see _observe_table
SEAT_FEATURES = 8  # see _observe_seats

RING_ROWS = np.zeros((1 << (3 * ELEMENTS), ELEMENTS), np.float32)  # [ring]: neighbours of each element / 6
for _ring in range(len(RING_ROWS)):
    RING_ROWS[_ring] = [(_ring >> (3 * _element) & 7) / 6 for _element in range(ELEMENTS)]
RING_ROWS = np.minimum(RING_ROWS, 1)
TILE_ROWS = np.eye(ELEMENTS + 1, dtype=np.float32)[:, 1:].copy()  # [element + 1]: one-hot, zeros for EMPTY


def cell_features(players):
    """Columns of a row of the cells block."""
    return SEATS_AT + 2 * players


def observation_size(rows, players):
    """Length of the observation for a board of so many hexes."""
    flat = TABLE_FEATURES + SEAT_FEATURES * players
    return rows * cell_features(players) + CHOICES * CHOICE_FEATURES + flat


@kernel
def observe(state, player, out):
    """Blocks one after another, own side first: cells (slots, then aether tiles), choices, table, seats.

    Half of the time goes into the slots, 3 ns each, a quarter into the rest, a quarter into clearing `out` before (more
    where a batch is larger than the processor's cache).
    """
    out[:] = 0.0
    n = np.int64(state.players)
    width = SEATS_AT + 2 * n
    at = 0
    for slot in range(np.int64(state.slots)):
        tile, ring = np.int64(state.tiles[slot]) + 1, np.int64(state.ring[slot])
        for element in range(ELEMENTS):
            out[at + 1 + element] = TILE_ROWS[tile, element]
            out[at + 1 + ELEMENTS + element] = RING_ROWS[ring, element]
        owner = np.int64(state.owners[slot])
        if owner >= 0:
            here = np.float32(power(state, slot))
            seat = owner - player if owner >= player else owner - player + n
            out[at + SEATS_AT + seat] = 1.0
            out[at + SEATS_AT + n + seat] = here * np.float32(1.0 / 7.0)
            _add_to_aether(state, slot, seat, here, out, width)
        at += width
    choices_at = at + width * aether_count(state)
    seats_at = choices_at + CHOICES * CHOICE_FEATURES + TABLE_FEATURES
    _observe_aether(state, out, at, width, seats_at + SEAT_FEATURES - 1)
    _observe_choices(state, player, out, choices_at)
    _observe_table(state, player, out, choices_at + CHOICES * CHOICE_FEATURES)
    _observe_seats(state, player, out, seats_at)


@kernel
def _add_to_aether(state, slot, seat, here, out, width):
    """Add an elemental's power to the rows of the aether tiles beside it, for its seat (in teams for both members)."""
    beside = aether_beside()
    n = np.int64(state.players)
    for i in range(6):
        tile = np.int64(beside[state.board, slot, i])
        if tile < 0:
            break
        row = (np.int64(state.slots) + tile) * width + SEATS_AT
        out[row + seat] = 1.0
        out[row + n + seat] += here
        if state.teams:
            out[row + (seat ^ 2)] = 1.0
            out[row + n + (seat ^ 2)] += here


@kernel
def aether_count(state):
    """Return how many aether tiles the board has."""
    values = aether_values()
    count = 0
    while count < MAX_AETHER and values[state.board, count] > 0:
        count += 1
    return count


@kernel
def _observe_aether(state, out, at, width, points_at):
    """Rows of the aether tiles: value / 99, and by seat (in teams its team's) whether it is there and its power / 12.

    The powers were summed in their places as whole numbers; here the tiles' points go to who takes them, at `points_at`
    and every SEAT_FEATURES behind it, and the powers are scaled.
    """
    n = np.int64(state.players)
    values = aether_values()
    for tile in range(aether_count(state)):
        value = np.int64(values[state.board, tile])
        out[at] = value * np.float32(1.0 / 99.0)
        best, k = np.float32(-100.0), 0
        for seat in range(n):
            if out[at + SEATS_AT + seat] > 0:
                here = out[at + SEATS_AT + n + seat]
                k = 1 if here > best else k + (here == best)
                best = max(best, here)
        if k:
            k = k // 2 if state.teams else k
            for seat in range(n):
                if out[at + SEATS_AT + seat] > 0 and out[at + SEATS_AT + n + seat] == best:
                    out[points_at + seat * SEAT_FEATURES] += value // k
            for i in range(at + SEATS_AT + n, at + width):
                out[i] = min(max(out[i] * np.float32(1.0 / 12.0), np.float32(-1.0)), np.float32(1.0))
        at += width


@kernel
def _observe_choices(state, player, out, at):
    """What the observer's hand allows: each element without and with an elemental, and the four other choices."""
    for element in range(ELEMENTS):
        tiles = np.int64(state.hands[player, element])
        if tiles:
            for raised in range(2):
                if raised == 0 or state.unused[player]:
                    row = at + (2 * element + raised) * CHOICE_FEATURES
                    out[row] = 1.0
                    out[row + 1 + element] = 1.0
                    out[row + 5] = raised
                    out[row + 10] = tiles * np.float32(1.0 / 8.0)
    own_turn = state.mover == player and state.current_player == player
    for choice in range(4):
        if choice == SWAP:
            there = state.unused[player] > 0 and bag_size(state) >= state.hand_tiles
        elif choice == PROPOSE:
            there = own_turn and state.may_propose > 0
        else:
            there = state.asked == player
        if there:
            row = at + (2 * ELEMENTS + choice) * CHOICE_FEATURES
            out[row] = 1.0
            out[row + 6 + choice] = 1.0


@kernel
def _observe_table(state, player, out, at):
    """Own, unseen and given back tiles, the bag, the phase of the turn, and what holds for the whole game."""
    each = np.float32(1.0) / np.float32(state.tiles_per_element)
    n = np.int64(state.players)
    for element in range(ELEMENTS):
        unseen = np.int64(state.bag[element])
        if state.mover != player:
            unseen += np.int64(state.aside[element])
        for other in range(n):
            if other != player:
                unseen += np.int64(state.hands[other, element])
        out[at + element] = state.hands[player, element] * np.float32(1.0 / 8.0)
        out[at + 4 + element] = unseen * each
    if state.sacrificed[player]:
        _observe_own_swaps(state, player, each, out, at + 8)
    out[at + 13] = bag_size(state) * each * np.float32(0.25)
    out[at + 14] = state.empty_count / np.float32(state.slots)
    out[at + 15] = state.current_player == player
    out[at + 16] = state.current_player == CHANCE
    out[at + 17] = state.current_player == TERMINAL
    out[at + 18] = state.swapping
    out[at + 19] = state.draws_left * np.float32(1.0 / 8.0)
    out[at + 20] = state.asked >= 0
    out[at + 21] = state.may_propose
    out[at + 20 + n] = 1.0  # 22 .. 24: two, three or four players
    out[at + 25] = state.teams
    out[at + 26 + np.int64(state.early_scoring)] = 1.0
    out[at + 29] = state.margin_reward
    out[at + 30] = state.leftover_points * np.float32(1.0 / 9.0)
    out[at + 31] = state.variant
    out[at + 32] = state.hand_tiles * np.float32(1.0 / 8.0)
    out[at + 33] = state.elementals * np.float32(1.0 / 99.0)
    out[at + 34] = state.tiles_per_element * np.float32(1.0 / 99.0)
    out[at + 35] = np.float32(min(np.int64(state.unused[player]), np.int64(state.empty_count))) / np.float32(
        state.slots
    )


@kernel
def _observe_own_swaps(state, player, each, out, at):
    """Tiles of each element that the own swaps gave back, and one's placements since the last (at most 20) / 20."""
    hand, given = np.zeros(ELEMENTS, np.int64), np.zeros(ELEMENTS, np.int64)
    for element in range(ELEMENTS):
        hand[element] = np.int64(state.first_hands[player, element])
    mover, since = np.int64(state.start_player), 20
    for i in range(np.int64(state.log_count)):
        entry = np.int64(state.log[i])
        if mover == player:
            if entry < SWAPS_FROM:
                play_turn(hand, entry)
                since = min(since + 1, 20)
            else:
                for element in range(ELEMENTS):
                    given[element] += hand[element]
                    hand[element] = HANDS[np.int64(state.hand_tiles), entry - SWAPS_FROM, element]
                since = 0
        if entry < SWAPS_FROM:
            mover = next_player(state, mover)
    for element in range(ELEMENTS):
        out[at + element] = min(given[element] * each, np.float32(1.0))
    out[at + ELEMENTS] = np.float32(20 - since) * np.float32(1.0 / 20.0)


@kernel
def _observe_seats(state, player, out, at):
    """By seat: elementals unused and sacrificed (of the start's), tiles in hand / 8, whose turn it is, who is asked.

    And who began, who scores with the observer, and the lead if the board were scored as it is (`kernels.margin`),
    for which the points of the aether tiles lie there already.
    """
    n = np.int64(state.players)
    share, total, first = np.float32(1.0) / np.float32(state.elementals), np.float32(0.0), at
    seat = player
    for _ in range(n):
        out[at] = min(state.unused[seat] * share, np.float32(1.0))
        out[at + 1] = min(state.sacrificed[seat] * share, np.float32(1.0))
        tiles = 0
        for element in range(ELEMENTS):
            tiles += np.int64(state.hands[seat, element])
        out[at + 2] = tiles * np.float32(1.0 / 8.0)
        out[at + 3] = state.mover == seat
        out[at + 4] = state.asked == seat
        out[at + 5] = state.first_player == seat
        out[at + 6] = seat == player or (state.teams and (seat ^ player) & 1 == 0)
        left = np.int64(state.unused[seat]) + np.int64(state.sacrificed[seat])
        if state.teams:
            left += np.int64(state.unused[seat ^ 2]) + np.int64(state.sacrificed[seat ^ 2])
        out[at + 7] += left * np.int64(state.leftover_points)
        total += out[at + 7]
        at += SEAT_FEATURES
        seat = next_player(state, seat)
    # Of n scores s the lead is (n s - total) / (n - 1); two teams of two are each other's rest.
    scale = np.float32(1.0) / np.float32(CLEAR_LEAD * (2 if state.teams else n - 1))
    for i in range(n):
        place = first + i * SEAT_FEATURES + 7
        lead = (n * out[place] - total) * scale
        out[place] = min(max(lead, np.float32(-1.0)), np.float32(1.0))
