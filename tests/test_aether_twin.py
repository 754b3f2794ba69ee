"""Aether: the stored games, and the kernels against the plain twin, state by state over random games."""

import json
from collections import Counter
from random import Random

import naive.aether_scoring as scoring
import pytest
from naive.aether import CHANCE, NaiveAether
from naive.aether_scoring import ELEMENTS
from naive.files import golden_games
from naive.scenarios_aether import Style, random_scenario

from trilithon.core import GameRecord, load_game

CHUNK = 250  # games a test; 8 chunks in the default run; the heavy one has 8 parts of ten chunks
GOLDEN = golden_games("aether")
ENDINGS = ("full", "agreed", "proved")
TAKEN = ("alone", "tie", "nobody", "at zero or less")  # how aether tiles are taken
EVENTS = (
    *ENDINGS,
    *TAKEN,
    *("place", "elemental", "swap", "swap again", "declined", "draw", "no draw", "no bag to swap with", "exhausted"),
    *("negative power", "shared win", "clear win", "position", "ended at once", "teams", "margin", "leftover"),
    *(f"{players} players" for players in (2, 3, 4)),
    *("standard", "small", "mini", "random"),
)

# ------------------------------------------------------------------------------------------------------- stored games


def test_there_are_stored_games_of_every_kind():
    assert len(GOLDEN) == 40
    assert {stored["config"]["board"] for stored in GOLDEN} == {"standard", "small", "mini"}
    assert {stored["config"]["players"] for stored in GOLDEN} == {2, 3, 4}
    assert {stored["config"]["early_scoring"] for stored in GOLDEN} == {"off", "agreement"}


@pytest.mark.parametrize("number", range(len(GOLDEN)))
def test_a_stored_game_replays(number):
    stored = GOLDEN[number]
    state = load_game("aether", **stored["config"]).from_setup(stored["setup"])
    dicts, arrays = [state.to_dict()], [state.array.tobytes()]
    for index, (player, action) in enumerate(stored["steps"]):
        assert state.current_player() == player
        assert state.legal_actions() == stored["legal"][index]
        assert not state.returns().any()
        state.apply_action(action)
        assert state.to_dict() == stored["states"][index], f"after step {index}"
        dicts.append(state.to_dict())
        arrays.append(state.array.tobytes())
    assert state.is_terminal()
    assert state.legal_actions() == []
    assert state.returns().tolist() == pytest.approx(stored["returns"], abs=1e-12)
    assert state.history() == stored["steps"]
    assert state.setup() == stored["setup"]
    for index in range(len(stored["steps"]), 0, -1):
        assert (state.to_dict(), state.array.tobytes()) == (dicts[index], arrays[index])
        state.undo_action()
    assert (state.to_dict(), state.array.tobytes()) == (dicts[0], arrays[0])


def test_a_stored_game_is_a_record():
    for stored in GOLDEN[:10]:
        record = GameRecord.from_json(json.dumps(stored))
        again = json.loads(record.to_json(states=True, legal=True))
        again.pop("version", None)
        assert again == stored
        record.verify()


# ----------------------------------------------------------------------------------------------------------- the twin


def difference(twin, state):
    """What the two disagree about, or None."""
    pairs = {
        "current_player": (twin.current_player(), state.current_player()),
        "is_terminal": (twin.is_terminal(), state.is_terminal()),
        "legal_actions": (twin.legal_actions(), state.legal_actions()),
        "to_dict": (twin.to_dict(), state.to_dict()),
        "returns": ([round(x, 12) for x in twin.returns()], [round(x, 12) for x in state.returns().tolist()]),
    }
    if twin.current_player() == CHANCE:
        pairs["chance_outcomes"] = (
            [(action, round(p, 12)) for action, p in twin.chance_outcomes()],
            [(action, round(p, 12)) for action, p in state.chance_outcomes()],
        )
    return next((f"{name}: twin {a}, game {b}" for name, (a, b) in pairs.items() if a != b), None)


def tiles_everywhere(state):
    """How many tiles of each element lie on the board, in the hands and in the bag."""
    position = state.to_dict()
    lying = position["tiles"] + [element for hand in position["hands"] for element in hand]
    return Counter({element: lying.count(element) + position["bag"][element] for element in ELEMENTS})


