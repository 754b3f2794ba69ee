"""Aether's rules within a turn, a drawn position each: swaps, proposals to score, and what is proved."""

import pytest
from naive.both_aether import ELEMENTS, A, Both, E, F, W, scored
from naive.drawn_aether import FLOWER, RINGS

from trilithon.core import load_game

# --------------------------------------------------------------------------------------------------------------- swaps


def test_a_swap_draws_all_tiles_before_the_old_ones_come_back():
    game = Both(FLOWER, {}, hands=[[F, F], [A, A]], bag=[2, 1, 1, 1]).play(8 * 6)
    assert (game.unused, game.sacrificed) == ([2, 3], [1, 0])
    assert (game.hands[0], game.bag) == ([], [2, 1, 1, 1])
    assert game.shares() == {W: 2 / 5, F: 1 / 5, E: 1 / 5, A: 1 / 5}
    game.draw(A)
    assert game.hands[0] == [A]
    assert game.shares() == {W: 0.5, F: 0.25, E: 0.25}, "the old fire is not in the bag yet"
    game.draw(E)
    assert game.hands[0] == [E, A]
    assert game.bag == [2, 3, 0, 0]
    assert game.player == 0, "the same player goes on"


def test_four_tiles_are_swapped_in_the_full_game():
    state = load_game("aether", first_player=0).new_initial_state(1)
    old, bag = state.to_dict()["hands"][0], state.to_dict()["bag"]
    state.apply_action(8 * 77)
    drawn_tiles = []
    for draws in range(4):
        assert state.is_chance_node()
        position = state.to_dict()
        assert position["hands"][0] == sorted(drawn_tiles)
        assert sum(position["bag"]) == sum(bag) - draws
        drawn_tiles.append(state.legal_actions()[-1 - draws % 2])
        state.apply_action(drawn_tiles[-1])
    assert state.current_player() == 0
    position = state.to_dict()
    assert position["hands"][0] == sorted(drawn_tiles)
    assert position["bag"] == [bag[e] - drawn_tiles.count(e) + old.count(e) for e in ELEMENTS]
    assert (position["unused"], position["sacrificed"]) == ([13, 14], [1, 0])


def test_several_swaps_in_a_turn_as_long_as_elementals_last():
    game = Both(FLOWER, {}, hands=[[F, F], [A, A]])
    for number in range(3):
        assert game.swap in game.legal()
        game.play(game.swap).draw(W, E)
        assert (game.unused[0], game.sacrificed[0]) == (2 - number, 1 + number)
    assert game.refuses(game.swap)
    assert not any(action % 2 for action in game.legal()), "nor is one left to place"
    game.place(W, 0).draw(W)
    assert game.player == 1


def test_a_swap_wants_an_unused_elemental():
    assert Both(FLOWER, {}, unused=[1, 0]).legal()[-1] == 48
    assert Both(FLOWER, {}, unused=[0, 3]).refuses(48)


@pytest.mark.parametrize(("tiles", "may"), [(1, False), (2, True), (3, True)])
def test_a_swap_wants_a_whole_hand_in_the_bag(tiles, may):
    game = Both(FLOWER, dict.fromkeys(range(3), F), bag=[tiles, 0, 0, 0])
    assert (game.swap in game.legal()) == may
    if may:
        game.play(game.swap).draw(W, W)
        assert game.bag == [tiles, 0, 0, 0]


def test_a_swap_empties_the_bag_and_fills_it_again():
    game = Both(FLOWER, dict.fromkeys(range(3), F), hands=[[E, E], [A, A]], bag=[1, 1, 0, 0])
    game.play(game.swap).draw(F)
    assert game.shares() == {W: 1}
    game.draw(W)
    assert game.bag == [0, 0, 2, 0]
    game.play(game.swap)
    assert game.shares() == {E: 1}


# ------------------------------------------------------------------------------------------------------- scoring early


def test_without_agreement_nobody_proposes():
    for early in ("off", "proved"):
        game = Both(FLOWER, {}, config={"early_scoring": early})
        assert game.legal()[-1] == game.swap
        assert game.refuses(game.propose)


@pytest.mark.parametrize("teams", [False, True])
def test_everybody_else_is_asked_in_turn_order_teammates_too(teams):
    game = Both(FLOWER, {}, players=4, player=2, config={"early_scoring": "agreement", "teams": teams})
    game.play(game.propose)
    for player in (3, 0, 1):
        assert game.player == player
        assert game.legal() == [game.agree, game.decline]
        game.play(game.agree)
    assert game.points == ([18] * 4 if teams else [9] * 4)
    assert game.state.is_terminal()


def test_nothing_checks_that_the_players_are_right():
    assert scored(FLOWER, {}).points == [9, 9], "an empty board can be scored"


