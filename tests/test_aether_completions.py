"""Aether: `early_scoring=proved` ends a game exactly when no completion changes who takes an aether tile."""

from collections import Counter
from random import Random

import pytest
from naive.aether import NaiveAether
from naive.aether_scoring import (
    ELEMENTS,
    Rest,
    board_text,
    may_change,
    may_change_by_brute_force,
    parse_board,
    power,
    powers_around,
    strongest,
)
from naive.drawn_aether import FLOWER, RINGS, drawn

from trilithon.core import load_game
from trilithon.core.aether.boards import load_board

WATER, FIRE, EARTH, AIR = ELEMENTS
CHUNKS = 4
EACH = 125  # positions of each answer in a chunk
MANY = 5_000  # completions; the heavy run tries more


def position_of(config, state, next_player):
    """A state as the arguments of `may_change`: board, tiles, elementals, what completions can use, teams."""
    shown, players = state.to_dict(), config["players"]
    placers = [(next_player + turn) % players for turn in range(shown["tiles"].count(None))]
    outside = [shown["bag"][e] + sum(hand.count(e) for hand in shown["hands"]) for e in ELEMENTS]
    limits = [min(shown["unused"][player], placers.count(player)) for player in range(players)]
    board = parse_board(board_text(config["board"]))
    return board, shown["tiles"], shown["elementals"], Rest(outside, limits), config.get("teams", False)


def number_of_completions(position):
    """At most this many: for each empty slot an element, and nobody or somebody who has elementals left."""
    _, tiles, _, rest, _ = position
    return (4 * (1 + sum(limit > 0 for limit in rest.elementals))) ** tiles.count(None)


def after_placements(config, rng):
    """Play a random game: `(position, ended)` after each of its placements, for as long as there are empty slots."""
    game = load_game("aether", early_scoring="proved", **config)
    state = game.new_initial_state(rng.randrange(1 << 30))
    swap = 8 * len(game.board.slots)
    share, swaps = rng.choice((0.3, 0.6, 0.9)), rng.choice((0.0, 0.0, 0.1))
    while not state.is_terminal():
        player, legal = state.current_player(), state.legal_actions()
        if state.is_chance_node():
            state.apply_action(rng.choice(legal))
            continue
        with_elemental = rng.random() < share
        wanted = [action for action in legal if action < swap and action % 2 == with_elemental]
        action = (
            swap if swap in legal and rng.random() < swaps else rng.choice(wanted or [a for a in legal if a < swap])
        )
        state.apply_action(action)
        if action < swap and None in state.to_dict()["tiles"]:
            yield position_of(config, state, (player + 1) % config["players"]), state.is_terminal()


def kinds_of(position, ended):
    """What is special about a position."""
    board, tiles, elementals, rest, teams = position
    powers = [powers_around(board, tiles, elementals, tile.around, teams) for tile in board.aether]
    empty = [slot for slot, element in enumerate(tiles) if element is None]
    able = sum(rest.elementals) > 0
    standing = [slot for slot, owner in enumerate(elementals) if owner is not None]
    kinds = Counter([f"{min(len(empty), 4)} empty", "able" if able else "exhausted"])
    kinds["tie"] += any(len(strongest(there)) > 1 for there in powers)
    kinds["nobody"] += not all(powers)
    kinds["zero or less"] += any(there and max(there.values()) <= 0 for there in powers)
    kinds["negative"] += any(power(board, tiles, slot) < 0 for slot in standing)
    kinds["scarce"] += min(rest.tiles) < len(empty)
    kinds["able beside aether"] += able and any(tiles[slot] is None for tile in board.aether for slot in tile.around)
    return Counter({(ended, kind): number for kind, number in kinds.items()})


def compare_with_enumeration(seed, each, most):
    """Games on mini, `each` positions of either answer: where a game ended, and on the way, the last one before it."""
    rng, counts, kinds = Random(seed), Counter(), Counter()
    for _ in range(20 * each):
        if min(counts[True], counts[False]) == each:
            return kinds
        config = {"board": "mini", "players": rng.choice((2, 3)), "variant": rng.random() < 0.5}
        played = list(after_placements(config, rng))
        chosen = [played.pop()] if played and played[-1][1] else []  # (otherwise the board was filled)
        chosen += played[-1:] + rng.sample(played, min(1, len(played)))
        for position, ended in chosen:
            if counts[ended] < each and number_of_completions(position) <= most:
                assert ended == (not may_change_by_brute_force(*position)), position
                counts[ended] += 1
                kinds.update(kinds_of(position, ended))
    raise AssertionError(f"too few positions: {counts}")


def has_both(kinds, names, each):
    """Whether every kind of position came up, with either answer."""
    return all(kinds[ended, name] >= each for ended in (True, False) for name in names)


# ------------------------------------------------------------------------------------------------- against enumeration

KINDS = ("1 empty", "2 empty", "able", "exhausted", "tie", "nobody", "zero or less", "negative", "scarce")


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_games_end_as_enumeration_of_completions_says(chunk):
    kinds = compare_with_enumeration(chunk, EACH, MANY)
    assert has_both(kinds, (*KINDS, "able beside aether"), 5), kinds


