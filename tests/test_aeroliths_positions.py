"""Aeroliths captures, one rule a position, drawn as `naive/drawn_aeroliths.py` says; kernels and twin both answer."""

from functools import partial

import pytest
from naive.begin import IMPLEMENTATIONS, begin_aeroliths
from naive.drawn_aeroliths import ELEMENTS, captured_cells, drawn

STRONG = {("fire", "wind"), ("wind", "earth"), ("earth", "water"), ("water", "fire")}


def check_placement(implementation, options, board, place, cells=None):
    """Whether exactly the stones drawn as X are captured, whichever player is the mover."""
    for mover in range(2):
        setup, action, expected = drawn(board, place, cells, mover)
        size = {9: 3, 16: 4, 25: 5}[len(setup["cells"])]
        state = begin_aeroliths(implementation, {"size": size, **dict.fromkeys(options.split(), True)}, setup)
        before = state.to_dict()
        assert before["player"] == mover
        assert action in state.legal_actions()
        state.apply_action(action)
        assert captured_cells(before, state.to_dict()) == expected


@pytest.fixture(params=IMPLEMENTATIONS)
def check(request):
    return partial(check_placement, request.param)


# --- the examples of the rule text ---


def test_example_7_against_3_captures(check):
    check("", "* X1113 . . . . . . .", place="1711")


def test_example_equal_values_capture_nothing(check):
    check("", "* x1117 . . . . . . .", place="1711")


def test_example_lower_value_captures_nothing(check):
    check("", "* x1117 . . . . . . .", place="1311")


def test_example_one_placement_captures_on_all_four_sides(check):
    check("", ". X9939 .  X9399 * X9993  . X3999 .", place="7777")


def test_example_fire_captures_equal_wind(check):
    check("", "* X1115:wind . . . . . . .", place="1511:fire")


def test_example_wind_does_not_capture_equal_fire(check):
    check("", "* x1115:fire . . . . . . .", place="1511:wind")


# --- elements and elemental cells ---


@pytest.mark.parametrize("defender", ELEMENTS)
@pytest.mark.parametrize("attacker", ELEMENTS)
def test_element_cycle(check, attacker, defender):
    equal = "X" if (attacker, defender) in STRONG else "x"
    one_less = "x" if (defender, attacker) in STRONG else "X"
    check("", f". . .  * {equal}1115:{defender} .  . . .", place=f"1511:{attacker}")
    check("", f". . .  * {one_less}1115:{defender} .  . . .", place=f"1611:{attacker}")


def test_strength_is_worth_one_point_only(check):
    check("", ". . .  * x1116:wind .  . . .", place="1511:fire")
    check("", ". . .  * X1115:fire .  . . .", place="1711:wind")


def test_only_the_facing_side_counts(check):
    check("", ". . .  * x1116 .  . . .", place="9599")
    check("", ". . .  * X9995 .  . . .", place="1611")


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("cell", ELEMENTS[:4])
def test_elemental_cell_of_the_attacker(check, element, cell):
    same = element == cell  # else the penalty, for a Litho of element none too
    check("", f". . .  * {'X' if same else 'x'}1115 .  . . .", place=f"1511:{element}", cells={3: cell})
    check("", f". . .  * {'X' if same else 'x'}1115 .  . . .", place=f"1611:{element}", cells={3: cell})
    check("", ". . .  * X1115 .  . . .", place=f"1711:{element}", cells={3: cell})


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("cell", ELEMENTS[:4])
def test_elemental_cell_of_the_defender(check, element, cell):
    same = element == cell
    check("", f". . .  * {'x' if same else 'X'}1115:{element} .  . . .", place="1511", cells={4: cell})
    check("", f". . .  * {'x' if same else 'X'}1115:{element} .  . . .", place="1611", cells={4: cell})
    check("", f". . .  * X1115:{element} .  . . .", place="1711", cells={4: cell})


def test_other_elemental_cells_do_not_matter(check):
    check("", ". . .  * x1115:fire .  . . .", place="1511:fire", cells={0: "fire", 5: "water", 8: "fire"})


def test_effective_values_may_be_negative(check):
    # 1 - 1 (cell) = 0 against 1 - 1 (cell) - 1 (weaker element) = -1
    check("", ". . .  * X1111:fire .  . . .", place="1111:water", cells={3: "earth", 4: "wind"})
    # 1 - 1 (cell) - 1 (weaker element) = -1 against 1 - 1 (cell) = 0
    check("", ". . .  * x1111:water .  . . .", place="1111:fire", cells={3: "earth", 4: "wind"})


def test_effective_values_may_exceed_ten(check):
    check("", ". . .  * X111A .  . . .", place="1A11:fire", cells={3: "fire"})
    check("", ". . .  * x111A:fire .  . . .", place="1A11", cells={4: "fire"})


