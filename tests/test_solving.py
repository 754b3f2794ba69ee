"""Exact solving: the face, the generic solver and Aether's, each against plain expectation."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from naive.aether import NaiveAether
from naive.endings import aether_values, plain_values
from tally import Tally

from trilithon.agents import Solution, solve
from trilithon.agents.expectimax import Expectimax
from trilithon.agents.solve import Solver
from trilithon.core import OptionError, load_game
from trilithon.core.errors import SolverLimitError

DIFFERENCE, RETURN = "difference", "return"


def random_moves(state, generator, stop):
    """Play at random until a player is to move where `stop` holds; None where the game ends before."""
    while state.is_chance_node() or not stop(state):
        if state.is_terminal():
            return None
        state.apply_action(int(generator.choice(state.legal_actions())))
    return None if state.is_terminal() else state


def tally(seed, turns, **options):
    """A position of Tally with so many turns left."""
    generator = np.random.default_rng(seed)
    while True:
        start = Tally(rounds=3, **options).new_initial_state(int(generator.integers(1000)))
        state = random_moves(start, generator, lambda s: s.array["turns"][0] <= turns)
        if state is not None:
            return state


def cells_left(spec, left, seed):
    """A position of Aeroliths with so many empty cells."""
    state = load_game(spec).new_initial_state(seed)
    return random_moves(
        state, np.random.default_rng(seed), lambda s: sum(x is None for x in s.to_dict()["board"]) <= left
    )


def slots_left(spec, left, seed, swaps=None):
    """A position of Aether with so many empty slots; `swaps`: elementals unused by each player, the others gone.

    Without, nobody can swap: where elementals are left there are three tiles in the bag.
    """
    game, generator = load_game(spec), np.random.default_rng(seed)
    while True:
        start = game.new_initial_state(int(generator.integers(1_000_000)))
        state = random_moves(start, generator, lambda s: s.array["empty_count"][0] <= left and s.array["asked"][0] < 0)
        if state is None or state.array["empty_count"][0] != left:
            continue
        setup = state.position_setup()
        position = setup["position"]
        if swaps is not None:
            position["unused"] = [min(own, most) for own, most in zip(position["unused"], swaps, strict=False)]
        elif seed % 2:
            bag = np.repeat(np.arange(4), position["bag"])
            drawn = generator.choice(bag, min(3, len(bag)), replace=False)
            position["bag"] = np.bincount(drawn, minlength=4).tolist()
            position["unused"] = [min(own, 1) for own in position["unused"]]
        else:
            position["unused"] = [0] * game.num_players()
        return game.from_setup(setup)


# ----------------------------------------------------------------------------------------------------- generic solver


@pytest.mark.parametrize("objective", [DIFFERENCE, RETURN])
@pytest.mark.parametrize(
    "options", [{"players": 2}, {"players": 3}, {"players": 4, "teams": True}, {"players": 4}], ids=str
)
def test_the_generic_solver_equals_plain_expectation(options, objective):
    """Returns of all players, and the mover's margin: dice, turns in a row, skipped turns, teams, ties."""
    solver = Expectimax(Tally(**options), objective)
    compared = 0
    for seed in range(12):
        state = tally(seed, 2, **options)
        n, player = state.game.num_players(), state.current_player()
        solved = solver.solve(state.array, True, objective)
        assert solved.actions.tolist() == state.legal_actions()
        plain = np.array([plain_values(state.child(a), objective == DIFFERENCE) for a in state.legal_actions()])
        np.testing.assert_allclose(solved.values, plain[:, :n], atol=1e-9)
        order = np.lexsort((plain[:, -1] * 0, np.round(plain[:, player], 9)))
        best = np.isclose(plain[:, player], plain[order[-1], player], atol=1e-9)
        if objective == DIFFERENCE:
            np.testing.assert_allclose(solved.differences, 20 * plain[:, n + player], atol=1e-9)
            best &= np.isclose(plain[:, n + player], plain[best, n + player].max(), atol=1e-9)
        else:
            assert solved.differences is None
        assert solved.best.tolist() == best.tolist()
        compared += len(np.unique(np.round(plain[:, player], 6))) > 1
    assert compared >= 6


