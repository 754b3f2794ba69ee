"""The rating at the end of a run: the trained agent, its network alone and the untrained search, on unseen deals."""

import os
from typing import Any

from tqdm import tqdm

from trilithon.core.spec import format_spec
from trilithon.experiments.arena import number_of_games, play_event
from trilithon.experiments.config import Config
from trilithon.experiments.ratings import rating_table
from trilithon.experiments.run import RunFolder

_SEED_SHIFT = 1_000_003  # rating deals come from another seed than self-play's


def rate_run(run: RunFolder, config: Config, quiet: bool = False) -> str:
    """Play every line of the table on `rating.deals` deals, both seats, write ``ratings.json``; return the table."""
    from trilithon.agents.checkpoint import find_checkpoint
    from trilithon.core.registry import load_game

    rating = config.rating
    newest = os.path.relpath(find_checkpoint(run.path).with_suffix(".safetensors"))
    first = os.path.relpath(run.checkpoints / "000000.safetensors")
    search = {"simulations": rating.simulations, "root": rating.root, "margin_weight": rating.margin_weight}
    lines = {
        f"trained, {rating.simulations} simulations": format_spec("mcts", {**search, "network": newest}),
        "trained, network alone": format_spec("policy", {"network": newest}),
        f"untrained, {rating.simulations} simulations": format_spec("mcts", {**search, "network": first}),
    }
    game = load_game(config.game)
    total = len(lines) * number_of_games(game, 1 + len(rating.opponents), rating.deals, gauntlet=True)
    pairs: list[Any] = []
    with tqdm(total=total, desc="rating", unit="game", disable=True if quiet else None) as bar:
        for spec in lines.values():
            agents = [spec, *rating.opponents]
            seed = config.seed + _SEED_SHIFT
            result = play_event(
                game,
                agents,
                rating.deals,
                seed,
                gauntlet=True,
                workers=config.workers,
                strict=True,
                progress=bar.update,
            )
            pairs += result.pairs()
    table = rating_table(pairs, {spec: name for name, spec in lines.items()})
    run.write_ratings({"game": str(game), "deals": rating.deals, "pairs": [pair.to_dict() for pair in pairs]})
    if not quiet:
        print(table)
    return table
