"""The Selenolyth: a position as a self-contained SVG, made from plain data alone."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from trilithon.core.picture import DARK, LIGHT, Theme, lettering
from trilithon.core.selenolyth.kernels import UNKNOWN, VIEW
from trilithon.core.selenolyth.text import NAMES, Stone, cell_to_text

WIDTH = 360.0
MARGIN = 26.0  # of the board: room for the coordinates
INNER = WIDTH - 2 * MARGIN
SIDE = INNER / 6

# Outlines and signs in a box from -12 to 12. The kind is a shape (round with eight rays, square with a diagonal cross,
# diamond with an upright one: what the stone looks at), the owner a lightness; hue is not needed for either.
BODIES = ("M0-10A10 10 0 0 1 0 10 10 10 0 0 1 0-10Z", "M-8.5-8.5h17v17h-17Z", "M0-11.5L11.5 0 0 11.5-11.5 0Z")
SIGNS = (
    "M0-6.5V-2.5M0 6.5V2.5M-6.5 0H-2.5M6.5 0H2.5M-4.6-4.6L-1.8-1.8M4.6 4.6L1.8 1.8M4.6-4.6L1.8-1.8M-4.6 4.6L-1.8 1.8",
    "M-5-5L5 5M5-5L-5 5",
    "M0-6.5V6.5M-6.5 0H6.5",
)
FILLS = ("#3B4354", "#FFFDF6")  # South's stones are dark, North's light
INKS = ("#FFFFFF", "#1B1D22")
EDGES = {LIGHT: ("#0E1116", "#3A3A38"), DARK: ("#B9C2D3", "#FFFFFF")}
SEATS = ("South", "North")


def stone(kind: int, owner: int, x: float, y: float, width: float, theme: Theme, title: str = "") -> str:
    """One stone centred on (x, y); of an `UNKNOWN` one only the place is shown."""
    place = f'transform="translate({x:.5g} {y:.5g}) scale({width / 24:.4g})"'
    label = f"<title>{escape(title)}</title>" if title else ""
    if kind == UNKNOWN:
        circle = f'<circle r="9" fill="{theme.line}" stroke="{theme.ink}" stroke-dasharray="3 2"/>'
        return f'<g class="stone" data-kind="unknown" data-owner="none" {place}>{label}{circle}</g>'
    return (
        f'<g class="stone" data-kind="{kind}" data-owner="{owner}" {place}>{label}'
        f'<path d="{BODIES[kind]}" fill="{FILLS[owner]}" stroke="{EDGES[theme][owner]}" stroke-width="1.2" '
        f'stroke-linejoin="round"/><path d="{SIGNS[kind]}" fill="none" stroke="{INKS[owner]}" stroke-width="1.8" '
        f'stroke-linecap="round"/></g>'
    )


def centre(cell: int, near: int, top: float) -> tuple[float, float]:
    """The middle of an absolute cell on a board whose upper edge is at `top`, player `near` at the bottom."""
    own = int(VIEW[near, cell])
    return MARGIN + (own % 6 + 0.5) * SIDE, top + (5 - own // 6 + 0.5) * SIDE


def draw_rays(at: int, pulls: Sequence[tuple[int, int]], near: int, top: float, theme: Theme) -> list[str]:
    """The lines along which the latest Selenolyth pulled: from where each stone lay; a dot where it lay further off."""
    x, y = centre(at, near, top)
    parts = []
    for start, end in pulls:
        u, v = centre(start, near, top)
        parts.append(
            f'<path class="ray" data-from="{start}" data-to="{end}" d="M{x:.5g} {y:.5g}L{u:.5g} {v:.5g}" '
            f'stroke="{theme.accent}" stroke-width="3" stroke-linecap="round" opacity=".6"/>'
        )
        if start != end:
            parts.append(f'<circle cx="{u:.5g}" cy="{v:.5g}" r="5" fill="{theme.accent}" opacity=".6"/>')
    return parts


def draw_board(
    occupied: Sequence[int],
    board: Sequence[Stone | None],
    near: int,
    top: float,
    latest: int | None,
    pulls: Sequence[tuple[int, int]],
    theme: Theme,
) -> list[str]:
    """Cells, coordinates of the player at the bottom, rays, stones, and a frame about the latest stone."""
    parts = [
        f'<rect x="{MARGIN - 4:g}" y="{top - 4:.5g}" width="{INNER + 8:g}" height="{INNER + 8:g}" rx="8" '
        f'fill="{theme.board}" stroke="{theme.line}"/>'
    ]
    for cell in range(36):
        x, y = centre(cell, near, top)
        width = SIDE - 3
        parts.append(
            f'<rect class="cell" data-cell="{cell}" x="{x - width / 2:.5g}" y="{y - width / 2:.5g}" '
            f'width="{width:.5g}" height="{width:.5g}" rx="4" fill="{theme.cell}"/>'
        )
    for n in range(6):
        middle = MARGIN + (n + 0.5) * SIDE
        parts.append(lettering("abcdef"[n], middle, top + INNER + 13, 9, theme.quiet))
        parts.append(lettering(str(n + 1), MARGIN - 14, top + INNER - (n + 0.5) * SIDE, 9, theme.quiet))
    if latest is not None:
        parts += draw_rays(latest, pulls, near, top, theme)
    for cell, held in enumerate(board):
        if held is not None and occupied[cell]:
            x, y = centre(cell, near, top)
            name = "stone" if held[0] == UNKNOWN else f"{NAMES[held[0]]} of player {held[1]}"
            where = cell_to_text(int(VIEW[near, cell]))
            parts.append(stone(held[0], held[1], x, y, SIDE * 0.84, theme, f"{where}: {name}"))
    if latest is not None:
        x, y = centre(latest, near, top)
        parts.append(
            f'<rect class="last" data-cell="{latest}" x="{x - SIDE / 2 + 1.5:.5g}" y="{y - SIDE / 2 + 1.5:.5g}" '
            f'width="{SIDE - 3:.5g}" height="{SIDE - 3:.5g}" rx="5" fill="none" stroke="{theme.accent}" '
            f'stroke-width="2.5"/>'
        )
    return parts


def draw_player(player: int, position: Mapping[str, Any], turn: int | None, top: float, theme: Theme) -> list[str]:
    """A player's line: seat, whether to move, the reserve by kind of stone, Luminance."""
    middle = top + 11
    parts = [lettering(f"{SEATS[player]}", MARGIN, middle, 9, theme.ink, anchor="start")]
    if turn == player:
        parts.append(f'<path class="turn" d="M{MARGIN - 14:g} {middle - 5:.5g}l8 5-8 5Z" fill="{theme.accent}"/>')
    for kind, count in enumerate(position["reserve"][player]):
        x = MARGIN + 64 + 46 * kind
        title = f"player {player} has {count} of {NAMES[kind]} in reserve"
        parts.append(
            f'<g class="reserve" data-owner="{player}" data-kind="{kind}" data-count="{count}">'
            + stone(kind, player, x, middle, 20, theme, title).replace('class="stone"', 'class="sample"')
            + lettering(str(count), x + 15, middle, 9, theme.ink, anchor="start")
            + "</g>"
        )
    points = position["luminance"][player]
    parts.append(lettering(f"luminance {points}", WIDTH - MARGIN, middle, 9, theme.ink, anchor="end"))
    return parts


