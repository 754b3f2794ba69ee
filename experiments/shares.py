"""Shares of wins: what an agent won of the games of more than two players, beside its fair share.

A game is worth one win. Whoever has the highest return takes it, and k winners take 1/k each; an agent that holds
several seats (a team's two, or copies) has the sum of theirs. An agent that is as strong as the others takes its seats'
part of all seats, the fair share. As everywhere the unit of an interval is the deal, in all its seatings.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from trilithon.experiments.elo import elo_ratings
from trilithon.experiments.ratings import (
    Outcome,
    aligned,
    difference_cells,
    difference_interval,
    finite_or_none,
    pair_results,
    score_interval,
    specs_of,
)


@dataclass
class ShareResult:
    """What `agent` took of the games at one kind of table; intervals are 95 %."""

    agent: str
    opponents: dict[str, int]  # the other agents and how many seats each held
    seats: int  # the agent held
    games: int
    deals: int
    wins: int  # nobody else won
    draws: int  # shared wins
    losses: int
    share: float  # of wins, 0..1
    share_low: float
    share_high: float
    fair: float  # the share of an agent as strong as the others
    times_fair: float  # share / fair
    times_fair_low: float
    times_fair_high: float
    difference: float | None  # mean final difference, None where no game had one
    difference_low: float | None
    difference_high: float | None
    by_seat: list[dict[str, Any]] = field(default_factory=list)  # the agent's first seat: seat, games, share

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        return asdict(self)


def win_shares(returns: Sequence[float]) -> list[float]:
    """Return each seat's share of a game's win: 1/k for the k seats with the highest return."""
    best = max(returns)
    winners = sum(value == best for value in returns)
    return [1.0 / winners if value == best else 0.0 for value in returns]


def share_results(outcomes: Sequence[Outcome], order: Sequence[str] | None = None) -> list[ShareResult]:
    """Return a result for every agent at every kind of table (who sat there, with how many seats each).

    At a table of two agents one result says all: it is that of the agent with fewer seats, or else of the first in
    `order`. Games of an agent against nothing but itself are left out.
    """
    ranks = {spec: i for i, spec in enumerate(order if order is not None else specs_of(outcomes))}
    tables: dict[tuple[tuple[str, int], ...], list[Outcome]] = {}
    for outcome in outcomes:
        seated = Counter(outcome.agents)
        tables.setdefault(tuple(sorted(seated.items(), key=lambda item: ranks[item[0]])), []).append(outcome)
    results = []
    for table, games in sorted(tables.items(), key=lambda item: [(ranks[agent], n) for agent, n in item[0]]):
        shown = [min(table, key=lambda item: item[1])] if len(table) == 2 else table if len(table) > 2 else []
        results += [_share_result(agent, dict(table), games) for agent, _ in shown]
    return results


def _share_result(agent: str, table: dict[str, int], games: list[Outcome]) -> ShareResult:
    blocks: dict[Any, list[float]] = {}  # deal -> share, games, total difference, games that have one
    taken: list[tuple[int, float]] = []  # first seat, share
    for outcome in games:
        seats = [seat for seat, name in enumerate(outcome.agents) if name == agent]
        shares = win_shares(outcome.returns)
        share = sum(shares[seat] for seat in seats)
        taken.append((seats[0], share))
        block = blocks.setdefault(outcome.deal, [0.0, 0.0, 0.0, 0.0])
        block[0] += share
        block[1] += 1
        if outcome.margins is not None:
            block[2] += sum(outcome.margins[seat] for seat in seats) / len(seats)
            block[3] += 1
    rows = list(blocks.values())
    points, counts = [row[0] for row in rows], [row[1] for row in rows]
    share, low, high = score_interval(points, counts)
    timed = [row for row in rows if row[3]]
    lead = difference_interval([row[2] for row in timed], [row[3] for row in timed]) if timed else None
    mean, least, most = (None, None, None) if lead is None else (finite_or_none(value) for value in lead)
    held, players = table[agent], sum(table.values())
    wins = sum(value > 1 - 1e-9 for _, value in taken)
    losses = sum(value == 0.0 for _, value in taken)
    return ShareResult(
        agent,
        {name: count for name, count in table.items() if name != agent},
        held,
        games=len(games),
        deals=len(blocks),
        wins=wins,
        draws=len(games) - wins - losses,
        losses=losses,
        share=share,
        share_low=low,
        share_high=high,
        fair=held / players,
        times_fair=share * players / held,
        times_fair_low=low * players / held,
        times_fair_high=high * players / held,
        difference=mean,
        difference_low=least,
        difference_high=most,
        by_seat=_by_seat(taken),
    )


def _by_seat(taken: list[tuple[int, float]]) -> list[dict[str, Any]]:
    results = []
    for seat in sorted({seat for seat, _ in taken}):
        shares = [share for other, share in taken if other == seat]
        results.append({"seat": seat, "games": len(shares), "share": sum(shares) / len(shares)})
    return results


def agent_counts(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Return each agent with its games, wins, shared wins and losses; Elo is null: it is for games of two."""
    counts = {spec: [0, 0, 0] for spec in specs_of(outcomes)}
    for outcome in outcomes:
        shares = win_shares(outcome.returns)
        for spec in set(outcome.agents):
            share = sum(value for value, name in zip(shares, outcome.agents, strict=True) if name == spec)
            counts[spec][0 if share > 1 - 1e-9 else 1 if share else 2] += 1
    unrated = {"elo": None, "low": None, "high": None}
    return [
        {"spec": spec, **unrated, "games": sum(c), "wins": c[0], "draws": c[1], "losses": c[2]}
        for spec, c in counts.items()
    ]


def results_dict(outcomes: Sequence[Outcome], order: Sequence[str] | None = None) -> dict[str, Any]:
    """Return agents and what they did as JSON: Elo and pairs for games of two, shares of wins for more players."""
    if max((len(outcome.agents) for outcome in outcomes), default=2) > 2:
        shares = [result.to_dict() for result in share_results(outcomes, order)]
        return {"agents": agent_counts(outcomes), "pairs": [], "shares": shares}
    ratings = elo_ratings(outcomes)
    pairs = pair_results(outcomes, order if order is not None else [rating.spec for rating in ratings])
    return {"agents": [rating.to_dict() for rating in ratings], "pairs": [pair.to_dict() for pair in pairs]}


def share_table(results: Sequence[ShareResult], names: Mapping[str, str] | None = None) -> str:
    """Return results as a text table; `names` may give an agent's spec a shorter name."""
    names = names or {}
    header = ["agent", "against", "games", "won", "shared", "lost", "share %", "fair %", "times fair", "95 % interval"]
    rows = [[*header, "difference", "95 % interval"]]
    for result in results:
        against = [
            names.get(name, name) if count == 1 else f"{count} x {names.get(name, name)}"
            for name, count in result.opponents.items()
        ]
        agent = names.get(result.agent, result.agent)
        row = [agent if result.seats == 1 else f"{result.seats} x {agent}", ", ".join(against)]
        row += [str(count) for count in (result.games, result.wins, result.draws, result.losses)]
        row += [f"{100 * result.share:.1f}", f"{100 * result.fair:.1f}", f"{result.times_fair:.2f}"]
        row += [f"{result.times_fair_low:.2f} .. {result.times_fair_high:.2f}"]
        rows.append([*row, *difference_cells(result)])
    return aligned(rows, left=2)
