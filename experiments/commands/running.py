"""`trilithon train`, `play` and `bench`."""

import argparse
from pathlib import Path

import numpy as np

from trilithon.core.errors import ConfigError
from trilithon.experiments.cli import print_json
from trilithon.experiments.config import load_config
from trilithon.experiments.run import RunFolder


def train(arguments: argparse.Namespace) -> None:
    """Train from a config, or go on with a run as it was begun."""
    words = list(arguments.words)
    named = bool(words) and ("=" not in words[0] or Path(words[0]).is_file())
    config_file, overrides = (words[0], words[1:]) if named else (None, words)
    for name in ("seed", "workers"):
        value = getattr(arguments, name)
        if value is not None:
            overrides.append(f"{name}={value}")
    if arguments.resume is not None:
        if config_file is not None or overrides or arguments.out is not None:
            raise ConfigError("--resume goes on with a run's own config and folder; give nothing else beside it")
        RunFolder.open(arguments.resume)
        from trilithon.experiments.train import resume  # torch

        resume(arguments.resume)
        return
    if config_file is None:
        raise ConfigError("train needs a config file, or --resume and a run folder")
    if arguments.out is not None:
        RunFolder.check_new(arguments.out)
    config = load_config(config_file, overrides)
    from trilithon.experiments.train import train as run  # torch

    folder = run(config, out=arguments.out)
    print(f"the run is in {folder.path}")


def play(arguments: argparse.Namespace) -> None:
    """Play one game in the terminal."""
    from trilithon.experiments import play as terminal_play

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
        print(f"\n{', '.join(f'{key} {value}' for key, value in facts.items())}")
