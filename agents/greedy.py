"""Greedy: the best expected heuristic after one action and the chance event that follows it."""

import numpy as np

from trilithon.agents.analysis import Analysis, make_analysis
from trilithon.agents.base import Agent
from trilithon.agents.tree import MAX_CHANCE_IN_A_ROW
from trilithon.core import verbs
from trilithon.core.game import State
from trilithon.core.jit import kernel
from trilithon.core.rng import next_below
from trilithon.core.verbs import CHANCE

_TOLERANCE = 1e-9  # heuristics are sums of a few fractions


@kernel
def expected_heuristic(states, base, outcomes, probabilities, stack, scratch, values):
    """Fill `values`, float64 ``[n]``: the expectation of `heuristic` at ``states[base]`` over chance events due now.

    Chance may move several times in a row, as in a swap of tiles. Work space: ``states[base + 1:]``, `outcomes`
    int32 and `probabilities` float64 ``[D, K]``, `stack` float64 ``[D, 3]`` (weight, next outcome, number of
    outcomes), `scratch` float64 ``[n]``.
    """
    values[:] = 0.0
    ply = base
    stack[ply, 0], stack[ply, 2] = 1.0, -1.0
    while ply >= base:
        state = states[ply]
        if stack[ply, 2] < 0.0:
            if state.current_player != CHANCE or ply + 1 == states.shape[0]:
                verbs.heuristic(state, scratch)
                for player in range(values.shape[0]):
                    values[player] += stack[ply, 0] * scratch[player]
                ply -= 1
                continue
            stack[ply, 1] = 0.0
            stack[ply, 2] = verbs.chance_outcomes(state, outcomes[ply], probabilities[ply])
        if stack[ply, 1] == stack[ply, 2]:
            ply -= 1
            continue
        i = int(stack[ply, 1])
        stack[ply, 1] += 1.0
        states[ply + 1] = state
        verbs.apply_action(states[ply + 1], outcomes[ply, i])
        stack[ply + 1, 0], stack[ply + 1, 2] = stack[ply, 0] * probabilities[ply, i], -1.0
        ply += 1


@kernel
def evaluate_actions(states, actions, outcomes, probabilities, stack, scratch, qvalues, costs):
    """Fill `actions`, `qvalues` float64 ``[A, n]`` and `costs` float64 ``[A]`` for the root ``states[0]``; return k."""
    k = verbs.legal_actions(states[0], actions)
    for i in range(k):
        costs[i] = verbs.tie_break(states[0], actions[i])
        states[1] = states[0]
        verbs.apply_action(states[1], actions[i])
        expected_heuristic(states, 1, outcomes, probabilities, stack, scratch, qvalues[i])
    return k


def best_of(*keys: np.ndarray) -> np.ndarray:
    """Return which actions share the greatest first key and, among those, the greatest second, ...: bool ``[k]``."""
    best = np.ones(len(keys[0]), bool)
    for key in keys:
        best &= key >= key[best].max() - _TOLERANCE
    return best


def draw_one(best: np.ndarray, rng: np.ndarray) -> int:
    """Return a uniformly random index where `best` holds."""
    indices = np.flatnonzero(best)
    return int(indices[next_below(rng, len(indices))])


class Greedy(Agent):
    """One step of `heuristic`: the yardstick of every game."""

    name = "greedy"
    doc = "the action with the best expected heuristic after it and the chance event that follows"

    def prepare(self) -> None:
        """Allocate work space."""
        game = self.game
        depth, size = MAX_CHANCE_IN_A_ROW + 2, game.max_chance_outcomes() + 1
        self._states = np.zeros(depth, game.dtype)
        self._actions = np.zeros(game.num_distinct_actions() + 1, np.int32)
        self._outcomes = np.zeros((depth, size), np.int32)
        self._probabilities = np.zeros((depth, size))
        self._stack = np.zeros((depth, 3))
        self._scratch = np.zeros(game.num_players())
        self._qvalues = np.zeros((game.num_distinct_actions() + 1, game.num_players()))
        self._costs = np.zeros(game.num_distinct_actions() + 1)

    def examine(self, views: list[State], rngs: list[np.ndarray]) -> list[Analysis]:
        """Equal weights on the best actions."""
        results = []
        for view, rng in zip(views, rngs, strict=True):
            best = best_of(*self.evaluate(view))
            weights = best / best.sum()
            qvalues = self._qvalues[: len(best)].copy()
            action = view.legal_actions()[draw_one(best, rng)]
            results.append(make_analysis(view, action, weights, values=weights @ qvalues, qvalues=qvalues, depth=1))
        return results

    def choose(self, views: list[State], rngs: list[np.ndarray]) -> list[int]:
        """As `examine`, without the report."""
        return [
            int(self._actions[draw_one(best_of(*self.evaluate(view)), rng)])
            for view, rng in zip(views, rngs, strict=True)
        ]

    def evaluate(self, view: State) -> tuple[np.ndarray, np.ndarray]:
        """Return the mover's expected heuristic after each legal action and minus its cost, float64 ``[k]``."""
        self._states[0] = view.array[0]
        k = evaluate_actions(
            self._states,
            self._actions,
            self._outcomes,
            self._probabilities,
            self._stack,
            self._scratch,
            self._qvalues,
            self._costs,
        )
        return self._qvalues[:k, view.current_player()], -self._costs[:k]
