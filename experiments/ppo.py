"""`algorithm: ppo`: proximal policy optimisation by self-play, no search.

A generation is a rollout of many games in lock step, played by the network itself, and a few passes over its
decisions: Schulman et al., "Proximal policy optimization algorithms", 2017. Nothing in it looks at hidden hands or
assumes that two sides take turns, so it is the principled choice where hands are closed: tuned policy gradients with
enough entropy hold up against equilibrium solvers (Rudolph et al., arXiv 2502.08938). With `magnet` the policy is
also drawn to the averaged network's: magnetic mirror descent, Sokota et al., ICLR 2023.

Games and batches are split into groups of fixed size, each with its own streams, which up to `workers` threads play
and differentiate: so the weights do not depend on how many threads there are.
"""

import copy
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from trilithon.agents.checkpoint import load_network, save_checkpoint
from trilithon.core.errors import CheckpointError
from trilithon.core.rng import stream
from trilithon.experiments.rollouts import Player, Rollout
from trilithon.experiments.train import Trainer, _Bar

_DEALS_KEY, _ACTIONS_KEY, _OPPONENT_KEY, _BATCHES_KEY = 5, 6, 7, 8  # of a run's streams; other trainers have 2 to 4
_MAX_GRADIENT = 1.0
_MAX_SEED = 2**31

Item = TypeVar("Item")


