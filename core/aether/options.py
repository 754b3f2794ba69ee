"""Aether: options and setups."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from trilithon.core.aether import kernels as k
from trilithon.core.aether.boards import BOARDS, load_board
from trilithon.core.errors import OptionError, SetupError
from trilithon.core.game import copy_of
from trilithon.core.jit import kernel
from trilithon.core.options import Option
from trilithon.core.rng import categorical, next_below
from trilithon.core.verbs import TERMINAL

EARLY_SCORING = ("off", "agreement", "proved")
POSITION = ("elementals", "unused", "sacrificed", "player", "bag")  # what a setup's position may hold

OPTIONS = (
    Option("board", "standard", "the board", choices=BOARDS, text="a board file's path or a board's text"),
    Option("variant", False, "only the light grey slots are filled at setup", choices=(False, True)),
    Option("players", 2, "how many play", low=2, high=4),
    Option("teams", False, "of four players, 0 and 2 play against 1 and 3", choices=(False, True)),
    Option("early_scoring", "off", "how a game may end before the board is full", choices=EARLY_SCORING),
    Option("reward", "win", "what a game is played for: the win, or the lead in points", choices=("win", "margin")),
    Option("leftover_points", 3, "points for an elemental that is not on the board", low=0, high=9),
    Option("first_player", "random", "who starts", choices=("random", 0, 1, 2, 3)),
)


def check(options: dict[str, Any]) -> None:
    """Raise `OptionError` for options that do not go together; a board's path is replaced by the file's text."""
    board = load_board(options["board"])
    if options["board"] not in BOARDS:
        options["board"] = board.text
    players, first = options["players"], options["first_player"]
    if options["teams"] and players != 4:
        raise OptionError(f"aether: teams = true with players = {players} is not allowed; teams need 4 players")
    if players > len(board.elementals) + 1:
        raise OptionError(
            f"aether: players = {players} is not allowed; allowed on the board {board.name!r}: "
            f"2..{len(board.elementals) + 1} (elementals: {' '.join(map(str, board.elementals))})"
        )
    if first != "random" and first >= players:
        raise OptionError(f"aether: first_player = {first} is not allowed; allowed: random or 0..{players - 1}")
    slots, tiles = len(board.slots), k.ELEMENTS * board.tiles_per_element
    needed = slots + players * board.hand_tiles - 1
    if needed > tiles:
        raise OptionError(
            f"aether: the board {board.name!r} cannot last: {slots} slots and {players} hands of {board.hand_tiles} "
            f"need {needed} tiles, but there are {tiles}"
        )
    if len(board.filled(options["variant"])) == slots:
        raise OptionError(f"aether: the board {board.name!r} has no slot that is empty after the setup")


# ------------------------------------------------------------------------------------------------------------ setups


def new_setup(options: Mapping[str, Any], rng: np.ndarray) -> dict[str, Any]:
    """Draw the first player, then tiles in slot order, then hands in seat order, tile by tile."""
    return deal(options, rng)[1]


def deal(options: Mapping[str, Any], rng: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the kernel state and the setup of a new game (what was just drawn need not be checked)."""
    array = _blank(options)
    first = options["first_player"]
    first = int(next_below(rng, options["players"])) if first == "random" else first
    array["first_player"] = array["mover"] = first
    _draw_tiles(array[0], _filled(options["board"], options["variant"]), rng)
    k.start(array[0])
    return array, _start_of(array)


@lru_cache(maxsize=64)
def _filled(board: str, variant: bool) -> np.ndarray:
    """The slots that get a tile at setup, as int64 ``[n]``."""
    return np.array(load_board(board).filled(variant), np.int64)


