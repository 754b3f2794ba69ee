"""Tree search: what every tree must satisfy, chance in proportion, exact expectations, and known winners."""

import numpy as np
import pytest

from trilithon.agents.action_selection import considered_visits_table
from trilithon.agents.search import Search, SearchSettings
from trilithon.core import CHANCE, TERMINAL, load_game
from trilithon.core.rng import stream


class FlatEvaluator:
    """Equal priors, values of zero: a network that knows nothing."""

    def __init__(self, game):
        self.game, self.calls = game, 0

    def __call__(self, states, indices, count):
        self.calls += 1
        for b, m, observer in indices[:count]:
            mover = states["current_player"][b, m]
            assert mover in (observer, CHANCE)
        return np.zeros((count, self.game.num_distinct_actions()), np.float32), np.zeros((count, 2))


def search_of(game, roots, evaluator=None, **settings):
    search = Search(game, len(roots), SearchSettings(**settings), evaluator)
    search.run(np.concatenate([root.array for root in roots]), np.stack([stream(1, k) for k in range(len(roots))]))
    return search


def positions(game, count, left):
    """Positions with `left` empty cells or fewer, a player to move."""
    found = []
    for number in range(count):
        state, generator = game.new_initial_state(number), np.random.default_rng(number)
        while state.is_chance_node() or sum(x is None for x in state.to_dict()["board"]) > left:
            state.apply_action(int(generator.choice(state.legal_actions())))
        found.append(state)
    return found


@pytest.mark.parametrize("root", ["uct", "puct", "gumbel"])
@pytest.mark.parametrize("spec", ["aeroliths(open_hands=true)", "aeroliths(size=4,open_hands=true,chaos=true)"])
def test_every_tree_is_consistent(root, spec):
    game = load_game(spec)
    roots = positions(game, 6, 6)
    search = search_of(game, roots, None if root == "uct" else FlatEvaluator(game), root=root, simulations=200)
    tree = search.tree
    for b, state in enumerate(roots):
        assert search.visits(b).sum() == 200
        assert search.actions(b).tolist() == state.legal_actions()
        assert search.policy(b).sum() == pytest.approx(1)
        assert (tree.states[b, 0] == state.array[0]).all()
        for node in range(tree.node_count[b]):
            k = tree.num_actions[b, node]
            visits = tree.children_visits[b, node, :k]
            player = tree.states["current_player"][b, node]
            assert (k == 0) == (player == TERMINAL)
            for edge in np.flatnonzero(visits):
                child = tree.children[b, node, edge]
                inner = tree.num_actions[b, child]
                below = tree.children_visits[b, child, :inner].sum()
                # Every visit but the first goes on to a child; rollouts pass through a chance node at once.
                passed = root == "uct" and tree.states["current_player"][b, child] == CHANCE
                if inner:
                    assert below == visits[edge] - (0 if passed else 1)
            if player == CHANCE and visits.sum():
                expected = visits.sum() * tree.priors[b, node, :k]
                assert (np.abs(visits - expected) < 1).all()


def test_the_value_of_an_edge_into_chance_is_the_exact_expectation():
    """Two Lithos left and Chaos: the searched value of a placement is the mean over the pick that follows."""
    game = load_game("aeroliths(open_hands=true,chaos=true)")
    for state in positions(game, 20, 3):
        search = search_of(game, [state], root="uct", simulations=400, margin_weight=0.0)
        for index, action in enumerate(search.actions(0)):
            after = state.child(int(action))
            if not after.is_chance_node():
                continue
            edge = search.tree.children_values[0, 0, index]
            child = search.tree.children[0, 0, index]
            k = search.tree.num_actions[0, child]
            outcomes = after.chance_outcomes()
            assert k == len(outcomes)
            expected = sum(p * search.tree.children_values[0, child, i] for i, (_, p) in enumerate(outcomes))
            np.testing.assert_allclose(edge, expected, atol=1e-9)


