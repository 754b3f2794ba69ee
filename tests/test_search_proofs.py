"""Proven nodes, reuse of trees, noise, temperature and time limits of the tree search."""

import time

import numpy as np
import pytest

from trilithon.agents import load_agent
from trilithon.agents.analysis import UNKNOWN
from trilithon.agents.search import Search, SearchSettings
from trilithon.core import CHANCE, TERMINAL, load_game
from trilithon.core.errors import OptionError
from trilithon.core.rng import stream

GAMES = [
    "aeroliths(open_hands=true,same=true,plus=true,combo=true)",
    "aeroliths(open_hands=true,chaos=true)",
    "aether(board=mini)",
    "aether(board=mini,players=3)",
    "aether(board=small,players=4,teams=true)",
]


class FlatEvaluator:
    """Equal priors, values of zero."""

    def __init__(self, game):
        self.game = game

    def __call__(self, states, indices, count):
        return np.zeros((count, self.game.num_distinct_actions()), np.float32), np.zeros(
            (count, self.game.num_players())
        )


def late(game, number, actions_left):
    """A position of a random game with so many actions to come, and a player to move; the whole state is the root."""
    generator = np.random.default_rng(number)
    state = game.new_initial_state(number)
    while not state.is_terminal():
        state.apply_action(int(generator.choice(state.legal_actions())))
    while actions_left > 0 or state.is_chance_node():
        state.undo_action()
        actions_left -= state.current_player() >= 0
    return state


def exact(state, cache):
    """Returns under best play of everybody, the first best action where several are; plain recursion."""
    key = state.array.tobytes()
    if key not in cache:
        if state.is_terminal():
            cache[key] = state.returns().copy()
        elif state.is_chance_node():
            cache[key] = sum(p * exact(state.child(a), cache) for a, p in state.chance_outcomes())
        else:
            children = [exact(state.child(a), cache) for a in state.legal_actions()]
            cache[key] = max(children, key=lambda values: values[state.current_player()])
    return cache[key]


def state_of(game, root, tree, node, path):
    """The `State` at a node, by replaying the actions that lead there."""
    state = root.clone()
    for action in path:
        state.apply_action(action)
    assert state.array.tobytes() == tree.states[0, node : node + 1].tobytes()
    return state


def nodes(tree, node=0, path=()):
    yield node, path
    for edge in range(tree.num_actions[0, node]):
        if tree.children[0, node, edge] >= 0:
            yield from nodes(tree, tree.children[0, node, edge], (*path, int(tree.actions[0, node, edge])))


@pytest.mark.parametrize("root", ["uct", "puct"])
@pytest.mark.parametrize("spec", GAMES)
def test_what_is_proven_is_exact(spec, root):
    game = load_game(spec)
    two_sides = game.num_players() == 2 or "teams" in spec
    proven_inside = proven_roots = 0
    for number in range(6):
        state = late(game, number, 2 if "players" in spec else 3 if spec.startswith("aether") else 4)
        evaluator = None if root == "uct" else FlatEvaluator(game)
        search = Search(game, 1, SearchSettings(simulations=600, root=root), evaluator)
        search.run(state.array, np.stack([stream(5, number)]))
        cache = {}
        for node, path in nodes(search.tree):
            proven = search.tree.proven[0, node]
            mover = search.tree.states["current_player"][0, node]
            if np.isnan(proven[0]):
                continue
            here = state_of(game, state, search.tree, node, path)
            if mover == TERMINAL:
                np.testing.assert_array_equal(proven, here.returns())
                continue
            proven_inside += 1
            # With several sides values depend on how the others break ties.
            if two_sides:
                np.testing.assert_allclose(proven, exact(here, cache), atol=1e-9)
        if not np.isnan(search.tree.proven[0, 0, 0]):
            proven_roots += 1
            if two_sides:
                player = state.current_player()
                after = [exact(state.child(a), cache)[player] for a in state.legal_actions()]
                assert after[search.best(0)] == pytest.approx(max(after))
                assert np.flatnonzero(search.policy(0)).tolist() != []
    assert proven_inside > 10
    assert proven_roots >= 1


