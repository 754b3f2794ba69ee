"""Makes the pictures of README and site: `python docs/make_pictures.py`; the same files every time."""

from pathlib import Path

from trilithon.core import load_game
from trilithon.core.aeroliths.drawing import draw
from trilithon.core.files import write_whole

SPEC = "aeroliths(size=4,same=true,plus=true,combo=true,open_hands=true,source=catalogue,elemental_cells=5)"
SEED = 2
PLACEMENTS = 9


def lead(position: dict, player: int) -> int:
    """How many more Lithos the player owns on the board than the opponent."""
    owners = [litho[5] for litho in position["board"] if litho]
    return 2 * owners.count(player) - len(owners)


def main() -> None:
    """Play a few placements, each the first that captures most, and draw the position."""
    state = load_game(SPEC).new_initial_state(seed=SEED)
    cell = None
    for _ in range(PLACEMENTS):
        player = state.current_player()
        action = max(state.legal_actions(), key=lambda a: lead(state.child(a).to_dict(), player))
        state.apply_action(action)
        cell = action % 16
    setup = state.setup()
    svg = draw(state.to_dict(), size=4, cells=setup["cells"], last_cell=cell)
    print(write_whole(Path(__file__).parent / "images" / "aeroliths.svg", svg))


if __name__ == "__main__":
    main()
