"""Information-set search: what the tree holds, what it may know, and what averaging over worlds gets wrong."""

import numpy as np
import pytest

from trilithon.agents import infoset, load_agent
from trilithon.agents.infoset import InfosetSearch
from trilithon.agents.search import SearchSettings
from trilithon.agents.tree import NO_CHILD
from trilithon.core import CHANCE, load_game, verbs
from trilithon.core.jit import kernel
from trilithon.core.rng import seed, stream

CLOSED = [
    "aeroliths(chaos=true)",
    "aeroliths(same=true,combo=true)",
    "aether(board=mini)",
    "aether(board=mini,players=3)",
]


class Recorder:
    """Priors and values that depend on the observation, and a list of who was looked through and what was seen."""

    def __init__(self, game):
        self.game, self.seen = game, []
        self.weights = np.random.default_rng(0).normal(size=(game.observation_tensor_shape()[0], 5)).astype(np.float32)

    def __call__(self, states, indices, count):
        observation = np.zeros(self.game.observation_tensor_shape(), np.float32)
        logits = np.zeros((count, self.game.num_distinct_actions()), np.float32)
        values = np.zeros((count, self.game.num_players()))
        for row in range(count):
            b, m, observer = indices[row]
            assert states["current_player"][b, m] == observer
            verbs.observe(states[b, m], int(observer), observation)
            self.seen.append((int(b), int(observer), observation.tobytes()))
            hidden = np.tanh(observation @ self.weights)
            logits[row] = np.resize(hidden, logits.shape[1])
            values[row, 0], values[row, 1:] = hidden[0], -hidden[0] / (values.shape[1] - 1)
        return logits, values


def to_move(game, number, steps=0):
    state, generator = game.new_initial_state(number), np.random.default_rng(number)
    while steps > 0 or state.is_chance_node():
        steps -= state.current_player() >= 0
        state.apply_action(int(generator.choice(state.legal_actions())))
    return state


def search_of(game, roots, evaluator=None, simulations=200, worlds=20, **options):
    search = InfosetSearch(
        game, len(roots), SearchSettings(simulations=simulations, root="uct"), worlds, evaluator, **options
    )
    search.run(np.concatenate([s.array for s in roots]), np.stack([stream(1, b) for b in range(len(roots))]))
    return search


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("spec", CLOSED)
def test_every_tree_is_consistent(spec, network):
    game = load_game(spec)
    roots = [to_move(game, number, 1) for number in range(3)]
    search = search_of(game, roots, Recorder(game) if network else None)
    tree = search.tree
    for b, root in enumerate(roots):
        count = tree.node_count[b]
        assert search.actions(b).tolist() == root.legal_actions()
        assert tree.visits[b, 0] == 200
        # The first visit values the root itself where there is a network.
        assert search.visits(b).sum() == 200 - network
        below = np.bincount(tree.parents[b, 1:count], tree.visits[b, 1:count], minlength=count)
        assert (below <= tree.visits[b, :count]).all()
        assert (tree.available[b, 1:count] >= tree.visits[b, 1:count]).all()
        pairs = list(zip(tree.parents[b, 1:count].tolist(), tree.keys[b, 1:count].tolist(), strict=True))
        assert len(set(pairs)) == len(pairs)
        for node, (parent, key) in enumerate(pairs, 1):
            assert infoset.find_child(tree, b, parent, key) == node
        np.testing.assert_allclose(search.policy(b).sum(), 1)
        weighted = np.nan_to_num(search.qvalues(b)) * search.visits(b)[:, None]
        if not network:
            np.testing.assert_allclose(weighted.sum(0) / 200, search.value(b), atol=1e-9)


def test_what_the_root_player_does_not_see_never_branches():
    """A pick of Chaos that its owner alone knows leaves no node: the opponent's placement is the next thing seen."""
    game = load_game("aeroliths(chaos=true)")
    root = to_move(game, 2)
    tree = search_of(game, [root], simulations=400).tree
    cells = game.options["size"] ** 2
    for node in range(1, tree.node_count[0]):
        key, parent = int(tree.keys[0, node]), int(tree.parents[0, node])
        depth = 0
        while parent > 0:
            parent, depth = int(tree.parents[0, parent]), depth + 1
        if depth == 0:
            assert key >> 32  # the own placement
        if depth == 1:
            assert key >> 32 // cells  # the opponent's, whatever was picked


@pytest.mark.parametrize("spec", ["aeroliths", "aeroliths(chaos=true)", "aether(board=mini)"])
def test_equal_information_gives_equal_searches(spec):
    """Worlds of one information set, whichever is the true one: the same tree."""
    game = load_game(spec)
    state = to_move(game, 5, 2)
    player = state.current_player()
    agent = "mcts(simulations=150,hidden=infoset,worlds=16)"
    for other in (state.resample_from_infostate(player, seed(k)) for k in range(4)):
        first, second = (load_agent(agent, game, seed=9).analyse(s) for s in (state, other))
        assert first.visits.tolist() == second.visits.tolist()
        np.testing.assert_array_equal(first.qvalues, second.qvalues)


