"""Aether: options, setups and positions, bytes, and what is refused."""

import copy
import json
import pickle
import re
from collections import Counter

import numpy as np
import pytest
from naive.aether import NaiveAether
from naive.aether_scoring import filled_at_setup, parse_board
from naive.files import golden_games
from scipy.stats import chisquare

from trilithon.core import CHANCE, OptionError, SetupError, load_game
from trilithon.core.aether import options as setups
from trilithon.core.aether.boards import BOARDS, load_board
from trilithon.core.rng import categorical, next_below
from trilithon.core.rng import seed as make_rng

GOLDEN = golden_games("aether")
DEFAULTS = {
    "board": "standard",
    "variant": False,
    "players": 2,
    "teams": False,
    "early_scoring": "off",
    "reward": "win",
    "leftover_points": 3,
    "first_player": "random",
}
CONFIGS = [
    {},
    {"board": "mini"},
    {"board": "mini", "players": 3, "variant": True, "early_scoring": "agreement"},
    {"board": "small", "players": 4, "teams": True, "reward": "margin"},
    {"board": "snowflake", "players": 3, "first_player": 2, "leftover_points": 0},
    {"board": "standard", "players": 4, "early_scoring": "agreement"},
]
# Slots 0 and 1 above, 2 left, 3 right, 4 and 5 below; two tiles in hand.
HEADER = "% name: flower\n% tiles_per_element: 7\n% elementals: 3 3 3\n% hand_tiles: 2\n"
FLOWER = HEADER + "  .   .\n.   9   .\n  .   .\n"


def walk(game, seed, swaps=0.1):
    """Every state of a random game."""
    generator = np.random.default_rng(seed)
    state = game.new_initial_state(seed)
    swap = 8 * len(load_board(game.options["board"]).slots)
    yield state
    while not state.is_terminal():
        legal = state.legal_actions()
        wanted = generator.random() < swaps and swap in legal
        state.apply_action(swap if wanted else int(generator.choice(legal)))
        yield state


def tiles_in(setup):
    """The tiles of board, hands and bag of a position's setup, by element."""
    lists = [setup["tiles"], *setup["hands"]]
    return [sum(entries.count(e) for entries in lists) + setup["position"]["bag"][e] for e in range(4)]


# ------------------------------------------------------------------------------------------------------------ options


def test_facts_of_the_options():
    game = load_game("aether")
    assert game.options == DEFAULTS
    assert list(game.options) == list(DEFAULTS)
    assert str(load_game("aether(board=standard,leftover_points=3)")) == "aether"
    spec = "aether(board=small,variant=true,players=4,teams=true,early_scoring=proved,reward=margin,leftover_points=0)"
    assert str(load_game(spec)) == spec
    assert load_game(spec).options["first_player"] == "random"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"players": 1}, "players = 1 is not allowed; allowed: a whole number 2..4"),
        ({"players": 5}, "players = 5"),
        ({"players": 2.0}, "players = 2.0"),
        ({"players": True}, "players = True"),
        ({"players": 3, "teams": True}, "teams = true with players = 3 is not allowed; teams need 4 players"),
        ({"teams": True}, "teams = true with players = 2"),
        ({"players": 4, "teams": 1}, "teams = 1"),
        ({"board": "mini", "players": 4}, "players = 4 is not allowed; allowed on the board 'mini': 2..3"),
        ({"early_scoring": "on"}, "early_scoring = 'on' is not allowed; allowed: off or agreement or proved"),
        ({"early_scoring": False}, "early_scoring = False"),
        ({"reward": "score"}, "reward = 'score' is not allowed; allowed: win or margin"),
        ({"leftover_points": 10}, "leftover_points = 10 is not allowed; allowed: a whole number 0..9"),
        ({"leftover_points": -1}, "leftover_points = -1"),
        ({"variant": "yes"}, "variant = 'yes'"),
        ({"first_player": 2}, "first_player = 2 is not allowed; allowed: random or 0..1"),
        ({"first_player": 4, "players": 4}, "first_player = 4"),
        ({"first_player": "me"}, "first_player = 'me'"),
        ({"size": 6}, "unknown option 'size'"),
        (
            {"board": FLOWER.replace("element: 7", "element: 2")},
            "the board 'flower' cannot last: 6 slots and 2 hands of 2 need 9 tiles, but there are 8",
        ),
        ({"board": FLOWER.replace(".", "#")}, "the board 'flower' has no slot that is empty after the setup"),
        ({"board": FLOWER.replace(".", ":"), "variant": True}, "has no slot that is empty after the setup"),
    ],
    ids=str,
)
def test_refused_options(options, text):
    with pytest.raises(OptionError, match=re.escape(text)) as caught:
        load_game("aether", **options)
    assert "\n" not in str(caught.value)