@kernel
def _draw_tiles(state: Any, slots: np.ndarray, rng: np.ndarray) -> None:
    """Draw tiles from the bag onto `slots`, then into the hands."""
    probabilities = np.zeros(k.ELEMENTS, np.float64)
    hand_tiles = np.int64(state.hand_tiles)
    for i in range(len(slots) + np.int64(state.players) * hand_tiles):
        for element in range(k.ELEMENTS):
            probabilities[element] = state.bag[element] / np.float64(k.bag_size(state))
        drawn = categorical(rng, probabilities, k.ELEMENTS)
        state.bag[drawn] -= np.uint8(1)
        if i < len(slots):
            state.tiles[slots[i]] = drawn
        else:
            state.hands[(i - len(slots)) // hand_tiles, drawn] += np.uint8(1)


# --------------------------------------------------------------------------------------------------- setup to kernel


def encode(options: Mapping[str, Any], setup: Mapping[str, Any]) -> np.ndarray:
    """Return the kernel state ``[1]`` of a setup; `SetupError` names the field, the value and what is allowed."""
    _check_keys(setup, ("first_player", "tiles", "hands", "position"), "setup")
    array = _blank(options)
    players = options["players"]
    array["first_player"] = array["mover"] = _number(setup.get("first_player"), players - 1, "setup.first_player")
    slots = int(array["slots"][0])
    tiles = _list(setup.get("tiles"), slots, k.ELEMENTS - 1, "setup.tiles", "elements 0..3 or null")
    if None not in tiles:
        raise SetupError("aether: setup.tiles leaves no slot empty: the game would be over")
    array["tiles"][0, :slots] = [k.EMPTY if element is None else element for element in tiles]
    hands = setup.get("hands")
    if not isinstance(hands, list) or len(hands) != players:
        raise SetupError(f"aether: setup.hands must be a list of {players} hands, not {hands!r:.60}")
    for player, hand in enumerate(hands):
        array["hands"][0, player] = _encode_hand(hand, int(array["hand_tiles"][0]), f"setup.hands[{player}]")
    _take_from_bag(array, tiles)
    if "position" in setup:
        _encode_position(setup["position"], array)
    _check_hands(array)
    k.start(array[0])
    return array


def _check_keys(value: Any, allowed: tuple[str, ...], where: str) -> None:
    if not isinstance(value, Mapping):
        raise SetupError(f"aether: {where} must be an object, not {value!r:.40}")
    for key in value:
        if key not in allowed:
            raise SetupError(f"aether: {where} has an unknown key {key!r:.40}; allowed: {', '.join(allowed)}")


_blanks: dict[tuple[Any, ...], np.ndarray] = {}  # by option values: a state with an empty board and a full bag


def _blank(options: Mapping[str, Any]) -> np.ndarray:
    """Return a fresh state ``[1]`` with the options and the board's facts in it, all tiles in the bag."""
    key = tuple(options.values())
    blank = _blanks.get(key)
    if blank is None:
        board = load_board(options["board"])
        blank = np.zeros(1, k.STATE)
        blank["board"], blank["slots"] = board.row, len(board.slots)
        for name in ("variant", "players", "teams", "leftover_points"):
            blank[name] = options[name]
        blank["early_scoring"] = EARLY_SCORING.index(options["early_scoring"])
        blank["margin_reward"] = options["reward"] == "margin"
        blank["hand_tiles"], blank["tiles_per_element"] = board.hand_tiles, board.tiles_per_element
        blank["elementals"] = blank["unused"][0, : options["players"]] = board.elementals[options["players"] - 2]
        blank["bag"] = board.tiles_per_element
        blank["tiles"], blank["owners"] = k.EMPTY, k.NOBODY
        if len(_blanks) >= 1000:
            _blanks.clear()
        _blanks[key] = blank
    return copy_of(blank)


def _number(value: Any, most: int, where: str) -> int:
    """A whole number ``0..most``."""
    if type(value) is not int or not 0 <= value <= most:
        raise SetupError(f"aether: {where} = {value!r:.30} is not 0..{most}")
    return value


def _list(value: Any, length: int, most: int, where: str, what: str) -> list[Any]:
    """A list of `length` entries ``0..most``, or null where `what`, which describes them, says so."""
    if not isinstance(value, list) or len(value) != length:
        raise SetupError(f"aether: {where} must be a list of {length} {what}, not {value!r:.60}")
    for index, entry in enumerate(value):
        if entry is None and what.endswith("null"):
            continue
        _number(entry, most, f"{where}[{index}]")
    return value


def _encode_hand(hand: Any, most: int, where: str) -> list[int]:
    """The hand's tiles of each element."""
    if not isinstance(hand, list) or len(hand) > most:
        raise SetupError(f"aether: {where} must be a list of {most} elements 0..3, not {hand!r:.60}")
    for index, element in enumerate(hand):
        _number(element, k.ELEMENTS - 1, f"{where}[{index}]")
    return [hand.count(element) for element in range(k.ELEMENTS)]


def _take_from_bag(array: np.ndarray, tiles: list[Any]) -> None:
    """Take the tiles of board and hands out of the bag."""
    for element in range(k.ELEMENTS):
        dealt = tiles.count(element) + int(array["hands"][0, :, element].sum())
        exist = int(array["tiles_per_element"][0])
        if dealt > exist:
            raise SetupError(
                f"aether: setup has {dealt} tiles of element {element} on board and in hands, not 0..{exist}"
            )
        array["bag"][0, element] = exist - dealt


def _encode_position(position: Any, array: np.ndarray) -> None:
    """A position at the beginning of a turn; of what is left out, as much is there as the rest of the setup leaves."""
    _check_keys(position, POSITION, "setup.position")
    players = int(array["players"][0])
    if "player" in position:
        array["mover"] = _number(position["player"], players - 1, "setup.position.player")
    _encode_elementals(position, players, array)
    if "bag" in position:
        exist = int(array["tiles_per_element"][0])
        bag = _list(position["bag"], k.ELEMENTS, exist, "setup.position.bag", "numbers, one an element")
        for element, count in enumerate(bag):
            left = int(array["bag"][0, element])
            if count > left:
                raise SetupError(
                    f"aether: setup.position.bag[{element}] = {count} is not 0..{left}: of {exist} tiles "
                    f"{exist - left} are on the board or in hands"
                )
        array["bag"] = bag


def _encode_elementals(position: Mapping[str, Any], players: int, array: np.ndarray) -> None:
    """Elementals on the board, unused and sacrificed: of each player no more than there are."""
    slots, exist = int(array["slots"][0]), int(array["elementals"][0])
    owners = position.get("elementals", [None] * slots)
    owners = _list(owners, slots, players - 1, "setup.position.elementals", "players or null")
    for slot, owner in enumerate(owners):
        if owner is not None and array["tiles"][0, slot] == k.EMPTY:
            raise SetupError(f"aether: setup.position.elementals[{slot}] = {owner} stands where there is no tile")
    array["owners"][0, :slots] = [k.NOBODY if owner is None else owner for owner in owners]
    sacrificed = position.get("sacrificed", [0] * players)
    sacrificed = _list(sacrificed, players, exist, "setup.position.sacrificed", "numbers, one a player")
    gone = [owners.count(player) + sacrificed[player] for player in range(players)]
    unused = position.get("unused", [max(exist - count, 0) for count in gone])
    unused = _list(unused, players, exist, "setup.position.unused", "numbers, one a player")
    for player in range(players):
        if gone[player] + unused[player] > exist:
            raise SetupError(
                f"aether: setup.position has {gone[player] + unused[player]} elementals of player {player} "
                f"({owners.count(player)} on the board, {unused[player]} unused, {sacrificed[player]} sacrificed), "
                f"not 0..{exist}"
            )
    array["unused"][0, :players], array["sacrificed"][0, :players] = unused, sacrificed


def _check_hands(array: np.ndarray) -> None:
    """Hands are full unless the bag is empty, and nobody runs out of tiles before the board is full."""
    state = array[0]
    players, hand_tiles, slots = int(state["players"]), int(state["hand_tiles"]), int(state["slots"])
    sizes: list[int] = state["hands"].sum(axis=1).tolist()
    bag = int(state["bag"].sum())
    for player in range(players):
        if sizes[player] < hand_tiles and bag:
            raise SetupError(
                f"aether: setup.hands[{player}] has {sizes[player]} tiles, not {hand_tiles}; only with an empty bag "
                f"can a hand be smaller"
            )
    empty = int((state["tiles"][:slots] == k.EMPTY).sum())
    outside = sum(sizes) + bag
    for turn in range(empty):
        player = (int(state["mover"]) + turn) % players
        if sizes[player] == 0:
            raise SetupError(
                f"aether: setup has {outside} tiles in hands and bag for {empty} empty slots, and player {player} "
                f"would have none to place"
            )
        sizes[player] -= bag == 0
        bag -= bag > 0


# ---------------------------------------------------------------------------------------------------- kernel to setup


def _start_of(array: np.ndarray) -> dict[str, Any]:
    """First player, tiles and hands, as they are now."""
    state = array[0]
    slots, players = int(state["slots"]), int(state["players"])
    return {
        "first_player": int(state["first_player"]),
        "tiles": [None if element < 0 else element for element in state["tiles"][:slots].tolist()],
        "hands": [_hand(counts) for counts in state["hands"][:players].tolist()],
    }


def _hand(counts: list[int]) -> list[int]:
    """A hand's elements, sorted, from how many there are of each."""
    return [element for element, count in enumerate(counts) for _ in range(count)]


def _position_of(array: np.ndarray) -> dict[str, Any]:
    """Everything a `position` may hold, as it is now."""
    state = array[0]
    slots, players = int(state["slots"]), int(state["players"])
    return {
        "elementals": [None if owner < 0 else owner for owner in state["owners"][:slots].tolist()],
        "unused": state["unused"][:players].tolist(),
        "sacrificed": state["sacrificed"][:players].tolist(),
        "player": int(state["mover"]),
        "bag": state["bag"].tolist(),
    }


def canonical_setup(setup: Mapping[str, Any], array: np.ndarray) -> dict[str, Any]:
    """A copy of a setup that `encode` accepted: hands sorted, of a position what does not follow from the rest."""
    clean = _start_of(array)
    if "position" not in setup:
        return clean
    state, position = array[0], _position_of(array)
    owners, exist = position["elementals"], int(state["elementals"])
    dealt = [clean["tiles"].count(element) + int(state["hands"][:, element].sum()) for element in range(k.ELEMENTS)]
    usual = {
        "elementals": [None] * len(owners),
        "unused": [exist - owners.count(p) - gone for p, gone in enumerate(position["sacrificed"])],
        "sacrificed": [0] * int(state["players"]),
        "player": clean["first_player"],
        "bag": [int(state["tiles_per_element"]) - count for count in dealt],
    }
    position = {name: value for name, value in position.items() if value != usual[name]}
    return {**clean, "position": position} if position else clean


def position_setup(array: np.ndarray, position: Mapping[str, Any]) -> dict[str, Any]:
    """The present position as a setup, `position` is its `to_dict`; `SetupError` inside a turn and after the end."""
    state = array[0]
    if state["current_player"] == TERMINAL:
        raise SetupError("aether: the game has ended; its position cannot start a game")
    # Where proposals are in the game, the right to make one would come back (during a poll it is used up, too).
    proposed = state["early_scoring"] == k.AGREEMENT and not state["may_propose"]
    if state["draws_left"] or proposed:
        raise SetupError("aether: this position is inside a turn and cannot start a game")
    return {**_start_of(array), "position": {name: position[name] for name in POSITION}}


def resampled_setup(setup: Mapping[str, Any], world: np.ndarray) -> dict[str, Any]:
    """`setup` with the first hands of `world`; what the hands gave or took, the bag took or gave."""
    changed = dict(setup)
    changed["hands"] = [_hand(counts) for counts in world["first_hands"][0, : len(setup["hands"])].tolist()]
    if "bag" in setup.get("position", {}):
        before, after = ([tile for hand in hands for tile in hand] for hands in (setup["hands"], changed["hands"]))
        bag = [
            count + before.count(element) - after.count(element)
            for element, count in enumerate(setup["position"]["bag"])
        ]
        changed["position"] = {**setup["position"], "bag": bag}
    return changed
