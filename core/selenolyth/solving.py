"""The Selenolyth: late positions solved exactly, dice by expectation.

A position at the beginning of a turn is 61 bits: the board's 36, for each player which stones are left and how much
Luminance is still wanted, and in games about to be cut off the turns left. Its value is the mover's expected return
under best play of both, found depth first with a table of exact values. The action whose value could still be the
highest is looked into first, every unknown outcome counting as the best that can happen; once the best known action is
no less than what all others could reach, the rest is never looked at. (That is the bound of Star1, Ballard 1983,
without a window from above: every value in the table is exact and serves everywhere.) Files or ranks exchanged give
the same position.

Each turn takes a stone from the reserves, except one: a Shard that meets a stone goes back, and the same position
comes again with the other player to move. The two positions form a cycle of max equations with a contraction of at
most 25/36 (some square of the chosen file is free), so its value is unique, and it is solved rather than cut: one
player's choice is held while the other's best answer to it is found in closed form, until no choice can be improved
(Hoffman and Karp 1966).

**max_turns.** A position that ends before `max_turns` if nobody skips is solved as the endless game: only endless
skipping could reach the limit, and that is worth 0. Where the limit comes sooner it is part of the position, and every
turn counts.
"""

import math

import numpy as np

from trilithon.core import verbs
from trilithon.core.errors import SolverLimitError
from trilithon.core.game import copy_of
from trilithon.core.selenolyth.ending_positions import FRAME, MOST_STONES, WAYS, rehash
from trilithon.core.selenolyth.ending_search import DEPTH, FINISHED, FULL_TABLE, search
from trilithon.core.selenolyth.kernels import CELLS, NUM_ACTIONS, SELENOLYTH, STONES, WIDTH, WILL
from trilithon.core.solving import Solved
from trilithon.core.verbs import CHANCE, TERMINAL

MOST_ENTRIES = 1 << 26  # of the table, 16 bytes each; half as much again while it grows
_CHUNK = 20_000_000  # positions between looks at the outside world


def turns_without_skips(own: int, other: int) -> int:
    """Return after how many turns a reserve is empty at the latest, if the mover has `own` stones and nobody skips."""
    return min(2 * own - 1, 2 * other)


