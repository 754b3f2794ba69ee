"""The picture of a Selenolyth position: what it shows, from which side, and that it is sound SVG and PNG."""

import re
import time
from xml.etree import ElementTree

import numpy as np
import pytest

from trilithon.core import load_game
from trilithon.core.picture import to_png, to_rgb_array
from trilithon.core.selenolyth import drawing
from trilithon.core.selenolyth.text import stones_on_board

SVG = "{http://www.w3.org/2000/svg}"


def classes(svg, name):
    """All elements of a class, in document order."""
    return [element for element in ElementTree.fromstring(svg).iter() if element.get("class") == name]


def titles(svg):
    return [title.text for title in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def played(*actions, first=0):
    state = load_game("selenolyth", first_player=first).new_initial_state(0)
    for action in actions:
        state.apply_action(state.string_to_action(action))
    return state


def finished(seed):
    state = load_game("selenolyth").new_initial_state(seed)
    generator = np.random.default_rng(seed)
    while not state.is_terminal():
        state.apply_action(int(generator.choice(state.legal_actions())))
    return state


@pytest.mark.parametrize("light", [True, False])
def test_every_stone_is_drawn_once(light):
    for seed in range(8):
        state = finished(seed)
        svg = state.to_svg(light=light)
        board = [stone for stone in stones_on_board(state.array)[0] if stone is not None]
        drawn = [(int(s.get("data-kind")), int(s.get("data-owner"))) for s in classes(svg, "stone")]
        assert sorted(drawn) == sorted(board)
        assert len(drawn) == sum(state.to_dict()["occupied"])
        assert len(classes(svg, "cell")) == 36
        counts = {(r.get("data-owner"), r.get("data-kind")): r.get("data-count") for r in classes(svg, "reserve")}
        reserve = state.to_dict()["reserve"]
        assert counts == {(str(p), str(k)): str(reserve[p][k]) for p in (0, 1) for k in range(3)}
        assert f"ended: {state.to_dict()['outcome']}" in titles(svg)[0]


def test_the_observer_sits_at_the_bottom():
    state = played("D@b", "rank 1", "O@a", "rank 1")
    shown = {
        None: {"b1: Shard of Diox of player 0", "f6: Shard of Orthos of player 1"},
        0: {"b1: Shard of Diox of player 0", "f6: Shard of Orthos of player 1"},
        1: {"e6: Shard of Diox of player 0", "a1: Shard of Orthos of player 1"},
    }
    for observer, expected in shown.items():
        svg = state.to_svg(observer)
        assert expected <= set(titles(svg))
        assert [r.get("data-owner") for r in classes(svg, "reserve")] == (
            ["0"] * 3 + ["1"] * 3 if observer == 1 else ["1"] * 3 + ["0"] * 3
        )
    assert state.to_svg(0) == state.to_svg() != state.to_svg(1)
    lowest = max(classes(state.to_svg(1), "cell"), key=lambda cell: float(cell.get("y")))
    assert int(lowest.get("data-cell")) >= 30, "South's sixth rank is North's first"


def test_marks_of_the_turn():
    state = played("S@c", "rank 3")
    assert len(classes(state.to_svg(), "turn")) == 1
    assert [mark.get("data-cell") for mark in classes(state.to_svg(), "last")] == ["14"]
    assert "player 1 to choose" in titles(state.to_svg())[0]
    assert not classes(load_game("selenolyth").new_initial_state(0).to_svg(), "last")
    assert "player 0 rolls S@c" in titles(played("S@c").to_svg())[0]
    assert "player 1 ricochets S@d" in titles(played("S@c", "rank 3", "S@d", "rank 4").to_svg())[0]
    assert not classes(finished(1).to_svg(), "turn")


def test_rays_of_the_last_selenolyth():
    """A Diox on a1 and an Orthos on e6 are drawn to a Selenolyth on a6; a Shard and a ricochet draw none."""
    before = played("D@a", "rank 1", "O@b", "rank 1")
    assert not classes(before.to_svg(), "ray")
    state = played("D@a", "rank 1", "O@b", "rank 1", "S@a", "rank 6")
    rays = {(int(ray.get("data-from")), int(ray.get("data-to"))) for ray in classes(state.to_svg(), "ray")}
    assert rays == {(0, 24), (34, 31)}
    assert {"a5: Shard of Diox of player 0", "b6: Shard of Orthos of player 1"} <= set(titles(state.to_svg()))
    assert not classes(state.to_svg(rays=False), "ray")
    ricochet = played("S@c", "rank 3", "S@d", "rank 4", "a1")
    assert not classes(ricochet.to_svg(), "ray")


def test_a_board_given_without_kinds_shows_places_alone():
    setup = {"first_player": 0, "position": {"occupied": [1, 1] + [0] * 34}}
    svg = load_game("selenolyth").from_setup(setup).to_svg()
    assert [s.get("data-kind") for s in classes(svg, "stone")] == ["unknown"] * 2
    assert not classes(svg, "last"), "nobody put a stone down yet"


def test_kinds_and_owners_look_different():
    pictures = []
    for kind in range(3):
        for owner in (0, 1):
            body = drawing.stone(kind, owner, 20, 20, 36, drawing.LIGHT)
            svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40">{body}</svg>'
            pictures.append(to_rgb_array(svg, 80).astype(int))
    for one in range(6):
        for two in range(one):
            assert (np.abs(pictures[one] - pictures[two]).sum(axis=2) > 200).sum() > 200


def test_the_picture_stands_alone():
    state = finished(3)
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


def test_drawing_is_fast():
    state = finished(2)
    seconds = []
    for _ in range(20):
        start = time.perf_counter()
        state.to_svg()
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.010
