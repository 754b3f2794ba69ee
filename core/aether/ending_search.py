"""Aether: the searches for the value of a late position in which every hand is known; see solving.py."""

import numpy as np

from trilithon.core.aether.ending_positions import make_key, skip_idle_draw
from trilithon.core.aether.kernels import apply_action, chance_outcomes, legal_actions, returns
from trilithon.core.jit import kernel
from trilithon.core.table import is_crowded, is_free, row_of, row_to_fill
from trilithon.core.verbs import CHANCE, TERMINAL, record_dtype

FINISHED, CROWDED, PAUSED = range(3)  # how a search left off
TIE = 1e-12

FRAME = record_dtype(
    [
        ("alpha", np.float64),  # the window now, and at the beginning
        ("beta", np.float64),
        ("first_alpha", np.float64),
        ("first_beta", np.float64),
        ("best", np.float64),  # the best value so far; at chance the sum over the outcomes looked at
        ("rest", np.float64),  # probability of the outcomes not looked at
        ("next", np.int32),  # of the node's actions or outcomes
        ("count", np.int32),
        ("chosen", np.int32),  # the best action
    ]
)


@kernel
def sort_actions(actions, k, first, merits):
    """Sort ``actions[:k]``: `first`, then by merit, the greatest first."""
    for i in range(1, k):
        action = actions[i]
        j = i
        while j > 0 and (action == first or (actions[j - 1] != first and merits[actions[j - 1]] < merits[action])):
            actions[j] = actions[j - 1]
            j -= 1
        actions[j] = action


@kernel
def alpha_beta(states, frames, node_keys, actions, probabilities, merits, places, keys, rows, counts, scratch, most):
    """Return (value of ``states[0]`` for side 0, how the search left off); returns lie within -`most` .. `most`.

    Fail-soft alpha-beta for two sides; at chance nodes with Star1's window: what this outcome must bring to matter if
    all that follow bring the best, or the worst, that there is (Ballard 1983). ``keys`` and ``rows`` are a table of
    (lower bound, upper bound, best action). `counts` are nodes so far, where to pause, entries of the table, and
    whether it can grow, the ply to begin at (0, or where the search left off). The other arrays are work space with a
    row for each ply; `merits`, float64 ``[2, A]``, order the actions.
    """
    ply, entering, value = counts[4], True, 0.0
    # Sums over outcomes are rounded: what is as good as `most` within TIE is not searched for more.
    edge = most - TIE
    if ply == 0:
        frames[0].alpha = frames[0].first_alpha = -edge
        frames[0].beta = frames[0].first_beta = edge
    while True:
        state, frame = states[ply], frames[ply]
        done = False
        if entering:
            skip_idle_draw(state, actions[ply], probabilities[ply])
            if state.current_player == TERMINAL:
                returns(state, scratch)
                value, done = scratch[0], True
            else:
                make_key(state, places, node_keys[ply])
                row = row_of(keys, node_keys[ply])
                first = np.int32(-1)
                if not is_free(keys, row):
                    low, high, first = rows[row, 0], rows[row, 1], np.int32(rows[row, 2])
                    if low >= frame.beta or low >= high:
                        value, done = low, True
                    elif high <= frame.alpha:
                        value, done = high, True
                elif counts[3] and is_crowded(keys, counts[2]):
                    counts[4] = ply
                    return value, CROWDED
                elif counts[0] >= counts[1]:
                    counts[4] = ply
                    return value, PAUSED
            counts[0] += 1
            if done:
                if ply == 0:
                    return value, FINISHED
                ply, entering = ply - 1, False
                continue
            frame.next, frame.chosen, frame.rest = 0, -1, 1.0
            if state.current_player == CHANCE:
                frame.best = 0.0
                frame.count = chance_outcomes(state, actions[ply], probabilities[ply])
            else:
                side = state.current_player & 1
                frame.best = np.inf if side else -np.inf
                frame.count = legal_actions(state, actions[ply])
                sort_actions(actions[ply], frame.count, first, merits[side])
        elif state.current_player == CHANCE:
            value, done = _add_outcome(frame, frames[ply + 1], probabilities[ply, frame.next - 1], value, most)
        else:
            value, done = _add_action(frame, state.current_player & 1, actions[ply, frame.next - 1], value)
        if done:
            if frame.chosen >= 0:
                merits[state.current_player & 1, frame.chosen] += np.float64(state.empty_count) ** 2
            _store(keys, rows, counts, node_keys[ply], frame, value, most)
            if ply == 0:
                return value, FINISHED
            ply, entering = ply - 1, False
            continue
        child = frames[ply + 1]
        child.alpha, child.beta = frame.alpha, frame.beta
        if state.current_player == CHANCE:
            p = probabilities[ply, frame.next]
            frame.rest -= p
            child.alpha = min(max((frame.alpha - frame.best - frame.rest * most) / p, -edge), edge)
            child.beta = min(max((frame.beta - frame.best + frame.rest * most) / p, -edge), edge)
        child.first_alpha, child.first_beta = child.alpha, child.beta
        states[ply + 1] = state
        apply_action(states[ply + 1], actions[ply, frame.next])
        frame.next += 1
        ply, entering = ply + 1, True


