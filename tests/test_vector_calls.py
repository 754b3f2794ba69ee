"""`VectorEnv` and what it is not made for: bad input, ends before the beginning, copies; and that it is fast."""

import copy
import os
import pickle
import subprocess
import sys
import time

import numpy as np
import pytest
from test_vector import make_single, play

from trilithon.core import IllegalActionError, OptionError, SetupError, TrilithonError, load_game, registry
from trilithon.core.rng import seed as make_rng
from trilithon.envs.vector import VectorEnv
from trilithon.envs.wrapper import OrderError
from trilithon.experiments import benchmark

# ------------------------------------------------------------------------------------------------------------ bad input


def test_an_illegal_action_changes_nothing():
    env, twin = (VectorEnv("aeroliths(first_player=0)", 4, seed=3) for _ in range(2))
    for one in (env, twin):
        one.reset()
        one.step(np.array([0, 1, 2, 3]))
    before = [array.copy() for array in (env.observations, env.action_masks, env.current_players, env.rewards)]
    for index, action in ((2, 2), (0, 45), (3, -1), (1, 10**12)):
        actions = env.sample_actions(0)
        actions[index] = action
        message = rf"VectorEnv\('aeroliths\(first_player=0\)', num_envs=4\): action {action} of game {index} is not "
        with pytest.raises(
            IllegalActionError, match=message + r"legal for player 1; legal: \d+ \(.@..\), .* in all\)$"
        ):
            env.step(actions)
    now = (env.observations, env.action_masks, env.current_players, env.rewards)
    assert all(np.array_equal(a, b) for a, b in zip(before, now))
    assert play(env) == play(twin)


def test_the_first_illegal_action_is_named():
    env = VectorEnv("selenolyth", 5, seed=3)
    env.reset()
    with pytest.raises(IllegalActionError, match="action 71 of game 1 "):
        env.step([0, 71, 0, 71, 0])


@pytest.mark.parametrize(
    "actions", [[0], [0, 0, 0], [[0, 0]], [0.0, 1.0], ["a", "b"], [True, False], 0, None, [None, 0]], ids=str
)
def test_actions_of_another_form(actions):
    env = VectorEnv("selenolyth", 2, seed=3)
    env.reset()
    before = env.observations.copy()
    with pytest.raises(IllegalActionError, match=r"step\(\) takes 2 whole numbers, not "):
        env.step(actions)
    assert np.array_equal(env.observations, before)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_any_whole_numbers_will_do(dtype):
    env = VectorEnv("selenolyth", 2, seed=3)
    env.reset()
    env.step(env.sample_actions(0).astype(dtype))
    env.step(env.sample_actions(0).tolist())


def test_calls_before_reset():
    env = VectorEnv("selenolyth", 2, seed=3)
    for call in (lambda: env.step([0, 0]), lambda: env.sample_actions(0)):
        with pytest.raises(OrderError, match=r"before reset\(\); call reset\(\) first"):
            call()


