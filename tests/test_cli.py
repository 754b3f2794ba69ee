"""The command line: what it prints, and that every mistake is one line, status 2, and nothing left behind."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from trilithon.agents import solve
from trilithon.core import load_game
from trilithon.core.record import GameRecord, read_records, write_records
from trilithon.experiments import benchmark, cli
from trilithon.experiments.cli import main

GOLDEN = str(Path(__file__).parent / "data/golden/aeroliths.jsonl")
CELLS = [f"{column}{row}" for column in "abc" for row in "123"]
HEADER = "name,top,right,bottom,left,element\n"


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run a command line in an empty folder; return status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as leaving:  # --help and --version
            status = leaving.code
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def command(*arguments, **options):
    """Run a command line in a process of its own."""
    line = [sys.executable, "-m", "trilithon.experiments.cli", *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False, **options)


# ------------------------------------------------------------------------------------------------------------ mistakes


def a_config(folder):
    path = folder / "some.yaml"
    path.write_text("game: aeroliths\n")
    return path


def a_broken_record(folder):
    record = read_records(GOLDEN)[0]
    record.steps[5] = record.steps[4]
    return write_records(folder / "broken.jsonl", [read_records(GOLDEN)[1], record])


def a_catalogue(text):
    def write(folder):
        (folder / "lithos.csv").write_text(text)
        return "aeroliths(source=catalogue,catalogue=lithos.csv)"

    return write


ARENA = ("arena", "greedy", "uniform", "--out", "event")
MISTAKES = {
    "no command": ((), "the following arguments are required: COMMAND"),
    "an unknown command": (("areena",), "invalid choice: 'areena'"),
    "an unknown flag": (("games", "--jsn"), "unrecognized arguments: --jsn"),
    "an unknown game": ((*ARENA, "--game", "aerolith"), "unknown game 'aerolith'; did you mean 'aeroliths'?"),
    "no game": (ARENA, "the following arguments are required: --game"),
    "an unknown game option": (
        (*ARENA, "--game", "aeroliths(sizes=3)"),
        "unknown option 'sizes'; did you mean 'size'?",
    ),
    "an option out of range": (
        (*ARENA, "--game", "aeroliths(size=6)"),
        "size = 6 is not allowed; allowed: 3 or 4 or 5",
    ),
    "order with chaos": ((*ARENA, "--game", "aeroliths(order=true,chaos=true)"), "exclude each other"),
    "a spec without an end": ((*ARENA, "--game", "aeroliths(size=3"), "expected ')' at the end"),
    "hands that nobody gave": ((*ARENA, "--game", "aeroliths(hands=manual)"), "starts from a setup"),
    "a small catalogue": (
        (*ARENA, "--game", a_catalogue(HEADER + "One,1,2,3,4,fire\n")),
        "catalogue 'lithos.csv' has 1 Lithos, but this game draws 9",
    ),
    "a malformed catalogue": (
        (*ARENA, "--game", a_catalogue(HEADER + "One,1,2,3,11,fire\n")),
        "row 2, column left: '11' is not a whole number 1..10",
    ),
    "a catalogue without a header": ((*ARENA, "--game", a_catalogue("One,1,2,3,4,fire\n")), "lithos.csv"),
    "no catalogue": ((*ARENA, "--game", 'aeroliths(source=catalogue,catalogue="no.csv")'), "there is no such file"),
    "an unknown agent": (
        ("arena", "greedy", "greddy", "--game", "aeroliths", "--out", "event"),
        "unknown agent 'greddy'",
    ),
    "an unknown agent option": (
        ("arena", "greedy", "minimax(deep=2)", "--game", "aeroliths", "--out", "event"),
        "minimax: unknown option 'deep'",
    ),
    "an agent's option out of range": (
        ("arena", "greedy", "minimax(depth=0)", "--game", "aeroliths", "--out", "event"),
        "minimax: depth = 0 is not allowed",
    ),
    "an agent twice": (("arena", "greedy", "greedy", "--game", "aeroliths"), "is entered twice"),
    "one agent": (("arena", "greedy", "--game", "aeroliths"), "needs 2 agents or more"),
    "a negative seed": (
        (*ARENA, "--game", "aeroliths", "--seed", "-1"),
        "--seed: must be a whole number 0..9007199254740991, not -1",
    ),
    "no deals": ((*ARENA, "--game", "aeroliths", "--deals", "0"), "--deals: must be a whole number 1..10000000, not 0"),
    "negative deals": ((*ARENA, "--game", "aeroliths", "--deals", "-5"), "must be a whole number 1..10000000, not -5"),
    "half a worker": ((*ARENA, "--game", "aeroliths", "--workers", "0.5"), "--workers: must be a whole number 1..256"),
    "no time": ((*ARENA, "--game", "aeroliths", "--turn-time", "-2"), "--turn-time: must be a number of seconds > 0"),
    "no checkpoint": (("arena", "greedy", "nowhere/run", "--game", "aeroliths"), "nowhere/run"),
    "no config": (("train",), "train needs a config file"),
    "overrides without a config": (("train", "workers=2"), "train needs a config file"),
    "a word too many": (("games", "aeroliths"), "unrecognized arguments: aeroliths"),
    "a config that is not there": (("train", "none.yaml"), "none.yaml"),
    "an unknown config key": (("train", a_config, "training.generation=3"), "training.generation: unknown key"),
    "a config value of another type": (("train", a_config, "workers=many"), "workers = 'many': "),
    "a config value out of range": (("train", a_config, "--seed", "0", "workers=0"), "workers = 0: "),
    "a config with order and chaos": (
        ("train", a_config, "game=aeroliths(order=true,chaos=true)"),
        "game: aeroliths: order = true and chaos = true exclude each other",
    ),
    "no run to resume": (("train", "--resume", "nowhere"), "'nowhere' is not a run folder"),
    "a config beside a resumed run": (("train", a_config, "--resume", "nowhere"), "give nothing else beside it"),
    "no records": (("rate", "nowhere"), "'nowhere': there is no such record file"),
    "records without agents": (("rate", GOLDEN), "the records are of several games"),
    "records of another game": (("rate", GOLDEN, "--game", "aeroliths(pool_size=9)"), "there are no games of"),
    "a record that does not replay": (("replay", a_broken_record, "--verify"), "broken.jsonl', game 2: step 5: "),
    "a broken record, printed": (("replay", a_broken_record, "--game", "2"), "game 2: step 5: "),
    "a file of something else": (("replay", a_config), "some.yaml', game 1: a record's line is not JSON"),
    "a game that is not there": (("replay", GOLDEN, "--game", "1000"), "holds 120 games; there is no game 1000"),
    "three players": (("play", "--game", "aeroliths", "--players", "human", "human", "human"), "but 3 were named"),
    "an unknown opponent": (("play", "--game", "aeroliths", "--players", "human", "nobody"), "unknown agent 'nobody'"),
    "a position too large": (("solve", "selenolyth"), "too large to be solved exactly; allowed: at most 8 stones"),
    "more nodes than allowed": (
        ("solve", "aeroliths(open_hands=true)", "--limit", "5"),
        "allowed: 5 (limit)",
    ),
    "a limit of nothing": (
        ("solve", "aeroliths", "--limit", "0"),
        "--limit: must be a whole number 1..1000000000000000",
    ),
    "an unknown objective": (("solve", "aeroliths", "--objective", "win"), "invalid choice: 'win'"),
    "an action nobody can take": (("solve", "selenolyth", "--actions", "S@z"), "'S@z' is not an action"),
    "an illegal action": (("solve", "selenolyth", "--actions", "S@a!"), "is not legal for player"),
    "no setup": (("solve", "selenolyth", "--setup", "none.json"), "none.json"),
    "a seed and a setup": (("solve", "selenolyth", "--setup", "a", "--seed", "1"), "--seed and --setup both say where"),
    "a game of no file": (("solve", "selenolyth", "--game", "2"), "give --step K with it"),
    "a step with a seed": (("solve", GOLDEN, "--step", "2", "--seed", "1"), "give neither --seed nor --setup with it"),
    "a step that is not there": (("solve", GOLDEN, "--step", "1000"), "game 1: the last step is "),
    "a step of no game": (("solve", GOLDEN, "--step", "1", "--game", "1000"), "there is no game 1000"),
    "a step of no file": (("solve", "none.jsonl", "--step", "1"), "'none.jsonl': there is no such record file"),
    "a step after a broken one": (("solve", a_broken_record, "--game", "2", "--step", "7"), "game 2: step 5: "),
    "an unknown benchmark": (("bench", "playout/"), "no benchmark begins with 'playout/'"),
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_is_one_line_and_status_2(kind, run, tmp_path):
    arguments, message = MISTAKES[kind]
    given = [a(tmp_path) if callable(a) else a for a in arguments]
    before = sorted(tmp_path.rglob("*"))
    status, out, err = run(*given)
    assert status == 2
    assert out == "" or kind == "a broken record, printed"
    assert err.startswith("trilithon: error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert message in err
    assert "Traceback" not in err
    assert sorted(tmp_path.rglob("*")) == before


def test_mistakes_in_a_process_of_its_own(tmp_path):
    done = command("arena", "greedy", "uniform", "--game", "aeroliths(size=6)", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "trilithon: error: aeroliths: size = 6 is not allowed; allowed: 3 or 4 or 5\n"


def test_a_folder_that_is_in_use_is_left_alone(run, tmp_path):
    (tmp_path / "event").mkdir()
    (tmp_path / "event" / "thing").write_text("mine")
    status, _, err = run(*ARENA, "--game", "aeroliths", "--deals", 1)
    assert status == 2
    assert "'event' is not empty" in err
    assert [p.name for p in (tmp_path / "event").iterdir()] == ["thing"]


def test_an_interrupt_is_status_130(run, monkeypatch):
    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("trilithon.experiments.commands.looking.games", interrupted)
    status, _, err = run("games")
    assert (status, err) == (130, "trilithon: interrupted\n")


def test_a_reader_that_has_seen_enough_is_no_error():
    line = f"{sys.executable} -m trilithon.experiments.cli replay {GOLDEN} | head -1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("game 1: aeroliths(")
    assert done.stderr == ""


# --------------------------------------------------------------------------------------------------------------- lists


def test_games_are_listed_with_options(run):
    status, out, err = run("games")
    assert (status, err) == (0, "")
    assert out.startswith("aeroliths: ")
    assert "size=3" in out
    assert "max_rounds=16" in out
    assert "allowed: a whole number 1..99" in out
    content = json.loads(run("games", "--json")[1])
    [game] = [game for game in content["games"] if game["name"] == "aeroliths"]
    assert game["options"][0] == {
        "name": "size",
        "default": 3,
        "allowed": "3 or 4 or 5",
        "doc": "cells a side of the board",
    }


def test_agents_are_listed_with_options(run):
    out = run("agents")[1]
    names = [line.partition(":")[0] for line in out.splitlines() if not line.startswith(" ")]
    assert names[:2] == ["uniform", "greedy"]
    assert "    depth=" in out
    content = json.loads(run("agents", "--json")[1])
    assert [agent["name"] for agent in content["agents"]] == names


def test_lists_import_no_torch_and_no_polars():
    script = """if True:
        import sys
        from trilithon.experiments.cli import main
        for line in (["games"], ["agents", "--json"]):
            assert main(line) == 0
        slow = {"torch", "polars", "pettingzoo", "tensorboard"} & set(sys.modules)
        assert not slow, slow
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_words_and_flags_stand_in_any_order():
    line = ["arena", "--deals", "3", "a", "--game", "g", "b", "--json", "c"]
    assert cli.parse(line).agents == ["a", "b", "c"]
    line = ["train", "--out", "x", "some.yaml", "--seed", "1", "workers=2"]
    assert cli.parse(line).words == ["some.yaml", "workers=2"]


