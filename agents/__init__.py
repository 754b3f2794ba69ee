"""Agents: one algorithm a file, and no game named in any of them."""

from importlib import import_module
from pathlib import Path
from typing import Any

from trilithon.agents.analysis import Analysis
from trilithon.agents.base import Agent
from trilithon.agents.solve import Solution, solve
from trilithon.core.errors import SpecError
from trilithon.core.game import Game
from trilithon.core.options import suggest
from trilithon.core.spec import parse_spec

__all__ = ["Agent", "Analysis", "Solution", "list_agents", "load_agent", "solve"]

# Imported at first use: torch and compiled searches cost nothing until an agent needs them.
_AGENTS = {
    "uniform": ("trilithon.agents.uniform", "Uniform"),
    "greedy": ("trilithon.agents.greedy", "Greedy"),
    "minimax": ("trilithon.agents.minimax", "Minimax"),
    "mcts": ("trilithon.agents.mcts", "MCTS"),
    "policy": ("trilithon.agents.policy", "Policy"),
    "solver": ("trilithon.agents.solver", "ExactAgent"),
}


def list_agents() -> dict[str, type[Agent]]:
    """Return the agents' classes by name."""
    return {name: _agent_class(name) for name in _AGENTS}


def load_agent(spec: str, game: Game | None = None, seed: Any = 0) -> Agent:
    """Return an agent from ``NAME``, ``NAME(key=value, ...)`` or the path of a checkpoint or run folder.

    A path stands for ``mcts(network=PATH)`` and may have options of its own, ``runs/quick-1(simulations=200)``.
    Raises `SpecError` for an unknown name, `OptionError` for an option, `CheckpointError` for a file.
    """
    name, values = parse_spec(spec)
    if name in _AGENTS:
        return _agent_class(name)(game, seed, **values)
    if "/" in name or Path(name).exists():
        return _agent_class("mcts")(game, seed, network=name, **values)
    raise SpecError(f"unknown agent {name!r}; {suggest(name, _AGENTS)}; or the path of a checkpoint or run folder")


def _agent_class(name: str) -> type[Agent]:
    module, attribute = _AGENTS[name]
    return getattr(import_module(module), attribute)
