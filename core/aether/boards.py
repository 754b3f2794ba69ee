"""Aether: boards: their files, and the tables through which kernels see them.

A board is a text. Lines that start with ``%`` are its header: ``name``, ``tiles_per_element``, ``elementals`` (of each
player, for 2, 3, 4 players) and ``hand_tiles``. The others are rows of hexes in doubled-width coordinates: a token at
text column x of row r (both from 0) stands at column x / 2. Tokens: ``.`` a slot, ``:`` a light and ``#`` a dark grey
one, a number an aether tile of that value, ``O`` a pit.

Shipped are `BOARDS`. *standard* is a reconstruction: the printed board is not public. *snowflake* has all twelve
symmetries of the hexagon, and 36 empty slots at setup, which 2, 3 or 4 players fill in equal shares.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from trilithon.core.errors import OptionError, SetupError
from trilithon.core.jit import shared_table
from trilithon.core.lattice import hex_neighbours, hex_symmetries

BOARDS = ("standard", "small", "mini", "snowflake")  # rows 0, 1, ... of the tables
MAX_BOARDS = 256  # of one process
MAX_SLOTS, MAX_AETHER = 120, 40
MAX_BYTES = 8_000  # of a board's text: quoted, it still fits into a game's spec

SLOT, LIGHT, DARK, PIT = ".:#O"
_RANGES = {"name": 60, "tiles_per_element": 99, "elementals": 99, "hand_tiles": 8}  # 1.. characters, or 1.. a number
_EXAMPLES = {"name": "mini", "tiles_per_element": "7", "elementals": "4 3", "hand_tiles": "4"}

# A state names its board's row. A row is filled when its board is first loaded, and does not change after that.
SLOT_NEIGHBOURS = np.full((MAX_BOARDS, MAX_SLOTS, 6), -1, np.int8)  # the slots next to a slot, ascending, then -1
AETHER_SLOTS = np.full((MAX_BOARDS, MAX_AETHER, 6), -1, np.int8)  # the slots around an aether tile, in the same form
AETHER_VALUES = np.zeros((MAX_BOARDS, MAX_AETHER), np.int8)  # 1..99; 0 beyond the last aether tile
AETHER_BESIDE = np.full((MAX_BOARDS, MAX_SLOTS, 6), -1, np.int8)  # the aether tiles next to a slot, in the same form
slot_neighbours = shared_table("aether_slot_neighbours", SLOT_NEIGHBOURS)
aether_slots = shared_table("aether_slots", AETHER_SLOTS)
aether_values = shared_table("aether_values", AETHER_VALUES)
aether_beside = shared_table("aether_beside", AETHER_BESIDE)
_rows: dict[bytes, int] = {}  # of boards that are not shipped, by what the tables hold of them

Place = tuple[int, int]  # row and column, doubled-width


@dataclass(frozen=True, eq=False)
class Board:
    """A board: slots and aether tiles count from 0 in reading order."""

    name: str
    text: str  # without what does not matter: spaces at the ends of lines, empty lines around
    tiles_per_element: int
    elementals: tuple[int, ...]  # of each player, for 2, 3, 4 players; where it ends, so does the number of players
    hand_tiles: int
    slots: tuple[str, ...]  # SLOT, LIGHT or DARK
    places: tuple[Place, ...]  # of the slots
    aether: tuple[tuple[int, int, int], ...]  # (value, row, column)
    pits: tuple[Place, ...]
    neighbours: np.ndarray  # int16 [S + A, 6], slots, then aether tiles; sides as HEX_STEPS of core/lattice.py
    row: int  # of the tables

    def filled(self, variant: bool) -> list[int]:
        """The slots that get a tile at setup: the grey ones, in the variant game the light grey ones."""
        grey = LIGHT if variant else LIGHT + DARK
        return [slot for slot, kind in enumerate(self.slots) if kind in grey]


# ------------------------------------------------------------------------------------------------------------ loading


def load_board(board: str) -> Board:
    """Return a board by its name, from its file (a path), or from its text, which has a line break.

    `SetupError` names line and column, both from 1; `OptionError`: a process holds 256 boards at most.
    """
    if board in BOARDS:
        return _shipped_board(board)
    if "\n" in board or "\r" in board:
        return parse_board(board)
    path = Path(board)
    try:
        if not path.is_file():
            raise SetupError(
                f"board {board!r:.200}: there is no such file; allowed: {', '.join(BOARDS)}, a board file's path, "
                f"or a board's text"
            )
        if path.stat().st_size > MAX_BYTES:
            raise SetupError(f"board {board!r:.200}: larger than {MAX_BYTES} bytes")
        return parse_board(path.read_bytes().decode("utf-8-sig"), board)
    except UnicodeDecodeError:
        raise SetupError(f"board {board!r:.200}: not a UTF-8 text") from None
    except (OSError, ValueError) as error:
        if isinstance(error, SetupError | OptionError):
            raise
        raise SetupError(f"board {board!r:.200}: cannot be read") from None


@lru_cache(maxsize=len(BOARDS))
def _shipped_board(name: str) -> Board:
    file = resources.files("trilithon.core.aether") / "board_files" / f"{name}.txt"
    return _parse(file.read_text("utf-8"), f"board {name!r}", BOARDS.index(name))


@lru_cache(maxsize=MAX_BOARDS)
def parse_board(text: str, name: str = "") -> Board:
    """Read a board's text; `name` is what errors call it. See `load_board`."""
    where = f"board {name!r:.200}" if name else "the board's text"
    if len(text) > MAX_BYTES:
        raise SetupError(f"{where}: longer than {MAX_BYTES} characters")
    return _parse(text, where, None)


