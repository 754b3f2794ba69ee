"""Rollouts for policy gradients: games in lock step, every decision with what a gradient needs of it.

A rollout is T steps of B games of a `VectorEnv`. In some of them one seat is the learner's and all others are a past
network's; those others' decisions are played and not learned from.
"""

import time
from collections.abc import Mapping

import numpy as np
import torch

from trilithon.agents.evaluator import write_inputs
from trilithon.agents.network import NUM_ACTION_FEATURES
from trilithon.core import verbs
from trilithon.core.game import Game
from trilithon.envs.vector import VectorEnv

_UNKNOWN = -1  # outcome of a game that was still going on


class Rollout:
    """What T steps of B games brought; O, A, n and K as in `Game` (observation, actions, players, ways to end).

    One memory for the whole run: the next rollout is written over it.
    """

    def __init__(self, game: Game, steps: int, games: int) -> None:
        actions, n, shape = game.num_distinct_actions(), game.num_players(), (steps, games)
        # The network's inputs, the mover's; the last row is where the games stand after T steps.
        self.observations = np.zeros((steps + 1, games, *game.observation_tensor_shape()), np.float32)
        self.features = np.zeros((steps + 1, games, actions, NUM_ACTION_FEATURES), np.float32)
        self.mask = np.zeros((steps + 1, games, actions), np.bool_)
        self.players = np.zeros(shape, np.int64)  # the mover
        self.actions = np.zeros(shape, np.int64)
        self.learned = np.zeros(shape, np.bool_)  # the decision is the learner's
        self.log_probabilities = np.zeros(shape, np.float32)  # of the action
        self.values = np.zeros(shape, np.float32)  # the critic's, for the mover
        self.ended = np.zeros(shape, np.bool_)  # by this action and the chance that followed
        self.results = np.zeros((*shape, n), np.float64)  # by seat: what an ended game was worth
        self.final_margins = np.zeros((*shape, n), np.float32)  # by seat, of an ended game
        self.endings = np.full((*shape, n), _UNKNOWN)  # by seat that looks: row of Game.outcomes, of an ended game
        self.ahead = np.zeros((games, n), np.float64)  # by seat: the critic's values of where the games stand now
        # Filled by `finish`:
        self.advantages = np.zeros(shape, np.float32)
        self.targets = np.zeros(shape, np.float32)  # lambda-return of the mover
        self.outcomes = np.zeros(shape, np.int64)  # row of Game.outcomes as the mover sees it, or -1
        self.margins = np.zeros((*shape, n), np.float32)  # final, the mover first

    def finish(self, gae_lambda: float) -> None:
        """Compute advantages and targets."""
        advantages = estimate_advantages(self.players, self.values, self.ended, self.results, self.ahead, gae_lambda)
        self.advantages[:] = advantages
        self.targets[:] = advantages + self.values
        steps, games, n = self.results.shape
        rows, order = np.arange(games), np.arange(n)
        ending = np.full((games, n), _UNKNOWN)
        final = np.zeros((games, n), np.float32)
        for t in range(steps - 1, -1, -1):
            over, mover = self.ended[t], self.players[t]
            ending[over], final[over] = self.endings[t, over], self.final_margins[t, over]
            self.outcomes[t] = ending[rows, mover]
            self.margins[t] = final[rows[:, None], (mover[:, None] + order) % n]


def estimate_advantages(
    players: np.ndarray,
    values: np.ndarray,
    ended: np.ndarray,
    results: np.ndarray,
    ahead: np.ndarray,
    gae_lambda: float,
) -> np.ndarray:
    """Return generalised advantage estimates, float64 ``[T, B]``, each over the mover's own later decisions.

    Schulman et al. 2016, without discount: a player's decisions in a game, those of others left out, are a trajectory
    whose only reward is the game's result; where the rollout stops before that, `ahead` stands for it. `players` int
    and `values` ``[T, B]`` are the movers and what their critics expected; `ended` bool ``[T, B]``, `results`
    ``[T, B, n]`` and `ahead` ``[B, n]`` are by seat, so that nothing is negated and any number of players will do.
    """
    rows = np.arange(players.shape[1])
    advantages = np.zeros(players.shape)
    following = ahead.astype(np.float64)  # by seat: the value of its next decision, or the result
    later = np.zeros_like(following)  # by seat: the advantage of its next decision
    for t in range(len(players) - 1, -1, -1):
        over, mover = ended[t], players[t]
        following[over], later[over] = results[t, over], 0.0
        advantages[t] = following[rows, mover] - values[t] + gae_lambda * later[rows, mover]
        following[rows, mover], later[rows, mover] = values[t], advantages[t]
    return advantages


