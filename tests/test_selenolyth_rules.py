"""The Selenolyth's rules, one drawn position each: every example of the rule text, both views, the endings' order."""

import pytest
from naive.selenolyth import NaiveSelenolyth

from trilithon.core import CHANCE, IllegalActionError, load_game
from trilithon.core.selenolyth import kernels

S, D, O = 0, 1, 2  # noqa: E741
PLAYERS = (0, 1)


def own(name):
    """A cell by its name, in the view of whoever names it."""
    return (int(name[1]) - 1) * 6 + "abcdef".index(name[0])


def absolute(name, player):
    return own(name) if player == 0 else 35 - own(name)


def cells(names, player=0):
    """`occupied` of stones that `player` calls by these names."""
    taken = {absolute(name, player) for name in names.split()}
    return [int(cell in taken) for cell in range(36)]


def roll(stone, file):
    return stone * 6 + "abcdef".index(file)


def will(stone, file):
    return 18 + roll(stone, file)


class Both:
    """The kernels and the plain twin, driven together: a rule that is shown holds for both."""

    def __init__(self, stones="", player=0, config=None, **position):
        fields = {"occupied": cells(stones, player), "player": player, **position}
        setup = {"first_player": player, "position": fields}
        self.seat = player
        self.twin = NaiveSelenolyth(config or {}, setup)
        self.state = load_game("selenolyth", **(config or {})).from_setup(setup)

    def play(self, *actions):
        for action in actions:
            self.state.apply_action(action)
            self.twin.apply_action(action)
            assert self.state.to_dict() == self.twin.to_dict()
            assert self.state.returns().tolist() == [float(value) for value in self.twin.returns()]
        return self

    def legal(self):
        assert self.state.legal_actions() == self.twin.legal_actions()
        return self.state.legal_actions()

    def __getattr__(self, name):
        return self.state.to_dict()[name]

    def stones(self):
        """Names of the occupied cells in the first mover's view."""
        names = [f"{file}{rank}" for rank in range(1, 7) for file in "abcdef"]
        return {name for name in names if self.occupied[absolute(name, self.seat)]}

    def result(self):
        """What the first mover gets."""
        return self.state.returns()[self.seat]


# ------------------------------------------------------------------------------------------------ the text's examples


@pytest.mark.parametrize("player", PLAYERS)
def test_example_diox_on_d3_scores_three_diagonal_neighbours(player):
    game = Both("c2 c4 e4", player).play(roll(D, "d"), 2)
    assert game.luminance[player] == 3
    assert game.luminance[1 - player] == 0
    assert game.stones() == {"c2", "c4", "e4", "d3"}


@pytest.mark.parametrize("player", PLAYERS)
def test_example_orthos_on_d4_scores_four_orthogonal_neighbours(player):
    game = Both("c4 d5 e4 d3 c5 e3", player).play(roll(O, "d"), 3)
    assert game.luminance[player] == 4


@pytest.mark.parametrize("player", PLAYERS)
def test_example_a_selenolyth_on_c3_pulls_four_stones_and_does_not_see_c6(player):
    game = Both("c5 c6 a3 e1 f6 b6", player).play(roll(S, "c"), 2)
    assert game.stones() == {"c3", "c4", "c6", "b3", "d2", "d4", "b6"}, "b6 is on none of the eight lines"


@pytest.mark.parametrize("player", PLAYERS)
def test_example_a_ricochet_from_e6_to_e5_that_completes_a_square_is_the_hex(player):
    game = Both("e6 d6 f6 d5 f5 d4 e4 f4", player).play(roll(S, "e"), 5)
    assert game.phase == "ricochet"
    assert game.player == player
    game.play(36 + own("e5"))
    assert (game.outcome, game.result()) == ("hex", -1)


@pytest.mark.parametrize("player", PLAYERS)
def test_example_a_pull_that_completes_a_square_wins(player):
    game = Both("c3 d3 e3 c4 c5 d6 f4 f6", player).play(roll(S, "d"), 3)
    assert game.stones() == {"c3", "d3", "e3", "c4", "d4", "e4", "c5", "d5", "e5"}
    assert (game.outcome, game.result()) == ("square", 1)


@pytest.mark.parametrize("player", PLAYERS)
def test_example_two_squares_at_once_win_once(player):
    game = Both("b3 c3 d3 e3 b4 c4 e4 b5 c5 d6 f6", player).play(roll(S, "d"), 3)
    assert game.stones() >= {f"{file}{rank}" for file in "bcde" for rank in (3, 4, 5)}
    assert (game.outcome, game.result()) == ("square", 1)


