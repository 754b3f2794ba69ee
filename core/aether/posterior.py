"""Aether: the distribution over the other hands once a player has swapped, carried forward and traced back.

A joint hand is a number: the rank of the first other player's hand, plus that of the second times the number of hands,
and so on. An event is one entry of the log; before each event of an opponent the distribution is kept for the way back,
with the unseen tiles and the hand sizes of that time.
"""

import numpy as np

from trilithon.core.aether.kernels import (
    ELEMENTS,
    HAND_COUNTS,
    HANDS,
    MAX_HAND,
    MAX_PLAYERS,
    NO_DRAW,
    RANKS,
    SWAPS_FROM,
    next_player,
)
from trilithon.core.jit import kernel
from trilithon.core.rng import next_below, next_float

LARGEST = int(HAND_COUNTS[MAX_HAND])
MORE = np.zeros((MAX_HAND, LARGEST, ELEMENTS), np.int64)  # [size, rank, element]: rank with that tile more
LESS = np.full((MAX_HAND + 1, LARGEST, ELEMENTS), -1, np.int64)  # [size, rank, element]: rank with it less, or -1
for _size in range(MAX_HAND):
    for _rank in range(HAND_COUNTS[_size]):
        for _element in range(ELEMENTS):
            _hand = HANDS[_size, _rank].copy()
            _hand[_element] += 1
            MORE[_size, _rank, _element] = RANKS[_size + 1, _hand[0], _hand[1], _hand[2]]
            LESS[_size + 1, MORE[_size, _rank, _element], _element] = _rank
CHOOSE = np.zeros((128, MAX_HAND + 1))  # [n, k]: binomial coefficients, 0 where k > n
CHOOSE[:, 0] = 1.0
for _n in range(1, 128):
    CHOOSE[_n, 1:] = CHOOSE[_n - 1, 1:] + CHOOSE[_n - 1, :-1]

# ------------------------------------------------------------------------------------------------------- the present


@kernel
def draw_hand(bag, count, hand, rng):
    """Draw `count` tiles from the bag into an empty hand, uniformly; the bag keeps the rest."""
    hand[:] = 0
    total = bag[0] + bag[1] + bag[2] + bag[3]
    for _ in range(count):
        ticket = next_below(rng, total)
        total -= 1
        element = 0
        while ticket >= bag[element]:
            ticket -= bag[element]
            element += 1
        bag[element] -= 1
        hand[element] += 1


@kernel
def write_present(state, player, hands, bag, rng):
    """Write the others' hands and the bag to the state; in an opponent's swap the hand is aside, and a new one begun.

    `hands` and `bag` are those at the end of the log; `bag` is changed by what has been drawn since.
    """
    mover = np.int64(state.mover)
    for element in range(ELEMENTS):
        for other in range(np.int64(state.players)):
            if other != player:
                state.hands[other, element] = hands[other, element]
    if state.swapping and mover != player:
        new = np.zeros(ELEMENTS, np.int64)
        draw_hand(bag, np.int64(state.hand_tiles) - np.int64(state.draws_left), new, rng)
        for element in range(ELEMENTS):
            state.aside[element] = hands[mover, element]
            state.hands[mover, element] = new[element]
    for element in range(ELEMENTS):
        state.bag[element] = bag[element]


# ------------------------------------------------------------------------------------------------- forward and back


