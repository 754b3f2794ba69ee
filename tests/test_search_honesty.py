"""No search foresees: what an agent does tells nothing of the coming die or tile, not even when it is seeded alike."""

import numpy as np
import pytest

from trilithon.agents import load_agent
from trilithon.agents.base import Agent
from trilithon.core import load_game
from trilithon.core.rng import categorical, game_streams, stream

GAMES = ["selenolyth", "aether(board=mini)", "aether(board=small,players=3)"]
AGENTS = ["greedy", "minimax(depth=1,worlds=2)", "mcts(simulations=16,worlds=4)"]
MANY = pytest.param(1000, marks=pytest.mark.heavy)


def draw(state, chance):
    """The coming outcome, drawn as environments and arena do."""
    outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
    return outcomes[categorical(chance, np.array(probabilities), len(outcomes))]


def gain(before, action, after):
    """What an outcome is worth to whoever knew it before the action."""
    if before.game.name == "aether":
        # A tile like the one just placed; who knew it would place that element.
        drawn = after.array["hands"][0] - before.array["hands"][0].astype(int)
        player = before.current_player()
        placed = action // (2 * int(before.array["slots"][0]))
        return float(placed < 4 and drawn[player, placed] == 0)
    if after.is_terminal():
        return 5.0 * after.returns()[before.current_player()]
    player = before.current_player()
    landed = after.array["pending"][0] < 0 and bool((after.array["occupied"] != before.array["occupied"])[0])
    return landed + float(after.array["luminance"][0, player]) - float(before.array["luminance"][0, player])


def gains(state, action):
    """(outcome, probability, what it is worth) for all that chance may do right after an action."""
    after = state.child(action)
    return [(o, p, gain(state, action, after.child(o))) for o, p in after.chance_outcomes()]


class Foresight:
    """How much more than expected the coming outcomes brought, in standard deviations."""

    def __init__(self):
        self.excess = self.variance = 0.0
        self.count = 0

    def add(self, possible, outcome):
        mean = sum(p * g for _, p, g in possible)
        self.variance += sum(p * (g - mean) ** 2 for _, p, g in possible)
        self.excess += next(g for o, _, g in possible if o == outcome) - mean
        self.count += 1

    @property
    def deviations(self):
        return self.excess / np.sqrt(self.variance)


class Cheat:
    """Knows the coming outcome, from a copy of the game's stream of chance, and acts on it."""

    def __init__(self, chance):
        self.chance = chance

    def act_batch(self, states, rngs):
        return [max(states[0].legal_actions(), key=lambda action: self.worth(states[0], action))]

    def worth(self, state, action):
        possible = gains(state, action)
        if not possible:
            return 0.5
        outcome = draw(state.child(action), self.chance.copy())
        return next(g for o, _, g in possible if o == outcome)


def play(game, agents, number, foresight, decisions=None):
    """One game from seed `number`; the agents' generators have the same seed, as a careless user gives it."""
    setup, chance = game_streams(number)
    state = game.new_initial_state(setup)
    rngs = [np.array([int(stream(number)[0])], np.uint64) for _ in range(game.num_players())]
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(draw(state, chance))
            continue
        seat = state.current_player()
        agent = agents[seat] if agents else Cheat(chance)
        before = rngs[seat].copy()
        [action] = agent.act_batch([state], [rngs[seat]])
        possible = gains(state, action)
        if possible:
            foresight.add(possible, draw(state.child(action), chance.copy()))
        if decisions is not None:
            decisions.append((state.to_bytes(), before, action))
        state.apply_action(action)


