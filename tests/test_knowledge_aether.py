"""Aether: equal worlds for equal information, what is known for certain, and that no agent sees a hidden tile."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from naive.aether import NaiveAether
from naive.drawn_aether import FLOWER, RINGS, drawn
from naive.posterior_aether import retold
from naive.scenarios_aether import Style, random_scenario

from trilithon.core import CHANCE, load_game

W, F, E, A = range(4)
METHODS = ("view", "resample_from_infostate")


@pytest.fixture(params=METHODS)
def method(request):
    return request.param


def after(config, setup, actions):
    """The state after these actions."""
    state = load_game("aether", **config).from_setup(setup)
    for action in actions:
        state.apply_action(action)
    return state


def random_actions(rng, config, setup, most=40):
    """Actions of the start of a random game."""
    twin, style, actions = NaiveAether(config, setup), Style(rng), []
    for _ in range(rng.randrange(most)):
        if not twin.is_terminal():
            actions.append(style.choose(rng, twin))
            twin.apply_action(actions[-1])
    return actions


def place(state, element, slot):
    state.apply_action((element * len(state.to_dict()["tiles"]) + slot) * 2)


def swap(state, *elements):
    """Give up an elemental and draw these tiles, as many as are told."""
    state.apply_action(8 * len(state.to_dict()["tiles"]))
    for element in elements:
        state.apply_action(element)


# -------------------------------------------------------------------------------------- equal information, equal worlds


def forms(state, player):
    """All that a player may get of a state, as the names of what must be equal for equal information."""
    view = state.view(player, 5)
    world = state.resample_from_infostate(player, 5)
    return {
        "view's array": view.array.tobytes(),
        "view's bytes": view.to_bytes(),
        "view's text": str(view),
        "view's picture": view._repr_svg_(),
        "view's setup": view.setup(),
        "view's history": view.history(),
        "view's strings": [view.information_state_string(seat) for seat in range(state.game.num_players())],
        "view's observations": [view.observation_tensor(seat).tobytes() for seat in range(state.game.num_players())],
        "world's bytes": world.to_bytes(),
        "world's array": world.array.tobytes(),
        "string": state.information_state_string(player),
        "observation": state.observation_tensor(player).tobytes(),
        "text": state.to_text(player),
        "picture": state.to_svg(player),
        "heuristic": state.heuristic().tolist(),
        "margin": state.margin().tolist(),
        "player": state.current_player(),
        "actions": state.legal_actions() if state.current_player() == player else None,
    }


@pytest.mark.parametrize("seed", range(80))
def test_equal_information_gives_equal_bytes(seed):
    """Two games that differ in what a player cannot see, first hands and draws, are one game to that player."""
    rng = Random(seed)
    config, setup = random_scenario(rng)
    actions = random_actions(rng, config, setup)
    state = after(config, setup, actions)
    for player in range(config["players"]):
        other = after(config, *retold(config, setup, actions, player, rng))
        mine, others = forms(state, player), forms(other, player)
        assert not [name for name in mine if mine[name] != others[name]]


def test_the_two_games_do_differ():
    """What the test above compares: mostly the present differs, and then the others' strings differ too."""
    differing = 0
    for seed in range(60):
        rng = Random(seed)
        config, setup = random_scenario(rng)
        actions = random_actions(rng, config, setup)
        state, other = (after(config, *story) for story in ((setup, actions), retold(config, setup, actions, 0, rng)))
        if state.to_dict() == other.to_dict():
            continue
        differing += 1
        seats = range(1, config["players"])
        assert any(state.information_state_string(seat) != other.information_state_string(seat) for seat in seats)
    assert differing > 40


@pytest.mark.parametrize("seed", range(60))
def test_a_world_keeps_everything_the_player_knows(seed, method):
    rng = Random(1000 + seed)
    config, setup = random_scenario(rng)
    state = after(config, setup, random_actions(rng, config, setup, 60))
    true, before = state.to_dict(), state.to_bytes()
    outside = sum(map(len, true["hands"])) + sum(true["bag"])
    for player in range(config["players"]):
        sampled_state = getattr(state, method)(player, seed)
        world = sampled_state.to_dict()
        for key in "player", "tiles", "elementals", "unused", "sacrificed", "points":
            assert world[key] == true[key]
        assert world["hands"][player] == true["hands"][player]
        assert list(map(len, world["hands"])) == list(map(len, true["hands"]))
        assert sum(map(len, world["hands"])) + sum(world["bag"]) == outside
        assert all(element in range(4) for hand in world["hands"] for element in hand)
        assert min(world["bag"]) >= 0
        if state.current_player() == player:
            assert sampled_state.legal_actions() == state.legal_actions()
        assert sampled_state.current_player() == state.current_player()
        assert sampled_state.returns().tolist() == state.returns().tolist()
        assert sampled_state.information_state_string(player) == state.information_state_string(player)
        assert np.array_equal(sampled_state.observation_tensor(player), state.observation_tensor(player))
        assert sampled_state.view(player, 5).to_bytes() == state.view(player, 5).to_bytes()
        again = sampled_state.resample_from_infostate(player, 5)
        assert again.to_bytes() == state.resample_from_infostate(player, 5).to_bytes()
    assert state.to_bytes() == before


