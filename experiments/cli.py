"""The command `trilithon`: one parser, one way to fail.

Whatever a user can cause ends in one line on stderr, ``trilithon: error: ...``, and status 2; with ``--json`` stdout
holds one object and nothing else. Commands import what they need when they run, so that a list costs no torch.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any, NoReturn

from trilithon.core.errors import TrilithonError
from trilithon.core.perft import MAX_DEPTH
from trilithon.core.solving import DIFFERENCE, OBJECTIVES
from trilithon.experiments.labelled import RECIPES, SOURCES

INTERRUPTED, BROKEN_PIPE, FAILED = 130, 141, 2


class UsageError(TrilithonError):
    """A command line that argparse cannot read."""


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` whose errors are ours: no usage text, one line."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **kwargs})

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`, to be printed like every other error."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def whole(low: int, high: int = 2**53 - 1) -> Callable[[str], int]:
    """An argument that is a whole number in ``low..high``; negative numbers get as far as this message."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = low - 1
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"must be a whole number {low}..{high}, not {text:.40}")
        return number

    return read


def seconds(text: str) -> float:
    """An argument that is a number of seconds above 0."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"must be a number of seconds > 0, not {text}")
    return number


def add_common(parser: argparse.ArgumentParser, *names: str, required_game: bool = False) -> None:
    """Add those of the flags that several commands share."""
    if "game" in names:
        parser.add_argument(
            "--game", metavar="SPEC", required=required_game, help='a game and its options: "NAME(key=value, ...)"'
        )
    if "seed" in names:
        parser.add_argument("--seed", type=whole(0), default=None, help="seed of all randomness")
    if "deals" in names:
        parser.add_argument(
            "--deals", type=whole(1, 10_000_000), default=100, help="deals, each played in every seating (100)"
        )
    if "workers" in names:
        parser.add_argument(
            "--workers", type=whole(1, 256), default=1, help="processes; results do not depend on it (1)"
        )
    if "out" in names:
        parser.add_argument("--out", metavar="DIR", help="a folder for what is made")
    if "json" in names:
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def make_parser() -> Parser:
    """The whole command line."""
    parser = Parser(prog="trilithon", description="Exact rules, search and self-play learning for board games.")
    parser.add_argument("--version", action="version", version=f"trilithon {version('trilithon')}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")

    def command(name: str, help_text: str, function: str) -> argparse.ArgumentParser:
        """A subcommand that runs ``MODULE:FUNCTION`` of `trilithon.experiments.commands`."""
        added = commands.add_parser(name, help=help_text, description=f"{help_text}.")
        added.set_defaults(function=function)
        return added

    train = command("train", "train an agent by self-play", "running:train")
    train.add_argument(
        "words", nargs="*", metavar="CONFIG key=value", help="a YAML config, and values that replace its own"
    )
    train.add_argument("--resume", metavar="RUN", help="a run folder to go on with")
    add_common(train, "seed", "workers", "out")
    train.set_defaults(workers=None, words_go_to="words")

    arena = command("arena", "play agents against each other on duplicate deals", "strength:arena")
    arena.add_argument("agents", nargs="+", metavar="AGENT", help='such as greedy, "mcts(simulations=64)" or a run')
    arena.add_argument("--gauntlet", action="store_true", help="the first agent against each of the others")
    arena.add_argument("--strict", action="store_true", help="stop at an agent's first fault")
    arena.add_argument("--turn-time", type=seconds, metavar="SECONDS", help="then a random action is played")
    arena.set_defaults(words_go_to="agents")
    add_common(arena, "game", "seed", "deals", "workers", "out", "json", required_game=True)

    rate = command("rate", "rate the agents in recorded games, or against exact labels", "strength:rate")
    rate.add_argument("folders", nargs="+", metavar="FOLDER", help="folders or files of records; or agents")
    rate.add_argument(
        "--benchmark", metavar="NAME", help=f"agents' actions in labelled positions: {', '.join(RECIPES)}"
    )
    rate.add_argument("--source", choices=SOURCES, help="with --benchmark: positions from this kind of play alone")
    rate.set_defaults(words_go_to="folders")
    add_common(rate, "game", "seed", "json")

    play = command("play", "play in the terminal, against agents or people", "running:play")
    play.add_argument("--players", nargs="+", metavar="PLAYER", help='who sits where: "human" or an agent')
    play.add_argument("--turn-time", type=seconds, metavar="SECONDS", help="then a random action is played")
    play.add_argument("--yes", action="store_true", help="no form: defaults for all that is not given")
    add_common(play, "game", "seed", "out")

    replay = command("replay", "print recorded games, or verify them", "looking:replay")
    replay.add_argument("file", metavar="FILE", help="JSON lines, a Parquet shard or a folder of shards")
    replay.add_argument("--verify", action="store_true", help="replay every step and compare all that is stored")
    replay.add_argument("--game", type=whole(1), metavar="N", dest="number", help="the N-th game alone")
    add_common(replay, "json")

    perft = command("perft", "count and hash the sequences of a given number of actions", "looking:perft")
    perft.add_argument("game", metavar="GAME", help='a game and its options: "NAME(key=value, ...)"')
    perft.add_argument("depth", type=whole(0, MAX_DEPTH), metavar="DEPTH", help="actions, chance's counted too")
    perft.add_argument("--setup", metavar="FILE", help="start from this setup, a JSON object, instead of a seed's (0)")
    perft.add_argument("--divide", action="store_true", help="print how many sequences begin with each action")
    add_common(perft, "seed", "json")

    solve = command("solve", "solve a position exactly, everything known to all", "solving:solve")
    solve.add_argument("position", metavar="GAME", help='"NAME(key=value, ...)"; with --step a file of records')
    solve.add_argument("--setup", metavar="FILE", help="start from this setup, a JSON object, instead of a seed's (0)")
    solve.add_argument("--step", type=whole(0), metavar="K", help="the position in which this recorded step was taken")
    solve.add_argument("--game", type=whole(1), metavar="N", dest="number", help="with --step: the N-th game (1)")
    solve.add_argument("--actions", metavar="LIST", help='play these first, such as "4@b2, 0@a1"')
    solve.add_argument("--limit", type=whole(1, 10**15), help="refuse what takes more nodes")
    solve.add_argument("--objective", choices=OBJECTIVES, default=DIFFERENCE, help="what to look for (difference)")
    add_common(solve, "seed", "json")

    add_common(command("games", "list games with their options", "looking:games"), "json")
    add_common(command("agents", "list agents with their options", "looking:agents"), "json")

    bench = command("bench", "measure speed: the median of five runs each", "running:bench")
    bench.add_argument("names", nargs="*", metavar="NAME", help="what to measure, by the beginning of its name")
    add_common(bench, "json")
    return parser


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read a command line; words may stand before, between and after flags (argparse takes the first group alone)."""
    parser = make_parser()
    arguments, rest = parser.parse_known_args(argv)
    place = getattr(arguments, "words_go_to", None)
    flags = [word for word in rest if word.startswith("-") or place is None]
    if flags:
        parser.error(f"unrecognized arguments: {' '.join(flags)}")
    if place is not None:
        getattr(arguments, place).extend(rest)
    return arguments


def print_json(content: Any) -> None:
    """Print one JSON object."""
    print(json.dumps(content, allow_nan=False))


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit status."""
    try:
        arguments = parse(argv)
        module, _, function = arguments.function.partition(":")
        status = getattr(import_module(f"trilithon.experiments.commands.{module}"), function)(arguments)
        sys.stdout.flush()
        return int(status or 0)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except TrilithonError as error:
        return _fail(f"error: {error}")
    except OSError as error:
        where = f"{error.filename!r}: " if error.filename else ""
        return _fail(f"error: {where}{error.strerror or error}")


def _fail(message: str, status: int = FAILED) -> int:
    """Print one line on stderr."""
    print(f"trilithon: {' '.join(message.split())}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