@pytest.mark.parametrize("answers", [["decline"], ["agree", "decline"], ["agree", "agree", "decline"]], ids=str)
def test_the_first_to_decline_ends_the_poll(answers):
    game = Both(FLOWER, {}, players=4, player=1, config={"early_scoring": "agreement"})
    game.play(game.propose, *(getattr(game, answer) for answer in answers))
    assert game.player == 1, "the proposer goes on"
    assert game.refuses(game.propose), "and may not propose again this turn"
    assert game.refuses(game.agree)
    game.play(game.swap).draw(W, W)
    assert game.refuses(game.propose)
    game.place(W, 0).draw(W)
    assert game.player == 2
    assert game.propose in game.legal(), "whose turn begins may"


def test_a_proposer_may_propose_again_next_turn():
    game = Both(FLOWER, {}, config={"early_scoring": "agreement"})
    game.play(game.propose, game.decline).place(W, 0).draw(W)
    game.place(W, 1).draw(W)
    assert game.propose in game.legal()
    game.play(game.propose, game.agree)
    assert game.points == [9, 9]


def test_a_proposal_comes_before_any_swap():
    game = Both(FLOWER, {}, config={"early_scoring": "agreement"})
    assert game.propose in game.legal()
    game.play(game.swap).draw(F, F)
    assert game.refuses(game.propose)


def test_a_proposal_is_no_placement():
    """The bag, the hands and the board stay as they are while the others answer."""
    game = Both(FLOWER, {0: F}, {0: 1}, config={"early_scoring": "agreement"})
    before = {**game.state.to_dict(), "player": 1}
    game.play(game.propose)
    assert game.state.to_dict() == before
    game.play(game.decline)
    assert game.state.to_dict() == {**before, "player": 0}


PROVED = {"early_scoring": "proved"}
FIVE = dict.fromkeys(range(5), F)  # of the six slots of FLOWER


def test_proved_looks_at_who_still_places():
    """Fire on 5 and an elemental more would win it for player 1, whose turn it must be."""
    owners = {0: 0, 1: 0, 3: 1}
    assert Both(FLOWER, FIVE, owners, unused=[0, 2], config=PROVED).player is None
    assert Both(FLOWER, FIVE, owners, unused=[0, 2], player=1, config=PROVED).player == 1
    assert Both(FLOWER, FIVE, owners, unused=[0, 2], config={"early_scoring": "off"}).player == 0


def test_proved_counts_the_tiles_that_are_left():
    tiles, owners = {0: E, 2: E, 5: W, 3: W, 4: A}, {0: 0, 5: 1}  # 2 against 2 - 1; slot 1 is empty
    assert Both(FLOWER, tiles, owners, unused=[0, 0], bag=[0, 1, 0, 0], config=PROVED).player == 0
    hands = [[A, E]] * 2
    assert Both(FLOWER, tiles, owners, unused=[0, 0], hands=hands, bag=[0, 0, 1, 1], config=PROVED).points == [9, 0]


def test_proved_ends_the_game_before_the_draw():
    game = Both(FLOWER, {0: F, 1: F, 2: W, 3: E}, {0: 1}, unused=[1, 0], config=PROVED).place(W, 5)
    assert game.points == [3, 9]
    assert game.hands[0] == [W]
    again = Both(FLOWER, {0: F, 1: F, 2: W, 3: E}, {0: 1}, unused=[1, 0], config=PROVED)
    again.place(W, 5, with_elemental=True).draw(W)
    assert again.player == 1, "1 against 1, until the last tile lies"


def test_proved_looks_again_after_a_swap():
    game = Both(FLOWER, FIVE, {0: 1}, unused=[1, 0], config=PROVED).play(8 * 6).draw(E)
    assert game.points is None, "not between two draws of it"
    game.draw(E)
    assert game.points == [3, 9]


def test_proved_scores_a_board_where_nobody_can_come():
    """No elemental is left: nobody will ever take the tile."""
    assert Both(FLOWER, {}, unused=[0, 0], config=PROVED).points == [0, 0]
    assert Both(FLOWER, {}, unused=[0, 1], config=PROVED).player == 0
    assert Both(RINGS, {}, unused=[0, 0], sacrificed=[3, 2], config=PROVED).points == [9, 6]


def test_proved_in_teams_asks_who_takes_it_as_a_team():
    """One elemental more of a partner changes nothing for the team that has the only one."""
    owners, config = {0: 0}, {"teams": True, **PROVED}
    tiles = {0: F, 1: E, 2: E, 3: A, 4: A}
    assert Both(FLOWER, tiles, owners, players=4, unused=[0, 0, 1, 0], player=2, config=config).points == [12, 0, 12, 0]
    assert Both(FLOWER, tiles, owners, players=4, unused=[0, 0, 1, 0], player=2, config=PROVED).player == 2
