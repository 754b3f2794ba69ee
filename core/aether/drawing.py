"""Aether: a position as a self-contained SVG, made from plain data alone."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from trilithon.core.aether.boards import DARK as DARK_GREY
from trilithon.core.aether.boards import LIGHT as LIGHT_GREY
from trilithon.core.aether.boards import Board
from trilithon.core.aether.facts import holders, tiles_unseen
from trilithon.core.aether.text import ELEMENTS, LETTERS
from trilithon.core.picture import DARK, GLYPH_HEIGHT, LIGHT, OKABE_ITO, Theme, lettering, text_width

WIDTH = 360.0
MARGIN = 12.0
INNER = WIDTH - 2 * MARGIN
ROW = 32.0  # height of a player's line
WIDEST = 68.0  # of a hex: small boards do not fill the width

# The letter tells what the colour tells. Water, fire, earth, air as in Aeroliths; ink that stands out on each.
COLOURS = (OKABE_ITO["blue"], OKABE_ITO["vermillion"], OKABE_ITO["green"], OKABE_ITO["sky"])
INKS = ("#FFFFFF", "#FFFFFF", "#FFFFFF", "#111418")
# The seats differ in shape (in a box from -12 to 12) and in lightness, so hue is not needed to tell them apart.
BODIES = (
    "M0-11A11 11 0 0 1 0 11 11 11 0 0 1 0-11Z",
    "M-9.5-9.5h19v19h-19Z",
    "M0-13L13 0 0 13-13 0Z",
    "M-10-10H10V2L0 13-10 2Z",
)
FILLS = ("#FFFDF6", "#3B4354", "#F0E442", "#CC79A7")
BODY_INKS = ("#1B1D22", "#FFFFFF", "#1B1D22", "#1B1D22")
EDGES = ("#1B1D22", "#FFFFFF", "#1B1D22", "#1B1D22")  # stand out on every tile and page
AETHER = {LIGHT: "#DCD3EA", DARK: "#43365C"}  # ground of an aether tile: nobody's colour, unlike any slot
CORNERS = ((0.0, -1.0), (0.866, -0.5), (0.866, 0.5), (0.0, 1.0), (-0.866, 0.5), (-0.866, -0.5))
SHADES = {LIGHT_GREY: 0.3, DARK_GREY: 0.8}  # of the lines' colour over an empty slot


def hexagon(x: float, y: float, radius: float) -> str:
    """Path data of a hex, a corner on top, centred on (x, y)."""
    u, v = radius * CORNERS[1][0], radius / 2
    return f"M{x:.5g} {y - radius:.5g}l{u:.4g} {v:.4g}v{radius:.4g}l{-u:.4g} {v:.4g}l{-u:.4g} {-v:.4g}v{-radius:.4g}Z"


def fitted(text: str, x: float, y: float, height: float, width: float, colour: str, anchor: str = "middle") -> str:
    """Lettering as high as `height`, or less where `width` allows no more."""
    height = min(height, width * GLYPH_HEIGHT / max(text_width(text), 1.0))
    return lettering(text, x, y, height, colour, anchor=anchor)


def tile(element: int, x: float, y: float, radius: float, lifted: bool = False) -> str:
    """An element tile; its letter is in the middle, or above it (`lifted`), to leave room for an elemental."""
    letter_at, height = (y - radius * 0.6, radius * 0.42) if lifted else (y, radius * 0.85)
    return f'<path d="{hexagon(x, y, radius)}" fill="{COLOURS[element]}" stroke="#1B1D22" stroke-width=".6"/>' + (
        lettering(LETTERS[element], x, letter_at, height, INKS[element])
    )


def face_down(x: float, y: float, radius: float, theme: Theme) -> str:
    """The back of a tile."""
    return (
        f'<path d="{hexagon(x, y, radius)}" fill="{theme.line}" stroke="{theme.ink}" stroke-width=".8"/>'
        f'<path d="{hexagon(x, y, radius * 0.5)}" fill="none" stroke="{theme.ink}" stroke-width=".8" opacity=".6"/>'
    )


def body(side: int, x: float, y: float, width: float, text: str = "") -> str:
    """A player's or team's piece with a number on it."""
    shape = (
        f'<path transform="translate({x:.5g} {y:.5g}) scale({width / 24:.4g})" d="{BODIES[side]}" fill="{FILLS[side]}" '
        f'stroke="{EDGES[side]}" stroke-width="1.6" stroke-linejoin="round"/>'
    )
    return shape + (fitted(text, x, y, width * 0.52, width * 0.62, BODY_INKS[side]) if text else "")


# ------------------------------------------------------------------------------------------------------------- board


class Frame:
    """Where the hexes of a board lie: `radius` of a hex, `height` of all, and the middle of each."""

    def __init__(self, board: Board, top: float) -> None:
        places = [*board.places, *(tile[1:] for tile in board.aether), *board.pits]
        rows, columns = [row for row, _ in places], [column for _, column in places]
        self._half = min(INNER / (max(columns) - min(columns) + 2), WIDEST / 2)
        self.radius = self._half / CORNERS[1][0]
        self.height = 1.5 * self.radius * (max(rows) - min(rows)) + 2 * self.radius
        self._left = WIDTH / 2 - self._half * (max(columns) + min(columns)) / 2
        self._top = top + self.radius * (1 - 1.5 * min(rows))

    def centre(self, row: int, column: int) -> tuple[float, float]:
        """The middle of the hex at a place."""
        return self._left + column * self._half, self._top + row * 1.5 * self.radius


def draw_slot(board: Board, slot: int, x: float, y: float, radius: float, theme: Theme, empty: bool) -> str:
    """A slot's ground, shaded where it is grey; an empty one has its number."""
    kind = board.slots[slot]
    ground = f'<path d="{hexagon(x, y, radius)}" fill="{theme.cell}" stroke="{theme.line}"/>'
    if kind in SHADES:
        ground += f'<path d="{hexagon(x, y, radius)}" fill="{theme.line}" opacity="{SHADES[kind]}"/>'
    number = lettering(str(slot), x, y, radius * 0.38, theme.ink if kind == DARK_GREY else theme.quiet) if empty else ""
    return f'<g class="slot" data-slot="{slot}" data-kind="{kind}">{ground}{number}</g>'


