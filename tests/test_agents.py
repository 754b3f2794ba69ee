"""Agents: specs, minimax against a plain search, batches, and that nobody sees a hidden card."""

import numpy as np
import pytest

from trilithon.agents import list_agents, load_agent
from trilithon.agents.checkpoint import build_network, save_checkpoint
from trilithon.core import OptionError, SpecError, load_game
from trilithon.core.rng import seed, stream

SPECS = [
    "uniform",
    "greedy",
    "minimax(depth=1)",
    "minimax(depth=2,worlds=3)",
    "mcts(simulations=24,worlds=3)",
    "mcts(simulations=24,worlds=3,network={net})",
    "mcts(simulations=24,worlds=1,root=puct,network={net})",
    "policy(network={net})",
    "policy(network={net},temperature=1.0)",
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """An untrained network for each game, by spec."""
    made = {}

    def make(game):
        key = (game.name, game.observation_tensor_shape(), game.num_distinct_actions())
        if key not in made:
            settings = {"channels": 16, "layers": 1}
            base = tmp_path_factory.mktemp("network") / "000001"
            made[key] = str(save_checkpoint(base, game, build_network(game, settings), settings))
        return made[key]

    return make


def play(game, state, agents, chance_seed=0):
    """Play to the end; return the actions of players and chance."""
    chance, actions = seed(chance_seed), []
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes = state.chance_outcomes()
            action = outcomes[int(chance[0] + len(actions)) % len(outcomes)][0]
        else:
            action = agents[state.current_player()].act(state)
        actions.append(action)
        state.apply_action(action)
    return actions


def test_specs_round_trip():
    for name in list_agents():
        if name != "policy":
            assert load_agent(name).spec == name
    agent = load_agent("mcts( simulations = 9 , uct_c=2 )")
    assert load_agent(agent.spec).options == agent.options


@pytest.mark.parametrize(
    ("spec", "error", "match"),
    [
        ("nobody", SpecError, "unknown agent 'nobody'"),
        ("greedi", SpecError, "did you mean 'greedy'"),
        ("minimax(depth=0)", OptionError, "depth = 0 is not allowed"),
        ("minimax(deep=3)", OptionError, "unknown option 'deep'"),
        ("mcts(simulations=many)", OptionError, "simulations = 'many'"),
        ("mcts(seed=3)", OptionError, "unknown option 'seed'"),  # names of the constructor's own arguments
        ("greedy(game=x)", OptionError, "unknown option 'game'"),
        ("minimax(self=1)", OptionError, "unknown option 'self'"),
        ("mcts(simulations=3", SpecError, r"expected '\)'"),
        ("minimax(depth)", SpecError, "expected key=value"),
    ],
)
def test_bad_specs(spec, error, match):
    with pytest.raises(error, match=match):
        load_agent(spec)


def test_agents_that_need_a_network_say_so():
    game = load_game("aeroliths")
    with pytest.raises(OptionError, match="network"):
        load_agent("policy", game)
    with pytest.raises(OptionError, match="needs a network"):
        load_agent("mcts(root=gumbel)", game)


def plain_minimax(state, depth, player):
    """The value for `player`, without pruning; leaves as agents/minimax.py describes them."""
    if state.is_terminal():
        return state.returns()[player] + 1e-3 * state.margin()[player]
    if state.is_chance_node():
        return sum(p * plain_minimax(state.child(a), depth, player) for a, p in state.chance_outcomes())
    if depth == 0:
        return state.heuristic()[player]
    values = [plain_minimax(state.child(a), depth - 1, player) for a in state.legal_actions()]
    return max(values) if state.current_player() == player else min(values)


@pytest.mark.parametrize(
    "spec",
    [
        "aeroliths(open_hands=true)",
        "aeroliths(open_hands=true,same=true,plus=true,combo=true,wall=true,elemental_cells=random)",
        "aeroliths(open_hands=true,chaos=true)",
        "aeroliths(open_hands=true,order=true,size=4)",
    ],
)
def test_minimax_equals_a_plain_search(spec):
    game = load_game(spec)
    generator = np.random.default_rng(5)
    for number in range(20):
        state = game.new_initial_state(number)
        left = int(generator.integers(1, 5))
        cells = game.options["size"] ** 2
        while sum(x is None for x in state.to_dict()["board"]) > left or state.is_chance_node():
            state.apply_action(int(generator.choice(state.legal_actions())))
        assert cells
        for depth in (1, 2, 3):
            player = state.current_player()
            agent = load_agent(f"minimax(depth={depth})", game)
            analysis = agent.analyse(state)
            expected = [plain_minimax(state.child(a), depth - 1, player) for a in state.legal_actions()]
            np.testing.assert_allclose(analysis.qvalues[:, player], expected, atol=1e-9)
            assert expected[state.legal_actions().index(agent.act(state))] == pytest.approx(max(expected))


def test_minimax_of_depth_one_is_greedy():
    game = load_game("aeroliths(open_hands=true,size=4)")
    greedy, minimax = load_agent("greedy", game), load_agent("minimax(depth=1)", game)
    for number in range(10):
        state = game.new_initial_state(number)
        while not state.is_terminal():
            a, b = greedy.analyse(state), minimax.analyse(state)
            if len(state.legal_actions()) > 4:
                np.testing.assert_array_equal(a.weights > 0, b.weights > 0)
            state.apply_action(a.action)


def test_greedy_takes_the_most_and_exposes_the_least():
    game = load_game("aeroliths(open_hands=true,first_player=0)")
    weak = [1, 1, 1, 1, 4]
    setup = {
        "first_player": 0,
        "hands": [[[9, 9, 9, 9, 4], [3, 3, 3, 3, 4], weak, weak, weak], [weak, weak, weak, weak]],
        "cells": [None] * 9,
    }
    state = game.from_setup(setup)
    # Nothing to capture: the strong Litho in any corner shows the two least exposed sides.
    assert {game.action_to_string(state.array, a) for a, w in _weights(load_agent("greedy", game), state) if w > 0} == {
        "0@a1",
        "0@c1",
        "0@a3",
        "0@c3",
    }
    state.apply_action(state.string_to_action("2@b2"))
    state.apply_action(state.string_to_action("0@a1"))
    best = [game.action_to_string(state.array, a) for a, w in _weights(load_agent("greedy", game), state) if w > 0]
    assert best
    assert all(state.child(state.string_to_action(text)).margin()[0] == pytest.approx(3 / 9) for text in best)


def _weights(agent, state):
    analysis = agent.analyse(state)
    return zip(analysis.actions.tolist(), analysis.weights.tolist(), strict=True)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(
    "game_spec", ["aeroliths", "aeroliths(chaos=true)", "aeroliths(hands=mirrored)", "aeroliths(source=catalogue)"]
)
def test_equal_information_gives_equal_games(spec, game_spec, checkpoint):
    """Hidden cards dealt anew, everything seen the same: the same actions, for a whole game, from every agent."""
    game = load_game(game_spec)
    text = spec.format(net=f'"{checkpoint(game)}"')
    for number in range(3):
        state = game.new_initial_state(number)
        agent, opponent = load_agent(text, game), load_agent("uniform", game)
        other = state.resample_from_infostate(0, 1000 + number)
        hidden = game.has_hidden_information(state.array, 0)
        assert not hidden or other.to_dict() != state.to_dict()
        while not state.is_terminal():
            player = state.current_player()
            assert other.current_player() == player
            if player == 0:
                assert state.information_state_string(0) == other.information_state_string(0)
                agent.reset(game, number)
                action = agent.act(state)
                agent.reset(game, number)
                assert agent.act(other) == action
            elif player == 1:
                action = opponent.act(state)
            else:
                action = state.legal_actions()[number % len(state.legal_actions())]
            state.apply_action(action)
            # The opponent's play reveals a Litho: deal the rest of that hand anew around it.
            other = state.resample_from_infostate(0, int(stream(number, len(state.history()))[0] >> np.uint64(1)))


def test_the_leak_test_can_fail():
    """An agent that read the true state would be found: the hidden hands above do differ."""
    game = load_game("aeroliths")
    state = game.new_initial_state(1)
    other = state.resample_from_infostate(0, 2)
    assert state.to_dict()["hands"][1] != other.to_dict()["hands"][1]
    assert state.view(0, 3).to_bytes() == other.view(0, 3).to_bytes()


@pytest.mark.parametrize("spec", SPECS)
def test_an_action_does_not_depend_on_the_company(spec, checkpoint):
    game = load_game("aeroliths(open_hands=true)")
    agent = load_agent(spec.format(net=f'"{checkpoint(game)}"'), game)
    states = [game.new_initial_state(k) for k in range(20)]
    for k, state in enumerate(states):
        for _ in range(k % 7):
            state.apply_action(state.legal_actions()[k % len(state.legal_actions())])
    together = agent.act_batch(states, [stream(3, k) for k in range(20)])
    backwards = agent.act_batch(states[::-1], [stream(3, k) for k in range(20)][::-1])
    assert together == backwards[::-1]
    if "network" not in spec:
        assert together == [agent.act_batch([state], [stream(3, k)])[0] for k, state in enumerate(states)]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("game_spec", ["aeroliths", "aeroliths(size=4,chaos=true,same=true)", "aeroliths(draft=true)"])
def test_whole_games_and_analyses(spec, game_spec, checkpoint):
    game = load_game(game_spec)
    agent = load_agent(spec.format(net=f'"{checkpoint(game)}"'), game)
    state = game.new_initial_state(2)
    first = next(iter(state.legal_actions()))
    assert first >= 0
    actions = play(game, state, [agent, agent])
    assert state.is_terminal()
    assert len(actions) == len(state.history())
    state = game.new_initial_state(3)
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    analysis = agent.analyse(state)
    assert analysis.player == state.current_player()
    assert analysis.actions.tolist() == state.legal_actions()
    assert analysis.action in state.legal_actions()
    assert analysis.weights.sum() == pytest.approx(1.0)
    assert analysis.qvalues.shape == (len(analysis.actions), 2)
    assert analysis.to_dict()["player"] == analysis.player


def test_act_needs_a_player_to_move_and_the_right_game():
    game = load_game("aeroliths")
    agent = load_agent("greedy", game)
    state = game.new_initial_state(1)
    with pytest.raises(OptionError, match="was reset for"):
        agent.act(load_game("aeroliths(size=4)").new_initial_state(1))
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
    with pytest.raises(OptionError, match="the game is over"):
        agent.act(state)
