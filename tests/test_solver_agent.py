"""The agent `solver`: perfect where hands are known, honest where they are not, clear where it cannot."""

import numpy as np
import pytest
from naive.endings import plain_values
from tally import Tally

from trilithon.agents import load_agent, solve
from trilithon.agents.analysis import UNKNOWN
from trilithon.core import OptionError, SpecError, load_game, verbs
from trilithon.core.errors import SolverLimitError
from trilithon.core.game import State, copy_of
from trilithon.core.rng import seed, stream


def play_some(state, generator, stop):
    """Play at random until a player is to move where `stop` holds."""
    while state.is_chance_node() or not stop(state):
        state.apply_action(int(generator.choice(state.legal_actions())))
    return state


def with_cells(spec, left, number):
    """A position of Aeroliths with so many empty cells."""
    state = load_game(spec).new_initial_state(number)
    generator = np.random.default_rng(number)
    return play_some(state, generator, lambda s: sum(x is None for x in s.to_dict()["board"]) <= left)


@pytest.mark.parametrize(
    "spec", ["aeroliths(open_hands=true,same=true,combo=true)", "aeroliths(open_hands=true,size=4,wall=true,plus=true)"]
)
def test_with_open_hands_it_is_perfect(spec):
    """The best outcome, and of equal outcomes the best difference; what it says of every action is right."""
    agent, choices = load_agent("solver", load_game(spec)), 0
    for number in range(12):
        state = with_cells(spec, 4, number)
        player = state.current_player()
        plain = {a: plain_values(state.child(a), margins=True) for a in state.legal_actions()}
        analysis = agent.analyse(state)
        for action, qvalues in zip(analysis.actions.tolist(), analysis.qvalues, strict=True):
            np.testing.assert_allclose(qvalues, plain[action][:2])
        assert analysis.proven.tolist() == [int(values[player]) for values in plain.values()]
        best = max((values[player], values[2 + player]) for values in plain.values())
        chosen = plain[analysis.action]
        assert (chosen[player], chosen[2 + player]) == pytest.approx(best)
        np.testing.assert_array_equal(analysis.values, chosen[:2])
        assert analysis.weights[analysis.actions == analysis.action] == 1
        assert analysis.weights.sum() == 1
        assert analysis.principal_variation[0] == analysis.action
        assert analysis.depth == len(analysis.principal_variation) == 4
        assert analysis.nodes > 0
        assert agent.act(state) == analysis.action
        choices += len({(values[player], values[2 + player]) for values in plain.values()}) > 1
    assert choices >= 8


def test_two_of_them_play_the_game_to_its_value():
    game = load_game("aeroliths(open_hands=true,plus=true,elemental_cells=random)")
    for number in range(4):
        state = game.new_initial_state(number)
        promised = solve(state)
        mover = state.current_player()
        agents = [load_agent("solver", game, number + seat) for seat in range(2)]
        while not state.is_terminal():
            state.apply_action(agents[state.current_player()].act(state))
        assert state.returns().tolist() == promised.values.tolist()
        assert state.margin()[mover] * game.margin_unit()[0] == pytest.approx(promised.difference)


@pytest.mark.parametrize("objective", ["return", "difference"])
def test_hidden_hands_are_averaged_over(objective):
    """The mean over exactly the worlds that its generator deals, each solved by plain expectation."""
    game, worlds, differ = Tally(players=3), 6, 0
    agent = load_agent(f"solver(worlds={worlds},objective={objective})", game)
    for number in range(8):
        state = play_some(
            game.new_initial_state(number), np.random.default_rng(number), lambda s: s.array["turns"][0] <= 2
        )
        player = state.current_player()
        [analysis] = agent.analyse_batch([state], [stream(5, number)])
        rng = stream(5, number)
        view, rows = state.view(player, rng), []
        for _ in range(worlds):
            array = copy_of(view.array)
            verbs.determinize(array[0], player, rng)
            world = State(game, array, {})
            rows.append([plain_values(world.child(a), margins=True) for a in state.legal_actions()])
        means = np.mean(rows, axis=0)
        np.testing.assert_allclose(analysis.qvalues, means[:, :3], atol=1e-9)
        keys = np.round([means[:, player], means[:, 3 + player]], 9)
        first, second = keys if objective == "return" else keys[::-1]
        best = max(zip(first, second, strict=True))
        assert analysis.action == state.legal_actions()[list(zip(first, second, strict=True)).index(best)]
        assert (analysis.proven == UNKNOWN).all()
        differ += len({tuple(np.round(row, 6).ravel()) for row in np.array(rows)}) > 1
    assert differ >= 3  # else one world would have done


