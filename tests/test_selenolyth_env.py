"""The Selenolyth's environment: PettingZoo's conformance, chance, ricochets, skips, truncation, copies, saved games."""

import copy
import pickle
import re
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from naive.files import golden_games
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.test.state_test import test_state_space as check_state_space
from test_envs import EXPECTED_WARNINGS, sampled, trace

from trilithon.core import IllegalActionError, OptionError, SetupError, load_game
from trilithon.core.rng import categorical, game_streams
from trilithon.envs import selenolyth_v0

OPTION_SETS = {
    "standard": {},
    "short": {"max_turns": 9, "first_player": 1},
    "shards": {"selenolyths": 2, "diox": 5, "orthos": 5, "max_turns": 200, "luminance_goal": 16},
    "bright": {"luminance_goal": 2, "eclipse_value": 9, "first_player": 0},
    "one_stone": {"selenolyths": 1, "diox": 0, "orthos": 0},
}


@pytest.fixture(params=OPTION_SETS)
def options(request):
    return OPTION_SETS[request.param]


@pytest.fixture(params=["env", "raw_env"])
def make(request):
    return getattr(selenolyth_v0, request.param)


# ------------------------------------------------------------------------------------------------------- conformance


def test_what_env_and_raw_env_return(make):
    env = make()
    assert str(env) == str(env.unwrapped) == env.metadata["name"] == "selenolyth_v0"
    assert env.possible_agents == ["player_0", "player_1"]
    assert env.action_space("player_1").n == 72
    assert env.observation_space("player_0")["observation"].shape == (248,)
    assert "(248,)" in selenolyth_v0.__doc__
    assert "Discrete(72)" in selenolyth_v0.__doc__


def test_api(make, options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(make(**options), num_cycles=300)
    for text in (str(warning.message) for warning in caught):
        assert any(text.startswith(expected) for expected in EXPECTED_WARNINGS), text


def test_seeds(make, options):
    seed_test(lambda: make(**options), num_cycles=100)


def test_render(make, options, capsys):
    def is_svg(result):
        return isinstance(result, str) and ElementTree.fromstring(result).tag == "{http://www.w3.org/2000/svg}svg"

    def is_text(result):
        return "player 0: S" in result

    render_test(lambda **arguments: make(**arguments, **options), custom_tests={"svg": is_svg, "ansi": is_text})
    assert "player 0: S" in capsys.readouterr().out, "human mode prints"


def test_state_is_inside_its_space(options):
    env = selenolyth_v0.env(**options)
    check_state_space(env)
    env.reset(seed=3)
    while env.agents:
        assert env.state_space.contains(env.state())
        seen = [env.observe(agent)["observation"] for agent in env.possible_agents]
        assert np.array_equal(env.state(), np.concatenate(seen))
        observation, _, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else int(observation["action_mask"].argmax()))


# -------------------------------------------------------------------------------------------------------------- play


def test_a_seed_gives_the_setup_and_the_dice_that_the_core_names(options):
    env = selenolyth_v0.env(**options)
    for seed in range(10):
        env.reset(seed=seed)
        state = load_game("selenolyth", **options).new_initial_state(seed)
        _, chance_rng = game_streams(seed)
        assert env.unwrapped.game_state().setup() == state.setup()
        trace(env)
        for player, action in env.unwrapped.game_state().history():
            if player == -1:
                outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
                assert action == outcomes[categorical(chance_rng, np.array(probabilities), len(outcomes))]
            state.apply_action(action)
        assert state.is_terminal()


