"""Monte-Carlo tree search of B games in lock step: select, expand, evaluate, back up.

`Search` knows no network: it asks an `Evaluator` for prior logits and values of the leaves of all games at once, or,
without one, plays a random game from each leaf (UCT). Every game has its own generator, so a game's search does not
depend on the others in the batch.
"""

import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trilithon.agents.action_selection import (
    GUMBEL,
    PUCT,
    UCT,
    completed_logits,
    considered_visits_table,
    draw_chance,
    draw_gumbel,
    select_chance,
    select_gumbel_interior,
    select_gumbel_root,
    select_puct,
    select_uct,
    softmax,
)
from trilithon.agents.playout import playout
from trilithon.agents.tree import (
    C_SCALE,
    DRAWN,
    MARGIN_WEIGHT,
    MAX_CHANCE_IN_A_ROW,
    NO_CHILD,
    PB_C_INIT,
    UCT_C,
    Tree,
    allocate,
    backward,
    begin,
    descend,
    find_node,
    is_proven,
    keep_subtree,
    principal_variation,
    terminal_value,
)
from trilithon.core.game import Game
from trilithon.core.jit import kernel
from trilithon.core.rng import next_uint64
from trilithon.core.verbs import CHANCE

MOST_EXPANDED = 8  # outcomes of a chance event that are all visited before anything else
CHUNK = 128  # rollouts between two looks at the clock
ROOTS = {"uct": UCT, "puct": PUCT, "gumbel": GUMBEL}


