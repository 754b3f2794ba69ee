"""A network alone: one evaluation a move, no search."""

import numpy as np

from trilithon.agents.analysis import Analysis, make_analysis
from trilithon.agents.base import Agent
from trilithon.core.errors import OptionError
from trilithon.core.game import State
from trilithon.core.options import Option
from trilithon.core.rng import categorical

_BATCHES = (1, 16, 128)


class Policy(Agent):
    """Plays from a network's policy: its best action, or one drawn at a temperature."""

    name = "policy"
    doc = "a network's policy without search"
    option_table = (
        Option("network", None, "checkpoint or run folder", text="a path"),
        Option(
            "temperature", 0.0, "0: the most likely action; 1: drawn from the policy", low=0.0, high=100.0, real=True
        ),
    )

    def prepare(self) -> None:
        """Load the network."""
        if self.options["network"] is None:
            raise OptionError("policy: network = None is not allowed; give network=PATH, a checkpoint or run folder")
        from trilithon.agents.checkpoint import load_network
        from trilithon.agents.evaluator import NetworkEvaluator

        network = load_network(self.options["network"], self.game)
        self._evaluators = {size: NetworkEvaluator(self.game, network, size, 0.0) for size in _BATCHES}

    def examine(self, views: list[State], rngs: list[np.ndarray]) -> list[Analysis]:
        """Policy and value of each view."""
        from trilithon.agents.evaluator import mover_indices

        results = []
        for start in range(0, len(views), _BATCHES[-1]):
            part = views[start : start + _BATCHES[-1]]
            evaluator = self._evaluators[next(size for size in _BATCHES if size >= len(part))]
            states = np.stack([view.array for view in part])
            logits, values = evaluator(states, mover_indices(states), len(part))
            for row, view in enumerate(part):
                results.append(self._analyse(view, logits[row], values[row], rngs[start + row]))
        return results

    def _analyse(self, view: State, logits: np.ndarray, values: np.ndarray, rng: np.ndarray) -> Analysis:
        legal = view.legal_actions()
        chosen = logits[legal].astype(np.float64)
        temperature = self.options["temperature"]
        if temperature > 0:
            weights = np.exp((chosen - chosen.max()) / temperature)
            weights /= weights.sum()
            index = categorical(rng, weights, len(weights))
        else:
            weights = np.zeros(len(legal))
            index = int(chosen.argmax())
            weights[index] = 1.0
        return make_analysis(view, legal[index], weights, values=np.roll(values, view.current_player()), nodes=1)
