"""Which edge a simulation takes: UCB1 and PUCT, Gumbel with sequential halving, and stratified chance.

Sources: UCB1 for trees, Kocsis and Szepesvari, ECML 2006. PUCT, Silver et al., Science 2018 (`pb_c_init` is its c1).
Gumbel, Danihelka et al., "Policy improvement by planning with Gumbel", ICLR 2022: completed Q-values, their transform,
the deterministic choice inside the tree, and sequential halving (Karnin et al., ICML 2013) at the root.
Every function looks at the mover's entry of the value vectors. UCB1 and PUCT give a proven action no exploration term:
there is nothing left to find out.
"""

import math

import numpy as np

from trilithon.agents.tree import total_visits
from trilithon.core.jit import kernel
from trilithon.core.rng import categorical, next_below, next_float

UCT, PUCT, GUMBEL = 0, 1, 2
VISIT_OFFSET = 50.0  # `maxvisit_init` of the Gumbel paper's transform


@kernel
def draw_chance(tree, b, node, rng):
    """Return an outcome drawn by its probability: what stratified choice is measured against."""
    return categorical(rng, tree.priors[b, node], tree.num_actions[b, node])


@kernel
def select_chance(tree, b, node):
    """Return the outcome with the largest ``p * (N + 1) - n``: visits follow the probabilities to within one."""
    total = total_visits(tree, b, node)
    best, best_score = 0, -1e9
    for edge in range(tree.num_actions[b, node]):
        score = tree.priors[b, node, edge] * (total + 1) - tree.children_visits[b, node, edge]
        if score > best_score + 1e-12:
            best, best_score = edge, score
    return best


@kernel
def select_uct(tree, b, node, c, rng):
    """UCB1 on means in [-1, 1]: an unvisited action first (a random one), else the best upper bound."""
    k = np.int64(tree.num_actions[b, node])
    player = tree.states[b, node].current_player
    total, unvisited = 0, 0
    for edge in range(k):
        visits = tree.children_visits[b, node, edge]
        total += visits
        unvisited += np.int64(visits == 0)
    if unvisited > 0:
        ticket = next_below(rng, unvisited)
        for edge in range(k):
            if tree.children_visits[b, node, edge] == 0:
                if ticket == 0:
                    return edge
                ticket -= 1
    log_total = math.log(total)
    best, best_score = 0, -1e9
    for edge in range(k):
        score = tree.children_values[b, node, edge, player]
        if not tree.settled[b, node, edge]:
            score += c * math.sqrt(log_total / tree.children_visits[b, node, edge])
        if score > best_score:
            best, best_score = edge, score
    return best


@kernel
def softmax(logits, k, out):
    """Write the softmax of ``logits[:k]`` to ``out[:k]``."""
    highest = logits[0]
    for i in range(1, k):
        highest = max(highest, logits[i])
    total = 0.0
    for i in range(k):
        out[i] = math.exp(logits[i] - highest)
        total += out[i]
    for i in range(k):
        out[i] /= total


@kernel
def select_puct(tree, b, node, pb_c_init):
    """Q + c P sqrt(N) / (1 + n); an unvisited action's Q is the node's own value by the evaluator.

    The priors are probabilities here, made once when the node is expanded.
    """
    k = np.int64(tree.num_actions[b, node])
    player = np.int64(tree.states[b, node].current_player)
    total = 0
    for edge in range(k):
        total += tree.children_visits[b, node, edge]
    exploration = pb_c_init * math.sqrt(total + 1.0)
    raw = tree.raw_values[b, node, player]
    best, best_score = 0, -1e9
    for edge in range(k):
        visits = tree.children_visits[b, node, edge]
        score = tree.children_values[b, node, edge, player] if visits > 0 else raw
        if not tree.settled[b, node, edge]:
            score += exploration * tree.priors[b, node, edge] / (1.0 + visits)
        if score > best_score:
            best, best_score = edge, score
    return best


