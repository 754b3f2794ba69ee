"""The rating at the end of a run: the trained agent, its network alone and the untrained search, on unseen deals.

Against one opponent the table shows scores. In games of more players all others are copies of the opponent (in teams
the other two), and the table shows the share of wins and how many times the fair share that is.
"""

import os
from typing import Any

from tqdm import tqdm

from trilithon.core.spec import format_spec
from trilithon.experiments.arena import number_of_games, play_event
from trilithon.experiments.config import Config
from trilithon.experiments.ratings import rating_table
from trilithon.experiments.run import RunFolder
from trilithon.experiments.shares import share_table

_SEED_SHIFT = 1_000_003  # rating deals come from another seed than self-play's


def rate_run(run: RunFolder, config: Config, quiet: bool = False) -> str:
    """Play every line of the table on `rating.deals` deals, all seats, write ``ratings.json``; return the table."""
    from trilithon.agents.checkpoint import find_checkpoint
    from trilithon.core.registry import load_game

    rating = config.rating
    newest = os.path.relpath(find_checkpoint(run.path).with_suffix(".safetensors"))
    first = os.path.relpath(run.checkpoints / "000000.safetensors")
    search = rating.model_dump(exclude={"deals", "opponents"})
    lines = {
        f"trained, {rating.simulations} simulations": format_spec("mcts", {**search, "network": newest}),
        "trained, network alone": format_spec("policy", {"network": newest}),
        f"untrained, {rating.simulations} simulations": format_spec("mcts", {**search, "network": first}),
    }
    games = [load_game(spec) for spec in config.games()]
    total = sum(number_of_games(game, 1 + len(rating.opponents), rating.deals, gauntlet=True) for game in games)
    names = {spec: name for name, spec in lines.items()}
    tables: list[str] = []
    facts: list[dict[str, Any]] = []
    with tqdm(total=len(lines) * total, desc="rating", unit="game", disable=True if quiet else None) as bar:
        for game in games:
            results: list[Any] = []
            several = game.num_players() > 2
            for spec in lines.values():
                result = play_event(
                    game,
                    [spec, *rating.opponents],
                    rating.deals,
                    config.seed + _SEED_SHIFT,
                    gauntlet=True,
                    workers=config.workers,
                    strict=True,
                    progress=bar.update,
                )
                results += result.shares() if several else result.pairs()
            table = share_table(results, names) if several else rating_table(results, names)
            tables.append(f"{game}\n{table}" if config.variants else table)
            kind = "shares" if several else "pairs"
            facts.append({"game": str(game), "deals": rating.deals, kind: [one.to_dict() for one in results]})
    run.write_ratings(facts[0] | ({"variants": facts[1:]} if config.variants else {}))
    text = "\n\n".join(tables)
    if not quiet:
        print(text)
    return text
