"""Rules, states and records of the games; no torch, no environments, no plotting."""

from trilithon.core.errors import (
    CheckpointError,
    ConfigError,
    IllegalActionError,
    OptionError,
    RecordError,
    SetupError,
    SpecError,
    TrilithonError,
)
from trilithon.core.game import Game, State
from trilithon.core.record import GameRecord
from trilithon.core.registry import list_games, load_game, register_game
from trilithon.core.verbs import CHANCE, TERMINAL

__all__ = [
    "CHANCE",
    "TERMINAL",
    "CheckpointError",
    "ConfigError",
    "Game",
    "GameRecord",
    "IllegalActionError",
    "OptionError",
    "RecordError",
    "SetupError",
    "SpecError",
    "State",
    "TrilithonError",
    "list_games",
    "load_game",
    "register_game",
]
