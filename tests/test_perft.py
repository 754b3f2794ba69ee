"""Perft: the committed counts and digests, the plain twins' own, and every rule option told from its default."""

import json

import pytest
from make_perft import DATA, WHERE, command, read_table
from naive.aeroliths import NaiveAeroliths
from naive.aether import NaiveAether
from naive.perft import leaf_number, leaf_text, naive_perft
from naive.selenolyth import NaiveSelenolyth

from trilithon.core import OptionError, load_game
from trilithon.core import perft as perft_module
from trilithon.core.aether.boards import load_board
from trilithon.core.perft import MAX_DEPTH, perft
from trilithon.core.registry import game_factory
from trilithon.core.spec import parse_spec
from trilithon.experiments.cli import main

ENTRIES = read_table()
SMALL, LARGE = 1500, 30_000  # sequences: up to the one the twins count too, beyond the other it is a long run
TWINS = {"aeroliths": NaiveAeroliths, "aether": NaiveAether, "selenolyth": NaiveSelenolyth}
# What no position shows: who sees what, the form in which it is seen, what an end is worth; and a setup by hand has
# the same hands whatever the option says.
NOT_IN_POSITIONS = {
    ("aeroliths", "open_hands", True),
    ("aeroliths", "observation", "universal"),
    ("aeroliths", "hands", "manual"),
    ("aether", "reward", "margin"),
    ("selenolyth", "eclipse_value", None),
}


def values_of(game):
    """(game, option, value): every choice but the default; None is some other value, of a range or of who starts."""
    found = []
    for option in game_factory(game).option_table:
        choices = [choice for choice in option.choices if choice != option.default]
        one_will_do = not choices or option.name == "first_player"
        found += [(game, option.name, value) for value in ([None] if one_will_do else choices)]
    return found


VALUES = [value for game in TWINS for value in values_of(game)]


@pytest.fixture(autouse=True)
def in_the_data_folder(monkeypatch):
    """Where the entries' paths lead somewhere."""
    monkeypatch.chdir(DATA)


def name_of(entry):
    return " ".join(str(entry[key]) for key in WHERE if key in entry)


def start_of(entry):
    """The state that an entry starts from, and its setup as it is written."""
    game = load_game(entry["game"])
    if "setup" not in entry:
        state = game.new_initial_state(entry["seed"])
        return state, state.setup()
    setup = json.loads((DATA / entry["setup"]).read_text())
    return game.from_setup(setup), setup


def twin_of(game, setup):
    """The plain twin at the start of a setup."""
    options = dict(game.options)
    if "board" in options:
        options["board"] = load_board(options["board"]).text  # the twin knows some boards by name, not all
    return TWINS[game.name](options, setup)


def numbers(found):
    return {"nodes": found.nodes, "states": found.states, "digest": f"{found.digest:016x}"}


def committed(entry):
    return {key: entry[key] for key in ("nodes", "states", "digest")}


# -------------------------------------------------------------------------------------------------- the committed table


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["nodes"] <= LARGE], ids=name_of)
def test_the_committed_numbers(entry):
    state, _ = start_of(entry)
    found = perft(state, entry["depth"])
    assert numbers(found) == committed(entry)
    assert sum(found.divide.values()) == found.nodes
    assert list(found.divide) == state.legal_actions()


@pytest.mark.heavy
@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["nodes"] > LARGE], ids=name_of)
def test_the_committed_numbers_of_larger_trees(entry):
    assert numbers(perft(start_of(entry)[0], entry["depth"])) == committed(entry)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["nodes"] <= SMALL], ids=name_of)
def test_the_twins_find_the_same(entry):
    state, setup = start_of(entry)
    found = perft(state, entry["depth"])
    divide = {str(action): nodes for action, nodes in found.divide.items()}
    assert naive_perft(twin_of(state.game, setup), entry["depth"]) == {**numbers(found), "divide": divide}


def test_the_table_tells_apart_what_it_should():
    assert len({name_of(entry) for entry in ENTRIES}) == len(ENTRIES)
    for game in TWINS:
        sizes = [entry["nodes"] for entry in ENTRIES if entry["game"].startswith(game)]
        assert min(sizes) <= SMALL < LARGE < max(sizes)


def pairs(game, option, value):
    """Digests at the same depth and start, by entries that differ in this option alone: its default, and `value`."""
    specs = [(*parse_spec(entry["game"]), [entry.get(key) for key in WHERE if key != "game"]) for entry in ENTRIES]
    found = []
    for entry, (name, given, where) in zip(ENTRIES, specs):
        if name == game and option in given and value in (None, given[option]):
            rest = {key: other for key, other in given.items() if key != option}
            found += [(e["digest"], entry["digest"]) for e, spec in zip(ENTRIES, specs) if spec == (game, rest, where)]
    assert found, f"{game}: the table has no two entries that differ in {option} alone"
    return found


@pytest.mark.parametrize(("game", "option", "value"), [value for value in VALUES if value not in NOT_IN_POSITIONS])
def test_every_rule_option_changes_a_committed_digest(game, option, value):
    assert any(default != changed for default, changed in pairs(game, option, value))


