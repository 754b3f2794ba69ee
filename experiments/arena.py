"""The arena: agents against each other on duplicate deals, every deal in every seating.

A deal is a setup and a stream of chance, both from one seed (`core.rng.game_streams`, as in the environments). All
games of a chunk are played in lock step, and an agent is asked for all its games at once. A game's result depends on
its deal, its table and the event's seed alone: not on the number of workers, nor on who else takes part.
"""

import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import active_children, get_context
from typing import Any

from trilithon.agents import load_agent
from trilithon.agents.sides import sides_of
from trilithon.core.errors import ConfigError, TrilithonError
from trilithon.core.game import Game
from trilithon.core.record import GameRecord
from trilithon.core.registry import load_game
from trilithon.experiments.elo import Rating, elo_ratings
from trilithon.experiments.matches import Event, Live, Match, Played, play_matches
from trilithon.experiments.ratings import Outcome, PairResult, pair_results
from trilithon.experiments.shares import ShareResult, results_dict, share_results
from trilithon.experiments.workers import prepare_worker, use_one_thread


@dataclass
class ArenaResult:
    """What an event came to."""

    game: str
    agents: list[str]
    records: list[GameRecord] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def pairs(self) -> list[PairResult]:
        """A result for every two agents that met, in the order in which the agents were entered."""
        return pair_results(self.outcomes, self.agents)

    def ratings(self, resamples: int = 1000) -> list[Rating]:
        """Elo over the whole field, best first."""
        return elo_ratings(self.outcomes, resamples)

    def shares(self) -> list[ShareResult]:
        """Shares of wins at every kind of table, for games of more than two players."""
        return share_results(self.outcomes, self.agents)

    def to_dict(self, records: str | None = None) -> dict[str, Any]:
        """Return the event as a JSON object; `records` says where the games are."""
        return {
            "game": self.game,
            **results_dict(self.outcomes, self.agents),
            "faults": self.faults,
            "records": records,
        }


# -------------------------------------------------------------------------------------------------------------- event


def play_event(
    game: Game | str,
    agents: Sequence[str],
    deals: int,
    seed: int = 0,
    *,
    gauntlet: bool = False,
    workers: int = 1,
    turn_time: float | None = None,
    strict: bool = False,
    batch: int = 128,
    clock: Callable[[], float] = time.monotonic,
    progress: Callable[[int], Any] | None = None,
    keep: Callable[[list[GameRecord]], Any] | None = None,
) -> ArenaResult:
    """Play every table of `agents` (specs) on `deals` deals in every seating, and return all games in a fixed order.

    With `gauntlet` the first agent meets each of the others, else everybody meets everybody; see `tables_of` for games
    of more than two. `batch` games are played
    in lock step; `workers` processes share the chunks (a game registered at run time needs ``workers=1``).
    `progress` is called with a number of games that ended. `keep` takes the records, chunk by chunk and in order;
    the result holds them where it is None. Raises
    `TrilithonError` for what cannot be played at all, and with `strict` for an agent's first fault.
    """
    loaded = load_game(game) if isinstance(game, str) else game
    event = Event(str(loaded), tuple(agents), seed, turn_time, strict, clock)
    _check_event(event, loaded, deals, workers)
    result = ArenaResult(event.game, list(agents))
    seats = {(i, seat): load_agent(spec, loaded, 0) for i, spec in enumerate(agents) for seat in _seats(loaded)}
    entered = [seats[i, 0].spec for i in range(len(agents))]
    for spec, canonical in zip(agents, entered, strict=True):
        if entered.count(canonical) > 1:
            raise ConfigError(f"agent {spec!r} is entered twice; an agent cannot be told from itself")
    chunks = list(_chunks(loaded, len(agents), deals, gauntlet, batch))
    players = _play_here(event, loaded, seats, chunks)
    if workers > 1:
        _warm_up(event, loaded, seats)
        players = _play_in_workers(event, chunks, workers)
    with _one_thread():
        _collect(players, result, keep, progress)
    return result


def _collect(
    chunks: Iterator[list[Played]],
    result: ArenaResult,
    keep: Callable[[list[GameRecord]], Any] | None,
    progress: Callable[[int], Any] | None,
) -> None:
    """Take the chunks as they come."""
    for games in chunks:
        records = [played.record for played in games]
        if keep is None:
            result.records += records
        else:
            keep(records)
        result.outcomes += [played.outcome for played in games]
        result.faults += [played.fault for played in games if played.fault]
        if progress is not None:
            progress(len(games))


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread of torch, if it is there: as fast for these networks, and the same bits in every process."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def number_of_games(game: Game, agents: int, deals: int, gauntlet: bool = False) -> int:
    """How many games `play_event` would play."""
    return deals * sum(len(seatings) for seatings in tables_of(game, agents, gauntlet))


