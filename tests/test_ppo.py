"""Policy gradients: advantages by their definition, the clipped loss, rollouts, and whole runs, stopped and resumed."""

import json
import shutil

import numpy as np
import pytest
import torch
from tally import Tally

from trilithon.agents import load_agent
from trilithon.agents.checkpoint import build_network, load_network
from trilithon.core import CheckpointError, ConfigError, load_game, register_game, registry
from trilithon.envs.vector import VectorEnv
from trilithon.experiments.arena import play_event
from trilithon.experiments.config import PPOConfig, load_config, make_config
from trilithon.experiments.ppo import PPOTrainer, clipped_loss
from trilithon.experiments.rollouts import Player, Rollout, draw_actions, estimate_advantages
from trilithon.experiments.run import RunFolder
from trilithon.experiments.train import resume, train

TINY = {
    "name": "tiny",
    "game": "tally(rounds=2)",
    "algorithm": "ppo",
    "network": {"kind": "mlp", "channels": 16, "layers": 1},
    "ppo": {"games": 8, "steps": 10, "pool_every": 1, "pool_size": 3, "pool_share": 0.5, "magnet": 0.1},
    "training": {"generations": 5, "batch_size": 32, "learning_rate": 0.01, "ema": 0.1},  # so that the pool differs
    "rating": {"deals": 0, "simulations": 4, "opponents": ["uniform"]},
}


@pytest.fixture(autouse=True, scope="module")
def _registered():
    register_game("tally", Tally)
    yield
    del registry._registered["tally"]


def tiny(**changes):
    content = json.loads(json.dumps(TINY))
    for path, value in changes.items():
        section, _, key = path.rpartition("__")
        (content[section] if section else content)[key] = value
    return make_config(content, "test")


# ----------------------------------------------------------------------------------------------------------- advantages


def advantages_by_definition(players, values, result, gae_lambda):
    """Of one whole game: the exponential mean of the k-step advantages over the mover's own decisions."""
    out = np.zeros(len(players))
    for t, player in enumerate(players):
        own = [values[later] for later in range(t, len(players)) if players[later] == player] + [result[player]]
        steps = [own[k] - own[0] for k in range(1, len(own))]  # without discount or rewards on the way
        out[t] = sum((1 - gae_lambda) * gae_lambda**k * step for k, step in enumerate(steps[:-1]))
        out[t] += gae_lambda ** (len(steps) - 1) * steps[-1]
    return out


@pytest.mark.parametrize("gae_lambda", [0.0, 0.6, 1.0])
@pytest.mark.parametrize(
    ("players", "result"),
    [
        ([0, 1, 0, 1, 0], [0.5, -0.5]),
        ([1, 1, 0, 0, 1], [1.0, -1.0]),  # somebody goes twice
        ([2, 0, 1, 1, 2, 0, 2], [1.0, -0.5, -0.5]),
        ([0, 1, 0, 1], [-0.5, 1.0, -0.5]),  # the third never comes to act
    ],
)
def test_advantages_are_generalised_ones_over_own_decisions(players, result, gae_lambda):
    """Two games in one column, one after the other, beside the same in the other order."""
    generator = np.random.default_rng(0)
    length, n = len(players), len(result)
    first, second = generator.normal(size=(2, length))
    players = np.array([players * 2, players * 2]).T
    values = np.array([[*first, *second], [*second, *first]]).T
    ended, results = np.zeros((2 * length, 2), bool), np.zeros((2 * length, 2, n))
    ended[[length - 1, -1]], results[[length - 1, -1]] = True, result
    found = estimate_advantages(players, values, ended, results, np.full((2, n), 99.0), gae_lambda)
    for part, column, numbers in ((0, 0, first), (1, 0, second), (0, 1, second), (1, 1, first)):
        rows = slice(part * length, (part + 1) * length)
        wanted = advantages_by_definition(players[:length, 0], numbers, result, gae_lambda)
        np.testing.assert_allclose(found[rows, column], wanted, atol=1e-12)


def test_an_unfinished_game_is_worth_what_the_critic_says():
    players, values = np.array([[0], [1], [0]]), np.array([[0.1], [0.2], [0.4]])
    none = np.zeros((3, 1), bool), np.zeros((3, 1, 2))
    found = estimate_advantages(players, values, *none, np.array([[0.7, -0.7]]), 0.5)
    np.testing.assert_allclose(found[:, 0], [0.3 + 0.5 * 0.3, -0.9, 0.3])