def test_without_proofs_nothing_but_an_end_is_proven():
    game = load_game(GAMES[0])
    state = late(game, 1, 4)
    search = Search(game, 1, SearchSettings(simulations=500, root="uct", prove=False))
    search.run(state.array, np.stack([stream(5, 1)]))
    tree = search.tree
    known = ~np.isnan(tree.proven[0, : tree.node_count[0], 0])
    assert (known == (tree.states["current_player"][0, : tree.node_count[0]] == TERMINAL)).all()
    assert search.visits(0).sum() == 500


def test_a_proven_root_ends_the_search_and_names_the_signs():
    game = load_game(GAMES[0])
    agent = load_agent("mcts(simulations=5000)", game)
    seen = set()
    for number in range(30):
        state = late(game, number, 4)
        player, cache = state.current_player(), {}
        analysis = agent.analyse(state)
        assert analysis.visits.sum() < 5000
        values = [exact(state.child(a), cache)[player] for a in state.legal_actions()]
        assert values[state.legal_actions().index(analysis.action)] == max(values)
        for sign, value in zip(analysis.proven, values, strict=True):
            assert sign in (UNKNOWN, np.sign(value))
        seen |= set(analysis.proven.tolist())
    assert {-1, 1} <= seen


def test_an_expectation_over_chance_is_not_called_sure():
    game = load_game("selenolyth")
    agent = load_agent("mcts(simulations=200)", game)
    signs = agent._signs(np.array([np.nan, 0.3, -0.3, game.max_utility(), game.min_utility()]))
    assert signs.tolist() == [UNKNOWN, UNKNOWN, UNKNOWN, 1, -1]


@pytest.mark.parametrize("spec", ["aeroliths(open_hands=true,chaos=true)", "selenolyth", "aeroliths(open_hands=true)"])
@pytest.mark.parametrize("root", ["uct", "puct"])
def test_reuse_keeps_the_subtree_of_where_the_game_went(spec, root):
    game, generator, kept = load_game(spec), np.random.default_rng(3), 0
    evaluator = None if root == "uct" else FlatEvaluator(game)
    settings = SearchSettings(simulations=200, root=root, nodes=6000)
    search = Search(game, 1, settings, evaluator)
    state = game.new_initial_state(4)
    for _ in range(14):
        while state.is_chance_node():
            state.apply_action(int(generator.choice(state.legal_actions())))
        if state.is_terminal():
            break
        before = search.tree.node_count[0]
        search.run(state.array, np.stack([stream(1, 1)]), reuse=True)
        tree = search.tree
        assert tree.states[0, :1].tobytes() == state.array.tobytes()
        assert search.actions(0).tolist() == state.legal_actions()
        visits = search.visits(0).sum()
        kept += visits > 200
        assert before >= 0
        for node, path in nodes(tree):
            here = state_of(game, state, tree, node, path)
            k = tree.num_actions[0, node]
            expected = [] if here.is_terminal() else here.legal_actions()
            assert tree.actions[0, node, :k].tolist() == expected
            if len(path) > 2:
                break
        state.apply_action(int(search.actions(0)[search.best(0)]))
    assert kept >= 2


def test_a_tree_that_was_moved_equals_what_hung_there_before():
    game = load_game("aeroliths(open_hands=true)")
    state = game.new_initial_state(4)
    search = Search(game, 1, SearchSettings(simulations=800, root="uct", nodes=4000))
    search.run(state.array, np.stack([stream(1, 1)]))
    tree = search.tree

    def facts(node):
        k = tree.num_actions[0, node]
        children = tree.children[0, node, :k]
        return (
            tree.states[0, node].tobytes(),
            tree.children_visits[0, node, :k].tolist(),
            tree.children_values[0, node, :k].tolist(),
            [None if c < 0 else facts(c) for c in children],
        )

    edge = search.best(0)
    child = int(tree.children[0, 0, edge])
    grandchild = int(tree.children[0, child, tree.children_visits[0, child, : tree.num_actions[0, child]].argmax()])
    before = facts(grandchild)
    assert search._keep(0, tree.states[0, grandchild : grandchild + 1].copy())
    assert facts(0) == before
    assert sum(1 for _ in nodes(tree)) == tree.node_count[0]


