"""MCTS: rollouts (UCT), or a network's priors and values (PUCT or Gumbel), several games in lock step.

Where the mover cannot see everything there are two ways. With ``hidden=worlds`` the simulations are shared out over
sampled worlds, each with a tree of its own, and the roots are summed (perfect-information Monte Carlo): each world's
tree lets everybody see everything, so hiding and finding out have no value in it, and the mover is taken to know later
what it cannot know (strategy fusion, Frank and Basin 1998). With ``hidden=infoset`` one tree of what the mover observes
serves all worlds (infoset.py; Cowling, Powley and Whitehouse 2012).
"""

from typing import Any

import numpy as np

from trilithon.agents.analysis import UNKNOWN, Analysis
from trilithon.agents.base import Agent
from trilithon.agents.infoset import OPPONENT_MODELS, InfosetSearch
from trilithon.agents.search import Evaluator, Search, SearchSettings, nodes_of
from trilithon.core import verbs
from trilithon.core.errors import OptionError
from trilithon.core.game import State
from trilithon.core.options import Option
from trilithon.core.rng import categorical, next_uint64
from trilithon.core.solving import DIFFERENCE, OBJECTIVES

BATCHES = (1, 16, 64, 128)  # rows of an evaluation: the least that fits is used, so that single moves are quick
_SEARCH_OPTIONS = (
    "uct_c",
    "pb_c_init",
    "max_considered",
    "expand_chance",
    "c_scale",
    "gumbel_scale",
    "dirichlet_alpha",
    "dirichlet_fraction",
)
DEFAULT_SIMULATIONS = 64
MAX_TREE_CELLS = 12_000_000  # edges in memory at once, about 40 bytes each


