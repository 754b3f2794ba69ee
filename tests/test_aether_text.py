"""Aether as text: actions, positions written and read, and what a player is not shown."""

import re
from collections import Counter

import numpy as np
import pytest

from trilithon.core import IllegalActionError, SetupError, load_game
from trilithon.core.aether import facts, text

OPTIONS = [
    {"board": "mini"},
    {"board": "mini", "players": 3, "early_scoring": "agreement"},
    {"board": "small", "players": 4, "teams": True, "early_scoring": "agreement"},
    {"board": "small", "players": 3, "variant": True, "early_scoring": "proved", "leftover_points": 1},
]
WITH_PITS = """\
% name: two, islands
% tiles_per_element: 9
% elementals: 3 3
% hand_tiles: 2
  O   .   12
    :   .   .

.   .   #
  7   .
"""


def walks(count, seed=0, **options):
    """Every state of some random games; one action in eight is a swap or about scoring now, if it can be."""
    game = load_game("aether", **options)
    generator = np.random.default_rng(seed)
    for number in range(count):
        state = game.new_initial_state(number)
        yield state
        while not state.is_terminal():
            legal = state.legal_actions()
            others = [action for action in legal if action >= 8 * len(game.board.slots)]
            rare = others and (len(others) == len(legal) or generator.random() < 0.125)
            state.apply_action(int(generator.choice(others if rare else legal)))
            yield state


def start(board="mini", first=0, tiles=(), hands=((0, 1, 2, 3), (0, 0, 1, 3)), position=None, **options):
    """The state where `tiles` lie, per slot a letter and perhaps an owner: ``{4: "F1"}``."""
    game = load_game("aether", board=board, **options)
    setup = {
        "first_player": first,
        "tiles": [None] * len(game.board.slots),
        "hands": [list(hand) for hand in hands],
        "position": {"elementals": [None] * len(game.board.slots), **(position or {})},
    }
    for slot, tile in dict(tiles).items():
        setup["tiles"][slot] = text.LETTERS.index(tile[0])
        setup["position"]["elementals"][slot] = int(tile[1]) if tile[1:] else None
    return game.from_setup(setup)


def played(state, *actions):
    for action in actions:
        state.apply_action(state.string_to_action(action))
    return state


# ----------------------------------------------------------------------------------------------------------- actions


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_actions_are_written_as_people_type_them(options):
    seen = Counter()
    for state in walks(4, **options):
        seen[facts.phase(state.array)] += 1
        actions = state.legal_actions()
        if facts.phase(state.array) == "place":
            actions = list(range(state.game.num_distinct_actions()))
        texts = [state.action_to_string(action) for action in actions]
        assert len(set(texts)) == len(texts)
        assert [state.string_to_action(content) for content in texts] == actions
        assert [state.string_to_action(f" {content.upper()} ") for content in texts] == actions
    assert set(seen) >= {"place", "draw", "swap", "ended"}
    assert ("answer" in seen) == (options.get("early_scoring") == "agreement")


def test_forms_of_an_action():
    state = load_game("aether", board="mini").new_initial_state(0)
    place = {"water@0": 0, "w0": 0, "W @ 0+": 1, "f0": 32, "fire 15": 62, "E@3 +": 71, "air@15+": 127, "a15": 126}
    for content, action in {**place, "swap": 128, "Propose": 129, "AGREE": 130, "decline": 131}.items():
        assert state.string_to_action(content) == action
    assert [state.action_to_string(action) for action in (0, 1, 62, 127)] == [
        "water@0",
        "water@0+",
        "fire@15",
        "air@15+",
    ]
    played(state, "swap")
    for content, element in {"draw water": 0, "draw f": 1, "Draws  EARTH": 2, "air": 3}.items():
        assert state.string_to_action(content) == element


def test_what_is_not_an_action_shows_the_forms():
    state = load_game("aether", board="mini").new_initial_state(0)
    forms = re.escape(
        "type ELEMENT@SLOT such as fire@0, or fire@0+ with an elemental (water, fire, earth, air or w, f, e,"
    )
    # A draw typed while a player is to move, and the other way round, must not turn into some other action.
    wrong = ["", "fire", "fire@16", "f-1", "wind@3", "@3", "3+", "f3++", "f 3 5", "draw water", "draw", "swap 2", "f٣"]
    for content in wrong:
        with pytest.raises(IllegalActionError, match=f"is not an action now; {forms}") as caught:
            state.string_to_action(content)
        assert "\n" not in str(caught.value)
        assert "slots 0..15" in str(caught.value)
    played(state, "swap")
    for content in ("fire@3", "swap", "agree", "draw wind"):
        with pytest.raises(IllegalActionError, match="is not an action now"):
            state.string_to_action(content)
    with pytest.raises(IllegalActionError, match=r"for chance; legal: 0 \(draw water\)"):
        state.apply_action(4)