def test_a_position_that_the_tree_lacks_or_a_new_game_starts_afresh():
    game = load_game("aeroliths(open_hands=true)")
    agent = load_agent("mcts(simulations=100,reuse=true)", game)
    first = agent.analyse(game.new_initial_state(1))
    assert agent.analyse(game.new_initial_state(2)).visits.sum() == 100
    state = game.new_initial_state(2)
    assert agent.analyse(state).visits.sum() > 100
    agent.reset(game)
    assert agent.analyse(state).visits.sum() == 100
    assert first.visits.sum() == 100


def test_noise_changes_the_priors_of_the_root_alone():
    game = load_game("aeroliths(open_hands=true)")
    state = game.new_initial_state(3)
    k = len(state.legal_actions())

    def priors(**settings):
        search = Search(game, 1, SearchSettings(simulations=50, root="puct", **settings), FlatEvaluator(game))
        search.run(state.array, np.stack([stream(1, 1)]))
        return search.tree.priors[0, 0, :k].copy(), search.tree.priors[0, 1, :k].copy()

    flat, inside = priors()
    np.testing.assert_allclose(flat, 1 / k)
    noisy, inside_noisy = priors(dirichlet_alpha=0.3, dirichlet_fraction=0.25)
    assert noisy.sum() == pytest.approx(1)
    assert noisy.min() >= 0.75 / k - 1e-9
    assert noisy.max() > 2 / k
    np.testing.assert_array_equal(inside, inside_noisy)


def test_a_temperature_draws_from_the_weights():
    game = load_game("aeroliths(open_hands=true)")
    state = game.new_initial_state(3)
    sharp = load_agent("mcts(simulations=200,uct_c=0.3)", game).analyse(state)
    agent = load_agent("mcts(simulations=200,uct_c=0.3,temperature=1.0)", game)
    drawn = [agent.act(state) for _ in range(60)]
    assert len(set(drawn)) > 3
    cold = load_agent("mcts(simulations=200,uct_c=0.3,temperature=0.05)", game).analyse(state)
    assert cold.weights.max() > sharp.weights.max()
    assert cold.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("hidden", ["worlds", "infoset"])
def test_seconds_are_kept(hidden):
    game = load_game("aeroliths")
    state = game.new_initial_state(3)
    agent = load_agent(f"mcts(seconds=0.2,hidden={hidden})", game)
    agent.act(state)  # compiles
    start = time.perf_counter()
    analysis = agent.analyse(state)
    assert 0.1 < time.perf_counter() - start < 1.5
    assert analysis.visits.sum() > 500
    limited = load_agent(f"mcts(seconds=100.0,simulations=80,hidden={hidden})", game).analyse(state)
    assert limited.visits.sum() == 80


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mcts(root=gumbel)", "needs a network"),
        ("mcts(seconds=0.0)", "seconds = 0.0 is not allowed"),
        ("mcts(hidden=cheat)", "hidden = 'cheat' is not allowed; allowed: worlds or infoset"),
        ("mcts(temperature=-1)", "temperature = -1 is not allowed"),
    ],
)
def test_options_that_do_not_go_together(spec, message):
    with pytest.raises(OptionError, match=message):
        load_agent(spec, load_game("aeroliths"))


def test_drawn_chance_has_plain_means_and_strays_from_the_probabilities():
    game, strays = load_game("selenolyth"), 0
    for drawn in (False, True):
        state = game.new_initial_state(3)
        while state.is_chance_node():
            state.apply_action(state.legal_actions()[0])
        search = Search(game, 1, SearchSettings(simulations=600, root="uct", drawn_chance=drawn))
        search.run(state.array, np.stack([stream(1, 1)]))
        tree = search.tree
        for node in range(tree.node_count[0]):
            if tree.states["current_player"][0, node] != CHANCE:
                continue
            k = tree.num_actions[0, node]
            visits = tree.children_visits[0, node, :k]
            far = np.abs(visits - visits.sum() * tree.priors[0, node, :k]).max() >= 1
            assert drawn or not far
            strays += far
    assert strays > 3
