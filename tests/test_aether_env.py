"""Aether's environment: PettingZoo's conformance for 2, 3 and 4 players, turns, swaps, proposals, copies, saves."""

import copy
import pickle
import warnings
from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest
from naive.drawn_aether import FLOWER, drawn
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.test.state_test import test_state_space as check_state_space
from test_envs import EXPECTED_WARNINGS, sampled, trace

from trilithon.core import SetupError, load_game
from trilithon.core.rng import categorical, game_streams
from trilithon.envs import aether_v0

# All the tiles that there are can be on it or in hands at the end, and a hand is one tile.
TIGHT = (
    "% name: tight\n% tiles_per_element: 3\n% elementals: 2 2 1\n% hand_tiles: 1\n"
    "  .   :   .\n.   9   1   #\n  .   .   .\n"
)
OPTION_SETS = {
    "2 standard": {"first_player": 1},
    "2 variant": {"board": "small", "variant": True, "reward": "margin"},
    "2 agreement": {"board": "mini", "early_scoring": "agreement"},
    "2 proved": {"board": "mini", "early_scoring": "proved", "leftover_points": 0},
    "2 tight": {"board": TIGHT, "early_scoring": "proved", "first_player": 0},
    "3 standard": {"players": 3, "early_scoring": "agreement"},
    "3 small": {"board": "small", "players": 3, "leftover_points": 9},
    "3 agreement": {"board": "mini", "players": 3, "early_scoring": "agreement", "reward": "margin"},
    "3 proved": {"board": "mini", "players": 3, "early_scoring": "proved", "first_player": 2},
    "4 standard": {"players": 4, "variant": True},
    "4 small": {"board": "small", "players": 4, "early_scoring": "agreement", "reward": "margin"},
    "4 teams": {"board": "small", "players": 4, "teams": True, "early_scoring": "agreement"},
    "4 team margin": {"board": "small", "players": 4, "teams": True, "reward": "margin", "variant": True},
    "4 tight": {"board": TIGHT, "players": 4, "early_scoring": "proved", "first_player": 3},
}
SOME = ("2 agreement", "3 proved", "4 teams", "4 tight")  # for what does not depend on the options much


@pytest.fixture(params=OPTION_SETS)
def options(request):
    return OPTION_SETS[request.param]


@pytest.fixture(params=SOME)
def some_options(request):
    return OPTION_SETS[request.param]


@pytest.fixture(params=["env", "raw_env"])
def make(request):
    return getattr(aether_v0, request.param)


def core_game(options):
    return load_game("aether", **options)


# -------------------------------------------------------------------------------------------------------- conformance


def test_what_env_and_raw_env_return(make):
    env = make()
    assert str(env) == str(env.unwrapped) == env.metadata["name"] == "aether_v0"
    assert env.possible_agents == ["player_0", "player_1"]
    assert env.action_space("player_1").n == 620
    shape = env.observation_space("player_0")["observation"].shape
    assert shape == load_game("aether").observation_tensor_shape()
    assert str(shape[0]) in aether_v0.__doc__
    assert "620" in aether_v0.__doc__
    assert make(players=4).possible_agents == [f"player_{seat}" for seat in range(4)]


def test_api(make, options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(make(**options), num_cycles=200)
    for text in (str(warning.message) for warning in caught):
        assert any(text.startswith(expected) for expected in EXPECTED_WARNINGS), text


def test_seeds(make, options):
    seed_test(lambda: make(**options), num_cycles=60)


def test_render(make, some_options, capsys):
    def is_svg(result):
        return isinstance(result, str) and ElementTree.fromstring(result).tag == "{http://www.w3.org/2000/svg}svg"

    def is_text(result):
        return "player 0: hand" in result

    render_test(lambda **arguments: make(**arguments, **some_options), custom_tests={"svg": is_svg, "ansi": is_text})
    assert "player 0: hand" in capsys.readouterr().out, "human mode prints"


def test_state_is_inside_its_space(options):
    env = aether_v0.env(**options)
    check_state_space(env)
    env.reset(seed=3)
    while env.agents:
        assert env.state_space.contains(env.state())
        seen = [env.observe(agent)["observation"] for agent in env.possible_agents]
        assert np.array_equal(env.state(), np.concatenate(seen))
        observation, _, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else int(observation["action_mask"].argmax()))


