"""Self-play: games of the newest network against itself, with what the search thought of every position."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trilithon.agents import Agent, Analysis, load_agent
from trilithon.core.game import Game, State
from trilithon.core.record import GameRecord
from trilithon.core.registry import load_game
from trilithon.core.rng import categorical, game_streams, stream
from trilithon.core.spec import format_spec
from trilithon.experiments.config import Config
from trilithon.experiments.workers import prepare_worker, use_one_thread

_DEALS, _AGENTS = 2, 3  # keys of a run's streams; the arena has 0 and 1
MAX_SEED = 2**53 - 1


@dataclass(frozen=True)
class Task:
    """Games ``first .. first + count - 1`` of a generation, played in one worker with one checkpoint."""

    config: Config
    game: str  # one of `Config.games`
    checkpoint: str
    generation: int
    first: int
    count: int


def tasks_of(config: Config, checkpoint: str, generation: int) -> list[Task]:
    """Return a generation's tasks, with the option sets in turn; they do not depend on the number of workers."""
    size, specs = config.selfplay.games_per_task, config.games()
    starts = range(0, config.selfplay.games, size)
    tasks = []
    for number, start in enumerate(starts, generation * len(starts)):
        count = min(size, config.selfplay.games - start)
        tasks.append(Task(config, specs[number % len(specs)], checkpoint, generation, start, count))
    return tasks


def agent_spec(config: Config, checkpoint: str) -> str:
    """Return the spec of the agent that plays both sides."""
    options = {"network": checkpoint, **config.selfplay.model_dump()}
    return format_spec("mcts", {k: v for k, v in options.items() if k not in ("games", "games_per_task")})


def play_task(task: Task) -> list[GameRecord]:
    """Play a task's games in lock step and return their records, in order.

    Game k of generation g has its own streams, so its record does not depend on the games beside it or on workers.
    """
    game = load_game(task.game)
    spec = agent_spec(task.config, task.checkpoint)
    agent = load_agent(spec, game)
    games = [_SelfPlayGame(game, task.config.seed, task.generation, task.first + i) for i in range(task.count)]
    while True:
        active = [one for one in games if not one.state.is_terminal()]
        if not active:
            break
        play_actions(agent, active)
    name = f"checkpoint {task.generation}"
    tags = {"generation": task.generation}
    return [
        GameRecord.from_state(
            one.state, agents=[name] * game.num_players(), seed=one.seed, analysis=one.analysis, tags=tags
        )
        for one in games
    ]


class _SelfPlayGame:
    """A game under way, with its generators."""

    def __init__(self, game: Game, seed: int, generation: int, number: int) -> None:
        self.seed = int(stream(seed, _DEALS, generation, number)[0]) & MAX_SEED
        setup, self._chance = game_streams(self.seed)
        self.state: State = game.new_initial_state(setup)
        self.rng = stream(seed, _AGENTS, generation, number)
        self.analysis: list[dict[str, Any] | None] = []
        self.resolve_chance()

    def resolve_chance(self) -> None:
        """Let chance move as long as it is to move."""
        while self.state.is_chance_node():
            outcomes = self.state.chance_outcomes()
            index = categorical(self._chance, np.array([p for _, p in outcomes]), len(outcomes))
            self.state.apply_action(outcomes[index][0])
            self.analysis.append(None)

    def play(self, analysis: Analysis) -> None:
        """Play the analysed action and keep what a network can learn from."""
        self.analysis.append(
            {
                "player": analysis.player,
                "action": analysis.action,
                "values": analysis.values.round(6).tolist(),
                "actions": analysis.actions.tolist(),
                "weights": analysis.weights.round(6).tolist(),
                "visits": analysis.visits.tolist(),
                "nodes": analysis.nodes,
            }
        )
        self.state.apply_action(analysis.action)
        self.resolve_chance()


def play_actions(agent: Agent, games: list[_SelfPlayGame]) -> None:
    """One action in every game."""
    analyses = agent.analyse_batch([one.state for one in games], [one.rng for one in games])
    for one, analysis in zip(games, analyses, strict=True):
        one.play(analysis)


def start_worker() -> None:
    """Prepare a worker process."""
    prepare_worker()
    import torch  # noqa: F401

    use_one_thread()
