"""Game (facts and options) and State (the Python face of a kernel state), in OpenSpiel's spelling.

A game class fills in the hooks of `Game`; `State` is the same for all games. A state is the game's setup and its list
of actions, chance included; no generator lives in it, so a copy can never foresee a die or a draw.
"""

import copy
import json
import operator
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from trilithon.core import verbs
from trilithon.core.errors import IllegalActionError, OptionError, SetupError, TrilithonError
from trilithon.core.options import Option, validate
from trilithon.core.rng import seed as make_rng
from trilithon.core.solving import ExactSolver
from trilithon.core.spec import format_spec
from trilithon.core.verbs import CHANCE, TERMINAL

_MAGIC = b"trilithon-state-1\n"
_MAX_BYTES = 4_000_000
_HEAD = 2  # entries of a player's observations before the first step: who, and the start as seen


@dataclass(frozen=True)
class Layout:
    """How a game's observation and actions are built, for networks that use their structure.

    `blocks` names parts of the flat observation: name -> (offset, shape): ``cells`` [C, F], whose lattice is
    `neighbours`, int ``[C, k]``, -1 beyond the edge; item blocks [I, F] (feature 0: the item is there); flat blocks
    [F]. `items` are the item blocks that actions use; `graded` lists each block's columns that are amounts, not
    flags. `action_items` and `action_cells`, int ``[num_distinct_actions]``, say which item (row of the blocks in
    `items`, one after another) meets which cell; -1 where none.
    """

    blocks: Mapping[str, tuple[int, tuple[int, ...]]]
    graded: Mapping[str, tuple[int, ...]]
    neighbours: np.ndarray
    items: tuple[str, ...]
    action_items: np.ndarray
    action_cells: np.ndarray


