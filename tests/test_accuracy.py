"""Labelled positions and the measure on them: labels, digests, agents whose accuracy is known, and the command."""

import dataclasses
import json

import numpy as np
import pytest
from naive.endings import plain_values

from trilithon.agents import load_agent
from trilithon.core import OptionError, load_game
from trilithon.core.errors import RecordError
from trilithon.experiments import accuracy, cli, labelled
from trilithon.experiments.accuracy import measure
from trilithon.experiments.labelled import RECIPES, LabelledSet, load_benchmark, make_set

TINY = dataclasses.replace(RECIPES["aeroliths-3x3"], empty=(3, 4), counts=(6, 5))


@pytest.fixture(scope="module")
def tiny():
    return LabelledSet("tiny", make_set(TINY))


def run(capsys, *words):
    status = cli.main(list(words))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize("name", RECIPES)
def test_published_sets_hold_what_their_recipes_say(name):
    positions, recipe = load_benchmark(name), RECIPES[name]
    assert positions.game == load_game(recipe.game)
    for source, count in zip(labelled.SOURCES, recipe.counts, strict=True):
        for empty in recipe.empty:
            assert ((positions.sources == source) & (positions.empty == empty)).sum() == count
    for outcomes, differences in zip(positions.outcomes, positions.differences, strict=True):
        assert outcomes.min() < outcomes.max()
        decided = differences != 0
        assert (np.sign(differences)[decided] == outcomes[decided]).all()
    for state, actions, empty in list(zip(positions.states, positions.actions, positions.empty, strict=True))[::7]:
        assert state.legal_actions() == actions.tolist()
        assert state.to_dict()["board"].count(None) == empty
    assert len({json.dumps(state.position_setup()) for state in positions.states}) == len(positions)


@pytest.mark.parametrize("name", ["aeroliths-3x3", "aeroliths-3x3-special"])
def test_labels_agree_with_a_plain_search(name):
    """Of the positions with the fewest empty cells: every line of play to its end, by the generic verbs."""
    positions = load_benchmark(name)
    few = np.flatnonzero(positions.empty == positions.empty.min())[::40]
    for i in few.tolist():
        state = positions.states[i]
        player = state.current_player()
        for action, outcome in zip(positions.actions[i].tolist(), positions.outcomes[i].tolist(), strict=True):
            after = state.child(action)
            value = after.returns() if after.is_terminal() else plain_values(after)
            assert value[player] == outcome


def test_labels_agree_with_minimax_to_the_end():
    positions = load_benchmark("aeroliths-4x4")
    agent = load_agent("minimax(depth=8)", positions.game)
    for i in np.flatnonzero(positions.empty == 8)[::30].tolist():
        found = agent.analyse(positions.states[i]).qvalues[:, positions.states[i].current_player()]
        assert np.sign(found).astype(int).tolist() == positions.outcomes[i].tolist()


def test_a_set_is_made_again_from_its_recipe(tiny):
    again = LabelledSet("again", make_set(TINY))
    assert (again.sha256, len(again)) == (tiny.sha256, 22)
    published = load_benchmark("aeroliths-3x3")
    first = np.flatnonzero((published.sources == "random") & (published.empty == 3))[:6]
    for mine, i in zip(range(6), first.tolist(), strict=True):
        assert tiny._setups[mine] == published._setups[i]
        assert tiny.differences[mine].tolist() == published.differences[i].tolist()


def test_perfect_play_keeps_everything(tiny):
    for row in measure("solver", tiny):
        assert (row.kept, row.lost, row.high) == (1.0, 0.0, 1.0)
        assert 0.3 < row.low < 1.0


