"""What the environments show, and what a wrong call is told; and how fast they are (heavy)."""

import ast
import copy
import importlib.util
import pickle
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from trilithon.core import IllegalActionError, OptionError, SetupError, TrilithonError, load_game
from trilithon.envs import aeroliths_v0

MAKERS = {"env": aeroliths_v0.env, "raw_env": aeroliths_v0.raw_env}


@pytest.fixture(params=MAKERS.values(), ids=MAKERS)
def make(request):
    return request.param


def legal(env):
    return np.flatnonzero(env.last()[0]["action_mask"]).tolist()


def play(env):
    """Play to the end."""
    while not env.terminations[env.agent_selection]:
        env.step(legal(env)[0])


# ------------------------------------------------------------------------------------------------------------ rendering


def test_render_modes_show_the_observer_s_view(capsys):
    state = load_game("aeroliths").new_initial_state(2)
    for observer in (None, 0, 1):
        expected = {"ansi": state.to_text(observer), "svg": state.to_svg(observer)}
        for mode, shown in expected.items():
            env = aeroliths_v0.env(render_mode=mode, observer=observer)
            env.reset(seed=2)
            assert env.render() == shown
        assert ("?" in expected["ansi"]) == (observer is not None)
        env = aeroliths_v0.env(render_mode="human", observer=observer)
        env.reset(seed=2)
        assert capsys.readouterr().out == expected["ansi"] + "\n\n"
        assert env.render() is None
        env.step(legal(env)[0])
        assert capsys.readouterr().out.count("hand 0:") == 2
    env = aeroliths_v0.env(render_mode="rgb_array", size=5)
    env.reset(seed=2)
    picture = env.render()
    assert (picture.dtype, picture.shape[1:], picture.std() > 10) == (np.uint8, (480, 3), True)
    silent = aeroliths_v0.env()
    silent.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode; choose one of human, ansi, rgb_array, svg"):
        assert silent.render() is None


# ---------------------------------------------------------------------------------------------------------- wrong calls


@pytest.mark.parametrize(
    "action", [-1, 45, 10**30, 1.0, np.float32(3), None, "3", [3], np.array([3]), "taken"], ids=str
)
def test_an_illegal_action_is_one_clear_line_and_changes_nothing(make, action):
    env = make(open_hands=True)
    env.reset(seed=1)
    env.step(4)
    before = env.save_state()
    action = 4 if action == "taken" else action
    with pytest.raises(IllegalActionError, match=r"is not legal for player_[01]; legal: 0 \(0@a1\), 1 \(") as caught:
        env.step(action)
    assert "\n" not in str(caught.value)
    assert env.save_state() == before
    env.step(np.int16(0))


def test_calls_before_reset_are_told_so():
    env = aeroliths_v0.env(render_mode="ansi")
    calls = {
        "step": lambda: env.step(0),
        "last": env.last,
        "observe": lambda: env.observe("player_0"),
        "state": env.state,
        "render": env.render,
        "save_state": env.save_state,
        "agent_iter": env.agent_iter,
    }
    for name, call in calls.items():
        with pytest.raises(TrilithonError, match=rf"aeroliths_v0: {name}\(\) before reset\(\); call reset\(\) first"):
            call()
    for name in ("agents", "agent_selection", "rewards", "terminations", "truncations", "infos", "num_agents"):
        with pytest.raises(AttributeError, match=rf"aeroliths_v0: {name} is not known before reset\(\)"):
            getattr(env, name)
    assert env.possible_agents == ["player_0", "player_1"]
    assert copy.deepcopy(env).possible_agents == env.possible_agents
    twin = pickle.loads(pickle.dumps(env))
    twin.reset(seed=1)
    env.reset(seed=1)
    assert twin.save_state() == env.save_state()


def test_calls_after_the_end_are_told_so():
    env = aeroliths_v0.env(open_hands=True)
    env.reset(seed=1)
    play(env)
    env.step(None)
    env.step(None)
    for name, call in {"step": lambda: env.step(None), "last": env.last}.items():
        with pytest.raises(TrilithonError, match=rf"{name}\(\) after the last agent has left; call reset\(\) first"):
            call()
    env.reset()
    assert env.agents == env.possible_agents


