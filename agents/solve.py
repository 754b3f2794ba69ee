"""Exact solving: what a position is worth under best play of all players, everything known to all.

A game may bring a solver of its own (`Game.solver`); else the generic one of expectimax.py does it.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trilithon.agents.expectimax import Expectimax
from trilithon.core import verbs
from trilithon.core.errors import OptionError, SolverLimitError
from trilithon.core.game import Game, State, copy_of
from trilithon.core.solving import DIFFERENCE, OBJECTIVES, RETURN, ExactSolver, Solved
from trilithon.core.verbs import CHANCE, TERMINAL

DEFAULT_LIMIT = 100_000_000  # nodes: from ten seconds to some minutes
MOST_LIMIT = 10**15


@dataclass
class Solution:
    """A solved position. Values are expected returns, float64 ``[n]``; differences are the mover's final lead."""

    values: np.ndarray  # float64 [n]: under best play
    difference: float | None  # in the game's unit (Lithos); None where it was not asked for, or there is none
    action_values: dict[int, tuple[np.ndarray, float | None]] = field(default_factory=dict)  # all legal actions
    best_actions: list[int] = field(default_factory=list)  # all optimal ones, ascending
    principal_variation: list[int] = field(default_factory=list)  # best play up to the next chance event
    nodes: int = 0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the solution as a JSON object; `action_values` is ``{"action": [[value, ...], difference]}``."""
        return {
            "values": self.values.tolist(),
            "difference": self.difference,
            "action_values": {str(a): [values.tolist(), d] for a, (values, d) in self.action_values.items()},
            "best_actions": self.best_actions,
            "principal_variation": self.principal_variation,
            "nodes": self.nodes,
            "seconds": self.seconds,
        }


def solve(state: State, limit: int = DEFAULT_LIMIT, objective: str = DIFFERENCE) -> Solution:
    """Solve a position exactly, **as if everybody saw everything**: it reads what players may not know.

    (The same position as a player sees it is a `State.view`; the agent `solver` averages over such.)

    Every player maximises the own expected return. With `objective` "difference" (the default) the final difference
    decides between actions of equal return, and is reported where the game counts one; with "return" it is not looked
    for, which is faster. At a chance node only `values` are given, the expectation over what may happen. What is
    counted as a node is up to the solver. `SolverLimitError` where a position is too large: where about more than
    `limit` nodes would be needed, or the table too much memory. `OptionError` for an ended game.
    """
    return Solver(state.game, limit, objective).solve(state)


class Solver:
    """Solves positions of one game one after another, with one table."""

    def __init__(self, game: Game, limit: int = DEFAULT_LIMIT, objective: str = DIFFERENCE) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int | np.integer) or not 1 <= limit <= MOST_LIMIT:
            raise OptionError(f"solve: limit = {limit!r:.40} is not allowed; allowed: a whole number 1..{MOST_LIMIT}")
        if objective not in OBJECTIVES:
            allowed = " or ".join(OBJECTIVES)
            raise OptionError(f"solve: objective = {objective!r:.40} is not allowed; allowed: {allowed}")
        self.game, self.limit, self.objective = game, int(limit), objective
        own = game.solver()
        self._solver: ExactSolver = Expectimax(game, objective) if own is None else own
        if hasattr(self._solver, "most_nodes"):
            self._solver.most_nodes = self.limit  # an estimate may be wrong

    def solve(self, state: State) -> Solution:
        """Solve a position; see the function `solve`."""
        start = time.perf_counter()
        if state.game != self.game:
            raise OptionError(f"solve: the solver is for {self.game}, not for {state.game}")
        if state.is_terminal():
            raise OptionError(f"solve: this game of {self.game.name} has ended; there is nothing to solve")
        if state.is_chance_node():
            values, nodes = self._expected(state.array)
            solution = Solution(values, None, nodes=nodes)
        else:
            solution = self._solution(self._solve(state.array, True, self.objective))
        solution.seconds = time.perf_counter() - start
        return solution

    def _solve(self, array: np.ndarray, every_action: bool, objective: str) -> Solved:
        estimate = self._solver.estimate(array)
        if math.isinf(estimate):
            largest = getattr(self._solver, "largest", None)
            hint = f"; allowed: at most {largest}" if largest else ""
            raise SolverLimitError(f"{self.game}: this position is too large to be solved exactly{hint}")
        if estimate > self.limit:
            raise SolverLimitError(
                f"{self.game}: solving this position takes about {estimate:.1e} nodes; allowed: {self.limit:,} (limit)"
            )
        return self._solver.solve(array, every_action, objective)

    def _expected(self, array: np.ndarray) -> tuple[np.ndarray, int]:
        """The expected returns of a position, a chance node or not, and the nodes it took."""
        player = int(array["current_player"][0])
        values = np.zeros(self.game.num_players())
        if player == TERMINAL:
            verbs.returns(array[0], values)
            return values, 0
        if player != CHANCE:
            solved = self._solve(array, False, RETURN)
            return solved.values[int(solved.best.argmax())], solved.nodes
        nodes = 0
        for after, p in self._outcomes(array):
            found, count = self._expected(after)
            values += p * found
            nodes += count
        return values, nodes

    def _outcomes(self, array: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
        size = self.game.max_chance_outcomes() + 1
        out, probabilities = np.empty(size, np.int32), np.empty(size)
        for i in range(verbs.chance_outcomes(array[0], out, probabilities)):
            after = copy_of(array)
            verbs.apply_action(after[0], int(out[i]))
            yield after, float(probabilities[i])

    def _solution(self, solved: Solved) -> Solution:
        differences = [None] * len(solved.actions) if solved.differences is None else solved.differences.tolist()
        first = int(solved.best.argmax())
        return Solution(
            values=solved.values[first],
            difference=differences[first],
            action_values={
                int(action): (values, difference)
                for action, values, difference in zip(solved.actions, solved.values, differences, strict=True)
            },
            best_actions=solved.actions[solved.best].tolist(),
            principal_variation=[int(action) for action in solved.principal_variation],
            nodes=int(solved.nodes),
        )
