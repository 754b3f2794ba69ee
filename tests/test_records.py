"""Records: files round-trip, replaying finds every kind of damage and names the step, strangers' files are refused."""

import copy
import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import polars
import pytest

from trilithon.agents import Analysis, load_agent
from trilithon.core import GameRecord, RecordError, TrilithonError, load_game
from trilithon.core.record import read_records, scan, write_records

GOLDEN = Path(__file__).parent / "data/golden/aeroliths.jsonl"
GAMES = ["aeroliths", "aeroliths(size=4,chaos=true,sudden_death=true)", "aeroliths(draft=true,source=catalogue)"]


def random_record(game, seed, **fields):
    game = load_game(game)
    state, rng = game.new_initial_state(seed), np.random.default_rng(seed)
    while not state.is_terminal():
        state.apply_action(int(rng.choice(state.legal_actions())))
    return GameRecord.from_state(state, seed=seed, **fields)


def some_records():
    plain = [random_record(game, seed) for game in GAMES for seed in range(3)]
    rich = random_record(GAMES[0], 9, agents=["greedy", 'a "quoted" name'], timed_out=[0, 3], tags={"event": [1, None]})
    thought = {
        "player": 0,
        "action": 4,
        "values": [0.25, -0.25],
        "actions": [4, 5],
        "weights": [0.75, 0.25],
        "visits": [3, 1],
        "nodes": 4,
    }
    rich.analysis = [thought, *[None] * (len(rich.steps) - 1)]
    return [*plain, rich]


@pytest.mark.parametrize("name", ["records.jsonl", "records.parquet"])
@pytest.mark.parametrize("spec", ["mcts(simulations=20)", "minimax(depth=3)", "solver", "greedy"])
def test_a_whole_analysis_is_stored(tmp_path, name, spec):
    game = load_game("aeroliths(open_hands=true)")
    state, agent, thoughts = game.new_initial_state(3), load_agent(spec, game, 3), []
    while not state.is_terminal():
        thoughts.append(agent.analyse(state))
        state.apply_action(thoughts[-1].action)
    record = GameRecord.from_state(state, analysis=[thought.to_dict() for thought in thoughts])
    (again,) = read_records(write_records(tmp_path / name, [record]))
    assert any(np.isnan(thought.qvalues).any() for thought in thoughts) == ("mcts" in spec)
    for thought, content in zip(thoughts, again.analysis, strict=True):
        found = Analysis.from_dict(content)
        for field in dataclasses.fields(Analysis):
            one, two = getattr(thought, field.name), getattr(found, field.name)
            np.testing.assert_allclose(two, one, atol=1e-7 if field.name == "weights" else 0, err_msg=field.name)
            assert np.asarray(two).dtype == np.asarray(one).dtype or field.name == "principal_variation"


def test_older_shards_are_read_beside_newer_ones(tmp_path):
    old = Path(__file__).parent / "data" / "old_analysis.parquet"
    (record,) = read_records(old)
    assert record.analysis[0] == some_records()[-1].analysis[0]
    assert Analysis.from_dict(record.analysis[0]).proven.tolist() == [2, 2]
    shutil.copy(old, tmp_path / "000000.parquet")
    write_records(tmp_path / "000001.parquet", some_records())
    assert len(scan(tmp_path)) == 1 + len(some_records())


@pytest.mark.parametrize(
    "change",
    [
        {"weights": [1.0]},
        {"values": None},
        {"qvalues": [[0.0, 0.0]]},
        {"actions": "x"},
        {"nodes": "many"},
        {"visits": 3},
    ],
)
def test_what_is_not_an_analysis_is_refused(change):
    whole = some_records()[-1].analysis[0]
    assert Analysis.from_dict(whole).visits.tolist() == [3, 1]
    with pytest.raises(RecordError, match="is not a step's analysis"):
        Analysis.from_dict({**whole, **change})


@pytest.fixture(scope="module")
def golden():
    return GOLDEN.read_text("utf-8").splitlines()


def test_golden_lines_are_written_as_they_were_read(golden):
    for line in golden[::4]:
        written = json.loads(GameRecord.from_json(line).to_json(states=True, legal=True))
        assert written.pop("version") == 1
        assert written == json.loads(line)


def test_golden_games_verify(golden):
    for line in golden[1::4]:
        record = GameRecord.from_json(line)
        assert record.verify().returns().tolist() == record.returns


@pytest.mark.parametrize("name", ["records.jsonl", "records.parquet"])
def test_files_round_trip(tmp_path, name):
    records = some_records()
    path = write_records(tmp_path / name, records)
    assert read_records(path) == records
    for record in read_records(path):
        record.verify()
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_json_lines_keep_states_and_legal_actions(tmp_path):
    record = GameRecord.from_json(random_record(GAMES[1], 5).to_json(states=True, legal=True))
    assert record.verify().is_terminal()
    assert len(record.states) == len(record.legal) == len(record.steps)
    # They are made again where they are wanted, so files need not carry them.
    assert read_records(write_records(tmp_path / "a.jsonl", [record]))[0].states is None


