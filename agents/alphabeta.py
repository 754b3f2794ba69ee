"""Alpha-beta: the search of two sides, with chance and a transposition table, as a stack that can pause.

The value of a position is one component of the value vector, the root player's: who is on that player's side maximises
it, all others minimise it, and nothing is negated. All values are fail-soft: beyond the window they are bounds.

- Principal variation search (Marsland and Campbell, ACM Computing Surveys 1982; Reinefeld, ICCA Journal 1983): once a
  node has a best action, the others are only asked whether they are better, by an all but closed window.
- Star1 at chance nodes (Ballard, Artificial Intelligence 1983; Hauk, Buro and Schaeffer, CG 2004): an outcome's window
  is what it must bring to matter, where those not looked at bring the most or the least that a game can bring.
- Order of actions: the table's, then by heuristic after the action, killers (Akl and Newborn 1977) and history
  (Schaeffer, IEEE PAMI 1989).

A table's value counts only if it was searched to the same depth, or if its search met the end of the game on every way:
values are those of a search without a table. With each value goes what is proven of it: COMPLETE, no heuristic was
asked; SURE, moreover the sign of the return does not depend on chance if all play as the search expects.
"""

from typing import NamedTuple

import numpy as np

from trilithon.agents.sides import sides_of
from trilithon.agents.transposition import (
    COMPLETE,
    ENTRY,
    EXACT,
    LOWER,
    MAX_GENERATION,
    NONE,
    SURE,
    UPPER,
    Table,
    allocate_states,
    entry_to_write,
    find_entry,
    make_key,
    write_entry,
)
from trilithon.core import verbs
from trilithon.core.game import Game
from trilithon.core.jit import kernel
from trilithon.core.verbs import CHANCE, TERMINAL, record_dtype

EPSILON = 1e-9  # values that are closer count as equal
TIE = 1e-3  # weight of what only breaks ties: of the margin beside the return, or of the return beside the margin
MOST_TIE = 1.5 * TIE  # a return is greater than that, or none
INFINITE = 1e9
ORDER_DEPTH = 2  # nodes of less depth are searched in the order of the actions' numbers
TABLE_DEPTH = 1  # and of less depth than this are not kept in the table
KILLER_BONUS, HISTORY_BONUS = 4e-5, 2e-5  # of an order by heuristic; less than a heuristic's steps

# Numbers of a search: where it stands, what it is told, what it counts.
PLY, ENTERING, TASK, NODES, LIMIT, PLAYER, GENERATION, DIFFERENCE_FIRST, COUNTERS = range(9)
# What is asked of ``states[0]``: its value; the best actions, of the others only bounds; every action's value.
POSITION, BEST, EVERY = range(3)

FRAME = record_dtype(
    [
        ("alpha", np.float64),  # the window, narrowed as children return
        ("beta", np.float64),
        ("low", np.float64),  # the window at the beginning
        ("high", np.float64),
        ("best", np.float64),  # the best value so far; at chance the sum over outcomes
        ("rest", np.float64),  # probability of the outcomes that were not looked at; or what a scout found
        ("place", np.uint64),  # the table's key
        ("check", np.uint64),
        ("depth", np.int32),  # player actions still to look ahead
        ("next", np.int32),  # of the node's actions or outcomes
        ("count", np.int32),
        ("chosen", np.int32),  # the best action
        ("unsorted", np.int32),  # actions from here on are to be sorted before they are searched; NONE: no more
        ("scouting", np.int8),  # the child under way is only asked whether it is better
        ("again", np.int8),  # it is, and is searched once more for its value
        ("kind", np.int8),  # EXACT, LOWER or UPPER
        ("proof", np.int8),  # what holds for all children so far
        ("best_proof", np.int8),  # for the best one
        ("sign", np.int8),  # at chance: of the first outcome's value
    ]
)


class Work(NamedTuple):
    """Work space for P plies and A actions; row p belongs to the node p plies down, row 0 to the root."""

    states: np.ndarray  # [P] kernel states
    words: np.ndarray  # uint64 [P, bytes]: the states' memory, see transposition.py
    frames: np.ndarray  # FRAME [P]
    actions: np.ndarray  # int32 [P, A]
    keys: np.ndarray  # float64 [P, A]: what actions are sorted by
    probabilities: np.ndarray  # float64 [P, A]
    killers: np.ndarray  # int32 [P, 2]: actions that cut off lately, NONE for none
    history: np.ndarray  # int64 [n, A]: how much each player's actions cut off
    values: np.ndarray  # float64 [n]: scratch
    sides: np.ndarray  # int64 [n]: see sides.py
    bounds: np.ndarray  # float64 [2]: the least and the greatest value of a leaf
    root_values: np.ndarray  # float64 [A]: of the root's actions, in the order of ``actions[0]``
    root_proofs: np.ndarray  # int64 [A]
    counters: np.ndarray  # int64 [COUNTERS]
    table: Table


