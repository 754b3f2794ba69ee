"""Aeroliths: states, actions and setups as text that a person can read and type.

A Litho is ``3-5-2-4-fire`` (top, right, bottom, left, element); a board cell ``0:3-5-2-4-fire`` with its owner, or
``.``; an elemental cell ends in ``~water``; a hand slot is a Litho, ``-`` (played) or ``?`` (hidden from the reader),
and ``!`` marks a slot whose Litho the opponent knows. Cells are a letter for the column and a number for the row from
the top: ``b1`` is the middle of a 3x3 board's top row.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from trilithon.core.aeroliths.information import hidden_slots, pick_is_hidden
from trilithon.core.aeroliths.lithos import ELEMENTS, unpack_litho
from trilithon.core.aeroliths.options import check_litho, hand_sizes
from trilithon.core.errors import IllegalActionError, SetupError
from trilithon.core.verbs import CHANCE, TERMINAL

_PLACE = re.compile(r"(\d{1,2})\s*@\s*([a-eA-E])([1-5])")
_PICK = re.compile(r"(pick|slot)\s+(\d{1,2})", re.IGNORECASE)
_LITHO = re.compile(r"(\d{1,2})-(\d{1,2})-(\d{1,2})-(\d{1,2})-([a-z]+)")


def litho_to_text(litho: Any) -> str:
    """Write ``[top, right, bottom, left, element]``."""
    return "-".join(str(v) for v in litho[:4]) + f"-{ELEMENTS[litho[4]]}"


def text_to_litho(text: str) -> list[int]:
    """Read what `litho_to_text` writes; `SetupError` says how a Litho is written."""
    match = _LITHO.fullmatch(text.strip().lower())
    if match and match[5] in ELEMENTS:
        litho = [*(int(v) for v in match.groups()[:4]), ELEMENTS.index(match[5])]
        if all(1 <= v <= 10 for v in litho[:4]):
            return litho
    raise SetupError(
        f"{text.strip()!r:.40} is not a Litho; write top-right-bottom-left-element with 1..10 and one of "
        f"{', '.join(ELEMENTS)}, such as 3-5-2-4-fire"
    )


def hand_prompt(player: int, drawn: list[list[int]]) -> str:
    """What a person is asked who types a hand."""
    return (
        f"hand of player {player}: {len(drawn)} Lithos with a space between them, each "
        f"top-right-bottom-left-element such as 3-5-2-4-fire [drawn at random]"
    )


def text_to_hand(text: str, drawn: list[list[int]]) -> list[list[int]]:
    """Read a hand of as many Lithos as `drawn` has; an empty text is `drawn` itself."""
    tokens = text.split()
    if tokens and len(tokens) != len(drawn):
        raise SetupError(f"this hand takes {len(drawn)} Lithos, not {len(tokens)}")
    return [text_to_litho(token) for token in tokens] or drawn


def cell_to_text(cell: int, size: int) -> str:
    """Write a cell as column letter and row number."""
    return f"{'abcde'[cell % size]}{cell // size + 1}"


# ----------------------------------------------------------------------------------------------------------- actions


def action_to_string(array: np.ndarray, action: int) -> str:
    """``2@b3`` puts slot 2 on cell b3, ``pick 5`` drafts pool Litho 5, ``slot 2`` is chance's pick."""
    state = array[0]
    size = int(state["width"])
    cells, slots = size * size, (size * size + 1) // 2
    if state["current_player"] == CHANCE:
        return f"slot {action}"
    if action >= slots * cells:
        return f"pick {action - slots * cells}"
    return f"{action // cells}@{cell_to_text(action % cells, size)}"


def string_to_action(array: np.ndarray, text: str) -> int:
    """Read an action; `IllegalActionError` shows the forms."""
    size = int(array["width"][0])
    cells, slots = size * size, (size * size + 1) // 2
    place, pick = _PLACE.fullmatch(text.strip()), _PICK.fullmatch(text.strip())
    if place:
        column, row = "abcde".index(place[2].lower()), int(place[3]) - 1
        if column < size and row < size and int(place[1]) < slots:
            return int(place[1]) * cells + row * size + column
    elif pick:
        return int(pick[2]) + (slots * cells if pick[1].lower() == "pick" else 0)
    raise IllegalActionError(
        f"aeroliths: {text.strip()!r:.40} is not an action; type SLOT@CELL such as 0@b2, pick NUMBER, or slot NUMBER"
    )


