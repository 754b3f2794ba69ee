"""A network as the evaluator of a batch of kernel states: observations and features in, priors and values out."""

from typing import Any

import numpy as np
import torch

from trilithon.agents.network import NUM_ACTION_FEATURES
from trilithon.core import verbs
from trilithon.core.game import Game
from trilithon.core.jit import kernel
from trilithon.core.verbs import CHANCE, TERMINAL


@kernel
def ending_by_chance(work, player, outcomes, probabilities, values):
    """Return (probability that the chance event due in ``work[0]`` ends the game, that times the clipped return)."""
    ending, result = 0.0, 0.0
    n = verbs.chance_outcomes(work[0], outcomes, probabilities)
    for i in range(n):
        work[1] = work[0]
        verbs.apply_action(work[1], outcomes[i])
        if work[1].current_player == TERMINAL:
            verbs.heuristic(work[1], values)
            ending += probabilities[i]
            result += probabilities[i] * values[player]
    return ending, result


@kernel
def action_features(state, actions, k, work, outcomes, probabilities, values, out):
    """Fill ``out[action, :]``, float32 ``[A, 5]``, for the legal ``actions[:k]`` of `state`; other rows are kept.

    What the action does at once, for the mover: margin after it (the clipped return if the game ends), its gain, the
    tie-break cost c as c / (10 + c), the probability that the game ends by it or by the chance event that follows, and
    the expectation of the clipped return from such ends. Work space: `work` two states, `outcomes` int32 and
    `probabilities` float64 ``[max_chance_outcomes + 1]``, `values` float64 ``[n]``.
    """
    player = state.current_player
    verbs.margin(state, values)
    before = values[player]
    for i in range(k):
        action = actions[i]
        cost = verbs.tie_break(state, action)
        work[0] = state
        verbs.apply_action(work[0], action)
        ended = work[0].current_player == TERMINAL
        if ended:
            verbs.heuristic(work[0], values)
        else:
            verbs.margin(work[0], values)
        after = values[player]
        out[action, 0] = after
        out[action, 1] = after - before
        out[action, 2] = cost / (10.0 + abs(cost))
        ending, result = 1.0 if ended else 0.0, after if ended else 0.0
        if work[0].current_player == CHANCE:
            ending, result = ending_by_chance(work, player, outcomes, probabilities, values)
        out[action, 3] = ending
        out[action, 4] = result


@kernel
def write_inputs(states, indices, count, actions, work, outcomes, probabilities, values, observations, features, mask):
    """Fill rows 0..count - 1 of the network's inputs for ``states[indices[row, 0], indices[row, 1]]``.

    The observer is ``indices[row, 2]``: the mover, or of a state before chance the player whose action led there; that
    has no actions. `observations` float32 ``[R, O]``, `features` float32 ``[R, A, 5]``, `mask` bool ``[R, A]``.
    """
    for row in range(count):
        state = states[indices[row, 0], indices[row, 1]]
        verbs.observe(state, indices[row, 2], observations[row])
        features[row, :, :] = 0.0
        mask[row, :] = False
        if state.current_player == CHANCE:
            continue
        k = verbs.legal_actions(state, actions)
        for i in range(k):
            mask[row, actions[i]] = True
        action_features(state, actions, k, work, outcomes, probabilities, values, features[row])


class NetworkEvaluator:
    """Evaluates up to `batch` states at a time; always that many rows, so that a row's bits never depend on the others.

    (In torch the last bits of a row differ between batch sizes; a fixed size makes runs repeatable.)
    """

    def __init__(self, game: Game, network: torch.nn.Module, batch: int, margin_weight: float) -> None:
        self.game, self.network, self.batch = game, network.eval(), batch
        size, n = game.num_distinct_actions(), game.num_players()
        self._observations = np.zeros((batch, *game.observation_tensor_shape()), np.float32)
        self._features = np.zeros((batch, size, NUM_ACTION_FEATURES), np.float32)
        self._mask = np.ones((batch, size), np.bool_)
        self._actions = np.zeros(size + 1, np.int32)
        self._work = np.zeros(2, game.dtype)
        self._chance = np.zeros(game.max_chance_outcomes() + 1, np.int32), np.zeros(game.max_chance_outcomes() + 1)
        self._values = np.zeros(n)
        self._tensors = tuple(torch.from_numpy(a) for a in (self._observations, self._features, self._mask))
        outcomes = torch.from_numpy(game.outcomes()).float()
        self._outcomes = outcomes * (1.0 - margin_weight)
        self._margin_weight = margin_weight

    def __call__(self, states: np.ndarray, indices: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return prior logits float32 ``[count, A]`` and values float64 ``[count, n]``, the observer first.

        `states` is ``[B, M]``; rows of `indices`, int ``[R, 3]``, pick the states and say who observes.
        """
        write_inputs(
            states,
            indices,
            count,
            self._actions,
            self._work,
            *self._chance,
            self._values,
            self._observations,
            self._features,
            self._mask,
        )
        with torch.inference_mode():
            logits, outcome_logits, margins = self.network(*self._tensors)
            values = torch.softmax(outcome_logits, -1) @ self._outcomes + self._margin_weight * margins
        return logits.numpy()[:count], values.double().numpy()[:count]


def mover_indices(states: np.ndarray) -> np.ndarray:
    """Return `indices` for states ``[count, 1]``, each as its mover sees it."""
    indices: Any = np.zeros((len(states), 3), np.int32)
    indices[:, 0] = np.arange(len(states))
    indices[:, 2] = states["current_player"][:, 0]
    return indices
