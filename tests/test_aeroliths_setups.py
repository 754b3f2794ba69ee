"""What Aeroliths' seed decides (first player, hands, pool, elemental cells) and which options are refused."""

from collections import Counter

import pytest
from naive.drawn_aeroliths import cell_list, hand_sizes, litho
from naive.files import golden_games
from scipy.stats import chisquare

from trilithon.core import SetupError, load_game
from trilithon.core.rng import seed

HEADER = "name,top,right,bottom,left,element\n"


def setups(count, **options):
    game = load_game("aeroliths", **options)
    return [game.new_setup(seed) for seed in range(count)]


@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("first_player", [0, 1])
def test_random_hands_have_the_right_sizes_and_values(n, first_player):
    for setup in setups(20, size=n, first_player=first_player):
        assert setup["first_player"] == first_player
        assert [len(hand) for hand in setup["hands"]] == hand_sizes(n, first_player)
        for *values, element in setup["hands"][0] + setup["hands"][1]:
            assert all(1 <= value <= 10 for value in values)
            assert 0 <= element <= 3
        assert setup["cells"] == cell_list(None, n)


def test_a_random_first_player_is_fair():
    counts = Counter(setup["first_player"] for setup in setups(400))
    assert chisquare([counts[0], counts[1]]).pvalue > 1e-4


@pytest.mark.parametrize("n", [3, 4, 5])
def test_mirrored_hands_are_equal_slot_by_slot(n):
    for setup in setups(20, size=n, hands="mirrored"):
        first, other = setup["hands"][setup["first_player"]], setup["hands"][1 - setup["first_player"]]
        assert len(first) == (n * n + 1) // 2
        assert other == first[: n * n // 2]


def test_uniform_source_is_uniform():
    lithos = [litho for setup in setups(300) for hand in setup["hands"] for litho in hand]
    for side in range(4):
        counts = Counter(litho[side] for litho in lithos)
        assert chisquare([counts[value] for value in range(1, 11)]).pvalue > 1e-4
    counts = Counter(litho[4] for litho in lithos)
    assert chisquare([counts[element] for element in range(4)]).pvalue > 1e-4


@pytest.mark.parametrize("budget", [4, 6, 20, 39, 40])
def test_budget_source_fixes_the_sum(budget):
    lithos = [tuple(litho) for setup in setups(200, source="budget", budget=budget) for litho in setup["hands"][0]]
    assert {sum(litho[:4]) for litho in lithos} == {budget}
    sides = range(1, 11)
    vectors = [
        (a, b, c, budget - a - b - c) for a in sides for b in sides for c in sides if 1 <= budget - a - b - c <= 10
    ]
    counts = Counter(litho[:4] for litho in lithos)
    assert set(counts) <= set(vectors)
    if 1 < len(vectors) <= 10:
        assert chisquare([counts[vector] for vector in vectors]).pvalue > 1e-4


def write_catalogue(path, count):
    rows = [f"stone {k},{1 + k % 10},{1 + k // 10},5,5,{('fire', 'none')[k % 2]}\n" for k in range(count)]
    path.write_text(HEADER + "".join(rows), encoding="utf-8")
    return str(path)


def test_catalogue_is_drawn_without_replacement_across_both_hands(tmp_path):
    path = write_catalogue(tmp_path / "nine.csv", 9)
    for setup in setups(20, source="catalogue", catalogue=path):
        drawn = sorted(tuple(litho) for hand in setup["hands"] for litho in hand)
        assert drawn == sorted((1 + k, 1, 5, 5, (0, 4)[k % 2]) for k in range(9))


def test_standard_catalogue_gives_distinct_named_lithos():
    for setup in setups(5, size=5, source="catalogue"):
        names = [name for hand in setup["names"]["hands"] for name in hand] if "names" in setup else []
        assert len(set(names)) == len(names)


def test_a_catalogue_that_is_too_small_is_refused(tmp_path):
    path = write_catalogue(tmp_path / "eight.csv", 8)
    with pytest.raises(ValueError, match="9"):
        load_game("aeroliths", source="catalogue", catalogue=path).new_setup(1)


def test_mirrored_hands_need_one_hand_of_the_catalogue(tmp_path):
    path = write_catalogue(tmp_path / "five.csv", 5)
    for setup in setups(5, source="catalogue", catalogue=path, hands="mirrored"):
        assert len({tuple(litho) for litho in setup["hands"][setup["first_player"]]}) == 5


@pytest.mark.parametrize(("n", "pool_size"), [(3, 12), (4, 20), (5, 30)])
def test_draft_pool(n, pool_size):
    for options in {}, {"pool_size": n * n}, {"pool_size": 40}:
        for setup in setups(3, size=n, draft=True, **options):
            assert len(setup["pool"]) == options.get("pool_size", pool_size)
            assert setup["hands"] == [[], []]


def test_elemental_cells():
    assert all(setup["cells"] == [None] * 9 for setup in setups(5))
    for count in 1, 4, 9:
        for setup in setups(10, elemental_cells=count):
            assert sum(cell is not None for cell in setup["cells"]) == count
    drawn = setups(600, elemental_cells="random")
    counts = Counter(sum(cell is not None for cell in setup["cells"]) for setup in drawn)
    assert set(counts) == {1, 2, 3, 4}
    assert chisquare([counts[k] for k in range(1, 5)]).pvalue > 1e-4
    elements = Counter(cell for setup in drawn for cell in setup["cells"] if cell is not None)
    assert set(elements) == {0, 1, 2, 3}
    assert chisquare([elements[k] for k in range(4)]).pvalue > 1e-4
    places = Counter(cell for setup in drawn for cell in range(9) if setup["cells"][cell] is not None)
    assert chisquare([places[cell] for cell in range(9)]).pvalue > 1e-4


def test_the_seed_decides_the_setup():
    game = load_game("aeroliths", elemental_cells="random")
    assert game.new_setup(3) == game.new_setup(3)
    assert game.new_setup(3) != game.new_setup(4)
    state = game.new_initial_state(seed=3)
    assert state.to_bytes() == game.from_setup(game.new_setup(3)).to_bytes()


@pytest.mark.parametrize("stored", golden_games("aeroliths")[:3], ids=lambda game: "")
def test_a_state_tells_its_setup(stored):
    state = load_game("aeroliths", **stored["config"]).from_setup(stored["setup"])
    for _, action in stored["steps"]:
        state.apply_action(action)
    assert state.setup() == stored["setup"]


def test_position_setup_goes_on_identically():
    for stored in golden_games("aeroliths")[:12]:
        game = load_game("aeroliths", **stored["config"])
        state = game.from_setup(stored["setup"])
        for k, (_, action) in enumerate(stored["steps"]):
            try:
                again = game.from_setup(state.position_setup())
            except ValueError:  # inside a turn: during the draft, or between a Chaos pick and its placement
                assert stored["config"]["chaos"] or stored["config"]["draft"]
            else:
                assert again.legal_actions() == stored["legal"][k]
                assert again.to_dict() == state.to_dict()
                again.apply_action(action)
                assert again.to_dict() == stored["states"][k]
            state.apply_action(action)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"order": True, "chaos": True}, "order.*chaos|chaos.*order"),
        ({"draft": True, "hands": "mirrored"}, "draft.*mirrored|mirrored.*draft"),
        ({"size": 2}, "size.*2"),
        ({"size": 6}, "size.*6"),
        ({"max_rounds": 0}, "max_rounds.*0"),
        ({"max_rounds": 100}, "max_rounds.*100"),
        ({"draft": True, "pool_size": 8}, "pool_size.*8"),
        ({"draft": True, "pool_size": 41}, "pool_size.*41"),
        ({"source": "budget", "budget": 3}, "budget.*3"),
        ({"source": "budget", "budget": 41}, "budget.*41"),
        ({"elemental_cells": 10}, "elemental_cells.*10"),
        ({"elemental_cells": 0}, "elemental_cells.*0"),
        ({"first_player": 2}, "first_player.*2"),
        ({"hands": "best"}, "hands.*best"),
        ({"sam": True}, "sam"),
    ],
)
def test_refused_options(options, match):
    with pytest.raises(ValueError, match=match):
        load_game("aeroliths", **options).new_setup(1)


