"""What the drawings of all games share: colours, lettering as paths (no fonts needed), and SVG to PNG and pixels."""

from dataclasses import dataclass
from typing import Any

import numpy as np

# Okabe and Ito (2008), "Color Universal Design": eight colours that stay apart under the common colour deficiencies.
OKABE_ITO = {
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "purple": "#CC79A7",
    "grey": "#8C8C8C",
}


@dataclass(frozen=True)
class Theme:
    """Colours of a picture: page, board and empty cell, lines, text, quiet text, and what marks the latest event."""

    page: str
    board: str
    cell: str
    line: str
    ink: str
    quiet: str
    accent: str


LIGHT = Theme("#FBFAF7", "#CFC8BA", "#E6E1D6", "#8F8777", "#22252B", "#655F54", "#B86E00")
DARK = Theme("#15171C", "#23272F", "#2F343E", "#5B6372", "#ECEAE4", "#A3A9B5", OKABE_ITO["orange"])

# One-stroke lettering in a box 4 wide and 6 high, origin at its top left; every path is relative, so that a glyph is
# placed by one absolute "M x y" before it.
GLYPHS = {
    "0": "m2 0c-1.5 0-2 1.5-2 3s.5 3 2 3 2-1.5 2-3-.5-3-2-3z",
    "1": "m.5 1.3l1.7-1.3v6",
    "2": "m.1 1.6c.1-1 .9-1.6 1.9-1.6s1.9.6 1.9 1.6c0 1.5-3.8 2.4-3.9 4.4h4",
    "3": "m.3.8c.4-.5 1-.8 1.7-.8 1 0 1.8.6 1.8 1.5s-.8 1.4-1.8 1.4c1.1 0 2 .6 2 1.5s-.9 1.6-2 1.6c-.8 0-1.5-.3-2-.9",
    "4": "m2.9 6v-6l-2.9 4.2h4",
    "5": "m3.6 0h-3l-.3 2.7c.4-.4 1-.6 1.6-.6 1.2 0 2.1.8 2.1 1.9s-.9 2-2.1 2c-.8 0-1.5-.3-1.9-.8",
    "6": "m3.5.5c-.4-.3-.9-.5-1.4-.5-1.5 0-2.1 1.9-2.1 4 0 1.2.9 2 2 2s2-.9 2-2-.9-1.9-2-1.9-2 .8-2 1.9",
    "7": "m0 0h4l-2.4 6",
    "8": "m2 0c1 0 1.7.6 1.7 1.4s-.7 1.4-1.7 1.4-1.7-.6-1.7-1.4.7-1.4 1.7-1.4zm0 2.8c1.1 0 2 .7 2 1.6s-.9 1.6-2 1.6"
    "-2-.7-2-1.6.9-1.6 2-1.6z",
    "9": "m.5 5.5c.4.3.9.5 1.4.5 1.5 0 2.1-1.9 2.1-4 0-1.2-.9-2-2-2s-2 .9-2 2 .9 1.9 2 1.9 2-.8 2-1.9",
    "A": "m0 6l2-6 2 6m-3.4-1.9h2.8",
    "B": "m0 0v6h2.2c1.1 0 1.8-.7 1.8-1.6s-.7-1.6-1.8-1.6h-2.2m0-2.8h2c1 0 1.6.6 1.6 1.4s-.6 1.4-1.6 1.4",
    "C": "m3.8 1.2c-.3-.8-.9-1.2-1.7-1.2-1.4 0-2.1 1.3-2.1 3s.7 3 2.1 3c.8 0 1.4-.4 1.7-1.2",
    "D": "m0 0v6h1.6c1.6 0 2.4-1.2 2.4-3s-.8-3-2.4-3z",
    "E": "m3.6 0h-3.6v6h3.6m-3.6-3.1h3",
    "F": "m3.6 0h-3.6v6m0-3.1h3",
    "G": "m3.8 1.2c-.3-.8-.9-1.2-1.7-1.2-1.4 0-2.1 1.3-2.1 3s.7 3 2.1 3c1.1 0 1.8-.7 1.8-2.6h-1.6",
    "H": "m0 0v6m4-6v6m-4-3.1h4",
    "I": "m2 0v6",
    "J": "m3 0v4.4c0 1-.6 1.6-1.4 1.6s-1.4-.5-1.5-1.4",
    "K": "m0 0v6m3.8-6l-3.8 3.7m1.4-1.3l2.5 3.6",
    "L": "m0 0v6h3.6",
    "M": "m0 6v-6l2 3.6 2-3.6v6",
    "N": "m0 6v-6l4 6v-6",
    "O": "m2 0c-1.5 0-2 1.5-2 3s.5 3 2 3 2-1.5 2-3-.5-3-2-3z",
    "P": "m0 6v-6h2.2c1.1 0 1.8.7 1.8 1.7s-.7 1.7-1.8 1.7h-2.2",
    "Q": "m2 0c-1.5 0-2 1.5-2 3s.5 3 2 3 2-1.5 2-3-.5-3-2-3zm.6 4.4l1.6 1.8",
    "R": "m0 6v-6h2.2c1.1 0 1.8.7 1.8 1.7s-.7 1.7-1.8 1.7h-2.2m2 0l2 2.6",
    "S": "m3.7 1.1c-.3-.7-.9-1.1-1.7-1.1-1 0-1.8.6-1.8 1.5 0 2 3.8 1 3.8 3 0 .9-.9 1.5-2 1.5-.9 0-1.7-.5-2-1.3",
    "T": "m0 0h4m-2 0v6",
    "U": "m0 0v4c0 1.3.8 2 2 2s2-.7 2-2v-4",
    "V": "m0 0l2 6 2-6",
    "W": "m0 0l1 6 1-4 1 4 1-6",
    "X": "m0 0l4 6m0-6l-4 6",
    "Y": "m0 0l2 3 2-3m-2 3v3",
    "Z": "m0 0h4l-4 6h4",
    "-": "m.7 3h2.6",
    "+": "m.5 3h3m-1.5-1.5v3",
    ".": "m2 5.9h.1",
    ":": "m2 1.8h.1m-.1 4h.1",
    "/": "m.4 6l3.2-6",
}
GLYPH_HEIGHT = 6.0
ADVANCE = 5.6