def allocate_work(game: Game, plies: int, table: Table, difference: bool) -> Work:
    """Return work space; with `difference` the final difference is what is maximised."""
    n, width = game.num_players(), max(game.num_distinct_actions(), game.max_chance_outcomes()) + 1
    states, words = allocate_states(game, plies)
    least, most = min(game.min_utility(), -1.0), max(game.max_utility(), 1.0)  # of returns and heuristics
    work = Work(
        states=states,
        words=words,
        frames=np.zeros(plies, FRAME),
        actions=np.zeros((plies, width), np.int32),
        keys=np.zeros((plies, width)),
        probabilities=np.zeros((plies, width)),
        killers=np.zeros((plies, 2), np.int32),
        history=np.zeros((n, width), np.int64),
        values=np.zeros(n),
        sides=np.array(sides_of(game), np.int64),
        bounds=np.array([TIE * least - 1.0, TIE * most + 1.0] if difference else [least - TIE, most + TIE]),
        root_values=np.zeros(width),
        root_proofs=np.zeros(width, np.int64),
        counters=np.zeros(COUNTERS, np.int64),
        table=table,
    )
    work.counters[DIFFERENCE_FIRST] = difference
    return work


def begin_search(work: Work, player: int) -> None:
    """Begin a search for `player`, who is to move; nothing is known from searches before."""
    counters = work.counters
    counters[NODES], counters[PLAYER] = 0, player
    counters[GENERATION] += 1
    if counters[GENERATION] > MAX_GENERATION:
        counters[GENERATION] = 1
        work.table.entries[:] = np.zeros((), ENTRY)
    work.history[:], work.killers[:] = 0, NONE


def begin_root(work: Work, task: int, actions: np.ndarray, depth: int) -> None:
    """Begin with BEST or EVERY one of `actions`, the legal ones in ``work.states[0]``, in the order to search them."""
    work.counters[PLY], work.counters[ENTERING], work.counters[TASK] = 0, 0, task
    work.actions[0, : len(actions)] = actions
    work.frames[0] = np.zeros((), FRAME)
    frame = {"alpha": -INFINITE, "beta": INFINITE, "best": -INFINITE, "depth": depth, "count": len(actions)}
    for name, value in {**frame, "unsorted": NONE, "chosen": NONE}.items():
        work.frames[name][0] = value


def begin_position(work: Work, depth: int) -> None:
    """Begin with the value of ``work.states[0]``, in which a player is to move."""
    work.counters[PLY], work.counters[ENTERING], work.counters[TASK] = 0, 1, POSITION
    for name, value in (("depth", depth), ("alpha", -INFINITE), ("beta", INFINITE)):
        work.frames[name][0] = value


@kernel
def evaluate(state, player, difference, values):
    """Return the leaf value for `player`: the heuristic, or once ended the return and a little of the margin.

    With `difference` the margin at any time, and a little of the return or the heuristic.
    """
    ended = state.current_player == TERMINAL
    lead = 0.0
    if ended or difference:
        verbs.margin(state, values)
        lead = values[player]
    if ended:
        verbs.returns(state, values)
    else:
        verbs.heuristic(state, values)
    if difference:
        return lead + TIE * values[player]
    return values[player] + TIE * lead if ended else values[player]


@kernel
def sign_of(value, difference):
    """Return the sign of what is maximised in the value of an ended game: a small rest is what breaks ties."""
    if abs(value) <= (EPSILON if difference else MOST_TIE):
        return 0
    return 1 if value > 0.0 else -1


@kernel
def is_usable(entry, depth, alpha, beta):
    """Whether an entry answers for a node of that depth and window."""
    if entry.depth != depth and (entry.depth > depth or not entry.knowledge & (4 * COMPLETE)):
        return False
    kind = entry.knowledge & 3
    return kind == EXACT or (kind == LOWER and entry.value >= beta) or (kind == UPPER and entry.value <= alpha)


@kernel
def sort_actions(states, ply, player, sign, difference, first, count, actions, keys, killers, history, values):
    """Sort ``actions[first:count]`` of ``states[ply]``, the mover's best first (``states[ply + 1]`` is scratch).

    Returns how many positions were made.
    """
    for i in range(first, count):
        action = actions[i]
        states[ply + 1] = states[ply]
        verbs.apply_action(states[ply + 1], action)
        key = sign * evaluate(states[ply + 1], player, difference, values)
        key += HISTORY_BONUS * (history[action] / (history[action] + 1000.0))
        if action == killers[0] or action == killers[1]:
            key += KILLER_BONUS
        j = i
        while j > first and keys[j - 1] < key:
            keys[j] = keys[j - 1]
            actions[j] = actions[j - 1]
            j -= 1
        keys[j] = key
        actions[j] = action
    return count - first