def test_cell_and_element_add_up(check):
    # 5 + 1 (cell) against 7 - 1 - 1
    check("", ". . .  * X1117:wind .  . . .", place="1511:fire", cells={3: "fire", 4: "water"})
    check("", ". . .  * x1118:wind .  . . .", place="1511:fire", cells={3: "fire", 4: "water"})


# --- Same ---


def test_same_two_opponents(check):
    check("same", ". X1151 .  . * X1115  . . .", place="5511")
    check("", ". x1151 .  . * x1115  . . .", place="5511")


def test_same_needs_two_sides(check):
    check("same", ". x1151 .  . * x1116  . . .", place="5511")


def test_same_own_stone_counts_but_stays(check):
    check("same", ". o1151 .  . * X1115  . . .", place="5511")


def test_same_two_own_stones_capture_nothing(check):
    check("same", ". o1151 .  . * o1115  . x9111 .", place="5511")


def test_same_takes_only_the_equal_sides(check):
    check("same", ". X1151 .  x1911 * X1115  . x9111 .", place="5511")


def test_same_on_four_sides_with_four_values(check):
    check("same", ". X9929 .  X9599 * X9993  . X4999 .", place="2345")


def test_same_is_judged_on_raw_values(check):
    # raw equal although both defenders are stronger by element, or the cell weakens the attacker
    check("same", ". X1151:fire .  . * X1115:fire  . . .", place="5511:wind")
    check("same", ". X1151 .  . * X1115  . . .", place="5511:wind", cells={4: "fire"})
    # effective values equal, raw values not
    check("same", ". x1151 .  . * x1115  . . .", place="6611:wind", cells={4: "fire"})


# --- Plus ---


def test_plus_two_opponents_share_a_sum(check):
    check("plus", ". X1161 .  . * X1115  . . .", place="3411")
    check("", ". x1161 .  . * x1115  . . .", place="3411")


def test_plus_needs_an_equal_sum(check):
    check("plus", ". x1161 .  . * x1116  . . .", place="3411")


def test_plus_leaves_sides_with_another_sum(check):
    check("plus", ". X1191 .  . * X1118  . x9111 .", place="1231")


def test_plus_several_groups_at_once(check):
    check("plus", ". X1181 .  X1811 * X1117  . X9111 .", place="1234")


def test_plus_own_stone_does_not_count(check):
    check("plus", ". o1161 .  . * x1115  . . .", place="3411")


def test_plus_own_option_lets_it_count(check):
    check("plus plus_own", ". o1161 .  . * X1115  . . .", place="3411")


def test_plus_own_never_captures_own_or_other_sums(check):
    check("plus plus_own", ". o1161 .  . * o1115  . x9111 .", place="3411")


def test_plus_own_needs_plus(check):
    check("plus_own", ". o1161 .  . * x1115  . . .", place="3411")
    check("plus_own", ". x1161 .  . * x1115  . . .", place="3411")


def test_plus_is_judged_on_raw_values(check):
    check("plus", ". X1161:fire .  . * X1115  . . .", place="3411:wind", cells={1: "earth", 4: "fire"})
    # 3 + 6 - 1 (wind against fire) equals 3 + 5, but 3 + 6 does not
    check("plus", ". x1161:wind .  . * x1115  . . .", place="3311:fire")


# --- Wall ---


EDGES = [
    # board, the facing edge has 10, it has 9 (the centre's sides are all 5)
    (". * .  . {}5555 .  . . .", "A151", "9151"),
    (". . .  . {}5555 *  . . .", "1A15", "1915"),
    (". . .  . {}5555 .  . * .", "51A1", "5191"),
    (". . .  * {}5555 .  . . .", "151A", "1519"),
]


@pytest.mark.parametrize(("board", "ten", "nine"), EDGES)
def test_wall_same_counts_an_edge_faced_by_ten(check, board, ten, nine):
    check("same wall", board.format("X"), place=ten)
    check("same wall", board.format("x"), place=nine)
    check("same", board.format("x"), place=ten)
    check("wall", board.format("x"), place=ten)


def test_wall_same_uses_the_printed_ten(check):
    check("same wall", "* X1115 . . . . . . .", place="A511", cells={0: "fire"})
    check("same wall", "* x1119 . . . . . . .", place="9911", cells={0: "fire"})
    check("same wall", "* x1117:fire . . . . . . .", place="9711:fire", cells={0: "fire", 1: "fire"})


def test_two_walls_without_an_equal_opponent_capture_nothing(check):
    check("same wall", "* x1116 . . . . . . .", place="A51A")


def test_wall_same_does_not_touch_unequal_sides(check):
    check("same wall", "* X1115 .  x6111 . .  . . .", place="A551")


