"""Information-set Monte-Carlo tree search: one tree for everything the root player may be in, not one a world.

Single-observer ISMCTS (Cowling, Powley and Whitehouse, IEEE TCIAIG 2012). A node is what the root player has observed
since the root, so what this player does not see never branches, and at the own nodes one choice is made for all worlds
that look alike: no strategy fusion. Every simulation goes through one of W sampled worlds, in turn; an action that only
some worlds allow is compared by how often it was available, not by the visits of its parent.

Without an evaluator leaves are valued by random games and the others' moves chosen by UCB like the own ones. With one,
the others are modelled by `opponent_model`: their prior, which the evaluator makes from what *they* see in this visit's
world and never from another visit (`prior`); PUCT with that prior on the values in the tree (`puct`), which knows the
root player's hand, since every world holds it, and so expects too much of them; or either by turns (`mixed`). See
Goodman, "Re-determinizing MCTS in Hanabi", CoG 2019. A leaf is valued as its mover sees it, since networks learn
positions from there.
"""

import math
import time
from typing import NamedTuple

import numpy as np

from trilithon.agents.action_selection import softmax
from trilithon.agents.playout import playout
from trilithon.agents.search import CHUNK, Evaluator, SearchSettings
from trilithon.agents.tree import MARGIN_WEIGHT, NO_CHILD, PB_C_INIT, UCT_C, terminal_value
from trilithon.core import verbs
from trilithon.core.game import Game
from trilithon.core.jit import kernel
from trilithon.core.rng import categorical, next_below
from trilithon.core.verbs import CHANCE, TERMINAL, UNSEEN

OPPONENT_MODELS = ("puct", "prior", "mixed")
_PUCT_MODEL, _PRIOR_MODEL, _MIXED_MODEL = range(3)
DONE, LEAF, PASSING = range(3)  # why a walk stops: value known; a new node; an opponent's prior is wanted


class InfosetTree(NamedTuple):
    """Arrays of B trees with up to M nodes; what is said of an edge stands at the node it leads to."""

    node_count: np.ndarray  # int32 [B]
    keys: np.ndarray  # int64 [B, M]: what the root player saw of the action that led here
    parents: np.ndarray  # int32 [B, M]
    visits: np.ndarray  # int32 [B, M]: simulations that came here
    available: np.ndarray  # int32 [B, M]: visits of the parent in which the action was possible
    values: np.ndarray  # float64 [B, M, n]: mean value of those that came here
    expanded: np.ndarray  # bool [B, M]: an own node whose priors are known
    priors: np.ndarray  # float64 [B, M, A + 1]: the own nodes' prior logits, by place among the legal actions
    table: np.ndarray  # int32 [B, H]: open addressing, from (parent, key) to nodes
    sights: np.ndarray  # uint64 [B, M]: of the own nodes a hash of the observation, 0: none; [1, 1]: not kept
    sight: np.ndarray  # float32 [O]: room for an observation
    path: np.ndarray  # int32 [B, D]: the nodes of the simulation under way, root first
    path_length: np.ndarray  # int32 [B]
    world: np.ndarray  # [B, 1] kernel states: the world of the simulation under way