def test_version_and_help(run):
    assert run("--version")[1].startswith("trilithon 0.")
    for command in ("train", "arena", "rate", "play", "replay", "perft", "solve", "games", "agents", "bench"):
        status, out, err = run(command, "--help")
        assert (status, err) == (0, "")
        assert out.startswith(f"usage: trilithon {command} ")
    status, out, _ = run("arena", "--help")
    assert status == 0
    for flag in ("--game", "--seed", "--deals", "--workers", "--out", "--json", "--gauntlet", "--strict"):
        assert flag in out


# ------------------------------------------------------------------------------------------------------------ strength


def test_an_event_its_files_and_its_rating(run, tmp_path):
    line = ("arena", "greedy", "uniform", "--game", "aeroliths(chaos=true)", "--deals", 12, "--seed", 4)
    status, out, err = run(*line, "--out", "event")
    assert (status, err) == (0, "")
    assert "greedy" in out
    assert "95 % interval" in out
    files = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert files == ["event/.lock", "event/ratings.json", "event/records/000000.parquet"]
    records = read_records(tmp_path / "event/records")
    assert len(records) == 24
    assert all(record.verify().is_terminal() for record in records)
    content = json.loads((tmp_path / "event/ratings.json").read_text())
    assert set(content["agents"][0]) == {"spec", "elo", "low", "high", "games", "wins", "draws", "losses"}
    assert content["records"] == "event/records"

    status, out, err = run(*line, "--json")
    assert (status, err) == (0, "")
    assert {**json.loads(out), "records": "event/records"} == content
    rated = json.loads(run("rate", "event", "--json")[1])
    assert rated["agents"] == content["agents"]
    assert rated["pairs"] == content["pairs"]
    assert out.count("\n") == 1
    table = run("rate", "event")[1]
    assert "aeroliths(chaos=true), 24 games" in table
    assert run("replay", "event", "--verify")[1] == "24 games verified\n"
    assert run("replay", "event/records/000000.parquet", "--verify")[:1] == (0,)
    assert run(*line, "--out", "event")[0] == 2


