"""How near to perfect play an agent comes: its actions in labelled positions (labelled.py).

``kept`` is the share of positions in which the agent's action keeps the best outcome, with Wilson's interval; ``lost``
the mean final difference that the action gives away, in the game's own unit. Beside them stands what an action drawn
uniformly would keep, computed, not played.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trilithon.agents import Agent, load_agent
from trilithon.core.errors import OptionError
from trilithon.experiments.labelled import SOURCES, LabelledSet
from trilithon.experiments.ratings import score_interval

BATCH = 64  # positions that an agent is asked about at once


@dataclass(frozen=True)
class Accuracy:
    """What one agent did in the positions with so many empty cells."""

    empty: int
    positions: int
    kept: float
    low: float  # of the 95 % interval of `kept`
    high: float
    lost: float
    uniform_kept: float
    uniform_lost: float


def measure(
    agent: Agent | str,
    positions: LabelledSet,
    source: str | None = None,
    seed: int = 0,
    progress: Callable[[int], Any] = lambda count: None,
) -> list[Accuracy]:
    """Ask an agent (or the agent of a spec) in every position; return one entry for each number of empty cells.

    `source` takes the positions from "random" or "strong" play alone. `progress` is told how many were done.
    """
    if source is not None and source not in SOURCES:
        raise OptionError(f"source = {source!r:.40} is not allowed; allowed: {', '.join(SOURCES)}")
    agent = load_agent(agent, positions.game, seed) if isinstance(agent, str) else agent
    chosen = np.ones(len(positions), np.bool_) if source is None else positions.sources == source
    results = []
    for empty in sorted(set(positions.empty.tolist()), reverse=True):
        indices = np.flatnonzero(chosen & (positions.empty == empty)).tolist()
        if not indices:
            continue
        kept, lost = [], []
        for start in range(0, len(indices), BATCH):
            part = indices[start : start + BATCH]
            actions = agent.act_batch([positions.states[i] for i in part])
            kept += [positions.kept(i, action) for i, action in zip(part, actions, strict=True)]
            lost += [positions.lost_difference(i, action) for i, action in zip(part, actions, strict=True)]
            progress(len(part))
        results.append(_summary(positions, empty, indices, kept, lost))
    return results


def _summary(
    positions: LabelledSet, empty: int, indices: Sequence[int], kept: Sequence[bool], lost: Sequence[int]
) -> Accuracy:
    outcomes, differences = positions.outcomes, positions.differences
    share, low, high = score_interval(np.array(kept, float), np.ones(len(kept)))
    return Accuracy(
        empty=int(empty),
        positions=len(indices),
        kept=share,
        low=low,
        high=high,
        lost=float(np.mean(lost)),
        uniform_kept=float(np.mean([(outcomes[i] == outcomes[i].max()).mean() for i in indices])),
        uniform_lost=float(np.mean([differences[i].max() - differences[i].mean() for i in indices])),
    )


def accuracy_dict(positions: LabelledSet, results: dict[str, list[Accuracy]]) -> dict[str, Any]:
    """Return results by agent's spec as one JSON object."""
    return {
        "benchmark": positions.name,
        "sha256": positions.sha256,
        "game": str(positions.game),
        "agents": [{"spec": spec, "empty": [asdict(row) for row in rows]} for spec, rows in results.items()],
    }


def accuracy_table(positions: LabelledSet, results: dict[str, list[Accuracy]]) -> str:
    """Return results by agent's spec as a text: a column for each number of empty cells."""
    rows = next(iter(results.values()))
    lines = {"(uniform, computed)": [_cell(row.uniform_kept, row.uniform_lost) for row in rows]}
    for spec, found in results.items():
        lines[spec] = [_cell(row.kept, row.lost, f" ({100 * row.low:.0f}..{100 * row.high:.0f})") for row in found]
    width = max(map(len, [*lines, "empty cells"]))
    text = [f"{'empty cells':<{width}}" + "".join(f"  {row.empty:>17}" for row in rows)]
    text.append(f"{'positions':<{width}}" + "".join(f"  {row.positions:>17}" for row in rows))
    for spec, cells in lines.items():
        text.append(f"{spec:<{width}}" + "".join(f"  {cell:>17}" for cell in cells))
    unit = positions.game.margin_unit()[1]
    text.append(f"\nper cent of positions in which the best outcome is kept (95 % interval), then {unit} given away")
    return "\n".join(text)


def _cell(kept: float, lost: float, interval: str = "") -> str:
    return f"{100 * kept:.1f}{interval} {lost:.2f}"