@pytest.mark.parametrize("player", PLAYERS)
def test_example_orthos_by_will_on_b1_scores_three_without_a_roll(player):
    game = Both("a1 c1 b2 b3 b4 b5 b6", player)
    assert will(O, "b") in game.legal()
    assert roll(O, "b") in game.legal(), "the player may rely on the die all the same"
    game.play(will(O, "b"))
    assert game.luminance[player] == 3
    assert game.player == 1 - player


# -------------------------------------------------------------------------------------------------------- the choices


@pytest.mark.parametrize("player", PLAYERS)
def test_a_full_file_cannot_be_chosen_and_will_needs_one_free_cell(player):
    game = Both("a1 a2 a3 a4 a5 a6 b1 b2 b3 b4 b5 c1 c2 c4", player, reserve=[[3, 0, 1]] * 2)
    expected = [roll(s, f) for s in (S, O) for f in "bcdef"] + [will(s, "b") for s in (S, O)]
    assert game.legal() == expected


def test_the_start():
    game = load_game("selenolyth", first_player=1)
    state = game.new_initial_state(seed=0)
    assert state.current_player() == 1
    assert state.legal_actions() == list(range(18))
    state.apply_action(4)
    assert state.current_player() == CHANCE
    assert state.chance_outcomes() == [(face, pytest.approx(1 / 6)) for face in range(6)]


def test_north_sees_the_board_turned():
    """North's a1 is f6 to South."""
    game = Both(player=1).play(roll(S, "a"), 0)
    assert game.occupied == [int(cell == 35) for cell in range(36)]
    again = Both(player=1).play(roll(S, "f"), 5)
    assert again.occupied == [int(cell == 0) for cell in range(36)]


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("stone", [D, O])
def test_a_shard_on_an_occupied_cell_goes_back_and_the_turn_is_lost(player, stone):
    game = Both("c2 c3 b2", player)
    before = (game.occupied, game.luminance, game.reserve)
    game.play(roll(stone, "c"))
    assert game.reserve[player][stone] == 1, "chosen: not in the reserve"
    game.play(1)
    assert (game.occupied, game.luminance, game.reserve) == before
    assert (game.player, game.phase) == (1 - player, "choose")


@pytest.mark.parametrize("player", PLAYERS)
def test_a_ricochet_may_go_anywhere_and_pulls_nothing(player):
    game = Both("c2 f6", player).play(roll(S, "c"), 1)
    assert game.legal() == sorted(36 + cell for cell in range(36) if cell not in (own("c2"), own("f6")))
    with pytest.raises(IllegalActionError, match="not legal"):
        game.state.apply_action(36 + own("c2"))
    game.play(36 + own("a2"))
    assert game.stones() == {"c2", "f6", "a2"}
    assert game.player == 1 - player


def test_will_of_a_selenolyth_pulls():
    game = Both("b1 b2 b3 b4 b5 d6 e3").play(will(S, "b"))
    assert game.stones() == {"b1", "b2", "b3", "b4", "b5", "b6", "c6", "c5"}


def test_pulls_reach_over_the_whole_board_from_a_corner():
    game = Both("f1 a6 f6").play(roll(S, "a"), 0)
    assert game.stones() == {"a1", "b1", "a2", "b2"}


def test_every_pull_of_one_stone():
    """The kernel against the sentence of the rules, from every cell with a stone on any other."""
    for cell in range(36):
        for other in range(36):
            if other == cell:
                continue
            up, right = other // 6 - cell // 6, other % 6 - cell % 6
            seen = up == 0 or right == 0 or abs(up) == abs(right)
            step = (up > 0) - (up < 0), (right > 0) - (right < 0)
            target = cell + 6 * step[0] + step[1] if seen else other
            assert kernels.pull(1 << other, cell) == 1 << target


# -------------------------------------------------------------------------------------------------------- the endings

RING = "a1 b1 c1 a2 c2 a3 b3 c3"  # a square that lacks b2


def test_the_hex_comes_before_all_else():
    game = Both(RING + " f1", luminance=[8, 8]).play(roll(S, "f"), 0, 36 + own("b2"))
    assert (game.outcome, game.result()) == ("hex", -1)
    last = Both(RING + " f1", reserve=[[1, 0, 0], [5, 0, 0]]).play(roll(S, "f"), 0, 36 + own("b2"))
    assert (last.outcome, last.result()) == ("hex", -1)


