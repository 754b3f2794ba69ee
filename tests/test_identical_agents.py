"""An agent against its like: equal ratings within their intervals with two to four players, and an object a seat."""

import numpy as np
import pytest

from trilithon.agents import load_agent
from trilithon.agents.sides import sides_of
from trilithon.core import load_game
from trilithon.experiments import arena
from trilithon.experiments.arena import play_event

GAMES = [
    "aeroliths",
    "selenolyth",
    "aether(board=mini)",
    "aether(board=mini,players=3)",
    "aether(board=small,players=4)",
    "aether(board=small,players=4,teams=true)",
]
# Two specs of one agent: the second's option is read by another kind of root alone.
TWINS = [("greedy", "its like"), ("mcts(simulations=8,worlds=2)", "mcts(simulations=8,worlds=2,pb_c_init=9.0)")]


@pytest.fixture(autouse=True)
def loaded(monkeypatch):
    """The agents that the arena loads, in order; `its like` is another greedy."""
    agents = []

    def load(spec, game=None, seed=0):
        agents.append(load_agent("greedy" if spec == "its like" else spec, game, seed))
        if spec == "its like":
            agents[-1].__class__ = type("Like", (type(agents[-1]),), {"spec": "its like"})
        return agents[-1]

    monkeypatch.setattr(arena, "load_agent", load)
    return agents


def mutable_parts(value, found):
    """The ids of arrays, lists, dicts and searches inside an object; games are shared, and shall be."""
    if isinstance(value, np.ndarray | list | dict | set):
        found[id(value)] = value
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    if type(value).__module__.startswith("trilithon.agents") and hasattr(value, "__dict__"):
        found[id(value)] = value
        children = [v for name, v in vars(value).items() if name not in ("_game", "game")]
    for child in children:
        mutable_parts(child, found)
    return found


@pytest.mark.parametrize("deals", [16, pytest.param(300, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("twins", TWINS, ids=["greedy", "mcts"])
@pytest.mark.parametrize("spec", GAMES)
def test_two_identical_agents_are_rated_equal(spec, twins, deals):
    """On duplicate deals, seats rotated. (An interval of 95 % is missed now and then: 1.7 times as wide is 99.9 %.)"""
    game = load_game(spec)
    result = play_event(game, twins, deals, seed=11)
    assert result.faults == []
    facts = []
    if game.num_players() > 2:
        facts += [(share.times_fair, share.times_fair_low, share.times_fair_high, 1.0) for share in result.shares()]
    if max(sides_of(game)) == 1:
        facts += [(rating.elo, rating.low, rating.high, 0.0) for rating in result.ratings(200)]
    for pair in result.pairs():
        facts.append((pair.score, pair.score_low, pair.score_high, 0.5))
        if pair.difference is not None:
            facts.append((pair.difference, pair.difference_low, pair.difference_high, 0.0))
    assert facts
    print(spec, twins[0], [tuple(round(float(x), 3) for x in fact) for fact in facts])
    for value, low, high, fair in facts:
        assert value - 1.7 * (value - low) <= fair <= value + 1.7 * (high - value)


@pytest.mark.parametrize("spec", GAMES)
def test_every_seat_has_an_object_of_its_own(spec, loaded):
    game = load_game(spec)
    play_event(game, TWINS[1], 2, seed=1)
    assert len(loaded) == 2 * game.num_players()
    assert len({id(agent) for agent in loaded}) == len(loaded)
    parts = [mutable_parts({**vars(agent), "_game": None}, {}) for agent in loaded]
    for i, one in enumerate(parts):
        arrays = [value for value in one.values() if isinstance(value, np.ndarray)]
        assert len(arrays) > 10  # its trees
        for other in parts[:i]:
            assert not one.keys() & other.keys()
    names = [agent.spec for agent in loaded]
    assert sorted(names) == sorted([*TWINS[1]] * game.num_players())
