"""Run folders: names, locks, checkpoints, shards, metrics."""

import json
import subprocess
import sys

import pytest

from trilithon.core import ConfigError, load_game
from trilithon.core.record import GameRecord, read_records
from trilithon.experiments.run import RunFolder

GAME = load_game("aeroliths", order=True)


def a_record(seed=0):
    state = GAME.new_initial_state(seed)
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
    return GameRecord.from_state(state, seed=seed)


def test_new_runs_take_the_next_free_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [str(RunFolder.create("quick").path) for _ in range(3)] == ["runs/quick-1", "runs/quick-2", "runs/quick-3"]
    assert str(RunFolder.create("other").path) == "runs/other-1"
    (tmp_path / "runs/quick-2").rmdir()
    assert RunFolder.create("quick").path.name == "quick-2"


def test_a_named_folder_must_be_new_or_empty(tmp_path):
    (tmp_path / "empty").mkdir()
    assert RunFolder.create("x", tmp_path / "empty").path == tmp_path / "empty"
    assert RunFolder.create("x", tmp_path / "a" / "b").path.is_dir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thing").write_text("")
    with pytest.raises(ConfigError, match="full' is not empty"):
        RunFolder.create("x", tmp_path / "full")
    with pytest.raises(ConfigError, match="thing' is a file"):
        RunFolder.create("x", tmp_path / "full" / "thing")


def test_a_run_that_exists_is_known_by_its_config(tmp_path):
    with pytest.raises(ConfigError, match=r"not a run folder: it has no config.yaml"):
        RunFolder.open(tmp_path)
    (tmp_path / "config.yaml").write_text("a: 1\n")
    assert RunFolder.open(tmp_path).config.read_text() == "a: 1\n"


def test_a_second_user_of_the_folder_is_refused(tmp_path):
    folder = RunFolder(tmp_path)
    with folder.lock():
        script = f"from trilithon.experiments.run import RunFolder\nwith RunFolder({str(tmp_path)!r}).lock(): pass"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert f"{str(tmp_path)!r} is in use by process" in done.stderr.splitlines()[-1]
        with pytest.raises(ConfigError, match=r"in use by process \d+"), RunFolder(tmp_path).lock():
            pass
    with folder.lock():
        pass  # free again


def test_a_dead_process_leaves_no_lock_behind(tmp_path):
    script = f"""if True:
        import os
        from trilithon.experiments.run import RunFolder
        with RunFolder({str(tmp_path)!r}).lock():
            os.kill(os.getpid(), 9)
    """
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    with RunFolder(tmp_path).lock():
        pass


def test_a_checkpoint_counts_once_its_card_is_there(tmp_path):
    folder = RunFolder(tmp_path)
    assert folder.newest_checkpoint() is None
    folder.checkpoints.mkdir()
    for name in ("000002.safetensors", "000002.json", "000010.safetensors", "000010.json", "000011.safetensors"):
        (folder.checkpoints / name).write_bytes(b"")
    (folder.checkpoints / ".000012.json.x.tmp").write_bytes(b"")
    assert [path.name for path in folder.whole_checkpoints()] == ["000010.safetensors", "000002.safetensors"]
    assert folder.newest_checkpoint() == folder.checkpoints / "000010.safetensors"


def test_shards_are_numbered_and_read_back_in_order(tmp_path):
    folder = RunFolder(tmp_path)
    records = [a_record(seed) for seed in range(3)]
    assert folder.write_shard(records[:2]).name == "000000.parquet"
    assert folder.write_shard(records[2:]).name == "000001.parquet"
    assert folder.write_shard(records[:1], number=7).name == "000007.parquet"
    assert folder.write_shard(records[:1]).name == "000008.parquet"
    assert read_records(folder.records)[:3] == records
    assert not list(folder.records.glob("*.tmp"))


def test_metrics_are_whole_and_have_no_step_twice(tmp_path):
    folder = RunFolder(tmp_path)
    for step in range(4):
        folder.add_metrics(step, {"loss": 1.0 / (step + 1)}, board=False)
    resumed = RunFolder(tmp_path)
    resumed.add_metrics(2, {"loss": 9.0}, board=False)
    lines = (tmp_path / "metrics/metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"step": 0, "loss": 1.0},
        {"step": 1, "loss": 0.5},
        {"step": 2, "loss": 9.0},
    ]
    (tmp_path / "metrics/metrics.jsonl").write_text('{"step": 0\n')
    with pytest.raises(ConfigError, match="damaged"):
        RunFolder(tmp_path).read_metrics()


def test_metrics_go_to_tensorboard_too(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = RunFolder(tmp_path)
    folder.add_metrics(1, {"loss/value": 0.5, "games": 10})
    folder.add_metrics(2, {"loss/value": 0.25, "games": 20})
    folder.close()
    events = EventAccumulator(str(folder.metrics)).Reload()
    assert [(e.step, e.value) for e in events.Scalars("loss/value")] == [(1, 0.5), (2, 0.25)]


def test_ratings_are_one_json_object(tmp_path):
    folder = RunFolder(tmp_path)
    folder.write_ratings({"agents": []})
    assert json.loads(folder.ratings.read_text()) == {"agents": []}
