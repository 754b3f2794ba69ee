"""Random Aether games over all options and many boards, chosen so that rare events come up often."""

from __future__ import annotations

from functools import cache
from math import ceil
from random import Random
from typing import Any

from naive.aether import CHANCE, NaiveAether
from naive.aether_scoring import ELEMENTS, Board, board_text, filled_at_setup, parse_board

NUM_RANDOM_BOARDS = 40  # a process keeps a table of all boards it has met, so that there is a fixed set of them
TOKENS = ".....::#01O "  # 0 stands for an aether tile, 1 for one of a great value, a blank for no hex


@cache
def random_board(number: int) -> str:
    """The text of a small board, with any hexes in any rows; its tiles last, some boards have none to spare."""
    rng = Random(1000 + number)
    while True:
        rows = [_random_row(rng, row) for row in range(rng.randint(1, 5))]
        symbols = "".join(rows).replace(" ", "")
        slots = sum(symbol in ".:#" for symbol in symbols)
        if slots in range(3, 20) and any(symbol.isdigit() for symbol in symbols):
            break
    hand_tiles = rng.choice((1, 1, 2, 2, 3, 4, 4, 8))
    elementals = [rng.randint(1, 6) for _ in range(rng.randint(1, 3))]
    needed = slots + hand_tiles * (len(elementals) + 1) - 1
    header = {
        "name": f"random{number}",
        "tiles_per_element": ceil(needed / 4) + rng.choice((0, 0, 1, 4)),
        "elementals": " ".join(map(str, elementals)),
        "hand_tiles": hand_tiles,
    }
    return "\n".join([f"% {key}: {value}" for key, value in header.items()] + rows) + "\n"


def _random_row(rng: Random, row: int) -> str:
    """A row of hexes, the first one always there, at the columns that this row may use."""
    symbols = [rng.choice(TOKENS) for _ in range(rng.randint(1, 6))]
    symbols[0] = symbols[0].replace(" ", ".")
    values = {"0": rng.randint(1, 12), "1": rng.randint(13, 99)}
    tokens = [str(values.get(symbol, symbol)).ljust(4) for symbol in symbols]
    return ("  " * (row % 2) + "".join(tokens)).rstrip()


def random_config(rng: Random) -> dict[str, Any]:
    """Options of the game; the board by its name or as text."""
    name = rng.choice(("standard", "small", "small", *("mini",) * 6, *("random",) * 7))
    board = random_board(rng.randrange(NUM_RANDOM_BOARDS)) if name == "random" else name
    players = rng.randint(2, 1 + len(parse_board(board_text(board)).elementals))
    config = {
        "board": board,
        "variant": rng.random() < 0.5,
        "players": players,
        "teams": players == 4 and rng.random() < 0.6,
        "early_scoring": rng.choice(("off", "agreement", "agreement", "proved")),
        "reward": rng.choice(("win", "margin")),
        "leftover_points": rng.choice((3, 3, rng.randint(0, 9))),
    }
    if config["early_scoring"] == "proved" and name in ("standard", "small"):
        config["early_scoring"] = "off"  # the twin's proof takes too long there
    return config


def random_scenario(rng: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options and a setup for them: half of the games begin at the start, half in a position."""
    config = random_config(rng)
    board = parse_board(board_text(config["board"]))
    drawn = [element for element in ELEMENTS for _ in range(board.tiles_per_element)]
    rng.shuffle(drawn)
    grey = filled_at_setup(board, config["variant"])
    empty = [slot for slot in range(len(board.slots)) if slot not in grey]
    in_position = rng.random() < 0.5
    filled = grey + (rng.sample(empty, rng.randrange(len(empty))) if in_position and empty else [])
    tiles: list[int | None] = [drawn.pop() if slot in filled else None for slot in range(len(board.slots))]
    players = config["players"]
    hands = [sorted(drawn.pop() for _ in range(board.hand_tiles)) for _ in range(players)]
    setup: dict[str, Any] = {"first_player": rng.randrange(players), "tiles": tiles, "hands": hands}
    if None not in tiles:  # a board of grey slots alone has no game
        return random_scenario(rng)
    if in_position:
        setup["position"] = random_position(rng, config, board, setup, drawn)
    return config, setup


def random_position(
    rng: Random, config: dict[str, Any], board: Board, setup: dict[str, Any], drawn: list[int]
) -> dict[str, Any]:
    """A start at the beginning of some turn: any elementals on any tiles, some given up, any player to move.

    `drawn` are the tiles outside board and hands. Now and then most of them are missing, so that the bag runs empty.
    """
    players = range(config["players"])
    number = board.elementals[len(players) - 2]
    elementals: list[int | None] = [None] * len(board.slots)
    filled = [slot for slot, element in enumerate(setup["tiles"]) if element is not None]
    share = rng.choice((0.1, 0.5, 0.9))
    for slot in filled:
        owner = rng.choice(players)
        if rng.random() < share and elementals.count(owner) < number:
            elementals[slot] = owner
    left = [number - elementals.count(player) for player in players]
    unused = [rng.choice((0, count, rng.randint(0, count))) for count in left]
    position: dict[str, Any] = {
        "elementals": elementals,
        "unused": unused,
        "sacrificed": [count - kept for count, kept in zip(left, unused, strict=True)],
        "player": rng.choice(players),
    }
    empty = setup["tiles"].count(None)
    if rng.random() < 0.3:
        # With at most a whole hand for each player to place, nobody runs out of tiles even if the bag is empty.
        fewest = max(0, empty - board.hand_tiles * len(players))
        rest = drawn[: rng.randint(fewest, len(drawn))] if rng.random() < 0.5 else drawn[:fewest]
        position["bag"] = [rest.count(element) for element in ELEMENTS]
    return position


class Style:
    """How likely the players of one game swap, propose, agree and put down elementals."""

    def __init__(self, rng: Random) -> None:
        self.swap = rng.choice((0.0, 0.05, 0.2, 0.5))
        self.propose = rng.choice((0.0, 0.02, 0.1))
        self.agree = rng.choice((0.3, 0.7, 0.95))
        self.elemental = rng.choice((0.3, 0.6, 1.0))

    def choose(self, rng: Random, twin: NaiveAether) -> int:
        """A legal action of chance or of the player to move."""
        legal = twin.legal_actions()
        if twin.current_player() == CHANCE:
            return rng.choice(legal)
        if twin.asked:
            return twin.agree if rng.random() < self.agree else twin.decline
        if twin.propose in legal and rng.random() < self.propose:
            return twin.propose
        if twin.swap in legal and rng.random() < self.swap:
            return twin.swap
        placements = [action for action in legal if action < twin.swap]
        with_elemental = [action for action in placements if action % 2]
        if with_elemental and rng.random() < self.elemental:
            return rng.choice(with_elemental)
        return rng.choice([action for action in placements if action % 2 == 0])
