"""Labelled positions: what an exact solver says of every action, published with the package under a digest.

A set holds positions in which the mover can still throw the outcome away: some legal action leads to a worse one than
the best. So the share of them in which an agent keeps the outcome (accuracy.py) says how close to perfect play it is,
which a score against other agents does not.

Half of each set comes from random play, the other from strong play with noise: the exact solver's actions on 3x3, a
search's on 4x4, every fifth action being a random one. One position a game. Their seeds are streams of a key that no
training, self-play or rating uses. ``python -m trilithon.experiments.labelled NAME FILE`` makes a set again.
"""

import hashlib
import io
import json
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from trilithon.core.errors import OptionError, RecordError
from trilithon.core.files import write_whole
from trilithon.core.game import Game, State
from trilithon.core.options import suggest
from trilithon.core.registry import load_game
from trilithon.core.rng import next_below, next_uint64, stream
from trilithon.core.solving import DIFFERENCE, ExactSolver

RANDOM, STRONG = "random", "strong"
SOURCES = (RANDOM, STRONG)
FOLDER = Path(__file__).parent / "labelled_sets"
MAX_BYTES = 20_000_000
_SEED, _KEY = 20_261_201, 5  # of the streams; training has the keys 0 to 4
_NOISE = 5  # of strong play: one action in so many is a random one


@dataclass(frozen=True)
class Recipe:
    """How a set is made."""

    game: str
    empty: tuple[int, ...]  # numbers of empty cells
    counts: tuple[int, int]  # positions for each, from random and from strong play
    player: str | None  # the agent that plays strongly; None: the exact solver
    sha256: str  # of the published file


RECIPES = {
    "aeroliths-3x3": Recipe(
        "aeroliths(open_hands=true)",
        (3, 4, 5, 6, 7, 8, 9),
        (500, 300),
        None,
        "a85064f8d50e3b3a48fc924207ae199db63156359b7151893a06d31c58db79d4",
    ),
    "aeroliths-3x3-special": Recipe(
        "aeroliths(same=true,plus=true,combo=true,open_hands=true,elemental_cells=random)",
        (4, 5, 6, 7, 8, 9),
        (100, 100),
        None,
        "cdcb4deeb6498ec469adadc88a5473d82dc353a3846c64bc2aaba95584529c91",
    ),
    "aeroliths-4x4": Recipe(
        "aeroliths(size=4,open_hands=true)",
        (8, 9, 10),
        (60, 60),
        "mcts(simulations=200)",
        "c2027f5540979317282799804881b4d9d9e0b7e3a32664ed5209c4f2ffc9febf",
    ),
}


class LabelledSet:
    """Positions of one game with the exact value of every legal action.

    For position i, with k legal actions: ``actions[i]`` int64 [k], ascending; ``outcomes[i]`` int64 [k], the mover's
    return after each under best play of both; ``differences[i]`` int64 [k], its final lead in the game's own unit (on
    even boards 0 stands for any level count); ``empty[i]`` the number of empty cells; ``sources[i]`` "random" or
    "strong", the play it comes from.
    """

    def __init__(self, name: str, data: bytes) -> None:
        """Read a set's file; `RecordError` where it is not one."""
        import polars

        self.name, self.sha256 = name, hashlib.sha256(data).hexdigest()
        try:
            frame = polars.read_parquet(io.BytesIO(data))
        except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
            raise RecordError(f"{name!r}: not a Parquet file: {str(error).splitlines()[0]:.80}") from None
        if dict(frame.schema) != _schema():
            raise RecordError(f"{name!r}: not a set of labelled positions: its columns are others")
        columns = frame.to_dict(as_series=False)
        self._setups: list[str] = columns["setup"]
        self.empty = np.array(columns["empty"], np.int64)
        self.sources = np.array(columns["source"])
        self.actions, self.outcomes, self.differences = (
            [np.array(row, np.int64) for row in columns[column]] for column in ("actions", "outcomes", "differences")
        )
        specs = set(columns["game"])
        if len(specs) != 1:
            raise RecordError(f"{name!r}: a set of labelled positions is of one game, not of {len(specs)}")
        self.game: Game = load_game(specs.pop())

    def __len__(self) -> int:
        """Positions held."""
        return len(self._setups)

    @cached_property
    def states(self) -> list[State]:
        """The positions, in order."""
        return [self.game.from_setup(json.loads(setup)) for setup in self._setups]

    def kept(self, index: int, action: int) -> bool:
        """Whether an action keeps the best outcome of position `index`."""
        outcomes = self.outcomes[index]
        return bool(outcomes[self._place(index, action)] == outcomes.max())

    def lost_difference(self, index: int, action: int) -> int:
        """By how much less an action leads in the end than the best one."""
        differences = self.differences[index]
        return int(differences.max() - differences[self._place(index, action)])

    def _place(self, index: int, action: int) -> int:
        place = int(np.searchsorted(self.actions[index], action))
        if place == len(self.actions[index]) or self.actions[index][place] != action:
            raise OptionError(f"{self.name!r}: action {action} is not legal in position {index}")
        return place


