"""How a game goes in the environments: turns, rewards, chance, setups, the timer, and what is hidden."""

import copy
import pickle
import time

import numpy as np
import pytest

from trilithon.core import GameRecord, IllegalActionError, OptionError, SetupError, load_game
from trilithon.envs import aeroliths_v0

FIVES = [5, 5, 5, 5, 0]
LEVEL = {"first_player": 0, "hands": [[FIVES] * 8, [FIVES] * 8], "cells": [None] * 16}  # nothing captures: a draw


@pytest.fixture(params=[aeroliths_v0.env, aeroliths_v0.raw_env], ids=["env", "raw_env"])
def make(request):
    return request.param


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self, now=100.0):
        self.now = now

    def __call__(self):
        return self.now


def legal(env):
    return np.flatnonzero(env.last()[0]["action_mask"]).tolist()


def play(env, choose=min, steps=10**6):
    """Play on; return the actions."""
    actions = []
    while len(actions) < steps and not env.terminations[env.agent_selection] | env.truncations[env.agent_selection]:
        actions.append(choose(legal(env)))
        env.step(actions[-1])
    return actions


# ---------------------------------------------------------------------------------------------------- turns and rewards


def test_a_game_step_by_step_is_the_core_s_game(make):
    for options in ({"size": 4, "draft": True}, {"chaos": True, "same": True}, {"size": 5, "hands": "mirrored"}):
        env = make(**options)
        env.reset(seed=3)
        state = load_game("aeroliths", **options).new_initial_state(3)
        for agent in env.agent_iter():
            while state.is_chance_node():
                state.apply_action(env.unwrapped.game_state().history()[len(state.history())][1])
            if state.is_terminal():
                break
            mover = state.current_player()
            assert agent == f"player_{mover}"
            assert legal(env) == state.legal_actions()
            for seat in (0, 1):
                seen = env.observe(f"player_{seat}")
                assert np.array_equal(seen["observation"], state.observation_tensor(seat))
                assert seen["action_mask"].any() == (seat == mover), "who waits has a mask of zeros"
                assert env.rewards[f"player_{seat}"] == 0
                assert not env.terminations[f"player_{seat}"]
            action = state.legal_actions()[len(state.history()) % 3 % len(state.legal_actions())]
            state.apply_action(action)
            env.step(np.int32(action))
        assert list(env.rewards.values()) == state.returns().tolist()
        assert list(env.terminations.values()) == [True, True]
        assert not any(env.truncations.values())
        record = GameRecord.from_state(env.unwrapped.game_state(), seed=3, timed_out=env.unwrapped.timed_out_steps)
        record.verify()
        assert record.steps == state.history()


def test_agents_leave_one_by_one_with_their_returns(make):
    env = make(open_hands=True)
    env.reset(seed=1)
    play(env)
    returns = env.unwrapped.game_state().returns().tolist()
    assert sorted(returns) == [-1, 1]
    for seat, reward in enumerate(returns):
        assert env.agent_selection == f"player_{seat}"
        observation, *rest = env.last()
        assert rest == [reward, True, False, {"timed_out": False, "chance": []}]
        assert not observation["action_mask"].any()
        with pytest.raises(IllegalActionError, match=f"the game is over for player_{seat}: step\\(None\\)"):
            env.step(0)
        env.step(None)
        assert env.agents == [f"player_{other}" for other in (0, 1) if other > seat]
        assert list(env.rewards.values()) == [0.0] * (1 - seat), "paid once"
    assert list(env.agent_iter()) == []
    assert env.num_agents == 0
    assert env.observe("player_0")["observation"].any(), "the end can still be looked at"


@pytest.mark.parametrize(
    ("options", "truncated", "placements"),
    [
        ({"sudden_death": True, "max_rounds": 2}, True, 32),
        ({"sudden_death": True, "max_rounds": 1}, True, 16),
        ({"sudden_death": False, "max_rounds": 1}, False, 16),
    ],
)
def test_a_draw_that_max_rounds_forces_is_a_truncation(make, options, truncated, placements):
    env = make(size=4, **options)
    env.reset(options={"setup": LEVEL})
    assert len(play(env)) == placements
    for agent in env.agents:
        assert env.truncations[agent] is truncated
        assert env.terminations[agent] is not truncated
        assert env.rewards[agent] == 0


def test_sudden_death_that_somebody_wins_is_a_termination(make):
    env = make(size=4, sudden_death=True, max_rounds=1)
    env.reset(seed=0)
    play(env)
    assert sorted(env.rewards.values()) == [-1, 1]
    assert not any(env.truncations.values())
    assert all(env.terminations.values())


