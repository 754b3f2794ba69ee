"""Ratings: scores and final differences of pairs of agents, with intervals that respect duplicate deals.

The games of one deal, played in every seating, belong together: who drew the better hand falls on both sides alike. So
the unit of every interval is the deal (a *block*), not the game. A block is all games of two agents on one setup.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from trilithon.agents.sides import sides_of
from trilithon.core.errors import RecordError, TrilithonError
from trilithon.core.record import GameRecord

LEVEL = 0.95


@dataclass(frozen=True)
class Outcome:
    """One game as the ratings see it."""

    deal: Any  # games with equal `deal` were played from the same setup
    agents: tuple[str, ...]  # specs by seat
    returns: tuple[float, ...]  # by seat; only their order counts
    margins: tuple[float, ...] | None = None  # by seat: final difference in the game's own unit; None where forfeited


@dataclass
class PairResult:
    """What two agents did against each other, from the side of `agent`; intervals are 95 %."""

    agent: str
    opponent: str
    games: int
    deals: int
    wins: int
    draws: int
    losses: int
    score: float  # wins and half the draws, over games
    score_low: float
    score_high: float
    difference: float | None  # mean final difference, None where no game had one
    difference_low: float | None
    difference_high: float | None
    seats: list[dict[str, Any]] = field(default_factory=list)  # per seat of `agent`: games, wins, draws, losses, score

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        return asdict(self)


# ---------------------------------------------------------------------------------------------------------- outcomes


def outcomes_of(records: Iterable[GameRecord]) -> list[Outcome]:
    """Replay records and return their outcomes; `RecordError` names a game that does not replay or has no agents."""
    results = []
    for number, record in enumerate(records, 1):
        try:
            if not record.agents:
                raise RecordError("names no agents, so it cannot be rated")
            state = record.replay()
            if len(record.agents) != state.game.num_players():
                raise RecordError(f"names {len(record.agents)} agents for {state.game.num_players()} players")
            forfeit = (record.tags or {}).get("forfeit")
            if forfeit is None and not state.is_terminal():
                raise RecordError("is not finished, so it cannot be rated")
        except TrilithonError as error:
            raise RecordError(f"game {number}: {error}") from None
        setup = json.dumps([record.game, record.config, record.setup], sort_keys=True)
        results.append(outcome_of(setup, record.agents, state, forfeit))
    return results


def outcome_of(deal: Any, agents: Sequence[str], state: Any, forfeit: Mapping[str, Any] | None = None) -> Outcome:
    """Return the outcome of a finished game, or of one that ``forfeit["seat"]`` and its side lost by a fault."""
    players = range(len(agents))
    if forfeit is not None:
        seat = forfeit.get("seat") if isinstance(forfeit, Mapping) else None
        if type(seat) is not int or seat not in players:
            raise RecordError(f"forfeit by seat {seat!r:.20}, which is not one of 0..{len(agents) - 1}")
        sides = sides_of(state.game)
        return Outcome(deal, tuple(agents), tuple(-1.0 if sides[p] == sides[seat] else 1.0 for p in players))
    scale, _ = state.game.margin_unit()
    margins = tuple(float(m) * scale for m in state.margin())
    return Outcome(deal, tuple(agents), tuple(float(r) for r in state.returns()), margins)


def specs_of(outcomes: Sequence[Outcome]) -> list[str]:
    """All agents, in the order in which they appear."""
    return list(dict.fromkeys(agent for outcome in outcomes for agent in outcome.agents))


def meetings(outcomes: Sequence[Outcome]) -> Iterable[tuple[Outcome, int, int]]:
    """Every two seats of a game that different agents held; games of more players count as several meetings."""
    for outcome in outcomes:
        for seat, agent in enumerate(outcome.agents):
            for other in range(seat + 1, len(outcome.agents)):
                if agent != outcome.agents[other]:
                    yield outcome, seat, other


def points_of(outcome: Outcome, seat: int, other: int) -> float:
    """1 where `seat` did better than `other`, 0 where worse, else a half."""
    own, theirs = outcome.returns[seat], outcome.returns[other]
    return 0.5 if own == theirs else float(own > theirs)


def _difference(margins: tuple[float, ...], seat: int, other: int) -> float:
    """By how much `seat` ended ahead of `other`; of two players a margin says just that."""
    return margins[seat] if len(margins) == 2 else margins[seat] - margins[other]


# --------------------------------------------------------------------------------------------------------- intervals


def score_interval(points: Any, games: Any, level: float = LEVEL) -> tuple[float, float, float]:
    """Return mean score in [0, 1] and its interval, from points and games per block.

    Wilson's score interval (Wilson 1927) with the variance between blocks in the place of p (1 - p): blocks of one
    won-or-lost game give exactly Wilson's, many blocks the normal interval, and blocks that are all alike (all won,
    or all split) still an interval of honest width.
    """
    mean, variance, n = _block_variance(points, games)
    z2 = float(stats.norm.ppf(0.5 + level / 2)) ** 2
    centre = (n * mean + z2 / 2) / (n + z2)
    half = math.sqrt(z2) / (n + z2) * math.sqrt(n * variance + z2 / 4)
    return mean, max(0.0, min(mean, centre - half)), min(1.0, max(mean, centre + half))


def difference_interval(totals: Any, games: Any, level: float = LEVEL) -> tuple[float, float, float]:
    """Return mean difference and its Student interval, from total difference and games per block (two or more)."""
    mean, variance, n = _block_variance(totals, games)
    if n < 2:
        return mean, -math.inf, math.inf
    half = float(stats.t.ppf(0.5 + level / 2, n - 1)) * math.sqrt(variance / n)
    return mean, mean - half, mean + half


def _block_variance(totals: Any, games: Any) -> tuple[float, float, int]:
    """Mean over games, variance of a block's mean, number of blocks; blocks may differ in size (ratio estimator)."""
    totals, games = np.asarray(totals, float), np.asarray(games, float)
    n = len(totals)
    if n == 0 or games.sum() <= 0:
        raise TrilithonError("an interval needs at least one game")
    mean = float(totals.sum() / games.sum())
    if n == 1:
        return mean, mean * (1 - mean) if 0 <= mean <= 1 else 0.0, 1
    residuals = (totals - mean * games) / games.mean()
    return mean, float((residuals**2).sum() / (n - 1)), n


