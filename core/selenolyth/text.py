"""The Selenolyth: states, actions and the log of stones as text that a person can read and type.

Files are letters and ranks numbers as the player in question sees them: ``a1`` is the nearest cell on the left hand of
that player. A stone is ``S`` (Selenolyth), ``D`` (Diox) or ``O`` (Orthos). Actions: ``S@c`` rolls a Selenolyth for file
c, ``S@c!`` puts it on the last free cell of c by Will, ``e5`` puts down a stone that ricocheted, ``rank 3`` is the die.
On the board ``S0`` is player 0's Selenolyth, ``x`` a stone of which only the place is known, ``.`` a free cell.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from trilithon.core.errors import IllegalActionError, SetupError
from trilithon.core.selenolyth import kernels as k
from trilithon.core.verbs import CHANCE, TERMINAL

LETTERS = "SDO"
NAMES = ("Selenolyth", "Shard of Diox", "Shard of Orthos")
OUTCOMES = (None, "hex", "eclipse", "square", "luminance", "lord", "truncated")

Stone = tuple[int, int]  # kind (UNKNOWN where only the place is known), owner

_STONE = re.compile(r"([sdo])[\s@]*([a-f])\s*(!?)", re.IGNORECASE)
_CELL = re.compile(r"([a-f])\s*([1-6])", re.IGNORECASE)
_DIE = re.compile(r"rank\s*([1-6])", re.IGNORECASE)


def cell_to_text(cell: int) -> str:
    """Write a cell as file and rank; whose view the number is in, the text is in too."""
    return f"{'abcdef'[cell % 6]}{cell // 6 + 1}"


# ----------------------------------------------------------------------------------------------------------- actions


def action_to_string(array: np.ndarray, action: int) -> str:
    """``S@c``, ``S@c!``, ``e5``, or ``rank 3`` for the die."""
    if array["current_player"][0] == CHANCE:
        return f"rank {action + 1}"
    if action >= k.RICOCHET:
        return cell_to_text(action - k.RICOCHET)
    return f"{LETTERS[action % 18 // 6]}@{'abcdef'[action % 6]}{'!' if action >= k.WILL else ''}"


def string_to_action(text: str) -> int:
    """Read an action; `IllegalActionError` shows the forms."""
    text = text.strip()
    if match := _DIE.fullmatch(text):
        return int(match[1]) - 1
    if match := _CELL.fullmatch(text):
        return k.RICOCHET + (int(match[2]) - 1) * 6 + "abcdef".index(match[1].lower())
    if match := _STONE.fullmatch(text):
        action = LETTERS.index(match[1].upper()) * 6 + "abcdef".index(match[2].lower())
        return action + (k.WILL if match[3] else 0)
    raise IllegalActionError(
        f"selenolyth: {text!r:.40} is not an action; type STONE@FILE such as S@c (S, D or O; S@c! without a roll), "
        f"a cell such as e5 after a ricochet, or rank NUMBER for the die"
    )


# ------------------------------------------------------------------------------------------------------------ stones


def stones_on_board(array: np.ndarray) -> tuple[list[Stone | None], int | None, list[tuple[int, int]]]:
    """Replay the log: stones by absolute cell, where the latest came down, and its pulls ``[(from, to), ...]``.

    The rules need none of this, so the kernels keep only what came to the board and in which order. A board that a
    setup gave has no latest stone.
    """
    board: list[Stone | None] = [None] * k.CELLS
    latest: int | None = None
    pulls: list[tuple[int, int]] = []
    for entry in array["log"][0, : int(array["occupied"][0]).bit_count()].tolist():
        cell, how = entry & 63, entry >> 9
        latest, pulls = None if how == k.GIVEN else cell, []
        for up, right in k.STEPS if how == k.PULLING else ():
            seen = next((other for other in _line(cell, up, right) if board[other] is not None), None)
            if seen is not None:
                pulls.append((seen, cell + 6 * up + right))
        for start, end in pulls:
            stone, board[start] = board[start], None
            board[end] = stone
        board[cell] = entry >> 6 & 3, entry >> 8 & 1
    return board, latest, pulls


def _line(cell: int, up: int, right: int) -> list[int]:
    """The cells that lie one way, nearest first."""
    rank, file = cell // 6 + up, cell % 6 + right
    cells = []
    while 0 <= rank < 6 and 0 <= file < 6:
        cells.append(rank * 6 + file)
        rank, file = rank + up, file + right
    return cells


def known_stones(array: np.ndarray) -> list[list[int] | None]:
    """Kinds and owners as a setup's ``stones``."""
    return [None if stone is None or stone[0] == k.UNKNOWN else list(stone) for stone in stones_on_board(array)[0]]


# ------------------------------------------------------------------------------------------------------------ states


def phase(array: np.ndarray) -> str:
    """``choose``, ``roll``, ``ricochet`` or ``ended``."""
    player = array["current_player"][0]
    if player == TERMINAL:
        return "ended"
    if player == CHANCE:
        return "roll"
    return "ricochet" if array["pending"][0] >= 0 else "choose"


def to_dict(array: np.ndarray) -> dict[str, Any]:
    """The position as a JSON object: player, occupied, luminance, reserve, phase, outcome."""
    player, occupied = int(array["current_player"][0]), int(array["occupied"][0])
    return {
        "player": None if player == TERMINAL else player,
        "occupied": [occupied >> cell & 1 for cell in range(k.CELLS)],
        "luminance": array["luminance"][0].tolist(),
        "reserve": array["reserve"][0].tolist(),
        "phase": phase(array),
        "outcome": OUTCOMES[int(array["outcome"][0])],
    }


