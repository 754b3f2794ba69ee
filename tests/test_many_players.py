"""Nothing generic counts to two: searches, arena, ratings, training and play on a game of two to four players."""

import json

import numpy as np
import pytest
from tally import ROLL, TAKE, Tally

from trilithon.agents import load_agent
from trilithon.agents.checkpoint import build_network, save_checkpoint
from trilithon.agents.search import Search, SearchSettings
from trilithon.agents.sides import sides_of
from trilithon.core import CHANCE, load_game, register_game, registry
from trilithon.core.rng import stream
from trilithon.experiments.arena import number_of_games, play_event, tables_of
from trilithon.experiments.cli import main
from trilithon.experiments.ratings import Outcome
from trilithon.experiments.shares import share_results, share_table, win_shares

THREE, FOUR, TEAMS = "tally(rounds=2)", "tally(players=4,rounds=2)", "tally(players=4,teams=true,rounds=2)"
EVERY = [THREE, FOUR, TEAMS]


@pytest.fixture(autouse=True, scope="module")
def _registered():
    register_game("tally", Tally)
    yield
    del registry._registered["tally"]


def states_of(game, count, seed=0):
    """Positions of random games in which a player is to move."""
    found, number = [], 0
    while len(found) < count:
        generator, state = np.random.default_rng([seed, number]), game.new_initial_state(number)
        steps, number = int(generator.integers(0, 8)), number + 1
        while not state.is_terminal() and (steps > 0 or state.is_chance_node()):
            state.apply_action(int(generator.choice(state.legal_actions())))
            steps -= 1
        if not state.is_terminal():
            found.append(state)
    return found


def test_sides_are_told_by_the_returns():
    assert sides_of(load_game("aeroliths")) == (0, 1)
    assert sides_of(load_game(THREE)) == (0, 1, 2)
    assert sides_of(load_game(FOUR)) == (0, 1, 2, 3)
    assert sides_of(load_game(TEAMS)) == (0, 1, 0, 1)


# ------------------------------------------------------------------------------------------------------------- searches


def plain_minimax(state, depth, player, sides):
    """The value for `player`: the own side maximises, everybody else minimises."""
    if state.is_terminal():
        return state.returns()[player] + 1e-3 * state.margin()[player]
    if state.is_chance_node():
        return sum(p * plain_minimax(state.child(a), depth, player, sides) for a, p in state.chance_outcomes())
    if depth == 0:
        return state.heuristic()[player]
    values = [plain_minimax(state.child(a), depth - 1, player, sides) for a in state.legal_actions()]
    return max(values) if sides[state.current_player()] == sides[player] else min(values)


def shown(spec):
    return load_game(spec, shown=True)


@pytest.mark.parametrize("spec", EVERY)
def test_minimax_is_paranoid_and_knows_its_side(spec):
    game = shown(spec)
    sides, agent = sides_of(game), load_agent("minimax(depth=3)", game)
    for state in states_of(game, 12):
        player = state.current_player()
        qvalues = agent.analyse(state).qvalues
        expected = [plain_minimax(state.child(a), 2, player, sides) for a in state.legal_actions()]
        np.testing.assert_allclose(qvalues[:, player], expected, atol=1e-9)
        assert expected[state.legal_actions().index(agent.act(state))] == pytest.approx(max(expected))
        if max(sides) == 1:
            np.testing.assert_allclose(qvalues, np.outer(expected, [1 if s == sides[player] else -1 for s in sides]))
        else:
            assert np.isnan(qvalues[:, [p for p in range(len(sides)) if p != player]]).all()


def max_n(state):
    """The values when everybody maximises the own entry (ties: the first action), Luckhardt and Irani, AAAI 1986."""
    if state.is_terminal():
        return state.returns()
    if state.is_chance_node():
        return sum(p * max_n(state.child(a)) for a, p in state.chance_outcomes())
    return max((max_n(state.child(a)) for a in state.legal_actions()), key=lambda v: v[state.current_player()])


@pytest.mark.parametrize("spec", EVERY)
@pytest.mark.parametrize("root", ["uct", "gumbel"])
def test_searches_maximise_the_movers_own_value(spec, root):
    """Two turns before the end a search that sees every end plays an action of the best own value."""
    game = shown(spec)
    asked = kept = 0
    for state in states_of(game, 240, seed=1):
        if asked == 8 or state.to_dict()["turns"] > 2:
            continue
        player = state.current_player()
        values = {a: max_n(state.child(a))[player] for a in state.legal_actions()}
        if max(values.values()) - min(values.values()) < 0.1:
            continue
        evaluator = None if root == "uct" else Flat(game)
        settings = SearchSettings(simulations=1500, root=root, gumbel_scale=0.0, margin_weight=0.0)
        search = Search(game, 1, settings, evaluator)
        search.run(state.array, np.stack([stream(1, asked)]))
        asked += 1
        kept += values[int(search.actions(0)[search.best(0)])] > max(values.values()) - 0.05
        assert search.value(0).sum() == pytest.approx(0, abs=1e-6)
    assert asked >= 8
    assert kept >= asked - 1


