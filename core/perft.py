"""Perft: the sequences of actions of a given length, counted, with a fingerprint of the positions they lead to.

The name is the chess programmers' (performance test). Two sets of rules that agree on the counts may still differ in
captures, pulls or powers, so the positions are hashed too: of each leaf's `State.to_dict` as JSON with sorted keys and
no spaces the first 8 bytes of SHA-256 are a big-endian number, and the digest is the sum of these over all sequences,
modulo 2**64. Nothing in it depends on how a state is stored, so that any other program can make the same numbers.

The walk goes breadth-first. States that are equal in every byte have the same future and the same `to_dict`, so they
are visited once, with the number of sequences that lead to them.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from trilithon.core.errors import OptionError
from trilithon.core.game import Game, State
from trilithon.core.jit import kernel
from trilithon.core.verbs import CHANCE, TERMINAL, apply_action, chance_outcomes, legal_actions

MAX_DEPTH = 1000
MAX_VISITS = 2_000_000  # of one depth: some minutes, and at most 2 GB for the largest states
_CHUNK = 4096  # states expanded at a time
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Perft:
    """What is found at one depth."""

    nodes: int  # sequences of exactly that many actions, players' and chance's alike
    states: int  # different positions at their ends (different as `State.to_dict`)
    digest: int  # 0 .. 2**64 - 1
    divide: dict[int, int]  # by first action: the sequences that begin with it; empty at depth 0


def perft(state: State, depth: int) -> Perft:
    """Count what follows within exactly `depth` actions of `state`; a sequence that ends earlier does not count.

    `OptionError` where a depth has more than `MAX_VISITS` positions to visit, before they are visited.
    """
    if not 0 <= depth <= MAX_DEPTH:
        raise OptionError(f"perft: depth = {depth} is not allowed; allowed: a whole number 0..{MAX_DEPTH}")
    walk = _Walk(state.game)
    if depth == 0:
        return Perft(1, 1, position_number(position_digest(state.to_dict())), {})
    level, paths = state.array, [1]
    edges: list[tuple[list[int], np.ndarray]] = []  # by depth: children as places one level on, and fans
    for ply in range(1, depth):
        fans = walk.fans(level, ply)
        level, paths, children = walk.next_level(level, fans, paths)
        edges.append((children, fans))
    fans = walk.fans(level, depth)
    nodes, states, digest = walk.leaves(level, fans, paths)
    # Backwards: how many of the sequences go on from each state.
    below = fans.tolist()
    for children, fans in reversed(edges[1:]):
        numbers = iter([below[child] for child in children])
        below = [sum(islice(numbers, fan)) for fan in fans.tolist()]
    first = [below[child] for child in edges[0][0]] if edges else [1] * below[0]
    return Perft(nodes, states, digest, dict(zip(state.legal_actions(), first, strict=True)))


def position_digest(position: Mapping[str, Any]) -> bytes:
    """Return SHA-256 of a position (`State.to_dict`) as JSON with sorted keys and no spaces."""
    return hashlib.sha256(_ENCODER.encode(position).encode()).digest()


def position_number(digest: bytes) -> int:
    """Return the first 8 bytes as a big-endian number."""
    return int.from_bytes(digest[:8], "big")


@kernel
def list_actions(state, actions, probabilities):
    """Write what can happen next, the mover's actions or chance's outcomes; return how many there are."""
    if state.current_player == TERMINAL:
        return 0
    if state.current_player == CHANCE:
        return chance_outcomes(state, actions, probabilities)
    return legal_actions(state, actions)


@kernel
def count_actions(states, fans, actions, probabilities):
    """Write into ``fans[k]``, int64 ``[K]``, in how many ways ``states[k]`` goes on."""
    for k in range(states.shape[0]):
        fans[k] = list_actions(states[k], actions, probabilities)


@kernel
def expand(states, children, actions, probabilities):
    """Write into `children` what follows each of `states` ``[K]``, parents in order, actions ascending."""
    child = 0
    for k in range(states.shape[0]):
        n = list_actions(states[k], actions, probabilities)
        for i in range(n):
            children[child] = states[k]
            apply_action(children[child], actions[i])
            child += 1


class _Walk:
    """One game's kernels with their work space."""

    def __init__(self, game: Game) -> None:
        self.game = game
        outcomes = game.max_chance_outcomes()
        self._actions = np.empty(max(game.num_distinct_actions(), outcomes) + 1, np.int32)
        self._probabilities = np.empty(outcomes + 1)

    def fans(self, level: np.ndarray, depth: int) -> np.ndarray:
        """Return int64 ``[K]``: in how many ways each state goes on to `depth`; `OptionError` for too many in all."""
        fans = np.empty(len(level), np.int64)
        count_actions(level, fans, self._actions, self._probabilities)
        if fans.sum() > MAX_VISITS:
            raise OptionError(
                f"perft: {self.game} has {fans.sum():,} positions to visit at depth {depth}, equal ones before it "
                f"merged; at most {MAX_VISITS:,} are allowed"
            )
        return fans

    def _children(self, level: np.ndarray, fans: np.ndarray) -> Iterator[tuple[int, bytes]]:
        """Yield (parent, bytes of the state) for every child, parents in order."""
        ends = np.cumsum(fans)
        size, start = level.dtype.itemsize, 0
        while start < len(level):
            done = ends[start] - fans[start]
            stop = max(start + 1, int(np.searchsorted(ends, done + _CHUNK, side="right")))
            children = np.empty(ends[stop - 1] - done, level.dtype)
            expand(level[start:stop], children, self._actions, self._probabilities)
            content = children.tobytes()
            parents = np.repeat(np.arange(start, stop), fans[start:stop]).tolist()
            for k, parent in enumerate(parents):
                yield parent, content[k * size : (k + 1) * size]
            start = stop

    def next_level(
        self, level: np.ndarray, fans: np.ndarray, paths: list[int]
    ) -> tuple[np.ndarray, list[int], list[int]]:
        """Return the different children ``[L]``, the sequences that lead to each, and every child's place in them."""
        places: dict[bytes, int] = {}
        sums: list[int] = []  # counts may pass 64 bits
        children: list[int] = []
        for parent, content in self._children(level, fans):
            place = places.setdefault(content, len(sums))
            if place == len(sums):
                sums.append(0)
            sums[place] += paths[parent]
            children.append(place)
        return np.frombuffer(bytearray().join(places), level.dtype), sums, children

    def leaves(self, level: np.ndarray, fans: np.ndarray, paths: list[int]) -> tuple[int, int, int]:
        """Return the number of children, counted once a sequence; of different positions; and the sum of hashes."""
        numbers: dict[bytes, int] = {}  # by state, which is too long to keep
        positions = set()
        nodes = total = 0
        for parent, content in self._children(level, fans):
            key = hashlib.blake2b(content, digest_size=16).digest()
            number = numbers.get(key)
            if number is None:
                digest = position_digest(self.game.to_dict(np.frombuffer(content, level.dtype)))
                positions.add(digest)
                number = numbers[key] = position_number(digest)
            nodes += paths[parent]
            total += paths[parent] * number
        return nodes, len(positions), total % 2**64
