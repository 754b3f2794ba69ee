"""Minimax against a plain search without any pruning, budgets, proofs, and lines of play."""

import numpy as np
import pytest

from trilithon.agents import load_agent
from trilithon.agents.sides import sides_of
from trilithon.core import load_game, verbs
from trilithon.core.game import State, copy_of
from trilithon.core.jit import kernel
from trilithon.core.verbs import CHANCE, TERMINAL

MAX_N = -1  # in place of the player for whom all is searched

# ------------------------------------------------------------------------------------------------- the plain search


@kernel
def leaf(state, difference, scratch, out):
    """The value vector that agents/minimax.py says a leaf has."""
    ended = state.current_player == TERMINAL
    verbs.margin(state, scratch)
    if ended:
        verbs.returns(state, out)
    else:
        verbs.heuristic(state, out)
    for player in range(out.shape[0]):
        if difference:
            out[player] = scratch[player] + 1e-3 * out[player]
        elif ended:
            out[player] += 1e-3 * scratch[player]


@kernel
def plain(states, depth, player, sides, difference, actions, probabilities, loops, best, scratch):
    """Fill ``best[0]`` with the value of ``states[0]``: every line `depth` player actions long, none left out.

    Paranoid for `player` (only that entry counts), or max^n; `loops`, int64 [P, 3]: depth left, next, number of
    children. Returns whether no line was cut off by the depth.
    """
    ply, ended = 0, True
    loops[0, 0], loops[0, 1] = depth, -1
    while ply >= 0:
        state = states[ply]
        mover = np.int64(state.current_player)
        if loops[ply, 1] == -1:
            if mover == TERMINAL or (mover != CHANCE and loops[ply, 0] == 0):
                ended = ended and mover == TERMINAL
                leaf(state, difference, scratch, best[ply])
                loops[ply, 1] = loops[ply, 2] = 0
            else:
                if mover == CHANCE:
                    loops[ply, 2] = verbs.chance_outcomes(state, actions[ply], probabilities[ply])
                else:
                    loops[ply, 2] = verbs.legal_actions(state, actions[ply])
                loops[ply, 1] = 0
        else:
            i = loops[ply, 1]
            child = best[ply + 1]
            if mover == CHANCE:
                if i == 0:
                    best[ply] = 0.0
                for p in range(child.shape[0]):
                    best[ply, p] += probabilities[ply, i] * child[p]
            else:
                if player == MAX_N:
                    better = child[mover] > best[ply, mover] + 1e-9
                elif sides[mover] == sides[player]:
                    better = child[player] > best[ply, player]
                else:
                    better = child[player] < best[ply, player]
                if i == 0 or better:
                    best[ply] = child
            loops[ply, 1] += 1
        if loops[ply, 1] == loops[ply, 2]:
            ply -= 1
            continue
        states[ply + 1] = state
        verbs.apply_action(states[ply + 1], actions[ply, loops[ply, 1]])
        loops[ply + 1, 0] = loops[ply, 0] - (mover != CHANCE)
        loops[ply + 1, 1] = -1
        ply += 1
    return ended


def plain_values(game, array, depth, player, difference=False):
    """The vectors of all actions, float64 [k, n], and whether each one's lines all end, bool [k]."""
    plies, n = depth * 9 + 9, game.num_players()
    width = max(game.num_distinct_actions(), game.max_chance_outcomes()) + 1
    states, loops = np.zeros(plies, game.dtype), np.zeros((plies, 3), np.int64)
    actions, probabilities = np.zeros((plies, width), np.int32), np.zeros((plies, width))
    best, sides = np.zeros((plies, n)), np.array(sides_of(game))
    found, ended = [], []
    for action in State(game, array, {}).legal_actions():
        states[0] = array[0]
        verbs.apply_action(states[0], action)
        work = (actions, probabilities, loops, best, np.zeros(n))
        ended.append(plain(states, depth - 1, player, sides, difference, *work))
        found.append(best[0].copy())
    return np.array(found), np.array(ended)


def late_positions(game, count, before, seed=0):
    """Positions of random games, up to `before` player actions from their ends, in which a player is to move."""
    generator, positions = np.random.default_rng(seed), []
    while len(positions) < count:
        state, passed = game.new_initial_state(int(generator.integers(1 << 30))), []
        while not state.is_terminal():
            if not state.is_chance_node():
                passed.append(copy_of(state.array))
            legal = state.legal_actions()
            # Chance as it likes: what matters is that all kinds of positions are met.
            state.apply_action(legal[int(generator.integers(len(legal)))])
        positions.append(passed[max(0, len(passed) - 1 - int(generator.integers(before)))])
    return positions


GAMES = [
    "aeroliths(open_hands=true)",
    "aeroliths(open_hands=true,same=true,plus=true,combo=true,wall=true,elemental_cells=random)",
    "aeroliths(open_hands=true,order=true)",
    "aeroliths(open_hands=true,chaos=true)",
    "selenolyth",
    "aether(board=mini)",
    "aether(board=mini,variant=true)",
    "aether(board=mini,players=3)",
    "aether(board=small,players=4,teams=true)",
]


