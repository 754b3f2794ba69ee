"""The kernels and the plain twin of Aether, driven together through drawn positions."""

import pytest

from naive.aether import CHANCE, NaiveAether
from naive.drawn_aether import drawn
from trilithon.core import IllegalActionError, load_game

W, F, E, A = ELEMENTS = range(4)


class Both:
    """The kernels and the plain twin, driven together: a rule that is shown holds for both."""

    def __init__(self, *arguments, players=2, **options):
        hands = options.pop("hands", [[W, W], [W, W], [A, A], [A, A]][:players])
        config, setup = drawn(*arguments, players=players, hands=hands, **options)
        self.twin = NaiveAether(config, setup)
        self.state = load_game("aether", **config).from_setup(setup)
        self.swap, self.propose, self.agree, self.decline = range(self.twin.swap, self.twin.swap + 4)
        self.check()

    def check(self):
        assert self.state.to_dict() == self.twin.to_dict()
        assert self.state.legal_actions() == self.twin.legal_actions()
        assert self.state.chance_outcomes() == [
            (element, pytest.approx(share)) for element, share in self.twin.chance_outcomes()
        ]
        assert self.state.returns().tolist() == pytest.approx(self.twin.returns(), abs=1e-12)

    def play(self, *actions):
        for action in actions:
            self.twin.apply_action(action)
            self.state.apply_action(action)
            self.check()
        return self

    def place(self, element, slot, with_elemental=False):
        return self.play((element * self.twin.num_slots + slot) * 2 + with_elemental)

    def draw(self, *elements):
        for element in elements:
            assert self.player == CHANCE
            self.play(element)
        return self

    def legal(self):
        return self.state.legal_actions()

    def shares(self):
        """What is drawn, with how many tiles of how many."""
        return dict(self.state.chance_outcomes())

    def refuses(self, action):
        """A clear line names a few legal actions, and nothing changes."""
        before = self.state.array.tobytes()
        with pytest.raises(
            IllegalActionError, match=rf"^aether: action {action} is not legal for .*; legal: \d+ \("
        ) as e:
            self.state.apply_action(action)
        assert "\n" not in str(e.value)
        assert self.state.array.tobytes() == before
        return True

    def result(self):
        return [round(value, 12) for value in self.state.returns().tolist()]

    def __getattr__(self, name):
        return self.state.to_dict()[name]


def scored(*arguments, **options):
    """A position that the players agree to score at once."""
    config = {"early_scoring": "agreement", **options.pop("config", {})}
    game = Both(*arguments, config=config, **options)
    game.play(game.propose)
    while game.points is None:
        game.play(game.agree)
    return game
