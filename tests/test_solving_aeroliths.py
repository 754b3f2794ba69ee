"""Aeroliths' exact solver against a plain unpruned search, its symmetries, its lines of play, and what it refuses."""

import numpy as np
import pytest

from trilithon.agents import load_agent, solve
from trilithon.core import load_game, verbs
from trilithon.core.aeroliths import kernels, solving
from trilithon.core.errors import SolverLimitError
from trilithon.core.jit import kernel
from trilithon.core.lattice import square_symmetries
from trilithon.core.solving import DIFFERENCE, RETURN

OPTIONS = {
    "basic": {},
    "cells": {"elemental_cells": "random"},
    "same": {"same": True},
    "plus": {"plus": True},
    "plus own": {"plus": True, "plus_own": True},
    "wall": {"same": True, "plus": True, "wall": True},
    "combo": {"same": True, "plus": True, "combo": True},
    "all": {"same": True, "plus": True, "plus_own": True, "combo": True, "wall": True, "elemental_cells": "random"},
    "order": {"order": True, "same": True},
    "few Lithos": {"source": "budget", "budget": 5, "plus": True},  # equal ones, level counts and level sums
}


@kernel
def final_lead(state, player):
    """The difference at the end; a level count is 1, -1 or 0 by the winner."""
    lead = kernels.count_cells(state, player) - kernels.count_cells(state, 1 - player)
    if lead == 0:
        winner = kernels.leader(state)
        lead = 0 if winner < 0 else (1 if winner == player else -1)
    return lead


@kernel
def plain(states, actions, index, counts, best):
    """The value of ``states[0]`` for its mover: every line of play to its end."""
    ply = 0
    best[0], index[0] = -1000, 0
    counts[0] = verbs.legal_actions(states[0], actions[0])
    while True:
        if index[ply] == counts[ply]:
            if ply == 0:
                return best[0]
            value = -best[ply]
            ply -= 1
            best[ply] = max(best[ply], value)
            continue
        states[ply + 1] = states[ply]
        verbs.apply_action(states[ply + 1], actions[ply, index[ply]])
        index[ply] += 1
        if states[ply + 1].current_player == verbs.TERMINAL:
            best[ply] = max(best[ply], final_lead(states[ply + 1], np.int64(states[ply].mover)))
        else:
            ply += 1
            best[ply], index[ply] = -1000, 0
            counts[ply] = verbs.legal_actions(states[ply], actions[ply])


class Plain:
    """`plain` with its work space."""

    def __init__(self, game):
        self.states = np.zeros(30, game.dtype)
        self.actions = np.zeros((30, game.num_distinct_actions() + 1), np.int32)
        self.index, self.counts, self.best = (np.zeros(30, np.int64) for _ in range(3))

    def value(self, state):
        self.states[0] = state.array[0]
        return int(plain(self.states, self.actions, self.index, self.counts, self.best))

    def after(self, state, action):
        child = state.child(action)
        if child.is_terminal():
            return int(final_lead(child.array[0], state.current_player()))
        return -self.value(child)


def late(game, number, left):
    state, generator = game.new_initial_state(number), np.random.default_rng(number)
    for _ in range(game.options["size"] ** 2 - left):
        state.apply_action(int(generator.choice(state.legal_actions())))
    return state


def check_all(game, state, reference):
    """Every action's outcome and difference, all optimal actions, the position's value and the line of play."""
    even = game.options["size"] % 2 == 0
    player = state.current_player()
    before = state.array.copy()
    leads = {a: reference.after(state, a) for a in state.legal_actions()}
    best = max(leads.values())
    solution = solve(state)
    assert list(solution.action_values) == state.legal_actions()
    for action, (values, difference) in solution.action_values.items():
        assert values[player] == -values[1 - player] == np.sign(leads[action])
        assert difference == (0 if even and abs(leads[action]) <= 1 else leads[action])
    assert solution.best_actions == [a for a, lead in leads.items() if lead == best]
    assert solution.values[player] == np.sign(best)
    outcome = solve(state, objective=RETURN)
    assert outcome.values[player] == np.sign(best)
    assert outcome.best_actions == [a for a, lead in leads.items() if np.sign(lead) == np.sign(best)]
    for line, exact in ((solution.principal_variation, True), (outcome.principal_variation, False)):
        end = state.clone()
        for action in line:
            end.apply_action(action)
        found = int(final_lead(end.array[0], player))
        assert end.is_terminal()
        assert found == best if exact else np.sign(found) == np.sign(best)
    assert (state.array == before).all()