class Evaluator(Protocol):
    """What turns leaves into priors and values; see `NetworkEvaluator`."""

    def __call__(self, states: np.ndarray, indices: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return prior logits float32 ``[count, A]`` and values float64 ``[count, n]``, the observer's first."""
        ...


@dataclass(frozen=True)
class SearchSettings:
    """What a search is told; the defaults are those of the agent `mcts`."""

    simulations: int = 64
    root: str = "gumbel"
    max_considered: int = 16  # root actions that sequential halving starts with
    gumbel_scale: float = 1.0  # 0: no noise at the root
    c_scale: float = 0.1  # weight of Q against prior logits (Gumbel)
    pb_c_init: float = 1.25  # exploration (PUCT)
    uct_c: float = 1.0  # exploration (UCT), for values in [-1, 1]
    margin_weight: float = 0.05  # share of the margin in a value; breaks ties between equal returns
    dirichlet_alpha: float = 0.0  # noise on the root's priors (PUCT); 0: none
    dirichlet_fraction: float = 0.25  # its share
    expand_chance: bool = False  # every outcome behind the considered root actions first (Gumbel; 8 or fewer)
    prove: bool = True  # whether proofs go up the tree (MCTS-Solver)
    drawn_chance: bool = False  # draw outcomes of chance, with plain means, as searches commonly do
    nodes: int = 0  # room in a tree; 0: as many as `simulations` can need


@kernel
def pick_outcome(tree, b, node, constants, rng):
    """Return the edge of a chance node to go down."""
    if constants[DRAWN] > 0.0:
        return draw_chance(tree, b, node, rng)
    return select_chance(tree, b, node)


@kernel
def simulate(tree, b, mode, through, gumbel, wanted, constants, scratch, improved, values, rng):
    """Walk from the root to a leaf that wants evaluation, or to a proven node; return the node.

    `constants`: see tree.py; ``wanted`` is the visit count that the Gumbel root looks for. With `through` (rollouts) a
    new chance node is passed through at once; an evaluator is asked about it, since one value of an afterstate stands
    for all outcomes.
    """
    tree.path_length[b] = 0
    node, new = 0, False
    while not new:
        if not np.isnan(tree.proven[b, node, 0]):
            return node
        if tree.states[b, node].current_player == CHANCE:
            edge = pick_outcome(tree, b, node, constants, rng)
        elif mode == GUMBEL and node == 0:
            edge = select_gumbel_root(tree, b, constants[C_SCALE], gumbel, wanted, scratch, improved)
        elif mode == GUMBEL:
            edge = select_gumbel_interior(tree, b, node, constants[C_SCALE], scratch, improved)
        elif mode == PUCT:
            edge = select_puct(tree, b, node, constants[PB_C_INIT])
        else:
            edge = select_uct(tree, b, node, constants[UCT_C], rng)
        node, new = descend(tree, b, node, edge, constants[MARGIN_WEIGHT], values)
        passed = 0
        while through and new and passed < MAX_CHANCE_IN_A_ROW and tree.states[b, node].current_player == CHANCE:
            passed += 1
            edge = pick_outcome(tree, b, node, constants, rng)
            node, new = descend(tree, b, node, edge, constants[MARGIN_WEIGHT], values)
    return node


@kernel
def observer_of(tree, b, node):
    """Return whose side the evaluator looks from: the mover's, or at a chance node that of the last to act."""
    player = np.int64(tree.states[b, node].current_player)
    depth = tree.path_length[b]
    while player == CHANCE and depth > 0:
        depth -= 1
        player = np.int64(tree.states[b, tree.path_nodes[b, depth]].current_player)
    return player


@kernel
def simulate_batch(tree, leaves, mode, gumbel, sequence, t, constants, scratch, improved, values, rngs):
    """Simulation t of every game: fill rows (b, node, observer) of `leaves` that want evaluation; return their number.

    Ended games and what else is proven are backed up at once; a tree whose root is proven, or that has no room left,
    is done. `leaves` int32 ``[B, 3]``; ``sequence[b, t]`` is the Gumbel root's visit count.
    """
    count = 0
    for b in range(leaves.shape[0]):
        full = tree.node_count[b] >= tree.states.shape[1]
        if tree.num_actions[b, 0] == 0 or full or is_proven(tree, b, 0):
            continue
        node = simulate(tree, b, mode, False, gumbel, sequence[b, t], constants, scratch, improved, values, rngs[b])
        if is_proven(tree, b, node):
            values[:] = tree.raw_values[b, node]
            backward(tree, b, values, constants)
        else:
            leaves[count, 0] = b
            leaves[count, 1] = node
            leaves[count, 2] = observer_of(tree, b, node)
            count += 1
    return count


@kernel
def expand_batch(tree, leaves, count, mode, logits, leaf_values, values, constants):
    """Give the leaves their priors and values and back them up (the roots, with an empty path, just keep them)."""
    n = values.shape[0]
    for row in range(count):
        b, node, observer = leaves[row, 0], leaves[row, 1], leaves[row, 2]
        if tree.states[b, node].current_player != CHANCE:
            k = np.int64(tree.num_actions[b, node])
            for edge in range(k):
                tree.priors[b, node, edge] = logits[row, tree.actions[b, node, edge]]
            if mode == PUCT:
                priors = tree.priors[b, node]
                softmax(priors, k, priors)
        for i in range(n):
            values[(observer + i) % n] = leaf_values[row, i]
        tree.raw_values[b, node] = values
        backward(tree, b, values, constants)


@kernel
def search_with_rollouts(tree, b, simulations, gumbel, constants, work, actions, probabilities, scratch, values, rng):
    """Up to so many simulations of UCT, each leaf valued by one random game; return whether more could follow."""
    room = tree.states.shape[1] - 1 - MAX_CHANCE_IN_A_ROW
    for _ in range(simulations):
        if is_proven(tree, b, 0) or tree.node_count[b] > room:
            return False
        node = simulate(tree, b, UCT, True, gumbel, 0, constants, scratch, scratch, values, rng)
        if is_proven(tree, b, node):
            values[:] = tree.raw_values[b, node]
        else:
            work[0] = tree.states[b, node]
            playout(work[0], actions, probabilities, rng)
            terminal_value(work[0], constants[MARGIN_WEIGHT], scratch, values)
        backward(tree, b, values, constants)
    return True


@kernel
def root_policy(tree, b, c_scale, scratch, out):
    """Write the improved policy, softmax(prior logits + sigma(completed Q)), to ``out[:k]``; return k."""
    k = completed_logits(tree, b, 0, c_scale, scratch, out)
    softmax(out, k, scratch)
    out[:k] = scratch[:k]
    return k


@kernel
def best_gumbel_action(tree, b, c_scale, gumbel, scratch, improved):
    """Return the edge that sequential halving ends with: most visits, then gumbel + improved logit."""
    most = 0
    for edge in range(tree.num_actions[b, 0]):
        most = max(most, tree.children_visits[b, 0, edge])
    return select_gumbel_root(tree, b, c_scale, gumbel, most, scratch, improved)


def nodes_of(game: Game, simulations: int, rollouts: bool) -> int:
    """Return how many nodes a tree can come to have: one a simulation, with rollouts chance nodes besides."""
    passed = MAX_CHANCE_IN_A_ROW if rollouts and game.max_chance_outcomes() else 0
    return (simulations + 1) * (1 + passed) + 1 + MAX_CHANCE_IN_A_ROW


class Search:
    """Searches B roots at a time; afterwards the trees can be read through `policy`, `visits` and the like."""

    def __init__(self, game: Game, batch: int, settings: SearchSettings, evaluator: Evaluator | None = None) -> None:
        if evaluator is None and settings.root != "uct":
            raise ValueError("a search without an evaluator is UCT")
        self.game, self.batch, self.settings, self.evaluator = game, batch, settings, evaluator
        nodes = settings.nodes or nodes_of(game, settings.simulations, evaluator is None)
        self.tree: Tree = allocate(game, batch, nodes)
        self._rows = self.tree.states.view(np.uint8).reshape(batch, nodes, game.dtype.itemsize)
        n, width = game.num_players(), self.tree.actions.shape[2]
        # With the margin as the only goal a sure win is no reason to stop looking.
        best_return = game.max_utility() if settings.margin_weight < 1.0 else np.inf
        self._constants = np.array(
            [
                settings.c_scale,
                settings.pb_c_init,
                settings.uct_c,
                settings.margin_weight,
                best_return,
                settings.prove,
                settings.drawn_chance,
            ]
        )
        self._gumbel = np.zeros((batch, width))
        self._scratch, self._improved = np.zeros(max(width, n)), np.zeros(max(width, n))
        self._values = np.zeros(n)
        self._leaves = np.zeros((batch, 3), np.int32)
        self._places = np.zeros(nodes, np.int32)
        self._work = np.zeros(1, game.dtype)
        self._actions, self._probabilities = np.zeros(width, np.int32), np.zeros(width)
        self._visits_buffer = np.zeros(64, np.int64)
        self._table = None
        if settings.root == "gumbel":
            outcomes = game.max_chance_outcomes()
            # The first visit asks the evaluator about the afterstate, the next ones about each outcome.
            first = outcomes + 1 if settings.expand_chance and 0 < outcomes <= MOST_EXPANDED else 0
            self._table = considered_visits_table(settings.max_considered, max(settings.simulations, 1), first)
        self.count = 0

    def run(self, roots: np.ndarray, rngs: np.ndarray, reuse: bool = False, seconds: float | None = None) -> None:
        """Search from `roots`, states ``[R]``, R <= B, with generators uint64 ``[R, 1]``, advanced in place.

        With `reuse`, a root that the tree of its row holds already keeps what hangs from it, and the simulations come
        on top. `seconds` is a limit besides `simulations`.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        tree, count = self.tree, len(roots)
        fresh = [b for b in range(count) if not (reuse and b < self.count and self._keep(b, roots[b : b + 1]))]
        for b in fresh:
            tree.states[b, 0] = roots[b]
            begin(tree, b, self.settings.margin_weight, self._scratch[: len(self._values)])
        tree.num_actions[count:, 0] = 0
        self.count = count
        if self.evaluator is None:
            for b in range(count):
                self._run_rollouts(b, rngs[b], None if seconds is None else time.monotonic() + seconds / count)
        else:
            self._run_lock_step(rngs, fresh, deadline)

    def _keep(self, b: int, root: np.ndarray) -> bool:
        """Make the node of tree b that is `root` its root; return whether there is one, and room to go on from it."""
        node = find_node(self.tree, self._rows, b, root.view(np.uint8))
        if node == NO_CHILD:
            return False
        keep_subtree(self.tree, b, node, self._places)
        needed = nodes_of(self.game, self.settings.simulations, self.evaluator is None)
        return bool(self.tree.node_count[b] + needed <= self.tree.states.shape[1])

    def _run_rollouts(self, b: int, rng: np.ndarray, deadline: float | None) -> None:
        """The whole UCT search of one game, in chunks where there is a deadline."""
        left = self.settings.simulations
        while left > 0 and (deadline is None or time.monotonic() < deadline):
            chunk = left if deadline is None else min(left, CHUNK)
            more = search_with_rollouts(
                self.tree,
                b,
                chunk,
                self._gumbel,
                self._constants,
                self._work,
                self._actions,
                self._probabilities,
                self._scratch,
                self._values,
                rng,
            )
            left = left - chunk if more else 0

    def _run_lock_step(self, rngs: np.ndarray, fresh: list[int], deadline: float | None) -> None:
        """One simulation of every game, one evaluation of all leaves, and again."""
        tree, mode, simulations = self.tree, ROOTS[self.settings.root], self.settings.simulations
        k = np.maximum(tree.num_actions[: self.count, 0], 1)
        sequence = np.zeros((self.count, simulations), np.int32)
        if self._table is not None:
            sequence = self._table[np.minimum(k, self.settings.max_considered)]
            for b in range(self.count):
                draw_gumbel(self._gumbel, b, int(k[b]), self.settings.gumbel_scale, rngs[b])
        tree.path_length[:] = 0
        if fresh:
            self._leaves[: len(fresh), 0] = fresh
            self._leaves[: len(fresh), 1] = 0
            self._leaves[: len(fresh), 2] = tree.states["current_player"][fresh, 0]
            self._expand(len(fresh))
        if self.settings.dirichlet_alpha > 0.0 and mode == PUCT:
            for b in range(self.count):
                self._add_noise(b, rngs[b])
        for t in range(simulations):
            if deadline is not None and time.monotonic() >= deadline:
                return
            count = simulate_batch(
                tree,
                self._leaves[: self.count],
                mode,
                self._gumbel,
                sequence,
                t,
                self._constants,
                self._scratch,
                self._improved,
                self._values,
                rngs,
            )
            if count:
                self._expand(count)

    def _add_noise(self, b: int, rng: np.ndarray) -> None:
        """Mix Dirichlet noise into the root's priors (Silver et al. 2018)."""
        share, priors = self.settings.dirichlet_fraction, self.tree.priors[b, 0, : self.tree.num_actions[b, 0]]
        generator = np.random.default_rng(int(next_uint64(rng)))
        noise = generator.dirichlet(np.full(len(priors), self.settings.dirichlet_alpha))
        priors[:] = (1.0 - share) * priors + share * noise

    def _expand(self, count: int) -> None:
        assert self.evaluator is not None
        logits, values = self.evaluator(self.tree.states, self._leaves, count)
        mode = ROOTS[self.settings.root]
        expand_batch(self.tree, self._leaves, count, mode, logits, values, self._values, self._constants)

    # ----------------------------------------------------------------------------------------------------- results

    def actions(self, b: int) -> np.ndarray:
        """Return the root's legal actions, int32 ``[k]``."""
        return self.tree.actions[b, 0, : self.tree.num_actions[b, 0]]

    def visits(self, b: int) -> np.ndarray:
        """Return visits through each root action, int32 ``[k]``."""
        return self.tree.children_visits[b, 0, : self.tree.num_actions[b, 0]]

    def qvalues(self, b: int) -> np.ndarray:
        """Return values after each root action, float64 ``[k, n]``; NaN where unvisited."""
        values = self.tree.children_values[b, 0, : self.tree.num_actions[b, 0]].copy()
        values[self.visits(b) == 0] = np.nan
        return values

    def policy(self, b: int) -> np.ndarray:
        """Return the policy to learn or play from, float64 ``[k]``: improved (Gumbel) or shares of visits.

        Where the root is proven it is shared by the best actions.
        """
        if is_proven(self.tree, b, 0):
            best = self._best_proven(b)
            return best / best.sum()
        if self.settings.root == "gumbel":
            k = root_policy(self.tree, b, self.settings.c_scale, self._scratch, self._improved)
            return self._improved[:k].copy()
        visits = self.visits(b).astype(np.float64)
        return visits / max(visits.sum(), 1.0) if visits.sum() else np.full(len(visits), 1.0 / len(visits))

    def proven(self, b: int) -> np.ndarray:
        """Return the returns after each root action under best play, float64 ``[k, n]``; NaN where not proven."""
        children = self.tree.children[b, 0, : self.tree.num_actions[b, 0]]
        return np.where((children == NO_CHILD)[:, None], np.nan, self.tree.proven[b, children])

    def best(self, b: int) -> int:
        """Return the index of the root action to play.

        The best one where the root is proven; else sequential halving's last (Gumbel) or the most visited, unless that
        is proven to lose all and another is not.
        """
        if is_proven(self.tree, b, 0):
            return int(self._best_proven(b).argmax())
        player = int(self.tree.states["current_player"][b, 0])
        own = self.proven(b)[:, player]
        means = self.tree.children_values[b, 0, : len(own), player]
        if self.settings.root == "gumbel":
            arguments = (self.tree, b, self.settings.c_scale, self._gumbel, self._scratch, self._improved)
            choice = int(best_gumbel_action(*arguments))
        else:
            choice = int(np.lexsort((means, self.visits(b)))[-1])
        lost = own <= self.game.min_utility()
        if lost[choice]:
            choice = int(np.lexsort((means, self.visits(b), ~lost))[-1])
        return choice

    def _best_proven(self, b: int) -> np.ndarray:
        """Return which actions are the best of a proven root, bool ``[k]``: by returns, then by the search's value."""
        player = int(self.tree.states["current_player"][b, 0])
        own = np.nan_to_num(self.proven(b)[:, player], nan=-np.inf)
        means = np.where(own >= own.max() - 1e-9, self.tree.children_values[b, 0, : len(own), player], -np.inf)
        return means >= means.max() - 1e-9

    def value(self, b: int) -> np.ndarray:
        """Return the root's value, float64 ``[n]``: if not proven the mean over simulations and the evaluator's own."""
        if is_proven(self.tree, b, 0):
            return self.tree.raw_values[b, 0].copy()
        visits = self.visits(b).astype(np.float64)
        sums = visits @ self.tree.children_values[b, 0, : len(visits)]
        if self.evaluator is None:
            return sums / max(visits.sum(), 1.0)
        return (sums + self.tree.raw_values[b, 0]) / (visits.sum() + 1.0)

    def variation(self, b: int) -> list[int]:
        """Return the most visited line of play."""
        length = principal_variation(self.tree, b, 0, self._visits_buffer)
        return self._visits_buffer[:length].tolist()