def draw_actions(log_probabilities: np.ndarray, mask: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return int64 ``[B]``: an action drawn from each row of ``[B, A]``, never one that `mask` does not allow."""
    weights = np.where(mask, np.exp(log_probabilities.astype(np.float64)), 0.0)
    sums = weights.cumsum(axis=1)
    drawn = generator.random(len(sums))[:, None] * sums[:, -1:]
    # The first sum above the draw grew by its own action, which therefore has some weight.
    return (sums > np.minimum(drawn, np.nextafter(sums[:, -1:], 0.0))).argmax(axis=1)


class Player:
    """B games under way and the learner's network, which plays them; one thread at a time.

    In the first ``round(pool_share * B)`` games the learner has one seat, game i's being ``i % n``, and whoever `play`
    is given as the opponent the others.
    """

    def __init__(
        self, game: Game, network: torch.nn.Module, games: int, pool_share: float, margin_weight: float
    ) -> None:
        self.game, self.network = game, network
        self.env = VectorEnv(game, games)
        self.seconds = np.zeros(2)  # in the environment (inputs and draws included), in networks
        self._margin_weight = margin_weight
        self._pooled = np.arange(games) < round(pool_share * games)
        self._seats = np.arange(games) % game.num_players()
        self._outcomes = game.outcomes()
        self._returns = torch.from_numpy(self._outcomes).float() * (1.0 - margin_weight)
        self._indices = np.zeros((games, 3), np.int32)
        self._indices[:, 0] = np.arange(games)
        actions, outcomes = game.num_distinct_actions(), game.max_chance_outcomes() + 1
        self._work = np.zeros(actions + 1, np.int32), np.zeros(2, game.dtype)
        self._chance = np.zeros(outcomes, np.int32), np.zeros(outcomes)
        self._scratch = np.zeros(game.num_players())

    def start(self, seed: int) -> None:
        """Deal the first games; game i from ``seed + i``."""
        self.env.reset(seed=seed)

    def save(self) -> dict[str, np.ndarray]:
        """Return the games under way."""
        return self.env.save()

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on with games that `save` returned."""
        self.env.restore(saved)

    def play(self, rollout: Rollout, generator: np.random.Generator, opponent: torch.nn.Module | None) -> None:
        """Fill `rollout` but for what its `finish` adds; without an opponent the learner has every seat."""
        self.seconds[:] = 0.0
        start = time.perf_counter()
        for t in range(len(rollout.players)):
            mover, mask = self.env.current_players, rollout.mask[t]
            self._write_inputs(rollout, t)
            log_probabilities, values = self._evaluate(rollout, t)
            others = self._pooled & (mover != self._seats) & (opponent is not None)
            if opponent is not None and others.any():
                log_probabilities[others] = self._look(opponent, rollout, t, others)[0]
            actions = draw_actions(log_probabilities, mask, generator)
            rollout.players[t], rollout.actions[t], rollout.learned[t] = mover, actions, ~others
            rollout.log_probabilities[t] = np.take_along_axis(log_probabilities, actions[:, None], axis=1)[:, 0]
            rollout.values[t] = values[:, 0]
            self.env.step(actions)
            self._write_ends(rollout, t)
        self._write_ahead(rollout)
        self.seconds[0] = time.perf_counter() - start - self.seconds[1]

    def _write_inputs(self, rollout: Rollout, t: int) -> None:
        """The network's inputs for the positions on the table."""
        self._indices[:, 2] = self.env.current_players
        write_inputs(
            self.env.states[:, None],
            self._indices,
            self.env.num_envs,
            *self._work,
            *self._chance,
            self._scratch,
            rollout.observations[t],
            rollout.features[t],
            rollout.mask[t],
        )

    def _evaluate(self, rollout: Rollout, t: int) -> tuple[np.ndarray, np.ndarray]:
        """The learner's log-probabilities ``[B, A]`` and values ``[B, n]``, the mover first, of all games."""
        return self._look(self.network, rollout, t, slice(None))

    def _look(
        self, network: torch.nn.Module, rollout: Rollout, t: int, which: np.ndarray | slice
    ) -> tuple[np.ndarray, np.ndarray]:
        start = time.perf_counter()
        inputs = (torch.from_numpy(a[t][which]) for a in (rollout.observations, rollout.features, rollout.mask))
        with torch.inference_mode():
            logits, outcome_logits, margins = network(*inputs)
            values = torch.softmax(outcome_logits, -1) @ self._returns + self._margin_weight * margins
            result = torch.log_softmax(logits, -1).numpy(), values.numpy()
        self.seconds[1] += time.perf_counter() - start
        return result

    def _write_ends(self, rollout: Rollout, t: int) -> None:
        """What the games that ended were worth."""
        rollout.ended[t] = self.env.terminations | self.env.truncations
        over = np.flatnonzero(rollout.ended[t])
        if not len(over):
            return
        returns, margins = self.env.rewards[over], np.zeros((len(over), self.game.num_players()))
        for row, i in enumerate(over.tolist()):
            verbs.margin(self.env.final_states[i], margins[row])
        rollout.final_margins[t, over] = margins
        rollout.results[t, over] = (1.0 - self._margin_weight) * returns + self._margin_weight * margins
        n = returns.shape[1]
        seen = returns[:, (np.arange(n)[:, None] + np.arange(n)) % n]  # [games, observer, players from there on]
        rollout.endings[t, over] = np.abs(seen[:, :, None] - self._outcomes).sum(axis=3).argmin(axis=2)

    def _write_ahead(self, rollout: Rollout) -> None:
        """The critic's values of where the rollout stops."""
        self._write_inputs(rollout, len(rollout.players))
        values, mover = self._evaluate(rollout, len(rollout.players))[1], self.env.current_players
        rows, order = np.arange(len(values))[:, None], np.arange(values.shape[1])
        rollout.ahead[rows, (mover[:, None] + order) % len(order)] = values