class SelenolythSolver:
    """Positions with at most eight stones in both reserves together; its table serves any number of them."""

    largest = f"{MOST_STONES} stones in both reserves together"

    def __init__(self) -> None:
        self._frames = np.zeros(DEPTH, FRAME)
        self._values = np.zeros((DEPTH, WAYS, CELLS))
        self._eclipse_value = 0.0
        self.most_nodes = 1 << 62  # a search that goes beyond ends with `SolverLimitError`
        self._clear()

    def _clear(self) -> None:
        self._keys, self._found = np.zeros(1 << 12, np.int64), np.zeros(1 << 12)
        self._counters = np.zeros(2, np.int64)

    def estimate(self, states: np.ndarray) -> float:
        """Return about how many positions are entered; infinity with more than eight stones in reserve.

        Fitted to 760 random positions (off by a factor of four, one standard deviation): the ways to put as many
        stones as can be put before the last turn but one, and factors for what those stones can be and do.
        """
        state = states[0]
        reserve = state["reserve"].astype(np.int64)
        total, shards = int(reserve.sum()), reserve[:, 1:].sum(axis=1)
        if total > MOST_STONES:
            return math.inf
        mover, free = int(state["mover"]), CELLS - int(state["occupied"]).bit_count()
        own, other = (int(reserve[player].sum()) for player in (mover, 1 - mover))
        turns = turns_without_skips(own, other)
        if shards[1 - mover] if own > other else shards[mover]:
            turns = total - 1  # who would be last may skip while the other one goes on
        if state["max_turns"] - state["turns"] < turns:
            turns = int(state["max_turns"] - state["turns"])
        put = max(turns - 2, 0)
        ways = math.lgamma(free + 1) - math.lgamma(put + 1) - math.lgamma(max(free - put, 0) + 1)
        bright = int((state["luminance_goal"] - state["luminance"].astype(np.int64) <= 4 * shards).sum())
        kinds = int((reserve > 0).sum())
        exponent = 1.43 * ways - 0.47 * put + 0.64 * (kinds - 2) + 0.79 * bright + 0.15 * np.minimum(shards, 3).sum()
        if CELLS - free + total <= 9:
            exponent -= 3.0  # too few stones for a square
        return math.exp(max(float(exponent), 0.0))

    def solve(self, states: np.ndarray, every_action: bool, objective: str) -> Solved:
        """Solve ``states[0]``; there is no difference to play for, so `objective` does not matter."""
        mover = int(states["mover"][0])
        self._counters[0] = 0
        if states["pending"][0] >= 0:
            actions, own = self._ricochets(states)
        else:
            own = self._rolls(states, every_action)
            actions = np.flatnonzero(~np.isnan(own))
            own = own[actions]
        best = own > own.max() - 1e-9
        if not every_action:
            keep = np.flatnonzero(best)[:1]
            actions, own, best = actions[keep], own[keep], best[keep]
        values = np.zeros((len(actions), 2))
        values[:, mover], values[:, 1 - mover] = own, -own
        variation = self._variation(states, int(actions[int(best.argmax())]))
        return Solved(actions.astype(np.int64), values, None, best, variation, int(self._counters[0]))

    def _search(self, states: np.ndarray, every: bool) -> float:
        """The value of ``states[0]``, the beginning of a turn, for its mover; afterwards ``frames[0]`` tells more."""
        state = states[0]
        if float(state["eclipse_value"]) != self._eclipse_value:
            self._clear()
            self._eclipse_value = float(state["eclipse_value"])
        while True:
            self._begin(state, every)
            most = min(_CHUNK, self.most_nodes - int(self._counters[0]))
            status = search(
                self._frames, self._values, self._keys, self._found, self._counters, self._eclipse_value, most
            )
            if status == FINISHED:
                return float(self._frames["value"][0])
            if status == FULL_TABLE:
                self._grow()
            elif self._counters[0] >= self.most_nodes:
                raise SolverLimitError(f"selenolyth: solving this position takes more than {self._counters[0]:,} nodes")

    def _begin(self, state: np.ndarray, every: bool) -> None:
        """Write the position into ``frames[0]``."""
        frame, mover = self._frames[:1], int(state["mover"])
        reserve = state["reserve"].astype(np.int64)
        if reserve.sum() > MOST_STONES:
            raise SolverLimitError(
                f"selenolyth: {reserve.sum()} stones in both reserves are too many to solve; allowed: {MOST_STONES}"
            )
        frame["occupied"], frame["every"], frame["partner"] = state["occupied"], every, 0
        frame["own"], frame["other"] = reserve[mover], reserve[1 - mover]
        needs = int(state["luminance_goal"]) - state["luminance"].astype(np.int64)
        frame["need"], frame["other_need"] = needs[mover], needs[1 - mover]
        own, other = reserve.sum(axis=1)[[mover, 1 - mover]]
        left = int(state["max_turns"]) - int(state["turns"])
        frame["left"] = left if left < turns_without_skips(own, other) else 0

    def _grow(self) -> None:
        """Make room in the table."""
        size = 4 * len(self._keys) if len(self._keys) < MOST_ENTRIES // 4 else 2 * len(self._keys)
        if size > MOST_ENTRIES:
            raise SolverLimitError(
                f"selenolyth: this position needs a table of more than {self._counters[1]:,} positions; "
                f"allowed: {MOST_ENTRIES * 3 // 4:,}"
            )
        keys, found = np.zeros(size, np.int64), np.zeros(size)
        rehash(self._keys, self._found, keys, found)
        self._keys, self._found = keys, found

    def _rolls(self, states: np.ndarray, every_action: bool) -> np.ndarray:
        """Values for the mover of rolls and Wills, float64 ``[36]``; NaN: illegal, or not looked for."""
        self._search(states, every_action)
        out = np.full(2 * WILL, np.nan)
        frame = self._frames[0]
        for kind in range(STONES):
            for file in range(WIDTH):
                free = int(frame["free"][file])
                if not frame["own"][kind] or not free:
                    continue
                action = kind * WIDTH + (WIDTH - 1 - file if states["mover"][0] else file)
                if frame["unknown"][kind, file]:
                    continue
                certain = float(frame["sums"][kind, file])
                elsewhere = frame["ricochet"] if kind == SELENOLYTH else frame["skip"]
                known = not frame["unknown_ricochets"] if kind == SELENOLYTH else frame["skip_known"]
                if free == WIDTH:
                    out[action] = certain / WIDTH
                elif known:
                    out[action] = (certain + (WIDTH - free) * float(elsewhere)) / WIDTH
                if free == 1:
                    out[WILL + action] = certain
        return out

    def _ricochets(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mover's actions with a stone that ricochets, and their values."""
        out = np.empty(NUM_ACTIONS + 1, np.int32)
        actions = out[: verbs.legal_actions(states[0], out)].astype(np.int64)
        return actions, np.array([self._after(states, int(action)) for action in actions])

    def _after(self, states: np.ndarray, action: int) -> float:
        """The value for the mover of a turn that ends with `action`, without chance."""
        after = copy_of(states)
        verbs.apply_action(after[0], action)
        if after["current_player"][0] == TERMINAL:
            returns = np.zeros(2)
            verbs.returns(after[0], returns)
            return float(returns[states["mover"][0]])
        return -self._search(after, False)

    def _variation(self, states: np.ndarray, action: int) -> list[int]:
        """The best action, and what follows it until the die is rolled or the game ends."""
        variation, states = [action], copy_of(states)
        while True:
            verbs.apply_action(states[0], variation[-1])
            if states["current_player"][0] in (CHANCE, TERMINAL):
                return variation
            own = self._rolls(states, True)
            variation.append(int(np.flatnonzero(own > np.nanmax(own) - 1e-9)[0]))
