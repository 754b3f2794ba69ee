"""Elo over a whole field: Bradley-Terry strengths with intervals by resampling deals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import special

from trilithon.experiments.ratings import LEVEL, Outcome, aligned, meetings, points_of, specs_of

_ELO = 400.0 / math.log(10.0)  # Elo points per natural logit
_CHUNK = 2000  # deals per block of bootstrap weights, to bound memory


@dataclass
class Rating:
    """An agent's place in its field; Elo has mean 0 over the agents that met, directly or through others."""

    spec: str
    elo: float
    low: float
    high: float
    games: int
    wins: int
    draws: int
    losses: int

    def to_dict(self) -> dict[str, Any]:
        """Return the rating as a JSON object."""
        return asdict(self)


def elo_ratings(outcomes: Sequence[Outcome], resamples: int = 1000, seed: int = 0) -> list[Rating]:
    """Return maximum-likelihood Elo of every agent, best first, with intervals by resampling deals.

    Bradley-Terry with draws as half a win, and a weak prior: for every two agents that met, one virtual deal that
    both sides split; it makes ratings of agents that won or lost everything finite. Intervals are the central 95 % of
    a Bayesian bootstrap (Rubin 1981) over the deals of the whole table, the virtual ones included. Ratings have mean
    0 over the agents that met, directly or through others; `separate_fields` tells which did.
    """
    specs = specs_of(outcomes)
    index = {spec: i for i, spec in enumerate(specs)}
    counts = {spec: [0, 0, 0] for spec in specs}  # wins, draws, losses
    pairs: dict[tuple[int, int], int] = {}
    deals: dict[Any, int] = {}
    cells: dict[tuple[int, int], list[float]] = {}  # deal, pair -> points of the pair's first agent, games
    for outcome, seat, other in meetings(outcomes):
        i, j = index[outcome.agents[seat]], index[outcome.agents[other]]
        points = points_of(outcome, seat, other)
        counts[specs[i]][int(2 - 2 * points)] += 1
        counts[specs[j]][int(2 * points)] += 1
        pair = pairs.setdefault((min(i, j), max(i, j)), len(pairs))
        cell = cells.setdefault((deals.setdefault(outcome.deal, len(deals)), pair), [0.0, 0.0])
        cell[0] += points if i < j else 1 - points
        cell[1] += 1
    if not pairs:
        return [Rating(spec, 0.0, 0.0, 0.0, 0, 0, 0, 0) for spec in specs]
    ends = np.array(list(pairs))
    won, played = np.zeros((2, len(deals), len(pairs)))
    for (deal, pair), cell in cells.items():
        won[deal, pair], played[deal, pair] = cell
    prior = played.sum(0) / (played > 0).sum(0)  # the mean size of a deal of the pair
    centre = _bradley_terry((won.sum(0) + prior / 2)[None], (played.sum(0) + prior)[None], ends, len(specs))[0]
    drawn = _bradley_terry(*_resampled(won, played, prior, resamples, np.random.default_rng(seed)), ends, len(specs))
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    ratings = []
    for i, spec in enumerate(specs):
        elo = [float(_ELO * strengths[i]) for strengths in (centre, low, high)]
        ratings.append(Rating(spec, elo[0], elo[1], elo[2], sum(counts[spec]), *counts[spec]))
    return sorted(ratings, key=lambda rating: -rating.elo)


def separate_fields(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Return the groups of agents that met, directly or through others; ratings compare within a group alone."""
    specs = specs_of(outcomes)
    met = {(o.agents[a], o.agents[b]) for o, a, b in meetings(outcomes)}
    groups = _components(np.array([[specs.index(a), specs.index(b)] for a, b in met]), len(specs))
    return [[specs[i] for i in np.flatnonzero(groups == group)] for group in np.unique(groups)]


def _resampled(
    points: np.ndarray, games: np.ndarray, prior: np.ndarray, resamples: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Points and games ``[resamples, pairs]`` with an exponential weight for every deal, virtual ones included."""
    virtual = rng.exponential(size=(resamples, len(prior))) * prior
    drawn_points, drawn_games = virtual / 2, virtual.copy()
    for start in range(0, len(points), _CHUNK):
        weights = rng.exponential(size=(resamples, len(points[start : start + _CHUNK])))
        drawn_points += weights @ points[start : start + _CHUNK]
        drawn_games += weights @ games[start : start + _CHUNK]
    return drawn_points, drawn_games


def _bradley_terry(points: np.ndarray, games: np.ndarray, ends: np.ndarray, k: int) -> np.ndarray:
    """Strengths ``[B, k]`` in logits, mean 0 in each connected field, by Newton's method on B tables at once.

    `points` and `games` are ``[B, P]``, `ends` int ``[P, 2]``: pair p is agents ``ends[p]``, points are the first's.
    """
    signs = np.zeros((len(ends), k))
    signs[np.arange(len(ends)), ends[:, 0]], signs[np.arange(len(ends)), ends[:, 1]] = 1.0, -1.0
    groups = _components(ends, k)
    level = (groups[:, None] == groups[None]).astype(float)  # without it the Hessian is singular in every field
    strengths = np.zeros((len(points), k))
    for _ in range(100):
        expected = special.expit(strengths @ signs.T)
        gradient = (points - games * expected) @ signs
        weights = games * expected * (1 - expected)
        hessian = np.einsum("bp,pi,pj->bij", weights, signs, signs) + level * weights.mean(1)[:, None, None]
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        # Far from the optimum a full step overshoots; two logits at a time always come back.
        step *= np.minimum(1.0, 2.0 / np.maximum(np.abs(step).max(1, keepdims=True), 1e-300))
        strengths += step
        if np.abs(step).max() < 1e-10:
            break
    return strengths


def _components(ends: np.ndarray, k: int) -> np.ndarray:
    """Number of the connected field of each agent, int ``[k]``."""
    groups = np.arange(k)
    for i, j in ends.tolist():
        if groups[i] != groups[j]:
            groups[groups == groups[j]] = groups[i]
    return groups


def elo_table(ratings: Sequence[Rating], names: Mapping[str, str] | None = None) -> str:
    """Return Elo ratings as a text table, in the order given."""
    names = names or {}
    rows = [["agent", "Elo", "95 % interval", "games", "won", "drawn", "lost"]]
    for r in ratings:
        counts = [str(n) for n in (r.games, r.wins, r.draws, r.losses)]
        rows.append([names.get(r.spec, r.spec), f"{r.elo:+.0f}", f"{r.low:+.0f} .. {r.high:+.0f}", *counts])
    return aligned(rows, left=1)
