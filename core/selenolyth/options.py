"""The Selenolyth: options and setups."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from trilithon.core.errors import OptionError, SetupError
from trilithon.core.game import copy_of
from trilithon.core.options import Option
from trilithon.core.rng import next_below
from trilithon.core.selenolyth import kernels as k

OPTIONS = (
    Option("eclipse_value", 2, "what a Lunar Eclipse, the double win, is worth", low=1, high=9),
    Option("max_turns", 500, "turns of both players, lost ones too, before the game is cut off", low=1, high=9999),
    Option("luminance_goal", 9, "Luminance that wins", low=1, high=16),
    Option("selenolyths", 14, "Selenolyths of each player", low=0, high=18),
    Option("diox", 2, "Shards of Diox of each player", low=0, high=18),
    Option("orthos", 2, "Shards of Orthos of each player", low=0, high=18),
    Option("first_player", "random", "who starts", choices=("random", 0, 1)),
)
KINDS = ("selenolyths", "diox", "orthos")  # the options that give the reserve, by kind of stone
MOST = 18  # stones of a kind


def check(options: Mapping[str, Any]) -> None:
    """Raise `OptionError` for a game without stones."""
    if not any(options[name] for name in KINDS):
        raise OptionError(
            "selenolyth: selenolyths = 0, diox = 0 and orthos = 0 leave no stones; at least one must be 1..18"
        )


# ------------------------------------------------------------------------------------------------------------ setups


def new_setup(options: Mapping[str, Any], rng: np.ndarray) -> dict[str, Any]:
    """Draw the first player; the board starts empty."""
    first = options["first_player"]
    return {"first_player": int(next_below(rng, 2)) if first == "random" else first}


def deal(options: Mapping[str, Any], rng: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the kernel state and the setup of a new game (what was just drawn need not be checked)."""
    setup = new_setup(options, rng)
    array = _blank(options)
    _start(array, setup["first_player"], setup["first_player"])
    return array, setup


# --------------------------------------------------------------------------------------------------- setup to kernel


def encode(options: Mapping[str, Any], setup: Mapping[str, Any]) -> np.ndarray:
    """Return the kernel state ``[1]`` of a setup; `SetupError` names the field, the value and what is allowed."""
    _check_keys(setup, ("first_player", "position"), "setup")
    first = setup.get("first_player")
    if type(first) is not int or first not in (0, 1):
        raise SetupError(f"selenolyth: setup.first_player = {first!r:.30} is not 0 or 1")
    array = _blank(options)
    _start(array, first, first)
    if "position" in setup:
        _encode_position(options, setup["position"], array)
    return array


def _check_keys(value: Any, allowed: tuple[str, ...], where: str) -> None:
    if not isinstance(value, Mapping):
        raise SetupError(f"selenolyth: {where} must be an object, not {value!r:.40}")
    for key in value:
        if key not in allowed:
            raise SetupError(f"selenolyth: {where} has an unknown key {key!r:.40}; allowed: {', '.join(allowed)}")


_blanks: dict[tuple[Any, ...], np.ndarray] = {}  # by option values: a state that holds options and full reserves alone


def _blank(options: Mapping[str, Any]) -> np.ndarray:
    """Return a fresh state ``[1]`` with the options in it, full reserves and an empty board."""
    key = tuple(options.values())
    blank = _blanks.get(key)
    if blank is None:
        blank = np.zeros(1, k.STATE)
        blank["selenolyth"] = 1
        blank["pending"] = blank["pending_file"] = -1
        for name in ("max_turns", "eclipse_value", "luminance_goal"):
            blank[name] = options[name]
        blank["start"] = [options[name] for name in KINDS]
        blank["reserve"] = blank["start"][:, None]
        if len(_blanks) >= 1000:
            _blanks.clear()
        _blanks[key] = blank
    return copy_of(blank)


def _start(array: np.ndarray, first: int, player: int) -> None:
    """Say who started and who is to move."""
    array["first_player"] = first
    array["mover"] = array["current_player"] = player