def test_options_reach_the_state():
    board = {"slots": 31, "hand_tiles": 4, "tiles_per_element": 12}
    options = {
        "board": "small",
        "variant": True,
        "players": 4,
        "teams": True,
        "early_scoring": "agreement",
        "reward": "margin",
        "leftover_points": 7,
        "first_player": 3,
    }
    array = load_game("aether", **options).new_initial_state(0).array
    expected = {**options, **board, "board": 1, "early_scoring": 1, "elementals": 4, "mover": 3, "current_player": 3}
    expected["margin_reward"] = expected.pop("reward") == "margin"
    assert {name: int(array[name][0]) for name in expected} == expected
    usual = load_game("aether").new_initial_state(0).array
    for name in ("variant", "teams", "early_scoring", "margin_reward"):
        assert int(usual[name][0]) == 0


def test_a_board_that_just_lasts():
    board = FLOWER.replace("element: 7", "element: 3")
    assert load_game("aether", board=board, players=3).num_players() == 3
    with pytest.raises(OptionError, match="need 13 tiles, but there are 12"):
        load_game("aether", board=board, players=4)
    game = load_game("aether", board=FLOWER.replace("element: 7", "element: 3").replace(".", "#", 5), players=3)
    for seed in range(20):
        *_, last = walk(game, seed)
        assert last.is_terminal()
    assert load_game("aether", board=FLOWER.replace(".", "#"), variant=True).new_setup(0)["tiles"] == [None] * 6


# ------------------------------------------------------------------------------------------------------------- setups


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_the_seed_decides_the_setup(config):
    game = load_game("aether", **config)
    for seed in range(20):
        state = game.new_initial_state(seed)
        assert state.setup() == game.new_setup(seed)
        again = game.from_setup(json.loads(json.dumps(state.setup())))
        assert again.array.tobytes() == state.array.tobytes()
        assert (again.setup(), again.to_bytes()) == (state.setup(), state.to_bytes())
    assert len({str(game.new_setup(seed)) for seed in range(20)}) > 15


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_the_order_of_draws(config):
    """First player; tiles in slot order; hands in seat order; each by its share of what is left."""
    game = load_game("aether", **config)
    plain = parse_board(load_board(game.options["board"]).text)
    players = game.num_players()
    for seed in range(10):
        rng = make_rng(seed)
        first = next_below(rng, players) if game.options["first_player"] == "random" else game.options["first_player"]
        bag = [plain.tiles_per_element] * 4

        def draw(rng=rng, bag=bag):
            element = int(categorical(rng, np.array(bag) / sum(bag), 4))
            bag[element] -= 1
            return element

        filled = filled_at_setup(plain, game.options["variant"])
        tiles = [draw() if slot in filled else None for slot in range(len(plain.slots))]
        hands = [sorted(draw() for _ in range(plain.hand_tiles)) for _ in range(players)]
        after = make_rng(seed)
        assert game.new_setup(after) == {"first_player": first, "tiles": tiles, "hands": hands}
        assert after[0] == rng[0], "and nothing else is drawn"


@pytest.mark.parametrize("players", [2, 3, 4])
def test_setups_are_fair(players):
    game = load_game("aether", players=players)
    firsts, hands, tiles = Counter(), Counter(), Counter()
    for seed in range(600):
        setup = game.new_setup(seed)
        firsts[setup["first_player"]] += 1
        hands.update(setup["hands"][-1])
        tiles.update(element for element in setup["tiles"] if element is not None)
    assert chisquare([firsts[player] for player in range(players)]).pvalue > 1e-4
    for counts in (hands, tiles):
        # Without replacement the counts vary less than independent draws do.
        assert chisquare([counts[element] for element in range(4)]).pvalue > 1e-4
    assert {load_game("aether", players=players, first_player=1).new_setup(s)["first_player"] for s in range(9)} == {1}


@pytest.mark.parametrize("stored", GOLDEN, ids=lambda game: "")
def test_setups_of_stored_games(stored):
    state = load_game("aether", **stored["config"]).from_setup(stored["setup"])
    assert state.setup() == stored["setup"]
    assert state.to_dict() == NaiveAether(stored["config"], stored["setup"]).to_dict()


