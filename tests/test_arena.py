"""The arena: duplicate deals, results that depend on the seed alone, and agents that misbehave."""

import json
from collections import Counter

import numpy as np
import pytest

from trilithon.agents import Agent, load_agent
from trilithon.agents.analysis import make_analysis
from trilithon.core import ConfigError, OptionError, SpecError, TrilithonError
from trilithon.envs import aeroliths_v0
from trilithon.experiments import arena
from trilithon.experiments.arena import number_of_games, play_event
from trilithon.experiments.matches import deal_seed
from trilithon.experiments.ratings import outcomes_of

CHAOS = "aeroliths(chaos=true)"


class First(Agent):
    """The first legal action."""

    name = "first"
    doc = "the first legal action"

    def examine(self, views, rngs):
        return [make_analysis(v, v.legal_actions()[0], np.eye(len(v.legal_actions()))[0]) for v in views]


class Raising(First):
    """Raises in some positions, after its generator has moved on."""

    name = "raising"

    def choose(self, views, rngs):
        for view, rng in zip(views, rngs, strict=True):
            rng[0] += np.uint64(1)
            if len(view.history()) >= 4 and sum(action or 0 for _, action in view.history()) % 3 == 0:
                raise RuntimeError("a\nfault")
        return super().choose(views, rngs)


class Illegal(First):
    """Plays an action that does not exist."""

    name = "illegal"

    def choose(self, views, rngs):
        return [10**6 for _ in views]


class Short(First):
    """Answers for fewer games than asked."""

    name = "short"

    def choose(self, views, rngs):
        return []


CLOCK = [0.0]


class Slow(First):
    """Takes three seconds for every third action."""

    name = "slow"
    count = 0

    def choose(self, views, rngs):
        type(self).count += 1
        CLOCK[0] += 3.0 if self.count % 3 == 0 else 0.5
        return super().choose(views, rngs)


@pytest.fixture(autouse=True)
def _test_agents(monkeypatch):
    own = {cls.name: cls for cls in (First, Raising, Illegal, Short, Slow)}

    def load(spec, game=None, seed=0):
        return own[spec](game, seed) if spec in own else load_agent(spec, game, seed)

    monkeypatch.setattr(arena, "load_agent", load)


def lines(result):
    return [record.to_json() for record in result.records]


def test_every_deal_is_played_in_every_seating():
    result = play_event("aeroliths", ["greedy", "uniform", "first"], 10, seed=3)
    assert len(result.records) == number_of_games(result.records[0].load_game(), 3, 10) == 60
    seatings = Counter((record.seed, tuple(record.agents)) for record in result.records)
    assert set(seatings.values()) == {1}
    assert len({record.seed for record in result.records}) == 10
    for record in result.records:
        assert record.setup == record.load_game().new_setup(record.seed)
        assert record.seed in {deal_seed(3, deal) for deal in range(10)}
        assert record.verify().is_terminal()
    pairs = result.pairs()
    assert [(p.agent, p.opponent, p.games, p.deals) for p in pairs] == [
        ("greedy", "uniform", 20, 10),
        ("greedy", "first", 20, 10),
        ("uniform", "first", 20, 10),
    ]
    assert pairs[0].score > 0.6
    assert [seat["games"] for seat in pairs[0].seats] == [10, 10]


def test_a_gauntlet_is_the_first_agent_against_the_others():
    result = play_event("aeroliths", ["greedy", "uniform", "first"], 2, gauntlet=True)
    assert [(p.agent, p.opponent) for p in result.pairs()] == [("greedy", "uniform"), ("greedy", "first")]
    assert len(result.records) == 8


def test_games_depend_on_the_seed_alone():
    agents = ["greedy", "uniform"]
    result = play_event(CHAOS, agents, 12, seed=5)
    assert lines(play_event(CHAOS, agents, 12, seed=5, batch=6)) == lines(result)
    assert lines(play_event(CHAOS, agents, 12, seed=6)) != lines(result)
    joined = play_event(CHAOS, ["uniform", "first", "greedy"], 12, seed=5)
    both = [record.to_json() for record in joined.records if set(record.agents) == set(agents)]
    assert sorted(both) == sorted(lines(result))
    fewer = play_event(CHAOS, agents, 5, seed=5)
    assert lines(fewer) == lines(result)[:10]


def test_the_two_games_of_a_deal_are_not_one_game_twice():
    result = play_event("aeroliths", ["uniform", "greedy"], 20)
    steps = [json.dumps(record.steps) for record in result.records]
    assert len(set(steps)) == 40


def test_worker_processes_change_nothing():
    agents = ["greedy", "uniform"]
    here = play_event(CHAOS, agents, 10, seed=1, batch=4)
    seen, done = [], []
    there = play_event(CHAOS, agents, 10, seed=1, batch=4, workers=2, keep=seen.extend, progress=done.append)
    assert seen == here.records
    assert there.records == []
    assert there.to_dict() == here.to_dict()
    assert sum(done) == 20