def pair_results(outcomes: Sequence[Outcome], order: Sequence[str] | None = None) -> list[PairResult]:
    """Return a result for every two agents that met; in each the agent that comes first in `order` is the agent."""
    ranks = {spec: i for i, spec in enumerate(order if order is not None else specs_of(outcomes))}
    pairs: dict[tuple[str, str], list[tuple[Outcome, int, int]]] = {}
    for outcome, seat, other in meetings(outcomes):
        a, b = outcome.agents[seat], outcome.agents[other]
        if ranks[a] < ranks[b]:
            pairs.setdefault((a, b), []).append((outcome, seat, other))
        else:
            pairs.setdefault((b, a), []).append((outcome, other, seat))
    ordered = sorted(pairs, key=lambda pair: (ranks[pair[0]], ranks[pair[1]]))
    return [_pair_result(agent, opponent, pairs[agent, opponent]) for agent, opponent in ordered]


def _pair_result(agent: str, opponent: str, meetings: list[tuple[Outcome, int, int]]) -> PairResult:
    blocks: dict[Any, list[float]] = {}  # deal -> points, games, total difference, games that have one
    for outcome, seat, other in meetings:
        block = blocks.setdefault(outcome.deal, [0.0, 0.0, 0.0, 0.0])
        block[0] += points_of(outcome, seat, other)
        block[1] += 1
        if outcome.margins is not None:
            block[2] += _difference(outcome.margins, seat, other)
            block[3] += 1
    table = np.array(list(blocks.values()))
    difference = difference_interval(*table[table[:, 3] > 0][:, 2:].T) if table[:, 3].any() else None
    score, low, high = score_interval(table[:, 0], table[:, 1])
    by_seat = sorted({seat for _, seat, _ in meetings})
    seats = [{"seat": s, **_count([m for m in meetings if m[1] == s])} for s in by_seat]
    whole = _count(meetings)
    mean, least, most = [finite_or_none(value) for value in difference] if difference else (None, None, None)
    return PairResult(
        agent,
        opponent,
        games=whole["games"],
        deals=len(blocks),
        wins=whole["wins"],
        draws=whole["draws"],
        losses=whole["losses"],
        score=score,
        score_low=low,
        score_high=high,
        difference=mean,
        difference_low=least,
        difference_high=most,
        seats=seats,
    )


def finite_or_none(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None


def _count(meetings: list[tuple[Outcome, int, int]]) -> dict[str, Any]:
    """Games, wins, draws, losses and score from the side of each meeting's first seat."""
    points = [points_of(*meeting) for meeting in meetings]
    wins, draws, losses = (points.count(value) for value in (1.0, 0.5, 0.0))
    score = sum(points) / len(points) if points else math.nan
    return {"games": len(points), "wins": wins, "draws": draws, "losses": losses, "score": score}


# ------------------------------------------------------------------------------------------------------------ tables


def rating_table(pairs: Sequence[PairResult], names: Mapping[str, str] | None = None) -> str:
    """Return results as a text table; `names` may give an agent's spec a shorter name."""
    names = names or {}
    header = ["agent", "opponent", "games", "won", "drawn", "lost", "score %", "95 % interval"]
    header += ["difference", "95 % interval"]
    rows = [header]
    for pair in pairs:
        interval = f"{100 * pair.score_low:.1f} .. {100 * pair.score_high:.1f}"
        counts = [str(n) for n in (pair.games, pair.wins, pair.draws, pair.losses)]
        rows.append([names.get(pair.agent, pair.agent), names.get(pair.opponent, pair.opponent), *counts])
        rows[-1] += [f"{100 * pair.score:.1f}", interval, *difference_cells(pair)]
    return aligned(rows, left=2)


def difference_cells(pair: Any) -> list[str]:
    """The mean final difference of a result and its interval, as two cells of a table."""
    if pair.difference is None:
        return ["-", "-"]
    if pair.difference_low is None or pair.difference_high is None:
        return [f"{pair.difference:+.2f}", "-"]
    return [f"{pair.difference:+.2f}", f"{pair.difference_low:+.2f} .. {pair.difference_high:+.2f}"]


def aligned(rows: list[list[str]], left: int) -> str:
    """Columns as wide as their widest entry; the first `left` are texts, the others numbers."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(w) if i < left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
