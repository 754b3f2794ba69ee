"""Aeroliths: the stored games and cases on the real game, then turns, drafts, rounds and endings, one rule a test.

Captures are in `test_aeroliths_positions.py`, setups and options in `test_aeroliths_setups.py`.
"""

from functools import partial

import numpy as np
import pytest
from naive.begin import IMPLEMENTATIONS, begin_aeroliths
from naive.drawn_aeroliths import captured_cells, cell_list, hand_sizes, litho
from naive.files import cases, golden_games

from trilithon.core import CHANCE, TERMINAL, load_game


@pytest.fixture(params=IMPLEMENTATIONS)
def begin(request):
    """`begin(config, setup)` for each implementation of the rules."""
    return partial(begin_aeroliths, request.param)


def play(state, *actions):
    for action in actions:
        state.apply_action(action)
    return state


# --- stored games and cases ---


@pytest.mark.parametrize("game", golden_games("aeroliths"), ids=lambda game: "")
def test_golden_game(game):
    state = load_game("aeroliths", **game["config"]).from_setup(game["setup"])
    snapshots = []
    for (player, action), expected, legal in zip(game["steps"], game["states"], game["legal"], strict=True):
        snapshots.append(state.to_bytes())
        assert state.current_player() == player
        assert state.is_chance_node() == (player == CHANCE)
        assert state.legal_actions() == legal
        assert list(state.returns()) == [0.0, 0.0]
        mask = state.legal_actions_mask()
        assert list(np.flatnonzero(mask)) == ([] if player == CHANCE else legal)
        state.apply_action(action)
        assert state.to_dict() == expected
    assert state.is_terminal()
    assert state.current_player() == TERMINAL
    assert state.legal_actions() == []
    assert list(state.returns()) == game["returns"]
    assert [list(step) for step in state.history()] == game["steps"]
    while snapshots:
        state.undo_action()
        assert state.to_bytes() == snapshots.pop()


@pytest.mark.parametrize("case", cases("aeroliths"), ids=lambda case: case["id"])
def test_case(case):
    state = load_game("aeroliths", **case["config"]).from_setup(case["setup"])
    before = state.to_dict()
    state.apply_action(case["action"])
    assert captured_cells(before, state.to_dict()) == case["captured"]


# --- hands, slots and turns ---


def filled(n, first_player, text="5555"):
    """A setup with full hands of equal Lithos, so that nothing is ever captured by Basic."""
    hands = [[litho(text)] * size for size in hand_sizes(n, first_player)]
    return {"first_player": first_player, "hands": hands, "cells": cell_list(None, n)}


@pytest.mark.parametrize(("n", "sizes"), [(3, (5, 4)), (4, (8, 8)), (5, (13, 12))])
@pytest.mark.parametrize("first_player", [0, 1])
def test_players_alternate_and_all_lithos_are_placed(begin, n, sizes, first_player):
    state = begin({"size": n}, filled(n, first_player))
    hands = state.to_dict()["hands"]
    assert (len(hands[first_player]), len(hands[1 - first_player])) == sizes
    for placed in range(n * n):
        assert state.current_player() == (first_player + placed) % 2
        state.apply_action(state.legal_actions()[-1])
    assert state.is_terminal()
    assert state.to_dict()["hands"] == [[None] * len(hand) for hand in hands]
    assert state.to_dict()["player"] is None


def test_every_slot_may_be_placed_on_every_empty_cell(begin):
    state = begin({"size": 3}, filled(3, 0))
    assert state.legal_actions() == list(range(5 * 9))
    play(state, 2 * 9 + 4)
    assert state.legal_actions() == [slot * 9 + cell for slot in range(4) for cell in range(9) if cell != 4]


def test_slots_keep_their_numbers(begin):
    state = play(begin({"size": 3}, filled(3, 0)), 2 * 9 + 4, 0)
    assert [slot is None for slot in state.to_dict()["hands"][0]] == [False, False, True, False, False]
    assert state.legal_actions() == [
        slot * 9 + cell for slot in (0, 1, 3, 4) for cell in range(9) if cell not in (0, 4)
    ]


def test_order_allows_the_lowest_slot_alone(begin):
    state = begin({"size": 3, "order": True}, filled(3, 1))
    assert state.legal_actions() == list(range(9))
    play(state, 8, 7)
    assert state.legal_actions() == [9 + cell for cell in range(7)]
    play(state, 9)
    assert state.legal_actions() == [9 + cell for cell in range(1, 7)]


def test_chaos_picks_uniformly_before_each_turn(begin):
    state = begin({"size": 3, "chaos": True}, filled(3, 0))
    assert state.current_player() == CHANCE
    assert state.legal_actions() == [0, 1, 2, 3, 4]
    assert state.chance_outcomes() == [(slot, pytest.approx(1 / 5)) for slot in range(5)]
    play(state, 3)
    assert state.current_player() == 0
    assert state.chance_outcomes() == []
    assert state.legal_actions() == [27 + cell for cell in range(9)]
    play(state, 27)
    assert state.chance_outcomes() == [(slot, pytest.approx(1 / 4)) for slot in range(4)]
    play(state, 0, 1)
    assert state.chance_outcomes() == [(slot, pytest.approx(1 / 4)) for slot in (0, 1, 2, 4)]


