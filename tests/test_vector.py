"""`VectorEnv`: game by game what the AEC environment does, in one array each; Gymnasium's conventions."""

import hashlib
from importlib import import_module

import numpy as np
import pytest
from gymnasium import vector

from trilithon.core import load_game, registry
from trilithon.core.rng import seed as make_rng
from trilithon.envs.vector import VectorEnv, environment_limit

# Every game; chance before, between and after actions; hidden hands; 2 to 4 players; limits; several actions in a row.
OPTION_SETS = [
    "aeroliths",
    "aeroliths(size=5,same=true,plus=true,combo=true,wall=true,elemental_cells=random,open_hands=true)",
    "aeroliths(chaos=true)",
    "aeroliths(draft=true,source=catalogue,observation=universal)",
    "aeroliths(size=4,sudden_death=true,max_rounds=1,hands=mirrored)",
    "selenolyth",
    "selenolyth(max_turns=20,luminance_goal=3)",
    "selenolyth(selenolyths=18,diox=0,orthos=0,first_player=1)",
    "aether(board=mini)",
    "aether(board=small,early_scoring=agreement,variant=true)",
    "aether(board=mini,players=3,early_scoring=proved,reward=margin)",
    "aether(board=small,players=4,teams=true)",
]
TRUNCATED = [spec for spec in OPTION_SETS if "max_turns" in spec or "max_rounds" in spec]
GAMES, STEPS, SEED = 5, 120, 70


def make_single(game):
    """The game's own AEC environment, without its wrapper."""
    return import_module(f"trilithon.envs.{game.name}_v0").raw_env(**game.options)


def reset_single(env, seed=None):
    """A new game in which somebody can act."""
    env.reset(seed=seed)
    while any(env.terminations.values()) or any(env.truncations.values()):
        env.reset()


def test_every_game_is_among_the_option_sets():
    assert {spec.partition("(")[0] for spec in OPTION_SETS} == set(registry._OWN_GAMES)


@pytest.fixture(scope="module", params=OPTION_SETS)
def spec(request):
    return request.param


# ------------------------------------------------------------------------------------------- beside the AEC environment


def test_each_game_is_that_of_the_aec_environment(spec):
    env = VectorEnv(spec, GAMES)
    singles = [make_single(env.game) for _ in range(GAMES)]
    for i, single in enumerate(singles):
        reset_single(single, SEED + i)
    env.reset(seed=SEED)
    rng, ends = make_rng(1), 0
    for step in range(STEPS):
        where = f"step {step}"
        for i, single in enumerate(singles):
            seat = single.possible_agents.index(single.agent_selection)
            seen = single.observe(single.agent_selection)
            assert env.current_players[i] == seat, where
            assert np.array_equal(env.observations[i], seen["observation"]), where
            assert np.array_equal(env.action_masks[i], seen["action_mask"]), where
        actions = env.sample_actions(rng)
        env.step(actions)
        for i, single in enumerate(singles):
            single.step(int(actions[i]))
            assert env.rewards[i].tolist() == list(single.rewards.values()), where
            assert set(single.terminations.values()) == {bool(env.terminations[i])}, where
            assert set(single.truncations.values()) == {bool(env.truncations[i])}, where
            if env.terminations[i] or env.truncations[i]:
                ends += 1
                reset_single(single)
    assert ends > GAMES, "too few games ended to see the next ones"


@pytest.mark.parametrize("spec", TRUNCATED, ids=str)
def test_a_limit_is_a_truncation(spec):
    env = VectorEnv(spec, 64, seed=3)
    env.reset()
    rng, flags = make_rng(1), np.zeros(2, int)
    for _ in range(60):
        env.step(env.sample_actions(rng))
        assert not (env.terminations & env.truncations).any()
        assert not env.rewards[env.truncations].any()
        flags += env.terminations.sum(), env.truncations.sum()
    assert flags.min() > 0, "both kinds of ends"