def test_advantages_do_not_depend_on_who_sits_where():
    generator = np.random.default_rng(3)
    steps, games, n, order = 20, 6, 3, np.array([2, 0, 1])
    players, values = generator.integers(0, n, (steps, games)), generator.normal(size=(steps, games))
    ended, results = generator.random((steps, games)) < 0.2, generator.normal(size=(steps, games, n))
    ahead = generator.normal(size=(games, n))
    found = estimate_advantages(players, values, ended, results, ahead, 0.8)
    back = np.argsort(order)
    moved = estimate_advantages(order[players], values, ended, results[:, :, back], ahead[:, back], 0.8)
    np.testing.assert_array_equal(found, moved)


# ------------------------------------------------------------------------------------------------------------- the loss


@pytest.mark.parametrize(
    ("before", "advantage", "sign"),
    [
        (0.5, 1.0, 1),  # a good action becomes likelier
        (0.5, -1.0, -1),  # a bad one less likely
        (0.4, 1.0, 0),  # likelier than 1.2 times what it was: enough
        (0.7, -1.0, 0),  # less likely than 0.8 times: enough
        (0.4, -1.0, -1),  # on the wrong side the clip does not hold
        (0.7, 1.0, 1),
    ],
)
def test_the_clipped_gradient_points_the_right_way(before, advantage, sign):
    """Two actions of probability 1/2 now; the first was drawn when it had `before`."""
    logits = torch.zeros(1, 2, requires_grad=True)
    log_policy = torch.log_softmax(logits, -1)
    drawn = torch.tensor([0]), torch.tensor([before]).log()
    loss, facts = clipped_loss(log_policy, *drawn, torch.tensor([advantage]), 0.2)
    loss.backward()
    assert np.sign(-logits.grad[0, 0].item()) == sign
    assert facts["clipped"] == (before != 0.5)
    assert facts["kl"] >= 0


# ------------------------------------------------------------------------------------------------------------- rollouts


def test_masked_actions_are_never_drawn():
    generator = np.random.default_rng(0)
    mask = generator.random((64, 10)) < 0.3
    mask[np.arange(64), generator.integers(0, 10, 64)] = True
    probabilities = torch.log_softmax(torch.randn(64, 10) * 30, -1).numpy()  # most of the weight on forbidden ones
    for _ in range(200):
        assert mask[np.arange(64), draw_actions(probabilities, mask, generator)].all()

    class Ends:
        """A generator that always draws the largest number below 1."""

        def random(self, count):
            return np.full(count, np.nextafter(1.0, 0.0))

    chosen = draw_actions(probabilities, mask, Ends())
    assert mask[np.arange(64), chosen].all()


def test_actions_are_drawn_from_the_policy():
    probabilities = np.log(np.tile([0.5, 0.2, 0.3], (30_000, 1)).astype(np.float32))
    drawn = draw_actions(probabilities, np.ones((30_000, 3), bool), np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(drawn) / 30_000, [0.5, 0.2, 0.3], atol=0.01)


@pytest.mark.parametrize("spec", ["tally", "tally(players=4,teams=true)", "aeroliths(open_hands=true)"])
def test_a_rollout_is_what_was_played(spec):
    """Legal actions, probabilities of the network; outcomes, margins and results as the mover sees the end."""
    game = load_game(spec)
    torch.manual_seed(0)
    network = build_network(game, {"kind": "mlp", "channels": 16, "layers": 1})
    player, rollout = Player(game, network, 6, 0.0, 0.25), Rollout(game, 60, 6)
    player.start(3)
    env = VectorEnv(game, 6)
    env.reset(seed=3)
    player.play(rollout, np.random.default_rng(1), None)
    rollout.finish(1.0)
    assert rollout.learned.all()
    outcomes, n, open_games = game.outcomes(), game.num_players(), [[] for _ in range(6)]
    for t in range(60):
        np.testing.assert_array_equal(rollout.mask[t], env.action_masks)
        np.testing.assert_array_equal(rollout.observations[t], env.observations)
        np.testing.assert_array_equal(rollout.players[t], env.current_players)
        env.step(rollout.actions[t])
        for i in range(6):
            open_games[i].append(t)
            if not rollout.ended[t, i]:
                continue
            for row in open_games[i]:
                mover = rollout.players[row, i]
                np.testing.assert_allclose(outcomes[rollout.outcomes[row, i]], np.roll(env.rewards[i], -mover))
                margins = np.roll(rollout.margins[row, i], mover)
                wanted = 0.75 * env.rewards[i][mover] + 0.25 * margins[mover]
                assert rollout.targets[row, i] == pytest.approx(wanted, abs=1e-5)  # lambda = 1: the result itself
                assert margins.argmax() in np.flatnonzero(env.rewards[i] == env.rewards[i].max())
            open_games[i] = []
    for i, rows in enumerate(open_games):
        assert (rollout.outcomes[rows, i] == -1).all()
        movers = rollout.players[rows, i]
        value = player._evaluate(rollout, 60)[1][i]  # of where the game stands, the mover first
        np.testing.assert_allclose(np.roll(rollout.ahead[i], -env.current_players[i]), value, atol=1e-6)
        np.testing.assert_allclose(rollout.targets[rows, i], rollout.ahead[i, movers], atol=1e-5)
    assert rollout.ended.any()
    logits = network(*(torch.from_numpy(a[7]) for a in (rollout.observations, rollout.features, rollout.mask)))[0]
    chosen = torch.log_softmax(logits, -1).detach().numpy()[np.arange(6), rollout.actions[7]]
    np.testing.assert_allclose(rollout.log_probabilities[7], chosen, atol=1e-5)
    assert n == rollout.ahead.shape[1]