class Game(ABC):
    """A game with its options fixed: facts, setups and the hooks that `State` needs."""

    name: ClassVar[str]
    doc: ClassVar[str]
    option_table: ClassVar[tuple[Option, ...]]
    dtype: ClassVar[np.dtype]

    def __init__(self, /, **options: Any) -> None:
        self.options = validate(self.option_table, options, self.name)
        self.check_options()

    def check_options(self) -> None:
        """Raise `OptionError` for options that do not go together."""

    def __str__(self) -> str:
        changed = {o.name: self.options[o.name] for o in self.option_table if self.options[o.name] != o.default}
        return format_spec(self.name, changed)

    def __repr__(self) -> str:
        return f"load_game({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Game) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    # ------------------------------------------------------------------------------------------------------- facts

    @abstractmethod
    def num_players(self) -> int:
        """Number of players."""

    @abstractmethod
    def num_distinct_actions(self) -> int:
        """Players' actions are 0 .. this - 1."""

    @abstractmethod
    def observation_tensor_shape(self) -> tuple[int, ...]:
        """Shape of `State.observation_tensor`."""

    @abstractmethod
    def max_game_length(self) -> int:
        """Most player actions a game can have, chance not counted."""

    @abstractmethod
    def max_chance_outcomes(self) -> int:
        """Chance's actions are 0 .. this - 1; 0 where nothing is left to chance after the setup."""

    @abstractmethod
    def min_utility(self) -> float:
        """Least return of a player."""

    @abstractmethod
    def max_utility(self) -> float:
        """Greatest return of a player."""

    def margin_unit(self) -> tuple[float, str]:
        """What a margin of 1 (`State.margin`) is in the game's own unit, such as ``(9.0, "Lithos")``."""
        return 1.0, "margin"

    @abstractmethod
    def layout(self) -> Layout:
        """The structure of observation and actions."""

    @abstractmethod
    def outcomes(self) -> np.ndarray:
        """Return float64 ``[K, n]``: the ways a game can end, as returns of the observer, then clockwise."""

    def symmetries(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (int ``[G, O]``, int ``[G, A]``), identity first: maps under which the game plays the same.

        Under symmetry g, entry i of the new observation is entry ``[g, i]`` of the old one, and new action a is old
        action ``[g, a]``.
        """
        observation = np.arange(int(np.prod(self.observation_tensor_shape())))
        return observation[None], np.arange(self.num_distinct_actions())[None]

    def solver(self) -> ExactSolver | None:
        """Return a new exact solver made for this game, None where only the generic one is to be had."""
        return None

    # ------------------------------------------------------------------------------------------------------- hooks

    @abstractmethod
    def new_setup(self, seed: Any) -> dict[str, Any]:
        """Draw a setup (a JSON object, see docs/records.md) from an int seed or a generator."""

    def setup_by_hand(self, seed: Any, ask: Callable[[int | None, str, Callable[[str], Any]], Any]) -> dict[str, Any]:
        """Return a setup of which people fill in what the options leave to be given by hand; by default nothing.

        ``ask(player, prompt, read)`` shows `prompt` to `player` alone (None: to all) and returns ``read(typed)``; it
        asks again where `read` raises a `TrilithonError`. Everything else is drawn from `seed`.
        """
        return self.new_setup(seed)

    @abstractmethod
    def encode(self, setup: Mapping[str, Any]) -> np.ndarray:
        """Return the kernel state ``[1]`` at the start of `setup`; `SetupError` says what is wrong with it."""

    def canonical_setup(self, setup: Mapping[str, Any], array: np.ndarray) -> dict[str, Any]:
        """Return a copy of a setup that `encode` accepted, without what it ignores; equal starts give equal copies."""
        return copy.deepcopy(dict(setup))

    def deal(self, rng: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """Return the kernel state ``[1]`` and setup of a new game, as `new_setup` draws it (a game may be faster)."""
        setup = self.new_setup(rng)
        return self.encode(setup), setup

    @abstractmethod
    def position_setup(self, array: np.ndarray, setup: Mapping[str, Any]) -> dict[str, Any]:
        """Return the position in `array` as a setup; `setup` is how its game started."""

    @abstractmethod
    def resampled_setup(self, setup: Mapping[str, Any], world: np.ndarray, player: int) -> dict[str, Any]:
        """Return `setup` with what `player` cannot know replaced by what `world` holds."""

    @abstractmethod
    def is_hidden(self, array: np.ndarray, action: int, player: int) -> bool:
        """Whether `player` does not see this chance outcome, about to happen in `array`."""

    @abstractmethod
    def resampled_steps(
        self, world: np.ndarray, steps: list[tuple[int, int]], hidden: frozenset[int]
    ) -> list[tuple[int, int]]:
        """Return the steps with the outcomes of the `hidden` ones as they must have been in `world`."""

    @abstractmethod
    def has_hidden_information(self, array: np.ndarray, player: int) -> bool:
        """Whether anything in `array` is unknown to `player` now."""

    @abstractmethod
    def to_dict(self, array: np.ndarray) -> dict[str, Any]:
        """Return the position as a JSON object."""

    @abstractmethod
    def to_text(self, array: np.ndarray, player: int | None = None) -> str:
        """Return the position as text; with a player, what that player sees and nothing else."""

    @abstractmethod
    def action_to_string(self, array: np.ndarray, action: int) -> str:
        """Return an action, a player's or chance's, as a person would type it."""

    @abstractmethod
    def string_to_action(self, array: np.ndarray, text: str) -> int:
        """Read what `action_to_string` writes; `IllegalActionError` says what can be typed."""

    @abstractmethod
    def step_to_string(self, array: np.ndarray, action: int, player: int) -> str:
        """Return what `player` sees of an action that is about to be applied to `array`."""

    @abstractmethod
    def draw(self, array: np.ndarray, observer: int | None = None, **style: Any) -> str:
        """Return the position as SVG, everything shown or as one seat sees it."""

    # ------------------------------------------------------------------------------------------------------ states

    def new_initial_state(self, seed: Any) -> "State":
        """Return the start of a new game; its setup is drawn from `seed` (an int or a ``uint64[1]`` generator)."""
        array, setup = self.deal(make_rng(seed))
        return State(self, array, setup)

    def from_setup(self, setup: Mapping[str, Any]) -> "State":
        """Return the state that a setup describes; `SetupError` says what is wrong with it."""
        if not isinstance(setup, Mapping):
            raise SetupError(f"{self.name}: a setup is an object with first_player and more, not {setup!r:.60}")
        array = self.encode(setup)
        return State(self, array, self.canonical_setup(setup, array))

    def from_bytes(self, data: bytes) -> "State":
        """Return the state that `State.to_bytes` wrote, by replaying it; `SetupError` where it does not fit."""
        if len(data) > _MAX_BYTES or not data.startswith(_MAGIC):
            raise SetupError(f"{self.name}: these {len(data)} bytes are not a state of this version")
        checksum, _, body = data[len(_MAGIC) :].partition(b"\n")
        if checksum != _checksum(body):
            raise SetupError(f"{self.name}: the state's bytes are damaged (checksum)")
        try:
            content = json.loads(body)
            spec, setup, steps = content["game"], content["setup"], content["steps"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise SetupError(f"{self.name}: the state's bytes do not hold game, setup and steps") from None
        if spec != str(self):
            raise SetupError(f"the state belongs to {spec!r:.80}, not to {str(self)!r}")
        state = self.from_setup(setup)
        if not isinstance(steps, list):
            raise SetupError(f"{self.name}: the state's steps are not a list")
        for action in steps:
            state.apply_action(action)
        return state


class State:
    """A position with its history; see the table in docs/states.md. Made by `Game`, never directly."""

    def __init__(
        self,
        game: Game,
        array: np.ndarray,
        setup: dict[str, Any],
        steps: list[tuple[int, int]] | None = None,
    ) -> None:
        self.game = game
        self.array = array  # kernel state [1]; changed in place by apply_action
        self._setup = setup
        self._steps: list[tuple[int, int]] = steps if steps is not None else []
        self._root = len(self._steps)  # steps before it happened before this state became a root
        self._before: list[np.ndarray] = []  # the kernel states before each step since the root
        self._viewer: int | None = None
        self._hidden: frozenset[int] = frozenset()  # steps whose outcome the viewer did not see
        self._seen: dict[int, list[str]] = {}  # by player: the view of the start, then what was seen of each step

    # ----------------------------------------------------------------------------------------------------- queries

    def current_player(self) -> int:
        """Return the player to move, CHANCE (-1) or TERMINAL (-4)."""
        return int(self.array["current_player"][0])

    def is_chance_node(self) -> bool:
        """Whether chance moves next."""
        return self.current_player() == CHANCE

    def is_terminal(self) -> bool:
        """Whether the game has ended."""
        return self.current_player() == TERMINAL

    def legal_actions(self) -> list[int]:
        """Return the mover's legal actions, ascending; at chance the outcomes; empty at the end."""
        if self.is_chance_node():
            return [action for action, _ in self.chance_outcomes()]
        out = np.empty(self.game.num_distinct_actions() + 1, np.int32)
        return out[: verbs.legal_actions(self.array[0], out)].tolist()

    def legal_actions_mask(self) -> np.ndarray:
        """Return bool ``[num_distinct_actions]``, all False unless a player is to move."""
        mask = np.zeros(self.game.num_distinct_actions(), bool)
        if not self.is_chance_node():
            mask[self.legal_actions()] = True
        return mask

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return (outcome, probability), ascending; empty unless chance is to move."""
        size = self.game.max_chance_outcomes() + 1
        out, probabilities = np.empty(size, np.int32), np.empty(size, np.float64)
        n = verbs.chance_outcomes(self.array[0], out, probabilities) if self.is_chance_node() else 0
        return list(zip(out[:n].tolist(), probabilities[:n].tolist(), strict=True))

    def returns(self) -> np.ndarray:
        """Return float64 ``[n]``: zeros before the end."""
        out = np.zeros(self.game.num_players(), np.float64)
        if self.is_terminal():
            verbs.returns(self.array[0], out)
        return out

    def rewards(self) -> np.ndarray:
        """Return float64 ``[n]``: what the last step brought (zeros until the step that ends the game)."""
        return self.returns()

    def margin(self) -> np.ndarray:
        """Return float64 ``[n]`` in [-1, 1]: by how much each player leads."""
        out = np.zeros(self.game.num_players(), np.float64)
        verbs.margin(self.array[0], out)
        return out

    def heuristic(self) -> np.ndarray:
        """Return float64 ``[n]`` in [-1, 1]: the yardstick's value of the position for each player."""
        out = np.zeros(self.game.num_players(), np.float64)
        verbs.heuristic(self.array[0], out)
        return out

    def history(self) -> list[list[int | None]]:
        """Return ``[[player, action], ...]``, chance as -1; in a view, outcomes the player did not see are None."""
        return [[p, None if i in self._hidden else a] for i, (p, a) in enumerate(self._steps)]

    def observation_tensor(self, player: int) -> np.ndarray:
        """Return float32 ``observation_tensor_shape()``: the network's input from `player`'s side."""
        out = np.zeros(self.game.observation_tensor_shape(), np.float32)
        verbs.observe(self.array[0], self._check_player(player), out)
        return out

    # ----------------------------------------------------------------------------------------------------- actions

    def apply_action(self, action: Any) -> None:
        """Apply a legal action (chance's included) in place; `IllegalActionError` names a few legal ones."""
        legal = self.legal_actions()
        try:
            number = operator.index(action)
        except TypeError:
            number = None
        if number not in legal:
            raise IllegalActionError(self._why_illegal(action, legal))
        self._before.append(copy_of(self.array))
        self._steps.append((self.current_player(), number))
        verbs.apply_action(self.array[0], number)

    def undo_action(self) -> None:
        """Take back the last step; an error at the root (the start, or where a view began)."""
        if not self._before:
            raise IllegalActionError(f"{self.game.name}: there is no action to take back")
        self.array = self._before.pop()
        self._steps.pop()
        for seen in self._seen.values():
            del seen[_HEAD + len(self._steps) :]

    def child(self, action: int) -> "State":
        """Return a copy after `action`."""
        state = self.clone()
        state.apply_action(action)
        return state

    def clone(self) -> "State":
        """Return an independent copy with the same history."""
        state = State(self.game, copy_of(self.array), self._setup, list(self._steps))
        state._root, state._before = self._root, list(self._before)
        state._viewer, state._hidden = self._viewer, self._hidden
        state._seen = {player: list(seen) for player, seen in self._seen.items()}
        return state

    def __deepcopy__(self, memo: dict[int, Any]) -> "State":
        return self.clone()

    def _why_illegal(self, action: Any, legal: list[int]) -> str:
        if not legal:
            return f"{self.game.name}: action {action!r} after the end of the game"
        some = ", ".join(f"{a} ({self.action_to_string(a)})" for a in legal[:4])
        more = f", ... ({len(legal)} in all)" if len(legal) > 4 else ""
        who = "chance" if self.is_chance_node() else f"player {self.current_player()}"
        return f"{self.game.name}: action {action!r} is not legal for {who}; legal: {some}{more}"

    def _check_player(self, player: Any) -> int:
        n = self.game.num_players()
        if isinstance(player, bool) or not isinstance(player, int | np.integer) or not 0 <= player < n:
            raise OptionError(f"{self.game.name}: player {player!r} is not one of 0..{n - 1}")
        return int(player)

    # ------------------------------------------------------------------------------------------------- information

    def information_state_string(self, player: int) -> str:
        """Return all that `player` saw, in order (perfect recall): equal exactly where the player saw the same."""
        return "\n".join([str(self.game), *self._observations(self._check_player(player))])

    def _observations(self, player: int) -> list[str]:
        """The player's view of the start, then of every step."""
        seen = self._seen.get(player)
        if seen is None:
            array = self.game.encode(self._setup)
            seen = self._seen[player] = [f"player {player}", self.game.to_text(array, player)]
            for _, action in self._steps[: self._root]:
                seen.append(self.game.step_to_string(array, action, player))
                verbs.apply_action(array[0], action)
        # The log grows with the game: a view costs what is new, not the whole game again.
        for step in range(len(seen) - _HEAD, len(self._steps)):
            seen.append(self.game.step_to_string(self._before[step - self._root], self._steps[step][1], player))
        return seen

    def resample_from_infostate(self, player: int, rng: Any) -> "State":
        """Return a full state, with a history from its start, that `player` cannot tell from this one."""
        world = self._resample(self._check_player(player), make_rng(rng))
        state = self.game.from_setup(world._setup)
        for _, action in world._steps:
            state.apply_action(action)
        return state

    def view(self, player: int, rng: Any) -> "State":
        """Return what an agent gets: a world sampled for `player`, as a new root with the player's own observations.

        `rng` (an int seed or a ``uint64[1]``, advanced) and the player's information alone decide its bytes, text
        and picture.
        """
        player = self._check_player(player)
        world = self._resample(player, make_rng(rng))
        world._viewer = player
        if world._setup is not self._setup or world._hidden or player in self._seen:
            # The world's own setup and steps would tell another story; where nothing was hidden they tell the same.
            world._seen[player] = list(self._observations(player))
        return world

    def _resample(self, player: int, rng: np.ndarray) -> "State":
        """A world for `player` as a root: redealt position, and the setup and steps that lead to it."""
        array = copy_of(self.array)
        if not self.game.has_hidden_information(self.array, player):
            world = State(self.game, array, self._setup, list(self._steps))
            world._hidden = self._hidden if self._viewer == player else self._hidden_steps(player)
            return world
        verbs.determinize(array[0], player, rng)
        hidden = self._hidden if self._viewer == player else frozenset()
        hidden |= self._hidden_steps(player)
        steps = self.game.resampled_steps(array, self._steps, hidden)
        world = State(self.game, array, self.game.resampled_setup(self._setup, array, player), steps)
        world._hidden = hidden
        return world

    def _hidden_steps(self, player: int) -> frozenset[int]:
        """The steps whose outcome `player` did not see; in the player's own view, those since the root."""
        hidden = set()
        if self._root and self._viewer != player:
            array = self.game.encode(self._setup)
            for step, (actor, action) in enumerate(self._steps[: self._root]):
                if actor == CHANCE and self.game.is_hidden(array, action, player):
                    hidden.add(step)
                verbs.apply_action(array[0], action)
        for array, step in zip([*self._before, self.array], range(self._root, len(self._steps)), strict=False):
            actor, action = self._steps[step]
            if actor == CHANCE and self.game.is_hidden(array, action, player):
                hidden.add(step)
        return frozenset(hidden)

    # ------------------------------------------------------------------------------------------------------- forms

    def action_to_string(self, action: int) -> str:
        """Return an action of the mover (or chance) as a person would type it."""
        return self.game.action_to_string(self.array, action)

    def string_to_action(self, text: str) -> int:
        """Read what `action_to_string` writes, or a number; `IllegalActionError` says what can be typed."""
        text = str(text).strip()
        return int(text) if text.isdecimal() and len(text) < 9 else self.game.string_to_action(self.array, text)

    def __str__(self) -> str:
        return self.game.to_text(self.array)

    def to_text(self, player: int | None = None) -> str:
        """Return the position as text, in full or as `player` sees it."""
        return self.game.to_text(self.array, player)

    def setup(self) -> dict[str, Any]:
        """Return how the game started (in a view: how the sampled world did)."""
        return copy.deepcopy(self._setup)

    def position_setup(self) -> dict[str, Any]:
        """Return the present position as a setup with ``position``; `SetupError` inside a turn and after the end."""
        return self.game.position_setup(self.array, self._setup)

    def to_dict(self) -> dict[str, Any]:
        """Return the position as a JSON object (docs/records.md)."""
        return self.game.to_dict(self.array)

    def to_bytes(self) -> bytes:
        """Return game, setup and steps as bytes for `Game.from_bytes`."""
        content = {"game": str(self.game), "setup": self._setup, "steps": [a for _, a in self._steps]}
        body = json.dumps(content, separators=(",", ":"), sort_keys=True, ensure_ascii=True).encode()
        return _MAGIC + _checksum(body) + b"\n" + body

    def __reduce__(self) -> tuple[Any, ...]:
        if self._viewer is not None:
            raise TrilithonError("a view belongs to the process that sampled it; store the state it was made from")
        return _restore, (type(self.game), self.game.options, self.to_bytes())

    def to_svg(self, observer: int | None = None, **style: Any) -> str:
        """Return the position as SVG, everything shown or as one seat sees it."""
        return self.game.draw(self.array, observer, **style)

    def _repr_svg_(self) -> str:
        return self.to_svg()


def copy_of(array: np.ndarray) -> np.ndarray:
    """Return a copy of kernel states, byte by byte (numpy copies structured arrays by fields, ten times slower)."""
    return array.view(np.uint8).copy().view(array.dtype)


def _checksum(body: bytes) -> bytes:
    return b"%08x" % zlib.crc32(body)


def _restore(game_type: type[Game], options: dict[str, Any], data: bytes) -> State:
    """Rebuild a pickled or copied state."""
    return game_type(**options).from_bytes(data)
