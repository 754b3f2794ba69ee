"""The environments keep PettingZoo's promises and our own: conformance, seeds, copies, saved games."""

import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys
import warnings
import zlib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from pettingzoo import AECEnv
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.test.state_test import test_state_space as check_state_space
from pettingzoo.utils.wrappers import BaseWrapper

from trilithon.core import IllegalActionError, SetupError, load_game
from trilithon.core.rng import categorical, game_streams
from trilithon.envs import aeroliths_v0

HERE = str(Path(__file__).parent)
# Every size, every way to fill hands that a seed can, every kind of chance and of hidden hand, both shapes.
OPTION_SETS = {
    "basic": {"open_hands": True},
    "closed": {"size": 3, "plus": True, "plus_own": True, "source": "budget", "first_player": 1},
    "rules": {"size": 4, "same": True, "plus": True, "combo": True, "wall": True, "elemental_cells": "random"},
    "large": {"size": 5, "open_hands": True, "elemental_cells": 3},
    "draft": {"size": 4, "draft": True, "pool_size": 24},
    "chaos": {"chaos": True},
    "chaos_open": {"chaos": True, "open_hands": True, "draft": True},
    "order": {"size": 4, "order": True},
    "sudden_death": {"size": 4, "sudden_death": True, "max_rounds": 2},
    "mirrored": {"size": 5, "hands": "mirrored"},
    "catalogue": {"size": 3, "source": "catalogue"},
    "universal": {"size": 3, "observation": "universal", "same": True},
}
# What `api_test` warns of, and why it stays: anything else is an error, and so is one of these that never comes.
EXPECTED_WARNINGS = {
    "Observation is not a NumPy array": "they are dicts that hold the mask too; the test knows its own few",
    "Observation space for each agent probably should be": "the space of such a dict; the same list of names",
}


@pytest.fixture(params=OPTION_SETS, scope="module")
def options(request):
    return OPTION_SETS[request.param]


@pytest.fixture(params=["env", "raw_env"])
def make(request):
    return getattr(aeroliths_v0, request.param)


def first_legal(step, observation, mask, env):
    """A policy that needs no generator, and reaches other actions than the first."""
    legal = np.flatnonzero(mask)
    return int(legal[(7 * step) % len(legal)])


def sampled(step, observation, mask, env):
    """A policy that draws from the generator of the agent's action space."""
    return int(env.action_space(env.agent_selection).sample(mask))


def trace(env, policy=first_legal, max_steps=10**6):
    """Play on, and return all that the agents got, in a form that can be compared and hashed."""
    seen = []
    for step in range(max_steps):
        if not env.agents:
            break
        observation, reward, terminated, truncated, info = env.last()
        mask = observation["action_mask"]
        action = None if terminated or truncated else policy(step, observation, mask, env)
        seen.append(
            (env.agent_selection, observation["observation"].tobytes(), mask.tobytes(), reward, terminated, truncated)
        )
        seen.append((copy.deepcopy(info), action))
        env.step(action)
    return seen


def digest(options, seed):
    env = aeroliths_v0.env(**options)
    env.reset(seed=seed)
    seen = trace(env)
    env.reset()
    return hashlib.sha256(repr(seen + trace(env)).encode()).hexdigest()


# --------------------------------------------------------------------------------------------------- conformance


def test_what_env_and_raw_env_return(make):
    env = make(size=4)
    assert isinstance(env, AECEnv)
    assert isinstance(env, BaseWrapper) == (make is aeroliths_v0.env)
    assert not isinstance(getattr(env, "env", None), BaseWrapper), "wrapped once"
    assert str(env) == str(env.unwrapped) == env.metadata["name"] == "aeroliths_v0"
    assert env.possible_agents == ["player_0", "player_1"]
    assert env.action_space("player_1").n == 128
    space = env.observation_space("player_1")
    assert space["observation"].dtype == np.float32
    assert space["action_mask"].dtype == np.int8
    assert (space["observation"].low.min(), space["observation"].high.max()) == (-1, 1)


def test_api(make, options, capsys):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(make(**options), num_cycles=300)
    texts = [str(warning.message) for warning in caught]
    for text in texts:
        assert any(text.startswith(expected) for expected in EXPECTED_WARNINGS), text
    for expected in EXPECTED_WARNINGS:
        assert any(text.startswith(expected) for text in texts), f"no longer needed: {expected}"