@kernel
def put_first(actions, count, action):
    """Move an action to the front, the others keeping their order; return whether it is there."""
    for i in range(count):
        if actions[i] == action:
            for j in range(i, 0, -1):
                actions[j] = actions[j - 1]
            actions[0] = action
            return True
    return False


@kernel
def open_action_window(frame, child, maximising, slack):
    """Set the window of the child about to be searched, by `slack` below the root's so that equal values show."""
    child.alpha, child.beta = frame.alpha - slack, frame.beta
    known = frame.alpha > -INFINITE if maximising else frame.beta < INFINITE
    frame.scouting = known and frame.next > 0 and not frame.again and frame.beta - frame.alpha > EPSILON
    if maximising:
        if frame.scouting:
            child.beta = frame.alpha + EPSILON
        elif frame.again:
            child.alpha = max(frame.alpha, frame.rest - EPSILON)
    elif frame.scouting:
        child.alpha = frame.beta - EPSILON
    elif frame.again:
        child.beta = min(frame.beta, frame.rest + EPSILON)
    frame.again = 0


@kernel
def fold_action(frame, child, action, maximising):
    """Fold the value of the child just searched into a player's node."""
    value = child.best
    better = value > frame.best if maximising else value < frame.best
    if frame.scouting and better and child.kind != EXACT and frame.alpha < value < frame.beta:
        # The scout found it to be better; how much better is to be seen.
        frame.rest, frame.again = value, 1
        frame.next -= 1
        return
    frame.proof &= child.proof
    if better:
        frame.best, frame.chosen, frame.best_proof = value, action, child.proof
        if maximising:
            frame.alpha = max(frame.alpha, value)
        else:
            frame.beta = min(frame.beta, value)


@kernel
def open_outcome_window(frame, child, p, bounds):
    """Set the window of an outcome of probability p: what it must bring for the sum to come into the node's window."""
    rest = frame.rest - p
    child.alpha = (frame.alpha - frame.best - rest * bounds[1]) / p
    child.beta = (frame.beta - frame.best - rest * bounds[0]) / p
    if child.alpha < bounds[0]:
        child.alpha = -INFINITE
    if child.beta > bounds[1]:
        child.beta = INFINITE


@kernel
def fold_outcome(frame, child, p, bounds, difference):
    """Fold the value of the outcome just searched into a chance node; it is done once its window is out of reach."""
    frame.best += p * child.best
    frame.rest = frame.rest - p if frame.next < frame.count else 0.0
    sign = sign_of(child.best, difference)
    if frame.next == 1:
        frame.sign = sign
    frame.proof &= child.proof if sign == frame.sign else child.proof & COMPLETE
    most, least = frame.best + frame.rest * bounds[1], frame.best + frame.rest * bounds[0]
    if child.kind == UPPER or most <= frame.alpha:
        frame.kind, frame.best, frame.next = UPPER, min(most, frame.alpha), frame.count
    elif child.kind == LOWER or least >= frame.beta:
        frame.kind, frame.best, frame.next = LOWER, max(least, frame.beta), frame.count


@kernel
def close_node(frame, maximising):
    """Settle what the value of a player's node is, and what is proven of it."""
    frame.kind = UPPER if frame.best <= frame.low else LOWER if frame.best >= frame.high else EXACT
    if frame.kind == (LOWER if maximising else UPPER):
        frame.proof = frame.best_proof  # one action is enough
    elif frame.proof & COMPLETE:
        frame.proof = COMPLETE | (frame.best_proof & SURE)


@kernel
def remember_cutoff(frame, killers, history):
    """Note the action that cut off a node."""
    if killers[0] != frame.chosen:
        killers[0], killers[1] = frame.chosen, killers[0]
    history[frame.chosen] += np.int64(frame.depth) * np.int64(frame.depth)


@kernel
def expand(state, frame, maximising, found, entries, actions, probabilities):
    """List what can happen at a node, its table move first where there is one."""
    frame.chosen, frame.unsorted = NONE, NONE
    frame.proof, frame.best_proof = COMPLETE | SURE, 0
    if state.current_player == CHANCE:
        frame.best, frame.rest, frame.kind = 0.0, 1.0, EXACT
        frame.count = verbs.chance_outcomes(state, actions, probabilities)
        return
    frame.best = -INFINITE if maximising else INFINITE
    frame.count = verbs.legal_actions(state, actions)
    first = found != NONE and put_first(actions, frame.count, entries[found].best)
    if frame.depth >= ORDER_DEPTH:
        frame.unsorted = 1 if first else 0


