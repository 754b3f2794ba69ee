"""Aether's boards: files and texts, the tables that kernels read, symmetries, and what is refused."""

import re
from collections import Counter

import numpy as np
import pytest
from naive import aether_scoring as naive
from naive.files import DATA

from trilithon.core import OptionError, SetupError, load_game
from trilithon.core.aether import boards
from trilithon.core.aether.boards import BOARDS, MAX_BYTES, automorphisms, load_board, parse_board
from trilithon.core.lattice import HEX_STEPS, hex_neighbours, hex_symmetries
from trilithon.core.record import GameRecord

HEADER = "% name: test\n% tiles_per_element: 30\n% elementals: 3 3 3\n% hand_tiles: 2\n"
FLOWER = HEADER + "  .   .\n.   9   .\n  .   .\n"
NAMES = [*BOARDS, "flower"]


def board_of(name):
    return parse_board(FLOWER) if name == "flower" else load_board(name)


def random_text(generator):
    """A board of random tokens, gaps between them included, with one slot at least."""
    rows, columns = generator.integers(1, 9, 2)
    tokens = [".", ".", ".", ":", "#", "O", "", "9"]
    lines = [
        "  " * (row % 2) + "".join(str(generator.choice(tokens)).ljust(4) for _ in range(columns))
        for row in range(rows)
    ]
    return HEADER + ".\n\n" + "\n".join(lines) + "\n"


# ------------------------------------------------------------------------------------------------------------- boards


def test_the_shipped_boards_are_as_described():
    assert BOARDS[:3] == ("standard", "small", "mini")
    shapes = {"standard": (77, 14, 15, 16), "small": (31, 6, 5, 6), "mini": (16, 3, 1, 3), "snowflake": (48, 13, 6, 6)}
    for row, name in enumerate(BOARDS):
        board = load_board(name)
        colours = Counter(board.slots)
        assert (board.name, board.row) == (name, row)
        assert (len(board.slots), len(board.aether), colours[":"], colours["#"]) == shapes[name]
        tiles = 4 * board.tiles_per_element
        for players in range(2, len(board.elementals) + 2):
            assert len(board.slots) + players * board.hand_tiles - 1 <= tiles
            assert load_game("aether", board=name, players=players).num_players() == players
    standard, snowflake = load_board("standard"), load_board("snowflake")
    assert 4 * standard.tiles_per_element == 77 + 15, "the last hands take what the board leaves"
    assert {value for value, _, _ in standard.aether} == {7, 8, 9, 10}
    assert [load_board(name).elementals for name in BOARDS] == [(14, 11, 9), (7, 5, 4), (4, 3), (11, 9, 7)]
    empty = len(snowflake.slots) - len(snowflake.filled(variant=False))
    assert [empty % players for players in (2, 3, 4)] == [0, 0, 0]


@pytest.mark.parametrize("name", BOARDS[:3])
def test_the_shipped_files_are_those_of_the_stored_games(name):
    assert load_board(name).text == (DATA / "boards" / f"{name}.txt").read_text(encoding="utf-8")


def check_against_twin(text):
    board, plain = parse_board(text), naive.parse_board(text)
    slots = len(board.slots)
    assert (board.tiles_per_element, list(board.elementals), board.hand_tiles) == plain[:3]
    assert list(board.slots) == plain.slots
    assert [value for value, _, _ in board.aether] == [tile.value for tile in plain.aether]
    for variant in (False, True):
        assert board.filled(variant) == naive.filled_at_setup(plain, variant)
    around = [sorted(x) for x in plain.neighbours] + [sorted(tile.around) for tile in plain.aether]
    for hexes, expected in zip(board.neighbours.tolist(), around, strict=True):
        assert sorted(n for n in hexes if 0 <= n < slots) == expected
    tables = [boards.slot_neighbours()[board.row, :slots], boards.aether_slots()[board.row, : len(board.aether)]]
    for hexes, expected in zip(np.concatenate(tables).tolist(), around, strict=True):
        assert hexes == expected + [-1] * (6 - len(expected))
    beside = [[] for _ in range(slots)]
    for number, tile in enumerate(plain.aether):
        for slot in tile.around:
            beside[slot].append(number)
    for hexes, expected in zip(boards.aether_beside()[board.row, :slots].tolist(), beside, strict=True):
        assert hexes == expected + [-1] * (6 - len(expected))
    values = boards.aether_values()[board.row]
    assert values.tolist() == [v for v, _, _ in board.aether] + [0] * (len(values) - len(board.aether))
    assert (boards.slot_neighbours()[board.row, slots:] == -1).all()
    assert (boards.aether_slots()[board.row, len(board.aether) :] == -1).all()