PLUS_EDGES = [
    # board, the edge's sum is 12 as the centre's (3 + 9), it is 13
    (". * .  . {}9999 .  . . .", "2131", "3131"),
    (". . .  . {}9999 *  . . .", "1213", "1313"),
    (". . .  . {}9999 .  . * .", "3121", "3131"),
    ("o1111 . .  * {}9999 .  . . .", "1312", "1313"),
]


@pytest.mark.parametrize(("board", "equal", "different"), PLUS_EDGES)
def test_wall_plus_adds_ten(check, board, equal, different):
    check("plus wall", board.format("X"), place=equal)
    check("plus wall", board.format("x"), place=different)
    check("plus", board.format("x"), place=equal)
    check("wall", board.format("x"), place=equal)


def test_wall_plus_two_walls_share_a_sum_of_their_own(check):
    check("plus wall", "* x1118 . . . . . . .", place="2312")


def test_wall_plus_a_group_for_each_wall(check):
    check("plus wall", "* X1119 .  X9111 . .  . . .", place="2343")


def test_wall_plus_needs_no_plus_own(check):
    check("plus wall", "* X1119 .  o8111 . .  . . .", place="2341")
    check("plus wall", "* x1118 .  o9111 . .  . . .", place="3421")
    check("plus wall plus_own", "* X1117 .  o9111 . .  . . .", place="4421")


# --- Combo, and the order of the steps ---


SAME_AT_1_AND_5 = ". {} {}  . * X1115  . . ."  # 4 is placed with 5 at its top and right


def test_combo_captured_by_same_attacks(check):
    check("same combo", SAME_AT_1_AND_5.format("X1951", "X1111"), place="5511")
    check("same", SAME_AT_1_AND_5.format("X1951", "x1111"), place="5511")


def test_combo_captured_by_plus_attacks(check):
    check("plus combo", ". X1961 X1111  . * X1115  . . .", place="3411")
    check("plus", ". X1961 x1111  . * X1115  . . .", place="3411")


def test_combo_chain_goes_on(check):
    check("same combo", "X1171 X1159 .  X1281 * X1115  X1111 . .", place="5511")


def test_combo_compares_normally(check):
    check("same combo", SAME_AT_1_AND_5.format("X1551", "x1115"), place="5511")
    check("same combo", SAME_AT_1_AND_5.format("X1551", "x1116"), place="5511")


def test_combo_uses_elements(check):
    check("same combo", SAME_AT_1_AND_5.format("X1551:fire", "X1115:wind"), place="5511")
    check("same combo", SAME_AT_1_AND_5.format("X1651:wind", "x1115:fire"), place="5511")


def test_combo_uses_elemental_cells(check):
    check("same combo", SAME_AT_1_AND_5.format("X1551:fire", "X1115"), place="5511", cells={1: "fire"})
    check("same combo", SAME_AT_1_AND_5.format("X1651:fire", "x1115"), place="5511", cells={1: "water"})
    check("same combo", SAME_AT_1_AND_5.format("X1551", "X1115"), place="5511", cells={2: "water"})
    check("same combo", SAME_AT_1_AND_5.format("X1651", "x1115:fire"), place="5511", cells={2: "fire"})


def test_captured_by_basic_does_not_attack(check):
    check("combo", ". X1951 x1111  . * .  . . .", place="9111")
    check("same plus combo wall", ". X1951 x1111  . * .  . . .", place="9111")


def test_captured_by_basic_does_not_attack_when_a_chain_reaches_it(check):
    # 1 and 3 by Same, 5 by Basic; 1 takes 2, which would take 5; 5 alone could take 8
    check("same combo", ". X1951 X1191  X1511 * X1191  . . x1111", place="5915")


def test_captured_by_basic_and_plus_attacks(check):
    check("plus combo", ". X1931 X1111  . * X1116  . . .", place="7411")


def test_no_same_and_plus_within_a_chain(check):
    # the captured 1 has equal values, and equal sums, towards 0 and 2
    check("same plus combo", "x1611 X1656 x1116  . * X1115  . . .", place="5511")


def test_a_chain_leaves_own_stones(check):
    check("same combo", ". X1951 o1111  . * X9115  . . .", place="5511")


def test_same_captures_still_count_as_opponents_for_plus(check):
    # top and right by Same; the bottom's sum 1 + 9 is the top's 5 + 5
    check("same plus", ". X1151 .  . * X1113  . X9111 .", place="5311")


def test_a_stone_taken_by_basic_counts_for_plus(check):
    # 7 + 3 (also Basic) and 4 + 6
    check("plus", ". X1131 .  . * X1116  . . .", place="7411")


@pytest.mark.parametrize("options", ["", "same plus combo wall"])
def test_edges_of_larger_boards(check, options):
    check(options, ". . . x1111  * . . .  . . . .  . . . .", place="1119")
    check(options, ". . . . x1111  * . . . .  . . . . .  . . . . .  . . . . .", place="1119")
    check(options, "o1111 X1111 * X1111  . . X1111 .  . . . .  . . . .", place="1999")
