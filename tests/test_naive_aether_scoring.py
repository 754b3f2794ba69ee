"""The plain twin of Aether: boards, and whether anything can still change, against trying every completion."""

import random

import pytest
from naive.aether_scoring import (
    Rest,
    board_text,
    filled_at_setup,
    may_change,
    may_change_by_brute_force,
    parse_board,
)
from naive.drawn_aether import FLOWER
from naive.files import DATA, golden_games


@pytest.mark.parametrize(
    ("name", "slots", "light", "dark", "aether"),
    [("standard", 77, 15, 16, 14), ("small", 31, 5, 6, 6), ("mini", 16, 1, 3, 3)],
)
def test_boards_have_the_stated_counts(name, slots, light, dark, aether):
    board = parse_board(board_text(name))
    assert (len(board.slots), board.slots.count(":"), board.slots.count("#")) == (slots, light, dark)
    assert len(board.aether) == aether
    for slot, touching in enumerate(board.neighbours):
        assert all(slot in board.neighbours[other] for other in touching)
        assert slot not in touching
        assert len(touching) == len(set(touching)) <= 6


def test_standard_board_has_the_numbers_of_the_rules():
    board = parse_board(board_text("standard"))
    assert (board.tiles_per_element, board.elementals, board.hand_tiles) == (23, [14, 11, 9], 4)
    assert {tile.value for tile in board.aether} == {7, 8, 9, 10}


def test_board_by_name_path_or_text():
    path = DATA / "boards" / "mini.txt"
    assert board_text("mini") == board_text(str(path)) == board_text(path.read_text())


def test_a_pit_is_no_slot_and_no_neighbour():
    board = parse_board(FLOWER.replace(".   9", "O   9"))
    assert len(board.slots) == 5
    assert board.aether[0].around == [2, 0, 1, 3, 4]
    assert board.neighbours[0] == [1]


@pytest.mark.parametrize("game", golden_games("aether"), ids=lambda game: "")
def test_golden_setup_fills_the_grey_slots(game):
    board = parse_board(board_text(game["config"]["board"]))
    filled = [slot for slot, element in enumerate(game["setup"]["tiles"]) if element is not None]
    assert filled == filled_at_setup(board, game["config"]["variant"])


def test_decision_agrees_with_trying_every_completion():
    draws = random.Random(7)
    board = parse_board(board_text("mini"))
    answers = []
    for _ in range(150):
        players = draws.choice([2, 3, 4])
        tiles = [draws.randrange(4) for _ in board.slots]
        elementals = [draws.choice([None, draws.randrange(players)]) for _ in board.slots]
        rest = Rest([0, 0, 0, 0], [draws.choice([0, 0, 0, 1, 2]) for _ in range(players)])
        for slot in draws.sample(range(16), draws.choice([1, 2, 3])):
            tiles[slot] = elementals[slot] = None
            rest.tiles[draws.randrange(4)] += draws.choice([1, 1, 2])
        position = (board, tiles, elementals, rest, players == 4)
        answers.append(may_change(*position))
        assert answers[-1] == may_change_by_brute_force(*position)
    assert 40 < sum(answers) < 110
