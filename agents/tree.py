"""Search trees of B games in lock step, as arrays: the shapes are the algorithm's memory.

One game's tree is a row of every array. A node is a kernel state and, for each of its actions (or chance outcomes), a
child, a visit count and a value vector. Values are float64 vectors, one entry per player, in the search's units: the
return and a little of the margin. Nothing is negated on the way up: whoever moves at a node looks at the own entry.

Nodes whose returns under best play are known for sure are *proven*: ended games, chance nodes with all outcomes proven,
and nodes where the mover has a proven action that gives the most a game can give, or none that is not proven. That is
MCTS-Solver (Winands, Bjornsson and Saito, CG 2008) for value vectors and chance.
"""

from typing import NamedTuple

import numpy as np

from trilithon.core import verbs
from trilithon.core.game import Game
from trilithon.core.jit import kernel
from trilithon.core.verbs import CHANCE, TERMINAL

NO_CHILD = -1
# What a search is told, as an array float64 [7] for the kernels: see `SearchSettings`; the most a game can bring a
# player; whether proofs go up; whether chance is drawn.
C_SCALE, PB_C_INIT, UCT_C, MARGIN_WEIGHT, BEST_RETURN, PROVE, DRAWN = range(7)
MAX_CHANCE_IN_A_ROW = 8  # chance events after one action, such as a swap of all tiles of the largest hand


class Tree(NamedTuple):
    """Arrays of B trees with up to M nodes, A actions a node and n players."""

    states: np.ndarray  # [B, M] kernel states
    node_count: np.ndarray  # int32 [B]
    num_actions: np.ndarray  # int32 [B, M]: legal actions, or outcomes at a chance node
    actions: np.ndarray  # int32 [B, M, A + 1]
    priors: np.ndarray  # float64 [B, M, A + 1]: prior logits; probabilities at a chance node and with PUCT
    raw_values: np.ndarray  # float64 [B, M, n]: the evaluator's value of the node, or a proven one's; NaN: unknown yet
    proven: np.ndarray  # float64 [B, M, n]: returns under best play; NaN: not proven
    children: np.ndarray  # int32 [B, M, A + 1]: node index or NO_CHILD
    settled: np.ndarray  # bool [B, M, A + 1]: the child is proven (a call to ask it would copy this whole tuple)
    children_visits: np.ndarray  # int32 [B, M, A + 1]
    children_values: np.ndarray  # float64 [B, M, A + 1, n]: mean value of each visited action
    path_nodes: np.ndarray  # int32 [B, M + 1]: the nodes of the simulation under way, root first
    path_edges: np.ndarray  # int32 [B, M + 1]: the index of the action taken at each of them
    path_length: np.ndarray  # int32 [B]: edges on the path


def allocate(game: Game, batch: int, nodes: int) -> Tree:
    """Return empty trees for `batch` games of up to `nodes` nodes each."""
    n = game.num_players()
    width = max(game.num_distinct_actions(), game.max_chance_outcomes()) + 1
    return Tree(
        states=np.zeros((batch, nodes), game.dtype),
        node_count=np.zeros(batch, np.int32),
        num_actions=np.zeros((batch, nodes), np.int32),
        actions=np.zeros((batch, nodes, width), np.int32),
        priors=np.zeros((batch, nodes, width)),
        raw_values=np.zeros((batch, nodes, n)),
        proven=np.full((batch, nodes, n), np.nan),
        children=np.full((batch, nodes, width), NO_CHILD, np.int32),
        settled=np.zeros((batch, nodes, width), np.bool_),
        children_visits=np.zeros((batch, nodes, width), np.int32),
        children_values=np.zeros((batch, nodes, width, n)),
        path_nodes=np.zeros((batch, nodes + 1), np.int32),
        path_edges=np.zeros((batch, nodes + 1), np.int32),
        path_length=np.zeros(batch, np.int32),
    )


@kernel
def terminal_value(state, margin_weight, scratch, out):
    """Fill `out`, float64 ``[n]``: the value of an ended game, the returns mixed with a little of the margin.

    `scratch` has n entries or more.
    """
    verbs.margin(state, scratch[: out.shape[0]])
    verbs.returns(state, out)
    for player in range(out.shape[0]):
        out[player] = (1.0 - margin_weight) * out[player] + margin_weight * scratch[player]