def test_boards_are_read_as_the_twin_reads_them():
    generator = np.random.default_rng(0)
    for text in [board_of(name).text for name in NAMES] + [random_text(generator) for _ in range(50)]:
        check_against_twin(text)


def test_places_and_pits():
    board = parse_board(HEADER + "O   .   12\n  :   O   #\n\n  7\n")
    assert board.places == ((0, 2), (1, 1), (1, 5))
    assert board.aether == ((12, 0, 4), (7, 3, 1))
    assert board.pits == ((0, 0), (1, 3))
    assert board.slots == (".", ":", "#")
    assert board.neighbours.tolist() == [
        [-1, 3, -1, 1, -1, -1],
        [0, -1, -1, -1, -1, -1],
        [-1, -1, -1, -1, -1, 3],
        [-1, -1, 2, -1, 0, -1],
        [-1] * 6,
    ]


@pytest.mark.parametrize("name", NAMES)
def test_opposite_sides_touch(name):
    neighbours = board_of(name).neighbours
    count = 0
    for here, sides in enumerate(neighbours.tolist()):
        for side, there in enumerate(sides):
            if there >= 0:
                assert neighbours[there, (side + 3) % 6] == here
                count += 1
    assert count > 0


def test_rows_of_the_tables_are_shared_by_boards_that_play_the_same():
    board = parse_board(FLOWER)
    assert board.row >= len(BOARDS)
    other_header = FLOWER.replace("hand_tiles: 2", "hand_tiles: 3").replace("test", "other")
    assert parse_board(other_header).row == board.row
    assert parse_board(FLOWER.replace("  .   .", "  #   .")).row == board.row, "colours matter to the setup alone"
    assert parse_board(FLOWER.replace("9", "8")).row != board.row
    assert parse_board(FLOWER.replace("9", ".")).row != board.row


def test_a_process_holds_so_many_boards(monkeypatch):
    parse_board(FLOWER)
    monkeypatch.setattr(boards, "MAX_BOARDS", len(BOARDS) + len(boards._rows))
    with pytest.raises(OptionError, match=r"more than \d+ different boards in one process"):
        parse_board(FLOWER.replace("9", "3"))
    assert parse_board(FLOWER.replace("test", "a new name")).row == parse_board(FLOWER).row


# --------------------------------------------------------------------------------------------------------- symmetries

PATCH = [(row, column) for row in range(-3, 4) for column in range(-6, 7) if (row + column) % 2 == 0]


def distance(a, b):
    """Steps between two places, doubled-width."""
    rows, columns = abs(a[0] - b[0]), abs(a[1] - b[1])
    return rows + max(0, (columns - rows) // 2)


@pytest.mark.parametrize("centre", [(0, 0), (2, 4), (-1, 3)])
def test_symmetries_of_the_lattice(centre):
    maps = hex_symmetries(PATCH, centre)
    assert maps[0].tolist() == [list(place) for place in PATCH]
    assert len({image.tobytes() for image in maps}) == 12
    for image in maps:
        assert (image.sum(axis=1) % 2 == 0).all()
        for place, to in zip(PATCH, image.tolist(), strict=True):
            assert distance(centre, to) == distance(centre, place)
            assert distance(to, image[0]) == distance(place, PATCH[0])


def test_turns_and_reflections():
    ring = list(HEX_STEPS)
    for g, image in enumerate(hex_symmetries(ring, (0, 0)).tolist()):
        sides = [ring.index(tuple(place)) for place in image]
        if g < 6:
            assert sides == [(side + g) % 6 for side in range(6)], "clockwise, as the sides are numbered"
        else:
            assert sides == [(5 - side + g) % 6 for side in range(6)]


def test_neighbours_of_no_places():
    assert hex_neighbours([]).shape == (0, 6)


@pytest.mark.parametrize(
    ("name", "count"), [("standard", 2), ("small", 2), ("mini", 1), ("snowflake", 12), ("flower", 12)]
)
def test_automorphisms(name, count):
    board = board_of(name)
    maps = automorphisms(board)
    size, slots = len(board.neighbours), len(board.slots)
    assert maps.shape == (count, size)
    assert maps.dtype == np.int16
    assert maps[0].tolist() == list(range(size))
    assert len({image.tobytes() for image in maps}) == count
    values = np.array([0] * slots + [value for value, _, _ in board.aether])
    around = [{n for n in sides if n >= 0} for sides in board.neighbours.tolist()]
    for image in maps:
        assert sorted(image.tolist()) == list(range(size))
        assert (values[image] == values).all()
        for here in range(size):
            assert {int(image[n]) for n in around[here]} == around[image[here]]
        for other in maps:
            assert image[other].tolist() in maps.tolist(), "closed under composition"


def test_automorphisms_of_boards_without_a_central_hex():
    counts = {".   .\n": 2, "  .\n.   .\n": 6, ".   .   9\n": 1, "  .\n9   .\n": 2, ".   :\n  #   O\n": 6, ".\n": 1}
    for rows, count in counts.items():
        assert len(automorphisms(parse_board(HEADER + rows))) == count, rows


# ----------------------------------------------------------------------------------------------- names, files and texts


def test_a_board_is_a_name_a_file_or_a_text(tmp_path):
    text = load_board("small").text
    file = tmp_path / "my board.txt"
    file.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "  \r\n").encode() + b"\r\n\r\n")
    by_text, by_path = load_game("aether", board=text), load_game("aether", board=str(file))
    assert by_text == by_path
    assert by_path.options["board"] == text, "the file may be gone tomorrow"
    assert load_game("aether", board="small").options["board"] == "small"
    assert load_game("aether", board="\n" + text.strip("\n")).options["board"] == text
    file.write_text(FLOWER)
    assert load_game("aether", board=str(file)).options["board"] == FLOWER
    file.unlink()
    state = by_path.new_initial_state(3)
    again = load_game(str(by_path)).from_bytes(state.to_bytes())
    assert again.game == by_path
    assert again.array.tobytes() == state.array.tobytes()


