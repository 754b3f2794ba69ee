"""Experiment configs: YAML, checked by strict pydantic models; every error names the key's path in one line."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator

from trilithon.core.errors import ConfigError, TrilithonError
from trilithon.core.registry import load_game

MAX_BYTES = 1_000_000


class Section(BaseModel):
    """A part of a config: unknown keys and wrong types are errors, and nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class NetworkConfig(Section):
    """The policy-value network (agents/network.py)."""

    kind: Literal["lattice", "mlp"] = "lattice"
    channels: int = Field(48, ge=8, le=512)
    layers: int = Field(3, ge=0, le=20)


class SelfPlayConfig(Section):
    """How the games to learn from are played: Gumbel MCTS with the newest network."""

    games: int = Field(512, ge=1, le=1_000_000, description="games a generation")
    games_per_task: int = Field(128, ge=1, le=4096, description="games in lock step in one worker")
    simulations: int = Field(32, ge=1, le=100_000)
    max_considered: int = Field(16, ge=1, le=1000)
    c_scale: float = Field(0.1, ge=0, le=100)
    gumbel_scale: float = Field(1.0, ge=0, le=10)
    margin_weight: float = Field(0.1, ge=0, le=1)
    worlds: int = Field(4, ge=1, le=1000, description="sampled worlds where something is hidden")


class TrainingConfig(Section):
    """How the network learns."""

    generations: int = Field(100, ge=1, le=1_000_000)
    minutes: float | None = Field(None, gt=0, le=100_000, description="stop after this time too")
    batch_size: int = Field(512, ge=1, le=65_536)
    passes: float = Field(3.0, gt=0, le=1000, description="times each position is trained on, on average")
    window: int = Field(200_000, ge=1, le=10_000_000, description="positions kept for training")
    learning_rate: float = Field(0.002, gt=0, le=1)
    final_learning_rate: float = Field(0.0001, gt=0, le=1)
    weight_decay: float = Field(0.0001, ge=0, le=1)
    value_mix: float = Field(0.5, ge=0, le=1, description="share of the search's value, beside the lambda-return")
    td_lambda: float = Field(1.0, ge=0, le=1, description="1: the result itself; less: with later searches' values")
    outcome_weight: float = Field(0.5, ge=0, le=100, description="of the loss about how the game ended")
    ema: float = Field(0.995, ge=0, lt=1, description="decay of the averaged weights that play")
    threads: int = Field(1, ge=1, le=64)
    benchmark: str | None = Field(None, description="labelled positions on which the network alone is measured")
    benchmark_every: int = Field(5, ge=1, le=1_000_000, description="generations between two measurements")


class PPOConfig(Section):
    """How proximal policy optimisation plays and learns (`algorithm: ppo`)."""

    games: int = Field(512, ge=1, le=65_536, description="in lock step, all groups together")
    steps: int = Field(36, ge=1, le=100_000, description="actions in each of them a generation")
    groups: int = Field(2, ge=1, le=64, description="parts of the games and of a batch; so many workers can help")
    epochs: int = Field(2, ge=1, le=100, description="times each decision is trained on")
    clip: float = Field(0.2, gt=0, lt=1, description="of the ratio of new to old probability")
    gae_lambda: float = Field(0.9, ge=0, le=1)
    entropy: float = Field(0.02, ge=0, le=10, description="weight of the policy's entropy at first")
    final_entropy: float = Field(0.002, ge=0, le=10, description="and at last")
    magnet: float = Field(0.0, ge=0, le=10, description="weight of the divergence from the averaged network")
    margin_weight: float = Field(0.1, ge=0, le=1, description="share of the final margin in what is played for")
    value_weight: float = Field(0.5, ge=0, le=100, description="of the value's error against the lambda-return")
    pool_share: float = Field(0.2, ge=0, le=1, description="of the games, in which the others are a past checkpoint")
    pool_size: int = Field(10, ge=1, le=1000, description="past checkpoints kept")
    pool_every: int = Field(20, ge=1, le=1_000_000, description="generations between two of them")

    @model_validator(mode="after")
    def _whole_groups(self) -> "PPOConfig":
        if self.games % self.groups:
            raise ConfigError(f"games = {self.games} cannot be split into groups = {self.groups} of one size")
        return self


class RatingConfig(Section):
    """The table at the end: every agent against every opponent, both seats of the same deals."""

    deals: int = Field(200, ge=0, le=1_000_000)
    simulations: int = Field(64, ge=1, le=100_000)
    root: Literal["gumbel", "puct"] = "gumbel"
    max_considered: int = Field(16, ge=1, le=1000)
    c_scale: float = Field(0.1, ge=0, le=100)
    margin_weight: float = Field(0.05, ge=0, le=1)
    worlds: int = Field(8, ge=1, le=1000, description="sampled worlds where something is hidden")
    opponents: list[str] = ["uniform", "greedy"]


