"""The Selenolyth as networks see it: the observation, its layout and its symmetries."""

from itertools import product

import numpy as np
import pytest

from trilithon.core import CHANCE, load_game

SIZE = 248


def walks(count, seed=0, **options):
    game = load_game("selenolyth", **options)
    generator = np.random.default_rng(seed)
    for number in range(count):
        state = game.new_initial_state(number)
        yield state
        while not state.is_terminal():
            state.apply_action(int(generator.choice(state.legal_actions())))
            yield state


def blocks(state, player):
    """The observation by block."""
    tensor = state.observation_tensor(player)
    layout = state.game.layout()
    return {name: tensor[at : at + int(np.prod(shape))].reshape(shape) for name, (at, shape) in layout.blocks.items()}


def test_blocks_fill_the_vector():
    game = load_game("selenolyth")
    layout = game.layout()
    ends = [0]
    for offset, shape in layout.blocks.values():
        assert offset == ends[-1]
        ends.append(offset + int(np.prod(shape)))
    assert game.observation_tensor_shape() == (ends[-1],) == (SIZE,)


def test_what_the_numbers_mean():
    for state in walks(12, max_turns=40, eclipse_value=4):
        position = state.to_dict()
        board = np.array(position["occupied"])
        for player in (0, 1):
            seen = blocks(state, player)
            own = board if player == 0 else board[::-1]
            assert np.array_equal(seen["cells"][:36, 0], own)
            assert not seen["cells"][:36, 1:].any()
            files = own.reshape(6, 6).sum(0)
            np.testing.assert_allclose(seen["cells"][36:, 0], files / 6, rtol=1e-6)
            assert (seen["cells"][36:, 1] == 1).all()
            assert np.array_equal(seen["cells"][36:, 2], files == 5)
            mover, pending = int(state.array["mover"][0]), int(state.array["pending"][0])
            file = int(state.array["pending_file"][0])
            marked = np.flatnonzero(seen["cells"][36:, 3]).tolist()
            assert marked == ([] if pending < 0 else [file if mover == player else 5 - file])
            for way, kind in product(range(2), range(3)):
                left = position["reserve"][player][kind]
                there = left > 0 and (way == 0 or bool((files == 5).any()))
                expected = [1, *np.eye(3)[kind], way, left / 18] if there else [0] * 6
                np.testing.assert_allclose(seen["own_reserve"][way * 3 + kind], expected, rtol=1e-6)
            for kind in range(3):
                left = position["reserve"][1 - player][kind]
                expected = [1, *np.eye(3)[kind], left / 18] if left else [0] * 5
                np.testing.assert_allclose(seen["other_reserve"][kind], expected, rtol=1e-6)
            np.testing.assert_allclose(seen["options"], options_of(state, player), rtol=1e-5, atol=1e-7)


def options_of(state, player):
    """The options block in plain words."""
    position, turns = state.to_dict(), int(state.array["turns"][0])
    mover, pending, phase = int(state.array["mover"][0]), int(state.array["pending"][0]), position["phase"]
    numbers = [position["player"] == player, mover == player]
    numbers += [phase == name for name in ("roll", "ricochet", "ended")]
    numbers += [pending == kind for kind in range(3)]
    for owner in (player, 1 - player):
        points = position["luminance"][owner]
        numbers += [points / 20, *(9 - points <= gain for gain in (1, 2, 3, 4))]
        numbers.append(min(sum(position["reserve"][owner]), 10) / 10)
    left = 40 - turns
    return [
        *map(float, numbers),
        left / 9999,
        left / 40,
        min(left, 20) / 20,
        4 / 9,
        40 / 9999,
        9 / 16,
        14 / 18,
        1 / 9,
        1 / 9,
    ]


