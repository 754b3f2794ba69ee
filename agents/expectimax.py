"""Expectimax: the exact value of a position of any game, over the verbs, with a table of the positions met.

Nothing is cut: this is the reference that faster solvers are tested against, and the solver of games that have none of
their own. Every player takes the action with the best own expected return (max^n, Luckhardt and Irani 1986: with two
sides that is minimax), of equal ones that with the best own margin where margins are asked for, of equal ones again
the first. Positions are equal where all their bytes are.
"""

import math

import numpy as np

from trilithon.core import verbs
from trilithon.core.errors import SolverLimitError
from trilithon.core.game import Game, copy_of
from trilithon.core.jit import kernel
from trilithon.core.solving import RETURN, Solved
from trilithon.core.table import Table, add_to_key, begin_key, is_crowded, is_free, row_of, row_to_fill
from trilithon.core.verbs import CHANCE, TERMINAL

FINISHED, CROWDED, PAUSED, TOO_DEEP = range(4)  # how a search left off
TIE = 1e-12
MOST_BYTES = 800_000_000  # of the table
MOST_PLIES = 2000
_CHUNK = 1_000_000  # nodes after which the size is estimated
_HOPELESS = 10.0  # a search is given up early where so many times the limit is to be expected (estimates fall)


@kernel
def expectimax(states, words, node_keys, actions, probabilities, progress, best, keys, rows, counts, scratch):
    """Fill ``best[0]`` with the values of ``states[0]``; return how the search left off (called again, it goes on).

    A row of `best` (and of the table, `keys` and `rows`) holds every player's return and, where it is twice as wide,
    margins after that, float64. ``words[i]`` are the bytes of ``states[i]``, uint64. ``progress[ply]``, int32: actions
    entered, and how many there are. `counts`: nodes so far, where to pause, entries of the table, whether it can grow,
    the ply to begin at (0, or where the search left off). All other arrays are work space with a row for each ply.
    """
    n = scratch.shape[0]
    width = best.shape[1]
    ply, entering = counts[4], True
    while True:
        state = states[ply]
        done = False
        if entering:
            progress[ply] = 0
            if state.current_player == TERMINAL:
                verbs.returns(state, scratch)
                best[ply, :n] = scratch
                if width > n:
                    verbs.margin(state, scratch)
                    best[ply, n:] = scratch
                done = True
            else:
                begin_key(node_keys[ply])
                for i in range(words.shape[1]):
                    add_to_key(node_keys[ply], words[ply, i])
                row = row_of(keys, node_keys[ply])
                if not is_free(keys, row):
                    best[ply] = rows[row]
                    done = True
                elif counts[3] and is_crowded(keys, counts[2]):
                    counts[4] = ply
                    return CROWDED
                elif counts[0] >= counts[1]:
                    counts[4] = ply
                    return PAUSED
                elif ply + 1 == states.shape[0]:
                    return TOO_DEEP
                elif state.current_player == CHANCE:
                    best[ply] = 0.0
                    progress[ply, 1] = verbs.chance_outcomes(state, actions[ply], probabilities[ply])
                else:
                    progress[ply, 1] = verbs.legal_actions(state, actions[ply])
            counts[0] += 1
        else:
            i = progress[ply, 0] - 1
            if state.current_player == CHANCE:
                for j in range(width):
                    best[ply, j] += probabilities[ply, i] * best[ply + 1, j]
            elif i == 0 or is_better(best[ply + 1], best[ply], state.current_player, n):
                best[ply] = best[ply + 1]
            done = progress[ply, 0] == progress[ply, 1]
            if done:
                row = row_to_fill(keys, node_keys[ply], counts[2])
                if row >= 0:
                    counts[2] += is_free(keys, row)
                    keys[row], rows[row] = node_keys[ply], best[ply]
        if done:
            if ply == 0:
                return FINISHED
            ply, entering = ply - 1, False
            continue
        states[ply + 1] = state
        verbs.apply_action(states[ply + 1], actions[ply, progress[ply, 0]])
        progress[ply, 0] += 1
        ply, entering = ply + 1, True


@kernel
def is_better(one, other, player, n):
    """Whether `player` prefers the values `one` to the values `other`: returns first, then margins where there are."""
    if abs(one[player] - other[player]) > TIE:
        return one[player] > other[player]
    return one.shape[0] > n and one[n + player] > other[n + player] + TIE


