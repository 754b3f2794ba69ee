"""The Selenolyth's solver: against value iteration over all that can follow, cycles of skipped turns included."""

import numpy as np
import pytest
from naive.endings import turn_graph_values

from trilithon.agents import solve
from trilithon.core import SetupError, load_game
from trilithon.core.errors import SolverLimitError
from trilithon.core.selenolyth.ending_positions import FRAME
from trilithon.core.selenolyth.ending_search import settle_pair

RETURN = "return"


def ending(generator, game, free, stones, **fields):
    """A random position with so many free cells, and stones in both reserves together."""
    while True:
        occupied = np.ones(36, int)
        occupied[generator.choice(36, free, replace=False)] = 0
        reserve = [[0, 0, 0], [0, 0, 0]]
        for _ in range(stones):
            reserve[generator.integers(2)][generator.integers(3)] += 1
        goal = game.options["luminance_goal"]
        position = {
            "occupied": occupied.tolist(),
            "reserve": reserve,
            "luminance": generator.integers(0, goal, 2).tolist(),
            "player": int(generator.integers(2)),
        }
        try:
            return game.from_setup({"first_player": 0, "position": position | fields})
        except SetupError:
            continue  # a full square, or a reserve without stones


def compare(game, state, turns_count=False):
    """Compare every action's value; return how many cycles there were, and how far the actions lie apart."""
    plain, cycles = turn_graph_values(state, turns_count)
    solver = game.solver()
    solved = solver.solve(state.array, True, RETURN)
    assert solved.actions.tolist() == state.legal_actions()
    expected = np.array([plain[action] for action in state.legal_actions()])
    np.testing.assert_allclose(solved.values[:, 0], expected, atol=1e-9)
    np.testing.assert_array_equal(solved.values[:, 1], -solved.values[:, 0])
    assert solved.differences is None
    own = expected if state.current_player() == 0 else -expected
    assert solved.best.tolist() == (own > own.max() - 1e-9).tolist()
    one = solver.solve(state.array, False, RETURN)
    assert len(one.actions) == 1
    assert one.actions[0] in solved.actions[solved.best]
    assert one.values[0, state.current_player()] == pytest.approx(own.max(), abs=1e-9)
    return cycles, np.ptp(own)


@pytest.mark.parametrize("seed", range(4))
def test_a_hundred_endings_equal_value_iteration(seed):
    """25 endings a seed, with two to four stones left; in most of them positions come again."""
    generator, game = np.random.default_rng(seed), load_game("selenolyth")
    cycles = decided = 0
    for _ in range(25):
        state = ending(generator, game, int(generator.integers(4, 10)), int(generator.integers(2, 5)))
        met, spread = compare(game, state)
        cycles += met > 0
        decided += spread > 1e-6
    assert cycles >= 10
    assert decided >= 10