def test_records_of_several_games_are_rated_one_at_a_time(run):
    for number, game in enumerate(("aeroliths", "aeroliths(order=true)")):
        assert run("arena", "greedy", "uniform", "--game", game, "--deals", 2, "--out", f"event{number}")[0] == 0
    assert "name one, --game" in run("rate", "event0", "event1")[2]
    status, out, _ = run("rate", "event0", "event1", "--game", "aeroliths(order=true)")
    assert status == 0
    assert "aeroliths(order=true), 4 games" in out


# -------------------------------------------------------------------------------------------------------------- replay


def test_golden_games_are_printed_and_verified(run):
    status, out, err = run("replay", GOLDEN, "--game", "3")
    assert (status, err) == (0, "")
    record = read_records(GOLDEN)[2]
    assert out.startswith(f"game 3: {record.load_game()}\n")
    assert out.count("\nstep ") == len(record.steps)
    assert str(record.replay()) in out
    assert json.loads(run("replay", GOLDEN, "--verify", "--game", "3", "--json")[1]) == {
        "file": GOLDEN,
        "games": 1,
        "verified": True,
    }
    assert run("replay", GOLDEN, "--verify")[1] == "120 games verified\n"


def test_steps_that_ran_out_of_time_are_marked(run, tmp_path):
    record = read_records(GOLDEN)[2]
    record.timed_out, record.agents = [1], ["greedy", "uniform"]
    write_records(tmp_path / "a.jsonl", [record])
    out = run("replay", "a.jsonl")[1]
    assert "greedy against uniform" in out
    assert out.count("(time ran out)") == 1


