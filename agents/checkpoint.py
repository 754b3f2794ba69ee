"""Checkpoints: weights as safetensors beside a JSON card that says what they are. No pickle.

``000012.safetensors`` and ``000012.json`` lie in a run's ``checkpoints/``. The card is written last and holds the
weights' SHA-256, so a checkpoint without a card, or with another digest, is not whole.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trilithon.core.errors import CheckpointError, TrilithonError
from trilithon.core.files import write_whole
from trilithon.core.game import Game
from trilithon.core.registry import load_game

if TYPE_CHECKING:
    import torch

VERSION = 1
MAX_CARD_BYTES = 1_000_000
MAX_WEIGHTS_BYTES = 1_000_000_000
_CARD_FIELDS = {"version": int, "game": str, "network": dict, "sha256": str}
_loaded: dict[tuple[str, str, str], "torch.nn.Module"] = {}


def save_checkpoint(
    base: str | Path, game: Game, network: "torch.nn.Module", settings: Mapping[str, Any], **facts: Any
) -> Path:
    """Write ``BASE.safetensors`` and then ``BASE.json``; return the card's path.

    `settings` are the network's (`build_network`); `facts` (generation, seconds, ...) go into the card.
    """
    from safetensors.torch import save

    base = Path(base)
    weights = save({name: tensor.contiguous() for name, tensor in network.state_dict().items()})
    write_whole(base.with_suffix(".safetensors"), weights)
    card = {
        "version": VERSION,
        "game": str(game),
        "network": dict(settings),
        "sha256": hashlib.sha256(weights).hexdigest(),
        **facts,
    }
    return write_whole(base.with_suffix(".json"), json.dumps(card, indent=1) + "\n")


def build_network(game: Game, settings: Mapping[str, Any]) -> "torch.nn.Module":
    """Return a network with fresh weights; `settings` hold ``channels``, ``layers`` and perhaps ``kind``."""
    from trilithon.agents.network import NETWORKS

    kind = settings.get("kind", "lattice")
    if not isinstance(kind, str) or kind not in NETWORKS:
        raise CheckpointError(f"network kind {kind!r:.40} is not known; allowed: {', '.join(NETWORKS)}")
    channels, layers = settings.get("channels"), settings.get("layers")
    if not (type(channels) is int and 1 <= channels <= 1024 and type(layers) is int and 0 <= layers <= 64):
        raise CheckpointError(f"network settings {dict(settings)!r:.80} need channels 1..1024 and layers 0..64")
    return NETWORKS[kind](game, channels, layers)


def find_checkpoint(path: str | Path) -> Path:
    """Return a checkpoint's card: of a card, weights, their common stem, or a run folder (its newest whole one)."""
    path = Path(path)
    if path.is_dir():
        folder = path / "checkpoints" if (path / "checkpoints").is_dir() else path
        cards = sorted(folder.glob("[0-9]*.json"), reverse=True)
        for card in cards:
            try:
                read_checkpoint(card)
                return card
            except CheckpointError:
                continue
        raise CheckpointError(f"{str(path)!r} holds no whole checkpoint (a card NNNNNN.json beside its weights)")
    card = path if path.suffix == ".json" else path.with_name(path.name.removesuffix(".safetensors") + ".json")
    if not card.is_file():
        raise CheckpointError(f"{str(path)!r}: there is no checkpoint (a card NNNNNN.json beside its weights)")
    return card


def read_card(card: Path) -> dict[str, Any]:
    """Read and check a card; `CheckpointError` says what is wrong."""
    try:
        if card.stat().st_size > MAX_CARD_BYTES:
            raise CheckpointError(f"{str(card)!r}: a card of more than {MAX_CARD_BYTES} bytes")
        content = json.loads(card.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, TrilithonError):
            raise
        raise CheckpointError(f"{str(card)!r}: not a checkpoint's card") from None
    if not isinstance(content, dict) or any(
        not isinstance(content.get(name), kind) for name, kind in _CARD_FIELDS.items()
    ):
        raise CheckpointError(f"{str(card)!r}: a card holds {', '.join(_CARD_FIELDS)}")
    if content["version"] != VERSION:
        raise CheckpointError(f"{str(card)!r}: version {content['version']} is not known; this program reads {VERSION}")
    return content


def read_checkpoint(card: Path) -> tuple[dict[str, Any], bytes]:
    """Return a checkpoint's card and its weights' bytes, whose digest is right."""
    content = read_card(card)
    file = card.with_suffix(".safetensors")
    try:
        if file.stat().st_size > MAX_WEIGHTS_BYTES:
            raise CheckpointError(f"{str(file)!r}: weights of more than {MAX_WEIGHTS_BYTES} bytes")
        weights = file.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{str(file)!r}: {error.strerror or error}") from None
    if hashlib.sha256(weights).hexdigest() != content["sha256"]:
        raise CheckpointError(f"{str(file)!r} is damaged: its digest is not the card's")
    return content, weights


def load_network(path: str | Path, game: Game) -> "torch.nn.Module":
    """Return the network of a checkpoint, ready for `game`; `CheckpointError` where it is damaged or does not fit.

    A network fits every option set of its game for which a network of its settings has weights of the same shapes: a
    lattice network all whose games end in the same ways, a perceptron those with the same observation and actions. How
    well it plays options that it was not trained on is another matter.
    """
    card = find_checkpoint(path)
    content, weights = read_checkpoint(card)
    key = (str(card.resolve()), content["sha256"], str(game))
    if key not in _loaded:
        _check_game(card, content["game"], game)
        network = build_network(game, content["network"])
        trained = content["game"]
        misfit = f"{str(card)!r} was trained for {trained:.80}; its network does not fit {game}"
        load_weights(network, weights, str(card), None if trained == str(game) else misfit)
        if len(_loaded) > 8:
            _loaded.clear()
        _loaded[key] = network.eval()
    return _loaded[key]


def load_weights(module: "torch.nn.Module", weights: bytes, where: str, misfit: str | None = None) -> None:
    """Fill a module from safetensors bytes; names and shapes are compared before anything is allocated.

    `misfit` is what to say where those are not the module's.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    wanted = {name: list(tensor.shape) for name, tensor in module.state_dict().items()}
    try:
        if _declared_shapes(weights) != wanted:
            misfit = misfit or f"{where!r}: the weights' names or shapes are not those of the network in the card"
            raise CheckpointError(misfit)
        module.load_state_dict(load(weights))
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, TrilithonError):
            raise
        raise CheckpointError(f"{where!r}: the weights are damaged") from None


def _declared_shapes(weights: bytes) -> dict[str, list[int]]:
    """Names and shapes that a safetensors header declares."""
    length = int.from_bytes(weights[:8], "little")
    if not 2 <= length <= min(len(weights) - 8, 10_000_000):
        raise ValueError("header")
    header = json.loads(weights[8 : 8 + length])
    return {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}


def _check_game(card: Path, spec: str, game: Game) -> None:
    try:
        trained = load_game(spec)
    except TrilithonError:
        trained = None
    if trained is None or trained.name != game.name:
        raise CheckpointError(f"{str(card)!r} was trained for {spec:.80}; its network does not fit {game}")
