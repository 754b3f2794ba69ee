"""The replay window: positions to learn from, remade by replaying records."""

from collections.abc import Iterable

import numpy as np

from trilithon.agents.evaluator import write_inputs
from trilithon.agents.network import NUM_ACTION_FEATURES
from trilithon.core.errors import RecordError
from trilithon.core.game import Game, State
from trilithon.core.record import GameRecord
from trilithon.core.verbs import CHANCE


class Batch:
    """Network inputs and targets of R positions, as an observer sees them: the mover, or who acted before chance."""

    def __init__(self, game: Game, rows: int) -> None:
        actions, n = game.num_distinct_actions(), game.num_players()
        self.observations = np.zeros((rows, *game.observation_tensor_shape()), np.float32)
        self.features = np.zeros((rows, actions, NUM_ACTION_FEATURES), np.float32)
        self.mask = np.zeros((rows, actions), np.bool_)
        self.policy = np.zeros((rows, actions), np.float32)  # the search's improved policy; 0 where chance is to move
        self.outcome = np.zeros(rows, np.int64)  # row of Game.outcomes
        self.margins = np.zeros((rows, n), np.float32)  # final, observer first
        self.values = np.zeros((rows, n), np.float32)  # the search's value, observer first
        self.results = np.zeros((rows, n), np.float32)  # lambda-return of the game from here on, observer first


class Replay:
    """The newest positions, as kernel states and targets; the network's inputs are made when a batch is drawn.

    Besides how the game ended, a position keeps its lambda-return (Sutton 1988; Tesauro's TD-Gammon): a mean of the
    values that the later searches of the game found and of its result, the k-th search from here on weighing
    ``(1 - td_lambda) * td_lambda ** k``. With 1 that is the result alone, the dice of the whole game in it; with less,
    later dice count for less and the searches' own errors for more.
    """

    def __init__(self, game: Game, window: int, margin_weight: float, td_lambda: float = 1.0) -> None:
        self.game, self.window, self.margin_weight, self.td_lambda = game, window, margin_weight, td_lambda
        actions, n = game.num_distinct_actions(), game.num_players()
        self._states = np.zeros(window, game.dtype)
        self._observers = np.zeros(window, np.int32)
        self._policy = np.zeros((window, actions), np.float32)
        self._outcome = np.zeros(window, np.int64)
        self._margins = np.zeros((window, n), np.float32)
        self._values = np.zeros((window, n), np.float32)
        self._results = np.zeros((window, n), np.float32)
        self._outcomes = game.outcomes()
        self._orders = (np.arange(n)[:, None] + np.arange(n)) % n  # [observer]: players from the observer on, clockwise
        self._observation_maps, self._action_maps = game.symmetries()
        self._added = 0
        self._actions = np.zeros(actions + 1, np.int32)
        self._work = np.zeros(2, game.dtype)
        self._chance = np.zeros(game.max_chance_outcomes() + 1, np.int32), np.zeros(game.max_chance_outcomes() + 1)
        self._scratch = np.zeros(n)

    def __len__(self) -> int:
        """Positions held."""
        return min(self._added, self.window)

    def add(self, records: Iterable[GameRecord]) -> int:
        """Replay records and keep every position that was analysed; return how many."""
        before = self._added
        for record in records:
            self._add_game(record)
        return self._added - before

    def _add_game(self, record: GameRecord) -> None:
        """Keep every position that was searched, and those before chance: what an action led to has a value too."""
        if record.analysis is None:
            raise RecordError("a record to learn from needs its analysis")
        state = self.game.from_setup(record.setup)
        rows: list[int] = []
        values: list[np.ndarray | None] = []  # of the search there; None before chance: those have the next search's
        mover = -1
        for (player, action), analysis in zip(record.steps, record.analysis, strict=True):
            if player >= 0:
                mover = player
            if mover >= 0 and (analysis is not None or player == CHANCE):
                row = self._add_row(state, mover)
                rows.append(row)
                values.append(None if analysis is None else np.array(analysis["values"]))
                if analysis is not None:
                    self._policy[row, analysis["actions"]] = analysis["weights"]
            state.apply_action(action)
        self._finish(rows, values, state.returns(), state.margin())

    def _add_row(self, state: State, observer: int) -> int:
        row = self._added % self.window
        self._states[row] = state.array[0]
        self._observers[row] = observer
        self._policy[row] = 0.0
        self._added += 1
        return row

    def _finish(
        self, rows: list[int], values: list[np.ndarray | None], returns: np.ndarray, margins: np.ndarray
    ) -> None:
        """Fill in, from the end of the game backwards, what its rows led to."""
        outcomes = [np.abs(self._outcomes - returns[order]).sum(axis=1).argmin() for order in self._orders]
        weight = self.margin_weight
        ahead = result = (1 - weight) * returns + weight * margins
        for row, value in zip(rows[: -self.window - 1 : -1], reversed(values), strict=False):
            if value is not None:
                ahead = value
                result = (1 - self.td_lambda) * value + self.td_lambda * result
            observer = self._observers[row]
            order = self._orders[observer]
            self._outcome[row] = outcomes[observer]
            self._margins[row] = margins[order]
            self._values[row] = ahead[order]
            self._results[row] = result[order]

    def sample(self, batch: Batch, generator: np.random.Generator) -> None:
        """Fill `batch` with positions drawn uniformly, each under a random symmetry of the game."""
        rows = generator.integers(0, len(self), len(batch.outcome))
        indices = np.zeros((len(rows), 3), np.int32)
        indices[:, 0] = rows
        indices[:, 2] = self._observers[rows]
        write_inputs(
            self._states[:, None],
            indices,
            len(rows),
            self._actions,
            self._work,
            *self._chance,
            self._scratch,
            batch.observations,
            batch.features,
            batch.mask,
        )
        batch.outcome[:] = self._outcome[rows]
        batch.margins[:] = self._margins[rows]
        batch.values[:] = self._values[rows]
        batch.results[:] = self._results[rows]
        chosen = generator.integers(0, len(self._action_maps), len(rows))
        actions = self._action_maps[chosen]
        batch.observations[:] = np.take_along_axis(batch.observations, self._observation_maps[chosen], axis=1)
        batch.features[:] = np.take_along_axis(batch.features, actions[:, :, None], axis=1)
        batch.mask[:] = np.take_along_axis(batch.mask, actions, axis=1)
        batch.policy[:] = np.take_along_axis(self._policy[rows], actions, axis=1)