class Flat:
    """Equal priors and values of zero."""

    def __init__(self, game):
        self.actions, self.players = game.num_distinct_actions(), game.num_players()

    def __call__(self, states, indices, count):
        return np.zeros((count, self.actions), np.float32), np.zeros((count, self.players))


@pytest.mark.parametrize("spec", EVERY)
def test_an_evaluators_values_reach_the_right_seats(spec):
    """The evaluator says +1 for the observer, less for each seat after it; raw values are by seat."""
    game = load_game(spec)
    n = game.num_players()

    class Steps(Flat):
        def __call__(self, states, indices, count):
            logits, _ = super().__call__(states, indices, count)
            seen.extend((int(states["current_player"][b, m]), int(o)) for b, m, o in indices[:count])
            return logits, np.tile(1.0 - np.arange(n), (count, 1))

    seen = []
    roots = list(states_of(game, 30))
    search = Search(game, len(roots), SearchSettings(simulations=12, prove=False), Steps(game))
    search.run(np.concatenate([r.array for r in roots]), np.stack([stream(2, k) for k in range(len(roots))]))
    assert all(mover in (observer, CHANCE) for mover, observer in seen)
    assert any(mover == CHANCE for mover, _ in seen)
    tree = search.tree
    for b, root in enumerate(roots):
        player = root.current_player()
        np.testing.assert_array_equal(tree.raw_values[b, 0], np.roll(1.0 - np.arange(n), player))
        for edge, action in enumerate(search.actions(b)):
            child = tree.children[b, 0, edge]
            if child >= 0 and tree.states["current_player"][b, child] == CHANCE:
                # Before chance the observer is who acted.
                np.testing.assert_array_equal(tree.raw_values[b, child], np.roll(1.0 - np.arange(n), player))
                assert action in (1, 2)


@pytest.mark.parametrize("spec", EVERY)
def test_agents_play_whole_games(spec, network):
    game = load_game(spec)
    agents = ["uniform", "greedy", "minimax(depth=2,worlds=2)", "mcts(simulations=12,worlds=2)"]
    agents += [f"mcts(simulations=12,worlds=2,network={network(game)})", f"policy(network={network(game)})"]
    for number, spec in enumerate(agents):
        agent, state = load_agent(spec, game, number), game.new_initial_state(number)
        generator = np.random.default_rng(number)
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(int(generator.choice(state.legal_actions())))
                continue
            analysis = agent.analyse(state)
            assert analysis.values.shape == (game.num_players(),)
            assert analysis.weights.sum() == pytest.approx(1)
            state.apply_action(analysis.action)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """An untrained network for a game, as the path of a checkpoint."""

    def make(game):
        settings = {"kind": "mlp", "channels": 16, "layers": 1}
        base = tmp_path_factory.mktemp("network") / "000001"
        return str(save_checkpoint(base, game, build_network(game, settings), settings))

    return make


def test_greedy_expects_over_all_chance_that_follows():
    game = shown("tally(rounds=1)")
    state = game.from_setup({"first_player": 1, "secrets": [0, 0, 0]})
    qvalues = load_agent("greedy", game).analyse(state).qvalues
    # A roll brings 1.25 points on average, a gamble two of these; others' heuristic is half as much below.
    np.testing.assert_allclose(qvalues[ROLL], np.array([-0.625, 1.25, -0.625]) / 20)
    np.testing.assert_allclose(qvalues[2], np.array([-1.25, 2.5, -1.25]) / 20)
    np.testing.assert_allclose(qvalues[TAKE], np.array([-0.5, 1.0, -0.5]) / 20)


# ---------------------------------------------------------------------------------------------------- arena and shares


def test_tables_of_two_sides_and_of_more():
    two, three, four, teams = (load_game(spec) for spec in ("aeroliths", THREE, FOUR, TEAMS))
    assert tables_of(two, 3) == [[(0, 1), (1, 0)], [(0, 2), (2, 0)], [(1, 2), (2, 1)]]
    assert tables_of(two, 3, gauntlet=True) == [[(0, 1), (1, 0)], [(0, 2), (2, 0)]]
    assert tables_of(three, 2, gauntlet=True) == [[(0, 1, 1), (1, 1, 0), (1, 0, 1)]]
    assert tables_of(three, 2) == [[(0, 1, 1), (1, 1, 0), (1, 0, 1)], [(1, 0, 0), (0, 0, 1), (0, 1, 0)]]
    assert tables_of(three, 3) == [[(0, 1, 2), (1, 2, 0), (2, 0, 1)]]
    assert len(tables_of(four, 5)) == 5
    assert tables_of(teams, 3, gauntlet=True) == [[(0, 1, 0, 1), (1, 0, 1, 0)], [(0, 2, 0, 2), (2, 0, 2, 0)]]
    assert number_of_games(teams, 3, 10) == 60
    assert number_of_games(three, 2, 10, gauntlet=True) == 30


