"""What every game promises through `Game` and `State`, whatever its rules: one list of promises, all games."""

import copy
import json
import pickle
from random import Random

import numpy as np
import pytest

from trilithon.core import CHANCE, TERMINAL, IllegalActionError, OptionError, SetupError, list_games, load_game

SPECS = (
    "aeroliths",
    "aeroliths(size=4,same=true,plus=true,combo=true,wall=true,sudden_death=true,max_rounds=3,elemental_cells=random)",
    "aeroliths(size=5,chaos=true,hands=mirrored,source=catalogue)",
    "aeroliths(draft=true,open_hands=true,order=true,plus_own=true,plus=true)",
    "aeroliths(chaos=true,observation=universal,source=budget,first_player=1)",
    "aether",
    "aether(board=mini,early_scoring=agreement)",
    "aether(board=mini,players=3,early_scoring=proved,reward=margin,leftover_points=9)",
    "aether(board=small,players=3,variant=true,early_scoring=agreement,first_player=2)",
    "aether(board=small,players=4,teams=true,early_scoring=agreement)",
    "aether(board=small,players=4,teams=true,reward=margin,leftover_points=0)",
    "aether(players=4,variant=true)",
    "selenolyth",
    "selenolyth(max_turns=12,eclipse_value=9,first_player=1)",
    "selenolyth(luminance_goal=3,selenolyths=2,diox=6,orthos=18)",
)


@pytest.fixture(params=SPECS, scope="module")
def game(request):
    return load_game(request.param)


def walk(game, seed):
    """All states of a random game, each of them the same object."""
    rng, state = Random(seed), game.new_initial_state(seed)
    yield state
    while not state.is_terminal():
        state.apply_action(rng.choice(state.legal_actions()))
        yield state


def ended(game, seed):
    """The last state of a random game."""
    *_, state = walk(game, seed)
    return state


def test_every_game_is_in_the_list():
    assert set(list_games()) == {spec.partition("(")[0] for spec in SPECS}


def test_a_game_is_its_spec(game):
    assert load_game(str(game)) == game
    assert hash(load_game(str(game))) == hash(game)
    assert repr(game) == f"load_game({str(game)!r})"
    assert str(load_game(game.name, **game.options)) == str(game)
    with pytest.raises(OptionError, match="unknown option 'sizes'"):
        load_game(game.name, **{**game.options, "sizes": 1})


def test_facts_are_sound(game):
    assert game.num_players() >= 2
    assert game.num_distinct_actions() > 0
    assert game.max_game_length() > 0
    assert game.min_utility() < 0 < game.max_utility()
    outcomes = game.outcomes()
    assert outcomes.shape[1] == game.num_players()
    assert len(np.unique(outcomes, axis=0)) == len(outcomes)
    assert outcomes.min() >= game.min_utility() - 1e-9
    assert outcomes.max() <= game.max_utility() + 1e-9
    unit, name = game.margin_unit()
    assert unit > 0
    assert name


# ---------------------------------------------------------------------------------------------------------- every state


@pytest.mark.parametrize("seed", range(3))
def test_actions_masks_and_chance(game, seed):
    length = 0
    for state in walk(game, seed):
        player, legal = state.current_player(), state.legal_actions()
        assert player in (*range(game.num_players()), CHANCE, TERMINAL)
        assert (state.is_chance_node(), state.is_terminal()) == (player == CHANCE, player == TERMINAL)
        assert bool(legal) != state.is_terminal()
        assert legal == sorted(set(legal))
        mask = state.legal_actions_mask()
        assert (mask.dtype, mask.shape) == (bool, (game.num_distinct_actions(),))
        assert np.flatnonzero(mask).tolist() == (legal if player >= 0 else [])
        outcomes = state.chance_outcomes()
        assert [outcome for outcome, _ in outcomes] == (legal if player == CHANCE else [])
        if player == CHANCE:
            assert 0 <= legal[0] <= legal[-1] < game.max_chance_outcomes()
            assert sum(probability for _, probability in outcomes) == pytest.approx(1, abs=1e-12)
            assert min(probability for _, probability in outcomes) > 0
        for action in Random(seed).sample(legal, min(5, len(legal))):
            text = state.action_to_string(action)
            assert state.string_to_action(text) == action
            assert state.string_to_action(str(action)) == action
        length += player >= 0
    assert 0 < length <= game.max_game_length()


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_within_their_bounds(game, seed):
    players, shape = game.num_players(), game.observation_tensor_shape()
    for state in walk(game, seed):
        for player in range(players):
            tensor = state.observation_tensor(player)
            assert (tensor.dtype, tensor.shape) == (np.float32, shape)
            assert np.isfinite(tensor).all()
            assert np.abs(tensor).max() <= 1
        for values in (state.heuristic(), state.margin()):
            assert (values.dtype, values.shape) == (np.float64, (players,))
            assert np.abs(values).max() <= 1
        returns = state.returns()
        assert (returns.dtype, returns.shape) == (np.float64, (players,))
        assert np.array_equal(state.rewards(), returns)
        assert state.is_terminal() or not returns.any()