def test_a_pair_of_skipped_turns_has_the_value_of_the_endless_game():
    """One Shard of Orthos each, two free cells in each file: a roll hits, and wins, with 1/3, or the turn is skipped.

    So v = 1/3 - 2/3 v: each is worth 1/5 to its mover.
    """
    game = load_game("selenolyth")
    free = [(0, 1), (0, 4), (1, 1), (1, 4), (2, 1), (2, 4), (3, 1), (3, 4), (4, 1), (4, 4), (5, 1), (5, 4)]
    occupied = [int((cell % 6, cell // 6) not in free) for cell in range(36)]
    position = {"occupied": occupied, "reserve": [[0, 0, 1], [0, 0, 1]], "luminance": [0, 0], "player": 1}
    state = game.from_setup({"first_player": 0, "position": position})
    solution = solve(state)
    np.testing.assert_allclose(solution.values, [-0.2, 0.2], atol=1e-12)
    assert solution.best_actions == state.legal_actions() == list(range(12, 18))


def test_cycles_of_any_actions_are_solved():
    """Two positions that skipped turns lead back and forth between, with random values of everything else."""
    generator, frames, moved = np.random.default_rng(2), np.zeros(2, FRAME), 0
    for _ in range(300):
        for frame in frames:
            frame["own"] = 0, 1, 1
            frame["free"] = generator.integers(1, 7, 6)
            frame["sums"] = frame["free"] * generator.uniform(-1, 1, (3, 6)) * generator.choice([0.2, 1.0])
        settle_pair(frames[0], frames[1])
        best, other = frames["value"]
        for frame, value, opposite in zip(frames, (best, other), (other, best), strict=True):
            free = frame["free"]
            rolls = (frame["sums"][1:] - (6 - free) * opposite) / 6
            wills = frame["sums"][1:][:, free == 1]
            assert max([rolls.max(), *wills.ravel()]) == pytest.approx(value, abs=1e-12)
            assert frame["skip"] == -opposite
            # Would another roll be the best if a skipped turn were worth nothing?
            moved += rolls.argmax() != (frame["sums"][1:] / 6).argmax()
    assert moved > 60


def test_a_value_is_the_mean_of_what_follows():
    """Inside, what cannot be the best is not looked at; where the same position is the root, everything is."""
    generator, game = np.random.default_rng(11), load_game("selenolyth")
    for free, stones in [(10, 7)] * 3 + [(12, 5), (18, 4), (24, 4)] * 12:
        state = ending(generator, game, free, stones)
        values = {action: found[0] for action, (found, _) in solve(state).action_values.items()}
        for action in generator.choice([a for a in values if a < 18], 3, replace=False).tolist():
            total = 0.0
            for face in range(6):
                after = state.child(action).child(face)
                solution = None if after.is_terminal() else solve(after)
                if solution is None:
                    total += after.returns()[0]
                else:
                    side = 1 if after.current_player() == 0 else -1
                    total += side * max(side * found[0] for found, _ in solution.action_values.values())
            assert values[action] == pytest.approx(total / 6, abs=1e-9)


def test_luminance_tells_positions_apart():
    """One table for the same board and reserves with all kinds of Luminance, for either player."""
    generator, game = np.random.default_rng(12), load_game("selenolyth")
    solver, found = game.solver(), set()
    setup = ending(generator, game, 7, 5, reserve=[[0, 2, 1], [1, 1, 1]]).position_setup()
    for own in range(9):
        for luminance in ([own, 3], [3, own]):
            setup["position"]["luminance"] = luminance
            state = game.from_setup(setup)
            values = solver.solve(state.array, True, RETURN).values
            np.testing.assert_allclose(values, game.solver().solve(state.array, True, RETURN).values, atol=1e-12)
            found.add(tuple(np.round(values[:, 0], 6)))
    assert len(found) >= 4


def test_a_game_about_to_be_cut_off_counts_its_turns():
    """Where the limit comes before the natural end, every turn decides; where it does not, it is out of sight."""
    generator, changed = np.random.default_rng(7), 0
    for _ in range(30):
        turns = int(generator.integers(1, 4))
        game, free = load_game(f"selenolyth(max_turns={turns})"), (12, 8, 5)[turns - 1]
        state = ending(generator, game, free, int(generator.integers(5, 9)))
        record = state.array[0]
        reserve = record["reserve"].sum(axis=1)
        own, other = reserve[record["mover"]], reserve[1 - record["mover"]]
        if record["max_turns"] >= min(2 * own - 1, 2 * other):
            continue
        compare(game, state, turns_count=True)
        endless = load_game("selenolyth").from_setup(state.setup())
        changed += not np.allclose(solve(endless).values, solve(state).values)
    assert changed >= 6
    game = load_game("selenolyth(max_turns=20)")
    setup = ending(generator, game, 6, 4, turns=0).position_setup()
    setup["position"]["turns"] = 16  # four turns left
    state = game.from_setup(setup)
    np.testing.assert_array_equal(solve(state).values, solve(load_game("selenolyth").from_setup(setup)).values)


@pytest.mark.parametrize("spec", ["selenolyth(luminance_goal=16,eclipse_value=9)", "selenolyth(luminance_goal=2)"])
def test_other_goals(spec):
    generator, game = np.random.default_rng(3), load_game(spec)
    for _ in range(10):
        compare(game, ending(generator, game, int(generator.integers(4, 8)), int(generator.integers(2, 5))))


def test_inside_a_turn():
    """A stone that ricochets may go anywhere; a roll that is under way is a chance node."""
    generator, game = np.random.default_rng(5), load_game("selenolyth")
    ricochets = 0
    while ricochets < 8:
        state = ending(generator, game, int(generator.integers(4, 8)), 4)
        action = int(generator.choice([a for a in state.legal_actions() if a < 18]))
        rolled = state.child(action)
        value = solve(rolled)
        # A roll is worth the same before and after it was chosen.
        np.testing.assert_allclose(value.values, solve(state).action_values[action][0], atol=1e-9)
        for face in range(6):
            after = rolled.child(face)
            if not after.is_terminal() and after.array["pending"][0] >= 0:
                plain, _ = turn_graph_values(after)
                solution = solve(after)
                for cell, expected in plain.items():
                    assert solution.action_values[cell][0][0] == pytest.approx(expected, abs=1e-9)
                ricochets += 1
                break


def test_mirrored_and_turned_positions_are_worth_the_same():
    generator, game = np.random.default_rng(6), load_game("selenolyth")
    for _ in range(6):
        state = ending(generator, game, 8, 6)
        setup, values = state.position_setup(), solve(state).values
        board = np.array(setup["position"]["occupied"]).reshape(6, 6)
        for image in (board[:, ::-1], board[::-1], board[::-1, ::-1]):
            setup["position"]["occupied"] = image.ravel().tolist()
            np.testing.assert_allclose(solve(game.from_setup(setup)).values, values, atol=1e-12)
        swapped = state.position_setup()
        for name in ("luminance", "reserve"):
            swapped["position"][name].reverse()
        swapped["position"]["player"] = 1 - swapped["position"]["player"]
        np.testing.assert_allclose(solve(game.from_setup(swapped)).values, -values, atol=1e-12)


def test_eight_stones_and_no_more():
    """Eight stones left of a full game: well below the limit, and a line that can be played."""
    generator, game = np.random.default_rng(8), load_game("selenolyth")
    for _ in range(5):
        state = ending(generator, game, 8, 8)
        solution = solve(state, limit=200_000)
        assert list(solution.action_values) == state.legal_actions()
        state.apply_action(solution.principal_variation[0])
        for action in solution.principal_variation[1:]:
            state.apply_action(action)
        assert state.is_chance_node() or state.is_terminal()
    with pytest.raises(SolverLimitError, match="too large to be solved exactly; allowed: at most 8 stones"):
        solve(ending(generator, game, 9, 9))
    with pytest.raises(SolverLimitError, match=r"about \S+ nodes; allowed: 1,000 \(limit\)"):
        solve(ending(generator, game, 20, 8), limit=1_000)


def test_one_solver_serves_many_positions(monkeypatch):
    """A table that other positions filled, and that has to grow, and another game's value of an Eclipse."""
    generator, game = np.random.default_rng(9), load_game("selenolyth")
    other = load_game("selenolyth(eclipse_value=5)")
    states = [ending(generator, game, 7, 5) for _ in range(6)]
    solver = game.solver()
    for state in states:
        for one in (game, other):
            same = one.from_setup(state.setup())
            fresh = one.solver().solve(same.array, True, RETURN)
            np.testing.assert_allclose(solver.solve(same.array, True, RETURN).values, fresh.values, atol=1e-12)
    big = ending(generator, game, 13, 7)
    whole = game.solver().solve(big.array, True, RETURN)
    monkeypatch.setattr("trilithon.core.selenolyth.solving._CHUNK", 500)
    parts = game.solver().solve(big.array, True, RETURN)
    np.testing.assert_allclose(parts.values, whole.values, atol=1e-12)
    assert whole.nodes > 5_000
    monkeypatch.setattr("trilithon.core.selenolyth.solving.MOST_ENTRIES", 1 << 12)
    with pytest.raises(SolverLimitError, match="needs a table of more than"):
        game.solver().solve(big.array, True, RETURN)
    limited = game.solver()
    limited.most_nodes = 1_000
    with pytest.raises(SolverLimitError, match="takes more than 1,000 nodes"):
        limited.solve(big.array, True, RETURN)


def test_estimates_are_of_the_right_size():
    generator, game = np.random.default_rng(10), load_game("selenolyth")
    ratios = []
    for _ in range(40):
        state = ending(generator, game, int(generator.integers(8, 14)), int(generator.integers(5, 8)))
        solver = game.solver()
        ratios.append(solver.estimate(state.array) / solver.solve(state.array, True, RETURN).nodes)
    assert 0.1 < np.median(ratios) < 10
    assert np.mean(np.abs(np.log(ratios)) < np.log(100)) > 0.8


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(100, 108))
def test_larger_endings_equal_value_iteration(seed):
    generator, game = np.random.default_rng(seed), load_game("selenolyth")
    for _ in range(10):
        compare(game, ending(generator, game, int(generator.integers(8, 12)), int(generator.integers(4, 6))))
