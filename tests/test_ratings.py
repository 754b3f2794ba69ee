"""Intervals that cover the truth, Elo against hand-computed cases, and what duplicate deals are good for."""

import math

import numpy as np
import pytest

from trilithon.core.errors import TrilithonError
from trilithon.experiments.elo import elo_ratings, elo_table, separate_fields
from trilithon.experiments.ratings import Outcome, difference_interval, pair_results, rating_table, score_interval


def wilson(p, n, z=1.959964):
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)


def event(results, agents=("a", "b"), start=0):
    """Outcomes of two-player games: per deal the points of the first agent in both seats."""
    outcomes = []
    for deal, points in enumerate(results, start):
        for rotation, value in enumerate(points):
            signs = (2 * value - 1, 1 - 2 * value)
            names, signs = (agents, signs) if rotation == 0 else (agents[::-1], signs[::-1])
            outcomes.append(Outcome(deal, tuple(names), signs, tuple(3 * s for s in signs)))
    return outcomes


def test_single_games_give_wilsons_interval():
    # The sample variance has n - 1 in the denominator; at n = 2,000 that is all the difference.
    for wins in (1300, 1000, 1990):
        points = np.array([1.0] * wins + [0.0] * (2000 - wins))
        mean, low, high = score_interval(points, np.ones(2000))
        assert mean == wins / 2000
        assert (low, high) == pytest.approx(wilson(mean, 2000), abs=2e-5)


def test_all_won_all_lost_and_all_split_have_an_honest_width():
    two = np.full(100, 2)
    assert score_interval(two, two) == pytest.approx((1.0, wilson(1.0, 100)[0], 1.0))
    assert score_interval(0 * two, two) == pytest.approx((0.0, 0.0, wilson(0.0, 100)[1]))
    mean, low, high = score_interval(two / 2, two)
    assert mean == 0.5
    assert 0.45 < low < 0.5 < high < 0.55
    assert score_interval([1.0], [1]) == pytest.approx((1.0, *wilson(1.0, 1)))
    mean, low, high = score_interval([0.5], [1])
    assert low < 0.2
    assert high > 0.8


def test_no_games_have_no_interval():
    with pytest.raises(TrilithonError, match="at least one game"):
        score_interval([], [])


def paired_trial(rng, deals, strength, luck):
    """Points of the first agent in a deal's two games: the luck of the deal helps it once and hurts it once."""
    cards = rng.normal(0.0, luck, deals)
    first = rng.random(deals) < 1 / (1 + np.exp(-(strength + cards)))
    second = rng.random(deals) < 1 / (1 + np.exp(-(strength - cards)))
    return np.stack([first, second], 1).astype(float)


def true_score(strength, luck):
    cards = np.linspace(-8, 8, 4001)
    weights = np.exp(-(cards**2) / 2)
    return float(np.average(1 / (1 + np.exp(-(strength + luck * cards))), weights=weights))


@pytest.mark.parametrize(("strength", "luck", "deals"), [(0.0, 2.0, 100), (0.8, 3.0, 60), (3.5, 1.0, 100)])
def test_score_intervals_cover_the_truth(strength, luck, deals):
    rng = np.random.default_rng(5)
    truth, covered = true_score(strength, luck), 0
    for _ in range(200):
        points = paired_trial(rng, deals, strength, luck).sum(1)
        _, low, high = score_interval(points, np.full(deals, 2))
        covered += low <= truth <= high
    assert 180 <= covered <= 199  # 190 expected; the binomial's central 99.9 % and a little


def test_difference_intervals_cover_the_truth():
    rng = np.random.default_rng(6)
    covered = 0
    for _ in range(200):
        differences = 0.7 + rng.choice([-1.0, 1.0], 50) + rng.normal(0, 1, 50)
        mean, low, high = difference_interval(2 * differences, np.full(50, 2))
        assert mean == pytest.approx(differences.mean())
        covered += low <= 0.7 <= high
    assert 180 <= covered <= 199


