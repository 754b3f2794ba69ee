"""A slow, plain-Python twin of The Selenolyth, written from the rules' text and not from the kernels.

The board is the set of occupied cells as South sees it: who owns a stone there, and its kind, decide nothing.
A cell is `rank * 6 + file`; one small function or method stands for one sentence of the rules.
"""

from __future__ import annotations

from typing import Any

CHANCE = -1
TERMINAL = -4

SIDE = 6
NUM_CELLS = SIDE * SIDE

SELENOLYTH, DIOX, ORTHOS = STONES = range(3)

ORTHOGONAL = [(1, 0), (0, 1), (-1, 0), (0, -1)]  # (ranks, files)
DIAGONAL = [(1, 1), (1, -1), (-1, 1), (-1, -1)]

FIRST_WILL = 18
FIRST_RICOCHET = 36

DEFAULTS = {
    "eclipse_value": 2,
    "max_turns": 500,
    "luminance_goal": 9,
    "selenolyths": 14,
    "diox": 2,
    "orthos": 2,
}


def step(cell: int, direction: tuple[int, int], length: int = 1) -> int | None:
    """The cell so many squares away in a direction; None beyond the board's edge."""
    rank, file = cell // SIDE + length * direction[0], cell % SIDE + length * direction[1]
    return rank * SIDE + file if 0 <= rank < SIDE and 0 <= file < SIDE else None


def seen_from(player: int, cell: int) -> int:
    """A cell in a player's own view, from the absolute cell or back: North sees the board turned by 180 degrees."""
    return cell if player == 0 else NUM_CELLS - 1 - cell


def first_stone(occupied: set[int], cell: int, direction: tuple[int, int]) -> int | None:
    """The first stone that is met on the way from a cell in a direction; None if there is none."""
    at = step(cell, direction)
    while at is not None and at not in occupied:
        at = step(at, direction)
    return at


def pulled(occupied: set[int], cell: int) -> set[int]:
    """The board after the Pull of a Selenolyth on `cell`: the first stone in each direction comes next to it."""
    after = set(occupied)
    for direction in ORTHOGONAL + DIAGONAL:
        stone = first_stone(occupied, cell, direction)
        if stone is not None:
            after.remove(stone)
            after.add(step(cell, direction))
    return after


def stones_next_to(occupied: set[int], cell: int, directions: list[tuple[int, int]]) -> int:
    """How many of the neighbouring cells in these directions hold a stone."""
    return sum(step(cell, direction) in occupied for direction in directions)


def has_sacred_square(occupied: set[int]) -> bool:
    """Whether the nine cells of some 3x3 square all hold stones."""
    for rank in range(SIDE - 2):
        for file in range(SIDE - 2):
            square = {(rank + i) * SIDE + file + j for i in range(3) for j in range(3)}
            if square <= occupied:
                return True
    return False