def test_the_others_are_modelled_by_what_they_see():
    """At an opponent's node the prior is made from the opponent's side: the root player's hand does not change it."""
    game = load_game("aeroliths")
    setup = game.new_setup(3)
    first = setup["first_player"]
    other = {**setup, "hands": [list(hand) for hand in setup["hands"]]}
    other["hands"][first] = [other["hands"][first][i] for i in (0, 3, 1, 4, 2)]
    logits = []
    for one in (setup, other):
        state = game.from_setup(one)
        state.apply_action(4)  # slot 0, which both hold, to the middle
        recorder = Recorder(game)
        mover = state.current_player()
        recorder(state.array[:, None], np.array([[0, 0, mover]]), 1)
        logits.append(recorder.seen[0])
    assert logits[0] == logits[1]
    recorder = Recorder(game)
    search_of(game, [game.from_setup(setup)], recorder, simulations=300)
    observers = {observer for _, observer, _ in recorder.seen}
    assert observers == {0, 1}
    # Worlds differ in what the opponent holds, so the opponent's views do; the root player's first view is one.
    assert len({view for _, observer, view in recorder.seen if observer != first}) > 20


@pytest.mark.parametrize("model", infoset.OPPONENT_MODELS)
def test_models_of_the_others(model):
    """`prior` plays by the prior whatever the values; `puct` comes to prefer what serves the opponent."""
    game = load_game("aeroliths")

    class Flat(Recorder):
        def __call__(self, states, indices, count):
            logits, values = super().__call__(states, indices, count)
            return np.zeros_like(logits), values * 0.0

    excess = []
    for number in range(12):
        root = to_move(game, number, 5)
        search = search_of(game, [root], Flat(game), simulations=1500, worlds=1, opponent_model=model)
        tree = search.tree
        action = max(search._children(0), key=lambda c: tree.visits[0, c])
        visits = tree.visits[0, np.flatnonzero(tree.parents[0, : tree.node_count[0]] == action)]
        excess.append(visits.max() / visits.mean())
    if model == "prior":
        assert np.mean(excess) < 1.2
    else:
        assert np.mean(excess) > 1.4


@kernel
def illegal_steps(tree, worlds, count, player, constants, actions, probabilities, scratch, values, rng, seen):
    """Run simulations and follow each path again in its world; return (steps followed, steps that were not legal)."""
    steps = wrong = 0
    for t in range(count):
        if tree.node_count[0] >= tree.keys.shape[1] - tree.path.shape[1]:
            infoset.clear(tree, 0)
        world = worlds[0, t % worlds.shape[1]]
        infoset.simulate_rollout(tree, 0, world, player, constants, actions, probabilities, scratch, values, rng)
        seen[0] = world
        for depth in range(1, tree.path_length[0]):
            while seen[0].current_player == CHANCE:
                k = verbs.chance_outcomes(seen[0], actions, probabilities)
                if k != 1:
                    break
                verbs.apply_action(seen[0], actions[0])
            key = tree.keys[0, tree.path[0, depth]]
            if seen[0].current_player == CHANCE:
                k = verbs.chance_outcomes(seen[0], actions, probabilities)
            else:
                k = verbs.legal_actions(seen[0], actions)
            found = -1
            for i in range(k):
                if verbs.observed_action(seen[0], actions[i], player) == key:
                    found = actions[i]
            steps += 1
            if found < 0:
                wrong += 1
                break
            verbs.apply_action(seen[0], found)
    return steps, wrong


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.heavy)])
def test_every_action_is_legal_in_its_world(count):
    game = load_game("aeroliths(same=true,combo=true)")
    search = search_of(game, [to_move(game, 2)], simulations=20_000, worlds=64)
    infoset.clear(search.tree, 0)
    steps, wrong = illegal_steps(
        search.tree,
        search.worlds,
        count,
        int(search._players[0]),
        search._constants,
        search._actions,
        search._probabilities,
        search._scratch,
        search._values,
        stream(7, 7),
        np.zeros(1, game.dtype),
    )
    assert steps > 2 * count
    assert wrong == 0


def test_a_full_tree_stops_the_search():
    game = load_game("aeroliths")
    root = to_move(game, 2)
    search = InfosetSearch(game, 1, SearchSettings(simulations=5000, root="uct", nodes=300), 8)
    search.run(root.array, np.stack([stream(1, 1)]))
    assert 100 < search.visits(0).sum() < 5000
    assert search.tree.node_count[0] <= 300


def test_terminal_and_missing_children():
    game = load_game("aeroliths")
    search = search_of(game, [to_move(game, 2)], simulations=3)
    assert search._children(0).count(NO_CHILD) == len(search.actions(0)) - 3
    assert np.isnan(search.qvalues(0)).any()