def test_manual_hands_start_from_a_setup_only():
    game = load_game("aeroliths", hands="manual", first_player=0)
    with pytest.raises(ValueError, match="manual"):
        game.new_initial_state(seed=1)
    hands = [[litho("1234:none")] * 5, [litho("5678:water")] * 4]
    state = game.from_setup({"first_player": 1, "hands": hands[::-1], "cells": cell_list({4: "fire"}, 3)})
    assert state.to_dict()["hands"] == hands[::-1]
    assert state.current_player() == 1


@pytest.mark.parametrize("size", [3, 4, 5])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"source": "budget", "budget": 14, "first_player": 1},
        {"chaos": True, "elemental_cells": "random", "first_player": 0},
        {"source": "catalogue", "elemental_cells": 3},
        {"hands": "mirrored"},
        {"draft": True, "observation": "universal"},
    ],
)
def test_a_deal_is_the_setup_and_its_state(size, options):
    """A state dealt straight equals the setup drawn and encoded, and the generator ends where it does."""
    game = load_game("aeroliths", size=size, **options)
    for number in range(20):
        one, two = seed(number), seed(number)
        array, setup = game.deal(one)
        assert setup == game.new_setup(two)
        assert array.tobytes() == game.encode(setup).tobytes()
        assert one[0] == two[0]


@pytest.mark.parametrize(
    ("options", "plies", "message"),
    [({"draft": True}, 3, "a draft that has begun"), ({"chaos": True}, 1, "a slot is picked"), ({}, 9, "has ended")],
)
def test_a_text_that_cannot_start_a_game_says_why(options, plies, message):
    game = load_game("aeroliths", first_player=0, **options)
    state = game.new_initial_state(5)
    for _ in range(plies):
        state.apply_action(state.legal_actions()[0])
    with pytest.raises(SetupError, match=message):
        game.from_text(str(state))


@pytest.mark.parametrize("options", [{}, {"chaos": True}, {"draft": True}, {"hands": "mirrored"}, {"size": 4}])
def test_a_position_at_the_beginning_of_a_turn_round_trips_as_text(options):
    game = load_game("aeroliths", **options)
    state = game.new_initial_state(6)
    while not state.is_terminal():
        inside = state.array["picked"][0] >= 0 or (state.array["pool_left"][0] and state.history())
        if not inside:
            assert str(game.from_text(str(state))) == str(state)
        state.apply_action(state.legal_actions()[-1])