@kernel
def enter_node(tree, b, node, margin_weight, scratch):
    """Prepare the node whose state has just been written: its actions with equal priors, no children."""
    state = tree.states[b, node]
    tree.num_actions[b, node] = 0
    tree.proven[b, node] = np.nan
    if state.current_player == TERMINAL:
        terminal_value(state, margin_weight, scratch, tree.raw_values[b, node])
        verbs.returns(state, tree.proven[b, node])
        return
    if state.current_player == CHANCE:
        k = verbs.chance_outcomes(state, tree.actions[b, node], tree.priors[b, node])
        tree.raw_values[b, node, 0] = np.nan
    else:
        k = verbs.legal_actions(state, tree.actions[b, node])
        tree.priors[b, node, :k] = 0.0
    tree.num_actions[b, node] = k
    tree.children[b, node, :k] = NO_CHILD
    tree.settled[b, node, :k] = False
    tree.children_visits[b, node, :k] = 0
    tree.children_values[b, node, :k] = 0.0


@kernel
def begin(tree, b, margin_weight, scratch):
    """Start tree b from the root state in ``tree.states[b, 0]``."""
    tree.node_count[b] = 1
    enter_node(tree, b, 0, margin_weight, scratch)


@kernel
def descend(tree, b, node, edge, margin_weight, scratch):
    """Go down one edge of the path; return (child, whether it is new). A new child is entered.

    The caller leaves room: a new node needs ``node_count < M``.
    """
    depth = tree.path_length[b]
    tree.path_nodes[b, depth] = node
    tree.path_edges[b, depth] = edge
    tree.path_length[b] = depth + 1
    child = np.int64(tree.children[b, node, edge])
    if child != NO_CHILD:
        return child, False
    child = np.int64(tree.node_count[b])
    tree.node_count[b] = child + 1
    tree.children[b, node, edge] = child
    tree.states[b, child] = tree.states[b, node]
    verbs.apply_action(tree.states[b, child], tree.actions[b, node, edge])
    enter_node(tree, b, child, margin_weight, scratch)
    return child, True


@kernel
def find_node(tree, rows, b, root):
    """Return the node of tree b whose state has the bytes `root`, the most visited one, or NO_CHILD.

    `rows`, uint8 ``[B, M, bytes]``, is a view of ``tree.states``.
    """
    found, most = NO_CHILD, -1
    for node in range(tree.node_count[b]):
        equal = True
        for i in range(root.shape[0]):
            if rows[b, node, i] != root[i]:
                equal = False
                break
        if equal:
            visits = total_visits(tree, b, node)
            if visits > most:
                found, most = node, visits
    return found


@kernel
def keep_subtree(tree, b, root, places):
    """Make node `root` of tree b its root and drop all that does not hang from it; `places` is int32 ``[M]``."""
    count = np.int64(tree.node_count[b])
    places[:count] = 0
    places[root] = 1
    for node in range(root, count):  # children come after their parents
        if places[node]:
            for edge in range(tree.num_actions[b, node]):
                if tree.children[b, node, edge] != NO_CHILD:
                    places[tree.children[b, node, edge]] = 1
    kept = 0
    for node in range(root, count):
        if places[node]:
            places[node] = kept
            kept += 1
    # A node never moves behind one that has not been moved yet; parents first, so children's new places are known.
    target = 0
    for node in range(root, count):
        if target == kept:
            break
        if node != root and places[node] == 0:
            continue
        _move_node(tree, b, node, target, places)
        target += 1
    tree.node_count[b] = kept


@kernel
def _move_node(tree, b, node, target, places):
    """Copy a node to its new place, children renamed."""
    tree.states[b, target] = tree.states[b, node]
    k = np.int64(tree.num_actions[b, node])
    tree.num_actions[b, target] = k
    tree.raw_values[b, target] = tree.raw_values[b, node]
    tree.proven[b, target] = tree.proven[b, node]
    for edge in range(k):
        child = tree.children[b, node, edge]
        tree.children[b, target, edge] = NO_CHILD if child == NO_CHILD else places[child]
        tree.settled[b, target, edge] = tree.settled[b, node, edge]
        tree.actions[b, target, edge] = tree.actions[b, node, edge]
        tree.priors[b, target, edge] = tree.priors[b, node, edge]
        tree.children_visits[b, target, edge] = tree.children_visits[b, node, edge]
        for player in range(tree.raw_values.shape[2]):
            tree.children_values[b, target, edge, player] = tree.children_values[b, node, edge, player]


@kernel
def total_visits(tree, b, node):
    """Return the visits through all edges of a node."""
    total = 0
    for edge in range(tree.num_actions[b, node]):
        total += tree.children_visits[b, node, edge]
    return total


