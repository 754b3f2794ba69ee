"""Every action of a search is legal in its world: trees of worlds, information sets, and trees that are kept."""

import numpy as np
import pytest

from trilithon.agents import infoset, load_agent
from trilithon.agents.infoset import InfosetSearch
from trilithon.agents.search import Search, SearchSettings
from trilithon.core import load_game, verbs
from trilithon.core.jit import kernel
from trilithon.core.rng import stream
from trilithon.core.verbs import CHANCE, UNSEEN

CLOSED = [
    "aeroliths(same=true,combo=true)",
    "aeroliths(chaos=true,plus=true,source=catalogue)",
    "aether(board=mini)",
    "aether(board=mini,players=3)",
    "aether(board=small,players=4,teams=true)",
]


def to_move(game, number):
    """A position of a random game, a player to move."""
    state, generator = game.new_initial_state(number), np.random.default_rng(number)
    steps = int(generator.integers(0, 7))
    while steps > 0 or state.is_chance_node():
        state.apply_action(int(generator.choice(state.legal_actions())))
        steps -= state.current_player() >= 0
        if state.is_terminal():
            return to_move(game, number + 1000)
    return state


# ------------------------------------------------------------------------------------------------ a tree for each world


@kernel
def wrong_edges(tree, rows, b, work, work_bytes, actions, probabilities):
    """Check all nodes of tree b; return (edges gone through, nodes with other actions, children that do not follow)."""
    edges = wrong_actions = wrong_children = 0
    for node in range(tree.node_count[b]):
        if tree.states[b, node].current_player == CHANCE:
            k = verbs.chance_outcomes(tree.states[b, node], actions, probabilities)
        else:
            k = verbs.legal_actions(tree.states[b, node], actions)
        same = k == tree.num_actions[b, node]
        for edge in range(tree.num_actions[b, node]):
            same = same and actions[edge] == tree.actions[b, node, edge]
        wrong_actions += not same
        for edge in range(tree.num_actions[b, node]):
            child = tree.children[b, node, edge]
            if child < 0:
                continue
            edges += 1
            work[0] = tree.states[b, node]
            verbs.apply_action(work[0], tree.actions[b, node, edge])
            for i in range(rows.shape[2]):
                if work_bytes[0, i] != rows[b, child, i]:
                    wrong_children += 1
                    break
    return edges, wrong_actions, wrong_children


def check_trees(search):
    """Assert that all edges of all trees are legal and lead where they should; return how many there are."""
    game, tree, edges = search.game, search.tree, 0
    work = np.zeros(1, game.dtype)
    width = tree.actions.shape[2]
    for b in range(search.count):
        arrays = work, work.view(np.uint8).reshape(1, -1), np.zeros(width, np.int32), np.zeros(width)
        count, wrong_actions, wrong_children = wrong_edges(tree, search._rows, b, *arrays)
        assert (wrong_actions, wrong_children) == (0, 0)
        edges += count
    return edges