def test_a_limit_of_ones_own():
    env = VectorEnv("aeroliths", 16, seed=3, ended_by_limit=lambda game, states: bool(states["first_player"][0]))
    env.reset()
    rng = make_rng(1)
    for _ in range(9):
        first = np.array([env.setup(i)["first_player"] for i in range(16)], bool)
        env.step(env.sample_actions(rng))
    assert np.array_equal(env.truncations, first)
    assert np.array_equal(env.terminations, ~first)
    assert 0 < first.sum() < 16


def test_a_game_from_outside_has_no_limit():
    class Outside:
        name = "outside"

    assert environment_limit(Outside()) is None
    assert environment_limit(load_game("selenolyth")) is not None


# ----------------------------------------------------------------------------------------------- shapes and conventions


def test_what_reset_and_step_return(spec):
    env = VectorEnv(load_game(spec), 3, seed=1)
    game = env.game
    assert isinstance(env, vector.VectorEnv)
    assert env.metadata["autoreset_mode"] == vector.AutoresetMode.SAME_STEP
    observations, infos = env.reset()
    arrays = env.observations, env.rewards, env.terminations, env.truncations
    masks, players = env.action_masks, env.current_players
    for step in range(40):
        assert observations is env.observations
        assert env.observation_space.contains(observations)
        assert set(infos) == {"action_mask", "_action_mask", "current_player", "_current_player"}
        assert infos["action_mask"] is env.action_masks is masks
        assert infos["current_player"] is env.current_players is players
        assert masks.any(axis=1).all()
        actions = masks.argmax(axis=1) if step % 2 else env.sample_actions(step)
        assert env.action_space.contains(actions)
        *found, infos = env.step(actions)
        assert all(one is array for one, array in zip(found, arrays))
    assert [(array.dtype.name, array.shape) for array in (*arrays, masks, players)] == [
        ("float32", (3, *game.observation_tensor_shape())),
        ("float64", (3, game.num_players())),
        ("bool", (3,)),
        ("bool", (3,)),
        ("bool", (3, game.num_distinct_actions())),
        ("int64", (3,)),
    ]
    assert env.single_observation_space.shape == game.observation_tensor_shape()
    assert env.single_action_space.n == game.num_distinct_actions()


def test_nobody_can_write_into_the_environment():
    env = VectorEnv("aeroliths", 2, seed=1)
    _, infos = env.reset()
    everything = [env.observations, env.rewards, env.terminations, env.truncations, *infos.values()]
    for array in everything:
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 1
    infos.clear()
    assert env.step(env.sample_actions(0))[-1]


def test_rewards_are_paid_once_and_to_everybody():
    env = VectorEnv("aether(board=mini,players=3)", 32, seed=5)
    env.reset()
    rng, paid = make_rng(2), 0
    for _ in range(60):
        env.step(env.sample_actions(rng))
        ended = env.terminations | env.truncations
        assert not env.rewards[~ended].any()
        assert np.allclose(env.rewards.sum(axis=1), 0)
        paid += (env.rewards[ended] != 0).sum()
    assert paid > 32


def test_the_step_that_ends_a_game_shows_the_next_one():
    env = VectorEnv("selenolyth(max_turns=2,first_player=0)", 4, seed=0)
    env.reset()
    start = env.observations.copy()
    for _ in range(60):
        env.step(env.sample_actions(0))
        ended = env.terminations | env.truncations
        assert np.array_equal(env.observations[ended], start[ended])
        assert (env.current_players[ended] == 0).all()
        if ended.any():
            break
    else:
        pytest.fail("no game ended")


def test_samples_are_legal_and_uniform():
    env = VectorEnv("aeroliths(order=true,first_player=0)", 400, seed=1)
    env.reset()
    rng = make_rng(3)
    counts = np.zeros(env.single_action_space.n, int)
    for _ in range(20):
        actions = env.sample_actions(rng)
        assert env.action_masks[np.arange(400), actions].all()
        counts += np.bincount(actions, minlength=len(counts))
    assert (counts[9:] == 0).all()
    assert abs(counts[:9] / 8000 - 1 / 9).max() < 0.02
    assert np.array_equal(env.sample_actions(9), env.sample_actions(9))