def draw(
    position: Mapping[str, Any],
    *,
    board: Sequence[Stone | None],
    turns: tuple[int, int],
    headline: str,
    observer: int | None = None,
    light: bool = True,
    latest: int | None = None,
    pulls: Sequence[tuple[int, int]] = (),
    rays: bool = True,
    turn: int | None = None,
) -> str:
    """Draws a position as a self-contained SVG, 360 units wide, in which all lettering is paths.

    `position` is a record's state object. `board` holds, per absolute cell, kind and owner of the stone or None;
    `turns` are the turns completed and the most there can be; `headline` says what happens next. `observer` is the
    seat at the bottom, whose coordinates are shown (None: South). `latest` is the cell of the stone that came last;
    `pulls` where it pulled stones ``(from, to)``, drawn unless `rays` is False; `turn` whose turn it is.
    """
    theme = LIGHT if light else DARK
    near = observer if observer is not None else 0
    parts = [
        lettering(f"turn {turns[0]}/{turns[1]}", MARGIN, 16, 9, theme.quiet, anchor="start"),
        lettering(headline.replace("@", " "), WIDTH - MARGIN, 16, 9, theme.quiet, anchor="end"),
        *draw_player(1 - near, position, turn, 30, theme),
        *draw_board(position["occupied"], board, near, 64, latest, pulls if rays else (), theme),
        *draw_player(near, position, turn, 64 + INNER + 24, theme),
    ]
    height = 64 + INNER + 56
    title = f"The Selenolyth, turn {turns[0]}: {headline}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:.5g}" width="{WIDTH:g}" '
        f'height="{height:.5g}" role="img" style="max-width:100%"><title>{escape(title)}</title>'
        f'<rect width="{WIDTH:g}" height="{height:.5g}" rx="10" fill="{theme.page}"/>' + "".join(parts) + "</svg>"
    )