def step_to_string(array: np.ndarray, action: int, player: int) -> str:
    """What `player` sees of a step: a slot's Litho too, where playing it reveals it; ``slot ?`` for a hidden pick."""
    state = array[0]
    actor = int(state["current_player"])
    text = action_to_string(array, action)
    if actor == CHANCE:
        return "chance: slot ?" if pick_is_hidden_from(array, player) else f"chance: {text}"
    cells = int(state["width"]) ** 2
    slot = action // cells
    if actor != player and not state["pool_left"] and int(hidden_slots(state, player)) >> slot & 1:
        text += f" = {litho_to_text(unpack_litho(state['lithos'][state['hand'][actor, slot]]))}"
    return f"{actor}: {text}"


def pick_is_hidden_from(array: np.ndarray, player: int) -> bool:
    """Whether `player` is not told the slot that chance is about to pick."""
    state = array[0]
    return bool(state["mover"] != player and not state["open_hands"])


# ------------------------------------------------------------------------------------------------------------ states


def to_dict(array: np.ndarray) -> dict[str, Any]:
    """The position as a JSON object: player, board, hands, round."""
    state = array[0]
    size = int(state["width"])
    lithos = state["lithos"]
    board: list[Any] = []
    for cell in range(size * size):
        owner = next((p for p in (0, 1) if int(state["owned"][p]) >> cell & 1), None)
        board.append(None if owner is None else [*unpack_litho(lithos[state["board"][cell]]), owner])
    starter = (int(state["first_player"]) + int(state["round_number"])) % 2
    hands = [
        [
            unpack_litho(lithos[state["hand"][p, slot]]) if int(state["hand_left"][p]) >> slot & 1 else None
            for slot in range(count)
        ]
        for p, count in enumerate(hand_sizes(size, starter))
    ]
    player = int(state["current_player"])
    return {
        "player": None if player == TERMINAL else player,
        "board": board,
        "hands": hands,
        "round": int(state["round_number"]),
    }


def to_text(array: np.ndarray, player: int | None = None) -> str:
    """The position as text, in full or as `player` sees it."""
    state = array[0]
    size = int(state["width"])
    position = to_dict(array)
    lines = [_headline(array, player)]
    tokens = [_cell_token(entry, int(state["cell_element"][c])) for c, entry in enumerate(position["board"])]
    width = max(len(token) for token in tokens)
    lines.append("   " + " ".join(f"{letter:<{width}}" for letter in "abcde"[:size]).rstrip())
    for row in range(size):
        cells = " ".join(f"{token:<{width}}" for token in tokens[row * size : (row + 1) * size])
        lines.append(f"{row + 1}  {cells}".rstrip())
    for owner in (0, 1):
        slots = [_slot_token(array, owner, slot, litho, player) for slot, litho in enumerate(position["hands"][owner])]
        lines.append(f"hand {owner}: {' '.join(slots)}")
    if state["pool_left"]:
        pool = [
            litho_to_text(unpack_litho(state["lithos"][n])) if int(state["pool_left"]) >> n & 1 else "-"
            for n in range(int(state["pool_count"]))
        ]
        lines.append(f"pool: {' '.join(pool)}")
    if state["picked"] >= 0 and not (player is not None and pick_is_hidden(state, player)):
        lines.append(f"picked: slot {int(state['picked'])}")
    return "\n".join(lines)


def _headline(array: np.ndarray, player: int | None) -> str:
    state = array[0]
    size = int(state["width"])
    actor = int(state["current_player"])
    if actor == TERMINAL:
        turn = "ended"
    elif actor == CHANCE:
        turn = f"chance picks for player {int(state['mover'])}"
    else:
        turn = f"player {actor} to {'pick' if state['pool_left'] else 'play'}"
    round_number, first = int(state["round_number"]), int(state["first_player"])
    return f"aeroliths {size}x{size}, round {round_number}, first player {first}, {turn}"


def _cell_token(entry: list[int] | None, element: int) -> str:
    token = "." if entry is None else f"{entry[5]}:{litho_to_text(entry)}"
    return token if element < 0 else f"{token}~{ELEMENTS[element]}"