def test_a_folder_of_shards_is_read_in_order_and_scanned_as_one_frame(tmp_path):
    records = some_records()
    write_records(tmp_path / "000000.parquet", records[:4])
    write_records(tmp_path / "000001.parquet", records[4:])
    assert read_records(tmp_path) == records
    frame = scan(tmp_path)
    assert frame.height == len(records)
    assert frame["steps"].list.len().to_list() == [len(record.steps) for record in records]
    assert frame["returns"].list.first().to_list() == [record.returns[0] for record in records]
    assert scan(tmp_path / "000001.parquet").height == len(records) - 4


def test_an_empty_shard_is_a_shard(tmp_path):
    assert read_records(write_records(tmp_path / "a.parquet", [])) == []
    assert read_records(write_records(tmp_path / "a.jsonl", [])) == []


def test_records_of_unfinished_games_verify():
    state = load_game("aeroliths").new_initial_state(seed=1)
    state.apply_action(state.legal_actions()[0])
    record = GameRecord.from_state(state)
    assert record.returns == [0.0, 0.0]
    assert not record.verify().is_terminal()


def test_replaying_gives_the_state_back():
    game = load_game(GAMES[1])
    state = game.new_initial_state(seed=3)
    for _ in range(9):
        state.apply_action(state.legal_actions()[-1])
    assert GameRecord.from_state(state).replay().to_bytes() == state.to_bytes()


# --------------------------------------------------------------------------------------------------------- damage


def damaged(record, change):
    content = copy.deepcopy(record.to_dict(states=True, legal=True))
    change(content)
    return GameRecord.from_dict(content)


def lengthen(content):
    content["steps"].append([0, 0])
    content["states"].append(content["states"][-1])
    content["legal"].append([])


def set_at(*path, value):
    def change(content):
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


