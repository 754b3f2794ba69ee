"""Information-set trees that are gone on from: what is kept, what is not, and that it tells nobody anything."""

import numpy as np
import pytest

from trilithon.agents import load_agent
from trilithon.agents.infoset import InfosetSearch, find_child, find_sight, sight_of
from trilithon.agents.search import SearchSettings
from trilithon.agents.tree import NO_CHILD
from trilithon.core import load_game, verbs
from trilithon.core.rng import stream

CLOSED = [
    "aeroliths(chaos=true)",
    "aeroliths(same=true,combo=true)",
    "aether(board=mini)",
    "aether(board=mini,players=3)",
]

# What the others play is known or of few kinds, so that what a tree has looked at comes to pass.
REPEATING = ["aeroliths(hands=mirrored)", "aeroliths(hands=mirrored,chaos=true)", *CLOSED[2:]]


class Even:
    """Equal priors, the observer a little ahead."""

    def __init__(self, game):
        self.shape = game.num_distinct_actions(), game.num_players()

    def __call__(self, states, indices, count):
        values = np.full((count, self.shape[1]), -0.1 / (self.shape[1] - 1))
        values[:, 0] = 0.1
        return np.zeros((count, self.shape[0]), np.float32), values


def new_search(game, network, simulations):
    settings = SearchSettings(simulations=simulations, root="puct" if network else "uct")
    return InfosetSearch(game, 1, settings, 8, Even(game) if network else None, "prior", reuse=True)


def facts(tree, node):
    """What a node holds, and what hangs from it, as nested tuples: independent of where it stands."""
    count = int(tree.node_count[0])
    children = sorted(
        (int(tree.keys[0, child]), child) for child in range(count) if tree.parents[0, child] == node and child
    )
    for key, child in children:
        assert find_child(tree, 0, node, key) == child
    own = (int(tree.visits[0, node]), tuple(tree.values[0, node].tolist()), int(tree.sights[0, node]))
    return own, bool(tree.expanded[0, node]), tuple((key, facts(tree, child)) for key, child in children)


def play_on(state, player, generator):
    """Random actions of the others and of chance, until the player is to move; False where the game ends."""
    while not state.is_terminal() and state.current_player() != player:
        state.apply_action(int(generator.choice(state.legal_actions())))
    return not state.is_terminal()


def follow(tree, state, action, player):
    """An action, and then what the tree has looked at most, until the player is to move; False where the game ends."""
    node = 0
    while not state.is_terminal():
        key = verbs.observed_action(state.array[0], action, player)
        node = node if key == verbs.UNSEEN else int(find_child(tree, 0, node, key))
        state.apply_action(action)
        if state.current_player() == player or state.is_terminal():
            break
        legal = state.legal_actions()
        keys = [verbs.observed_action(state.array[0], a, player) for a in legal]
        children = [NO_CHILD if node == NO_CHILD else int(find_child(tree, 0, node, key)) for key in keys]
        visits = [0 if child == NO_CHILD else int(tree.visits[0, child]) for child in children]
        action = legal[int(np.argmax(visits))]
    return not state.is_terminal()


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("spec", REPEATING)
def test_what_hangs_from_the_new_position_is_kept(spec, network):
    game, generator, kept = load_game(spec), np.random.default_rng(1), 0
    for number in range(3):
        search = new_search(game, network, 400 if network else 6000)
        tree, state = search.tree, game.new_initial_state(number)
        while state.is_chance_node():
            state.apply_action(int(generator.choice(state.legal_actions())))
        player = state.current_player()
        for _ in range(4):
            search.run(state.array, np.stack([stream(1, number)]))
            if not follow(tree, state, int(search.actions(0)[search.best(0)]), player):
                break
            node = int(find_sight(tree, 0, np.uint64(sight_of(state.array[0], player, tree.sight))))
            before = None if node == NO_CHILD else facts(tree, node)
            assert search._keep(0, state.array) == (before is not None)
            if before is not None:
                kept += 1
                assert facts(tree, 0) == before
                search.run(state.array, np.stack([stream(2, number)]))
                assert tree.visits[0, 0] == before[0][0] + search.settings.simulations
                assert search.actions(0).tolist() == state.legal_actions()
    # (Rollouts among three look at too many replies to meet any of them again soon.)
    assert kept >= (2 if network or game.num_players() == 2 else 0)


def test_another_position_starts_afresh():
    game = load_game("aeroliths")
    search = new_search(game, False, 300)
    for number in range(3):
        search.run(game.new_initial_state(number).array, np.stack([stream(1, number)]))
        assert search.tree.visits[0, 0] == 300
    # The same position again is what is gone on from.
    search.run(game.new_initial_state(2).array, np.stack([stream(5)]))
    assert search.tree.visits[0, 0] == 600
    agent = load_agent("mcts(simulations=300,hidden=infoset,reuse=true)", game)
    state = game.new_initial_state(2)
    for _ in range(2):
        assert agent.analyse(state).visits.sum() == 300
        agent.reset(game)


@pytest.mark.parametrize("spec", CLOSED)
def test_kept_trees_tell_nothing_that_was_not_seen(spec):
    """Two agents with equal seeds: one sees the game, the other at each turn a game it cannot tell from it."""
    game, generator = load_game(spec), np.random.default_rng(4)
    for number in range(3):
        spec_of_agent = "mcts(simulations=120,worlds=6,hidden=infoset,reuse=true)"
        state = game.new_initial_state(number)
        while state.is_chance_node():
            state.apply_action(int(generator.choice(state.legal_actions())))
        player = state.current_player()
        agents = [load_agent(spec_of_agent, game, number) for _ in range(2)]
        while play_on(state, player, generator):
            other = state.resample_from_infostate(player, int(generator.integers(1 << 40)))
            one, two = agents[0].analyse(state), agents[1].analyse(other)
            assert one.action == two.action
            assert one.visits.tolist() == two.visits.tolist()
            state.apply_action(one.action)


def test_a_node_that_was_never_seen_is_not_found():
    game = load_game("aeroliths")
    search = new_search(game, False, 50)
    state = game.new_initial_state(1)
    search.run(state.array, np.stack([stream(1)]))
    player, generator = state.current_player(), np.random.default_rng(0)
    state.apply_action(state.legal_actions()[0])
    play_on(state, player, generator)
    state.apply_action(state.legal_actions()[0])
    assert play_on(state, player, generator)
    assert not search._keep(0, state.array)
    search.run(state.array, np.stack([stream(1)]))
    assert search.tree.visits[0, 0] == 50
    assert (search.tree.parents[0, :1] == NO_CHILD).all()