def test_hands_are_sorted_and_positions_say_no_more_than_they_must():
    game = load_game("aether", board=FLOWER)
    start = {"first_player": 1, "tiles": [0, 1, None, None, None, None], "hands": [[3, 0], [2, 1]]}
    plain = {**start, "hands": [[0, 3], [1, 2]]}
    usual = {"elementals": [None] * 6, "unused": [3, 3], "sacrificed": [0, 0], "player": 1, "bag": [5, 5, 6, 6]}
    for position in ({}, usual, {"player": 1}):
        state = game.from_setup({**start, "position": position})
        assert state.setup() == plain
        assert state.to_bytes() == game.from_setup(start).to_bytes()
    other = {"elementals": [0, 1, None, None, None, None], "sacrificed": [0, 2], "player": 0, "bag": [0, 0, 0, 4]}
    state = game.from_setup({**start, "position": {**other, "unused": [2, 0]}})
    assert state.setup() == {**plain, "position": other}
    assert state.to_bytes() == game.from_setup(state.setup()).to_bytes()


# ---------------------------------------------------------------------------------------------------------- positions


def test_a_position_may_say_any_part_of_it():
    game = load_game("aether", board=FLOWER, players=3)
    start = {"first_player": 1, "tiles": [0, 1, None, None, None, None], "hands": [[0, 3], [1, 2], [0, 1]]}
    fresh = game.from_setup(start).to_dict()
    assert (fresh["unused"], fresh["bag"], fresh["player"]) == ([3, 3, 3], [4, 4, 6, 6], 1)
    fields = {
        "unused": [3, 0, 1],
        "player": 2,
        "bag": [4, 0, 6, 1],
        "elementals": [2, 2, None, None, None, None],
        "sacrificed": [0, 3, 1],
    }
    follows = {"elementals": {"unused": [3, 3, 1]}, "sacrificed": {"unused": [3, 0, 2]}}
    for name, value in fields.items():
        state = game.from_setup({**start, "position": {name: value}})
        assert state.to_dict() == {**fresh, name: value, **follows.get(name, {})}
    together = {**fields, "unused": [1, 0, 0]}
    assert game.from_setup({**start, "position": together}).to_dict() == {**fresh, **together}


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_a_position_goes_on_as_the_game_did(config):
    game = load_game("aether", **config)
    plain_config = {**config, "board": load_board(game.options["board"]).text}
    proposes = config.get("early_scoring") == "agreement"
    refused = Counter()
    for seed in range(3):
        states = [state.clone() for state in walk(game, seed)]
        steps = states[-1].history()
        for number, state in enumerate(states):
            if state.is_terminal():
                with pytest.raises(SetupError, match="has ended"):
                    state.position_setup()
                continue
            swap = 8 * len(state.to_dict()["tiles"])
            inside = state.is_chance_node()
            if proposes:
                inside |= swap + 2 in state.legal_actions() or swap + 1 not in state.legal_actions()
            if inside:
                with pytest.raises(SetupError, match="inside a turn"):
                    state.position_setup()
                refused[state.is_chance_node()] += 1
                continue
            setup = json.loads(json.dumps(state.position_setup()))
            again = game.from_setup(setup)
            assert again.to_dict() == state.to_dict() == NaiveAether(plain_config, setup).to_dict()
            assert (str(again), again.legal_actions()) == (str(state), state.legal_actions())
            assert again.position_setup() == setup
            assert set(tiles_in(setup)) == {load_board(game.options["board"]).tiles_per_element}
            if number % 10 == 0:
                for _, action in steps[number:]:
                    again.apply_action(action)
                assert again.to_dict() == states[-1].to_dict()
                assert again.returns().tolist() == states[-1].returns().tolist()
    assert refused.keys() == ({False, True} if proposes else {True})


def test_a_setup_may_be_decided_already():
    setup = {
        "first_player": 0,
        "tiles": [1, 1, 1, 1, 1, None],
        "hands": [[0, 0], [2, 2]],
        "position": {"elementals": [0, None, None, None, None, None], "unused": [2, 0]},
    }
    for config in ({"early_scoring": "proved"}, {}):
        state = load_game("aether", board=FLOWER, **config).from_setup(setup)
        assert state.is_terminal() == bool(config)
        assert state.to_dict() == NaiveAether({"board": FLOWER, **config}, setup).to_dict()


def test_with_an_empty_bag_hands_may_be_smaller():
    game = load_game("aether", board=FLOWER)
    setup = {"first_player": 0, "tiles": [1, 1, 1, None, None, None], "hands": [[0, 0], [2]]}
    state = game.from_setup({**setup, "position": {"bag": [0, 0, 0, 0]}})
    while not state.is_terminal():
        assert state.current_player() != CHANCE
        state.apply_action(state.legal_actions()[0])
    with pytest.raises(SetupError, match="3 tiles in hands and bag for 3 empty slots, and player 1 would have none to"):
        game.from_setup({**setup, "position": {"bag": [0, 0, 0, 0], "player": 1}})


