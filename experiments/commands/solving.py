"""`trilithon solve`: the exact value of a position and of every action in it."""

import argparse

from trilithon.agents.solve import DEFAULT_LIMIT, Solution
from trilithon.agents.solve import solve as solve_exactly
from trilithon.core.errors import OptionError, RecordError, TrilithonError
from trilithon.core.game import State
from trilithon.core.registry import load_game
from trilithon.experiments.cli import print_json
from trilithon.experiments.commands.looking import read_any, read_setup


def solve(arguments: argparse.Namespace) -> None:
    """Solve a game's start, a setup, or a step of a recorded game, perhaps some actions later."""
    state = _from_record(arguments) if arguments.step is not None else _from_game(arguments)
    for text in filter(None, map(str.strip, (arguments.actions or "").split(","))):
        state.apply_action(state.string_to_action(text))
    solution = solve_exactly(state, arguments.limit or DEFAULT_LIMIT, arguments.objective)
    if arguments.json:
        print_json(solution.to_dict())
    else:
        _print(state, solution)


def _from_game(arguments: argparse.Namespace) -> State:
    """The start of a seed (0 unless told), or a setup."""
    if arguments.number is not None:
        raise OptionError("solve: --game N is a game of a file of records; give --step K with it")
    game = load_game(arguments.position)
    if arguments.setup is None:
        return game.new_initial_state(arguments.seed or 0)
    if arguments.seed is not None:
        raise OptionError("solve: --seed and --setup both say where to start; give one of them")
    return game.from_setup(read_setup(arguments.setup))


def _from_record(arguments: argparse.Namespace) -> State:
    """The position in which a recorded step was taken."""
    if arguments.seed is not None or arguments.setup is not None:
        raise OptionError("solve: --step says where in a record to start; give neither --seed nor --setup with it")
    records, number, step = read_any(arguments.position), arguments.number or 1, arguments.step
    where = f"{arguments.position!r}, game {number}"
    if number > len(records):
        raise RecordError(f"{arguments.position!r} holds {len(records)} games; there is no game {number}")
    record = records[number - 1]
    if step >= len(record.steps):
        raise RecordError(f"{where}: the last step is {len(record.steps) - 1}; there is no step {step}")
    try:
        state = record.initial_state()
    except TrilithonError as error:
        raise RecordError(f"{where}: {error}") from None
    for i, (_, action) in enumerate(record.steps[:step]):
        try:
            state.apply_action(action)
        except TrilithonError as error:
            raise RecordError(f"{where}: step {i}: {error}") from None
    return state


def _print(state: State, solution: Solution) -> None:
    """A headline, the actions, the best first, and the line of best play."""
    unit = state.game.margin_unit()[1]
    values = ", ".join(f"player {i} {value:+.6g}" for i, value in enumerate(solution.values))
    lead = "" if solution.difference is None else f"; final difference {solution.difference:+.6g} {unit}"
    who = "chance" if state.is_chance_node() else f"player {state.current_player()}"
    print(f"{state.game}, {who} to act: {values}{lead}")
    if solution.action_values:
        _print_actions(state, solution)
        texts, line = [], state.clone()
        for action in solution.principal_variation:
            texts.append(line.action_to_string(action))
            line.apply_action(action)
        print(f"best play: {', '.join(texts)}{'' if line.is_terminal() else ' ...'}")
    print(f"{solution.nodes:,} nodes, {solution.seconds:.3f} seconds")


def _print_actions(state: State, solution: Solution) -> None:
    """One line an action; a star marks the best ones."""
    player = state.current_player()
    best = set(solution.best_actions)

    def rank(action: int) -> tuple[bool, float, float]:
        values, lead = solution.action_values[action]
        return action not in best, -values[player], -(lead or 0.0)

    texts = {action: state.action_to_string(action) for action in solution.action_values}
    width = max(map(len, [*texts.values(), "action"]))
    leads = solution.difference is not None
    print(f"  {'action':<{width}}  {'value':>9}{'  difference' if leads else ''}")
    for action in sorted(solution.action_values, key=rank):
        values, lead = solution.action_values[action]
        mark = "*" if action in best else " "
        print(f"{mark} {texts[action]:<{width}}  {values[player]:>+9.6f}{f'  {lead:>+10.4g}' if leads else ''}")