# ---------------------------------------------------------------------------------------------------------------- seeds


def play(env, steps=15, rng=0):
    """What a few random steps show, as a digest."""
    digest, rng = hashlib.sha256(), make_rng(rng)
    for _ in range(steps):
        for array in (env.observations, env.action_masks, env.current_players, env.rewards, env.terminations):
            digest.update(array.tobytes())
        env.step(env.sample_actions(rng))
    return digest.hexdigest()


def test_the_same_seed_is_the_same_games(spec):
    digests = []
    for _ in range(2):
        env = VectorEnv(spec, 4)
        env.reset(seed=11)
        digests.append(play(env))
        env.reset(seed=12)
        digests.append(play(env))
    assert digests[0] == digests[2] != digests[1] == digests[3]


def test_seeds_one_by_one_and_in_a_row():
    env = VectorEnv("aeroliths", 3)
    env.reset(seed=20)
    row = [env.setup(i) for i in range(3)]
    assert row == [env.game.new_initial_state(20 + i).setup() for i in range(3)]
    env.reset(seed=[22, 7, np.int64(20)])
    assert [env.setup(i) for i in range(3)] == [row[2], env.game.new_initial_state(7).setup(), row[0]]
    env.reset(seed=np.array([20, 21, 22]))
    assert [env.setup(i) for i in range(3)] == row


def test_without_a_seed_the_streams_go_on():
    env, other = VectorEnv("aeroliths", 3, seed=20), VectorEnv("aeroliths", 3)
    env.reset()
    other.reset(seed=20)
    first = [env.setup(i) for i in range(3)]
    for one in (env, other):
        one.reset()
    assert [env.setup(i) for i in range(3)] == [other.setup(i) for i in range(3)] != first
    env.reset(seed=[None, 20, None])
    other.reset()
    assert env.setup(1) == first[0]
    assert [env.setup(i) for i in (0, 2)] == [other.setup(i) for i in (0, 2)]
    fresh = [VectorEnv("aeroliths", 1) for _ in range(2)]
    for one in fresh:
        one.reset()
    assert fresh[0].setup(0) != fresh[1].setup(0)


def test_a_game_does_not_depend_on_its_neighbours():
    alone, among = VectorEnv("selenolyth", 1), VectorEnv("selenolyth", 6)
    alone.reset(seed=44)
    among.reset(seed=40)
    rng = make_rng(5)
    for _ in range(100):
        assert np.array_equal(alone.observations[0], among.observations[4])
        actions = among.sample_actions(rng)
        among.step(actions)
        alone.step(actions[4:5])
        assert np.array_equal(alone.rewards[0], among.rewards[4])


def test_setups():
    env = VectorEnv("aeroliths", 3, seed=1)
    setups = [env.game.new_initial_state(seed).setup() for seed in (50, 51)]
    env.reset(seed=9, options={"setup": setups[0]})
    assert [env.setup(i) for i in range(3)] == [setups[0]] * 3
    env.reset(seed=9, options={"setup": [setups[1], None, setups[0]]})
    assert [env.setup(i) for i in (0, 2)] == [setups[1], setups[0]]
    assert env.setup(1) == env.game.new_initial_state(10).setup()
    env.setup(0)["first_player"] = 7
    assert env.setup(0) == setups[1]
    single = make_single(env.game)
    single.reset(seed=9, options={"setup": setups[1]})
    for _ in range(30):
        assert np.array_equal(env.observations[0], single.observe(single.agent_selection)["observation"])
        actions = env.action_masks.argmax(axis=1)
        env.step(actions)
        single.step(int(actions[0]))
        if any(single.terminations.values()):
            single.reset()