# ---------------------------------------------------------------------------------------------------------- bad setups

START = {"first_player": 0, "tiles": [0, 1, None, None, None, None], "hands": [[0, 3], [1, 2]]}
BAD_SETUPS = {
    "no object": ([], "a setup is an object"),
    "nothing": ({}, "setup.first_player = None is not 0..1"),
    "a field more": ({"pool": []}, "setup has an unknown key 'pool'; allowed: first_player, tiles, hands, position"),
    "a key that is no text": ({3: 4}, "setup has an unknown key 3"),
    "a third player": ({"first_player": 2}, "setup.first_player = 2 is not 0..1"),
    "a truth": ({"first_player": True}, "setup.first_player = True is not 0..1"),
    "a half": ({"first_player": 0.0}, "setup.first_player = 0.0"),
    "no tiles": ({"tiles": None}, "setup.tiles must be a list of 6 elements 0..3 or null, not None"),
    "short tiles": ({"tiles": [None] * 5}, "setup.tiles must be a list of 6 elements 0..3 or null"),
    "tiles by slot": ({"tiles": {"0": 1}}, "setup.tiles must be a list of 6 elements"),
    "no such element": ({"tiles": [None] * 5 + [4]}, "setup.tiles[5] = 4 is not 0..3"),
    "an element's name": ({"tiles": ["fire"] + [None] * 5}, "setup.tiles[0] = 'fire' is not 0..3"),
    "a true tile": ({"tiles": [True] + [None] * 5}, "setup.tiles[0] = True is not 0..3"),
    "a full board": ({"tiles": [0, 1, 2, 3, 0, 1]}, "setup.tiles leaves no slot empty: the game would be over"),
    "no hands": ({"hands": None}, "setup.hands must be a list of 2 hands, not None"),
    "one hand": ({"hands": [[0, 1]]}, "setup.hands must be a list of 2 hands"),
    "three hands": ({"hands": [[0, 1]] * 3}, "setup.hands must be a list of 2 hands"),
    "a hand of nothing": ({"hands": [[0, 1], None]}, "setup.hands[1] must be a list of 2 elements 0..3, not None"),
    "a large hand": ({"hands": [[0, 1, 2], [0, 1]]}, "setup.hands[0] must be a list of 2 elements 0..3, not [0, 1, 2]"),
    "a small hand": ({"hands": [[0, 1], [0]]}, "setup.hands[1] has 1 tiles, not 2; only with an empty bag"),
    "a hand of names": ({"hands": [[0, 1], ["air", 1]]}, "setup.hands[1][0] = 'air' is not 0..3"),
    "a hand of null": ({"hands": [[0, 1], [0, None]]}, "setup.hands[1][1] = None is not 0..3"),
    "a hand of counts": ({"hands": [[1, 0, 0, 1], [0, 1]]}, "setup.hands[0] must be a list of 2 elements"),
    "a large number": ({"hands": [[10**400, 0], [0, 1]]}, "setup.hands[0][0] = 1000000000000000000000"),
    "too many tiles": (
        {"tiles": [0] * 5 + [None], "hands": [[0, 0], [0, 1]]},
        "setup has 8 tiles of element 0 on board and",
    ),
}
BAD_POSITIONS = {
    "no object": ([], "setup.position must be an object"),
    "null": (None, "setup.position must be an object"),
    "a field more": ({"tiles": []}, "setup.position has an unknown key 'tiles'; allowed: elementals, unused"),
    "player": ({"player": 2}, "setup.position.player = 2 is not 0..1"),
    "chance": ({"player": -1}, "setup.position.player = -1 is not 0..1"),
    "player null": ({"player": None}, "setup.position.player = None"),
    "short elementals": ({"elementals": [0]}, "setup.position.elementals must be a list of 6 players or null"),
    "no such player": ({"elementals": [2] + [None] * 5}, "setup.position.elementals[0] = 2 is not 0..1"),
    "in the air": ({"elementals": [None] * 5 + [1]}, "setup.position.elementals[5] = 1 stands where there is no tile"),
    "unused by name": ({"unused": {"0": 3, "1": 3}}, "setup.position.unused must be a list of 2 numbers, one a player"),
    "unused": ({"unused": [3, 4]}, "setup.position.unused[1] = 4 is not 0..3"),
    "unused null": ({"unused": [3, None]}, "setup.position.unused[1] = None is not 0..3"),
    "sacrificed": ({"sacrificed": [-1, 0]}, "setup.position.sacrificed[0] = -1 is not 0..3"),
    "one sacrificed": ({"sacrificed": [1]}, "setup.position.sacrificed must be a list of 2 numbers"),
    "too many elementals": (
        {"elementals": [0, 0] + [None] * 4, "unused": [1, 3], "sacrificed": [1, 0]},
        "setup.position has 4 elementals of player 0 (2 on the board, 1 unused, 1 sacrificed), not 0..3",
    ),
    "all unused and one on the board": (
        {"elementals": [1, None] + [None] * 4, "unused": [3, 3]},
        "setup.position has 4 elementals of player 1 (1 on the board, 3 unused, 0 sacrificed), not 0..3",
    ),
    "more gone than there are": (
        {"elementals": [0, 0] + [None] * 4, "sacrificed": [2, 0]},
        "4 elementals of player 0 (2 on the board, 0 unused, 2 sacrificed), not 0..3",
    ),
    "bag": ({"bag": [6, 0, 0, 0]}, "setup.position.bag[0] = 6 is not 0..5: of 7 tiles 2 are on the board or in hands"),
    "a large bag": ({"bag": [8, 0, 0, 0]}, "setup.position.bag[0] = 8 is not 0..7"),
    "a bag of tiles": ({"bag": [0, 1, 1, 2, 3]}, "setup.position.bag must be a list of 4 numbers, one an element"),
    "a half tile": ({"bag": [0, 0, 0, 0.5]}, "setup.position.bag[3] = 0.5 is not 0..7"),
}


