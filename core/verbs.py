"""The kernel verbs: what every game provides and every generic kernel calls.

In plain Python a verb looks up the game's function by ``state.dtype``; in compiled code it is overloaded by record
type, so that a generic kernel (playout, tree search, alpha-beta) is compiled once per game and nothing is passed about.

==========================================  ===========================================================================
``legal_actions(state, out) -> n``          ascending actions of the mover into ``out[:n]``; `out` has room for
                                            ``num_distinct_actions + 1`` (kernels write one entry ahead)
``chance_outcomes(state, out, p) -> n``     ascending outcomes and their float64 probabilities
``apply_action(state, action)``             one step in place, a player's or chance's; legality is not checked
``returns(state, out)``                     float64 ``[n]``, one value per player, once ended
``heuristic(state, out)``                   float64 ``[n]`` in [-1, 1], one value per player, at any time
``observe(state, player, out)``             float32 ``[observation_size]`` from that player's side
``determinize(state, player, rng)``         redeals in place all that `player` cannot know
``margin(state, out)``                      optional: float64 ``[n]`` in [-1, 1], how clearly each player leads
                                            (breaks ties of returns); without it 0
``tie_break(state, action) -> cost``        optional: among actions of equal heuristic greedy prefers the least
``observed_action(state, action, player)``  optional: what `player` sees of an action about to be applied, as an int64:
                                            equal where it looks the same, UNSEEN (-1) where it is not seen at all;
                                            without it the action itself: everything is seen
==========================================  ===========================================================================
"""

import keyword
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload
from numba.np.numpy_support import from_dtype

from trilithon.core.errors import OptionError
from trilithon.core.jit import JIT_ENABLED, kernel

CHANCE = -1
TERMINAL = -4
UNSEEN = -1  # see `observed_action`

REQUIRED = (
    "legal_actions",
    "chance_outcomes",
    "apply_action",
    "returns",
    "heuristic",
    "observe",
    "determinize",
)
OPTIONAL = ("margin", "tie_break", "observed_action")

_provided: dict[np.dtype, dict[str, Callable[..., Any]]] = {}
_by_type: dict[Any, dict[str, Callable[..., Any]]] = {}
# Names that compiled code reads as a field and plain Python as an attribute of np.record.
_FORBIDDEN_FIELDS = frozenset(name for name in dir(np.record) if not name.startswith("_"))


def record_dtype(fields: list[Any]) -> np.dtype:
    """Return the dtype of records whose fields kernels read as attributes.

    In plain Python only `np.record` gives attributes; it slows every access from Python tenfold, so where kernels are
    compiled the dtype goes without (both compare equal, and are one type to numba). Raises `OptionError` for a field
    that an attribute of `np.record` would hide.
    """
    hidden = [name for name, *_ in fields if name in _FORBIDDEN_FIELDS or keyword.iskeyword(name)]
    if hidden:
        raise OptionError(f"record_dtype: a field may not be named {hidden[0]!r}: np.record has an attribute of it")
    return np.dtype(fields) if JIT_ENABLED else np.dtype((np.record, fields))


def provide(dtype: np.dtype, **functions: Callable[..., Any]) -> None:
    """Hand over a game's kernels: one function per verb, for states of record dtype `dtype`.

    Raises `OptionError` for a missing or unknown verb, for a field that `np.record` would hide, and for a dtype whose
    fields equal those of another game (numba would take both for one type; give each a field of its own name).
    """
    missing = [name for name in REQUIRED if name not in functions]
    unknown = [name for name in functions if name not in REQUIRED + OPTIONAL]
    if missing or unknown:
        raise OptionError(f"provide: missing verbs {missing}, unknown verbs {unknown}")
    names = dtype.names or ()
    hidden = [name for name in names if name in _FORBIDDEN_FIELDS or keyword.iskeyword(name)]
    if hidden:
        raise OptionError(f"provide: a state's field may not be named {hidden[0]!r}: np.record has an attribute of it")
    if names[:2] != ("current_player", "move_number"):
        raise OptionError(f"provide: a state's first fields are current_player and move_number, not {names[:2]}")
    record_type = from_dtype(dtype)
    before = _by_type.get(record_type)
    # A module that is loaded again may hand over its own functions again.
    if before is not None and before["legal_actions"].__module__ != functions["legal_actions"].__module__:
        raise OptionError("provide: another game has a state with the same fields; add a field of the game's name")
    complete: dict[str, Callable[..., Any]] = {
        "margin": _no_margin,
        "tie_break": _no_tie_break,
        "observed_action": _all_seen,
        **functions,
    }
    _provided[dtype] = complete
    _by_type[record_type] = complete


