"""Games by name: our own, those registered at run time, and those of installed packages."""

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from trilithon.core.errors import OptionError, SpecError
from trilithon.core.options import suggest
from trilithon.core.spec import parse_spec

if TYPE_CHECKING:
    from trilithon.core.game import Game

Factory = Callable[..., "Game"]  # a game class, or what makes one

# Modules are imported at first use: a game costs nothing until it is loaded.
_OWN_GAMES = {name: f"trilithon.core.{name}" for name in ("aeroliths", "aether", "selenolyth")}
_registered: dict[str, Factory] = {}
_ENTRY_POINT_GROUP = "trilithon.games"


def register_game(name: str, factory: Factory) -> None:
    """Make ``load_game(name, **options)`` call ``factory(**options)``; a name that is taken is an `OptionError`.

    An installed package does the same without code through the entry-point group ``trilithon.games``.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise OptionError(f"register_game: the name {name!r} is not an identifier")
    if name in _OWN_GAMES or name in _registered:
        raise OptionError(f"register_game: {name!r} is registered already")
    _registered[name] = factory


def list_games() -> list[str]:
    """Return the names that `load_game` knows, sorted."""
    return sorted({*_OWN_GAMES, *_registered, *(entry.name for entry in entry_points(group=_ENTRY_POINT_GROUP))})


def game_factory(name: str) -> Factory:
    """Return what makes the game `name`; `SpecError` lists the known names."""
    if name in _OWN_GAMES:
        return import_module(_OWN_GAMES[name]).GAME
    if name in _registered:
        return _registered[name]
    for entry in entry_points(group=_ENTRY_POINT_GROUP):
        if entry.name == name:
            return entry.load()
    raise SpecError(f"unknown game {name!r}; {suggest(name, list_games())}")


def load_game(spec: str, /, **options: Any) -> "Game":
    """Return a game from a name and options, ``load_game("aeroliths", size=4)``, or from one text of both.

    The text is ``NAME(key=value, ...)`` as ``str(game)`` writes it. Raises `SpecError` for an unknown name and
    `OptionError` for an option or a value that the game does not allow.
    """
    name, values = parse_spec(spec)
    twice = sorted(set(values) & set(options))
    if twice:
        raise OptionError(f"{name}: {twice[0]} is given in the text and as an argument")
    return game_factory(name)(**values, **options)