# ------------------------------------------------------------------------------------------------------------ parsing


@dataclass
class _Hexes:
    """What the rows of a text hold, in reading order."""

    slots: list[str]
    places: list[Place]
    aether: list[tuple[int, int, int]]
    pits: list[Place]
    parity: int = -1  # of row + column


def _parse(text: str, where: str, row: int | None) -> Board:
    """Read a text and fill the tables' row (None: the next free one, unless they hold this board)."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    header: dict[str, Any] = {}
    hexes = _Hexes([], [], [], [])
    number_of_row = 0
    for number, line in enumerate(lines, 1):
        at = f"{where}: line {number}, column"
        if "\t" in line:
            raise SetupError(f"{at} {line.index(chr(9)) + 1}: a tab; use spaces")
        if line.startswith("%"):
            _read_header(line, at, header)
        else:
            _read_row(line, number_of_row, at, hexes)
            number_of_row += 1
    for key in _RANGES:
        if key not in header:
            raise SetupError(f"{where}: the header has no {key!r}, such as '% {key}: {_EXAMPLES[key]}'")
    if not hexes.slots:
        raise SetupError(f"{where}: there are no slots")
    neighbours = hex_neighbours([*hexes.places, *(place[1:] for place in hexes.aether)])
    return Board(
        **header,
        text="\n".join(line.rstrip() for line in lines).strip("\n") + "\n",
        slots=tuple(hexes.slots),
        places=tuple(hexes.places),
        aether=tuple(hexes.aether),
        pits=tuple(hexes.pits),
        neighbours=neighbours,
        row=_fill_row(neighbours, [tile[0] for tile in hexes.aether], row),
    )


def _read_header(line: str, at: str, header: dict[str, Any]) -> None:
    """``% key: value``."""
    key, colon, value = line[1:].partition(":")
    at_key = f"{at} {2 + len(key) - len(key.lstrip(' '))}:"
    at_value = f"{at} {len(line) - len(value.lstrip(' ')) + 1}:"
    key, value = key.strip(" "), value.strip(" ")
    if key not in _RANGES:
        raise SetupError(f"{at_key} unknown header key {key!r:.40}; allowed: {', '.join(_RANGES)}")
    if key in header:
        raise SetupError(f"{at_key} the header key {key!r} is repeated")
    if not colon:
        raise SetupError(f"{at_value} a header line is such as '% {key}: {_EXAMPLES[key]}'")
    most = _RANGES[key]
    if key == "name":
        if not (1 <= len(value) <= most and value.isprintable()):
            raise SetupError(f"{at_value} the name {value!r:.70} is not 1..{most} printable characters")
        header[key] = value
        return
    numbers = [_number(word, most) for word in value.split(" ") if word]
    allowed = 3 if key == "elementals" else 1
    if not 1 <= len(numbers) <= allowed or None in numbers:
        how_many = "one to three numbers" if allowed == 3 else "a whole number"
        raise SetupError(f"{at_value} {key}: {value!r:.40} is not {how_many} 1..{most}")
    header[key] = tuple(numbers) if key == "elementals" else numbers[0]


def _number(word: str, most: int) -> int | None:
    """A whole number ``1..most``, None for anything else."""
    whole = word.isascii() and word.isdecimal() and len(word) <= 4
    return int(word) if whole and 1 <= int(word) <= most else None


def _read_row(line: str, row: int, at: str, hexes: _Hexes) -> None:
    """A row of hexes: tokens at even text columns, four columns apart."""
    for match in re.finditer("[^ ]+", line):
        token, start = match[0], match.start()
        here, place = f"{at} {start + 1}:", (row, start // 2)
        value = _number(token, 99)
        if token.isascii() and token.isdecimal() and value is None:
            raise SetupError(f"{here} the aether value {token:.20} is not 1..99")
        if value is None and token not in (SLOT, LIGHT, DARK, PIT):
            raise SetupError(f"{here} unknown token {token!r:.30}; allowed, between spaces: . : # O or a number 1..99")
        if start % 2:
            raise SetupError(f"{here} a token must start at column 1, 3, 5 or another odd one")
        if hexes.parity < 0:
            hexes.parity = sum(place) % 2
        elif sum(place) % 2 != hexes.parity:
            raise SetupError(
                f"{here} {token} is off the lattice of the first hex: the hexes of a row are 4 columns apart, and the "
                f"next row is shifted by 2"
            )
        if value is not None:
            hexes.aether.append((value, *place))
        elif token == PIT:
            hexes.pits.append(place)
        else:
            hexes.slots.append(token)
            hexes.places.append(place)
        if len(hexes.slots) > MAX_SLOTS or len(hexes.aether) > MAX_AETHER:
            what = f"{MAX_SLOTS} slots" if len(hexes.slots) > MAX_SLOTS else f"{MAX_AETHER} aether tiles"
            raise SetupError(f"{here} more than {what}")


def _fill_row(neighbours: np.ndarray, values: list[int], row: int | None) -> int:
    """Write a board into the tables and return its row."""
    slots = len(neighbours) - len(values)
    around = _gathered(neighbours, 0, slots)
    if row is None:
        key = bytes([slots, *values]) + around.tobytes()
        row = _rows.get(key, len(BOARDS) + len(_rows))
        if row >= MAX_BOARDS:
            raise OptionError(f"aether: more than {MAX_BOARDS - len(BOARDS)} different boards in one process")
        _rows[key] = row
    SLOT_NEIGHBOURS[row, :slots] = around[:slots]
    AETHER_SLOTS[row, : len(values)] = around[slots:]
    AETHER_VALUES[row, : len(values)] = values
    AETHER_BESIDE[row, :slots] = _gathered(neighbours[:slots], slots, len(neighbours))
    return row


def _gathered(neighbours: np.ndarray, first: int, end: int) -> np.ndarray:
    """Return int8 ``[N, 6]``: the neighbours in ``first .. end - 1``, counted from `first`, ascending, then -1."""
    beside = np.where((neighbours >= first) & (neighbours < end), neighbours - first, 127)
    beside = np.sort(beside, axis=1).astype(np.int8)
    beside[beside == 127] = -1
    return beside


# --------------------------------------------------------------------------------------------------------- symmetries


def automorphisms(board: Board) -> np.ndarray:
    """Return int16 ``[G, S + A]``: where slots and aether tiles go under the board's symmetries, identity first.

    These are the turns and reflections that take slots to slots and aether tiles to tiles of the same value; pits do
    not matter, nor do the colours of slots, which mean nothing once the game has begun.
    """
    places = [*board.places, *(tile[1:] for tile in board.aether)]
    kinds = [0] * len(board.places) + [tile[0] for tile in board.aether]
    index = {place: number for number, place in enumerate(places)}
    maps: list[list[int]] = []
    for images in hex_symmetries(places, places[0]).tolist():
        # A turned board lies elsewhere: bring its first hex in reading order to where the first one lies.
        first, least = min(places), min(images)
        down, right = first[0] - least[0], first[1] - least[1]
        targets = [index.get((row + down, column + right), -1) for row, column in images]
        fits = all(to >= 0 and kinds[to] == kind for to, kind in zip(targets, kinds, strict=True))
        if fits and targets not in maps:
            maps.append(targets)
    return np.array(maps, np.int16)