@pytest.mark.parametrize("seed", range(30))
def test_tiles_are_conserved_in_every_world(seed, method):
    """Of every element: board, hands, bag, and during a swap the hand put aside, as many as at the start."""
    rng = Random(2000 + seed)
    config, setup = random_scenario(rng)
    actions = random_actions(rng, config, setup, 60)
    state = after(config, setup, actions)
    twin = NaiveAether(config, setup)
    pool = Counter(dict(enumerate(twin.bag)))
    pool.update(element for hand in setup["hands"] for element in hand)
    pool.update(element for element in setup["tiles"] if element is not None)
    for action in actions:
        twin.apply_action(action)
    for player in range(config["players"]):
        world = getattr(state, method)(player, seed)
        position = world.to_dict()
        lying = Counter(dict(enumerate(position["bag"])))
        lying.update(element for hand in position["hands"] for element in hand)
        lying.update(element for element in position["tiles"] if element is not None)
        missing = pool - lying
        assert not lying - pool
        assert missing.total() == len(twin.aside or [])
        if twin.aside is not None and twin.mover == player:
            assert missing == Counter(twin.aside), "the own hand put aside is known"
        while world.is_chance_node():  # what comes next brings it back
            world.apply_action(world.legal_actions()[0])
        position = world.to_dict()
        assert (
            sum(position["bag"])
            + sum(map(len, position["hands"]))
            + sum(element is not None for element in position["tiles"])
            == pool.total()
        )


# -------------------------------------------------------------------------------------------- what a player can not see


def test_only_the_own_draws_are_seen():
    game = load_game("aether", board="mini", players=3, first_player=0)
    state = game.new_initial_state(seed=3)
    rng, drawers = Random(3), []
    for _ in range(16):
        if state.is_chance_node():
            drawers.append((len(state.history()), whose_tile_is_drawn(state)))
        state.apply_action(rng.choice(state.legal_actions()))
    assert len({drawer for _, drawer in drawers}) == 3
    for player in range(3):
        told = state.view(player, 1).history()
        for step, drawer in drawers:
            assert told[step][0] == CHANCE
            assert (told[step][1] is None) == (drawer != player)
        assert [step for step in told if step[0] >= 0] == [step for step in state.history() if step[0] >= 0]


def whose_tile_is_drawn(state):
    """The mover, also while chance is to move."""
    twin = NaiveAether(state.game.options, state.setup())
    for _, action in state.history():
        twin.apply_action(action)
    return twin.mover


def test_teammates_do_not_see_each_other_s_hands():
    for teams in (False, True):
        game = load_game("aether", board="small", players=4, teams=teams, first_player=0)
        state = game.new_initial_state(seed=4)
        worlds = [state.view(0, seed).to_dict()["hands"] for seed in range(12)]
        for seat in range(1, 4):
            assert len({str(hands[seat]) for hands in worlds}) > 6
        assert all(hands[0] == state.to_dict()["hands"][0] for hands in worlds)
        shown = state.to_text(0)
        other = after(game.options, *retold(game.options, state.setup(), [], 0, Random(1)))
        assert other.to_dict()["hands"][2] != state.to_dict()["hands"][2]
        assert other.to_text(0) == shown


def test_a_swap_is_seen_and_its_tiles_are_not():
    config, setup = drawn(FLOWER, {}, hands=[[W, F], [E, A]])
    first, second, calm = (after(config, setup, []) for _ in range(3))
    swap(first, W, F)
    swap(second, A, A)
    place(first, W, 0)
    place(calm, W, 0)
    strings = [state.information_state_string(1) for state in (first, calm)]
    assert strings[0] != strings[1]
    assert first.to_dict()["sacrificed"] == [1, 0]
    assert len({state.information_state_string(0) for state in (first, second, calm)}) == 3
    again = after(config, setup, [])
    swap(again, A, A)
    assert again.information_state_string(0) == second.information_state_string(0)
    assert again.information_state_string(1) == after(config, setup, [48, W, F]).information_state_string(1)


