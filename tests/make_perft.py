"""Writes data/perft.json with what `trilithon perft` finds: `python tests/make_perft.py` makes all entries anew.

`python tests/make_perft.py GAME DEPTH [--seed N | --setup FILE]` adds one, or makes that one anew. Paths in it are
relative to tests/data, and so are those in the options of a game.
"""

import argparse
import contextlib
import io
import json
from pathlib import Path
from typing import Any

from trilithon.core.files import write_whole
from trilithon.experiments.cli import main

DATA = Path(__file__).parent / "data"
TABLE = DATA / "perft.json"
WHERE = ("game", "depth", "seed", "setup")  # an entry has a seed or a setup file


def read_table() -> list[dict[str, Any]]:
    """The committed entries."""
    return json.loads(TABLE.read_text()) if TABLE.exists() else []


def command(entry: dict[str, Any]) -> list[str]:
    """The command line that an entry's numbers come from, to be run in tests/data."""
    place = "setup" if "setup" in entry else "seed"
    return ["perft", entry["game"], str(entry["depth"]), f"--{place}", str(entry[place]), "--json"]


def run(entry: dict[str, Any]) -> dict[str, Any]:
    """What the command prints now."""
    with contextlib.chdir(DATA), contextlib.redirect_stdout(io.StringIO()) as out:
        if main(command(entry)):
            raise SystemExit(2)
    return json.loads(out.getvalue())


def make(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry with its numbers."""
    found = run(entry)
    where = {key: entry[key] for key in WHERE if key in entry}
    return {**where, **{key: found[key] for key in ("nodes", "states", "digest")}}


def write_table(entries: list[dict[str, Any]]) -> None:
    """One line an entry, game by game, in the order in which they came."""
    games = list(dict.fromkeys(entry["game"].partition("(")[0] for entry in entries))
    entries = sorted(entries, key=lambda entry: games.index(entry["game"].partition("(")[0]))
    write_whole(TABLE, "[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("game", nargs="?")
    parser.add_argument("depth", nargs="?", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--setup")
    wanted = {key: value for key, value in vars(parser.parse_args()).items() if value is not None}
    entries = read_table()
    if wanted:
        if "setup" not in wanted:
            wanted.setdefault("seed", 0)
        same = [all(entry.get(key) == wanted.get(key) for key in WHERE) for entry in entries]
        at = same.index(True) if any(same) else len(entries)
        entries[at : at + 1] = [make(wanted)]
    else:
        entries = [make(entry) for entry in entries]
    write_table(entries)