@pytest.mark.heavy
@pytest.mark.parametrize("chunk", range(8))
def test_games_end_as_enumeration_of_completions_says_more_often(chunk):
    kinds = compare_with_enumeration(CHUNKS + chunk, 8 * EACH, 60_000)
    assert has_both(kinds, (*KINDS, "able beside aether", "3 empty", "4 empty"), 40), kinds


def scarce_setup(rng, text, players, most_empty):
    """A position with at most one tile more than empty slots, most of them of few elements, and all of them in hand."""
    board = parse_board(text)
    slots, most = len(board.slots), board.elementals[players - 2]
    pack = [element for element in ELEMENTS for _ in range(board.tiles_per_element)]
    rng.shuffle(pack)
    few = rng.sample(ELEMENTS, rng.choice((1, 2, 3)))
    pack.sort(key=lambda element: element in few)  # these come last, and remain
    empty = rng.sample(range(slots), rng.randint(1, most_empty))
    end = len(pack) - rng.choice((0, 0, len(empty)))
    outside = pack[end - len(empty) - rng.choice((0, 0, 1)) : end]
    on_board = rng.sample(pack[: end - len(outside)], slots - len(empty))
    tiles = [None if slot in empty else on_board.pop() for slot in range(slots)]
    player = rng.randrange(players)
    rng.shuffle(outside)
    hands = [[] for _ in range(players)]
    for turn, element in enumerate(outside):
        hands[(player + turn) % players].append(element)
    elementals = [None] * slots
    for slot in rng.sample(range(slots), slots):
        owner = rng.randrange(players)
        if tiles[slot] is not None and elementals.count(owner) < most and rng.random() < 0.8:
            elementals[slot] = owner
    unused = [min(rng.choice((0, 0, 1, 2)), most - elementals.count(owner)) for owner in range(players)]
    position = {"elementals": elementals, "unused": unused, "player": player, "bag": [0] * 4}
    return {"first_player": 0, "tiles": tiles, "hands": hands, "position": position}


def compare_scarce(seed, text, number, most_empty, decide):
    """Positions where tiles are scarce; the kinds, and in how many only that decides."""
    rng, kinds, scarcity_matters = Random(seed), Counter(), 0
    for _ in range(number):
        players = rng.choice((2, 3))
        config = {"board": text, "players": players}
        setup = scarce_setup(rng, text, players, most_empty)
        state = load_game("aether", early_scoring="proved", **config).from_setup(setup)
        position = position_of(config, state, setup["position"]["player"])
        ended = not decide(*position)
        assert state.is_terminal() == ended, setup
        kinds.update(kinds_of(position, ended))
        board, tiles, elementals, rest, teams = position
        scarcity_matters += ended and may_change(board, tiles, elementals, rest._replace(tiles=[9] * 4), teams)
    return kinds, scarcity_matters


def test_scarce_tiles_agree_with_enumeration():
    kinds, scarcity_matters = compare_scarce(5, board_text("mini"), 700, 3, may_change_by_brute_force)
    assert has_both(kinds, (*KINDS, "3 empty"), 5), kinds
    assert scarcity_matters >= 50


# One aether tile with two whole rings of slots around it.
RINGS_FULL = (
    RINGS.replace("element: 7", "element: 9").replace("s: 3 3 3", "s: 9 6").replace("hand_tiles: 2", "hand_tiles: 6")
)


def test_scarce_tiles_agree_with_the_twin_where_more_slots_are_empty():
    kinds, scarcity_matters = compare_scarce(6, RINGS_FULL, 1000, 7, may_change)
    assert has_both(kinds, ("1 empty", "2 empty", "3 empty", "4 empty", "able", "exhausted", "tie"), 5), kinds
    assert scarcity_matters >= 50


# ---------------------------------------------------------------------------------------------- larger boards, teams


def compare_with_twin(configs, seed, games, empty):
    """Games with either answer near the border: where they ended, and the last positions before."""
    rng, kinds = Random(seed), Counter()
    for _ in range(games):
        config = rng.choice(configs)
        for position, ended in list(after_placements(config, rng))[-3:]:
            if position[1].count(None) <= empty:
                assert ended == (not may_change(*position)), position
                kinds.update(kinds_of(position, ended))
    return kinds


TEAMS = [{"board": "small", "players": 4, "teams": True}]
SNOWFLAKE = load_board("snowflake").text
OTHERS = [{"board": board, "players": players} for board in ("small", SNOWFLAKE) for players in (2, 3, 4)]


def test_teams_agree_with_the_twin():
    kinds = compare_with_twin(TEAMS, 1, 100, 4)
    assert has_both(kinds, ("1 empty", "2 empty", "able", "exhausted", "tie", "negative"), 4), kinds


def test_larger_boards_agree_with_the_twin():
    kinds = compare_with_twin(OTHERS, 2, 90, 4)
    assert has_both(kinds, ("1 empty", "able", "exhausted", "tie", "negative", "zero or less"), 3), kinds


