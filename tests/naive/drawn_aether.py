"""Small drawn positions of Aether, as a config and a setup that any implementation of the game takes."""

from __future__ import annotations

from typing import Any

from naive.aether_scoring import WATER, parse_board

HEADER = "% name: test\n% tiles_per_element: 7\n% elementals: 3 3 3\n% hand_tiles: 2\n"

# Slots 0 and 1 above, 2 left, 3 right, 4 and 5 below.
FLOWER = HEADER + "  .   .\n.   9   .\n  .   .\n"

# Slots 0 1 2, 3 4 5 6, 7 8 (aether) 9 10, 11 12 13 14, 15 16 17; 4, 5, 8, 9, 12, 13 lie around the aether tile.
RINGS = HEADER + "    .   .   .\n  .   .   .   .\n.   .   10  .   .\n  .   .   .   .\n    .   .   .\n"


def drawn(
    board: str,
    tiles: dict[int, int],
    owners: dict[int, int] | None = None,
    players: int = 2,
    hands: list[list[int]] | None = None,
    config: dict[str, Any] | None = None,
    **position: Any,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A config and a setup with elements and owners of elementals by slot; the other elementals are unused."""
    owners = owners or {}
    slots = range(len(parse_board(board).slots))
    placed = list(owners.values())
    unused = [3 - placed.count(player) for player in range(players)]
    setup = {
        "first_player": 0,
        "tiles": [tiles.get(slot) for slot in slots],
        "hands": hands or [[WATER, WATER]] * players,
        "position": {"elementals": [owners.get(slot) for slot in slots], "unused": unused, **position},
    }
    return {"board": board, "players": players, **(config or {})}, setup
