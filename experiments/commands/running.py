"""`trilithon train`, `play` and `bench`."""

import argparse
import sys
from pathlib import Path

import numpy as np

from trilithon.core.errors import ConfigError
from trilithon.core.registry import load_game
from trilithon.experiments.cli import print_json


def train(arguments: argparse.Namespace) -> None:
    """Train from a config, or go on with a run."""
    if arguments.config is not None and "=" in arguments.config and not Path(arguments.config).exists():
        arguments.overrides.insert(0, arguments.config)
        arguments.config = None
    if arguments.config is None:
        if arguments.resume is None:
            raise ConfigError("train needs a config file, or --resume and a run folder")
        arguments.config = str(Path(arguments.resume) / "config.yaml")
    for name in ("seed", "workers"):
        value = getattr(arguments, name)
        if value is not None:
            arguments.overrides.append(f"{name}={value}")
    from trilithon.experiments.config import load_config

    config = load_config(arguments.config, arguments.overrides)
    from trilithon.experiments.train import train as run  # torch

    run(config, out=arguments.out, resume=arguments.resume)


def play(arguments: argparse.Namespace) -> None:
    """Play one game in the terminal."""
    from trilithon.experiments import play as terminal_play
    from trilithon.experiments.run import RunFolder

    terminal = terminal_play.Terminal()
    seed = int(np.random.SeedSequence().entropy) >> 76 if arguments.seed is None else arguments.seed  # type: ignore[arg-type]
    try:
        table = terminal_play.sit_down(
            terminal, arguments.game, arguments.players, seed, arguments.turn_time, ask=not arguments.yes
        )
        record = table.play()
    except terminal_play.LeftGame:
        print("\nleft the game")
        return
    if arguments.out is not None:
        print(f"the game is in {RunFolder(arguments.out).write_shard([record])}")


def bench(arguments: argparse.Namespace) -> None:
    """Measure and print each result as it comes."""
    from trilithon.experiments.benchmark import machine, run_benchmarks, versions

    results = []
    for result in run_benchmarks(arguments.names):
        results.append(result.to_dict())
        if not arguments.json:
            print(result, flush=True)
    if arguments.json:
        print_json({"results": results, "machine": machine(), "versions": versions()})
    else:
        facts = {**machine(), **versions()}
        print(f"\n{', '.join(f'{key} {value}' for key, value in facts.items())}", file=sys.stdout)
