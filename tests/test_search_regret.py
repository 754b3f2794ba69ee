"""What stratified chance is worth: the regret of a move in The Selenolyth, by sequential halving over 16 actions.

An evaluator without a network says what a board is worth; the true value of an action is the exact expectation of that
over the die. Regret is what the chosen action falls short of the best one that the search considered.
"""

import numpy as np
import pytest

from trilithon.agents.search import Search, SearchSettings
from trilithon.core import CHANCE, load_game
from trilithon.core.rng import stream
from trilithon.core.selenolyth.kernels import COUNTED, VIEW

BATCH, CONSIDERED = 128, 16


class BoardValue:
    """Equal priors; the value is tanh of a random weight for every stone and 0.2 a point of Luminance ahead.

    Before the die it is the mean over the faces as if no stone were pulled, which is about what a network learns of an
    afterstate: near the truth and not the truth.
    """

    def __init__(self, game, seed):
        self.actions = game.num_distinct_actions()
        self.weights = np.random.default_rng(seed).normal(size=36) * 0.1

    def of(self, occupied, luminance, observer):
        """Values float64 [k] of boards uint64 [k] with Luminance [k, 2]."""
        stones = occupied[:, None] >> np.arange(36, dtype=np.uint64) & np.uint64(1)
        board = stones @ self.weights * np.where(observer == 0, 1.0, -1.0)
        rows = np.arange(len(occupied))
        return np.tanh(board + 0.2 * (luminance[rows, observer] - luminance[rows, 1 - observer]))

    def before_die(self, states, observer):
        """Values float64 [k] of states [k] that wait for the die."""
        total, mover = np.zeros(len(states)), states["mover"].astype(int)
        for face in range(6):
            cell = VIEW[mover, face * 6 + states["pending_file"]].astype(np.int64)
            occupied, luminance = states["occupied"].astype(np.int64), states["luminance"].astype(float)
            free = occupied >> cell & 1 == 0
            points = np.bitwise_count(occupied & COUNTED[states["pending"].astype(int), cell])
            luminance[np.arange(len(states)), mover] += points * free
            total += self.of((occupied | 1 << cell).astype(np.uint64), luminance, observer) / 6
        return total

    def __call__(self, states, indices, count):
        b, m, observer = indices[:count].T
        states = states[b, m]
        values = self.of(states["occupied"], states["luminance"].astype(float), observer)
        waiting = states["current_player"] == CHANCE
        values[waiting] = self.before_die(states[waiting], observer[waiting])
        return np.zeros((count, self.actions), np.float32), np.stack([values, -values], 1)


def random_positions(game, count):
    """Positions of random games at the beginning of a turn, with 8 actions or more."""
    found, number = [], 0
    while len(found) < count:
        generator, state = np.random.default_rng([1, number]), game.new_initial_state(number)
        steps, number = int(generator.integers(4, 24)), number + 1
        while not state.is_terminal() and (steps > 0 or state.is_chance_node() or state.array["pending"][0] >= 0):
            state.apply_action(int(generator.choice(state.legal_actions())))
            steps -= state.current_player() >= 0
        if len(state.legal_actions()) >= 8:
            found.append(state)
    return found


def true_values(state, evaluator):
    """The exact expectation over the die for every action, float64 [k]."""
    player, found = state.current_player(), []
    for action in state.legal_actions():
        after = state.child(action)
        ends = [(after.child(face), p) for face, p in after.chance_outcomes()] or [(after, 1.0)]
        found.append(sum(p * value_of(end, evaluator, player) for end, p in ends))
    return np.array(found)


def value_of(state, evaluator, player):
    if state.is_terminal():
        return state.returns()[player]
    return evaluator.of(state.array["occupied"], state.array["luminance"].astype(float), np.array([player]))[0]


def regret(game, states, values, evaluator, simulations, drawn, **options):
    """The mean regret of the searches' actions."""
    options = {"max_considered": CONSIDERED, "gumbel_scale": 0.0, "drawn_chance": drawn, **options}
    settings = SearchSettings(simulations=simulations, **options)
    search, total = Search(game, BATCH, settings, evaluator), 0.0
    for start in range(0, len(states), BATCH):
        part = states[start : start + BATCH]
        generators = np.stack([stream(0, start + k) for k in range(len(part))])
        search.run(np.concatenate([state.array for state in part]), generators)
        for b in range(len(part)):
            considered = values[start + b][search.visits(b) > 0]
            total += considered.max() - values[start + b][search.best(b)]
    return total / len(states)


@pytest.mark.parametrize(
    ("count", "boards", "simulations"),
    [
        (128, 1, 64),
        pytest.param(512, 8, 64, marks=pytest.mark.heavy),
        pytest.param(512, 8, 100, marks=pytest.mark.heavy),
    ],
)
def test_stratified_dice_cost_at_most_six_tenths_of_the_regret_of_drawn_ones(count, boards, simulations):
    game = load_game("selenolyth")
    states = random_positions(game, count)
    regrets = []
    for seed in range(boards):
        evaluator = BoardValue(game, seed)
        values = [true_values(state, evaluator) for state in states]
        regrets.append([regret(game, states, values, evaluator, simulations, drawn) for drawn in (True, False)])
    drawn, stratified = np.mean(regrets, 0)
    ratios = [f"{b / a:.2f}" for a, b in regrets]
    print(f"{simulations} simulations: drawn {drawn:.4f}, stratified {stratified:.4f}, by board {', '.join(ratios)}")
    assert drawn > 0.005  # there is something to lose
    assert stratified <= 0.6 * drawn


def test_all_outcomes_of_a_die_at_once():
    """With `expand_chance` nine actions are exact after 63 simulations of 64; the regret is against all actions."""
    game = load_game("selenolyth")
    states, evaluator = random_positions(game, 128), BoardValue(game, 0)
    settings = SearchSettings(simulations=64, max_considered=CONSIDERED, gumbel_scale=0.0, expand_chance=True)
    search = Search(game, BATCH, settings, evaluator)
    search.run(np.concatenate([state.array for state in states]), np.stack([stream(0, k) for k in range(BATCH)]))
    for b, state in enumerate(states):
        values, visits = true_values(state, evaluator), search.visits(b)
        tried = [i for i in np.flatnonzero(visits).tolist() if state.child(search.actions(b)[i]).is_chance_node()]
        assert (visits[tried] >= 7).all()
        own = search.qvalues(b)[:, state.current_player()]
        # As deep as the die alone the value is the exact expectation.
        shallow = [i for i in tried if visits[i] == 7]
        ends = [any(state.child(search.actions(b)[i]).child(face).is_terminal() for face in range(6)) for i in shallow]
        checked = [i for i, ended in zip(shallow, ends, strict=True) if not ended]
        np.testing.assert_allclose(own[checked], values[checked], atol=1e-6)
    found = [
        regret(game, states, [true_values(s, evaluator) for s in states], evaluator, 64, False, expand_chance=e)
        for e in (True, False)
    ]
    assert found[0] < 0.7 * found[1]
