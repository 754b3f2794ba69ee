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


class Replay:
    """The newest positions, as kernel states and targets; the network's inputs are made when a batch is drawn."""

    def __init__(self, game: Game, window: int, margin_weight: float) -> None:
        self.game, self.window, self.margin_weight = game, window, margin_weight
        actions, n = game.num_distinct_actions(), game.num_players()
        self._states = np.zeros(window, game.dtype)
        self._observers = np.zeros(window, np.int32)
        self._policy = np.zeros((window, actions), np.float32)
        self._outcome = np.zeros(window, np.int64)
        self._margins = np.zeros((window, n), np.float32)
        self._values = np.zeros((window, n), np.float32)
        self._outcomes = game.outcomes()
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
        observers: list[int] = []
        waiting: list[int] = []  # rows before chance: their value is that of the next search
        mover = -1
        for (player, action), analysis in zip(record.steps, record.analysis, strict=True):
            if player >= 0:
                mover = player
            if mover >= 0 and (analysis is not None or player == CHANCE):
                row = self._add_row(state, mover)
                observers.append(mover)
                if analysis is None:
                    waiting.append(row)
                else:
                    self._policy[row, analysis["actions"]] = analysis["weights"]
                    for one in [*waiting, row]:
                        self._values[one] = np.roll(analysis["values"], -self._observers[one])
                    waiting.clear()
            state.apply_action(action)
        self._finish(observers, state.returns(), state.margin(), waiting)

    def _add_row(self, state: State, observer: int) -> int:
        row = self._added % self.window
        self._states[row] = state.array[0]
        self._observers[row] = observer
        self._policy[row] = 0.0
        self._added += 1
        return row

    def _finish(self, observers: list[int], returns: np.ndarray, margins: np.ndarray, waiting: list[int]) -> None:
        """Fill in how the game ended in its rows, the newest ones; those in `waiting` saw no further search."""
        first = self._added - len(observers)
        for i, observer in enumerate(observers):
            row = (first + i) % self.window
            own = np.roll(returns, -observer)
            self._outcome[row] = np.abs(self._outcomes - own).sum(axis=1).argmin()
            self._margins[row] = np.roll(margins, -observer)
            if row in waiting:
                weight = self.margin_weight
                self._values[row] = (1 - weight) * own + weight * self._margins[row]

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
        chosen = generator.integers(0, len(self._action_maps), len(rows))
        actions = self._action_maps[chosen]
        batch.observations[:] = np.take_along_axis(batch.observations, self._observation_maps[chosen], axis=1)
        batch.features[:] = np.take_along_axis(batch.features, actions[:, :, None], axis=1)
        batch.mask[:] = np.take_along_axis(batch.mask, actions, axis=1)
        batch.policy[:] = np.take_along_axis(self._policy[rows], actions, axis=1)