MISTAKES = {
    "no games": (lambda: VectorEnv("selenolyth", 0), "num_envs = 0 is not allowed; allowed: a whole number 1..1048576"),
    "half a game": (lambda: VectorEnv("selenolyth", 1.5), "num_envs = 1.5 is not allowed"),
    "a seed below 0": (lambda: VectorEnv("selenolyth", 2, seed=-1), "seed = -1 is not allowed; allowed: a whole"),
    "an unknown game": (lambda: VectorEnv("chess", 2), "unknown game 'chess'"),
    "hands that nobody gave": (lambda: VectorEnv("aeroliths(hands=manual)", 2), "starts from a setup"),
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_mistakes_in_what_is_asked_for(kind):
    make, message = MISTAKES[kind]
    with pytest.raises(TrilithonError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


ENDED = {"first_player": 0, "position": {"reserve": [[1, 0, 0], [0, 0, 0]]}}
RESETS = {
    "a seed below 0": ({"seed": -1}, OptionError, "seed = -1 is not allowed"),
    "a text": ({"seed": "7"}, OptionError, "seed = '7' is not allowed"),
    "one of the seeds": ({"seed": [1, -1]}, OptionError, "seed must be a whole number >= 0, not -1"),
    "too few seeds": ({"seed": [1]}, OptionError, "has 1 seeds for 2 games"),
    "no dict": ({"options": 7}, OptionError, "takes a dict such as"),
    "a mask": ({"options": {"reset_mask": np.ones(2, bool)}}, OptionError, "games restart by themselves"),
    "too many setups": ({"options": {"setup": [None] * 3}}, OptionError, "has 3 setups for 2 games"),
    "a wrong setup": ({"options": {"setup": {"first_player": 2}}}, SetupError, "first_player = 2 is not 0 or 1"),
    "a wrong one": ({"options": {"setup": [None, 7]}}, SetupError, "a setup is an object"),
}


@pytest.mark.parametrize("kind", RESETS)
def test_a_wrong_reset_leaves_the_games_as_they_were(kind):
    arguments, error, message = RESETS[kind]
    env, twin = (VectorEnv("selenolyth", 2, seed=3) for _ in range(2))
    for one in (env, twin):
        one.reset()
        play(one)
    with pytest.raises(error, match=message) as caught:
        env.reset(**arguments)
    assert "\n" not in str(caught.value)
    assert play(env, 30) == play(twin, 30)


def test_a_setup_that_is_over_is_refused():
    env = VectorEnv("aether(board=mini,early_scoring=proved)", 2, seed=3)
    setup = env.game.new_initial_state(0).setup()
    setup["position"] = {"unused": [0, 0], "sacrificed": [4, 4]}  # nobody can ever take anything
    with pytest.raises(SetupError, match="the setup of game 1 is over before anybody can act"):
        env.reset(options={"setup": [None, setup]})
    with pytest.raises(SetupError, match="the setup is over before anybody can act"):
        env.reset(options={"setup": setup})


def test_a_first_reset_with_a_seed_missing():
    with pytest.raises(OptionError, match="needs a seed for every game, or none at all"):
        VectorEnv("selenolyth", 2).reset(seed=[1, None])


class Impatient(type(load_game("selenolyth"))):
    """Of its deals the first few are over at once."""

    dealt, over = 0, 7

    def deal(self, rng):
        array, setup = super().deal(rng)
        self.dealt += 1
        if 1 < self.dealt <= 1 + self.over:  # the first is the constructor's
            array["current_player"] = -4
        return array, setup


def test_a_game_that_is_over_at_once_gives_way_to_the_next():
    game = Impatient()
    env = VectorEnv(game, 3, seed=1)
    env.reset()
    assert game.dealt == 1 + 3 + 7
    assert env.action_masks.any(axis=1).all()
    game = Impatient()
    game.over = 10**9
    env = VectorEnv(game, 3, seed=1)
    with pytest.raises(OptionError, match="1000 deals in a row were over before anybody could act"):
        env.reset()
    with pytest.raises(OrderError):
        env.step([0, 0, 0])


def test_a_vector_is_not_copied():
    env = VectorEnv("selenolyth", 2)
    for copying in (copy.deepcopy, copy.copy, pickle.dumps):
        with pytest.raises(TrilithonError, match="cannot be copied or pickled"):
            copying(env)


# --------------------------------------------------------------------------------------------------- compiled, and fast

SCRIPT = """
import hashlib
from trilithon.envs.vector import VectorEnv
digest = hashlib.sha256()
for spec in ("aeroliths(chaos=true)", "selenolyth(max_turns=4)"):
    env = VectorEnv(spec, 3, seed=1)
    env.reset()
    for step in range(12):
        env.step(env.sample_actions(step))
        for array in (env.observations, env.action_masks, env.current_players, env.rewards, env.truncations):
            digest.update(array.tobytes())
print(digest.hexdigest())
"""


def test_plain_python_does_the_same():
    found = set()
    for disabled in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        line = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1


def test_a_batch_costs_less_than_single_games():
    """The ratio, so that a busy machine does not matter."""
    env, rng = VectorEnv("selenolyth", 256, seed=1), make_rng(1)
    single = make_single(env.game)
    env.reset()
    single.reset(seed=1)
    seconds = [0.0, 0.0]
    for _ in range(40):
        start = time.perf_counter()
        env.step(env.sample_actions(rng))
        seconds[0] += time.perf_counter() - start
        start = time.perf_counter()
        for _ in range(20):
            observation = single.last()[0]["action_mask"]
            single.step(int(observation.argmax()))
            if any(single.terminations.values()):
                single.reset()
        seconds[1] += time.perf_counter() - start
    batched, alone = seconds[0] / (40 * 256), seconds[1] / (40 * 20)
    assert batched < alone / 3, f"{batched * 1e6:.2f} us a step in a batch, {alone * 1e6:.2f} us alone"


def test_the_benchmarks_measure_every_game(monkeypatch):
    monkeypatch.setattr(benchmark, "VECTOR", 2)
    results = list(benchmark.run_benchmarks(["vector"], runs=2))
    assert [result.benchmark.name for result in results] == [f"vector/{name}" for name in registry._OWN_GAMES]
    assert all(result.value > 100 and result.benchmark.unit == "steps/s" for result in results)
