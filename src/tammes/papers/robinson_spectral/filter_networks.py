"""SignNet and BasisNet that learn spectral filters from one image, with the set networks behind them.

Robinson (2023), sections E.10.3 and E.11.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from typing_extensions import override

from tammes.data.filter_images import FILTERS
from tammes.spectral import (
    IGN,
    BasisNet,
    ConcatenatedConfig,
    Copies,
    Eigenpairs,
    IGNConfig,
    Phi,
    RelativeGap,
    SignNet,
)

ENCODING = 32
"""Channels of a node's encoding."""
HEADS = 4
"""Heads of every attention."""
SCALE = 6.0
"""Factor of the image in phi: its thousand projections are small, and Adam's steps are not."""
SLOWER = 0.03
"""Relative learning rate of phi, whose weights all eigenvectors share: a step moves all contributions."""
TOLERANCE = 1e-6
"""Tolerance of equal eigenvalues in single precision; the grid's distinct ones are at least 5e-6 apart."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """The graph of all images, with its eigenpairs in single precision."""

    edges: Int64[Tensor, "2 e"]
    pairs: Eigenpairs
    multiplicities: tuple[int, ...]


class SetHead(nn.Module):
    """h := A h + B mean(h) + c with ReLU between the layers, to one number for each node.

    Args:
        inputs: channels of a node.
        width: channels of the hidden layers.
        layers: number of linear maps.
    """

    def __init__(self, inputs: int, *, width: int = 32, layers: int = 3) -> None:
        super().__init__()
        widths = [inputs, *[width] * (layers - 1), 1]
        pairs = list(pairwise(widths))
        self.own = nn.ModuleList(nn.Linear(*pair) for pair in pairs)
        self.all = nn.ModuleList(nn.Linear(*pair, bias=False) for pair in pairs)

    @override
    def forward(self, nodes: Float[Tensor, "n inputs"]) -> Float[Tensor, "n 1"]:
        for place, (own, every) in enumerate(zip(self.own, self.all, strict=True)):
            nodes = nodes.relu() if place else nodes
            nodes = own(nodes) + every(nodes.mean(dim=0, keepdim=True))
        return nodes


class NodeTransformer(nn.Module):
    """A linear map, transformer layers on the set of all nodes, and a linear map to one number for each node.

    Args:
        inputs: channels of a node.
        width: channels of the layers, a multiple of the heads.
        layers: number of transformer layers.

    Source: Vaswani et al., Attention Is All You Need, 2017, with ReLU, no dropout, and normalization before
    each part, as in the published code of the thesis.
    """

    def __init__(self, inputs: int, *, width: int, layers: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, HEADS, dim_feedforward=width, dropout=0.0, batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )
        self.last = nn.Linear(width, 1)

    @override
    def forward(self, nodes: Float[Tensor, "n inputs"]) -> Float[Tensor, "n 1"]:
        nodes = self.first(nodes)[None]  # (1, n, width): one set
        for layer in self.layers:
            nodes = layer(nodes)
        return self.last(nodes[0])


class OnEigenvectors(nn.Module):
    """Encodings of the nodes from eigenvectors and image, then a set network; the edges are not used.

    All filters share the encoding, which is most of the work; each has a separate set network.

    Args:
        encoding: SignNet or BasisNet with the image as a feature.
        grid: graph and its eigenpairs.
        head: constructor of a set network from the image and `ENCODING` further channels of a node.
    """

    def __init__(self, encoding: SignNet | BasisNet, grid: Grid, head: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.encoding: SignNet | BasisNet = encoding
        self._grid = grid
        self.heads = nn.ModuleList(head(1 + ENCODING) for _ in FILTERS)

    @override
    def forward(self, signal: Float[Tensor, "n 1"]) -> Float[Tensor, "n filters"]:
        pairs = self._grid.pairs
        encoded = self.encoding(SCALE * signal, self._grid.edges, None, pairs.vectors, pairs.values)
        both = torch.cat([signal, encoded], dim=1)
        return torch.cat([head(both) for head in self.heads], dim=1)

    def rates(self, learning_rate: float) -> list[dict[str, Any]]:
        """Return the parameters in an optimizer's groups: phi has a smaller learning rate than the rest."""
        fast = [*self.encoding.rho.parameters(), *self.heads.parameters()]
        slow = [each for name, each in self.encoding.named_parameters() if not name.startswith("rho.")]
        return [{"params": fast}, {"params": slow, "lr": SLOWER * learning_rate}]


class Spectral(Phi):
    """phi(v) = (1 + MLP(lambda)) v v^T x, with which SignNet can represent any spectral filter of x.

    Signals are v, lambda and x, so `SignNet` must be built with eigenvalues and one feature.

    Args:
        width: hidden channels of the MLP.

    Source: Robinson (2023), Theorem 7, by the construction of its proof. Differs: phi gets the product
    v v^T x, where the paper's experiment has DeepSets of v alone.
    """

    reads_edges = False

    def __init__(self, *, width: int) -> None:
        super().__init__()
        self.outputs = 1
        self.mlp = nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, 1))

    @override
    def forward(
        self, signals: Float[Tensor, "rows signs inputs"], copies: Copies
    ) -> Float[Tensor, "rows signs outputs"]:
        if signals.shape[2] != 3:
            raise ValueError(
                f"expected an eigenvector, its eigenvalue and one feature, got {signals.shape[2]} signals"
            )
        vector, value, x = signals[:, 0].unbind(dim=1)  # of v alone: v v^T x is the same for -v
        columns = copies.row.shape[1]
        of = copies.batch[copies.node] * columns + copies.column
        empty = vector.new_zeros(copies.graphs * columns)
        gain = 1 + self.mlp(empty.index_copy(0, of, value)[:, None])[:, 0]
        product = vector * (gain * empty.index_add(0, of, vector * x))[of]
        return product[:, None, None].expand(-1, 2, 1)


def signnet(head: Callable[[int], nn.Module], grid: Grid) -> OnEigenvectors:
    """Return a SignNet with `Spectral` as phi, and a head for each filter."""
    network = SignNet(
        dim=ENCODING,
        phi=Spectral(width=2),
        rho=ConcatenatedConfig(eigenvectors=grid.pairs.vectors.shape[1], layers=1),
        features=1,
    )
    return OnEigenvectors(network, grid, head)


def basisnet(head: Callable[[int], nn.Module], grid: Grid) -> OnEigenvectors:
    """Return a BasisNet that starts as the projection of the image, and a head for each filter."""
    network = BasisNet(
        dim=ENCODING,
        ign=IGNConfig(vector=(1,)),
        rho=ConcatenatedConfig(eigenvectors=grid.pairs.vectors.shape[1], layers=1),
        multiplicities=grid.multiplicities,
        features=1,
        gap=RelativeGap(tolerance=TOLERANCE, warn=False),
        at_once=2**25,
    )
    for ign in network.igns:
        assert isinstance(ign, IGN)
        assert ign.features is not None  # built with one feature, the image
        # Start from V V^T x alone: the diagonal of n V V^T, of order 1, would dominate it.
        for weight in ign.parameters():
            nn.init.zeros_(weight)
        ign.features.vectors.data[:, 1] = 1.0
    return OnEigenvectors(network, grid, head)