@kernel
def chance_value(tree, b, node, player):
    """Return a chance node's value for `player`: expectation over outcomes, the evaluator's value where unvisited."""
    total, mass = 0.0, 0.0
    for edge in range(tree.num_actions[b, node]):
        if tree.children_visits[b, node, edge] > 0:
            total += tree.priors[b, node, edge] * tree.children_values[b, node, edge, player]
            mass += tree.priors[b, node, edge]
    return total + (1.0 - mass) * tree.raw_values[b, node, player]


@kernel
def is_proven(tree, b, node):
    """Return whether the node's returns under best play are known."""
    return not np.isnan(tree.proven[b, node, 0])


@kernel
def prove(tree, b, node, best_return):
    """Prove a node from its children if they suffice; return whether it is proven now.

    `best_return` is the most that a game can bring a player: who has it in hand need not look further.
    """
    if is_proven(tree, b, node):
        return True
    k = np.int64(tree.num_actions[b, node])
    player = np.int64(tree.states[b, node].current_player)
    if player == CHANCE:
        for edge in range(k):
            if not tree.settled[b, node, edge]:
                return False
        tree.proven[b, node] = 0.0
        tree.raw_values[b, node] = 0.0
        for edge in range(k):
            child, p = tree.children[b, node, edge], tree.priors[b, node, edge]
            for i in range(tree.proven.shape[2]):
                tree.proven[b, node, i] += p * tree.proven[b, child, i]
                tree.raw_values[b, node, i] += p * tree.raw_values[b, child, i]
        return True
    best, missing = -1, False
    for edge in range(k):
        if not tree.settled[b, node, edge]:
            missing = True
            continue
        child = np.int64(tree.children[b, node, edge])
        if best < 0 or _is_better(tree, b, child, best, player):
            best = child
    if best < 0 or (missing and tree.proven[b, best, player] < best_return - 1e-9):
        return False
    tree.proven[b, node] = tree.proven[b, best]
    tree.raw_values[b, node] = tree.raw_values[b, best]
    return True


@kernel
def _is_better(tree, b, one, other, player):
    """Whether proven node `one` is better than `other` for a player: by returns, then by the search's value."""
    gain = tree.proven[b, one, player] - tree.proven[b, other, player]
    if abs(gain) > 1e-9:
        return gain > 0.0
    return tree.raw_values[b, one, player] > tree.raw_values[b, other, player]


@kernel
def backward(tree, b, value, constants):
    """Fold `value`, float64 ``[n]``, the leaf's (overwritten), into every edge of the path, from the leaf up.

    Above a chance node, and above a proven one, the value passed on is the one that moves the edge's mean to the
    node's exact value. Proofs go up as far as they hold. (With drawn chance means are plain means.)
    """
    proving = constants[PROVE] > 0.0
    drawn = constants[DRAWN] > 0.0
    for depth in range(tree.path_length[b] - 1, -1, -1):
        node, edge = tree.path_nodes[b, depth], tree.path_edges[b, depth]
        child = np.int64(tree.children[b, node, edge])
        visits = tree.children_visits[b, node, edge]
        if np.isnan(tree.raw_values[b, node, 0]) and tree.states[b, node].current_player == CHANCE:
            # No evaluator saw the afterstate, so its first outcome's value stands for the unvisited ones.
            tree.raw_values[b, node] = value
        known = not np.isnan(tree.proven[b, child, 0])
        tree.settled[b, node, edge] = known
        expected = not drawn and depth + 1 < tree.path_length[b] and tree.states[b, child].current_player == CHANCE
        for player in range(value.shape[0]):
            mean = tree.children_values[b, node, edge, player]
            if known or expected:
                new_mean = tree.raw_values[b, child, player] if known else chance_value(tree, b, child, player)
                value[player] = new_mean * (visits + 1) - mean * visits
            else:
                new_mean = mean + (value[player] - mean) / (visits + 1)
            tree.children_values[b, node, edge, player] = new_mean
        tree.children_visits[b, node, edge] = visits + 1
        proving = proving and known and prove(tree, b, node, constants[BEST_RETURN])


@kernel
def principal_variation(tree, b, node, out):
    """Fill `out` with the most visited actions from `node` on (chance left out); return their number."""
    length = 0
    while length < out.shape[0] and tree.num_actions[b, node] > 0:
        best, most = -1, 0
        for edge in range(tree.num_actions[b, node]):
            if tree.children_visits[b, node, edge] > most:
                best, most = edge, tree.children_visits[b, node, edge]
        if best < 0:
            break
        if tree.states[b, node].current_player != CHANCE:
            out[length] = tree.actions[b, node, best]
            length += 1
        node = np.int64(tree.children[b, node, best])
    return length
