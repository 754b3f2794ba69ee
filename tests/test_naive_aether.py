"""The plain twin of Aether against the stored games and the examples of the rules' text."""

import pytest
from naive.aether import CHANCE, TERMINAL, NaiveAether
from naive.aether_scoring import AIR, BEATS, EARTH, FIRE, WATER, parse_board, power
from naive.drawn_aether import FLOWER, RINGS, drawn
from naive.files import golden_games


def at(*arguments, **options):
    """A game that starts with a drawn position."""
    return NaiveAether(*drawn(*arguments, **options))


def place(state, element, slot, with_elemental=False):
    state.apply_action((element * state.num_slots + slot) * 2 + with_elemental)


def draw(state, *elements):
    for element in elements:
        assert state.current_player() == CHANCE
        state.apply_action(element)


def scores(*arguments, **options):
    """The points of a position that the players agree to score at once, and the returns."""
    config = {"early_scoring": "agreement", **options.pop("config", {})}
    state = at(*arguments, config=config, **options)
    state.apply_action(state.propose)
    while not state.is_terminal():
        state.apply_action(state.agree)
    return state.points, state.returns()


@pytest.mark.parametrize("game", golden_games("aether"), ids=lambda game: "")
def test_twin_replays_golden_game(game):
    state = NaiveAether(game["config"], game["setup"])
    for (player, action), expected, legal in zip(game["steps"], game["states"], game["legal"], strict=True):
        assert state.current_player() == player
        assert state.legal_actions() == legal
        assert [outcome for outcome, _ in state.chance_outcomes()] == (legal if player == CHANCE else [])
        assert state.returns() == [0.0] * game["config"]["players"]
        state.apply_action(action)
        assert state.to_dict() == expected
    assert state.is_terminal()
    assert state.current_player() == TERMINAL
    assert state.legal_actions() == state.chance_outcomes() == []
    assert state.returns() == game["returns"]


# --- the examples of the rules' text ---


def test_water_beats_fire_beats_earth_beats_air_beats_water():
    assert BEATS == {WATER: FIRE, FIRE: EARTH, EARTH: AIR, AIR: WATER}


def test_example_power_of_a_fire_elemental_is_two():
    # Slot 5 touches 1, 2, 4, 6 and 9: three fire tiles in all, one water, one earth.
    state = at(RINGS, {5: FIRE, 1: FIRE, 2: FIRE, 4: WATER, 6: EARTH}, {5: 0})
    assert power(state.board, state.tiles, 5) == 2


# Yellow (0): earth on 8 with a second earth tile, 2, and water on 12, 1. Red (1): fire on 5, touched by three others.
PICTURE = {8: EARTH, 7: EARTH, 12: WATER, 5: FIRE, 1: FIRE, 2: FIRE, 6: FIRE}
PICTURE_ELEMENTALS = {8: 0, 12: 0, 5: 1}


def test_example_two_elementals_of_three_lose_to_one_of_four():
    board = parse_board(RINGS)
    tiles = [PICTURE.get(slot) for slot in range(18)]
    assert [power(board, tiles, slot) for slot in (8, 12, 5)] == [2, 1, 4]
    assert scores(RINGS, PICTURE, PICTURE_ELEMENTALS) == ([3, 16], [-1.0, 1.0])


def test_example_hint_an_earth_or_a_water_tile_saves_yellow():
    assert scores(RINGS, {**PICTURE, 3: EARTH}, PICTURE_ELEMENTALS)[0] == [8, 11]
    assert scores(RINGS, {**PICTURE, 9: WATER}, PICTURE_ELEMENTALS)[0] == [8, 11]


# --- powers, takers, points ---


def test_power_counts_occupied_tiles_and_may_be_negative():
    state = at(RINGS, {5: FIRE, 1: WATER, 2: WATER, 4: WATER}, {5: 0, 1: 0, 2: 1})
    assert power(state.board, state.tiles, 5) == -2


def test_the_highest_sum_takes_even_below_zero():
    assert scores(RINGS, {5: FIRE, 1: WATER, 2: WATER, 4: WATER}, {5: 0})[0] == [16, 9]
    assert scores(RINGS, {5: FIRE, 1: WATER, 2: WATER, 4: WATER, 12: EARTH}, {5: 0, 12: 1})[0] == [6, 16]


def test_nobody_next_to_it_takes_nothing():
    assert scores(RINGS, {0: FIRE}, {0: 0})[0] == [6, 9]