def test_what_a_player_sees_of_a_step():
    state = start(first=1, early_scoring="agreement", tiles={0: "W"})
    steps = [("propose", "1: propose"), ("decline", "0: decline"), ("swap", "1: swap")]
    for content, seen in steps:
        action = state.string_to_action(content)
        assert [state.game.step_to_string(state.array, action, player) for player in (0, 1)] == [seen] * 2
        state.apply_action(action)
    for _ in range(4):
        assert [state.game.step_to_string(state.array, 1, player) for player in (0, 1)] == [
            "1: draws a tile",
            "1: draws fire",
        ]
        assert [facts.draw_is_hidden(state.array, player) for player in (0, 1)] == [True, False]
        state.apply_action(1)
    action = state.string_to_action("f7+")
    assert [state.game.step_to_string(state.array, action, player) for player in (0, 1)] == ["1: fire@7+"] * 2
    assert not facts.draw_is_hidden(state.array, 0)


# ---------------------------------------------------------------------------------------------------------- positions

FULL = """\
aether on mini, 3 players, first player 2, player 1 to place
      F0    1     E
   3     7:1   4     A
W1    W     W1    9:12  9
   10    8:*   F2    12
      W     F0    F
powers: 7(1:2:.) 9(.:2:2) 8(2:2:2)
player 0: hand W W F A, unused 1, sacrificed 0, score 5
player 1: hand W E E A, unused 0, sacrificed 1, score 16
player 2: hand F E A A, unused 2, sacrificed 0, score 12
bag: W0 F1 E3 A2"""

AS_PLAYER_1 = """\
player 0: hand 4 tiles, unused 1, sacrificed 0, score 5
player 1: hand W E E A, unused 0, sacrificed 1, score 16
player 2: hand 4 tiles, unused 2, sacrificed 0, score 12
bag: 6 tiles, with the other hands W2 F3 E4 A5"""


def test_a_position_in_full_and_as_a_player_sees_it():
    state = load_game("aether", board="mini", players=3).from_text(FULL)
    assert str(state) == FULL
    assert state.to_text(1) == "\n".join([*FULL.splitlines()[:7], AS_PLAYER_1])
    assert facts.powers(state.array) == [1, *[None] * 5, 2, None, 2, None, None, 2, None, None, 2, None]
    expected = {
        "player": 1,
        "tiles": [1, None, 2, None, None, 3, 0, 0, 0, None, None, 1, None, 0, 1, 1],
        "elementals": [0, *[None] * 5, 1, None, 1, None, None, 2, None, None, 0, None],
        "hands": [[0, 0, 1, 3], [0, 2, 2, 3], [1, 2, 3, 3]],
        "unused": [1, 0, 2],
        "sacrificed": [0, 1, 0],
        "bag": [0, 1, 3, 2],
        "points": None,
    }
    assert state.to_dict() == expected
    assert int(state.array["first_player"][0]) == 2


def test_a_swap_as_text():
    state = start(first=1, tiles={0: "W"})
    played(state, "swap", "draw fire")
    line = "player 1: hand F, aside W W F A, unused 3, sacrificed 1, score 12"
    assert str(state).splitlines()[-2] == line == state.to_text(1).splitlines()[-2]
    assert state.to_text(0).splitlines()[-2] == "player 1: hand 1 tile, aside 4 tiles, unused 3, sacrificed 1, score 12"
    assert str(state).splitlines()[-1] == "bag: W3 F4 E6 A5"
    assert state.to_text(0).splitlines()[-1] == "bag: 18 tiles, with the other hands W5 F6 E6 A6"
    assert state.to_text(1).splitlines()[-1] == "bag: 18 tiles, with the other hands W4 F5 E7 A6"


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_text_is_read_as_the_position_it_shows(options):
    read = refused = 0
    for state in walks(6, seed=2, **options):
        try:
            expected = state.position_setup()
        except SetupError:
            with pytest.raises(SetupError, match="aether: line 1"):
                state.game.from_text(str(state))
            refused += 1
            continue
        again = state.game.from_text(str(state))
        assert again.array.tobytes() == state.game.from_setup(expected).array.tobytes()
        assert (again.to_dict(), str(again)) == (state.to_dict(), str(state))
        shorter = [line for line in str(state).lower().splitlines() if not line.startswith("powers")]
        shorter = [re.sub(r":[-*0-9]+(?= |$)", "", line).replace("  ", " ") for line in shorter]
        shorter = [re.sub(r", score \d+", "", line) for line in shorter]
        assert state.game.from_text("\n\n".join(["", *shorter])).to_dict() == state.to_dict()
        read += 1
    assert read > 50
    assert refused > 50
    fresh = state.game.new_initial_state(4)
    assert state.game.from_text(str(fresh)).setup() == fresh.setup()