@kernel
def _add_outcome(frame, child, p, value, most):
    """An outcome of a chance node is worth `value`: return (the node's value, or a bound outside its window; done).

    Bounds are cut at the window, so that rounding never lets one pass for a value.
    """
    total = frame.best + p * value
    if value <= child.first_alpha and child.first_alpha > TIE - most:
        return min(total + frame.rest * most, frame.alpha), True
    if value >= child.first_beta and child.first_beta < most - TIE:
        return max(total - frame.rest * most, frame.beta), True
    frame.best = total
    if frame.next == frame.count:
        return total, True
    if total + frame.rest * most <= frame.alpha:
        return min(total + frame.rest * most, frame.alpha), True
    if total - frame.rest * most >= frame.beta:
        return max(total - frame.rest * most, frame.beta), True
    return total, False


@kernel
def _add_action(frame, side, action, value):
    """An action is worth `value`: return (the node's value, done)."""
    if side == 0 and value > frame.best:
        frame.best, frame.chosen, frame.alpha = value, action, max(frame.alpha, value)
    elif side == 1 and value < frame.best:
        frame.best, frame.chosen, frame.beta = value, action, min(frame.beta, value)
    return frame.best, frame.next == frame.count or frame.alpha >= frame.beta


@kernel
def _store(keys, rows, counts, key, frame, value, most):
    """Keep what is now known of a node."""
    row = row_to_fill(keys, key, counts[2])
    if row < 0:
        return
    if keys[row, 0] != key[0] or keys[row, 1] != key[1]:
        counts[2] += is_free(keys, row)
        keys[row] = key
        rows[row, 0], rows[row, 1] = -most, most
    if value < frame.first_beta:
        rows[row, 1] = min(rows[row, 1], value)
    if value > frame.first_alpha:
        rows[row, 0] = max(rows[row, 0], value)
    rows[row, 2] = frame.chosen


@kernel
def max_n(states, frames, node_keys, actions, probabilities, best, places, keys, rows, counts, scratch, most):
    """Fill ``best[0]`` with every player's value of ``states[0]``; return how the search left off.

    Every player takes the action with the best own value, the first of equal ones (Luckhardt and Irani 1986). As
    `alpha_beta`, but ``rows`` are the values, and `best`, float64 ``[P, n]``, is work space.
    """
    ply, entering = counts[4], True
    while True:
        state, frame = states[ply], frames[ply]
        done = False
        if entering:
            skip_idle_draw(state, actions[ply], probabilities[ply])
            frame.next, frame.count, frame.chosen = 0, 0, -1
            if state.current_player == TERMINAL:
                returns(state, best[ply])
                done = True
            else:
                make_key(state, places, node_keys[ply])
                row = row_of(keys, node_keys[ply])
                if not is_free(keys, row):
                    best[ply] = rows[row]
                    done = True
                elif counts[3] and is_crowded(keys, counts[2]):
                    counts[4] = ply
                    return CROWDED
                elif counts[0] >= counts[1]:
                    counts[4] = ply
                    return PAUSED
                elif state.current_player == CHANCE:
                    best[ply] = 0.0
                    frame.count = chance_outcomes(state, actions[ply], probabilities[ply])
                else:
                    frame.count = legal_actions(state, actions[ply])
            counts[0] += 1
        else:
            player, after = state.current_player, best[ply + 1]
            if player == CHANCE:
                for other in range(after.shape[0]):
                    best[ply, other] += probabilities[ply, frame.next - 1] * after[other]
            elif frame.chosen < 0 or after[player] > best[ply, player] + TIE:
                best[ply] = after
                frame.chosen = actions[ply, frame.next - 1]
            done = frame.next == frame.count or (player >= 0 and best[ply, player] >= most - TIE)
            if done:
                row = row_to_fill(keys, node_keys[ply], counts[2])
                if row >= 0:
                    counts[2] += is_free(keys, row)
                    keys[row], rows[row] = node_keys[ply], best[ply]
        if done:
            if ply == 0:
                return FINISHED
            ply, entering = ply - 1, False
            continue
        states[ply + 1] = state
        apply_action(states[ply + 1], actions[ply, frame.next])
        frame.next += 1
        ply, entering = ply + 1, True
