"""Chance in the tree search: outcomes in proportion, values that are exact expectations, in all three games."""

import numpy as np
import pytest

from trilithon.agents.search import Search, SearchSettings
from trilithon.core import CHANCE, load_game
from trilithon.core.rng import stream

GAMES = [
    "selenolyth",
    "aeroliths(open_hands=true,chaos=true)",
    "aeroliths(size=4,open_hands=true,chaos=true,plus=true)",
    "aether(board=mini)",
    "aether(board=small,players=3)",
    "aether(board=small,players=4,teams=true)",
]
# Late positions whose trees come to an end: how many actions are left. (A Shard that finds its cell taken comes back,
# so The Selenolyth has small trees with Selenolyths alone.)
SMALL = [
    ("aeroliths(open_hands=true,chaos=true)", 4),
    ("aeroliths(open_hands=true,chaos=true,same=true,combo=true)", 3),
    ("aeroliths(size=4,open_hands=true,chaos=true,plus=true)", 3),
    ("aether(board=mini)", 2),
    ("aether(board=mini,players=3)", 2),
    ("aether(board=small,players=4,teams=true)", 2),
    ("selenolyth(selenolyths=3,diox=0,orthos=0)", 1),
    ("selenolyth(diox=0,orthos=0,max_turns=12)", 1),
]
BATCH = 25


class BoardEvaluator:
    """Priors and values that follow from the state's bytes alone: anything but flat, and the same every time."""

    def __init__(self, game):
        self.actions, self.players = game.num_distinct_actions(), game.num_players()
        self.weights = np.random.default_rng(0).normal(size=game.dtype.itemsize)

    def __call__(self, states, indices, count):
        rows = states[indices[:count, 0], indices[:count, 1]]
        raw = rows.view(np.uint8).reshape(count, -1)
        value = np.tanh(raw @ self.weights / 100.0)
        logits = np.sin(value[:, None] * 1000.0 + np.arange(self.actions))
        return logits.astype(np.float32), np.stack([value] + [-value / (self.players - 1)] * (self.players - 1), 1)


def random_game(game, number):
    generator, state = np.random.default_rng(number), game.new_initial_state(number)
    while not state.is_terminal():
        state.apply_action(int(generator.choice(state.legal_actions())))
    return state


def late(game, number, actions_left):
    """A position of a random game with so many actions to come; the whole state is the root."""
    state = random_game(game, number)
    while actions_left > 0 or state.is_chance_node():
        state.undo_action()
        actions_left -= state.current_player() >= 0
    return state


def middle(game, number):
    """A position of a random game, a player to move."""
    state = random_game(game, number)
    back = 1 + int(np.random.default_rng(number).integers(len(state.history())))
    while back > 0 or state.is_chance_node():
        if not state._before:
            return middle(game, number + 1000)
        state.undo_action()
        back -= 1
    return state


def search_of(game, roots, root, simulations, **settings):
    evaluator = None if root == "uct" else BoardEvaluator(game)
    search = Search(game, BATCH, SearchSettings(root=root, simulations=simulations, **settings), evaluator)
    for start in range(0, len(roots), BATCH):
        part = roots[start : start + BATCH]
        search.run(np.concatenate([s.array for s in part]), np.stack([stream(1, start + k) for k in range(len(part))]))
        for b, state in enumerate(part):
            yield search, b, state


def chance_nodes(tree, b):
    """(node, visits [k], probabilities [k]) of the chance nodes that were gone through."""
    players = tree.states["current_player"][b, : tree.node_count[b]]
    for node in np.flatnonzero(players == CHANCE):
        k = tree.num_actions[b, node]
        visits = tree.children_visits[b, node, :k]
        if visits.any():
            yield node, visits, tree.priors[b, node, :k]


@pytest.mark.parametrize("root", ["uct", "puct", "gumbel"])
@pytest.mark.parametrize("spec", GAMES)
def test_visits_follow_the_probabilities_to_within_one(spec, root):
    """abs(n - N * p) < 1 for every outcome at every chance node."""
    game, gone_through, outcomes = load_game(spec), 0, 0
    roots = [middle(game, number) for number in range(15)] + [late(game, number, 3) for number in range(10)]
    for search, b, _ in search_of(game, roots, root, 500):
        for _, visits, probabilities in chance_nodes(search.tree, b):
            assert probabilities.sum() == pytest.approx(1)
            assert (np.abs(visits - visits.sum() * probabilities) < 1).all()
            gone_through += visits.sum() > 1
            outcomes += len(visits)
    assert gone_through > 200
    assert outcomes > 2 * gone_through


def test_visits_follow_the_probabilities_on_trees_that_are_kept():
    game = load_game("selenolyth")
    search = Search(game, 1, SearchSettings(root="uct", simulations=300, nodes=20000))
    generator, state, kept, checked = np.random.default_rng(1), game.new_initial_state(3), 0, 0
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(int(generator.choice(state.legal_actions())))
            continue
        search.run(state.array, np.stack([stream(1, 1)]), reuse=True)
        kept += search.visits(0).sum() > 300
        for _, visits, probabilities in chance_nodes(search.tree, 0):
            checked += 1
            assert (np.abs(visits - visits.sum() * probabilities) < 1).all()
        state.apply_action(int(search.actions(0)[search.best(0)]))
    assert kept >= 3
    assert checked > 1000


