"""Play in the terminal: a person against an agent, or several people at one keyboard.

A person's screen shows what that player may know and nothing else: the position as the core tells it to that player,
and the steps as that player saw them. Where several people hold hidden cards, the screen is cleared between turns and
waits until the next one says to be alone with it.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trilithon.agents import list_agents, load_agent
from trilithon.core.errors import ConfigError, OptionError, SpecError, TrilithonError
from trilithon.core.game import Game, State
from trilithon.core.options import Option
from trilithon.core.record import GameRecord
from trilithon.core.registry import game_factory, list_games, load_game
from trilithon.core.rng import categorical, game_streams, next_below
from trilithon.core.spec import format_value, parse_value

HUMAN = "human"
DEFAULT_OPPONENT = "mcts(simulations=200)"
CLEAR = "\x1b[2J\x1b[3J\x1b[H"  # screen and the lines scrolled out of it, then home
HELP = "type an action as shown, `help` for all legal ones, `quit` to leave"

Reader = Callable[[str, float | None], str | None]


class LeftGame(Exception):  # noqa: N818 (nothing went wrong)
    """A person left the game."""


def read_line(prompt: str, seconds: float | None = None) -> str | None:
    """Read a line from the terminal; None once `seconds` have passed (where the system can wait for a terminal)."""
    sys.stdout.write(prompt)
    sys.stdout.flush()
    if seconds is not None and sys.stdin.isatty():
        import select

        try:
            if not select.select([sys.stdin], [], [], max(0.0, seconds))[0]:
                return None
        except (OSError, ValueError):
            pass  # a system that cannot wait for a terminal: the overrun shows after the line was typed
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\r\n")


class Terminal:
    """Where people read and type; `read` and `write` can be replaced. `people` are the seats of people."""

    def __init__(self, read: Reader = read_line, write: Callable[[str], Any] = print) -> None:
        self._read, self.write = read, write
        self.people: list[int] = []
        self._facing: int | None = None  # whose secrets may be on the screen

    def read(self, prompt: str, seconds: float | None = None) -> str | None:
        """Return what was typed, stripped; None where the time ran out. `LeftGame` at the end of input."""
        try:
            line = self._read(prompt, seconds)
        except EOFError:
            raise LeftGame from None
        return None if line is None else line.strip()

    def ask(self, prompt: str, parse: Callable[[str], Any]) -> Any:
        """Ask until `parse` accepts what was typed; a refusal is one line."""
        while True:
            typed = self.read(prompt)
            if typed == "quit":
                raise LeftGame
            try:
                return parse(typed or "")
            except TrilithonError as error:
                self.write(str(error))

    def face(self, player: int) -> None:
        """See to it that `player` alone looks at the screen, where several people have secrets."""
        if len(self.people) < 2 or self._facing == player:
            return
        self.hide()
        self.read(f"Player {player}: press Enter when nobody else sees the screen. ")
        self.write(CLEAR)
        self._facing = player

    def hide(self) -> None:
        """Clear the screen, where several people have secrets."""
        if len(self.people) >= 2:
            self.write(CLEAR)
            self._facing = None

    def ask_player(self, player: int | None, prompt: str, parse: Callable[[str], Any]) -> Any:
        """Ask a person alone (None, or an agent's seat: everybody)."""
        if player in self.people:
            self.face(player)
        answer = self.ask(f"{prompt}: ", parse)
        self.hide()
        return answer


# --------------------------------------------------------------------------------------------------------------- form


def ask_game(terminal: Terminal) -> Game:
    """The form: which game, and every option with its default and what is allowed."""
    names = list_games()
    name = terminal.ask(f"game ({', '.join(names)}) [{names[0]}]: ", lambda typed: _one_of(typed or names[0], names))
    while True:
        terminal.write(f"Options of {name}: Enter keeps the value in brackets, a dot keeps all that follow.")
        try:
            table: Sequence[Option] = getattr(game_factory(name), "option_table", ())
            return load_game(name, **_ask_options(terminal, table, name))
        except TrilithonError as error:  # options that do not go together
            terminal.write(str(error))


def _ask_options(terminal: Terminal, table: Sequence[Option], name: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for option in table:
        shown = "chosen by the program" if option.default is None else format_value(option.default)

        def parse(typed: str, option: Option = option) -> Any:
            return typed if typed in ("", ".") else option.validate(parse_value(typed), name)

        value = terminal.ask(f"{option.name}: {option.doc}; allowed: {option.allowed()} [{shown}]: ", parse)
        if value == ".":
            break
        if value != "":
            values[option.name] = value
    return values


def ask_seats(terminal: Terminal, game: Game) -> list[str]:
    """Who plays: a person or an agent for each seat."""
    seats = []
    for seat in range(game.num_players()):
        default = HUMAN if seat == 0 else DEFAULT_OPPONENT
        known = ", ".join([HUMAN, *list_agents()])

        def parse(typed: str, default: str = default) -> str:
            return check_seat(typed or default, game)

        seats.append(terminal.ask(f"player {seat} ({known}, or a path) [{default}]: ", parse))
    return seats


def ask_turn_time(terminal: Terminal) -> float | None:
    """Seconds for a turn."""
    return terminal.ask("seconds for a turn, or none [none]: ", parse_turn_time)


def parse_turn_time(text: str) -> float | None:
    """Read a number of seconds > 0; empty or ``none`` is no limit."""
    if text in ("", "none"):
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e9:
        raise OptionError(f"turn_time = {text!r:.30} is not allowed; allowed: a number of seconds > 0, or none")
    return seconds


def check_seat(spec: str, game: Game) -> str:
    """Return ``human`` or the spec of an agent that can play `game`."""
    if spec != HUMAN:
        load_agent(spec, game, 0)
    return spec


def _one_of(typed: str, names: Sequence[str]) -> str:
    if typed not in names:
        raise SpecError(f"{typed!r:.40} is not one of {', '.join(names)}")
    return typed


def sit_down(
    terminal: Terminal,
    game: str | None,
    seats: Sequence[str] | None,
    seed: int,
    turn_time: float | None = None,
    ask: bool = True,
) -> "Table":
    """Return a table with what is given; where no `game` (spec) is, and with `ask`, a form asks for all the rest."""
    form = ask and game is None
    if not form and game is None:
        game = list_games()[0]
    loaded = ask_game(terminal) if form or game is None else load_game(game)
    if seats is None:
        seats = ask_seats(terminal, loaded) if form else [HUMAN] + [DEFAULT_OPPONENT] * (loaded.num_players() - 1)
    if form and turn_time is None:
        turn_time = ask_turn_time(terminal)
    return Table(loaded, seats, terminal, seed, turn_time)


# --------------------------------------------------------------------------------------------------------------- game


class Table:
    """One game at one keyboard."""

    def __init__(
        self,
        game: Game,
        seats: Sequence[str],
        terminal: Terminal,
        seed: int,
        turn_time: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if len(seats) != game.num_players():
            raise ConfigError(f"{game.name} has {game.num_players()} players, but {len(seats)} were named")
        self.game, self.seats, self.terminal, self.seed = game, list(seats), terminal, seed
        self.turn_time, self.clock = turn_time, clock
        self.agents = {i: load_agent(spec, game, seed + i) for i, spec in enumerate(seats) if spec != HUMAN}
        people = [i for i, spec in enumerate(seats) if spec == HUMAN]
        terminal.people = people
        setup_rng, self.rng = game_streams(seed)
        self.state: State = game.from_setup(game.setup_by_hand(setup_rng, terminal.ask_player))
        self.unseen: dict[int, list[str]] = {player: [] for player in people}  # steps since a person last looked
        self.timed_out: list[int] = []

    def play(self) -> GameRecord:
        """Play to the end and return the record; `LeftGame` where a person leaves."""
        self.terminal.write(HELP)
        while not self.state.is_terminal():
            player = self.state.current_player()
            if self.state.is_chance_node():
                outcomes, probabilities = zip(*self.state.chance_outcomes(), strict=True)
                self._apply(outcomes[categorical(self.rng, np.array(probabilities), len(outcomes))])
            elif player in self.agents:
                started = self.clock()
                action = self.agents[player].act(self.state)
                self._apply(self._draw(player) if self._late(started) else action)
            else:
                self._turn(player)
        self.terminal.hide()
        self.terminal.write(f"{self.state}\n{self.result()}")
        seats = list(self.seats)
        return GameRecord.from_state(self.state, agents=seats, seed=self.seed, timed_out=self.timed_out or None)

    def result(self) -> str:
        """Who won, in one line."""
        scale, unit = self.game.margin_unit()
        parts = []
        for seat, (value, margin) in enumerate(zip(self.state.returns(), self.state.margin(), strict=True)):
            parts.append(f"player {seat} ({self.seats[seat]}) {value:+g} ({margin * scale:+g} {unit})")
        return f"result: {', '.join(parts)}"

    def _turn(self, player: int) -> None:
        """One action of a person; asks again until it is legal or the time has run out."""
        if any(self.game.has_hidden_information(self.state.array, person) for person in self.unseen):
            self.terminal.face(player)
        for line in self.unseen[player]:
            self.terminal.write(line)
        self.unseen[player].clear()
        self.terminal.write(self.state.to_text(player))
        started = self.clock()
        while True:
            left = None if self.turn_time is None else self.turn_time - (self.clock() - started)
            typed = self.terminal.read(f"player {player}> ", left)
            if typed == "quit":
                raise LeftGame
            if typed is None or self._late(started):
                self.terminal.write("Too late: a random action is played.")
                self._apply(self._draw(player))
                return
            if typed in ("help", "?", ""):
                legal = ", ".join(self.state.action_to_string(action) for action in self.state.legal_actions())
                self.terminal.write(f"legal: {legal}\n{HELP}")
                continue
            try:
                action = self.state.string_to_action(typed)
                self._apply(action)
                return
            except TrilithonError as error:
                self.terminal.write(str(error))

    def _late(self, started: float) -> bool:
        return self.turn_time is not None and self.clock() - started > self.turn_time

    def _draw(self, player: int) -> int:
        """A uniformly random legal action for a player whose time ran out."""
        self.timed_out.append(len(self.state.history()))
        for person in self.unseen:
            if person != player:
                self.unseen[person].append(f"player {player} ran out of time")
        legal = self.state.legal_actions()
        return legal[next_below(self.rng, len(legal))]

    def _apply(self, action: int) -> None:
        """Apply a step, and note for each person what that one sees of it."""
        if action not in self.state.legal_actions():
            self.state.apply_action(action)  # raises, and says what is legal
        seen = {person: self.game.step_to_string(self.state.array, action, person) for person in self.unseen}
        self.state.apply_action(action)
        for person, text in seen.items():
            self.unseen[person].append(text)
