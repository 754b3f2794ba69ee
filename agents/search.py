"""Monte-Carlo tree search of B games in lock step: select, expand, evaluate, back up.

`Search` knows no network: it asks an `Evaluator` for prior logits and values of the leaves of all games at once, or,
without one, plays a random game from each leaf (UCT). Every game has its own generator, so a game's search does not
depend on the others in the batch.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trilithon.agents.action_selection import (
    GUMBEL,
    PUCT,
    UCT,
    completed_logits,
    considered_visits_table,
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
    MAX_CHANCE_IN_A_ROW,
    Tree,
    allocate,
    backward,
    begin,
    descend,
    principal_variation,
    terminal_value,
)
from trilithon.core.game import Game
from trilithon.core.jit import kernel
from trilithon.core.verbs import CHANCE, TERMINAL

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


@kernel
def simulate(tree, b, mode, through, gumbel, wanted, constants, scratch, improved, values, rng):
    """Walk from the root to a leaf that wants evaluation, or to an ended game; return the node.

    `constants` are (c_scale, pb_c_init, uct_c, margin_weight); ``wanted`` is the visit count that the Gumbel root
    looks for. With `through` (rollouts) a new chance node is passed through at once; an evaluator is asked about it,
    since one value of an afterstate stands for all outcomes.
    """
    tree.path_length[b] = 0
    node, new = 0, False
    while not new:
        state = tree.states[b, node]
        if state.current_player == TERMINAL:
            return node
        if state.current_player == CHANCE:
            edge = select_chance(tree, b, node)
        elif mode == GUMBEL and node == 0:
            edge = select_gumbel_root(tree, b, constants[0], gumbel, wanted, scratch, improved)
        elif mode == GUMBEL:
            edge = select_gumbel_interior(tree, b, node, constants[0], scratch, improved)
        elif mode == PUCT:
            edge = select_puct(tree, b, node, constants[1], scratch)
        else:
            edge = select_uct(tree, b, node, constants[2], rng)
        node, new = descend(tree, b, node, edge, constants[3], values)
        passed = 0
        while through and new and passed < MAX_CHANCE_IN_A_ROW and tree.states[b, node].current_player == CHANCE:
            passed += 1
            node, new = descend(tree, b, node, select_chance(tree, b, node), constants[3], values)
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

    Ended games are backed up at once. `leaves` int32 ``[B, 3]``; ``sequence[b, t]`` is the Gumbel root's visit count.
    """
    count = 0
    for b in range(leaves.shape[0]):
        if tree.num_actions[b, 0] == 0:
            continue
        node = simulate(tree, b, mode, False, gumbel, sequence[b, t], constants, scratch, improved, values, rngs[b])
        if tree.states[b, node].current_player == TERMINAL:
            values[:] = tree.raw_values[b, node]
            backward(tree, b, values)
        else:
            leaves[count, 0] = b
            leaves[count, 1] = node
            leaves[count, 2] = observer_of(tree, b, node)
            count += 1
    return count


@kernel
def expand_batch(tree, leaves, count, logits, leaf_values, values):
    """Give the leaves their priors and values and back them up (the roots, with an empty path, just keep them)."""
    n = values.shape[0]
    for row in range(count):
        b, node, observer = leaves[row, 0], leaves[row, 1], leaves[row, 2]
        if tree.states[b, node].current_player != CHANCE:
            for edge in range(tree.num_actions[b, node]):
                tree.priors[b, node, edge] = logits[row, tree.actions[b, node, edge]]
        for i in range(n):
            values[(observer + i) % n] = leaf_values[row, i]
        tree.raw_values[b, node] = values
        backward(tree, b, values)


@kernel
def search_with_rollouts(tree, b, simulations, gumbel, constants, work, actions, probabilities, scratch, values, rng):
    """The whole UCT search of one game: each leaf is valued by one random game."""
    for _ in range(simulations):
        node = simulate(tree, b, UCT, True, gumbel, 0, constants, scratch, scratch, values, rng)
        if tree.states[b, node].current_player == TERMINAL:
            values[:] = tree.raw_values[b, node]
        else:
            work[0] = tree.states[b, node]
            playout(work[0], actions, probabilities, rng)
            terminal_value(work[0], constants[3], scratch, values)
        backward(tree, b, values)


@kernel
def begin_batch(tree, margin_weight, values):
    """Start every tree from its root state."""
    for b in range(tree.node_count.shape[0]):
        begin(tree, b, margin_weight, values)


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
    return (simulations + 1) * (1 + passed) + 1