def tables_of(game: Game, agents: int, gauntlet: bool = False) -> list[list[tuple[int, ...]]]:
    """Return who sits together: for each table its seatings, which are its distinct rotations.

    Of two sides (two players, or teams) every two agents meet, in teams each at both seats of its own. Of more, every n
    agents meet, and where fewer are entered, or in a gauntlet, one agent meets copies of another at all other seats.
    With `gauntlet` the first agent (alone) meets each of the others.
    """
    sides = sides_of(game)
    players = len(sides)
    if max(sides) == 1:
        pairs = [pair for pair in itertools.combinations(range(agents), 2) if not gauntlet or pair[0] == 0]
        tables = [tuple(pair[side] for side in sides) for pair in pairs]
    elif gauntlet or agents < players:
        pairs = [pair for pair in itertools.permutations(range(agents), 2) if not gauntlet or pair[0] == 0]
        tables = [(pair[0], *[pair[1]] * (players - 1)) for pair in pairs]
    else:
        tables = list(itertools.combinations(range(agents), players))
    return [list(dict.fromkeys(table[r:] + table[:r] for r in range(players))) for table in tables]


def _check_event(event: Event, game: Game, deals: int, workers: int) -> None:
    if len(event.agents) < 2:
        raise ConfigError(f"an arena needs 2 agents or more, not {len(event.agents)}")
    for name, value in (("deals", deals), ("workers", workers)):
        if value < 1:
            raise ConfigError(f"{name} must be a whole number >= 1, not {value}")
    if event.seed < 0:
        raise ConfigError(f"seed must be a whole number >= 0, not {event.seed}")
    if event.turn_time is not None and not event.turn_time > 0:
        raise ConfigError(f"turn_time must be a number of seconds > 0, not {event.turn_time}")


def _seats(game: Game) -> range:
    return range(game.num_players())


def _chunks(game: Game, agents: int, deals: int, gauntlet: bool, batch: int) -> Iterator[list[Match]]:
    """Matches to be played in lock step: whole deals of one table. No number of workers enters here."""
    for seatings in tables_of(game, agents, gauntlet):
        step = max(1, batch // len(seatings))
        for start in range(0, deals, step):
            numbers = range(start, min(start + step, deals))
            yield [Match(seating, deal) for deal in numbers for seating in seatings]


# ------------------------------------------------------------------------------------------------------------ workers


def _play_here(
    event: Event, game: Game, agents: dict[tuple[int, int], Any], chunks: Sequence[list[Match]]
) -> Iterator[list[Played]]:
    for matches in chunks:
        yield play_matches(event, game, agents, matches)


def _warm_up(event: Event, game: Game, agents: dict[tuple[int, int], Any]) -> None:
    """Let each agent act once: what it compiles here, workers load from the disk."""
    for (i, seat), agent in agents.items():
        one = Live(event, game, Match((i,) * game.num_players(), 0))
        one.resolve_chance()
        if seat == 0 and not one.is_over():
            try:
                agent.act_batch([one.state], [one.rngs[0]])
            except Exception:  # a fault counts in the games
                continue


def _play_in_workers(event: Event, chunks: Sequence[list[Match]], workers: int) -> Iterator[list[Played]]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    others = set(active_children())
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_start_worker, initargs=(event,))
    try:
        yield from pool.map(_play_in_worker, chunks)
    except BaseException as error:
        # Nobody waits for the games that are still being played.
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(active_children()) - others:
            process.terminate()
        if isinstance(error, BrokenProcessPool):
            raise TrilithonError("a worker process ended unexpectedly (killed, or out of memory)") from None
        raise
    pool.shutdown()


_worker: dict[str, Any] = {}  # what a worker process keeps between chunks


def _start_worker(event: Event) -> None:
    prepare_worker()
    game = load_game(event.game)
    agents = {(i, seat): load_agent(spec, game, 0) for i, spec in enumerate(event.agents) for seat in _seats(game)}
    use_one_thread()
    _worker.update(event=event, game=game, agents=agents)


def _play_in_worker(matches: list[Match]) -> list[Played]:
    return play_matches(_worker["event"], _worker["game"], _worker["agents"], matches)
