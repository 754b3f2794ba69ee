"""Minimax: alpha-beta search to a fixed depth, chance by exact expectation, hidden information by sampled worlds.

The value searched for is one component of the value vector, the root player's: nodes of that player's side maximise
it, all others minimise it. With more than two sides that is the paranoid assumption, everybody against the root player
(Sturtevant and Korf, AAAI 2000); in teams of two against two it is exact. Nothing is negated, and nobody is taken to be
next, so a mover that moves twice in a row or a turn that is skipped needs no care.

Where the mover cannot see everything, the values of the root actions are averaged over sampled worlds. That answers
"what if everybody saw everything from now on": it takes no account of hiding or of learning something (strategy
fusion, Frank and Basin 1998), and in each world everybody else is taken to know the root player's hand.
"""

import numpy as np

from trilithon.agents.analysis import Analysis, make_analysis
from trilithon.agents.base import Agent
from trilithon.agents.greedy import Greedy, best_of, draw_one
from trilithon.agents.sides import sides_of
from trilithon.agents.tree import MAX_CHANCE_IN_A_ROW
from trilithon.core import verbs
from trilithon.core.game import State
from trilithon.core.jit import kernel
from trilithon.core.options import Option
from trilithon.core.verbs import CHANCE, TERMINAL

_TIE = 1e-3  # weight of the final margin beside the return: only breaks ties
_EPSILON = 1e-9
_INFINITE = 1e9

FRAME = verbs.record_dtype(
    [
        ("alpha", np.float64),  # window, and best value so far
        ("beta", np.float64),
        ("best", np.float64),
        ("depth", np.int32),  # player actions still to look ahead
        ("next", np.int32),  # of the node's actions or outcomes
        ("count", np.int32),
    ]
)


@kernel
def evaluate(state, player, values):
    """Return the leaf value for `player`: the heuristic, or once ended the return and a little of the margin."""
    if state.current_player != TERMINAL:
        verbs.heuristic(state, values)
        return values[player]
    verbs.margin(state, values)
    lead = values[player]
    verbs.returns(state, values)
    return values[player] + _TIE * lead


@kernel
def order_actions(states, ply, player, sides, actions, keys, k, values):
    """Sort ``actions[:k]`` of ``states[ply]``, best heuristic for the mover first (``states[ply + 1]`` is scratch)."""
    maximising = sides[states[ply].current_player] == sides[player]
    for i in range(k):
        action = actions[i]
        states[ply + 1] = states[ply]
        verbs.apply_action(states[ply + 1], action)
        key = evaluate(states[ply + 1], player, values)
        if not maximising:
            key = -key
        j = i
        while j > 0 and keys[j - 1] < key:
            keys[j] = keys[j - 1]
            actions[j] = actions[j - 1]
            j -= 1
        keys[j] = key
        actions[j] = action


@kernel
def alpha_beta(states, base, depth, player, sides, lower, upper, frames, actions, keys, probabilities, values, nodes):
    """Return the value of ``states[base]`` for `player`, `depth` player actions deep (fail-soft).

    `sides`, int ``[n]``, says who maximises with `player`: see sides.py.

    The recursion is written out, since numba cannot cache self-recursive functions. ``frames[ply]`` holds the window,
    the best value so far, and how far the ply's loop has come. Work space: ``states[base + 1:]`` and the rows of
    `actions` int32 and `keys`, `probabilities` float64 ``[P, A]``; ``nodes[0]`` counts.
    """
    ply = base
    frames[ply].alpha, frames[ply].beta, frames[ply].depth = lower, upper, depth
    value, returned = 0.0, False
    while True:
        state, frame = states[ply], frames[ply]
        if returned:
            # Fold the value of the child just searched into this node.
            returned = False
            if state.current_player == CHANCE:
                frame.best += probabilities[ply, frame.next - 1] * value
            elif sides[state.current_player] == sides[player]:
                frame.best = max(frame.best, value)
                frame.alpha = max(frame.alpha, value)
            else:
                frame.best = min(frame.best, value)
                frame.beta = min(frame.beta, value)
        else:
            nodes[0] += 1
            frame.next, frame.count = 0, 0
            if state.current_player == CHANCE and ply + 1 < states.shape[0]:
                frame.best = 0.0
                frame.count = verbs.chance_outcomes(state, actions[ply], probabilities[ply])
            elif state.current_player == TERMINAL or frame.depth == 0 or ply + 1 == states.shape[0]:
                frame.best = evaluate(state, player, values)
            else:
                frame.best = -_INFINITE if sides[state.current_player] == sides[player] else _INFINITE
                frame.count = verbs.legal_actions(state, actions[ply])
                if frame.depth > 1:
                    order_actions(states, ply, player, sides, actions[ply], keys[ply], frame.count, values)
        if frame.next == frame.count or frame.alpha >= frame.beta:
            value, returned = frame.best, True
            if ply == base:
                return value
            ply -= 1
            continue
        states[ply + 1] = state
        verbs.apply_action(states[ply + 1], actions[ply, frame.next])
        frame.next += 1
        child = frames[ply + 1]
        if state.current_player == CHANCE:
            # A bound on the whole says little about one outcome: the window opens again.
            child.alpha, child.beta, child.depth = -_INFINITE, _INFINITE, frame.depth
        else:
            child.alpha, child.beta, child.depth = frame.alpha, frame.beta, frame.depth - 1
        ply += 1


