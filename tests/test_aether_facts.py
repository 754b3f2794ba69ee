"""What an Aether state tells at a glance: powers, who takes what, points, headlines, the state object of records."""

import pytest
from naive.aether import NaiveAether
from naive.aether_scoring import takers
from naive.files import golden_games
from test_aether_text import OPTIONS, played, start, walks

from trilithon.core import SetupError, load_game
from trilithon.core.aether import facts


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_powers_takers_and_points_are_those_of_the_twin(options):
    for state in walks(3, seed=1, **options):
        if facts.phase(state.array) == "place" and state.to_dict()["tiles"].count(None) % 3:
            continue
        twin = NaiveAether(
            state.game.options, {**state.setup(), "hands": [[] for _ in range(state.game.num_players())]}
        )
        position = state.to_dict()
        for name in ("tiles", "elementals", "unused", "sacrificed"):
            setattr(twin, name, position[name])
        rows = facts.sums(state.array, state.game.board)
        teams = state.game.options["teams"]
        assert [facts.holders(row) for row in rows] == [
            sorted(sides) for sides in takers(twin.board, twin.tiles, twin.elementals, teams)
        ]
        points = twin.scores_now()
        assert facts.scores(state.array) == [points[twin.side(player)] for player in range(state.game.num_players())]
        powers = facts.powers(state.array)
        for row, tile in zip(rows, twin.board.aether, strict=True):
            beside = {}
            for slot in tile.around:
                if powers[slot] is not None:
                    side = twin.side(position["elementals"][slot])
                    beside[side] = beside.get(side, 0) + powers[slot]
            assert row == [beside.get(side) for side in twin.sides()]
        assert [power is None for power in powers] == [owner is None for owner in position["elementals"]]


def test_the_state_objects_of_stored_games():
    for stored in golden_games("aether")[::12]:
        state = load_game("aether", **stored["config"]).from_setup(stored["setup"])
        for (_, action), expected in zip(stored["steps"], stored["states"], strict=True):
            state.apply_action(action)
            assert state.to_dict() == expected


def test_headlines():
    state = load_game("aether", board="small", players=4, first_player=2, early_scoring="agreement").new_initial_state(
        5
    )
    assert facts.headline(state.array) == "player 2 to place or propose"
    played(state, "propose")
    assert facts.headline(state.array) == "player 3 to agree or decline"
    played(state, "agree")
    assert (facts.headline(state.array), facts.turn(state.array)) == ("player 0 to agree or decline", 0)
    played(state, "decline")
    assert facts.headline(state.array) == "player 2 to place"
    played(state, "swap")
    for left in ("4 tiles", "3 tiles", "2 tiles", "1 tile"):
        assert facts.headline(state.array) == f"player 2 swaps: {left} to draw"
        assert state.to_text().splitlines()[0].endswith(facts.headline(state.array))
        state.apply_action(state.legal_actions()[0])
    state.apply_action(state.legal_actions()[0])
    assert (facts.headline(state.array), facts.turn(state.array)) == ("player 2 draws a tile", 2)
    state.apply_action(state.legal_actions()[0])
    assert facts.headline(state.array) == "player 3 to place or propose"
    assert facts.headline(load_game("aether").new_initial_state(0).array).endswith("to place")


@pytest.mark.parametrize(
    ("options", "owners", "said"),
    [
        ({}, "0", "player 0 wins"),
        ({}, "1", "player 1 wins"),
        ({"players": 3}, "", "players 0, 1 and 2 share the win"),
        ({"board": "small", "players": 4, "teams": True}, "3", "team 1 wins"),
        ({"board": "small", "players": 4, "teams": True}, "", "teams 0 and 1 share the win"),
    ],
    ids=str,
)
def test_who_won(options, owners, said):
    """All agree to score a board with an elemental beside one aether tile, or with none."""
    players = options.get("players", 2)
    tiles = {0: "F" + owners, 1: "F"}
    hands = [(0, 1, 2, 3)] * players
    state = start(**{"board": "mini", **options}, tiles=tiles, hands=hands, early_scoring="agreement")
    played(state, "propose", *["agree"] * (players - 1))
    assert facts.headline(state.array) == f"ended: {said}"
    assert facts.turn(state.array) is None
    with pytest.raises(SetupError, match=r"line 1 must be .*; its position cannot start a game"):
        state.game.from_text(str(state))
