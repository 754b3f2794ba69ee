"""The same start for the plain twin and for the real game, so that one test of a rule judges both."""

from typing import Any

from naive.aeroliths import NaiveAeroliths

IMPLEMENTATIONS = ("naive", "kernels")


def begin_aeroliths(implementation: str, config: dict[str, Any], setup: dict[str, Any]) -> Any:
    """A state of the named implementation."""
    if implementation == "naive":
        return NaiveAeroliths(config, setup)
    from trilithon.core import load_game

    return load_game("aeroliths", **config).from_setup(setup)
