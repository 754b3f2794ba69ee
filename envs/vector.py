"""Many games of one kind in lock step, in one process: `VectorEnv`, for whoever trains on batches.

It is a `gymnasium.vector.VectorEnv`, and follows its conventions where several players and legal actions leave room:

- ``reset`` and ``step`` return what they do there, spaces are batched as there, ``reset(seed=s)`` seeds game i with
  ``s + i``, and the autoreset mode stands in `metadata`.
- Every game has a mover, who changes from step to step. `observations` and `action_masks` are the mover's, and
  `current_players` says who that is; the last two are in ``infos`` too.
- `rewards` are ``[num_envs, players]``: when a game ends, everybody is paid, not the last mover alone. Wrappers that
  take rewards for ``[num_envs]`` do not fit.
- What is returned is the environment's own memory, written anew by the next call, and read-only: copy what you keep.

**Autoreset** is `AutoresetMode.SAME_STEP`. The step that ends a game returns its rewards and flags together with the
first observation of the next game, so every action that is asked for is played, and no step after an end exists. With
Gymnasium's default, a step of nothing for each end, a tenth of all steps on the smallest board would be such. What
the players saw last in the game that ended is not kept: ``infos`` has no ``final_obs``.

**Seeds.** Game i is the game of the AEC environment that is reset with the same seed, and goes on as that one does when
it is reset without a seed after every end: the next setup comes from the game's own stream of chance.
"""

import copy
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from gymnasium import spaces, vector
from gymnasium.vector.utils import batch_space

from trilithon.core.errors import IllegalActionError, OptionError, SetupError, TrilithonError
from trilithon.core.game import Game
from trilithon.core.registry import load_game
from trilithon.core.rng import game_streams
from trilithon.core.rng import seed as make_rng
from trilithon.envs.stepping import advance_batch, begin_batch, sample_batch
from trilithon.envs.wrapper import OrderError

MAX_GAMES = 1 << 20
_MAX_DEALS = 1000  # in a row of games that are over before anybody acts

Limit = Callable[[Game, np.ndarray], bool]
Infos = dict[str, Any]


