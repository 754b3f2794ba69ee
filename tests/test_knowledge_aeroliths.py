"""Aeroliths: what is known for certain, what Chaos hides, and equal worlds for equal information."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from naive.drawn_aeroliths import cell_list, litho
from naive.redeals import assert_distributed, sampled
from naive.scenarios import random_scenario

from trilithon.core import CHANCE, SetupError, load_game


@pytest.fixture(params=["view", "resample_from_infostate"])
def method(request):
    return request.param


# --- what is known for certain ---


def test_open_hands_are_known():
    state = load_game("aeroliths", open_hands=True).new_initial_state(seed=2)
    for player in range(2):
        assert state.view(player, 1).to_dict() == state.to_dict()


@pytest.mark.parametrize("n", [3, 4])
def test_drafted_hands_are_known_during_and_after_the_draft(n, method):
    state = load_game("aeroliths", size=n, draft=True).new_initial_state(seed=2)
    choose = Random(2)
    while not state.is_terminal():
        for player in range(2):
            world = getattr(state, method)(player, 1)
            assert world.to_dict() == state.to_dict()
            assert world.legal_actions() == state.legal_actions()
        state.apply_action(choose.choice(state.legal_actions()))


def test_hands_of_sudden_death_rounds_are_known(method):
    game = load_game("aeroliths", size=4, sudden_death=True, max_rounds=3)
    hands = [[litho(f"5555:{element}")] * 8 for element in ("fire", "earth")]
    state = game.from_setup({"first_player": 0, "hands": hands, "cells": cell_list(None, 4)})
    assert getattr(state, method)(0, 1).to_dict() != state.to_dict()
    choose = Random(2)
    while state.to_dict()["round"] == 0:
        state.apply_action(choose.choice(state.legal_actions()))
    while not state.is_terminal():
        for player in range(2):
            assert getattr(state, method)(player, 1).to_dict() == state.to_dict()
        state.apply_action(choose.choice(state.legal_actions()))


@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("first_player", [0, 1])
def test_mirrored_hands_hide_the_last_litho_on_odd_boards_alone(n, first_player, method):
    state = load_game("aeroliths", size=n, hands="mirrored", first_player=first_player).new_initial_state(seed=4)
    second, last = 1 - first_player, (n * n) // 2
    choose = Random(4)
    while not state.is_terminal():
        true = state.to_dict()
        assert getattr(state, method)(first_player, 1).to_dict() == true
        worlds = [getattr(state, method)(second, seed).to_dict() for seed in range(4)]
        # The own Lithos that were played still tell what the first player holds in these slots.
        for world in worlds:
            assert world["hands"][second] == true["hands"][second]
            assert world["hands"][first_player][:last] == true["hands"][first_player][:last]
        if n % 2 and true["hands"][first_player][last] is not None:
            assert len({str(world["hands"][first_player][last]) for world in worlds}) > 1
        else:
            assert all(world == true for world in worlds)
        state.apply_action(choose.choice(state.legal_actions()))


def test_mirrored_setups_that_differ_in_the_last_litho_look_equal_to_the_second_player():
    game = load_game("aeroliths", hands="mirrored", first_player=0)
    setup = game.new_setup(1)
    first, second = setup["hands"]
    other = {**setup, "hands": [first[:4] + [litho("1111:none")], second]}
    states = [game.from_setup(variant) for variant in (setup, other)]
    assert len({state.view(1, 3).to_bytes() for state in states}) == 1
    assert len({state.information_state_string(1) for state in states}) == 1
    assert all(state.view(1, 3).to_dict()["hands"][0][:4] == second for state in states)


def test_hands_that_are_equal_by_chance_are_not_known():
    setup = load_game("aeroliths", hands="mirrored", first_player=0).new_setup(1)
    state = load_game("aeroliths", first_player=0).from_setup(setup)
    for player in range(2):
        hidden, true = state.view(player, 3).to_dict()["hands"], state.to_dict()["hands"]
        assert all(a != b for a, b in zip(hidden[1 - player], true[1 - player]))


# --- the slot that Chaos picked ---


def chaos_states(**options):
    """One state a pick: equal but for the slot which Chaos picked for player 1 in its second turn."""
    game = load_game("aeroliths", chaos=True, first_player=0, **options)
    state = game.new_initial_state(seed=6)
    while not state.is_chance_node():  # a draft
        state.apply_action(state.legal_actions()[0])
    for step in (2, 2 * 9 + 4), (1, 1 * 9 + 5), (0, 0 * 9 + 0):
        for action in step:
            state.apply_action(action)
    assert state.current_player() == CHANCE
    assert state.legal_actions() == [0, 2, 3]
    return {slot: state.child(slot) for slot in state.legal_actions()}


@pytest.mark.parametrize("options", [{}, {"draft": True}, {"hands": "mirrored"}], ids=str)
def test_chaos_pick_is_hidden_from_the_other_player(options):
    states = chaos_states(**options)
    assert len({state.view(0, 5).to_bytes() for state in states.values()}) == 1
    assert len({str(state.resample_from_infostate(0, 5).to_dict()) for state in states.values()}) == 1
    assert len({state.information_state_string(0) for state in states.values()}) == 1
    assert len({state.observation_tensor(0).tobytes() for state in states.values()}) == 1
    for slot, state in states.items():
        for world in state.view(1, 5), state.resample_from_infostate(1, 5):
            assert world.legal_actions() == state.legal_actions()
            assert {action // 9 for action in world.legal_actions()} == {slot}
    assert len({state.information_state_string(1) for state in states.values()}) == 3


@pytest.mark.parametrize("options", [{}, {"draft": True}], ids=str)
def test_chaos_pick_is_uniform_for_the_other_player(options, method):
    state = chaos_states(**options)[2]
    counts = Counter(world.legal_actions()[0] // 9 for world in sampled(state, 0, method, 900))
    assert_distributed(counts, dict.fromkeys((0, 2, 3), 1))


def test_chaos_pick_is_hidden_in_sudden_death_rounds_too():
    game = load_game("aeroliths", size=4, chaos=True, sudden_death=True)
    hands = [[litho(f"5555:{element}")] * 8 for element in ("fire", "earth")]
    state = game.from_setup({"first_player": 0, "hands": hands, "cells": cell_list(None, 4)})
    while state.to_dict()["round"] == 0:
        state.apply_action(state.legal_actions()[-1])
    assert state.legal_actions() == list(range(8))
    states = [state.child(slot) for slot in range(8)]  # player 1 begins the second round
    assert all(after.view(0, 5).to_dict() == after.to_dict() for after in states)
    assert len({after.view(0, 5).to_bytes() for after in states}) == 1
    assert len({after.view(1, 5).to_bytes() for after in states}) == 8


def test_chaos_pick_is_public_with_open_hands():
    for state in chaos_states(open_hands=True).values():
        assert state.view(0, 5).legal_actions() == state.legal_actions()


def test_chaos_pick_does_not_leak_after_the_placement():
    for state in chaos_states().values():
        state.apply_action(state.legal_actions()[0])
        assert state.view(0, 5).current_player() == CHANCE
        assert state.view(0, 5).legal_actions() == state.legal_actions()


# --- equal information, equal worlds ---


def hidden_variants(setup, spare, opponent):
    """Three setups: as given, the opponent's slots from 2 on reversed, and these taken from another setup."""

    def with_hidden(hands, hidden):
        return [hand[:2] + hidden if seat == opponent else hand for seat, hand in enumerate(hands)]

    def variant(change):
        changed = {**setup, "hands": with_hidden(setup["hands"], change(setup["hands"], spare["hands"]))}
        if "names" in setup:
            names, spare_names = setup["names"]["hands"], spare["names"]["hands"]
            changed["names"] = {"hands": with_hidden(names, change(names, spare_names))}
        return changed

    changes = [
        lambda hands, _: hands[opponent][2:],
        lambda hands, _: hands[opponent][:1:-1],
        lambda _, others: others[opponent][2:],
    ]
    return [variant(change) for change in changes]


