"""Aether: what decides the rest of a game in which every hand is known, as a key; see solving.py."""

import numpy as np

from trilithon.core.aether.kernels import apply_action, bag_size, chance_outcomes, next_player
from trilithon.core.aether.scoring import ELEMENTS
from trilithon.core.jit import kernel
from trilithon.core.table import add_to_key, begin_key
from trilithon.core.verbs import CHANCE

SLOTS_A_WORD = 12  # of 5 bits each


@kernel
def is_drawing(state):
    """Whether the tile after a placement is to be drawn."""
    return state.current_player == CHANCE and state.swapping == 0


@kernel
def turns_until(state, player):
    """Return how many placements come before the player's next one."""
    first = np.int64(state.mover)
    if is_drawing(state):
        first = next_player(state, first)
    return player - first if player >= first else player - first + np.int64(state.players)


@kernel
def turns_left(state, player):
    """Return how many more tiles a player will place."""
    n, until = np.int64(state.players), turns_until(state, player)
    empty = np.int64(state.empty_count)
    return (empty - until + n - 1) // n if empty > until else 0


@kernel
def is_closed(state):
    """Whether no tile that is still to be drawn can matter: nobody places twice, and nobody can swap before placing."""
    n, empty = np.int64(state.players), np.int64(state.empty_count)
    drawing = is_drawing(state)
    if state.swapping or empty > n or (drawing and empty == n):
        return False
    tiles = bag_size(state) - np.int64(drawing)
    for player in range(n):
        until = turns_until(state, player)
        if until < empty and state.unused[player] and tiles - until >= np.int64(state.hand_tiles):
            return False
    return True


@kernel
def skip_idle_draw(state, outcomes, probabilities):
    """Draw any tile, in place, where it cannot matter which."""
    if is_drawing(state) and is_closed(state):
        chance_outcomes(state, outcomes, probabilities)
        apply_action(state, outcomes[0])


@kernel
def make_key(state, places, key):
    """Write the key of a position into `key`, uint64 ``[2]``; `places` are the slots that were empty at the root.

    Hands of players who place no more are left out, and in closed positions all that cannot be placed.
    """
    begin_key(key)
    word, filled = np.uint64(0), 0
    for i in range(places.shape[0]):
        code = np.uint64((np.int64(state.tiles[places[i]]) + 1) * 5 + np.int64(state.owners[places[i]]) + 1)
        word = (word << np.uint64(5)) | code
        filled += 1
        if filled == SLOTS_A_WORD:
            add_to_key(key, word)
            word, filled = np.uint64(0), 0
    add_to_key(key, word)
    closed = is_closed(state)
    hands = unused = bag = np.uint64(0)
    for player in range(np.int64(state.players)):
        turns = turns_left(state, player)
        most = turns if closed else 255
        for element in range(ELEMENTS):
            tiles = min(np.int64(state.hands[player, element]), most) if turns else 0
            hands = (hands << np.uint64(4)) | np.uint64(tiles)
        unused = (unused << np.uint64(7)) | np.uint64(min(np.int64(state.unused[player]), most) if turns else 0)
    add_to_key(key, hands)
    if not closed:
        for element in range(ELEMENTS):
            bag = (bag << np.uint64(7)) | np.uint64(state.bag[element])
            bag = (bag << np.uint64(4)) | np.uint64(state.aside[element])
        add_to_key(key, bag)
    phase = np.uint64(np.int64(state.current_player) + 4)
    for part in (np.int64(state.mover), np.int64(state.asked) + 1, np.int64(state.draws_left)):
        phase = (phase << np.uint64(4)) | np.uint64(part)
    for part in (np.int64(state.swapping), np.int64(state.may_propose), np.int64(closed)):
        phase = (phase << np.uint64(1)) | np.uint64(part)
    add_to_key(key, (unused << np.uint64(28)) | phase)