@pytest.mark.parametrize("mode", ["ansi", "svg"])
def test_an_observer_sees_its_own_hand_alone(mode, some_options):
    state = core_game(some_options).new_initial_state(2)
    for observer in (None, *range(state.game.num_players())):
        env = aether_v0.env(render_mode=mode, observer=observer, **some_options)
        env.reset(seed=2)
        assert env.render() == (state.to_text(observer) if mode == "ansi" else state.to_svg(observer))


# --------------------------------------------------------------------------------------------------------------- play


def test_a_seed_gives_the_setup_and_the_draws_that_the_core_names(options):
    env = aether_v0.env(**options)
    for seed in range(4):
        env.reset(seed=seed)
        state = core_game(options).new_initial_state(seed)
        _, chance_rng = game_streams(seed)
        assert env.unwrapped.game_state().setup() == state.setup()
        trace(env)
        for player, action in env.unwrapped.game_state().history():
            if player == -1:
                outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
                assert action == outcomes[categorical(chance_rng, np.array(probabilities), len(outcomes))]
            state.apply_action(action)
        assert state.is_terminal()


def choose(rng, legal, slots):
    """Swaps, proposals and answers as often as placements."""
    others = [action for action in legal if action >= 8 * slots]
    return int(rng.choice(others if others and rng.random() < 0.5 else legal))


def test_everything_that_can_happen_in_a_turn(options):
    """Who is selected next, whose mask is filled, and what each agent is told, after every step of some games."""
    env, rng, happened = aether_v0.raw_env(**options), np.random.default_rng(5), Counter()
    for seed in range(4):
        env.reset(seed=seed)
        state = core_game(options).new_initial_state(seed)
        slots, told = len(state.to_dict()["tiles"]), {agent: [] for agent in env.possible_agents}
        while not state.is_terminal():
            mover = state.current_player()
            agent = env.agent_selection
            assert agent == f"player_{mover}"
            legal = np.flatnonzero(env.observe(agent)["action_mask"]).tolist()
            assert legal == state.legal_actions()
            for seat, other in enumerate(env.possible_agents):
                seen = env.observe(other)
                assert np.array_equal(seen["observation"], state.observation_tensor(seat))
                assert seat == mover or not seen["action_mask"].any()
                assert (env.rewards[other], env.terminations[other], env.truncations[other]) == (0, False, False)
            action = choose(rng, legal, slots)
            told[agent] = []
            state.apply_action(action)
            env.step(action)
            drawn_tiles = iter(env.unwrapped.game_state().history()[len(state.history()) :])
            while state.is_chance_node():
                drawn_tile = next(drawn_tiles)[1]
                told[agent].append(drawn_tile)
                state.apply_action(drawn_tile)
            assert {each: info["chance"] for each, info in env.infos.items()} == told, "own draws, and no others"
            kind = ("swap", "propose", "agree", "decline")[action - 8 * slots] if action >= 8 * slots else "place"
            happened[kind] += 1
            if kind == "swap" and not state.is_terminal():
                assert env.agent_selection == agent, "the same player goes on"
                assert len(told[agent]) == state.game.board.hand_tiles
        assert dict(zip(env.agents, state.returns().tolist(), strict=True)) == env.rewards
        assert set(env.terminations.values()) == {True}
        assert set(env.truncations.values()) == {False}
    expected = {"place", "swap"}
    if options.get("early_scoring") == "agreement":
        expected |= {"propose", "agree", "decline"}
    assert set(happened) == expected


@pytest.mark.parametrize("players", [2, 3, 4])
def test_agents_leave_one_by_one_with_their_returns(make, players):
    env = make(board="small", players=players, reward="margin")
    env.reset(seed=1)
    while not env.terminations[env.agent_selection]:
        env.step(int(env.last()[0]["action_mask"].argmax()))
    returns = env.unwrapped.game_state().returns().tolist()
    assert sum(returns) == pytest.approx(0, abs=1e-9)
    for seat, reward in enumerate(returns):
        assert env.agent_selection == f"player_{seat}"
        assert env.last()[1:4] == (reward, True, False)
        env.step(None)
    assert not env.agents