class PPOTrainer(Trainer):
    """A run under way: network, averaged weights, optimiser, the games, and the pool of past checkpoints."""

    def _make_memory(self) -> None:
        config, settings = self.config, self.config.ppo
        games = settings.games // settings.groups
        torch.set_num_threads(1)  # in every thread of its own: torch's own threads wait for each other too long
        # Copies of the network that share its weights, but have gradients of their own.
        self.copies = [_share_storage(copy.deepcopy(self.network), self.network) for _ in range(settings.groups)]
        self.players = [
            Player(self.game, network, games, settings.pool_share, settings.margin_weight) for network in self.copies
        ]
        self.rollouts = [Rollout(self.game, settings.steps, games) for _ in self.players]
        for group, player in enumerate(self.players):
            player.start(int(stream(config.seed, _DEALS_KEY, group)[0]) % _MAX_SEED)
        self._threads: ThreadPoolExecutor | None = None

    @property
    def pool(self) -> Path:
        """The folder of past checkpoints."""
        return self.run.path / "pool"

    # ------------------------------------------------------------------------------------------------------ the loop

    def run_all(self, quiet: bool) -> None:
        """Play and learn until the last generation or the time is reached."""
        if not quiet and sys.stderr.isatty():
            print("getting ready (the first time, kernels are compiled: a minute) ...", file=sys.stderr)
        self._warm_up()
        with self._started_threads(), _Bar(self, quiet) as bar:
            started = time.monotonic() - self.seconds
            while not self._is_over():
                generation = self.generation
                facts = self._generation()
                self.seconds = time.monotonic() - started
                self._save(generation + 1)
                facts |= {"games": self.games, "seconds": self.seconds}
                facts |= self._agreement()
                self.run.add_metrics(generation, facts)
                bar.show(facts)

    def _started_threads(self) -> ThreadPoolExecutor:
        self._threads = ThreadPoolExecutor(
            min(self.config.workers, len(self.players)), initializer=torch.set_num_threads, initargs=(1,)
        )
        return self._threads

    def _warm_up(self) -> None:
        """Compile before the clock starts: a rollout of one step of one game."""
        player = Player(self.game, self.averaged, 1, 0.0, 0.0)
        player.start(0)
        player.play(Rollout(self.game, 1, 1), np.random.default_rng(0), None)

    def _each(self, function: Callable[[int], Item]) -> list[Item]:
        """Call `function` with the number of every group, in threads where there are some."""
        return list((self._threads.map if self._threads else map)(function, range(len(self.players))))

    def _generation(self) -> dict[str, float]:
        """Play and learn once; return what there is to say about it."""
        start = time.perf_counter()
        opponent = self._opponent()
        self._each(lambda group: self._play(group, opponent))
        played = time.perf_counter()
        facts = self._learn()
        end = time.perf_counter()
        decisions = sum(rollout.players.size for rollout in self.rollouts)
        games = int(sum(rollout.ended.sum() for rollout in self.rollouts))
        self.games += games
        environment, network = np.mean([player.seconds for player in self.players], axis=0) / (end - start)
        return facts | {
            "positions_per_second": decisions / (end - start),
            "games_per_second": games / (end - start),
            "environment_share": float(environment),
            "network_share": float(network),
            "learning_share": (end - played) / (end - start),
        }

    # ---------------------------------------------------------------------------------------------------------- play

    def _play(self, group: int, opponent: torch.nn.Module | None) -> None:
        """A group's rollout."""
        generator = np.random.default_rng([self.config.seed, _ACTIONS_KEY, self.generation, group])
        self.players[group].play(self.rollouts[group], generator, opponent)
        self.rollouts[group].finish(self.config.ppo.gae_lambda)

    def _opponent(self) -> torch.nn.Module | None:
        """The past checkpoint that plays this generation's pool games: any of the pool, None while that is empty."""
        cards = sorted(self.pool.glob("[0-9]*.json"))
        # A run that was stopped may find later ones.
        cards = [card for card in cards if int(card.stem) <= self.generation][-self.config.ppo.pool_size :]
        if not cards or not self.config.ppo.pool_share:
            return None
        generator = np.random.default_rng([self.config.seed, _OPPONENT_KEY, self.generation])
        return load_network(cards[int(generator.integers(len(cards)))], self.game)

    # -------------------------------------------------------------------------------------------------------- learning

    def _learn(self) -> dict[str, float]:
        """`epochs` passes over the generation's decisions, every batch of a part from every group."""
        rate, training, settings = self._set_learning_rate(), self.config.training, self.config.ppo
        entropy = settings.entropy + self.progress() * (settings.final_entropy - settings.entropy)
        data = [Decisions(rollout) for rollout in self.rollouts]
        advantages = np.concatenate([one.advantages for one in data])
        for one in data:
            one.advantages -= advantages.mean()
            one.advantages /= advantages.std() + 1e-8
        if settings.magnet:
            self._each(lambda group: data[group].write_magnet(self.averaged, training.batch_size))
        generator = np.random.default_rng([self.config.seed, _BATCHES_KEY, self.generation])
        batches = max(1, round(len(advantages) / training.batch_size))
        sums: dict[str, float] = {}
        for _ in range(settings.epochs):
            parts = [np.array_split(generator.permutation(len(one)), batches) for one in data]
            for rows in zip(*parts, strict=True):
                for facts in self._descend(data, rows, entropy):
                    for name, value in facts.items():
                        sums[name] = sums.get(name, 0.0) + value
        count = settings.epochs * batches * len(data)
        means = {name: value / count for name, value in sums.items()}
        return means | explained_variance(data) | {"learning_rate": rate, "entropy_weight": entropy}

    def _differentiate(self, group: int, data: "Decisions", rows: np.ndarray, entropy: float) -> dict[str, float]:
        """The gradient of a group's part of a batch, in its own copy of the network."""
        network, settings = self.copies[group], self.config.ppo
        network.zero_grad(set_to_none=True)
        logits, outcome_logits, margins = network(*data.inputs(rows))
        log_policy = torch.log_softmax(logits, -1)
        policy_loss, facts = clipped_loss(
            log_policy,
            torch.from_numpy(data.actions[rows]),
            torch.from_numpy(data.log_probabilities[rows]),
            torch.from_numpy(data.advantages[rows]),
            settings.clip,
        )
        value_loss = self._critic_loss(data, rows, outcome_logits, margins)
        policy = log_policy.exp()
        uncertainty = -(policy * log_policy).sum(-1).mean()
        loss = policy_loss + value_loss - entropy * uncertainty
        facts |= {"value_loss": value_loss.item(), "entropy": uncertainty.item()}
        if settings.magnet:
            distance = (policy * (log_policy - torch.from_numpy(data.magnet[rows]))).sum(-1).mean()
            loss = loss + settings.magnet * distance
            facts["magnet_kl"] = distance.item()
        loss.backward()
        return facts | {"loss": loss.item()}

    def _critic_loss(self, data: "Decisions", rows: np.ndarray, outcome_logits: Tensor, margins: Tensor) -> Tensor:
        """How the game ended and its margin, where it ended; and the expected result against the lambda-return."""
        weight, settings = self.config.ppo.margin_weight, self.config.ppo
        own = torch.softmax(outcome_logits, -1) @ self._outcomes[:, 0]
        expected = (1 - weight) * own + weight * margins[:, 0]
        loss = settings.value_weight * functional.mse_loss(expected, torch.from_numpy(data.targets[rows]))
        known = torch.from_numpy(np.flatnonzero(data.outcomes[rows] >= 0))
        if len(known):
            outcomes, final = torch.from_numpy(data.outcomes[rows]), torch.from_numpy(data.margins[rows])
            ending = functional.cross_entropy(outcome_logits[known], outcomes[known])
            loss = loss + self.config.training.outcome_weight * ending
            loss = loss + functional.mse_loss(margins[known], final[known])
        return loss

    def _descend(self, data: list["Decisions"], rows: Sequence[np.ndarray], entropy: float) -> list[dict[str, float]]:
        """One step of the optimiser along the mean of the groups' gradients; return what each of them saw."""
        facts = self._each(lambda group: self._differentiate(group, data[group], rows[group], entropy))
        gradients = zip(*(network.parameters() for network in self.copies), strict=True)
        for weight, parts in zip(self.network.parameters(), gradients, strict=True):
            found = [part.grad for part in parts if part.grad is not None]  # none: of a block that has no rows
            weight.grad = torch.stack(found).mean(0) if found else None
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), _MAX_GRADIENT)
        self.optimizer.step()
        self._average()
        return facts

    # ------------------------------------------------------------------------------------------------------ checkpoints

    def _save(self, generation: int) -> None:
        """Write checkpoint `generation`, and put it into the pool where it is its turn."""
        settings = self.config.ppo
        if generation % settings.pool_every == 0:
            save_checkpoint(self.pool / f"{generation:06d}", self.game, self.averaged, self.settings)
            # One more than plays: a run that is stopped here goes on from the generation before.
            old = generation - settings.pool_every * (settings.pool_size + 1)
            for suffix in (".json", ".safetensors"):
                (self.pool / f"{old:06d}{suffix}").unlink(missing_ok=True)
        super()._save(generation)

    def _training_state(self) -> dict[str, Tensor]:
        """Live weights, the optimiser's moments, and the games under way."""
        tensors = super()._training_state()
        for group, player in enumerate(self.players):
            for name, array in player.save().items():
                tensors[f"games.{group}.{name}"] = torch.from_numpy(array.copy())
        return tensors

    def _load_training_state(self, path: Path) -> None:
        from safetensors.torch import load

        super()._load_training_state(path)
        tensors = load(path.read_bytes())
        try:
            for group, player in enumerate(self.players):
                names = ("states", "rngs", "setups")
                player.restore({name: tensors[f"games.{group}.{name}"].numpy() for name in names})
        except (KeyError, ValueError) as error:
            raise CheckpointError(
                f"{str(path)!r}: the games under way are missing or damaged ({error!s:.60})"
            ) from None