@pytest.mark.parametrize("root", ["uct", "puct", "gumbel"])
@pytest.mark.parametrize("spec", GAMES)
def test_an_edge_into_chance_has_the_expectation_over_its_outcomes(spec, root):
    """The sum of p * Q over visited outcomes, the afterstate's value for the rest: 17 trees each, 306 in all."""
    game, edges, partly = load_game(spec), 0, 0
    for search, b, _ in search_of(game, [middle(game, number) for number in range(17)], root, 300, prove=False):
        tree = search.tree
        parents = {}
        for node in range(tree.node_count[b]):
            for edge in np.flatnonzero(tree.children[b, node, : tree.num_actions[b, node]] >= 0):
                parents[int(tree.children[b, node, edge])] = (node, edge)
        for node, visits, probabilities in chance_nodes(tree, b):
            parent, edge = parents[node]
            seen = visits > 0
            expected = probabilities[seen] @ tree.children_values[b, node, : len(visits)][seen]
            expected = expected + probabilities[~seen].sum() * tree.raw_values[b, node]
            np.testing.assert_allclose(tree.children_values[b, parent, edge], expected, atol=1e-9)
            edges += 1
            partly += not seen.all()
    assert edges > 100
    assert partly > 10


def exact(state, cache):
    """Returns under best play of two sides; plain recursion."""
    key = state.array.tobytes()
    if key not in cache:
        if state.is_terminal():
            cache[key] = state.returns()
        elif state.is_chance_node():
            cache[key] = sum(p * exact(state.child(o), cache) for o, p in state.chance_outcomes())
        else:
            children = [exact(state.child(action), cache) for action in state.legal_actions()]
            cache[key] = max(children, key=lambda values: values[state.current_player()])
    return cache[key]


def check_proven_node(tree, b, node, most):
    """A proven node's values against its children's: the expectation, or the mover's best."""
    k, player = tree.num_actions[b, node], tree.states["current_player"][b, node]
    children = tree.children[b, node, :k]
    values = np.where((children >= 0)[:, None], tree.proven[b, children], np.nan)
    if player == CHANCE:
        np.testing.assert_allclose(tree.proven[b, node], tree.priors[b, node, :k] @ values, atol=1e-9)
    elif k:
        assert tree.proven[b, node, player] == np.nanmax(values[:, player])
        assert not np.isnan(values).any() or tree.proven[b, node, player] >= most - 1e-9


@pytest.mark.parametrize("root", ["uct", "puct"])
@pytest.mark.parametrize(("spec", "left"), SMALL)
def test_backed_up_values_equal_the_exact_expectation(spec, left, root):
    """25 trees each, of 400 more than 300 searched to their ends: values are those of plain recursion.

    (Of three sides each node is checked against its children: how others break ties is not the mover's to say.)
    """
    game, count, ended, with_chance = load_game(spec), 25, 0, 0
    two_sides = game.num_players() == 2 or game.options["teams"]
    roots = [late(game, number, left) for number in range(count)]
    for search, b, state in search_of(game, roots, root, 2_500, margin_weight=0.0, uct_c=30.0, pb_c_init=100.0):
        tree, cache = search.tree, {}
        with_chance += any(True for _ in chance_nodes(tree, b))
        proven = np.flatnonzero(~np.isnan(tree.proven[b, : tree.node_count[b], 0]))
        for node in proven:
            check_proven_node(tree, b, node, game.max_utility())
        if 0 not in proven:
            continue
        ended += 1
        if two_sides:
            np.testing.assert_allclose(search.value(b), exact(state, cache), atol=1e-9)
            for action, found in zip(state.legal_actions(), search.proven(b), strict=True):
                if not np.isnan(found[0]):
                    np.testing.assert_allclose(found, exact(state.child(action), cache), atol=1e-9)
    assert ended >= (12 if spec == "aether(board=mini)" else 20)
    assert with_chance >= 20


def test_a_rollouts_value_mixes_returns_and_margins_of_the_players_alone():
    """Where one's lead is the other's loss the values of the two sum to zero, and stay what they are in any order."""
    game = load_game("aether(board=mini)")
    roots = [middle(game, number) for number in range(10)]
    first = [search.value(b) for search, b, _ in search_of(game, roots, "uct", 40, margin_weight=0.5)]
    again = [search.value(b) for search, b, _ in search_of(game, roots[::-1], "uct", 40, margin_weight=0.5)]
    assert len(again) == len(first)
    np.testing.assert_allclose(np.sum(first, 1), 0.0, atol=1e-12)
    agent = Search(game, 1, SearchSettings(root="uct", simulations=40, margin_weight=0.5))
    for number, (state, value) in enumerate(zip(roots, first, strict=True)):
        agent.run(state.array, np.stack([stream(1, number)]))
        np.testing.assert_array_equal(agent.value(0), value)
