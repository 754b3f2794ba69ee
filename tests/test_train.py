"""Training: configs, a tiny whole run, resuming, checkpoints that do not fit, and symmetric learning targets."""

import hashlib
import json
import shutil

import numpy as np
import pytest
import torch

from trilithon.agents import load_agent
from trilithon.agents.checkpoint import build_network, load_network, save_checkpoint
from trilithon.agents.evaluator import NetworkEvaluator, mover_indices
from trilithon.core import CheckpointError, ConfigError, load_game
from trilithon.core.record import GameRecord, read_records
from trilithon.experiments.accuracy import measure
from trilithon.experiments.config import Config, TrainingConfig, dump_config, load_config, make_config
from trilithon.experiments.labelled import load_benchmark
from trilithon.experiments.replay import Batch, Replay
from trilithon.experiments.run import RunFolder
from trilithon.experiments.selfplay import play_task, tasks_of
from trilithon.experiments.train import Trainer, resume, train

TINY = {
    "name": "tiny",
    "game": "aeroliths(open_hands=true)",
    "workers": 1,
    "network": {"channels": 16, "layers": 1},
    "selfplay": {"games": 8, "games_per_task": 4, "simulations": 8},
    "training": {"generations": 2, "batch_size": 32},
    "rating": {"deals": 2, "simulations": 4, "opponents": ["uniform"]},
}


def tiny(**changes):
    content = json.loads(json.dumps(TINY))
    for path, value in changes.items():
        section, _, key = path.rpartition("__")
        (content[section] if section else content)[key] = value
    return make_config(content, "test")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return train(tiny(), tmp_path_factory.mktemp("runs") / "tiny", quiet=True)


def test_a_run_folder_holds_everything(run):
    assert (run.path / "config.yaml").is_file()
    assert load_config(run.config) == tiny()
    assert [path.name for path in run.shards()] == ["000000.parquet", "000001.parquet"]
    records = read_records(run.records)
    assert len(records) == 16
    for record in records:
        record.verify()
        assert len(record.analysis) == len(record.steps)
    assert run.newest_checkpoint().name == "000002.safetensors"
    assert len(run.read_metrics()) == 2
    assert list(run.metrics.glob("events.out.tfevents*"))
    ratings = json.loads(run.ratings.read_text())
    assert [pair["games"] for pair in ratings["pairs"]] == [4, 4, 4]


def test_no_two_self_play_games_are_the_same(run):
    records = read_records(run.records)
    assert len({json.dumps([r.setup, r.steps]) for r in records}) == len(records)


def test_the_run_folder_is_an_agent(run):
    game = load_game(TINY["game"])
    agent = load_agent(f'"{run.path}"(simulations=4)', game)
    assert agent.act(game.new_initial_state(1)) in game.new_initial_state(1).legal_actions()


def test_records_do_not_depend_on_the_number_of_workers(run, tmp_path):
    other = train(tiny(workers=2), tmp_path / "two", quiet=True)
    for one, two in zip(run.shards(), other.shards(), strict=True):
        assert one.read_bytes() == two.read_bytes()


def test_resuming_equals_not_stopping(run, tmp_path):
    """Stopped after the first generation and resumed: the same records and weights as in one go."""
    half = train(tiny(training__generations=1, rating__deals=0), tmp_path / "half", quiet=True)
    (half.path / "config.yaml").write_text(dump_config(tiny()))
    resumed = resume(half.path, quiet=True)
    for one, two in zip(run.shards(), resumed.shards(), strict=True):
        assert one.read_bytes() == two.read_bytes()
    assert run.newest_checkpoint().read_bytes() == resumed.newest_checkpoint().read_bytes()


def test_resuming_after_a_lost_shard_plays_it_again(run, tmp_path):
    folder = shutil.copytree(run.path, tmp_path / "copy")
    (folder / "records" / "000001.parquet").unlink()
    for name in ("000002.json", "000002.safetensors", "000002.training"):
        (folder / "checkpoints" / name).unlink()
    resumed = resume(folder, quiet=True)
    assert (folder / "records" / "000001.parquet").read_bytes() == run.shards()[1].read_bytes()
    assert resumed.newest_checkpoint().read_bytes() == run.newest_checkpoint().read_bytes()