def test_an_unknown_agent_and_a_loop_without_steps_are_told_so():
    env = aeroliths_v0.env()
    env.reset(seed=1)
    for call in (env.observe, env.action_space, env.observation_space):
        with pytest.raises(OptionError, match="there is no agent 'player_2'; there are player_0, player_1"):
            call("player_2")
    turns = env.agent_iter()
    next(turns)
    with pytest.raises(TrilithonError, match="must call step"):
        next(turns)
    for _ in env.agent_iter():
        break
    assert len([env.step(legal(env)[0]) for _ in env.agent_iter(max_iter=3)]) == 3, "leaving a loop is no mistake"


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"sice": 4}, OptionError, "unknown option 'sice'; did you mean 'size'"),
        ({"size": 6}, OptionError, "size = 6 is not allowed; allowed: 3 or 4 or 5"),
        ({"order": True, "chaos": True}, OptionError, "exclude each other"),
        ({"source": "catalogue", "catalogue": "nowhere.csv"}, SetupError, "there is no such file"),
        ({"render_mode": "text"}, OptionError, "render_mode = 'text' .* human, ansi, rgb_array, svg"),
        ({"observer": 2}, OptionError, "observer = 2 is not allowed; allowed: None or a seat 0..1"),
        ({"observer": True}, OptionError, "observer = True"),
        ({"turn_time": 0}, OptionError, "turn_time = 0 is not allowed; allowed: None or seconds > 0"),
        ({"turn_time": float("nan")}, OptionError, "turn_time = nan"),
        ({"turn_time": True}, OptionError, "turn_time = True"),
        ({"turn_time": 1, "clock": 3}, OptionError, "clock = 3"),
    ],
    ids=str,
)
def test_bad_options_are_one_clear_line(make, options, error, text):
    with pytest.raises(error, match=text) as caught:
        make(**options)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------------------------------------------- documentation


def test_the_documented_index_ranges_are_those_of_the_layout():
    path = Path(__file__).parent.parent / "docs" / "make_tables.py"
    spec = importlib.util.spec_from_file_location("make_tables", path)
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    content = tables.PAGE.read_text()
    assert tables.page(content) == content, "run docs/make_tables.py"
    assert "| own hand | 117 .. 171 |" in content
    for size, numbers, actions in ((3, 253, 45), (4, 410, 128), (5, 637, 325)):
        assert f"{size}x{size}: {numbers}" in aeroliths_v0.__doc__ or f"{numbers}, {actions}" in aeroliths_v0.__doc__
        spaces = aeroliths_v0.env(size=size).observation_space("player_0")
        assert (spaces["observation"].shape, spaces["action_mask"].shape) == ((numbers,), (actions,))
        drafted = aeroliths_v0.env(size=size, draft=True)
        assert drafted.observation_space("player_0")["observation"].shape == (numbers + 360,)
        assert drafted.action_space("player_0").n == actions + 40
    universal = aeroliths_v0.env(observation="universal").observation_space("player_0")
    assert universal["observation"].shape == (997,)


# ------------------------------------------------------------------------------------------------------------ speed


def test_the_environments_import_neither_torch_nor_plotting():
    script = """
import sys
from trilithon.envs import aeroliths_v0
env = aeroliths_v0.env(); env.reset(seed=1); env.step(env.last()[0]["action_mask"].argmax())
print([name for name in ("torch", "matplotlib", "polars", "PIL", "pygame") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == []


@pytest.mark.heavy
@pytest.mark.parametrize(("maker", "floor"), [("env", 50_000), ("raw_env", 100_000)])
def test_steps_per_second(maker, floor):
    """With observation and mask, the steps of agents that leave included, setups not; the best of many short runs."""
    env = MAKERS[maker](open_hands=True)
    best = 0.0
    for _ in range(100):
        steps, seconds = 0, 0.0
        for seed in range(40):
            env.reset(seed=seed)
            start = time.perf_counter()
            for _ in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                env.step(None if terminated or truncated else int(observation["action_mask"].argmax()))
                steps += 1
            seconds += time.perf_counter() - start
        best = max(best, steps / seconds)
    assert best >= floor