@pytest.mark.parametrize(
    "spec",
    [
        "aeroliths(open_hands=true,same=true,plus=true,combo=true)",
        "aeroliths(open_hands=true,chaos=true)",
        "aeroliths(open_hands=true,size=4,order=true)",
    ],
)
def test_the_generic_solver_finds_the_best_difference(spec):
    for seed in range(8):
        state = cells_left(spec, 4, seed)
        solved = Expectimax(state.game, DIFFERENCE).solve(state.array, True, DIFFERENCE)
        player, unit = state.current_player(), state.game.margin_unit()[0]
        for action, values, lead in zip(solved.actions, solved.values, solved.differences, strict=True):
            plain = plain_values(state.child(int(action)), margins=True)
            np.testing.assert_allclose(values, plain[:2], atol=1e-9)
            assert lead == pytest.approx(unit * plain[2 + player])
        line = state.clone()
        for action in solved.principal_variation:
            assert not line.is_chance_node()
            line.apply_action(action)
        assert line.is_terminal() or line.is_chance_node()
        if line.is_terminal():
            first = int(np.flatnonzero(solved.best)[0])
            assert line.returns().tolist() == solved.values[first].tolist()
            assert line.margin()[player] * unit == pytest.approx(solved.differences[first])


def test_a_full_table_and_a_pause_change_nothing(monkeypatch):
    state = cells_left("aeroliths(open_hands=true)", 6, 1)
    whole = Expectimax(state.game, DIFFERENCE).solve(state.array, True, DIFFERENCE)
    monkeypatch.setattr("trilithon.agents.expectimax.MOST_BYTES", 50_000)
    monkeypatch.setattr("trilithon.agents.expectimax._CHUNK", 3_000)
    solver = Expectimax(state.game, DIFFERENCE)
    small = solver.solve(state.array, True, DIFFERENCE)
    assert solver._counts[3] == 0  # the table could not grow any more
    assert small.nodes > whole.nodes
    np.testing.assert_allclose(small.values, whole.values)
    np.testing.assert_allclose(small.differences, whole.differences)


def test_the_generic_solver_gives_up_where_the_limit_is_out_of_reach():
    solver = Expectimax(Tally(players=4, rounds=8), RETURN)
    solver.most_nodes = 10_000_000
    with pytest.raises(SolverLimitError, match=r"takes about \de\+\d+ nodes; allowed: 10,000,000") as refused:
        solver.solve(solver.game.new_initial_state(1).array, True, RETURN)
    assert "\n" not in str(refused.value)
    assert solver._counts[0] <= 2_000_000  # long before the limit
    solver.most_nodes = 5_000
    with pytest.raises(SolverLimitError, match="allowed: 5,000"):
        solver.solve(tally(1, 6, players=4).array, True, RETURN)


# --------------------------------------------------------------------------------------------------------------- face


def test_a_solution_says_everything():
    state = tally(3, 4, players=2)
    solution = solve(state)
    assert isinstance(solution, Solution)
    player = state.current_player()
    assert list(solution.action_values) == state.legal_actions()
    best = max(values[player] for values, _ in solution.action_values.values())
    assert solution.values[player] == best
    assert solution.best_actions == sorted(solution.best_actions)
    for action in solution.best_actions:
        values, difference = solution.action_values[action]
        assert values[player] == pytest.approx(best)
        assert difference == pytest.approx(solution.difference)
    assert solution.principal_variation[0] in solution.best_actions
    assert solution.nodes > 100
    assert solution.seconds > 0
    content = json.loads(json.dumps(solution.to_dict(), allow_nan=False))
    assert list(content) == [
        "values",
        "difference",
        "action_values",
        "best_actions",
        "principal_variation",
        "nodes",
        "seconds",
    ]
    assert content["action_values"][str(state.legal_actions()[0])][0] == pytest.approx(
        solution.action_values[state.legal_actions()[0]][0].tolist()
    )


def test_without_differences():
    state = tally(3, 3, players=3)
    solution = solve(state, objective="return")
    assert solution.difference is None
    assert all(difference is None for _, difference in solution.action_values.values())
    np.testing.assert_allclose(solution.values, solve(state).values)


def test_solving_changes_nothing():
    state = tally(5, 3, players=3)
    before, history = state.array.tobytes(), state.history()
    solve(state)
    assert (state.array.tobytes(), state.history()) == (before, history)