# -------------------------------------------------------------------------------------------------------------- configs


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("game: chess", "game: unknown game 'chess'"),
        ("game: aeroliths(size=7)", "game: aeroliths: size = 7"),
        ("seed: 1", "game: this key is missing"),
        ("game: aeroliths\nspeed: 1", "speed: unknown key; allowed: name, game"),
        ("game: aeroliths\ntraining: {batchsize: 3}", "training.batchsize: unknown key; allowed: generations"),
        ("game: aeroliths\ntraining: {batch_size: many}", "training.batch_size = 'many'"),
        ("game: aeroliths\ntraining: {batch_size: 0}", "training.batch_size = 0"),
        ("game: aeroliths\nselfplay: {simulations: 1.5}", "selfplay.simulations = 1.5"),
        ("game: aeroliths\nrating: {opponents: [nobody]}", "rating: unknown agent 'nobody'"),
        ("game: aeroliths\ngame: aeroliths", "the key 'game' stands twice"),
        ("a: &x [1]\nb: *x", "aliases"),
        ("game: [", "line 1"),
        ("- 1", "must hold keys and values"),
        ("game: !!python/object:os.system x", "constructor"),
    ],
)
def test_bad_configs_are_one_clear_line(tmp_path, text, match):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_config(path)
    assert match in str(error.value)
    assert "\n" not in str(error.value)


def test_overrides(tmp_path):
    path = tmp_path / "good.yaml"
    path.write_text("game: aeroliths\n")
    config = load_config(
        path, ["seed=7", "training.minutes=0.5", "rating.opponents=[greedy]", "game=aeroliths(size=4)"]
    )
    assert (config.name, config.seed, config.training.minutes) == ("good", 7, 0.5)
    assert config.rating.opponents == ["greedy"]
    assert config.game == "aeroliths(size=4)"
    for bad in ("seed", "seed.x=1", "seed=[", "training.steps=3"):
        with pytest.raises(ConfigError):
            load_config(path, [bad])


def test_every_shipped_config_is_valid():
    from pathlib import Path

    paths = sorted((Path(__file__).parent.parent / "experiments" / "configs").glob("*.yaml"))
    assert paths
    for path in paths:
        assert isinstance(load_config(path), Config)


# ---------------------------------------------------------------------------------------------------------- checkpoints


def test_damaged_and_foreign_checkpoints_are_refused(tmp_path):
    game = load_game("aeroliths(open_hands=true)")
    settings = {"channels": 16, "layers": 1}
    card = save_checkpoint(tmp_path / "000001", game, build_network(game, settings), settings)
    for spec in ("aeroliths", "aeroliths(size=5,same=true,draft=true)"):
        assert load_network(card, load_game(spec)) is not None  # the same weights for every option set
    with pytest.raises(CheckpointError, match="does not fit selenolyth"):
        load_network(card, load_game("selenolyth"))
    flat = {"kind": "mlp", **settings}
    other = save_checkpoint(tmp_path / "flat" / "000002", game, build_network(game, flat), flat)
    with pytest.raises(CheckpointError, match=r"does not fit aeroliths\(size=4"):
        load_network(other, load_game("aeroliths(size=4)"))
    weights = card.with_suffix(".safetensors")
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-5] + b"\0\0\0\0\0")
    with pytest.raises(CheckpointError, match="damaged"):
        load_network(card, game)
    weights.unlink()
    with pytest.raises(CheckpointError, match="No such file"):
        load_network(card, game)
    card.write_text("{}")
    with pytest.raises(CheckpointError, match="a card holds"):
        load_network(card, game)
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        load_network(tmp_path / "nothing", game)
    with pytest.raises(CheckpointError, match="holds no whole checkpoint"):
        load_network(tmp_path, game)


def test_a_card_cannot_ask_for_the_moon(tmp_path):
    game = load_game("aeroliths(open_hands=true)")
    settings = {"channels": 16, "layers": 1}
    card = save_checkpoint(tmp_path / "000001", game, build_network(game, settings), settings)
    content = json.loads(card.read_text())
    for network in ({"channels": 10**9, "layers": 1}, {"channels": "x", "layers": 1}, {}):
        card.write_text(json.dumps({**content, "network": network}))
        with pytest.raises(CheckpointError, match="channels"):
            load_network(card, game)
    card.write_text(json.dumps({**content, "network": {"channels": 32, "layers": 1}}))
    with pytest.raises(CheckpointError, match="names or shapes"):
        load_network(card, game)


