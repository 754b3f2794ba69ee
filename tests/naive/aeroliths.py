"""A slow, plain-Python twin of Aeroliths, written from the rules' text and not from the kernels.

Board, hands and cells are dicts, lists and tuples; one small function or method stands for one sentence of the rules.
A Litho is `(top, right, bottom, left, element)`, and a stone on the board is a Litho with its present owner.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

CHANCE = -1
TERMINAL = -4

TOP, RIGHT, BOTTOM, LEFT = range(4)
SIDES = (TOP, RIGHT, BOTTOM, LEFT)
OPPOSITE = {TOP: BOTTOM, RIGHT: LEFT, BOTTOM: TOP, LEFT: RIGHT}
STEPS = {TOP: (-1, 0), RIGHT: (0, 1), BOTTOM: (1, 0), LEFT: (0, -1)}  # (row, column)

FIRE, WIND, EARTH, WATER, NONE = range(5)
STRONG_AGAINST = {FIRE: WIND, WIND: EARTH, EARTH: WATER, WATER: FIRE}  # NONE is strong against nothing

WALL_VALUE = 10

DEFAULTS = {
    "size": 3,
    "same": False,
    "plus": False,
    "plus_own": False,
    "combo": False,
    "wall": False,
    "order": False,
    "chaos": False,
    "sudden_death": False,
    "max_rounds": 16,
    "draft": False,
}

Litho = tuple[int, int, int, int, int]


class Stone(NamedTuple):
    """A Litho on the board: its four printed values, its element and who controls it."""

    values: tuple[int, int, int, int]
    element: int
    owner: int


class Captures(NamedTuple):
    """The cells that one placement captured, by the rule which captured them; a cell may stand in several."""

    same: set[int]
    plus: set[int]
    basic: set[int]
    combo: set[int]


def neighbour(cell: int, side: int, n: int) -> int | None:
    """The cell that touches a side of a cell; None at the edge of the board."""
    row, column = cell // n + STEPS[side][0], cell % n + STEPS[side][1]
    return row * n + column if 0 <= row < n and 0 <= column < n else None


class NaiveAeroliths:
    """One game of Aeroliths in progress, with the spelling of the real states.

    `config` holds options by their names (one left out has its default; `open_hands` changes no rule), `setup` is where
    the game starts: `first_player`, `hands`, `cells`, with a draft `pool`, and perhaps `position` for a start in the
    middle.
    """

    def __init__(self, config: dict[str, Any], setup: dict[str, Any]) -> None:
        self.options = {**DEFAULTS, **config}
        self.n: int = self.options["size"]
        self.num_cells = self.n * self.n
        self.num_slots = (self.num_cells + 1) // 2
        self.first_player: int = setup["first_player"]
        self.cells: list[int | None] = list(setup["cells"])
        self.board: dict[int, Stone] = {}
        self.pool: list[Litho | None] = []
        self.picked_slot: int | None = None  # Chaos: what the chance event before this turn chose
        self.round_number = 0
        self.finished = False
        self.last_captures = Captures(set(), set(), set(), set())
        if "position" in setup:
            self._start_at(setup["position"])
        elif self.options["draft"]:
            self.pool = [tuple(litho) for litho in setup["pool"]]
            self.hands = [[None] * self.hand_size(player) for player in range(2)]
            self.mover = self.first_player
        else:
            self.hands = [[tuple(litho) for litho in hand] for hand in setup["hands"]]
            self.mover = self.first_player

    def _start_at(self, position: dict[str, Any]) -> None:
        """Start in the middle of a game, at the beginning of a turn; a draft lies in the past."""
        for cell, found in enumerate(position["board"]):
            if found is not None:
                self.board[cell] = Stone(tuple(found[:4]), found[4], found[5])
        self.hands = [[None if litho is None else tuple(litho) for litho in hand] for hand in position["hands"]]
        self.mover = position["player"]
        self.round_number = position["round"]

    def hand_size(self, player: int) -> int:
        """On odd boards the first player holds one Litho more."""
        return self.num_slots if player == self.first_player else self.num_cells - self.num_slots

    # --- whose turn it is, and what may be done ---

    def in_draft(self) -> bool:
        """Whether picks are left to do: the pool is shown and some hand is not full yet."""
        picks_made = sum(litho is None for litho in self.pool)
        return bool(self.pool) and picks_made < self.num_cells

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return self.finished

    def current_player(self) -> int:
        """0 or 1, CHANCE before a turn with Chaos, or TERMINAL."""
        if self.finished:
            return TERMINAL
        if self.options["chaos"] and not self.in_draft() and self.picked_slot is None:
            return CHANCE
        return self.mover

    def slots_in_hand(self) -> list[int]:
        """The mover's slots that still hold a Litho."""
        return [slot for slot, litho in enumerate(self.hands[self.mover]) if litho is not None]

    def playable_slots(self) -> list[int]:
        """The slots that the mover may play from."""
        if self.options["order"]:
            return self.slots_in_hand()[:1]
        if self.options["chaos"]:
            return [self.picked_slot]
        return self.slots_in_hand()

    def legal_actions(self) -> list[int]:
        """Ascending actions; at a chance event its outcomes; nothing at the end."""
        if self.finished:
            return []
        if self.in_draft():
            return [self.num_slots * self.num_cells + k for k, litho in enumerate(self.pool) if litho is not None]
        if self.current_player() == CHANCE:
            return self.slots_in_hand()
        empty = [cell for cell in range(self.num_cells) if cell not in self.board]
        return [slot * self.num_cells + cell for slot in self.playable_slots() for cell in empty]

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Chaos picks one of the slots still in hand, uniformly; `[]` when no chance event is due."""
        if self.current_player() != CHANCE:
            return []
        slots = self.slots_in_hand()
        return [(slot, float(Fraction(1, len(slots)))) for slot in slots]

    # --- what an action does ---

    def apply_action(self, action: int) -> None:
        """Do a draft pick, a chance pick of a slot, or a placement."""
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is not legal")
        if self.in_draft():
            self._pick_from_pool(action - self.num_slots * self.num_cells)
        elif self.current_player() == CHANCE:
            self.picked_slot = action
        else:
            self._place(action // self.num_cells, action % self.num_cells)

    def _pick_from_pool(self, k: int) -> None:
        """The pick goes to the next free slot; players alternate, and after the last pick the first player places."""
        free_slot = self.hands[self.mover].index(None)
        self.hands[self.mover][free_slot] = self.pool[k]
        self.pool[k] = None
        self.mover = 1 - self.mover
        if not self.in_draft():
            self.pool = []  # Lithos that nobody picked leave the game
            self.mover = self.first_player

    def _place(self, slot: int, cell: int) -> None:
        """Put a Litho down, resolve its captures, and pass the turn or end the round."""
        litho = self.hands[self.mover][slot]
        self.hands[self.mover][slot] = None
        self.board[cell] = Stone(litho[:4], litho[4], self.mover)
        self.picked_slot = None
        self.last_captures = self.resolve(cell)
        self.mover = 1 - self.mover
        if len(self.board) == self.num_cells:
            self._end_round()

    def resolve(self, cell: int) -> Captures:
        """Steps 1 to 5 of a placement; the Litho already lies on `cell`."""
        same = self.same_captures(cell)
        plus = self.plus_captures(cell)
        basic = self.normal_captures(cell)
        for captured in same | plus | basic:
            self._capture(captured)
        combo = self.combo_captures(same | plus) if self.options["combo"] else set()
        return Captures(same, plus, basic, combo)

    def _capture(self, cell: int) -> None:
        """The mover takes over the Litho on a cell."""
        self.board[cell] = self.board[cell]._replace(owner=self.mover)

    def touching(self, cell: int) -> list[tuple[int, int]]:
        """`(side, neighbouring cell)` for each side of a Litho that touches another."""
        pairs = [(side, neighbour(cell, side, self.n)) for side in SIDES]
        return [(side, other) for side, other in pairs if other in self.board]

    def edge_sides(self, cell: int) -> list[int]:
        """The sides of a cell that face the board's edge."""
        return [side for side in SIDES if neighbour(cell, side, self.n) is None]

    def is_opponent(self, cell: int) -> bool:
        """Whether the mover's opponent controls the Litho on a cell."""
        return self.board[cell].owner != self.mover

    def same_captures(self, cell: int) -> set[int]:
        """Same: two or more touching Lithos (either owner), and walls, whose facing raw value is equal."""
        if not self.options["same"]:
            return set()
        values = self.board[cell].values
        equal = [
            other for side, other in self.touching(cell) if values[side] == self.board[other].values[OPPOSITE[side]]
        ]
        count = len(equal)
        if self.options["wall"]:
            count += sum(values[side] == WALL_VALUE for side in self.edge_sides(cell))
        return {other for other in equal if self.is_opponent(other)} if count >= 2 else set()

    def takes_part_in_plus(self, cell: int) -> bool:
        """Only opponent Lithos have a sum for Plus, unless `plus_own` lets own ones count too."""
        return self.is_opponent(cell) or self.options["plus_own"]

    def plus_captures(self, cell: int) -> set[int]:
        """Plus: opponent Lithos whose sum of raw values another taking-part side shares."""
        if not self.options["plus"]:
            return set()
        values = self.board[cell].values
        sums = {}
        for side, other in self.touching(cell):
            if self.takes_part_in_plus(other):
                sums[side] = values[side] + self.board[other].values[OPPOSITE[side]]
        if self.options["wall"]:
            for side in self.edge_sides(cell):
                sums[side] = values[side] + WALL_VALUE
        captured = set()
        for side, other in self.touching(cell):
            sums_elsewhere = [sums[another] for another in sums if another != side]
            if self.is_opponent(other) and sums[side] in sums_elsewhere:
                captured.add(other)
        return captured

    def cell_modifier(self, cell: int) -> int:
        """0 on a plain cell, +1 on a cell of the Litho's element, -1 on any other elemental cell."""
        if self.cells[cell] is None:
            return 0
        return 1 if self.cells[cell] == self.board[cell].element else -1

    def effective_value(self, cell: int, side: int, against: int) -> int:
        """A side's value in the normal comparison with the Litho on the cell `against`; not clamped."""
        own, other = self.board[cell], self.board[against]
        penalty = 1 if STRONG_AGAINST.get(other.element) == own.element else 0
        return own.values[side] + self.cell_modifier(cell) - penalty

    def normal_captures(self, cell: int) -> set[int]:
        """The opponent neighbours that the Litho on a cell beats in the normal comparison."""
        captured = set()
        for side, other in self.touching(cell):
            attack = self.effective_value(cell, side, against=other)
            defence = self.effective_value(other, OPPOSITE[side], against=cell)
            if self.is_opponent(other) and attack > defence:
                captured.add(other)
        return captured

    def combo_captures(self, captured_by_same_or_plus: set[int]) -> set[int]:
        """Combo: these Lithos attack in their turn, and so does each Litho captured on the way."""
        waiting = sorted(captured_by_same_or_plus)
        chained: set[int] = set()
        while waiting:
            attacker = waiting.pop(0)
            for captured in sorted(self.normal_captures(attacker)):
                self._capture(captured)
                chained.add(captured)
                waiting.append(captured)
        return chained

    # --- the end ---

    def controlled(self, player: int) -> list[Stone]:
        """The stones a player controls, in cell order."""
        return [self.board[cell] for cell in sorted(self.board) if self.board[cell].owner == player]

    def winner(self) -> int | None:
        """More Lithos win, then the higher sum of printed values; None is a draw."""
        for measure in (len, lambda stones: sum(sum(stone.values) for stone in stones)):
            scores = [measure(self.controlled(player)) for player in range(2)]
            if scores[0] != scores[1]:
                return scores.index(max(scores))
        return None

    def _end_round(self) -> None:
        """The board is full: the game is over, or Sudden Death starts another round."""
        another_round = self.options["sudden_death"] and self.round_number + 1 < self.options["max_rounds"]
        if self.winner() is not None or not another_round:
            self.finished = True
            return
        self.hands = [[(*stone.values, stone.element) for stone in self.controlled(player)] for player in range(2)]
        self.board = {}
        self.round_number += 1
        self.mover = (self.first_player + self.round_number) % 2

    def returns(self) -> list[float]:
        """+1 for the winner and -1 for the loser; zeros for a draw and before the end."""
        winner = self.winner() if self.finished else None
        return [0.0, 0.0] if winner is None else [1.0 if player == winner else -1.0 for player in range(2)]

    # --- the whole state ---

    def to_dict(self) -> dict[str, Any]:
        """The `state` object of the golden games."""
        stones = [self.board.get(cell) for cell in range(self.num_cells)]
        return {
            "player": None if self.finished else self.current_player(),
            "board": [None if stone is None else [*stone.values, stone.element, stone.owner] for stone in stones],
            "hands": [[None if litho is None else list(litho) for litho in hand] for hand in self.hands],
            "round": self.round_number,
        }

    def clone(self) -> NaiveAeroliths:
        """An independent copy."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.board = dict(self.board)
        copy.pool = list(self.pool)
        copy.hands = [list(hand) for hand in self.hands]
        return copy