@pytest.mark.parametrize("name", OPTIONS)
def test_agrees_with_a_plain_search(name):
    """Sixty deals a set of options, six hundred in all."""
    for size, left, count in ((3, 5, 25), (3, 6, 10), (4, 5, 20), (5, 5, 5)):
        game = load_game("aeroliths", size=size, open_hands=True, **OPTIONS[name])
        reference = Plain(game)
        for number in range(count):
            check_all(game, late(game, number, left), reference)


@pytest.mark.parametrize(("name", "expected"), [("few Lithos", {0}), ("basic", {-1, 1})])
def test_level_counts_are_decided_by_sums_and_can_be_draws(name, expected):
    """With equal sums of sides (one budget for all) level counts are draws, else they hardly ever are."""
    game = load_game("aeroliths", size=4, open_hands=True, **OPTIONS[name])
    reference, seen = Plain(game), set()
    for number in range(40):
        state = late(game, number, 4)
        seen |= {reference.after(state, a) for a in state.legal_actions()}
        if number < 15:
            check_all(game, state, reference)
    assert expected <= seen


@pytest.mark.parametrize("every_action", [False, True])
def test_a_single_action_is_right_without_the_others(every_action):
    game = load_game("aeroliths", open_hands=True, **OPTIONS["all"])
    solver, reference = game.solver(), Plain(game)
    for number in range(25):
        state = late(game, number, 6)
        best = reference.value(state)
        solved = solver.solve(state.array, every_action, DIFFERENCE)
        first = int(solved.best.argmax())
        assert solved.differences[first] == best
        assert reference.after(state, int(solved.actions[first])) == best
        assert len(solved.actions) == (len(state.legal_actions()) if every_action else 1)
        assert solved.nodes > 0


def turned(game, setup, symmetry):
    """A setup with the board and every Litho turned or mirrored, and the map of its actions."""
    size = game.options["size"]
    cells, sides = (maps[symmetry] for maps in square_symmetries(size))

    def litho(values):
        out = list(values)
        for side in range(4):
            out[sides[side]] = values[side]
        return out

    board = [None] * (size * size)
    for cell, element in enumerate(setup["cells"]):
        board[cells[cell]] = element
    hands = [[litho(x) for x in hand] for hand in setup["hands"]]
    return {**setup, "cells": board, "hands": hands}, cells


@pytest.mark.parametrize("name", ["basic", "all"])
def test_the_board_may_be_turned(name):
    """Whole 3x3 deals in four rotations: the same values for the mapped actions."""
    game = load_game("aeroliths", open_hands=True, **OPTIONS[name])
    for number in range(2):
        state = game.new_initial_state(number)
        solver = game.solver()
        first = solver.solve(state.array, True, DIFFERENCE)
        values = dict(zip(first.actions.tolist(), first.differences.tolist(), strict=True))
        for symmetry in (1, 2, 3):
            setup, cells = turned(game, state.setup(), symmetry)
            second = solver.solve(game.from_setup(setup).array, True, DIFFERENCE)
            for action, value in zip(second.actions.tolist(), second.differences.tolist(), strict=True):
                slot, cell = divmod(action, 9)
                assert values[slot * 9 + int(np.flatnonzero(np.asarray(cells) == cell)[0])] == value


