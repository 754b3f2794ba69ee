"""Plain values of endings: what the exact solvers are compared with. Slow, over the rules' plain twins and `State`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from naive.aether import NaiveAether
from naive.aether_scoring import ELEMENTS
from trilithon.core.game import State, copy_of
from trilithon.core.verbs import apply_action

TIE = 1e-12


def plain_values(state: Any, margins: bool = False) -> np.ndarray:
    """Every player's expected return, and with `margins` the margins after them: the whole tree, no table.

    Every player takes the best own return, of equal ones the best own margin, of equal ones the first action.
    """
    if state.is_terminal():
        return np.concatenate([state.returns(), state.margin()]) if margins else state.returns()
    if state.is_chance_node():
        return sum(p * plain_values(after(state, action), margins) for action, p in state.chance_outcomes())
    player, n, best = state.current_player(), state.game.num_players(), None
    for action in state.legal_actions():
        found = plain_values(after(state, action), margins)
        level = best is not None and abs(found[player] - best[player]) <= TIE
        leads = margins and level and found[n + player] > best[n + player] + TIE
        if best is None or found[player] > best[player] + TIE or leads:
            best = found
    return best


def after(state: Any, action: int) -> State:
    """The position after a step, without the history that `State.child` keeps."""
    child = State(state.game, copy_of(state.array), {})
    apply_action(child.array[0], action)
    return child


def aether_values(twin: NaiveAether) -> dict[int, tuple[float, ...]]:
    """Every player's expected return after each placement, for a position in which nobody will be able to swap."""
    slots = twin.empty_slots()
    n, hand_tiles = twin.num_players, twin.board.hand_tiles
    assert sum(twin.bag) < hand_tiles or not any(twin.unused)

    @lru_cache(None)
    def final(tiles: tuple[int, ...], owners: tuple[int | None, ...]) -> tuple[float, ...]:
        end = twin.clone()
        for slot, tile, owner in zip(slots, tiles, owners, strict=True):
            end.tiles[slot], end.elementals[slot] = tile, owner
        end.unused = [unused - owners.count(player) for player, unused in enumerate(twin.unused)]
        scores = end.scores_now()
        return tuple(float(end.result(scores, end.side(player))) for player in range(n))

    @lru_cache(None)
    def value(tiles: Any, owners: Any, hands: Any, unused: Any, bag: Any, mover: int) -> tuple[float, ...]:
        if None not in tiles:
            return final(tiles, owners)
        best: tuple[float, ...] | None = None
        for element in ELEMENTS:
            for place in range(len(slots)):
                for with_elemental in (0, 1):
                    found = placed(tiles, owners, hands, unused, bag, mover, element, place, with_elemental)
                    if found and (best is None or found[mover] > best[mover] + TIE):
                        best = found
        assert best is not None
        return best

    def placed(tiles, owners, hands, unused, bag, mover, element, place, with_elemental):  # type: ignore[no-untyped-def]
        """The values once a tile was placed; None where that is not legal."""
        if not hands[mover][element] or tiles[place] is not None or with_elemental > unused[mover]:
            return None
        tiles = replaced(tiles, place, element)
        if with_elemental:
            owners = replaced(owners, place, mover)
            unused = replaced(unused, mover, unused[mover] - 1)
        hands = replaced(hands, mover, replaced(hands[mover], element, hands[mover][element] - 1))
        following = (mover + 1) % n
        if None not in tiles or not sum(bag):
            return value(tiles, owners, hands, unused, bag, following)
        total = [0.0] * n
        for drawn in ELEMENTS:
            if bag[drawn]:
                hand = replaced(hands[mover], drawn, hands[mover][drawn] + 1)
                rest = replaced(bag, drawn, bag[drawn] - 1)
                found = value(tiles, owners, replaced(hands, mover, hand), unused, rest, following)
                total = [t + bag[drawn] / sum(bag) * f for t, f in zip(total, found, strict=True)]
        return tuple(total)

    hands = tuple(tuple(hand.count(element) for element in ELEMENTS) for hand in twin.hands)
    start = (
        tuple(twin.tiles[slot] for slot in slots),
        tuple(twin.elementals[slot] for slot in slots),
        hands,
        tuple(twin.unused),
        tuple(twin.bag),
        twin.mover,
    )
    results = {}
    for element in ELEMENTS:
        for place, slot in enumerate(slots):
            for with_elemental in (0, 1):
                found = placed(*start, element, place, with_elemental)
                if found:
                    results[(element * twin.num_slots + slot) * 2 + with_elemental] = found
    return results


def replaced(values: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    """A copy with one entry changed."""
    return values[:index] + (value,) + values[index + 1 :]


def turn_graph_values(state: Any, turns_count: bool = False) -> tuple[dict[int, float], int]:
    """The value for player 0 of each action of a Selenolyth position, and how many cycles of skipped turns follow it.

    Value iteration over the graph of all positions that can follow, each once, from zero (what endless skipping is
    worth), to a change below 1e-14. `turns_count`: whether the turns played tell positions apart (else the game is
    endless). A cycle is a pair of positions each of which a skipped turn turns into the other.
    """
    numbers: dict[Any, int] = {}
    found: list[Any] = []

    def number_of(one: Any) -> int:
        record = one.array[0]
        names = ("outcome", "current_player", "mover", "pending", "pending_file", "occupied")
        key = tuple(int(record[name]) for name in names)
        key += (record["reserve"].tobytes(), record["luminance"].tobytes())
        key += (int(record["turns"]),) if turns_count else ()
        if key not in numbers:
            numbers[key] = len(found)
            found.append(one)
        return numbers[key]

    number_of(state)
    edges: list[list[tuple[int, float]]] = []
    while len(edges) < len(found):
        here = found[len(edges)]
        steps = here.chance_outcomes() if here.is_chance_node() else [(a, 1.0) for a in here.legal_actions()]
        edges.append([(number_of(after(here, action)), p) for action, p in steps])
    values = np.array([one.returns()[0] for one in found])
    while True:
        largest = 0.0
        for i in reversed(range(len(found))):
            if found[i].is_terminal():
                continue
            reached = [values[to] for to, _ in edges[i]]
            player = found[i].current_player()
            if player < 0:
                new = sum(p * values[to] for to, p in edges[i])
            else:
                new = max(reached) if player == 0 else min(reached)
            largest, values[i] = max(largest, abs(new - values[i])), new
        if largest < 1e-14:
            break
    return {a: values[to] for a, (to, _) in zip(state.legal_actions(), edges[0], strict=False)}, _cycles(found, edges)


def _cycles(found: list[Any], edges: list[list[tuple[int, float]]]) -> int:
    """How many pairs of positions a skipped turn leads back and forth between."""
    boards = [int(one.array["occupied"][0]) for one in found]
    begins = [one.current_player() >= 0 and one.array["pending"][0] < 0 for one in found]
    skips = {
        (here, there)
        for here in range(len(found))
        if begins[here]
        for rolled, _ in edges[here]
        for there, _ in edges[rolled]
        if begins[there] and boards[there] == boards[here]
    }
    return sum((there, here) in skips for here, there in skips) // 2
