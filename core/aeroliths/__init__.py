"""Aeroliths as a `Game`: options, kernels, information, text and drawing put together."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from trilithon.core.aeroliths import drawing, information, kernels, lithos, options, text
from trilithon.core.game import Game, Layout, State
from trilithon.core.lattice import square_neighbours, square_symmetries
from trilithon.core.rng import seed as make_rng
from trilithon.core.solving import ExactSolver
from trilithon.core.verbs import CHANCE, provide

provide(
    kernels.STATE,
    legal_actions=kernels.legal_actions,
    chance_outcomes=kernels.chance_outcomes,
    apply_action=kernels.apply_action,
    returns=kernels.returns,
    heuristic=kernels.heuristic,
    margin=kernels.margin,
    tie_break=kernels.tie_break,
    observed_action=information.observed_action,
    observe=information.observe,
    determinize=information.determinize,
)


class Aeroliths(Game):
    """Two players place stones with four side values and an element; more stones at the end win."""

    name = "aeroliths"
    doc = "stones with four side values and an element capture their neighbours on a 3x3, 4x4 or 5x5 board"
    option_table = options.OPTIONS
    dtype = kernels.STATE

    def check_options(self) -> None:
        """Options that exclude each other, and a catalogue that is too small."""
        options.check(self.options)

    # ------------------------------------------------------------------------------------------------------- facts

    @property
    def _cells(self) -> int:
        return int(self.options["size"]) ** 2

    @property
    def _slots(self) -> int:
        return (self._cells + 1) // 2

    @property
    def _pool(self) -> int:
        """Pool indices that action numbers leave room for: any pool a setup may bring."""
        return kernels.MAX_LITHOS if self.options["draft"] else 0

    def num_players(self) -> int:
        """Two."""
        return 2

    def num_distinct_actions(self) -> int:
        """``H * n * n`` placements, and 40 pool picks with draft (a setup may bring a pool of up to 40)."""
        return self._slots * self._cells + self._pool

    def observation_tensor_shape(self) -> tuple[int, ...]:
        """One vector; its blocks are those of `layout`."""
        offset, shape = list(self.layout().blocks.values())[-1]
        return (offset + int(np.prod(shape)),)

    def max_game_length(self) -> int:
        """All cells in every round, and the draft."""
        rounds = self.options["max_rounds"] if self.options["sudden_death"] else 1
        return self._cells * (rounds + (1 if self.options["draft"] else 0))

    def max_chance_outcomes(self) -> int:
        """Chaos picks a slot."""
        return self._slots if self.options["chaos"] else 0

    def min_utility(self) -> float:
        """A loss."""
        return -1.0

    def max_utility(self) -> float:
        """A win."""
        return 1.0

    def margin_unit(self) -> tuple[float, str]:
        """Lithos."""
        return float(self._cells), "Lithos"

    def layout(self) -> Layout:
        """Blocks cells, own_hand, other_hand, options, pool; items are the own slots, then the pool."""
        universal = self.options["observation"] == "universal"
        width = kernels.MAX_WIDTH if universal else self.options["size"]
        slots = kernels.MAX_SLOTS if universal else self._slots
        shapes = {
            "cells": (width * width, information.CELL_FEATURES),
            "own_hand": (slots, information.SLOT_FEATURES),
            "other_hand": (slots, information.SLOT_FEATURES),
            "options": (information.OPTION_FEATURES,),
            "pool": (kernels.MAX_LITHOS if universal or self.options["draft"] else 0, information.POOL_FEATURES),
        }
        blocks, offset = {}, 0
        for name, shape in shapes.items():
            blocks[name] = (offset, shape)
            offset += int(np.prod(shape))
        actions = np.arange(self.num_distinct_actions())
        places = actions < self._slots * self._cells
        row, column = np.divmod(actions % self._cells, self.options["size"])
        return Layout(
            blocks=blocks,
            graded={
                "cells": (1, 2, 3, 4),
                "own_hand": (3, 4, 5, 6),
                "other_hand": (3, 4, 5, 6),
                "pool": (1, 2, 3, 4),
                "options": (13, 14, 22),
            },
            neighbours=square_neighbours(width),
            items=("own_hand", "pool"),
            action_items=np.where(places, actions // self._cells, slots + actions - self._slots * self._cells),
            action_cells=np.where(places, row * width + column, -1),
        )

    def outcomes(self) -> np.ndarray:
        """Won, drawn, lost."""
        return np.array([[1.0, -1.0], [0.0, 0.0], [-1.0, 1.0]])

    def symmetries(self) -> tuple[np.ndarray, np.ndarray]:
        """The square's eight symmetries, sides turning with the board, times four rotations of the elements."""
        layout = self.layout()
        size = self.options["size"]
        width = math.isqrt(layout.blocks["cells"][1][0])
        cell_maps, side_maps = square_symmetries(size)
        actions = np.arange(self.num_distinct_actions())
        places = actions < self._slots * self._cells
        observations, action_maps = [], []
        for cells, sides in zip(cell_maps, side_maps, strict=True):
            source = np.argsort(cells)  # the old cell that comes to lie on each new one
            action_map = np.where(places, actions - actions % self._cells + source[actions % self._cells], actions)
            rows, columns = np.divmod(np.arange(self._cells), size)
            padded = np.arange(width * width)
            padded[rows * width + columns] = source // size * width + source % size
            for turn in range(4):
                observations.append(self._observation_map(layout, padded, np.argsort(sides), turn))
                action_maps.append(action_map)
        return np.array(observations), np.array(action_maps)

    @staticmethod
    def _observation_map(layout: Layout, cells: np.ndarray, sides: np.ndarray, turn: int) -> np.ndarray:
        """The old entry of every new entry: cells moved, sides of every Litho moved, elements turned."""
        elements = (np.arange(4) - turn) % 4
        out = np.arange(sum(int(np.prod(shape)) for _, shape in layout.blocks.values()))
        for name, (offset, shape) in layout.blocks.items():
            if name == "options":
                continue
            block = np.arange(offset, offset + int(np.prod(shape))).reshape(shape)
            first = layout.graded[name][0]
            columns = np.arange(shape[1])
            columns[first : first + 4] = first + sides
            columns[first + 4 : first + 8] = first + 4 + elements
            if name == "cells":
                columns[first + 8 : first + 12] = first + 8 + elements
                block = block[cells]
            out[offset : offset + block.size] = block[:, columns].ravel()
        return out

    def solver(self) -> ExactSolver | None:
        """See solving.py; Chaos is left to the generic one."""
        from trilithon.core.aeroliths.solving import AerolithsSolver

        return None if self.options["chaos"] else AerolithsSolver(self.options["size"])

    # ------------------------------------------------------------------------------------------------------- hooks

    def new_setup(self, seed: Any) -> dict[str, Any]:
        """First player, cells, hands or pool."""
        return options.new_setup(self.options, make_rng(seed))

    def setup_by_hand(self, seed: Any, ask: Callable[[int | None, str, Callable[[str], Any]], Any]) -> dict[str, Any]:
        """With ``hands=manual`` both hands are typed, each seen by its owner alone; an empty line draws the hand."""
        if self.options["draft"] or self.options["hands"] != "manual":
            return self.new_setup(seed)
        setup = options.new_setup({**self.options, "hands": "random"}, make_rng(seed))
        setup.pop("names", None)
        setup["hands"] = [
            ask(player, text.hand_prompt(player, hand), partial(text.text_to_hand, drawn=hand))
            for player, hand in enumerate(setup["hands"])
        ]
        return setup

    def deal(self, rng: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """See `options.deal`."""
        return options.deal(self.options, rng)

    def encode(self, setup: Mapping[str, Any]) -> np.ndarray:
        """See `options.encode`."""
        return options.encode(self.options, setup)

    def canonical_setup(self, setup: Mapping[str, Any], array: np.ndarray) -> dict[str, Any]:
        """See `options.canonical_setup`."""
        return options.canonical_setup(setup, array)

    def position_setup(self, array: np.ndarray, setup: Mapping[str, Any]) -> dict[str, Any]:
        """See `options.position_setup`."""
        return options.position_setup(array, setup, text.to_dict(array))

    def resampled_setup(self, setup: Mapping[str, Any], world: np.ndarray, player: int) -> dict[str, Any]:
        """The opponent's hidden slots as dealt in `world`."""
        return options.resampled_setup(self.options, setup, world, player)

    def is_hidden(self, array: np.ndarray, action: int, player: int) -> bool:
        """A Chaos pick is known to its owner alone while hands are closed."""
        return text.pick_is_hidden_from(array, player)

    def resampled_steps(
        self, world: np.ndarray, steps: list[tuple[int, int]], hidden: frozenset[int]
    ) -> list[tuple[int, int]]:
        """A pick that was played is known since; the last one is the world's."""
        last = len(steps) - 1
        return [*steps[:last], (steps[last][0], int(world["picked"][0]))] if last in hidden else list(steps)

    def has_hidden_information(self, array: np.ndarray, player: int) -> bool:
        """Hidden slots, or a hidden pick."""
        return bool(information.hidden_slots(array[0], player)) or bool(information.pick_is_hidden(array[0], player))

    def to_dict(self, array: np.ndarray) -> dict[str, Any]:
        """Player, board, hands, round."""
        return text.to_dict(array)

    def to_text(self, array: np.ndarray, player: int | None = None) -> str:
        """See text.py."""
        return text.to_text(array, player)

    def from_text(self, content: str) -> State:
        """Return the state whose text (`State.to_text`, nothing hidden) a person typed."""
        return self.from_setup(text.text_to_setup(self.options, content))

    def action_to_string(self, array: np.ndarray, action: int) -> str:
        """``2@b3``, ``pick 5`` or ``slot 2``."""
        return text.action_to_string(array, action)

    def string_to_action(self, array: np.ndarray, content: str) -> int:
        """Read an action's text."""
        return text.string_to_action(array, content)

    def step_to_string(self, array: np.ndarray, action: int, player: int) -> str:
        """See text.py."""
        return text.step_to_string(array, action, player)

    def draw(self, array: np.ndarray, observer: int | None = None, **style: Any) -> str:
        """See drawing.py; `style` may hold ``light`` and ``last_cell``."""
        state = array[0]
        position = text.to_dict(array)
        known = None
        if observer is not None:
            hidden = int(information.hidden_slots(state, observer))
            hand = position["hands"][1 - observer]
            position["hands"][1 - observer] = ["hidden" if x and hidden >> s & 1 else x for s, x in enumerate(hand)]
        shown = state["picked"] >= 0 and not (observer is not None and information.pick_is_hidden(state, observer))
        left = int(state["pool_left"])
        pool = [
            lithos.unpack_litho(state["lithos"][n]) if left >> n & 1 else None for n in range(int(state["pool_count"]))
        ]
        cells = [None if e < 0 else int(e) for e in state["cell_element"][: self._cells]]
        if state["current_player"] == CHANCE:
            position["player"] = -1
        return drawing.draw(
            position,
            size=self.options["size"],
            cells=cells,
            observer=observer,
            known=known,
            picked=int(state["picked"]) if shown else None,
            pool=pool if left else None,
            names=self._names(),
            **style,
        )

    def _names(self) -> dict[tuple[int, ...], str] | None:
        """Names of the catalogue's Lithos by their values."""
        if self.options["source"] != "catalogue":
            return None
        catalogue = lithos.load_catalogue(self.options["catalogue"])
        return dict(zip(reversed(catalogue.lithos), reversed(catalogue.names), strict=True))


GAME = Aeroliths