class VectorEnv(vector.VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """B games of one game, of which each step plays one action in every one.

    `game` is a `Game` or its spec; B is `num_envs`; `seed` is what the first `reset` starts from unless it is given
    one. `ended_by_limit` says of an ended game (kernel state ``[1]``) whether a limit cut it off, as in `GameEnv`;
    left out, it is that of the game's own environment, ``trilithon.envs.NAME_v0``, where there is one.

    The arrays below are the same objects for the environment's whole life; O is the size of an observation, A the
    number of actions, n the number of players.
    """

    observations: np.ndarray  # float32 [B, *O]: what the mover sees
    action_masks: np.ndarray  # bool [B, A]: the mover's legal actions, never none
    current_players: np.ndarray  # int64 [B]: the mover
    rewards: np.ndarray  # float64 [B, n]: zeros, or the returns of the game that the last step ended
    terminations: np.ndarray  # bool [B]: the last step ended a game by its rules
    truncations: np.ndarray  # bool [B]: a limit did
    # Privileged, with every hidden hand, for whoever makes other inputs of them; writable for kernels' sake alone.
    states: np.ndarray  # kernel states [B], a player to move in each
    final_states: np.ndarray  # kernel states [B]: the ends of the games that the last step ended; others are older

    def __init__(
        self, game: Game | str, num_envs: int, seed: int | None = None, ended_by_limit: Limit | None = None
    ) -> None:
        self.game = game if isinstance(game, Game) else load_game(game)
        self.num_envs = _whole(num_envs, "num_envs", 1, MAX_GAMES)
        self._seed = None if seed is None else _whole(seed, "seed", 0)
        self._limit = environment_limit(self.game) if ended_by_limit is None else ended_by_limit
        self.game.deal(make_rng(0))  # a game that cannot be dealt, such as hands="manual", says so here
        self.metadata = {"name": f"{self.game.name}_vector", "autoreset_mode": vector.AutoresetMode.SAME_STEP}
        shape, actions = self.game.observation_tensor_shape(), self.game.num_distinct_actions()
        self.single_observation_space = spaces.Box(-1.0, 1.0, shape, np.float32)
        self.single_action_space = spaces.Discrete(actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._allocate(shape, actions, self.game.max_chance_outcomes())
        self._started = False
        self._seeded = False

    def _allocate(self, shape: tuple[int, ...], actions: int, outcomes: int) -> None:
        """The kernels' memory, and what the outside sees of it."""
        games = self.num_envs
        self._states = np.zeros(games, self.game.dtype)
        self._bytes = self._states.view(np.uint8).reshape(games, -1)
        self.states, self.final_states = self._states, np.zeros(games, self.game.dtype)
        self._final_bytes = self.final_states.view(np.uint8).reshape(games, -1)
        self._rngs = np.zeros((games, 1), np.uint64)  # what chance and later setups are drawn from
        self._setups: list[dict[str, Any]] = [{} for _ in range(games)]  # of the games in progress
        self._look = (
            np.zeros((games, *shape), np.float32),
            np.zeros((games, actions), np.bool_),
            np.zeros(games, np.int64),
        )
        self._rewards = np.zeros((games, self.game.num_players()), np.float64)
        self._flags = np.zeros((2, games), np.bool_)  # terminations, truncations
        self._ended = np.zeros(games, np.int64)
        self._work = (np.empty(actions + 1, np.int32), np.empty(outcomes + 1, np.int32), np.empty(outcomes + 1))
        # Read-only outside: the masks decide what is legal, and nobody may change that.
        self.observations, self.action_masks, self.current_players = (_read_only(array) for array in self._look)
        self.rewards, self.terminations, self.truncations = map(_read_only, (self._rewards, *self._flags))
        everywhere = _read_only(np.ones(games, np.bool_))
        self._infos: Infos = {
            "action_mask": self.action_masks,
            "_action_mask": everywhere,
            "current_player": self.current_players,
            "_current_player": everywhere,
        }

    # -------------------------------------------------------------------------------------------------------- play

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, Infos]:
        """Start B new games; return the movers' observations, and ``infos``.

        Game i starts from seed ``seed + i`` or ``seed[i]``, or, where that is None, where its stream stands.
        ``options={"setup": ...}`` starts from a setup (docs/records.md), one for all games or a list with one for each
        (None: dealt); later games are dealt. A wrong seed or setup leaves the games as they were.
        """
        setups = self._read_setups(options)
        seeds = self._read_seeds(seed)
        rngs, starts = self._rngs.copy(), []
        for i, (number, start) in enumerate(zip(seeds, setups, strict=True)):
            setup_rng = rngs[i]
            if number is not None:
                setup_rng, rngs[i] = game_streams(number)
            starts.append(self.game.deal(setup_rng) if start is None else start)
        self._started, self._seeded = False, True
        self._rngs[:] = rngs
        for i, (array, setup) in enumerate(starts):
            self._bytes[i], self._setups[i] = array.view(np.uint8), setup
        self._rewards[:], self._flags[:] = 0.0, False
        self._begin(np.arange(self.num_envs))
        self._started = True
        return self.observations, dict(self._infos)

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Infos]:
        """Play the movers' actions, int ``[B]``; return observations, rewards, terminations, truncations, ``infos``.

        A game that ends is paid and flagged, and a new one has begun in its place. `IllegalActionError` names the
        first game whose action is not legal, and then nothing has changed; `OrderError` before `reset`.
        """
        if not self._started:
            raise OrderError(f"{self}: step() before reset(); call reset() first")
        chosen = self._read_actions(actions)
        count = advance_batch(self._states, chosen, self._rngs, *self._look, self._rewards, self._ended, *self._work)
        if count < 0:
            raise self._illegal(-1 - count, chosen)
        self._flags[:] = False
        if count:
            ended = self._ended[:count]
            self._started = False  # until the next games lie on the table
            self._flag(ended)
            # Here the ended games can still be seen; what is dealt now takes their place.
            self._final_bytes[ended] = self._bytes[ended]
            self._deal(ended)
            self._begin(ended)
            self._started = True
        return self.observations, self.rewards, self.terminations, self.truncations, dict(self._infos)

    def sample_actions(self, rng: Any) -> np.ndarray:
        """Return int64 ``[B]``: a uniformly random legal action of every mover, drawn from an int seed or generator."""
        if not self._started:
            raise OrderError(f"{self}: sample_actions() before reset(); call reset() first")
        chosen = np.empty(self.num_envs, np.int64)
        sample_batch(self._look[1], make_rng(rng), chosen)
        return chosen

    def setup(self, index: int) -> dict[str, Any]:
        """Return how the game in progress at `index` started. Privileged: it holds every hidden hand."""
        return copy.deepcopy(self._setups[index])

    def save(self) -> dict[str, np.ndarray]:
        """Return the games in progress as arrays of bytes and whole numbers, for `restore`. Privileged."""
        if not self._started:
            raise OrderError(f"{self}: save() before reset(); call reset() first")
        setups = np.frombuffer(json.dumps(self._setups).encode(), np.uint8)
        return {"states": self._bytes.copy(), "rngs": self._rngs.view(np.int64).copy(), "setups": setups}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on where an environment of the same game and size stood when `save` was called.

        Rewards and flags are those of a reset. ValueError or KeyError where `saved` is of another shape.
        """
        setups = json.loads(saved["setups"].tobytes())
        if saved["states"].shape != self._bytes.shape or len(setups) != self.num_envs:
            raise ValueError(f"{self}: these are the games of another environment")
        self._bytes[:], self._setups = saved["states"], setups
        self._rngs[:] = saved["rngs"].view(np.uint64)
        self._rewards[:], self._flags[:] = 0.0, False
        self._begin(np.arange(self.num_envs))  # a player is to move in each: nothing is drawn
        self._started = self._seeded = True

    # ----------------------------------------------------------------------------------------------- starts and ends

    def _flag(self, ended: np.ndarray) -> None:
        """Say of ended games whether their rules or a limit ended them."""
        terminations, truncations = self._flags
        terminations[ended] = True
        if self._limit is not None:
            for i in ended.tolist():
                if self._limit(self.game, self._states[i : i + 1]):
                    terminations[i], truncations[i] = False, True

    def _deal(self, which: np.ndarray) -> None:
        """Deal new games, each from its own stream."""
        for i in which.tolist():
            array, self._setups[i] = self.game.deal(self._rngs[i])
            self._bytes[i] = array.view(np.uint8)

    def _begin(self, which: np.ndarray) -> None:
        """Bring new games to the first player's turn; one that is over before that gives way to the next."""
        for _ in range(_MAX_DEALS):
            over = begin_batch(self._states, which, self._rngs, *self._look, self._ended, *self._work)
            if not over:
                return
            which = self._ended[:over]
            self._deal(which)
        raise OptionError(f"{self}: {_MAX_DEALS} deals in a row were over before anybody could act")

    # --------------------------------------------------------------------------------------------------------- input

    def _read_seeds(self, seed: Any) -> list[int | None]:
        """One seed a game; None where the game goes on with its stream."""
        if seed is None:
            if self._seeded:
                return [None] * self.num_envs
            seed = np.random.SeedSequence().entropy if self._seed is None else self._seed
        if isinstance(seed, Sequence | np.ndarray) and not isinstance(seed, str):
            if len(seed) != self.num_envs:
                raise OptionError(f"{self}: reset(seed=...) has {len(seed)} seeds for {self.num_envs} games")
            if None in seed and not self._seeded:
                raise OptionError(f"{self}: the first reset() needs a seed for every game, or none at all")
            return list(seed)
        first = _whole(seed, "seed", 0)
        return [first + i for i in range(self.num_envs)]

    def _read_setups(self, options: Any) -> list[tuple[np.ndarray, dict[str, Any]] | None]:
        """One start a game: kernel state ``[1]`` and setup; None where it is to be dealt."""
        if options is not None and not isinstance(options, Mapping):
            raise OptionError(f"{self}: reset(options=...) takes a dict such as {{'setup': ...}}, not {options!r:.60}")
        if options and "reset_mask" in options:
            raise OptionError(f"{self}: games restart by themselves; reset(options={{'reset_mask': ...}}) does not fit")
        setups = options.get("setup") if options else None
        if not isinstance(setups, Sequence):
            return [None if setups is None else self._read_setup(setups, "")] * self.num_envs
        if len(setups) != self.num_envs:
            raise OptionError(f"{self}: reset(options=...) has {len(setups)} setups for {self.num_envs} games")
        return [None if one is None else self._read_setup(one, f" of game {i}") for i, one in enumerate(setups)]

    def _read_setup(self, setup: Any, where: str) -> tuple[np.ndarray, dict[str, Any]]:
        state = self.game.from_setup(setup)
        if state.is_terminal():
            raise SetupError(f"{self}: the setup{where} is over before anybody can act")
        return state.array, state.setup()

    def _read_actions(self, actions: Any) -> np.ndarray:
        """The actions as int64 ``[B]``."""
        array = np.asarray(actions)
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            raise IllegalActionError(
                f"{self}: step() takes {self.num_envs} whole numbers, not {array.dtype}{list(array.shape)}"
            )
        return np.ascontiguousarray(array, np.int64)

    def _illegal(self, index: int, chosen: np.ndarray) -> IllegalActionError:
        legal = np.flatnonzero(self.action_masks[index]).tolist()
        array = self._states[index : index + 1]
        some = ", ".join(f"{a} ({self.game.action_to_string(array, a)})" for a in legal[:4])
        more = f", ... ({len(legal)} in all)" if len(legal) > 4 else ""
        return IllegalActionError(
            f"{self}: action {chosen[index]} of game {index} is not legal for player {self.current_players[index]}; "
            f"legal: {some}{more}"
        )

    # --------------------------------------------------------------------------------------------------------- forms

    def __repr__(self) -> str:
        return f"VectorEnv({str(self.game)!r}, num_envs={self.num_envs})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TrilithonError(f"{self}: a vector environment cannot be copied or pickled")


def environment_limit(game: Game) -> Limit | None:
    """Return what the game's own AEC environment calls a truncation; None where no limit cuts games off."""
    module = f"trilithon.envs.{game.name}_v0"
    try:
        environment = import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None  # a game from outside
    return environment.raw_env(**game.options).ended_by_limit


def _read_only(array: np.ndarray) -> np.ndarray:
    """The same memory, which cannot be written through what is returned."""
    view = array.view()
    view.flags.writeable = False
    return view


def _whole(value: Any, name: str, low: int, high: int | None = None) -> int:
    """A whole number ``low..high``."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if number < low or (high is not None and number > high):
        allowed = f"{low}..{high}" if high is not None else f">= {low}"
        raise OptionError(f"VectorEnv: {name} = {value!r:.40} is not allowed; allowed: a whole number {allowed}")
    return number
