"""The Selenolyth: what a player knows, which is everything, and the observation that networks read."""

import numpy as np

from trilithon.core.jit import kernel
from trilithon.core.selenolyth.kernels import ALL_RANKS, CELLS, STONES, TURNED, WIDTH, count, free_files
from trilithon.core.verbs import CHANCE, TERMINAL

# ------------------------------------------------------------------------------------------------------------ redeals


@kernel
def determinize(state, player, rng):
    """Nothing is hidden, and the die is not rolled yet."""


# -------------------------------------------------------------------------------------------------------- observation

ROWS = CELLS + WIDTH  # 36 cells in the observer's view, then the six files, which rolls and Will aim at
CELL_FEATURES = 4  # stone there (a file: share of its cells), is a file, one cell left, pending stone before it
WAYS = 2 * STONES  # of bringing a stone in: each kind by the die, then each kind by Will
WAY_FEATURES = 6  # possible, kind one-hot (3), by Will, stones in reserve / 18
RESERVE_FEATURES = 5  # in reserve, kind one-hot (3), stones in reserve / 18
OPTION_FEATURES = 29  # see _observe_options
RESERVE_AT = ROWS * CELL_FEATURES
OTHER_AT = RESERVE_AT + WAYS * WAY_FEATURES
OPTIONS_AT = OTHER_AT + STONES * RESERVE_FEATURES
OBSERVATION_SIZE = OPTIONS_AT + OPTION_FEATURES

RANK_ROWS = np.zeros((64, WIDTH * CELL_FEATURES), np.float32)  # [set of six]: a rank of the cells block
for _set in range(64):
    RANK_ROWS[_set, ::CELL_FEATURES] = [_set >> _file & 1 for _file in range(WIDTH)]


@kernel
def observe(state, player, out):
    """Blocks one after another, own side first: cells and files, own reserve, other reserve, options."""
    out[RESERVE_AT:] = 0.0
    occupied = np.int64(state.occupied)
    for rank in range(WIDTH):
        row = TURNED[(occupied >> (30 - 6 * rank)) & 63] if player else (occupied >> (6 * rank)) & 63
        at = rank * WIDTH * CELL_FEATURES
        for i in range(WIDTH * CELL_FEATURES):
            out[at + i] = RANK_ROWS[row, i]
    single = _observe_files(state, player, occupied, out)
    for kind in range(STONES):
        left = state.reserve[player, kind]
        if left:
            for way in range(2):
                at = RESERVE_AT + (way * STONES + kind) * WAY_FEATURES
                if way == 0 or single:
                    out[at] = 1.0
                    out[at + 1 + kind] = 1.0
                    out[at + 4] = way
                    out[at + 5] = left * np.float32(1.0 / 18.0)
        left = state.reserve[1 - player, kind]
        if left:
            at = OTHER_AT + kind * RESERVE_FEATURES
            out[at] = 1.0
            out[at + 1 + kind] = 1.0
            out[at + 4] = left * np.float32(1.0 / 18.0)
    _observe_options(state, player, out)


@kernel
def _observe_files(state, player, occupied, out):
    """The six rows of the files, from the left of the observer; return the set of those with one free cell."""
    _, single = free_files(state)
    if state.mover != player:
        single = TURNED[single]  # that was the mover's view
    at = CELLS * CELL_FEATURES
    for file in range(WIDTH):
        column = (occupied >> (WIDTH - 1 - file if player else file)) & ALL_RANKS
        out[at] = count(column) * np.float32(1.0 / 6.0)
        out[at + 1] = 1.0
        out[at + 2] = (single >> file) & 1
        out[at + 3] = 0.0
        at += CELL_FEATURES
    if state.pending >= 0:
        file = np.int64(state.pending_file)
        own = file if state.mover == player else WIDTH - 1 - file
        out[(CELLS + own) * CELL_FEATURES + 3] = 1.0
    return single


@kernel
def _observe_options(state, player, out):
    """Who moves and in which phase, Luminance, stones and turns left, and what holds for the whole game."""
    at = OPTIONS_AT
    rolling, pending = state.current_player == CHANCE, state.pending >= 0
    ended = state.current_player == TERMINAL
    out[at] = 1.0 if state.current_player == player else 0.0
    out[at + 1] = 1.0 if state.mover == player else 0.0
    out[at + 2] = 1.0 if rolling else 0.0
    out[at + 3] = 1.0 if pending and not rolling else 0.0
    out[at + 4] = 1.0 if ended else 0.0
    if pending:
        out[at + 5 + np.int64(state.pending)] = 1.0
    for relative in range(2):
        owner = player if relative == 0 else 1 - player
        points = np.int64(state.luminance[owner])
        missing = max(np.int64(state.luminance_goal) - points, 0)
        own = at + 8 + 6 * relative
        out[own] = points * np.float32(1.0 / 20.0)
        # A Shard earns four points at most.
        for gain in range(1, 5):
            out[own + gain] = 1.0 if missing <= gain else 0.0
        stones = 0
        for kind in range(STONES):
            stones += np.int64(state.reserve[owner, kind])
        out[own + 5] = min(stones, 10) * np.float32(0.1)
    left = np.int64(state.max_turns) - np.int64(state.turns)
    out[at + 20] = left * np.float32(1.0 / 9999.0)
    out[at + 21] = np.float32(left) / np.float32(state.max_turns)
    out[at + 22] = min(left, 20) * np.float32(1.0 / 20.0)
    out[at + 23] = state.eclipse_value * np.float32(1.0 / 9.0)
    out[at + 24] = state.max_turns * np.float32(1.0 / 9999.0)
    out[at + 25] = state.luminance_goal * np.float32(1.0 / 16.0)
    for kind in range(STONES):
        out[at + 26 + kind] = state.start[kind] * np.float32(1.0 / 18.0)