@pytest.mark.parametrize("value", [1, 2, 9])
@pytest.mark.parametrize("player", PLAYERS)
def test_a_square_and_nine_luminance_are_a_lunar_eclipse(player, value):
    luminance = [0, 0]
    luminance[player] = 5
    config = {"eclipse_value": value}
    game = Both(RING, player, config, luminance=luminance).play(roll(D, "b"), 1)
    assert game.luminance[player] == 9
    assert (game.outcome, game.result()) == ("eclipse", value)
    assert game.state.heuristic().tolist() == [1.0, -1.0][:: 1 if player == 0 else -1]
    short = [points - (points > 0) for points in luminance]
    assert Both(RING, player, config, luminance=short).play(roll(D, "b"), 1).outcome == "square"


def test_a_square_by_a_shard_wins():
    game = Both(RING).play(roll(O, "b"), 1)
    assert (game.outcome, game.result()) == ("square", 1)


def test_the_ninth_luminance_wins_also_with_the_last_stone():
    for reserve in ([[5, 0, 1], [5, 0, 0]], [[0, 0, 1], [5, 0, 0]]):
        game = Both("c4 d5", luminance=[7, 0], reserve=reserve).play(roll(O, "d"), 3)
        assert (game.outcome, game.result(), game.luminance[0]) == ("luminance", 1, 9)


@pytest.mark.parametrize(("luminance", "outcome"), [(3, "luminance"), (2, None)])
def test_the_goal_is_an_option(luminance, outcome):
    game = Both("c4 d5", config={"luminance_goal": 5}, luminance=[luminance, 0]).play(roll(O, "d"), 3)
    assert game.outcome == outcome


def test_an_empty_reserve_wins():
    game = Both("c4", reserve=[[1, 0, 0], [5, 0, 0]]).play(roll(S, "d"), 3)
    assert (game.outcome, game.result(), game.reserve[0]) == ("lord", 1, [0, 0, 0])
    ricochet = Both("c4", reserve=[[1, 0, 0], [5, 0, 0]]).play(roll(S, "c"), 3, 36)
    assert (ricochet.outcome, ricochet.result()) == ("lord", 1)
    skipped = Both("c4", reserve=[[0, 1, 0], [5, 0, 0]]).play(roll(D, "c"), 3)
    assert skipped.outcome is None, "the Shard went back"


def test_max_turns_counts_every_turn_and_comes_last():
    game = Both(config={"max_turns": 3}).play(roll(S, "a"), 0, roll(D, "f"), 5)
    assert game.outcome is None
    assert game.reserve[1] == [14, 2, 2], "skipped: North's f6 is South's a1"
    game.play(roll(S, "f"), 0)
    assert (game.outcome, game.player, game.result()) == ("truncated", None, 0)
    won = Both(RING, config={"max_turns": 3}, turns=2).play(roll(O, "b"), 1)
    assert won.outcome == "square"
    lord = Both(config={"max_turns": 3}, turns=2, reserve=[[1, 0, 0], [5, 0, 0]]).play(roll(S, "b"), 1)
    assert lord.outcome == "lord"


def test_a_skip_can_repeat_a_position():
    game = Both("c2", reserve=[[0, 1, 0], [0, 1, 0]])
    before = game.state.to_dict()
    game.play(roll(D, "c"), 1, roll(D, "d"), 4)
    assert game.state.to_dict() == before


def test_a_legal_action_always_exists():
    """No board without a 3x3 square holds more than 32 stones: four cells hit every square, and three do not."""
    squares = [sum(1 << (corner + 6 * r + f) for r in range(3) for f in range(3)) for corner in range(36)]
    squares = [square for corner, square in enumerate(squares) if corner % 6 < 4 and corner < 24]
    holes = sum(1 << own(name) for name in ("c3", "f3", "c6", "f6"))
    assert not kernels.has_square((1 << 36) - 1 & ~holes)
    disjoint = [squares[0], squares[3], squares[12], squares[15]]
    assert all(not a & b for a in disjoint for b in disjoint if a is not b), "each needs a hole of its own"
    for square in squares:
        assert kernels.has_square(square)
        assert not any(kernels.has_square(square & ~(1 << cell)) for cell in range(36) if square >> cell & 1)
