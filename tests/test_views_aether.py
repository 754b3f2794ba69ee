"""Aether: views are states to play on from, no state foretells a draw, and no agent sees a hidden tile."""

from random import Random

import pytest
from naive.aether import NaiveAether
from naive.posterior_aether import retold
from naive.scenarios_aether import Style
from test_knowledge_aether import after

from trilithon.agents import load_agent
from trilithon.core import IllegalActionError, load_game

# ------------------------------------------------------------------------------------------------------ views as states


def test_a_view_plays_on_and_stops_at_its_root():
    state = load_game("aether", board="mini", players=3).new_initial_state(6)
    rng = Random(6)
    for _ in range(9):
        state.apply_action(rng.choice(state.legal_actions()))
    view = state.view(1, 2)
    with pytest.raises(IllegalActionError, match="take back"):
        view.undo_action()
    before = view.to_bytes(), view.array.tobytes(), str(view)
    actions = []
    while not view.is_terminal():
        actions.append(rng.choice(view.legal_actions()))
        view.apply_action(actions[-1])
    for _ in actions:
        view.undo_action()
    assert (view.to_bytes(), view.array.tobytes(), str(view)) == before
    again = load_game("aether", board="mini", players=3).from_bytes(view.to_bytes())
    assert again.to_dict() == view.to_dict()


def test_a_view_of_a_view_hides_what_the_second_viewer_did_not_see():
    state = load_game("aether", board="mini", first_player=0).new_initial_state(6)
    for _ in range(8):
        state.apply_action(state.legal_actions()[-2 if state.current_player() >= 0 else 0])
    own = state.view(0, 1)
    hands = {str(own.view(1, seed).to_dict()["hands"][0]) for seed in range(20)}
    assert len(hands) > 5
    assert all(own.view(1, seed).to_dict()["hands"][1] == own.to_dict()["hands"][1] for seed in range(5))


def test_no_generator_lives_in_a_state():
    """A state is its setup and its steps: whatever seed it came from, copies do not foretell a draw."""
    game = load_game("aether", board="mini")
    for seed in range(5):
        state = game.new_initial_state(seed)
        again = game.from_setup(state.setup())
        for _ in range(7):
            assert again.array.tobytes() == state.array.tobytes()
            assert again.to_bytes() == state.to_bytes()
            action = state.legal_actions()[0]
            state.apply_action(action)
            again.apply_action(action)


def test_a_copy_never_foretells_a_draw():
    game = load_game("aether", board="mini")
    state = game.new_initial_state(8)
    state.apply_action(state.legal_actions()[0])
    assert state.is_chance_node()
    outcomes = state.legal_actions()
    assert len(outcomes) > 2
    copies = [state.child(outcome) for outcome in outcomes]
    assert len({str(copy.to_dict()["bag"]) for copy in copies}) == len(outcomes), "every copy goes its own way"
    assert state.legal_actions() == outcomes
    # Worlds of one information have bags of their own, and none of them says what will be drawn.
    worlds = [state.view(player, seed) for player in (0, 1) for seed in range(12)]
    assert len({str(world.to_dict()["bag"]) for world in worlds}) > 6
    for world in worlds:
        bag = world.to_dict()["bag"]
        expected = [(element, number / sum(bag)) for element, number in enumerate(bag) if number]
        assert world.chance_outcomes() == [(element, pytest.approx(share)) for element, share in expected]


# --------------------------------------------------------------------------------------------------------------- agents


AGENTS = ("uniform", "greedy", "minimax(depth=1)", "mcts(simulations=16)", "mcts(simulations=16,worlds=3)")
GAMES = (
    {"board": "mini"},
    {"board": "mini", "players": 3, "early_scoring": "agreement"},
    {"board": "small", "players": 4, "teams": True, "reward": "margin"},
)


@pytest.mark.parametrize("spec", AGENTS)
@pytest.mark.parametrize("options", GAMES, ids=str)
def test_equal_information_gives_equal_actions(spec, options):
    game = load_game("aether", **options)
    agent = load_agent(spec, game)
    rng = Random(9)
    asked = differing = 0
    for seed in range(6):
        state = game.new_initial_state(seed)
        twin, style, actions = NaiveAether(options, state.setup()), Style(rng), []
        for _ in range(rng.randrange(4, 30)):
            actions.append(style.choose(rng, twin))
            twin.apply_action(actions[-1])
            if twin.is_terminal():
                break
        while twin.current_player() < 0 and actions:
            actions.pop()
            twin = NaiveAether(options, state.setup())
            for action in actions:
                twin.apply_action(action)
        player = twin.current_player()
        state = after(options, state.setup(), actions)
        other = after(options, *retold(options, state.setup(), actions, player, rng))
        chosen = []
        for each in (state, other):
            agent.reset(game, seed)
            chosen.append(agent.act(each))
        assert chosen[0] == chosen[1]
        asked += 1
        differing += state.to_dict() != other.to_dict()
    assert asked == 6
    assert differing >= 4, "an agent that read the true state could have been found"