TEXTS = {
    "flower": FLOWER,
    "a name that needs care": FLOWER.replace("test", "a \"quoted\", (odd) \\ name = 'é' \U0001f71b: 1"),
    "no line break at the end": FLOWER.rstrip("\n"),
    "header below": FLOWER[len(HEADER) :] + HEADER,
    "as long as may be": FLOWER.replace("name: test", "name: " + 60 * "\U0001f71b").ljust(MAX_BYTES - 3, "\n") + ".\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_spec_holds_the_text(name):
    game = load_game("aether", board=TEXTS[name], players=3)
    assert "\n" not in str(game)
    again = load_game(str(game))
    assert again == game
    assert again.options == game.options
    assert load_board(game.options["board"]).text == game.options["board"]


def test_a_record_holds_the_text(tmp_path):
    file = tmp_path / "flower.txt"
    file.write_text(FLOWER)
    state = load_game("aether", board=str(file)).new_initial_state(0)
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
    record = GameRecord.from_state(state)
    file.unlink()
    assert record.config["board"] == FLOWER
    assert GameRecord.from_json(record.to_json()).verify().to_dict() == state.to_dict()


# ------------------------------------------------------------------------------------------------------------ bad input


def header(**changes):
    """The header's lines, some with another value, some left out (None)."""
    fields = {"name": "test", "tiles_per_element": "30", "elementals": "3 3 3", "hand_tiles": "2", **changes}
    return "".join(f"% {key}: {value}\n" for key, value in fields.items() if value is not None)


BAD_BOARDS = {
    "a tab": (HEADER + "  .   .\n.\t9\n", "line 6, column 2: a tab; use spaces"),
    "a tab in the header": (HEADER.replace("n: ", "n:\t") + ".\t.\n", "line 5, column 2: a tab; use spaces"),
    "unknown token": (HEADER + ".   x\n", "line 5, column 5: unknown token 'x'; allowed, between spaces: . : # O or"),
    "a zero for a pit": (HEADER + ".   0\n", "line 5, column 5: the aether value 0 is not 1..99"),
    "a large aether tile": (HEADER + "\n.\n  100 .\n", "line 7, column 3: the aether value 100 is not 1..99"),
    "a very large aether tile": (
        HEADER + ".   " + 5000 * "9" + "\n",
        "column 5: the aether value 99999999999999999999",
    ),
    "a negative aether tile": (HEADER + ".   -7\n", "line 5, column 5: unknown token '-7'"),
    "tokens that touch": (HEADER + "9.  .\n", "line 5, column 1: unknown token '9.'"),
    "a wide space": (HEADER + ".\u3000 .\n", "line 5, column 1: unknown token '.\\u3000'"),
    "a wide letter": (HEADER + ".   \uff2f\n", "line 5, column 5: unknown token"),
    "another script's number": (HEADER + ".   \u0669\n", "line 5, column 5: unknown token"),
    "a form feed": (HEADER + ".\n\x0c\n", "line 6, column 1: unknown token '\\x0c'"),
    "an odd column": (HEADER + ".    .\n", "line 5, column 6: a token must start at column 1, 3, 5 or another odd one"),
    "a row of its own parity": (HEADER + ".   .\n.   .\n", "line 6, column 1: . is off the lattice of the first hex"),
    "hexes side by side": (HEADER + ".   . .\n", "line 5, column 7: . is off the lattice"),
    "a pit off the lattice": (HEADER + ".   .   .\nO\n", "line 6, column 1: O is off the lattice"),
    "too many slots": (HEADER + 11 * (11 * ".   " + "\n\n"), "line 25, column 41: more than 120 slots"),
    "too many aether tiles": (HEADER + 4 * (11 * "7   " + "\n\n"), "line 11, column 29: more than 40 aether tiles"),
    "no slots": (HEADER + "7   O\n", "there are no slots"),
    "nothing": ("\n", "the header has no 'name', such as '% name: mini'"),
    "no name": (header(name=None) + ".\n", "the header has no 'name', such as '% name: mini'"),
    "no tiles": (header(tiles_per_element=None) + ".\n", "the header has no 'tiles_per_element'"),
    "no elementals": (header(elementals=None) + ".\n", "the header has no 'elementals', such as '% elementals: 4 3'"),
    "no hands": (header(hand_tiles=None) + ".\n", "the header has no 'hand_tiles'"),
    "an unknown key": (
        HEADER + "%  colour: red\n.\n",
        "line 5, column 4: unknown header key 'colour'; allowed: name, ti",
    ),
    "no key": (HEADER + "%\n.\n", "line 5, column 2: unknown header key ''"),
    "a repeated key": (HEADER + "% name: again\n.\n", "line 5, column 3: the header key 'name' is repeated"),
    "no colon": ("% name\n.\n", "line 1, column 7: a header line is such as '% name: mini'"),
    "an empty name": ("% name:\n.\n", "line 1, column 8: the name '' is not 1..60 printable characters"),
    "a long name": (f"% name: {61 * 'n'}\n.\n", "line 1, column 9: the name 'nnnn"),
    "a bell in the name": ("% name: a\x07b\n.\n", "line 1, column 9: the name 'a\\x07b' is not"),
    "no tiles at all": (
        header(tiles_per_element=0) + ".\n",
        "line 2, column 22: tiles_per_element: '0' is not a whole n",
    ),
    "100 tiles": (header(tiles_per_element=100) + ".\n", "'100' is not a whole number 1..99"),
    "half a tile": (header(tiles_per_element="7.5") + ".\n", "'7.5' is not a whole number 1..99"),
    "two numbers": (
        header(hand_tiles="4 4") + ".\n",
        "line 4, column 15: hand_tiles: '4 4' is not a whole number 1..8",
    ),
    "nine in hand": (header(hand_tiles=9) + ".\n", "'9' is not a whole number 1..8"),
    "four elementals": (
        header(elementals="3 3 3 3") + ".\n",
        "line 3, column 15: elementals: '3 3 3 3' is not one to th",
    ),
    "no number": (header(elementals="") + ".\n", "line 3, column 15: elementals: '' is not one to three numbers 1..99"),
    "many elementals": (header(elementals="3 100") + ".\n", "'3 100' is not one to three numbers 1..99"),
    "commas": (header(elementals="3,3") + ".\n", "'3,3' is not one to three numbers 1..99"),
    "a long text": (HEADER + ".\n" + MAX_BYTES * "\n", f"longer than {MAX_BYTES} characters"),
}


@pytest.mark.parametrize("name", BAD_BOARDS)
def test_bad_boards_are_one_clear_line(name, tmp_path):
    text, message = BAD_BOARDS[name]
    with pytest.raises(SetupError, match=re.escape(message)) as caught:
        load_game("aether", board=text)
    assert str(caught.value).startswith("the board's text: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    if len(text) <= MAX_BYTES:
        file = tmp_path / "bad.txt"
        file.write_bytes(text.encode())
        with pytest.raises(SetupError, match=re.escape(message)) as of_file:
            load_game("aether", board=str(file))
        assert str(of_file.value) == str(caught.value).replace("the board's text", f"board {str(file)!r}", 1)


def test_bad_files_are_one_clear_line(tmp_path):
    large, latin = tmp_path / "large.txt", tmp_path / "latin.txt"
    large.write_text(FLOWER + MAX_BYTES * "\n")
    latin.write_bytes(FLOWER.replace("test", "caf\xe9").encode("latin-1"))
    messages = {
        str(large): f"larger than {MAX_BYTES} bytes",
        str(latin): "not a UTF-8 text",
        str(tmp_path): "there is no such file; allowed: standard, small, mini",
        str(tmp_path / "none.txt"): "there is no such file",
        "huge": "there is no such file",
        "a\0b": "",
        5000 * "x": "",
    }
    for board, message in messages.items():
        with pytest.raises(SetupError, match=f"board .*{message}") as caught:
            load_game("aether", board=board)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400
    for board in ("", 7, None, True, ["standard"]):
        with pytest.raises(
            OptionError, match=r"board = .* is not allowed; allowed: standard or small or mini or .*path"
        ):
            load_game("aether", board=board)
