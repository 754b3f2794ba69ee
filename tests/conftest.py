"""What all tests share: the `--heavy` option, and this folder on the path, for the plain twins in `naive/`."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--heavy", action="store_true", help="also run the tests marked heavy")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long runs are asked for by `--heavy` or `-m heavy`, and skipped otherwise."""
    if config.getoption("--heavy") or config.getoption("markexpr") == "heavy":
        return
    skip = pytest.mark.skip(reason="a long run: only with --heavy")
    for item in items:
        if "heavy" in item.keywords:
            item.add_marker(skip)
