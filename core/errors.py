"""The errors a user can cause; each message is one line: what, which value, what is allowed."""


class TrilithonError(ValueError):
    """Base of every error that comes from input; the command line prints it in one line and exits with status 2."""


class SpecError(TrilithonError):
    """A text such as ``mcts(simulations=64)`` that cannot be read, or an unknown name in it."""


class OptionError(TrilithonError):
    """An unknown option of a game, an agent or an environment, or a value that is not allowed."""


class SetupError(TrilithonError):
    """A setup, position, catalogue or board that does not describe a game."""


class IllegalActionError(TrilithonError):
    """An action that is not legal now; the message lists a few that are."""


class RecordError(TrilithonError):
    """A game record that cannot be read or does not replay; the message names the step."""


class ConfigError(TrilithonError):
    """An experiment config with an unknown key, a wrong type or a value out of range."""


class CheckpointError(TrilithonError):
    """A checkpoint that is damaged or belongs to another game."""


class SolverLimitError(TrilithonError):
    """A position that is too large to be solved exactly; the message gives an estimate and the limit."""