@pytest.mark.parametrize("name", BAD_SETUPS)
def test_bad_setups_are_one_clear_line(name):
    changes, text = BAD_SETUPS[name]
    setup = {**START, **changes} if changes else changes
    with pytest.raises(SetupError, match=re.escape(text)) as caught:
        load_game("aether", board=FLOWER).from_setup(setup)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", BAD_POSITIONS)
def test_bad_positions_are_one_clear_line(name):
    position, text = BAD_POSITIONS[name]
    with pytest.raises(SetupError, match=re.escape(text)) as caught:
        load_game("aether", board=FLOWER).from_setup({**START, "position": position})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


# ---------------------------------------------------------------------------------------------------- worlds and bytes


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_a_worlds_setup_keeps_what_lies_outside_the_board(config):
    game = load_game("aether", **config)
    changed = 0
    for seed in range(2):
        started = game.new_initial_state(seed)
        for number, state in enumerate(walk(game, seed)):
            if number > 30 or state.is_terminal():
                break
            if number % 6 or state.is_chance_node():
                continue
            try:
                started = game.from_setup(state.position_setup())
            except SetupError:
                continue
            for player in range(game.num_players()):
                world = started.resample_from_infostate(player, seed)
                old, new = started.setup(), world.setup()
                assert new["hands"][player] == old["hands"][player]
                assert (new["tiles"], new["first_player"]) == (old["tiles"], old["first_player"])
                assert [len(hand) for hand in new["hands"]] == [len(hand) for hand in old["hands"]]
                assert tiles_in(world.position_setup()) == tiles_in(started.position_setup())
                changed += new != old
    assert changed > 5


def test_a_bag_that_a_position_gives_takes_what_the_hands_give():
    position = {"bag": [0, 1, 2, 3]}
    setup = {**START, "position": position}
    state = load_game("aether", board=FLOWER).from_setup(setup)
    world = state.array.copy()
    world["first_hands"][0, 1] = [0, 0, 0, 2]
    new = setups.resampled_setup(state.setup(), world)
    assert new == {**START, "hands": [[0, 3], [3, 3]], "position": {"bag": [0, 2, 3, 1]}}
    assert state.setup() == setup, "the old one is as it was"
    assert "position" not in setups.resampled_setup(START, world)


def test_bytes_and_copies():
    game = load_game("aether(board=mini,players=3)")
    for number, state in enumerate(walk(game, 4)):
        if number % 7 and not state.is_terminal():
            continue
        for again in (game.from_bytes(state.to_bytes()), pickle.loads(pickle.dumps(state)), copy.deepcopy(state)):
            assert again.array.tobytes() == state.array.tobytes()
            assert (again.history(), again.setup()) == (state.history(), state.setup())
    with pytest.raises(SetupError, match="belongs to"):
        load_game("aether(board=mini)").from_bytes(state.to_bytes())


def test_a_state_of_each_board_names_its_row():
    for row, name in enumerate(BOARDS):
        assert int(load_game("aether", board=name).new_initial_state(0).array["board"][0]) == row