def test_everything_that_can_happen_in_a_turn():
    """Who is selected next, whose mask is filled, and what is told, after every step of many games."""
    happened = set()
    env = selenolyth_v0.raw_env(max_turns=60)
    for seed in range(40):
        env.reset(seed=seed)
        state = load_game("selenolyth", max_turns=60).new_initial_state(seed)
        generator = np.random.default_rng(seed)
        while not any(env.terminations.values()) and not any(env.truncations.values()):
            agent = env.agent_selection
            mover = int(agent[-1])
            assert state.current_player() == mover
            legal = np.flatnonzero(env.observe(agent)["action_mask"]).tolist()
            assert legal == state.legal_actions()
            assert not env.observe(f"player_{1 - mover}")["action_mask"].any()
            stones = sum(state.to_dict()["occupied"])
            action = int(generator.choice(legal))
            state.apply_action(action)
            env.step(action)
            dice = env.infos[agent]["chance"]
            assert len(dice) == (action < 18)
            for face in dice:
                assert env.infos[f"player_{1 - mover}"]["chance"][-1] == face, "everybody sees the die"
                state.apply_action(face)
            phase = state.to_dict()["phase"]
            happened.add(phase)
            if phase == "ricochet":
                assert env.agent_selection == agent, "the same player goes on"
            elif phase == "choose":
                assert env.agent_selection != agent
                happened.add("skip" if sum(state.to_dict()["occupied"]) == stones else "placed")
            if 18 <= action < 36:
                happened.add("will")
        assert dict(zip(env.agents, state.returns(), strict=True)) == env.rewards
    assert happened >= {"ricochet", "choose", "skip", "placed", "will", "ended"}


def test_max_turns_is_a_truncation_and_every_other_ending_a_termination(make):
    for stored in golden_games("selenolyth"):
        state = load_game("selenolyth", **stored["config"]).from_setup(stored["setup"])
        for _, action in stored["steps"]:
            state.apply_action(action)
        truncated = selenolyth_v0.ended_by_max_turns(state.game, state.array)
        assert truncated == (stored["states"][-1]["outcome"] == "truncated")
    endings = set()
    for max_turns in (4, 25):
        env = make(max_turns=max_turns)
        for seed in range(20):
            env.reset(seed=seed)
            while not (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
                env.step(int(env.action_space("player_0").sample(env.last()[0]["action_mask"])))
            outcome = env.unwrapped.game_state().to_dict()["outcome"]
            assert set(env.truncations.values()) == {outcome == "truncated"}
            assert set(env.terminations.values()) == {outcome != "truncated"}
            assert any(env.rewards.values()) == (outcome != "truncated")
            endings.add(outcome)
    assert {"truncated", "square"} <= endings


def test_a_given_setup(make):
    env = make()
    position = {"occupied": [1, 1, 1, 1, 0, 1, 1, 1] + [0] * 28, "luminance": [2, 8], "player": 1, "turns": 7}
    env.reset(seed=1, options={"setup": {"first_player": 0, "position": position}})
    assert env.agent_selection == "player_1"
    shown = env.unwrapped.game_state().to_dict()
    assert (shown["occupied"], shown["luminance"]) == (position["occupied"], [2, 8])
    before = env.unwrapped.save_state()
    with pytest.raises(SetupError, match="luminance"):
        env.reset(options={"setup": {"first_player": 0, "position": {"luminance": [9, 9]}}})
    assert env.unwrapped.save_state() == before


@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_a_copy_in_mid_game_goes_on_in_the_same_way(make, options, how):
    for steps in (0, 3, 12):
        env = make(**options)
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


def test_the_timer_plays_also_for_a_ricochet(make):
    now = [0.0]
    env = make(turn_time=10, clock=lambda: now[0])
    env.reset(seed=5)
    timed_out = 0
    while not (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
        now[0] += 11.0
        agent = env.agent_selection
        env.step(None)
        timed_out += env.infos[agent]["timed_out"]
    state = env.unwrapped.game_state()
    assert state.is_terminal()
    assert timed_out == len(env.unwrapped.timed_out_steps) == sum(player >= 0 for player, _ in state.history())


def test_illegal_actions_and_options_are_one_clear_line(make):
    env = make()
    env.reset(seed=1)
    before = env.unwrapped.save_state()
    for action in (18, 36, 71, 72, -1, "S@a", None, 1.5):
        with pytest.raises(IllegalActionError, match=r"legal: 0 \(S@a\), 1 \(S@b\)") as caught:
            env.step(action)
        assert "\n" not in str(caught.value)
    assert env.unwrapped.save_state() == before
    for bad, text in (({"size": 6}, "unknown option 'size'"), ({"max_turns": 0}, "max_turns = 0 is not allowed")):
        with pytest.raises(OptionError, match=re.escape(text)):
            make(**bad)