def draw_tile(slot: int, element: int, owner: int | None, power: int | None, x: float, y: float, radius: float) -> str:
    """A tile on the board and the elemental on it, with its power."""
    where = f"slot {slot}: {ELEMENTS[element]}"
    piece = ""
    if owner is not None:
        where += f", an elemental of player {owner} with power {power}"
        piece = (
            f'<g class="elemental" data-slot="{slot}" data-owner="{owner}" data-power="{power}">'
            f"{body(owner, x, y + radius * 0.22, radius * 1.06, str(power))}</g>"
        )
    return (
        f'<g class="tile" data-slot="{slot}" data-element="{element}"><title>{where}</title>'
        f"{tile(element, x, y, radius * 0.9, owner is not None)}{piece}</g>"
    )


def draw_aether(
    number: int, value: int, row: Sequence[int | None], what: str, x: float, y: float, radius: float, theme: Theme
) -> str:
    """An aether tile: its value, the powers of each side around it, and an edge in the colours of who takes it."""
    taking = holders(row)
    sides = [side for side, power in enumerate(row) if power is not None]
    said = ", ".join(f"{what} {side} {row[side]}" for side in sides) or "nobody beside it"
    parts = [
        f'<g class="aether" data-tile="{number}" data-value="{value}" data-holders="{" ".join(map(str, taking))}">',
        f"<title>aether tile of {value} points: {said}</title>",
        f'<path d="{hexagon(x, y, radius * 0.97)}" fill="{AETHER[theme]}" stroke="{theme.line}"/>',
    ]
    corners = [(x + u * radius * 0.86, y + v * radius * 0.86) for u, v in CORNERS]
    for colours, width in ((EDGES, 0.24), (FILLS, 0.15)):
        for edge in range(6 if taking else 0):
            (u, v), (u2, v2) = corners[edge], corners[(edge + 1) % 6]
            colour = colours[taking[edge % len(taking)]]
            parts.append(
                f'<path d="M{u:.5g} {v:.5g}L{u2:.5g} {v2:.5g}" stroke="{colour}" stroke-width="{radius * width:.3g}" '
                f'stroke-linecap="round"/>'
            )
    parts.append(lettering(str(value), x, y - (radius * 0.28 if sides else 0), radius * 0.5, theme.ink))
    width = radius * (0.62, 0.62, 0.46, 0.36)[max(len(sides), 1) - 1]
    for index, side in enumerate(sides):
        at = x + (index - (len(sides) - 1) / 2) * width * 1.04
        parts.append(body(side, at, y + radius * 0.34, width, str(row[side])))
    return "".join(parts) + "</g>"