@kernel
def completed_logits(tree, b, node, c_scale, scratch, out):
    """Write prior logits + sigma(completed Q) to ``out[:k]``; return k. ``scratch[:k]`` is left as the prior's softmax.

    An unvisited action's Q is the mix of the node's raw value and the visited actions' prior-weighted mean; all are
    scaled to [0, 1] by the least and the greatest of them, then by ``(VISIT_OFFSET + max visits) * c_scale``.
    """
    k = np.int64(tree.num_actions[b, node])
    player = tree.states[b, node].current_player
    softmax(tree.priors[b, node], k, scratch)
    total, most = 0, 0
    mass, weighted = 0.0, 0.0
    for edge in range(k):
        visits = tree.children_visits[b, node, edge]
        total += visits
        most = max(most, visits)
        if visits > 0:
            mass += scratch[edge]
            weighted += scratch[edge] * tree.children_values[b, node, edge, player]
    mixed = tree.raw_values[b, node, player]
    if total > 0 and mass > 0.0:
        mixed = (mixed + total * weighted / mass) / (total + 1.0)
    low, high = mixed, mixed
    for edge in range(k):
        if tree.children_visits[b, node, edge] > 0:
            q = tree.children_values[b, node, edge, player]
            low, high = min(low, q), max(high, q)
    scale = (VISIT_OFFSET + most) * c_scale / max(high - low, 1e-8)
    for edge in range(k):
        visited = tree.children_visits[b, node, edge] > 0
        q = tree.children_values[b, node, edge, player] if visited else mixed
        out[edge] = tree.priors[b, node, edge] + scale * (q - low)
    return k


@kernel
def select_gumbel_interior(tree, b, node, c_scale, scratch, improved):
    """The action whose share of visits lags most behind the improved policy."""
    k = completed_logits(tree, b, node, c_scale, scratch, improved)
    softmax(improved, k, scratch)
    total = total_visits(tree, b, node)
    best, best_score = 0, -1e9
    for edge in range(k):
        score = scratch[edge] - tree.children_visits[b, node, edge] / (1.0 + total)
        if score > best_score:
            best, best_score = edge, score
    return best


@kernel
def select_gumbel_root(tree, b, c_scale, gumbel, considered_visits, scratch, improved):
    """Sequential halving: among the actions with `considered_visits` visits the best gumbel + improved logit."""
    k = completed_logits(tree, b, 0, c_scale, scratch, improved)
    best, best_score = 0, -1e300
    for edge in range(k):
        score = gumbel[b, edge] + improved[edge]
        if tree.children_visits[b, 0, edge] != considered_visits:
            score -= 1e200
        if score > best_score:
            best, best_score = edge, score
    return best


@kernel
def draw_gumbel(gumbel, b, k, scale, rng):
    """Fill ``gumbel[b, :k]`` with standard Gumbel noise times `scale` (0: none, and no number is drawn)."""
    for edge in range(k):
        gumbel[b, edge] = 0.0
        if scale > 0.0:
            gumbel[b, edge] = -scale * math.log(-math.log(next_float(rng) + 1e-300))


def considered_visits_table(max_considered: int, simulations: int, first: int = 0) -> np.ndarray:
    """Return int32 ``[max_considered + 1, simulations]``: row m is the visit count that simulation t looks for.

    With m actions considered, each phase gives every survivor the same number of visits and halves the field. With
    `first` no more than ``simulations // first`` of them are considered, and each has so many visits before that.
    """
    table = np.zeros((max_considered + 1, simulations), np.int32)
    for considered in range(max_considered + 1):
        m = min(considered, max(simulations // first, 1)) if first else considered
        if m <= 1:
            table[considered] = np.arange(simulations)
            continue
        phases = math.ceil(math.log2(m))
        sequence = [visits for visits in range(first) for _ in range(m)]
        done, survivors = [first] * m, m
        if first:
            survivors = max(2, m // 2)
        left = max(simulations - len(sequence), 0)
        while len(sequence) < simulations:
            for _ in range(max(1, left // (phases * survivors))):
                sequence += done[:survivors]
                done[:survivors] = [visits + 1 for visits in done[:survivors]]
            survivors = max(2, survivors // 2)
        table[considered] = sequence[:simulations]
    return table