def advance(character: str) -> float:
    """Width of a character and the space after it, in glyph units."""
    return 4.0 if character in "1I.: " else ADVANCE


def text_width(text: str) -> float:
    """Width of `text` in glyph units (the box is 6 units high)."""
    return sum(map(advance, text)) - (ADVANCE - 4.0) if text else 0.0


def strokes(text: str, x: float, y: float) -> str:
    """Path data for `text` centred on (x, y), in glyph units; a character without a glyph is a space."""
    left, top, parts = x - text_width(text) / 2, y - GLYPH_HEIGHT / 2, []
    for character in text:
        if character in GLYPHS:
            shift = -1.0 if character in "1I.:" else 0.0  # narrow glyphs stand in the middle of the wide box
            parts.append(f"M{left + shift:.4g} {top:.4g}{GLYPHS[character]}")
        left += advance(character)
    return "".join(parts)


def lettering(text: str, x: float, y: float, height: float, colour: str, *, anchor: str = "middle") -> str:
    """A line of text as one SVG path, `height` user units high and vertically centred on y.

    `anchor` is `start`, `middle` or `end`, as in SVG. Lower-case letters are drawn as capitals.
    """
    text, scale = text.upper(), height / GLYPH_HEIGHT
    half = text_width(text) * scale / 2
    centre = x + {"start": half, "middle": 0.0, "end": -half}[anchor]
    return (
        f'<path transform="translate({centre:.5g} {y:.5g}) scale({scale:.4g})" d="{strokes(text, 0, 0)}" fill="none" '
        f'stroke="{colour}" stroke-width=".8" stroke-linecap="round" stroke-linejoin="round"/>'
    )


def to_png(svg: str, width: int = 480) -> bytes:
    """Renders an SVG as a PNG of `width` pixels; the height follows. Fonts of the machine are never read."""
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, width=width, skip_system_fonts=True))


def to_rgb_array(svg: str, width: int = 480) -> "np.ndarray[Any, np.dtype[np.uint8]]":
    """Renders an SVG as pixels, uint8 `[height, width, 3]`, 0 to 255."""
    import io

    from PIL import Image

    with Image.open(io.BytesIO(to_png(svg, width))) as image:
        return np.array(image.convert("RGB"), dtype=np.uint8)
