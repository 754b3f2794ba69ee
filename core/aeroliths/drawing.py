"""Aeroliths: a position as a self-contained SVG, made from plain data alone."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from trilithon.core.aeroliths.lithos import ELEMENTS
from trilithon.core.aeroliths.text import cell_to_text
from trilithon.core.picture import DARK, LIGHT, OKABE_ITO, Theme, lettering, strokes

Litho = Sequence[int]  # top, right, bottom, left, element, and on the board the owner
Names = Mapping[tuple[int, ...], str] | None  # by (top, right, bottom, left, element)

WIDTH = 360.0
MARGIN = 12.0
INNER = WIDTH - 2 * MARGIN
UNIT = 26.0  # a stone's own box; in it the lettering has its natural height, 6

COLOURS = (OKABE_ITO["vermillion"], OKABE_ITO["sky"], OKABE_ITO["green"], OKABE_ITO["blue"], OKABE_ITO["grey"])
# Element signs in a box from -10 to 10 (path, filled or drawn as a line): the shape tells what the colour tells.
SIGNS = (
    ("M0-9C2-5 7-2 7 3 7 7 4 9 0 9S-7 7-7 3C-7 0-5-2-4-5-3-3-2-2-1-1 0-4 0-6 0-9Z", True),
    ("M-8-2H3a3.2 3.2 0 1 0-3.2-3.2M-8 2H5a3.2 3.2 0 1 1-3.2 3.2", False),
    ("M-9 7-3-6 1 2 3.5-2 9 7Z", True),
    ("M0-9C4-3 7 0 7 4A7 5.4 0 0 1-7 4C-7 0-4-3 0-9Z", True),
    ("M0-6 6 0 0 6-6 0Z", False),
)
# The seats differ in lightness and in outline (round against cut corners), so hue is not needed to tell them apart;
# the third is a Litho of the pool, nobody's yet: square.
BODIES = (
    "M7 .6h12a6.4 6.4 0 0 1 6.4 6.4v12a6.4 6.4 0 0 1-6.4 6.4h-12a6.4 6.4 0 0 1-6.4-6.4v-12A6.4 6.4 0 0 1 7 .6Z",
    "M6.8.6h12.4l6.2 6.2v12.4l-6.2 6.2H6.8L.6 19.2V6.8Z",
    "M.6.6h24.8v24.8H.6Z",
)
FILLS = ("#FFFDF6", "#3B4354", "#CBBFA6")
INKS = ("#1B1D22", "#FFFFFF", "#1B1D22")
EDGES = {LIGHT: ("#3A3A38", "#0E1116", "#6B624F"), DARK: ("#FFFFFF", "#B9C2D3", "#CBBFA6")}
NOBODY = 2
TEN = "m-2.7-1.7l1.5-1.3v6m2.6-6c-1.1 0-1.4 1.5-1.4 3s.3 3 1.4 3 1.4-1.5 1.4-3-.3-3-1.4-3z"  # narrow, to fit a side


def sign(element: int, x: float, y: float, scale: float, colour: str) -> str:
    """The sign of an element centred on (x, y); at `scale` 1 it is 20 units wide."""
    path, filled = SIGNS[element]
    paint = f'fill="{colour}"' if filled else f'fill="none" stroke="{colour}" stroke-width="3" stroke-linecap="round"'
    return f'<path transform="translate({x:.5g} {y:.5g}) scale({scale:.4g})" d="{path}" {paint}/>'


def medal(element: int, x: float, y: float, radius: float, edge: str) -> str:
    """A disc in the element's colour with the element's sign on it."""
    ink = "#111418" if element in (1, 4) else "#FFFFFF"
    disc = (
        f'<circle cx="{x:.5g}" cy="{y:.5g}" r="{radius:.4g}" fill="{COLOURS[element]}" stroke="{edge}" '
        f'stroke-width="{radius * 0.13:.3g}"/>'
    )
    return disc + sign(element, x, y, radius * 0.066, ink)


def side_strokes(litho: Litho) -> str:
    """Path data of the four side values in the stone's own box: top, right, bottom, left."""
    places = ((13.0, 5.1), (21.1, 13.0), (13.0, 20.9), (4.9, 13.0))
    values = [int(value) for value in litho[:4]]
    return "".join(f"M{x} {y}{TEN}" if v == 10 else strokes(str(v), x, y) for v, (x, y) in zip(values, places))


