"""The policy-value network: items meet cells on the game's lattice.

Built from `Game.layout` alone. Cells and items (hand slots, pool) are encoded, amounts as thermometer bits; a few
rounds of messages along the lattice mix the cells with each other and with the pooled items; the logit of an action is
a scaled dot product of its item's query and its cell's key plus a small network on what the action does at once. So the
policy is equal under permuted hand slots by construction. The value is a distribution over the ways the game can end,
from which returns are computed, and each player's final margin.

No weight's shape depends on the size of the board or of a hand, so one set of weights plays every option set of a game
whose blocks have the same columns and whose games end in the same ways (`share_weights`): the options are inputs.
"""

import math

import numpy as np
import torch
from torch import Tensor, nn

from trilithon.core.game import Game

STEPS = 9  # thermometer bits of an amount: x > 0.05, 0.15, ...
NUM_ACTION_FEATURES = 5  # see evaluator.action_features


class ItemCellNetwork(nn.Module):
    """Inputs: observation float32 ``[B, O]``, action features float32 ``[B, A, 5]``, legal mask bool ``[B, A]``.

    Outputs: policy logits ``[B, A]`` (illegal: -1e9), outcome logits ``[B, K]``, margins ``[B, n]`` in (-1, 1), both
    from the observer's side (own first, then clockwise).
    """

    neighbours: Tensor
    action_items: Tensor
    action_cells: Tensor
    pairs: Tensor
    thresholds: Tensor

    def __init__(self, game: Game, channels: int = 48, layers: int = 3) -> None:
        super().__init__()
        layout = game.layout()
        # Blocks without rows (no pool, say) keep their weights: other options of the game have some.
        self.blocks = {name: block for name, block in layout.blocks.items() if block[1][-1] > 0}
        self.graded = {name: list(layout.graded.get(name, ())) for name in self.blocks}
        self.items = [name for name in layout.items if name in self.blocks]
        self.other_items = [
            n for n, (_, s) in self.blocks.items() if len(s) == 2 and n != "cells" and n not in self.items
        ]
        self.flat = [name for name, (_, shape) in self.blocks.items() if len(shape) == 1]
        width = {name: shape[-1] + STEPS * len(self.graded[name]) for name, (_, shape) in self.blocks.items()}
        pooled = [*self.items, *self.other_items]
        self.encoders = nn.ModuleDict()
        for name in ["cells", *pooled]:
            self.encoders[name] = nn.Sequential(
                nn.Linear(width[name], channels), nn.ReLU(), nn.Linear(channels, channels), nn.ReLU()
            )
        self.context = nn.Linear(sum(width[name] for name in self.flat) + 2 * channels * len(pooled), channels)
        neighbours = layout.neighbours.astype(np.int64)
        cells = len(neighbours)
        self.register_buffer("neighbours", torch.from_numpy(np.where(neighbours < 0, cells, neighbours)), False)
        degree = neighbours.shape[1]
        self.mix_cells = nn.ModuleList(nn.Linear((1 + degree) * channels, channels) for _ in range(layers))
        self.mix_context = nn.ModuleList(nn.Linear(channels, channels) for _ in range(layers))
        self.query = nn.Linear(2 * channels, channels)
        self.key = nn.Linear(channels, channels)
        self.item_logit = nn.Linear(channels, 1)
        self.cell_logit = nn.Linear(channels, 1)
        self.action_logit = ActionLogit(game)
        self.head = nn.Sequential(nn.Linear(3 * channels, 2 * channels), nn.ReLU())
        self.outcome = nn.Linear(2 * channels, len(game.outcomes()))
        self.margin = nn.Linear(2 * channels, game.num_players())
        # An action without an item (or cell) reads the row (or column) of zeros behind the last one.
        num_items = sum(self.blocks[name][1][0] for name in self.items)
        item = np.where(layout.action_items < 0, num_items, layout.action_items)
        cell = np.where(layout.action_cells < 0, cells, layout.action_cells)
        self.register_buffer("action_items", torch.from_numpy(item.astype(np.int64)), False)
        self.register_buffer("action_cells", torch.from_numpy(cell.astype(np.int64)), False)
        self.register_buffer("pairs", torch.from_numpy((item * (cells + 1) + cell).astype(np.int64)), False)
        self.register_buffer("thresholds", torch.arange(STEPS, dtype=torch.float32) / 10 + 0.05, False)
        with torch.no_grad():
            for layer in (self.outcome, self.margin):
                layer.weight.mul_(0.1)

    def _block(self, observation: Tensor, name: str) -> Tensor:
        """A block of the observation with thermometer bits of its amounts behind it."""
        offset, shape = self.blocks[name]
        block = observation[:, offset : offset + math.prod(shape)].reshape(-1, *shape)
        if not self.graded[name]:
            return block
        bits = (block[..., self.graded[name]].unsqueeze(-1) > self.thresholds).to(block.dtype)
        return torch.cat([block, bits.flatten(-2)], dim=-1)

    def forward(self, observation: Tensor, action_features: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """See the class."""
        encoded, pooled = {}, [self._block(observation, name) for name in self.flat]
        for name in [*self.items, *self.other_items]:
            rows, channels = self.blocks[name][1][0], self.key.out_features
            if not rows:
                encoded[name] = observation.new_zeros(len(observation), 0, channels)
                pooled.append(observation.new_zeros(len(observation), 2 * channels))
                continue
            block = self._block(observation, name)
            present = block[..., :1]
            encoded[name] = self.encoders[name](block) * present
            pooled.append(encoded[name].sum(1) / present.sum(1).clamp(min=1.0))
            pooled.append(encoded[name].amax(1))
        context = torch.relu(self.context(torch.cat(pooled, dim=-1)))
        cells = self.encoders["cells"](self._block(observation, "cells"))
        edge = cells.new_zeros(len(cells), 1, cells.shape[-1])
        for mix_cells, mix_context in zip(self.mix_cells, self.mix_context):
            around = torch.cat([cells, edge], dim=1)[:, self.neighbours].flatten(-2)
            message = mix_cells(torch.cat([cells, around], dim=-1)) + mix_context(context).unsqueeze(1)
            cells = cells + torch.relu(message)
        items = torch.cat([encoded[name] for name in self.items], dim=1)
        logits = self._policy(items, cells, context, action_features).masked_fill(~mask, -1e9)
        head = self.head(torch.cat([context, cells.mean(1), cells.amax(1)], dim=-1))
        return logits, self.outcome(head), torch.tanh(self.margin(head))

    def _policy(self, items: Tensor, cells: Tensor, context: Tensor, action_features: Tensor) -> Tensor:
        """Pointer logits of item and cell, each one's own logit, and what the action does at once."""
        context = context.unsqueeze(1).expand(-1, items.shape[1], -1)
        query, key = self.query(torch.cat([items, context], dim=-1)), self.key(cells)
        pointer = query @ key.transpose(1, 2) / math.sqrt(key.shape[-1])
        pointer = pointer + self.item_logit(items) + self.cell_logit(cells).transpose(1, 2)
        pointer = nn.functional.pad(pointer, (0, 1, 0, 1))
        item = nn.functional.pad(self.item_logit(items).squeeze(-1), (0, 1))
        cell = nn.functional.pad(self.cell_logit(cells).squeeze(-1), (0, 1))
        lonely = torch.where(self.action_cells == cells.shape[1], item[:, self.action_items], 0.0)
        lonely = lonely + torch.where(self.action_items == items.shape[1], cell[:, self.action_cells], 0.0)
        return pointer.flatten(1)[:, self.pairs] + lonely + self.action_logit(action_features)


class ActionLogit(nn.Module):
    """What an action does at once (`evaluator.action_features`), ``[B, A, 5]``, as a logit ``[B, A]``.

    Margins are scaled so that a unit of the game's own (a Litho, a point) is at least as large as a Litho's ninth.
    """

    scale: Tensor

    def __init__(self, game: Game) -> None:
        super().__init__()
        unit = max(1.0, game.margin_unit()[0] / 9.0)
        self.register_buffer("scale", torch.tensor([unit, unit] + [1.0] * (NUM_ACTION_FEATURES - 2)), False)
        self.layers = nn.Sequential(nn.Linear(NUM_ACTION_FEATURES, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, action_features: Tensor) -> Tensor:
        """See the class."""
        return self.layers(action_features * self.scale).squeeze(-1)


class MLP(nn.Module):
    """A multilayer perceptron on the flat observation: for small boards a tenth of the lattice's time or less.

    `layers` residual layers of `channels` units behind the first one. Inputs and outputs are `ItemCellNetwork`'s.
    """

    def __init__(self, game: Game, channels: int = 128, layers: int = 2) -> None:
        super().__init__()
        self.first = nn.Linear(math.prod(game.observation_tensor_shape()), channels)
        self.layers = nn.ModuleList(nn.Linear(channels, channels) for _ in range(layers))
        self.policy = nn.Linear(channels, game.num_distinct_actions())
        self.action_logit = ActionLogit(game)
        self.outcome = nn.Linear(channels, len(game.outcomes()))
        self.margin = nn.Linear(channels, game.num_players())
        with torch.no_grad():
            for layer in (self.policy, self.outcome, self.margin):
                layer.weight.mul_(0.1)

    def forward(self, observation: Tensor, action_features: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """See the class."""
        hidden = torch.relu(self.first(observation.flatten(1)))
        for layer in self.layers:
            hidden = hidden + torch.relu(layer(hidden))
        logits = self.policy(hidden) + self.action_logit(action_features)
        return logits.masked_fill(~mask, -1e9), self.outcome(hidden), torch.tanh(self.margin(hidden))


NETWORKS = {"lattice": ItemCellNetwork, "mlp": MLP}


def share_weights(network: nn.Module, other: nn.Module) -> None:
    """Let `network` use the very weights of `other`, built for another option set of the same game.

    Raises ValueError where their names or shapes differ.
    """
    weights = dict(other.named_parameters())
    mine = dict(network.named_parameters())
    if {name: weight.shape for name, weight in mine.items()} != {name: w.shape for name, w in weights.items()}:
        raise ValueError("the networks' weights differ in names or shapes")
    for name in mine:
        owner, _, last = name.rpartition(".")
        setattr(network.get_submodule(owner), last, weights[name])


def parameter_count(network: nn.Module) -> int:
    """Return the number of trained weights."""
    return sum(parameter.numel() for parameter in network.parameters())
