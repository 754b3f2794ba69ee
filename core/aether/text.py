"""Aether: states and actions as text that a person can read and type.

Actions: ``fire@12`` puts a fire tile on slot 12, ``fire@12+`` an elemental on it too; ``swap``, ``propose``, ``agree``,
``decline``; ``draw fire`` is chance's. An element is also its first letter: ``f12+`` will do.

The board lies as in its file. An empty slot shows its number, a tile its element's letter and whose elemental stands on
it (``W``, ``F1``), an aether tile its value and who takes it if the board is scored now: ``10:1``, ``10:01`` in a tie
(``10:*`` of three or more), ``10:-`` nobody. ``9(3:.)`` in the line of powers is that tile of value 9: side 0's powers
around it add up to 3, side 1 has no elemental there. A side is a player or, in teams, the team: 0 and 2, 1 and 3.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trilithon.core.aether import kernels as k
from trilithon.core.aether.boards import Board
from trilithon.core.aether.facts import (
    as_tiles,
    aside,
    draw_is_hidden,
    headline,
    holders,
    phase,
    scores,
    sums,
    tiles_unseen,
    turn,
)
from trilithon.core.errors import IllegalActionError, SetupError
from trilithon.core.verbs import CHANCE, TERMINAL

ELEMENTS = ("water", "fire", "earth", "air")
LETTERS = "WFEA"
OTHERS = ("swap", "propose", "agree", "decline")  # the actions that are no placements
PITCH = 3  # characters of a column; a hex is two columns wide

_ELEMENT = r"(w(?:ater)?|f(?:ire)?|e(?:arth)?|a(?:ir)?)"
_PLACE = re.compile(_ELEMENT + r"[\s@]*(\d{1,3})\s*(\+?)", re.IGNORECASE | re.ASCII)
_DRAW = re.compile(r"(?:draws?\s+)?" + _ELEMENT, re.IGNORECASE)


# ----------------------------------------------------------------------------------------------------------- actions


def action_to_string(array: np.ndarray, action: int) -> str:
    """``fire@12``, ``fire@12+``, ``swap``, ``propose``, ``agree``, ``decline``, or ``draw fire`` for chance."""
    if array["current_player"][0] == CHANCE:
        return f"draw {ELEMENTS[action]}"
    slots = int(array["slots"][0])
    if action >= 2 * k.ELEMENTS * slots:
        return OTHERS[action - 2 * k.ELEMENTS * slots]
    return f"{ELEMENTS[action // 2 // slots]}@{action // 2 % slots}{'+' if action % 2 else ''}"


def string_to_action(array: np.ndarray, content: str) -> int:
    """Read an action; `IllegalActionError` shows the forms."""
    content = content.strip()
    slots = int(array["slots"][0])
    draw, place = _DRAW.fullmatch(content), _PLACE.fullmatch(content)
    if array["current_player"][0] == CHANCE:
        if draw:
            return LETTERS.index(draw[1][0].upper())
    elif content.lower() in OTHERS:
        return 2 * k.ELEMENTS * slots + OTHERS.index(content.lower())
    elif place and int(place[2]) < slots:
        return (LETTERS.index(place[1][0].upper()) * slots + int(place[2])) * 2 + bool(place[3])
    raise IllegalActionError(
        f"aether: {content!r:.40} is not an action now; type ELEMENT@SLOT such as fire@0, or fire@0+ with an elemental "
        f"(water, fire, earth, air or w, f, e, a; slots 0..{slots - 1}), swap, propose, agree, decline; chance: draw "
        f"ELEMENT"
    )


def step_to_string(array: np.ndarray, action: int, player: int) -> str:
    """What `player` sees of a step: all but which tile another player draws."""
    actor = turn(array)
    if array["current_player"][0] == CHANCE:
        return f"{actor}: draws {'a tile' if draw_is_hidden(array, player) else ELEMENTS[action]}"
    return f"{actor}: {action_to_string(array, action)}"


# ------------------------------------------------------------------------------------------------------------ states


def to_dict(array: np.ndarray) -> dict[str, Any]:
    """The position as a JSON object: player, tiles, elementals, hands, unused, sacrificed, bag, points."""
    state = array[0]
    slots, players, player = int(state["slots"]), int(state["players"]), int(state["current_player"])
    return {
        "player": None if player == TERMINAL else player,
        "tiles": [None if element == k.EMPTY else element for element in state["tiles"][:slots].tolist()],
        "elementals": [None if owner == k.NOBODY else owner for owner in state["owners"][:slots].tolist()],
        "hands": [as_tiles(hand) for hand in state["hands"][:players]],
        "unused": state["unused"][:players].tolist(),
        "sacrificed": state["sacrificed"][:players].tolist(),
        "bag": state["bag"].tolist(),
        "points": scores(array) if player == TERMINAL else None,
    }


def to_text(array: np.ndarray, board: Board, player: int | None = None) -> str:
    """The position as text, in full or as `player` sees it."""
    state, position = array[0], to_dict(array)
    around = sums(array, board)
    values = [
        f"{tile[0]}({':'.join('.' if x is None else str(x) for x in row)})"
        for tile, row in zip(board.aether, around, strict=True)
    ]
    return "\n".join(
        [
            f"aether on {board.name}, {int(state['players'])} players{' in teams' if state['teams'] else ''}, "
            f"first player {int(state['first_player'])}, {headline(array)}",
            *_board_lines(position, board, around),
            f"powers: {' '.join(values)}".rstrip(),
            *(_player_line(array, position, owner, player) for owner in range(len(position["hands"]))),
            _bag_line(array, position, player),
        ]
    )


def rows(board: Board) -> list[list[tuple[int, str, int]]]:
    """The hexes of each row that has any: column, what it is (``slot``, ``aether`` or ``pit``) and its number."""
    places = [(row, column, "slot", n) for n, (row, column) in enumerate(board.places)]
    places += [(row, column, "aether", n) for n, (_, row, column) in enumerate(board.aether)]
    places += [(row, column, "pit", n) for n, (row, column) in enumerate(board.pits)]
    found: dict[int, list[tuple[int, str, int]]] = {}
    for row, column, what, number in sorted(places):
        found.setdefault(row, []).append((column, what, number))
    return list(found.values())


def _board_lines(position: Mapping[str, Any], board: Board, around: list[list[int | None]]) -> list[str]:
    """The rows, without the space that lies left of all of them."""
    left = min(row[0][0] for row in rows(board))
    lines = []
    for row in rows(board):
        line = ""
        for column, what, number in row:
            token = "O"
            if what == "slot":
                token = _slot_token(number, position["tiles"][number], position["elementals"][number])
            elif what == "aether":
                token = _aether_token(board.aether[number][0], holders(around[number]))
            line = line.ljust((column - left) * PITCH) + token
        lines.append(line)
    return lines


def _slot_token(slot: int, element: int | None, owner: int | None) -> str:
    if element is None:
        return str(slot)
    return LETTERS[element] + ("" if owner is None else str(owner))


def _aether_token(value: int, sides: list[int]) -> str:
    return f"{value}:" + ("*" if len(sides) > 2 else "".join(map(str, sides)) or "-")


def _player_line(array: np.ndarray, position: Mapping[str, Any], owner: int, player: int | None) -> str:
    """Hand, during a swap also the old one, elementals and points; of a hidden hand only how many tiles it has."""
    parts = [("hand", position["hands"][owner])]
    if phase(array) == "swap" and turn(array) == owner:
        parts.append(("aside", aside(array)))
    shown = player is None or player == owner
    hands = ", ".join(f"{name} {_hand_text(tiles) if shown else _count_text(len(tiles))}" for name, tiles in parts)
    return (
        f"player {owner}: {hands}, unused {position['unused'][owner]}, sacrificed {position['sacrificed'][owner]}, "
        f"score {scores(array)[owner]}"
    )


def _hand_text(tiles: list[int]) -> str:
    return " ".join(LETTERS[element] for element in tiles) or "-"


def _count_text(count: int) -> str:
    return "1 tile" if count == 1 else f"{count} tiles"


def _bag_line(array: np.ndarray, position: Mapping[str, Any], player: int | None) -> str:
    """The bag; for a player its size, and what lies in it and in the other hands together."""
    if player is None:
        return f"bag: {_counts_text(position['bag'])}"
    unseen = tiles_unseen(position, player, aside(array), turn(array))
    return f"bag: {_count_text(sum(position['bag']))}, with the other hands {_counts_text(unseen)}"


def _counts_text(counts: Sequence[int]) -> str:
    return " ".join(f"{letter}{count}" for letter, count in zip(LETTERS, counts, strict=True))


# ----------------------------------------------------------------------------------------------------------- reading

_HEADLINE = re.compile(
    r"aether on .+, (\d) players( in teams)?, first player (\d), player (\d) to place( or propose)?", re.IGNORECASE
)
_PLAYER = re.compile(
    r"player (\d): hand ([wfea ]+|-), unused (\d{1,2}), sacrificed (\d{1,2})(?:, score \d+)?", re.IGNORECASE
)
_BAG = re.compile(r"bag: w(\d{1,3}) f(\d{1,3}) e(\d{1,3}) a(\d{1,3})", re.IGNORECASE)
_TILE = re.compile(r"([wfea])([0-3]?)", re.IGNORECASE)
_AETHER = re.compile(r"(\d{1,2})(?::(?:[0-3]{1,2}|[-*]))?")

Line = tuple[int, str]  # its number in the text, from 1, and what it says


def text_to_setup(options: Mapping[str, Any], board: Board, text: str) -> dict[str, Any]:
    """Read the text of a position (`to_text`, nothing hidden) at the beginning of a turn; `SetupError` names the line.

    Who takes what, powers and scores follow from the rest: they may be left out, and are not read.
    """
    lines = [(number, " ".join(line.split())) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    players = options["players"]
    expected = (
        f"'aether on {board.name}, {players} players{' in teams' if options['teams'] else ''}, first player P, player "
        f"Q to place{' or propose' if options['early_scoring'] == 'agreement' else ''}'"
    )
    first, mover = _read_headline(options, lines[0] if lines else (1, ""), expected)
    lines = [line for line in lines[1:] if not line[1].lower().startswith("powers:")]
    board_rows = rows(board)
    if len(lines) != len(board_rows) + players + 1:
        raise SetupError(
            f"aether: a position on this board is {expected}, {len(board_rows)} rows of hexes, {players} lines such as "
            f"'player 0: hand W F E A, unused 3, sacrificed 0', and 'bag: W5 F5 E5 A5'"
        )
    tiles: list[int | None] = [None] * len(board.slots)
    owners: list[int | None] = [None] * len(board.slots)
    for line, row in zip(lines, board_rows, strict=False):
        _read_row(line, row, board, tiles, owners)
    hands, unused, sacrificed = _read_players(lines[len(board_rows) : -1])
    position = {
        "elementals": owners,
        "unused": unused,
        "sacrificed": sacrificed,
        "player": mover,
        "bag": _read_bag(lines[-1]),
    }
    return {"first_player": first, "tiles": tiles, "hands": hands, "position": position}


def _read_headline(options: Mapping[str, Any], line: Line, expected: str) -> tuple[int, int]:
    """First player and player to move."""
    number, content = line
    match = _HEADLINE.fullmatch(content)
    if not match or int(match[1]) != options["players"] or bool(match[2]) != options["teams"]:
        why = "; its position cannot start a game" if ", ended" in content.lower() else ""
        raise SetupError(f"aether: line {number} must be {expected}, not {content!r:.90}{why}")
    if options["early_scoring"] == "agreement" and not match[5]:
        raise SetupError(f"aether: line {number}: this position is inside a turn and cannot start a game")
    return int(match[3]), int(match[4])


def _read_row(
    line: Line,
    row: list[tuple[int, str, int]],
    board: Board,
    tiles: list[int | None],
    owners: list[int | None],
) -> None:
    """A row of hexes: what lies on the slots goes to `tiles` and `owners`."""
    number, content = line
    tokens = content.split()
    if len(tokens) != len(row):
        raise SetupError(f"aether: line {number} must have {len(row)} hexes, not {content!r:.90}")
    for token, (_, what, index) in zip(tokens, row, strict=True):
        where = f"aether: line {number}: {token!r:.30} is not"
        if what == "pit" and token.upper() != "O":
            raise SetupError(f"{where} O, the pit")
        if what == "aether":
            value = _AETHER.fullmatch(token)
            if not value or int(value[1]) != board.aether[index][0]:
                raise SetupError(f"{where} the aether tile of value {board.aether[index][0]}")
        if what == "slot" and token not in (".", str(index)):
            tile = _TILE.fullmatch(token)
            if not tile:
                raise SetupError(f"{where} slot {index}; write {index}, or W, F, E or A, or with an elemental W0")
            tiles[index] = LETTERS.index(tile[1].upper())
            owners[index] = int(tile[2]) if tile[2] else None


def _read_players(lines: list[Line]) -> tuple[list[list[int]], list[int], list[int]]:
    """Hands, unused and sacrificed elementals."""
    hands, unused, sacrificed = [], [], []
    for player, (number, content) in enumerate(lines):
        match = _PLAYER.fullmatch(content)
        if not match or int(match[1]) != player:
            why = "a position needs every hand, " if re.search(r"hand \d", content.lower()) else ""
            raise SetupError(
                f"aether: line {number}: {why}such as 'player {player}: hand W F E A, unused 3, sacrificed 0', "
                f"not {content!r:.90}"
            )
        hands.append([LETTERS.index(letter) for letter in match[2].upper() if letter in LETTERS])
        unused.append(int(match[3]))
        sacrificed.append(int(match[4]))
    return hands, unused, sacrificed


def _read_bag(line: Line) -> list[int]:
    match = _BAG.fullmatch(line[1])
    if not match:
        raise SetupError(f"aether: line {line[0]} must be such as 'bag: W5 F5 E5 A5', not {line[1]!r:.90}")
    return [int(count) for count in match.groups()]
