"""Aether: the distribution of redealt hands, against exact posteriors by chi-squared tests.

The posteriors come from a plain filter (`naive/posterior_aether.py`), and the filter is held against counting every
history of single tiles.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations, count
from random import Random

import pytest
from naive.aether import NaiveAether
from naive.posterior_aether import (
    bag_of,
    counts,
    enumerated,
    events_of,
    minus,
    plus,
    posterior,
    start_of,
    without_past,
)
from naive.redeals import assert_distributed, sampled
from naive.scenarios_aether import Style

from trilithon.core import CHANCE, load_game

W, F, E, A = range(4)
LETTERS = "WFEA"


def quad(players, hand_tiles, tiles_per_element):
    """A board of four slots."""
    header = {"name": "quad", "tiles_per_element": tiles_per_element, "elementals": "3 3 3"[: 2 * players - 3]}
    lines = [f"% {key}: {value}" for key, value in {**header, "hand_tiles": hand_tiles}.items()]
    return "\n".join([*lines, "  .   .", ".   9   .", ""])


def begin(players, hand_tiles, tiles_per_element, hands, tiles=None, **position):
    """A config and a setup on that board; hands and tiles by their letters."""
    config = {"board": quad(players, hand_tiles, tiles_per_element), "players": players}
    setup = {
        "first_player": 0,
        "tiles": [None if slot == "." else LETTERS.index(slot) for slot in tiles or "...."],
        "hands": [sorted(LETTERS.index(letter) for letter in hand) for hand in hands.split()],
    }
    return config, {**setup, "position": position} if position else setup


def told(config, setup, script):
    """The state after a script: `W0` puts water on slot 0, `+W` draws it, `swap`."""
    state = load_game("aether", **config).from_setup(setup)
    slots = len(setup["tiles"])
    for word in script.split():
        if word[0] == "+":
            assert state.current_player() == CHANCE
            state.apply_action(LETTERS.index(word[1]))
        elif word == "swap":
            state.apply_action(8 * slots)
        else:
            state.apply_action((LETTERS.index(word[0]) * slots + int(word[1:])) * 2)
    return state


PAIR = begin(2, 2, 2, "WF EA")
TWINS = begin(2, 2, 2, "WF WE")  # the one who holds W knows where the other W may be
LAST = begin(2, 2, 2, "WF EA", bag=[1, 0, 0, 0])
TWO = begin(2, 2, 2, "FF EA", "WW..", player=1)
TRIO = begin(3, 1, 2, "W E A")
SIX = begin(3, 2, 3, "WF EE AW", player=1)

# Every script is looked at by every player: one's own swap is another's swap of an opponent.
CASES = {
    "dealt": (PAIR, ""),
    "a draw is due": (PAIR, "W0"),
    "placed": (PAIR, "W0 +E E1 +A"),
    "twice": (PAIR, "W0 +E E1 +A E2 +F A3"),
    "two of AABB, one played": (TWO, "E2"),
    "two of AABB, and a draw": (TWO, "E2 +A"),
    "a swap": (PAIR, "swap +E +A"),
    "a swap about to be drawn": (PAIR, "swap"),
    "inside a swap": (PAIR, "swap +E"),
    "inside a swap after draws": (PAIR, "W0 +E swap +A"),
    "after a swap the other draws": (PAIR, "swap +E +A E0 +W E1 +F"),
    "after a swap both draw": (TWINS, "swap +E +A A0 +F W1 +W"),
    "two swaps in a turn": (PAIR, "swap +E +A swap +W +W W0 +F A1"),
    "two swaps in two turns": (TWINS, "swap +E +A E0 +F E1 +A swap +W +F F2"),
    "both swap": (PAIR, "swap +E +A E0 +W swap +F +W F1 +A"),
    "both swap, then the first again": (TWINS, "swap +A +A A0 +F swap +E +F E1 +W swap +W +E W2"),
    "the bag runs empty": (LAST, "W0 +W E1 F2"),
    "three players": (TRIO, "W0 +F E1 +A A2"),
    "three players, a swap": (TRIO, "W0 +F swap +A A1 +W A2 +F"),
    "three players, inside a swap": (TRIO, "swap +E E0 +W swap +F F1 +A swap"),
    "three players with two tiles": (SIX, "swap +F +A F1"),
}

# ------------------------------------------------------------------------------------- the filter against all histories


@pytest.mark.parametrize("name", CASES)
def test_the_filter_agrees_with_counting_every_history(name):
    (config, setup), script = CASES[name]
    actions = [action for _, action in told(config, setup, script).history()]
    events = events_of(config, setup, actions)
    for player in range(config["players"]):
        start = start_of(config, setup, player)
        expected = enumerated(start, events)
        assert posterior(start, events, with_past=True) == expected
        assert posterior(start, events) == without_past(expected)


def test_two_of_aabb_one_played():
    """The example of the contract of hidden hands: the other tile is the same with one third."""
    config, setup = TWO
    events = events_of(config, setup, [(E * 4 + 2) * 2])
    worlds = posterior(start_of(config, setup, 0), events)
    assert {world.hands[1]: weight for world, weight in worlds.items()} == {
        counts([E]): Fraction(1, 3),
        counts([A]): Fraction(2, 3),
    }


# ------------------------------------------------------------------------------------------------ worlds of the kernels


def now(state):
    """Hands and bag of a state."""
    position = state.to_dict()
    return tuple(map(counts, position["hands"])), tuple(position["bag"])


def expected_now(state, player, config, setup):
    """What `now` of a sampled world is, with its probability."""
    actions = [action for _, action in state.history()]
    start = start_of(config, setup, player)
    outside = minus(plus(start.own, start.hidden), minus(counts(state.to_dict()["tiles"]), counts(setup["tiles"])))
    worlds = posterior(start, events_of(config, setup, actions))
    expected = {}
    for world, weight in worlds.items():
        key = world.hands, bag_of(world, outside)
        expected[key] = expected.get(key, 0) + weight
    return expected


def past(world, player):
    """First hands and hidden draws of a whole state, as the filter names them."""
    setup = world.setup()
    events = events_of(world.game.options, setup, [action for _, action in world.history()])
    drawn = [event.element for event in events if event.kind.endswith("draw") and event.player != player]
    return (*map(counts, setup["hands"]), *drawn)


def in_any_order(told_past, events, player):
    """A past that leaves open in which order a swap drew its tiles: nobody but the player who swapped can ever know."""
    kinds = [event.kind for event in events if event.kind.endswith("draw") and event.player != player]
    hands = len(told_past) - len(kinds)
    ordered, swap = list(told_past[:hands]), []
    for kind, element in zip(kinds, told_past[hands:], strict=True):
        swap.append(element)
        if kind != "swap draw":
            ordered.append(tuple(sorted(swap)))
            swap = []
    return (*ordered, tuple(sorted(swap)))


def assert_fits(tally, expected):
    """`assert_distributed`, with all that is expected less than five times taken together."""
    assert set(tally) <= set(expected)
    total = sum(tally.values())
    rare = {key for key, weight in expected.items() if weight * total < 5}

    def grouped(weights):
        groups = Counter()
        for key, weight in weights.items():
            groups["rare" if key in rare else key] += weight
        return groups

    lumped = grouped(expected)
    if "rare" in lumped and lumped["rare"] * total < 5:  # too few for the test, which they can be added to
        least = min((key for key in lumped if key != "rare"), key=lumped.__getitem__)
        rare.add(least)
        lumped = grouped(expected)
    assert_distributed(grouped(tally), {key: float(weight) for key, weight in lumped.items()})


@pytest.mark.parametrize("name", CASES)
def test_sampled_worlds_have_the_exact_distribution(name):
    (config, setup), script = CASES[name]
    state = told(config, setup, script)
    for player in range(config["players"]):
        expected = expected_now(state, player, config, setup)
        assert_fits(Counter(now(world) for world in sampled(state, player, "view")), expected)


@pytest.mark.parametrize("name", CASES)
def test_resampled_histories_have_the_exact_distribution(name):
    """First hands and every draw that the player did not see, not the present alone."""
    (config, setup), script = CASES[name]
    state = told(config, setup, script)
    events = events_of(config, setup, [action for _, action in state.history()])
    for player in range(config["players"]):
        expected = Counter()
        for world, weight in posterior(start_of(config, setup, player), events, with_past=True).items():
            expected[in_any_order(world.past, events, player)] += weight
        worlds = sampled(state, player, "resample_from_infostate", 600)
        assert_fits(Counter(in_any_order(past(world, player), events, player) for world in worlds), expected)


# A board for four; hands of two keep the joint hands of three opponents few.
FOUR = (
    "% name: four\n% tiles_per_element: 5\n% elementals: 3 3 3\n% hand_tiles: 2\n"
    "  .   :   .\n.   8   .   :\n  .   .   9\n.   #   .\n"
)
GAMES = [
    ("mini", 2, 10),
    ("mini", 2, 24),
    ("mini", 3, 12),
    ("mini", 3, 26),
    ("small", 2, 40),
    ("standard", 2, 60),
    (FOUR, 4, 10),
    (FOUR, 4, 20),
    (FOUR, 3, 18),
]


def played_on(board, players, steps):
    """A game with some swaps, and with proposals that are declined, so many steps after its start."""
    config = {"board": board, "players": players, "early_scoring": "agreement"}
    for seed in count():
        state = load_game("aether", **config).new_initial_state(seed)
        setup, rng = state.setup(), Random(seed)
        twin, style = NaiveAether(config, setup), Style(rng)
        style.swap, style.propose, style.agree = 0.3, 0.1, 0.0
        swaps = 0
        while len(state.history()) < steps:
            action = style.choose(rng, twin)
            swaps += twin.current_player() != CHANCE and action == twin.swap
            twin.apply_action(action)
            state.apply_action(action)
        if swaps > 1:
            return state, config, setup
    raise AssertionError


@pytest.mark.parametrize(("board", "players", "steps"), GAMES)
def test_worlds_of_whole_games_have_the_exact_distribution(board, players, steps):
    state, config, setup = played_on(board, players, steps)
    for player in (0, players - 1):
        expected = expected_now(state, player, config, setup)
        assert len(expected) > 3
        tally = Counter(now(world) for world in sampled(state, player, "view"))
        assert_fits(tally, expected)
        for seat in range(players):  # joint hands are many: each hand on its own is the sharper test

            def hand_of(weights, seat=seat):
                hands = Counter()
                for (others, _), weight in weights.items():
                    hands[others[seat]] += weight
                return hands

            assert_fits(hand_of(tally), hand_of(expected))


def test_a_position_is_dealt_anew_from_what_was_not_seen():
    """A position says nothing of how it came about: the others' hands are any of the tiles not seen."""
    game = load_game("aether", board="mini", players=3)
    state = placed_and_drawn(game.new_initial_state(5), 8)
    setup = state.position_setup()
    state = placed_and_drawn(game.from_setup(setup), 6)
    for player in range(3):
        expected = expected_now(state, player, game.options, setup)
        assert_fits(Counter(now(world) for world in sampled(state, player, "view")), expected)


