"""Minimax: iterative deepening alpha-beta on the game's heuristic, chance exact, hidden information by sampled worlds.

The value searched for is one component of the value vector, the root player's: nodes of that player's side maximise
it, all others minimise it (alphabeta.py). With more than two sides that is the paranoid assumption, everybody against
the root player (Sturtevant and Korf, AAAI 2000); in teams of two against two it is exact. With ``multiplayer=maxn``
everybody maximises the own component instead (maxn.py). Nothing is negated, and nobody is taken to be next, so a mover
that moves twice in a row or a turn that is skipped needs no care.

Where the mover cannot see everything, the values of the root actions are averaged over sampled worlds. That answers
"what if everybody saw everything from now on": it takes no account of hiding or of learning something (strategy
fusion, Frank and Basin 1998), and in each world everybody else is taken to know the root player's hand.

With a budget of nodes or seconds the search goes one action deeper at a time, in all worlds alike, until the budget is
used up or every way has met the end of the game; what the last depth had found when it was broken off is thrown away.
The first depth, one action, is always searched to its end.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trilithon.agents.alphabeta import (
    BEST,
    EPSILON,
    EVERY,
    LIMIT,
    MOST_TIE,
    NODES,
    PLAYER,
    allocate_work,
    alpha_beta,
    begin_position,
    begin_root,
    begin_search,
)
from trilithon.agents.analysis import UNKNOWN, Analysis, make_analysis
from trilithon.agents.base import Agent
from trilithon.agents.greedy import Greedy, best_of, draw_one
from trilithon.agents.maxn import allocate_vectors, max_n
from trilithon.agents.sides import sides_of
from trilithon.agents.transposition import COMPLETE, SURE, allocate_table
from trilithon.agents.tree import MAX_CHANCE_IN_A_ROW
from trilithon.core import verbs
from trilithon.core.game import State
from trilithon.core.options import Option
from trilithon.core.solving import DIFFERENCE, OBJECTIVES
from trilithon.core.verbs import CHANCE, TERMINAL

DEFAULT_DEPTH, MAX_DEPTH = 2, 60
DEFAULT_TABLE = 18
CHUNK, LONG_CHUNK = 4096, 1 << 24  # nodes between two looks at the clock; where nobody looks
LINE_NODES = 20_000  # beyond a budget, to follow the principal variation where the table has lost it
NO_LIMIT = 1 << 62


@dataclass
class Found:
    """What a search has found out about the root's k actions."""

    actions: np.ndarray  # int64 [k]: ascending
    depth: int
    values: np.ndarray  # float64 [k, n]: the mean over worlds; NaN where it is not known
    proven: np.ndarray  # int8 [k]: as in `Analysis`
    complete: bool  # to look deeper would change nothing


