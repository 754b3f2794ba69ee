"""Kernels of the environments: one call per turn does what the rules, the mask and the next observation need.

Passing arrays to a kernel costs more than the kernel's own work, so a turn is one call, and states travel as an array.
The kernels of a batch of games make the same draws in each of them as those of a single game.
"""

import numpy as np

from trilithon.core.jit import kernel
from trilithon.core.rng import categorical, next_below
from trilithon.core.verbs import CHANCE, TERMINAL, apply_action, chance_outcomes, legal_actions, observe, returns


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


# ------------------------------------------------------------------------------------------------------------- batches


@kernel
def settle(states, b, rng, observations, masks, players, actions, outcomes, probabilities):
    """Resolve chance in game b until a player moves, and write what that player sees; return who moves next.

    After the end nothing is written. Work space: `actions` int32 ``[num_distinct_actions + 1]``, `outcomes` int32 and
    `probabilities` float64 ``[max_chance_outcomes + 1]``.
    """
    state = states[b]
    while state.current_player == CHANCE:
        n = chance_outcomes(state, outcomes, probabilities)
        apply_action(state, outcomes[categorical(rng, probabilities, n)])
    player = np.int64(state.current_player)
    if player >= 0:
        players[b] = player
        mask = masks[b]
        mask[:] = False
        n = legal_actions(state, actions)
        for i in range(n):
            mask[actions[i]] = True
        observe(state, player, observations[b])
    return player


@kernel
def advance_batch(states, chosen, rngs, observations, masks, players, rewards, ended, actions, outcomes, probabilities):
    """Play one action in each of B games, up to the next player's turn; return how many games ended.

    `chosen`, int64 ``[B]``, are the movers' actions. The first one that `masks`, bool ``[B, A]``, does not allow is
    returned as ``-1 - b``, and then nothing has changed. `rngs`, uint64 ``[B, 1]``, are what chance is drawn from.
    `rewards`, float64 ``[B, n]``, get zeros, and the returns of a game that ended, whose number goes into `ended`,
    int64 ``[B]``; what the mover sees there is not written. Work space as for `settle`.
    """
    for b in range(states.shape[0]):
        if not (0 <= chosen[b] < masks.shape[1] and masks[b, chosen[b]]):
            return -1 - b
    count = 0
    for b in range(states.shape[0]):
        apply_action(states[b], chosen[b])
        for player in range(rewards.shape[1]):
            rewards[b, player] = 0.0
        if settle(states, b, rngs[b], observations, masks, players, actions, outcomes, probabilities) == TERMINAL:
            returns(states[b], rewards[b])
            ended[count] = b
            count += 1
    return count


@kernel
def begin_batch(states, which, rngs, observations, masks, players, over, actions, outcomes, probabilities):
    """Bring the new games ``which`` (int64 ``[K]``) to the first player's turn; return how many are over before that.

    Their numbers go into `over`, int64 ``[B]``, which may be what `which` lies in. Work space as for `settle`.
    """
    count = 0
    for k in range(which.shape[0]):
        b = which[k]
        if settle(states, b, rngs[b], observations, masks, players, actions, outcomes, probabilities) == TERMINAL:
            over[count] = b
            count += 1
    return count


@kernel
def sample_batch(masks, rng, chosen):
    """Write into `chosen`, int64 ``[B]``, a uniformly random action that `masks`, bool ``[B, A]``, allow."""
    for b in range(masks.shape[0]):
        n = 0
        for action in range(masks.shape[1]):
            n += masks[b, action]
        k = next_below(rng, n)
        action = -1
        while k >= 0:
            action += 1
            k -= masks[b, action]
        chosen[b] = action