def placed_and_drawn(state, steps):
    """The state after so many placements and draws in turn."""
    for _ in range(steps):
        state.apply_action(state.legal_actions()[len(state.legal_actions()) // 2])
    return state


def test_many_swaps_are_all_remembered():
    """Hundreds of draws, nearly all of them of swaps: the distribution is still exact."""
    config, setup = begin(2, 2, 4, "WF EA")
    config["board"] = config["board"].replace("elementals: 3", "elementals: 99")
    state, rng = load_game("aether", **config).from_setup(setup), Random(2)
    placed = 0
    while placed < 3:
        legal = state.legal_actions()
        swap = legal[-1:] if legal[-1] == 32 and rng.random() < 0.97 else []
        action = rng.choice(swap or [action for action in legal if action < 32])
        placed += state.current_player() != CHANCE and action < 32
        state.apply_action(action)
    assert len(state.history()) > 100
    for player in (0, 1):
        expected = expected_now(state, player, config, setup)
        assert_fits(Counter(now(world) for world in sampled(state, player, "view")), expected)


def test_both_methods_deal_the_same_worlds():
    state, *_ = played_on("mini", 3, 22)
    for player in range(3):
        views = [now(world) for world in sampled(state, player, "view", 40)]
        assert views == [now(world) for world in sampled(state, player, "resample_from_infostate", 40)]
        assert len(set(views)) > 10


# ---------------------------------------------------------------------------------------------- the comparison can fail


def test_a_redeal_that_forgets_the_own_swap_is_found():
    """What the opponent has held since before the swap cannot be what was given back: more than tiles not seen."""
    (config, setup), script = CASES["after a swap the other draws"]
    state = told(config, setup, script)
    unseen = [element for element in range(4) for _ in range(2)]
    for element in [*state.to_dict()["hands"][0], *state.to_dict()["tiles"]]:
        if element is not None:
            unseen.remove(element)
    forgetful = Counter(counts(hand) for hand in combinations(unseen, 2))
    exact = Counter()
    for (hands, _), weight in expected_now(state, 0, config, setup).items():
        exact[hands[1]] += weight
    tally = Counter(now(world)[0][1] for world in sampled(state, 0, "view"))
    assert_fits(tally, exact)
    with pytest.raises(AssertionError):
        assert_distributed(tally, forgetful)
