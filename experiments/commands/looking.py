"""`trilithon games`, `agents`, `replay` and `perft`: look at what there is."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trilithon.core.errors import OptionError, RecordError, SetupError, TrilithonError
from trilithon.core.options import Option
from trilithon.core.perft import perft as count_sequences
from trilithon.core.record import GameRecord, read_records
from trilithon.core.registry import game_factory, list_games, load_game
from trilithon.core.spec import format_value
from trilithon.experiments.cli import print_json


def games(arguments: argparse.Namespace) -> None:
    """Every game with its options, their defaults and what is allowed."""
    _print_catalogue("games", [(name, game_factory(name)) for name in list_games()], arguments.json)


def agents(arguments: argparse.Namespace) -> None:
    """Every agent with its options, their defaults and what is allowed."""
    from trilithon.agents import list_agents

    _print_catalogue("agents", list(list_agents().items()), arguments.json)


def _print_catalogue(title: str, found: list[tuple[str, Any]], as_json: bool) -> None:
    # A factory from outside need not be a class with a table.
    entries = [(name, getattr(one, "doc", ""), getattr(one, "option_table", ())) for name, one in found]
    if as_json:
        listed = [{"name": name, "doc": doc, "options": [_option(o) for o in table]} for name, doc, table in entries]
        print_json({title: listed})
        return
    for name, doc, table in entries:
        print(f"{name}: {doc}" if doc else name)
        width = max((len(f"{o.name}={_default(o)}") for o in table), default=0)
        for option in table:
            value = f"{option.name}={_default(option)}"
            print(f"    {value:<{width}}  {option.doc}; allowed: {option.allowed()}")


def _option(option: Option) -> dict[str, Any]:
    return {"name": option.name, "default": option.default, "allowed": option.allowed(), "doc": option.doc}


def _default(option: Option) -> str:
    return "" if option.default is None else format_value(option.default)


def replay(arguments: argparse.Namespace) -> None:
    """Print games step by step, or replay all of them and compare what is stored."""
    records = _select(read_any(arguments.file), arguments)
    if not arguments.verify:
        shown = [list(_texts(number, record)) for number, record in records] if arguments.json else None
        if shown is not None:
            print_json({"games": [{"number": n, "text": text} for (n, _), text in zip(records, shown)]})
            return
        for number, record in records:
            for text in _texts(number, record):
                print(f"{text}\n")
        return
    for number, record in records:
        try:
            record.verify()
        except TrilithonError as error:
            raise RecordError(f"{arguments.file!r}, game {number}: {error}") from None
    if arguments.json:
        print_json({"file": arguments.file, "games": len(records), "verified": True})
    else:
        print(f"{len(records)} games verified")


def _select(records: list[GameRecord], arguments: argparse.Namespace) -> list[tuple[int, GameRecord]]:
    numbered = list(enumerate(records, 1))
    if arguments.number is None:
        return numbered
    if arguments.number > len(records):
        raise RecordError(f"{arguments.file!r} holds {len(records)} games; there is no game {arguments.number}")
    return [numbered[arguments.number - 1]]


def _texts(number: int, record: GameRecord) -> Iterator[str]:
    """A headline, the start, and every step with the position after it."""
    names = "" if not record.agents else ", " + " against ".join(record.agents)
    state = record.initial_state()
    yield f"game {number}: {state.game}{names}\n{state}"
    for step, (player, action) in enumerate(record.steps):
        if player != state.current_player():
            raise RecordError(
                f"game {number}: step {step}: player {player} cannot act, it is the turn of {state.current_player()}"
            )
        if action not in state.legal_actions():
            raise RecordError(f"game {number}: step {step}: action {action} is not legal")
        who = "chance" if player < 0 else f"player {player}"
        mark = " (time ran out)" if step in (record.timed_out or ()) else ""
        text = f"step {step}, {who}: {state.action_to_string(action)}{mark}"
        state.apply_action(action)
        yield f"{text}\n{state}"
    yield f"returns: {', '.join(f'{value:+g}' for value in record.returns)}"


def read_any(place: str) -> list[GameRecord]:
    """Read a file of records, a folder of shards or a run's records; `RecordError` where there are none."""
    path = Path(place)
    if (path / "records").is_dir():
        path = path / "records"
    records = read_records(path)
    if not records:
        raise RecordError(f"{place!r} holds no game records")
    return records


def perft(arguments: argparse.Namespace) -> None:
    """Count and hash the sequences of so many actions, from a seed's start or a setup."""
    game = load_game(arguments.game)
    if arguments.setup is None:
        state = game.new_initial_state(arguments.seed or 0)
    elif arguments.seed is not None:
        raise OptionError("perft: --seed and --setup both say where to start; give one of them")
    else:
        state = game.from_setup(read_setup(arguments.setup))
    found = count_sequences(state, arguments.depth)
    digest = f"{found.digest:016x}"
    if arguments.json:
        print_json({"nodes": found.nodes, "states": found.states, "digest": digest, "divide": found.divide})
        return
    if arguments.divide:
        for action, nodes in found.divide.items():
            print(f"{action} ({state.action_to_string(action)}): {nodes:,}")
    print(f"{game}, depth {arguments.depth}: nodes {found.nodes:,}, states {found.states:,}, digest {digest}")


def read_setup(place: str) -> Any:
    """The JSON value in a file; `Game.from_setup` says whether it is a setup."""
    try:
        return json.loads(Path(place).read_text("utf-8"))
    except (ValueError, RecursionError):
        raise SetupError(f"{place!r} is not a setup: it holds no JSON in UTF-8") from None
