"""The Selenolyth: options, setups and positions, texts and bytes, and what is refused."""

import copy
import json
import pickle
import re
from collections import Counter

import numpy as np
import pytest
from naive.files import golden_games
from scipy.stats import chisquare

from trilithon.core import IllegalActionError, OptionError, SetupError, load_game
from trilithon.core.selenolyth.text import known_stones

GOLDEN = golden_games("selenolyth")


def walks(count, seed=0, **options):
    """Every state of some random games."""
    game = load_game("selenolyth", **options)
    generator = np.random.default_rng(seed)
    for number in range(count):
        state = game.new_initial_state(number)
        yield state
        while not state.is_terminal():
            state.apply_action(int(generator.choice(state.legal_actions())))
            yield state


# ------------------------------------------------------------------------------------------------------------ options


def test_facts_of_the_game():
    game = load_game("selenolyth")
    assert (game.num_players(), game.num_distinct_actions(), game.max_chance_outcomes()) == (2, 72, 6)
    assert (game.min_utility(), game.max_utility()) == (-2, 2)
    assert load_game("selenolyth(eclipse_value=5)").max_utility() == 5
    assert str(load_game("selenolyth(max_turns=500,diox=2)")) == "selenolyth"
    assert load_game("selenolyth", max_turns=40).max_game_length() == 76
    assert game.outcomes().tolist() == [[2, -2], [1, -1], [0, 0], [-1, 1], [-2, 2]]
    assert load_game("selenolyth", eclipse_value=1).outcomes().tolist() == [[1, -1], [0, 0], [-1, 1]]
    assert game.options == {
        "eclipse_value": 2,
        "max_turns": 500,
        "luminance_goal": 9,
        "selenolyths": 14,
        "diox": 2,
        "orthos": 2,
        "first_player": "random",
    }


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"eclipse_value": 0}, "eclipse_value = 0 is not allowed; allowed: a whole number 1..9"),
        ({"eclipse_value": 10}, "eclipse_value = 10"),
        ({"max_turns": 0}, "max_turns = 0"),
        ({"max_turns": 10_000}, "max_turns = 10000"),
        ({"luminance_goal": 0}, "luminance_goal = 0"),
        ({"luminance_goal": 17}, "luminance_goal = 17"),
        ({"selenolyths": 19}, "selenolyths = 19"),
        ({"diox": -1}, "diox = -1"),
        ({"orthos": 2.0}, "orthos = 2.0"),
        ({"orthos": True}, "orthos = True"),
        ({"selenolyths": 0, "diox": 0, "orthos": 0}, "leave no stones; at least one must be"),
        ({"first_player": 2}, "first_player = 2"),
        ({"size": 6}, "unknown option 'size'"),
    ],
    ids=str,
)
def test_refused_options(options, text):
    with pytest.raises(OptionError, match=re.escape(text)) as caught:
        load_game("selenolyth", **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("stones", [(1, 0, 0), (0, 1, 0), (0, 0, 18), (18, 18, 18)])
def test_any_stones_make_a_game(stones):
    options = dict(zip(("selenolyths", "diox", "orthos"), stones, strict=True))
    for state in walks(20, max_turns=60, **options):
        assert bool(state.legal_actions()) != state.is_terminal()


def test_a_random_first_player_is_fair():
    game = load_game("selenolyth")
    counts = Counter(game.new_setup(seed)["first_player"] for seed in range(400))
    assert chisquare([counts[0], counts[1]]).pvalue > 1e-4
    assert {load_game("selenolyth", first_player=1).new_setup(seed)["first_player"] for seed in range(20)} == {1}


def test_the_seed_decides_the_setup():
    game = load_game("selenolyth")
    for seed in range(20):
        state = game.new_initial_state(seed)
        assert state.setup() == game.new_setup(seed)
        assert state.to_bytes() == game.from_setup(game.new_setup(seed)).to_bytes()
        assert state.array.tobytes() == game.from_setup(state.setup()).array.tobytes()


# ---------------------------------------------------------------------------------------------------------- positions


def test_a_position_may_say_any_part_of_it():
    game = load_game("selenolyth(max_turns=30)")
    fresh = game.from_setup({"first_player": 1}).to_dict()
    fields = {
        "occupied": [1, 0] * 18,
        "luminance": [3, 8],
        "reserve": [[1, 2, 0], [0, 0, 1]],
        "player": 0,
        "turns": 29,
    }
    for name, value in fields.items():
        state = game.from_setup({"first_player": 1, "position": {name: value}})
        expected = fresh if name == "turns" else {**fresh, name: value}
        assert state.to_dict() == expected
        assert int(state.array["turns"][0]) == (29 if name == "turns" else 0)
    assert game.from_setup({"first_player": 1, "position": {}}).to_dict() == fresh


def test_a_position_goes_on_as_the_game_did():
    inside = Counter()
    for stored in GOLDEN[:25]:
        game = load_game("selenolyth", **stored["config"])
        state = game.from_setup(stored["setup"])
        for index, (_, action) in enumerate(stored["steps"]):
            if state.to_dict()["phase"] != "choose":
                with pytest.raises(SetupError, match="inside a turn"):
                    state.position_setup()
                inside[state.to_dict()["phase"]] += 1
                state.apply_action(action)
                continue
            again = game.from_setup(json.loads(json.dumps(state.position_setup())))
            assert (again.to_dict(), str(again)) == (state.to_dict(), str(state))
            for _, later in stored["steps"][index:]:
                again.apply_action(later)
            assert again.to_dict() == stored["states"][-1]
            assert known_stones(again.array) is not None
            state.apply_action(action)
        with pytest.raises(SetupError, match="has ended"):
            state.position_setup()
    assert inside.keys() == {"roll", "ricochet"}


def test_kinds_and_owners_of_a_position_stay_known():
    state = load_game("selenolyth").new_initial_state(3)
    for action in (0, 0, 7, 3, 2, 5):
        state.apply_action(action)
    again = state.game.from_setup(state.position_setup())
    assert known_stones(again.array) == known_stones(state.array)
    bare = state.position_setup()
    del bare["position"]["stones"]
    without = state.game.from_setup(bare)
    assert known_stones(without.array) == [None] * 36
    assert without.to_dict() == state.to_dict()
    assert "x" in str(without)
    assert "stones" not in without.position_setup()["position"]


FULL_SQUARE = [int(cell % 6 < 3 and cell < 18) for cell in range(36)]
BAD_SETUPS = {
    "no object": ([], "a setup is an object"),
    "no first player": ({}, "setup.first_player = None is not 0 or 1"),
    "a third player": ({"first_player": 2}, "setup.first_player = 2 is not 0 or 1"),
    "a truth": ({"first_player": True}, "setup.first_player = True"),
    "a field more": ({"first_player": 0, "hands": []}, "setup has an unknown key 'hands'"),
}
BAD_POSITIONS = {
    "no object": ([], "setup.position must be an object"),
    "a field more": ({"phase": "roll"}, "setup.position has an unknown key 'phase'; allowed: occupied"),
    "player": ({"player": 2}, "setup.position.player = 2 is not 0 or 1"),
    "player null": ({"player": None}, "setup.position.player = None"),
    "turns": ({"turns": 500}, "setup.position.turns = 500 is not 0..499 (max_turns = 500)"),
    "turns below": ({"turns": -1}, "setup.position.turns = -1"),
    "short board": ({"occupied": [0] * 35}, "setup.position.occupied must be a list of 36 numbers"),
    "two on a cell": ({"occupied": [0] * 35 + [2]}, "setup.position.occupied[35] = 2 is not 0..1"),
    "a truth": ({"occupied": [True] + [0] * 35}, "setup.position.occupied[0] = True"),
    "a full square": ({"occupied": FULL_SQUARE}, "has a full 3x3 square"),
    "luminance reached": ({"luminance": [0, 9]}, "setup.position.luminance[1] = 9 is not 0..8 (below luminance_goal"),
    "one luminance": ({"luminance": [0]}, "setup.position.luminance must be a list of 2 numbers"),
    "one reserve": ({"reserve": [[1, 1, 1]]}, "setup.position.reserve must be two lists of three numbers"),
    "short reserve": ({"reserve": [[1, 1], [1, 1, 1]]}, "setup.position.reserve[0] must be a list of 3 numbers"),
    "too many": ({"reserve": [[1, 1, 19], [1, 1, 1]]}, "setup.position.reserve[0][2] = 19 is not 0..18"),
    "no stones": ({"reserve": [[1, 1, 1], [0, 0, 0]]}, "setup.position.reserve[1] is empty"),
    "short stones": ({"stones": [None]}, "setup.position.stones must be a list of 36"),
    "no such stone": ({"stones": [[3, 0]] + [None] * 35}, "setup.position.stones[0] = [3, 0] is not null or"),
    "stone in the air": ({"stones": [[1, 0]] + [None] * 35}, "setup.position.stones[0] lies where occupied says"),
}


@pytest.mark.parametrize("name", BAD_SETUPS)
def test_bad_setups_are_one_clear_line(name):
    setup, text = BAD_SETUPS[name]
    with pytest.raises(SetupError, match=re.escape(text)) as caught:
        load_game("selenolyth").from_setup(setup)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", BAD_POSITIONS)
def test_bad_positions_are_one_clear_line(name):
    position, text = BAD_POSITIONS[name]
    with pytest.raises(SetupError, match=re.escape(text)) as caught:
        load_game("selenolyth").from_setup({"first_player": 0, "position": position})
    assert "\n" not in str(caught.value)


# -------------------------------------------------------------------------------------------------------------- texts


def test_actions_are_written_as_people_type_them():
    phases = Counter()
    for state in walks(15):
        phases[state.to_dict()["phase"]] += 1
        texts = [state.action_to_string(action) for action in state.legal_actions()]
        assert len(set(texts)) == len(texts)
        assert [state.string_to_action(text) for text in texts] == state.legal_actions()
        assert [state.string_to_action(f" {text.lower()} ") for text in texts] == state.legal_actions()
    assert set(phases) == {"choose", "roll", "ricochet", "ended"}
    state = load_game("selenolyth").new_initial_state(0)
    shown = {"S@c": 2, "sc": 2, "S c": 2, "d@D": 9, "dd": 9, "o@f!": 35, "OF !": 35, "e5": 64, "A1": 36, "rank 3": 2}
    for text, action in shown.items():
        assert state.string_to_action(text) == action
    for text in ("", "S@g", "X@a", "S@", "e7", "rank 7", "rank", "S@a!!", "c"):
        with pytest.raises(IllegalActionError, match=r"is not an action; type STONE@FILE such as S@c"):
            state.string_to_action(text)


def test_an_illegal_action_names_a_few_legal_ones():
    state = load_game("selenolyth").new_initial_state(0)
    for action in (18, 36, -1, 72, "a"):
        with pytest.raises(IllegalActionError, match=r"legal: 0 \(S@a\), 1 \(S@b\), .* \(18 in all\)"):
            state.apply_action(action)
    state.apply_action(0)
    with pytest.raises(IllegalActionError, match=r"for chance; legal: 0 \(rank 1\)"):
        state.apply_action(6)


def test_a_text_is_read_as_the_position_it_shows():
    game = load_game("selenolyth(max_turns=60)")
    read = 0
    for state in walks(12, max_turns=60):
        for text in (str(state), state.to_text(0), state.to_text(1)):
            if state.to_dict()["phase"] != "choose":
                with pytest.raises(SetupError, match="a position is 11 lines"):
                    game.from_text(text)
                continue
            again = game.from_text(text)
            assert again.to_dict() == state.to_dict()
            assert str(again) == str(state)
            assert game.from_text(text.lower().replace("   ", " ")).to_dict() == state.to_dict()
            read += 1
    assert read > 300
    fresh = game.new_initial_state(4)
    assert game.from_text(str(fresh)).setup() == fresh.setup()


def test_the_text_shows_the_board_from_the_side_of_its_reader():
    state = load_game("selenolyth", first_player=0).new_initial_state(0)
    state.apply_action(state.string_to_action("D@b"))
    assert "player 0 rolls D@b" in str(state)
    state.apply_action(state.string_to_action("rank 1"))
    south, north = state.to_text(0).splitlines(), state.to_text(1).splitlines()
    assert str(state) == state.to_text(1), "North is to move"
    assert south[7] == "1  .  D0 .  .  .  ."
    assert north[2] == "6  .  .  .  .  D0 ."
    assert south[8] == north[8] == "   a  b  c  d  e  f"
    assert south[9:] == north[9:] == ["player 0: S14 D1 O2, luminance 0", "player 1: S14 D2 O2, luminance 0"]
    assert south[0] == "selenolyth, turn 1 of 500, first player 0, player 1 to choose"


BAD_TEXTS = {
    "selenolyth": lambda lines: lines[:4],
    "a position is 11 lines": lambda lines: ["chess", *lines[1:]],
    "line 3 must be 6 and six cells": lambda lines: [*lines[:2], "6 . .", *lines[3:]],
    "'Z0' is not a cell": lambda lines: [*lines[:2], "6 . . . . . Z0", *lines[3:]],
    "line 9 must be 'a b c d e f'": lambda lines: [*lines[:8], "f e d c b a", *lines[9:]],
    "line 10 must be such as": lambda lines: [*lines[:9], lines[10], lines[9]],
    "reserve[1][0] = 40": lambda lines: [*lines[:10], "player 1: S40 D2 O2, luminance 0"],
    "turns = 600": lambda lines: [lines[0].replace("turn 0", "turn 600"), *lines[1:]],
}


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_bad_texts_are_one_clear_line(text):
    game = load_game("selenolyth")
    lines = str(game.new_initial_state(0)).splitlines()
    with pytest.raises(SetupError, match=re.escape(text)) as caught:
        game.from_text("\n".join(BAD_TEXTS[text](lines)))
    assert "\n" not in str(caught.value)


# -------------------------------------------------------------------------------------------------- bytes and knowledge


def test_bytes_and_copies():
    game = load_game("selenolyth(eclipse_value=3)")
    for number, state in enumerate(walks(4, eclipse_value=3)):
        if number % 7 and not state.is_terminal():
            continue
        for again in (game.from_bytes(state.to_bytes()), pickle.loads(pickle.dumps(state)), copy.deepcopy(state)):
            assert again.array.tobytes() == state.array.tobytes()
            assert (again.history(), again.setup()) == (state.history(), state.setup())
    with pytest.raises(SetupError, match="belongs to"):
        load_game("selenolyth").from_bytes(state.to_bytes())
    with pytest.raises(SetupError, match="checksum"):
        game.from_bytes(state.to_bytes()[:-3] + b"999")


def test_nothing_is_hidden():
    for number, state in enumerate(walks(3)):
        views = [state.view(player, 11) for player in (0, 1)]
        worlds = [state.resample_from_infostate(player, 5) for player in (0, 1)]
        for other in (*views, *worlds):
            assert other.array.tobytes() == state.array.tobytes()
            assert other.history() == state.history()
        if number % 5 == 0:
            for player, view in enumerate(views):
                assert view.information_state_string(player) == state.information_state_string(player)


def test_an_information_state_holds_every_step():
    seen = [set(), set()]
    count = 0
    for state in walks(6):
        count += 1
        for player in (0, 1):
            seen[player].add(state.information_state_string(player))
    assert len(seen[0]) == len(seen[1]) >= count - 12, "starts alike are alike"
    assert not seen[0] & seen[1]
