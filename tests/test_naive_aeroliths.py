"""The plain twin of Aeroliths against the stored games and cases, before anything else is compared with the twin."""

import pytest
from naive.aeroliths import NaiveAeroliths
from naive.drawn_aeroliths import captured_cells
from naive.files import cases, golden_games


@pytest.mark.parametrize("game", golden_games("aeroliths"), ids=lambda game: "")
def test_twin_replays_golden_game(game):
    state = NaiveAeroliths(game["config"], game["setup"])
    for (player, action), expected, legal in zip(game["steps"], game["states"], game["legal"], strict=True):
        assert state.current_player() == player
        assert state.legal_actions() == legal
        assert state.returns() == [0.0, 0.0]
        state.apply_action(action)
        assert state.to_dict() == expected
    assert state.is_terminal()
    assert state.legal_actions() == []
    assert state.returns() == game["returns"]


@pytest.mark.parametrize("case", cases("aeroliths"), ids=lambda case: case["id"])
def test_twin_captures_as_the_case_says(case):
    state = NaiveAeroliths(case["config"], case["setup"])
    before = state.to_dict()
    state.apply_action(case["action"])
    assert captured_cells(before, state.to_dict()) == case["captured"]


def test_twin_clone_is_independent():
    game = golden_games("aeroliths")[0]
    state = NaiveAeroliths(game["config"], game["setup"])
    for _, action in game["steps"]:
        before = state.to_dict()
        copy = state.clone()
        copy.apply_action(action)
        assert state.to_dict() == before
        state = copy


def test_twin_refuses_an_illegal_action():
    game = golden_games("aeroliths")[0]
    with pytest.raises(ValueError, match="not legal"):
        NaiveAeroliths(game["config"], game["setup"]).apply_action(0)
