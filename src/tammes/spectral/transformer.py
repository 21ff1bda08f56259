"""Transformers as phi, on the nodes of a graph, and as rho, on the eigenvectors of a node."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from typing_extensions import override

from tammes.spectral.copies import Groups
from tammes.spectral.layers import MLP, SharedDropout, check_sizes
from tammes.spectral.phi import EigenvectorLayers, NodeLayers, PhiConfig, RhoConfig


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
        if values.shape[0] == 0:
            return values
        three = self.project(values).unflatten(-1, (3, self.heads, -1))
        three = three.reshape(values.shape[0], -1, *three.shape[-3:])  # (rows, any, 3, heads, part)
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


@dataclass(frozen=True, kw_only=True)
class NodeTransformerConfig(PhiConfig):
    """Settings of attention between the nodes of a graph, whose edges it does not see.

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
    def build(self, inputs: int) -> NodeLayers:
        return NodeLayers(TransformerLayers(self, inputs), self.width)


@dataclass(frozen=True, kw_only=True)
class EigenvectorTransformerConfig(RhoConfig):
    """Settings of attention between the eigenvectors of a node, any number of them in any order.

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
    def build(self, inputs: int, outputs: int) -> EigenvectorLayers:
        last = nn.Sequential(nn.LayerNorm(self.width), nn.Linear(self.width, outputs))
        return EigenvectorLayers(TransformerLayers(self, inputs), last, outputs)
