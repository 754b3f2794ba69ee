"""Aeroliths: the kernels against the plain twin, state by state over random games across all options."""

from collections import Counter
from random import Random

import pytest
from naive.aeroliths import CHANCE, NaiveAeroliths
from naive.scenarios import random_scenario

from trilithon.core import load_game

CHUNK = 250  # games a test; 8 chunks in the default run, 80 in the heavy one
RULES = ("same", "plus", "basic", "combo", "wall", "plus_own", "rounds", "draws", "by_sum", "chaos", "draft", "order")


class CountingTwin(NaiveAeroliths):
    """The twin, counting how often each rule mattered, so that a comparison which never met a rule is noticed."""

    def __init__(self, config, setup):
        super().__init__(config, setup)
        self.tally = Counter()

    def resolve(self, cell):
        with_rules = self.same_captures(cell) | self.plus_captures(cell)
        for rule in "wall", "plus_own":
            options = self.options
            self.options = {**options, rule: False}
            without = self.same_captures(cell) | self.plus_captures(cell)
            self.options = options
            self.tally[rule] += len(with_rules - without)
        captures = super().resolve(cell)
        self.tally.update({name: len(cells) for name, cells in captures._asdict().items()})
        return captures

    def apply_action(self, action):
        if self.in_draft():
            self.tally["draft"] += 1
        elif self.current_player() == CHANCE:
            self.tally["chaos"] += 1
        elif self.options["order"]:
            self.tally["order"] += 1
        round_before = self.round_number
        super().apply_action(action)
        self.tally["rounds"] += self.round_number - round_before
        if self.finished:
            equal = len(self.controlled(0)) == len(self.controlled(1))
            self.tally["draws"] += self.winner() is None
            self.tally["by_sum"] += equal and self.winner() is not None


def difference(twin, state):
    """What the two disagree about, or None."""
    pairs = {
        "current_player": (twin.current_player(), state.current_player()),
        "is_terminal": (twin.is_terminal(), state.is_terminal()),
        "legal_actions": (twin.legal_actions(), list(state.legal_actions())),
        "to_dict": (twin.to_dict(), state.to_dict()),
        "returns": (twin.returns(), [float(value) for value in state.returns()]),
    }
    if twin.current_player() == CHANCE:
        pairs["chance_outcomes"] = (
            [(action, round(p, 12)) for action, p in twin.chance_outcomes()],
            [(int(action), round(float(p), 12)) for action, p in state.chance_outcomes()],
        )
    return next((f"{name}: twin {a}, game {b}" for name, (a, b) in pairs.items() if a != b), None)


def play_both(seed, twin_class=CountingTwin):
    """Play one random game with both; `(first difference or None, the twin)`."""
    rng = Random(seed)
    config, setup = random_scenario(rng)
    twin = twin_class(config, setup)
    state = load_game("aeroliths", **config).from_setup(setup)
    steps = []
    while True:
        found = difference(twin, state)
        if found is not None:
            return f"seed {seed}, {config}, after {steps}: {found}", twin
        if twin.is_terminal():
            return None, twin
        action = rng.choice(twin.legal_actions())
        steps.append(action)
        twin.apply_action(action)
        state.apply_action(action)


def compare_chunk(chunk):
    """Play a chunk of games, none of which may differ, and in which every rule must have mattered."""
    tally = Counter(dict.fromkeys(RULES, 0))
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        found, twin = play_both(seed)
        assert found is None, found
        tally.update(twin.tally)
    assert all(tally[rule] > 0 for rule in RULES), tally


@pytest.mark.parametrize("chunk", range(8))
def test_kernels_agree_with_the_twin(chunk):
    compare_chunk(chunk)


@pytest.mark.heavy
@pytest.mark.parametrize("chunk", range(8, 88))
def test_kernels_agree_with_the_twin_over_20_000_games(chunk):
    compare_chunk(chunk)


# --- the comparison must be able to fail: twins broken in one rule each ---


class PlusCountsOwn(NaiveAeroliths):
    def takes_part_in_plus(self, cell):
        return True


class SameCountsOpponentsOnly(NaiveAeroliths):
    def same_captures(self, cell):
        captured = super().same_captures(cell)
        return captured if len(captured) >= 2 else set()


class BasicCapturesChain(NaiveAeroliths):
    def normal_captures(self, cell):
        captured = super().normal_captures(cell)
        return captured | {far for near in captured for far in super(BasicCapturesChain, self).normal_captures(near)}


class NoneIgnoresCells(NaiveAeroliths):
    def cell_modifier(self, cell):
        return 0 if self.board[cell].element == 4 else super().cell_modifier(cell)


class ClampedValues(NaiveAeroliths):
    def effective_value(self, cell, side, against):
        return min(max(super().effective_value(cell, side, against), 1), 10)


class NoChains(NaiveAeroliths):
    def combo_captures(self, captured_by_same_or_plus):
        return set()


class StarterStays(NaiveAeroliths):
    def _end_round(self):
        super()._end_round()
        self.mover = self.first_player


class HandsInOtherOrder(NaiveAeroliths):
    def controlled(self, player):
        return super().controlled(player)[::-1]


class NoTieBreak(NaiveAeroliths):
    def winner(self):
        return None if len(self.controlled(0)) == len(self.controlled(1)) else super().winner()


class OneRoundMore(NaiveAeroliths):
    def __init__(self, config, setup):
        super().__init__({**config, "max_rounds": config["max_rounds"] + 1}, setup)


class OrderFromTheRight(NaiveAeroliths):
    def playable_slots(self):
        return self.slots_in_hand()[-1:] if self.options["order"] else super().playable_slots()


BROKEN = [
    PlusCountsOwn,
    SameCountsOpponentsOnly,
    BasicCapturesChain,
    NoneIgnoresCells,
    ClampedValues,
    NoChains,
    StarterStays,
    HandsInOtherOrder,
    NoTieBreak,
    OneRoundMore,
    OrderFromTheRight,
]


@pytest.mark.parametrize("broken", BROKEN)
def test_the_comparison_finds_a_broken_twin(broken):
    for seed in range(CHUNK):
        try:
            found, _ = play_both(seed, broken)
        except ValueError:  # the real game refuses an action of the broken twin's choice
            return
        if found is not None:
            return
    pytest.fail(f"{CHUNK} games did not tell {broken.__name__} from the real game")
