"""Positions shown: the render modes that all environments share."""

from typing import Any

import gymnasium
import numpy as np

from trilithon.core.errors import OptionError
from trilithon.core.game import Game
from trilithon.core.picture import to_rgb_array

RENDER_MODES = ("human", "ansi", "rgb_array", "svg")
PICTURE_WIDTH = 480  # pixels


def check_rendering(name: str, game: Game, render_mode: Any, observer: Any) -> None:
    """Raise `OptionError` that names the argument, the value and what is allowed."""
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise OptionError(f"{name}: render_mode = {render_mode!r} is not allowed; allowed: {', '.join(RENDER_MODES)}")
    players = game.num_players()
    seat = isinstance(observer, int) and not isinstance(observer, bool) and 0 <= observer < players
    if observer is not None and not seat:
        raise OptionError(f"{name}: observer = {observer!r} is not allowed; allowed: None or a seat 0..{players - 1}")


def show(name: str, game: Game, states: Any, render_mode: str | None, observer: int | None) -> str | np.ndarray | None:
    """Show kernel state ``[1]`` as `observer` sees it (None: everything).

    ``human`` prints the text and returns None, ``ansi`` returns the text, ``svg`` a picture as SVG, ``rgb_array`` the
    picture as uint8 ``[height, width, 3]``; without a mode there is a warning, as in Gymnasium, and None.
    """
    if render_mode is None:
        gymnasium.logger.warn(f"{name}: render() without a render_mode; choose one of {', '.join(RENDER_MODES)}")
        return None
    if render_mode == "ansi":
        return game.to_text(states, observer)
    if render_mode == "human":
        print(game.to_text(states, observer), end="\n\n", flush=True)
        return None
    svg = game.draw(states, observer)
    return svg if render_mode == "svg" else to_rgb_array(svg, PICTURE_WIDTH)
