"""The picture of an Aeroliths position: what it shows, what it hides, and that it is sound SVG and PNG."""

import random
import re
import time
from xml.etree import ElementTree

import numpy as np
import pytest

from trilithon.core.aeroliths.drawing import draw, side_strokes
from trilithon.core.picture import GLYPHS, lettering, to_png, to_rgb_array

SVG = "{http://www.w3.org/2000/svg}"


def make_position(size, seed=0, filled=0.5):
    """A plausible position in mid-game, with cells of every element."""
    stream = random.Random(seed)
    litho = lambda: [stream.randint(1, 10) for _ in range(4)] + [stream.randrange(5)]  # noqa: E731
    cells = size * size
    board = [[*litho(), stream.randrange(2)] if stream.random() < filled else None for _ in range(cells)]
    hands = [
        [litho() if stream.random() < 0.7 else None for _ in range(-(-cells // 2) - (p and cells % 2))] for p in (0, 1)
    ]
    elements = [stream.choice([None, 0, 1, 2, 3]) for _ in range(cells)]
    return {"player": 0, "board": board, "hands": hands, "round": 0}, elements


def classes(svg, name):
    """All elements of a class, in document order."""
    return [element for element in ElementTree.fromstring(svg).iter() if element.get("class") == name]


def values_of(stone):
    """What a drawn stone shows: the values it says it has, checked against the strokes that are drawn."""
    values = [int(value) for value in stone.get("data-values").split()]
    drawn = [path.get("d") for path in stone.iter(f"{SVG}path")]
    assert side_strokes(values) in drawn
    return [*values, int(stone.get("data-element"))]


@pytest.mark.parametrize("size", [3, 4, 5])
@pytest.mark.parametrize("light", [True, False])
def test_every_visible_stone_is_drawn_once(size, light):
    for seed in range(5):
        position, cells = make_position(size, seed)
        svg = draw(position, size=size, cells=cells, light=light)
        drawn = sorted((values_of(stone), stone.get("data-owner")) for stone in classes(svg, "litho"))
        board = [(litho[:5], str(litho[5])) for litho in position["board"] if litho]
        hands = [(litho, str(p)) for p in (0, 1) for litho in position["hands"][p] if litho]
        assert drawn == sorted(board + hands)
        assert len(classes(svg, "cell")) == size * size
        assert [int(e.get("data-element")) for e in classes(svg, "elemental")] == [e for e in cells if e is not None]


def test_hidden_stones_leave_no_trace():
    position, cells = make_position(3)
    position["hands"][1] = [[9, 8, 9, 8, 3], None, [7, 9, 9, 7, 2], [9, 9, 8, 8, 1]]
    masked = dict(position, hands=[position["hands"][0], ["hidden", None, "hidden", "hidden"]])
    by_word = draw(masked, size=3, cells=cells, observer=0)
    by_known = draw(position, size=3, cells=cells, observer=0, known=[[True] * 5, [False] * 4])
    assert by_word == by_known
    assert len(classes(by_word, "back")) == 3
    assert not [
        stone for stone in classes(by_word, "litho") if stone.get("data-values") in ("9 8 9 8", "7 9 9 7", "9 9 8 8")
    ]
    other = dict(position, hands=[position["hands"][0], [[1, 2, 3, 4, 0], None, [4, 3, 2, 1, 1], [5, 5, 5, 5, 4]]])
    assert draw(other, size=3, cells=cells, observer=0, known=[[True] * 5, [False] * 4]) == by_known


def test_the_observer_sits_at_the_bottom():
    position, cells = make_position(4)
    for observer in (0, 1):
        seats = classes(draw(position, size=4, cells=cells, observer=observer), "seat")
        assert [seat.get("data-owner") for seat in seats] == [str(1 - observer), str(observer)]


def test_marks_of_the_turn():
    position, cells = make_position(4)
    position["hands"][0] = [[1, 2, 3, 4, 0]] * 8
    plain = draw(position, size=4, cells=cells)
    assert len(classes(plain, "turn")) == 1
    assert not classes(plain, "picked")
    assert not classes(plain, "last")
    marked = draw(position, size=4, cells=cells, picked=3, last_cell=11)
    assert [mark.get("data-slot") for mark in classes(marked, "picked")] == ["3"]
    assert [mark.get("data-cell") for mark in classes(marked, "last")] == ["11"]
    for player, words in ((-1, "chance to move"), (None, "game ended"), (1, "player 1 to move")):
        svg = draw(dict(position, player=player), size=4, cells=cells)
        assert words in svg
        assert len(classes(svg, "turn")) == (player == 1)


def test_pool():
    position, cells = make_position(5, filled=0)
    position["hands"] = [[None] * 13, [None] * 12]
    pool = [[k % 10 + 1, 2, 3, 4, k % 5] if k % 3 else None for k in range(40)]
    svg = draw(position, size=5, cells=cells, pool=pool)
    assert [values_of(stone) for stone in classes(svg, "litho")] == [litho for litho in pool if litho]
    assert all(stone.get("data-owner") == "none" for stone in classes(svg, "litho"))
    assert len(classes(svg, "gone")) == 25 + 14


def test_names_are_escaped():
    position, cells = make_position(3)
    position["board"][4] = [1, 2, 3, 4, 0, 1]
    name = "</title><script>alert(1)</script> & \"'"
    svg = draw(position, size=3, cells=cells, names={(1, 2, 3, 4, 0): name})
    assert "<script>" not in svg
    titles = [title.text for title in ElementTree.fromstring(svg).iter(f"{SVG}title")]
    assert any(name in title for title in titles)


def test_the_picture_stands_alone():
    position, cells = make_position(5)
    light, dark = (draw(position, size=5, cells=cells, light=light) for light in (True, False))
    assert light != dark
    for svg in (light, dark):
        # No fonts, no links, and no ids, which would meet those of another picture on the same page.
        assert not re.search(r"<text|href|url\(|\sid=|<style|<image", svg)
        assert ElementTree.fromstring(svg).tag == f"{SVG}svg"


@pytest.mark.parametrize("size", [3, 4, 5])
def test_png_and_pixels(size):
    position, cells = make_position(size)
    svg = draw(position, size=size, cells=cells)
    png = to_png(svg, 300)
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(png[16:20], "big") == 300
    pixels = to_rgb_array(svg, 300)
    assert pixels.dtype == np.uint8
    assert pixels.shape == (int.from_bytes(png[20:24], "big"), 300, 3)
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20


def test_every_value_looks_different():
    position, _ = make_position(3, filled=0)
    shown = []
    for value in range(1, 11):
        position["board"][4] = [value, 5, 5, 5, 4, 0]
        shown.append(to_rgb_array(draw(position, size=3, cells=[None] * 9), 300).astype(int))
    for one in range(10):
        for two in range(one):
            assert (np.abs(shown[one] - shown[two]).sum(axis=2) > 200).sum() > 15, (one + 1, two + 1)


def test_lettering_needs_no_font():
    base = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20">{}</svg>'
    pictures = {text: to_png(base.format(lettering(text, 10, 10, 12, "#000")), 40) for text in GLYPHS}
    blank = to_png(base.format(""), 40)
    assert blank not in pictures.values()
    assert len(set(pictures.values())) == len(GLYPHS) - 1  # the letter O and the digit 0 are one shape
    assert lettering("ab\u2603", 0, 0, 6, "#000").count("M") == 2  # a character without a glyph is a space


def test_drawing_is_fast():
    position, cells = make_position(5, filled=1)
    seconds = []
    for _ in range(20):
        start = time.perf_counter()
        draw(position, size=5, cells=cells)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.010
