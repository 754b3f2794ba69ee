"""Games of an event in lock step: duplicate deals, a generator per game and seat, faults that cost one game."""

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trilithon.core.errors import TrilithonError
from trilithon.core.game import Game
from trilithon.core.record import GameRecord
from trilithon.core.rng import categorical, game_streams, next_below, stream
from trilithon.experiments.ratings import Outcome, outcome_of

_DEALS, _AGENTS = 0, 1  # keys of the event's streams
MAX_SEED = 2**53 - 1  # every program that reads JSON can hold a deal's seed


@dataclass(frozen=True)
class Event:
    """What the games of an event have in common; it travels to the worker processes."""

    game: str  # spec
    agents: tuple[str, ...]  # specs
    seed: int = 0
    turn_time: float | None = None  # seconds an agent has for an action; then a random legal one is played for it
    strict: bool = False  # raise an agent's fault instead of scoring the game as lost
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True)
class Match:
    """One game of an event: who sits where, on which deal."""

    table: tuple[int, ...]  # agents by seat, as places in `Event.agents`
    deal: int


@dataclass
class Played:
    """One finished game."""

    record: GameRecord
    outcome: Outcome
    fault: str | None = None  # why an agent lost it without playing to the end


def deal_seed(seed: int, deal: int) -> int:
    """The seed of deal number `deal` of an event; a record's `seed`, and an environment's for the same game."""
    return int(stream(seed, _DEALS, deal)[0]) & MAX_SEED


class Live:
    """One game in progress."""

    def __init__(self, event: Event, game: Game, match: Match) -> None:
        self.match = match
        self.specs = [event.agents[i] for i in match.table]
        self.seed = deal_seed(event.seed, match.deal)
        setup, self.chance = game_streams(self.seed)
        self.state = game.from_setup(game.new_setup(setup))
        # Named by who sits where, so that an agent's games stay the same when others join the event.
        table = zlib.crc32("\n".join(self.specs).encode())
        self.rngs = [stream(event.seed, _AGENTS, match.deal, table, seat) for seat in range(len(self.specs))]
        self.timed_out: list[int] = []
        self.forfeit: dict[str, Any] | None = None

    def is_over(self) -> bool:
        """Whether nobody has to act any more."""
        return self.forfeit is not None or self.state.is_terminal()

    def resolve_chance(self) -> None:
        """Draw chance's outcomes until a player is to move."""
        while self.state.is_chance_node():
            outcomes, probabilities = zip(*self.state.chance_outcomes(), strict=True)
            drawn = categorical(self.chance, np.array(probabilities), len(outcomes))
            self.state.apply_action(outcomes[drawn])

    def play_at_random(self) -> None:
        """Play a uniformly random legal action for a mover who was too slow."""
        self.timed_out.append(len(self.state.history()))
        legal = self.state.legal_actions()
        self.state.apply_action(legal[next_below(self.chance, len(legal))])

    def finish(self) -> Played:
        """Return the record, the outcome, and what went wrong."""
        tags = None if self.forfeit is None else {"forfeit": self.forfeit}
        timed_out = self.timed_out or None
        record = GameRecord.from_state(
            self.state, agents=list(self.specs), seed=self.seed, timed_out=timed_out, tags=tags
        )
        outcome = outcome_of(self.seed, self.specs, self.state, self.forfeit)
        if self.forfeit is None:
            return Played(record, outcome)
        seat = self.forfeit["seat"]
        fault = f"{self.specs[seat]} lost deal {self.match.deal} as player {seat}: {self.forfeit['reason']}"
        return Played(record, outcome, fault)


def play_matches(
    event: Event, game: Game, agents: dict[tuple[int, int], Any], matches: Sequence[Match]
) -> list[Played]:
    """Play matches in lock step; ``agents[i, seat]`` is the object that plays for agent i in that seat."""
    games = [Live(event, game, match) for match in matches]
    for agent in agents.values():
        agent.reset(game, 0)
    running = games
    while True:
        for one in running:
            one.resolve_chance()
        running = [one for one in running if not one.is_over()]
        if not running:
            return [one.finish() for one in games]
        groups: dict[tuple[int, int], list[Live]] = {}
        for one in running:
            seat = one.state.current_player()
            groups.setdefault((one.match.table[seat], seat), []).append(one)
        for (i, seat), members in groups.items():
            size = 1 if event.turn_time is not None else len(members)
            for start in range(0, len(members), size):
                _act(event, agents[i, seat], seat, members[start : start + size])


def _act(event: Event, agent: Any, seat: int, games: list[Live]) -> None:
    """Let one agent act in all these games; a fault costs the game in which it happens and no other."""
    rngs = [one.rngs[seat] for one in games]
    before = [rng.copy() for rng in rngs]
    started = event.clock()
    try:
        actions = agent.act_batch([one.state for one in games], rngs)
        if len(actions) != len(games):
            raise TrilithonError(f"{len(actions)} actions for {len(games)} games")
    except Exception as error:
        if len(games) > 1:
            # Somewhere among these is the game that the agent cannot play: ask for each alone.
            for one, rng in zip(games, before, strict=True):
                one.rngs[seat][:] = rng
                _act(event, agent, seat, [one])
            return
        _forfeit(event, games[0], seat, error)
        return
    if event.turn_time is not None and event.clock() - started > event.turn_time:
        for one in games:
            one.play_at_random()
        return
    for one, action in zip(games, actions, strict=True):
        try:
            one.state.apply_action(action)
        except TrilithonError as error:
            _forfeit(event, one, seat, error)


def _forfeit(event: Event, one: Live, seat: int, error: Exception) -> None:
    """The agent in `seat` loses the game: it raised, or played what is not legal."""
    reason = f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
    if event.strict:
        raise TrilithonError(f"agent {one.specs[seat]} in deal {one.match.deal} as player {seat}: {reason}") from error
    one.forfeit = {"seat": seat, "reason": reason}