def test_ties_are_rounded_down():
    tiles = {4: FIRE, 9: FIRE, 12: FIRE}
    assert scores(RINGS, tiles, {4: 0, 9: 1, 12: 2}, players=3)[0] == [9, 9, 9]
    assert scores(FLOWER, {0: FIRE, 5: FIRE}, {0: 0, 5: 1})[0] == [10, 10]


def test_unused_and_sacrificed_elementals_score():
    assert scores(FLOWER, {}, unused=[2, 0], sacrificed=[1, 2])[0] == [9, 6]
    assert scores(FLOWER, {}, unused=[2, 0], sacrificed=[1, 2], config={"leftover_points": 1})[0] == [3, 2]


# --- returns ---


def test_equal_scores_share_the_win():
    assert scores(FLOWER, {}, players=3, unused=[2, 2, 1])[1] == [0.25, 0.25, -0.5]
    assert scores(FLOWER, {}, players=4, unused=[2, 2, 2, 2])[1] == [0.0] * 4


def test_margin_is_over_the_mean_of_the_others():
    config = {"reward": "margin"}
    assert scores(FLOWER, {}, players=3, unused=[3, 2, 1], config=config)[1] == [0.045, 0.0, -0.045]
    assert scores(FLOWER, {}, unused=[3, 1], config=config)[1] == [0.06, -0.06]


TEAM_TILES = {4: FIRE, 9: EARTH, 13: EARTH}


def test_teams_sum_powers_and_score_together():
    owners = {4: 1, 9: 0, 13: 2}  # one fire of power 1 against two earths that touch, 2 + 2
    config = {"teams": True}
    assert scores(RINGS, TEAM_TILES, owners, players=4, config=config) == ([22, 15, 22, 15], [1.0, -1.0, 1.0, -1.0])
    config = {"teams": True, "reward": "margin"}
    assert scores(RINGS, TEAM_TILES, owners, players=4, config=config)[1] == [0.07, -0.07, 0.07, -0.07]


def test_ties_are_split_between_teams():
    tiles = {9: EARTH, 12: AIR, 4: FIRE, 8: AIR}  # 1 + 2 against 1 + 2: the two air tiles touch
    owners = {9: 0, 12: 2, 4: 1, 8: 3}
    points, returns = scores(RINGS, tiles, owners, players=4, config={"teams": True})
    assert points == [17, 17, 17, 17]
    assert returns == [0.0] * 4


# --- turns ---


def test_placing_draws_a_tile_and_passes_clockwise():
    state = at(FLOWER, {}, players=3, hands=[[FIRE, AIR]] * 3, player=2)
    place(state, FIRE, 3, with_elemental=True)
    assert state.to_dict()["elementals"][3] == 2
    assert state.unused == [3, 3, 2]
    assert state.chance_outcomes() == [(WATER, 7 / 22), (FIRE, 4 / 22), (EARTH, 7 / 22), (AIR, 4 / 22)]
    draw(state, EARTH)
    assert state.hands[2] == [EARTH, AIR]
    assert state.current_player() == 0


def test_without_an_unused_elemental_tiles_alone_are_placed():
    state = at(FLOWER, {0: FIRE}, hands=[[FIRE, FIRE]] * 2, unused=[0, 1])
    assert state.legal_actions() == [(FIRE * 6 + slot) * 2 for slot in range(1, 6)]


def test_an_empty_bag_gives_no_tile():
    state = at(FLOWER, {}, bag=[0, 0, 0, 0])
    assert state.swap not in state.legal_actions()
    place(state, WATER, 0)
    assert state.current_player() == 1
    assert state.hands == [[WATER], [WATER, WATER]]


def test_the_last_slot_ends_the_game_without_a_draw():
    state = at(FLOWER, dict.fromkeys(range(5), FIRE))
    place(state, WATER, 5)
    assert state.is_terminal()
    assert state.points == [9, 9]
    assert state.to_dict()["player"] is None


def test_a_swap_draws_before_the_old_tiles_come_back():
    state = at(FLOWER, {}, hands=[[FIRE, FIRE], [AIR, AIR]], bag=[0, 0, 1, 1])
    state.apply_action(state.swap)
    assert (state.unused, state.sacrificed) == ([2, 3], [1, 0])
    assert state.hands[0] == []
    assert state.chance_outcomes() == [(EARTH, 0.5), (AIR, 0.5)]
    draw(state, AIR)
    assert state.hands[0] == [AIR]
    assert state.chance_outcomes() == [(EARTH, 1.0)]
    draw(state, EARTH)
    assert state.hands[0] == [EARTH, AIR]
    assert state.bag == [0, 2, 0, 0]
    assert state.current_player() == 0
    state.apply_action(state.swap)
    draw(state, FIRE, FIRE)
    assert state.sacrificed == [2, 0]