# ---------------------------------------------------------------------------------------------------------------- play


def test_a_game_by_standard_input(run, tmp_path, monkeypatch):
    actions = "".join(f"{slot}@{cell}\n" for slot in range(5) for cell in CELLS)
    monkeypatch.setattr(sys, "stdin", io.StringIO(actions * 3))
    line = ("play", "--game", "aeroliths(first_player=0)", "--players", "human", "greedy", "--seed", 5, "--out", "mine")
    status, out, err = run(*line)
    assert (status, err) == (0, "")
    assert "result: player 0 (human)" in out
    [record] = read_records(tmp_path / "mine/records/000000.parquet")
    assert record.agents == ["human", "greedy"]
    assert record.seed == 5
    assert record.verify().is_terminal()
    monkeypatch.setattr(sys, "stdin", io.StringIO(actions * 3))
    assert run(*line)[0] == 0
    assert len(read_records(tmp_path / "mine/records")) == 2


def test_the_end_of_input_leaves_the_game(run, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("0@a1\n"))
    status, out, err = run("play", "--game", "aeroliths", "--players", "human", "greedy", "--out", "mine")
    assert (status, err) == (0, "")
    assert out.endswith("left the game\n")
    assert not list(tmp_path.iterdir())


# --------------------------------------------------------------------------------------------------------------- bench


