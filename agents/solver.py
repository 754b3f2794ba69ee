"""Solver: exact where everything is known, averaged over sampled worlds where something is hidden.

In each world everybody sees everything, so hiding and finding out have no value (strategy fusion, Frank and Basin
1998); what an action is worth there is exact.
"""

from collections.abc import Iterator

import numpy as np

from trilithon.agents.analysis import UNKNOWN, Analysis, make_analysis
from trilithon.agents.base import Agent
from trilithon.agents.greedy import best_of
from trilithon.agents.solve import DEFAULT_LIMIT, MOST_LIMIT, Solution, Solver
from trilithon.core import verbs
from trilithon.core.errors import OptionError, SolverLimitError
from trilithon.core.game import State, copy_of
from trilithon.core.options import Option
from trilithon.core.solving import DIFFERENCE, RETURN
from trilithon.core.spec import parse_spec


class ExactAgent(Agent):
    """Perfect where hands are known; else the best mean over worlds, of equal actions the first."""

    name = "solver"
    doc = "solves the position, or the mean of sampled worlds; late positions of large games"
    option_table = (
        Option("worlds", 10, "sampled worlds to average over where something is hidden", low=1, high=10_000),
        Option("limit", DEFAULT_LIMIT, "most nodes of one world's solution", low=1, high=MOST_LIMIT),
        Option("fallback", None, "the agent that plays what is too large to solve; without it an error", text="a spec"),
        Option(
            "objective",
            RETURN,
            "what comes first, the other breaks ties: return or difference",
            choices=(RETURN, DIFFERENCE),
        ),
    )

    def prepare(self) -> None:
        """Get the fallback."""
        from trilithon.agents import load_agent

        spec = self.options["fallback"]
        if spec is not None and parse_spec(spec)[0] == self.name:
            raise OptionError(f"solver: fallback = {spec!r:.60} is not allowed; allowed: another agent")
        self._fallback = None if spec is None else load_agent(spec, self.game)

    def forget(self) -> None:
        """The fallback may remember something."""
        if self._fallback is not None:
            self._fallback.forget()

    def examine(self, views: list[State], rngs: list[np.ndarray]) -> list[Analysis]:
        """Solve every view, or hand it to the fallback."""
        return [self._examine(view, rng) for view, rng in zip(views, rngs, strict=True)]

    def _examine(self, view: State, rng: np.ndarray) -> Analysis:
        player = view.current_player()
        known = not self.game.has_hidden_information(view.array, player)
        # A table that earlier positions filled could decide what is too large: equal views are to be treated equally.
        solver = Solver(self.game, self.options["limit"], DIFFERENCE)
        try:
            if known:
                return self._report(view, [solver.solve(view)], known)
            return self._report(view, [solver.solve(world) for world in self._worlds(view, rng)], known)
        except SolverLimitError as error:
            if self._fallback is None:
                raise SolverLimitError(f"{error}; solver(fallback=AGENT) lets another agent play until then") from None
            # It is an algorithm like this one: it gets the view and nothing else.
            return self._fallback.examine([view], [rng])[0]

    def _worlds(self, view: State, rng: np.ndarray) -> Iterator[State]:
        """Positions that the mover cannot tell from this one."""
        for _ in range(self.options["worlds"]):
            array = copy_of(view.array)
            verbs.determinize(array[0], view.current_player(), rng)
            yield State(self.game, array, {})

    def _report(self, view: State, solutions: list[Solution], known: bool) -> Analysis:
        """The means over worlds; where everything is known also best play, and what is proven."""
        player, actions = view.current_player(), view.legal_actions()
        rows = [[solution.action_values[action] for action in actions] for solution in solutions]
        qvalues = np.mean([[values for values, _ in row] for row in rows], axis=0)
        leads = np.mean([[lead or 0.0 for _, lead in row] for row in rows], axis=0)
        keys = (qvalues[:, player], leads) if self.options["objective"] == RETURN else (leads, qvalues[:, player])
        best = best_of(*keys)
        variation = solutions[0].principal_variation if known else []
        if not variation or not best[actions.index(variation[0])]:
            variation = [actions[int(best.argmax())]]
        proven = np.full(len(actions), UNKNOWN, np.int8)
        if known and not self.game.max_chance_outcomes():
            proven = np.sign(np.round(qvalues[:, player], 9)).astype(np.int8)
        chosen = actions.index(variation[0])
        weights = np.zeros(len(actions))
        weights[chosen] = 1.0
        return make_analysis(
            view,
            variation[0],
            weights,
            values=qvalues[chosen],
            qvalues=qvalues,
            proven=proven,
            principal_variation=variation,
            depth=len(variation),
            nodes=sum(solution.nodes for solution in solutions),
        )