def test_returns_are_within_the_utilities_and_among_the_outcomes(game):
    for seed in range(12):
        returns = ended(game, seed).returns()
        assert game.min_utility() - 1e-9 <= returns.min()
        assert returns.max() <= game.max_utility() + 1e-9
        assert returns.sum() == pytest.approx(0, abs=1e-9), "zero-sum"
        if game.options.get("reward") == "margin":  # too many to list: the outcomes are a grid
            continue
        for player in range(game.num_players()):
            seen = np.roll(returns, -player)
            assert np.isclose(game.outcomes(), seen, atol=1e-9).all(axis=1).any(), (player, returns)


@pytest.mark.parametrize("seed", range(2))
def test_undo_and_copies(game, seed):
    seen = []
    for state in walk(game, seed):
        seen.append((state.array.tobytes(), state.to_bytes(), str(state)))
        twin = copy.deepcopy(state)
        if not state.is_terminal():
            child = state.child(state.legal_actions()[0])
            twin.apply_action(twin.legal_actions()[-1])
            assert len(child.history()) == len(state.history()) + 1
        assert (state.array.tobytes(), state.to_bytes()) == seen[-1][:2], "copies are independent"
    state = ended(game, seed)
    for expected in reversed(seen):
        assert (state.array.tobytes(), state.to_bytes(), str(state)) == expected
        if len(state.history()):
            state.undo_action()
    with pytest.raises(IllegalActionError, match="no action to take back"):
        state.undo_action()


def test_what_is_not_legal_changes_nothing(game):
    for state in walk(game, 4):
        before, legal = state.array.tobytes(), set(state.legal_actions())
        wrong = next(action for action in range(-1, 10**6) if action not in legal and action != -1)
        for action in (-1, wrong, 10**12, 1.5, "0", None):
            with pytest.raises(IllegalActionError, match=game.name) as caught:
                state.apply_action(action)
            assert "\n" not in str(caught.value)
        assert state.array.tobytes() == before
    for player in (-1, game.num_players(), True, 0.0, None):
        with pytest.raises(OptionError, match="player"):
            state.observation_tensor(player)


# -------------------------------------------------------------------------------------------------------- other forms


@pytest.mark.parametrize("seed", range(2))
def test_bytes_setups_and_histories_are_the_state(game, seed):
    state = ended(game, seed)
    again = game.from_bytes(state.to_bytes())
    for other in (again, pickle.loads(pickle.dumps(state)), state.clone()):
        assert other.array.tobytes() == state.array.tobytes()
        assert other.history() == state.history()
        assert other.setup() == state.setup()
        assert other.game == game
    setup = json.loads(json.dumps(state.setup()))
    assert setup == state.setup() == game.new_setup(seed)
    replayed = game.from_setup(setup)
    for player, action in state.history():
        assert replayed.current_player() == player
        assert json.loads(json.dumps(replayed.to_dict())) == replayed.to_dict()
        replayed.apply_action(action)
    assert replayed.array.tobytes() == state.array.tobytes()
    with pytest.raises(SetupError, match="checksum"):
        game.from_bytes(state.to_bytes()[:-1] + b"?")


def tried(call):
    """What a call returns, and the text of its `SetupError`; one of them is None."""
    try:
        return call(), None
    except SetupError as error:
        return None, str(error)


def test_positions_and_texts_are_read_back(game):
    """Where a position can start a game, setup and text give it back; elsewhere both say so in a line."""
    positions = texts = 0
    for state in walk(game, 5):
        setup, refusal = tried(state.position_setup)
        if setup is None:
            assert "\n" not in refusal
            continue
        again = game.from_setup(json.loads(json.dumps(setup)))
        assert again.to_dict() == state.to_dict()
        assert again.legal_actions() == state.legal_actions()
        positions += 1
        typed, refusal = tried(lambda text=str(state): game.from_text(text))
        if typed is None:
            assert "\n" not in refusal
            continue
        assert typed.to_dict() == state.to_dict()
        texts += 1
    assert positions > 3
    assert texts > 3


