"""What an Aether player can know of the others' tiles, exactly: a plain filter, and plain counting of all histories.

The model: an opponent puts down any physical tile of the hand as likely as any other; slots, elementals, swaps and
proposals tell nothing more. Weights are exact fractions, hands are counts by element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from math import comb, prod
from random import Random
from typing import Any, NamedTuple

from naive.aether import CHANCE, NaiveAether
from naive.aether_scoring import ELEMENTS

Tiles = tuple[int, ...]  # how many of each element
NONE: Tiles = (0, 0, 0, 0)


def counts(elements: Any) -> Tiles:
    """How many of each element stand in a list of elements."""
    return tuple(list(elements).count(element) for element in ELEMENTS)


def plus(a: Tiles, b: Tiles) -> Tiles:
    """The tiles of both."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def minus(a: Tiles, b: Tiles) -> Tiles:
    """The tiles of `a` without those of `b`."""
    return tuple(x - y for x, y in zip(a, b, strict=True))


def one(element: int) -> Tiles:
    """One tile."""
    return counts([element])


class Event(NamedTuple):
    """A step as it bears on tiles, by a player: `place`, `draw`, `swap`, and its `swap draw`s and `last draw`."""

    kind: str
    player: int
    element: int = -1  # of what was placed or drawn


def events_of(config: dict[str, Any], setup: dict[str, Any], actions: list[int]) -> list[Event]:
    """The steps of a history that move tiles."""
    twin, events = NaiveAether(config, setup), []
    for action in actions:
        if twin.current_player() == CHANCE:
            in_swap = "last draw" if twin.draws_left == 1 else "swap draw"
            events.append(Event("draw" if twin.aside is None else in_swap, twin.mover, action))
        elif action < twin.swap:
            events.append(Event("place", twin.mover, action // 2 // twin.num_slots))
        elif action == twin.swap:
            events.append(Event("swap", twin.mover))
        twin.apply_action(action)
    return events


class World(NamedTuple):
    """A possibility: every hand, the hand that a swap has put aside, and what it tells of the past (or nothing)."""

    hands: tuple[Tiles, ...]
    aside: Tiles = NONE
    past: tuple[Any, ...] = ()

    def with_hand(self, player: int, hand: Tiles) -> World:
        """Another hand for one player."""
        return self._replace(hands=(*self.hands[:player], hand, *self.hands[player + 1 :]))


def dealt(pool: Tiles, size: int) -> Iterator[tuple[Tiles, int]]:
    """Every hand of so many tiles from a pool, with the number of ways to deal it."""
    for first in range(pool[0] + 1):
        for second in range(pool[1] + 1):
            for third in range(pool[2] + 1):
                hand = (first, second, third, size - first - second - third)
                if 0 <= hand[3] <= pool[3]:
                    yield hand, prod(map(comb, pool, hand))


class Start(NamedTuple):
    """Where tiles lie at the start, as far as a player knows: the own hand, all hidden tiles, the sizes of hands."""

    player: int
    own: Tiles
    hidden: Tiles
    sizes: tuple[int, ...]


def start_of(config: dict[str, Any], setup: dict[str, Any], player: int) -> Start:
    """What a player knows of a setup's tiles."""
    twin = NaiveAether(config, setup)
    others = [counts(hand) for seat, hand in enumerate(twin.hands) if seat != player]
    hidden = tuple(twin.bag)
    for hand in others:
        hidden = plus(hidden, hand)
    return Start(player, counts(twin.hands[player]), hidden, tuple(len(hand) for hand in twin.hands))


def first_worlds(start: Start, with_past: bool) -> dict[World, Fraction]:
    """Every deal of the others' first hands, with its number of ways."""
    worlds = {World(()): Fraction(1)}
    for seat, size in enumerate(start.sizes):
        following = {}
        for world, weight in worlds.items():
            rest = start.hidden
            for other, hand in enumerate(world.hands):
                rest = rest if other == start.player else minus(rest, hand)
            choices = [(start.own, 1)] if seat == start.player else dealt(rest, size)
            for hand, ways in choices:
                following[World((*world.hands, hand))] = weight * ways
        worlds = following
    return {world._replace(past=world.hands if with_past else ()): weight for world, weight in worlds.items()}


def posterior(start: Start, events: list[Event], with_past: bool = False) -> dict[World, Fraction]:
    """Every world that fits what `start.player` saw of the events, with its probability.

    `with_past`: the worlds tell apart all histories: `past` holds the first hands, then each hidden draw.
    """
    outside = plus(start.own, start.hidden)
    worlds = first_worlds(start, with_past)
    for event in events:
        following: dict[World, Fraction] = {}
        for world, weight in worlds.items():
            for after, factor in _step(start.player, world, event, outside, with_past):
                following[after] = following.get(after, Fraction(0)) + weight * factor
        worlds = following
        if event.kind == "place":
            outside = minus(outside, one(event.element))
    total = sum(worlds.values())
    return {world: weight / total for world, weight in worlds.items()}


def _step(
    player: int, world: World, event: Event, outside: Tiles, with_past: bool
) -> Iterator[tuple[World, Fraction | int]]:
    """The worlds after an event, each with how likely this is; none where the world forbids what was seen."""
    hand, mine = world.hands[event.player], event.player == player
    if event.kind == "swap":
        yield world.with_hand(event.player, NONE)._replace(aside=hand), 1
    elif event.kind == "place":
        if hand[event.element] > 0:
            likely = 1 if mine else Fraction(hand[event.element], sum(hand))
            yield world.with_hand(event.player, minus(hand, one(event.element))), likely
    else:
        bag = bag_of(world, outside)
        for element in [event.element] if mine else ELEMENTS:
            if bag[element] > 0:
                after = world.with_hand(event.player, plus(hand, one(element)))
                if event.kind == "last draw":
                    after = after._replace(aside=NONE)
                if with_past and not mine:
                    after = after._replace(past=(*after.past, element))
                yield after, Fraction(bag[element], sum(bag))


def bag_of(world: World, outside: Tiles) -> Tiles:
    """What lies in the bag: all tiles outside the board that are in no hand and not aside."""
    for tiles in (*world.hands, world.aside):
        outside = minus(outside, tiles)
    return outside


# --- the same by counting: every tile is a thing of its own, and every way to deal, draw and play it is tried ---


class Things(NamedTuple):
    """Hands, tiles put aside and the bag as sets of single tiles, `(element, number)`."""

    hands: tuple[frozenset[tuple[int, int]], ...]
    aside: frozenset[tuple[int, int]]
    bag: frozenset[tuple[int, int]]


def enumerated(start: Start, events: list[Event]) -> dict[World, Fraction]:
    """What `posterior` with the past says, found by trying all histories of single tiles; for few tiles."""
    tally: Counter[World] = Counter()
    seats = range(len(start.sizes))
    others = [seat for seat in seats if seat != start.player]
    own = frozenset((element, -1 - n) for element in ELEMENTS for n in range(start.own[element]))
    hidden = frozenset((element, n) for element in ELEMENTS for n in range(start.hidden[element]))
    for hands, bag in _dealt_things(start, others, hidden):
        things = Things(tuple(own if seat == start.player else hands[seat] for seat in seats), frozenset(), bag)
        past = tuple(map(_elements, things.hands))
        for end, drawn, weight in _continued(start.player, things, events):
            world = World(tuple(map(_elements, end.hands)), _elements(end.aside), past + drawn)
            tally[world] += weight
    total = sum(tally.values())
    return {world: weight / total for world, weight in tally.items()}


def _dealt_things(
    start: Start, others: list[int], bag: frozenset[tuple[int, int]]
) -> Iterator[tuple[dict[int, frozenset[tuple[int, int]]], frozenset[tuple[int, int]]]]:
    """Every way to deal the others' first hands, with the bag that is left."""
    if not others:
        yield {}, bag
        return
    for tiles in combinations(sorted(bag), start.sizes[others[0]]):
        for hands, rest in _dealt_things(start, others[1:], bag - set(tiles)):
            yield {others[0]: frozenset(tiles), **hands}, rest


def _elements(tiles: frozenset[tuple[int, int]]) -> Tiles:
    """How many of each element single tiles are."""
    return counts([element for element, _ in tiles])


def _continued(player: int, things: Things, events: list[Event]) -> Iterator[tuple[Things, tuple[int, ...], Fraction]]:
    """Every way on through the events that looks to the player as it did: the end, hidden draws, probability."""
    if not events:
        yield things, (), Fraction(1)
        return
    event, later = events[0], events[1:]
    who, mine = event.player, event.player == player
    hand = things.hands[who]

    def with_hand(tiles: frozenset[tuple[int, int]]) -> tuple[frozenset[tuple[int, int]], ...]:
        return (*things.hands[:who], tiles, *things.hands[who + 1 :])

    if event.kind == "swap":
        yield from _continued(player, things._replace(hands=with_hand(frozenset()), aside=hand), later)
        return
    source = hand if event.kind == "place" else things.bag
    fitting = [tile for tile in source if tile[0] == event.element or (event.kind != "place" and not mine)]
    if event.kind == "place" and mine:
        source = fitting = fitting[:1]  # what I put down was my choice, and equal tiles are equal to me
    for tile in fitting:
        if event.kind == "place":
            after, drawn = things._replace(hands=with_hand(hand - {tile})), ()
        else:
            after = things._replace(hands=with_hand(hand | {tile}), bag=things.bag - {tile})
            if event.kind == "last draw":
                after = after._replace(bag=after.bag | things.aside, aside=frozenset())
            drawn = () if mine else (tile[0],)
        for end, more, weight in _continued(player, after, later):
            yield end, drawn + more, weight / len(source)


def without_past(worlds: dict[World, Fraction]) -> dict[World, Fraction]:
    """The same worlds, told apart by what is now alone."""
    merged: dict[World, Fraction] = {}
    for world, weight in worlds.items():
        now = world._replace(past=())
        merged[now] = merged.get(now, Fraction(0)) + weight
    return merged


# --- two games that one player cannot tell apart ---


def retold(
    config: dict[str, Any], setup: dict[str, Any], actions: list[int], player: int, rng: Random
) -> tuple[dict[str, Any], list[int]]:
    """A setup and actions in which the others hold and draw other tiles, and in which `player` sees the same."""
    if config.get("early_scoring") == "proved":  # where the game ended is known, and what else it allows is the same
        config = {**config, "early_scoring": "off"}
    true = NaiveAether(config, setup)
    drawers = []
    for action in actions:
        drawers.append(true.mover if true.current_player() == CHANCE else None)
        true.apply_action(action)
    start = start_of(config, setup, player)
    for _ in range(200):
        tiles = [element for element in ELEMENTS for _ in range(start.hidden[element])]
        rng.shuffle(tiles)
        hands = [list(setup["hands"][player])] * len(start.sizes)
        for seat, size in enumerate(start.sizes):
            if seat != player:
                hands[seat] = sorted(tiles.pop() for _ in range(size))
        other = {**setup, "hands": hands}
        if "bag" in setup.get("position", {}):
            other["position"] = {**setup["position"], "bag": list(counts(tiles))}
        found = _retold(NaiveAether(config, other), actions, drawers, player, rng, [600])
        if found is not None:
            return other, found
    raise AssertionError("no other history was found")


def _retold(
    twin: NaiveAether, actions: list[int], drawers: list[int | None], player: int, rng: Random, tries: list[int]
) -> list[int] | None:
    """The actions with other hidden draws, so that all of them are legal; None if there are none or too many tries."""
    done: list[int] = []
    while len(done) < len(actions):
        at = len(done)
        if drawers[at] not in (None, player):
            for element in rng.sample(twin.legal_actions(), len(twin.legal_actions())):
                tries[0] -= 1
                if tries[0] < 0:
                    return None
                branch = twin.clone()
                branch.apply_action(element)
                rest = _retold(branch, actions[at + 1 :], drawers[at + 1 :], player, rng, tries)
                if rest is not None:
                    return [*done, element, *rest]
            return None
        if actions[at] not in twin.legal_actions():
            return None
        twin.apply_action(actions[at])
        done.append(actions[at])
    return done