def provides(dtype: np.dtype) -> dict[str, Callable[..., Any]]:
    """Return the verbs of the game whose states have `dtype`; `OptionError` where no game has."""
    try:
        return _provided[dtype]
    except KeyError:
        raise OptionError(f"no game provides kernels for states of {dtype.names}") from None


@kernel
def _no_margin(state, out):
    """Every player level."""
    for player in range(out.shape[0]):
        out[player] = 0.0


@kernel
def _no_tie_break(state, action):
    """Every action alike."""
    return 0.0


@kernel
def _all_seen(state, action, player):
    """The action itself."""
    return np.int64(action)


def legal_actions(state: Any, out: np.ndarray) -> int:
    """Write the mover's legal actions, ascending, to ``out[:n]`` and return n."""
    return provides(state.dtype)["legal_actions"](state, out)


def chance_outcomes(state: Any, out: np.ndarray, probabilities: np.ndarray) -> int:
    """Write the outcomes of non-zero probability, ascending, and their probabilities; return their number."""
    return provides(state.dtype)["chance_outcomes"](state, out, probabilities)


def apply_action(state: Any, action: int) -> None:
    """Apply a player's or chance's action to `state` in place."""
    provides(state.dtype)["apply_action"](state, action)


def returns(state: Any, out: np.ndarray) -> None:
    """Write each player's return, float64 ``[n]``; meaningful once the game has ended."""
    provides(state.dtype)["returns"](state, out)


def heuristic(state: Any, out: np.ndarray) -> None:
    """Write each player's heuristic value in [-1, 1], float64 ``[n]``."""
    provides(state.dtype)["heuristic"](state, out)


def observe(state: Any, player: int, out: np.ndarray) -> None:
    """Write what `player` sees, float32 ``[observation_size]``, own side first."""
    provides(state.dtype)["observe"](state, player, out)


def determinize(state: Any, player: int, rng: np.ndarray) -> None:
    """Redeal in place what `player` cannot know; a function of the player's knowledge and `rng` alone."""
    provides(state.dtype)["determinize"](state, player, rng)


def margin(state: Any, out: np.ndarray) -> None:
    """Write by how much each player leads, float64 ``[n]`` in [-1, 1]."""
    provides(state.dtype)["margin"](state, out)


def tie_break(state: Any, action: int) -> float:
    """Return greedy's cost of `action` among actions of equal heuristic: the least is preferred."""
    return provides(state.dtype)["tie_break"](state, action)


def observed_action(state: Any, action: int, player: int) -> int:
    """Return what `player` sees of an action about to be applied to `state`; UNSEEN where nothing."""
    return provides(state.dtype)["observed_action"](state, action, player)


def _compiled(state: Any, verb: str) -> Callable[..., Any] | None:
    """The function that provides `verb` for a numba record type; None lets numba report the type."""
    functions = _by_type.get(state)
    return None if functions is None else functions[verb]


def _overload_verbs() -> None:
    """Teach the compiler each verb; numba wants the verb's own parameter names in chooser and implementation."""

    @overload(legal_actions)
    def _legal_actions(state, out):
        function = _compiled(state, "legal_actions")
        return function and (lambda state, out: function(state, out))

    @overload(chance_outcomes)
    def _chance_outcomes(state, out, probabilities):
        function = _compiled(state, "chance_outcomes")
        return function and (lambda state, out, probabilities: function(state, out, probabilities))

    @overload(apply_action)
    def _apply_action(state, action):
        function = _compiled(state, "apply_action")
        return function and (lambda state, action: function(state, action))

    @overload(returns)
    def _returns(state, out):
        function = _compiled(state, "returns")
        return function and (lambda state, out: function(state, out))

    @overload(heuristic)
    def _heuristic(state, out):
        function = _compiled(state, "heuristic")
        return function and (lambda state, out: function(state, out))

    @overload(observe)
    def _observe(state, player, out):
        function = _compiled(state, "observe")
        return function and (lambda state, player, out: function(state, player, out))

    @overload(determinize)
    def _determinize(state, player, rng):
        function = _compiled(state, "determinize")
        return function and (lambda state, player, rng: function(state, player, rng))

    @overload(margin)
    def _margin(state, out):
        function = _compiled(state, "margin")
        return function and (lambda state, out: function(state, out))

    @overload(tie_break)
    def _tie_break(state, action):
        function = _compiled(state, "tie_break")
        return function and (lambda state, action: function(state, action))

    @overload(observed_action)
    def _observed_action(state, action, player):
        function = _compiled(state, "observed_action")
        return function and (lambda state, action, player: function(state, action, player))


if JIT_ENABLED:
    _overload_verbs()
