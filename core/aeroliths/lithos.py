"""Aeroliths: Lithos outside the kernels: elements, packed words, catalogues."""

import csv
import hashlib
import io
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from trilithon.core.errors import OptionError, SetupError
from trilithon.core.jit import shared_table

ELEMENTS = ("fire", "wind", "earth", "water", "none")
MAX_CATALOGUE_ROWS = 10_000
MAX_CATALOGUE_BYTES = 2_000_000

# Catalogues of this process, one after another; a state names its rows. 4 MB of zero pages until used.
CATALOGUE_TABLE = np.zeros(1 << 20, np.uint32)
catalogue_table = shared_table("aeroliths_catalogues", CATALOGUE_TABLE)


def pack_litho(litho: Any) -> int:
    """Pack ``[top, right, bottom, left, element]``."""
    top, right, bottom, left, element = (int(v) for v in litho)
    return top | right << 4 | bottom << 8 | left << 12 | element << 16


def unpack_litho(word: Any) -> list[int]:
    """Return ``[top, right, bottom, left, element]``."""
    bits = int(word)
    return [bits & 15, bits >> 4 & 15, bits >> 8 & 15, bits >> 12 & 15, bits >> 16]


# -------------------------------------------------------------------------------------------------------- catalogue


@dataclass(frozen=True)
class Catalogue:
    """Named Lithos: `names` and `lithos` (rows of five ints), and the rows of `CATALOGUE_TABLE` they fill."""

    names: tuple[str, ...]
    lithos: tuple[tuple[int, ...], ...]
    start: int

    def name_of(self, litho: list[int] | None) -> str | None:
        """Return the name of the first Litho with these values, None where there is none."""
        key = tuple(litho or ())
        return self.names[self.lithos.index(key)] if key in self.lithos else None


@lru_cache(maxsize=64)
def _registered_rows(digest: bytes, packed: bytes) -> int:
    """Append a catalogue's packed rows to the process's table and return the first row's number."""
    rows = np.frombuffer(packed, np.uint32)
    start = int(_registered_rows_used[0])
    if start + len(rows) > len(CATALOGUE_TABLE):
        raise OptionError("aeroliths: too many different catalogues in one process")
    CATALOGUE_TABLE[start : start + len(rows)] = rows
    _registered_rows_used[0] = start + len(rows)
    return start


_registered_rows_used = [0]


def load_catalogue(name: str) -> Catalogue:
    """Read a catalogue: ``standard`` or a CSV file's path; `SetupError` names the row (from 1, header first)."""
    if name == "standard":
        return _standard_catalogue()
    path = Path(name)
    try:
        if not path.is_file():
            raise SetupError(f"catalogue {name!r}: there is no such file; allowed: standard or a CSV file's path")
        if path.stat().st_size > MAX_CATALOGUE_BYTES:
            raise SetupError(f"catalogue {name!r}: larger than {MAX_CATALOGUE_BYTES} bytes")
        return _read_catalogue(name, path.stat().st_mtime_ns)
    except UnicodeDecodeError:
        raise SetupError(f"catalogue {name!r}: not a UTF-8 text") from None
    except (OSError, ValueError) as error:
        if isinstance(error, SetupError):
            raise
        raise SetupError(f"catalogue {name!r}: cannot be read") from None


@lru_cache(maxsize=16)
def _read_catalogue(name: str, changed: int) -> Catalogue:
    """Read a file; `changed`, when it was last written, keeps the memory from going stale."""
    return parse_catalogue(Path(name).read_bytes().decode("utf-8-sig"), name)


@lru_cache(maxsize=1)
def _standard_catalogue() -> Catalogue:
    file = resources.files("trilithon.core.aeroliths") / "catalogues" / "standard.csv"
    return parse_catalogue(file.read_text("utf-8"), "standard")


def parse_catalogue(content: str, name: str) -> Catalogue:
    """Read ``name,top,right,bottom,left,element`` rows; see `load_catalogue`."""
    header = ["name", "top", "right", "bottom", "left", "element"]
    rows = csv.reader(io.StringIO(content, newline=""), strict=True)
    names: dict[str, int] = {}
    lithos: list[tuple[int, ...]] = []
    try:
        for number, row in enumerate(rows, 1):
            if number == 1:
                if [field.strip() for field in row] != header:
                    raise SetupError(f"catalogue {name!r}: row 1 must be {','.join(header)}")
                continue
            if not row:
                continue
            if len(lithos) == MAX_CATALOGUE_ROWS:
                raise SetupError(f"catalogue {name!r}: row {number}: more than {MAX_CATALOGUE_ROWS} Lithos")
            litho_name, litho = _parse_row(row, number, name)
            if litho_name in names:
                raise SetupError(
                    f"catalogue {name!r}: row {number}, column name: {litho_name!r} stands in row {names[litho_name]}"
                )
            names[litho_name] = number
            lithos.append(litho)
    except csv.Error as error:
        raise SetupError(f"catalogue {name!r}: row {rows.line_num}: {error}") from None
    if not lithos:
        raise SetupError(f"catalogue {name!r}: holds no Lithos")
    packed = np.array([pack_litho(litho) for litho in lithos], np.uint32).tobytes()
    return Catalogue(tuple(names), tuple(lithos), _registered_rows(hashlib.sha256(packed).digest(), packed))


def _parse_row(row: list[str], number: int, name: str) -> tuple[str, tuple[int, ...]]:
    where = f"catalogue {name!r}: row {number}"
    if len(row) != 6:
        raise SetupError(f"{where}: has {len(row)} columns, not 6")
    litho_name = row[0].strip()
    if not litho_name or len(litho_name) > 60 or not litho_name.isprintable():
        raise SetupError(f"{where}, column name: {row[0]!r:.70} is not a name of 1 to 60 printable characters")
    sides = []
    for column, text in zip(("top", "right", "bottom", "left"), row[1:5], strict=True):
        value = text.strip()
        if not (value.isascii() and value.isdecimal() and len(value) <= 2 and 1 <= int(value) <= 10):
            raise SetupError(f"{where}, column {column}: {text!r:.30} is not a whole number 1..10")
        sides.append(int(value))
    word = row[5].strip().lower()
    if word not in ELEMENTS:
        raise SetupError(f"{where}, column element: {row[5]!r:.30} is not one of {', '.join(ELEMENTS)}")
    return litho_name, (*sides, ELEMENTS.index(word))