def stone(litho: Litho | str, owner: int, x: float, y: float, side: float, theme: Theme, title: str = "") -> str:
    """One stone with its top left corner at (x, y); the word "hidden" instead of a Litho draws its back."""
    hidden = isinstance(litho, str)
    facts = "" if hidden else f' data-values="{" ".join(str(int(v)) for v in litho[:4])}" data-element="{litho[4]}"'
    edge, ink = EDGES[theme][owner], INKS[owner]
    parts = [
        f'<g class="{"back" if hidden else "litho"}" data-owner="{"none" if owner == NOBODY else owner}"{facts} '
        f'transform="translate({x:.5g} {y:.5g}) scale({side / UNIT:.4g})">',
        f"<title>{escape(title)}</title>" if title else "",
        f'<path d="{BODIES[owner]}" fill="{FILLS[owner]}" stroke="{edge}" stroke-width="1"/>',
    ]
    if hidden:
        back = "M13 5l8 8-8 8-8-8ZM13 9.5l3.5 3.5-3.5 3.5-3.5-3.5Z"
        parts.append(f'<path d="{back}" fill="none" stroke="{ink}" stroke-width="1" opacity=".55"/>')
    else:
        parts.append(medal(int(litho[4]), 13, 13, 4, ink))
        parts.append(
            f'<path d="{side_strokes(litho)}" fill="none" stroke="{ink}" stroke-width="1" '  # type: ignore[arg-type]
            'stroke-linecap="round" stroke-linejoin="round"/>'
        )
    return "".join(parts) + "</g>"


def describe(litho: Litho | str, names: Names) -> str:
    """A stone in words, for the tooltip: its name if known, element, and sides clockwise from the top."""
    if isinstance(litho, str):
        return "face down"
    values = tuple(int(value) for value in litho[:5])
    name = (names or {}).get(values)
    top, right, bottom, left, element = values
    return f"{name + ': ' if name else ''}{ELEMENTS[element]}, {top} {right} {bottom} {left}"


def draw_cell(index: int, size: int, element: int | None, x: float, y: float, theme: Theme, empty: bool) -> str:
    """A cell's ground: an elemental cell has the element's frame; an empty one shows its name and that element."""
    side = INNER / size
    gap = side * 0.02
    width = side - 2 * gap
    box = f'x="{x + gap:.5g}" y="{y + gap:.5g}" width="{width:.5g}" height="{width:.5g}" rx="{gap * 3:.3g}"'
    parts = [f'<rect class="cell" data-cell="{index}" {box} fill="{theme.cell}"/>']
    if element is not None:
        colour = COLOURS[element]
        parts.append(f'<g class="elemental" data-cell="{index}" data-element="{element}">')
        parts.append(f"<title>{cell_to_text(index, size)}: {ELEMENTS[element]} cell</title>")
        parts.append(f'<rect {box} fill="{colour}" fill-opacity=".28" stroke="{colour}" stroke-width="{gap * 2:.3g}"/>')
        parts.append((medal(element, x + side / 2, y + side / 2, side * 0.2, theme.ink) if empty else "") + "</g>")
    if empty:
        parts.append(
            lettering(cell_to_text(index, size), x + side * 0.09, y + side * 0.09 + 4.5, 9, theme.quiet, anchor="start")
        )
    return "".join(parts)


def draw_board(
    position: Mapping[str, Any],
    size: int,
    cells: Sequence[int | None],
    top: float,
    last_cell: int | None,
    theme: Theme,
    names: Names,
) -> list[str]:
    """The board with its stones; its top edge is at `top`, it is INNER wide and high."""
    side = INNER / size
    parts = [
        f'<rect x="{MARGIN - 4:g}" y="{top - 4:.5g}" width="{INNER + 8:g}" height="{INNER + 8:g}" rx="8" '
        f'fill="{theme.board}" stroke="{theme.line}"/>'
    ]
    for index, litho in enumerate(position["board"]):
        x, y = MARGIN + index % size * side, top + index // size * side
        element = cells[index]
        parts.append(draw_cell(index, size, element, x, y, theme, litho is None))
        if litho is not None:
            gap = side * 0.055
            where = f"{cell_to_text(index, size)}, player {int(litho[5])}: {describe(litho, names)}"
            if element is not None:
                where += f", on a {ELEMENTS[element]} cell ({'+1' if litho[4] == element else '-1'})"
            parts.append(stone(litho, int(litho[5]), x + gap, y + gap, side - 2 * gap, theme, where))
            if element is not None:  # the corner that both outlines leave free
                parts.append(medal(element, x + side * 0.1, y + side * 0.1, side * 0.09, theme.ink))
        if index == last_cell:
            parts.append(
                f'<rect class="last" data-cell="{index}" x="{x + 1.5:.5g}" y="{y + 1.5:.5g}" width="{side - 3:.5g}" '
                f'height="{side - 3:.5g}" rx="6" fill="none" stroke="{theme.accent}" stroke-width="3.5"/>'
            )
    return parts


def draw_row(
    lithos: Sequence[Any],
    owner: int,
    top: float,
    columns: int,
    pitch: float,
    theme: Theme,
    marked: int | None,
    names: Names,
    kind: str,
) -> list[str]:
    """Numbered places of a hand or of the pool, `columns` a line, each `pitch` wide and 12 higher (for the number)."""
    parts, width = [], min(columns, len(lithos)) * pitch
    left = (WIDTH - width) / 2
    for index, litho in enumerate(lithos):
        x, y = left + index % columns * pitch + 2, top + index // columns * (pitch + 12)
        side, number = pitch - 4, theme.accent if index == marked else theme.quiet
        if litho is None:
            parts.append(
                f'<rect class="gone" x="{x + 2:.5g}" y="{y + 2:.5g}" width="{side - 4:.5g}" height="{side - 4:.5g}" '
                f'rx="5" fill="none" stroke="{theme.line}" stroke-dasharray="3 3"/>'
            )
        else:
            parts.append(stone(litho, owner, x, y, side, theme, f"{kind} {index}: {describe(litho, names)}"))
        if index == marked:
            parts.append(
                f'<rect class="picked" data-slot="{index}" x="{x - 1:.5g}" y="{y - 1:.5g}" width="{side + 2:.5g}" '
                f'height="{pitch + 10:.5g}" rx="5" fill="none" stroke="{theme.accent}" stroke-width="3"/>'
            )
        parts.append(lettering(str(index), x + side / 2, y + side + 6, 8, number))
    return parts