def _encode_position(options: Mapping[str, Any], position: Any, array: np.ndarray) -> None:
    """A position at the beginning of a turn; what is left out is as at the start of the game."""
    _check_keys(position, ("occupied", "luminance", "reserve", "player", "turns", "stones"), "setup.position")
    first = int(array["first_player"][0])
    player, turns = position.get("player", first), position.get("turns", 0)
    if type(player) is not int or player not in (0, 1):
        raise SetupError(f"selenolyth: setup.position.player = {player!r:.30} is not 0 or 1")
    _start(array, first, player)
    if not _is_number(turns, options["max_turns"] - 1):
        raise SetupError(
            f"selenolyth: setup.position.turns = {turns!r:.30} is not 0..{options['max_turns'] - 1} "
            f"(max_turns = {options['max_turns']})"
        )
    array["turns"] = turns
    if "luminance" in position:
        goal = options["luminance_goal"]
        luminance = _numbers(position["luminance"], 2, goal - 1, "luminance", f"below luminance_goal = {goal}")
        array["luminance"] = luminance
    if "reserve" in position:
        _encode_reserve(position["reserve"], array)
    if "occupied" in position:
        occupied = _numbers(position["occupied"], k.CELLS, 1, "occupied", "1 where a stone lies")
        cells = sum(bit << cell for cell, bit in enumerate(occupied))
        if k.has_square(cells):
            raise SetupError("selenolyth: setup.position.occupied has a full 3x3 square: the game would be over")
        array["occupied"] = cells
    if "stones" in position or "occupied" in position:
        _encode_stones(position.get("stones", [None] * k.CELLS), array)


def _is_number(value: Any, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def _numbers(value: Any, length: int, most: int, name: str, what: str) -> list[int]:
    """A list of `length` whole numbers ``0..most``."""
    if not isinstance(value, list) or len(value) != length:
        raise SetupError(f"selenolyth: setup.position.{name} must be a list of {length} numbers, not {value!r:.60}")
    for index, number in enumerate(value):
        if not _is_number(number, most):
            raise SetupError(f"selenolyth: setup.position.{name}[{index}] = {number!r:.30} is not 0..{most} ({what})")
    return value


def _encode_reserve(reserve: Any, array: np.ndarray) -> None:
    """Both reserves; a player without stones has won already."""
    if not isinstance(reserve, list) or len(reserve) != 2:
        raise SetupError(f"selenolyth: setup.position.reserve must be two lists of three numbers, not {reserve!r:.60}")
    for player in (0, 1):
        stones = _numbers(reserve[player], k.STONES, MOST, f"reserve[{player}]", "Selenolyths, Diox, Orthos")
        if not any(stones):
            raise SetupError(f"selenolyth: setup.position.reserve[{player}] is empty: the game would be over")
        array["reserve"][0, player] = stones


def _encode_stones(stones: Any, array: np.ndarray) -> None:
    """Kinds and owners, for pictures: per absolute cell null or ``[kind, owner]``; stones left out stay unknown."""
    if not isinstance(stones, list) or len(stones) != k.CELLS:
        raise SetupError(f"selenolyth: setup.position.stones must be a list of {k.CELLS} stones or null")
    occupied = int(array["occupied"][0])
    number = 0
    for cell, stone in enumerate(stones):
        if stone is not None:
            pair = isinstance(stone, list) and len(stone) == 2 and _is_number(stone[0], 2) and _is_number(stone[1], 1)
            if not pair:
                raise SetupError(
                    f"selenolyth: setup.position.stones[{cell}] = {stone!r:.40} is not null or [kind 0..2, player 0..1]"
                )
            if not occupied >> cell & 1:
                raise SetupError(f"selenolyth: setup.position.stones[{cell}] lies where occupied says that none does")
        if occupied >> cell & 1:
            kind, owner = stone or (k.UNKNOWN, 0)
            array["log"][0, number] = k.log_entry(cell, kind, owner, k.GIVEN)
            number += 1


# ---------------------------------------------------------------------------------------------------- kernel to setup


def position_setup(array: np.ndarray, position: Mapping[str, Any], stones: list[Any]) -> dict[str, Any]:
    """The present position as a setup; `position` is its `to_dict`, `stones` what is known of kinds and owners."""
    if position["phase"] == "ended":
        raise SetupError("selenolyth: the game has ended; its position cannot start a game")
    if position["phase"] != "choose":
        raise SetupError("selenolyth: this position is inside a turn and cannot start a game")
    fields = {name: position[name] for name in ("occupied", "luminance", "reserve", "player")}
    fields["turns"] = int(array["turns"][0])
    if any(stones):
        fields["stones"] = stones
    return {"first_player": int(array["first_player"][0]), "position": fields}
