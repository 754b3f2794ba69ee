"""Aeroliths: options and setups."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from trilithon.core.aeroliths import kernels as k
from trilithon.core.aeroliths.information import hidden_slots
from trilithon.core.aeroliths.lithos import load_catalogue, unpack_litho
from trilithon.core.errors import OptionError, SetupError
from trilithon.core.game import copy_of
from trilithon.core.options import Option
from trilithon.core.rng import next_below, shuffle
from trilithon.core.verbs import CHANCE

SOURCES = ("uniform", "budget", "catalogue")

OPTIONS = (
    Option("size", 3, "cells a side of the board", choices=(3, 4, 5)),
    Option("same", False, "two equal facing sides capture", choices=(False, True)),
    Option("plus", False, "two equal sums of facing sides capture", choices=(False, True)),
    Option("plus_own", False, "own Lithos count toward a shared Plus sum", choices=(False, True)),
    Option("combo", False, "Lithos captured by Same or Plus attack in their turn", choices=(False, True)),
    Option("wall", False, "the edge counts as 10 for Same and Plus", choices=(False, True)),
    Option("order", False, "only the lowest slot in hand may be played", choices=(False, True)),
    Option("chaos", False, "chance picks the slot to play", choices=(False, True)),
    Option("open_hands", False, "both players see both hands", choices=(False, True)),
    Option("sudden_death", False, "a draw starts a new round with the Lithos owned", choices=(False, True)),
    Option("max_rounds", 16, "rounds of Sudden Death before a draw stands", low=1, high=99),
    Option("draft", False, "hands are picked in turn from a public pool", choices=(False, True)),
    Option("pool_size", None, "Lithos in the draft pool (default n*n + n)", low=9, high=40),
    Option("hands", "random", "how hands are filled", choices=("random", "mirrored", "manual")),
    Option("source", "uniform", "where Lithos come from", choices=SOURCES),
    Option("budget", 20, "side sum of the budget source", low=4, high=40),
    Option(
        "catalogue", "standard", "catalogue of the catalogue source", choices=("standard",), text="a CSV file's path"
    ),
    Option("elemental_cells", "none", "elemental cells drawn at setup", choices=("none", "random"), low=1, high=25),
    Option("first_player", "random", "who starts", choices=("random", 0, 1)),
    Option("observation", "exact", "universal: every size in one shape", choices=("exact", "universal")),
)


def check(options: dict[str, Any]) -> None:
    """Raise `OptionError` for options that exclude each other or a size they do not fit."""
    cells = options["size"] ** 2
    if options["order"] and options["chaos"]:
        raise OptionError("aeroliths: order = true and chaos = true exclude each other; choose one")
    if options["draft"] and options["hands"] == "mirrored":
        raise OptionError("aeroliths: draft = true and hands = 'mirrored' exclude each other; choose one")
    pool = options["pool_size"]
    if pool is not None and not cells <= pool <= k.MAX_LITHOS:
        raise OptionError(f"aeroliths: pool_size = {pool} is not allowed; allowed: a whole number {cells}..40")
    special = options["elemental_cells"]
    if isinstance(special, int) and special > cells:
        raise OptionError(f"aeroliths: elemental_cells = {special} is not allowed; allowed: none, random or 1..{cells}")
    if options["source"] == "catalogue":
        catalogue = load_catalogue(options["catalogue"])
        needed = lithos_drawn(options)
        if len(catalogue.names) < needed:
            raise OptionError(
                f"aeroliths: catalogue {options['catalogue']!r} has {len(catalogue.names)} Lithos, "
                f"but this game draws {needed}"
            )


def lithos_drawn(options: Mapping[str, Any]) -> int:
    """How many Lithos `new_setup` draws."""
    cells = options["size"] ** 2
    if options["draft"]:
        return int(options["pool_size"] or cells + options["size"])
    if options["hands"] == "manual":
        return 0
    return (cells + 1) // 2 if options["hands"] == "mirrored" else cells


# ------------------------------------------------------------------------------------------------------------ setups


def hand_sizes(size: int, starter: int) -> list[int]:
    """Lithos in hand at the start of a round, by player."""
    cells = size * size
    return [(cells + 1) // 2 if player == starter else cells // 2 for player in range(2)]


def new_setup(options: Mapping[str, Any], rng: np.ndarray) -> dict[str, Any]:
    """Draw first player, then elemental cells, then hands (the first player's first) or the pool."""
    size = options["size"]
    cells = size * size
    if options["hands"] == "manual" and not options["draft"]:
        raise OptionError("aeroliths: hands = 'manual' starts from a setup with both hands (from_setup), not a seed")
    first = options["first_player"]
    first = int(next_below(rng, 2)) if first == "random" else first
    setup: dict[str, Any] = {"first_player": first, "hands": [[], []], "cells": _draw_cells(options, cells, rng)}
    lithos = _draw_lithos(options, lithos_drawn(options), rng)
    names = None
    if options["source"] == "catalogue":
        names = [load_catalogue(options["catalogue"]).name_of(litho) for litho in lithos]
    if options["draft"]:
        setup["pool"] = lithos
        if names:
            setup["names"] = {"pool": names}
        return setup
    by_player: list[list[Any]] = [[], []]
    name_lists: list[Any] = [[], []]
    sizes = hand_sizes(size, first)
    start = 0
    for player in (first, 1 - first):
        if options["hands"] == "mirrored":
            start = 0
        by_player[player] = [list(litho) for litho in lithos[start : start + sizes[player]]]
        name_lists[player] = names[start : start + sizes[player]] if names else []
        start += sizes[player]
    setup["hands"] = by_player
    if names:
        setup["names"] = {"hands": name_lists}
    return setup


def deal(options: Mapping[str, Any], rng: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the kernel state and the setup of a new game, drawn as `new_setup` draws it.

    Two hands of independent draws, the usual case, go straight into the state; any other setup is encoded. (What was
    just drawn need not be checked, and checking takes longer than all the rest: environments start often.)
    """
    if options["draft"] or options["hands"] != "random" or options["source"] == "catalogue":
        setup = new_setup(options, rng)
        return encode(options, setup), setup
    size, first = options["size"], options["first_player"]
    first = int(next_below(rng, 2)) if first == "random" else first
    cells = _draw_cells(options, size * size, rng)
    lithos = _draw_packed(options, size * size, rng)
    sizes = hand_sizes(size, first)
    # Numbers in the state follow the seats, draws follow the turns.
    packed = np.concatenate((lithos[sizes[1] :], lithos[: sizes[1]])) if first else lithos
    unpacked = [unpack_litho(litho) for litho in packed.tolist()]
    array = _blank(options)
    array["first_player"] = array["mover"] = first
    array["current_player"] = CHANCE if options["chaos"] else first
    if options["elemental_cells"] != "none":
        array["cell_element"][0, : size * size] = [-1 if element is None else element for element in cells]
    array["lithos"][0, : size * size] = packed
    array["hand"][0, 0, : sizes[0]] = range(sizes[0])
    array["hand"][0, 1, : sizes[1]] = range(sizes[0], size * size)
    array["hand_left"][0] = [(1 << count) - 1 for count in sizes]
    return array, {"first_player": first, "hands": [unpacked[: sizes[0]], unpacked[sizes[0] :]], "cells": cells}


def _draw_cells(options: Mapping[str, Any], cells: int, rng: np.ndarray) -> list[int | None]:
    """Distinct elemental cells with uniform elements: how many, which, then the elements in cell order."""
    count = options["elemental_cells"]
    board: list[int | None] = [None] * cells
    if count == "none":
        return board
    if count == "random":
        count = 1 + int(next_below(rng, cells // 2))
    order = np.arange(cells)
    shuffle(rng, order, cells)
    for cell in sorted(order[:count].tolist()):
        board[cell] = int(next_below(rng, 4))
    return board


def _draw_lithos(options: Mapping[str, Any], count: int, rng: np.ndarray) -> list[list[int]]:
    """`count` Lithos from the source: independent draws, or without replacement from the catalogue."""
    if options["source"] == "catalogue":
        lithos = load_catalogue(options["catalogue"]).lithos
        remaining = list(range(len(lithos)))
        return [list(lithos[remaining.pop(int(next_below(rng, len(remaining))))]) for _ in range(count)]
    return [unpack_litho(litho) for litho in _draw_packed(options, count, rng).tolist()]


def _draw_packed(options: Mapping[str, Any], count: int, rng: np.ndarray) -> np.ndarray:
    """`count` independent draws, packed."""
    packed = np.empty(count, np.uint32)
    k.draw_lithos(SOURCES.index(options["source"]), options["budget"], rng, packed)
    return packed


# --------------------------------------------------------------------------------------------------- setup to kernel


def encode(options: Mapping[str, Any], setup: Mapping[str, Any]) -> np.ndarray:
    """Return the kernel state ``[1]`` of a setup; `SetupError` names the field, the value and what is allowed."""
    _check_keys(setup, {"first_player", "hands", "cells", "pool", "names", "position"}, "setup")
    array = _blank(options)
    state = array[0]
    size = options["size"]
    cells = size * size
    first = setup.get("first_player")
    if type(first) is not int or first not in (0, 1):
        raise SetupError(f"aeroliths: setup.first_player = {first!r} is not 0 or 1")
    array["first_player"] = first
    array["mover"] = first
    elements = setup.get("cells", [None] * cells)
    if not isinstance(elements, list) or len(elements) != cells:
        raise SetupError(f"aeroliths: setup.cells must be a list of {cells} elements 0..3 or null")
    for cell, element in enumerate(elements):
        if element is not None and (type(element) is not int or not 0 <= element <= 3):
            raise SetupError(f"aeroliths: setup.cells[{cell}] = {element!r:.30} is not 0..3 or null")
    array["cell_element"][0, :cells] = [-1 if element is None else element for element in elements]
    if "position" in setup:
        _encode_position(options, setup["position"], array)
    elif options["draft"]:
        _encode_pool(options, setup, array)
    else:
        _encode_hands(options, setup, array)
    if not state["pool_left"]:
        array["current_player"] = CHANCE if options["chaos"] else array["mover"]
    return array


def _check_keys(value: Any, allowed: set[str], where: str) -> None:
    if not isinstance(value, Mapping):
        raise SetupError(f"aeroliths: {where} must be an object, not {value!r:.40}")
    for key in value:
        if key not in allowed:
            raise SetupError(
                f"aeroliths: {where} has an unknown key {key!r:.40}; allowed: {', '.join(sorted(allowed))}"
            )


_blanks: dict[tuple[Any, ...], np.ndarray] = {}  # by option values: a state that holds options alone


def _blank(options: Mapping[str, Any]) -> np.ndarray:
    """Return a fresh state ``[1]`` with the options in it and nothing else."""
    key = tuple(options.values())
    blank = _blanks.get(key)
    if blank is None:
        blank = np.zeros(1, k.STATE)
        _encode_options(options, blank)
        if options["source"] == "catalogue":
            return blank  # its rows are those of the file as it is now
        if len(_blanks) >= 1000:
            _blanks.clear()
        _blanks[key] = blank
    return copy_of(blank)


def _encode_options(options: Mapping[str, Any], array: np.ndarray) -> None:
    """Copy the options that the rules and observations need into the state."""
    array["aeroliths"] = 1
    array["width"] = options["size"]
    for name in ("same", "plus", "plus_own", "combo", "wall", "chaos", "open_hands", "sudden_death", "draft"):
        array[name] = options[name]
    array["in_order"] = options["order"]
    array["max_rounds"] = options["max_rounds"]
    array["source"] = SOURCES.index(options["source"])
    array["budget"] = options["budget"]
    array["universal"] = options["observation"] == "universal"
    array["picked"] = -1
    array["cell_element"] = -1
    if options["source"] == "catalogue":
        catalogue = load_catalogue(options["catalogue"])
        array["catalogue_start"] = catalogue.start
        array["catalogue_length"] = len(catalogue.names)


def check_litho(litho: Any, where: str) -> int:
    """Return a setup's Litho packed."""
    if isinstance(litho, list | tuple) and len(litho) == 5:
        a, b, c, d, element = litho
        if type(a) is type(b) is type(c) is type(d) is type(element) is int:  # a bool is none
            low, high = min(a, b, c, d), max(a, b, c, d)
            if low >= 1 and high <= 10 and 0 <= element <= k.NO_ELEMENT:
                return a | b << 4 | c << 8 | d << 12 | element << 16
    raise SetupError(f"aeroliths: {where} = {litho!r:.60} is not [top, right, bottom, left (1..10), element (0..4)]")


def _encode_hands(options: Mapping[str, Any], setup: Mapping[str, Any], array: np.ndarray) -> None:
    """Both full hands; mirrored ones (where the option says so and they are) are known to be so."""
    hands = setup.get("hands")
    first = setup["first_player"]
    sizes = hand_sizes(options["size"], first)
    if not isinstance(hands, list) or len(hands) != 2 or not all(isinstance(hand, list) for hand in hands):
        raise SetupError("aeroliths: setup.hands must be two lists of Lithos")
    if setup.get("pool"):
        raise SetupError("aeroliths: setup.pool is given, but the option draft is off")
    packed: list[int] = []
    for player in (0, 1):
        if len(hands[player]) != sizes[player]:
            raise SetupError(
                f"aeroliths: setup.hands[{player}] has {len(hands[player])} Lithos, but this hand takes {sizes[player]}"
            )
        array["hand"][0, player, : sizes[player]] = range(len(packed), len(packed) + sizes[player])
        packed += [check_litho(litho, f"setup.hands[{player}][{slot}]") for slot, litho in enumerate(hands[player])]
    array["lithos"][0, : len(packed)] = packed
    array["hand_left"][0] = [(1 << size) - 1 for size in sizes]
    shorter = sizes[1 - first]
    if options["hands"] == "mirrored" and hands[first][:shorter] == hands[1 - first]:
        array["known"] = (1 << shorter) - 1
        array["mirrored"] = 1


def _encode_pool(options: Mapping[str, Any], setup: Mapping[str, Any], array: np.ndarray) -> None:
    """The public pool of a draft."""
    pool = setup.get("pool")
    cells = options["size"] ** 2
    if not isinstance(pool, list) or not cells <= len(pool) <= k.MAX_LITHOS:
        raise SetupError(f"aeroliths: setup.pool must be a list of {cells}..{k.MAX_LITHOS} Lithos")
    if any(setup.get("hands") or []):
        raise SetupError("aeroliths: setup.hands must be [[], []] where hands are drafted")
    for number, litho in enumerate(pool):
        array["lithos"][0, number] = check_litho(litho, f"setup.pool[{number}]")
    array["pool_count"] = len(pool)
    array["pool_left"] = (1 << len(pool)) - 1
    array["current_player"] = setup["first_player"]


def _encode_position(options: Mapping[str, Any], position: Any, array: np.ndarray) -> None:
    """A position at the beginning of a turn: board, hands by slot, player, round; `known` slots are optional."""
    _check_keys(position, {"board", "hands", "player", "round", "known"}, "setup.position")
    size = options["size"]
    cells = size * size
    board, hands = position.get("board"), position.get("hands")
    player, round_number = position.get("player"), position.get("round", 0)
    if not isinstance(board, list) or len(board) != cells:
        raise SetupError(f"aeroliths: setup.position.board must be a list of {cells} cells")
    if type(player) is not int or player not in (0, 1):
        raise SetupError(f"aeroliths: setup.position.player = {player!r:.30} is not 0 or 1")
    if type(round_number) is not int or not 0 <= round_number < options["max_rounds"]:
        raise SetupError(
            f"aeroliths: setup.position.round = {round_number!r:.30} is not 0..{options['max_rounds'] - 1}"
        )
    starter = (int(array["first_player"][0]) + round_number) % 2
    array["round_number"], array["mover"] = round_number, player
    number = 0
    for cell, entry in enumerate(board):
        if entry is None:
            continue
        where = f"setup.position.board[{cell}]"
        if not isinstance(entry, list) or len(entry) != 6 or type(entry[5]) is not int or entry[5] not in (0, 1):
            raise SetupError(f"aeroliths: {where} = {entry!r:.60} is not null or a Litho and its owner")
        array["lithos"][0, number] = check_litho(entry[:5], where)
        array["board"][0, cell] = number
        array["owned"][0, entry[5]] |= 1 << cell
        number += 1
    number = _encode_slots(hands, hand_sizes(size, starter), number, array)
    empty = sum(entry is None for entry in board)
    if empty == 0:
        raise SetupError("aeroliths: setup.position.board is full: the round is over")
    counts = [sum(litho is not None for litho in hand) for hand in hands]
    needed = [(empty + 1) // 2 if p == player else empty // 2 for p in range(2)]
    if counts != needed:
        raise SetupError(
            f"aeroliths: setup.position.hands hold {counts[0]} and {counts[1]} Lithos, but {empty} empty cells with "
            f"player {player} to move need {needed[0]} and {needed[1]}"
        )
    _encode_known(options, position.get("known"), round_number, array)


def _encode_slots(hands: Any, sizes: list[int], number: int, array: np.ndarray) -> int:
    """Hands with null for played slots; played slots keep their own entry of the Litho table."""
    if not isinstance(hands, list) or len(hands) != 2 or not all(isinstance(hand, list) for hand in hands):
        raise SetupError("aeroliths: setup.position.hands must be two lists of Lithos or null")
    for p in range(2):
        if len(hands[p]) != sizes[p]:
            raise SetupError(f"aeroliths: setup.position.hands[{p}] has {len(hands[p])} slots, not {sizes[p]}")
        for slot, litho in enumerate(hands[p]):
            if litho is None:
                continue
            array["lithos"][0, number] = check_litho(litho, f"setup.position.hands[{p}][{slot}]")
            array["hand"][0, p, slot] = number
            array["hand_left"][0, p] |= 1 << slot
            number += 1
    return number


def _encode_known(options: Mapping[str, Any], known: Any, round_number: int, array: np.ndarray) -> None:
    """What each player knows of the other's hand: everything after a draft and in later rounds, else as given."""
    if options["draft"] or round_number > 0:
        array["known"] = array["hand_left"]
        return
    if known is None:
        return
    slots = k.MAX_SLOTS
    for p in range(2):
        if not (isinstance(known, list) and len(known) == 2 and isinstance(known[p], list)):
            raise SetupError("aeroliths: setup.position.known must be two lists of slots")
        for slot in known[p]:
            if type(slot) is not int or not 0 <= slot < slots:
                raise SetupError(f"aeroliths: setup.position.known[{p}] holds {slot!r:.30}, which is no slot")
            array["known"][0, p] |= 1 << slot
    array["known"] &= array["hand_left"]


def canonical_setup(setup: Mapping[str, Any], array: np.ndarray) -> dict[str, Any]:
    """A copy of a setup that `encode` accepted, without what it ignores, such as hands beside a position."""
    cells = [None if e < 0 else int(e) for e in array["cell_element"][0, : int(array["width"][0]) ** 2]]
    clean: dict[str, Any] = {"first_player": setup["first_player"], "hands": [[], []], "cells": cells}
    if "position" in setup:
        position = setup["position"]
        clean["position"] = {
            "board": [None if entry is None else list(entry) for entry in position["board"]],
            "hands": [[None if litho is None else list(litho) for litho in hand] for hand in position["hands"]],
            "player": position["player"],
            "round": position.get("round", 0),
        }
        known = _partly_known(array)
        if known:
            clean["position"]["known"] = known
        return clean
    for name in ("hands", "pool"):
        if setup.get(name):
            entries = setup[name]
            clean[name] = [list(x) for x in entries] if name == "pool" else [[list(x) for x in h] for h in entries]
    names = setup.get("names")
    if names is not None:
        clean["names"] = _check_names(names, clean)
    return clean


def _check_names(names: Any, setup: Mapping[str, Any]) -> dict[str, Any]:
    """Names beside hands or pool: the same shape, texts or null."""

    def fits(given: Any, lithos: list[Any]) -> bool:
        texts = isinstance(given, list) and all(name is None or isinstance(name, str) for name in given)
        return texts and len(given) == len(lithos)

    if isinstance(names, Mapping):
        hands: Any = names.get("hands")
        if set(names) == {"pool"} and "pool" in setup and fits(names["pool"], setup["pool"]):
            return {"pool": list(names["pool"])}
        both = set(names) == {"hands"} and isinstance(hands, list) and len(hands) == 2
        if both and all(fits(given, lithos) for given, lithos in zip(hands, setup["hands"], strict=True)):
            return {"hands": [list(given) for given in hands]}
    raise SetupError(f"aeroliths: setup.names = {names!r:.60} does not name the Lithos of hands or pool one by one")


def _partly_known(array: np.ndarray) -> list[list[int]] | None:
    """The slots in hand that the opponent knows, where that does not follow from the rules; None where none is."""
    state = array[0]
    if state["draft"] or state["round_number"] > 0:
        return None
    known = [[s for s in range(k.MAX_SLOTS) if int(state["known"][p] & state["hand_left"][p]) >> s & 1] for p in (0, 1)]
    return known if any(known) else None


def position_setup(array: np.ndarray, setup: Mapping[str, Any], position: dict[str, Any]) -> dict[str, Any]:
    """The present position as a setup; `position` is its `to_dict`."""
    state = array[0]
    if state["pool_left"] or state["picked"] >= 0:
        raise SetupError("aeroliths: this position is inside a turn or a draft and cannot start a game")
    if state["current_player"] not in (0, 1, CHANCE):
        raise SetupError("aeroliths: the game has ended; its position cannot start a game")
    fields: dict[str, Any] = {**position, "player": int(state["mover"])}
    known = _partly_known(array)
    if known:
        fields["known"] = known
    return {
        "first_player": int(state["first_player"]),
        "hands": [[], []],
        "cells": list(setup.get("cells", [None] * int(state["width"]) ** 2)),
        "position": fields,
    }


def resampled_setup(
    options: Mapping[str, Any], setup: Mapping[str, Any], world: np.ndarray, player: int
) -> dict[str, Any]:
    """`setup` with the opponent's hidden slots as they are in `world`."""
    hidden = int(hidden_slots(world[0], player))
    other = 1 - player
    changed = dict(setup)
    inside = dict(setup["position"]) if "position" in setup else changed
    hands = [list(hand) for hand in inside["hands"]]
    for slot in range(k.MAX_SLOTS):
        if hidden >> slot & 1:
            hands[other][slot] = unpack_litho(world["lithos"][0, world["hand"][0, other, slot]])
    inside["hands"] = hands
    if "position" in setup:
        changed["position"] = inside
    if "hands" in changed.get("names", {}):
        names = list(changed["names"]["hands"])
        catalogue = load_catalogue(options["catalogue"])
        names[other] = [catalogue.name_of(litho) for litho in hands[other]]
        changed["names"] = {"hands": names}
    return changed