class NaiveSelenolyth:
    """One game of The Selenolyth in progress, with the spelling of the real states.

    `config` holds options by their names (one left out has its default), `setup` is where the game starts:
    `first_player`, and perhaps `position` for a start in the middle, at the beginning of a turn.
    """

    def __init__(self, config: dict[str, Any], setup: dict[str, Any]) -> None:
        self.options = {**DEFAULTS, **config}
        position = setup.get("position", {})
        full_reserve = [self.options["selenolyths"], self.options["diox"], self.options["orthos"]]
        board = position.get("occupied", [0] * NUM_CELLS)
        self.occupied = {cell for cell, stone in enumerate(board) if stone}
        self.reserve = [list(stones) for stones in position.get("reserve", [full_reserve, full_reserve])]
        self.luminance: list[int] = list(position.get("luminance", [0, 0]))
        self.mover: int = position.get("player", setup["first_player"])
        self.turns: int = position.get("turns", 0)  # turns of both players that are complete
        self.phase = "choose"
        self.stone: int | None = None  # the chosen stone, until its turn is complete
        self.file: int | None = None  # the file it rolls for, in the mover's view
        self.outcome: str | None = None
        self.winner: int | None = None

    # --- whose turn it is, and what may be done ---

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return self.phase == "ended"

    def current_player(self) -> int:
        """0 or 1, CHANCE while the die rolls, or TERMINAL."""
        if self.phase == "ended":
            return TERMINAL
        return CHANCE if self.phase == "roll" else self.mover

    def free_cells(self, file: int) -> list[int]:
        """The free cells of a file; cells and file are the mover's."""
        cells = [rank * SIDE + file for rank in range(SIDE)]
        return [cell for cell in cells if seen_from(self.mover, cell) not in self.occupied]

    def stones_in_reserve(self) -> list[int]:
        """The kinds of stone that the mover can choose."""
        return [stone for stone in STONES if self.reserve[self.mover][stone] > 0]

    def legal_actions(self) -> list[int]:
        """Ascending actions; while the die rolls its six ranks; nothing at the end."""
        if self.phase == "ended":
            return []
        if self.phase == "roll":
            return list(range(SIDE))
        if self.phase == "ricochet":
            free_cells = [cell for file in range(SIDE) for cell in self.free_cells(file)]
            return [FIRST_RICOCHET + cell for cell in sorted(free_cells)]
        rolls, wills = [], []
        for stone in self.stones_in_reserve():
            for file in range(SIDE):
                free = len(self.free_cells(file))
                if free >= 1:
                    rolls.append(stone * SIDE + file)
                if free == 1:
                    wills.append(FIRST_WILL + stone * SIDE + file)
        return rolls + wills

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Each rank comes with 1/6; `[]` when the die does not roll."""
        return [(rank, 1 / 6) for rank in range(SIDE)] if self.phase == "roll" else []

    # --- what an action does ---

    def apply_action(self, action: int) -> None:
        """Choose a stone and a file, let the die fall, or put a stone that ricocheted."""
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is not legal")
        if self.phase == "roll":
            self._resolve_die(action)
        elif self.phase == "ricochet":
            self.occupied.add(seen_from(self.mover, action - FIRST_RICOCHET))
            self._end_turn(after_ricochet=True)
        elif action >= FIRST_WILL:
            self._choose(action - FIRST_WILL)
            self._place(self.free_cells(self.file)[0])
        else:
            self._choose(action)
            self.phase = "roll"

    def _choose(self, stone_and_file: int) -> None:
        """The chosen stone leaves the reserve and lies next to its file."""
        self.stone, self.file = divmod(stone_and_file, SIDE)
        self.reserve[self.mover][self.stone] -= 1

    def _resolve_die(self, rank: int) -> None:
        """A free square takes the stone; on an occupied one a Selenolyth ricochets and a Shard goes back."""
        cell = rank * SIDE + self.file
        if seen_from(self.mover, cell) not in self.occupied:
            self._place(cell)
        elif self.stone == SELENOLYTH:
            self.phase = "ricochet"
        else:
            self.reserve[self.mover][self.stone] += 1
            self._end_turn(after_ricochet=False)

    def _place(self, own_cell: int) -> None:
        """Put the chosen stone on a cell of the mover's view, with its effect."""
        cell = seen_from(self.mover, own_cell)
        if self.stone == SELENOLYTH:
            self.occupied = pulled(self.occupied, cell)
        else:
            directions = DIAGONAL if self.stone == DIOX else ORTHOGONAL
            self.luminance[self.mover] += stones_next_to(self.occupied, cell, directions)
        self.occupied.add(cell)
        self._end_turn(after_ricochet=False)

    # --- the end ---

    def ending(self, after_ricochet: bool) -> str | None:
        """What the turn that the mover has just completed brought about, first come first."""
        square = has_sacred_square(self.occupied)
        goal_reached = self.luminance[self.mover] >= self.options["luminance_goal"]
        if square and after_ricochet:
            return "hex"
        if square and goal_reached:
            return "eclipse"
        if square:
            return "square"
        if goal_reached:
            return "luminance"
        if not self.stones_in_reserve():
            return "lord"
        if self.turns >= self.options["max_turns"]:
            return "truncated"
        return None

    def _end_turn(self, after_ricochet: bool) -> None:
        """The turn is complete: the game ends, or the other player moves."""
        self.turns += 1
        self.stone = self.file = None
        self.outcome = self.ending(after_ricochet)
        if self.outcome is None:
            self.phase = "choose"
            self.mover = 1 - self.mover
            return
        self.phase = "ended"
        if self.outcome != "truncated":
            self.winner = 1 - self.mover if self.outcome == "hex" else self.mover

    def returns(self) -> list[float]:
        """+1 for the winner and -1 for the loser, an Eclipse counts more; zeros if truncated and before the end."""
        if self.winner is None:
            return [0.0, 0.0]
        worth = float(self.options["eclipse_value"]) if self.outcome == "eclipse" else 1.0
        return [worth if player == self.winner else -worth for player in range(2)]

    # --- the whole state ---

    def to_dict(self) -> dict[str, Any]:
        """The `state` object of the golden games."""
        return {
            "player": None if self.phase == "ended" else self.current_player(),
            "occupied": [int(cell in self.occupied) for cell in range(NUM_CELLS)],
            "luminance": list(self.luminance),
            "reserve": [list(stones) for stones in self.reserve],
            "phase": self.phase,
            "outcome": self.outcome,
        }

    def clone(self) -> NaiveSelenolyth:
        """An independent copy."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.occupied = set(self.occupied)
        copy.reserve = [list(stones) for stones in self.reserve]
        copy.luminance = list(self.luminance)
        return copy
