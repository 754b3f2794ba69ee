"""The plain twin of The Selenolyth against the stored games and the examples of the rules' text."""

import itertools

import pytest
from naive.files import golden_games
from naive.selenolyth import CHANCE, DIOX, ORTHOS, SELENOLYTH, TERMINAL, NaiveSelenolyth, has_sacred_square, seen_from

SOUTH, NORTH = 0, 1
SQUARE_AT_C3 = "c3 d3 e3 c4 d4 e4 c5 d5 e5"


def cell(square):
    """The cell of a square such as c3, in the view of whoever names it."""
    return (int(square[1]) - 1) * 6 + "abcdef".index(square[0])


def at(stones="", player=SOUTH, config=None, **position):
    """A game that starts with stones on squares named as South sees them."""
    cells = {cell(square) for square in stones.split()}
    occupied = [int(c in cells) for c in range(36)]
    setup = {"first_player": player, "position": {"occupied": occupied, "player": player, **position}}
    return NaiveSelenolyth(config or {}, setup)


def roll(state, stone, square):
    """The mover chooses the stone and the square's file, and rolls its rank; both as the mover sees them."""
    state.apply_action(stone * 6 + cell(square) % 6)
    assert state.current_player() == CHANCE
    state.apply_action(cell(square) // 6)


def will(state, stone, file):
    state.apply_action(18 + stone * 6 + "abcdef".index(file))


def ricochet(state, square):
    assert state.phase == "ricochet"
    state.apply_action(36 + cell(square))


def stones_on(state):
    """The occupied squares as South sees them."""
    return {"abcdef"[c % 6] + str(c // 6 + 1) for c, stone in enumerate(state.to_dict()["occupied"]) if stone}


@pytest.mark.parametrize("game", golden_games("selenolyth"), ids=lambda game: "")
def test_twin_replays_golden_game(game):
    state = NaiveSelenolyth(game["config"], game["setup"])
    for (player, action), expected, legal in zip(game["steps"], game["states"], game["legal"], strict=True):
        assert state.current_player() == player
        assert state.legal_actions() == legal
        assert [outcome for outcome, _ in state.chance_outcomes()] == (legal if player == CHANCE else [])
        assert state.returns() == [0.0, 0.0]
        state.apply_action(action)
        assert state.to_dict() == expected
    assert state.is_terminal()
    assert state.current_player() == TERMINAL
    assert state.legal_actions() == state.chance_outcomes() == []
    assert state.returns() == game["returns"]


def test_golden_games_show_every_outcome():
    outcomes = {game["states"][-1]["outcome"] for game in golden_games("selenolyth")}
    assert outcomes == {"hex", "eclipse", "square", "luminance", "lord", "truncated"}


# --- the examples of the rules' text ---


def test_example_selenolyth_on_c3_pulls_four_stones_and_does_not_see_c6():
    state = at("c5 c6 a5 f3 e1")
    roll(state, SELENOLYTH, "c3")
    assert stones_on(state) == {"c3", "c4", "c6", "b4", "d3", "d2"}


def test_example_diox_on_d3_gains_three():
    state = at("c2 c4 e4 d2 d4")
    roll(state, DIOX, "d3")
    assert state.luminance == [3, 0]


def test_example_orthos_on_d4_gains_four():
    state = at("c4 d5 e4 d3 c5")
    roll(state, ORTHOS, "d4")
    assert state.luminance == [4, 0]


def test_example_ricochet_from_e6_to_e5_loses_by_the_hex():
    state = at(SQUARE_AT_C3.replace("e5", "e6"))
    roll(state, SELENOLYTH, "e6")
    assert state.current_player() == SOUTH
    assert 36 + cell("e6") not in state.legal_actions()
    ricochet(state, "e5")
    assert state.outcome == "hex"
    assert state.returns() == [-1.0, 1.0]


def test_example_pull_of_three_stones_wins_by_the_sacred_square():
    state = at("b6 b2 a4 d3 e3 e4 d5 e5")
    roll(state, SELENOLYTH, "d4")
    assert stones_on(state) == set(SQUARE_AT_C3.split())
    assert state.outcome == "square"
    assert state.returns() == [1.0, -1.0]


def test_example_pull_that_makes_two_squares_wins_once():
    state = at("b6 b2 a4 d3 e3 e4 d5 e5 f3 f4 f5")
    roll(state, SELENOLYTH, "d4")
    assert stones_on(state) == set(SQUARE_AT_C3.split()) | {"f3", "f4", "f5"}
    assert state.outcome == "square"
    assert state.returns() == [1.0, -1.0]


def test_example_orthos_on_the_last_free_square_of_file_b_by_will():
    state = at("b2 b3 b4 b5 b6 a1 c1")
    will(state, ORTHOS, "b")
    assert "b1" in stones_on(state)
    assert state.luminance == [3, 0]
    assert state.current_player() == NORTH


# --- seats, files, chance ---


def test_seats_see_the_board_turned():
    assert [seen_from(NORTH, c) for c in (0, 5, 30, 35)] == [35, 30, 5, 0]
    state = at(player=NORTH)
    roll(state, ORTHOS, "a1")
    assert stones_on(state) == {"f6"}


def test_north_scores_wills_and_ricochets_in_the_own_view():
    state = at("e1 e2 e3 e4 e5 d6 f6", player=NORTH)  # North's file b is South's e
    will(state, ORTHOS, "b")
    assert "e6" in stones_on(state)
    assert state.luminance == [0, 3]

    state = at("f6", player=NORTH)
    roll(state, SELENOLYTH, "a1")
    ricochet(state, "b1")
    assert stones_on(state) == {"f6", "e6"}


def test_a_full_file_cannot_be_chosen_and_will_wants_one_free_square():
    state = at("a1 a2 a3 a4 a5 a6 b1 b2 b3 b4 b5 c1 c2 c3 c4")
    expected = [stone * 6 + file for stone in range(3) for file in range(1, 6)]
    assert state.legal_actions() == expected + [19, 25, 31]


def test_a_roll_may_be_preferred_to_will():
    state = at("b2 b3 b4 b5 b6 a1 c1")
    roll(state, ORTHOS, "b4")
    assert state.luminance == [0, 0]
    assert state.reserve == [[14, 2, 2], [14, 2, 2]]


def test_only_stones_in_reserve_can_be_chosen():
    state = at(reserve=[[0, 1, 0], [14, 2, 2]])
    assert state.legal_actions() == [6, 7, 8, 9, 10, 11]


def test_the_die_is_fair():
    state = at()
    state.apply_action(0)
    assert state.chance_outcomes() == [(rank, 1 / 6) for rank in range(6)]
    assert state.reserve[SOUTH] == [13, 2, 2]
    assert state.to_dict()["phase"] == "roll"


@pytest.mark.parametrize("shard", [DIOX, ORTHOS])
def test_a_shard_on_an_occupied_square_skips_the_turn(shard):
    state = at("d3 c2 d2")
    roll(state, shard, "d3")
    assert stones_on(state) == {"d3", "c2", "d2"}
    assert state.reserve == [[14, 2, 2], [14, 2, 2]]
    assert state.luminance == [0, 0]
    assert state.current_player() == NORTH


# --- effects ---


def test_pulls_bring_all_eight_directions_and_leave_neighbours():
    state = at("a1 c1 f1 a3 d3 a5 c6 f6")
    roll(state, SELENOLYTH, "c3")
    assert stones_on(state) == {"c3", "b2", "c2", "b3", "d3", "b4", "c4", "d4", "f1"}


def test_a_selenolyth_placed_by_will_pulls():
    state = at("c1 c2 c4 c5 c6 a3 f3")
    will(state, SELENOLYTH, "c")
    assert stones_on(state) == {"c1", "c2", "c3", "c4", "c5", "c6", "b3", "d3"}


def test_a_ricochet_does_not_pull():
    state = at("c3 c5 f6")
    roll(state, SELENOLYTH, "c3")
    assert state.legal_actions() == [36 + c for c in range(36) if c not in (cell("c3"), cell("c5"), cell("f6"))]
    ricochet(state, "c1")
    assert stones_on(state) == {"c1", "c3", "c5", "f6"}
    assert state.reserve[SOUTH] == [13, 2, 2]


def test_shards_do_not_count_the_other_neighbours_or_the_far_edge():
    state = at("f1 a2 b2")
    roll(state, DIOX, "a1")
    assert state.luminance == [1, 0]


# --- endings, in their order ---


def test_the_hex_comes_before_the_eclipse_and_the_empty_reserve():
    state = at(SQUARE_AT_C3.replace("e5", "e6"), luminance=[9, 0], reserve=[[1, 0, 0], [14, 2, 2]])
    roll(state, SELENOLYTH, "e6")
    ricochet(state, "e5")
    assert state.outcome == "hex"
    assert state.returns() == [-1.0, 1.0]


@pytest.mark.parametrize("value", [1, 2, 5])
def test_eclipse_is_worth_its_option(value):
    state = at(SQUARE_AT_C3.replace("d4", "b6"), luminance=[5, 8], config={"eclipse_value": value})
    roll(state, ORTHOS, "d4")
    assert state.outcome == "eclipse"
    assert state.returns() == [value, -value]


def test_a_shard_that_fills_the_square_wins_without_nine():
    state = at(SQUARE_AT_C3.replace("d4", "b6"), luminance=[4, 9])
    roll(state, ORTHOS, "d4")
    assert state.luminance == [8, 9]
    assert state.outcome == "square"
    assert state.returns() == [1.0, -1.0]


def test_nine_luminance_of_the_mover_wins():
    state = at("c2 c4 e4", luminance=[6, 8])
    roll(state, DIOX, "d3")
    assert state.outcome == "luminance"
    assert state.returns() == [1.0, -1.0]


def test_luminance_goal_is_an_option():
    state = at("c2 c4 e4", config={"luminance_goal": 3})
    roll(state, DIOX, "d3")
    assert state.outcome == "luminance"
    state = at("c2 c4 e4", luminance=[6, 0], config={"luminance_goal": 10})
    roll(state, DIOX, "d3")
    assert state.outcome is None


def test_an_empty_reserve_wins_last_of_all():
    state = at(reserve=[[0, 0, 1], [14, 2, 2]], config={"max_turns": 1})
    roll(state, ORTHOS, "d3")
    assert state.outcome == "lord"
    assert state.returns() == [1.0, -1.0]


def test_a_last_shard_that_is_skipped_does_not_win():
    state = at("d3", reserve=[[0, 0, 1], [14, 2, 2]])
    roll(state, ORTHOS, "d3")
    assert state.outcome is None


def test_a_last_selenolyth_wins_after_a_safe_ricochet():
    state = at("d3", reserve=[[1, 0, 0], [14, 2, 2]])
    roll(state, SELENOLYTH, "d3")
    ricochet(state, "f6")
    assert state.outcome == "lord"


def test_reserves_are_options():
    state = NaiveSelenolyth({"selenolyths": 0, "diox": 1, "orthos": 0}, {"first_player": NORTH})
    assert state.legal_actions() == [6, 7, 8, 9, 10, 11]
    roll(state, DIOX, "c3")
    assert state.outcome == "lord"
    assert state.returns() == [-1.0, 1.0]


def test_max_turns_counts_skips_and_the_turns_of_a_position():
    state = at("d3", turns=7, config={"max_turns": 9})
    roll(state, ORTHOS, "d3")
    assert state.outcome is None
    roll(state, ORTHOS, "a1")
    assert state.outcome == "truncated"
    assert state.to_dict()["player"] is None
    assert state.returns() == [0.0, 0.0]


def test_no_board_without_a_square_holds_more_than_32_stones():
    corners = [[(rank + i) * 6 + file + j for i in range(3) for j in range(3)] for rank in (0, 3) for file in (0, 3)]
    assert len(set(itertools.chain(*corners))) == 36  # each of the four needs a hole
    holes = {cell(square) for square in ("c3", "f3", "c6", "f6")}
    assert not has_sacred_square(set(range(36)) - holes)


# --- the object itself ---


def test_twin_clone_is_independent():
    game = golden_games("selenolyth")[0]
    state = NaiveSelenolyth(game["config"], game["setup"])
    for _, action in game["steps"]:
        before = state.to_dict()
        copy = state.clone()
        copy.apply_action(action)
        assert state.to_dict() == before
        state = copy


def test_twin_refuses_an_illegal_action():
    with pytest.raises(ValueError, match="not legal"):
        at().apply_action(18)