class MCTS(Agent):
    """Monte-Carlo tree search; see the module."""

    name = "mcts"
    doc = "Monte-Carlo tree search with rollouts, or with a network's priors and values"
    option_table = (
        Option("simulations", None, "simulations a move (64 where seconds do not say)", low=1, high=1_000_000),
        Option("seconds", None, "time a move, besides simulations", low=0.001, high=1e6, real=True),
        Option("network", None, "checkpoint or run folder; without it leaves are valued by rollouts", text="a path"),
        Option(
            "root",
            None,
            "root selection (default gumbel with a network, puct where seconds alone are given, else uct)",
            choices=("uct", "puct", "gumbel"),
        ),
        Option("hidden", "worlds", "how hidden information is searched", choices=("worlds", "infoset")),
        Option("worlds", 8, "sampled worlds that share the simulations where something is hidden", low=1, high=10_000),
        Option("opponent_model", "mixed", "of the others in an infoset tree", choices=OPPONENT_MODELS),
        Option("uct_c", 1.0, "exploration of UCT", low=0.0, high=100.0, real=True),
        Option("pb_c_init", 1.25, "exploration of PUCT", low=0.0, high=100.0, real=True),
        Option("max_considered", 16, "root actions considered (Gumbel)", low=1, high=1000),
        Option("expand_chance", False, "first every outcome behind those (Gumbel; 8 or fewer)", choices=(False, True)),
        Option("c_scale", 0.1, "weight of Q against priors (Gumbel)", low=0.0, high=100.0, real=True),
        Option("gumbel_scale", 0.0, "noise at the Gumbel root", low=0.0, high=10.0, real=True),
        Option("margin_weight", 0.05, "share of the margin in a value", low=0.0, high=1.0, real=True),
        Option("objective", "return", "what is maximised: difference is the margin alone", choices=OBJECTIVES),
        Option("dirichlet_alpha", 0.0, "Dirichlet noise on the root's priors (PUCT)", low=0.0, high=100.0, real=True),
        Option("dirichlet_fraction", 0.25, "share of that noise", low=0.0, high=1.0, real=True),
        Option(
            "temperature",
            0.0,
            "0: the best action; else drawn from weights ** (1 / it)",
            low=0.0,
            high=100.0,
            real=True,
        ),
        Option("reuse", False, "keep what the last search knows of the position", choices=(False, True)),
    )

    def prepare(self) -> None:
        """Load the network, if any; trees are allocated at first use."""
        self._searches: dict[tuple[int, int], Search] = {}
        self._infosets: dict[int, InfosetSearch] = {}
        self._network: Any = None
        options = self.options
        if options["network"] is not None:
            from trilithon.agents.checkpoint import load_network

            self._network = load_network(options["network"], self.game)
        elif options["root"] in ("puct", "gumbel"):
            raise OptionError(f"mcts: root = {options['root']!r} needs a network; give network=PATH or root=uct")
        timed = options["seconds"] is not None and options["simulations"] is None
        if timed and options["root"] == "gumbel":
            raise OptionError("mcts: root = 'gumbel' must know its simulations beforehand; give them, or root=puct")
        infoset = options["hidden"] == "infoset"
        if infoset and options["root"] == "gumbel":
            raise OptionError("mcts: hidden = 'infoset' goes with root=puct or root=uct, not with 'gumbel'")
        self._margin_weight = 1.0 if options["objective"] == DIFFERENCE else options["margin_weight"]
        self._root = options["root"] or ("uct" if self._network is None else "puct" if timed or infoset else "gumbel")
        self._simulations = options["simulations"] or (self._most_simulations() if timed else DEFAULT_SIMULATIONS)

    def _most_simulations(self) -> int:
        """How many simulations memory allows where time is the only limit."""
        rollouts = self._network is None
        each = nodes_of(self.game, 2, rollouts) - nodes_of(self.game, 1, rollouts)
        nodes = MAX_TREE_CELLS // (self.game.num_distinct_actions() + 1)
        return min(max(DEFAULT_SIMULATIONS, nodes // each), 1_000_000)

    def forget(self) -> None:
        """A new game: no tree is gone on from."""
        for search in self._searches.values():
            search.count = 0
        for infoset in self._infosets.values():
            infoset.count = 0

    def examine(self, views: list[State], rngs: list[np.ndarray]) -> list[Analysis]:
        """Search the views' worlds in batches and sum each view's roots, or their information sets."""
        results: list[Any] = [None] * len(views)
        hidden = [i for i, view in enumerate(views) if self._is_for_infoset(view)]
        for start in range(0, len(hidden), self._most_trees(1)):
            self._search_infosets(hidden[start : start + self._most_trees(1)], views, rngs, results)
        chosen = [i for i in range(len(views)) if results[i] is None]
        self._search_worlds(chosen, views, rngs, results)
        for result, rng in zip(results, rngs, strict=True):
            self._choose(result, rng)
        return results

    def _is_for_infoset(self, view: State) -> bool:
        """Whether a view is searched by information sets."""
        hidden = self.options["hidden"] == "infoset"
        return hidden and self.game.has_hidden_information(view.array, view.current_player())

    def _search_infosets(
        self, chosen: list[int], views: list[State], rngs: list[np.ndarray], results: list[Any]
    ) -> None:
        """Fill in the results of the chosen views, in lock step."""
        search = self._infoset_search(len(chosen))
        seconds = self.options["seconds"] and self.options["seconds"] * len(chosen)
        roots = np.concatenate([views[i].array for i in chosen])
        search.run(roots, np.stack([rngs[i] for i in chosen]), seconds)
        for b, i in enumerate(chosen):
            action = int(search.actions(b)[search.best(b)])
            facts = (search.policy(b), search.value(b), search.visits(b), search.qvalues(b), [action])
            results[i] = self._report(views[i], action, *facts, search, slice(b, b + 1))
            rngs[i][0] = search.rngs[b, 0]

    def _infoset_search(self, trees: int) -> InfosetSearch:
        """The search for so many information sets, with the least batch size that fits."""
        options = self.options
        batch = 1 if self._network is None else next((size for size in BATCHES if size >= trees), trees)
        if batch not in self._infosets:
            settings = SearchSettings(
                simulations=self._simulations,
                root=self._root,
                margin_weight=self._margin_weight,
                uct_c=options["uct_c"],
                pb_c_init=options["pb_c_init"],
            )
            worlds = min(options["worlds"], self._simulations)
            evaluator = self._evaluator(batch)
            self._infosets[batch] = InfosetSearch(
                self.game, batch, settings, worlds, evaluator, options["opponent_model"], options["reuse"]
            )
        return self._infosets[batch]

    def _search_worlds(
        self, selected: list[int], views: list[State], rngs: list[np.ndarray], results: list[Any]
    ) -> None:
        """Fill in the results of the selected views: their worlds' trees in batches, the roots summed."""
        jobs = {i: self._worlds(views[i], rngs[i]) for i in selected}
        for worlds in sorted({len(roots) for roots, _ in jobs.values()}):
            chosen = [i for i in selected if len(jobs[i][0]) == worlds]
            largest = max(1, self._most_trees(worlds) // worlds)
            for start in range(0, len(chosen), largest):
                part = chosen[start : start + largest]
                search = self._search(worlds, len(part) * worlds)
                seconds = self.options["seconds"] and self.options["seconds"] * len(part)
                roots, generators = (np.concatenate([jobs[i][k] for i in part]) for k in (0, 1))
                search.run(roots, generators, self.options["reuse"], seconds)
                for position, i in enumerate(part):
                    results[i] = self._sum(views[i], search, position * worlds, worlds)

    def _choose(self, analysis: Analysis, rng: np.ndarray) -> None:
        """With a temperature, draw the action and say what from."""
        temperature = self.options["temperature"]
        if temperature > 0.0:
            powers = (analysis.weights / analysis.weights.max()) ** (1.0 / temperature)
            analysis.weights = powers / powers.sum()
            analysis.action = int(analysis.actions[categorical(rng, analysis.weights, len(powers))])

    def _most_trees(self, worlds: int) -> int:
        """How many trees to hold at once: lock step pays with a network alone, and memory is finite."""
        if self._network is None:
            return 1
        nodes = self._nodes(max(1, self._simulations // worlds))
        fitting = MAX_TREE_CELLS // (nodes * (self.game.num_distinct_actions() + 1))
        return max(min(fitting, BATCHES[-1]), 1)

    def _nodes(self, simulations: int) -> int:
        """Room in a tree: with reuse for what is kept as well."""
        return nodes_of(self.game, simulations, self._network is None) * (2 if self.options["reuse"] else 1)

    def _worlds(self, view: State, rng: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The roots to search for one view, states [W], and a generator for each, uint64 [W, 1]."""
        player = view.current_player()
        hidden = self.game.has_hidden_information(view.array, player)
        worlds = min(self.options["worlds"], self._simulations) if hidden else 1
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
        key = (batch, max(1, self._simulations // worlds))
        if key not in self._searches:
            settings = SearchSettings(
                simulations=key[1],
                root=self._root,
                nodes=self._nodes(key[1]),
                # What is sure in one world is not in another, and to stop there would give the worlds unequal weight.
                prove=worlds == 1,
                margin_weight=self._margin_weight,
                **{name: options[name] for name in _SEARCH_OPTIONS},
            )
            self._searches[key] = Search(self.game, batch, settings, self._evaluator(batch))
        return self._searches[key]

    def _evaluator(self, batch: int) -> Evaluator | None:
        """The network's evaluator for so many rows, if there is a network."""
        if self._network is None:
            return None
        from trilithon.agents.evaluator import NetworkEvaluator

        return NetworkEvaluator(self.game, self._network, batch, self._margin_weight)

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
        analysis = self._report(view, action, *facts, search, slice(b, b + 1))
        analysis.proven = self._signs(search.proven(b)[:, analysis.player])
        return analysis

    def _signs(self, returns: np.ndarray) -> np.ndarray:
        """Proven returns float64 [k] of the mover as signs, int8 [k]; expectations over chance are not sure results."""
        sure = np.ones(len(returns), np.bool_)
        if self.game.max_chance_outcomes():
            sure = (returns <= self.game.min_utility()) | (returns >= self.game.max_utility())
        return np.where(np.isnan(returns) | ~sure, UNKNOWN, np.sign(np.nan_to_num(returns))).astype(np.int8)

    def _report(
        self,
        view: State,
        action: int,
        weights: np.ndarray,
        values: np.ndarray,
        visits: np.ndarray,
        qvalues: np.ndarray,
        variation: list[int],
        search: Search | InfosetSearch,
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