@pytest.mark.heavy
@pytest.mark.parametrize("chunk", range(8))
def test_many_games_agree_with_the_twin(chunk):
    standard = [{"board": "standard", "players": players, "teams": players == 4} for players in (2, 3, 4)]
    kinds = compare_with_twin(3 * TEAMS + OTHERS + standard, 10 + chunk, 400, 5)
    assert has_both(kinds, (*KINDS, "able beside aether", "3 empty", "4 empty"), 2), kinds


# ----------------------------------------------------------------------------------------------------- drawn positions

# The six slots around an aether tile: 0 and 1 above, 2 left, 3 right, 4 and 5 below. In most of the cases player 0
# stands on slot 1 and player 1 on slot 2, both next to the empty slot 0.
SIDES = {1: FIRE, 2: FIRE, 3: EARTH, 4: EARTH, 5: EARTH}
BOTH = {1: 0, 2: 1}


def ends(tiles, owners, unused, hands, player=0, **config):
    """Whether a position on the small flower is the end of its game; the bag is empty."""
    players = len(unused)
    config, setup = drawn(
        FLOWER,
        tiles,
        owners,
        players,
        hands,
        {"early_scoring": "proved", **config},
        unused=unused,
        bag=[0] * 4,
        player=player,
    )
    state = load_game("aether", **config).from_setup(setup)
    assert state.is_terminal() == NaiveAether(config, setup).is_terminal()
    return state.is_terminal()


def test_a_tie_that_every_tile_leaves():
    for element in ELEMENTS:
        assert ends(SIDES, BOTH, [0, 0], [[element], []])


def test_a_tie_that_a_tile_may_break_if_there_is_one():
    tiles = {**SIDES, 2: WATER}
    assert not ends(tiles, BOTH, [0, 0], [[WATER], []])
    assert ends(tiles, BOTH, [0, 0], [[EARTH], []])


def test_a_lead_that_an_own_elemental_of_negative_power_may_cost():
    tiles = {**SIDES, 4: WATER}  # player 0 leads by 1 to 0; an earth tile on slot 0 would touch two fire tiles
    assert not ends(tiles, BOTH, [1, 0], [[EARTH], []])
    assert ends(tiles, BOTH, [0, 0], [[EARTH], []])


def test_a_power_of_zero_or_less_takes_a_tile_from_nobody_and_from_less():
    tiles = {**SIDES, 3: WATER}  # player 0 has power 0
    assert ends(tiles, {1: 0}, [1, 0], [[WATER], []])  # nobody else can come
    assert not ends(tiles, {1: 0}, [0, 1], [[], [WATER]], player=1)  # -1, and player 1 comes with 1
    assert ends(tiles, {1: 0}, [0, 1], [[], [EARTH]], player=1)  # player 1 would come with -1


def test_nobody_beside_an_aether_tile():
    assert ends(SIDES, {}, [0, 0], [[FIRE], []])
    assert not ends(SIDES, {}, [1, 0], [[FIRE], []])
    assert not ends({slot: SIDES[slot] for slot in (2, 3, 4, 5)}, {}, [0, 1], [[FIRE], [FIRE]])


def test_only_who_still_places_a_tile_can_place_an_elemental():
    tiles = {**SIDES, 2: EARTH}
    assert ends(tiles, {1: 0}, [0, 3], [[FIRE], []])
    assert not ends(tiles, {1: 0}, [0, 3], [[], [FIRE]], player=1)


def test_a_third_player_may_share_or_stay_away():
    tiles = {**SIDES, 3: FIRE, 4: FIRE}  # a tie; an elemental on slot 0 touches fire alone
    assert not ends(tiles, BOTH, [0, 0, 1], [[], [], [FIRE]], player=2)
    assert ends(tiles, BOTH, [0, 0, 1], [[], [], [EARTH]], player=2)


def test_powers_are_summed_by_team():
    tiles, owners = SIDES, {1: 0, 2: 2, 5: 1}  # 1 and 1 against 3; a fire tile makes that 2 and 2
    hands = [[FIRE], [], [], []]
    assert ends(tiles, owners, [0] * 4, hands)
    assert not ends(tiles, owners, [0] * 4, hands, teams=True)


def test_partners_do_not_compete():
    tiles, owners = {**SIDES, 2: WATER}, {1: 0, 2: 2}  # a water tile breaks their tie
    hands = [[WATER], [], [], []]
    assert not ends(tiles, owners, [0] * 4, hands)
    assert ends(tiles, owners, [0] * 4, hands, teams=True)


def test_a_sacrifice_may_decide_a_game():
    config, setup = drawn(
        FLOWER, SIDES, {}, hands=[[FIRE, FIRE], [FIRE, FIRE]], config={"early_scoring": "proved"}, unused=[1, 0]
    )
    state = load_game("aether", **config).from_setup(setup)
    state.apply_action(8 * 6)
    while state.is_chance_node():
        assert not state.is_terminal()
        state.apply_action(state.legal_actions()[0])
    assert state.is_terminal()
    assert None in state.to_dict()["tiles"]
