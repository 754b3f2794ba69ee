"""Uniform: every legal action alike."""

import numpy as np

from trilithon.agents.analysis import Analysis, make_analysis
from trilithon.agents.base import Agent
from trilithon.core.game import State
from trilithon.core.rng import next_below


class Uniform(Agent):
    """Plays a uniformly random legal action."""

    name = "uniform"
    doc = "a uniformly random legal action"

    def examine(self, views: list[State], rngs: list[np.ndarray]) -> list[Analysis]:
        """Equal weights."""
        results = []
        for view, rng in zip(views, rngs, strict=True):
            legal = view.legal_actions()
            weights = np.full(len(legal), 1.0 / len(legal))
            results.append(make_analysis(view, legal[next_below(rng, len(legal))], weights))
        return results
