"""A closed-hand position in which averaging over worlds chooses wrongly and information-set search rightly.

Aeroliths with `order`; player 1 is to move, four cells are empty. Player 0's next Litho is known, its last one is one
of four. After b1 player 1 can win against each of the four, but must know which it is; not knowing it wins against
two. After c1 it wins against three of them whatever it does next. `docs/algorithms.md` shows the position.
"""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from trilithon.agents import load_agent
from trilithon.core import load_game

DATA = Path(__file__).parent / "data"
POSITION = json.loads((DATA / "strategy_fusion.json").read_text())
FUSED, RIGHT, PLAYER = POSITION["fused"], POSITION["right"], 1
SEEDS = 20


def the_game():
    config = POSITION["config"]
    return load_game("aeroliths", **{**config, "catalogue": str(DATA / config["catalogue"])})


def worlds():
    """The position with each of the four Lithos that player 0 may hold last."""
    states = []
    for litho in POSITION["unseen"]:
        setup = json.loads(json.dumps(POSITION["setup"]))
        setup["position"]["hands"][0][4] = litho
        states.append(the_game().from_setup(setup))
    return states


def ends(state):
    """By what player 0 answers and player 1 then does: player 1's return, float64 [3, 2] (the last move is forced)."""
    table = np.zeros((3, 2))
    for i, answer in enumerate(state.legal_actions()):
        middle = state.child(answer)
        for j, action in enumerate(middle.legal_actions()):
            last = middle.child(action)
            table[i, j] = last.child(last.legal_actions()[0]).returns()[PLAYER]
    return table


def by_action():
    """Returns float64 [action, world, answer, second action]."""
    roots = worlds()
    return {a: np.array([ends(root.child(a)) for root in roots]) for a in roots[0].legal_actions()}


def test_the_four_worlds_look_alike():
    roots = worlds()
    assert len({root.information_state_string(PLAYER) for root in roots}) == 1
    assert len({root.array.tobytes() for root in roots}) == 4
    dealt = [roots[0].view(PLAYER, seed).to_dict()["hands"][0][4] for seed in range(400)]
    assert {tuple(litho) for litho in dealt} == {tuple(litho) for litho in POSITION["unseen"]}
    assert min(dealt.count(litho) for litho in POSITION["unseen"]) > 70


def test_what_the_actions_are_worth():
    """Knowing the last Litho, the first action wins always; not knowing it, the second one is better by half a game."""
    fused, kindest, worst = {}, {}, {}
    for action, table in by_action().items():
        fused[action] = table.max(2).min(1).mean()
        # The kindest opponent answers without regard to its last Litho; the worst knows what player 1 will do next.
        kindest[action] = table.mean(0).max(1).min()
        worst[action] = max(table[:, range(3), plan].min(1).mean() for plan in product((0, 1), repeat=3))
    assert (fused[FUSED], kindest[FUSED], worst[FUSED]) == (1.0, 0.0, 0.0)
    assert (fused[RIGHT], kindest[RIGHT], worst[RIGHT]) == (0.5, 0.5, 0.5)
    for action in set(fused) - {FUSED, RIGHT}:
        assert max(fused[action], kindest[action]) < 0.5


@pytest.mark.parametrize(
    ("spec", "chosen"),
    [
        ("mcts(simulations=4000,worlds=40)", FUSED),
        ("minimax(depth=4,worlds=40)", FUSED),
        ("solver(worlds=40)", FUSED),
        ("mcts(simulations=8000,worlds=40,hidden=infoset)", RIGHT),
    ],
)
def test_averaging_over_worlds_chooses_wrongly_and_information_sets_rightly(spec, chosen):
    state, game = worlds()[0], the_game()
    actions = [load_agent(spec, game, seed).act(state) for seed in range(SEEDS)]
    assert actions.count(chosen) >= 0.9 * SEEDS


def test_the_difference_shows_in_games():
    """From here on each of the four worlds, player 0 playing its best against what it sees: half a game more."""
    totals = {}
    for hidden in ("worlds", "infoset"):
        returns = []
        for number, root in enumerate(worlds() * 5):
            agent = load_agent(f"mcts(simulations=4000,worlds=40,hidden={hidden})", root.game, number)
            opponent = load_agent("mcts(simulations=4000,worlds=10)", root.game, 1000 + number)
            state = root.clone()
            while not state.is_terminal():
                state.apply_action((opponent, agent)[state.current_player()].act(state))
            returns.append(state.returns()[PLAYER])
        totals[hidden] = np.mean(returns)
    print(totals)
    assert totals["infoset"] >= 0.5
    assert totals["worlds"] <= 0.2