@kernel
def after_own_swap(state, player, first, unseen, sizes, hands, bag, rng):
    """Carry the joint distribution from log entry `first` to the end, sample the present, trace it back to `first`.

    On return `hands` are the others' hands at entry `first`, as are `unseen` and `sizes`; the state's present hands,
    bag and log entries from `first` on are resampled.
    """
    n, events = np.int64(state.players), np.int64(state.log_count) - first
    width = HAND_COUNTS[np.int64(state.hand_tiles)]
    joint = width ** (n - 1)
    stages = _opponent_events(state, player, first)
    beliefs = np.zeros((stages + 1, joint))
    unseen_at = np.zeros((events + 1, ELEMENTS), np.int64)
    sizes_at = np.zeros((events + 1, MAX_PLAYERS), np.int64)
    _fill_first(state, player, unseen, sizes, width, beliefs[0])
    own = _own_hand_at(state, player, first)
    mover, stage = player, 0
    unseen_at[0], sizes_at[0] = unseen, sizes
    for k in range(events):
        entry = np.int64(state.log[first + k])
        unseen_at[k + 1], sizes_at[k + 1] = unseen_at[k], sizes_at[k]
        _normalise(beliefs[stage])
        if mover == player:
            _weigh_own(state, player, entry, own, unseen_at, sizes_at, k, width, beliefs[stage])
        elif entry >= SWAPS_FROM:
            _push_swap(state, player, mover, unseen_at[k], sizes_at[k], width, beliefs[stage], beliefs[stage + 1])
            stage += 1
        else:
            _push_turn(state, player, mover, entry, unseen_at, sizes_at, k, width, beliefs[stage], beliefs[stage + 1])
            stage += 1
        if entry < SWAPS_FROM:
            mover = next_player(state, mover)
    if state.swapping and state.mover == player:
        _weigh_draws(state, player, state.hands[player], unseen_at[events], sizes_at[events], width, beliefs[stage])
        for element in range(ELEMENTS):
            unseen_at[events, element] -= np.int64(state.hands[player, element])
    ranks = np.zeros(MAX_PLAYERS, np.int64)
    _pick(state, player, beliefs[stage], width, ranks, rng)
    _unrank(state, player, ranks, sizes_at[events], unseen_at[events], hands, bag)
    write_present(state, player, hands, bag, rng)
    for k in range(events - 1, -1, -1):
        entry = np.int64(state.log[first + k])
        if entry < SWAPS_FROM:
            mover = mover - 1 if mover > 0 else n - 1
        if mover != player:
            stage -= 1
            if entry >= SWAPS_FROM:
                _pull_swap(
                    state, player, mover, first + k, unseen_at[k], sizes_at[k], width, beliefs[stage], ranks, rng
                )
            else:
                _pull_turn(
                    state, player, mover, first + k, unseen_at[k], sizes_at[k], width, beliefs[stage], ranks, rng
                )
    _unrank(state, player, ranks, sizes_at[0], unseen_at[0], hands, bag)


@kernel
def _opponent_events(state, player, first):
    """How many entries of the log from `first` on, where it is `player`'s turn, are the others'."""
    mover, count = player, 0
    for i in range(first, np.int64(state.log_count)):
        count += mover != player
        if state.log[i] < SWAPS_FROM:
            mover = next_player(state, mover)
    return count


@kernel
def _own_hand_at(state, player, end):
    """The own hand at log entry `end`, before which `player` never swapped, int64 ``[4]``."""
    hand = np.zeros(ELEMENTS, np.int64)
    for element in range(ELEMENTS):
        hand[element] = np.int64(state.first_hands[player, element])
    mover = np.int64(state.start_player)
    for i in range(end):
        entry = np.int64(state.log[i])
        if entry < SWAPS_FROM:
            if mover == player:
                play_turn(hand, entry)
            mover = next_player(state, mover)
    return hand


