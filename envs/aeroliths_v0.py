"""Aeroliths as a PettingZoo AEC environment (placeholder docstring)."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from trilithon.core import load_game, verbs
from trilithon.core.game import Game
from trilithon.envs.aec import GameEnv
from trilithon.envs.wrapper import CheckedEnv

NAME = "aeroliths_v0"


def env(
    render_mode: str | None = None,
    turn_time: float | None = None,
    clock: Callable[[], float] = time.monotonic,
    observer: int | None = None,
    **options: Any,
) -> CheckedEnv:
    """Return the environment with its one wrapper; `options` are the game's. `OptionError` says what is not allowed."""
    return CheckedEnv(raw_env(render_mode, turn_time, clock, observer, **options))


def raw_env(
    render_mode: str | None = None,
    turn_time: float | None = None,
    clock: Callable[[], float] = time.monotonic,
    observer: int | None = None,
    **options: Any,
) -> GameEnv:
    """Return the environment without the wrapper: illegal actions are refused, the order of calls is not checked."""
    game = load_game("aeroliths", **options)
    return GameEnv(game, NAME, render_mode, turn_time, clock, observer, ended_by_max_rounds)


def ended_by_max_rounds(game: Game, states: np.ndarray) -> bool:
    """Whether an ended game (kernel state ``[1]``) is a draw because Sudden Death has had its `max_rounds` rounds."""
    if not game.options["sudden_death"]:
        return False
    returns = np.zeros(game.num_players())
    verbs.returns(states[0], returns)
    return not returns.any()
