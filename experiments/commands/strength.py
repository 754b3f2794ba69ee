"""`trilithon arena` and `trilithon rate`: who is stronger, by how much, and how sure are we."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from trilithon.agents import load_agent
from trilithon.core.errors import OptionError, RecordError
from trilithon.core.game import Game
from trilithon.core.record import GameRecord
from trilithon.core.registry import load_game
from trilithon.experiments.cli import print_json
from trilithon.experiments.commands.looking import read_any
from trilithon.experiments.elo import elo_ratings, elo_table, separate_fields
from trilithon.experiments.labelled import load_benchmark
from trilithon.experiments.ratings import Outcome, outcomes_of, pair_results, rating_table
from trilithon.experiments.run import RunFolder
from trilithon.experiments.shares import results_dict, share_results, share_table

SHARD_GAMES = 4096


def arena(arguments: argparse.Namespace) -> None:
    """Play the event, print its tables, write its games and ratings."""
    from tqdm import tqdm

    from trilithon.experiments.arena import number_of_games, play_event

    game = load_game(arguments.game)
    folder = _EventFolder(arguments.out)
    total = number_of_games(game, len(arguments.agents), arguments.deals, arguments.gauntlet)
    quiet = arguments.json or not sys.stderr.isatty()
    with folder, tqdm(total=total, unit="game", disable=quiet, leave=False) as bar:
        result = play_event(
            game,
            arguments.agents,
            arguments.deals,
            arguments.seed or 0,
            gauntlet=arguments.gauntlet,
            workers=arguments.workers,
            turn_time=arguments.turn_time,
            strict=arguments.strict,
            progress=bar.update,
            keep=folder.keep,
        )
        content = result.to_dict(folder.finish())
        folder.write_ratings(content)
    if arguments.json:
        print_json(content)
        return
    print(f"{game}, {arguments.deals} deals in every seating, seed {arguments.seed or 0}\n")
    _print_tables(result.outcomes, game, result.agents)
    for fault in result.faults[:5]:
        print(f"fault: {fault}")
    if len(result.faults) > 5:
        print(f"fault: and {len(result.faults) - 5} more")
    if folder.folder is not None:
        print(f"games and ratings are in {folder.folder.path}")


def rate(arguments: argparse.Namespace) -> None:
    """Rate the agents of all games in the folders; with a benchmark, agents by exact labels."""
    if arguments.benchmark is not None:
        _rate_by_labels(arguments)
        return
    for flag in ("source", "seed"):
        if getattr(arguments, flag) is not None:
            raise OptionError(f"rate: --{flag} goes with --benchmark")
    records = [record for place in arguments.folders for record in read_any(place)]
    records = _one_game(records, arguments.game)
    outcomes = outcomes_of(records)
    if all(len(set(outcome.agents)) == 1 for outcome in outcomes):
        raise RecordError("in none of these games did two different agents meet, so there is nothing to rate")
    if arguments.json:
        print_json({**results_dict(outcomes), "records": arguments.folders})
        return
    game = records[0].load_game()
    print(f"{game}, {len(records)} games\n")
    _print_tables(outcomes, game)


def _rate_by_labels(arguments: argparse.Namespace) -> None:
    """Ask agents in the positions of a labelled set."""
    from tqdm import tqdm

    from trilithon.experiments.accuracy import accuracy_dict, accuracy_table, measure

    if arguments.game is not None:
        raise OptionError("rate: --benchmark says which game; give no --game with it")
    positions = load_benchmark(arguments.benchmark)
    specs = list(dict.fromkeys(arguments.folders))
    agents = {spec: load_agent(spec, positions.game, arguments.seed or 0) for spec in specs}
    count = len(positions) if arguments.source is None else int((positions.sources == arguments.source).sum())
    quiet = arguments.json or not sys.stderr.isatty()
    with tqdm(total=count * len(agents), unit="position", disable=quiet, leave=False) as bar:
        results = {spec: measure(agent, positions, arguments.source, 0, bar.update) for spec, agent in agents.items()}
    if arguments.json:
        print_json(accuracy_dict(positions, results))
        return
    print(f"{positions.game}, {count} positions of {positions.name} (sha256 {positions.sha256[:12]})\n")
    print(accuracy_table(positions, results))


def _one_game(records: list[GameRecord], spec: str | None) -> list[GameRecord]:
    """The games of `spec`; without one, all must be of the same game and options."""
    games: dict[Any, str] = {}
    for record in records:
        key = (record.game, repr(record.config))
        if key not in games:
            games[key] = str(record.load_game())
    named = [games[record.game, repr(record.config)] for record in records]
    if spec is None:
        if len(set(named)) > 1:
            raise RecordError(
                f"the records are of several games, such as {min(named)} and {max(named)}: name one, --game"
            )
        return records
    wanted = str(load_game(spec))
    chosen = [record for record, name in zip(records, named, strict=True) if name == wanted]
    if not chosen:
        raise RecordError(f"there are no games of {wanted}; there are {', '.join(sorted(set(named)))}")
    return chosen


def _print_tables(outcomes: Sequence[Outcome], game: Game, order: Sequence[str] | None = None) -> None:
    """The tables, and what their numbers mean."""
    unit = game.margin_unit()[1]
    if game.num_players() > 2:
        print(f"{share_table(share_results(outcomes, order))}\n")
        print("share: of wins, k winners 1/k each; fair: the share of an agent as strong as the others.")
        print(f"difference: mean final difference in {unit}; intervals: 95 %, by deals.")
        return
    ratings = elo_ratings(outcomes)
    pairs = pair_results(outcomes, order if order is not None else [rating.spec for rating in ratings])
    print(rating_table(pairs))
    print(f"\n{elo_table(ratings)}\n")
    print(f"difference: mean final difference in {unit}; intervals: 95 %, by deals.")
    print("Elo: Bradley-Terry, mean 0, one virtual split deal for every two agents that met.")
    fields = separate_fields(outcomes)
    if len(fields) > 1:
        print(f"These groups never met, and their Elo does not compare: {'; '.join(', '.join(f) for f in fields)}.")


class _EventFolder:
    """The folder of an event: made when its first games are there, so that a mistake leaves nothing behind."""

    def __init__(self, out: str | None) -> None:
        self.out = out
        self.folder: RunFolder | None = None
        self._waiting: list[GameRecord] = []
        self._stack = ExitStack()
        if out is not None:
            RunFolder.check_new(out)

    def __enter__(self) -> "_EventFolder":
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def keep(self, records: list[GameRecord]) -> None:
        """Write full shards as the games come."""
        if self.out is None:
            return
        if self.folder is None:
            self.folder = RunFolder.create("arena", self.out)
            self._stack.enter_context(self.folder.lock())
        self._waiting += records
        while len(self._waiting) >= SHARD_GAMES:
            self.folder.write_shard(self._waiting[:SHARD_GAMES])
            del self._waiting[:SHARD_GAMES]

    def finish(self) -> str | None:
        """Write the last shard and return the folder of records."""
        if self.folder is None:
            return None
        if self._waiting:
            self.folder.write_shard(self._waiting)
            self._waiting = []
        return str(self.folder.records)

    def write_ratings(self, content: Mapping[str, Any]) -> None:
        """Write the event's result."""
        if self.folder is not None:
            self.folder.write_ratings(content)