# ------------------------------------------------------------------------------------------------ layout and symmetries


def test_the_layout_covers_the_observation(game):
    layout, end = game.layout(), 0
    for name, (offset, shape) in layout.blocks.items():
        assert offset == end, name
        end += int(np.prod(shape))
        assert all(0 <= column < shape[-1] for column in layout.graded[name])
    assert (end,) == game.observation_tensor_shape()
    assert set(layout.graded) == set(layout.blocks)
    cells, items = layout.blocks["cells"][1][0], sum(layout.blocks[name][1][0] for name in layout.items)
    assert layout.neighbours.shape[0] == cells
    assert -1 <= layout.neighbours.min() <= layout.neighbours.max() < cells
    for table, size in ((layout.action_items, items), (layout.action_cells, cells)):
        assert table.shape == (game.num_distinct_actions(),)
        assert -1 <= table.min() <= table.max() < size
    assert np.all((layout.action_items >= 0) | (layout.action_cells >= 0)), "every action meets something"


def test_a_legal_action_s_item_is_there(game):
    layout = game.layout()
    for state in walk(game, 6):
        if state.current_player() < 0:
            continue
        tensor = state.observation_tensor(state.current_player())
        rows = [
            tensor[offset : offset + int(np.prod(shape))].reshape(shape)[:, 0]
            for offset, shape in (layout.blocks[name] for name in layout.items)
        ]
        there = np.concatenate(rows)
        items = layout.action_items[state.legal_actions()]
        assert (there[items[items >= 0]] == 1).all()


def test_symmetries_are_a_group_of_permutations(game):
    observations, actions = game.symmetries()
    assert observations.shape[1:] == game.observation_tensor_shape()
    assert actions.shape == (len(observations), game.num_distinct_actions())
    for maps in (observations, actions):
        assert np.array_equal(np.sort(maps, axis=1), np.broadcast_to(np.arange(maps.shape[1]), maps.shape))
        assert np.array_equal(maps[0], np.arange(maps.shape[1]))
    together = np.concatenate([observations, observations.shape[1] + actions], axis=1)
    known = {row.tobytes() for row in together}
    assert len(known) == len(together), "no symmetry twice"
    for one in Random(1).sample(range(len(together)), min(6, len(together))):
        for other in together:
            assert other[together[one]].tobytes() in known, "one after the other is another"


# ---------------------------------------------------------------------------------------------------------- information


@pytest.mark.parametrize("seed", range(2))
def test_views_are_what_the_player_knows(game, seed):
    for state in walk(game, seed):
        if len(state.history()) % 4:
            continue
        before = state.to_bytes()
        for player in range(game.num_players()):
            view, again = state.view(player, 7), state.view(player, 7)
            assert (view.array.tobytes(), view.to_bytes()) == (again.array.tobytes(), again.to_bytes())
            string = state.information_state_string(player)
            for other in (view, state.resample_from_infostate(player, 8)):
                assert other.information_state_string(player) == string
                assert np.array_equal(other.observation_tensor(player), state.observation_tensor(player))
                assert other.to_text(player) == state.to_text(player)
                assert other.to_svg(player) == state.to_svg(player)
                assert other.current_player() == state.current_player()
                if state.current_player() == player:
                    assert other.legal_actions() == state.legal_actions()
            if not game.has_hidden_information(state.array, player):
                assert view.to_dict() == state.to_dict()
            told = zip(view.history(), state.history(), strict=True)
            assert all(step == true or step == [CHANCE, None] for step, true in told)
            if state.is_terminal():
                assert np.array_equal(view.returns(), state.returns())
        assert state.to_bytes() == before


@pytest.mark.parametrize("spec", ["aeroliths", "aether", "aether(board=small,players=4,teams=true)"])
def test_views_hide(spec):
    """In games with hidden hands two worlds differ, and neither is the truth."""
    game = load_game(spec)
    state = game.new_initial_state(1)
    for player in range(game.num_players()):
        assert game.has_hidden_information(state.array, player)
        worlds = [state.view(player, seed).to_dict()["hands"] for seed in range(4)]
        for other in range(game.num_players()):
            hands = {str(hands[other]) for hands in worlds}
            assert len(hands) == 1 if other == player else len(hands) > 1


def test_strings_remember_everything(game):
    """Strings of one game are all different, and each begins with the one before it."""
    for player in range(game.num_players()):
        last = ""
        for state in walk(game, 8):
            string = state.information_state_string(player)
            assert string.startswith(last)
            assert string != last
            last = string