def test_a_chance_node_has_values_alone():
    state = tally(4, 3, players=3)
    state.apply_action(2)  # two dice, one after the other
    solution = solve(state)
    np.testing.assert_allclose(solution.values, plain_values(state), atol=1e-9)
    assert (solution.difference, solution.action_values, solution.best_actions) == (None, {}, [])
    assert solution.principal_variation == []


def test_what_cannot_be_solved_is_one_line():
    state = tally(4, 3, players=3)
    for limit in (0, -1, 2.5, "many", True):
        with pytest.raises(OptionError, match=r"limit = .* is not allowed; allowed: a whole number 1"):
            solve(state, limit=limit)
    with pytest.raises(OptionError, match="objective = 'win' is not allowed; allowed: return or difference"):
        solve(state, objective="win")
    with pytest.raises(SolverLimitError, match="allowed: 10"):
        solve(state, limit=10)
    with pytest.raises(SolverLimitError, match=r"takes about \S+ nodes; allowed: 100,000,000"):
        solve(load_game("aether").new_initial_state(1))
    with pytest.raises(OptionError, match="the solver is for tally"):
        Solver(state.game).solve(load_game("selenolyth").new_initial_state(1))
    while not state.is_terminal():
        state.apply_action(0)
    with pytest.raises(OptionError, match="has ended; there is nothing to solve"):
        solve(state)


# ------------------------------------------------------------------------------------------------------------- aether


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ("aether(board=mini)", 26),
        ("aether(board=mini,reward=margin)", 12),
        ("aether(board=mini,players=3)", 16),
        ("aether(board=mini,players=3,reward=margin,leftover_points=1)", 8),
        ("aether(board=small,players=4,teams=true)", 4),
        ("aether(board=small,players=4,reward=margin)", 4),
    ],
)
def test_aether_equals_plain_expectation_with_four_empty_slots(spec, count):
    """Against the twin that was written from the rules: every player's value after every action."""
    game = load_game(spec)
    solver, spread = game.solver(), 0
    for seed in range(count):
        state = slots_left(spec, 4, seed)
        setup = state.position_setup()
        plain = aether_values(NaiveAether(game.options, setup))
        solved = solver.solve(state.array, True, DIFFERENCE)
        assert solved.actions.tolist() == state.legal_actions() == sorted(plain)
        assert solved.differences is None
        found = np.array([plain[action] for action in state.legal_actions()])
        np.testing.assert_allclose(solved.values, found, atol=1e-9)
        own = found[:, state.current_player()]
        assert solved.best.tolist() == np.isclose(own, own.max(), atol=1e-9).tolist()
        spread += own.max() - own.min() > 1e-6
    assert spread >= count // 3  # where nothing can change any more, everything is right


@pytest.mark.parametrize(
    ("spec", "left", "swaps"),
    [
        ("aether(board=mini)", 2, (2, 1)),
        ("aether(board=mini)", 3, (1, 0)),
        ("aether(board=mini,reward=margin)", 2, (1, 2)),
        ("aether(board=mini,early_scoring=agreement)", 2, (1, 1)),
        ("aether(board=mini,early_scoring=agreement,players=3)", 2, (1, 0, 1)),
        ("aether(board=mini,early_scoring=proved)", 2, (2, 0)),
        ("aether(board=small,players=4,teams=true,early_scoring=agreement)", 2, (0, 1, 0, 0)),
    ],
)
def test_aether_with_swaps_and_early_scoring_equals_the_generic_solver(spec, left, swaps):
    game = load_game(spec)
    solver, swapped = game.solver(), 0
    for seed in range(4):
        state = slots_left(spec, left, seed, swaps)
        solved = solver.solve(state.array, True, RETURN)
        plain = Expectimax(game, RETURN).solve(state.array, True, RETURN)
        assert solved.actions.tolist() == plain.actions.tolist() == state.legal_actions()
        np.testing.assert_allclose(solved.values, plain.values, atol=1e-9)
        assert solved.best.tolist() == plain.best.tolist()
        swapped += 8 * len(game.board.slots) in state.legal_actions()
        assert solved.nodes < plain.nodes
    assert swapped or game.num_players() > 2  # there the bag is too small


