"""Aether's rules, a drawn position each: all examples of the rule text, powers, who takes what, returns, turns."""

import pytest
from naive.aether import TERMINAL
from naive.both_aether import ELEMENTS, A, Both, E, F, W, scored
from naive.drawn_aether import FLOWER, RINGS

from trilithon.core import IllegalActionError, load_game

# ------------------------------------------------------------------------------------------------ the text's examples


def test_example_power_of_three_fire_tiles_less_one_water_is_two():
    """Fire on 5 touches fire on 1 and 2, water on 4, earth on 6: 3 - 1; the earth on 13 has 2 too, with that on 17."""
    tiles = {5: F, 1: F, 2: F, 4: W, 6: E, 13: E, 17: E}
    assert scored(RINGS, tiles, {5: 0, 13: 1}).points == [6 + 5, 6 + 5], "2 against 2"
    assert scored(RINGS, {**tiles, 14: E}, {5: 0, 13: 1}).points == [6, 6 + 10], "2 against 3"
    del tiles[17]
    assert scored(RINGS, tiles, {5: 0, 13: 1}).points == [6 + 10, 6], "2 against 1"


# Yellow (0): earth on 8 with a second earth tile, 2, and water on 12, 1. Red (1): fire on 5, touched by three others.
PICTURE = {8: E, 7: E, 12: W, 5: F, 1: F, 2: F, 6: F}
PICTURE_ELEMENTALS = {8: 0, 12: 0, 5: 1}


def test_example_two_elementals_of_three_together_lose_to_one_of_four():
    game = scored(RINGS, PICTURE, PICTURE_ELEMENTALS)
    assert game.points == [3, 6 + 10]
    assert game.result() == [-1, 1]


@pytest.mark.parametrize("hint", [{3: E}, {9: W}], ids=["an earth next to the earth", "a water next to the fire"])
def test_example_hint_a_tile_more_ties(hint):
    assert scored(RINGS, {**PICTURE, **hint}, PICTURE_ELEMENTALS).points == [3 + 5, 6 + 5]


def test_example_the_hints_of_the_text_change_the_position_in_play():
    """Three beats nothing of four, but three against three splits, and four against three takes the tile."""
    hands = [[E, E], [W, W]]
    config = {"early_scoring": "agreement"}
    game = Both(RINGS, {**PICTURE, 9: W}, PICTURE_ELEMENTALS, hands=hands, config=config)
    game.place(E, 3).draw(W)
    game.play(game.propose, game.agree)
    assert game.points == [3 + 10, 6], "yellow has 4 with the new earth, red 3 with the water"


def test_the_counter_cycle():
    """Water beats fire, fire beats earth, earth beats air, air beats water; nothing else matters."""
    for own in ELEMENTS:
        for other in ELEMENTS:
            power = 1 + (other == own) - (other == (own + 3) % 4)
            # Slot 4 with its neighbour 0; a lone tile of power 1 on 13.
            game = scored(RINGS, {4: own, 0: other, 13: own}, {4: 0, 13: 1})
            expected = {0: [6, 16], 1: [11, 11], 2: [16, 6]}[power]
            assert game.points == expected, (own, other)


# ------------------------------------------------------------------------------------------------------ powers, takers


def test_occupied_tiles_count_whoever_stands_there():
    """Two fires of two players that touch are one power more for both."""
    assert scored(RINGS, {4: F, 5: F}, {4: 0, 5: 1}).points == [11, 11]
    assert scored(RINGS, {4: F, 5: F, 13: F}, {4: 0, 5: 1, 13: 0}).points == [3 + 10, 6], "2 + 1 against 2"
    assert scored(RINGS, {4: F, 5: W}, {4: 0, 5: 1}).points == [6, 16], "1 - 1 against 1"


def test_a_power_may_be_negative_and_counts_so():
    """-2 and 2 of one side are 0, less than 1."""
    tiles = {5: F, 1: W, 2: W, 4: W, 12: E, 16: E, 9: A}
    game = scored(RINGS, tiles, {5: 0, 12: 0, 9: 1})
    assert game.points == [3, 6 + 10]
    assert scored(RINGS, tiles, {12: 0, 9: 1}).points == [6 + 10, 6]


def test_the_highest_sum_takes_even_below_zero():
    below = {5: F, 1: W, 2: W, 4: W}
    assert scored(RINGS, below, {5: 0}).points == [16, 9]
    assert scored(RINGS, {**below, 12: E}, {5: 0, 12: 1}).points == [6, 16]
    assert scored(RINGS, {4: F, 0: W}, {4: 1}).points == [9, 16], "zero takes it too"


