"""MCTS: rollouts (UCT), or a network's priors and values (PUCT or Gumbel), several games in lock step.

Where the mover cannot see everything the simulations are shared out over sampled worlds, each with a tree of its own,
and the roots are summed (perfect-information Monte Carlo; Cowling, Powley and Whitehouse 2012 compare it with searching
information sets). Each world's tree lets everybody see everything: hiding and finding out have no value in it.
"""

from typing import Any

import numpy as np

from trilithon.agents.analysis import UNKNOWN, Analysis
from trilithon.agents.base import Agent
from trilithon.agents.search import Search, SearchSettings, nodes_of
from trilithon.core import verbs
from trilithon.core.errors import OptionError
from trilithon.core.game import State
from trilithon.core.options import Option
from trilithon.core.rng import next_uint64

BATCHES = (1, 16, 64, 128)  # rows of an evaluation: the least that fits is used, so that single moves are quick
_SEARCH_OPTIONS = ("uct_c", "pb_c_init", "max_considered", "c_scale", "gumbel_scale", "margin_weight")
MAX_TREE_CELLS = 12_000_000  # edges in memory at once, about 40 bytes each


class MCTS(Agent):
    """Monte-Carlo tree search; see the module."""

    name = "mcts"
    doc = "Monte-Carlo tree search with rollouts, or with a network's priors and values"
    option_table = (
        Option("simulations", 64, "simulations a move", low=1, high=1_000_000),
        Option("network", None, "checkpoint or run folder; without it leaves are valued by rollouts", text="a path"),
        Option(
            "root", None, "root selection (default gumbel with a network, else uct)", choices=("uct", "puct", "gumbel")
        ),
        Option("worlds", 8, "sampled worlds that share the simulations where something is hidden", low=1, high=10_000),
        Option("uct_c", 1.0, "exploration of UCT", low=0.0, high=100.0, real=True),
        Option("pb_c_init", 1.25, "exploration of PUCT", low=0.0, high=100.0, real=True),
        Option("max_considered", 16, "root actions considered (Gumbel)", low=1, high=1000),
        Option("c_scale", 0.1, "weight of Q against priors (Gumbel)", low=0.0, high=100.0, real=True),
        Option("gumbel_scale", 0.0, "noise at the Gumbel root", low=0.0, high=10.0, real=True),
        Option("margin_weight", 0.05, "share of the margin in a value", low=0.0, high=1.0, real=True),
    )

    def prepare(self) -> None:
        """Load the network, if any; trees are allocated at first use."""
        self._searches: dict[tuple[int, int], Search] = {}
        self._network: Any = None
        if self.options["network"] is not None:
            from trilithon.agents.checkpoint import load_network

            self._network = load_network(self.options["network"], self.game)
        elif self.options["root"] in ("puct", "gumbel"):
            raise OptionError(f"mcts: root = {self.options['root']!r} needs a network; give network=PATH or root=uct")

    def examine(self, views: list[State], rngs: list[np.ndarray]) -> list[Analysis]:
        """Search the views' worlds in batches and sum each view's roots."""
        jobs = [self._worlds(view, rng) for view, rng in zip(views, rngs, strict=True)]
        results: list[Any] = [None] * len(views)
        for worlds in sorted({len(roots) for roots, _ in jobs}):
            chosen = [i for i, (roots, _) in enumerate(jobs) if len(roots) == worlds]
            largest = max(1, self._most_trees(worlds) // worlds)
            for start in range(0, len(chosen), largest):
                part = chosen[start : start + largest]
                search = self._search(worlds, len(part) * worlds)
                search.run(np.concatenate([jobs[i][0] for i in part]), np.concatenate([jobs[i][1] for i in part]))
                for position, i in enumerate(part):
                    results[i] = self._sum(views[i], search, position * worlds, worlds)
        return results

    def _most_trees(self, worlds: int) -> int:
        """How many trees to hold at once: lock step pays with a network alone, and memory is finite."""
        if self._network is None:
            return 1
        simulations = max(1, self.options["simulations"] // worlds)
        nodes = nodes_of(self.game, simulations, rollouts=False)
        fitting = MAX_TREE_CELLS // (nodes * (self.game.num_distinct_actions() + 1))
        return max(min(fitting, BATCHES[-1]), 1)

    def _worlds(self, view: State, rng: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The roots to search for one view, states [W], and a generator for each, uint64 [W, 1]."""
        player = view.current_player()
        hidden = self.game.has_hidden_information(view.array, player)
        worlds = min(self.options["worlds"], self.options["simulations"]) if hidden else 1
        roots = np.repeat(view.array, worlds)
        if hidden:
            for world in range(worlds):
                verbs.determinize(roots[world], player, rng)
        streams = np.array([[int(next_uint64(rng))] for _ in range(worlds)], np.uint64)
        return roots, streams

    def _search(self, worlds: int, trees: int) -> Search:
        """The search for so many trees, with the least batch size that fits."""
        options = self.options
        batch = next((size for size in BATCHES if size >= trees), trees)
        key = (batch, max(1, options["simulations"] // worlds))
        if key not in self._searches:
            settings = SearchSettings(
                simulations=key[1],
                root=options["root"] or ("uct" if self._network is None else "gumbel"),
                **{name: options[name] for name in _SEARCH_OPTIONS},
            )
            evaluator = None
            if self._network is not None:
                from trilithon.agents.evaluator import NetworkEvaluator

                evaluator = NetworkEvaluator(self.game, self._network, batch, options["margin_weight"])
            self._searches[key] = Search(self.game, batch, settings, evaluator)
        return self._searches[key]

    def _sum(self, view: State, search: Search, first: int, worlds: int) -> Analysis:
        """One view's analysis from its worlds' trees."""
        if worlds == 1:
            return self._single(view, search, first)
        rows = range(first, first + worlds)
        visits = np.sum([search.visits(b) for b in rows], axis=0)
        weights = np.mean([search.policy(b) for b in rows], axis=0)
        raw = np.array([np.nan_to_num(search.qvalues(b)) * search.visits(b)[:, None] for b in rows]).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            qvalues = raw / visits[:, None]
        own = np.nan_to_num(qvalues[:, view.current_player()], nan=-np.inf)
        ranking = weights if search.settings.root == "gumbel" else visits
        action = int(search.actions(first)[int(np.lexsort((own, ranking))[-1])])
        values = np.mean([search.value(b) for b in rows], axis=0)
        return self._report(
            view, action, weights, values, visits, qvalues, [action], search, slice(first, first + worlds)
        )

    def _single(self, view: State, search: Search, b: int) -> Analysis:
        """The analysis of a view that was searched in one tree."""
        action = int(search.actions(b)[search.best(b)])
        facts = (search.policy(b), search.value(b), search.visits(b), search.qvalues(b), search.variation(b))
        return self._report(view, action, *facts, search, slice(b, b + 1))

    def _report(
        self,
        view: State,
        action: int,
        weights: np.ndarray,
        values: np.ndarray,
        visits: np.ndarray,
        qvalues: np.ndarray,
        variation: list[int],
        search: Search,
        rows: slice,
    ) -> Analysis:
        return Analysis(
            player=view.current_player(),
            action=action,
            values=values,
            actions=search.actions(rows.start).astype(np.int64),
            weights=weights,
            visits=visits.astype(np.int64),
            qvalues=qvalues,
            proven=np.full(len(visits), UNKNOWN, np.int8),
            principal_variation=variation,
            nodes=int(search.tree.node_count[rows].sum()),
            depth=len(variation),
        )
