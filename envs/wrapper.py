"""The one wrapper around an environment: it says what is wrong with a call, and costs little while nothing is.

PettingZoo's three stock wrappers (illegal actions, bounds, order) cost more than the game itself: every attribute that
they pass on goes through a Python call for each. Here bounds and legality are one look-up in the mask of the wrapped
environment, which refuses an illegal action in any case, and the attributes that loops read are properties.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo.utils.wrappers import BaseWrapper

from trilithon.core.errors import OptionError, TrilithonError
from trilithon.envs.aec import GameEnv, Observation

# What an environment has from its first reset on.
_AFTER_RESET = ("agents", "agent_selection", "rewards", "terminations", "truncations", "infos", "num_agents")


class OrderError(TrilithonError):
    """A call that is not possible now: before the first reset, or after the last agent has left."""


def _passed_on(name: str) -> property:
    """An attribute of the wrapped environment."""
    return property(lambda self: getattr(self.env, name), doc=f"The wrapped environment's {name}.")


class CheckedEnv(BaseWrapper[str, Observation, int]):
    """Checks order, bounds and legality of calls on a `GameEnv`.

    `OrderError` for a call before `reset` or after the end, `IllegalActionError` for an action that is out of bounds
    or illegal, `OptionError` for an agent that does not exist; attributes read before `reset` are an AttributeError.
    """

    agents = _passed_on("agents")
    agent_selection = _passed_on("agent_selection")
    rewards = _passed_on("rewards")
    terminations = _passed_on("terminations")
    truncations = _passed_on("truncations")
    infos = _passed_on("infos")
    _cumulative_rewards = _passed_on("_cumulative_rewards")

    def __init__(self, env: GameEnv) -> None:
        super().__init__(env)
        self._has_reset = False
        self._calls = 0  # of step, reset and restore_state

    def __getattr__(self, name: str) -> Any:
        """Pass on what the wrapped environment has; before `reset` say so."""
        if name in _AFTER_RESET and not self._has_reset:
            raise AttributeError(f"{self.env}: {name} is not known before reset()")
        return super().__getattr__(name)

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """See `GameEnv.reset`."""
        self.env.reset(seed, options)
        self._has_reset = True
        self._calls += 1

    def step(self, action: Any) -> None:
        """Play the selected agent's action; None once its game is over."""
        if not self._has_reset or not self.env.agents:
            self._refuse("step()")
        self.env.step(action)
        self._calls += 1

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Return observation, reward, terminated, truncated and info of the selected agent."""
        if not self._has_reset or not self.env.agents:
            self._refuse("last()")
        return self.env.last(observe)

    def observe(self, agent: str) -> Observation:
        """Return what `agent` sees now."""
        self._check_reset("observe()")
        self._check_agent(agent)
        return self.env.observe(agent)

    def state(self) -> np.ndarray:
        """See `GameEnv.state`: privileged."""
        self._check_reset("state()")
        return self.env.state()

    def render(self) -> str | np.ndarray | None:
        """See `GameEnv.render`."""
        self._check_reset("render()")
        return self.env.render()

    def save_state(self) -> bytes:
        """See `GameEnv.save_state`: privileged."""
        self._check_reset("save_state()")
        return self.env.save_state()

    def restore_state(self, data: bytes) -> None:
        """See `GameEnv.restore_state`."""
        self.env.restore_state(data)
        self._has_reset = True
        self._calls += 1

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the agent's observation space, the same object every time."""
        self._check_agent(agent)
        return self.env.observation_space(agent)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the agent's action space, the same object every time."""
        self._check_agent(agent)
        return self.env.action_space(agent)

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        """Yield the selected agent until all have left; `OrderError` where a round of the loop does not step."""
        self._check_reset("agent_iter()")
        return self._turns(max_iter)

    def _turns(self, max_iter: int) -> Iterator[str]:
        env = self.env
        while env.agents and max_iter > 0:
            max_iter -= 1
            calls = self._calls
            yield env.agent_selection
            if self._calls == calls:
                raise OrderError(f"{env}: a loop over agent_iter() must call step() or reset() every time")

    def _check_reset(self, call: str) -> None:
        if not self._has_reset:
            self._refuse(call)

    def _refuse(self, call: str) -> None:
        when = "after the last agent has left" if self._has_reset else "before reset()"
        raise OrderError(f"{self.env}: {call} {when}; call reset() first")

    def _check_agent(self, agent: Any) -> None:
        if agent not in self.env.possible_agents:
            known = ", ".join(self.env.possible_agents)
            raise OptionError(f"{self.env}: there is no agent {agent!r:.60}; there are {known}")

    def __str__(self) -> str:
        return str(self.env)