@pytest.mark.parametrize(("root", "simulations"), [("uct", 400), ("puct", 400), ("gumbel", 2000)])
def test_late_positions_are_played_right(root, simulations):
    """With four cells left a search that sees the ends finds an action that keeps the outcome.

    (Sequential halving needs more: before its first cut every action must have been searched to the end.)
    """
    game = load_game("aeroliths(open_hands=true,same=true,combo=true)")
    kept = asked = 0
    for state in positions(game, 60, 4):
        values = {a: exact(state.child(a), state.current_player()) for a in state.legal_actions()}
        if len(set(values.values())) == 1:
            continue
        evaluator = None if root == "uct" else FlatEvaluator(game)
        search = search_of(game, [state], evaluator, root=root, simulations=simulations, gumbel_scale=0.0)
        asked += 1
        kept += values[int(search.actions(0)[search.best(0)])] == max(values.values())
    assert asked >= 20
    assert kept >= asked - 1


def exact(state, player):
    if state.is_terminal():
        return state.returns()[player]
    values = [exact(state.child(a), player) for a in state.legal_actions()]
    return max(values) if state.current_player() == player else min(values)


def test_a_search_does_not_depend_on_the_batch():
    game = load_game("aeroliths(open_hands=true)")
    roots = positions(game, 5, 7)
    together = search_of(game, roots, FlatEvaluator(game), simulations=64)
    for b, state in enumerate(roots):
        alone = Search(game, 1, SearchSettings(simulations=64), FlatEvaluator(game))
        alone.run(state.array, np.stack([stream(1, b)]))
        np.testing.assert_array_equal(alone.visits(0), together.visits(b))
        np.testing.assert_array_equal(alone.value(0), together.value(b))


def test_a_batch_may_be_partly_empty():
    game = load_game("aeroliths(open_hands=true)")
    search = Search(game, 8, SearchSettings(simulations=16), FlatEvaluator(game))
    root = game.new_initial_state(1)
    search.run(root.array, np.stack([stream(1, 0)]))
    assert search.visits(0).sum() == 16


def test_the_search_asks_once_for_all_leaves():
    game = load_game("aeroliths(open_hands=true)")
    evaluator = FlatEvaluator(game)
    search_of(game, positions(game, 10, 9), evaluator, simulations=20)
    assert evaluator.calls == 21


@pytest.mark.parametrize("m", [1, 2, 3, 8, 16])
@pytest.mark.parametrize("n", [1, 7, 16, 64, 200])
def test_sequential_halving_gives_equal_shares_and_halves_the_field(m, n):
    sequence = considered_visits_table(m, n)[m]
    assert len(sequence) == n
    visits = np.zeros(m, int)
    for wanted in sequence:
        # Some action has the wanted count, and the first such takes the visit.
        index = next(i for i in range(m) if visits[i] == wanted)
        visits[index] += 1
    assert visits.sum() == n
    assert (np.diff(visits) <= 0).all()
    if n >= m * int(np.ceil(np.log2(max(m, 2)))):
        assert visits.min() >= 1


def test_gumbel_root_without_noise_prefers_the_prior_when_values_are_equal():
    class Priors(FlatEvaluator):
        def __call__(self, states, indices, count):
            logits, values = super().__call__(states, indices, count)
            logits[:, 7] = 3.0
            return logits, values

    game = load_game("aeroliths(open_hands=true)")
    search = search_of(game, [game.new_initial_state(1)], Priors(game), simulations=4, gumbel_scale=0.0)
    assert search.actions(0)[search.best(0)] == 7


def test_values_are_not_negated_between_players():
    """The backed-up vector keeps each player's own entry: their sum is what the game's returns sum to."""
    game = load_game("aeroliths(open_hands=true)")
    search = search_of(game, [game.new_initial_state(3)], root="uct", simulations=300, margin_weight=0.0)
    assert search.value(0).sum() == pytest.approx(0)
    assert search.value(0)[0] != 0