def test_nobody_next_to_it_takes_nothing():
    assert scored(RINGS, {0: F, 4: F}, {0: 0}).points == [6, 9]


def test_distance_matters():
    """Only tiles next to the elemental count, and only elementals next to the aether tile."""
    assert scored(RINGS, {4: F, 2: F, 6: F, 13: E}, {4: 0, 13: 1}).points == [11, 11]
    assert scored(RINGS, {4: F, 1: E, 2: E, 6: E}, {4: 0, 2: 1}).points == [16, 6]


def test_ties_are_rounded_down():
    tiles = {4: F, 9: F, 12: F}
    assert scored(RINGS, tiles, {4: 0, 9: 1, 12: 2}, players=3).points == [6 + 3] * 3
    assert scored(FLOWER, {0: F, 5: F}, {0: 0, 5: 1}).points == [6 + 4, 6 + 4]
    assert scored(RINGS, {4: F, 5: A, 12: F, 13: A}, {4: 0, 5: 1, 12: 2, 13: 3}, players=4).points == [6 + 2] * 4


def test_a_tie_leaves_out_who_is_weaker():
    tiles = {4: F, 9: F, 12: F, 8: A}  # the air touches 4 and 12: it changes no fire
    game = scored(RINGS, {**tiles, 0: F, 10: F}, {4: 0, 9: 1, 12: 2}, players=3)
    assert game.points == [6 + 5, 6 + 5, 6]


def test_unused_and_sacrificed_elementals_are_three_points_each():
    assert scored(FLOWER, {}, unused=[2, 0], sacrificed=[1, 2]).points == [9, 6]
    assert scored(FLOWER, {}, unused=[2, 0], sacrificed=[1, 2], config={"leftover_points": 0}).points == [0, 0]
    assert scored(FLOWER, {}, unused=[2, 0], sacrificed=[1, 2], config={"leftover_points": 9}).points == [27, 18]
    assert scored(FLOWER, {0: F}, {0: 1}).points == [9, 6 + 9], "one in play is worth nothing by itself"


# ------------------------------------------------------------------------------------------------------------- returns


@pytest.mark.parametrize(
    ("unused", "expected"),
    [
        ([3, 2], [1, -1]),
        ([2, 2], [0, 0]),
        ([1, 2, 3], [-0.5, -0.5, 1]),
        ([2, 2, 1], [0.25, 0.25, -0.5]),
        ([2, 2, 2], [0, 0, 0]),
        ([0, 0, 1, 0], [-1 / 3, -1 / 3, 1, -1 / 3]),
        ([1, 0, 1, 0], [1 / 3, -1 / 3, 1 / 3, -1 / 3]),
        ([1, 1, 1, 0], [1 / 9, 1 / 9, 1 / 9, -1 / 3]),
        ([1, 1, 1, 1], [0, 0, 0, 0]),
    ],
    ids=str,
)
def test_winners_share_the_win(unused, expected):
    game = scored(FLOWER, {}, players=len(unused), unused=unused)
    assert game.points == [3 * number for number in unused]
    assert game.state.returns().tolist() == pytest.approx(expected, abs=1e-12)
    assert sum(game.state.returns()) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("unused", "expected"),
    [
        ([3, 1], [0.06, -0.06]),
        ([2, 2], [0, 0]),
        ([3, 2, 1], [0.045, 0, -0.045]),
        ([3, 0, 0, 0], [0.09, -0.03, -0.03, -0.03]),
    ],
    ids=str,
)
def test_margin_is_the_lead_over_the_mean_of_the_others(unused, expected):
    game = scored(FLOWER, {}, players=len(unused), unused=unused, config={"reward": "margin"})
    assert game.state.returns().tolist() == pytest.approx(expected, abs=1e-12)


def test_returns_are_zero_before_the_end():
    game = Both(FLOWER, {}, unused=[3, 0], config={"reward": "margin"})
    assert game.result() == [0, 0]
    assert game.points is None


TEAMS = {"teams": True, "early_scoring": "agreement"}
TEAM_TILES = {4: F, 9: E, 13: E}
TEAM_OWNERS = {4: 1, 9: 0, 13: 2}  # one fire of power 1 against two earths of two partners that touch


def test_teams_add_their_powers_and_both_show_the_team_s_points():
    game = scored(RINGS, TEAM_TILES, TEAM_OWNERS, players=4, config=TEAMS)
    assert game.points == [12 + 10, 15, 12 + 10, 15]
    assert game.result() == [1, -1, 1, -1]
    alone = scored(RINGS, TEAM_TILES, TEAM_OWNERS, players=4)
    assert alone.points == [6 + 5, 6, 6 + 5, 9], "without teams the two earths tie"


