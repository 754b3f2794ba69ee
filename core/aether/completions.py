"""Aether: whether anything can still change (`early_scoring=proved`), exactly.

Aether tiles are looked at one at a time: the tiles outside the board suffice for all its empty slots, so slots that an
aether tile does not depend on can always be filled. Let T be the sides that take it now. Another set takes it at the
end exactly if for some side q and some r in T a completion reaches P_q >= P_r (q not in T) or P_q > P_r (q in T). So
P_q - P_r is maximised for each pair: over the elementals that q and r may yet put on the empty slots around the aether
tile (those of others only take up room), over the tiles under them, and over the tiles of the other empty slots beside
an elemental of q or r. A branch is left where too little could be gained even if no element ever ran out; only where
that does not decide are the tiles counted.
"""

import numpy as np

from trilithon.core.aether.boards import MAX_AETHER, MAX_SLOTS, aether_slots, aether_values, slot_neighbours
from trilithon.core.aether.scoring import ELEMENTS, MAX_PLAYERS, powers_around, takers
from trilithon.core.jit import kernel

FREE = 9  # what may come to an empty slot beside an aether tile: a tile alone, or q's elemental or r's on each element
MOST_GAIN, MOST_LOSS = 7, 5  # powers lie in -5 .. 7
NEARBY = 24  # more slots than can touch the six around an aether tile


@kernel
def is_settled(state, next_player):
    """Whether no completion changes who takes any aether tile; `next_player` is the next to place a tile."""
    if state.empty_count == 0:
        return True
    limits = _limits(state, next_player)
    if limits.sum() > 0 and _is_any_free(state):
        return False
    supply = _supply(state)
    tiles, signs = np.empty(MAX_SLOTS, np.int64), np.zeros(MAX_SLOTS, np.int64)
    for slot in range(np.int64(state.slots)):
        tiles[slot] = np.int64(state.tiles[slot])
    values = aether_values()
    for tile in range(MAX_AETHER):
        if values[state.board, tile] == 0:
            break
        if _may_change(state, tile, limits, supply, tiles, signs):
            return False
    return True


@kernel
def _is_any_free(state):
    """Whether an aether tile has an empty slot and nobody beside it: whoever has an elemental to place may take it."""
    slots, values = aether_slots(), aether_values()
    for tile in range(MAX_AETHER):
        if values[state.board, tile] == 0:
            break
        empty, nobody = False, True
        for i in range(6):
            slot = np.int64(slots[state.board, tile, i])
            if slot < 0:
                break
            empty = empty or state.tiles[slot] < 0
            nobody = nobody and state.owners[slot] < 0
        if empty and nobody:
            return True
    return False


@kernel
def _limits(state, next_player):
    """How many elementals each side can still place, int64 ``[4]``: unused ones, and no more than its turns."""
    n, empty = np.int64(state.players), np.int64(state.empty_count)
    limits = np.zeros(MAX_PLAYERS, np.int64)
    for player in range(n):
        later = player - next_player if player >= next_player else player - next_player + n
        turns = (empty - later + n - 1) // n if empty > later else 0
        limits[player & 1 if state.teams else player] += min(np.int64(state.unused[player]), turns)
    return limits


@kernel
def _supply(state):
    """Tiles of each element outside the board, int64 ``[4]``."""
    supply = np.zeros(ELEMENTS, np.int64)
    for element in range(ELEMENTS):
        supply[element] = np.int64(state.bag[element]) + np.int64(state.aside[element])
        for player in range(np.int64(state.players)):
            supply[element] += np.int64(state.hands[player, element])
    return supply


@kernel
def _may_change(state, tile, limits, supply, tiles, signs):
    """Whether some completion changes who takes an aether tile; `tiles` and `signs` are left as they were."""
    inner, empty = np.empty(6, np.int64), np.empty(6, np.int64)
    count, k = 0, 0
    slots = aether_slots()
    for i in range(6):
        slot = np.int64(slots[state.board, tile, i])
        if slot < 0:
            break
        inner[count] = slot
        count += 1
        if tiles[slot] < 0:
            empty[k] = slot
            k += 1
    now = takers(state, tile)
    _, present = powers_around(state, tile)
    if now == 0:
        return k > 0 and limits.sum() > 0
    for q in range(MAX_PLAYERS):
        if not ((present >> q) & 1 or (k > 0 and limits[q] > 0)):
            continue
        for r in range(MAX_PLAYERS):
            if r == q or not (now >> r) & 1:
                continue
            for i in range(count):
                owner = np.int64(state.owners[inner[i]])
                side = owner & 1 if state.teams and owner >= 0 else owner
                signs[inner[i]] = 1 if side == q else (-1 if side == r else 0)
            wanted = 1 if (now >> q) & 1 else 0
            found = _reaches(
                state, inner[:count], empty[:k], limits[q], limits[r], (present >> q) & 1, supply, tiles, signs, wanted
            )
            for i in range(count):
                signs[inner[i]] = 0
            if found:
                return True
    return False


