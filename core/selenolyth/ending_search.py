"""The Selenolyth: the search for the value of a late position; see solving.py for what it does and why."""

import math

import numpy as np

from trilithon.core.jit import kernel
from trilithon.core.selenolyth.ending_positions import (
    MOST_STONES,
    RICOCHET,
    SKIP,
    enter,
    follow,
    slot_of,
    store,
)
from trilithon.core.selenolyth.kernels import FULL, SELENOLYTH, STONES, WIDTH, has_square

DEPTH = 2 * MOST_STONES + 2  # positions on the way: one a stone, and its partner where turns are skipped
DONE = SKIP + 1  # the job beside ``way * 6 + file`` and SKIP: there is none
FINISHED, FULL_TABLE, PAUSED = range(3)  # how a search left off
_TINY = 1e-13


@kernel
def next_job(frame, values):
    """Return what to search next: ``way * 6 + file`` (way RICOCHET: any file), SKIP, or DONE with ``frame.value`` set.

    Of the actions that could still be the best, that with the highest possible value goes first.
    """
    skip_low, skip_high = frame.lower, frame.upper
    if frame.skip_known:
        skip_low = skip_high = frame.skip
    ricochet_high = frame.upper if frame.unknown_ricochets else frame.ricochet
    best, top, job = -np.inf, -np.inf, DONE
    # Twice over all actions: the best value that is sure, then what might exceed it.
    for look in range(2):
        for kind in range(STONES):
            if frame.own[kind] == 0:
                continue
            for file in range(WIDTH):
                free = frame.free[file]
                if free == 0:
                    continue
                taken = WIDTH - free
                todo = frame.unknown[kind, file] > 0
                low = high = frame.sums[kind, file]
                missing = kind * WIDTH + file
                if taken:
                    if kind == SELENOLYTH:
                        low = high = low + taken * ricochet_high
                        if not todo and frame.unknown_ricochets:
                            todo, missing = True, RICOCHET * WIDTH
                    else:
                        low, high = low + taken * skip_low, high + taken * skip_high
                low, high = low / 6.0, high / 6.0
                if free == 1:  # by Will the stone goes there without the die
                    high = max(high, frame.sums[kind, file])
                    if frame.unknown[kind, file] == 0:
                        best = max(best, frame.sums[kind, file])
                if look == 0:
                    if not todo:
                        best = max(best, low)
                elif frame.every or high > best + _TINY:
                    if todo and high > top:
                        top, job = high, missing
                    elif job == DONE and not todo and taken and kind != SELENOLYTH and not frame.skip_known:
                        job = SKIP
    frame.value = best
    return job


@kernel
def learn(frame, values, value):
    """The outcome that was searched, ``frame.way`` and ``frame.cell``, is worth `value` to the mover."""
    way, cell = frame.way, frame.cell
    if way == SKIP:
        frame.skip, frame.skip_known = value, 1
        return
    values[way, cell] = value
    if way == RICOCHET:
        frame.ricochet = max(frame.ricochet, value)
        frame.unknown_ricochets = 0 if frame.ricochet > frame.upper - _TINY else frame.unknown_ricochets - 1
    else:
        frame.sums[way, cell % WIDTH] += value - frame.upper
        frame.unknown[way, cell % WIDTH] -= 1


@kernel
def first_unknown(frame, values, job):
    """Return (way, cell) of an outcome of this job that is still to be searched."""
    way = job // WIDTH
    cell, step = (0, 1) if way == RICOCHET else (job % WIDTH, WIDTH)
    while (frame.occupied >> cell) & 1 or not math.isnan(values[way, cell]):
        cell += step
    return way, cell


@kernel
def respond(frame, constant, slope):
    """Return (value, certain, share): the mover's best if a skipped turn is worth ``slope * value - constant``.

    The action found is worth `certain` and `share` times a skipped turn.
    """
    best, certain, share = -np.inf, 0.0, 0.0
    for kind in range(STONES):
        if frame.own[kind] == 0:
            continue
        for file in range(WIDTH):
            free = frame.free[file]
            if free == 0 or frame.unknown[kind, file]:
                continue
            c, q = frame.sums[kind, file] / 6.0, (WIDTH - free) / 6.0
            if kind == SELENOLYTH and q > 0.0:
                if frame.unknown_ricochets:
                    c = -np.inf
                else:
                    c, q = c + q * frame.ricochet, 0.0
            value = (c - q * constant) / (1.0 - q * slope)
            if value > best:
                best, certain, share = value, c, q
            if free == 1 and frame.sums[kind, file] > best:
                best = certain = frame.sums[kind, file]
                share = 0.0
    return best, certain, share


@kernel
def settle_pair(frame, partner):
    """Set the values of a position and of the same one with the other player to move, each a skip from the other."""
    _, certain, share = respond(partner, 0.0, 0.0)
    while True:
        # The partner's choice is held: a skipped turn costs `certain`, less `share` of what it leads back to.
        value, _, _ = respond(frame, certain, share)
        held = certain - share * value
        better, certain, share = respond(partner, value, 0.0)
        if better <= held + _TINY:
            break
    frame.value, partner.value = value, better
    frame.skip, partner.skip = -better, -value
    frame.skip_known = partner.skip_known = 1


@kernel
def quick_value(frame):
    """Return 1 where the mover's only stone is a Selenolyth that has a safe cell, so that every roll wins; else NaN."""
    if frame.own[0] == 1 and frame.own[1] == 0 and frame.own[2] == 0:
        free = FULL & ~frame.occupied
        while free:
            if not has_square(frame.occupied | (free & -free)):
                return 1.0
            free &= free - 1
    return np.nan


@kernel
def search(frames, values, keys, found, counters, eclipse_value, most_nodes):
    """Find ``frames[0].value``, the position's value for its mover; return FINISHED, FULL_TABLE or PAUSED.

    ``counters`` are the positions entered and the entries of the table, `keys` and `found`. A search that left off
    early is begun again from ``frames[0]``; the table knows most of the way.
    """
    depth = 0
    last = counters[0] + most_nodes
    counters[0] += 1
    enter(frames[0], values[0], eclipse_value)
    while True:
        frame = frames[depth]
        job = next_job(frame, values[depth])
        if job == DONE or (job == SKIP and frame.partner):
            if job == SKIP:
                settle_pair(frames[depth - 1], frame)
            store(keys, found, counters, frame.key, frame.value)
            if depth == 0:
                return FINISHED
            depth -= 1
            learn(frames[depth], values[depth], -frame.value)
            continue
        child = frames[depth + 1]
        frame.way = SKIP
        if job != SKIP:
            frame.way, frame.cell = first_unknown(frame, values[depth], job)
        follow(frame, child)
        value = quick_value(child)
        if math.isnan(value):
            slot = slot_of(keys, child.key)
            if keys[slot] == child.key:
                value = found[slot]
        if not math.isnan(value):
            learn(frame, values[depth], -value)
            continue
        if counters[1] + DEPTH > keys.shape[0] * 3 // 4:
            return FULL_TABLE
        if counters[0] >= last:
            return PAUSED
        counters[0] += 1
        depth += 1
        enter(child, values[depth], eclipse_value)