def test_opponents_of_the_pool_play_the_other_seats_and_are_not_learned_from():
    game = load_game("tally")
    torch.manual_seed(0)
    network, other = (build_network(game, {"kind": "mlp", "channels": 8, "layers": 0}) for _ in range(2))
    with torch.no_grad():
        other.policy.bias.copy_(torch.tensor([50.0, 0, 0, 0, 0, 0]))  # always takes
    player, rollout = Player(game, network, 12, 0.5, 0.0), Rollout(game, 40, 12)
    player.start(0)
    player.play(rollout, np.random.default_rng(0), other)
    seats = np.arange(12) % 3
    pooled = np.arange(12) < 6
    np.testing.assert_array_equal(~rollout.learned, pooled & (rollout.players != seats))
    assert (rollout.actions[~rollout.learned] == 0).all()
    assert (rollout.actions[rollout.learned] != 0).any()


def test_a_vector_environment_goes_on_from_what_was_saved():
    game = load_game("tally")
    env, other = VectorEnv(game, 5), VectorEnv(game, 5)
    env.reset(seed=1)
    for step in range(17):
        env.step(env.sample_actions(step))
    other.restore(env.save())
    for step in range(40):
        assert [env.setup(i) for i in range(5)] == [other.setup(i) for i in range(5)]
        for name in ("observations", "action_masks", "current_players"):
            np.testing.assert_array_equal(getattr(env, name), getattr(other, name))
        env.step(env.sample_actions(step))
        other.step(other.sample_actions(step))
        np.testing.assert_array_equal(env.rewards, other.rewards)
    with pytest.raises(ValueError, match="another environment"):
        VectorEnv(game, 4).restore(env.save())


# ----------------------------------------------------------------------------------------------------------------- runs


@pytest.fixture(scope="module")
def run(tmp_path_factory, _registered):
    return train(tiny(rating__deals=2), tmp_path_factory.mktemp("runs") / "tiny", quiet=True)


def weights_of(run, number=5):
    return [(run.checkpoints / f"{number:06d}{end}").read_bytes() for end in (".safetensors", ".training")]


def test_a_run_folder_holds_everything(run):
    assert run.newest_checkpoint().name == "000005.safetensors"
    assert [path.stem for path in sorted((run.path / "pool").glob("*.json"))] == [
        "000002",
        "000003",
        "000004",
        "000005",
    ]
    rows = run.read_metrics()
    assert [row["step"] for row in rows] == list(range(5))
    for row in rows:
        assert {"loss", "entropy", "kl", "clipped", "explained_variance", "magnet_kl"} <= row.keys()
        assert {"games_per_second", "positions_per_second", "learning_share"} <= row.keys()
        shares = row["environment_share"] + row["network_share"] + row["learning_share"]
        assert 0.3 < shares < 1.1
        assert 0 < row["entropy"] < np.log(6)
    weights = [row["entropy_weight"] for row in rows]
    assert weights == sorted(weights, reverse=True)
    assert "shares" in json.loads(run.ratings.read_text())
    game = load_game(TINY["game"])
    for spec in (f'policy(network="{run.path}")', f'mcts(network="{run.path}",simulations=4)'):
        assert load_agent(spec, game).act(game.new_initial_state(1)) in range(6)


def test_the_same_config_gives_the_same_weights_for_any_number_of_workers(run, tmp_path):
    other = train(tiny(workers=2), tmp_path / "two", quiet=True)
    assert weights_of(run) == weights_of(other)
    changed = train(tiny(seed=1), tmp_path / "seed", quiet=True)
    assert weights_of(run) != weights_of(changed)