class Decisions:
    """The learner's decisions in a rollout, as N rows: copies of what is small, inputs where the rollout has them."""

    def __init__(self, rollout: Rollout) -> None:
        self._rollout = rollout
        self._where = np.flatnonzero(rollout.learned)
        self.actions, self.log_probabilities = self._rows(rollout.actions), self._rows(rollout.log_probabilities)
        self.advantages, self.values = self._rows(rollout.advantages), self._rows(rollout.values)
        self.targets, self.outcomes = self._rows(rollout.targets), self._rows(rollout.outcomes)
        self.margins = self._rows(rollout.margins)
        self.magnet = np.zeros((0, 0), np.float32)  # log-probabilities [N, A] of the averaged network

    def __len__(self) -> int:
        return len(self._where)

    def _rows(self, array: np.ndarray, which: np.ndarray | slice = slice(None)) -> np.ndarray:
        return array.reshape(-1, *array.shape[2:])[self._where[which]]

    def inputs(self, rows: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        """The network's inputs of some rows."""
        rollout = self._rollout
        observations, features, mask = (
            torch.from_numpy(self._rows(a, rows)) for a in (rollout.observations, rollout.features, rollout.mask)
        )
        return observations, features, mask

    def write_magnet(self, network: torch.nn.Module, batch: int) -> None:
        """Look at every decision with the averaged network."""
        parts = np.array_split(np.arange(len(self)), max(1, len(self) // batch))
        with torch.inference_mode():
            self.magnet = np.concatenate([torch.log_softmax(network(*self.inputs(p))[0], -1).numpy() for p in parts])


def clipped_loss(
    log_policy: Tensor, actions: Tensor, log_probabilities: Tensor, advantages: Tensor, clip: float
) -> tuple[Tensor, dict[str, float]]:
    """Return PPO's clipped surrogate, negated, and what it says of the step so far.

    `log_policy` ``[N, A]`` is the present policy's, `log_probabilities` ``[N]`` what `actions` had when they were
    drawn. ``kl`` estimates the divergence of the present policy from that one without bias (Schulman 2020).
    """
    log_ratio = log_policy.gather(1, actions[:, None])[:, 0] - log_probabilities
    ratio = log_ratio.exp()
    loss = -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
    with torch.no_grad():
        clipped = ((ratio - 1).abs() > clip).float().mean()
        distance = (ratio - 1 - log_ratio).mean()
    return loss, {"policy_loss": loss.item(), "kl": distance.item(), "clipped": clipped.item()}


def explained_variance(data: list[Decisions]) -> dict[str, float]:
    """The share of the lambda-returns' variance that the critic had foreseen."""
    targets, values = (np.concatenate([getattr(one, name) for one in data]) for name in ("targets", "values"))
    spread = targets.var()
    return {"explained_variance": float(1.0 - (targets - values).var() / spread) if spread > 0 else 0.0}


def _share_storage(network: torch.nn.Module, other: torch.nn.Module) -> torch.nn.Module:
    """Let `network`'s weights be the memory of `other`'s, with gradients of its own."""
    for mine, weight in zip(network.parameters(), other.parameters(), strict=True):
        mine.data = weight.data
    return network
