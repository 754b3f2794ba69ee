"""Aeroliths as a PettingZoo AEC environment: ``aeroliths_v0.env(size=4, same=True)``.

| Agents | `player_0`, `player_1` |
| --- | --- |
| Action space | `Discrete(H * n * n)`, a draft adds 40; n cells a side, H = ceil(n * n / 2) slots in hand |
| Observation space | `Dict(observation=Box(-1, 1, (size,), float32), action_mask=Box(0, 1, (actions,), int8))` |
| Sizes | 3x3: 253 numbers, 45 actions; 4x4: 410, 128; 5x5: 637, 325; a draft adds 360 numbers; universal: 997 |
| Rewards | 0 until the end, then +1 and -1, or 0 and 0 for a draw |
| End | `terminations`; `truncations` instead where `max_rounds` cuts Sudden Death off with a draw |
| Parallel, continuous | no |

**Actions.** ``slot * n * n + cell`` places the Litho of a slot on a cell (row by row from the top left);
``H * n * n + k`` picks Litho k of a draft's pool. `action_mask` is 1 where an action is legal, and all zeros for an
agent that is not to move. An illegal action is an `IllegalActionError` and changes nothing.

**Observation.** The blocks of ``game.layout()`` one after another, own side first: cells (13 numbers each), own hand
and opponent's hand (11 a slot), options (26), and with draft the pool (9 a Litho). docs/environments.md has the index
ranges of every size and what each number is.

**Infos.** ``{"timed_out": bool, "chance": [outcome, ...]}``: whether the agent's latest action was played for it
because its time was up, and the chance outcomes since then that it may see (slots picked by Chaos).

**Arguments.** Every option of the game (``trilithon games`` lists them), and `render_mode` (``human``, ``ansi``,
``rgb_array``, ``svg``), `observer` (the seat whose view is rendered, None for all), `turn_time` (seconds for an action,
None for any time) and `clock` (what measures them). ``reset(options={"setup": ...})`` starts from a given setup.

**Version history.** v0: first version.
"""

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