def draw_board(
    position: Mapping[str, Any],
    board: Board,
    frame: Frame,
    powers: Sequence[int | None],
    sums: Sequence[Sequence[int | None]],
    what: str,
    latest: int | None,
    theme: Theme,
) -> list[str]:
    """Slots, tiles and elementals, aether tiles, pits, and a frame about the latest tile."""
    parts, radius = [], frame.radius
    for slot, place in enumerate(board.places):
        x, y = frame.centre(*place)
        element = position["tiles"][slot]
        parts.append(draw_slot(board, slot, x, y, radius * 0.97, theme, element is None))
        if element is not None:
            parts.append(draw_tile(slot, element, position["elementals"][slot], powers[slot], x, y, radius))
    for number, (value, row, column) in enumerate(board.aether):
        parts.append(draw_aether(number, value, sums[number], what, *frame.centre(row, column), radius, theme))
    for place in board.pits:
        x, y = frame.centre(*place)
        parts.append(
            f'<g class="pit"><title>a pit for sacrificed elementals</title><path d="{hexagon(x, y, radius * 0.97)}" '
            f'fill="{theme.board}" stroke="{theme.line}"/><circle cx="{x:.5g}" cy="{y:.5g}" r="{radius * 0.6:.4g}" '
            f'fill="#111418"/></g>'
        )
    if latest is not None:
        x, y = frame.centre(*board.places[latest])
        parts.append(
            f'<path class="last" data-slot="{latest}" d="{hexagon(x, y, radius * 0.94)}" fill="none" '
            f'stroke="{theme.accent}" stroke-width="{max(radius * 0.1, 2):.3g}"/>'
        )
    return parts


# ----------------------------------------------------------------------------------------------------------- players


def draw_hand(
    player: int, tiles: Sequence[int], old: Sequence[int], shown: bool, middle: float, theme: Theme
) -> list[str]:
    """A hand and, during a swap, the old one beside it, smaller; face down unless `shown`."""
    parts, x = [], MARGIN + 106
    pitch = min(22.0, 108.0 / max(len(tiles) + 0.75 * len(old) + 0.4, 1))
    for name, some, size in (("hand", tiles, pitch), ("aside", old, pitch * 0.75)):
        x += 0 if name == "hand" else pitch * 0.4
        for element in some:
            facts = f'data-owner="{player}"' + (f' data-element="{element}"' if shown else "")
            piece = tile(element, x + size / 2, middle, size * 0.54) if shown else ""
            piece = piece or face_down(x + size / 2, middle, size * 0.54, theme)
            title = f"player {player}, {name}: {ELEMENTS[element] if shown else 'face down'}"
            parts.append(f'<g class="{name if shown else "back"}" {facts}><title>{title}</title>{piece}</g>')
            x += size
    return parts