@pytest.mark.parametrize("header", [b"[]", b"[" * 100_000, b'{"a":5}', b'{"a":{}}'], ids=lambda header: header[:8])
def test_a_header_of_another_shape_is_damage(tmp_path, header):
    game = load_game("aeroliths(open_hands=true)")
    settings = {"channels": 16, "layers": 1}
    card = save_checkpoint(tmp_path / "000001", game, build_network(game, settings), settings)
    weights = len(header).to_bytes(8, "little") + header
    card.with_suffix(".safetensors").write_bytes(weights)
    card.write_text(json.dumps({**json.loads(card.read_text()), "sha256": hashlib.sha256(weights).hexdigest()}))
    with pytest.raises(CheckpointError, match="are damaged"):
        load_network(card, game)


def test_a_damaged_newest_checkpoint_falls_back_to_the_one_before(run, tmp_path):
    folder = shutil.copytree(run.path, tmp_path / "copy")
    newest = folder / "checkpoints" / "000002.safetensors"
    newest.write_bytes(b"nothing")
    game = load_game(TINY["game"])
    agent = load_agent(f'policy(network="{folder}")', game)
    assert agent.act(game.new_initial_state(1)) >= 0


# ------------------------------------------------------------------------------------------------- networks, symmetries


@pytest.mark.parametrize("spec", ["aeroliths(open_hands=true)", "aeroliths(size=4,elemental_cells=random)"])
@pytest.mark.parametrize("observation", ["exact", "universal"])
def test_symmetries_map_observation_and_actions_together(spec, observation):
    """A turned game observes what the map says, and mapped actions lead to mapped positions."""
    game = load_game(spec, observation=observation)
    observation_maps, action_maps = game.symmetries()
    assert len(observation_maps) == 32
    assert (observation_maps[0] == np.arange(observation_maps.shape[1])).all()
    generator = np.random.default_rng(1)
    for g in range(len(observation_maps)):
        state = game.new_initial_state(g)
        turned = game.from_setup(_turned(game, state.setup(), g))
        old_to_new = np.argsort(action_maps[g])
        while True:
            for player in (0, 1):
                mapped = state.observation_tensor(player)[observation_maps[g]]
                np.testing.assert_array_equal(mapped, turned.observation_tensor(player))
            mask = state.legal_actions_mask()[action_maps[g]]
            np.testing.assert_array_equal(mask, turned.legal_actions_mask())
            if state.is_terminal():
                break
            action = int(generator.choice(state.legal_actions()))
            state.apply_action(action)
            turned.apply_action(int(old_to_new[action]))
        np.testing.assert_array_equal(state.returns(), turned.returns())


