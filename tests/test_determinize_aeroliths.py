"""Aeroliths: the distribution of redealt hands, against brute-force enumeration by chi-squared tests."""

from collections import Counter
from itertools import permutations, product
from random import Random

import pytest
from naive.drawn_aeroliths import cell_list, litho
from naive.redeals import SIX, assert_distributed, hidden_hand, sampled, write_catalogue

from trilithon.core import load_game

FOREIGN = [litho(text) for text in ("3333", "4444", "5555", "6666")]  # on the board, in no catalogue


def middle(board, hands, player=1):
    """A 3x3 setup in which player 0 began and placed three, player 1 two: the hands hold two Lithos each."""
    slots = ((1, 3), (0, 2))
    padded = [[None] * 5, [None] * 4]
    for seat, pair in enumerate(hands):
        for slot, stone in zip(slots[seat], pair):
            padded[seat][slot] = stone
    stones = [[*stone, cell % 2] for cell, stone in enumerate(board)] + [None] * 4
    position = {"board": stones, "hands": padded, "player": player, "round": 0}
    return {"first_player": 0, "hands": [[], []], "cells": cell_list(None, 3), "position": position}


def enumerate_hands(catalogue, seen, slots):
    """Every way to deal the hidden slots from the catalogue's Lithos that the player has not seen."""
    unseen = [tuple(stone) for stone in catalogue]
    for stone in map(tuple, seen):
        if stone in unseen:
            unseen.remove(stone)
    return Counter(permutations(unseen, slots))


@pytest.fixture(params=["view", "resample_from_infostate"])
def method(request):
    return request.param


# --- catalogue: without replacement from what was not seen ---


@pytest.mark.parametrize("player", [0, 1])
def test_catalogue_matches_enumeration(tmp_path, method, player):
    path = write_catalogue(tmp_path / "six.csv", SIX)
    game = load_game("aeroliths", hands="manual", source="catalogue", catalogue=path)
    board, hands = [SIX[0], *FOREIGN], [SIX[1:3], SIX[3:5]]
    state = game.from_setup(middle(board, hands))
    expected = enumerate_hands(SIX, board + hands[player], 2)
    assert len(expected) == 6
    assert_distributed(Counter(hidden_hand(world, player) for world in sampled(state, player, method)), expected)


def test_catalogue_hand_of_three_from_five(tmp_path):
    path = write_catalogue(tmp_path / "six.csv", SIX)
    game = load_game("aeroliths", hands="manual", source="catalogue", catalogue=path)
    setup = middle([*FOREIGN, FOREIGN[0]], [[], []])
    setup["position"]["board"][4] = None
    setup["position"]["hands"] = [[None, None, SIX[0], None, FOREIGN[1]], [SIX[1], SIX[2], None, SIX[3]]]
    state = game.from_setup({**setup, "first_player": 0})
    expected = enumerate_hands(SIX, [SIX[0]], 3)
    assert len(expected) == 60
    assert_distributed(Counter(hidden_hand(world, 0) for world in sampled(state, 0, "view", 3000)), expected)


def test_catalogue_with_equal_lithos_under_two_names(tmp_path, method):
    twice = [SIX[0], SIX[0], SIX[1], SIX[1], SIX[2], SIX[3]]
    path = write_catalogue(tmp_path / "twice.csv", twice)
    game = load_game("aeroliths", hands="manual", source="catalogue", catalogue=path)
    board, hands = [SIX[0], *FOREIGN], [[SIX[2], FOREIGN[0]], [SIX[1], SIX[0]]]
    state = game.from_setup(middle(board, hands))
    expected = enumerate_hands(twice, board + hands[0], 2)
    assert expected[tuple(SIX[1]), tuple(SIX[1])] == 2
    assert_distributed(Counter(hidden_hand(world, 0) for world in sampled(state, 0, method)), expected)


def test_catalogue_whole_games_never_repeat_a_seen_litho():
    game = load_game("aeroliths", size=4, source="catalogue")
    state = game.new_initial_state(seed=5)
    choose = Random(5)
    while not state.is_terminal():
        for player in range(2):
            world = state.view(player, 3).to_dict()
            lithos = [tuple(stone[:5]) for stone in world["board"] if stone is not None]
            lithos += [tuple(stone) for hand in world["hands"] for stone in hand if stone is not None]
            assert len(set(lithos)) == 16
        state.apply_action(choose.choice(state.legal_actions()))


# --- fresh draws ---


def test_uniform_source_is_drawn_afresh(method):
    game = load_game("aeroliths", first_player=0)
    state = game.new_initial_state(seed=3)
    worlds = [hidden_hand(world, 0) for world in sampled(state, 0, method, 1500)]
    for slot in range(4):
        for side in range(4):
            assert_distributed(Counter(hand[slot][side] for hand in worlds), dict.fromkeys(range(1, 11), 1))
        assert_distributed(Counter(hand[slot][4] for hand in worlds), dict.fromkeys(range(4), 1))
    pairs = Counter((hand[0][4], hand[1][4]) for hand in worlds)
    assert_distributed(pairs, dict.fromkeys(product(range(4), repeat=2), 1))
    pairs = Counter((hand[1][0], hand[1][1]) for hand in worlds)
    assert_distributed(pairs, dict.fromkeys(product(range(1, 11), repeat=2), 1))


def test_budget_source_is_drawn_afresh(method):
    game = load_game("aeroliths", source="budget", budget=6, first_player=0)
    state = game.new_initial_state(seed=3)
    vectors = {vector: 1 for vector in product(range(1, 4), repeat=4) if sum(vector) == 6}
    worlds = [hidden_hand(world, 0) for world in sampled(state, 0, method, 1500)]
    for slot in range(4):
        assert_distributed(Counter(hand[slot][:4] for hand in worlds), vectors)
        assert_distributed(Counter(hand[slot][4] for hand in worlds), dict.fromkeys(range(4), 1))


def test_budget_source_of_twenty_has_exact_marginals():
    state = load_game("aeroliths", source="budget", first_player=0).new_initial_state(seed=3)
    expected = Counter(vector[0] for vector in product(range(1, 11), repeat=4) if sum(vector) == 20)
    worlds = [hidden_hand(world, 0) for world in sampled(state, 0, "view", 1500)]
    for side in range(4):
        assert_distributed(Counter(hand[2][side] for hand in worlds), expected)


def test_mirrored_last_litho_comes_from_the_catalogue(tmp_path, method):
    path = write_catalogue(tmp_path / "six.csv", SIX)
    game = load_game("aeroliths", hands="mirrored", source="catalogue", catalogue=path, first_player=0)
    state = game.new_initial_state(seed=4)
    for action in 0 * 9 + 0, 2 * 9 + 1:
        state.apply_action(action)
    first, second = game.new_setup(4)["hands"]
    expected = {tuple(stone): 1 for stone in SIX if stone not in second}
    assert len(expected) == 2
    worlds = [hidden_hand(world, 1) for world in sampled(state, 1, method, 600)]
    assert all(hand[:3] == tuple(map(tuple, first[1:4])) for hand in worlds)
    assert_distributed(Counter(hand[3] for hand in worlds), expected)