class Expectimax:
    """The generic solver of one game; its table serves any number of positions."""

    def __init__(self, game: Game, objective: str) -> None:
        self.game, self.objective = game, objective
        self.most_nodes = 1 << 62  # a search that goes beyond ends with `SolverLimitError`
        n = game.num_players()
        has_margin = verbs.provides(game.dtype)["margin"] is not verbs._no_margin
        values = 2 * n if objective != RETURN and has_margin else n
        plies = min(MOST_PLIES, 10 * game.max_game_length() + 10)
        width = max(game.num_distinct_actions(), game.max_chance_outcomes()) + 1
        # Rows of whole words, so that a state's bytes can be read eight at a time.
        self._words = np.zeros((plies, -(-game.dtype.itemsize // 8)), np.uint64)
        self._states = np.ndarray(plies, game.dtype, self._words, strides=(self._words.strides[0],))
        self._node_keys = np.zeros((plies, 2), np.uint64)
        self._actions, self._probabilities = np.zeros((plies, width), np.int32), np.zeros((plies, width))
        self._progress, self._best = np.zeros((plies, 2), np.int32), np.zeros((plies, values))
        self._scratch = np.zeros(n)
        self._table = Table(values, MOST_BYTES)
        self._counts = np.array([0, 0, 0, 1, 0])

    def estimate(self, states: np.ndarray) -> float:
        """Nothing is known before a search; it says itself when it will take too long."""
        return 1.0

    def solve(self, states: np.ndarray, every_action: bool, objective: str) -> Solved:
        """Solve ``states[0]``; differences are margins in the game's unit."""
        self._counts[0] = 0
        player = int(states["current_player"][0])
        actions = self._legal(states)
        found = np.array([self._value(self._after(states, action)) for action in actions])
        n = self.game.num_players()
        best = self._best_of(found, player)
        differences = found[:, n + player] * self.game.margin_unit()[0] if found.shape[1] > n else None
        variation = self._variation(states, actions[int(best.argmax())])
        nodes = int(self._counts[0])
        return Solved(np.array(actions), found[:, :n].copy(), differences, best, variation, nodes)

    def _legal(self, states: np.ndarray) -> list[int]:
        out = np.empty(self._actions.shape[1], np.int32)
        return out[: verbs.legal_actions(states[0], out)].tolist()

    def _after(self, states: np.ndarray, action: int) -> np.ndarray:
        after = copy_of(states)
        verbs.apply_action(after[0], action)
        return after

    def _best_of(self, found: np.ndarray, player: int) -> np.ndarray:
        """Which of the actions with these values are the best for the player, bool ``[k]``."""
        n = self.game.num_players()
        best = found[:, player] > found[:, player].max() - 1e-9
        if found.shape[1] > n:
            best &= found[:, n + player] > found[best, n + player].max() - 1e-9
        return best

    def _value(self, states: np.ndarray) -> np.ndarray:
        """Returns, and margins where they are asked for, of ``states[0]`` under best play."""
        before = int(self._counts[0])
        self._states[0], self._counts[4] = states[0], 0
        while True:
            self._counts[1] = min(self._counts[0] + _CHUNK, self.most_nodes)
            status = expectimax(
                self._states,
                self._words,
                self._node_keys,
                self._actions,
                self._probabilities,
                self._progress,
                self._best,
                self._table.keys,
                self._table.rows,
                self._counts,
                self._scratch,
            )
            if status == FINISHED:
                return self._best[0].copy()
            if status == CROWDED:
                self._counts[3] = self._table.grow()
            elif status == TOO_DEEP:
                raise SolverLimitError(f"{self.game}: games from this position can go beyond {MOST_PLIES} steps")
            else:
                self._check_size(before)

    def _check_size(self, before: int) -> None:
        """Give up where the limit is reached or out of reach; progress since `before` says what an action takes."""
        nodes, share, part = int(self._counts[0]), 0.0, 1.0
        for entered, count in self._progress:
            if count == 0:
                break
            share += part * (entered - 1) / count
            part /= count
        expected = before + (nodes - before) / share if share > 0 else math.inf
        if nodes >= self.most_nodes or expected > _HOPELESS * self.most_nodes:
            raise SolverLimitError(
                f"{self.game}: solving this position takes about {expected:.0e} nodes; allowed: {self.most_nodes:,}"
            )

    def _variation(self, states: np.ndarray, action: int) -> list[int]:
        """The best action, and what follows it until chance acts or the game ends."""
        variation = [action]
        while True:
            states = self._after(states, variation[-1])
            player = int(states["current_player"][0])
            if player in (CHANCE, TERMINAL):
                return variation
            actions = self._legal(states)
            found = np.array([self._value(self._after(states, action)) for action in actions])
            variation.append(actions[int(self._best_of(found, player).argmax())])