@pytest.mark.parametrize("stopped", ["_learn", "_save"])
def test_resuming_equals_not_stopping(run, tmp_path, monkeypatch, stopped):
    """Killed in the fourth generation: when its games have been played, or when only the pool has been written."""
    whole, base = getattr(PPOTrainer, stopped), PPOTrainer.__base__

    def stop(trainer, *arguments):
        if trainer.generation == 3:
            if stopped == "_save":
                monkeypatch.setattr(base, "_save", lambda *_: None)
                whole(trainer, *arguments)
            raise KeyboardInterrupt
        return whole(trainer, *arguments)

    monkeypatch.setattr(PPOTrainer, stopped, stop)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(), tmp_path / "run", quiet=True)
    monkeypatch.undo()
    assert not (tmp_path / "run" / "checkpoints" / "000004.json").exists()
    assert weights_of(resume(tmp_path / "run", quiet=True)) == weights_of(run)


def test_damaged_games_are_refused(run, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(run.path, tmp_path / "copy")
    path = folder / "checkpoints" / "000005.training"
    tensors = load_file(path)
    del tensors["games.1.states"]
    save_file(tensors, path)
    with pytest.raises(CheckpointError, match="games under way"):
        resume(folder, quiet=True)


def test_every_option_changes_what_is_learned(tmp_path):
    """An option that nobody reads would pass every other test."""
    values = {"games": 12, "steps": 8, "groups": 1, "epochs": 1, "clip": 0.001, "gae_lambda": 0.1, "entropy": 1.0}
    values |= {"final_entropy": 1.0, "magnet": 1.0, "margin_weight": 0.9, "value_weight": 5.0, "pool_share": 0.0}
    values |= {"pool_size": 1, "pool_every": 2}
    assert set(values) == set(PPOConfig.model_fields)

    def weights(**changes):
        number = len(list(tmp_path.iterdir()))
        trained = train(
            tiny(training__learning_rate=0.01, training__ema=0.1, **changes), tmp_path / str(number), quiet=True
        )
        return (trained.checkpoints / "000005.safetensors").read_bytes()

    plain = weights()
    for name, value in values.items():
        assert weights(**{f"ppo__{name}": value}) != plain, name


def test_the_networks_copies_share_its_weights(tmp_path):
    trainer = PPOTrainer(RunFolder.create("tiny", tmp_path / "run"), tiny())
    for network in trainer.copies:
        for mine, weight in zip(network.parameters(), trainer.network.parameters(), strict=True):
            assert mine.data_ptr() == weight.data_ptr()
    before = [weight.clone() for weight in trainer.network.parameters()]
    trainer._generation()
    assert any((a != b).any() for a, b in zip(before, trainer.copies[1].parameters(), strict=True))


def test_it_learns_a_small_game(tmp_path):
    """Seconds of learning, and the network alone beats random play and the network it began with."""
    config = tiny(
        game="tally(players=2,shown=true)",
        network={"kind": "mlp", "channels": 32, "layers": 1},
        ppo={"games": 128, "steps": 24},
        training={"generations": 30, "batch_size": 512, "learning_rate": 0.003, "ema": 0.9},
    )
    run = train(config, tmp_path / "run", quiet=True)
    agents = [f'policy(network="{run.checkpoints / name}")' for name in ("000030.json", "000000.json")]
    game = load_game(config.game)
    for opponent in ("uniform", agents[1]):
        (pair,) = play_event(game, [agents[0], opponent], 200, 7, gauntlet=True, strict=True).pairs()
        assert pair.score > 0.6, (opponent, pair.score)
    assert isinstance(load_network(run.path, game), torch.nn.Module)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("algorithm: pop", "algorithm = 'pop'"),
        ("algorithm: ppo\nppo: {clipp: 0.1}", "ppo.clipp: unknown key; allowed: games, steps"),
        ("algorithm: ppo\nppo: {clip: 1.5}", "ppo.clip = 1.5"),
        ("algorithm: ppo\nppo: {games: 9, groups: 2}", "ppo: games = 9 cannot be split into groups = 2"),
        ("algorithm: ppo\nvariants: [aeroliths(size=4)]", "algorithm: ppo learns one option set"),
    ],
)
def test_bad_configs_are_one_clear_line(tmp_path, text, match):
    path = tmp_path / "bad.yaml"
    path.write_text(f"game: aeroliths\n{text}\n")
    with pytest.raises(ConfigError) as error:
        load_config(path)
    assert match in str(error.value)
    assert "\n" not in str(error.value)