def load_benchmark(name: str) -> LabelledSet:
    """Return a published set, whose digest is right.

    Raises `OptionError` for an unknown name and `RecordError` for a damaged file.
    """
    if name not in RECIPES:
        raise OptionError(f"unknown benchmark {name!r:.60}; {suggest(name, RECIPES)}")
    path = FOLDER / f"{name}.parquet"
    try:
        data = path.read_bytes() if path.stat().st_size <= MAX_BYTES else b""
    except OSError as error:
        raise RecordError(f"{str(path)!r}: {error.strerror or error}") from None
    if hashlib.sha256(data).hexdigest() != RECIPES[name].sha256:
        raise RecordError(f"{str(path)!r} is damaged: its digest is not the published one")
    return LabelledSet(name, data)


# --------------------------------------------------------------------------------------------------------------- making


class Maker:
    """Makes the positions of a recipe, always the same ones."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe, self.game = recipe, load_game(recipe.game)
        solver = self.game.solver()
        assert solver is not None, recipe.game
        self._solver: ExactSolver = solver
        self._cells = int(self.game.options["size"]) ** 2

    def rows(self) -> list[dict[str, Any]]:
        """All positions, by source and number of empty cells."""
        found: list[dict[str, Any]] = []
        for source, count in zip(SOURCES, self.recipe.counts, strict=True):
            for empty in self.recipe.empty:
                number = 0
                wanted = len(found) + count
                while len(found) < wanted:
                    row = self._row(source, empty, number)
                    number += 1
                    if row is not None:
                        found.append(row)
        return found

    def _row(self, source: str, empty: int, number: int) -> dict[str, Any] | None:
        """Game `number`'s position and its labels; None where no action throws the outcome away."""
        rng = stream(_SEED, _KEY, self._cells, SOURCES.index(source), empty, number)
        state = self.game.new_initial_state(int(next_uint64(rng)) >> 11)
        for _ in range(self._cells - empty):
            state.apply_action(self._play(state, source, rng))
        solved = self._solver.solve(state.array, True, DIFFERENCE)
        outcomes = solved.values[:, state.current_player()]
        if outcomes.min() == outcomes.max():
            return None
        assert solved.differences is not None
        return {
            "game": str(self.game),
            "setup": json.dumps(state.position_setup(), separators=(",", ":")),
            "source": source,
            "empty": empty,
            "actions": solved.actions.tolist(),
            "outcomes": outcomes.astype(int).tolist(),
            "differences": solved.differences.astype(int).tolist(),
        }

    def _play(self, state: State, source: str, rng: np.ndarray) -> int:
        legal = state.legal_actions()
        if source == RANDOM or next_below(rng, _NOISE) == 0:
            return legal[next_below(rng, len(legal))]
        if self.recipe.player is None:
            return int(self._solver.solve(state.array, False, DIFFERENCE).actions[0])
        return self._agent.act_batch([state], [rng])[0]

    @cached_property
    def _agent(self) -> Any:
        from trilithon.agents import load_agent

        assert self.recipe.player is not None
        return load_agent(self.recipe.player, self.game)


def make_set(recipe: Recipe) -> bytes:
    """Return the file of a recipe's positions."""
    import polars

    buffer = io.BytesIO()
    frame = polars.DataFrame(Maker(recipe).rows(), schema=_schema())
    frame.write_parquet(buffer, compression="zstd", compression_level=19)
    return buffer.getvalue()


def _schema() -> dict[str, Any]:
    import polars as pl

    return {
        "game": pl.String,
        "setup": pl.String,  # a JSON object that `Game.from_setup` takes
        "source": pl.String,
        "empty": pl.Int8,
        "actions": pl.List(pl.Int16),
        "outcomes": pl.List(pl.Int8),
        "differences": pl.List(pl.Int8),
    }


if __name__ == "__main__":
    data = make_set(RECIPES[sys.argv[1]])
    write_whole(sys.argv[2], data)
    print(hashlib.sha256(data).hexdigest())