def test_a_board_with_pits_and_gaps():
    state = load_game("aether", board=WITH_PITS, players=3, first_player=1).new_initial_state(1)
    lines = str(state).splitlines()
    assert lines[0] == "aether on two, islands, 3 players, first player 1, player 1 to place"
    assert re.fullmatch(r"   O     0     12:-", lines[1])
    assert re.fullmatch(r"      [WFEA]     2     3", lines[2])
    assert re.fullmatch(r"4     5     [WFEA]", lines[3])
    assert lines[4] == "   7:-   7"
    assert lines[5] == "powers: 12(.:.:.) 7(.:.:.)"
    assert state.game.from_text(str(state)).setup() == state.setup()


def lines_with(number, content):
    return lambda lines: [*lines[: number - 1], content, *lines[number:]]


BAD_TEXTS = {
    "line 1 must be 'aether on mini, 3 players, first player P, player Q to place', not ''": lambda lines: [],
    "line 1 must be 'aether on mini, 3 players": lines_with(1, "chess"),
    "not 'aether on mini, 2 players,": lines_with(1, "aether on mini, 2 players, first player 0, player 0 to place"),
    "a position on this board is 'aether on mini": lambda lines: lines[:-1],
    "5 rows of hexes, 3 lines such as 'player 0: hand W F E A, unused 3": lambda lines: [*lines, "bag: W1 F1 E1 A1"],
    "line 2 must have 3 hexes, not 'F0 1'": lines_with(2, "F0  1"),
    "line 3: '8:0' is not the aether tile of value 7": lines_with(3, "3 8:0 4 A"),
    "line 3: '5' is not slot 4; write 4, or W, F, E or A, or with an elemental W0": lines_with(3, "3 7:0 5 A"),
    "line 4: 'F4' is not slot 6; write 6, or W": lines_with(4, "F4 F W1 9 9"),
    "line 8: such as 'player 0: hand W F E A, unused 3, sacrificed 0', not 'player 1": lines_with(8, "player 1: hand"),
    "line 8: such as": lines_with(8, "player 0: hand W B, unused 1, sacrificed 0, score 5"),
    "line 9: a position needs every hand, such as": lines_with(9, "player 1: hand 4 tiles, unused 0, sacrificed 1"),
    "line 11 must be such as 'bag: W5 F5 E5 A5'": lines_with(11, "bag: 6 tiles, with the other hands W2 F3 E4 A5"),
    "setup.position.bag[0] = 5 is not 0..0": lines_with(11, "bag: W5 F0 E3 A3"),
    "setup.hands[0] has 3 tiles, not 4": lines_with(8, "player 0: hand W W F, unused 1, sacrificed 0"),
    "setup.position.player = 7": lines_with(1, "aether on mini, 3 players, first player 2, player 7 to place"),
}


@pytest.mark.parametrize("said", BAD_TEXTS)
def test_bad_texts_are_one_clear_line(said):
    game = load_game("aether", board="mini", players=3)
    with pytest.raises(SetupError, match=re.escape(said)) as caught:
        game.from_text("\n".join(BAD_TEXTS[said](FULL.splitlines())))
    assert "\n" not in str(caught.value)


def test_a_text_inside_a_turn_is_refused():
    state = start(early_scoring="agreement")
    for action in ("propose", "decline"):
        played(state, action)
        with pytest.raises(SetupError, match="line 1"):
            state.game.from_text(str(state))
    with pytest.raises(SetupError, match="is inside a turn and cannot start a game"):
        state.game.from_text(str(state))


# ---------------------------------------------------------------------------------------------------- what is not shown


def exchange(array, player, generator):
    """Shuffle all tiles that `player` does not see: the bag, the other hands, another's old hand during a swap."""
    world = array.copy()
    state = world[0]
    counts = [state["bag"], *(hand for other, hand in enumerate(state["hands"]) if other != player)]
    if state["mover"] != player:
        counts.append(state["aside"])
    tiles = generator.permutation([element for some in counts for element in np.repeat(np.arange(4), some)])
    for some in counts:
        mine, tiles = tiles[: some.sum()], tiles[some.sum() :]
        some[:] = np.bincount(mine.astype(int), minlength=4)
    return world


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_player_is_shown_nothing_hidden(options):
    generator = np.random.default_rng(3)
    different = 0
    for state in walks(3, seed=4, **options):
        game = state.game
        for player in range(game.num_players()):
            world = exchange(state.array, player, generator)
            assert game.to_text(world, player) == state.to_text(player)
            different += game.to_text(world) != str(state)
            if facts.draw_is_hidden(state.array, player):
                assert {game.step_to_string(world, element, player) for element in range(4)} == {
                    f"{facts.turn(state.array)}: draws a tile"
                }
    assert different > 80
