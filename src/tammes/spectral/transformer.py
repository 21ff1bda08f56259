"""Transformers, as phi on the nodes of a graph, and as rho on the eigenvectors of a node."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from tammes.checks import check_integer, check_multiple
from tammes.spectral.copies import Copies
from tammes.spectral.groups import Groups
from tammes.spectral.layers import MLP, SharedDropout, check_share
from tammes.spectral.phi import Phi, PhiConfig, Rho, RhoConfig


class SetAttention(nn.Module):
    """Multi-head attention of the elements of each set to each other.

    Args:
        width: channels, a multiple of the heads.
        heads: how many.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)

    def forward(
        self, values: Float[Tensor, "rows *any width"], groups: Groups
    ) -> Float[Tensor, "rows *any width"]:
        if not len(values):
            return values
        three = self.project(values).unflatten(-1, (3, self.heads, -1))
        three = three.reshape(len(values), -1, *three.shape[-3:])  # (rows, any, 3, heads, part)
        query, key, value = groups.padded(three).permute(3, 0, 2, 4, 1, 5)  # (sets, any, heads, widest, part)
        mask = groups.exists[:, None, None, None]
        seen = scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.join(groups.flat(seen.permute(0, 3, 1, 2, 4)).reshape(values.shape))


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

    def forward(
        self, values: Float[Tensor, "rows *any width"], groups: Groups
    ) -> Float[Tensor, "rows *any width"]:
        values = values + self.dropout(self.attention(self.before_attention(values), groups))
        return values + self.dropout(self.mlp(self.before_mlp(values)))


class TransformerLayers(nn.Module):
    """A linear map, then transformer layers."""

    def __init__(self, *, inputs: int, width: int, layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.layers = nn.ModuleList(TransformerLayer(width, heads, dropout) for _ in range(layers))

    def forward(
        self, values: Float[Tensor, "rows *any inputs"], groups: Groups
    ) -> Float[Tensor, "rows *any width"]:
        values = self.first(values)
        for layer in self.layers:
            values = layer(values, groups)
        return values


class NodeTransformer(Phi):
    """phi by attention between the nodes of a graph. Arguments are those of its config, and the input's."""

    def __init__(self, *, inputs: int, width: int, layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.outputs = width
        self.transformer = TransformerLayers(
            inputs=inputs, width=width, layers=layers, heads=heads, dropout=dropout
        )

    def forward(
        self, signals: Float[Tensor, "rows signs inputs"], copies: Copies
    ) -> Float[Tensor, "rows signs outputs"]:
        pieces = copies.pieces()
        parts = zip(signals.split([piece.rows for piece in pieces]), pieces, strict=True)
        return torch.cat([self.transformer(part, piece.by_eigenvector) for part, piece in parts])


@dataclass(frozen=True, kw_only=True)
class NodeTransformerConfig(PhiConfig):
    """Settings of a `NodeTransformer`; the edges of the graph are not seen.

    Raises:
        ValueError: for sizes below 1, a share outside [0, 1), or a width that is no
            multiple of the heads.

    Example:
        >>> NodeTransformerConfig(width=8, heads=2).build(1).outputs
        8
    """

    width: int = 64
    """Channels of all layers and of the output."""

    layers: int = 2
    """Transformer layers."""

    heads: int = 4
    """Heads of attention."""

    dropout: float = 0.0
    """Share of channels of each part of a layer that are dropped in training."""

    def __post_init__(self) -> None:
        check_integer("width", self.width)
        check_integer("layers", self.layers)
        check_integer("heads", self.heads)
        check_share("dropout", self.dropout)
        check_multiple("width", self.width, "heads", self.heads)

    def build(self, inputs: int) -> NodeTransformer:
        """See `PhiConfig.build`."""
        return NodeTransformer(
            inputs=inputs, width=self.width, layers=self.layers, heads=self.heads, dropout=self.dropout
        )


class EigenvectorTransformer(Rho):
    """rho by attention between the eigenvectors of a node, then their mean, then a linear map."""

    def __init__(
        self, *, inputs: int, width: int, outputs: int, layers: int, heads: int, dropout: float
    ) -> None:
        super().__init__()
        self.outputs = outputs
        self.transformer = TransformerLayers(
            inputs=inputs, width=width, layers=layers, heads=heads, dropout=dropout
        )
        self.last = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, outputs))

    def forward(
        self, encoded: Float[Tensor, "rows inputs"], copies: Copies
    ) -> Float[Tensor, "nodes outputs"]:
        groups = copies.by_node
        return self.last(groups.mean(self.transformer(encoded, groups)))


@dataclass(frozen=True, kw_only=True)
class EigenvectorTransformerConfig(RhoConfig):
    """Settings of an `EigenvectorTransformer`; any number of eigenvectors, whose order does not matter.

    Raises:
        ValueError: for sizes below 1, a share outside [0, 1), or a width that is no
            multiple of the heads.

    Example:
        >>> EigenvectorTransformerConfig(width=8).build(4, 2).outputs
        2
    """

    width: int = 64
    """Channels of all layers."""

    layers: int = 1
    """Transformer layers."""

    heads: int = 4
    """Heads of attention."""

    dropout: float = 0.0
    """Share of channels of each part of a layer that are dropped in training."""

    def __post_init__(self) -> None:
        check_integer("width", self.width)
        check_integer("layers", self.layers)
        check_integer("heads", self.heads)
        check_share("dropout", self.dropout)
        check_multiple("width", self.width, "heads", self.heads)

    def build(self, inputs: int, outputs: int) -> EigenvectorTransformer:
        """See `RhoConfig.build`."""
        return EigenvectorTransformer(
            inputs=inputs,
            width=self.width,
            outputs=outputs,
            layers=self.layers,
            heads=self.heads,
            dropout=self.dropout,
        )
