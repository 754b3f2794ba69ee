"""What `trilithon bench` measures of searches: rollouts, lock step, and exact solutions."""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from trilithon.core.game import Game, State
from trilithon.core.registry import load_game
from trilithon.core.rng import stream

SIMULATIONS = 3000  # a search, as in the strength tests
POSITIONS = 12  # different roots of a run
LOCK_STEP = 64  # games at once
LOCK_STEP_SIMULATIONS = 64


def to_move(game: Game, seed: int, steps: int = 0) -> State:
    """Return a position `steps` players' actions into a random game, with a player to move."""
    state, rng = game.new_initial_state(seed), np.random.default_rng(seed)
    while steps > 0 or state.is_chance_node():
        steps -= state.current_player() >= 0
        state.apply_action(int(rng.choice(state.legal_actions())))
    return state


def rollout_speed(agent: str, name: str, **options: Any) -> Callable[[], Iterator[float]]:
    """Simulations with a random game each, a second, by an agent from the starts of games."""

    def runs() -> Iterator[float]:
        from trilithon.agents import load_agent

        game = load_game(name, **options)
        player = load_agent(agent, game)
        states = [to_move(game, seed) for seed in range(POSITIONS)]
        player.act(states[0])  # compiles
        while True:
            start = time.perf_counter()
            visits = sum(int(player.analyse(state).visits.sum()) for state in states)
            yield visits / (time.perf_counter() - start)

    return runs


class NullNetwork:
    """An evaluator that costs nothing: equal priors, values of zero. What is left is the search's own time."""

    def __init__(self, game: Game, batch: int) -> None:
        self._logits = np.zeros((batch, game.num_distinct_actions()), np.float32)
        self._values = np.zeros((batch, game.num_players()))

    def __call__(self, states: np.ndarray, indices: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """See `search.Evaluator`."""
        return self._logits, self._values


def lock_step_speed(name: str, **options: Any) -> Callable[[], Iterator[float]]:
    """Simulations a second of many games in lock step with a network that costs nothing (PUCT)."""

    def runs() -> Iterator[float]:
        from trilithon.agents.search import Search, SearchSettings

        game = load_game(name, **options)
        settings = SearchSettings(simulations=LOCK_STEP_SIMULATIONS, root="puct")
        search = Search(game, LOCK_STEP, settings, NullNetwork(game, LOCK_STEP))
        roots = np.concatenate([to_move(game, seed).array for seed in range(LOCK_STEP)])
        rngs = np.stack([stream(0, seed) for seed in range(LOCK_STEP)])
        search.run(roots, rngs)  # compiles
        while True:
            start = time.perf_counter()
            for _ in range(10):
                search.run(roots, rngs)
            yield 10 * LOCK_STEP * LOCK_STEP_SIMULATIONS / (time.perf_counter() - start)

    return runs


class SolveSpeed:
    """Median milliseconds to solve random positions of Aeroliths with so many empty cells; also nodes and ns a node."""

    def __init__(self, size: int, empty: int, count: int, objective: str, every_action: bool, **options: Any) -> None:
        self._size, self._empty, self._count, self._options = size, empty, count, options
        self._objective, self._every_action = objective, every_action
        self._nodes, self._seconds = [1.0], [0.0]

    def runs(self) -> Iterator[float]:
        """One run solves the same positions once."""
        game = load_game("aeroliths", size=self._size, **self._options)
        solver = game.solver()
        assert solver is not None
        states = [to_move(game, seed, self._size**2 - self._empty) for seed in range(self._count)]
        solver.solve(states[0].array, self._every_action, self._objective)  # compiles
        while True:
            self._nodes, self._seconds = [], []
            for state in states:
                start = time.perf_counter()
                solved = solver.solve(state.array, self._every_action, self._objective)
                self._seconds.append(time.perf_counter() - start)
                self._nodes.append(solved.nodes)
            yield 1e3 * statistics.median(self._seconds)

    def note(self) -> str:
        """Nodes and time a node of the last run."""
        each = 1e9 * sum(self._seconds) / sum(self._nodes)
        return f"{statistics.median(self._nodes):,.0f} nodes, {each:.0f} ns a node"
