"""Aether: powers, who takes an aether tile, and points."""

import numpy as np

from trilithon.core.aether.boards import MAX_AETHER, aether_slots, aether_values
from trilithon.core.jit import kernel

ELEMENTS, MAX_PLAYERS = 4, 4
WATER, FIRE, EARTH, AIR = range(ELEMENTS)  # each beats the next one, air beats water


@kernel
def power(state, slot):
    """Return the power an elemental has on a tile: tiles of its element here and around, less the counter's around."""
    element = np.int64(state.tiles[slot])
    ring = np.int64(state.ring[slot])
    return 1 + ((ring >> (3 * element)) & 7) - ((ring >> (3 * ((element + 3) & 3))) & 7)


LEVEL = 1 << 10  # of every lane in `powers_around`: far more than six elementals can lack
LEVELS = LEVEL | LEVEL << 16 | LEVEL << 32 | LEVEL << 48


@kernel
def powers_around(state, tile):
    """Return (sums, present) at an aether tile: bits 16s .. of `sums` hold LEVEL + the power of side s.

    A side is a player, or in teams the team; bit s of `present` says that it has an elemental there. (Four lanes of one
    integer: no array to allocate, and as LEVEL keeps them positive nothing is borrowed between lanes.)
    """
    slots = aether_slots()
    sums, present = LEVELS, 0
    for i in range(6):
        slot = np.int64(slots[state.board, tile, i])
        if slot < 0:
            break
        side = np.int64(state.owners[slot])
        if side >= 0:
            if state.teams:
                side &= 1
            sums += power(state, slot) << (16 * side)
            present |= 1 << side
    return sums, present


@kernel
def takers(state, tile):
    """Return the set of sides (bit s) that take an aether tile now: the highest sum, even a negative one."""
    sums, present = powers_around(state, tile)
    best, sides = -1, 0
    for side in range(MAX_PLAYERS):
        if (present >> side) & 1:
            here = (sums >> (16 * side)) & 0xFFFF
            if here > best:
                best, sides = here, 1 << side
            elif here == best:
                sides |= 1 << side
    return sides


@kernel
def scores(state, out):
    """Write each player's points if the board is scored as it is, ``[n]``; in teams each member's are the team's."""
    n = np.int64(state.players)
    for player in range(n):
        left = np.int64(state.unused[player]) + np.int64(state.sacrificed[player])
        out[player] = left * np.int64(state.leftover_points)
    if state.teams:
        for side in range(2):
            out[side] += out[side + 2]
    values = aether_values()
    for tile in range(MAX_AETHER):
        value = np.int64(values[state.board, tile])
        if value == 0:
            break
        sides = takers(state, tile)
        if sides:
            k = (sides & 1) + ((sides >> 1) & 1) + ((sides >> 2) & 1) + ((sides >> 3) & 1)
            share = value if k == 1 else value // k
            for side in range(n):
                if (sides >> side) & 1:
                    out[side] += share
    if state.teams:
        for side in range(2):
            out[side + 2] = out[side]
