"""What an agent thinks of a position: one object for every agent, stored in records and drawn in notebooks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trilithon.core.errors import RecordError

UNKNOWN = 2  # `proven` of an action whose outcome is not proven


@dataclass
class Analysis:
    """An agent's opinion of one position, from the side of nobody: values are vectors, one entry per player."""

    player: int  # who is to move
    action: int  # what the agent plays
    values: np.ndarray  # float64 [n]: expected return of each player
    actions: np.ndarray  # int64 [k]: the legal actions, ascending
    weights: np.ndarray  # float64 [k], sum 1: the distribution `action` was drawn from
    visits: np.ndarray  # int64 [k]: simulations through each action (0 where the agent counts none)
    qvalues: np.ndarray  # float64 [k, n]: expected returns after each action (NaN where unknown)
    proven: np.ndarray  # int8 [k]: -1, 0, +1 for the mover, 2 unknown
    principal_variation: list[int] = field(default_factory=list)
    nodes: int = 0
    seconds: float = 0.0
    depth: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the analysis as a JSON object; NaN becomes null."""
        return {
            "player": self.player,
            "action": self.action,
            "values": _numbers(self.values),
            "actions": self.actions.tolist(),
            "weights": _numbers(self.weights),
            "visits": self.visits.tolist(),
            "qvalues": [_numbers(row) for row in self.qvalues],
            "proven": self.proven.tolist(),
            "principal_variation": [int(action) for action in self.principal_variation],
            "nodes": self.nodes,
            "seconds": self.seconds,
            "depth": self.depth,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Analysis":
        """Return the analysis of a JSON object such as `to_dict` or a record's step holds; null becomes NaN.

        What self-play does not store is unknown. Raises `RecordError` where the object is not an analysis.
        """
        try:
            actions = np.array(content["actions"], np.int64)
            values = np.array(content["values"], np.float64)
            k, n = len(actions), len(values)
            qvalues = np.array(content.get("qvalues") or np.full((k, n), np.nan), np.float64)
            proven = np.array(content.get("proven") or [UNKNOWN] * k, np.int8)
            weights, visits = np.array(content["weights"], np.float64), np.array(content["visits"], np.int64)
            if qvalues.shape != (k, n) or {len(proven), len(weights), len(visits)} != {k}:
                raise ValueError("lengths")
            return cls(
                player=int(content["player"]),
                action=int(content["action"]),
                values=values,
                actions=actions,
                weights=weights,
                visits=visits,
                qvalues=qvalues,
                proven=proven,
                principal_variation=[int(action) for action in content.get("principal_variation") or ()],
                nodes=int(content["nodes"]),
                seconds=float(content.get("seconds") or 0.0),
                depth=int(content.get("depth") or 0),
            )
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
            raise RecordError(f"{content!r:.60} is not a step's analysis") from None


def _numbers(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def make_analysis(state: Any, action: int, weights: np.ndarray, **fields: Any) -> Analysis:
    """Return an `Analysis` of a state to move in, with "unknown" for whatever `fields` leaves out."""
    actions = np.array(state.legal_actions(), np.int64)
    k, n = len(actions), state.game.num_players()
    complete: dict[str, Any] = {
        "values": np.full(n, np.nan),
        "visits": np.zeros(k, np.int64),
        "qvalues": np.full((k, n), np.nan),
        "proven": np.full(k, UNKNOWN, np.int8),
        **fields,
    }
    return Analysis(state.current_player(), int(action), actions=actions, weights=weights, **complete)