@pytest.mark.heavy
def test_intervals_cover_the_truth_in_a_thousand_trials():
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(1000):
        points = paired_trial(rng, 100, 0.5, 2.0).sum(1)
        _, low, high = score_interval(points, np.full(100, 2))
        covered += low <= true_score(0.5, 2.0) <= high
    assert 930 <= covered <= 975


def test_elo_intervals_cover_the_truth():
    rng = np.random.default_rng(8)
    difference, covered = 120.0, 0
    p = 1 / (1 + 10 ** (-difference / 400))
    for _ in range(100):
        ratings = elo_ratings(event((rng.random((60, 2)) < p).astype(float)), resamples=300)
        low, high = next((2 * r.low, 2 * r.high) for r in ratings if r.spec == "a")  # mean 0: a is half above
        covered += low <= difference <= high
    assert 88 <= covered <= 100


def test_pairing_narrows_the_interval():
    points = paired_trial(np.random.default_rng(9), 200, 0.3, 4.0)
    paired = score_interval(points.sum(1), np.full(200, 2))
    single = score_interval(points.ravel(), np.ones(400))
    assert paired[0] == single[0]
    assert paired[2] - paired[1] < 0.7 * (single[2] - single[1])


def test_results_of_a_pair_by_seat():
    outcomes = event([(1.0, 0.0), (1.0, 1.0), (0.5, 0.0), (1.0, 0.5)])
    [pair] = pair_results(outcomes)
    assert (pair.agent, pair.opponent, pair.games, pair.deals) == ("a", "b", 8, 4)
    assert (pair.wins, pair.draws, pair.losses) == (4, 2, 2)
    assert pair.score == 5 / 8
    assert pair.difference == pytest.approx(3 * (4 - 2) / 8)
    first, second = pair.seats
    assert first == {"seat": 0, "games": 4, "wins": 3, "draws": 1, "losses": 0, "score": 3.5 / 4}
    assert second == {"seat": 1, "games": 4, "wins": 1, "draws": 1, "losses": 2, "score": 1.5 / 4}
    [other] = pair_results(outcomes, order=["b", "a"])
    assert (other.agent, other.score, other.difference) == ("b", 3 / 8, pytest.approx(-0.75))
    assert other.score_low == pytest.approx(1 - pair.score_high)


def test_forfeited_games_count_as_lost_and_have_no_difference():
    lost = Outcome(0, ("a", "b"), (-1.0, 1.0))
    [pair] = pair_results([lost])
    assert (pair.losses, pair.score, pair.difference, pair.difference_low) == (1, 0.0, None, None)
    [pair] = pair_results([lost, *event([(1.0, 0.0)], start=1)])
    assert (pair.games, pair.wins, pair.difference, pair.difference_low) == (3, 1, 0.0, None)
    assert rating_table([pair]).count("\n") == 1


def test_elo_of_two_agents_is_the_logit_of_the_score():
    # 150 of 200 points and a virtual deal of one point in two: 151 to 51.
    outcomes = event([(1.0, 1.0)] * 50 + [(1.0, 0.0)] * 50)
    best, worst = elo_ratings(outcomes)
    assert (best.spec, worst.spec) == ("a", "b")
    assert best.elo - worst.elo == pytest.approx(400 * math.log10(151 / 51), abs=1e-6)
    assert best.elo + worst.elo == pytest.approx(0.0, abs=1e-9)
    assert (best.games, best.wins, best.draws, best.losses) == (200, 150, 0, 50)
    assert best.low < best.elo < best.high