def test_a_swap_wants_an_elemental_and_a_hand_in_the_bag():
    assert at(FLOWER, {}).swap in at(FLOWER, {}).legal_actions()
    assert at(FLOWER, {}).swap not in at(FLOWER, {}, unused=[0, 3]).legal_actions()
    assert at(FLOWER, {}).swap not in at(FLOWER, {}, bag=[1, 0, 0, 0]).legal_actions()


# --- scoring early ---


def test_agreement_asks_everybody_else_in_turn():
    state = at(FLOWER, {}, players=4, player=2, config={"early_scoring": "agreement", "teams": True})
    state.apply_action(state.propose)
    for player in (3, 0, 1):
        assert state.current_player() == player
        assert state.legal_actions() == [state.agree, state.decline]
        state.apply_action(state.agree)
    assert state.points == [18, 18, 18, 18]


def test_the_first_to_decline_ends_the_poll_for_this_turn():
    state = at(FLOWER, {}, players=3, config={"early_scoring": "agreement"})
    state.apply_action(state.propose)
    state.apply_action(state.decline)
    assert state.current_player() == 0
    assert state.propose not in state.legal_actions()
    assert state.swap in state.legal_actions()
    place(state, WATER, 0)
    draw(state, WATER)
    assert state.current_player() == 1
    assert state.propose in state.legal_actions()


def test_a_proposal_comes_before_any_swap():
    state = at(FLOWER, {}, config={"early_scoring": "agreement"})
    state.apply_action(state.swap)
    draw(state, FIRE, FIRE)
    assert state.propose not in state.legal_actions()


PROVED = {"early_scoring": "proved"}
FIVE = dict.fromkeys(range(5), FIRE)


def test_proved_looks_at_who_still_places():
    owners = {0: 0, 1: 0, 3: 1}
    assert at(FLOWER, FIVE, owners, unused=[0, 2], config=PROVED).is_terminal()
    assert not at(FLOWER, FIVE, owners, unused=[0, 2], player=1, config=PROVED).is_terminal()
    assert not at(FLOWER, FIVE, owners, unused=[0, 2], config={"early_scoring": "off"}).is_terminal()


def test_proved_counts_the_tiles_left():
    tiles, owners = {0: EARTH, 2: EARTH, 5: WATER, 3: WATER, 4: AIR}, {0: 0, 5: 1}  # 2 against 2 - 1; slot 1 is empty
    assert not at(FLOWER, tiles, owners, unused=[0, 0], bag=[0, 1, 0, 0], config=PROVED).is_terminal()
    hands = [[AIR, EARTH]] * 2
    assert at(FLOWER, tiles, owners, unused=[0, 0], hands=hands, bag=[0, 0, 1, 1], config=PROVED).is_terminal()


def test_proved_ends_the_game_before_the_draw():
    start = at(FLOWER, {0: FIRE, 1: FIRE, 2: WATER, 3: EARTH}, {0: 1}, unused=[1, 0], config=PROVED)
    state = start.clone()
    place(state, WATER, 5)  # player 0 has no placement left
    assert state.points == [3, 9]
    state = start.clone()
    place(state, WATER, 5, with_elemental=True)  # 1 against 1, until the last tile lies
    draw(state, WATER)
    assert state.current_player() == 1


def test_proved_looks_again_after_a_swap():
    state = at(FLOWER, FIVE, {0: 1}, unused=[1, 0], config=PROVED)
    state.apply_action(state.swap)
    draw(state, EARTH)
    assert not state.is_terminal()
    draw(state, EARTH)
    assert state.points == [3, 9]


# --- the object itself ---


def test_tiles_must_last():
    with pytest.raises(ValueError, match="cannot last"):
        at(FLOWER.replace("element: 7", "element: 2"), {})
    at(FLOWER.replace("element: 7", "element: 3"), {})


def test_twin_clone_is_independent():
    game = golden_games("aether")[-1]
    state = NaiveAether(game["config"], game["setup"])
    for _, action in game["steps"]:
        before = state.to_dict()
        copy = state.clone()
        copy.apply_action(action)
        assert state.to_dict() == before
        state = copy


def test_twin_refuses_an_illegal_action():
    state = at(FLOWER, {})
    with pytest.raises(ValueError, match="not legal"):
        state.apply_action(state.propose)