def test_team_margin_is_the_lead_over_the_other_team():
    game = scored(RINGS, TEAM_TILES, TEAM_OWNERS, players=4, config={**TEAMS, "reward": "margin"})
    assert game.result() == [0.07, -0.07, 0.07, -0.07]


def test_ties_are_split_between_teams():
    tiles, owners = {9: E, 12: A, 4: F, 8: A}, {9: 0, 12: 2, 4: 1, 8: 3}
    game = scored(RINGS, tiles, owners, players=4, config=TEAMS)
    assert game.points == [12 + 5] * 4
    assert game.result() == [0, 0, 0, 0]


# --------------------------------------------------------------------------------------------------------------- turns


@pytest.mark.parametrize("players", [2, 3, 4])
def test_players_take_turns_clockwise(players):
    game = Both(FLOWER, {}, players=players, hands=[[F, A]] * players, player=players - 1)
    order = []
    for slot in range(5):
        order.append(game.player)
        game.place(game.hands[game.player][0], slot).draw(game.legal()[0])
    assert order == [(players - 1 + turn) % players for turn in range(5)]


@pytest.mark.parametrize("first_player", [0, 1, 2, 3])
def test_the_first_player_begins(first_player):
    game = load_game("aether", board="small", players=4, first_player=first_player)
    for seed in range(3):
        state = game.new_initial_state(seed)
        assert state.current_player() == state.setup()["first_player"] == first_player
    first = {load_game("aether", players=4).new_setup(seed)["first_player"] for seed in range(40)}
    assert first == {0, 1, 2, 3}


def test_a_tile_is_drawn_by_its_share_of_the_bag():
    game = Both(FLOWER, {}, players=3, hands=[[F, A]] * 3, player=2)
    game.place(F, 3, with_elemental=True)
    assert game.elementals[3] == 2
    assert game.unused == [3, 3, 2]
    assert game.shares() == {W: 7 / 22, F: 4 / 22, E: 7 / 22, A: 4 / 22}
    game.draw(E)
    assert game.hands[2] == [E, A]
    assert game.player == 0


def test_an_element_that_is_not_in_the_bag_is_not_drawn():
    game = Both(FLOWER, {}, bag=[3, 0, 0, 3]).place(W, 0)
    assert game.shares() == {W: 0.5, A: 0.5}
    assert game.refuses(F)


def test_only_empty_slots_and_tiles_of_the_hand():
    game = Both(FLOWER, {0: F, 4: F}, {0: 0}, hands=[[F, A], [W, W]], unused=[0, 3])
    assert [action for action in game.legal() if action < game.swap] == [
        (element * 6 + slot) * 2 for element in (F, A) for slot in (1, 2, 3, 5)
    ]
    assert game.refuses((F * 6 + 0) * 2), "occupied"
    assert game.refuses((W * 6 + 1) * 2), "not in the hand"
    assert game.refuses((F * 6 + 1) * 2 + 1), "no elemental left"
    game.place(F, 1).draw(W)
    with_elemental = [action % 2 for action in game.legal() if action < game.swap]
    assert with_elemental == [0, 1] * 3, "the other player still has some"


def test_an_empty_bag_gives_no_tile():
    game = Both(FLOWER, {0: F, 1: F}, bag=[0, 0, 0, 0])
    assert game.swap not in game.legal()
    game.place(W, 2)
    assert game.player == 1
    assert game.hands == [[W], [W, W]]


def test_the_last_slot_ends_the_game_without_a_draw():
    game = Both(FLOWER, dict.fromkeys(range(5), F)).place(W, 5)
    assert game.player is None
    assert game.points == [9, 9]
    assert game.state.current_player() == TERMINAL
    assert game.state.is_terminal()
    assert game.hands[0] == [W]
    assert game.legal() == game.state.chance_outcomes() == []
    assert not game.state.legal_actions_mask().any()


def test_a_step_after_the_end_is_refused():
    game = Both(FLOWER, dict.fromkeys(range(5), F)).place(W, 5)
    for action in (0, game.swap, -1, None):
        with pytest.raises(IllegalActionError, match=f"aether: action {action} after the end of the game"):
            game.state.apply_action(action)
    game.state.undo_action()
    assert game.state.current_player() == 0


def test_illegal_actions_name_legal_ones():
    game = Both(FLOWER, {})
    text = r"action 99 is not legal for player 0; legal: 0 \(water@0\), 1 \(water@0\+\), .*\(13 in all\)"
    with pytest.raises(IllegalActionError, match=text):
        game.state.apply_action(99)
    game.place(W, 0)
    with pytest.raises(IllegalActionError, match=r"action 4 is not legal for chance; legal: 0 \(draw water\)"):
        game.state.apply_action(4)