def test_benchmarks_are_selected_by_the_beginning_of_their_name():
    names = [b.name for b in benchmark.select([])]
    assert len(names) == len(set(names))
    assert [b.name for b in benchmark.select(["playouts/aeroliths/4x4"])] == [
        "playouts/aeroliths/4x4/basic",
        "playouts/aeroliths/4x4/all",
    ]
    assert {"aec/aeroliths/raw", "aec/aeroliths/env", "aec/pettingzoo-wrappers", "compile/cold", "start/warm"} < set(
        names
    )


def test_bench_prints_medians_of_five(run):
    status, out, err = run("bench", "observe/aeroliths", "--json")
    assert (status, err) == (0, "")
    content = json.loads(out)
    [result] = content["results"]
    assert set(result) == {"name", "value", "unit", "runs"}
    assert len(result["runs"]) == 5
    assert result["value"] == sorted(result["runs"])[2] > 1000
    assert content["versions"]["python"]
    assert content["machine"]["cores"]


def test_playouts_are_whole_games():
    import numpy as np

    from trilithon.agents.playout import Playouts
    from trilithon.core import load_game

    for spec in ("aeroliths(open_hands=true)", "aeroliths(chaos=true,draft=true)"):
        game = load_game(spec)
        states = benchmark.deals(game, 4)
        before = states.copy()
        steps, returns = Playouts(game).run(states, 100, 7)
        assert steps == 100 * game.max_game_length()
        assert returns.sum() == pytest.approx(0.0)
        assert np.array_equal(states, before)
        again = Playouts(game).run(states, 100, 7)
        assert again[0] == steps
        assert np.array_equal(again[1], returns)


def test_a_benchmark_of_the_environments_counts_steps(monkeypatch):
    monkeypatch.setattr(benchmark, "GAMES", 2)
    results = list(benchmark.run_benchmarks(["aec"], runs=2))
    assert len(results) == 5
    assert all(len(result.runs) == 2 and all(isinstance(value, float) for value in result.runs) for result in results)
    assert "steps/s" in str(results[0])


@pytest.mark.heavy
def test_start_up_imports_no_torch():
    for result in benchmark.run_benchmarks(["start", "compile"], runs=1):
        assert result.value > 0


def the_ending(folder):
    """A position of The Selenolyth with six stones left."""
    occupied = [0 if cell in (3, 4, 6, 21, 26, 28, 29, 31) else 1 for cell in range(36)]
    position = {"occupied": occupied, "luminance": [3, 8], "reserve": [[2, 1, 0], [1, 1, 1]], "player": 1}
    path = folder / "ending.json"
    path.write_text(json.dumps({"first_player": 0, "position": position}))
    return path


