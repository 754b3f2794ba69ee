"""Aether: late positions solved exactly, as if all hands were known; what is drawn from the bag by expectation.

With two sides (two players, or teams) one number is searched for, side 0's return: alpha-beta with Star1's windows at
chance nodes and a table of bounds. With three or four players for themselves every player maximises the own expected
return, and of equal actions takes the first (max^n); the whole tree is searched, each position once.

Positions are told by what decides the rest of the game (ending_positions.py): not by how they came about, and near the
end only by the tiles that can still be placed. Draws that cannot matter any more are not searched.
"""

import math

import numpy as np

from trilithon.core.aether import kernels as k
from trilithon.core.aether.ending_search import CROWDED, FINISHED, FRAME, alpha_beta, max_n
from trilithon.core.errors import SolverLimitError
from trilithon.core.game import copy_of
from trilithon.core.solving import Solved
from trilithon.core.table import Table
from trilithon.core.verbs import CHANCE, TERMINAL

MOST_BYTES = 800_000_000  # of the table
_CHUNK = 20_000_000  # nodes between looks at the outside world


class AetherSolver:
    """Positions of one game."""

    largest = "a few empty slots"

    def __init__(self, players: int, two_sides: bool, most: float) -> None:
        self._n, self._two_sides, self._most = players, two_sides, most
        self._table = Table(3 if two_sides else players, MOST_BYTES)
        self._counts = np.array([0, 0, 0, 1, 0])
        self.most_nodes = 1 << 62  # a search ends there with `SolverLimitError`
        self._root = b""

    def estimate(self, states: np.ndarray) -> float:
        """Return about how many nodes a search takes.

        Fitted to 1,100 random positions of up to seven empty slots (off by a factor of four, one standard deviation):
        the sequences of placements, the draws that can matter, and the elementals that may be given for a swap.
        """
        state = states[0]
        n, empty = self._n, int(state["empty_count"])
        placements, swaps = 0.0, 0
        mover, unused = int(state["mover"]), state["unused"].tolist()
        for turn in range(empty):
            player = (mover + turn) % n
            elements = max(int((state["hands"][player] > 0).sum()), 1)
            placements += math.log(elements * (empty - turn) * (2 if unused[player] else 1))
            if turn < n and int(state["bag"].sum()) - turn >= state["hand_tiles"]:
                swaps += unused[player]
        exponent = 2.2 + 0.36 * placements + 1.57 * max(empty - n, 0) + 1.24 * swaps
        return math.exp(exponent) if exponent < 700 else math.inf

    def solve(self, states: np.ndarray, every_action: bool, objective: str) -> Solved:
        """Solve ``states[0]``; points are not played for beside the return, so `objective` does not matter."""
        self._prepare(states)
        mover = int(states["current_player"][0])
        out = np.empty(8 * int(states["slots"][0]) + 5, np.int32)
        actions = out[: k.legal_actions(states[0], out)].astype(np.int64)
        values = np.array([self._after(states, int(action)) for action in actions])
        best = values[:, mover] > values[:, mover].max() - 1e-9
        variation = self._variation(states, int(actions[int(best.argmax())]))
        return Solved(actions, values, None, best, variation, int(self._counts[0]))

    def _prepare(self, states: np.ndarray) -> None:
        """Allocate for the search from ``states[0]``."""
        state = states[0]
        empty = int(state["empty_count"])
        self._places = state["empties"][:empty].astype(np.int64)
        self._counts[0] = 0
        # Keys say what differs from the root: the table serves other hands on the same board too.
        root = b"".join(state[name].tobytes() for name in ("tiles", "owners", "unused", "sacrificed"))
        if root != self._root:
            self._root = root
            self._table.clear()
            self._counts[2:4] = 0, 1
        swaps = int(state["unused"].sum())
        depth = 2 * empty + (int(state["hand_tiles"]) + 1) * (swaps + 1) + (empty + 1) * (self._n + 1) + 4
        width = 8 * int(state["slots"]) + 5
        self._states, self._frames = np.zeros(depth, k.STATE), np.zeros(depth, FRAME)
        self._node_keys = np.zeros((depth, 2), np.uint64)
        self._actions, self._probabilities = np.zeros((depth, width), np.int32), np.zeros((depth, k.ELEMENTS + 1))
        self._merits, self._best = np.zeros((2, width)), np.zeros((depth, self._n))
        self._scratch = np.zeros(self._n)

    def _after(self, states: np.ndarray, action: int) -> np.ndarray:
        """Every player's value after an action, float64 ``[n]``."""
        after = copy_of(states)
        k.apply_action(after[0], action)
        return self._value(after)

    def _value(self, states: np.ndarray) -> np.ndarray:
        """Every player's value of ``states[0]``, float64 ``[n]``."""
        self._states[0], self._counts[4] = states[0], 0
        while True:
            self._counts[1] = min(self._counts[0] + _CHUNK, self.most_nodes)
            work = (self._states, self._frames, self._node_keys, self._actions, self._probabilities)
            table = (self._places, self._table.keys, self._table.rows, self._counts, self._scratch, self._most)
            if self._two_sides:
                value, status = alpha_beta(*work, self._merits, *table)
                found = value * (1.0 - 2.0 * (np.arange(self._n) & 1))
            else:
                status = max_n(*work, self._best, *table)
                found = self._best[0].copy()
            if status == FINISHED:
                return found
            if status == CROWDED:
                self._counts[3] = self._table.grow()
            elif self._counts[0] >= self.most_nodes:
                raise SolverLimitError(f"aether: solving this position takes more than {self._counts[0]:,} nodes")

    def _variation(self, states: np.ndarray, action: int) -> list[int]:
        """The best action, and what follows it until a tile is drawn or the game ends."""
        variation, states = [action], copy_of(states)
        while True:
            k.apply_action(states[0], variation[-1])
            player = int(states["current_player"][0])
            if player in (CHANCE, TERMINAL):
                return variation
            out = np.empty(self._actions.shape[1], np.int32)
            actions = out[: k.legal_actions(states[0], out)].tolist()
            own = np.array([self._after(states, action)[player] for action in actions])
            variation.append(actions[int((own > own.max() - 1e-9).argmax())])