def test_elo_of_three_agents_is_the_maximum_of_the_likelihood():
    outcomes = event([(1.0, 1.0), (1.0, 0.0), (0.5, 1.0)] * 5, ("a", "b"))
    outcomes += event([(1.0, 0.5), (0.0, 1.0)] * 5, ("b", "c"), start=100)
    outcomes += event([(1.0, 1.0), (1.0, 1.0), (0.0, 1.0)] * 5, ("a", "c"), start=200)
    strengths = {r.spec: r.elo * math.log(10) / 400 for r in elo_ratings(outcomes, resamples=10)}
    # At the maximum every agent's expected points are its points, the virtual deals (2 games, 1 point) included.
    totals = {("a", "b"): (22.5, 30), ("b", "c"): (12.5, 20), ("a", "c"): (25, 30)}
    for agent in "abc":
        surplus = 0.0
        for (i, j), (points, games) in totals.items():
            expected = (games + 2) / (1 + math.exp(strengths[j] - strengths[i]))
            surplus += (agent == i) * (points + 1 - expected) - (agent == j) * (points + 1 - expected)
        assert surplus == pytest.approx(0.0, abs=1e-6)


def test_ratings_of_agents_that_won_everything_are_finite():
    outcomes = event([(1.0, 1.0)] * 200) + event([(1.0, 1.0)] * 200, ("b", "c"), start=200)
    ratings = elo_ratings(outcomes)
    assert [r.spec for r in ratings] == ["a", "b", "c"]
    for rating in ratings:
        assert all(map(math.isfinite, (rating.elo, rating.low, rating.high)))
    best = ratings[0]
    assert best.high - best.low > 50
    # 400 games won: the interval's lower end is about what the rule of three allows (99 %).
    two = elo_ratings(event([(1.0, 1.0)] * 200))
    assert 600 < two[0].low - two[1].high < 1000
    assert [r.elo for r in elo_ratings(event([(1.0,)]))] == pytest.approx([95.4, -95.4], abs=0.1)


def test_agents_that_never_met_are_told_apart():
    outcomes = event([(1.0, 0.0)] * 3) + event([(1.0, 1.0)] * 3, ("c", "d"), start=3)
    assert separate_fields(outcomes) == [["a", "b"], ["c", "d"]]
    ratings = {r.spec: r.elo for r in elo_ratings(outcomes)}
    assert ratings["a"] == pytest.approx(0.0, abs=1e-6)
    assert ratings["c"] == pytest.approx(-ratings["d"])
    assert separate_fields(outcomes + event([(1.0, 0.0)], ("d", "a"), start=9)) == [["a", "b", "c", "d"]]


def test_the_same_results_give_the_same_intervals():
    outcomes = event(paired_trial(np.random.default_rng(1), 40, 0.5, 1.0))
    assert elo_ratings(outcomes) == elo_ratings(outcomes)


def test_games_of_three_count_as_three_meetings():
    outcomes = [Outcome(d, ("a", "b", "c"), (1.0, 0.0, -1.0), (5.0, 3.0, 1.0)) for d in range(10)]
    pairs = pair_results(outcomes)
    assert [(p.agent, p.opponent, p.wins, p.difference) for p in pairs] == [
        ("a", "b", 10, 2.0),
        ("a", "c", 10, 4.0),
        ("b", "c", 10, 2.0),
    ]
    assert [r.spec for r in elo_ratings(outcomes)] == ["a", "b", "c"]


def test_tables_are_aligned_and_use_short_names():
    pairs = pair_results(event([(1.0, 0.0), (1.0, 1.0)], ("a long name", "b")))
    lines = rating_table(pairs, {"b": "the other one"}).splitlines()
    assert len(lines) == 2
    header = "agent opponent games won drawn lost score % 95 % interval difference 95 % interval"
    assert " ".join(lines[0].split()) == header
    assert "the other one" in lines[1]
    assert lines[0].index("opponent") == lines[1].index("the other one")
    assert "75.0" in lines[1]
    assert "+1.50" in lines[1]
    assert elo_table(elo_ratings(event([(1.0, 0.0)]))).splitlines()[0].startswith("agent")
