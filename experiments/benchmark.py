"""`trilithon bench`: named measurements of speed, each run five times, the median printed.

A measurement is a generator function: what comes before its first ``yield`` is preparation (compiling included), and
every ``next`` is one timed run that yields its value. Rates are per second of one core.
"""

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from trilithon.core.errors import OptionError, TrilithonError
from trilithon.core.game import Game
from trilithon.core.registry import load_game
from trilithon.core.solving import DIFFERENCE, RETURN
from trilithon.experiments.search_speeds import SIMULATIONS, SolveSpeed, lock_step_speed, rollout_speed

RUNS = 5
DEALS = 64  # different random deals in every measurement of a game
BATCH = 128  # positions a call, where positions are looked at in batches: the largest that networks evaluate at once
BASIC: dict[str, Any] = {"open_hands": True}
ALL_RULES: dict[str, Any] = {**BASIC, "same": True, "plus": True, "combo": True, "wall": True}
ALL_RULES["elemental_cells"] = "random"

# From `import` to the first step, in a new process; what is printed is seconds.
_FIRST_STEP = """
import sys, time
start = time.perf_counter()
from trilithon.envs import aeroliths_v0
env = aeroliths_v0.env()
env.reset(seed=0)
env.step(int(env.last()[0]["action_mask"].argmax()))
seconds = time.perf_counter() - start
assert "torch" not in sys.modules, "torch was imported"
print(seconds)
"""


@dataclass(frozen=True)
class Benchmark:
    """A named measurement."""

    name: str
    unit: str
    runs: Callable[[], Iterator[float]]
    digits: int = 0  # after the point, for people
    note: Callable[[], str] | None = None  # what people see behind the figures


@dataclass(frozen=True)
class Result:
    """The values of a measurement's runs."""

    benchmark: Benchmark
    runs: list[float]

    @property
    def value(self) -> float:
        """The median."""
        return statistics.median(self.runs)

    def __str__(self) -> str:
        digits = self.benchmark.digits
        spread = f"{min(self.runs):,.{digits}f} .. {max(self.runs):,.{digits}f}"
        note = f" {self.benchmark.note()}" if self.benchmark.note else ""
        return f"{self.benchmark.name:<32} {self.value:>14,.{digits}f} {self.benchmark.unit:<15} ({spread}){note}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        return {
            "name": self.benchmark.name,
            "value": self.value,
            "unit": self.benchmark.unit,
            "runs": self.runs,
        }


def run_benchmarks(names: Sequence[str] = (), runs: int = RUNS) -> Iterator[Result]:
    """Run the benchmarks whose names begin with one of `names` (all where empty), one after another."""
    for benchmark in select(names):
        values = benchmark.runs()
        yield Result(benchmark, [float(next(values)) for _ in range(runs)])