DAMAGE = {
    "an action twice": (set_at("steps", 4, 1, value=None), r"step 4: .* is not legal for player"),
    "an action that does not exist": (set_at("steps", 3, 1, value=10**6), r"step 3: .*1000000 is not legal"),
    "a negative action": (set_at("steps", 3, 1, value=-2), r"step 3: .*-2 is not legal"),
    "another player": (set_at("steps", 5, 0, value=None), r"step 5: player \d cannot act, it is the turn of \d"),
    "a player that does not exist": (set_at("steps", 5, 0, value=7), r"step 5: player 7 cannot act"),
    "chance out of turn": (set_at("steps", 2, 0, value=-1), r"step 2: player -1 cannot act"),
    "a step too many": (lengthen, r"step 9: player 0 cannot act, it is the turn of -4"),
    "another state": (set_at("states", 6, "board", 0, value="x"), r"step 6: the stored state differs"),
    "another round": (set_at("states", 8, "round", value=3), r"step 8: the stored state differs"),
    "other legal actions": (lambda c: c["legal"][7].pop(), r"step 7: the stored legal actions differ"),
    "other returns": (lambda c: c["returns"].reverse(), r"step 8: the stored returns .* are not"),
    "returns of one player": (lambda c: c["returns"].pop(), r"step 8: the stored returns"),
    "another hand": (set_at("setup", "hands", 0, 0, value=[11, 1, 1, 1, 0]), r"setup: .*hands\[0\]\[0\] = \[11"),
    "no first player": (set_at("setup", "first_player", value=None), r"setup: .*first_player = None"),
    "an unknown option": (set_at("config", "sames", value=True), r"setup: .*unknown option 'sames'"),
    "an option out of range": (set_at("config", "size", value=6), r"setup: .*size = 6 is not allowed"),
    "an unknown game": (set_at("game", value="chess"), r"setup: unknown game 'chess'"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_found_and_its_step_is_named(kind):
    change, message = DAMAGE[kind]
    whole = random_record(GAMES[0], 4)
    if kind == "an action twice":
        change = set_at("steps", 4, 1, value=whole.steps[2][1])
    if kind == "another player":
        change = set_at("steps", 5, 0, value=1 - whole.steps[5][0])
    record = damaged(whole, change)
    with pytest.raises(RecordError, match=message) as caught:
        record.verify()
    assert "\n" not in str(caught.value)


def test_every_changed_digit_of_a_game_is_found_or_harmless():
    """Any one changed number in steps or returns is refused, or was never part of what happened."""
    whole = random_record(GAMES[0], 6)
    for step in range(len(whole.steps)):
        for action in range(0, 50, 7):
            record = damaged(whole, set_at("steps", step, 1, value=action))
            if action != whole.steps[step][1]:
                with pytest.raises(RecordError, match=r"step \d+"):
                    record.verify()


# ---------------------------------------------------------------------------------------------------- strangers' files


MALFORMED = {
    "[]": "a record is an object with game",
    "{": "not JSON",
    "": "not JSON",
    "NaN": "a record is an object",
    '{"game": "aeroliths"}': "lacks 'config'",
    '{"game":1,"config":{},"setup":{},"steps":[],"returns":[]}': "game = 1 has the wrong type",
    '{"game":"aeroliths","config":[],"setup":{},"steps":[],"returns":[]}': "config = \\[\\] has the wrong type",
    '{"game":"aeroliths","config":{},"setup":{},"steps":{},"returns":[]}': "steps = {} has the wrong type",
    '{"game":"aeroliths","config":{},"setup":{},"steps":[[0]],"returns":[]}': "steps",
    '{"game":"aeroliths","config":{},"setup":{},"steps":[[0,1.5]],"returns":[]}': "steps",
    '{"game":"aeroliths","config":{},"setup":{},"steps":[[0,true]],"returns":[]}': "steps",
    '{"game":"aeroliths","config":{},"setup":{},"steps":[],"returns":["1"]}': "returns",
    '{"game":"aeroliths","config":{},"setup":{},"steps":[],"returns":[NaN,1]}': "returns",
    f'{{"game":"aeroliths","config":{{}},"setup":{{}},"steps":[],"returns":[1{"0" * 400},0]}}': "returns",
    '{"game":"aeroliths","config":{},"setup":{},"steps":[],"returns":[],"states":[1]}': "states",
    '{"game":"aeroliths","config":{},"setup":{},"steps":[],"returns":[],"agents":"greedy"}': "agents",
    '{"game":"aeroliths","config":{},"setup":{},"steps":[],"returns":[],"seed":"1"}': "seed",
    '{"game":"aeroliths","config":{},"setup":{},"steps":[],"returns":[],"version":2}': "version 2 is not known",
    '{"game":"aeroliths","config":{},"setup":{},"steps":[],"returns":[],"evil":1}': "unknown field 'evil'",
    "[" * 100_000: "not JSON",
}


@pytest.mark.parametrize("line", MALFORMED, ids=lambda line: line[:60])
def test_malformed_lines_are_refused(line):
    with pytest.raises(RecordError, match=MALFORMED[line]) as caught:
        GameRecord.from_json(line)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_line_ends_at_a_line_feed_alone(tmp_path):
    record = random_record(GAMES[0], 1)
    record.agents = ["one\u2028two", "three\x85four"]
    line = json.dumps(record.to_dict(), ensure_ascii=False)
    (tmp_path / "some.jsonl").write_bytes(f"{line}\r\n{line}\n".encode())
    assert [read.agents for read in read_records(tmp_path / "some.jsonl")] == [record.agents] * 2


def test_a_refusal_names_file_and_game(tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_text(random_record(GAMES[0], 1).to_json() + "\n\n{}\n")
    with pytest.raises(RecordError, match=r"some.jsonl', game 2: a record lacks 'game'"):
        read_records(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(RecordError, match="not a UTF-8 text"):
        read_records(path)
    with pytest.raises(RecordError, match="there is no such record file"):
        read_records(tmp_path / "other.jsonl")


def test_parquet_files_that_are_none_of_ours_are_refused(tmp_path):
    path = tmp_path / "000000.parquet"
    path.write_bytes(b"PAR1 nonsense")
    with pytest.raises(RecordError, match=r"not a Parquet file"):
        read_records(path)
    polars.DataFrame({"a": [1]}).write_parquet(path)
    with pytest.raises(RecordError, match=r"not a file of game records: column 'version' is missing"):
        scan(tmp_path)
    write_records(path, some_records()[:2])
    frame = polars.read_parquet(path)
    for name, values in {"setup": ["{", "[]"], "config": ["1", "2"], "tags": ["[", "{}"]}.items():
        frame.with_columns(polars.Series(name, values, polars.String)).write_parquet(path)
        with pytest.raises(RecordError, match=r"000000.parquet', game 1: a r"):
            read_records(path)
    frame.with_columns(polars.Series("steps", [None, None], frame.schema["steps"])).write_parquet(path)
    with pytest.raises(RecordError, match=r"game 1: "):
        read_records(path)


def test_a_cut_shard_is_refused(tmp_path):
    path = write_records(tmp_path / "000000.parquet", some_records())
    content = path.read_bytes()
    for length in range(0, len(content), 997):
        path.write_bytes(content[:length])
        with pytest.raises(RecordError, match="not a Parquet file"):
            read_records(path)


def test_values_that_json_cannot_hold_are_not_written(tmp_path):
    record = random_record(GAMES[0], 1)
    record.returns = [float("nan"), 0.0]
    with pytest.raises((ValueError, TrilithonError)):
        write_records(tmp_path / "a.jsonl", [record])
    assert not list(tmp_path.iterdir())


def test_writing_where_nothing_can_be_written_is_said_in_a_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TrilithonError, match="cannot write"):
        write_records(tmp_path / "file" / "a.jsonl", [])