@kernel
def root_values(states, depth, player, sides, exact, frames, actions, keys, probabilities, values, nodes, out):
    """Add to ``out[:k]`` the value for `player` of every legal root action in ``states[0]``, ascending; return k.

    Unless `exact`, actions below the best are given an upper bound instead (enough to choose among the best).
    """
    k = verbs.legal_actions(states[0], actions[0])
    best = -_INFINITE
    for i in range(k):
        states[1] = states[0]
        verbs.apply_action(states[1], actions[0, i])
        alpha = -_INFINITE if exact else best - _EPSILON
        value = alpha_beta(
            states, 1, depth - 1, player, sides, alpha, _INFINITE, frames, actions, keys, probabilities, values, nodes
        )
        out[i] += value
        best = max(best, value)
    return k


class Minimax(Agent):
    """Alpha-beta to a fixed depth on the game's heuristic; ties as greedy breaks them (so depth 1 is greedy)."""

    name = "minimax"
    doc = "alpha-beta search to a fixed depth on the game's heuristic"
    option_table = (
        Option("depth", 2, "player actions looked ahead", low=1, high=60),
        Option("worlds", 10, "sampled worlds to average over where something is hidden", low=1, high=10_000),
    )

    def prepare(self) -> None:
        """Allocate work space."""
        game = self.game
        depth = min(self.options["depth"], game.max_game_length())
        plies = depth * (1 + (MAX_CHANCE_IN_A_ROW if game.max_chance_outcomes() else 0)) + 2
        width = max(game.num_distinct_actions(), game.max_chance_outcomes()) + 1
        self._depth = depth
        self._sides = np.array(sides_of(game))
        self._greedy = Greedy(game)
        self._states = np.zeros(plies, game.dtype)
        self._frames = np.zeros(plies, FRAME)
        self._actions = np.zeros((plies, width), np.int32)
        self._keys = np.zeros((plies, width))
        self._probabilities = np.zeros((plies, width))
        self._values = np.zeros(game.num_players())
        self._nodes = np.zeros(1, np.int64)

    def examine(self, views: list[State], rngs: list[np.ndarray]) -> list[Analysis]:
        """Every root action's value is exact."""
        results = []
        for view, rng in zip(views, rngs, strict=True):
            player = view.current_player()
            values = self._search(view, rng, exact=True)
            best = self._best(view, values)
            action = view.legal_actions()[draw_one(best, rng)]
            qvalues = np.full((len(values), self.game.num_players()), np.nan)
            qvalues[:, player] = values
            if self._sides.max() == 1:
                # Two sides: returns have a constant sum.
                own = self._sides == self._sides[player]
                theirs = self.game.min_utility() + self.game.max_utility() - values
                qvalues = np.where(own, values[:, None], theirs[:, None])
            analysis = make_analysis(
                view, action, best / best.sum(), values=qvalues[int(values.argmax())], qvalues=qvalues
            )
            analysis.nodes, analysis.depth = int(self._nodes[0]), self._depth
            results.append(analysis)
        return results

    def choose(self, views: list[State], rngs: list[np.ndarray]) -> list[int]:
        """As `examine`, with bounds in place of the values of worse actions where one world is enough."""
        actions = []
        for view, rng in zip(views, rngs, strict=True):
            values = self._search(view, rng, exact=False)
            actions.append(view.legal_actions()[draw_one(self._best(view, values), rng)])
        return actions

    def _search(self, view: State, rng: np.ndarray, exact: bool) -> np.ndarray:
        """The mean value of each root action over worlds, float64 [k]."""
        player = view.current_player()
        hidden = self.game.has_hidden_information(view.array, player)
        worlds = self.options["worlds"] if hidden else 1
        out = np.zeros(self._actions.shape[1])
        self._nodes[0] = 0
        k = 0
        for _ in range(worlds):
            self._states[0] = view.array[0]
            if hidden:
                verbs.determinize(self._states[0], player, rng)
            k = root_values(
                self._states,
                self._depth,
                player,
                self._sides,
                exact or worlds > 1,
                self._frames,
                self._actions,
                self._keys,
                self._probabilities,
                self._values,
                self._nodes,
                out,
            )
        return out[:k] / worlds

    def _best(self, view: State, values: np.ndarray) -> np.ndarray:
        """Which actions share the best value and are, among those, greedy's choice, bool [k]."""
        return best_of(values, *self._greedy.evaluate(view))