def test_the_measure_counts_what_an_agent_does(tiny, monkeypatch):
    class First:
        def act_batch(self, states):
            return [state.legal_actions()[0] for state in states]

    monkeypatch.setattr(accuracy, "BATCH", 4)
    told = []
    rows = measure(First(), tiny, progress=told.append)
    assert [row.empty for row in rows] == [4, 3]
    assert [row.positions for row in rows] == [11, 11]
    assert sum(told) == 22
    for row in rows:
        here = [i for i in range(22) if tiny.empty[i] == row.empty]
        assert row.kept == pytest.approx(np.mean([tiny.outcomes[i][0] == max(tiny.outcomes[i]) for i in here]))
        lost = [max(tiny.differences[i]) - tiny.differences[i][0] for i in here]
        assert row.lost == pytest.approx(np.mean(lost))
    assert [row.positions for row in measure(First(), tiny, "strong")] == [5, 5]


def test_uniform_is_computed_as_it_plays():
    positions = load_benchmark("aeroliths-3x3")
    for row in measure("uniform", positions, seed=3):
        assert row.low - 0.02 < row.uniform_kept < row.high + 0.02
        assert abs(row.lost - row.uniform_lost) < 0.25


def test_what_is_not_a_published_set_is_refused(tmp_path, monkeypatch):
    with pytest.raises(OptionError, match="did you mean 'aeroliths-4x4'"):
        load_benchmark("aeroliths-4x")
    whole = (labelled.FOLDER / "aeroliths-4x4.parquet").read_bytes()
    monkeypatch.setattr(labelled, "FOLDER", tmp_path)
    with pytest.raises(RecordError, match="No such file"):
        load_benchmark("aeroliths-4x4")
    (tmp_path / "aeroliths-4x4.parquet").write_bytes(whole[:-1] + b"x")
    with pytest.raises(RecordError, match="is damaged"):
        load_benchmark("aeroliths-4x4")
    for data in (b"", b"PAR1", whole[: len(whole) // 2]):
        with pytest.raises(RecordError, match="not a Parquet file"):
            LabelledSet("x", data)


def test_an_illegal_action_is_an_error(tiny):
    missing = next(a for a in range(45) if a not in tiny.actions[0])
    for action in (missing, -1, 1000):
        with pytest.raises(OptionError, match=f"action {action} is not legal in position 0"):
            tiny.kept(0, action)


def test_the_command(capsys):
    words = ["rate", "--benchmark", "aeroliths-4x4", "uniform", "greedy"]
    status, out, err = run(capsys, *words, "--json", "--source", "strong")
    assert (status, err) == (0, "")
    content = json.loads(out)
    assert content["sha256"] == RECIPES["aeroliths-4x4"].sha256
    assert [agent["spec"] for agent in content["agents"]] == ["uniform", "greedy"]
    assert [row["positions"] for row in content["agents"][1]["empty"]] == [RECIPES["aeroliths-4x4"].counts[1]] * 3
    status, out, err = run(capsys, *words)
    assert status == 0
    assert "(uniform, computed)" in out
    for bad, message in (
        (["--benchmark", "chess", "greedy"], "unknown benchmark 'chess'"),
        (["--benchmark", "aeroliths-4x4", "greedly"], "unknown agent"),
        (["--benchmark", "aeroliths-4x4", "greedy", "--game", "aeroliths"], "give no --game"),
        (["--source", "random", "somewhere"], "goes with --benchmark"),
        (["--seed", "3", "somewhere"], "goes with --benchmark"),
    ):
        status, out, err = run(capsys, "rate", *bad)
        assert (status, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1


@pytest.mark.heavy
def test_rollouts_keep_the_outcome():
    """3,000 rollouts on positions from random play, 500 for each number of empty cells."""
    marks = {9: 0.95, 8: 0.85, 7: 0.95, 6: 0.99, 5: 0.99, 4: 0.99}
    rows = measure(
        load_agent("mcts(simulations=3000)", load_game(RECIPES["aeroliths-3x3"].game)),
        load_benchmark("aeroliths-3x3"),
        "random",
    )
    assert {row.empty: row.kept >= marks[row.empty] for row in rows if row.empty in marks} == dict.fromkeys(marks, True)