class Minimax(Agent):
    """Alpha-beta on the game's heuristic; ties as greedy breaks them (so depth 1 is greedy)."""

    name = "minimax"
    doc = "alpha-beta search on the game's heuristic, to a depth or within a budget"
    option_table = (
        Option("depth", None, "player actions looked ahead (2 where nothing else limits)", low=1, high=MAX_DEPTH),
        Option("nodes", None, "positions made a move, all worlds together", low=1, high=10**15),
        Option("seconds", None, "time a move", low=0.001, high=1e6, real=True),
        Option("worlds", 10, "sampled worlds to average over where something is hidden", low=1, high=10_000),
        Option(
            "multiplayer",
            "paranoid",
            "more than two sides: all against the mover, or each for itself",
            choices=("paranoid", "maxn"),
        ),
        Option("table", None, "positions remembered: 2 ** this (18 with a budget, else 0: none)", low=0, high=30),
        Option("objective", "return", "what is maximised; the other one breaks ties", choices=OBJECTIVES),
    )

    def prepare(self) -> None:
        """Allocate work space."""
        game, options = self.game, self.options
        budget = options["nodes"] is not None or options["seconds"] is not None
        depth = options["depth"] or (MAX_DEPTH if budget else DEFAULT_DEPTH)
        self._depth = min(depth, game.max_game_length())
        # To a fixed depth the straight way is the quicker one, and a table costs more than it finds: 0.5 to 0.8 of the
        # time on 3x3 at depths 3 to 9. A search that goes deeper step by step needs it for its order.
        self._deepens = budget
        self._sides = np.array(sides_of(game))
        self._greedy = Greedy(game)
        self._clock: Callable[[], float] = time.monotonic
        size = options["table"] if options["table"] is not None else DEFAULT_TABLE * budget
        table = allocate_table(game, size)
        plies = self._depth * (1 + (MAX_CHANCE_IN_A_ROW if game.max_chance_outcomes() else 0)) + 2
        difference = options["objective"] == DIFFERENCE
        self._small = EPSILON if difference else MOST_TIE  # beyond it a value has the sign of what is maximised
        self._work = allocate_work(game, plies, table, difference)
        each_for_itself = options["multiplayer"] == "maxn" and self._sides.max() > 1
        self._max_n = allocate_vectors(game, plies, table) if each_for_itself else None

    def examine(self, views: list[State], rngs: list[np.ndarray]) -> list[Analysis]:
        """Every root action's value is exact."""
        results = []
        for view, rng in zip(views, rngs, strict=True):
            found = self._search(view, rng, EVERY)
            nodes, own = int(self._work.counters[NODES]), found.values[:, view.current_player()]
            best = self._best(view, own)
            action = int(found.actions[draw_one(best, rng)])
            fields = {"values": found.values[int(own.argmax())], "qvalues": found.values, "proven": found.proven}
            line = self._line(view, action, found)
            analysis = make_analysis(view, action, best / best.sum(), principal_variation=line, **fields)
            analysis.nodes, analysis.depth = nodes, found.depth
            results.append(analysis)
        return results

    def choose(self, views: list[State], rngs: list[np.ndarray]) -> list[int]:
        """As `examine`, with bounds in place of the values of worse actions where one world is enough."""
        actions = []
        for view, rng in zip(views, rngs, strict=True):
            found = self._search(view, rng, BEST)
            best = self._best(view, found.values[:, view.current_player()])
            actions.append(int(found.actions[draw_one(best, rng)]))
        return actions

    def _best(self, view: State, values: np.ndarray) -> np.ndarray:
        """Which actions share the best value and are, among those, greedy's choice, bool [k]."""
        return best_of(values, *self._greedy.evaluate(view))

    def _search(self, view: State, rng: np.ndarray, task: int) -> Found:
        """Go deeper until the depth, the budget or the end of the game is reached."""
        worlds = self._worlds(view, rng)
        orders = [np.array(view.legal_actions(), np.int64)] * len(worlds)
        begin_search(self._work, view.current_player())
        # The first depth is searched to its end whatever it costs; then the budget counts.
        self._limit, self._deadline = NO_LIMIT, np.inf
        start, found = self._clock(), None
        for depth in range(1, self._depth + 1) if self._deepens else (self._depth,):
            deeper = self._search_worlds(worlds, orders, depth, task if len(worlds) == 1 else EVERY)
            if deeper is None:
                break
            found = deeper
            if found.complete:
                break
            self._limit = self.options["nodes"] or NO_LIMIT
            self._deadline = start + (self.options["seconds"] or np.inf)
        assert found is not None
        return found

    def _worlds(self, view: State, rng: np.ndarray) -> np.ndarray:
        """The worlds to search, states [W]."""
        player = view.current_player()
        self._open = not self.game.has_hidden_information(view.array, player)
        if self._open:
            return view.array
        worlds = np.repeat(view.array, self.options["worlds"])
        for world in range(len(worlds)):
            verbs.determinize(worlds[world], player, rng)
        return worlds

    def _search_worlds(self, worlds: np.ndarray, orders: list[np.ndarray], depth: int, task: int) -> Found | None:
        """Search all worlds to a depth, each in its order, which is set anew; None where the budget did not last."""
        work, n, k = self._work, self.game.num_players(), len(orders[0])
        sums, proofs = np.zeros((k, 1 if self._max_n is None else n)), np.full(k, COMPLETE | SURE)
        for world, order in enumerate(orders):
            work.states[0] = worlds[world]
            begin_root(work, task, order, depth)
            if not self._run():
                return None
            ascending = order.argsort()
            values, proofs = work.root_values[ascending], proofs & work.root_proofs[ascending]
            sums += values[:, None] if self._max_n is None else self._max_n.root[ascending]
            orders[world] = order[ascending][np.argsort(-values, kind="stable")]
        return self._report(order[ascending], depth, sums / len(worlds), proofs)

    def _report(self, actions: np.ndarray, depth: int, values: np.ndarray, proofs: np.ndarray) -> Found:
        """What the values float64 [k, 1 or n] and proofs say."""
        player, many = int(self._work.counters[PLAYER]), self._sides.max() > 1
        proven = np.full(len(actions), UNKNOWN, np.int8)
        if self._open and self._max_n is None:
            signs = np.sign(np.where(np.abs(values[:, 0]) <= self._small, 0.0, values[:, 0]))
            # Against all others only what is won is sure.
            sure = (proofs & SURE > 0) & ((signs > 0) | (not many))
            proven[sure] = signs[sure]
        if self._max_n is None:
            own = self._sides == self._sides[player]
            others = np.nan if many else self.game.min_utility() + self.game.max_utility() - values
            values = np.where(own, values, others)  # two sides: returns have a constant sum
        return Found(actions, depth, values, proven, bool((proofs & COMPLETE).all()))

    def _run(self) -> bool:
        """Go on with a search until it is finished; False where the budget did not last."""
        work, counters = self._work, self._work.counters
        chunk = CHUNK if self._deadline < np.inf else LONG_CHUNK
        while self._clock() < self._deadline:
            counters[LIMIT] = min(int(counters[NODES]) + chunk, self._limit)
            if alpha_beta(work) if self._max_n is None else max_n(work, self._max_n):
                return True
            if counters[NODES] >= self._limit:
                return False
        return False

    def _line(self, view: State, action: int, found: Found) -> list[int]:
        """The principal variation that begins with an action, by way of the likeliest chance; hidden: it alone."""
        line, work, state = [action], self._work, self._work.states[0]
        if not self._open:
            return line
        if self._limit < NO_LIMIT or self._deadline < np.inf:
            self._limit, self._deadline = int(work.counters[NODES]) + LINE_NODES, np.inf
        work.states[0] = view.array[0]
        for remaining in range(found.depth - 1, -1, -1):
            verbs.apply_action(state, action)
            while state["current_player"] == CHANCE:
                k = verbs.chance_outcomes(state, work.actions[0], work.probabilities[0])
                verbs.apply_action(state, int(work.actions[0, int(work.probabilities[0, :k].argmax())]))
            if remaining == 0 or state["current_player"] == TERMINAL:
                break
            begin_position(work, remaining)
            if not self._run():
                break
            action = int(work.frames["chosen"][0])
            line.append(action)
        return line