def layout(count: int) -> tuple[int, float, float]:
    """Columns, pitch and height of a block of `count` places."""
    columns = count if count <= 8 else -(-count // -(-count // 8))
    pitch = min(62.0, INNER / max(columns, 1))
    return columns, pitch, -(-count // max(columns, 1)) * (pitch + 12)


def draw_hand(
    player: int,
    position: Mapping[str, Any],
    top: float,
    theme: Theme,
    known: Sequence[Sequence[bool]] | None,
    picked: int | None,
    names: Names,
) -> tuple[list[str], float]:
    """A player's line (seat, whether to move, Lithos owned on the board) and hand; returns also the height used."""
    hand, moves = list(position["hands"][player]), position["player"] == player
    if known is not None:
        hand = [litho if litho is None or known[player][slot] else "hidden" for slot, litho in enumerate(hand)]
    owned = sum(litho is not None and litho[5] == player for litho in position["board"])
    columns, pitch, height = layout(len(hand))
    badge = stone("hidden", player, MARGIN + 12, top, 14, theme).replace('class="back"', 'class="seat"')
    parts = [
        badge,
        lettering(f"player {player}{' to move' if moves else ''}", MARGIN + 32, top + 7, 9, theme.ink, anchor="start"),
        lettering(f"owns {owned}", WIDTH - MARGIN, top + 7, 9, theme.ink, anchor="end"),
        *draw_row(hand, player, top + 19, columns, pitch, theme, picked if moves else None, names, "slot"),
    ]
    if moves:
        parts.append(f'<path class="turn" d="M{MARGIN:g} {top + 2:.5g}l8 5-8 5Z" fill="{theme.accent}"/>')
    return parts, height + 22


def headline(position: Mapping[str, Any], picked: int | None) -> str:
    """What happens next, in a few words."""
    player = position["player"]
    if player is None:
        return "game ended"
    if player < 0:
        return "chance to move"
    return f"player {player} to move" + (f", slot {picked} only" if picked is not None else "")


def draw(
    position: Mapping[str, Any],
    *,
    size: int,
    cells: Sequence[int | None],
    light: bool = True,
    observer: int | None = None,
    known: Sequence[Sequence[bool]] | None = None,
    picked: int | None = None,
    last_cell: int | None = None,
    pool: Sequence[Litho | None] | None = None,
    names: Names = None,
) -> str:
    """Draws a position as a self-contained SVG, 360 units wide, in which all lettering is paths.

    `position` is a record's state object: `player` (-1 chance, None ended), `board` (per cell None or top, right,
    bottom, left, element, owner), `hands` (per player and slot None, a Litho or the word "hidden": face down) and
    `round`. `cells` holds the element of each elemental cell, None elsewhere. `observer` is the seat at the bottom
    (None: player 0). `known[player][slot]` False turns that Litho's face down; None shows what `position` holds: what
    a seat may see is the caller's to say. `picked` is the slot that Chaos picked for the player to move, `last_cell`
    the cell to frame, `pool` the draft's Lithos (None: taken), `names` what Lithos are called in tooltips, by
    (top, right, bottom, left, element).
    """
    theme = LIGHT if light else DARK
    near = observer if observer is not None else 0
    parts = [
        lettering(f"round {position['round']}", MARGIN, 16, 9, theme.quiet, anchor="start"),
        lettering(headline(position, picked).replace(",", ":"), WIDTH - MARGIN, 16, 9, theme.quiet, anchor="end"),
    ]
    y = 32.0
    for place in ("far", "board", "near"):
        if place == "board":
            parts += draw_board(position, size, cells, y + 6, last_cell, theme, names)
            y += INNER + 20
        else:
            player = near if place == "near" else 1 - near
            hand, height = draw_hand(player, position, y, theme, known, picked, names)
            parts += hand
            y += height
    if pool is not None:
        columns, pitch, height = layout(len(pool))
        parts.append(lettering("pool", MARGIN, y + 10, 9, theme.ink, anchor="start"))
        parts += draw_row(pool, NOBODY, y + 22, columns, pitch, theme, None, names, "pool")
        y += height + 24
    height = y + 4
    title = f"Aeroliths {size}x{size}, round {position['round']}: {headline(position, picked)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:.5g}" width="{WIDTH:g}" '
        f'height="{height:.5g}" role="img" style="max-width:100%"><title>{escape(title)}</title>'
        f'<rect width="{WIDTH:g}" height="{height:.5g}" rx="10" fill="{theme.page}"/>' + "".join(parts) + "</svg>"
    )
