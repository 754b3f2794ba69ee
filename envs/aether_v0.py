"""Aether as a PettingZoo AEC environment: ``aether_v0.env(board="small", players=3)``.

| Agents | `player_0` .. `player_1` (or 2, 3), clockwise |
| --- | --- |
| Action space | `Discrete(A)`, A = 8 * slots + 4: 620 on the standard board |
| Observation space | `Dict(observation=Box(-1, 1, (O,), float32), action_mask=Box(0, 1, (A,), int8))`; O = 1367 |
| Rewards | 0 until the end, then the shared win or, with ``reward="margin"``, the lead over 100 |
| End | `terminations` |
| Parallel, continuous | no |

**Actions.** ``(element * slots + slot) * 2 + k`` puts a tile of that element (water 0, fire 1, earth 2, air 3) from the
hand on an empty slot, with k = 1 an unused elemental on top; ``8 * slots`` swaps the hand before placing; with
``early_scoring="agreement"`` the next three propose to score now, agree and decline. Slots count in reading order of
the board's file. An agent moves again after a swap, and the others answer a proposal in between. `action_mask` is 1
where an action is legal, and all zeros for an agent that is not to move. An illegal action is an `IllegalActionError`
and changes nothing.

**Observation.** The blocks of ``game.layout()`` one after another, own side first, then clockwise: cells (a row for
each slot and each aether tile), choices (11 numbers a way to act), table (36), seats (8 a player). docs/games/aether.md
says what each number is. Hands, teammates' too, are hidden.

**Infos.** ``{"timed_out": bool, "chance": [element, ...]}``: whether the agent's latest action was played for it
because its time was up, and the tiles this agent has drawn since then.

**Arguments.** Every option of the game (``trilithon games`` lists them), and `render_mode` (``human``, ``ansi``,
``rgb_array``, ``svg``), `observer` (the seat whose view is rendered, None for all), `turn_time` (seconds for an action,
None for any time) and `clock` (what measures them). ``reset(options={"setup": ...})`` starts from a given setup.

**Version history.** v0: first version.
"""

import time
from collections.abc import Callable
from typing import Any

from trilithon.core import load_game
from trilithon.envs.aec import GameEnv
from trilithon.envs.wrapper import CheckedEnv

NAME = "aether_v0"


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
    game = load_game("aether", **options)
    return GameEnv(game, NAME, render_mode, turn_time, clock, observer)
