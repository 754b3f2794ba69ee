"""Random numbers for kernels and plain Python alike: splitmix64 in a ``uint64[1]``.

The generator is Sebastiano Vigna's splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
generators", OOPSLA 2014). Its whole state is one word, so a stream is copied, stored and passed to kernels for nothing.
"""

import operator
from typing import Any

import numpy as np

from trilithon.core.errors import OptionError
from trilithon.core.jit import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32, _S11 = (np.uint64(s) for s in (27, 30, 31, 32, 11))
_LOW = np.uint64(0xFFFFFFFF)
_TWO_32 = np.uint64(1 << 32)


def seed(value: Any) -> np.ndarray:
    """Return a generator, ``uint64[1]``, for an int seed (any non-negative size); a generator is passed through."""
    if isinstance(value, np.ndarray):
        if value.dtype != np.uint64 or value.shape != (1,):
            raise OptionError(f"a generator is a uint64[1] of core.rng, not {value.dtype}[{value.shape}]")
        return value
    return _words(value, 1)


def _words(value: Any, count: int) -> np.ndarray:
    """Return `count` words of key material for an int seed, the first ones the same for every `count`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise OptionError(f"seed must be a whole number >= 0, not {value!r}") from None
    if number < 0:
        raise OptionError(f"seed must be a whole number >= 0, not {number}")
    # Small seeds would be neighbours in the sequence; SeedSequence spreads any integer over the 64 bits.
    return np.random.SeedSequence(number).generate_state(count, np.uint64)


def stream(value: int, *keys: int) -> np.ndarray:
    """Return the generator of stream `keys` of an int seed, such as ``stream(seed, game_number, seat)``."""
    return np.random.SeedSequence(value, spawn_key=keys).generate_state(1, np.uint64)


def game_streams(value: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the two generators of one game with an int seed: what its setup is drawn from, and what chance is.

    Whoever runs a game (environment, arena, self-play) takes both from here, so that one seed is one game everywhere:
    the setup is that of ``game.new_initial_state(seed)``; in play each chance outcome, and each action drawn for a
    player whose time ran out, takes its draws from the second generator.
    """
    if isinstance(value, np.ndarray):
        raise OptionError("a game's seed is a whole number >= 0, not a generator")
    words = _words(value, 2)
    return words[:1].copy(), words[1:].copy()


@kernel
def next_uint64(rng):
    """Advance `rng` in place and return its next 64 bits."""
    rng[0] += _GOLDEN
    z = rng[0]
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@kernel
def next_below(rng, n):
    """Return a uniform integer in ``0 <= i < n < 2**32``, without bias (Lemire, ACM TOMACS 2019)."""
    bound = np.uint64(n)
    product = (next_uint64(rng) >> _S32) * bound
    low = product & _LOW
    if low < bound:
        threshold = (_TWO_32 - bound) % bound
        while low < threshold:
            product = (next_uint64(rng) >> _S32) * bound
            low = product & _LOW
    return np.int64(product >> _S32)


@kernel
def next_float(rng):
    """Return a uniform float64 in ``[0, 1)`` with 53 random bits."""
    return np.float64(next_uint64(rng) >> _S11) * (1.0 / 9007199254740992.0)


@kernel
def categorical(rng, probabilities, n):
    """Return index i < n with probability ``probabilities[i]``, by cumulative sum in ascending order (one draw)."""
    u = next_float(rng)
    total = 0.0
    last = 0
    for i in range(n):
        if probabilities[i] > 0.0:
            last = i
            total += probabilities[i]
            if u < total:
                return i
    return last


@kernel
def shuffle(rng, values, n):
    """Permute ``values[:n]`` uniformly in place (Fisher-Yates)."""
    for i in range(n - 1, 0, -1):
        j = next_below(rng, i + 1)
        values[i], values[j] = values[j], values[i]
