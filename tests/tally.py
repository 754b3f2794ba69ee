"""Tally, a game for tests alone: two to four players, teams, secrets, dice, extra turns and skipped ones.

Who is on turn takes a point, rolls (0, 1 or 3 points), gambles (two such dice), steals a point from the next player, or
once each goes twice in a row or has the next player skip a turn. After so many rounds everybody adds a secret number
dealt at the start; the most points share the win. It is here to show that nothing generic counts to two.
"""

from typing import Any

import numpy as np

from trilithon.core import SetupError
from trilithon.core.game import Game, Layout
from trilithon.core.jit import kernel
from trilithon.core.options import Option
from trilithon.core.rng import next_below
from trilithon.core.rng import seed as make_rng
from trilithon.core.verbs import CHANCE, TERMINAL, provide, record_dtype

TAKE, ROLL, GAMBLE, STEAL, TWICE, BLOCK = range(6)
NAMES = ("take", "roll", "gamble", "steal", "twice", "block")
GAINS = np.array([0, 1, 3])
SECRETS = 3

STATE = record_dtype(
    [
        ("current_player", np.int8),
        ("move_number", np.int16),
        ("tally", np.uint8),
        ("players", np.uint8),
        ("teams", np.uint8),
        ("shown", np.uint8),  # nothing is secret
        ("turns", np.uint8),  # left, skipped ones included
        ("mover", np.int8),
        ("dice", np.uint8),  # to be rolled
        ("again", np.uint8),  # the mover goes once more
        ("points", np.uint8, 4),
        ("secrets", np.uint8, 4),
        ("used", np.uint8, (4, 2)),  # [player]: went twice, blocked
        ("skips", np.uint8, 4),
    ]
)


@kernel
def legal_actions(state, out):
    if state.current_player < 0:
        return 0
    n = 0
    for action in range(6):
        if action < TWICE or not state.used[state.current_player, action - TWICE]:
            out[n] = action
            n += 1
    return n


@kernel
def chance_outcomes(state, out, probabilities):
    if state.current_player != CHANCE:
        return 0
    for face in range(3):
        out[face] = face
        probabilities[face] = 0.5 if face == 1 else 0.25
    return 3


@kernel
def apply_action(state, action):
    state.move_number += 1
    mover = np.int64(state.mover)
    following = (mover + 1) % np.int64(state.players)
    if state.current_player == CHANCE:
        state.points[mover] += np.uint8(GAINS[action])
        state.dice -= np.uint8(1)
        if state.dice == 0:
            _end_turn(state, mover)
        return
    if action in (ROLL, GAMBLE):
        state.dice = action
        state.current_player = CHANCE
        return
    if action == TAKE:
        state.points[mover] += np.uint8(1)
    elif action == STEAL:
        if state.points[following]:
            state.points[following] -= np.uint8(1)
            state.points[mover] += np.uint8(1)
    else:
        state.used[mover, action - TWICE] = 1
        if action == BLOCK:
            state.skips[following] += np.uint8(1)
        else:
            state.again = 2
    _end_turn(state, mover)


@kernel
def _end_turn(state, mover):
    if state.again:
        state.again -= np.uint8(1)
    if not state.again:
        while True:
            mover = (mover + 1) % np.int64(state.players)
            state.turns -= np.uint8(1)
            if not state.skips[mover] or state.turns == 0:
                break
            state.skips[mover] -= np.uint8(1)
    state.mover = mover
    state.current_player = mover if state.turns else TERMINAL


@kernel
def _leads(state, secrets, out):
    """The own side's points less the mean of the other sides', over 20."""
    n = np.int64(state.players)
    sides = 2 if state.teams else n
    total = 0.0
    for player in range(n):
        total += state.points[player] + secrets * state.secrets[player]
    for player in range(n):
        own = 0.0
        for other in range(player % sides, n, sides):
            own += state.points[other] + secrets * state.secrets[other]
        out[player] = (own - (total - own) / (sides - 1)) / 20.0


@kernel
def returns(state, out):
    _leads(state, 1.0, out)
    n = 2 if state.teams else np.int64(state.players)
    best = out[0]
    for player in range(1, n):
        best = max(best, out[player])
    winners = 0
    for player in range(n):
        winners += out[player] >= best - 1e-9
    for player in range(out.shape[0]):
        won = 1.0 / winners if out[player] >= best - 1e-9 else 0.0
        out[player] = (n * won - 1.0) / (n - 1)


@kernel
def margin(state, out):
    _leads(state, 1.0, out)
    for player in range(out.shape[0]):
        out[player] = min(max(out[player], -1.0), 1.0)


@kernel
def heuristic(state, out):
    if state.current_player == TERMINAL:
        returns(state, out)
    else:
        _leads(state, 0.0, out)


@kernel
def determinize(state, player, rng):
    for other in range(np.int64(state.players)):
        if other != player and not state.shown:
            state.secrets[other] = next_below(rng, SECRETS)


SEAT, CHOICE, TABLE = 6, 7, 5