@pytest.mark.parametrize("spec", EVERY)
def test_a_gauntlet_rotates_all_seats_on_the_same_deals(spec):
    game = load_game(spec)
    result = play_event(game, ["greedy", "uniform"], 40, seed=1, gauntlet=True)
    seatings = 2 if game.options["teams"] else game.num_players()
    assert len(result.records) == 40 * seatings
    assert len({(record.seed, tuple(record.agents)) for record in result.records}) == len(result.records)
    assert all(record.agents.count("greedy") == (2 if game.options["teams"] else 1) for record in result.records)
    [share] = result.shares()
    assert (share.agent, share.games, share.deals) == ("greedy", 40 * seatings, 40)
    assert share.fair == pytest.approx(0.5 if game.options["teams"] else 1 / game.num_players())
    assert share.times_fair_low > 1.2  # who takes points at random loses
    assert share.times_fair == pytest.approx(share.share / share.fair)
    again = [
        sum(v for v, name in zip(win_shares(r.returns), r.agents, strict=True) if name == "greedy")
        for r in result.records
    ]
    assert share.share == pytest.approx(np.mean(again))


def test_an_agent_against_itself_has_its_fair_share():
    """Two names for one agent: whatever the seats are worth, the rotations even it out."""
    result = play_event(load_game(THREE), ["greedy", "minimax(depth=1)"], 300, seed=2, gauntlet=True)
    [share] = result.shares()
    assert share.times_fair == pytest.approx(1.0, abs=0.1)  # a fifth of a share wide is the interval of 300 deals
    assert share.times_fair_high - share.times_fair_low < 0.5


def test_shares_by_hand():
    outcomes = [
        Outcome(0, ("a", "b", "b"), (1.0, -0.5, -0.5), (4.0, -1.0, -3.0)),  # a wins
        Outcome(0, ("b", "a", "b"), (0.25, 0.25, -0.5), (2.0, 2.0, -4.0)),  # shared by two
        Outcome(0, ("b", "b", "a"), (0.25, 0.25, -0.5), (3.0, 3.0, -6.0)),  # shared by others
        Outcome(1, ("a", "b", "b"), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),  # shared by all
    ]
    [share] = share_results(outcomes)
    assert (share.agent, share.opponents, share.seats) == ("a", {"b": 2}, 1)
    assert (share.games, share.deals, share.wins, share.draws, share.losses) == (4, 2, 1, 2, 1)
    assert share.share == pytest.approx((1 + 1 / 2 + 0 + 1 / 3) / 4)
    assert share.times_fair == pytest.approx(3 * share.share)
    assert share.difference == pytest.approx(0.0)
    assert share.by_seat == [
        {"seat": 0, "games": 2, "share": pytest.approx(2 / 3)},
        {"seat": 1, "games": 1, "share": 0.5},
        {"seat": 2, "games": 1, "share": 0.0},
    ]
    lines = share_table([share], {"b": "another"}).splitlines()
    assert lines[1].split("  ")[:2] == ["a", "   2 x another"] or "2 x another" in lines[1]


def test_teams_share_as_one_and_three_agents_have_a_row_each():
    won = Outcome(0, ("a", "b", "a", "b"), (1.0, -1.0, 1.0, -1.0))
    [share] = share_results([won, Outcome(0, ("b", "a", "b", "a"), (0.0, 0.0, 0.0, 0.0))])
    assert (share.seats, share.fair, share.share, share.wins, share.draws) == (2, 0.5, 0.75, 1, 1)
    rows = share_results([Outcome(d, ("a", "b", "c"), (1.0, -0.5, -0.5)) for d in range(4)], ["b", "a", "c"])
    assert [(r.agent, r.share, r.fair) for r in rows] == [("b", 0.0, 1 / 3), ("a", 1.0, 1 / 3), ("c", 0.0, 1 / 3)]
    assert share_results([Outcome(0, ("a", "a", "a"), (1.0, -0.5, -0.5))]) == []


def test_a_fault_costs_the_whole_side():
    class State:
        game = load_game(TEAMS)

    from trilithon.experiments.ratings import outcome_of

    assert outcome_of(0, ["a", "b", "a", "b"], State, {"seat": 3}).returns == (1.0, -1.0, 1.0, -1.0)


@pytest.mark.parametrize("spec", [THREE, TEAMS])
def test_arena_and_rate_print_shares_and_no_elo(spec, tmp_path, capsys):
    out = tmp_path / "event"
    assert main(["arena", "greedy", "uniform", "--game", spec, "--deals", "5", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "times fair" in text
    assert "Elo" not in text
    assert main(["arena", "greedy", "uniform", "--game", spec, "--deals", "5", "--json"]) == 0
    event = json.loads(capsys.readouterr().out)
    assert all(agent["elo"] is None for agent in event["agents"])
    assert event["pairs"] == []
    assert main(["rate", str(out), "--json"]) == 0
    rated = json.loads(capsys.readouterr().out)
    assert rated["shares"] == event["shares"]
    assert main(["rate", str(out)]) == 0
    assert text.split("\n\n")[1].splitlines() == capsys.readouterr().out.split("\n\n")[1].splitlines()
