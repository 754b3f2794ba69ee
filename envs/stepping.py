"""Kernels of the environments: one call per turn does what the rules, the mask and the next observation need.

Passing arrays to a kernel costs more than the kernel's own work, so a turn is one call, and states travel as an array.
"""

import numpy as np

from trilithon.core.jit import kernel
from trilithon.core.rng import categorical, next_below
from trilithon.core.verbs import apply_action, chance_outcomes, legal_actions, observe


@kernel
def look(states, observation, mask):
    """Write what the player to move sees: float32 `observation`, int8 `mask` (1 where legal). Return who moves next.

    At chance and after the end nothing is written.
    """
    state = states[0]
    player = np.int64(state.current_player)
    if player >= 0:
        legal = np.empty(mask.shape[0] + 1, np.int32)
        n = legal_actions(state, legal)
        mask[:] = 0
        for i in range(n):
            mask[legal[i]] = 1
        observe(state, player, observation)
    return player


@kernel
def advance(states, action, observation, mask):
    """Apply a player's or chance's action to ``states[0]`` in place, then `look`; return who moves next."""
    apply_action(states[0], action)
    return look(states, observation, mask)


@kernel
def watch(states, player, observation):
    """Write what `player` sees, to move or not."""
    observe(states[0], player, observation)


@kernel
def draw_outcome(states, rng, max_outcomes):
    """Return a chance outcome drawn by cumulative probability in ascending order (one draw of `rng`)."""
    outcomes = np.empty(max_outcomes + 1, np.int32)
    probabilities = np.empty(max_outcomes + 1, np.float64)
    n = chance_outcomes(states[0], outcomes, probabilities)
    return np.int64(outcomes[categorical(rng, probabilities, n)])


@kernel
def draw_action(states, rng, num_actions):
    """Return a uniformly random legal action of the player to move (one or more draws of `rng`)."""
    legal = np.empty(num_actions + 1, np.int32)
    n = legal_actions(states[0], legal)
    return np.int64(legal[next_below(rng, n)])