@pytest.mark.parametrize("spec", ["aeroliths", "aeroliths(same=true,source=catalogue)", "aether(board=mini)"])
def test_equal_information_gives_equal_actions(spec):
    """What the player cannot see is dealt anew: the same action from the same generator."""
    game = load_game(spec)
    agent = load_agent("solver(worlds=3)", game)
    others = 0
    for number in range(6):
        if game.name == "aether":
            start, generator = game.new_initial_state(number), np.random.default_rng(number)
            setup = play_some(start, generator, lambda s: s.array["empty_count"][0] <= 2).position_setup()
            setup["position"]["unused"] = [min(1, unused) for unused in setup["position"]["unused"]]
            state = game.from_setup(setup)
        else:
            state = with_cells(spec, 6, number)
        player = state.current_player()
        action = agent.act_batch([state], [seed(number)])[0]
        for deal in range(3):
            other = state.resample_from_infostate(player, 100 + deal)
            others += other.to_dict() != state.to_dict()
            assert agent.act_batch([other], [seed(number)])[0] == action
            assert load_agent("solver(worlds=3)", game).act_batch([other], [seed(number)])[0] == action
    assert others >= 6


def test_more_worlds_than_one_beat_one():
    """A sampled world taken for the truth is worth less than the mean over many."""
    state = with_cells("aeroliths", 6, 3)
    few = load_agent("solver(worlds=1)", state.game).analyse_batch([state] * 12, [stream(1, k) for k in range(12)])
    many = load_agent("solver(worlds=40)", state.game).analyse_batch([state] * 2, [stream(1, k) for k in range(2)])
    own = state.current_player()
    assert len({round(one.values[own], 6) for one in few}) > 1
    assert all((one.proven == UNKNOWN).all() and one.depth == 1 for one in few)  # nothing is known from one world
    assert np.ptp([one.values[own] for one in many]) < np.ptp([one.values[own] for one in few])


def test_chance_is_known_and_nothing_is_proven():
    state = with_cells("aeroliths(open_hands=true,chaos=true)", 3, 1)
    analysis = load_agent("solver", state.game).analyse(state)
    expected = [plain_values(state.child(a)) for a in state.legal_actions()]
    np.testing.assert_allclose(analysis.qvalues, expected, atol=1e-9)
    assert (analysis.proven == UNKNOWN).all()


def test_what_is_too_large_is_refused_in_one_line():
    state = load_game("selenolyth").new_initial_state(1)
    agent = load_agent("solver", state.game)
    with pytest.raises(SolverLimitError, match="at most 8 stones in both reserves together") as refused:
        agent.act(state)
    assert "fallback=AGENT" in str(refused.value)
    assert "\n" not in str(refused.value)
    small = with_cells("aeroliths(open_hands=true,chaos=true)", 5, 1)
    with pytest.raises(SolverLimitError, match="allowed: 50;"):
        load_agent("solver(limit=50)", small.game).act(small)


def test_a_fallback_plays_until_the_position_can_be_solved():
    game = load_game("aeroliths(open_hands=true,chaos=true)")
    agent = load_agent('solver(limit=3000,fallback="minimax(depth=1)")', game)
    fallback, solver = load_agent("minimax(depth=1)", game), load_agent("solver", game)
    assert load_agent(agent.spec, game).options == agent.options
    handed = solved = 0
    state, generator = game.new_initial_state(4), np.random.default_rng(4)
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(int(generator.choice(state.legal_actions())))
            continue
        key = len(state.history())
        [analysis] = agent.analyse_batch([state], [stream(key)])
        [other] = fallback.analyse_batch([state], [stream(key)])
        try:
            [exact] = load_agent("solver(limit=3000)", game).analyse_batch([state], [stream(key)])
        except SolverLimitError:
            handed += 1
            assert analysis.action == other.action
            np.testing.assert_array_equal(analysis.qvalues, other.qvalues)
        else:
            solved += 1
            np.testing.assert_array_equal(analysis.qvalues, exact.qvalues)
            assert analysis.action == solver.analyse_batch([state], [stream(key)])[0].action
        state.apply_action(analysis.action)
    assert handed >= 3
    assert solved >= 3


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("solver(fallback=nobody)", SpecError, "unknown agent 'nobody'"),
        ("solver(fallback='solver(limit=5)')", OptionError, "fallback = 'solver.limit=5.' is not allowed"),
        ("solver(worlds=0)", OptionError, "worlds = 0 is not allowed"),
        ("solver(limit=0)", OptionError, "limit = 0 is not allowed"),
        ("solver(objective=win)", OptionError, "objective = 'win' is not allowed; allowed: return or difference"),
        ("solver(depth=3)", OptionError, "unknown option 'depth'"),
    ],
)
def test_bad_options(spec, error, message):
    with pytest.raises(error, match=message):
        load_agent(spec, load_game("selenolyth"))


def test_the_state_is_left_alone_and_choices_repeat():
    state = with_cells("aeroliths", 6, 2)
    before = (state.array.tobytes(), state.history())
    agent = load_agent("solver(worlds=4)", state.game, 7)
    first = agent.analyse(state)
    agent.reset(state.game, 7)
    again = agent.analyse(state)
    assert (state.array.tobytes(), state.history()) == before
    assert first.to_dict() | {"seconds": 0} == again.to_dict() | {"seconds": 0}
