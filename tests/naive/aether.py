"""A slow, plain-Python twin of Aether, written from the rules' text and not from the kernels.

Tiles and elementals are lists by slot, hands are sorted lists of elements, the bag a list of counts; one small method
stands for one sentence of the rules. Boards, powers and the proof of `early_scoring=proved`: `aether_scoring.py`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from naive.aether_scoring import ELEMENTS, Rest, board_text, may_change, parse_board, side_of, takers

CHANCE = -1
TERMINAL = -4

DEFAULTS = {
    "board": "standard",
    "players": 2,
    "teams": False,
    "early_scoring": "off",
    "reward": "win",
    "leftover_points": 3,
}


class NaiveAether:
    """One game of Aether in progress, with the spelling of the real states.

    `config` holds options by their names (one left out has its default; `variant` only says what a new setup fills),
    `setup` is where the game starts: `first_player`, `tiles`, `hands`, and perhaps `position` for a start in the
    middle, at the beginning of a turn.
    """

    def __init__(self, config: dict[str, Any], setup: dict[str, Any]) -> None:
        self.options = {**DEFAULTS, **config}
        self.num_players: int = self.options["players"]
        self.board = parse_board(board_text(self.options["board"]))
        self.num_slots = len(self.board.slots)
        self.swap, self.propose, self.agree, self.decline = range(8 * self.num_slots, 8 * self.num_slots + 4)
        if self.num_slots + self.num_players * self.board.hand_tiles - 1 > 4 * self.board.tiles_per_element:
            raise ValueError("the board's tiles cannot last")
        position = setup.get("position", {})
        num_elementals = self.board.elementals[self.num_players - 2]
        self.tiles: list[int | None] = list(setup["tiles"])
        self.hands: list[list[int]] = [sorted(hand) for hand in setup["hands"]]
        self.elementals: list[int | None] = list(position.get("elementals", [None] * self.num_slots))
        self.unused: list[int] = list(position.get("unused", [num_elementals] * self.num_players))
        self.sacrificed: list[int] = list(position.get("sacrificed", [0] * self.num_players))
        self.bag: list[int] = list(position.get("bag", self._tiles_not_dealt()))
        self.mover: int = position.get("player", setup["first_player"])
        self.draws_left = 0  # chance draws that are due before anybody goes on
        self.aside: list[int] | None = None  # the old hand during a swap
        self.asked: list[int] = []  # who has yet to answer the proposal to score
        self.may_propose = True  # only at the start of a turn
        self.points: list[int] | None = None
        if self._is_decided():
            self._score()

    def _tiles_not_dealt(self) -> list[int]:
        """The bag at the start: all the tiles but those on the board and in the hands."""
        dealt = self.tiles + [element for hand in self.hands for element in hand]
        return [self.board.tiles_per_element - dealt.count(element) for element in ELEMENTS]

    # --- whose turn it is, and what may be done ---

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return self.points is not None

    def current_player(self) -> int:
        """The player to place, swap or answer; CHANCE while tiles are drawn, or TERMINAL."""
        if self.points is not None:
            return TERMINAL
        if self.draws_left > 0:
            return CHANCE
        return self.asked[0] if self.asked else self.mover

    def empty_slots(self) -> list[int]:
        """The slots without a tile."""
        return [slot for slot, element in enumerate(self.tiles) if element is None]

    def legal_actions(self) -> list[int]:
        """Ascending actions; while a tile is drawn the elements in the bag; nothing at the end."""
        if self.points is not None:
            return []
        if self.draws_left > 0:
            return [element for element in ELEMENTS if self.bag[element] > 0]
        if self.asked:
            return [self.agree, self.decline]
        actions = []
        for element in sorted(set(self.hands[self.mover])):
            for slot in self.empty_slots():
                for with_elemental in (0, 1) if self.unused[self.mover] > 0 else (0,):
                    actions.append((element * self.num_slots + slot) * 2 + with_elemental)
        if self.unused[self.mover] > 0 and sum(self.bag) >= self.board.hand_tiles:
            actions.append(self.swap)
        if self.options["early_scoring"] == "agreement" and self.may_propose:
            actions.append(self.propose)
        return actions

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """An element is drawn with its share of the bag; `[]` when no tile is drawn."""
        if self.current_player() != CHANCE:
            return []
        return [(element, float(Fraction(self.bag[element], sum(self.bag)))) for element in self.legal_actions()]

    # --- what an action does ---

    def apply_action(self, action: int) -> None:
        """Place a tile, swap, propose, answer, or draw a tile."""
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is not legal")
        if self.draws_left > 0:
            self._draw(action)
        elif action == self.swap:
            self._start_swap()
        elif action == self.propose:
            self.may_propose = False
            self.asked = [(self.mover + k) % self.num_players for k in range(1, self.num_players)]
        elif action in (self.agree, self.decline):
            self._answer(action == self.agree)
        else:
            element_and_slot, with_elemental = divmod(action, 2)
            self._place(*divmod(element_and_slot, self.num_slots), with_elemental == 1)

    def _answer(self, agrees: bool) -> None:
        """All agree: the game is scored; the first to decline ends the poll, and the proposer goes on."""
        if not agrees:
            self.asked = []
            return
        self.asked = self.asked[1:]
        if not self.asked:
            self._score()

    def _start_swap(self) -> None:
        """Sacrifice an elemental, put the hand aside; the new tiles are drawn next."""
        self.unused[self.mover] -= 1
        self.sacrificed[self.mover] += 1
        self.aside = self.hands[self.mover]
        self.hands[self.mover] = []
        self.may_propose = False
        self.draws_left = self.board.hand_tiles

    def _place(self, element: int, slot: int, with_elemental: bool) -> None:
        """Put a tile of the hand on a slot, perhaps with an elemental on it; the game ends or a tile is drawn."""
        self.hands[self.mover].remove(element)
        self.tiles[slot] = element
        if with_elemental:
            self.unused[self.mover] -= 1
            self.elementals[slot] = self.mover
        if not self.empty_slots() or self._is_decided(next_to_place=self.mover + 1):
            self._score()
        elif sum(self.bag) > 0:
            self.draws_left = 1
        else:
            self._end_turn()

    def _draw(self, element: int) -> None:
        """A tile goes from the bag to the mover's hand; after the last one the turn ends, or the swap."""
        self.bag[element] -= 1
        self.hands[self.mover] = sorted(self.hands[self.mover] + [element])
        self.draws_left -= 1
        if self.draws_left > 0:
            return
        if self.aside is None:
            self._end_turn()
        else:
            self._end_swap(self.aside)

    def _end_swap(self, old_tiles: list[int]) -> None:
        """The old tiles go into the bag, and the same player goes on."""
        for element in old_tiles:
            self.bag[element] += 1
        self.aside = None
        if self._is_decided():
            self._score()

    def _end_turn(self) -> None:
        """The next player clockwise is to move."""
        self.mover = (self.mover + 1) % self.num_players
        self.may_propose = True

    # --- the end ---

    def placements_left(self, next_to_place: int) -> list[int]:
        """How many of the empty slots each player will fill."""
        placers = [(next_to_place + k) % self.num_players for k in range(len(self.empty_slots()))]
        return [placers.count(player) for player in range(self.num_players)]

    def _is_decided(self, next_to_place: int | None = None) -> bool:
        """With `proved`: no completion changes who takes any aether tile."""
        if self.options["early_scoring"] != "proved":
            return False
        left = self.placements_left(self.mover if next_to_place is None else next_to_place)
        rest = Rest(self._tiles_outside(), [min(pair) for pair in zip(self.unused, left, strict=True)])
        return not may_change(self.board, self.tiles, self.elementals, rest, self.options["teams"])

    def _tiles_outside(self) -> list[int]:
        """How many tiles of each element lie outside the board: in the hands and the bag together."""
        in_hands = [element for hand in self.hands for element in hand]
        return [in_hands.count(element) + self.bag[element] for element in ELEMENTS]

    def side(self, player: int) -> int:
        """Who the player scores with: the player alone, or the team."""
        return side_of(player, self.options["teams"])

    def sides(self) -> list[int]:
        """Everybody who scores, in order."""
        return sorted({self.side(player) for player in range(self.num_players)})

    def scores_now(self) -> list[int]:
        """The points of each side if the board is scored as it is."""
        scores = [0 for _ in self.sides()]
        for player in range(self.num_players):
            leftover = self.unused[player] + self.sacrificed[player]
            scores[self.side(player)] += self.options["leftover_points"] * leftover
        who_takes = takers(self.board, self.tiles, self.elementals, self.options["teams"])
        for tile, sides in zip(self.board.aether, who_takes, strict=True):
            for side in sides:
                scores[side] += tile.value // len(sides)
        return scores

    def _score(self) -> None:
        """The game is over: every player shows the points of their side."""
        scores = self.scores_now()
        self.points = [scores[self.side(player)] for player in range(self.num_players)]

    def result(self, scores: list[int], side: int) -> Fraction:
        """What a side gets for these scores: the shared win, or the margin over the others' mean in hundreds."""
        n = len(scores)
        if self.options["reward"] == "margin":
            others = scores[:side] + scores[side + 1 :]
            return (scores[side] - Fraction(sum(others), n - 1)) / 100
        winners = scores.count(max(scores))
        share = Fraction(1, winners) if scores[side] == max(scores) else Fraction(0)
        return (n * share - 1) / (n - 1)

    def returns(self) -> list[float]:
        """One number a player; zeros before the end."""
        if self.points is None:
            return [0.0] * self.num_players
        scores = [self.points[side] for side in self.sides()]  # player 0 shows team 0's points, player 1 team 1's
        return [float(self.result(scores, self.side(player))) for player in range(self.num_players)]

    # --- the whole state ---

    def to_dict(self) -> dict[str, Any]:
        """The `state` object of the golden games."""
        return {
            "player": None if self.points is not None else self.current_player(),
            "tiles": list(self.tiles),
            "elementals": list(self.elementals),
            "hands": [list(hand) for hand in self.hands],
            "unused": list(self.unused),
            "sacrificed": list(self.sacrificed),
            "bag": list(self.bag),
            "points": None if self.points is None else list(self.points),
        }

    def clone(self) -> NaiveAether:
        """An independent copy."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        for name in ("tiles", "elementals", "unused", "sacrificed", "bag", "asked"):
            setattr(copy, name, list(getattr(self, name)))
        copy.hands = [list(hand) for hand in self.hands]
        return copy