@pytest.mark.parametrize("simulations", [20_000, pytest.param(200_000, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("spec", [*CLOSED, "selenolyth"])
def test_every_edge_of_a_worlds_tree_is_legal_in_that_world(spec, simulations):
    """Six games of 200,000 simulations are more than a million: 20 roots, 8 worlds where something is hidden."""
    game, edges, done = load_game(spec), 0, 0
    agent = load_agent(f"mcts(simulations={simulations // 20})", game)
    for number in range(20):
        state = to_move(game, number)
        analysis = agent.analyse(state)
        assert analysis.actions.tolist() == state.legal_actions()
        assert analysis.action in state.legal_actions()
        [search] = [s for s in agent._searches.values() if s.count]
        for b in range(search.count):
            assert search.actions(b).tolist() == state.legal_actions()
        edges += check_trees(search)
        done += analysis.visits.sum()
        agent.forget()
    assert done > 0.9 * simulations
    assert edges > 0.2 * simulations  # the rest came to ends that were known


# --------------------------------------------------------------------------------------------------- information sets


@kernel
def can_happen(tree, world, player, stack, option, matched, actions, probabilities):
    """Whether the path under way can be gone in a world: each key by an action legal there, the unseen as it may be."""
    length = tree.path_length[0] - 1
    stack[0], option[0], matched[0] = world, 0, 0
    top = 0
    while top >= 0:
        if matched[top] == length:
            return True
        if stack[top].current_player == CHANCE:
            k = verbs.chance_outcomes(stack[top], actions, probabilities)
        else:
            k = verbs.legal_actions(stack[top], actions)
        wanted, found = tree.keys[0, tree.path[0, matched[top] + 1]], False
        while option[top] < k and not found:
            action = actions[option[top]]
            option[top] += 1
            key = verbs.observed_action(stack[top], action, player)
            if key in (wanted, UNSEEN):
                found = True
                stack[top + 1] = stack[top]
                verbs.apply_action(stack[top + 1], action)
                option[top + 1] = 0
                matched[top + 1] = matched[top] + (key == wanted)
        top += 1 if found else -1
    return False


@kernel
def impossible_paths(
    tree, worlds, count, player, constants, actions, probabilities, scratch, values, rng, stack, option, matched
):
    """Run simulations and follow each again in its world; return (steps, simulations that could not have been)."""
    steps = wrong = 0
    for t in range(count):
        if tree.node_count[0] >= tree.keys.shape[1] - tree.path.shape[1]:
            infoset.clear(tree, 0)
        world = worlds[0, t % worlds.shape[1]]
        infoset.simulate_rollout(tree, 0, world, player, constants, actions, probabilities, scratch, values, rng)
        steps += tree.path_length[0] - 1
        wrong += not can_happen(tree, world, player, stack, option, matched, actions, probabilities)
    return steps, wrong


@pytest.mark.parametrize("count", [8_000, pytest.param(250_000, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("spec", CLOSED)
def test_every_path_of_an_information_set_is_legal_in_its_world(spec, count):
    """Five games of 250,000 simulations are more than a million."""
    game, total = load_game(spec), 0
    search = InfosetSearch(game, 1, SearchSettings(simulations=20_000, root="uct"), 32)
    for number in range(4):
        root = to_move(game, number)
        search.run(root.array, np.stack([stream(1, number)]))
        infoset.clear(search.tree, 0)
        arrays = search._constants, search._actions, search._probabilities, search._scratch, search._values
        work = np.zeros(500, game.dtype), np.zeros(500, np.int64), np.zeros(500, np.int64)
        player = int(search._players[0])
        steps, wrong = impossible_paths(
            search.tree, search.worlds, count // 4, player, *arrays, stream(7, number), *work
        )
        assert wrong == 0
        total += steps
    assert total > 1.5 * count


# ---------------------------------------------------------------------------------------------------------- kept trees


def legal_sets(tree, node=0, path=(), depth=4):
    """Actions (at chance nodes outcomes and probabilities) by path, down to a depth."""
    k = tree.num_actions[0, node]
    actions = tree.actions[0, node, :k].tolist()
    chance = tree.states["current_player"][0, node] == CHANCE
    yield path, (actions, tree.priors[0, node, :k].tolist() if chance else None)
    if depth:
        for edge in np.flatnonzero(tree.children[0, node, :k] >= 0):
            yield from legal_sets(tree, tree.children[0, node, edge], (*path, actions[edge]), depth - 1)


@pytest.mark.parametrize(
    "spec",
    ["selenolyth", "aether(board=mini)", "aether(board=mini,players=3)", "aeroliths(open_hands=true,chaos=true)"],
)
def test_kept_trees_have_the_legal_sets_of_new_ones_after_each_chance_event(spec):
    """Whole games, the true state as the root: what both trees hold of the same line has the same actions and odds."""
    game, kept, compared, chance_events = load_game(spec), 0, 0, 0
    old, new = (Search(game, 1, SearchSettings(root="uct", simulations=250, nodes=30_000)) for _ in range(2))
    for number in range(3):
        state, generator = game.new_initial_state(number), np.random.default_rng(number)
        old.count = 0
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(int(generator.choice(state.legal_actions())))
                chance_events += 1
                continue
            old.run(state.array, np.stack([stream(1, 1)]), reuse=True)
            new.run(state.array, np.stack([stream(2, 1)]))
            kept += old.visits(0).sum() > 250
            one, other = dict(legal_sets(old.tree)), dict(legal_sets(new.tree))
            assert one[()][0] == other[()][0] == state.legal_actions()
            for path in one.keys() & other.keys():
                assert one[path] == other[path]
                compared += 1
            state.apply_action(int(generator.choice(old.actions(0)[old.visits(0) >= np.median(old.visits(0))])))
    assert chance_events > 10
    assert kept > 5
    assert compared > 1000


@pytest.mark.parametrize("spec", ["selenolyth", "aether(board=mini)", "aether(board=small,players=4,teams=true)"])
def test_agents_with_and_without_reuse_choose_among_the_same(spec):
    game, more = load_game(spec), 0
    agents = [load_agent(f"mcts(simulations=60,worlds=3,reuse={reuse})", game, 1) for reuse in ("true", "false")]
    for number in range(4):
        state, generator = game.new_initial_state(number), np.random.default_rng(number)
        for agent in agents:
            agent.reset(game, number)
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(int(generator.choice(state.legal_actions())))
                continue
            kept, fresh = (agent.analyse(state) for agent in agents)
            assert kept.actions.tolist() == fresh.actions.tolist() == state.legal_actions()
            assert {kept.action, fresh.action} <= set(state.legal_actions())
            more += kept.visits.sum() > fresh.visits.sum()
            state.apply_action((kept, fresh)[number % 2].action)
    if spec == "selenolyth":  # elsewhere worlds are sampled anew and seldom met again
        assert more > 5