def test_a_proposal_in_the_environment(make):
    """The proposer's turn is interrupted, not over; who declines gives it back."""
    env = make(board="mini", players=3, early_scoring="agreement", first_player=0)
    env.reset(seed=3)
    swap, propose, agree, decline = range(128, 132)
    env.step(propose)
    assert env.agent_selection == "player_1"
    assert np.flatnonzero(env.last()[0]["action_mask"]).tolist() == [agree, decline]
    env.step(agree)
    assert env.agent_selection == "player_2"
    env.step(decline)
    assert env.agent_selection == "player_0"
    mask = env.last()[0]["action_mask"]
    assert (mask[swap], mask[propose]) == (1, 0)
    env.step(int(mask.argmax()))
    for action in (propose, agree, agree):
        env.step(action)
    assert all(env.terminations.values())
    assert not any(env.rewards.values()), "all have nine points and share the win"


def test_a_game_can_end_before_anybody_acts(make):
    """`proved`, and no elemental is left: the first observation is one of an ended game."""
    config, setup = drawn(FLOWER, {}, unused=[0, 0], sacrificed=[3, 1], config={"early_scoring": "proved"})
    env = make(**config)
    env.reset(seed=1, options={"setup": setup})
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.rewards == {"player_0": 1, "player_1": -1}
    env.step(None)
    env.step(None)
    assert env.agents == []


def test_a_given_setup(make):
    config, setup = drawn(FLOWER, {0: 1, 3: 2}, {0: 1}, hands=[[0, 3], [1, 2]], player=1, sacrificed=[0, 2])
    setup["position"]["unused"] = [3, 0]
    env = make(**config)
    env.reset(seed=1, options={"setup": setup})
    assert env.agent_selection == "player_1"
    shown = env.unwrapped.game_state().to_dict()
    assert (shown["elementals"][0], shown["unused"], shown["hands"]) == (1, [3, 0], [[0, 3], [1, 2]])
    before = env.unwrapped.save_state()
    for wrong in ({"unused": [4, 0]}, {"player": 2}, {"bag": [9, 0, 0, 0]}, {"elementals": [None] * 5}):
        with pytest.raises(SetupError, match=next(iter(wrong))):
            env.reset(options={"setup": {**setup, "position": wrong}})
        assert env.unwrapped.save_state() == before


# ------------------------------------------------------------------------------------------------------ copies, saves


@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_a_copy_in_mid_game_goes_on_in_the_same_way(make, some_options, how):
    for steps in (0, 3, 12):
        env = make(**some_options)
        env.reset(seed=17)
        for agent in env.possible_agents:
            env.action_space(agent).seed(1)
        trace(env, sampled, steps)
        twin = how(env)
        untouched = twin.save_state()
        rest = trace(env, sampled)
        assert twin.save_state() == untouched, "the copy is its own"
        assert trace(twin, sampled) == rest
        env.reset()
        twin.reset()
        assert trace(env) == trace(twin), "the stream goes on too"


def test_a_saved_game_goes_on_in_the_same_way(make, options):
    for steps in (0, 3, 12, 10**6):
        env, twin = make(**options), make(**options)
        env.reset(seed=23)
        trace(env, max_steps=steps)
        twin.restore_state(env.save_state())
        assert twin.save_state() == env.save_state()
        assert (twin.infos, twin.rewards, twin.agents) == (env.infos, env.rewards, env.agents)
        assert trace(env) == trace(twin)


def test_a_saved_poll_and_a_saved_swap_go_on(make):
    env, twin = (make(board="mini", players=3, early_scoring="agreement", first_player=0) for _ in range(2))
    env.reset(seed=3)
    for action in (129, 130, 131, 128):
        twin.restore_state(env.save_state())
        assert twin.agent_selection == env.agent_selection
        for each in (env, twin):
            each.step(action)
        assert twin.infos == env.infos
        assert twin.save_state() == env.save_state()
    assert len(env.infos["player_0"]["chance"]) == 4