class Config(Section):
    """A whole experiment."""

    name: str = Field("experiment", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,60}$")
    game: str
    variants: list[str] = Field([], max_length=64, description="other option sets that the same network learns")
    algorithm: Literal["alphazero", "ppo"] = "alphazero"
    seed: int = Field(0, ge=0, lt=2**63)
    workers: int = Field(1, ge=1, le=256, description="self-play processes beside the training one")
    network: NetworkConfig = NetworkConfig()
    selfplay: SelfPlayConfig = SelfPlayConfig()
    training: TrainingConfig = TrainingConfig()
    ppo: PPOConfig = PPOConfig()
    rating: RatingConfig = RatingConfig()

    @field_validator("game")
    @classmethod
    def _known_game(cls, spec: str) -> str:
        game = load_game(spec)
        game.new_setup(0)  # hands that only a setup can give cannot be trained on
        return str(game)

    @field_validator("variants")
    @classmethod
    def _known_variants(cls, specs: list[str], info: ValidationInfo) -> list[str]:
        variants = [cls._known_game(spec) for spec in specs]
        main = info.data.get("game", "")
        for spec in variants:
            if load_game(spec).name != main.partition("(")[0]:
                raise ConfigError(f"{spec} is another game than {main}")
        if len({main, *variants}) <= len(variants):
            raise ConfigError(f"{variants} name an option set twice, or the game itself")
        return variants

    def games(self) -> list[str]:
        """The specs that are learned: the game, then the variants."""
        return [self.game, *self.variants]

    @field_validator("algorithm")
    @classmethod
    def _learns_variants(cls, algorithm: str, info: ValidationInfo) -> str:
        if algorithm == "ppo" and info.data.get("variants"):
            raise ConfigError("ppo learns one option set; variants are for alphazero")
        return algorithm

    @field_validator("training")
    @classmethod
    def _known_benchmark(cls, training: TrainingConfig, info: ValidationInfo) -> TrainingConfig:
        if training.benchmark is not None:
            from trilithon.experiments.labelled import load_benchmark

            positions = load_benchmark(training.benchmark)
            name = str(info.data.get("game", "")).partition("(")[0]
            if positions.game.name != name:
                raise ConfigError(f"the benchmark {training.benchmark!r} is of {positions.game.name}, not of {name}")
        return training

    @field_validator("rating")
    @classmethod
    def _known_opponents(cls, rating: RatingConfig) -> RatingConfig:
        from trilithon.agents import load_agent

        for spec in rating.opponents:
            load_agent(spec)
        if len(set(rating.opponents)) < len(rating.opponents):
            raise ConfigError(f"opponents {rating.opponents} name an agent twice")
        return rating


class _Loader(yaml.SafeLoader):
    """YAML without aliases (no bombs) and without repeated keys."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise ConfigError("aliases (*name) are not allowed")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str) and key in seen:
                raise ConfigError(f"line {key_node.start_mark.line + 1}: the key {key!r} stands twice")
            seen.add(key if isinstance(key, str) else None)
        return super().construct_mapping(node, deep)


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read a config and apply ``key.path=value`` overrides; `ConfigError` names the file and the key's path."""
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"config {str(path)!r}: more than {MAX_BYTES} bytes")
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a UTF-8 text"
        raise ConfigError(f"config {str(path)!r}: {reason}") from None
    content = parse_yaml(text, f"config {str(path)!r}")
    if not isinstance(content, dict):
        raise ConfigError(f"config {str(path)!r}: must hold keys and values, not {content!r:.40}")
    content.setdefault("name", path.stem)
    for override in overrides:
        _override(content, override)
    return make_config(content, f"config {str(path)!r}")


def make_config(content: Any, where: str) -> Config:
    """Validate a config's content."""
    try:
        return Config.model_validate(content)
    except ValidationError as error:
        raise ConfigError(f"{where}: {_first_error(error)}") from None


def dump_config(config: Config) -> str:
    """Return the whole config, defaults included, as YAML that `load_config` reads back."""
    return yaml.safe_dump(config.model_dump(), sort_keys=False)


def parse_yaml(text: str, where: str) -> Any:
    """Read YAML safely: plain data alone, no aliases, no repeated keys, finite depth."""
    try:
        loader = _Loader(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    except RecursionError:
        raise ConfigError(f"{where}: nested too deep") from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise ConfigError(f"{where}: {line}{problem}") from None


def _override(content: dict[str, Any], override: str) -> None:
    """Set one ``key.path=value``; the value is read as YAML."""
    path, equals, text = override.partition("=")
    if not equals or not path.strip():
        raise ConfigError(f"override {override!r:.60}: write key.path=value")
    value = parse_yaml(text, f"override {override!r:.60}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"override {override!r:.60}: not a finite number")
    *parents, last = path.strip().split(".")
    section: Any = content
    for key in parents:
        section = section.setdefault(key, {})
        if not isinstance(section, dict):
            raise ConfigError(f"override {override!r:.60}: {key!r} is not a section")
    section[last] = value


def _first_error(error: ValidationError) -> str:
    """One line for the first thing that is wrong: the key's path, the value, what is allowed."""
    first = error.errors()[0]
    path = ".".join(str(part) for part in first["loc"]) or "config"
    if first["type"] == "extra_forbidden":
        return f"{path}: unknown key; allowed: {', '.join(_allowed_keys(first['loc']))}"
    if first["type"] == "missing":
        return f"{path}: this key is missing"
    cause = (first.get("ctx") or {}).get("error")
    if isinstance(cause, TrilithonError):
        return f"{path}: {cause}"
    message = str(first["msg"]).removeprefix("Value error, ")
    return f"{path} = {first['input']!r:.60}: {message[0].lower()}{message[1:]}"


def _allowed_keys(location: Sequence[Any]) -> list[str]:
    """The keys of the section that an unknown key stands in."""
    model: Any = Config
    for part in location[:-1]:
        model = model.model_fields[part].annotation
    return list(model.model_fields)
