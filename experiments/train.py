"""`trilithon train`: self-play and learning in turn, checkpoints, curves, and a rating table at the end.

Generation g is played with checkpoint g while checkpoint g + 1 is trained on the generations before g, so both cores
work and the outcome does not depend on who is faster: with a fixed number of generations, records and weights are the
same for any number of workers. Expert iteration with a Gumbel search as the expert: Silver et al., "Mastering the game
of Go without human knowledge", Nature 2017; Danihelka et al., ICLR 2022.
"""

import math
import multiprocessing
import os
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm

from trilithon.agents import load_agent
from trilithon.agents.checkpoint import build_network, find_checkpoint, load_weights, read_checkpoint, save_checkpoint
from trilithon.agents.network import share_weights
from trilithon.core.errors import CheckpointError, ConfigError, RecordError, TrilithonError
from trilithon.core.files import write_whole
from trilithon.core.game import Game
from trilithon.core.record import GameRecord, read_records
from trilithon.core.registry import load_game
from trilithon.core.spec import format_spec
from trilithon.experiments.accuracy import measure
from trilithon.experiments.config import Config, dump_config, load_config
from trilithon.experiments.labelled import load_benchmark
from trilithon.experiments.rating import rate_run
from trilithon.experiments.replay import Batch, Replay
from trilithon.experiments.run import RunFolder
from trilithon.experiments.selfplay import play_task, start_worker, tasks_of

_TRAINING_KEY = 4  # of a run's streams; self-play has 2 and 3
_KEPT_CHECKPOINTS = 2  # the newest ones, beside the untrained first


def train(config: Config, out: str | os.PathLike[str] | None = None, quiet: bool = False) -> RunFolder:
    """Run an experiment in a new run folder (``runs/<name>-<n>`` or `out`) and return the folder."""
    for spec in config.rating.opponents:
        load_agent(spec, load_game(config.game))  # what cannot be rated at the end is refused before the beginning
    run = RunFolder.create(config.name, out)
    write_whole(run.config, dump_config(config))
    return _train_in(run, config, quiet)


def resume(path: str | os.PathLike[str], quiet: bool = False) -> RunFolder:
    """Go on with the run in a folder, from its newest whole checkpoint."""
    run = RunFolder.open(path)
    return _train_in(run, load_config(run.config), quiet)


def _train_in(run: RunFolder, config: Config, quiet: bool) -> RunFolder:
    with run.lock():
        trainer = _trainer_of(config)(run, config)
        trainer.run_all(quiet)
        if config.rating.deals:
            rate_run(run, config, quiet)
        run.close()
    return run


def _trainer_of(config: Config) -> "type[Trainer]":
    """The trainer that a config's algorithm names."""
    if config.algorithm == "ppo":
        from trilithon.experiments.ppo import PPOTrainer

        return PPOTrainer
    return Trainer