def headline(array: np.ndarray) -> str:
    """Who does what next, in a few words."""
    player, now = int(array["mover"][0]), phase(array)
    if now == "ended":
        return f"ended: {OUTCOMES[int(array['outcome'][0])]}"
    if now == "choose":
        return f"player {player} to choose"
    stone = f"{LETTERS[int(array['pending'][0])]}@{'abcdef'[int(array['pending_file'][0])]}"
    return f"player {player} rolls {stone}" if now == "roll" else f"player {player} ricochets {stone}"


def to_text(array: np.ndarray, player: int | None = None) -> str:
    """The position as text, the board as `player` sees it (None: as the player on turn does)."""
    state = array[0]
    viewer = int(state["mover"]) if player is None else player
    board = stones_on_board(array)[0]
    lines = [
        f"selenolyth, turn {int(state['turns'])} of {int(state['max_turns'])}, "
        f"first player {int(state['first_player'])}, {headline(array)}",
        f"seen by player {viewer}",
    ]
    for rank in range(5, -1, -1):
        tokens = [_token(board[int(k.VIEW[viewer, rank * 6 + file])]) for file in range(6)]
        lines.append(f"{rank + 1}  " + " ".join(f"{token:<2}" for token in tokens).rstrip())
    lines.append("   " + "  ".join("abcdef"))
    for owner in (0, 1):
        left = " ".join(f"{letter}{count}" for letter, count in zip(LETTERS, state["reserve"][owner], strict=True))
        lines.append(f"player {owner}: {left}, luminance {int(state['luminance'][owner])}")
    return "\n".join(lines)


def _token(stone: Stone | None) -> str:
    if stone is None:
        return "."
    return "x" if stone[0] == k.UNKNOWN else f"{LETTERS[stone[0]]}{stone[1]}"


_HEADLINE = re.compile(r"selenolyth, turn (\d{1,4}) of \d{1,4}, first player ([01]), player ([01]) to choose")
_VIEWER = re.compile(r"seen by player ([01])")
_RESERVE = re.compile(r"player ([01]): S(\d{1,2}) D(\d{1,2}) O(\d{1,2}), luminance (\d{1,2})", re.IGNORECASE)
_TOKENS = {".": None, "x": (k.UNKNOWN, 0)} | {f"{LETTERS[n]}{p}": (n, p) for n in range(3) for p in (0, 1)}


def text_to_setup(options: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Read the text of a position (`to_text`) at the beginning of a turn as a setup; `SetupError` names the line."""
    lines = [" ".join(line.split()) for line in text.strip().splitlines() if line.strip()]
    head = _HEADLINE.fullmatch(lines[0]) if lines else None
    viewer = _VIEWER.fullmatch(lines[1]) if len(lines) == 11 else None
    if not head or not viewer:
        raise SetupError(
            "selenolyth: a position is 11 lines: 'selenolyth, turn N of M, first player P, player Q to choose', 'seen "
            "by player V', ranks 6 to 1, the files, and 'player P: S14 D2 O2, luminance 0' for both"
        )
    board: list[Stone | None] = [None] * k.CELLS
    for line in range(6):
        for file, stone in enumerate(_read_rank(lines[2 + line], 6 - line)):
            board[int(k.VIEW[int(viewer[1]), (5 - line) * 6 + file])] = stone
    if lines[8].lower().split() != list("abcdef"):
        raise SetupError(f"selenolyth: line 9 must be 'a b c d e f', not {lines[8]!r:.60}")
    rows = [_RESERVE.fullmatch(line) for line in lines[9:]]
    reserve, luminance = [], []
    for player, row in enumerate(rows):
        if not row or int(row[1]) != player:
            raise SetupError(
                f"selenolyth: line {10 + player} must be such as 'player {player}: S14 D2 O2, luminance 0', "
                f"not {lines[9 + player]!r:.60}"
            )
        reserve.append([int(row[n]) for n in (2, 3, 4)])
        luminance.append(int(row[5]))
    setup: dict[str, Any] = {"first_player": int(head[2])}
    position: dict[str, Any] = {
        "occupied": [int(stone is not None) for stone in board],
        "luminance": luminance,
        "reserve": reserve,
        "player": int(head[3]),
        "turns": int(head[1]),
    }
    if any(stone and stone[0] != k.UNKNOWN for stone in board):
        position["stones"] = [None if not stone or stone[0] == k.UNKNOWN else list(stone) for stone in board]
    start = [options[name] for name in ("selenolyths", "diox", "orthos")]
    fresh = not any(board) and not any(luminance) and reserve == [start, start] and not position["turns"]
    return setup if fresh and position["player"] == setup["first_player"] else {**setup, "position": position}


def _read_rank(line: str, rank: int) -> list[Stone | None]:
    label, *tokens = line.split()
    if label != str(rank) or len(tokens) != 6:
        raise SetupError(f"selenolyth: line {9 - rank} must be {rank} and six cells, not {line!r:.60}")
    stones = []
    for token in tokens:
        name = token.lower() if token in "xX" else token.upper()
        if name not in _TOKENS:
            raise SetupError(f"selenolyth: {token!r:.40} is not a cell; write . or x or a stone and its owner as in S0")
        stones.append(_TOKENS[name])
    return stones
