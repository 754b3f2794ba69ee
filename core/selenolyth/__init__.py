"""The Selenolyth as a `Game`: options, kernels, information, text and drawing put together."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from trilithon.core.game import Game, Layout, State
from trilithon.core.rng import seed as make_rng
from trilithon.core.selenolyth import drawing, information, kernels, options, text
from trilithon.core.solving import ExactSolver
from trilithon.core.verbs import TERMINAL, provide

provide(
    kernels.STATE,
    legal_actions=kernels.legal_actions,
    chance_outcomes=kernels.chance_outcomes,
    apply_action=kernels.apply_action,
    returns=kernels.returns,
    heuristic=kernels.heuristic,
    observe=information.observe,
    determinize=information.determinize,
)


class Selenolyth(Game):
    """Two players bring stones to a 6x6 board by the die; a full 3x3 square wins, and so does Luminance."""

    name = "selenolyth"
    doc = "a die says where stones land on a 6x6 board, stones pull others; a full 3x3 square or nine Luminance wins"
    option_table = options.OPTIONS
    dtype = kernels.STATE

    def check_options(self) -> None:
        """At least one stone."""
        options.check(self.options)

    # ------------------------------------------------------------------------------------------------------- facts

    def num_players(self) -> int:
        """Two."""
        return 2

    def num_distinct_actions(self) -> int:
        """18 rolls, 18 placements by Will, 36 by ricochet."""
        return kernels.NUM_ACTIONS

    def observation_tensor_shape(self) -> tuple[int, ...]:
        """One vector; its blocks are those of `layout`."""
        return (information.OBSERVATION_SIZE,)

    def max_game_length(self) -> int:
        """One action a turn, and one more for each stone that ricochets; the board takes 36."""
        turns = int(self.options["max_turns"])
        return turns + min(turns, kernels.CELLS)

    def max_chance_outcomes(self) -> int:
        """The die."""
        return 6

    def min_utility(self) -> float:
        """A Lunar Eclipse of the opponent's."""
        return -float(self.options["eclipse_value"])

    def max_utility(self) -> float:
        """A Lunar Eclipse."""
        return float(self.options["eclipse_value"])

    def layout(self) -> Layout:
        """Blocks cells, own_reserve, other_reserve, options; items are the ways to bring in a stone.

        The cells block has a row for each cell and one for each file: a stone is rolled for a file, or put there by
        Will, and only a ricochet names a cell. A cell's neighbours are the eight around it and its file; a file's are
        its six cells and the files beside it.
        """
        cells, files = np.arange(kernels.CELLS), np.arange(kernels.WIDTH)
        neighbours = np.full((information.ROWS, 9), -1, np.int8)
        neighbours[: kernels.CELLS, :8] = kernels.NEIGHBOURS
        neighbours[: kernels.CELLS, 8] = kernels.CELLS + cells % kernels.WIDTH
        neighbours[kernels.CELLS :, :6] = files[:, None] + kernels.WIDTH * files
        neighbours[kernels.CELLS + 1 :, 6] = kernels.CELLS + files[:-1]
        neighbours[kernels.CELLS : -1, 7] = kernels.CELLS + files[1:]
        actions = np.arange(kernels.NUM_ACTIONS)
        to_file = actions < kernels.RICOCHET
        return Layout(
            blocks={
                "cells": (0, (information.ROWS, information.CELL_FEATURES)),
                "own_reserve": (information.RESERVE_AT, (information.WAYS, information.WAY_FEATURES)),
                "other_reserve": (information.OTHER_AT, (kernels.STONES, information.RESERVE_FEATURES)),
                "options": (information.OPTIONS_AT, (information.OPTION_FEATURES,)),
            },
            graded={
                "cells": (0,),
                "own_reserve": (5,),
                "other_reserve": (4,),
                "options": (8, 13, 14, 19, 20, 21, 22),
            },
            neighbours=neighbours,
            items=("own_reserve",),
            action_items=np.where(to_file, actions // kernels.WIDTH, -1),
            action_cells=np.where(to_file, kernels.CELLS + actions % kernels.WIDTH, actions - kernels.RICOCHET),
        )

    def outcomes(self) -> np.ndarray:
        """Eclipse, won, cut off, lost, the opponent's Eclipse (an Eclipse may be worth no more than a win)."""
        values = sorted({1.0, self.max_utility(), 0.0, -1.0, self.min_utility()}, reverse=True)
        return np.array([[value, 0.0 - value] for value in values])

    def symmetries(self) -> tuple[np.ndarray, np.ndarray]:
        """Left and right exchanged; near and far exchanged (the die's ranks are all as likely); both."""
        cells = np.arange(kernels.CELLS).reshape(kernels.WIDTH, kernels.WIDTH)
        files = np.arange(kernels.WIDTH)
        observations, actions = [], []
        for near_far in (False, True):
            for left_right in (False, True):
                new_cells = cells[:: -1 if near_far else 1, :: -1 if left_right else 1].ravel()
                new_files = files[:: -1 if left_right else 1]
                rows = np.concatenate([new_cells, kernels.CELLS + new_files])
                observation = np.arange(information.OBSERVATION_SIZE)
                observation[: information.RESERVE_AT] = (
                    rows[:, None] * information.CELL_FEATURES + np.arange(information.CELL_FEATURES)
                ).ravel()
                observations.append(observation)
                choices = np.arange(information.WAYS)[:, None] * kernels.WIDTH + new_files
                actions.append(np.concatenate([choices.ravel(), kernels.RICOCHET + new_cells]))
        return np.array(observations), np.array(actions)

    def solver(self) -> ExactSolver:
        """See solving.py."""
        from trilithon.core.selenolyth.solving import SelenolythSolver

        return SelenolythSolver()

    # ------------------------------------------------------------------------------------------------------- hooks

    def new_setup(self, seed: Any) -> dict[str, Any]:
        """The first player."""
        return options.new_setup(self.options, make_rng(seed))

    def deal(self, rng: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """See `options.deal`."""
        return options.deal(self.options, rng)

    def encode(self, setup: Mapping[str, Any]) -> np.ndarray:
        """See `options.encode`."""
        return options.encode(self.options, setup)

    def position_setup(self, array: np.ndarray, setup: Mapping[str, Any]) -> dict[str, Any]:
        """See `options.position_setup`."""
        return options.position_setup(array, text.to_dict(array), text.known_stones(array))

    def resampled_setup(self, setup: Mapping[str, Any], world: np.ndarray, player: int) -> dict[str, Any]:
        """Nothing is hidden."""
        return dict(setup)

    def is_hidden(self, array: np.ndarray, action: int, player: int) -> bool:
        """Everybody sees the die."""
        return False

    def resampled_steps(
        self, world: np.ndarray, steps: list[tuple[int, int]], hidden: frozenset[int]
    ) -> list[tuple[int, int]]:
        """What happened."""
        return list(steps)

    def has_hidden_information(self, array: np.ndarray, player: int) -> bool:
        """Never."""
        return False

    def to_dict(self, array: np.ndarray) -> dict[str, Any]:
        """Player, occupied, luminance, reserve, phase, outcome."""
        return text.to_dict(array)

    def to_text(self, array: np.ndarray, player: int | None = None) -> str:
        """See text.py."""
        return text.to_text(array, player)

    def from_text(self, content: str) -> State:
        """Return the state whose text (`State.to_text`) a person typed."""
        return self.from_setup(text.text_to_setup(self.options, content))

    def action_to_string(self, array: np.ndarray, action: int) -> str:
        """``S@c``, ``S@c!``, ``e5`` or ``rank 3``."""
        return text.action_to_string(array, action)

    def string_to_action(self, array: np.ndarray, content: str) -> int:
        """Read an action's text."""
        return text.string_to_action(content)

    def step_to_string(self, array: np.ndarray, action: int, player: int) -> str:
        """The action and who took it, in the actor's view: everybody sees everything."""
        actor = "chance" if array["current_player"][0] < 0 else int(array["current_player"][0])
        return f"{actor}: {text.action_to_string(array, action)}"

    def draw(self, array: np.ndarray, observer: int | None = None, **style: Any) -> str:
        """See drawing.py; `style` may hold ``light`` and ``rays``."""
        board, latest, pulls = text.stones_on_board(array)
        return drawing.draw(
            text.to_dict(array),
            board=board,
            turns=(int(array["turns"][0]), int(array["max_turns"][0])),
            headline=text.headline(array),
            observer=observer,
            turn=None if array["current_player"][0] == TERMINAL else int(array["mover"][0]),
            latest=latest,
            pulls=pulls,
            **style,
        )


GAME = Selenolyth