def draw_player(
    player: int,
    position: Mapping[str, Any],
    score: int,
    old: Sequence[int],
    to_act: bool,
    shown: bool,
    teams: bool,
    top: float,
    theme: Theme,
) -> list[str]:
    """A player's line: piece, seat, whether to act, hand, elementals out of play, points if scored now."""
    middle = top + ROW / 2
    name = middle - 5 if teams else middle
    right = WIDTH - MARGIN
    unused, sacrificed = position["unused"][player], position["sacrificed"][player]
    parts = [
        f'<g class="seat" data-owner="{player}">{body(player, MARGIN + 20, middle, 18)}</g>',
        lettering(f"player {player}", MARGIN + 34, name, 8.5, theme.ink, anchor="start"),
        lettering(f"team {player % 2}", MARGIN + 34, middle + 7, 7, theme.quiet, anchor="start") if teams else "",
        *draw_hand(player, position["hands"][player], old, shown, middle, theme),
        f'<g class="elementals" data-owner="{player}" data-unused="{unused}" data-sacrificed="{sacrificed}">',
        lettering(f"unused {unused}", right - 44, middle - 6, 6.5, theme.ink, anchor="end"),
        lettering(f"sacrificed {sacrificed}", right - 44, middle + 6, 6.5, theme.quiet, anchor="end"),
        f'</g><g class="score" data-owner="{player}" data-points="{score}">',
        lettering("score", right, middle - 8, 6, theme.quiet, anchor="end"),
        lettering(str(score), right, middle + 4, 12, theme.ink, anchor="end") + "</g>",
    ]
    if to_act:
        parts.append(f'<path class="turn" d="M{MARGIN - 4:g} {middle - 5:.5g}l8 5-8 5Z" fill="{theme.accent}"/>')
    return parts


def draw_bag(size: int, counts: Sequence[int], seen: bool, middle: float, theme: Theme) -> list[str]:
    """The bag's size and its tiles by element; for one who does not see all hands, those and the bag's together."""
    parts = [lettering(f"bag {size}", MARGIN, middle, 8.5, theme.ink, anchor="start")]
    label = "" if seen else "with other hands"
    parts.append(lettering(label, MARGIN + 58, middle, 6.5, theme.quiet, anchor="start"))
    for element, count in enumerate(counts):
        x = MARGIN + 176 + 44 * element
        parts.append(
            f'<g class="{"bag" if seen else "unseen"}" data-element="{element}" data-count="{count}">'
            + tile(element, x, middle, 10)
            + lettering(str(count), x + 13, middle, 8.5, theme.ink, anchor="start")
            + "</g>"
        )
    return parts


def draw(
    position: Mapping[str, Any],
    *,
    board: Board,
    powers: Sequence[int | None],
    sums: Sequence[Sequence[int | None]],
    scores: Sequence[int],
    headline: str,
    turn: int | None = None,
    aside: Sequence[int] = (),
    teams: bool = False,
    observer: int | None = None,
    light: bool = True,
    latest: int | None = None,
) -> str:
    """Draws a position as a self-contained SVG, 360 units wide, in which all lettering is paths.

    `position` is a record's state object. `powers` holds, per slot, the power of the elemental there (None: none
    there); `sums`, per aether tile and side (a player, or in teams the team), the powers around it added up (None: no
    elemental there); `scores` each player's points if scored now; `headline` says what happens next. `turn` is who has
    to act or to draw, `aside` that player's old hand during a swap. `observer` is the seat at the bottom, and the
    other hands are face down; None shows all, player 0 at the bottom. `latest` is the slot to frame.
    """
    theme = LIGHT if light else DARK
    near, players = observer if observer is not None else 0, len(position["hands"])
    empty = position["tiles"].count(None)
    parts = [
        lettering(f"{empty} empty", MARGIN, 16, 8.5, theme.quiet, anchor="start"),
        fitted(headline.replace(",", ""), WIDTH - MARGIN, 16, 8.5, INNER - 76, theme.quiet, "end"),
    ]
    y = 26.0
    for player in [(near + step) % players for step in range(1, players + 1)]:
        if player == near:
            frame = Frame(board, y + 4)
            parts += draw_board(position, board, frame, powers, sums, "team" if teams else "player", latest, theme)
            y += frame.height + 8
        old, shown = aside if player == turn else (), observer is None or observer == player
        parts += draw_player(player, position, scores[player], old, player == turn, shown, teams, y, theme)
        y += ROW
    counts = position["bag"]
    if observer is not None:
        counts = tiles_unseen(position, observer, list(aside), turn)
    parts += draw_bag(sum(position["bag"]), counts, observer is None, y + 12, theme)
    height = y + 30
    title = f"Aether on {board.name}: {headline}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:.5g}" width="{WIDTH:g}" '
        f'height="{height:.5g}" role="img" style="max-width:100%"><title>{escape(title)}</title>'
        f'<rect width="{WIDTH:g}" height="{height:.5g}" rx="10" fill="{theme.page}"/>' + "".join(parts) + "</svg>"
    )
