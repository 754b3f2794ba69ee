"""Experiments: configs, self-play and training, arena and ratings, play, benchmarks, and the command line."""