def test_chaos_picks_even_the_last_litho(begin):
    state = begin({"size": 3, "chaos": True}, filled(3, 0))
    for _ in range(8):
        assert state.current_player() == CHANCE
        play(state, state.legal_actions()[-1])
        play(state, state.legal_actions()[0])
    assert state.current_player() == CHANCE
    assert state.chance_outcomes() == [(0, 1.0)]
    play(state, 0, 8)
    assert state.is_terminal()


# --- drafts ---


def draft_setup(n, first_player, pool_size):
    pool = [litho(f"{1 + k % 9}{1 + k // 9}11:fire") for k in range(pool_size)]
    return {"first_player": first_player, "hands": [[], []], "cells": cell_list(None, n), "pool": pool}


@pytest.mark.parametrize(("n", "first_picks"), [(3, 45), (4, 128), (5, 325)])
@pytest.mark.parametrize("first_player", [0, 1])
@pytest.mark.parametrize("spare", [0, 3])
def test_draft_alternates_and_fills_the_next_free_slot(begin, n, first_picks, first_player, spare):
    pool_size = n * n + spare
    setup = draft_setup(n, first_player, pool_size)
    state = begin({"size": n, "draft": True, "pool_size": pool_size}, setup)
    left = list(range(pool_size))
    expected = [[None] * size for size in hand_sizes(n, first_player)]
    for picks in range(n * n):
        player = (first_player + picks) % 2
        assert state.current_player() == player
        assert state.legal_actions() == [first_picks + k for k in left]
        k = left.pop((picks * 7) % len(left))
        state.apply_action(first_picks + k)
        expected[player][picks // 2] = setup["pool"][k]
        assert state.to_dict()["hands"] == expected
        assert state.to_dict()["board"] == [None] * (n * n)
    # The first player places first; what nobody picked is gone.
    assert state.current_player() == first_player
    assert max(state.legal_actions()) < first_picks


def test_chaos_does_not_pick_during_a_draft(begin):
    state = begin({"size": 3, "draft": True, "chaos": True, "pool_size": 9}, draft_setup(3, 1, 9))
    for picks in range(9):
        assert state.current_player() == (1 + picks) % 2
        state.apply_action(state.legal_actions()[0])
    assert state.current_player() == CHANCE
    assert state.legal_actions() == [0, 1, 2, 3, 4]


def test_order_follows_the_picks(begin):
    state = begin({"size": 3, "draft": True, "order": True, "pool_size": 9}, draft_setup(3, 0, 9))
    play(state, *range(53, 44, -1))
    assert state.legal_actions() == list(range(9))
    play(state, 0)
    assert state.to_dict()["board"][0] == [*litho("9111:fire"), 0]


def test_position_with_draft_starts_after_it(begin):
    setup = draft_setup(3, 0, 12)
    hands = [[litho("1111"), None, None, None, None], [None] * 4]
    setup["position"] = {"board": [[*litho("1111"), 0]] * 8 + [None], "hands": hands, "player": 0, "round": 0}
    state = begin({"size": 3, "draft": True}, setup)
    assert state.legal_actions() == [8]
    assert play(state, 8).is_terminal()


# --- endings ---


def nearly_full(own, values=None, cells=None, first_player=1, round_number=0, last="5555"):
    """A 4x4 setup with one empty cell, 15: the mover owns the cells `own` of the first 15, all 5555 unless said."""
    mover = 1 - (first_player + round_number) % 2
    texts = dict.fromkeys(range(15), "5555") | (values or {})
    board = [[*litho(texts[cell]), mover if cell in own else 1 - mover] for cell in range(15)] + [None]
    hands = [[None] * 8, [None] * 8]
    hands[mover][0] = litho(last)
    position = {"board": board, "hands": hands, "player": mover, "round": round_number}
    return {"first_player": first_player, "hands": [[], []], "cells": cell_list(cells, 4), "position": position}


def test_more_lithos_win(begin):
    assert list(play(begin({"size": 4}, nearly_full(own=range(8))), 15).returns()) == [1.0, -1.0]
    assert list(play(begin({"size": 4}, nearly_full(own=range(6))), 15).returns()) == [-1.0, 1.0]
    assert list(play(begin({"size": 4}, nearly_full(own=range(8), first_player=0)), 15).returns()) == [-1.0, 1.0]


def test_the_last_placement_captures_before_counting(begin):
    setup = nearly_full(own=range(6), last="6555")  # takes 11 from above: 8 to 8, and the sums 161 to 160
    assert list(play(begin({"size": 4}, setup), 15).returns()) == [1.0, -1.0]


@pytest.mark.parametrize(("text", "returns"), [("5556", [1.0, -1.0]), ("5554", [-1.0, 1.0]), ("4A15", [0.0, 0.0])])
def test_equal_counts_are_decided_by_side_values(begin, text, returns):
    # the text is of a stone which the mover, player 0, controls; 4 + 10 + 1 + 5 equals four fives
    state = play(begin({"size": 4}, nearly_full(own=range(7), values={0: text})), 15)
    assert state.is_terminal()
    assert list(state.returns()) == returns


def test_side_values_are_the_printed_ones(begin):
    cells = {0: "fire", 1: "wind", 8: "water"}
    setup = nearly_full(own=range(7), values={0: "5555:fire", 8: "5555:wind"}, cells=cells)
    assert list(play(begin({"size": 4}, setup), 15).returns()) == [0.0, 0.0]


def test_the_sum_is_over_controlled_lithos(begin):
    setup = nearly_full(own=range(6), values={11: "1111"}, last="5555")  # takes the weak 11: 8 to 8, 16 less
    assert list(play(begin({"size": 4}, setup), 15).returns()) == [-1.0, 1.0]


def test_a_draw_without_sudden_death_ends_the_game(begin):
    state = play(begin({"size": 4}, nearly_full(own=range(7))), 15)
    assert state.is_terminal()
    assert state.to_dict()["round"] == 0
    assert state.to_dict()["player"] is None


# --- Sudden Death ---


def even_sums():
    """Fifteen different Lithos whose sides all sum to 20, and which capture nothing of 15's neighbours."""
    return {cell: f"{1 + cell % 9}5{9 - cell % 9}5:{'fire' if cell < 9 else 'water'}" for cell in range(15)}


@pytest.mark.parametrize("first_player", [0, 1])
@pytest.mark.parametrize("round_number", [0, 1, 2])
def test_sudden_death_starts_a_new_round(begin, first_player, round_number):
    own = (0, 2, 3, 7, 8, 12, 13)
    setup = nearly_full(own, even_sums(), first_player=first_player, round_number=round_number)
    state = begin({"size": 4, "sudden_death": True}, setup)
    mover = state.current_player()
    play(state, 15)
    after = state.to_dict()
    assert after["board"] == [None] * 16
    assert after["round"] == round_number + 1
    # hands in cell order
    lithos = [stone[:5] for stone in setup["position"]["board"][:15]] + [litho("5555")]
    assert after["hands"][mover] == [lithos[cell] for cell in (*own, 15)]
    assert after["hands"][1 - mover] == [lithos[cell] for cell in range(15) if cell not in own]
    # round r is started by player (first_player + r) mod 2
    assert state.current_player() == (first_player + round_number + 1) % 2
    assert not state.is_terminal()
    assert list(state.returns()) == [0.0, 0.0]
    assert state.legal_actions() == list(range(8 * 16))


def test_sudden_death_needs_a_draw(begin):
    config = {"size": 4, "sudden_death": True}
    assert play(begin(config, nearly_full(own=range(8))), 15).is_terminal()
    assert play(begin(config, nearly_full(own=range(7), last="5556")), 15).is_terminal()


@pytest.mark.parametrize("round_number", [0, 1, 3])
def test_max_rounds_counts_the_first_round(begin, round_number):
    setup = nearly_full(own=range(7), round_number=round_number)
    config = {"size": 4, "sudden_death": True, "max_rounds": round_number + 1}
    ended = play(begin(config, setup), 15)
    assert ended.is_terminal()
    assert list(ended.returns()) == [0.0, 0.0]
    assert ended.to_dict()["round"] == round_number
    more = play(begin({**config, "max_rounds": round_number + 2}, setup), 15)
    assert not more.is_terminal()


def test_two_rounds_to_the_limit(begin):
    state = begin({"size": 4, "sudden_death": True, "max_rounds": 3}, filled(4, 0))
    starts = []
    while not state.is_terminal():
        if state.to_dict()["board"] == [None] * 16:
            starts.append(state.current_player())
        state.apply_action(state.legal_actions()[0])
    assert starts == [0, 1, 0]
    assert list(state.returns()) == [0.0, 0.0]


def test_elemental_cells_stay_in_sudden_death(begin):
    config = {"size": 4, "sudden_death": True}
    for cells, captured in ({0: "fire"}, [0]), (None, []):
        state = play(begin(config, nearly_full(own=range(7), cells=cells)), 15, 0)
        before = state.to_dict()
        assert captured_cells(before, play(state, 1).to_dict()) == captured


def test_sudden_death_with_chaos_and_with_order(begin):
    setup = nearly_full(own=range(7))
    state = play(begin({"size": 4, "sudden_death": True, "chaos": True}, setup), 0, 15)
    assert state.current_player() == CHANCE
    assert state.legal_actions() == list(range(8))
    state = play(begin({"size": 4, "sudden_death": True, "order": True}, setup), 15)
    assert state.legal_actions() == list(range(16))


def test_a_draft_is_not_repeated_in_sudden_death(begin):
    setup = draft_setup(4, 0, 16)
    setup["pool"] = [litho("5555")] * 16
    state = begin({"size": 4, "sudden_death": True, "draft": True, "pool_size": 16}, setup)
    for _ in range(32):
        state.apply_action(state.legal_actions()[0])
    assert state.to_dict()["round"] == 1
    assert state.current_player() == 1
    assert state.legal_actions() == list(range(128))