@kernel
def _slot(table, b, parent, key):
    """Where (parent, key) begins to be looked for (the multiplier is splitmix64's)."""
    mixed = (np.uint64(key) + np.uint64(parent) * np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((mixed >> np.uint64(20)) & np.uint64(table.shape[1] - 1))


@kernel
def find_child(tree, b, parent, key):
    """Return the child of a node behind what the root player saw, or NO_CHILD."""
    at = _slot(tree.table, b, parent, key)
    while True:
        node = np.int64(tree.table[b, at])
        if node == NO_CHILD or (tree.keys[b, node] == key and tree.parents[b, node] == parent):
            return node
        at = (at + 1) & (tree.table.shape[1] - 1)


@kernel
def add_child(tree, b, parent, key):
    """Add a node; the caller sees to it that there is room and that it is new."""
    node = np.int64(tree.node_count[b])
    tree.node_count[b] = node + 1
    at = _slot(tree.table, b, parent, key)
    while tree.table[b, at] != NO_CHILD:
        at = (at + 1) & (tree.table.shape[1] - 1)
    tree.table[b, at] = node
    tree.keys[b, node] = key
    tree.parents[b, node] = parent
    tree.visits[b, node] = 0
    tree.available[b, node] = 0
    tree.values[b, node] = 0.0
    tree.expanded[b, node] = False
    if tree.sights.shape[1] > 1:
        tree.sights[b, node] = 0
    return node


@kernel
def sight_of(state, player, observation):
    """Return a hash of what a player sees, uint64, not 0 (FNV-1a's multiplier, folded); `observation` is work space."""
    verbs.observe(state, player, observation)
    found = np.uint64(0x9E3779B97F4A7C15)
    for word in observation.view(np.uint32):
        found = (found ^ np.uint64(word)) * np.uint64(0x100000001B3)
        found ^= found >> np.uint64(29)
    return found | np.uint64(1)


@kernel
def note_sight(tree, b, node, player):
    """Where trees are gone on from: note what the root player sees when it comes to an own node for the first time."""
    if tree.sights.shape[1] > 1 and tree.sights[b, node] == 0:
        tree.sights[b, node] = sight_of(tree.world[b, 0], player, tree.sight)


@kernel
def find_sight(tree, b, sight):
    """Return the most visited own node of tree b in which the root player sees this, or NO_CHILD."""
    best, most = NO_CHILD, -1
    for node in range(tree.node_count[b]):
        if tree.sights[b, node] == sight and tree.visits[b, node] > most:
            best, most = node, np.int64(tree.visits[b, node])
    return best


@kernel
def keep_subtree(tree, b, root, places):
    """Make node `root` of tree b its root and drop all that does not hang from it; `places` is int32 ``[M]``."""
    count = np.int64(tree.node_count[b])
    places[:count] = NO_CHILD
    places[root] = 0
    tree.table[b] = NO_CHILD
    kept = 0
    for node in range(root, count):  # children come after their parents, so a place is never taken before it is free
        if node > root:
            parent = np.int64(tree.parents[b, node])
            if parent < root or places[parent] == NO_CHILD:
                continue
            places[node] = kept
        _move_node(tree, b, node, kept, places)
        kept += 1
    tree.node_count[b] = kept
    tree.parents[b, 0] = NO_CHILD


@kernel
def _move_node(tree, b, node, target, places):
    """Copy a node to its new place and enter it in the table."""
    tree.keys[b, target] = tree.keys[b, node]
    tree.visits[b, target] = tree.visits[b, node]
    tree.available[b, target] = tree.available[b, node]
    tree.sights[b, target] = tree.sights[b, node]
    tree.expanded[b, target] = tree.expanded[b, node]
    for player in range(tree.values.shape[2]):
        tree.values[b, target, player] = tree.values[b, node, player]
    if tree.priors.shape[1] > 1:
        for place in range(tree.priors.shape[2]):
            tree.priors[b, target, place] = tree.priors[b, node, place]
    if target > 0:
        parent = np.int64(places[tree.parents[b, node]])
        tree.parents[b, target] = parent
        at = _slot(tree.table, b, parent, tree.keys[b, target])
        while tree.table[b, at] != NO_CHILD:
            at = (at + 1) & (tree.table.shape[1] - 1)
        tree.table[b, at] = target


@kernel
def clear(tree, b):
    """Leave the root alone in tree b."""
    if tree.sights.shape[1] > 1:
        tree.sights[b, 0] = 0
    tree.node_count[b] = 1
    tree.table[b] = NO_CHILD
    tree.parents[b, 0] = NO_CHILD
    tree.visits[b, 0] = 0
    tree.expanded[b, 0] = False
    tree.values[b, 0] = 0.0


@kernel
def pick_ucb(tree, b, node, state, player, actions, k, c, rng):
    """Return the place of an action: one that is new in the tree, a random one, else by UCB1 on availability."""
    mover = state.current_player
    unvisited, best, best_score = 0, 0, -1e300
    for i in range(k):
        child = find_child(tree, b, node, verbs.observed_action(state, actions[i], player))
        if child == NO_CHILD:
            unvisited += 1
            if next_below(rng, unvisited) == 0:
                best = i
            continue
        tree.available[b, child] += 1
        if unvisited == 0:
            exploration = math.sqrt(math.log(tree.available[b, child]) / tree.visits[b, child])
            score = tree.values[b, child, mover] + c * exploration
            if score > best_score:
                best, best_score = i, score
    return best


@kernel
def pick_puct(tree, b, node, state, player, actions, k, priors, c):
    """Return the place of the action with the best Q + c P sqrt(N) / (1 + n), N the visits it was available in."""
    mover = state.current_player
    best, best_score = 0, -1e300
    for i in range(k):
        child = find_child(tree, b, node, verbs.observed_action(state, actions[i], player))
        visits, available = 0, tree.visits[b, node]
        q = tree.values[b, node, mover]
        if child != NO_CHILD:
            tree.available[b, child] += 1
            visits, available = tree.visits[b, child], tree.available[b, child]
            q = tree.values[b, child, mover]
        score = q + c * priors[i] * math.sqrt(available + 1.0) / (1.0 + visits)
        if score > best_score:
            best, best_score = i, score
    return best


@kernel
def step_down(tree, b, node, action, player):
    """Apply an action to the world under way; return (node, whether it is new) as the root player saw it."""
    key = verbs.observed_action(tree.world[b, 0], action, player)
    verbs.apply_action(tree.world[b, 0], action)
    if key == UNSEEN:
        return node, False
    child, new = find_child(tree, b, node, key), False
    if child == NO_CHILD:
        child, new = add_child(tree, b, node, key), True
        tree.available[b, child] = 1
    depth = tree.path_length[b]
    tree.path[b, depth] = child
    tree.path_length[b] = depth + 1
    return child, new


@kernel
def pass_chance(tree, b, node, player, actions, probabilities, rng):
    """Let chance move, as often as it is to; return (node, whether it is new). Outcomes are drawn: worlds differ."""
    new = False
    while tree.world[b, 0].current_player == CHANCE:
        k = verbs.chance_outcomes(tree.world[b, 0], actions, probabilities)
        child, fresh = step_down(tree, b, node, actions[categorical(rng, probabilities, k)], player)
        if child != node and not fresh:
            tree.available[b, child] += 1
        node, new = child, new or fresh
    return node, new


@kernel
def start_walk(tree, b, world):
    """Begin a simulation in a world, at the root."""
    tree.world[b, 0] = world
    tree.path[b, 0] = 0
    tree.path_length[b] = 1


@kernel
def backward(tree, b, value):
    """Fold the leaf's value, float64 ``[n]``, into all nodes of the path."""
    for depth in range(tree.path_length[b]):
        node = tree.path[b, depth]
        tree.visits[b, node] += 1
        for i in range(value.shape[0]):
            tree.values[b, node, i] += (value[i] - tree.values[b, node, i]) / tree.visits[b, node]


@kernel
def simulate_rollout(tree, b, world, player, constants, actions, probabilities, scratch, values, rng):
    """One simulation without an evaluator: down the tree to a new node, a random game, and back."""
    start_walk(tree, b, world)
    node, new = 0, False
    while not new and tree.world[b, 0].current_player != TERMINAL:
        if tree.world[b, 0].current_player == CHANCE:
            node, new = pass_chance(tree, b, node, player, actions, probabilities, rng)
            continue
        if tree.world[b, 0].current_player == player:
            note_sight(tree, b, node, player)
        k = verbs.legal_actions(tree.world[b, 0], actions)
        place = pick_ucb(tree, b, node, tree.world[b, 0], player, actions, k, constants[UCT_C], rng)
        node, new = step_down(tree, b, node, actions[place], player)
        if new:
            node, _ = pass_chance(tree, b, node, player, actions, probabilities, rng)
    if tree.world[b, 0].current_player != TERMINAL:
        playout(tree.world[b, 0], actions, probabilities, rng)
    terminal_value(tree.world[b, 0], constants[MARGIN_WEIGHT], scratch, values)
    backward(tree, b, values)


@kernel
def search_rollouts(tree, b, worlds, first, count, player, constants, actions, probabilities, scratch, values, rng):
    """Simulations first .. first + count - 1 through ``worlds[b]`` in turn; return how many there was room for."""
    room = tree.keys.shape[1] - tree.path.shape[1]
    for t in range(count):
        if tree.node_count[b] >= room:
            return t
        world = worlds[b, (first + t) % worlds.shape[1]]
        simulate_rollout(tree, b, world, player, constants, actions, probabilities, scratch, values, rng)
    return count


@kernel
def walk(tree, b, player, constants, actions, probabilities, scratch, values, rng):
    """Go on down from where the path is, until the evaluator is needed or the game is over; return why it stopped."""
    node = np.int64(tree.path[b, tree.path_length[b] - 1])
    while True:
        mover = np.int64(tree.world[b, 0].current_player)
        if mover == TERMINAL:
            terminal_value(tree.world[b, 0], constants[MARGIN_WEIGHT], scratch, values)
            backward(tree, b, values)
            return DONE
        if mover == CHANCE:
            node, _ = pass_chance(tree, b, node, player, actions, probabilities, rng)
            continue
        if mover != player:
            return LEAF if tree.visits[b, node] == 0 else PASSING
        if not tree.expanded[b, node]:
            note_sight(tree, b, node, player)
            return LEAF
        k = verbs.legal_actions(tree.world[b, 0], actions)
        softmax(tree.priors[b, node], k, scratch)
        state = tree.world[b, 0]
        place = pick_puct(tree, b, node, state, player, actions, k, scratch, constants[PB_C_INIT])
        node, _ = step_down(tree, b, node, actions[place], player)


@kernel
def walk_batch(tree, waiting, leaves, player_of, constants, actions, probabilities, scratch, values, rngs):
    """Walk every tree b with ``waiting[b]``; fill rows (b, 0, mover) of `leaves` where the evaluator is needed.

    ``waiting[b]`` becomes why tree b stopped (DONE: it waits no more). Returns the number of rows.
    """
    count = 0
    for b in range(waiting.shape[0]):
        if waiting[b] == DONE:
            continue
        waiting[b] = walk(tree, b, player_of[b], constants, actions, probabilities, scratch, values, rngs[b])
        if waiting[b] != DONE:
            leaves[count, 0] = b
            leaves[count, 1] = 0
            leaves[count, 2] = tree.world[b, 0].current_player
            count += 1
    return count


@kernel
def pass_opponent(tree, b, node, player, model, logits, constants, actions, scratch, priors, rng):
    """Choose for another player by the model, with the prior of this visit's world."""
    state = tree.world[b, 0]
    k = verbs.legal_actions(state, actions)
    for i in range(k):
        priors[i] = logits[actions[i]]
    softmax(priors, k, scratch)
    by_prior = model == _PRIOR_MODEL or (model == _MIXED_MODEL and next_below(rng, 2) == 0)
    # Availability counts either way, so that turns of one kind do not starve the other.
    place = pick_puct(tree, b, node, state, player, actions, k, scratch, constants[PB_C_INIT])
    if by_prior:
        place = categorical(rng, scratch, k)
    step_down(tree, b, node, actions[place], player)


@kernel
def answer_batch(
    tree,
    waiting,
    leaves,
    count,
    player_of,
    model,
    logits,
    leaf_values,
    constants,
    actions,
    scratch,
    priors,
    values,
    rngs,
):
    """Give the walks what they waited for: new nodes are backed up and done, others go on past an opponent's node."""
    n = values.shape[0]
    for row in range(count):
        b, mover = leaves[row, 0], leaves[row, 2]
        node = np.int64(tree.path[b, tree.path_length[b] - 1])
        if waiting[b] == PASSING:
            pass_opponent(tree, b, node, player_of[b], model, logits[row], constants, actions, scratch, priors, rngs[b])
            continue
        if mover == player_of[b]:
            k = verbs.legal_actions(tree.world[b, 0], actions)
            for i in range(k):
                tree.priors[b, node, i] = logits[row, actions[i]]
            tree.expanded[b, node] = True
        for i in range(n):
            values[(mover + i) % n] = leaf_values[row, i]
        backward(tree, b, values)
        waiting[b] = DONE


class InfosetSearch:
    """Searches B information sets at a time; afterwards the roots can be read through `visits` and the like."""

    def __init__(
        self,
        game: Game,
        batch: int,
        settings: SearchSettings,
        worlds: int,
        evaluator: Evaluator | None = None,
        opponent_model: str = "mixed",
        reuse: bool = False,
    ) -> None:
        self.game, self.settings, self.evaluator = game, settings, evaluator
        self._model = OPPONENT_MODELS.index(opponent_model)
        n, width = game.num_players(), max(game.num_distinct_actions(), game.max_chance_outcomes()) + 1
        self._longest = 2 + game.max_game_length() * (9 if game.max_chance_outcomes() else 1)
        # A simulation adds a node, and one for each chance event after it.
        self._needed = (settings.simulations + 1) * (3 if game.max_chance_outcomes() else 1) + self._longest
        nodes = (settings.nodes or self._needed) * (2 if reuse else 1)
        self.tree = _allocate(game, batch, nodes, self._longest, evaluator is not None, reuse)
        self._reuse, self._places = reuse, np.zeros(nodes if reuse else 1, np.int32)
        self.worlds = np.zeros((batch, worlds), game.dtype)
        self._constants = np.array([0.0, settings.pb_c_init, settings.uct_c, settings.margin_weight, 0.0, 0.0, 0.0])
        self._actions, self._probabilities = np.zeros(width, np.int32), np.zeros(width)
        self._scratch, self._priors, self._values = np.zeros(max(width, n)), np.zeros(width), np.zeros(n)
        self._leaves = np.zeros((batch, 3), np.int32)
        self._waiting = np.zeros(batch, np.int8)
        self._players = np.zeros(batch, np.int64)
        self.count = 0

    def run(self, roots: np.ndarray, rngs: np.ndarray, seconds: float | None = None) -> None:
        """Search from `roots`, states ``[R]``, R <= B, any world of each mover's, with generators uint64 ``[R, 1]``.

        The generators are advanced in place; `seconds` is a limit besides the settings' simulations. With `reuse` a
        row whose last tree holds what the mover sees now goes on from there: the worlds are dealt anew from what it
        knows, and simulations come on top of those kept. What is kept is what the player saw, never a world.
        """
        tree, before, self.count, self.rngs = self.tree, self.count, len(roots), rngs
        for b in range(self.count):
            kept = self._reuse and b < before and self._keep(b, roots[b : b + 1])
            player = int(roots[b]["current_player"])
            self._players[b] = player
            for w in range(self.worlds.shape[1]):
                self.worlds[b, w] = roots[b]
                verbs.determinize(self.worlds[b, w], player, rngs[b])
            if not kept:
                clear(tree, b)
        if self.evaluator is None:
            for b in range(self.count):
                self._run_rollouts(b, rngs[b], None if seconds is None else time.monotonic() + seconds / self.count)
        else:
            self._run_lock_step(rngs, None if seconds is None else time.monotonic() + seconds)

    def _keep(self, b: int, root: np.ndarray) -> bool:
        """Make the node where the mover saw what it sees at `root` the root; return whether there is one, and room."""
        player = int(root["current_player"][0])
        if player != self._players[b]:
            return False
        node = int(find_sight(self.tree, b, np.uint64(sight_of(root[0], player, self.tree.sight))))
        if node == NO_CHILD:
            return False
        keep_subtree(self.tree, b, node, self._places)
        return bool(self.tree.node_count[b] + self._needed <= self.tree.keys.shape[1])

    def _run_rollouts(self, b: int, rng: np.ndarray, deadline: float | None) -> None:
        """The search of one game, in chunks where there is a deadline."""
        done, simulations = 0, self.settings.simulations
        while done < simulations and (deadline is None or time.monotonic() < deadline):
            chunk = simulations - done if deadline is None else min(CHUNK, simulations - done)
            finished = search_rollouts(
                self.tree,
                b,
                self.worlds,
                done,
                chunk,
                self._players[b],
                self._constants,
                self._actions,
                self._probabilities,
                self._scratch,
                self._values,
                rng,
            )
            done += chunk
            if finished < chunk:
                return

    def _run_lock_step(self, rngs: np.ndarray, deadline: float | None) -> None:
        """Every game's next simulation at once: walks stop where the evaluator is needed, and go on with its answer."""
        assert self.evaluator is not None
        tree, waiting = self.tree, self._waiting[: self.count]
        constants, actions = self._constants, self._actions
        room = tree.keys.shape[1] - self._longest
        for t in range(self.settings.simulations):
            if deadline is not None and time.monotonic() >= deadline:
                return
            for b in range(self.count):
                waiting[b] = DONE if tree.node_count[b] >= room else LEAF
                start_walk(tree, b, self.worlds[b, t % self.worlds.shape[1]])
            while True:
                count = walk_batch(
                    tree,
                    waiting,
                    self._leaves,
                    self._players,
                    constants,
                    actions,
                    self._probabilities,
                    self._scratch,
                    self._values,
                    rngs,
                )
                if count == 0:
                    break
                logits, values = self.evaluator(tree.world, self._leaves, count)
                answer_batch(
                    tree,
                    waiting,
                    self._leaves,
                    count,
                    self._players,
                    self._model,
                    logits,
                    values,
                    constants,
                    actions,
                    self._scratch,
                    self._priors,
                    self._values,
                    rngs,
                )

    # ----------------------------------------------------------------------------------------------------- results

    def actions(self, b: int) -> np.ndarray:
        """Return the root's legal actions, int32 ``[k]``."""
        return self._actions[: verbs.legal_actions(self.worlds[b, 0], self._actions)].copy()

    def _children(self, b: int) -> list[int]:
        """The node behind each root action, NO_CHILD where it was not visited."""
        player, root = int(self._players[b]), self.worlds[b, 0]
        keys = [verbs.observed_action(root, int(action), player) for action in self.actions(b)]
        return [int(find_child(self.tree, b, 0, key)) for key in keys]

    def visits(self, b: int) -> np.ndarray:
        """Return visits through each root action, int32 ``[k]``."""
        return np.array([0 if c == NO_CHILD else self.tree.visits[b, c] for c in self._children(b)], np.int32)

    def qvalues(self, b: int) -> np.ndarray:
        """Return values after each root action, float64 ``[k, n]``; NaN where unvisited."""
        n = len(self._values)
        return np.array([np.full(n, np.nan) if c == NO_CHILD else self.tree.values[b, c] for c in self._children(b)])

    def policy(self, b: int) -> np.ndarray:
        """Return the shares of visits, float64 ``[k]``."""
        visits = self.visits(b).astype(np.float64)
        return visits / visits.sum() if visits.sum() else np.full(len(visits), 1.0 / len(visits))

    def best(self, b: int) -> int:
        """Return the index of the most visited root action, the better value first where visits are equal."""
        own = np.nan_to_num(self.qvalues(b)[:, int(self._players[b])], nan=-np.inf)
        return int(np.lexsort((own, self.visits(b)))[-1])

    def value(self, b: int) -> np.ndarray:
        """Return the root's value, float64 ``[n]``: the mean over simulations."""
        return self.tree.values[b, 0].copy()


def _allocate(game: Game, batch: int, nodes: int, longest: int, priors: bool, reuse: bool) -> InfosetTree:
    """Return empty trees; without an evaluator there are no priors to keep, without reuse no sights."""
    size = 1 << math.ceil(math.log2(2 * nodes + 1))
    width = game.num_distinct_actions() + 1
    return InfosetTree(
        node_count=np.zeros(batch, np.int32),
        keys=np.zeros((batch, nodes), np.int64),
        parents=np.zeros((batch, nodes), np.int32),
        visits=np.zeros((batch, nodes), np.int32),
        available=np.zeros((batch, nodes), np.int32),
        values=np.zeros((batch, nodes, game.num_players())),
        expanded=np.zeros((batch, nodes), np.bool_),
        priors=np.zeros((batch, nodes, width) if priors else (1, 1, 1)),
        table=np.full((batch, size), NO_CHILD, np.int32),
        sights=np.zeros((batch, nodes) if reuse else (1, 1), np.uint64),
        sight=np.zeros(math.prod(game.observation_tensor_shape()), np.float32),
        path=np.zeros((batch, longest), np.int32),
        path_length=np.zeros(batch, np.int32),
        world=np.zeros((batch, 1), game.dtype),
    )
