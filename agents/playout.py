"""Uniformly random playouts of any game: what rollouts cost, and a first look at how a game balances."""

from typing import Any

import numpy as np

from trilithon.core.game import Game
from trilithon.core.jit import kernel
from trilithon.core.rng import categorical, next_below
from trilithon.core.rng import seed as make_rng
from trilithon.core.verbs import CHANCE, TERMINAL, apply_action, chance_outcomes, legal_actions, observe, returns


@kernel
def playout(state, actions, probabilities, rng):
    """Play `state` to its end in place, uniformly over legal actions; return the number of players' actions."""
    steps = 0
    while state.current_player != TERMINAL:
        if state.current_player == CHANCE:
            n = chance_outcomes(state, actions, probabilities)
            apply_action(state, actions[categorical(rng, probabilities, n)])
        else:
            n = legal_actions(state, actions)
            apply_action(state, actions[next_below(rng, n)])
            steps += 1
    return steps


@kernel
def playouts(states, count, rng, work, actions, probabilities, ends, totals):
    """Play `count` uniformly random games, the i-th from ``states[i % B]``; return how often players acted.

    The list of legal actions is made before every action. `totals`, float64 ``[n]``, gets the sum of the returns;
    `states` keep what they hold; `rng` is advanced. Work space: `work` one state, `actions` int32
    ``[max(num_distinct_actions, max_chance_outcomes) + 1]``, `probabilities` float64
    ``[max_chance_outcomes + 1]``, `ends` float64 ``[n]``.
    """
    steps = 0
    totals[:] = 0.0
    for game in range(count):
        work[0] = states[game % states.shape[0]]
        steps += playout(work[0], actions, probabilities, rng)
        returns(work[0], ends)
        for player in range(totals.shape[0]):
            totals[player] += ends[player]
    return steps


@kernel
def observe_batch(states, out):
    """Fill ``out[b]``, float32 ``[B, observation_size]``, with what the player to move in ``states[b]`` sees.

    At chance and after the end the row is player 0's.
    """
    for b in range(states.shape[0]):
        player = np.int64(states[b].current_player)
        observe(states[b], player if player > 0 else 0, out[b])


class Playouts:
    """`playouts` with its work space, for one game."""

    def __init__(self, game: Game) -> None:
        players, chance = game.num_players(), game.max_chance_outcomes()
        self._work = np.zeros(1, game.dtype)
        self._actions = np.zeros(max(game.num_distinct_actions(), chance) + 1, np.int32)
        self._probabilities = np.zeros(chance + 1)
        self._ends, self._totals = np.zeros(players), np.zeros(players)

    def run(self, states: np.ndarray, count: int, rng: Any) -> tuple[int, np.ndarray]:
        """Play `count` games from kernel `states` ``[B]`` in turn; return players' actions and mean returns ``[n]``."""
        work, actions, probabilities = self._work, self._actions, self._probabilities
        steps = playouts(states, count, make_rng(rng), work, actions, probabilities, self._ends, self._totals)
        return int(steps), self._totals / max(count, 1)
