"""Aether as networks see it: the observation, its layout and its symmetries."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from naive.aether import CHANCE, NaiveAether
from naive.aether_scoring import ELEMENTS, board_text, parse_board, power, powers_around
from naive.scenarios_aether import Style, random_scenario

from trilithon.core import load_game

SIZES = {("standard", 2): 1367, ("mini", 2): 431, ("mini", 3): 477, ("small", 4): 829}
BASE = {"board": "mini", "first_player": 0}


def walks(seeds):
    """Every state of random games, with its twin and its config; positions, swaps and proposals among them."""
    for seed in seeds:
        rng = Random(seed)
        config, setup = random_scenario(rng)
        twin, style = NaiveAether(config, setup), Style(rng)
        state = load_game("aether", **config).from_setup(setup)
        yield state, twin, setup
        while not twin.is_terminal():
            action = style.choose(rng, twin)
            twin.apply_action(action)
            state.apply_action(action)
            yield state, twin, setup


def blocks(state, player):
    """The observation by block."""
    tensor = state.observation_tensor(player)
    layout = state.game.layout()
    return {name: tensor[at : at + int(np.prod(shape))].reshape(shape) for name, (at, shape) in layout.blocks.items()}


@pytest.mark.parametrize(("board", "players"), SIZES)
def test_sizes(board, players):
    game = load_game("aether", board=board, players=players)
    parsed = parse_board(board_text(board))
    rows = len(parsed.slots) + len(parsed.aether)
    size = rows * (9 + 2 * players) + 12 * 11 + 36 + 8 * players
    assert game.observation_tensor_shape() == (size,) == (SIZES[board, players],)


# ------------------------------------------------------------------------------------------------ what the numbers mean


def own_first(values, player):
    """Values by seat as the player counts: the own one, then clockwise."""
    return [*values[player:], *values[:player]]


def around_all(board):
    """The slots around every row of the cells, slots first."""
    return [*board.neighbours, *(tile.around for tile in board.aether)]


def expected_cells(twin, player):
    """The cells block in plain words."""
    board, n, teams = twin.board, twin.num_players, twin.options["teams"]
    rows = []
    for row, around in enumerate(around_all(board)):
        slot = row if row < twin.num_slots else None
        near = [twin.tiles[other] for other in around] if slot is not None else []
        numbers = [0.0 if slot is not None else board.aether[row - twin.num_slots].value / 99]
        numbers += [float(slot is not None and twin.tiles[slot] == element) for element in ELEMENTS]
        numbers += [near.count(element) / 6 for element in ELEMENTS]
        if slot is not None:
            owner = twin.elementals[slot]
            there = [float(owner == seat) for seat in range(n)]
            powers = [power(board, twin.tiles, slot) / 7 if owner == seat else 0.0 for seat in range(n)]
        else:
            sums = powers_around(board, twin.tiles, twin.elementals, around, teams)
            sides = [twin.side(seat) for seat in range(n)]
            there = [float(side in sums) for side in sides]
            powers = [min(max(sums.get(side, 0) / 12, -1), 1) for side in sides]
        rows.append([*numbers, *own_first(there, player), *own_first(powers, player)])
    return np.array(rows)


def expected_choices(twin, player):
    """The choices block in plain words: what hand and bag allow in a turn, and what else the player to move may do."""
    moves = twin.current_player() == player
    legal = twin.legal_actions() if moves else []
    rows = []
    for way in range(8):
        element, with_elemental = divmod(way, 2)
        held = twin.hands[player].count(element)
        possible = held > 0 and (twin.unused[player] > 0 or not with_elemental)
        row = [float(element == e) for e in ELEMENTS] + [float(with_elemental)] + [0.0] * 4 + [held / 8]
        rows.append([1.0, *row] if possible else [0.0] * 11)
    for other in range(4):
        possible = twin.swap + other in legal
        if other == 0:
            possible = twin.unused[player] > 0 and sum(twin.bag) >= twin.board.hand_tiles
        rows.append([1.0] + [0.0] * 5 + [float(other == k) for k in range(4)] + [0.0] if possible else [0.0] * 11)
    return np.array(rows)


def test_cells():
    for state, twin, _ in walks(range(25)):
        for player in range(twin.num_players):
            seen = blocks(state, player)
            np.testing.assert_allclose(seen["cells"], expected_cells(twin, player), atol=1e-6)


def test_choices():
    for state, twin, _ in walks(range(40)):
        for player in range(twin.num_players):
            seen, expected = blocks(state, player)["choices"], expected_choices(twin, player)
            np.testing.assert_allclose(seen, expected, atol=1e-6)


def lead(twin, seat):
    """By how many points a seat's side is ahead of the others' mean if the board is scored as it is."""
    scores = twin.scores_now()
    own = scores.pop(twin.side(seat))
    return own - sum(scores) / len(scores)


def test_table_and_seats():
    met = Counter()
    for state, twin, setup in walks(range(60)):
        n, board, options = twin.num_players, twin.board, twin.options
        size = board.tiles_per_element
        for player in range(n):
            table = blocks(state, player)["table"]
            hand = twin.hands[player]
            unseen = [twin.bag[e] + sum(twin.hands[o].count(e) for o in range(n) if o != player) for e in ELEMENTS]
            aside = twin.aside or []
            if twin.mover != player:
                unseen = [count + aside.count(e) for e, count in enumerate(unseen)]
            np.testing.assert_allclose(table[:4], [hand.count(e) / 8 for e in ELEMENTS], atol=1e-6)
            np.testing.assert_allclose(table[4:8], [count / size for count in unseen], atol=1e-6)
            mover, chance = twin.current_player(), twin.current_player() == CHANCE
            flags = [mover == player, chance, twin.is_terminal(), twin.aside is not None]
            np.testing.assert_allclose(table[13], sum(twin.bag) / (4 * size), atol=1e-6)
            np.testing.assert_allclose(table[14], twin.tiles.count(None) / twin.num_slots, atol=1e-6)
            assert table[15:19].tolist() == list(map(float, flags))
            assert table[19] == pytest.approx(twin.draws_left / 8)
            assert table[20] == float(bool(twin.asked))
            early = ["off", "agreement", "proved"].index(options["early_scoring"])
            numbers = [float(n == k) for k in (2, 3, 4)] + [float(options["teams"])]
            numbers += [float(early == k) for k in range(3)] + [float(options["reward"] == "margin")]
            numbers += [options["leftover_points"] / 9, float(options["variant"]), board.hand_tiles / 8]
            numbers += [board.elementals[n - 2] / 99, size / 99]
            np.testing.assert_allclose(table[22:35], numbers, atol=1e-6)
            asked = twin.asked[0] if twin.asked and not twin.is_terminal() else None
            rows = [
                [
                    min(twin.unused[seat] / board.elementals[n - 2], 1),
                    min(twin.sacrificed[seat] / board.elementals[n - 2], 1),
                    len(twin.hands[seat]) / 8,
                    float(seat == twin.mover),
                    float(seat == asked),
                    float(seat == setup["first_player"]),
                    float(twin.side(seat) == twin.side(player)),
                    min(max(lead(twin, seat) / 40, -1), 1),
                ]
                for seat in range(n)
            ]
            seats = blocks(state, player)["seats"].reshape(n, 8)
            np.testing.assert_allclose(seats, own_first(rows, player), atol=1e-6)
            names = ("mover", "chance", "ended", "swap", "asked")
            met.update(name for name, there in zip(names, [*flags, asked is not None], strict=True) if there)
    assert min(met[flag] for flag in ("mover", "chance", "ended", "swap", "asked")) > 0


def test_what_was_given_back_is_remembered():
    """The tiles of own swaps, and how long ago the last one was, for that player alone."""
    state = load_game("aether", **BASE).new_initial_state(2)
    old = state.to_dict()["hands"][0]

    def memory(player):
        return blocks(state, player)["table"][8:13].astype(float).round(6).tolist()

    start = memory(0)
    assert start[:4] == [0, 0, 0, 0]
    state.apply_action(128)
    for _ in range(4):
        state.apply_action(state.legal_actions()[0])
    given = [round(old.count(element) / 7, 6) for element in ELEMENTS]
    assert memory(0) == [*given, 1]
    assert memory(1) == start
    ages = []
    for _ in range(8):  # placements and draws in turn
        state.apply_action(state.legal_actions()[0])
        ages.append(memory(0)[4])
        assert memory(0)[:4] == given
        assert memory(1) == start
    assert ages == sorted(ages, reverse=True)
    assert ages[-1] == pytest.approx(0.9)


def test_every_option_shows():
    options = [
        {},
        {"early_scoring": "agreement"},
        {"early_scoring": "proved"},
        {"reward": "margin"},
        {"leftover_points": 4},
        {"variant": True},
    ]
    setup = load_game("aether", **BASE).new_setup(1)
    seen = {load_game("aether", **BASE, **more).from_setup(setup).observation_tensor(0).tobytes() for more in options}
    assert len(seen) == len(options)
    four = {"board": "small", "players": 4}
    setup = load_game("aether", **four).new_setup(1)
    together, alone = (load_game("aether", **four, teams=teams).from_setup(setup) for teams in (True, False))
    assert together.observation_tensor(0).tobytes() != alone.observation_tensor(0).tobytes()


# ------------------------------------------------------------------------------------------------ layout and symmetries


@pytest.mark.parametrize("board", ["standard", "small", "mini"])
def test_the_layout_says_which_action_meets_what(board):
    game = load_game("aether", board=board, early_scoring="agreement")
    layout, state = game.layout(), game.new_initial_state(3)
    slots = len(state.to_dict()["tiles"])
    for action in state.legal_actions():
        if action < 8 * slots:
            text = state.action_to_string(action)
            assert layout.action_cells[action] == int(text.strip("+").partition("@")[2])
            element = ("water", "fire", "earth", "air").index(text.partition("@")[0])
            assert layout.action_items[action] == 2 * element + text.endswith("+")
        else:
            assert layout.action_cells[action] == -1
            assert layout.action_items[action] == 8 + action - 8 * slots


@pytest.mark.parametrize("board", ["standard", "small", "mini"])
def test_neighbours_on_the_lattice(board):
    neighbours = load_game("aether", board=board).layout().neighbours
    parsed = parse_board(board_text(board))
    slots = len(parsed.slots)
    assert neighbours.shape == (slots + len(parsed.aether), 6)
    for row, around in enumerate(around_all(parsed)):
        near = [other for other in neighbours[row].tolist() if other >= 0]
        assert sorted(other for other in near if other < slots) == sorted(around)
        assert all(row in neighbours[other] for other in near)


def mirrored(setup, action_map, slots):
    """The setup under a symmetry, which its map of actions tells: slots moved, elements renamed in their cycle."""
    slot_of = (action_map[: 2 * slots : 2] // 2) % slots  # the old slot of each new one
    element_of = [int(action_map[element * slots * 2]) // 2 // slots for element in ELEMENTS]  # old by new
    renamed = {old: new for new, old in enumerate(element_of)}
    tiles = [setup["tiles"][old] for old in slot_of]
    return {
        **setup,
        "tiles": [None if element is None else renamed[element] for element in tiles],
        "hands": [sorted(renamed[element] for element in hand) for hand in setup["hands"]],
    }, renamed


@pytest.mark.parametrize(
    "options",
    [
        {"board": "mini", "early_scoring": "agreement"},
        {"board": "mini", "players": 3, "early_scoring": "proved"},
        {"board": "small", "players": 4, "teams": True, "early_scoring": "agreement"},
        {"board": "standard", "players": 3},
    ],
    ids=str,
)
def test_symmetries_map_observation_and_actions_together(options):
    """A mirrored game observes what the map says, and mapped actions lead to mapped positions."""
    game = load_game("aether", **options)
    observation_maps, action_maps = game.symmetries()
    assert len(observation_maps) >= 4, "at least the elements can be renamed"
    rng = Random(3)
    for g in {1, 2, 3, len(action_maps) - 1, rng.randrange(len(action_maps)), rng.randrange(len(action_maps))}:
        old_to_new = np.argsort(action_maps[g])
        for seed in range(3):
            state = game.new_initial_state(seed)
            setup, renamed = mirrored(state.setup(), action_maps[g], len(state.to_dict()["tiles"]))
            other, twin, style = game.from_setup(setup), NaiveAether(options, state.setup()), Style(rng)
            while True:
                for player in range(game.num_players()):
                    mapped = state.observation_tensor(player)[observation_maps[g]]
                    np.testing.assert_array_equal(mapped, other.observation_tensor(player))
                np.testing.assert_array_equal(state.legal_actions_mask()[action_maps[g]], other.legal_actions_mask())
                np.testing.assert_array_equal(state.returns(), other.returns())
                np.testing.assert_array_equal(state.heuristic(), other.heuristic())
                if state.is_terminal():
                    break
                action = style.choose(rng, twin)
                chance = dict(other.chance_outcomes())
                for outcome, probability in state.chance_outcomes():
                    assert chance[renamed[outcome]] == probability
                other.apply_action(renamed[action] if state.is_chance_node() else int(old_to_new[action]))
                state.apply_action(action)
                twin.apply_action(action)


def test_symmetries_keep_neighbours_and_greys():
    """Every map of slots is one under which the board's text reads the same."""
    for board in ("mini", "small", "standard"):
        parsed = parse_board(board_text(board))
        slots = len(parsed.slots)
        for action_map in load_game("aether", board=board).symmetries()[1]:
            image = (action_map[: 2 * slots : 2] // 2) % slots
            for slot in range(slots):
                assert {int(image[other]) for other in parsed.neighbours[slot]} == set(parsed.neighbours[image[slot]])
                assert parsed.slots[slot] == parsed.slots[image[slot]], "grey stays grey"
