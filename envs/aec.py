"""Any game of `trilithon.core` as a PettingZoo AEC environment; no game is named here.

Every player is an agent, ``player_0`` and so on. Chance is no agent: the environment resolves it with its own seeded
generator right after the action that led to it, so the selected agent is always a player who can act. Observations
are ``{"observation": float32, "action_mask": int8}``; who does not move has a mask of zeros. Rewards are zero until the
end and then the game's returns.
"""

import math
import operator
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from trilithon.core import verbs
from trilithon.core.errors import IllegalActionError, OptionError, SetupError
from trilithon.core.game import Game, State
from trilithon.core.rng import game_streams
from trilithon.core.verbs import CHANCE, TERMINAL
from trilithon.envs.rendering import RENDER_MODES, check_rendering, show
from trilithon.envs.saving import SavedGame
from trilithon.envs.stepping import advance, draw_action, draw_outcome, look, watch
from trilithon.envs.timer import TurnTimer

Observation = dict[str, np.ndarray]


class GameEnv(AECEnv[str, Observation, int]):
    """A game as an AEC environment; see docs/environments.md for what is promised.

    `ended_by_limit` says of an ended game (kernel state ``[1]``) whether a limit cut it off, which is then a truncation
    and not a termination. `turn_time`, in seconds of `clock`, is what a player has for an action: one who takes longer
    has a uniformly random legal action played instead. `observer` is the seat whose view `render` shows, None for all.

    `state`, `game_state` and `save_state` hold the hidden cards of all players: they are for training code and for
    whoever runs the match, never for an agent.
    """

    def __init__(
        self,
        game: Game,
        name: str,
        render_mode: str | None = None,
        turn_time: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        observer: int | None = None,
        ended_by_limit: Callable[[Game, np.ndarray], bool] | None = None,
    ) -> None:
        super().__init__()
        players = game.num_players()
        check_rendering(name, game, render_mode, observer)
        self.game = game
        modes = list(RENDER_MODES)
        self.metadata = {"name": name, "render_modes": modes, "is_parallelizable": False, "render_fps": 1}
        self.render_mode = render_mode
        self.observer = observer
        self.ended_by_limit = ended_by_limit
        self.possible_agents = [f"player_{seat}" for seat in range(players)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._num_actions = game.num_distinct_actions()
        self._max_outcomes = game.max_chance_outcomes()
        shape = game.observation_tensor_shape()
        self.observation_spaces = {agent: _observation_space(shape, self._num_actions) for agent in self._seats}
        self.action_spaces = {agent: spaces.Discrete(self._num_actions) for agent in self._seats}
        self.state_space = spaces.Box(-1.0, 1.0, (players * math.prod(shape),), np.float32)
        self._rng: Any = None  # uint64[1], what chance and later setups are drawn from
        self._setup: dict[str, Any] = {}
        self._steps: list[int] = []  # actions since the setup, chance's included
        self._timed_out: list[int] = []  # numbers of the steps that were played for a player whose time ran out
        self._states: Any = None  # kernel state [1]
        self._timer = None if turn_time is None else TurnTimer(name, turn_time, clock)
        self._player = TERMINAL  # who moves; never CHANCE between calls
        # What the mover sees; handed out as copies, so that nobody can change what is legal.
        self._observation = np.zeros(shape, np.float32)
        self._mask = np.zeros(self._num_actions, np.int8)

    # ------------------------------------------------------------------------------------------------------- spaces

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the agent's observation space, the same object every time."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the agent's action space, the same object every time."""
        return self.action_spaces[agent]

    # -------------------------------------------------------------------------------------------------------- play

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Start a new game: from `seed`, or where the stream of random numbers stands; the game's options stay.

        ``options={"setup": ...}`` starts from that setup (docs/records.md) instead of a drawn one; other keys are
        ignored. `SetupError` and `OptionError` leave the environment as it was.
        """
        if options is not None and not isinstance(options, Mapping):
            raise OptionError(f"{self}: reset(options=...) takes a dict such as {{'setup': ...}}, not {options!r:.60}")
        if seed is None and self._rng is not None:
            setup_rng = rng = self._rng.copy()
        else:
            setup_rng, rng = game_streams(np.random.SeedSequence().entropy if seed is None else seed)
        setup = options.get("setup") if options else None
        if setup is None:
            states, setup = self.game.deal(setup_rng)
        else:
            state = self.game.from_setup(setup)
            states, setup = state.array, state.setup()
        self._rng, self._setup, self._states = rng, setup, states
        self._steps, self._timed_out = [], []
        self._seat_everyone()
        self._begin_turn(look(states, self._observation, self._mask))

    def _seat_everyone(self) -> None:
        """All agents at the table, nothing won and nothing known yet."""
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, Any] = {agent: {"timed_out": False, "chance": []} for agent in self.agents}

    def step(self, action: Any) -> None:
        """Play the selected agent's action; None once its game is over. `IllegalActionError` names a few legal ones."""
        player = self._player
        if player < 0:
            self._leave(action)
            return
        overrun = self._timer is not None and self._timer.overrun()
        if overrun:
            number = int(draw_action(self._states, self._rng, self._num_actions))
            self._timed_out.append(len(self._steps))
        else:
            number = self._check_action(action)
        self.infos[self.agent_selection] = {"timed_out": overrun, "chance": []}
        self._steps.append(number)
        self._begin_turn(advance(self._states, number, self._observation, self._mask))

    def _check_action(self, action: Any) -> int:
        """Return a legal action as an int."""
        try:
            number = operator.index(action)
        except TypeError:
            raise self._illegal(action) from None
        if not (0 <= number < self._num_actions and self._mask[number]):
            raise self._illegal(action)
        return number

    def _illegal(self, action: Any) -> IllegalActionError:
        legal = np.flatnonzero(self._mask).tolist()
        some = ", ".join(f"{a} ({self.game.action_to_string(self._states, a)})" for a in legal[:4])
        more = f", ... ({len(legal)} in all)" if len(legal) > 4 else ""
        return IllegalActionError(
            f"{self}: action {action!r:.60} is not legal for {self.agent_selection}; legal: {some}{more}"
        )

    def _begin_turn(self, player: int) -> None:
        """Resolve chance if it moves next, then select who moves, or end the game."""
        if player == CHANCE:
            player = self._resolve_chance()
        self._player = player
        if player >= 0:
            self.agent_selection = self.possible_agents[player]
        else:
            self._end()
        if self._timer is not None:
            self._timer.start()
        if self.render_mode == "human":
            self.render()

    def _resolve_chance(self) -> int:
        """Draw outcomes until a player moves or the game ends; each is told to the agents who may see it."""
        player = CHANCE
        while player == CHANCE:
            outcome = int(draw_outcome(self._states, self._rng, self._max_outcomes))
            self._tell(self._states, outcome)
            self._steps.append(outcome)
            player = advance(self._states, outcome, self._observation, self._mask)
        return player

    def _tell(self, states: np.ndarray, outcome: int) -> None:
        """Add a chance outcome, about to happen in `states`, to the infos of the agents who may see it."""
        for seat, agent in enumerate(self.possible_agents):
            if not self.game.is_hidden(states, outcome, seat):
                info = self.infos[agent]
                # A new dict: the old one may be in somebody's hands.
                self.infos[agent] = {**info, "chance": [*info["chance"], outcome]}

    def _end(self) -> None:
        """Pay the returns; a game that a limit cut off is truncated, any other is terminated."""
        returns = np.zeros(len(self.possible_agents))
        verbs.returns(self._states[0], returns)
        truncated = self.ended_by_limit is not None and self.ended_by_limit(self.game, self._states)
        self.terminations = dict.fromkeys(self.agents, not truncated)
        self.truncations = dict.fromkeys(self.agents, truncated)
        self.rewards = dict(zip(self.agents, returns.tolist(), strict=True))
        self._cumulative_rewards = dict(self.rewards)
        self.agent_selection = self.agents[0]

    def _leave(self, action: Any) -> None:
        """The step of an agent whose game is over: it leaves, and the next one is selected."""
        agent = self.agent_selection
        if action is not None:
            raise IllegalActionError(f"{self}: the game is over for {agent}: step(None) or reset(), not {action!r:.60}")
        for table in (self.terminations, self.truncations, self.rewards, self._cumulative_rewards, self.infos):
            del table[agent]
        self.agents.remove(agent)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        if self.agents:
            self.agent_selection = self.agents[0]

    # ------------------------------------------------------------------------------------------------- observations

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Return observation, reward, terminated, truncated and info of the selected agent."""
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        """Yield the selected agent until all have left (a generator: PettingZoo's iterator costs more than a turn)."""
        while self.agents and max_iter > 0:
            max_iter -= 1
            yield self.agent_selection

    def observe(self, agent: str) -> Observation:
        """Return what `agent` sees now, in fresh arrays; the mask is all zeros unless it is the agent's turn."""
        seat = self._seats[agent]
        if seat == self._player:
            return {"observation": self._observation.copy(), "action_mask": self._mask.copy()}
        observation = np.empty_like(self._observation)
        watch(self._states, seat, observation)
        return {"observation": observation, "action_mask": np.zeros(self._num_actions, np.int8)}

    def state(self) -> np.ndarray:
        """Return what all players see together, float32: every player's observation, seat by seat.

        Privileged: it holds every hidden hand.
        """
        seen = np.zeros((len(self._seats), *self._observation.shape), np.float32)
        for seat in self._seats.values():
            watch(self._states, seat, seen[seat])
        return seen.ravel()

    def game_state(self) -> State:
        """Return the present position with its history as a state of the core. Privileged, as `state` is."""
        state = self.game.from_setup(self._setup)
        for action in self._steps:
            state.apply_action(action)
        return state

    @property
    def timed_out_steps(self) -> list[int]:
        """Numbers of this game's steps, chance counted, that were played for a player whose time ran out."""
        return list(self._timed_out)

    # ------------------------------------------------------------------------------------------------------- render

    def render(self) -> str | np.ndarray | None:
        """Show the position as `render_mode` says and `observer` sees it (``human``: reset and step do it too)."""
        return show(str(self), self.game, self._states, self.render_mode, self.observer)

    def close(self) -> None:
        """Nothing is held open."""

    # ----------------------------------------------------------------------------------------------- save, restore

    def save_state(self) -> bytes:
        """Return the game in progress for `restore_state`. Privileged, as `state` is."""
        return SavedGame(
            environment=str(self),
            game=str(self.game),
            setup=self._setup,
            steps=self._steps,
            timed_out=self._timed_out,
            generator=int(self._rng[0]),
            agents=len(self.agents),
            seconds=0.0 if self._timer is None else self._timer.seconds(),
        ).to_bytes()

    def restore_state(self, data: bytes) -> None:
        """Go on exactly where `save_state` was called, in this or another process, with the same game and options.

        The bytes are checked by replaying them; `SetupError` or `IllegalActionError` leave the environment as it was.
        """
        saved = SavedGame.from_bytes(data, str(self), str(self.game))
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._replay(saved)
        self.__dict__.update(other.__dict__)

    def _replay(self, saved: SavedGame) -> None:
        """Take over a saved game; until all is checked, nothing that another environment shares is changed in place."""
        state = self.game.from_setup(saved.setup)
        self._seat_everyone()
        timed_out = set(saved.timed_out)
        for number, action in enumerate(saved.steps):
            player = state.current_player()
            if player == CHANCE:
                self._tell(state.array, action)
            elif player >= 0:
                self.infos[self.possible_agents[player]] = {"timed_out": number in timed_out, "chance": []}
                timed_out.discard(number)
            state.apply_action(action)
        if state.is_chance_node() or timed_out:
            raise SetupError(f"{self}: the saved steps end inside a chance event, or chance is said to have timed out")
        players = len(self.possible_agents)
        if saved.agents > players or (saved.agents < players and not state.is_terminal()):
            raise SetupError(f"{self}: the saved agents = {saved.agents} do not fit the position")
        self._setup, self._states = state.setup(), state.array
        self._steps, self._timed_out = list(saved.steps), list(saved.timed_out)
        self._rng = np.array([saved.generator], np.uint64)
        self._begin_turn(look(self._states, self._observation, self._mask))
        if self._timer is not None:
            self._timer.start(saved.seconds)
        for _ in range(players - saved.agents):
            self._leave(None)

    def __getstate__(self) -> dict[str, Any]:
        # A kernel state may hold numbers that mean something in this process alone, such as rows of a catalogue.
        return {**self.__dict__, "_states": None}

    def __setstate__(self, content: dict[str, Any]) -> None:
        self.__dict__.update(content)
        if self._rng is not None:
            self._states = self.game.encode(self._setup)
            for action in self._steps:
                verbs.apply_action(self._states[0], action)


def _observation_space(shape: tuple[int, ...], num_actions: int) -> spaces.Dict:
    """What `GameEnv.observe` returns."""
    observation = spaces.Box(-1.0, 1.0, shape, np.float32)
    return spaces.Dict({"observation": observation, "action_mask": spaces.Box(0, 1, (num_actions,), np.int8)})