def shown(game):
    """The game as if everybody saw everything, so that a view is the state itself."""
    game.has_hidden_information = lambda array, player: False
    return game


def analyse(agent, game, array):
    """The agent's opinion of a kernel state, nothing dealt anew."""
    return agent.examine([State(game, array.copy(), {})], [np.zeros(1, np.uint64)])[0]


@pytest.mark.parametrize("spec", GAMES)
@pytest.mark.parametrize("count", [12, pytest.param(150, marks=pytest.mark.heavy)])
def test_every_action_has_the_value_of_a_plain_search(spec, count):
    """Depths 1 to 3, straight with and without a table, and deepening with one: values of all actions."""
    game = shown(load_game(spec))
    aether, checked = "aether" in spec, 0
    for depth in (1, 2, 3):
        ways = ("table=18", "table=0", "nodes=1000000000")
        agents = [load_agent(f"minimax(depth={depth},{way})", game) for way in ways]
        for array in late_positions(game, count, 4 if aether else 6, seed=depth):
            player = int(array["current_player"][0])
            actions = len(State(game, array, {}).legal_actions())
            if actions**depth > 40_000:
                continue
            expected, _ = plain_values(game, array, depth, player)
            for agent in agents:
                found = analyse(agent, game, array)
                np.testing.assert_allclose(found.qvalues[:, player], expected[:, player], atol=1e-9)
            checked += 1
    assert checked >= 2 * count


@pytest.mark.parametrize("spec", ["aether(board=mini,players=3)"])
def test_max_n_is_everybody_for_itself(spec):
    game, checked = shown(load_game(spec)), 0
    agents = [load_agent(f"minimax(depth=3,multiplayer=maxn,table={table})", game) for table in (18, 0)]
    for array in late_positions(game, 25, 4, seed=5):
        if len(State(game, array, {}).legal_actions()) ** 3 > 40_000:
            continue
        player = int(array["current_player"][0])
        expected, _ = plain_values(game, array, 3, MAX_N)
        for agent in agents:
            found = analyse(agent, game, array)
            np.testing.assert_allclose(found.qvalues[:, player], expected[:, player], atol=1e-9)
        checked += 1
    assert checked >= 8


@pytest.mark.parametrize("spec", [GAMES[1], "selenolyth"])
def test_a_budget_ends_with_the_last_whole_depth(spec):
    """Whatever the number of nodes, the result is that of a search to the depth it names."""
    game, depths = shown(load_game(spec)), set()
    by_depth = {depth: load_agent(f"minimax(depth={depth})", game) for depth in range(1, 5)}
    for array in late_positions(game, 4, 7, seed=3):
        for nodes in (1, 50, 400, 2000, 9000):
            found = analyse(load_agent(f"minimax(nodes={nodes})", game), game, array)
            depths.add(found.depth)
            if found.depth in by_depth:
                same = analyse(by_depth[found.depth], game, array)
                np.testing.assert_allclose(found.qvalues, same.qvalues, atol=1e-9)
    assert len(depths) >= 3


def test_a_deadline_ends_with_the_last_whole_depth():
    game = shown(load_game(GAMES[0]))
    array = load_game(GAMES[0]).new_initial_state(3).array
    agent = load_agent("minimax(seconds=5.0)", game)
    ticks = iter(range(10**9))
    agent._clock = lambda: float(next(ticks))
    found = analyse(agent, game, array)
    assert 1 <= found.depth < 9
    same = analyse(load_agent(f"minimax(depth={found.depth})", game), game, array)
    np.testing.assert_allclose(found.qvalues, same.qvalues, atol=1e-9)


@pytest.mark.parametrize("spec", [GAMES[0], GAMES[1], GAMES[4]])
def test_proofs_are_of_lines_that_end(spec):
    game, seen = shown(load_game(spec)), set()
    agent = load_agent("minimax(depth=4)", game)
    for array in late_positions(game, 15, 5, seed=9):
        player = int(array["current_player"][0])
        if len(State(game, array, {}).legal_actions()) ** 4 > 100_000:
            continue
        found = analyse(agent, game, array)
        expected, ended = plain_values(game, array, 4, player)
        for sign, value, over in zip(found.proven, expected[:, player], ended, strict=True):
            if over and game.max_chance_outcomes() == 0:
                assert sign == np.sign(np.round(value))
            if sign != 2:
                assert sign == np.sign(np.round(value, 2))
            seen.add(int(sign))
    assert seen & {-1, 1}


@pytest.mark.parametrize("spec", [GAMES[0], GAMES[3], "selenolyth"])
def test_the_line_of_play_is_legal_and_begins_with_the_action(spec):
    game = shown(load_game(spec))
    agent = load_agent("minimax(depth=4)", game)
    for array in late_positions(game, 5, 6, seed=2):
        found = analyse(agent, game, array)
        state = State(game, array.copy(), {})
        assert found.principal_variation[0] == found.action
        for action in found.principal_variation:
            assert action in state.legal_actions()
            state = State(game, state.array.copy(), {})
            verbs.apply_action(state.array[0], action)
            while state.is_chance_node():
                outcomes = state.chance_outcomes()
                verbs.apply_action(state.array[0], max(outcomes, key=lambda pair: pair[1])[0])
