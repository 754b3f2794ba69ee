"""Max^n: everybody maximises the own component of a value vector (Luckhardt and Irani, AAAI 1986).

Among actions of equal own value the first in ascending order is taken (to within 1e-9): what the others get may depend
on it, so it is part of the definition, and actions are searched in that order. Once the mover has the most that a game
can bring, the rest is left out (immediate pruning, Korf, Artificial Intelligence 1991); the leads that are searched for
sum to 0, so that bounds between players (shallow pruning) would hardly ever cut anything (Sturtevant and Korf 2000).
"""

from typing import NamedTuple

import numpy as np

from trilithon.agents.alphabeta import (
    DIFFERENCE_FIRST,
    ENTERING,
    EPSILON,
    GENERATION,
    LIMIT,
    NODES,
    PLY,
    POSITION,
    TABLE_DEPTH,
    TASK,
    TIE,
)
from trilithon.agents.transposition import (
    COMPLETE,
    EXACT,
    NONE,
    Table,
    entry_to_write,
    find_entry,
    make_key,
    write_entry,
)
from trilithon.core import verbs
from trilithon.core.game import Game
from trilithon.core.jit import kernel
from trilithon.core.verbs import CHANCE, TERMINAL


class Vectors(NamedTuple):
    """Values of all players: of P plies, of the table's T entries, of the root's k actions."""

    best: np.ndarray  # float64 [P, n]: the best value so far; at chance the sum over outcomes
    entries: np.ndarray  # float64 [T, n]
    root: np.ndarray  # float64 [A, n]
    scratch: np.ndarray  # float64 [n]


def allocate_vectors(game: Game, plies: int, table: Table) -> Vectors:
    """Return room for vectors beside a search's other work space."""
    n = game.num_players()
    width = game.num_distinct_actions() + 1
    return Vectors(np.zeros((plies, n)), np.zeros((len(table.entries), n)), np.zeros((width, n)), np.zeros(n))


@kernel
def evaluate_all(state, difference, scratch, out):
    """Fill `out`, float64 ``[n]``, with the leaf value for each player; see `alphabeta.evaluate`."""
    ended = state.current_player == TERMINAL
    if ended:
        verbs.returns(state, out)
    else:
        verbs.heuristic(state, out)
        if not difference:
            return
    verbs.margin(state, scratch)
    for player in range(out.shape[0]):
        if difference:
            out[player] = scratch[player] + TIE * out[player]
        else:
            out[player] += TIE * scratch[player]


@kernel
def settle(state, ply, frame, found, entries, vectors, difference, plies):
    """Settle the node's value, and return True, where that takes no search."""
    mover = state.current_player
    if mover == TERMINAL or (mover >= 0 and frame.depth == 0) or ply + 1 == plies:
        evaluate_all(state, difference, vectors.scratch, vectors.best[ply])
        frame.proof = COMPLETE if mover == TERMINAL else 0
        return True
    if found != NONE:
        entry = entries[found]
        if entry.depth == frame.depth or (entry.depth < frame.depth and entry.knowledge & (4 * COMPLETE)):
            vectors.best[ply] = vectors.entries[found]
            frame.chosen, frame.proof = entry.best, entry.knowledge >> 2
            return True
    return False


@kernel
def fold(frame, mover, action, p, best, value):
    """Fold the value vector of the child just searched into ``best`` of a node."""
    if mover == CHANCE:
        for player in range(best.shape[0]):
            best[player] += p * value[player]
    elif value[mover] > best[mover] + EPSILON or frame.chosen == NONE:
        frame.chosen = action
        best[:] = value


@kernel
def max_n(work, vectors):
    """Go on searching ``work.states[0]``; return False where the limit of nodes was met before the end.

    It begins as `alphabeta.begin_root` or `begin_position` says; what is found is in ``vectors``.
    """
    states, frames, actions, probabilities = work.states, work.frames, work.actions, work.probabilities
    counters, entries = work.counters, work.table.entries
    generation, most = counters[GENERATION], work.bounds[1] - EPSILON
    ply, entering, at_root = counters[PLY], counters[ENTERING] == 1, counters[TASK] != POSITION
    while True:
        state, frame = states[ply], frames[ply]
        mover = np.int64(state.current_player)
        kept = entries.shape[0] > 0 and frame.depth >= TABLE_DEPTH
        if entering:
            if counters[NODES] >= counters[LIMIT]:
                counters[PLY], counters[ENTERING] = ply, 1
                return False
            counters[NODES] += 1
            entering, found = False, NONE
            frame.next, frame.count, frame.chosen, frame.proof = 0, 0, NONE, COMPLETE
            if kept:
                frame.place, frame.check = make_key(work.words[ply], work.table)
                found = find_entry(entries, frame.place, frame.check, generation)
            if not settle(state, ply, frame, found, entries, vectors, counters[DIFFERENCE_FIRST], states.shape[0]):
                vectors.best[ply] = 0.0
                if mover == CHANCE:
                    frame.count = verbs.chance_outcomes(state, actions[ply], probabilities[ply])
                else:
                    frame.count = verbs.legal_actions(state, actions[ply])
        every = mover == CHANCE or (ply == 0 and at_root) or frame.chosen == NONE
        if frame.next < frame.count and (every or vectors.best[ply, mover] < most):
            frames[ply + 1].depth = frame.depth if mover == CHANCE else frame.depth - 1
            states[ply + 1] = state
            verbs.apply_action(states[ply + 1], actions[ply, frame.next])
            frame.next += 1
            ply += 1
            entering = True
            continue
        if ply == 0 and at_root:
            return True
        if frame.count > 0 and kept:
            slot = entry_to_write(entries, frame.place, frame.check, generation, frame.depth)
            write_entry(entries[slot], frame.check, generation, frame.depth, frame.chosen, 0.0, EXACT + 4 * frame.proof)
            vectors.entries[slot] = vectors.best[ply]
        if ply == 0:
            return True
        ply -= 1
        parent, i = frames[ply], frames[ply].next - 1
        parent.proof &= frames[ply + 1].proof
        mover = np.int64(states[ply].current_player)
        fold(parent, mover, actions[ply, i], probabilities[ply, i], vectors.best[ply], vectors.best[ply + 1])
        if ply == 0 and at_root:
            vectors.root[i], work.root_proofs[i] = vectors.best[1], frames[1].proof
            work.root_values[i] = vectors.best[1, mover]
