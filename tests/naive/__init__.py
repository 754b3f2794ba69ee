"""Slow, plain twins of the games' rules: written from the rules' text, compared with the kernels step by step."""