def _slot_token(array: np.ndarray, owner: int, slot: int, litho: list[int] | None, player: int | None) -> str:
    state = array[0]
    if litho is None:
        return "-"
    if player is not None and player != owner and int(hidden_slots(state, player)) >> slot & 1:
        return "?"
    partly_known = not (state["open_hands"] or state["draft"] or state["round_number"])
    mark = "!" if partly_known and int(state["known"][owner]) >> slot & 1 else ""
    return litho_to_text(litho) + mark


_HEADLINE = re.compile(
    r"aeroliths (\d)x\1, round (\d{1,2}), first player ([01]), (?:player|chance picks for player) ([01])"
    r"( to pick| to play)?"
)


def text_to_setup(options: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Read the text of a position (`to_text`, nothing hidden) as a setup; `SetupError` names the line."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    size = options["size"]
    if lines and lines[0].endswith(", ended"):
        raise SetupError("aeroliths: line 1: the game has ended; its position cannot start a game")
    if any(line.startswith("picked:") for line in lines):
        raise SetupError("aeroliths: a slot is picked: a position inside a turn cannot start a game")
    match = _HEADLINE.fullmatch(lines[0]) if lines else None
    if not match or int(match[1]) != size or len(lines) < size + 4:
        raise SetupError(
            f"aeroliths: line 1 must be 'aeroliths {size}x{size}, round R, first player P, player Q to play' and the "
            f"board, 'hand 0: ...' and 'hand 1: ...' must follow"
        )
    tokens = [token for row in range(size) for token in _row_tokens(lines, 2 + row, size)]
    entries = [token.partition("~") for token in tokens]
    cells = [ELEMENTS.index(word) if word in ELEMENTS[:4] else None for _, _, word in entries]
    for (_, mark, word), cell in zip(entries, cells, strict=True):
        if mark and cell is None:
            raise SetupError(f"aeroliths: {word!r:.30} is not an element of a cell; allowed: fire, wind, earth, water")
    board = [_read_entry(entry) for entry, _, _ in entries]
    named = dict(line.partition(":")[::2] for line in lines[size + 2 :])
    hands, known = _read_hands(named)
    setup: dict[str, Any] = {"first_player": int(match[3]), "hands": [[], []], "cells": cells}
    if match[5] == " to pick":
        tokens = named.get("pool", "").split()
        if "-" in tokens:
            raise SetupError("aeroliths: pool: a draft that has begun cannot start a game")
        setup["pool"] = [text_to_litho(token) for token in tokens]
        return setup
    fresh = int(match[2]) == 0 and not any(board) and all(litho for hand in hands for litho in hand)
    if fresh and not options["draft"] and (options["hands"] == "mirrored" or not any(known)):
        return {**setup, "hands": hands}
    position: dict[str, Any] = {"board": board, "hands": hands, "player": int(match[4]), "round": int(match[2])}
    if any(known):
        position["known"] = known
    return {**setup, "position": position}


def _row_tokens(lines: list[str], index: int, size: int) -> list[str]:
    label, *tokens = lines[index].split()
    if label != str(index - 1) or len(tokens) != size:
        raise SetupError(f"aeroliths: line {index + 1} must be {index - 1} and {size} cells, not {lines[index]!r:.60}")
    return tokens


def _read_entry(token: str) -> list[int] | None:
    if token == ".":
        return None
    owner, _, litho = token.partition(":")
    if owner not in ("0", "1"):
        raise SetupError(f"aeroliths: {token!r:.40} is not a cell; write . or OWNER:LITHO such as 0:3-5-2-4-fire")
    return [*text_to_litho(litho), int(owner)]


def _read_hands(named: Mapping[str, str]) -> tuple[list[list[list[int] | None]], list[list[int]]]:
    """Both hands and the slots marked as known to the opponent."""
    hands: list[list[list[int] | None]] = []
    known: list[list[int]] = []
    for owner in (0, 1):
        tokens = named.get(f"hand {owner}", "").split()
        hands.append([None if token == "-" else text_to_litho(token.rstrip("!")) for token in tokens])
        known.append([slot for slot, token in enumerate(tokens) if token.endswith("!")])
    for owner in (0, 1):
        check_hand = [litho for litho in hands[owner] if litho is not None]
        for litho in check_hand:
            check_litho(litho, f"hand {owner}")
    return hands, known
