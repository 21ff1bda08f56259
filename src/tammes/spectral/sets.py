"""DeepSets and transformers, as phi on the nodes of a graph and as rho on the eigenvectors of a node."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from typing_extensions import override

from tammes.spectral.copies import Groups
from tammes.spectral.layers import MLP, AttentionSizes, SharedDropout, Sizes
from tammes.spectral.phi import EigenvectorLayers, NodeLayers, PhiConfig, RhoConfig

Elements = Float[Tensor, "rows *any _"]
"""Channels of the elements of all sets, a row for each; axes between, such as signs, are treated alike."""


class SetLayer(nn.Module):
    """h_j := A h_j + B mean(h) + c: the linear maps of sets.

    Args:
        inputs: channels of an element before the layer.
        outputs: channels of an element after it.

    Source: Zaheer et al., Deep Sets, 2017, eq. 4.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.own = nn.Linear(inputs, outputs)
        self.all = nn.Linear(inputs, outputs, bias=False)

    @override
    def forward(self, values: Elements, groups: Groups) -> Elements:
        return self.own(values) + self.all(groups.mean(values))[groups.of]


class SetLayers(nn.Module):
    """Set layers with ReLU and dropout between them, from `inputs` channels to the width of the settings.

    Args:
        config: settings.
        inputs: channels of an element.
        ends_with_relu: whether a ReLU follows the last layer too.
    """

    def __init__(self, config: Sizes, inputs: int, *, ends_with_relu: bool = False) -> None:
        super().__init__()
        self.ends_with_relu = ends_with_relu
        widths = [inputs] + [config.width] * config.layers
        self.layers = nn.ModuleList(SetLayer(*pair) for pair in pairwise(widths))
        self.dropout = SharedDropout(config.dropout)

    @override
    def forward(self, values: Elements, groups: Groups) -> Elements:
        values = self.layers[0](values, groups)
        for layer in self.layers[1:]:
            values = layer(self.dropout(values.relu()), groups)
        return values.relu() if self.ends_with_relu else values


@dataclass(frozen=True, kw_only=True)
class NodeSetsConfig(Sizes, PhiConfig):
    """Settings of set layers on the nodes of a graph, whose edges they do not see.

    Raises:
        ValueError: for a width or a number of layers below 1, or a share outside [0, 1).

    Example:
        >>> NodeSetsConfig(width=8).build(1).outputs
        8
    """

    @override
    def build(self, inputs: int) -> NodeLayers:
        return NodeLayers(SetLayers(self, inputs), self.width)


@dataclass(frozen=True, kw_only=True)
class EigenvectorSetsConfig(Sizes, RhoConfig):
    """Settings of set layers on the eigenvectors of a node, any number of them in any order.

    Raises:
        ValueError: for a width or a number of layers below 1, or a share outside [0, 1).

    Example:
        >>> EigenvectorSetsConfig(width=8).build(4, 2).last
        Linear(in_features=8, out_features=2, bias=True)
    """

    layers: int = 2
    """Number of set layers."""

    @override
    def build(self, inputs: int, outputs: int) -> EigenvectorLayers:
        sets = SetLayers(self, inputs, ends_with_relu=True)
        return EigenvectorLayers(sets, nn.Linear(self.width, outputs))


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
    def forward(self, values: Elements, groups: Groups) -> Elements:
        three = self.project(values).unflatten(-1, (3, self.heads, -1))
        three = three[:, None].flatten(1, -4)  # (rows, any, 3, heads, part)
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
    def forward(self, values: Elements, groups: Groups) -> Elements:
        values = values + self.dropout(self.attention(self.before_attention(values), groups))
        return values + self.dropout(self.mlp(self.before_mlp(values)))


class TransformerLayers(nn.Module):
    """A linear map from `inputs` channels, then transformer layers."""

    def __init__(self, config: AttentionSizes, inputs: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, config.width)
        self.layers = nn.ModuleList(
            TransformerLayer(config.width, config.heads, config.dropout) for _ in range(config.layers)
        )

    @override
    def forward(self, values: Elements, groups: Groups) -> Elements:
        values = self.first(values)
        for layer in self.layers:
            values = layer(values, groups)
        return values


@dataclass(frozen=True, kw_only=True)
class NodeTransformerConfig(AttentionSizes, PhiConfig):
    """Settings of attention between the nodes of a graph, whose edges it does not see.

    Raises:
        ValueError: for sizes below 1, a share outside [0, 1), or a width that is no multiple of the heads.

    Example:
        >>> NodeTransformerConfig(width=8, heads=2).build(1).outputs
        8
    """

    layers: int = 2
    """Number of transformer layers."""

    @override
    def build(self, inputs: int) -> NodeLayers:
        return NodeLayers(TransformerLayers(self, inputs), self.width)


@dataclass(frozen=True, kw_only=True)
class EigenvectorTransformerConfig(AttentionSizes, RhoConfig):
    """Settings of attention between the eigenvectors of a node, any number of them in any order.

    Raises:
        ValueError: for sizes below 1, a share outside [0, 1), or a width that is no multiple of the heads.

    Example:
        >>> EigenvectorTransformerConfig(width=8).build(4, 2).last[1]
        Linear(in_features=8, out_features=2, bias=True)
    """

    layers: int = 1
    """Number of transformer layers."""

    @override
    def build(self, inputs: int, outputs: int) -> EigenvectorLayers:
        last = nn.Sequential(nn.LayerNorm(self.width), nn.Linear(self.width, outputs))
        return EigenvectorLayers(TransformerLayers(self, inputs), last)