def test_numbers_stay_within_bounds_under_every_option():
    extremes = [
        {"luminance_goal": 16, "diox": 18, "orthos": 18, "selenolyths": 18, "eclipse_value": 9, "max_turns": 9999},
        {"luminance_goal": 1, "diox": 1, "orthos": 0, "selenolyths": 0, "eclipse_value": 1, "max_turns": 1},
        {},
    ]
    views = []
    for options in extremes:
        for state in walks(15, **options):
            for player in (0, 1):
                tensor = state.observation_tensor(player)
                assert tensor.dtype == np.float32
                assert (tensor >= -1).all()
                assert (tensor <= 1).all()
        views.append(load_game("selenolyth", first_player=0, **options).new_initial_state(0).observation_tensor(0))
    for name, value in {"eclipse_value": 3, "max_turns": 400, "luminance_goal": 8, "diox": 3, "orthos": 1}.items():
        views.append(
            load_game("selenolyth", first_player=0, **{name: value}).new_initial_state(0).observation_tensor(0)
        )
    assert len({view.tobytes() for view in views}) == len(views), "every option shows"


def test_the_layout_says_which_action_meets_what():
    """An action's item is the way to bring its stone in, its cell the file's row or the cell it names."""
    layout = load_game("selenolyth").layout()
    for state in walks(8):
        if state.current_player() == CHANCE or state.is_terminal():
            continue
        seen = blocks(state, state.current_player())
        for action in range(72):
            item, cell = layout.action_items[action], layout.action_cells[action]
            if action >= 36:
                assert (item, cell) == (-1, action - 36)
                if action in state.legal_actions():
                    assert seen["cells"][cell, 0] == 0
                continue
            assert cell == 36 + action % 6
            assert seen["cells"][cell, 1] == 1
            if action in state.legal_actions():
                assert seen["own_reserve"][item, 0] == 1
                assert np.argmax(seen["own_reserve"][item, 1:4]) == action % 18 // 6
                assert seen["own_reserve"][item, 4] == (action >= 18)


def test_neighbours_on_the_lattice():
    neighbours = load_game("selenolyth").layout().neighbours
    assert neighbours.shape == (42, 9)
    for cell in range(36):
        rank, file = divmod(cell, 6)
        around = {
            (rank + up) * 6 + file + right
            for up, right in product((-1, 0, 1), repeat=2)
            if (up or right) and 0 <= rank + up < 6 and 0 <= file + right < 6
        }
        assert set(neighbours[cell, :8].tolist()) - {-1} == around
        assert neighbours[cell, 8] == 36 + file
        for direction in range(8):
            other = neighbours[cell, direction]
            assert other < 0 or neighbours[other, (direction + 4) % 8] == cell
    for file in range(6):
        row = neighbours[36 + file]
        assert row[:6].tolist() == [file + 6 * rank for rank in range(6)]
        assert row[6] == (36 + file - 1 if file else -1)
        assert row[7] == (36 + file + 1 if file < 5 else -1)


@pytest.mark.parametrize("g", range(4))
def test_symmetries_map_observation_and_actions_together(g):
    """A mirrored game observes what the map says, and mapped actions lead to mapped positions."""
    game = load_game("selenolyth(max_turns=60)")
    observation_maps, action_maps = game.symmetries()
    assert observation_maps.shape == (4, SIZE)
    assert action_maps.shape == (4, 72)
    assert (observation_maps[0] == np.arange(SIZE)).all()
    assert (action_maps[0] == np.arange(72)).all()
    near_far = g >= 2
    old_to_new = np.argsort(action_maps[g])
    generator = np.random.default_rng(g)
    for seed in range(25):
        state, mirrored = (game.new_initial_state(seed) for _ in range(2))
        while True:
            for player in (0, 1):
                mapped = state.observation_tensor(player)[observation_maps[g]]
                np.testing.assert_array_equal(mapped, mirrored.observation_tensor(player))
            mask = state.legal_actions_mask()[action_maps[g]]
            np.testing.assert_array_equal(mask, mirrored.legal_actions_mask())
            np.testing.assert_array_equal(state.returns(), mirrored.returns())
            if state.is_terminal():
                break
            action = int(generator.choice(state.legal_actions()))
            # The ranks of the die are all as likely, so that near and far can be exchanged.
            new = (5 - action if near_far else action) if state.is_chance_node() else int(old_to_new[action])
            state.apply_action(action)
            mirrored.apply_action(new)
