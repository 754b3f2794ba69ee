"""The Selenolyth as a PettingZoo AEC environment: ``selenolyth_v0.env(max_turns=200)``.

| Agents | `player_0` (South), `player_1` (North) |
| --- | --- |
| Action space | `Discrete(72)` |
| Observation space | `Dict(observation=Box(-1, 1, (248,), float32), action_mask=Box(0, 1, (72,), int8))` |
| Rewards | 0 until the end, then +1 and -1, times `eclipse_value` for a Lunar Eclipse |
| End | `terminations`; `truncations` instead where `max_turns` cuts the game off, with 0 and 0 |
| Parallel, continuous | no |

**Actions.** Everything in the mover's own view, a1 being the nearest cell on the left: ``stone * 6 + file`` (0 .. 17)
rolls a stone (Selenolyth 0, Diox 1, Orthos 2) for a file; ``18 + stone * 6 + file`` (18 .. 35) puts it on the file's
last free cell by Will; ``36 + cell`` (36 .. 71), cell = rank * 6 + file, puts down a Selenolyth that ricocheted, which
is an action more of the same agent. `action_mask` is 1 where an action is legal, and all zeros for an agent that is not
to move. An illegal action is an `IllegalActionError` and changes nothing.

**Observation.** The blocks of ``game.layout()`` one after another, own side first: cells and files (4 numbers a row),
own reserve (6 a way to bring in a stone), other reserve (5 a kind), options (29). docs/games/selenolyth.md says what
each number is.

**Infos.** ``{"timed_out": bool, "chance": [outcome, ...]}``: whether the agent's latest action was played for it
because its time was up, and the dice since then, 0 .. 5 for ranks 1 .. 6 as their roller counts.

**Arguments.** Every option of the game (``trilithon games`` lists them), and `render_mode` (``human``, ``ansi``,
``rgb_array``, ``svg``), `observer` (the seat whose view is rendered, None for all), `turn_time` (seconds for an action,
None for any time) and `clock` (what measures them). ``reset(options={"setup": ...})`` starts from a given setup.

**Version history.** v0: first version.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from trilithon.core import load_game
from trilithon.core.game import Game
from trilithon.core.selenolyth.kernels import TRUNCATED
from trilithon.envs.aec import GameEnv
from trilithon.envs.wrapper import CheckedEnv

NAME = "selenolyth_v0"


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
    game = load_game("selenolyth", **options)
    return GameEnv(game, NAME, render_mode, turn_time, clock, observer, ended_by_max_turns)


def ended_by_max_turns(game: Game, states: np.ndarray) -> bool:
    """Whether an ended game (kernel state ``[1]``) was cut off by `max_turns`."""
    return bool(states["outcome"][0] == TRUNCATED)
