"""Search trees of B games in lock step, as arrays: the shapes are the algorithm's memory.

One game's tree is a row of every array. A node is a kernel state and, for each of its actions (or chance outcomes), a
child, a visit count and a value vector. Values are float64 vectors, one entry per player, in the search's units: the
return and a little of the margin. Nothing is negated on the way up: whoever moves at a node looks at the own entry.
"""

from typing import NamedTuple

import numpy as np

from trilithon.core import verbs
from trilithon.core.game import Game
from trilithon.core.jit import kernel
from trilithon.core.verbs import CHANCE, TERMINAL

NO_CHILD = -1
MAX_CHANCE_IN_A_ROW = 8  # chance events after one action, such as a swap of all tiles of the largest hand


class Tree(NamedTuple):
    """Arrays of B trees with up to M nodes, A actions a node and n players."""

    states: np.ndarray  # [B, M] kernel states
    node_count: np.ndarray  # int32 [B]
    num_actions: np.ndarray  # int32 [B, M]: legal actions, or outcomes at a chance node
    actions: np.ndarray  # int32 [B, M, A + 1]
    priors: np.ndarray  # float64 [B, M, A + 1]: prior logits; at a chance node probabilities
    raw_values: np.ndarray  # float64 [B, M, n]: the evaluator's value of the node, or an ended game's; NaN: unknown yet
    children: np.ndarray  # int32 [B, M, A + 1]: node index or NO_CHILD
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
        children=np.full((batch, nodes, width), NO_CHILD, np.int32),
        children_visits=np.zeros((batch, nodes, width), np.int32),
        children_values=np.zeros((batch, nodes, width, n)),
        path_nodes=np.zeros((batch, nodes + 1), np.int32),
        path_edges=np.zeros((batch, nodes + 1), np.int32),
        path_length=np.zeros(batch, np.int32),
    )


@kernel
def terminal_value(state, margin_weight, scratch, out):
    """Fill `out`, float64 ``[n]``: the value of an ended game, the returns mixed with a little of the margin."""
    verbs.margin(state, scratch)
    verbs.returns(state, out)
    for player in range(out.shape[0]):
        out[player] = (1.0 - margin_weight) * out[player] + margin_weight * scratch[player]


@kernel
def enter_node(tree, b, node, margin_weight, scratch):
    """Prepare the node whose state has just been written: its actions with equal priors, no children."""
    state = tree.states[b, node]
    tree.num_actions[b, node] = 0
    if state.current_player == TERMINAL:
        terminal_value(state, margin_weight, scratch, tree.raw_values[b, node])
        return
    if state.current_player == CHANCE:
        k = verbs.chance_outcomes(state, tree.actions[b, node], tree.priors[b, node])
        tree.raw_values[b, node, 0] = np.nan
    else:
        k = verbs.legal_actions(state, tree.actions[b, node])
        tree.priors[b, node, :k] = 0.0
    tree.num_actions[b, node] = k
    tree.children[b, node, :k] = NO_CHILD
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
def backward(tree, b, value):
    """Fold `value`, float64 ``[n]``, the leaf's (overwritten), into every edge of the path, from the leaf up.

    Above a chance node the value passed on is the one that moves the edge's mean to the node's exact expectation.
    """
    for depth in range(tree.path_length[b] - 1, -1, -1):
        node, edge = tree.path_nodes[b, depth], tree.path_edges[b, depth]
        child = tree.children[b, node, edge]
        visits = tree.children_visits[b, node, edge]
        if np.isnan(tree.raw_values[b, node, 0]) and tree.states[b, node].current_player == CHANCE:
            # No evaluator saw the afterstate, so its first outcome's value stands for the unvisited ones.
            tree.raw_values[b, node] = value
        expected = tree.states[b, child].current_player == CHANCE and depth + 1 < tree.path_length[b]
        for player in range(value.shape[0]):
            mean = tree.children_values[b, node, edge, player]
            if expected:
                new_mean = chance_value(tree, b, child, player)
                value[player] = new_mean * (visits + 1) - mean * visits
            else:
                new_mean = mean + (value[player] - mean) / (visits + 1)
            tree.children_values[b, node, edge, player] = new_mean
        tree.children_visits[b, node, edge] = visits + 1


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