@pytest.mark.parametrize("games", [40, MANY])
@pytest.mark.parametrize("spec", GAMES)
@pytest.mark.parametrize("name", AGENTS)
def test_the_coming_outcomes_are_no_better_than_expected(name, spec, games):
    """Whole games; then each decision again, last first, by agents that were not there and where no die is coming."""
    game, foresight, again = load_game(spec), Foresight(), load_agent(name, load_game(spec), 5)
    agents = [load_agent(name, game, 7) for _ in range(game.num_players())]
    for number in range(games):
        decisions = []
        for agent in agents:
            agent.reset(game, number)
        play(game, agents, number, foresight, decisions)
        for data, rng, action in reversed(decisions):
            assert again.act_batch([game.from_bytes(data)], [rng]) == [action]
    print(f"{spec} {name}: {foresight.count} outcomes, {foresight.deviations:+.2f} standard deviations")
    assert foresight.count > 4 * games
    assert abs(foresight.deviations) < 4


@pytest.mark.parametrize("spec", GAMES)
def test_who_foresees_is_found_out(spec):
    game, foresight = load_game(spec), Foresight()
    for number in range(20):
        play(game, None, number, foresight)
    assert foresight.deviations > 6


@pytest.mark.parametrize("spec", ["selenolyth", "aether(board=mini)"])
def test_searching_leaves_the_coming_outcomes_as_they_were(spec):
    """The same actions with the same seed bring the same chance, whether agents searched in between or not."""
    game, agent = load_game(spec), load_agent("mcts(simulations=16,worlds=2,reuse=true)", load_game(spec))
    for number in range(10):
        histories = []
        for searching in (True, False):
            setup, chance = game_streams(number)
            state, generator = game.new_initial_state(setup), np.random.default_rng(number)
            while not state.is_terminal():
                if searching and not state.is_chance_node():
                    data = state.array.tobytes()
                    agent.analyse(state)
                    assert state.array.tobytes() == data
                state.apply_action(
                    draw(state, chance) if state.is_chance_node() else int(generator.choice(state.legal_actions()))
                )
            histories.append(state.history())
        assert histories[0] == histories[1]


@pytest.mark.parametrize(
    "spec",
    [
        "aeroliths",
        "aeroliths(first_player=0)",
        "aeroliths(source=catalogue,first_player=0)",
        "aether(board=mini,first_player=0)",
        "aether(board=mini)",
    ],
)
def test_a_view_from_the_games_own_seed_guesses_no_better(spec):
    """Who seeds game and agent alike must not deal the true hands again."""
    game, right, expected, other = load_game(spec), 0.0, 0.0, 30
    for number in range(150):
        state = game.new_initial_state(number)
        for _ in range(2):
            while state.is_chance_node():
                state.apply_action(state.legal_actions()[0])
            player = state.current_player()
            right += agreement(state, state.view(player, number))
            expected += np.mean([agreement(state, state.view(player, 1000 + k)) for k in range(other)])
            state.apply_action(state.legal_actions()[0])
    print(f"{spec}: {right:.0f} right with the game's seed, {expected:.1f} with others")
    assert abs(right - expected) < 5 * np.sqrt(expected + 1)


def agreement(state, world):
    """How many of the others' Lithos, or whole hands of tiles, a world has right by chance (what all know, too)."""
    others = [p for p in range(state.game.num_players()) if p != state.current_player()]
    one, two = (s.to_dict()["hands"] for s in (state, world))
    if state.game.name == "aether":
        return sum(one[p] == two[p] for p in others)
    return sum(a == b for p in others for a, b in zip(one[p], two[p], strict=True))


def test_no_agent_keeps_a_generator_that_a_state_could_share():
    """States hold no generator and agents act on views: nothing that draws a game's chance comes to an algorithm."""
    seen = []

    class Curious(Agent):
        name = "curious"

        def examine(self, views, rngs):
            raise NotImplementedError

        def choose(self, views, rngs):
            seen.extend(views)
            return [view.legal_actions()[0] for view in views]

    game = load_game("selenolyth")
    setup, chance = game_streams(3)
    state, agent = game.new_initial_state(setup), Curious(game)
    while not state.is_terminal():
        state.apply_action(draw(state, chance) if state.is_chance_node() else agent.act(state))
    assert len(seen) > 5
    for view in seen:
        for value in vars(view).values():
            assert not (isinstance(value, np.ndarray) and value.dtype == np.uint64)
        assert view is not state
        assert not np.shares_memory(view.array, state.array)
