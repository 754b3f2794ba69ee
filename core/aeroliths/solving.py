"""Aeroliths: the exact solver for everything known to all; Chaos is left to the generic one.

Tables and the first frame are filled here from a kernel state; the search is in ending_search.py.
"""

import math

import numpy as np

from trilithon.core.aeroliths.ending_positions import (
    EDGE,
    MOST_IN_HAND,
    NO_MOVE,
    WORK,
    all_captures,
    final_value,
    prepare,
)
from trilithon.core.aeroliths.ending_search import examine, look_up, play, search, solve_frame
from trilithon.core.aeroliths.kernels import MAX_CELLS, MAX_SLOTS, NEIGHBOURS
from trilithon.core.errors import SolverLimitError
from trilithon.core.solving import RETURN, Solved

RULES = ("same", "plus", "plus_own", "wall", "in_order")
FRAME = ("own", "opponent", "hand", "other_hand")


class AerolithsSolver:
    """`solving.ExactSolver` for games of one set of options, Chaos left out; see the module."""

    def __init__(self, width: int) -> None:
        self._cells = width * width
        self._works = np.zeros(1, WORK)
        work = self._works[0]
        faces = np.full((MAX_CELLS, 4), -1)
        faces[: self._cells] = NEIGHBOURS[width, : self._cells]
        bits = np.where(faces < 0, 0, 1 << np.maximum(faces, 0))
        columns = np.arange(self._cells) % width
        work["cell_count"], work["row"], work["every_cell"] = self._cells, width, (1 << self._cells) - 1
        work["not_first"], work["not_last"] = (int((1 << np.flatnonzero(columns != c)).sum()) for c in (0, width - 1))
        work["neighbours"] = np.where(faces < 0, EDGE, faces)
        work["capture"] = sum(bits[:, s, None] * (np.arange(16) >> s & 1) for s in range(4))
        rng = np.random.default_rng(1)
        work["keys"] = rng.integers(0, 2**63, work["keys"].shape, np.uint64) * np.uint64(2) + np.uint64(1)
        self._table = np.zeros((1 << (16 if width == 3 else 21), 2), np.uint64)
        self._solves = 0

    def estimate(self, states: np.ndarray) -> float:
        """Return about how many nodes a solve takes, from random positions; infinity where it cannot be done."""
        state = states[0]
        repeats = state["sudden_death"] and self._cells % 2 == 0 and state["round_number"] + 1 < state["max_rounds"]
        if state["chaos"] or state["pool_left"] or repeats:
            return math.inf
        empty = self._cells - (int(state["owned"][0]) | int(state["owned"][1])).bit_count()
        rules = 2.6 if state["same"] or state["plus"] else 1.0
        return float(math.ceil(12_000 * rules * 5.1 ** (empty - 8)))

    def solve(self, states: np.ndarray, every_action: bool, objective: str) -> Solved:
        """See `ExactSolver`."""
        state = states[0]
        in_hand = sum(int(left).bit_count() for left in state["hand_left"])
        if in_hand > MOST_IN_HAND:
            raise SolverLimitError(
                f"solving takes about {self.estimate(states):.1e} nodes, "
                f"and {in_hand} Lithos are in the hands; allowed: at most {MOST_IN_HAND}"
            )
        self._prepare(state)
        outcome_alone = objective == RETURN
        value, action = self._best(outcome_alone)
        if not every_action:
            solved = self._report([action], np.array([value]), objective)
        else:
            actions = self._legal()
            solved = self._report(actions, np.array([self._after(a, value, outcome_alone) for a in actions]), objective)
        solved.principal_variation = self._variation(value, action, outcome_alone)
        solved.nodes = int(self._works["nodes"][0])
        player = int(state["mover"])
        if player == 1:
            solved.values = solved.values[:, ::-1].copy()
        return solved

    # ------------------------------------------------------------------------------------------------------- tables

    def _prepare(self, state: np.void) -> None:
        """Fill the tables and the first frame for a position."""
        work, mover, left = self._works[0], int(state["mover"]), state["hand_left"].astype(int)
        owned = state["owned"].astype(int)
        numbers: list[int] = []  # of the state's Lithos: those in hand first
        self._slots: list[int] = []
        hands = [0, 0]
        work["before"] = work["twins"] = 0
        for player in (0, 1):
            for slot in range(MAX_SLOTS):
                if left[player] >> slot & 1:
                    work["before"][len(numbers)] = hands[player]
                    hands[player] |= 1 << len(numbers)
                    numbers.append(int(state["hand"][player, slot]))
                    self._slots.append(slot)
        work["in_hand"] = len(numbers)
        work["words"] = work["values"] = work["strong"] = work["board"] = 0
        for cell in range(self._cells):
            if (owned[0] | owned[1]) >> cell & 1:
                work["board"][cell] = len(numbers)
                numbers.append(int(state["board"][cell]))
        lithos = state["lithos"][numbers].astype(np.int64)
        count = len(numbers)
        sides = np.stack([lithos >> 4 * s & 15 for s in range(4)])
        work["lithos"][:count], work["sums"][:count] = lithos, sides.sum(axis=0)
        work["spread"][:count] = (sides << 8 * np.arange(4)[:, None]).sum(axis=0)
        work["values"][EDGE] = 0x0A0A0A0A
        if not state["in_order"]:
            for later in range(work["in_hand"]):
                for earlier in range(later):
                    if work["before"][later] >> earlier & 1 and lithos[earlier] == lithos[later]:
                        work["twins"][later] |= 1 << earlier
        work["litho_count"] = count
        for name in RULES:
            work[name] = state[name]
        work["special"] = state["same"] or state["plus"]
        work["combo"] = state["combo"] and work["special"]
        work["nodes"] = 0
        self._start_table(level_by_sums=False)
        prepare(state, work)
        work["own"][0], work["hand"][0] = owned[mover], hands[mover]
        work["opponent"][0], work["other_hand"][0] = owned[1 - mover], hands[1 - mover]

    def _start_table(self, level_by_sums: bool) -> None:
        """Begin with no entries: those from before have another salt."""
        self._solves += 1
        self._works["salt"] = self._solves * 0x9E3779B97F4A7C15 % 2**64
        self._works["level_by_sums"] = level_by_sums

    # ------------------------------------------------------------------------------------------------------- values

    def _value(self, guess: int, outcome_alone: bool) -> int:
        """The value of frame 0; of the outcome alone the sign, times 1 or more."""
        works, table = self._works, self._table
        if self._cells % 2:
            return int(solve_frame(works, table, 1 if outcome_alone else guess, 2, outcome_alone))
        if not works["level_by_sums"][0]:
            if outcome_alone:
                value = int(solve_frame(works, table, 2, 2, True))
                if value >= 2:
                    return value
                value = int(solve_frame(works, table, 0, 2, True))
                if value < 0:
                    return value
            else:
                value = int(solve_frame(works, table, guess + guess % 2, 2, False))
                if value:
                    return value
            # Level: now the sums of the sides decide, so they must be told apart everywhere.
            self._start_table(level_by_sums=True)
        return int(solve_frame(works, table, 1, 1, False))

    def _best(self, outcome_alone: bool) -> tuple[int, int]:
        """The value of the position and an action that has it."""
        value = self._value(2 - self._cells % 2, outcome_alone)
        move = int(self._works["best_move"][0, 0])
        if move != NO_MOVE:
            return value, self._action(move)
        return value, self._optimal(value, outcome_alone)

    def _optimal(self, value: int, outcome_alone: bool) -> int:
        """An action of frame 0 that has its value; the one in the table is tried first."""
        work = self._works[0]
        examine(work, 0)
        move = int(look_up(self._table, work["key"][0])) >> 16 & 1023
        legal = self._legal()
        if move != NO_MOVE and self._action(move) in legal:
            legal.insert(0, self._action(move))
        # The value itself rests on one of them.
        return next((a for a in legal[:-1] if self._reaches(a, value, outcome_alone)), legal[-1])

    def _reaches(self, action: int, value: int, outcome_alone: bool) -> bool:
        """Whether an action of frame 0 leads to its value (or, of the outcome alone, to its sign)."""
        if outcome_alone and value < 0:
            return True  # they all lose
        goal = 1 - (min(value, 1) if outcome_alone else value)
        before = self._descend(action)
        found = int(search(self._works, self._table, goal)) if self._empty() else self._final()
        reached = found < goal
        self._restore(before)
        return reached

    def _after(self, action: int, value: int, outcome_alone: bool) -> int:
        """The value of an action of frame 0 for its mover, `value` being the frame's."""
        before = self._descend(action)
        result = self._value(2 - value, outcome_alone) if self._empty() else self._final()
        self._restore(before)
        return -result

    def _variation(self, value: int, action: int, outcome_alone: bool) -> list[int]:
        """Best play of both from frame 0 on, beginning with `action`."""
        line = [action]
        before = self._descend(action)
        while self._empty():
            value = -value
            line.append(self._optimal(value, outcome_alone))
            self._descend(line[-1])
        self._restore(before)
        return line

    # ------------------------------------------------------------------------------------------------------ actions

    def _empty(self) -> int:
        """Empty cells of frame 0."""
        return self._cells - int(self._works["own"][0, 0] | self._works["opponent"][0, 0]).bit_count()

    def _final(self) -> int:
        """The value of frame 0 when the board is full."""
        work = self._works[0]
        return int(final_value(work, work["own"][0], work["opponent"][0]))

    def _action(self, move: int) -> int:
        """The action of a packed move."""
        return self._slots[move >> 5 & 31] * self._cells + (move & 31)

    def _legal(self) -> list[int]:
        """The legal actions of frame 0, ascending."""
        work = self._works[0]
        hand, filled = int(work["hand"][0]), int(work["own"][0] | work["opponent"][0])
        lithos = [litho for litho in range(len(self._slots)) if hand >> litho & 1]
        if work["in_order"]:
            lithos = lithos[:1]
        cells = [cell for cell in range(self._cells) if not filled >> cell & 1]
        return sorted(self._slots[litho] * self._cells + cell for litho in lithos for cell in cells)

    def _descend(self, action: int) -> list[int]:
        """Put the position after an action in frame 0; return what was there."""
        work = self._works[0]
        before = [int(work[name][0]) for name in FRAME]
        slot, cell = divmod(action, self._cells)
        own, opponent, hand, _ = before
        litho = next(n for n, s in enumerate(self._slots) if s == slot and hand >> n & 1)
        captured = all_captures(work, litho, cell, own, opponent)
        play(work, 0, captured << 11 | litho << 5 | cell)
        for name in FRAME:
            work[name][0] = work[name][1]
        return before

    def _restore(self, before: list[int]) -> None:
        """Put back what `_descend` returned."""
        for name, value in zip(FRAME, before, strict=True):
            self._works[name][0, 0] = value

    def _report(self, actions: list[int], values: np.ndarray, objective: str) -> Solved:
        """Actions and their values for the mover as returns and leads, the mover's entry first."""
        own = np.sign(values).astype(np.float64)
        leads = np.where(np.abs(values) > 1, values, 0) if self._cells % 2 == 0 else values
        ranks = own if objective == RETURN else values
        return Solved(
            actions=np.array(actions, np.int64),
            values=np.stack([own, -own], axis=1),
            differences=None if objective == RETURN else leads.astype(np.float64),
            best=ranks == ranks.max(),
        )