def select(names: Sequence[str]) -> list[Benchmark]:
    """The benchmarks whose names begin with one of `names`, in the registry's order; `OptionError` for no match."""
    for name in names:
        if not any(benchmark.name.startswith(name) for benchmark in BENCHMARKS):
            known = ", ".join(benchmark.name for benchmark in BENCHMARKS)
            raise OptionError(f"no benchmark begins with {name!r:.60}; known: {known}")
    return [b for b in BENCHMARKS if not names or any(b.name.startswith(name) for name in names)]


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _processor() -> str:
    """The processor's name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that matter for speed."""
    found = {"python": platform.python_version()}
    for package in ("trilithon", "numpy", "numba", "pettingzoo", "torch"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    return found


# -------------------------------------------------------------------------------------------------------------- rules


def deals(game: Game, count: int = DEALS) -> np.ndarray:
    """Kernel states ``[count]`` at the start of different random deals."""
    return np.concatenate([game.new_initial_state(seed).array for seed in range(count)])


def playout_speed(name: str, counted: str | None = None, **options: Any) -> Callable[[], Iterator[float]]:
    """Random playouts with legal-action lists: players' actions a second, or what a field of the state counts."""

    def runs() -> Iterator[float]:
        from trilithon.agents.playout import Playouts

        game = load_game(name, **options)
        states, playouts, rng = deals(game), Playouts(game), np.zeros(1, np.uint64)
        steps, _ = playouts.run(states, DEALS, rng)  # compiles
        games = 2_500_000 * DEALS // steps
        share = counted_per_action(game, states, counted) if counted else 1.0
        while True:
            start = time.perf_counter()
            steps, _ = playouts.run(states, games, rng)
            yield share * steps / (time.perf_counter() - start)

    return runs


def counted_per_action(game: Game, states: np.ndarray, counted: str) -> float:
    """What a player's action adds to a field of the state in random playouts, on average (turns, or draws as well)."""
    from trilithon.agents.playout import playout

    work, rng = np.zeros(1, game.dtype), np.zeros(1, np.uint64)
    actions = np.zeros(game.num_distinct_actions() + 1, np.int32)
    probabilities = np.zeros(game.max_chance_outcomes() + 1)
    steps = total = 0
    for number in range(20 * DEALS):
        work[0] = states[number % DEALS]
        steps += playout(work[0], actions, probabilities, rng)
        total += int(work[counted][0])
    return total / steps


def observe_speed(name: str, **options: Any) -> Callable[[], Iterator[float]]:
    """Observations of positions all through random games, many at a call: positions a second."""

    def runs() -> Iterator[float]:
        from trilithon.agents.playout import observe_batch
        from trilithon.core.verbs import CHANCE, TERMINAL, apply_action, chance_outcomes, legal_actions

        game = load_game(name, **options)
        states, rng = np.resize(deals(game), BATCH), np.random.default_rng(0)
        actions = np.zeros(max(game.num_distinct_actions(), game.max_chance_outcomes()) + 1, np.int32)
        probabilities = np.zeros(game.max_chance_outcomes() + 1)
        longest = game.max_game_length()
        for i in range(BATCH):
            before = states[i : i + 1].copy()
            for _ in range(rng.integers(longest)):
                n = legal_actions(states[i], actions)
                apply_action(states[i], int(actions[rng.integers(n)]))
                while states["current_player"][i] == CHANCE:
                    n = chance_outcomes(states[i], actions, probabilities)
                    apply_action(states[i], int(actions[rng.integers(n)]))
                if states["current_player"][i] == TERMINAL:
                    break
                before[0] = states[i]
            states[i] = before[0]  # the last one in which a player is to move
        out = np.zeros((BATCH, *game.observation_tensor_shape()), np.float32)
        observe_batch(states, out)
        while True:
            start = time.perf_counter()
            for _ in range(200):
                observe_batch(states, out)
            yield 200 * BATCH / (time.perf_counter() - start)

    return runs


def batch_shape(name: str, **options: Any) -> Callable[[], str]:
    """What `observe_speed` fills at a call, for people."""
    return lambda: f"batch {[BATCH, *load_game(name, **options).observation_tensor_shape()]}"


# ------------------------------------------------------------------------------------------------------- environments

GAMES = 2000  # a run of an environment
VECTOR = 1024  # games in lock step


def env_speed(kind: str, resets: bool = False) -> Callable[[], Iterator[float]]:
    """Steps a second of an environment, with observation and mask of every step; `resets` puts them on the clock."""

    def runs() -> Iterator[float]:
        actions = _random_games()
        env = _make_env(kind)
        while True:
            yield 1.0 / _seconds_per_step(env, actions, resets)

    return runs


def wrapper_cost() -> Iterator[float]:
    """What PettingZoo's three stock wrappers add to a step of our raw environment: microseconds."""
    actions = _random_games()
    raw, wrapped = _make_env("raw"), _make_env("stock")
    while True:
        yield 1e6 * (_seconds_per_step(wrapped, actions) - _seconds_per_step(raw, actions))


def _make_env(kind: str) -> Any:
    from pettingzoo.utils import wrappers

    from trilithon.envs import aeroliths_v0

    if kind == "env":
        return aeroliths_v0.env()
    raw = aeroliths_v0.raw_env()
    if kind == "raw":
        return raw
    checked = wrappers.AssertOutOfBoundsWrapper(wrappers.TerminateIllegalWrapper(raw, illegal_reward=-1))
    return wrappers.OrderEnforcingWrapper(checked)


def _random_games() -> list[list[int]]:
    """Actions of random games from seeds 0, 1, ...: chosen beforehand, so that only the environment is timed."""
    env, rng = _make_env("raw"), np.random.default_rng(0)
    games = []
    for seed in range(GAMES):
        env.reset(seed=seed)
        actions: list[int] = []
        while not any(env.terminations.values()):
            actions.append(int(rng.choice(np.flatnonzero(env.last()[0]["action_mask"]))))
            env.step(actions[-1])
        games.append(actions)
    return games


def _seconds_per_step(env: Any, games: list[list[int]], resets: bool = False) -> float:
    """Play the games, with `last` before every step; setups are drawn outside the clock unless `resets`."""
    total = 0.0
    for seed, actions in enumerate(games):
        start = time.perf_counter()
        env.reset(seed=seed)
        if not resets:
            start = time.perf_counter()
        for action in actions:
            env.last()
            env.step(action)
        total += time.perf_counter() - start
    return total / sum(len(actions) for actions in games)


def vector_speed(name: str, **options: Any) -> Callable[[], Iterator[float]]:
    """Steps a second of the vector environment with uniform legal actions; drawing actions and new games is counted."""

    def runs() -> Iterator[float]:
        from trilithon.envs.vector import VectorEnv

        env, rng = VectorEnv(load_game(name, **options), VECTOR), np.zeros(1, np.uint64)
        env.reset(seed=0)
        env.step(env.sample_actions(rng))  # compiles
        while True:
            start = time.perf_counter()
            for _ in range(200):
                env.step(env.sample_actions(rng))
            yield 200 * VECTOR / (time.perf_counter() - start)

    return runs


# ------------------------------------------------------------------------------------------------------------ start-up


def start_seconds(warm: bool) -> Callable[[], Iterator[float]]:
    """Seconds from `import` to the first step of a new process, with an empty or with a filled compile cache."""

    def runs() -> Iterator[float]:
        with tempfile.TemporaryDirectory(prefix="trilithon-bench-") as folder:
            if warm:
                _first_step(folder)
            for number in range(1000):
                yield _first_step(folder if warm else str(Path(folder) / str(number)))

    return runs


def _first_step(cache: str) -> float:
    environment = {**os.environ, "TRILITHON_CACHE_DIR": cache}
    command = [sys.executable, "-c", _FIRST_STEP]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise TrilithonError(f"the start-up benchmark failed: {last}")
    return float(done.stdout)


# What is solved, deals a run, and the positions: (size, empty cells, deals).
SOLVED = {
    "solve": (DIFFERENCE, False, ((3, 9, 40), (4, 8, 40), (4, 10, 4))),
    "solve-outcome": (RETURN, False, ((3, 9, 40),)),
    "solve-actions": (DIFFERENCE, True, ((3, 9, 8),)),
}
SPECIAL: dict[str, Any] = {**BASIC, "same": True, "plus": True, "combo": True, "elemental_cells": "random"}


def solve_benchmarks() -> list[Benchmark]:
    """The exact solver's measurements."""
    found = []
    for prefix, (objective, every_action, positions) in SOLVED.items():
        for size, empty, count in positions:
            for label, options in (("basic", BASIC), ("special", SPECIAL)):
                speed = SolveSpeed(size, empty, count, objective, every_action, **options)
                left = "" if empty == size * size else f"/{empty}-empty"
                name = f"{prefix}/aeroliths/{size}x{size}{left}/{label}"
                found.append(Benchmark(name, "ms", speed.runs, digits=1, note=speed.note))
    return found


BENCHMARKS: list[Benchmark] = [
    *(
        Benchmark(
            f"playouts/aeroliths/{size}x{size}/{name}", "placements/s", playout_speed("aeroliths", size=size, **options)
        )
        for size in (3, 4, 5)
        for name, options in (("basic", BASIC), ("all", ALL_RULES))
    ),
    Benchmark("playouts/selenolyth", "turns/s", playout_speed("selenolyth", counted="turns")),
    *(
        Benchmark(f"playouts/aether/{label}", "actions/s", playout_speed("aether", counted="move_number", **options))
        for label, options in (
            ("standard", {}),
            ("standard/4", {"players": 4}),
            ("small", {"board": "small"}),
        )
    ),
    Benchmark("aec/aeroliths/raw", "steps/s", env_speed("raw")),
    Benchmark("aec/aeroliths/env", "steps/s", env_speed("env")),
    Benchmark("aec/aeroliths/raw-with-resets", "steps/s", env_speed("raw", resets=True)),
    Benchmark("aec/aeroliths/env-with-resets", "steps/s", env_speed("env", resets=True)),
    Benchmark("aec/pettingzoo-wrappers", "us/step added", wrapper_cost, digits=1),
    Benchmark("vector/aeroliths", "steps/s", vector_speed("aeroliths")),
    Benchmark("vector/aether", "steps/s", vector_speed("aether")),
    Benchmark("vector/selenolyth", "steps/s", vector_speed("selenolyth")),
    *(
        Benchmark(f"observe/{name}", "positions/s", observe_speed(name, **options), note=batch_shape(name, **options))
        for name, options in (
            ("aeroliths", {"same": True, "elemental_cells": "random"}),
            ("selenolyth", {}),
            ("aether", {}),
        )
    ),
    *(
        Benchmark(f"rollouts/{label}", "rollouts/s", rollout_speed(agent, name, **options))
        for label, agent, name, options in (
            ("aeroliths/open", f"mcts(simulations={SIMULATIONS})", "aeroliths", BASIC),
            ("aeroliths/infoset", f"mcts(simulations={SIMULATIONS},hidden=infoset,worlds=64)", "aeroliths", {}),
            ("selenolyth", f"mcts(simulations={SIMULATIONS})", "selenolyth", {}),
            ("aether", f"mcts(simulations={SIMULATIONS})", "aether", {}),
        )
    ),
    Benchmark("lock-step/aeroliths", "simulations/s", lock_step_speed("aeroliths", **BASIC)),
    *solve_benchmarks(),
    Benchmark("start/warm", "s", start_seconds(warm=True), digits=2),
    Benchmark("compile/cold", "s", start_seconds(warm=False), digits=2),
]
