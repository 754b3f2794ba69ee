"""Exact solving: what a game's own solver finds, and how it is found through the `Game`.

The kernels are in ``core/<game>/solving.py``; `agents/solve.py` is the face for users, with limits and a generic solver
for games that have none of their own.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

RETURN, DIFFERENCE = "return", "difference"  # objectives
OBJECTIVES = (RETURN, DIFFERENCE)


@dataclass
class Solved:
    """Root actions of a position and what each leads to under best play of all players, everything known to all."""

    actions: np.ndarray  # int64 [k]: the actions asked about, ascending
    values: np.ndarray  # float64 [k, n]: expected returns after each action
    differences: np.ndarray | None = None  # float64 [k]: the mover's final lead in the game's own unit; None: has none
    best: np.ndarray = field(default_factory=lambda: np.zeros(0, np.bool_))  # bool [k]: which actions are optimal
    principal_variation: list[int] = field(default_factory=list)  # best play of the players, chance left out
    nodes: int = 0


class ExactSolver(Protocol):
    """A game's own solver; `Game.solver` makes it, with its work space and tables."""

    def estimate(self, states: np.ndarray) -> float:
        """Return about how many nodes solving ``states[0]`` takes; infinity where it cannot be solved at all."""
        ...

    def solve(self, states: np.ndarray, every_action: bool, objective: str) -> Solved:
        """Solve ``states[0]``, a kernel state ``[1]`` in which a player is to move.

        Without `every_action` only one best action and its values are sure to be right: `actions` holds that one
        alone. With objective "return" differences are not looked for (None).
        """
        ...