class Trainer:
    """A run under way: network, averaged weights, optimiser, replay window."""

    def __init__(self, run: RunFolder, config: Config) -> None:
        self.run, self.config = run, config
        self.option_sets: list[Game] = [load_game(spec) for spec in config.games()]
        self.game = self.option_sets[0]
        torch.set_num_threads(config.training.threads)
        torch.manual_seed(config.seed)
        self.settings = config.network.model_dump()
        # One network an option set, all of them with the weights of the first.
        self.networks = [build_network(game, self.settings) for game in self.option_sets]
        self.network = self.networks[0]
        for game, network in zip(self.option_sets[1:], self.networks[1:], strict=True):
            try:
                share_weights(network, self.network)
            except ValueError as error:
                raise ConfigError(f"variants: {game} cannot share a network with {self.game}: {error}") from None
        self.averaged = build_network(self.game, self.settings)
        self.averaged.load_state_dict(self.network.state_dict())
        self.optimizer = torch.optim.AdamW(
            self.network.parameters(), lr=config.training.learning_rate, weight_decay=config.training.weight_decay
        )
        self._make_memory()
        self.generation = 0  # of the newest checkpoint
        self.seconds = 0.0  # of training so far, before this process included
        self.games = 0
        self._outcomes = torch.from_numpy(self.game.outcomes()).float()
        self._restore()

    def _make_memory(self) -> None:
        """Make room for what is learned from, by option set."""
        training = self.config.training
        window = max(1, training.window // len(self.option_sets))
        targets = self.config.selfplay.margin_weight, training.td_lambda
        self.replays = {str(game): Replay(game, window, *targets) for game in self.option_sets}
        self.batches = [Batch(game, training.batch_size) for game in self.option_sets]

    # ------------------------------------------------------------------------------------------------------ the loop

    def run_all(self, quiet: bool) -> None:
        """Play and learn until the last generation or the time is reached."""
        with Workers(self.config.workers) as workers, _Bar(self, quiet) as bar:
            if not quiet and sys.stderr.isatty():
                print("getting ready (the first time, kernels are compiled: a minute) ...", file=sys.stderr)
            workers.warm_up(self)
            started = time.monotonic() - self.seconds
            if self._is_over():
                return
            playing = workers.submit(self.config, self._card(self.generation), self.generation)
            while playing:
                facts = self._learn()
                records = workers.collect(playing)
                self.run.write_shard(records, self.generation)
                self.seconds = time.monotonic() - started
                self.games += len(records)
                self._save(self.generation + 1)
                # The next games begin before this process sees to the last ones.
                over = self._is_over()
                playing = [] if over else workers.submit(self.config, self._card(self.generation), self.generation)
                self._add_records(records)
                facts |= {"games": self.games, "seconds": self.seconds, "games_per_second": self.games / self.seconds}
                facts |= self._agreement()
                self.run.add_metrics(self.generation, facts)
                bar.show(facts)

    def _is_over(self) -> bool:
        """Whether the last generation or the time is reached."""
        limits = self.config.training
        late = limits.minutes is not None and self.seconds >= 60 * limits.minutes
        return late or self.generation >= limits.generations

    def progress(self) -> float:
        """Share of the run that is done, 0..1, by generations or by time, whichever is further."""
        limits = self.config.training
        done = self.generation / limits.generations
        return min(1.0, max(done, self.seconds / (60 * limits.minutes) if limits.minutes else 0.0))

    # -------------------------------------------------------------------------------------------------------- learning

    def _learn(self) -> dict[str, float]:
        """Train on the window, `passes` times as many positions as the newest generation brought."""
        training = self.config.training
        replays = list(self.replays.values())
        held = np.array([len(replay) for replay in replays])
        if not held.sum():
            return {}
        rate = self._set_learning_rate()
        steps = max(1, round(training.passes * self._newest / training.batch_size))
        generator = np.random.default_rng([self.config.seed, _TRAINING_KEY, self.generation])
        for network in self.networks:
            network.train()
        sums = np.zeros(3)
        start = time.monotonic()
        for _ in range(steps):
            # A batch is of one option set; each has its turn as often as positions of it are held.
            chosen = int(generator.choice(len(held), p=held / held.sum())) if len(held) > 1 else 0
            replays[chosen].sample(self.batches[chosen], generator)
            sums += self._step(self.networks[chosen], self.batches[chosen])
        seconds = time.monotonic() - start
        loss, policy_loss, value_loss = (sums / steps).tolist()
        return {
            "loss": loss,
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "learning_rate": rate,
            "positions_per_second": steps * training.batch_size / seconds,
            "training_seconds": seconds,
        }

    def _set_learning_rate(self) -> float:
        """Follow a cosine from learning_rate to final_learning_rate; return where it is."""
        low, high = self.config.training.final_learning_rate, self.config.training.learning_rate
        rate = low + (high - low) * 0.5 * (1 + math.cos(math.pi * self.progress()))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _average(self) -> None:
        """Move the averaged weights a little towards the live ones."""
        with torch.no_grad():
            decay = self.config.training.ema
            for average, weight in zip(self.averaged.parameters(), self.network.parameters(), strict=True):
                average.lerp_(weight, 1.0 - decay)

    def _step(self, network: torch.nn.Module, batch: Batch) -> tuple[float, float, float]:
        """One step of the optimiser; return the losses."""
        inputs = (torch.from_numpy(a) for a in (batch.observations, batch.features, batch.mask))
        logits, outcome_logits, margins = network(*inputs)
        policy = torch.from_numpy(batch.policy)
        # Positions before chance have no policy.
        policy_loss = functional.cross_entropy(logits, policy, reduction="sum") / policy.sum().clamp(min=1.0)
        value_loss = self._value_loss(batch, outcome_logits, margins)
        loss = policy_loss + value_loss
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
        self.optimizer.step()
        self._average()
        return loss.item(), policy_loss.item(), value_loss.item()

    def _value_loss(self, batch: Batch, outcome_logits: Tensor, margins: Tensor) -> Tensor:
        """How the game ended and its margin; and their mix against what was to be expected (see `Replay`)."""
        weight, training = self.config.selfplay.margin_weight, self.config.training
        outcome, final = torch.from_numpy(batch.outcome), torch.from_numpy(batch.margins)
        predicted = (1 - weight) * torch.softmax(outcome_logits, -1) @ self._outcomes + weight * margins
        mix = training.value_mix
        target = mix * torch.from_numpy(batch.values) + (1 - mix) * torch.from_numpy(batch.results)
        ending = functional.cross_entropy(outcome_logits, outcome)
        return (
            training.outcome_weight * ending
            + functional.mse_loss(margins, final)
            + functional.mse_loss(predicted, target)
        )

    def _agreement(self) -> dict[str, float]:
        """The share of labelled positions, by empty cells, in which the newest network alone keeps the best outcome."""
        training = self.config.training
        if training.benchmark is None or self.generation % training.benchmark_every:
            return {}
        positions = load_benchmark(training.benchmark)
        rows = measure(format_spec("policy", {"network": self._card(self.generation)}), positions)
        return {f"kept_{row.empty}": row.kept for row in rows}

    # --------------------------------------------------------------------------------------------- records, checkpoints

    def _add_records(self, records: list[GameRecord]) -> None:
        self._newest = 0
        for name, group in groupby(records, lambda record: str(load_game(record.game, **record.config))):
            if name not in self.replays:
                raise RecordError(f"{str(self.run.path)!r} holds games of {name}, which its config does not name")
            self._newest += self.replays[name].add(group)

    def _base(self, generation: int) -> Path:
        return self.run.checkpoints / f"{generation:06d}"

    def _card(self, generation: int) -> str:
        return str(self._base(generation).with_suffix(".json").resolve())

    def _save(self, generation: int) -> None:
        """Write checkpoint `generation`: training state first, the card last; drop what is not needed any more."""
        from safetensors.torch import save

        base = self._base(generation)
        write_whole(base.with_suffix(".training"), save(self._training_state()))
        facts: dict[str, Any] = {"generation": generation, "seconds": self.seconds, "games": self.games}
        facts |= {"config": self.config.name, "variants": self.config.variants}
        save_checkpoint(base, self.game, self.averaged, self.settings, **facts)
        self.generation = generation
        for old in range(generation - _KEPT_CHECKPOINTS, 0, -1):
            stale = [self._base(old).with_suffix(suffix) for suffix in (".json", ".safetensors", ".training")]
            if not stale[0].exists():
                break
            for path in stale:
                path.unlink(missing_ok=True)

    def _training_state(self) -> dict[str, Tensor]:
        """Live weights and the optimiser's moments, by name."""
        tensors = {f"network.{name}": t.contiguous() for name, t in self.network.state_dict().items()}
        names = [name for name, _ in self.network.named_parameters()]
        state = self.optimizer.state_dict()["state"]
        for index, name in enumerate(names):
            for key, value in state.get(index, {}).items():
                tensors[f"optimizer.{key}.{name}"] = torch.as_tensor(value).contiguous()
        return tensors

    def _restore(self) -> None:
        """Start from the newest whole checkpoint, or write the untrained one."""
        self._newest = 0
        if not any(self.run.checkpoints.glob("*.json")):
            self._save(0)
            return
        card = find_checkpoint(self.run.path)
        facts, weights = read_checkpoint(card)
        load_weights(self.averaged, weights, str(card))
        try:
            self.generation, self.games = int(facts["generation"]), int(facts["games"])
            self.seconds = float(facts["seconds"])
        except (KeyError, TypeError, ValueError):
            raise CheckpointError(f"{str(card)!r}: the card lacks generation, seconds or games") from None
        self._load_training_state(card.with_suffix(".training"))
        for shard in self.run.shards():
            if int(shard.stem) < self.generation:
                self._add_records(read_records(shard))

    def _load_training_state(self, path: Path) -> None:
        from safetensors import SafetensorError
        from safetensors.torch import load

        try:
            tensors = load(path.read_bytes())
            weights = {n.removeprefix("network."): t for n, t in tensors.items() if n.startswith("network.")}
            self.network.load_state_dict(weights)
            state: dict[int, dict[str, Tensor]] = {}
            for index, (name, _) in enumerate(self.network.named_parameters()):
                entries = {k: tensors.get(f"optimizer.{k}.{name}") for k in ("step", "exp_avg", "exp_avg_sq")}
                if all(value is not None for value in entries.values()):
                    state[index] = entries  # type: ignore[assignment]
            content = self.optimizer.state_dict()
            content["state"] = state
            self.optimizer.load_state_dict(content)
        except (OSError, SafetensorError, RuntimeError, ValueError, KeyError) as error:
            raise CheckpointError(f"{str(path)!r}: the training state is missing or damaged ({error!s:.60})") from None


# ------------------------------------------------------------------------------------------------------------- helpers


class Workers:
    """Self-play processes (spawned, so that no thread of torch is copied)."""

    def __init__(self, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._count = count
        self._pool = ProcessPoolExecutor(count, mp_context=context, initializer=start_worker)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *error: Any) -> None:
        self._pool.shutdown(wait=error[0] is None, cancel_futures=True)

    def warm_up(self, trainer: Trainer) -> None:
        """Compile in this process, so that workers load from the cache."""
        small = trainer.config.model_copy(
            update={"selfplay": trainer.config.selfplay.model_copy(update={"games": 1, "games_per_task": 1})}
        )
        card = str(find_checkpoint(trainer.run.path).resolve())
        tasks = tasks_of(small, card, trainer.generation)
        for task in tasks:
            play_task(task)
        # One more in every worker, all at once: imports and loading are not part of the training time.
        for future in [self._pool.submit(play_task, task) for task in tasks for _ in range(self._count)]:
            future.result()

    def submit(self, config: Config, card: str, generation: int) -> list[Future[list[GameRecord]]]:
        """Start a generation."""
        return [self._pool.submit(play_task, task) for task in tasks_of(config, card, generation)]

    def collect(self, playing: list[Future[list[GameRecord]]]) -> list[GameRecord]:
        """Wait for a generation's games."""
        try:
            return [record for future in playing for record in future.result()]
        except BrokenProcessPool:
            raise TrilithonError("a self-play worker died; the run can be resumed with --resume") from None


class _Bar:
    """The progress bar: games, positions a second, loss, time left."""

    def __init__(self, trainer: Trainer, quiet: bool) -> None:
        limits = trainer.config.training
        self._trainer = trainer
        self._timed = limits.minutes is not None
        self._bar = tqdm(
            total=100.0,
            disable=True if quiet else None,
            desc=trainer.config.name,
            bar_format="{desc}: {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}{postfix}]",
        )

    def __enter__(self) -> "_Bar":
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.close()

    def show(self, facts: dict[str, float]) -> None:
        """Advance to where the run is."""
        self._bar.n = round(100.0 * self._trainer.progress(), 1)
        text = f"{facts['games']} games"
        if "loss" in facts:
            text += f", {facts['positions_per_second']:.0f} positions/s, loss {facts['loss']:.3f}"
        self._bar.set_postfix_str(text)