def test_seeds(make, options):
    seed_test(lambda: make(**options), num_cycles=100)


def test_render(make, options, capsys):
    def is_svg(result):
        return isinstance(result, str) and ElementTree.fromstring(result).tag == "{http://www.w3.org/2000/svg}svg"

    def is_text(result):
        return "hand 0:" in result

    render_test(lambda **arguments: make(**arguments, **options), custom_tests={"svg": is_svg, "ansi": is_text})
    assert "hand 0:" in capsys.readouterr().out, "human mode prints"


def test_state_is_inside_its_space(options):
    env = aeroliths_v0.env(**options)
    check_state_space(env)
    env.reset(seed=3)
    while env.agents:
        assert env.state_space.contains(env.state())
        seen = [env.observe(agent)["observation"] for agent in env.possible_agents]
        assert np.array_equal(env.state(), np.concatenate(seen))
        observation, _, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else int(observation["action_mask"].argmax()))


# ------------------------------------------------------------------------------------------------- seeds and streams


def in_another_process(script, *arguments, **variables):
    """Standard output of a Python process that can import this module as `t`."""
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {HERE!r}); import test_envs as t\n{script}"]
    environment = {**os.environ, **variables}
    return subprocess.run(
        [*command, *arguments], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_seed_is_the_same_game_in_every_process():
    here = [digest(options, 11) for options in OPTION_SETS.values()]
    assert here == [digest(options, 11) for options in OPTION_SETS.values()]
    assert len({*here, *(digest(options, 12) for options in OPTION_SETS.values())}) == 2 * len(here)
    script = "print(*(t.digest(options, 11) for options in t.OPTION_SETS.values()))"
    for hash_seed in ("0", "4242"):
        assert in_another_process(script, PYTHONHASHSEED=hash_seed).split() == here


def test_a_seed_gives_the_setup_and_the_chance_that_the_core_names(options):
    game = load_game("aeroliths", **options)
    env = aeroliths_v0.env(**options)
    env.reset(seed=29)
    setup_rng, chance_rng = game_streams(29)
    state = game.new_initial_state(29)
    assert env.unwrapped.game_state().setup() == state.setup() == game.new_setup(setup_rng)
    trace(env)
    for player, action in env.unwrapped.game_state().history():
        if player == -1:
            outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
            assert action == outcomes[categorical(chance_rng, np.array(probabilities), len(outcomes))]
        state.apply_action(action)
    assert state.is_terminal()


def test_without_a_seed_the_stream_goes_on():
    env, twin = (aeroliths_v0.env(chaos=True) for _ in range(2))
    setups = []
    for game in range(3):
        for each in (env, twin):
            each.reset(seed=5 if game == 0 else None)
        assert trace(env) == trace(twin)
        setups.append(env.unwrapped.game_state().setup())
        assert setups[-1] == twin.unwrapped.game_state().setup()
    assert setups[0] != setups[1] != setups[2] != setups[0]
    fresh = [aeroliths_v0.env(chaos=True) for _ in range(2)]
    for each in fresh:
        each.reset()
    assert fresh[0].save_state() != fresh[1].save_state(), "never seeded: from the machine's entropy"


def test_a_seeded_reset_keeps_the_options(make, options):
    env = make(**options)
    before = str(env.unwrapped.game)
    env.reset(seed=1)
    env.reset(seed=1, options={"anything": "else"})
    assert str(env.unwrapped.game) == before == str(load_game("aeroliths", **options))


# ------------------------------------------------------------------------------------------------- copies in mid-game


COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda env: pickle.loads(pickle.dumps(env))}


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_in_mid_game_goes_on_in_the_same_way(make, options, how):
    for steps in (0, 5, 9):
        env = make(**options)
        env.reset(seed=17)
        env.action_space("player_0").seed(1)
        env.action_space("player_1").seed(2)
        trace(env, sampled, steps)
        twin = COPIES[how](env)
        untouched = twin.save_state()
        assert env.save_state() == untouched
        rest = trace(env, sampled)
        assert twin.save_state() == untouched, "the copy is its own"
        assert trace(twin, sampled) == rest
        env.reset()
        twin.reset()
        assert trace(env) == trace(twin), "the stream goes on too"