def test_an_environment_with_a_deals_seed_plays_the_same_game():
    for record in play_event(CHAOS, ["greedy", "first"], 4, seed=2).records:
        env = aeroliths_v0.env(chaos=True)
        env.reset(seed=record.seed)
        for player, action in record.steps:
            if player >= 0:
                assert env.agent_selection == f"player_{player}"
                env.step(action)
        assert env.unwrapped.game_state().history() == record.steps
        assert [env.rewards[f"player_{seat}"] for seat in range(2)] == record.returns


def test_ratings_from_records_are_those_of_the_event():
    result = play_event("aeroliths", ["greedy", "raising", "first"], 20)
    assert [outcome.agents for outcome in outcomes_of(result.records)] == [o.agents for o in result.outcomes]
    again = arena.ArenaResult(result.game, result.agents, outcomes=outcomes_of(result.records), faults=result.faults)
    assert again.to_dict() == result.to_dict()


def test_a_fault_costs_the_game_in_which_it_happens():
    result = play_event("aeroliths", ["raising", "uniform"], 20)
    forfeits = [record.tags["forfeit"] for record in result.records if record.tags]
    assert 0 < len(forfeits) < 40
    assert len(result.faults) == len(forfeits)
    assert "raising lost deal" in result.faults[0]
    assert "RuntimeError: a fault" in result.faults[0]
    assert "\n" not in result.faults[0]
    for record, outcome in zip(result.records, result.outcomes, strict=True):
        record.verify()
        if record.tags:
            seat = record.agents.index("raising")
            assert record.tags["forfeit"]["seat"] == seat
            assert outcome.returns[seat] == -1.0
            assert outcome.margins is None
    assert lines(play_event("aeroliths", ["raising", "uniform"], 20, batch=2)) == lines(result)


@pytest.mark.parametrize(("agent", "reason"), [("illegal", "IllegalActionError"), ("short", "0 actions for 1 games")])
def test_an_agent_that_plays_illegally_loses_and_is_named(agent, reason):
    result = play_event("aeroliths", ["greedy", agent], 5)
    assert len(result.faults) == 10
    assert all(f"{agent} lost deal" in fault and reason in fault for fault in result.faults)
    [pair] = result.pairs()
    assert (pair.wins, pair.losses, pair.difference) == (10, 0, None)
    assert {rating.spec for rating in result.ratings()} == {"greedy", agent}


def test_strict_events_stop_at_the_first_fault():
    with pytest.raises(TrilithonError, match=r"agent illegal in deal 0 as player 1: IllegalActionError"):
        play_event("aeroliths", ["greedy", "illegal"], 5, strict=True)


def test_who_is_too_slow_has_a_random_action_played():
    CLOCK[0] = 0.0
    result = play_event("aeroliths", ["first", "slow"], 6, turn_time=1.0, clock=lambda: CLOCK[0])
    slow = [record for record in result.records if record.timed_out]
    assert slow
    for record in result.records:
        record.verify()
        assert all(record.agents[record.steps[step][0]] == "slow" for step in record.timed_out or [])
    # The clock is read between actions: without a limit nothing of it shows.
    untimed = play_event("aeroliths", ["first", "slow"], 6)
    assert not any(record.timed_out for record in untimed.records)
    assert lines(untimed) != lines(result)


@pytest.mark.parametrize(
    ("agents", "changes", "message"),
    [
        (["greedy"], {}, "needs 2 agents or more, not 1"),
        (["greedy", "greedy"], {}, "agent 'greedy' is entered twice"),
        (["minimax(depth=2)", "minimax(depth = 2)"], {}, "is entered twice"),
        (["greedy", "nobody"], {}, "unknown agent 'nobody'"),
        (["greedy", "minimax(depth=-1)"], {}, "depth = -1 is not allowed"),
        (["greedy", "uniform"], {"deals": 0}, "deals must be a whole number >= 1, not 0"),
        (["greedy", "uniform"], {"workers": 0}, "workers must be"),
        (["greedy", "uniform"], {"seed": -1}, "seed must be a whole number >= 0, not -1"),
        (["greedy", "uniform"], {"turn_time": 0.0}, "turn_time must be"),
        (["greedy", "uniform"], {"game": "aeroliths(hands=manual)"}, "starts from a setup"),
        (["greedy", "uniform"], {"game": "chess"}, "unknown game 'chess'"),
    ],
)
def test_what_cannot_be_played_is_said_in_a_line(agents, changes, message):
    arguments = {"game": "aeroliths", "deals": 1, **changes}
    with pytest.raises((ConfigError, OptionError, SpecError), match=message.replace("(", r"\(")) as caught:
        play_event(arguments.pop("game"), agents, **arguments)
    assert "\n" not in str(caught.value)
