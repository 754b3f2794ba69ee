"""Aether as a `Game`: boards, options, kernels, information, text and drawing put together."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from trilithon.core.aether import drawing, facts, information, kernels, options, text
from trilithon.core.aether.boards import automorphisms, load_board
from trilithon.core.game import Game, Layout, State
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
    observe=information.observe,
    determinize=information.determinize,
    observed_action=information.observed_action,
)

MARGIN_BINS = 61  # of the outcomes where the reward is the margin, two sides
MARGIN_STEPS = (0.03, 0.06, 0.12, 0.2, 0.33, 0.55, 1.0)  # where there are more: one player's lead, of the largest


class Aether(Game):
    """Two to four players lay element tiles and elementals on hexes, and the strongest take the aether tiles."""

    name = "aether"
    doc = "tiles of four elements on hexes, elementals whose power depends on what lies around; 2 to 4 players, teams"
    option_table = options.OPTIONS
    dtype = kernels.STATE

    def check_options(self) -> None:
        """A board that lasts, players that it holds, teams of two."""
        options.check(self.options)
        self.board = load_board(self.options["board"])

    # ------------------------------------------------------------------------------------------------------- facts

    def num_players(self) -> int:
        """Two to four."""
        return int(self.options["players"])

    def num_distinct_actions(self) -> int:
        """Eight placements a slot; swap, propose, agree, decline."""
        return 8 * len(self.board.slots) + 4

    def observation_tensor_shape(self) -> tuple[int, ...]:
        """One vector; its blocks are those of `layout`."""
        return (information.observation_size(len(self.board.neighbours), self.num_players()),)

    def max_game_length(self) -> int:
        """A placement for each slot, a swap for each elemental, and with `agreement` a poll in each turn."""
        slots, n = len(self.board.slots), self.num_players()
        poll = n if self.options["early_scoring"] == "agreement" else 0
        return slots * (1 + poll) + n * self._elementals()

    def max_chance_outcomes(self) -> int:
        """The elements."""
        return kernels.ELEMENTS

    def min_utility(self) -> float:
        """To win nothing; with the margin as reward to have no point while one other has all."""
        return -self._most_points() / 100 if self.options["reward"] == "margin" else -1.0 / (self._sides() - 1)

    def max_utility(self) -> float:
        """To win alone; with the margin as reward to have all points."""
        return self._most_points() / 100 if self.options["reward"] == "margin" else 1.0

    def margin_unit(self) -> tuple[float, str]:
        """Points."""
        return float(kernels.CLEAR_LEAD), "points"

    def _elementals(self) -> int:
        return self.board.elementals[self.num_players() - 2]

    def _sides(self) -> int:
        return 2 if self.options["teams"] else self.num_players()

    def _most_points(self) -> int:
        """What a side cannot exceed: every aether tile, and three points (the option says) for each elemental."""
        members = self.num_players() // self._sides()
        leftover = members * self._elementals() * self.options["leftover_points"]
        return sum(value for value, _, _ in self.board.aether) + leftover

    def layout(self) -> Layout:
        """Blocks cells (slots, then aether tiles), choices, table, seats; items are the ways to act.

        A cell's neighbours are the six hexes around it. An item is an element without or with an elemental, which meets
        a slot; or a swap, a proposal, an answer, which meet none.
        """
        rows, n, slots = len(self.board.neighbours), self.num_players(), len(self.board.slots)
        width = information.cell_features(n)
        choices_at = rows * width
        table_at = choices_at + information.CHOICES * information.CHOICE_FEATURES
        seats_at = table_at + information.TABLE_FEATURES
        place = np.arange(8 * slots)
        return Layout(
            blocks={
                "cells": (0, (rows, width)),
                "choices": (choices_at, (information.CHOICES, information.CHOICE_FEATURES)),
                "table": (table_at, (information.TABLE_FEATURES,)),
                "seats": (seats_at, (information.SEAT_FEATURES * n,)),
            },
            graded={
                "cells": (),
                "choices": (10,),
                "table": (13, 14),
                "seats": tuple(information.SEAT_FEATURES * seat + 7 * lead for seat in range(n) for lead in (0, 1)),
            },
            neighbours=self.board.neighbours,
            items=("choices",),
            action_items=np.concatenate([2 * (place // (2 * slots)) + place % 2, 8 + np.arange(4)]),
            action_cells=np.concatenate([place // 2 % slots, np.full(4, -1)]),
        )

    def outcomes(self) -> np.ndarray:
        """Every set of winners; with the margin as reward evenly spaced leads of the observer (of one player each)."""
        sides, n = self._sides(), self.num_players()
        if self.options["reward"] == "margin":
            most = self.max_utility()
            if sides == 2:
                own = np.linspace(most, -most, MARGIN_BINS)
                rows = np.stack([own, -own], axis=1)
            else:
                lead = np.eye(sides) - (1 - np.eye(sides)) / (sides - 1)
                rows = np.concatenate([step * most * lead for step in MARGIN_STEPS] + [np.zeros((1, sides))])
        else:
            winners = [[chosen >> side & 1 for side in range(sides)] for chosen in range(1, 1 << sides)]
            shares = np.array([np.divide(row, sum(row)) for row in winners])
            rows = (sides * shares - 1) / (sides - 1)
        return rows[:, np.arange(n) % sides]

    def symmetries(self) -> tuple[np.ndarray, np.ndarray]:
        """The board's automorphisms, each with the four rotations of the elements' cycle."""
        size, slots = self.observation_tensor_shape()[0], len(self.board.slots)
        layout = self.layout()
        width = layout.blocks["cells"][1][1]
        choices_at, table_at = layout.blocks["choices"][0], layout.blocks["table"][0]
        observations, actions = [], []
        for rows in automorphisms(self.board).astype(np.int64):
            for turn in range(kernels.ELEMENTS):
                old = (np.arange(kernels.ELEMENTS) + turn) % kernels.ELEMENTS  # the element that becomes each one
                columns = np.arange(width)
                columns[1:9] = np.concatenate([1 + old, 5 + old])
                observation = np.arange(size)
                observation[:choices_at] = (rows[:, None] * width + columns).ravel()
                ways = np.concatenate([2 * old[np.arange(8) // 2] + np.arange(8) % 2, 8 + np.arange(4)])
                features = np.arange(information.CHOICE_FEATURES)
                features[1:5] = 1 + old
                observation[choices_at:table_at] = (
                    choices_at + ways[:, None] * information.CHOICE_FEATURES + features
                ).ravel()
                observation[table_at : table_at + 12] = table_at + np.concatenate([old, 4 + old, 8 + old])
                observations.append(observation)
                place = (old[:, None, None] * slots + rows[:slots, None]) * 2 + np.arange(2)
                actions.append(np.concatenate([place.ravel(), 8 * slots + np.arange(4)]))
        return np.array(observations), np.array(actions)

    def solver(self) -> ExactSolver:
        """See solving.py."""
        from trilithon.core.aether.solving import AetherSolver

        return AetherSolver(self.num_players(), self._sides() == 2, self.max_utility())

    # ------------------------------------------------------------------------------------------------------- hooks

    def new_setup(self, seed: Any) -> dict[str, Any]:
        """First player, tiles of the grey slots, hands."""
        return options.new_setup(self.options, make_rng(seed))

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
        return options.position_setup(array, text.to_dict(array))

    def resampled_setup(self, setup: Mapping[str, Any], world: np.ndarray, player: int) -> dict[str, Any]:
        """The first hands, and what was in the bag, as in `world`."""
        return options.resampled_setup(setup, world)

    def is_hidden(self, array: np.ndarray, action: int, player: int) -> bool:
        """A drawn tile is known to who drew it."""
        return facts.draw_is_hidden(array, player)

    def resampled_steps(
        self, world: np.ndarray, steps: list[tuple[int, int]], hidden: frozenset[int]
    ) -> list[tuple[int, int]]:
        """The others' draws as in `world`'s log, those of a swap in ascending order."""
        resampled = list(steps)
        swap = 8 * len(self.board.slots) + kernels.SWAP
        log = iter(world["log"][0, : int(world["log_count"][0])].tolist())
        drawn: list[int] = []
        for step, (actor, action) in enumerate(steps):
            if actor != CHANCE:
                if action < swap:
                    drawn = [next(log) % (kernels.ELEMENTS + 1)]
                elif action == swap:
                    entry = next(log, None)
                    hand = (
                        world["hands"][0, actor]  # the swap is still under way
                        if entry is None
                        else kernels.HANDS[self.board.hand_tiles, entry - kernels.SWAPS_FROM]
                    )
                    drawn = np.repeat(np.arange(kernels.ELEMENTS), hand).tolist()
            else:
                element = drawn.pop(0)
                if step in hidden:
                    resampled[step] = (CHANCE, element)
        return resampled

    def has_hidden_information(self, array: np.ndarray, player: int) -> bool:
        """The other hands are never shown."""
        return True

    def to_dict(self, array: np.ndarray) -> dict[str, Any]:
        """Player, tiles, elementals, hands, unused, sacrificed, bag, points."""
        return text.to_dict(array)

    def to_text(self, array: np.ndarray, player: int | None = None) -> str:
        """See text.py."""
        return text.to_text(array, self.board, player)

    def from_text(self, content: str) -> State:
        """Return the state whose text (`State.to_text`, nothing hidden) a person typed."""
        return self.from_setup(text.text_to_setup(self.options, self.board, content))

    def action_to_string(self, array: np.ndarray, action: int) -> str:
        """``fire@12``, ``fire@12+``, ``swap`` and the like, ``draw fire``."""
        return text.action_to_string(array, action)

    def string_to_action(self, array: np.ndarray, content: str) -> int:
        """Read an action's text."""
        return text.string_to_action(array, content)

    def step_to_string(self, array: np.ndarray, action: int, player: int) -> str:
        """The action and who took it; a tile that another player draws is not shown."""
        return text.step_to_string(array, action, player)

    def draw(self, array: np.ndarray, observer: int | None = None, **style: Any) -> str:
        """See drawing.py; `style` may hold ``light`` and ``latest``."""
        return drawing.draw(
            text.to_dict(array),
            board=self.board,
            powers=facts.powers(array),
            sums=facts.sums(array, self.board),
            scores=facts.scores(array),
            headline=facts.headline(array),
            turn=facts.turn(array),
            aside=facts.aside(array),
            teams=self.options["teams"],
            observer=observer,
            **style,
        )


GAME = Aether