def test_the_order_of_the_own_draws_is_remembered():
    config, setup = drawn(FLOWER, {}, hands=[[W, F], [E, A]])
    forth, back = (after(config, setup, [48, *tiles]) for tiles in ((W, A), (A, W)))
    assert forth.to_dict() == back.to_dict()
    assert forth.information_state_string(0) != back.information_state_string(0)
    assert forth.information_state_string(1) == back.information_state_string(1)


def test_every_part_of_the_past_is_in_the_own_string():
    """Perfect recall: any other own draw, or any other public action, is another string."""
    for seed in range(20):
        rng = Random(seed)
        config, setup = random_scenario(rng)
        twin, style, actions = NaiveAether(config, setup), Style(rng), []
        prefixes = {player: {after(config, setup, []).information_state_string(player)} for player in (0, 1)}
        state = after(config, setup, [])
        while not twin.is_terminal() and len(actions) < 15:
            legal, mover, chance = twin.legal_actions(), twin.current_player(), twin.mover
            for player in (0, 1):
                strings = [state.child(action).information_state_string(player) for action in legal[:12]]
                seen = mover != CHANCE or chance == player
                assert len(set(strings)) == (len(strings) if seen else 1)
            actions.append(style.choose(rng, twin))
            twin.apply_action(actions[-1])
            state.apply_action(actions[-1])
            for player in (0, 1):
                string = state.information_state_string(player)
                assert string not in prefixes[player], "the string grows with every step"
                prefixes[player].add(string)


# -------------------------------------------------------------------------------------------- what is known for certain


def hands_of(state, player, seat, count=60, method="view"):
    """The hands of a seat in sampled worlds."""
    return [tuple(getattr(state, method)(player, seed).to_dict()["hands"][seat]) for seed in range(count)]


def test_what_was_given_back_is_in_nobody_s_older_hand(method):
    """All seven water tiles but those on the board come back into the bag: the others cannot hold any."""
    tiles = dict.fromkeys((0, 1, 2, 4, 5), W)
    config, setup = drawn(RINGS, tiles, hands=[[W, W], [F, F]])
    state = after(config, setup, [])
    swap(state, E, E)
    assert all(W not in hand for hand in hands_of(state, 0, 1, method=method))
    place(state, E, 3)
    state.apply_action(A)
    place(state, F, 6)
    state.apply_action(F)  # the only tile that can be water
    hands = hands_of(state, 0, 1, method=method)
    assert any(W in hand for hand in hands)
    assert all(hand.count(W) <= 1 for hand in hands)
    other = hands_of(state, 1, 0, method=method)
    assert any(W in hand for hand in other), "the other player does not know what was given back"


def test_old_tiles_are_not_drawn_by_their_own_swap(method):
    """Inside a swap the bag lacks the old hand, and the player who swaps knows it."""
    config, setup = drawn(FLOWER, {}, hands=[[W, W], [F, F]], bag=[0, 1, 1, 1])
    state = after(config, setup, [])
    swap(state)
    for seed in range(30):
        world = getattr(state, method)(0, seed)
        assert world.to_dict()["bag"][W] == 0
        assert W not in world.legal_actions()
    bags = [getattr(state, method)(1, seed).to_dict()["bag"] for seed in range(60)]
    assert any(bag[W] for bag in bags), "the opponent may think that the hand put aside was another"


def test_an_empty_bag_with_two_players_hides_nothing(method):
    config, setup = drawn(FLOWER, {2: W, 4: W}, hands=[[W, F], [E, A]], bag=[0, 0, 0, 0])
    state = after(config, setup, [])
    for player in (0, 1):
        for seed in range(10):
            assert getattr(state, method)(player, seed).to_dict() == state.to_dict()
    place(state, F, 0)
    assert getattr(state, method)(1, 3).to_dict() == state.to_dict()


def test_tiles_that_were_all_seen_are_nowhere_else(method):
    config, setup = drawn(RINGS, dict.fromkeys((0, 1, 2, 4, 5, 7, 10), A), players=3, hands=[[W, F], [E, F], [W, W]])
    state = after(config, setup, [])
    for player in range(3):
        for seat in range(3):
            assert all(A not in hand for hand in hands_of(state, player, seat, method=method))


def test_worlds_have_a_history_by_the_rules():
    """Histories of worlds are games by the rules: the twin plays them."""
    state = load_game("aether", board="mini", first_player=0).new_initial_state(5)
    rng = Random(5)
    for _ in range(20):
        state.apply_action(rng.choice(state.legal_actions()))
    for player in (0, 1):
        for seed in range(10):
            world = state.resample_from_infostate(player, seed)
            twin = NaiveAether(world.game.options, world.setup())
            for _, action in world.history():
                twin.apply_action(action)  # refuses a tile that is not held or not in the bag
            assert twin.to_dict() == world.to_dict()