@kernel
def alpha_beta(work):
    """Go on searching ``work.states[0]``; return False where the limit of nodes was met before the end.

    It begins as `begin_root` or `begin_position` says. Written out with a stack: numba cannot cache self-recursive
    functions, and a stack can be left and gone back to.
    """
    # Names for all arrays: taken out of the tuple in the loop, each would be counted as one more and one less user.
    states, words, frames, actions, keys = work.states, work.words, work.frames, work.actions, work.keys
    probabilities, killers, history, values, sides = (
        work.probabilities,
        work.killers,
        work.history,
        work.values,
        work.sides,
    )
    bounds, root_values, root_proofs, counters = work.bounds, work.root_values, work.root_proofs, work.counters
    table, entries = work.table, work.table.entries
    player, difference, generation = counters[PLAYER], counters[DIFFERENCE_FIRST], counters[GENERATION]
    ply, entering, at_root = counters[PLY], counters[ENTERING] == 1, counters[TASK] != POSITION
    while True:
        state, frame = states[ply], frames[ply]
        mover = np.int64(state.current_player)
        maximising = mover >= 0 and sides[mover] == sides[player]
        kept = entries.shape[0] > 0 and frame.depth >= TABLE_DEPTH
        if entering:
            if counters[NODES] >= counters[LIMIT]:
                counters[PLY], counters[ENTERING] = ply, 1
                return False
            counters[NODES] += 1
            entering, found = False, NONE
            frame.low, frame.high = frame.alpha, frame.beta
            frame.next, frame.count, frame.again = 0, 0, 0
            if kept:
                frame.place, frame.check = make_key(words[ply], table)
                found = find_entry(entries, frame.place, frame.check, generation)
            if found != NONE and is_usable(entries[found], frame.depth, frame.alpha, frame.beta):
                frame.best, frame.chosen = entries[found].value, entries[found].best
                frame.kind, frame.proof = entries[found].knowledge & 3, entries[found].knowledge >> 2
            else:
                expand(state, frame, maximising, found, entries, actions[ply], probabilities[ply])
        if frame.next < frame.count and frame.alpha < frame.beta:
            child = frames[ply + 1]
            if mover == CHANCE:
                open_outcome_window(frame, child, probabilities[ply, frame.next], bounds)
                child.depth = frame.depth
            else:
                if frame.next == frame.unsorted:
                    frame.unsorted = NONE
                    counters[NODES] += sort_actions(
                        states,
                        ply,
                        player,
                        1.0 if maximising else -1.0,
                        difference,
                        frame.next,
                        frame.count,
                        actions[ply],
                        keys[ply],
                        killers[ply],
                        history[mover],
                        values,
                    )
                open_action_window(frame, child, maximising, EPSILON if ply == 0 and at_root else 0.0)
                child.depth = frame.depth - 1
            states[ply + 1] = state
            verbs.apply_action(states[ply + 1], actions[ply, frame.next])
            frame.next += 1
            follower = states[ply + 1].current_player
            if (follower == CHANCE or (follower >= 0 and child.depth > 0)) and ply + 2 < states.shape[0]:
                ply += 1
                entering = True
                continue
            counters[NODES] += 1
            child.best, child.kind = evaluate(states[ply + 1], player, difference, values), EXACT
            child.proof = COMPLETE | SURE if follower == TERMINAL else 0
        else:
            if ply == 0 and at_root:
                return True
            if frame.count > 0:
                if mover >= 0:
                    close_node(frame, maximising)
                    if frame.kind == (LOWER if maximising else UPPER):
                        remember_cutoff(frame, killers[ply], history[mover])
                if kept:
                    slot = entry_to_write(entries, frame.place, frame.check, generation, frame.depth)
                    knowledge = frame.kind + 4 * frame.proof
                    write_entry(
                        entries[slot], frame.check, generation, frame.depth, frame.chosen, frame.best, knowledge
                    )
            if ply == 0:
                return True
            ply -= 1
        # The child is known: fold it into its parent.
        parent, child = frames[ply], frames[ply + 1]
        mover = np.int64(states[ply].current_player)
        if mover == CHANCE:
            fold_outcome(parent, child, probabilities[ply, parent.next - 1], bounds, difference)
        else:
            fold_action(parent, child, actions[ply, parent.next - 1], sides[mover] == sides[player])
            if ply == 0 and at_root and not parent.again:
                root_values[parent.next - 1], root_proofs[parent.next - 1] = child.best, child.proof
                if counters[TASK] == EVERY:
                    parent.alpha = -INFINITE