def scenario_tally(config, setup):
    """What kind of game this is."""
    name = config["board"] if "\n" not in config["board"] else "random"
    return Counter(
        {
            name: 1,
            f"{config['players']} players": 1,
            "teams": int(config["teams"]),
            "margin": int(config["reward"] == "margin"),
            "leftover": int(config["leftover_points"] != 3),
            "position": int("position" in setup),
        }
    )


def step_tally(twin, action, latest):
    """What is about to happen; `latest` is the same player's action before, in the same turn."""
    if twin.current_player() == CHANCE:
        return Counter(["draw"])
    kind = "place" if action < twin.swap else ("swap", "proposed", "agree", "declined")[action - twin.swap]
    tally = Counter([kind])
    tally["swap again"] += kind == latest == "swap"
    if kind == "place":
        tally["elemental"] += action % 2
        unused = twin.unused[twin.mover]
        tally["exhausted"] += unused == 0
        tally["no bag to swap with"] += unused > 0 and sum(twin.bag) < twin.board.hand_tiles
        tally["no draw"] += sum(twin.bag) == 0 and len(twin.empty_slots()) > 1
    return tally


def ending_tally(twin, latest):
    """How an ended game was scored."""
    teams = twin.options["teams"]
    empty, proved = None in twin.tiles, twin.options["early_scoring"] == "proved"
    tally = Counter(["full" if not empty else "proved" if proved else "agreed"])
    tally["ended at once"] += latest is None
    for tile in twin.board.aether:
        powers = scoring.powers_around(twin.board, twin.tiles, twin.elementals, tile.around, teams)
        who = scoring.strongest(powers)
        tally[("nobody", "alone", "tie")[min(len(who), 2)]] += 1
        tally["at zero or less"] += bool(who) and max(powers.values()) <= 0
    slots = [slot for slot, owner in enumerate(twin.elementals) if owner is not None]
    tally["negative power"] += sum(scoring.power(twin.board, twin.tiles, slot) < 0 for slot in slots)
    best = [side for side in twin.sides() if twin.scores_now()[side] == max(twin.scores_now())]
    tally["shared win" if len(best) > 1 else "clear win"] += 1
    return tally


def play_both(seed, twin_class=NaiveAether):
    """Play one random game with both; (first difference or None, what happened)."""
    rng = Random(seed)
    config, setup = random_scenario(rng)
    twin = twin_class(config, setup)
    state = load_game("aether", **config).from_setup(setup)
    style, steps, latest, tally = Style(rng), [], None, scenario_tally(config, setup)
    tiles = tiles_everywhere(state)
    while True:
        found = difference(twin, state)
        aside = Counter(twin.aside or [])
        if found is None and tiles_everywhere(state) + aside != tiles:
            found = f"tiles: {tiles_everywhere(state)} and {aside} aside, at the start {tiles}"
        if found is not None:
            return f"seed {seed}, {config}, {setup}, after {steps}: {found}", tally
        if twin.is_terminal():
            return None, tally + ending_tally(twin, latest)
        action = style.choose(rng, twin)
        happening = step_tally(twin, action, latest)
        tally.update(happening)
        if twin.current_player() != CHANCE:
            latest = "swap" if happening["swap"] else "other"
        steps.append(action)
        twin.apply_action(action)
        state.apply_action(action)


def compare_games(seeds):
    """Play games, none of which may differ, and in which everything must have happened."""
    tally = Counter(dict.fromkeys(EVENTS, 0))
    for seed in seeds:
        found, happened = play_both(seed)
        assert found is None, found
        tally.update(happened)
    assert all(tally[event] > 0 for event in EVENTS), tally


@pytest.mark.parametrize("chunk", range(8))
def test_kernels_agree_with_the_twin(chunk):
    compare_games(range(chunk * CHUNK, (chunk + 1) * CHUNK))


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(8))
def test_kernels_agree_with_the_twin_over_20_000_games(part):
    first = (8 + 10 * part) * CHUNK
    compare_games(range(first, first + 10 * CHUNK))
