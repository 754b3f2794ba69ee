"""Aether's environment: the timer, wrong calls, and that nobody is shown a tile of somebody else."""

import re

import numpy as np
import pytest
from test_aether_env import OPTION_SETS, SOME

from trilithon.core import IllegalActionError, OptionError, load_game
from trilithon.envs import aether_v0


@pytest.fixture(params=OPTION_SETS)
def options(request):
    return OPTION_SETS[request.param]


@pytest.fixture(params=SOME)
def some_options(request):
    return OPTION_SETS[request.param]


@pytest.fixture(params=["env", "raw_env"])
def make(request):
    return getattr(aether_v0, request.param)


# -------------------------------------------------------------------------------------------------- timer, wrong calls


def test_the_timer_plays_for_everybody_who_is_to_act(make, options):
    now = [0.0]
    env = make(turn_time=10, clock=lambda: now[0], **options)
    env.reset(seed=5)
    while not env.terminations[env.agent_selection]:
        now[0] += 11.0
        agent = env.agent_selection
        env.step(None)
        assert env.infos[agent]["timed_out"]
    state = env.unwrapped.game_state()
    assert state.is_terminal()
    assert len(env.unwrapped.timed_out_steps) == sum(player >= 0 for player, _ in state.history())


def test_illegal_actions_and_options_are_one_clear_line(make):
    env = make(first_player=0)
    env.reset(seed=1)
    before = env.unwrapped.save_state()
    for action in (617, 618, 619, 620, -1, "water@0", None, 1.5):
        with pytest.raises(IllegalActionError, match=r"is not legal for player_0; legal: \d+ \(\w+@\d+\), ") as caught:
            env.step(action)
        assert "\n" not in str(caught.value)
    assert env.unwrapped.save_state() == before
    for bad, text in (
        ({"size": 6}, "unknown option 'size'"),
        ({"players": 5}, "players = 5 is not allowed"),
        ({"teams": True}, "teams"),
        ({"board": "mini", "players": 4}, "players"),
        ({"first_player": 2}, "first_player = 2"),
        ({"observer": 2}, "observer = 2 is not allowed"),
    ):
        with pytest.raises(OptionError, match=re.escape(text)) as caught:
            make(**bad)
        assert "\n" not in str(caught.value)


# ------------------------------------------------------------------------------------------------------ what is hidden


def seen_by(make, options, setup, seed, actions, seat):
    """All that reaches a seat through the environment, after every action, and the environment."""
    envs = [make(render_mode=mode, observer=seat, **options) for mode in ("ansi", "svg")]
    for env in envs:
        env.reset(seed=seed, options={"setup": setup})
    agent, seen = f"player_{seat}", []
    for action in [*actions, None]:
        env = envs[0]
        observation = env.observe(agent)
        mine = (observation["observation"].tobytes(), observation["action_mask"].tobytes())
        seen.append((env.agent_selection, mine, env.infos[agent], *(each.render() for each in envs)))
        if action is not None:
            for each in envs:
                each.step(action)
    return seen, envs[0].unwrapped


def test_two_games_that_a_player_cannot_tell_apart_look_the_same_to_it(make, some_options):
    """Up to the first draw, which two bags may give differently."""
    for seed in range(6):
        env = make(**some_options)
        env.reset(seed=seed)
        state = env.unwrapped.game_state()
        seat = (state.current_player() + 1 + seed) % state.game.num_players()
        proposal = 8 * len(state.to_dict()["tiles"]) + 1
        actions = [proposal] if proposal in state.legal_actions() else []
        worlds = (state.resample_from_infostate(seat, 1000 + k) for k in range(50))
        world = next(world for world in worlds if world.to_dict()["hands"] != state.to_dict()["hands"])
        own, here = seen_by(make, some_options, state.setup(), seed, actions, seat)
        others, there = seen_by(make, some_options, world.setup(), seed, actions, seat)
        assert own == others
        assert not np.array_equal(here.state(), there.state()), "state() is the full state"


def test_a_drawn_tile_is_told_to_its_owner_alone(make):
    setup = load_game("aether", board="small", players=3, first_player=0).new_setup(3)
    by_tile = {}
    for seed in range(40):
        env = make(board="small", players=3, render_mode="ansi", observer=1)
        env.reset(seed=seed, options={"setup": setup})
        env.step(int(env.last()[0]["action_mask"].argmax()))
        by_tile[env.infos["player_0"]["chance"][-1]] = env
    assert len(by_tile) == 4, "every element was drawn in some game"
    for seat in (1, 2):
        agent = f"player_{seat}"
        seen = {(env.observe(agent)["observation"].tobytes(), repr(env.infos[agent])) for env in by_tile.values()}
        assert len(seen) == 1
    assert len({env.render() for env in by_tile.values()}) == 1
    assert len({env.observe("player_0")["observation"].tobytes() for env in by_tile.values()}) == 4