@kernel
def play_turn(hand, entry):
    """Change a hand by a turn's entry of the log: a tile placed, and perhaps one drawn."""
    hand[entry // (ELEMENTS + 1)] -= 1
    if entry % (ELEMENTS + 1) != NO_DRAW:
        hand[entry % (ELEMENTS + 1)] += 1


@kernel
def _normalise(belief):
    """Scale to a sum of 1."""
    total = 0.0
    for i in range(belief.shape[0]):
        total += belief[i]
    for i in range(belief.shape[0]):
        belief[i] /= total


@kernel
def _around(state, player, mover, number, width, unseen, sizes, left):
    """The number-th combination of the hands of all but `player` and `mover`: return its joint index, `mover`'s rank 0.

    `left`, int64 ``[4]``, gets what these hands leave of `unseen` for `mover` and the bag; -1 where they do not exist.
    """
    index, scale = 0, 1
    left[:] = unseen
    for other in range(np.int64(state.players)):
        if other != player:
            if other != mover:
                rank = number % width
                number //= width
                if rank >= HAND_COUNTS[sizes[other]]:
                    return -1
                index += rank * scale
                for element in range(ELEMENTS):
                    left[element] -= HANDS[sizes[other], rank, element]
            scale *= width
    return index if left[0] >= 0 and left[1] >= 0 and left[2] >= 0 and left[3] >= 0 else -1


@kernel
def _first_other(player):
    """An opponent to go through hand by hand where none is on turn."""
    return 1 if player == 0 else 0


@kernel
def _fill_first(state, player, unseen, sizes, width, belief):
    """The distribution where every unseen tile is equally likely in every unseen place (up to a factor)."""
    other = _first_other(player)
    size, stride = sizes[other], _stride(player, other, width)
    left = np.zeros(ELEMENTS, np.int64)
    for number in range(belief.shape[0] // width):
        index = _around(state, player, other, number, width, unseen, sizes, left)
        if index < 0:
            continue
        around = _ways_around(state, player, other, number, width, unseen, sizes, left)
        for rank in range(HAND_COUNTS[size]):
            ways = around
            for element in range(ELEMENTS):
                ways *= CHOOSE[left[element], HANDS[size, rank, element]]
            belief[index + rank * stride] = ways


@kernel
def _ways_around(state, player, mover, number, width, unseen, sizes, left):
    """In how many ways the tiles of `unseen` fill the hands of `_around`."""
    ways = 1.0
    for element in range(ELEMENTS):
        remaining, rest = unseen[element], number
        for other in range(np.int64(state.players)):
            if other not in (player, mover):
                tiles = HANDS[sizes[other], rest % width, element]
                rest //= width
                ways *= CHOOSE[remaining, tiles]
                remaining -= tiles
    return ways


@kernel
def _weigh_own(state, player, entry, own, unseen_at, sizes_at, k, width, belief):
    """An own entry of the log: what `player` drew says something about the bag; a swap gives the old hand to it."""
    drawn = np.zeros(ELEMENTS, np.int64)
    if entry >= SWAPS_FROM:
        drawn[:] = HANDS[np.int64(state.hand_tiles), entry - SWAPS_FROM]
    elif entry % (ELEMENTS + 1) != NO_DRAW:
        drawn[entry % (ELEMENTS + 1)] = 1
    _weigh_draws(state, player, drawn, unseen_at[k], sizes_at[k], width, belief)
    for element in range(ELEMENTS):
        unseen_at[k + 1, element] -= drawn[element]
    if entry >= SWAPS_FROM:
        for element in range(ELEMENTS):
            unseen_at[k + 1, element] += own[element]
            own[element] = drawn[element]
    else:
        sizes_at[k + 1, player] -= entry % (ELEMENTS + 1) == NO_DRAW
        play_turn(own, entry)


@kernel
def _weigh_draws(state, player, drawn, unseen, sizes, width, belief):
    """Multiply by the probability (up to a factor) that the bag gives `drawn`."""
    other = _first_other(player)
    size, stride = sizes[other], _stride(player, other, width)
    left = np.zeros(ELEMENTS, np.int64)
    for number in range(belief.shape[0] // width):
        index = _around(state, player, other, number, width, unseen, sizes, left)
        if index < 0:
            continue
        for element in range(ELEMENTS):
            tiles = np.int64(drawn[element])
            if tiles:
                for rank in range(HAND_COUNTS[size]):
                    belief[index + rank * stride] *= CHOOSE[max(left[element] - HANDS[size, rank, element], 0), tiles]


@kernel
def _stride(player, mover, width):
    """What one rank of `mover` is in a joint index."""
    return width ** (mover - (mover > player))


@kernel
def _push_turn(state, player, mover, entry, unseen_at, sizes_at, k, width, before, after):
    """An opponent places a tile, any of the physical ones alike, and draws one or none."""
    placed, draws = entry // (ELEMENTS + 1), entry % (ELEMENTS + 1) != NO_DRAW
    size, stride = sizes_at[k, mover], _stride(player, mover, width)
    left = np.zeros(ELEMENTS, np.int64)
    for number in range(before.shape[0] // width):
        index = _around(state, player, mover, number, width, unseen_at[k], sizes_at[k], left)
        if index < 0:
            continue
        for rank in range(HAND_COUNTS[size]):
            weight = before[index + rank * stride] * HANDS[size, rank, placed]
            if weight > 0.0:
                rest = LESS[size, rank, placed]
                if not draws:
                    after[index + rest * stride] += weight
                    continue
                for element in range(ELEMENTS):
                    tiles = left[element] - HANDS[size, rank, element]
                    if tiles > 0:
                        after[index + MORE[size - 1, rest, element] * stride] += weight * tiles
    unseen_at[k + 1, placed] -= 1
    sizes_at[k + 1, mover] -= not draws


@kernel
def _swap_weight(size, old, new, left, count):
    """How many ways the bag has to give hand `new` of `count` tiles while `old` of `size` is still out of it."""
    ways = 1.0
    for element in range(ELEMENTS):
        ways *= CHOOSE[max(left[element] - HANDS[size, old, element], 0), HANDS[count, new, element]]
    return ways


@kernel
def _push_swap(state, player, mover, unseen, sizes, width, before, after):
    """An opponent draws a new hand; then the old one goes into the bag."""
    count, size, stride = np.int64(state.hand_tiles), sizes[mover], _stride(player, mover, width)
    left = np.zeros(ELEMENTS, np.int64)
    for number in range(before.shape[0] // width):
        index = _around(state, player, mover, number, width, unseen, sizes, left)
        if index < 0:
            continue
        for old in range(HAND_COUNTS[size]):
            weight = before[index + old * stride]
            if weight > 0.0:
                for new in range(width):
                    after[index + new * stride] += weight * _swap_weight(size, old, new, left, count)


@kernel
def _pick(state, player, belief, width, ranks, rng):
    """Sample a joint index by its weight and write each other player's rank."""
    total, last = 0.0, 0
    for index in range(belief.shape[0]):
        total += belief[index]
    ticket = next_float(rng) * total
    for index in range(belief.shape[0]):
        if belief[index] > 0.0:
            last = index
            ticket -= belief[index]
            if ticket < 0.0:
                break
    for other in range(np.int64(state.players)):
        if other != player:
            ranks[other] = last % width
            last //= width


@kernel
def _unrank(state, player, ranks, sizes, unseen, hands, bag):
    """Write the others' hands from their ranks, and the bag: what they leave of `unseen`."""
    for element in range(ELEMENTS):
        bag[element] = unseen[element]
        for other in range(np.int64(state.players)):
            if other != player:
                hands[other, element] = HANDS[sizes[other], ranks[other], element]
                bag[element] -= hands[other, element]


@kernel
def _around_mover(state, player, mover, ranks, sizes, unseen, width, left):
    """Fill what the hands of all but `player` and `mover` leave of `unseen`; return the joint index with rank 0."""
    index, scale = 0, 1
    left[:] = unseen
    for other in range(np.int64(state.players)):
        if other != player:
            if other != mover:
                index += ranks[other] * scale
                for element in range(ELEMENTS):
                    left[element] -= HANDS[sizes[other], ranks[other], element]
            scale *= width
    return index


@kernel
def _pull_turn(state, player, mover, at, unseen, sizes, width, before, ranks, rng):
    """Given the hands after an opponent's turn sample the tile that was drawn; step `ranks` back before the turn."""
    entry = np.int64(state.log[at])
    placed, size = entry // (ELEMENTS + 1), sizes[mover]
    if entry % (ELEMENTS + 1) == NO_DRAW:
        ranks[mover] = MORE[size - 1, ranks[mover], placed]
        return
    left, weights = np.zeros(ELEMENTS, np.int64), np.zeros(ELEMENTS)
    index, stride = (
        _around_mover(state, player, mover, ranks, sizes, unseen, width, left),
        _stride(player, mover, width),
    )
    for element in range(ELEMENTS):
        rest = LESS[size, ranks[mover], element]
        if rest >= 0:
            old = MORE[size - 1, rest, placed]
            tiles = left[element] - HANDS[size, old, element]
            weights[element] = before[index + old * stride] * HANDS[size, old, placed] * max(tiles, 0)
    drawn = _sample(weights, ELEMENTS, rng)
    ranks[mover] = MORE[size - 1, LESS[size, ranks[mover], drawn], placed]
    state.log[at] = placed * (ELEMENTS + 1) + drawn


@kernel
def _pull_swap(state, player, mover, at, unseen, sizes, width, before, ranks, rng):
    """Given the hands after an opponent's swap sample the old hand."""
    count, size = np.int64(state.hand_tiles), sizes[mover]
    left, weights = np.zeros(ELEMENTS, np.int64), np.zeros(LARGEST)
    index, stride = (
        _around_mover(state, player, mover, ranks, sizes, unseen, width, left),
        _stride(player, mover, width),
    )
    state.log[at] = SWAPS_FROM + ranks[mover]
    for old in range(HAND_COUNTS[size]):
        weight = before[index + old * stride]
        if weight > 0.0:
            weights[old] = weight * _swap_weight(size, old, ranks[mover], left, count)
    ranks[mover] = _sample(weights, HAND_COUNTS[size], rng)


@kernel
def _sample(weights, n, rng):
    """Return an index below n by its weight, which need not sum to 1."""
    total, last = 0.0, 0
    for i in range(n):
        total += weights[i]
    ticket = next_float(rng) * total
    for i in range(n):
        if weights[i] > 0.0:
            last = i
            ticket -= weights[i]
            if ticket < 0.0:
                break
    return last
