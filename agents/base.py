"""The agent base class: no algorithm ever holds a hidden card.

`Agent.act` and `Agent.analyse` are final. They hand the algorithm `state.view(mover, rng)`: a world redealt from what
the mover cannot know, as a new root without the true history. What an algorithm wants to know beyond that it must
sample itself, from the view.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np

from trilithon.agents.analysis import Analysis
from trilithon.core.errors import OptionError
from trilithon.core.game import Game, State
from trilithon.core.options import Option, validate
from trilithon.core.rng import next_uint64
from trilithon.core.rng import seed as make_rng
from trilithon.core.spec import format_spec

_FINAL = ("act", "analyse", "act_batch", "analyse_batch", "reset", "_view")


class Agent(ABC):
    """An agent with its options fixed, for one game; one object serves one seat of one game or a batch of games."""

    name: ClassVar[str]
    doc: ClassVar[str]
    option_table: ClassVar[tuple[Option, ...]] = ()

    def __init__(self, game: Game | None = None, seed: Any = 0, /, **options: Any) -> None:
        self.options = validate(self.option_table, options, self.name)
        self.rng = make_rng(seed)
        self._game: Game | None = None
        if game is not None:
            self.reset(game, seed)

    @property
    def spec(self) -> str:
        """The text that `load_agent` reads back to an equal agent."""
        changed = {o.name: self.options[o.name] for o in self.option_table if self.options[o.name] != o.default}
        return format_spec(self.name, changed)

    @property
    def game(self) -> Game:
        """The game this agent was reset for."""
        if self._game is None:
            raise OptionError(f"{self.name}: reset(game) comes before act")
        return self._game

    def __repr__(self) -> str:
        return f"load_agent({self.spec!r})"

    @final
    def reset(self, game: Game | None = None, seed: Any = None) -> None:
        """Begin a new game: a game (kept where None) and a seed for the agent's own generator (kept where None)."""
        if game is not None and game != self._game:
            self._game = game
            self.prepare()
        if seed is not None:
            self.rng = make_rng(seed)
        self.forget()

    @final
    def act(self, state: State) -> int:
        """Return an action for the player to move."""
        return self.act_batch([state], [self.rng])[0]

    @final
    def analyse(self, state: State) -> Analysis:
        """Return the agent's opinion; its `action` is what `act` would have played."""
        return self.analyse_batch([state], [self.rng])[0]

    @final
    def act_batch(self, states: Sequence[State], rngs: Sequence[np.ndarray] | None = None) -> list[int]:
        """Return an action for the mover of each state; ``rngs[i]``, uint64[1], is advanced for ``states[i]`` alone.

        Without `rngs` each state gets a generator of its own from the agent's.

        An agent's choice for one state depends on that state and its generator, not on the company it is in (exact
        for agents without networks; a network's last bits may differ with the batch, see docs/learning.md).
        """
        rngs = self._generators(states, rngs)
        return self.choose([self._view(state, rng) for state, rng in zip(states, rngs, strict=True)], rngs)

    @final
    def analyse_batch(self, states: Sequence[State], rngs: Sequence[np.ndarray] | None = None) -> list[Analysis]:
        """Return an `Analysis` of each state, as `act_batch`."""
        start = time.perf_counter()
        rngs = self._generators(states, rngs)
        views = [self._view(state, rng) for state, rng in zip(states, rngs, strict=True)]
        results = self.examine(views, rngs)
        for result in results:
            result.seconds = (time.perf_counter() - start) / len(results)
        return results

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = [name for name in _FINAL if name in cls.__dict__]
        if own:
            raise TypeError(
                f"{cls.__name__} may not define {own[0]}: it would be handed hidden cards; see examine, choose"
            )

    def _generators(self, states: Sequence[State], rngs: Sequence[np.ndarray] | None) -> list[np.ndarray]:
        if rngs is not None:
            return list(rngs)
        return [np.array([next_uint64(self.rng)], np.uint64) for _ in states]

    def _view(self, state: State, rng: np.ndarray) -> State:
        player = state.current_player()
        if player < 0:
            raise OptionError(f"{self.name}: no player is to move ({'chance' if player == -1 else 'the game is over'})")
        if state.game != self.game:
            raise OptionError(f"{self.name}: was reset for {self.game}, not for {state.game}")
        return state.view(player, rng)

    # ------------------------------------------------------------------------------------- what an algorithm fills in

    def prepare(self) -> None:
        """Get ready for a new `self.game`: allocate, load, compile. `OptionError` where the game does not fit."""

    def forget(self) -> None:
        """Drop what was remembered of the game before (trees, tables)."""

    @abstractmethod
    def examine(self, views: list[State], rngs: list[np.ndarray]) -> list[Analysis]:
        """Return an `Analysis` of each view; all randomness comes from its own generator."""

    def choose(self, views: list[State], rngs: list[np.ndarray]) -> list[int]:
        """Return an action for each view: that of `examine`, or the same found faster."""
        return [analysis.action for analysis in self.examine(views, rngs)]