@kernel
def _reaches(state, inner, empty, limit_q, limit_r, q_there, supply, tiles, signs, wanted):
    """Whether P_q - P_r >= `wanted` in some completion in which q is present: depth first over the `empty` slots."""
    k = len(empty)
    choice, left = np.full(k + 1, -1, np.int64), supply.copy()
    near, weights = np.empty(NEARBY, np.int64), np.empty((NEARBY, ELEMENTS), np.int64)
    q_left, r_left = limit_q, limit_r
    depth, found = 0, False
    while depth >= 0:
        if choice[depth] < 0:
            # A new branch: what can it reach at most?
            open_slots = k - depth
            most = _best_without_limits(state, inner, tiles, signs, near, weights)
            most += open_slots * (MOST_GAIN if q_left > 0 else (MOST_LOSS if r_left > 0 else 0))
            if most >= wanted and depth == k and (q_there or q_left < limit_q):
                found = _best_with_limits(state, inner, tiles, signs, left, near, weights) >= wanted
            if found or most < wanted or depth == k:
                if found:
                    break
                depth -= 1
                if depth >= 0:
                    q_left, r_left = _take_back(empty[depth], choice[depth], q_left, r_left, left, tiles, signs)
                    choice[depth] += 1
                continue
            choice[depth] = 0
        while choice[depth] < FREE and not _fits(choice[depth], q_left, r_left, left):
            choice[depth] += 1
        if choice[depth] == FREE:
            choice[depth] = -1
            depth -= 1
            if depth >= 0:
                q_left, r_left = _take_back(empty[depth], choice[depth], q_left, r_left, left, tiles, signs)
                choice[depth] += 1
            continue
        if choice[depth] > 0:
            element = (choice[depth] - 1) & 3
            tiles[empty[depth]] = element
            left[element] -= 1
            if choice[depth] <= ELEMENTS:
                signs[empty[depth]] = 1
                q_left -= 1
            else:
                signs[empty[depth]] = -1
                r_left -= 1
        depth += 1
        choice[depth] = -1
    for i in range(k):
        tiles[empty[i]] = -1
        signs[empty[i]] = 0
    return found


@kernel
def _fits(choice, q_left, r_left, left):
    """Whether an elemental and a tile are left for a choice."""
    if choice == 0:
        return True
    return left[(choice - 1) & 3] > 0 and (q_left > 0 if choice <= ELEMENTS else r_left > 0)


@kernel
def _take_back(slot, choice, q_left, r_left, left, tiles, signs):
    """Undo a choice; return the elementals left to q and r."""
    if choice > 0:
        left[(choice - 1) & 3] += 1
        tiles[slot] = -1
        signs[slot] = 0
        if choice <= ELEMENTS:
            q_left += 1
        else:
            r_left += 1
    return q_left, r_left


@kernel
def _gain(element, beside):
    """What a tile beside it gives to an elemental."""
    return np.int64(beside == element) - np.int64(beside == (element + 3) & 3)


@kernel
def _weigh(state, inner, tiles, signs, near, weights):
    """Return (P_q - P_r on the tiles that lie, n): for n empty slots `weights` say what an element there would add."""
    neighbours = slot_neighbours()
    fixed, n = 0, 0
    for i in range(len(inner)):
        slot = inner[i]
        sign = signs[slot]
        if sign == 0:
            continue
        fixed += sign
        for j in range(6):
            other = np.int64(neighbours[state.board, slot, j])
            if other < 0:
                break
            if tiles[other] >= 0:
                fixed += sign * _gain(tiles[slot], tiles[other])
                continue
            place = 0
            while place < n and near[place] != other:
                place += 1
            if place == n:
                near[n] = other
                weights[n, :] = 0
                n += 1
            for element in range(ELEMENTS):
                weights[place, element] += sign * _gain(tiles[slot], element)
    return fixed, n


@kernel
def _best_without_limits(state, inner, tiles, signs, near, weights):
    """The largest P_q - P_r if every element were there without end."""
    most, n = _weigh(state, inner, tiles, signs, near, weights)
    for place in range(n):
        most += weights[place].max()
    return most


@kernel
def _best_with_limits(state, inner, tiles, signs, left, near, weights):
    """The largest P_q - P_r with no more tiles of each element than `left`: over how many of each are used so far."""
    fixed, n = _weigh(state, inner, tiles, signs, near, weights)
    width = n + 1
    best = np.full((width, width, width), -1000, np.int64)  # [water, fire, earth] used; the rest is air
    best[0, 0, 0] = 0
    for place in range(n):
        after = np.full((width, width, width), -1000, np.int64)
        for water in range(min(place, left[0]) + 1):
            for fire in range(min(place - water, left[1]) + 1):
                for earth in range(min(place - water - fire, left[2]) + 1):
                    here, air = best[water, fire, earth], place - water - fire - earth
                    if here <= -1000:
                        continue
                    if water < left[0]:
                        after[water + 1, fire, earth] = max(after[water + 1, fire, earth], here + weights[place, 0])
                    if fire < left[1]:
                        after[water, fire + 1, earth] = max(after[water, fire + 1, earth], here + weights[place, 1])
                    if earth < left[2]:
                        after[water, fire, earth + 1] = max(after[water, fire, earth + 1], here + weights[place, 2])
                    if air < left[3]:
                        after[water, fire, earth] = max(after[water, fire, earth], here + weights[place, 3])
        best = after
    return fixed + best.max()