@pytest.mark.parametrize(("game", "option", "value"), sorted(NOT_IN_POSITIONS, key=str))
def test_the_other_options_change_none(game, option, value):
    assert (game, option, value) in VALUES
    assert all(default == changed for default, changed in pairs(game, option, value))


# ------------------------------------------------------------------------------------------------------- the algorithm


def test_depth_0_is_the_position_itself():
    state = load_game("selenolyth").new_initial_state(0)
    found = perft(state, 0)
    assert (found.nodes, found.states, found.divide) == (1, 1, {})
    assert found.digest == leaf_number(leaf_text(state))


def test_sequences_that_end_earlier_do_not_count():
    state = load_game("selenolyth", max_turns=1).new_initial_state(0)
    assert perft(state, 2).nodes == 108
    found = perft(state, 3)
    assert (found.nodes, found.states, found.digest) == (0, 0, 0)
    assert found.divide == dict.fromkeys(range(18), 0)


def test_perft_leaves_the_state_alone():
    state = load_game("aeroliths").new_initial_state(0)
    before = state.to_bytes(), state.array.tobytes()
    perft(state, 2)
    assert (state.to_bytes(), state.array.tobytes()) == before


def test_small_chunks_and_one_state_at_a_time(monkeypatch):
    state = load_game("aeroliths", chaos=True).new_initial_state(3)
    found = perft(state, 4)
    for size in (1, 7):
        monkeypatch.setattr(perft_module, "_CHUNK", size)
        assert perft(state, 4) == found


def test_counts_may_pass_64_bits():
    state = load_game("selenolyth").new_initial_state(0)
    walk = perft_module._Walk(state.game)
    fans = walk.fans(state.array, 1)
    nodes, states, digest = walk.leaves(state.array, fans, [2**70 + 1])
    assert (nodes, states, digest) == (18 * (2**70 + 1), 3, perft(state, 1).digest)


def test_too_many_positions_are_refused_before_they_are_visited(monkeypatch):
    monkeypatch.setattr(perft_module, "MAX_VISITS", 1000)
    state = load_game("aeroliths").new_initial_state(0)
    assert perft(state, 1).nodes == 45
    with pytest.raises(OptionError, match=r"aeroliths has 1,440 positions to visit at depth 2, .* at most 1,000 are"):
        perft(state, 2)
    with pytest.raises(OptionError, match=r"depth = -1 is not allowed; allowed: a whole number 0\.\.1000"):
        perft(state, -1)


# --------------------------------------------------------------------------------------------------------- the command


@pytest.mark.parametrize("entry", [ENTRIES[0], next(e for e in ENTRIES if "setup" in e)], ids=name_of)
def test_the_command_prints_the_committed_numbers(entry, capsys):
    entry = next(e for e in ENTRIES if e["nodes"] < 2000 and ("setup" in e) == ("setup" in entry))
    assert main(command(entry)) == 0
    content = json.loads(capsys.readouterr().out)
    divide = {str(action): nodes for action, nodes in perft(start_of(entry)[0], entry["depth"]).divide.items()}
    assert content == {**committed(entry), "divide": divide}


def test_the_command_prints_a_divide_for_people(capsys):
    assert main(["perft", "selenolyth(first_player=0)", "2", "--divide"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "0 (S@a): 6"
    assert len(lines) == 19
    assert lines[-1] == "selenolyth(first_player=0), depth 2: nodes 108, states 108, digest 167bc7b20252bb2b"
    assert main(["perft", "selenolyth(first_player=0)", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == lines[-1:]


MISTAKES = {
    "an unknown game": (("chess", "2"), "unknown game 'chess'"),
    "a negative depth": (("selenolyth", "-1"), f"argument DEPTH: must be a whole number 0..{MAX_DEPTH}, not -1"),
    "a depth beyond the limit": (("selenolyth", "1001"), f"must be a whole number 0..{MAX_DEPTH}, not 1001"),
    "half a depth": (("selenolyth", "1.5"), "argument DEPTH: must be a whole number"),
    "no depth": (("selenolyth",), "the following arguments are required: DEPTH"),
    "too many positions": (("aeroliths(size=5)", "3"), "positions to visit at depth 3, equal ones before it merged"),
    "a seed and a setup": (("selenolyth", "1", "--seed", "1", "--setup", "a"), "give one of them"),
    "a negative seed": (("selenolyth", "1", "--seed", "-1"), "--seed: must be a whole number 0.."),
    "no such file": (("selenolyth", "1", "--setup", "none.json"), "'none.json': No such file"),
    "a folder": (("selenolyth", "1", "--setup", "perft"), "'perft': Is a directory"),
    "no JSON": (("selenolyth", "1", "--setup", "perft/twelve.csv"), "'perft/twelve.csv' is not a setup"),
    "no object": (("selenolyth", "1", "--setup", "perft.json"), "a setup is an object with first_player"),
    "another game's setup": (("selenolyth", "1", "--setup", "perft/aether-two-slots.json"), "unknown key 'tiles'"),
    "hands that nobody gave": (("aeroliths(hands=manual)", "1"), "starts from a setup"),
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_is_one_line_and_status_2(kind, capsys):
    line, message = MISTAKES[kind]
    assert main(["perft", *line]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("trilithon: error: ")
    assert err.count("\n") == 1
    assert message in err