def test_equal_lithos_may_change_slots():
    game = load_game("aeroliths", open_hands=True)
    for number in range(6):
        setup = game.new_setup(number)
        first = setup["first_player"]
        setup["hands"][first][3] = setup["hands"][first][0]
        setup["hands"][1 - first][2] = setup["hands"][1 - first][1]
        state = game.from_setup(setup)
        for player, slot in ((0, 8), (1, 4), (0, 44 - 9), (1, 13)):
            state.apply_action(slot if slot in state.legal_actions() else state.legal_actions()[player])
        check_all(game, state, Plain(game))
        solution = solve(state)
        player = state.current_player()
        hand = state.to_dict()["hands"][player]
        by_litho = {}
        for action, (_, difference) in solution.action_values.items():
            key = (tuple(hand[action // 9]), action % 9)
            assert by_litho.setdefault(key, difference) == difference


@pytest.mark.parametrize("deals", [4, pytest.param(100, marks=pytest.mark.heavy)])
def test_whole_deals_agree_with_generic_minimax(deals):
    game = load_game("aeroliths", open_hands=True, same=True, plus=True, combo=True)
    minimax, solver = load_agent("minimax(depth=7)", game), game.solver()
    for number in range(deals):
        state = late(game, number, 7)
        solved = solver.solve(state.array, True, DIFFERENCE)
        analysis = minimax.analyse(state)
        player = state.current_player()
        np.testing.assert_array_equal(np.sign(analysis.qvalues[:, player]), solved.values[:, player])


def test_a_table_that_is_too_small_forgets_but_does_not_err():
    game = load_game("aeroliths", open_hands=True, same=True, plus=True)
    small, large = game.solver(), game.solver()
    small._table = np.zeros((64, 2), np.uint64)
    for number in range(10):
        state = late(game, number, 7)
        first, second = (s.solve(state.array, True, DIFFERENCE) for s in (small, large))
        np.testing.assert_array_equal(first.differences, second.differences)


def test_closed_hands_are_solved_as_if_they_were_open():
    closed, open_hands = load_game("aeroliths"), load_game("aeroliths(open_hands=true)")
    state = late(closed, 3, 6)
    other = late(open_hands, 3, 6)
    assert solve(state).action_values.keys() == solve(other).action_values.keys()
    assert solve(state).difference == solve(other).difference


def test_chaos_is_solved_by_expectation():
    game = load_game("aeroliths(open_hands=true,chaos=true)")
    assert game.solver() is None
    state, generator = game.new_initial_state(3), np.random.default_rng(3)
    while state.is_chance_node() or state.array["move_number"][0] < 9:
        state.apply_action(int(generator.choice(state.legal_actions())))

    def exact(state):
        if state.is_terminal():
            return state.returns()[0]
        if state.is_chance_node():
            return sum(p * exact(state.child(a)) for a, p in state.chance_outcomes())
        values = [exact(state.child(a)) for a in state.legal_actions()]
        return max(values) if state.current_player() == 0 else min(values)

    solution = solve(state)
    for action, (values, _) in solution.action_values.items():
        assert values[0] == pytest.approx(exact(state.child(action)), abs=1e-12)


def test_what_is_too_large_is_refused_with_an_estimate():
    state = load_game("aeroliths(size=5,open_hands=true)").new_initial_state(1)
    with pytest.raises(SolverLimitError, match=r"takes about .*e\+.* nodes; allowed: 100,000,000"):
        solve(state)
    with pytest.raises(SolverLimitError, match="allowed: 1,000"):
        solve(load_game("aeroliths(open_hands=true)").new_initial_state(1), limit=1000)
    with pytest.raises(
        SolverLimitError, match=r"about .*e\+.* nodes, and 17 Lithos are in the hands; allowed: at most 16"
    ):
        solve(late(load_game("aeroliths(size=5,open_hands=true)"), 1, 17), limit=10**12)
    draft = load_game("aeroliths(draft=true)").new_initial_state(1)
    with pytest.raises(SolverLimitError, match="too large"):
        solve(draft)
    sudden = load_game("aeroliths(size=4,sudden_death=true,open_hands=true)")
    with pytest.raises(SolverLimitError):
        solve(late(sudden, 1, 4))
    last = load_game("aeroliths(size=4,sudden_death=true,max_rounds=1,open_hands=true)")
    check_all(last, late(last, 1, 4), Plain(last))


def test_estimates_are_of_the_right_order():
    for name in ("basic", "all"):
        for size, left in ((3, 8), (4, 8), (4, 9)):
            game = load_game("aeroliths", size=size, open_hands=True, **OPTIONS[name])
            solver = game.solver()
            assert isinstance(solver, solving.AerolithsSolver)
            nodes = []
            for number in range(5):
                state = late(game, number, left)
                nodes.append(solver.solve(state.array, False, DIFFERENCE).nodes)
            assert 0.05 < np.median(nodes) / solver.estimate(state.array) < 20