def _turned(game, setup, g):
    """The same deal seen under symmetry g: cells moved, stones turned, elements renamed in their cycle."""
    from trilithon.core.lattice import square_symmetries

    size = game.options["size"]
    cells, sides = square_symmetries(size)
    cells, sides, turn = cells[g // 4], sides[g // 4], g % 4

    def litho(values):
        out = list(values)
        for side in range(4):
            out[sides[side]] = values[side]
        out[4] = values[4] if values[4] == 4 else (values[4] + turn) % 4
        return out

    board = [None] * (size * size)
    for cell, element in enumerate(setup["cells"]):
        board[cells[cell]] = None if element is None else (element + turn) % 4
    return {**setup, "cells": board, "hands": [[litho(x) for x in hand] for hand in setup["hands"]]}


def test_the_network_is_equal_under_permuted_hand_slots():
    game = load_game("aeroliths(open_hands=true)")
    torch.manual_seed(0)
    evaluator = NetworkEvaluator(game, build_network(game, {"channels": 16, "layers": 2}), 2, 0.1)
    setup = game.new_setup(5)
    first = setup["first_player"]
    order = [3, 1, 4, 0, 2]
    swapped = json.loads(json.dumps(setup))
    swapped["hands"][first] = [setup["hands"][first][i] for i in order]
    states = np.stack([game.from_setup(s).array for s in (setup, swapped)])
    logits, values = evaluator(states, mover_indices(states), 2)
    for slot, old in enumerate(order):
        np.testing.assert_allclose(logits[1][slot * 9 : slot * 9 + 9], logits[0][old * 9 : old * 9 + 9], atol=1e-5)
    np.testing.assert_allclose(values[0], values[1], atol=1e-6)


def test_replay_remakes_what_was_seen():
    """Targets are the mover's: policy on legal actions alone, result and value with the own entry first."""
    config = tiny()
    game = load_game(config.game)
    checkpoint = None
    settings = config.network.model_dump()
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        checkpoint = str(save_checkpoint(f"{folder}/000000", game, build_network(game, settings), settings))
        records = [record for task in tasks_of(config, checkpoint, 0) for record in play_task(task)]
    replay = Replay(game, 1000, 0.1)
    assert replay.add(records) == len(replay) == 8 * 9
    batch = Batch(game, 64)
    replay.sample(batch, np.random.default_rng(0))
    np.testing.assert_allclose(batch.policy.sum(1), 1, atol=1e-4)
    assert (batch.policy[~batch.mask] == 0).all()
    assert ((batch.outcome == 0) == (batch.margins[:, 0] > 0)).all()
    np.testing.assert_allclose(batch.margins.sum(1), 0, atol=1e-6)
    small = Replay(game, 50, 0.1)
    small.add(records)
    assert len(small) == 50


NOT_LEARNED = {"generations", "minutes", "threads", "benchmark", "benchmark_every"}


@pytest.mark.parametrize("name", sorted(set(TrainingConfig.model_fields) - NOT_LEARNED))
def test_every_training_option_changes_what_is_learned(run, name, tmp_path):
    """An option that nobody reads would pass every other test."""
    values = {"batch_size": 16, "passes": 6.0, "window": 40, "learning_rate": 0.01, "final_learning_rate": 0.001}
    values |= {"weight_decay": 0.5, "value_mix": 0.1, "td_lambda": 0.5, "outcome_weight": 2.0, "ema": 0.5}
    losses = set()
    for number, value in enumerate((TrainingConfig.model_fields[name].default, values[name])):
        changes = {"training__generations": 2, "training__batch_size": 32, f"training__{name}": value}
        trainer = Trainer(RunFolder.create("tiny", tmp_path / str(number)), tiny(**changes))
        trainer._add_records(read_records(run.records))
        trainer.generation = 1
        trainer._learn()
        weights = list(trainer.network.parameters() if name != "ema" else trainer.averaged.parameters())
        losses.add(sum(weight.detach().double().square().sum().item() for weight in weights))
    assert len(losses) == 2


def test_the_network_is_measured_against_labels_while_it_learns(tmp_path):
    changes = {"training__benchmark": "aeroliths-4x4", "training__benchmark_every": 2, "training__generations": 3}
    run = train(tiny(**changes, rating__deals=0), tmp_path / "run", quiet=True)
    metrics = run.read_metrics()
    assert ["kept_8" in facts for facts in metrics] == [False, True, False]
    rows = measure(f'policy(network="{run.checkpoints / "000002.json"}")', load_benchmark("aeroliths-4x4"))
    assert {f"kept_{row.empty}": row.kept for row in rows}.items() <= metrics[1].items()
    with pytest.raises(ConfigError, match="unknown benchmark"):
        tiny(training__benchmark="chess")
    with pytest.raises(ConfigError, match="is of aeroliths, not of selenolyth"):
        make_config({"game": "selenolyth", "training": {"benchmark": "aeroliths-4x4"}}, "test")


VARIANTS = ["aeroliths(same=true,plus=true)", "aeroliths(size=4)"]


def test_one_network_learns_several_option_sets(tmp_path):
    config = tiny(variants=VARIANTS, selfplay__games=12, training__generations=4)
    run = train(config, tmp_path / "whole", quiet=True)
    played = [record for shard in run.shards() for record in read_records(shard)]
    assert {record.config["size"] for record in played} == {3, 4}
    assert len({(r.config["size"], r.config["same"], r.config["open_hands"]) for r in played}) == 3
    ratings = json.loads(run.ratings.read_text())
    assert [entry["game"] for entry in (ratings, *ratings["variants"])] == config.games()
    # The same from a run that was stopped: the replay windows are filled by option set.
    folder = shutil.copytree(run.path, tmp_path / "copy")
    (folder / "records" / "000003.parquet").unlink()
    for name in ("000004.json", "000004.safetensors", "000004.training"):
        (folder / "checkpoints" / name).unlink()
    again = resume(folder, quiet=True)
    assert again.newest_checkpoint().read_bytes() == run.newest_checkpoint().read_bytes()
    for spec in config.games():
        assert load_agent(f'policy(network="{run.path}")', load_game(spec)) is not None


def test_variants_share_every_weight(tmp_path):
    trainer = Trainer(RunFolder.create("tiny", tmp_path / "run"), tiny(variants=VARIANTS))
    first, *others = (list(network.parameters()) for network in trainer.networks)
    for other in others:
        assert all(a is b for a, b in zip(first, other, strict=True))


def test_variants_that_do_not_fit_are_refused(tmp_path):
    for variants, message in (
        (["selenolyth"], "another game"),
        (["aeroliths(open_hands=true)"], "twice"),
        ([VARIANTS[0]] * 2, "twice"),
        (["aeroliths(size=7)"], "size"),
    ):
        with pytest.raises(ConfigError, match=message):
            tiny(variants=variants)
    with pytest.raises(ConfigError, match="cannot share a network"):
        train(tiny(variants=VARIANTS, network__kind="mlp"), tmp_path / "flat", quiet=True)


@pytest.mark.parametrize("td_lambda", [0.0, 0.3, 1.0])
def test_lambda_returns_look_ahead_through_searches_to_the_result(td_lambda):
    """By the forward definition: (1 - l) sum of l^k v_k over the searches from here on, and l^K of the result."""
    game = load_game("selenolyth(max_turns=30)")
    generator = np.random.default_rng(1)
    state, values, analysis = game.new_initial_state(3), [], []
    while not state.is_terminal():
        player = state.current_player()
        if player >= 0:
            value = generator.uniform(-1, 1)
            values.append(np.array([value, -value]))
            actions = state.legal_actions()
            weights = [1.0 / len(actions)] * len(actions)
            analysis.append({"player": player, "values": [value, -value], "actions": actions, "weights": weights})
        else:
            analysis.append(None)
        state.apply_action(int(generator.choice(state.legal_actions())))
    record = GameRecord.from_state(state, analysis=analysis)
    replay = Replay(game, 1000, 0.0, td_lambda)
    replay.add([record])

    def expected(first):
        later = values[first:]
        total = sum((1 - td_lambda) * td_lambda**k * v for k, v in enumerate(later))
        return total + td_lambda ** len(later) * state.returns()

    searched, row, mover = 0, 0, -1
    for (player, _), entry in zip(record.steps, analysis, strict=True):
        if player >= 0:
            mover = player
        if mover < 0:
            continue
        np.testing.assert_allclose(replay._results[row], np.roll(expected(searched), -mover), atol=1e-5)
        if searched < len(values):
            np.testing.assert_allclose(replay._values[row], np.roll(values[searched], -mover), atol=1e-6)
        searched += entry is not None
        row += 1
    assert row == len(replay)
    assert searched == len(values) > 5


def test_a_game_longer_than_the_window_leaves_its_end():
    game = load_game("selenolyth(max_turns=30)")
    generator, state, analysis = np.random.default_rng(1), None, []
    state = game.new_initial_state(3)
    while not state.is_terminal():
        actions, player = state.legal_actions(), state.current_player()
        weights = [1.0 / len(actions)] * len(actions)
        entry = {"player": player, "values": [0.5, -0.5], "actions": actions, "weights": weights}
        analysis.append(entry if player >= 0 else None)
        state.apply_action(int(generator.choice(actions)))
    record = GameRecord.from_state(state, analysis=analysis)
    whole, small = Replay(game, 1000, 0.0, 0.5), Replay(game, 5, 0.0, 0.5)
    count = whole.add([record])
    small.add([record])
    assert count > 5
    order = [row % 5 for row in range(count - 5, count)]
    np.testing.assert_array_equal(small._results[order], whole._results[count - 5 : count])
    np.testing.assert_array_equal(small._outcome[order], whole._outcome[count - 5 : count])