@kernel
def observe(state, player, out):
    out[:] = 0.0
    n = np.int64(state.players)
    for i in range(n):
        seat = (player + i) % n
        out[SEAT * i] = min(state.points[seat] / 20.0, 1.0)
        out[SEAT * i + 1] = state.mover == seat
        out[SEAT * i + 2] = min(state.skips[seat], 1)
        out[SEAT * i + 3] = state.used[seat, 0]
        out[SEAT * i + 4] = state.used[seat, 1]
        out[SEAT * i + 5] = (1 + state.secrets[seat]) / 3.0 if seat == player or state.shown else 0.0
    at = SEAT * n
    for action in range(6):
        if action < TWICE or not state.used[player, action - TWICE]:
            out[at] = 1.0
            out[at + 1 + action] = 1.0
        at += CHOICE
    out[at] = state.turns / 32.0
    out[at + 1] = state.dice / 2.0
    out[at + 2] = state.current_player == player
    out[at + 3] = state.teams
    out[at + 4] = state.again / 2.0


provide(
    STATE,
    legal_actions=legal_actions,
    chance_outcomes=chance_outcomes,
    apply_action=apply_action,
    returns=returns,
    heuristic=heuristic,
    observe=observe,
    determinize=determinize,
    margin=margin,
)


class Tally(Game):
    """See the module."""

    name = "tally"
    doc = "a game for tests"
    option_table = (
        Option("players", 3, "players", low=2, high=4),
        Option("teams", False, "{0, 2} against {1, 3}", choices=(False, True)),
        Option("shown", False, "nothing is secret", choices=(False, True)),
        Option("rounds", 3, "turns of each player", low=1, high=8),
    )
    dtype = STATE

    def num_players(self) -> int:
        return int(self.options["players"])

    def num_distinct_actions(self) -> int:
        return 6

    def observation_tensor_shape(self) -> tuple[int, ...]:
        return (SEAT * self.num_players() + 6 * CHOICE + TABLE,)

    def max_game_length(self) -> int:
        return (int(self.options["rounds"]) + 2) * self.num_players()

    def max_chance_outcomes(self) -> int:
        return 3

    def min_utility(self) -> float:
        return -1.0 if self.options["teams"] else -1.0 / (self.num_players() - 1)

    def max_utility(self) -> float:
        return 1.0

    def margin_unit(self) -> tuple[float, str]:
        return 20.0, "points"

    def layout(self) -> Layout:
        n = self.num_players()
        seats = np.arange(n)
        choices = SEAT * n
        return Layout(
            blocks={
                "cells": (0, (n, SEAT)),
                "choices": (choices, (6, CHOICE)),
                "table": (choices + 6 * CHOICE, (TABLE,)),
            },
            graded={"cells": (0,), "table": (0,)},
            neighbours=np.stack([(seats + 1) % n, (seats - 1) % n], axis=1),
            items=("choices",),
            action_items=np.arange(6),
            action_cells=np.full(6, -1),
        )

    def outcomes(self) -> np.ndarray:
        n = self.num_players()
        sides = 2 if self.options["teams"] else n
        won = np.array([[chosen >> side & 1 for side in range(sides)] for chosen in range(1, 1 << sides)])
        shares = won / won.sum(axis=1, keepdims=True)
        return ((sides * shares - 1) / (sides - 1))[:, np.arange(n) % sides]

    def new_setup(self, seed: Any) -> dict[str, Any]:
        rng, n = make_rng(seed), self.num_players()
        return {
            "first_player": int(next_below(rng, n)),
            "secrets": [int(next_below(rng, SECRETS)) for _ in range(n)],
        }

    def encode(self, setup: Any) -> np.ndarray:
        array, n = np.zeros(1, STATE), self.num_players()
        if len(setup["secrets"]) != n:
            raise SetupError(f"tally: {len(setup['secrets'])} secrets for {n} players")
        array["players"], array["teams"] = n, self.options["teams"]
        array["shown"] = self.options["shown"]
        array["turns"] = n * self.options["rounds"]
        array["current_player"] = array["mover"] = setup["first_player"]
        array["secrets"][0, :n] = setup["secrets"]
        return array

    def position_setup(self, array, setup):
        raise SetupError("tally: not written down")

    def resampled_setup(self, setup, world, player):
        return {**setup, "secrets": world["secrets"][0, : self.num_players()].tolist()}

    def is_hidden(self, array, action, player):
        return False

    def resampled_steps(self, world, steps, hidden):
        return list(steps)

    def has_hidden_information(self, array, player):
        return not self.options["shown"]

    def to_dict(self, array):
        names = ("mover", "turns", "points", "secrets", "skips")
        return {name: array[name][0].tolist() for name in names}

    def to_text(self, array, player=None):
        seats = range(self.num_players())
        shown = [array["secrets"][0, p] if player in (None, p) or array["shown"][0] else "?" for p in seats]
        return f"points {array['points'][0, : len(seats)].tolist()}, secrets {', '.join(map(str, shown))}"

    def action_to_string(self, array, action):
        return f"die {GAINS[action]}" if array["current_player"][0] == CHANCE else NAMES[action]

    def string_to_action(self, array, text):
        return NAMES.index(text)

    def step_to_string(self, array, action, player):
        return f"{array['mover'][0]}: {self.action_to_string(array, action)}"

    def draw(self, array, observer=None, **style):
        return "<svg xmlns='http://www.w3.org/2000/svg'/>"