def test_aether_in_the_middle_of_a_turn_equals_the_generic_solver():
    """A tile is to be drawn, a hand is being swapped, a proposal is to be answered."""
    state = slots_left("aether(board=mini,early_scoring=agreement)", 2, 3, (2, 2))
    swap = 8 * len(state.game.board.slots)
    for action in (state.legal_actions()[0], swap, swap + 1):
        after = state.child(action)
        expected, solution = Expectimax(state.game, RETURN), solve(after)
        if after.is_chance_node():
            np.testing.assert_allclose(solution.values, expected._value(after.array), atol=1e-9)
        else:
            plain = expected.solve(after.array, True, RETURN)
            np.testing.assert_allclose([v for v, _ in solution.action_values.values()], plain.values, atol=1e-9)


def test_aether_does_not_depend_on_what_was_solved_before(monkeypatch):
    """One table for several positions of one board; a table that cannot grow; pauses."""
    spec = "aether(board=mini,reward=margin)"
    states = [slots_left(spec, 4, 3)]
    other = states[0].position_setup()
    other["hands"] = other["hands"][::-1]
    states.append(states[0].game.from_setup(other))
    fresh = [load_game(spec).solver().solve(state.array, True, RETURN).values for state in states]
    solver = load_game(spec).solver()
    for state, values in zip(states + states, fresh + fresh, strict=True):
        np.testing.assert_allclose(solver.solve(state.array, True, RETURN).values, values, atol=1e-9)
    monkeypatch.setattr("trilithon.core.aether.solving.MOST_BYTES", 1)
    monkeypatch.setattr("trilithon.core.aether.solving._CHUNK", 1_000)
    cramped = load_game(spec).solver()
    np.testing.assert_allclose(cramped.solve(states[0].array, True, RETURN).values, fresh[0], atol=1e-9)
    assert cramped._counts[3] == 0
    cramped.most_nodes = 2_000
    with pytest.raises(SolverLimitError, match="takes more than 2,000 nodes"):
        cramped.solve(states[1].array, True, RETURN)


def test_aether_near_the_end_sees_no_more_than_matters():
    """Two empty slots and no swaps: what is drawn cannot matter, so what is in the bag makes no difference."""
    setup = slots_left("aether(board=mini)", 2, 2).position_setup()
    game, found = load_game("aether(board=mini)"), []
    full = setup["position"]["bag"]
    for element in np.flatnonzero(full):
        setup["position"]["bag"] = [int(other == element) for other in range(4)]
        state = game.from_setup(setup)
        solved = game.solver().solve(state.array, True, RETURN)
        np.testing.assert_allclose(solved.values, Expectimax(game, RETURN).solve(state.array, True, RETURN).values)
        found.append((solved.nodes, solved.values.tolist()))
    assert len(found) > 1
    assert all(one == found[0] for one in found)


def test_estimates_are_of_the_right_size():
    ratios = []
    for seed in range(30):
        state = slots_left("aether(board=mini)", 3 + seed % 3, seed)
        solver = state.game.solver()
        ratios.append(solver.estimate(state.array) / solver.solve(state.array, True, RETURN).nodes)
    assert 0.2 < np.median(ratios) < 5
    assert np.mean(np.abs(np.log(ratios)) < np.log(20)) > 0.9
    assert load_game("aether").solver().estimate(load_game("aether").new_initial_state(1).array) > 1e15


SCRIPT = """
import numpy as np
from trilithon.agents import solve
from trilithon.core import load_game

def empty(state):
    return state.array["empty_count"][0] if state.game.name == "aether" else state.to_dict()["board"].count(None)


special = "open_hands=true,same=true,plus=true,combo=true,wall=true,elemental_cells=random"
for spec, left in ((f"aeroliths({special})", 4), (f"aeroliths(size=4,{special})", 4), ("aether(board=mini)", 2)):
    state, generator = load_game(spec).new_initial_state(3), np.random.default_rng(3)
    while state.is_chance_node() or empty(state) > left:
        state.apply_action(int(generator.choice(state.legal_actions())))
    solution = solve(state)
    print(solution.action_values, solution.best_actions, solution.principal_variation, solution.nodes)
"""


def test_plain_python_solves_the_same():
    found = set()
    for disabled in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        line = [sys.executable, "-W", "error", "-c", SCRIPT]
        done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1
    assert "{" in found.pop()