def test_what_last_and_observe_hand_out_is_nobody_else_s(make):
    env = make(chaos=True, open_hands=True)
    env.reset(seed=2)
    before = env.save_state()
    for seen in (env.last()[0], env.observe(env.agent_selection)):
        for array in seen.values():
            array[:] = 1
    kept = [env.last(), env.infos["player_0"], env.infos["player_1"]]
    frozen = copy.deepcopy(kept)
    with pytest.raises(IllegalActionError):
        env.step(next(a for a in range(45) if a not in legal(env)))
    assert env.save_state() == before
    play(env, steps=4)
    assert repr(kept) == repr(frozen), "what an agent was given does not change under its hands"
    assert env.last(observe=False)[0] is None


# ------------------------------------------------------------------------------------------------------ chance, setups


def test_infos_tell_each_agent_the_chance_since_its_last_action_that_it_may_see():
    closed, shown = aeroliths_v0.env(chaos=True), aeroliths_v0.env(chaos=True, open_hands=True)
    for env in (closed, shown):
        env.reset(seed=9)
        picks = []  # (slot, owner)
        first = env.agent_selection
        other = next(agent for agent in env.agents if agent != first)
        for turn in range(9):
            mover = env.agent_selection
            picks.append((env.unwrapped.game_state().history()[-1][1], mover))
            own = [picks[-1][0]]
            if env is closed:
                assert env.infos[mover]["chance"] == own
                waiting = next(agent for agent in env.agents if agent != mover)
                assert env.infos[waiting]["chance"] == []
            else:
                assert env.infos[mover]["chance"] == [slot for slot, _ in picks[-2:]]
            assert {action // 9 for action in legal(env)} == set(own)
            env.step(legal(env)[0])
            assert mover == (first, other)[turn % 2]


def test_a_game_can_start_from_a_setup(make):
    env = make(size=4)
    env.reset(seed=5, options={"setup": LEVEL})
    assert env.unwrapped.game_state().setup() == LEVEL
    play(env, steps=3)
    position = env.unwrapped.game_state().position_setup()
    board = env.unwrapped.game_state().to_dict()["board"]
    env.reset(options={"setup": position})
    assert env.unwrapped.game_state().to_dict()["board"] == board
    assert env.agent_selection == "player_1"
    manual = make(hands="manual", size=4)
    with pytest.raises(OptionError, match="manual"):
        manual.reset(seed=1)
    manual.reset(options={"setup": LEVEL})


def test_a_reset_that_fails_changes_nothing(make):
    env = make(size=4)
    env.reset(seed=5)
    play(env, steps=4)
    before = env.save_state()
    for options, error in [
        ({"setup": {**LEVEL, "first_player": 2}}, SetupError),
        ({"setup": {**LEVEL, "hands": [[], []]}}, SetupError),
        ({"setup": [1]}, SetupError),
        ([LEVEL], OptionError),
    ]:
        with pytest.raises(error):
            env.reset(seed=77, options=options)
        assert env.save_state() == before
    for seed in (-1, 1.5, "7"):
        with pytest.raises(OptionError, match="seed must be a whole number >= 0"):
            env.reset(seed=seed)
    assert env.save_state() == before


# --------------------------------------------------------------------------------------------------------------- timer


def test_an_overrun_turn_is_played_at_random_and_infos_say_so(make):
    clock = Clock()
    env = make(turn_time=10, clock=clock, open_hands=True)
    drawn = set()
    for seed in range(40):
        env.reset(seed=seed)
        generator = env.unwrapped._rng.copy()
        clock.now += 10.0  # exactly the time allowed
        env.step(legal(env)[0])
        mover, waiting = sorted(env.agents, key=env.agent_selection.__ne__)
        assert env.unwrapped.timed_out_steps == []
        assert np.array_equal(env.unwrapped._rng, generator)
        choices = legal(env)
        clock.now += 10.25
        env.step(None)  # whatever came too late is not looked at
        action = env.unwrapped.game_state().history()[-1][1]
        assert action in choices
        drawn.add(action)
        assert env.infos == {mover: {"timed_out": True, "chance": []}, waiting: {"timed_out": False, "chance": []}}
        assert env.unwrapped.timed_out_steps == [1]
        assert not np.array_equal(env.unwrapped._rng, generator), "drawn from the environment's own generator"
        clock.now += 1
        env.step(legal(env)[0])
        assert env.infos[mover]["timed_out"], "it stays until the player's next action"
        env.step(legal(env)[0])
        assert not env.infos[mover]["timed_out"], "every turn starts anew"
    assert len(drawn) > 20, "not always the same action"


def test_the_same_seed_draws_the_same_overrun_actions():
    def late(env, clock):
        env.reset(seed=4)
        while not any(env.terminations.values()):
            clock.now += 2
            env.step(0)
        return env.save_state(), env.unwrapped.timed_out_steps

    results = []
    for _ in range(2):
        clock = Clock()
        results.append(late(aeroliths_v0.env(turn_time=1, clock=clock, chaos=True), clock))
    assert results[0] == results[1]
    assert results[0][1] == list(range(1, 18, 2))


def test_overrun_actions_are_uniform():
    clock = Clock()
    env = aeroliths_v0.raw_env(turn_time=1, clock=clock, size=3, order=True, open_hands=True)
    counts = np.zeros(45)
    env.reset(seed=0)
    for _ in range(1800):
        env.reset()
        clock.now += 2
        env.step(None)
        counts[env.unwrapped.game_state().history()[0][1]] += 1
    assert counts[9:].sum() == 0, "Order: the first slot alone is legal"
    assert ((counts[:9] - 200) ** 2 / 200).sum() < 26.1  # chi-squared, 8 degrees of freedom, p = 0.001


@pytest.mark.parametrize(
    "how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["deepcopy", "pickle"]
)
def test_a_copy_keeps_the_seconds_used(make, how):
    clock = Clock()
    env = make(turn_time=10, clock=clock)
    env.reset(seed=1)
    clock.now += 7
    saved = env.save_state()
    twin = how(env)
    far = make(turn_time=10, clock=Clock(5000.0))
    far.restore_state(saved)
    for each, overrun in ((twin, False), (far, False), (how(env), True), (how(far), True)):
        timer = each.unwrapped._timer
        assert timer.seconds() == 7
        timer.clock.now += 4 if overrun else 3
        each.step(legal(each)[0])
        assert bool(each.unwrapped.timed_out_steps) == overrun
    assert clock.now == 107


def test_the_real_clock_runs(make):
    env = make(turn_time=0.02)
    env.reset(seed=1)
    env.step(legal(env)[0])
    time.sleep(0.03)
    env.step(legal(env)[0])
    assert env.unwrapped.timed_out_steps == [1]


# ----------------------------------------------------------------------------------------------------- what is hidden


def views(make, options, setup, seed, actions, seat):
    """Everything that reaches a seat through the environment, after every action."""
    seen = []
    envs = [make(render_mode=mode, observer=seat, **options) for mode in ("ansi", "svg")]
    for env in envs:
        env.reset(seed=seed, options={"setup": setup})
    agent = f"player_{seat}"
    for action in [*actions, None]:
        env = envs[0]
        observation = env.observe(agent)
        mine = (observation["observation"].tobytes(), observation["action_mask"].tobytes())
        seen.append((env.agent_selection, mine, env.infos[agent], *(each.render() for each in envs)))
        if action is not None:
            for each in envs:
                each.step(action)
    return seen, envs[0].unwrapped


@pytest.mark.parametrize("options", [{}, {"chaos": True}, {"size": 4, "source": "catalogue"}, {"order": True}], ids=str)
def test_two_games_that_a_player_cannot_tell_apart_look_the_same_to_it(make, options):
    for seed in range(6):
        env = make(**options)
        env.reset(seed=seed)
        setup = env.unwrapped.game_state().setup()
        actions = play(env, choose=lambda choices: choices[len(choices) // 2], steps=4)
        seat = seed % 2
        world = env.unwrapped.game_state().resample_from_infostate(seat, 1000 + seed)
        own, here = views(make, options, setup, seed, actions, seat)
        others, there = views(make, options, world.setup(), seed, actions, seat)
        assert own == others
        assert str(here.game_state()) != str(there.game_state()), "the two games do differ"
        assert not np.array_equal(here.state(), there.state()), "state() is the full state"


def test_a_hidden_pick_is_told_to_its_owner_alone(make):
    setup = load_game("aeroliths").new_setup(3)
    setup["first_player"], setup["hands"] = 0, sorted(setup["hands"], key=len, reverse=True)
    by_pick = {}
    for seed in range(60):
        env = make(chaos=True, render_mode="ansi", observer=0)
        env.reset(seed=seed, options={"setup": setup})
        if env.infos["player_0"]["chance"] == [2]:
            env.step(2 * 9 + 4)
            by_pick[env.infos["player_1"]["chance"][-1]] = env
    assert len(by_pick) == 4, "every slot was picked in some game"
    seen = {
        (env.observe("player_0")["observation"].tobytes(), repr(env.infos["player_0"]), env.render())
        for env in by_pick.values()
    }
    assert len(seen) == 1
    assert len({env.observe("player_1")["observation"].tobytes() for env in by_pick.values()}) == 4
