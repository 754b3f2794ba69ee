"""Aeroliths: the exact solver for everything known to all; Chaos is left to the generic one.

Tables and the first frame are filled here from a kernel state; the search is in ending_search.py.
"""

import math

import numpy as np

from trilithon.core.aeroliths.ending_search import (
    BEATERS,
    BEFORE,
    BEST_MOVE,
    BOARD,
    CELL_COUNT,
    COMBO,
    EDGE,
    FACES,
    FRAMES,
    HAND,
    IN_ORDER,
    KEY,
    KEYS,
    LEVEL_BY_SUMS,
    LITHO_COUNT,
    LITHOS,
    MEMORY,
    NO_MOVE,
    NODES,
    OPPONENT,
    OTHER_HAND,
    OWN,
    PLUS,
    PLUS_OWN,
    SALT,
    SAME,
    SUMS,
    TWINS,
    WALL,
    all_captures,
    examine,
    final_value,
    look_up,
    play,
    prepare,
    search,
    solve_frame,
)
from trilithon.core.aeroliths.kernels import MAX_SLOTS, NEIGHBOURS
from trilithon.core.solving import RETURN, Solved

RULES = ("same", "plus", "plus_own", "combo", "wall", "in_order")


class AerolithsSolver:
    """`solving.ExactSolver` for games of one set of options, Chaos left out; see the module."""

    def __init__(self, width: int) -> None:
        self._cells = width * width
        self._work = np.zeros(MEMORY, np.int64)
        faces = NEIGHBOURS[width, : self._cells].astype(np.int64)
        faces = np.where(faces < 0, EDGE, faces) * 4 + (np.arange(4) + 2) % 4
        self._work[FACES : FACES + faces.size] = faces.ravel()
        rng = np.random.default_rng(1)
        self._work[KEYS:BEATERS] = rng.integers(-(2**62), 2**62, BEATERS - KEYS) * 2 + 1
        self._table = np.zeros((1 << (15 if width == 3 else 21), 2), np.uint64)
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
        self._prepare(state)
        outcome_alone = objective == RETURN
        value, action = self._best(outcome_alone)
        if not every_action:
            solved = self._report([action], np.array([value]), objective)
        else:
            actions = self._legal()
            solved = self._report(actions, np.array([self._after(a, value, outcome_alone) for a in actions]), objective)
        solved.principal_variation = self._variation(value, action, outcome_alone)
        solved.nodes = int(self._work[NODES])
        player = int(state["mover"])
        if player == 1:
            solved.values = solved.values[:, ::-1].copy()
        return solved

    # ------------------------------------------------------------------------------------------------------- tables

    def _prepare(self, state: np.void) -> None:
        """Fill the tables and the first frame for a position."""
        work, mover, left = self._work, int(state["mover"]), state["hand_left"].astype(int)
        owned = state["owned"].astype(int)
        numbers: list[int] = []  # of the state's Lithos: those in hand first
        self._slots: list[int] = []
        hands = [0, 0]
        work[BEFORE : BEFORE + 32] = 0
        work[TWINS : TWINS + 32] = 0
        for player in (0, 1):
            for slot in range(MAX_SLOTS):
                if left[player] >> slot & 1:
                    work[BEFORE + len(numbers)] = hands[player]
                    hands[player] |= 1 << len(numbers)
                    numbers.append(int(state["hand"][player, slot]))
                    self._slots.append(slot)
        for cell in range(self._cells):
            if (owned[0] | owned[1]) >> cell & 1:
                work[BOARD + cell] = len(numbers)
                numbers.append(int(state["board"][cell]))
        lithos = state["lithos"][numbers].astype(np.int64)
        count = len(numbers)
        work[LITHOS : LITHOS + count] = lithos
        work[SUMS : SUMS + count] = (lithos & 15) + (lithos >> 4 & 15) + (lithos >> 8 & 15) + (lithos >> 12 & 15)
        if not state["in_order"]:
            for later in range(count):
                for earlier in range(later):
                    if work[BEFORE + later] >> earlier & 1 and lithos[earlier] == lithos[later]:
                        work[TWINS + later] |= 1 << earlier
        work[CELL_COUNT], work[LITHO_COUNT] = self._cells, count
        for at, name in zip((SAME, PLUS, PLUS_OWN, COMBO, WALL, IN_ORDER), RULES, strict=True):
            work[at] = state[name]
        work[NODES] = 0
        self._start_table(level_by_sums=False)
        prepare(state, work)
        work[FRAMES + OWN], work[FRAMES + HAND] = owned[mover], hands[mover]
        work[FRAMES + OPPONENT], work[FRAMES + OTHER_HAND] = owned[1 - mover], hands[1 - mover]

    def _start_table(self, level_by_sums: bool) -> None:
        """Begin with no entries: those from before have another salt."""
        self._solves += 1
        self._work[SALT] = self._solves * 0x9E3779B97F4A7C15 % 2**63
        self._work[LEVEL_BY_SUMS] = level_by_sums

    # ------------------------------------------------------------------------------------------------------- values

    def _value(self, guess: int, outcome_alone: bool) -> int:
        """The value of frame 0; of the outcome alone the sign, times 1 or more."""
        work, table = self._work, self._table
        if self._cells % 2:
            return int(solve_frame(work, table, 1 if outcome_alone else guess, 2, outcome_alone))
        if not work[LEVEL_BY_SUMS]:
            if outcome_alone:
                value = int(solve_frame(work, table, 2, 2, True))
                if value >= 2:
                    return value
                value = int(solve_frame(work, table, 0, 2, True))
                if value < 0:
                    return value
            else:
                value = int(solve_frame(work, table, guess + guess % 2, 2, False))
                if value:
                    return value
            # Level: now the sums of the sides decide, so they must be told apart everywhere.
            self._start_table(level_by_sums=True)
        return int(solve_frame(work, table, 1, 1, False))

    def _best(self, outcome_alone: bool) -> tuple[int, int]:
        """The value of the position and an action that has it."""
        value = self._value(2 - self._cells % 2, outcome_alone)
        move = int(self._work[FRAMES + BEST_MOVE])
        if move != NO_MOVE:
            return value, self._action(move)
        return value, self._optimal(value, outcome_alone)

    def _optimal(self, value: int, outcome_alone: bool) -> int:
        """An action of frame 0 that has its value; the one in the table is tried first."""
        work = self._work
        examine(work, FRAMES)
        move = int(look_up(self._table, work[FRAMES + KEY])) >> 16 & 1023
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
        found = int(search(self._work, self._table, goal)) if self._empty() else self._final()
        reached = found < goal
        self._work[FRAMES : FRAMES + 16] = before
        return reached

    def _after(self, action: int, value: int, outcome_alone: bool) -> int:
        """The value of an action of frame 0 for its mover, `value` being the frame's."""
        before = self._descend(action)
        result = self._value(2 - value, outcome_alone) if self._empty() else self._final()
        self._work[FRAMES : FRAMES + 16] = before
        return -result

    def _variation(self, value: int, action: int, outcome_alone: bool) -> list[int]:
        """Best play of both from frame 0 on, beginning with `action`."""
        line, before = [action], self._work[FRAMES : FRAMES + 16].copy()
        self._descend(action)
        while self._empty():
            value = -value
            line.append(self._optimal(value, outcome_alone))
            self._descend(line[-1])
        self._work[FRAMES : FRAMES + 16] = before
        return line

    # ------------------------------------------------------------------------------------------------------ actions

    def _empty(self) -> int:
        """Empty cells of frame 0."""
        return self._cells - int(self._work[FRAMES + OWN] | self._work[FRAMES + OPPONENT]).bit_count()

    def _final(self) -> int:
        """The value of frame 0 when the board is full."""
        work = self._work
        return int(final_value(work, work[FRAMES + OWN], work[FRAMES + OPPONENT]))

    def _action(self, move: int) -> int:
        """The action of a packed move."""
        return self._slots[move >> 5 & 31] * self._cells + (move & 31)

    def _legal(self) -> list[int]:
        """The legal actions of frame 0, ascending."""
        work = self._work
        hand, filled = int(work[FRAMES + HAND]), int(work[FRAMES + OWN] | work[FRAMES + OPPONENT])
        lithos = [litho for litho in range(len(self._slots)) if hand >> litho & 1]
        if work[IN_ORDER]:
            lithos = lithos[:1]
        cells = [cell for cell in range(self._cells) if not filled >> cell & 1]
        return sorted(self._slots[litho] * self._cells + cell for litho in lithos for cell in cells)

    def _descend(self, action: int) -> np.ndarray:
        """Put the position after an action in frame 0; return what was there."""
        work = self._work
        before = work[FRAMES : FRAMES + 16].copy()
        slot, cell = divmod(action, self._cells)
        hand = int(before[HAND])
        litho = next(n for n, s in enumerate(self._slots) if s == slot and hand >> n & 1)
        captured = all_captures(work, litho, cell, before[OWN], before[OPPONENT])
        play(work, 0, captured << 11 | litho << 5 | cell)
        work[FRAMES : FRAMES + 16] = work[FRAMES + 16 : FRAMES + 32]
        return before

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
