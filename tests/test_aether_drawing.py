"""The picture of an Aether position: what it shows and what it hides, and that it is sound SVG and PNG."""

import re
import time
from xml.etree import ElementTree

import numpy as np
import pytest
from test_aether_text import FULL, OPTIONS, WITH_PITS, exchange, played, start, walks

from trilithon.core import load_game
from trilithon.core.aether import drawing, facts
from trilithon.core.aether.boards import BOARDS
from trilithon.core.picture import to_png, to_rgb_array

SVG = "{http://www.w3.org/2000/svg}"


def classes(svg, name):
    """All elements of a class, in document order."""
    return [element for element in ElementTree.fromstring(svg).iter() if element.get("class") == name]


def values(svg, name, *keys):
    """What the elements of a class say: numbers as numbers, ``""`` as it is."""
    found = []
    for element in classes(svg, name):
        row = [element.get(f"data-{key}") for key in keys]
        found.append(tuple(int(x) if x and re.fullmatch(r"-?\d+", x) else x for x in row))
    return found


def titles(svg):
    return [title.text for title in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def hexes(svg):
    """Outline of every hex of the board, by what lies there: slots, aether tiles, pits."""
    found = []
    for name in ("slot", "aether", "pit"):
        for group in classes(svg, name):
            numbers = re.findall(r"-?[\d.]+", next(group.iter(f"{SVG}path")).get("d"))
            x, y, u, v, side, u2, v2, u3, v3, back = map(float, numbers)
            found.append(np.cumsum([(x, y), (u, v), (0, side), (u2, v2), (u3, v3), (0, back)], axis=0))
    return np.array(found)


def finished(seed, **options):
    state = load_game("aether", **options).new_initial_state(seed)
    generator = np.random.default_rng(seed)
    while not state.is_terminal():
        state.apply_action(int(generator.choice(state.legal_actions())))
    return state


# ----------------------------------------------------------------------------------------------------- what is shown


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_everything_on_the_board_is_drawn_once(options):
    for number, state in enumerate(walks(2, seed=6, **options)):
        if number % 9:
            continue
        position, powers = state.to_dict(), facts.powers(state.array)
        svg = state.to_svg(light=number % 2 == 0)
        tiles = [(slot, element) for slot, element in enumerate(position["tiles"]) if element is not None]
        assert values(svg, "tile", "slot", "element") == tiles
        owners = [(slot, p, powers[slot]) for slot, p in enumerate(position["elementals"]) if p is not None]
        assert values(svg, "elemental", "slot", "owner", "power") == owners
        rows = facts.sums(state.array, state.game.board)
        assert [values(svg, "aether", "value")[n] for n in range(len(rows))] == [
            (tile[0],) for tile in state.game.board.aether
        ]
        holders = [" ".join(map(str, facts.holders(row))) for row in rows]
        assert [str(text) for (text,) in values(svg, "aether", "holders")] == holders
        scores = facts.scores(state.array)
        assert sorted(values(svg, "score", "owner", "points")) == list(enumerate(scores))
        out = [(p, position["unused"][p], position["sacrificed"][p]) for p in range(len(scores))]
        assert sorted(values(svg, "elementals", "owner", "unused", "sacrificed")) == out
        assert values(svg, "bag", "element", "count") == list(enumerate(position["bag"]))
        assert [turn.tag for turn in classes(svg, "turn")] == [f"{SVG}path"] * (not state.is_terminal())
        assert titles(svg)[0].endswith(facts.headline(state.array))


def test_a_position_in_words():
    svg = load_game("aether", board="mini", players=3).from_text(FULL).to_svg()
    assert {
        "Aether on mini: player 1 to place",
        "slot 2: earth",
        "slot 8: water, an elemental of player 1 with power 2",
        "aether tile of 7 points: player 0 1, player 1 2",
        "aether tile of 9 points: player 1 2, player 2 2",
        "aether tile of 8 points: player 0 2, player 1 2, player 2 2",
        "player 1, hand: earth",
    } <= set(titles(svg))
    assert values(svg, "aether", "holders") == [(1,), ("1 2",), ("0 1 2",)]
    # A ring has six sides; those who share a tile have two or three each, over an edge that sets them off.
    strokes = [[path.get("stroke") for path in tile.iter(f"{SVG}path")] for tile in classes(svg, "aether")]
    for colours, holders in zip(strokes, ([1], [1, 2], [0, 1, 2]), strict=True):
        ring = [colour for colour in colours if colour in drawing.FILLS]
        assert sorted(ring) == sorted([drawing.FILLS[side] for side in holders] * (6 // len(holders)))
    fresh = load_game("aether", board="mini").new_initial_state(0).to_svg()
    assert values(fresh, "aether", "holders") == [("",)] * 3
    assert "aether tile of 7 points: nobody beside it" in titles(fresh)
    assert not any(path.get("stroke") in drawing.FILLS for tile in classes(fresh, "aether") for path in tile)


def test_grey_slots_are_shaded():
    state = load_game("aether", board="standard", variant=True).new_initial_state(0)
    svg = state.to_svg()
    assert values(svg, "slot", "slot", "kind") == list(enumerate(state.game.board.slots))
    shades = {}
    for slot in classes(svg, "slot"):
        shades.setdefault(slot.get("data-kind"), set()).add(slot[1].get("opacity"))
    assert shades == {".": {None}, ":": {"0.3"}, "#": {"0.8"}}
    empty = state.to_dict()["tiles"].count(None)
    numbered = [slot for slot in classes(svg, "slot") if slot[-1].get("transform")]
    assert len(numbered) == empty == 62


def test_teams():
    svg = finished(2, board="small", players=4, teams=True).to_svg()
    assert "team " in titles(svg)[0]
    words = [title for title in titles(svg) if title.startswith("aether tile")]
    assert any("team 0" in title for title in words)
    assert not any("player" in title or "team 2" in title for title in words)


def test_marks():
    state = start("small", first=1, early_scoring="agreement")
    for action, mark in ((None, 1), ("propose", 0), ("decline", 1), ("swap", 1), ("draw fire", 1)):
        played(state, *([action] if action else []))
        svg = state.to_svg()
        (turn,) = classes(svg, "turn")
        seats = [element.get("data-owner") for element in classes(svg, "seat")]
        height = float(turn.get("d").split()[1].split("l")[0]) + 5
        middles = [float(seat[0].get("transform").split()[1].split(")")[0]) for seat in classes(svg, "seat")]
        assert seats[middles.index(height)] == str(mark)
    assert not classes(svg, "last")
    (last,) = classes(state.to_svg(latest=7), "last")
    assert last.get("data-slot") == "7"


def test_a_board_with_pits():
    state = load_game("aether", board=WITH_PITS, players=3).new_initial_state(1)
    svg = state.to_svg()
    assert (len(classes(svg, "pit")), len(classes(svg, "slot")), len(classes(svg, "aether"))) == (1, 8, 2)
    assert "Aether on two, islands:" in titles(svg)[0]


SHAPES = {
    "one": "% name: one\n% tiles_per_element: 9\n% elementals: 3\n% hand_tiles: 8\n.\n",
    "wide": "% name: wide\n% tiles_per_element: 40\n% elementals: 9\n% hand_tiles: 4\n" + ".   " * 119 + "99\n",
    "high": "% name: high\n% tiles_per_element: 40\n% elementals: 9\n% hand_tiles: 4\n" + ".   9\n  .\n" * 20,
}


@pytest.mark.parametrize("board", [*BOARDS, *SHAPES])
def test_hexes_fill_the_width_and_do_not_overlap(board):
    state = load_game("aether", board=SHAPES.get(board, board)).new_initial_state(0)
    svg = state.to_svg()
    outlines = hexes(svg)
    board = state.game.board
    assert len(outlines) == len(board.slots) + len(board.aether) + len(board.pits)
    width, height = (float(x) for x in ElementTree.fromstring(svg).get("viewBox").split()[2:])
    for axis, most in ((0, width), (1, height)):
        assert outlines[..., axis].min() >= 10
        assert outlines[..., axis].max() <= most - 10
    middles = outlines.mean(axis=1)
    apart = np.hypot(*(middles[:, None] - middles[None]).T)
    inner = np.hypot(*(outlines[0] - middles[0]).T).mean() * 3**0.5 / 2  # from the middle to a side
    np.fill_diagonal(apart, np.inf)
    assert apart.min() >= 2 * inner
    # Neighbours on the board, and they alone, lie side by side: three hundredths are the gap.
    near = apart < 2 * inner * 1.05
    assert np.ptp(apart[near]) < 0.005 * inner if near.any() else len(outlines) == 1
    count = len(board.slots) + len(board.aether)
    for hexagon in range(count):
        beside = {int(n) for n in board.neighbours[hexagon] if n >= 0}
        assert set(np.flatnonzero(near[hexagon, :count])) == beside


# --------------------------------------------------------------------------------------------------- what is not shown


def test_an_observer_sits_at_the_bottom_and_sees_the_own_hand_alone():
    state = load_game("aether", board="mini", players=3).from_text(FULL)
    svg = state.to_svg()
    assert values(svg, "seat", "owner") == [(1,), (2,), (0,)]
    hands = [(player, tile) for player in (1, 2, 0) for tile in state.to_dict()["hands"][player]]
    assert values(svg, "hand", "owner", "element") == hands
    assert not classes(svg, "back")
    assert not classes(svg, "unseen")
    for observer in range(3):
        svg = state.to_svg(observer)
        order = [(observer + step) % 3 for step in (1, 2, 3)]
        assert values(svg, "seat", "owner") == [(player,) for player in order]
        assert values(svg, "hand", "owner", "element") == [(observer, x) for x in state.to_dict()["hands"][observer]]
        assert values(svg, "back", "owner", "element") == [(player, None) for player in order[:2] for _ in range(4)]
        assert not classes(svg, "bag")
        unseen = state.to_text(observer).splitlines()[-1].rpartition("hands ")[2]
        assert " ".join("WFEA"[e] + str(n) for e, n in values(svg, "unseen", "element", "count")) == unseen


def test_a_swap_shows_the_old_hand_to_its_owner_alone():
    state = played(start(first=1), "swap", "draw fire", "draw air")
    for observer in (None, 1):
        assert values(state.to_svg(observer), "aside", "owner", "element") == [(1, 0), (1, 0), (1, 1), (1, 3)]
        assert (1, 3) in values(state.to_svg(observer), "hand", "owner", "element")
    assert not classes(state.to_svg(0), "aside")
    assert values(state.to_svg(0), "back", "owner") == [(1,)] * 6


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_picture_hides_what_its_observer_does_not_know(options):
    generator = np.random.default_rng(5)
    different = 0
    for number, state in enumerate(walks(2, seed=7, **options)):
        if number % 4:
            continue
        for observer in range(state.game.num_players()):
            world = exchange(state.array, observer, generator)
            assert state.game.draw(world, observer) == state.to_svg(observer)
            different += state.game.draw(world) != state.to_svg()
    assert different > 10


# ------------------------------------------------------------------------------------------------------- the picture


def test_elements_and_seats_differ_without_colour():
    pictures = []
    for parts in (
        [drawing.tile(element, 20, 20, 16) for element in range(4)],
        [drawing.tile(element, 20, 20, 16, lifted=True) for element in range(4)],
        [drawing.body(side, 20, 20, 30) for side in range(4)],
    ):
        grey = []
        for part in parts:
            svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40">{part}</svg>'
            pixels = to_rgb_array(svg, 80) @ [0.299, 0.587, 0.114]
            grey.append(np.abs(np.diff(pixels, axis=0)) > 40)  # outlines: what is left without lightness, too
        pictures.append(grey)
    for grey in pictures:
        for one in range(4):
            for two in range(one):
                assert (grey[one] ^ grey[two]).sum() > 25, (one, two)


def test_the_picture_stands_alone():
    state = finished(3, board="small", players=3)
    light, dark = state.to_svg(light=True), state.to_svg(light=False)
    assert light != dark
    for svg in (light, dark):
        # No fonts, no links, and no ids, which would meet those of another picture on the same page.
        assert not re.search(r"<text|href|url\(|\sid=|<style|<image", svg)
        assert ElementTree.fromstring(svg).tag == f"{SVG}svg"
    assert state._repr_svg_() == state.to_svg()
    png = to_png(light, 300)
    assert int.from_bytes(png[16:20], "big") == 300
    assert len(np.unique(to_rgb_array(light, 300).reshape(-1, 3), axis=0)) > 20


def test_a_name_with_markup_does_no_harm():
    board = WITH_PITS.replace("two, islands", "<b>&\"'")
    svg = load_game("aether", board=board).new_initial_state(0).to_svg()
    assert titles(svg)[0].startswith("Aether on <b>&\"':")


def test_drawing_is_fast():
    state = finished(2, board="standard", players=4)
    seconds = []
    for _ in range(20):
        began = time.perf_counter()
        state.to_svg()
        seconds.append(time.perf_counter() - began)
    assert min(seconds) < 0.020
