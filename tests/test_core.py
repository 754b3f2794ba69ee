"""The core's machinery: generators, specs, options, verbs, the compile cache, files, the registry."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from trilithon.core import OptionError, SetupError, SpecError, TrilithonError, list_games, load_game, register_game
from trilithon.core import registry as registry_module
from trilithon.core.files import write_whole
from trilithon.core.jit import JIT_ENABLED, kernel, shared_table
from trilithon.core.lattice import square_neighbours, square_symmetries
from trilithon.core.options import Option, validate
from trilithon.core.rng import categorical, game_streams, next_below, next_float, next_uint64, seed, shuffle, stream
from trilithon.core.spec import format_spec, parse_spec
from trilithon.core.verbs import REQUIRED, provide, provides, record_dtype

# ----------------------------------------------------------------------------------------------------------------- rng


def test_splitmix64_gives_the_published_numbers():
    """The first outputs for state 1234567, as other implementations of the algorithm give them."""
    rng = np.array([1234567], np.uint64)
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [int(next_uint64(rng)) for _ in range(4)] == expected


def test_draws_are_uniform():
    rng = seed(7)
    for n in (2, 3, 10, 47):
        counts = np.bincount([next_below(rng, n) for _ in range(20_000)], minlength=n)
        assert chisquare(counts).pvalue > 1e-4
    floats = np.array([next_float(rng) for _ in range(20_000)])
    assert ((floats >= 0) & (floats < 1)).all()
    assert chisquare(np.histogram(floats, 20)[0]).pvalue > 1e-4
    p = np.array([0.1, 0.0, 0.6, 0.3])
    counts = np.bincount([categorical(rng, p, 4) for _ in range(20_000)], minlength=4)
    assert counts[1] == 0
    assert chisquare(counts[[0, 2, 3]], 20_000 * p[[0, 2, 3]]).pvalue > 1e-4


def test_shuffle_reaches_every_order_alike():
    rng, seen = seed(3), {}
    for _ in range(12_000):
        values = np.arange(4)
        shuffle(rng, values, 4)
        seen[tuple(values.tolist())] = seen.get(tuple(values.tolist()), 0) + 1
    assert len(seen) == 24
    assert chisquare(list(seen.values())).pvalue > 1e-4


def test_seeds_and_streams():
    assert seed(5)[0] == seed(5)[0] != seed(6)[0]
    rng = seed(5)
    assert seed(rng) is rng
    assert stream(5, 1)[0] != stream(5, 2)[0] != stream(5, 1, 1)[0]
    setup, chance = game_streams(5)
    assert setup[0] == seed(5)[0] != chance[0]
    for bad in (-1, 1.5, "x", None, np.zeros(2, np.uint64), np.zeros(1)):
        with pytest.raises(OptionError):
            seed(bad)


# --------------------------------------------------------------------------------------------------------------- specs

words = st.from_regex(r"[A-Za-z_][A-Za-z_0-9]{0,8}", fullmatch=True)
finite = st.floats(allow_nan=False, allow_infinity=False, width=32)
values = st.one_of(st.booleans(), st.integers(-(10**15), 10**15), finite, st.text(max_size=20))


@given(words, st.dictionaries(words, values, max_size=4))
def test_specs_round_trip(name, options):
    assert parse_spec(format_spec(name, options)) == (name, options)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        parse_spec(text)
    except SpecError:
        return


@pytest.mark.parametrize(
    "text", ["", "a(", "a)", "a(b)", "a(b=)", "a(b=1,b=2)", "a(b=1", "(b=1)", "a(b=1)c", "a(b=1))"]
)
def test_bad_specs(text):
    with pytest.raises(SpecError):
        parse_spec(text)


def test_nothing_is_evaluated():
    assert parse_spec("a(b=__import__('os').getcwd())") == ("a", {"b": "__import__('os').getcwd()"})


# ------------------------------------------------------------------------------------------------------------- options


def test_options_name_what_is_wrong():
    table = (
        Option("n", 3, "", low=1, high=9),
        Option("mode", "a", "", choices=("a", "b")),
        Option("x", 0.5, "", low=0, high=1, real=True),
    )
    assert validate(table, {"n": 4}, "thing") == {"n": 4, "mode": "a", "x": 0.5}
    assert validate(table, {"x": 1}, "thing")["x"] == 1.0
    for bad, message in [
        ({"n": 10}, "thing: n = 10 is not allowed; allowed: a whole number 1..9"),
        ({"n": True}, "thing: n = True"),
        ({"n": 2.0}, "thing: n = 2.0"),
        ({"mode": "c"}, "allowed: a or b"),
        ({"x": float("nan")}, "x = nan is not allowed; allowed: a number 0..1"),
        ({"m": 1}, "unknown option 'm'; "),
    ]:
        with pytest.raises(OptionError) as error:
            validate(table, bad, "thing")
        assert message in str(error.value)


# --------------------------------------------------------------------------------------------------------------- verbs


def _functions(**changes):
    return {**dict.fromkeys(REQUIRED, lambda *arguments: None), **changes}


def _state(*fields):
    return np.dtype([("current_player", np.int8), ("move_number", np.int16), *fields])


def test_provide_refuses_what_would_go_wrong_in_silence():
    with pytest.raises(OptionError, match="may not be named"):
        provide(_state(("round", np.int8)), **_functions())
    with pytest.raises(OptionError, match="may not be named 'base'"):
        record_dtype([("own", np.int8), ("base", np.int8)])
    with pytest.raises(OptionError, match="unknown verbs"):
        provide(_state(("own", np.int8)), **_functions(resign=None))
    with pytest.raises(OptionError, match="first fields"):
        provide(np.dtype([("player", np.int8)]), **_functions())
    incomplete = _functions()
    incomplete.pop("observe")
    with pytest.raises(OptionError, match="missing verbs"):
        provide(_state(("own", np.int8)), **incomplete)
    with pytest.raises(OptionError, match="no game provides"):
        provides(_state(("nobody", np.int8)))
    # Two dtypes with the same fields are one numba type, np.record or not.
    provide(_state(("twin", np.int8)), **_functions())
    elsewhere = dict.fromkeys(REQUIRED, square_neighbours)
    with pytest.raises(OptionError, match="same fields"):
        provide(np.dtype((np.record, _state(("twin", np.int8)))), **elsewhere)


# ----------------------------------------------------------------------------------------------------------------- jit


def test_a_kernel_may_not_call_itself():
    with pytest.raises(TypeError, match="calls itself"):

        @kernel
        def factorial(n):
            return 1 if n == 0 else n * factorial(n - 1)


def test_a_shared_table_is_seen_as_it_changes():
    table = np.zeros(3, np.uint32)
    get = shared_table("test_core", table)

    @kernel
    def read(i):
        return get()[i]

    assert read(1) == 0
    table[1] = 9
    assert read(1) == 9


def _cache_name(**environment):
    code = "from trilithon.core import jit; import trilithon.core.verbs; print(jit.cache_folder().name)"
    result = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return result.stdout.strip()


def test_the_cache_folder_depends_on_settings_and_not_on_the_process():
    assert _cache_name() == _cache_name(PYTHONHASHSEED="7")
    assert _cache_name() != _cache_name(NUMBA_BOUNDSCHECK="1")


@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled")
def test_a_change_in_another_file_is_never_served_from_the_cache(tmp_path):
    """A game from outside changes a verb: the generic kernel that calls it is compiled anew."""
    package = tmp_path / "outside_game"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "use.py").write_text(
        "from outside_game.rules import value\nfrom trilithon.core.jit import kernel\n"
        "@kernel\ndef twice(n):\n    return 2 * value(n)\n"
    )
    code = "from outside_game.use import twice; print(twice(1))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "TRILITHON_CACHE_DIR": str(tmp_path / "cache")}
    seen = []
    for factor in (3, 3, 5):
        (package / "rules.py").write_text(
            f"from trilithon.core.jit import kernel\n@kernel\ndef value(n):\n    return {factor} * n\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        seen.append(int(result.stdout))
    assert seen == [6, 6, 10]


def test_a_cache_folder_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "file").write_text("")
    code = "from trilithon.core.rng import seed, next_uint64; print(next_uint64(seed(1)))"
    environment = {**os.environ, "TRILITHON_CACHE_DIR": str(tmp_path / "file")}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


# --------------------------------------------------------------------------------------------------- lattice and files


@pytest.mark.parametrize("n", [3, 4, 5])
def test_square_lattice(n):
    neighbours = square_neighbours(n)
    for cell in range(n * n):
        for side in range(4):
            other = neighbours[cell, side]
            assert other < 0 or neighbours[other, (side + 2) % 4] == cell
    assert (neighbours < 0).sum() == 4 * n
    cells, sides = square_symmetries(n)
    assert len({tuple(row) for row in cells}) == 8
    for g in range(8):
        for cell in range(n * n):
            for side in range(4):
                # Neighbours stay neighbours, on the side that the symmetry says.
                other = neighbours[cell, side]
                moved = neighbours[cells[g, cell], sides[g, side]]
                assert moved == (cells[g, other] if other >= 0 else -1)


def test_files_appear_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "file.txt"
    write_whole(path, "one")
    assert path.read_text() == "one"

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(TrilithonError, match="No space left"):
        write_whole(path, "two")
    assert path.read_text() == "one"
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]


# ------------------------------------------------------------------------------------------------------------ registry


def test_games_by_name():
    assert "aeroliths" in list_games()
    game = load_game("aeroliths(size=4,same=true)", plus=True)
    assert load_game(str(game)) == game
    assert hash(load_game(str(game))) == hash(game)
    assert str(load_game("aeroliths(size=3)")) == "aeroliths"
    for bad, error in [
        ("chess", SpecError),
        ("aeroliths(size=6)", OptionError),
        ("aeroliths(sise=3)", OptionError),
        ("aeroliths(self=3)", OptionError),
        ("aeroliths(spec=3)", OptionError),
        ("aeroliths(order=true,chaos=true)", OptionError),
        ("aeroliths(draft=true,hands=mirrored)", OptionError),
        ("aeroliths(pool_size=8)", OptionError),
        ("aeroliths(size=5,pool_size=24,draft=true)", OptionError),
        ("aeroliths(elemental_cells=10)", OptionError),
        ("aeroliths(source=catalogue,catalogue=nowhere.csv)", SetupError),
    ]:
        with pytest.raises(error):
            load_game(bad)
    with pytest.raises(OptionError, match="in the text and as an argument"):
        load_game("aeroliths(size=4)", size=4)


def test_registering_a_game(monkeypatch):
    monkeypatch.setattr(registry_module, "_registered", {})
    register_game("mine", lambda **options: load_game("aeroliths", **options))
    assert "mine" in list_games()
    assert load_game("mine(size=4)").options["size"] == 4
    for name in ("mine", "aeroliths", "not a name"):
        with pytest.raises(OptionError):
            register_game(name, lambda **options: None)