@pytest.mark.parametrize("options", [{}, {"source": "budget"}, {"source": "catalogue"}, {"order": True}], ids=str)
@pytest.mark.parametrize("player", [0, 1])
def test_equal_information_gives_equal_bytes(options, player):
    """The opponent's slots 0 and 1 are played in order; what lies in the other slots differs and is never seen."""
    game = load_game("aeroliths", size=4, first_player=0, **options)
    setup, spare = game.new_setup(1), game.new_setup(2)
    states = [game.from_setup(variant) for variant in hidden_variants(setup, spare, 1 - player)]
    for ply in range(4):
        assert len({str(state.to_dict()) for state in states}) == 3
        for seed in 5, 6:
            views = [state.view(player, seed) for state in states]
            assert len({view.to_bytes() for view in views}) == 1
            assert len({str(view) for view in views}) == 1
            assert len({view._repr_svg_() for view in views}) == 1
            assert len({str(view.setup()) for view in views}) == 1
            worlds = [state.resample_from_infostate(player, seed) for state in states]
            assert len({str(world.to_dict()) for world in worlds}) == 1
        assert len({state.information_state_string(player) for state in states}) == 1
        assert len({state.observation_tensor(player).tobytes() for state in states}) == 1
        assert len({state.information_state_string(1 - player) for state in states}) == 3
        for state in states:
            state.apply_action(ply // 2 * 16 + ply)


@pytest.mark.parametrize("seed", range(60))
def test_a_world_keeps_everything_the_player_knows(seed, method):
    choose = Random(seed)
    config, setup = random_scenario(choose)
    state = load_game("aeroliths", **config).from_setup(setup)
    known_hands = config["open_hands"] or config["draft"]
    for _ in range(choose.randrange(25)):
        if not state.is_terminal():
            state.apply_action(choose.choice(state.legal_actions()))
    true, before = state.to_dict(), state.to_bytes()
    for player in range(2):
        sampled_state = getattr(state, method)(player, seed)
        world = sampled_state.to_dict()
        for key in "player", "board", "round":
            assert world[key] == true[key]
        assert world["hands"][player] == true["hands"][player]
        if known_hands or true["round"] > 0:
            assert world["hands"] == true["hands"]
        assert [stone is None for stone in world["hands"][1 - player]] == [
            stone is None for stone in true["hands"][1 - player]
        ]
        if state.current_player() in (player, CHANCE):
            assert sampled_state.legal_actions() == state.legal_actions()
        assert sampled_state.information_state_string(player) == state.information_state_string(player)
        assert np.array_equal(sampled_state.observation_tensor(player), state.observation_tensor(player))
        assert sampled_state.view(player, 5).to_bytes() == state.view(player, 5).to_bytes()
        assert sampled_state.resample_from_infostate(player, 5).to_dict() == (
            state.resample_from_infostate(player, 5).to_dict()
        )
    assert state.to_bytes() == before


# ------------------------------------------------------------------------------------------- setups and views of views


def test_hands_beside_a_position_are_dropped():
    """A setup may carry both; the unused hands must not reach a view (nor bytes that a stranger reads)."""
    game = load_game("aeroliths", first_player=0)
    state = game.new_initial_state(3)
    hands = state.setup()["hands"]
    for _ in range(3):
        state.apply_action(state.legal_actions()[4])
    both = game.from_setup({**state.position_setup(), "hands": hands, "names": {"hands": "anything"}})
    plain = game.from_setup(state.position_setup())
    assert both.setup() == plain.setup()
    for player in (0, 1):
        assert both.view(player, 5).to_bytes() == plain.view(player, 5).to_bytes()


def test_known_slots_that_are_not_in_hand_change_nothing():
    game = load_game("aeroliths", first_player=0)
    state = game.new_initial_state(3)
    state.apply_action(state.string_to_action("0@a1"))
    setup = state.position_setup()
    marked = {**setup, "position": {**setup["position"], "known": [[0, 12], []]}}
    views = [game.from_setup(s).view(1, 5) for s in (setup, marked)]
    assert views[0].to_bytes() == views[1].to_bytes()
    assert (views[0].array == views[1].array).all()


def test_a_view_of_a_view_hides_the_first_viewers_pick():
    game = load_game("aeroliths", chaos=True, first_player=0)
    state = game.new_initial_state(3)
    state.apply_action(state.legal_actions()[1])
    own = state.view(0, 1)
    other = own.view(1, 2)
    assert other.history()[-1] == [-1, None]
    picks = {own.resample_from_infostate(1, k).history()[-1][1] for k in range(40)}
    assert picks == {0, 1, 2, 3, 4}


def test_mirrored_hands_are_one_draw_from_a_catalogue(tmp_path):
    """A catalogue's two equal Lithos: having one of them in both hands leaves the other one to be drawn."""
    rows = ["twin a,1,2,3,4,fire", "twin b,1,2,3,4,fire", *(f"other {i},{i},5,5,5,wind" for i in range(1, 8))]
    path = tmp_path / "nine.csv"
    path.write_text("name,top,right,bottom,left,element\n" + "\n".join(rows) + "\n")
    game = load_game("aeroliths", source="catalogue", catalogue=str(path), hands="mirrored", first_player=0)
    twin, true_count, view_count, held = [1, 2, 3, 4, 0], 0, 0, 0
    for number in range(1500):
        state = game.new_initial_state(number)
        if twin not in state.setup()["hands"][1]:
            continue
        held += 1
        true_count += state.setup()["hands"][0][4] == twin
        view_count += state.view(1, number).setup()["hands"][0][4] == twin
    assert held > 400
    assert abs(true_count - view_count) < 5 * (held * 0.2 * 0.8 * 2) ** 0.5
    assert view_count > 0


def test_what_the_opponent_knows_of_the_own_hand_is_observed():
    game = load_game("aeroliths", hands="mirrored", first_player=0)
    state = game.new_initial_state(3)
    offset, shape = game.layout().blocks["own_hand"]
    own = state.observation_tensor(0)[offset : offset + shape[0] * shape[1]].reshape(shape)
    assert own[:, 1].tolist() == [1, 1, 1, 1, 0]
    closed = load_game("aeroliths", first_player=0).new_initial_state(3).observation_tensor(0)
    assert not closed[offset : offset + shape[0] * shape[1]].reshape(shape)[:, 1].any()


@pytest.mark.parametrize("names", [None, 5, [], {"hands": 3}, {"hands": [[], []]}, {"pool": []}, {"x": 1}])
def test_names_that_name_nothing_are_refused(names):
    game = load_game("aeroliths", first_player=0)
    setup = {**game.new_setup(3), "names": names}
    if names is None:
        assert "names" not in game.from_setup(setup).setup()
    else:
        with pytest.raises(SetupError, match="names"):
            game.from_setup(setup)
