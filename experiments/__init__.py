"""Experiments: configs, self-play and training, arena and ratings, play, benchmarks, and the command line."""

from trilithon.experiments.labelled import load_benchmark

__all__ = ["load_benchmark"]