def test_solve_prints_every_action_and_marks_the_best(run, tmp_path):
    path = the_ending(tmp_path)
    status, out, err = run("solve", "selenolyth", "--setup", path)
    assert (status, err) == (0, "")
    state = load_game("selenolyth").from_setup(json.loads(path.read_text()))
    solution = solve(state)
    lines = out.splitlines()
    assert lines[0].startswith("selenolyth, player 1 to act: player 0 ")
    rows = [line for line in lines if line[:2] in ("* ", "  ")][1:]
    assert len(rows) == len(solution.action_values)
    values = []
    for row in rows:
        text, value = row[2:].split()
        action = state.string_to_action(text)
        values.append(float(value))
        assert float(value) == pytest.approx(solution.action_values[action][0][1], abs=1e-6)
        assert row.startswith("*") == (action in solution.best_actions)
    assert values == sorted(values, reverse=True)
    first = state.action_to_string(solution.principal_variation[0])
    assert lines[-2].removesuffix(" ...") == f"best play: {first}"
    assert lines[-1].startswith(f"{solution.nodes} nodes, ")


def test_solve_as_json_is_the_solution(run, tmp_path):
    path = the_ending(tmp_path)
    status, out, err = run("solve", "selenolyth", "--setup", path, "--json", "--objective", "return")
    assert (status, err) == (0, "")
    expected = solve(load_game("selenolyth").from_setup(json.loads(path.read_text()))).to_dict()
    assert json.loads(out) | {"seconds": 0} == expected | {"seconds": 0}
    # Some actions later: a roll is under way, which has a value and no actions.
    _, out, _ = run("solve", "selenolyth", "--setup", path, "--json", "--actions", " S@a ,")
    rolled = json.loads(out)
    assert rolled["action_values"] == {}
    assert rolled["values"] == pytest.approx(expected["action_values"]["0"][0])
    _, out, _ = run("solve", "selenolyth", "--setup", path, "--actions", "S@a")
    assert out.startswith("selenolyth, chance to act: player 0 ")
    assert len(out.splitlines()) == 2


def test_solve_a_step_of_a_recorded_game(run, tmp_path):
    """The action that was taken there is among those it values, and the line of best play ends as it says."""
    spec = "aeroliths(same=true,open_hands=true)"
    status, _, _ = run("arena", "greedy", "uniform", "--game", spec, "--deals", "2", "--seed", "1", "--out", "event")
    assert status == 0
    record = read_records(tmp_path / "event/records")[1]
    status, out, err = run("solve", "event", "--step", "4", "--game", "2", "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert str(record.steps[4][1]) in found["action_values"]
    state = record.initial_state()
    for _, action in record.steps[:4]:
        state.apply_action(action)
    mover = state.current_player()
    for action in found["principal_variation"]:
        state.apply_action(action)
    assert state.returns().tolist() == found["values"]
    assert state.margin()[mover] * 9 == pytest.approx(found["difference"])
    _, out, _ = run("solve", "event", "--step", "4", "--game", "2")
    assert "final difference" in out.splitlines()[0]
    assert f"{found['difference']:+g}" in out.splitlines()[2].split()


def test_every_command_of_the_parser_exists():
    parser = cli.make_parser()
    [commands] = [action for action in parser._actions if action.dest == "command"]
    from importlib import import_module

    for sub in commands.choices.values():
        module, _, function = sub.get_default("function").partition(":")
        assert callable(getattr(import_module(f"trilithon.experiments.commands.{module}"), function))
    assert set(commands.choices) == {
        "train",
        "arena",
        "rate",
        "play",
        "replay",
        "perft",
        "solve",
        "games",
        "agents",
        "bench",
    }


def test_a_record_without_agents_cannot_be_rated(run, tmp_path):
    write_records(tmp_path / "a.jsonl", read_records(GOLDEN)[:1])
    assert "game 1: names no agents" in run("rate", "a.jsonl")[2]
    alone = read_records(GOLDEN)[2]
    alone.agents = ["greedy", "greedy"]
    write_records(tmp_path / "c.jsonl", [alone])
    assert "nothing to rate" in run("rate", "c.jsonl")[2]
    unfinished = GameRecord.from_json(Path(GOLDEN).read_text().splitlines()[0])
    unfinished.agents, unfinished.steps = ["a", "b"], unfinished.steps[:2]
    unfinished.states = unfinished.legal = None
    write_records(tmp_path / "b.jsonl", [unfinished])
    assert "game 1: is not finished" in run("rate", "b.jsonl")[2]