class Search:
    """Searches B roots at a time; afterwards the trees can be read through `policy`, `visits` and the like."""

    def __init__(self, game: Game, batch: int, settings: SearchSettings, evaluator: Evaluator | None = None) -> None:
        if evaluator is None and settings.root != "uct":
            raise ValueError("a search without an evaluator is UCT")
        self.game, self.batch, self.settings, self.evaluator = game, batch, settings, evaluator
        self.tree: Tree = allocate(game, batch, nodes_of(game, settings.simulations, evaluator is None))
        n, width = game.num_players(), self.tree.actions.shape[2]
        self._constants = np.array([settings.c_scale, settings.pb_c_init, settings.uct_c, settings.margin_weight])
        self._gumbel = np.zeros((batch, width))
        self._scratch, self._improved = np.zeros(max(width, n)), np.zeros(max(width, n))
        self._values = np.zeros(n)
        self._leaves = np.zeros((batch, 3), np.int32)
        self._table = considered_visits_table(settings.max_considered, max(settings.simulations, 1))
        self._work = np.zeros(1, game.dtype)
        self._actions, self._probabilities = np.zeros(width, np.int32), np.zeros(width)
        self._visits_buffer = np.zeros(64, np.int64)

    def run(self, roots: np.ndarray, rngs: np.ndarray) -> None:
        """Search from `roots`, states ``[R]``, R <= B, with generators uint64 ``[R, 1]``, advanced in place."""
        tree, count = self.tree, len(roots)
        tree.states[:count, 0] = roots
        tree.states["current_player"][count:, 0] = TERMINAL
        begin_batch(tree, self.settings.margin_weight, self._scratch[: len(self._values)])
        self.count = count
        if self.evaluator is None:
            for b in range(count):
                search_with_rollouts(
                    tree,
                    b,
                    self.settings.simulations,
                    self._gumbel,
                    self._constants,
                    self._work,
                    self._actions,
                    self._probabilities,
                    self._scratch,
                    self._values,
                    rngs[b],
                )
            return
        self._run_lock_step(rngs)

    def _run_lock_step(self, rngs: np.ndarray) -> None:
        """One simulation of every game, one evaluation of all leaves, and again."""
        tree, mode = self.tree, ROOTS[self.settings.root]
        k = np.maximum(tree.num_actions[: self.count, 0], 1)
        sequence = self._table[np.minimum(k, self.settings.max_considered)]
        for b in range(self.count):
            draw_gumbel(self._gumbel, b, int(k[b]), self.settings.gumbel_scale, rngs[b])
        self._leaves[: self.count, 0] = np.arange(self.count)
        self._leaves[: self.count, 1] = 0
        self._leaves[: self.count, 2] = tree.states["current_player"][: self.count, 0]
        tree.path_length[:] = 0
        self._expand(self.count)
        for t in range(self.settings.simulations):
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

    def _expand(self, count: int) -> None:
        assert self.evaluator is not None
        logits, values = self.evaluator(self.tree.states, self._leaves, count)
        expand_batch(self.tree, self._leaves, count, logits, values, self._values)

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
        """Return the policy to learn or play from, float64 ``[k]``: improved (Gumbel) or shares of visits."""
        if self.settings.root == "gumbel":
            k = root_policy(self.tree, b, self.settings.c_scale, self._scratch, self._improved)
            return self._improved[:k].copy()
        visits = self.visits(b).astype(np.float64)
        return visits / max(visits.sum(), 1.0) if visits.sum() else np.full(len(visits), 1.0 / len(visits))

    def best(self, b: int) -> int:
        """Return the index of the root action to play: sequential halving's last (Gumbel), or the most visited."""
        if self.settings.root == "gumbel":
            arguments = (self.tree, b, self.settings.c_scale, self._gumbel, self._scratch, self._improved)
            return int(best_gumbel_action(*arguments))
        visits = self.visits(b)
        own = self.tree.children_values[b, 0, : len(visits), self.tree.states["current_player"][b, 0]]
        return int(np.lexsort((own, visits))[-1])

    def value(self, b: int) -> np.ndarray:
        """Return the root's value, float64 ``[n]``: the mean over its simulations and the evaluator's own."""
        visits = self.visits(b).astype(np.float64)
        sums = visits @ self.tree.children_values[b, 0, : len(visits)]
        if self.evaluator is None:
            return sums / max(visits.sum(), 1.0)
        return (sums + self.tree.raw_values[b, 0]) / (visits.sum() + 1.0)

    def variation(self, b: int) -> list[int]:
        """Return the most visited line of play."""
        length = principal_variation(self.tree, b, 0, self._visits_buffer)
        return self._visits_buffer[:length].tolist()