def test_a_saved_game_goes_on_in_the_same_way(make, options):
    for steps in (0, 3, 8, 10**6):
        env = make(**options)
        env.reset(seed=23)
        trace(env, max_steps=steps)
        saved = env.save_state()
        twin = make(**options)
        twin.restore_state(saved)
        assert twin.save_state() == saved
        assert (twin.infos, twin.rewards, twin.agents) == (env.infos, env.rewards, env.agents)
        assert trace(env) == trace(twin)
        env.reset()
        twin.reset()
        assert trace(env) == trace(twin)


def test_a_saved_game_keeps_who_has_left():
    env, twin = (aeroliths_v0.env(open_hands=True) for _ in range(2))
    env.reset(seed=4)
    trace(env, max_steps=9)
    for left in (2, 1):
        twin.restore_state(env.save_state())
        assert len(twin.agents) == left
        assert (twin.agents, twin.rewards, twin.last()[1:]) == (env.agents, env.rewards, env.last()[1:])
        env.step(None)


def test_a_pickle_means_the_same_game_in_a_process_with_other_catalogues(tmp_path):
    """A kernel state names rows of its process's table, so it must not travel as it is."""
    lines = ["name,top,right,bottom,left,element"]
    lines += [f"Stone {n},{1 + n % 10},{1 + n // 2},{10 - n % 9},5,fire" for n in range(18)]
    (tmp_path / "own.csv").write_text("\n".join(lines))
    env = aeroliths_v0.env(source="catalogue", catalogue=str(tmp_path / "own.csv"), chaos=True)
    env.reset(seed=8)
    trace(env, max_steps=3)
    (tmp_path / "env.pickle").write_bytes(pickle.dumps(env))
    script = """
t.load_game("aeroliths", source="catalogue").new_initial_state(1)  # the shipped catalogue comes first here
env = t.pickle.loads(open(sys.argv[1], "rb").read())
print(env.unwrapped._states.tobytes() == env.unwrapped.game_state().array.tobytes(), t.trace(env))
"""
    assert in_another_process(script, str(tmp_path / "env.pickle")) == f"True {trace(env)}"


# ------------------------------------------------------------------------------------------ bytes a stranger may feed


def sealed(content):
    """Saved bytes with a right checksum around any content."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return b"trilithon-env-1\n%08x\n" % zlib.crc32(body) + body


def started():
    env = aeroliths_v0.env(chaos=True)
    env.reset(seed=6)
    trace(env, max_steps=4)
    return env


def tampered():
    """Name -> what a damaged or forged save of `started` looks like."""
    good = started().save_state()
    content = json.loads(good.split(b"\n", 2)[2])
    assert sealed(content).startswith(good[:16])

    def changed(**fields):
        return sealed({**content, **fields})

    return {
        "cut": good[:-9],
        "one bit": good[:-20] + bytes([good[-20] ^ 1]) + good[-19:],
        "another version": b"trilithon-env-2" + good[15:],
        "no bytes": "text",
        "no JSON": sealed(b"{"),
        "deep": sealed(b"[" * 100_000),
        "a list": sealed([]),
        "a field more": changed(extra=1),
        "a field less": sealed({key: value for key, value in content.items() if key != "steps"}),
        "another environment": changed(environment="aether_v0"),
        "other options": changed(game="aeroliths(size=4)"),
        "too many agents": changed(agents=3),
        "agents gone early": changed(agents=1),
        "agents as a truth": changed(agents=True),
        "generator": changed(generator=-1),
        "seconds": changed(seconds=float("nan")),
        "timed out too late": changed(timed_out=[99]),
        "timed out twice": changed(timed_out=[1, 1]),
        "timed out chance": changed(timed_out=[0]),
        "setup": changed(setup={**content["setup"], "first_player": 5}),
        "setup as a list": changed(setup=[]),
        "an illegal step": changed(steps=[44, *content["steps"]]),
        "steps as text": changed(steps=["1"]),
        "a step after the end": changed(steps=[*json.loads(ended().split(b"\n", 2)[2])["steps"], 0]),
        "inside a chance event": changed(steps=[]),
    }


def ended():
    env = aeroliths_v0.env(chaos=True)
    env.reset(seed=6)
    trace(env)
    return env.save_state()


@pytest.mark.parametrize("name", tampered())
def test_bad_saved_bytes_are_one_clear_line_and_change_nothing(name):
    env = started()
    before = env.save_state()
    with pytest.raises((SetupError, IllegalActionError)) as caught:
        env.restore_state(tampered()[name])
    assert "\n" not in str(caught.value)
    assert env.save_state() == before
    assert trace(env) == trace(started())
