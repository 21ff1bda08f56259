"""Transformers as phi, on the nodes of a graph, and as rho, on the eigenvectors of a node."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from typing_extensions import override

from tammes.spectral.copies import Copies, Groups
from tammes.spectral.layers import MLP, SharedDropout, check_sizes
from tammes.spectral.phi import Phi, PhiConfig, Rho, RhoConfig


class SetAttention(nn.Module):
    """Multi-head attention among the elements of each set.

    Args:
        width: number of channels, a multiple of the heads.
        heads: number of heads.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)

    @override
    def forward(
        self, values: Float[Tensor, "rows *any width"], groups: Groups
    ) -> Float[Tensor, "rows *any width"]:
        if not len(values):
            return values
        three = self.project(values).unflatten(-1, (3, self.heads, -1))
        three = three.reshape(len(values), -1, *three.shape[-3:])  # (rows, any, 3, heads, part)
        query, key, value = groups.padded(three).permute(3, 0, 2, 4, 1, 5)  # (sets, any, heads, widest, part)
        mask = groups.mask[:, None, None, None]
        joined = scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.join(groups.flat(joined.permute(0, 3, 1, 2, 4)).reshape(values.shape))


class TransformerLayer(nn.Module):
    """h := h + attention(norm(h)); h := h + MLP(norm(h)).

    Source: Vaswani et al., Attention Is All You Need, 2017. Differs: normalization before each part, not
    after it, which trains without a warm-up.
    """

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.before_attention = nn.LayerNorm(width)
        self.attention = SetAttention(width, heads)
        self.before_mlp = nn.LayerNorm(width)
        self.mlp = MLP([width, 2 * width, width])
        self.dropout = SharedDropout(dropout)

    @override
    def forward(
        self, values: Float[Tensor, "rows *any width"], groups: Groups
    ) -> Float[Tensor, "rows *any width"]:
        values = values + self.dropout(self.attention(self.before_attention(values), groups))
        return values + self.dropout(self.mlp(self.before_mlp(values)))


class TransformerLayers(nn.Module):
    """A linear map from `inputs` channels, then transformer layers."""

    def __init__(self, config: NodeTransformerConfig | EigenvectorTransformerConfig, inputs: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, config.width)
        self.layers = nn.ModuleList(
            TransformerLayer(config.width, config.heads, config.dropout) for _ in range(config.layers)
        )

    @override
    def forward(
        self, values: Float[Tensor, "rows *any inputs"], groups: Groups
    ) -> Float[Tensor, "rows *any width"]:
        values = self.first(values)
        for layer in self.layers:
            values = layer(values, groups)
        return values


class NodeTransformer(Phi):
    """phi by attention between the nodes of a graph.

    Args:
        config: settings.
        inputs: channels of a signal.
    """

    def __init__(self, config: NodeTransformerConfig, inputs: int) -> None:
        super().__init__()
        self.outputs = config.width
        self.transformer = TransformerLayers(config, inputs)

    @override
    def forward(
        self, signals: Float[Tensor, "rows signs inputs"], copies: Copies
    ) -> Float[Tensor, "rows signs outputs"]:
        pieces = copies.pieces()
        parts = zip(signals.split([piece.rows for piece in pieces]), pieces, strict=True)
        return torch.cat([self.transformer(part, piece.by_eigenvector) for part, piece in parts])


@dataclass(frozen=True, kw_only=True)
class NodeTransformerConfig(PhiConfig):
    """Settings of a `NodeTransformer`, which does not see the edges of the graph.

    Raises:
        ValueError: for sizes below 1, a share outside [0, 1), or a width that is no multiple of the heads.

    Example:
        >>> NodeTransformerConfig(width=8, heads=2).build(1).outputs
        8
    """

    width: int = 64
    """Channels of all layers and of the output."""

    layers: int = 2
    """Number of transformer layers."""

    heads: int = 4
    """Number of attention heads."""

    dropout: float = 0.0
    """Share of channels of each part of a layer that are dropped in training."""

    def __post_init__(self) -> None:
        check_sizes(width=self.width, layers=self.layers, dropout=self.dropout, heads=self.heads)

    @override
    def build(self, inputs: int) -> NodeTransformer:
        return NodeTransformer(self, inputs)


class EigenvectorTransformer(Rho):
    """rho by attention between the eigenvectors of a node, then their mean, then a linear map.

    Args:
        config: settings.
        inputs: channels of one eigenvector.
        outputs: channels of an encoding.
    """

    def __init__(self, config: EigenvectorTransformerConfig, inputs: int, outputs: int) -> None:
        super().__init__()
        self.outputs = outputs
        self.transformer = TransformerLayers(config, inputs)
        self.last = nn.Sequential(nn.LayerNorm(config.width), nn.Linear(config.width, outputs))

    @override
    def forward(
        self, encoded: Float[Tensor, "rows inputs"], copies: Copies
    ) -> Float[Tensor, "nodes outputs"]:
        groups = copies.by_node
        return self.last(groups.mean(self.transformer(encoded, groups)))


@dataclass(frozen=True, kw_only=True)
class EigenvectorTransformerConfig(RhoConfig):
    """Settings of an `EigenvectorTransformer`, for any number of eigenvectors, whose order does not matter.

    Raises:
        ValueError: for sizes below 1, a share outside [0, 1), or a width that is no multiple of the heads.

    Example:
        >>> EigenvectorTransformerConfig(width=8).build(4, 2).outputs
        2
    """

    width: int = 64
    """Channels of all layers."""

    layers: int = 1
    """Number of transformer layers."""

    heads: int = 4
    """Number of attention heads."""

    dropout: float = 0.0
    """Share of channels of each part of a layer that are dropped in training."""

    def __post_init__(self) -> None:
        check_sizes(width=self.width, layers=self.layers, dropout=self.dropout, heads=self.heads)

    @override
    def build(self, inputs: int, outputs: int) -> EigenvectorTransformer:
        return EigenvectorTransformer(self, inputs, outputs)
