"""Networks that learn a spectral filter from one image: on eigenvectors, or by polynomials of a graph.

Robinson (2023), sections E.10.3 and E.11.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from tammes.data.filter_images import FILTERS
from tammes.spectral import (
    IGN,
    BasisNet,
    ConcatenatedConfig,
    Copies,
    Eigenpairs,
    IGNConfig,
    Phi,
    PhiConfig,
    RelativeGap,
    SignNet,
)

SIGNNET, BASISNET, GPR, ARMA = "SignNet", "BasisNet", "GPR-GNN", "ARMA"
ENCODING = 32
"""Channels of a node's encoding."""
SCALE = 6.0
"""What phi sees the image multiplied by: a thousand projections of it are small, and Adam's steps are not."""
SLOWER = 0.03
"""How fast what all eigenvectors share learns: a step of it moves all of their contributions at once."""
TOLERANCE = 1e-6
"""Between eigenvalues of the grid in single precision; in double, its distinct ones are 5e-6 apart."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """The graph of all images, with its eigenpairs in single precision."""

    edges: Int64[Tensor, "2 e"]
    pairs: Eigenpairs
    multiplicities: tuple[int, ...]


class SetHead(nn.Module):
    """h := A h + B mean(h) + c with ReLU between, layer by layer, to one number a node.

    Args:
        inputs: channels of a node.
        width: channels of the hidden layers.
        layers: how many linear maps there are.
    """

    def __init__(self, inputs: int, *, width: int = 32, layers: int = 3) -> None:
        super().__init__()
        widths = [inputs, *[width] * (layers - 1), 1]
        pairs = list(pairwise(widths))
        self.own = nn.ModuleList(nn.Linear(*pair) for pair in pairs)
        self.all = nn.ModuleList(nn.Linear(*pair, bias=False) for pair in pairs)

    def forward(self, nodes: Float[Tensor, "n inputs"]) -> Float[Tensor, "n 1"]:
        """One number for each node."""
        for place, (own, every) in enumerate(zip(self.own, self.all, strict=True)):
            nodes = nodes.relu() if place else nodes
            nodes = own(nodes) + every(nodes.mean(dim=0, keepdim=True))
        return nodes


class OnEigenvectors(nn.Module):
    """An encoding of the nodes from eigenvectors and image, then set layers; the edges are not seen.

    All filters share the encoding, which is most of the work; each has set layers of its own.

    Args:
        encoding: a SignNet or BasisNet that is told the image.
        grid: the graph and its eigenpairs.
    """

    def __init__(self, encoding: SignNet | BasisNet, grid: Grid) -> None:
        super().__init__()
        self.encoding: SignNet | BasisNet = encoding
        self._grid = grid
        self.heads = nn.ModuleList(SetHead(1 + ENCODING) for _ in FILTERS)

    def forward(self, signal: Float[Tensor, "n 1"]) -> Float[Tensor, "n filters"]:
        """The image through each filter."""
        pairs = self._grid.pairs
        encoded = self.encoding(SCALE * signal, self._grid.edges, None, pairs.vectors, pairs.values)
        both = torch.cat([signal, encoded], dim=1)
        return torch.cat([head(both) for head in self.heads], dim=1)

    def rates(self, learning_rate: float) -> list[dict[str, Any]]:
        """The parameters in groups, as optimizers take them: phi learns more slowly than the rest."""
        fast = [*self.encoding.rho.parameters(), *self.heads.parameters()]
        slow = [each for name, each in self.encoding.named_parameters() if not name.startswith("rho.")]
        return [{"params": fast}, {"params": slow, "lr": SLOWER * learning_rate}]


class OnEdges(nn.Module):
    """A network for each filter, which share nothing."""

    def __init__(self, network: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(network() for _ in FILTERS)

    def forward(self, signal: Float[Tensor, "n 1"]) -> Float[Tensor, "n filters"]:
        """The image through each filter."""
        return torch.cat([network(signal) for network in self.networks], dim=1)

    def rates(self, learning_rate: float) -> list[dict[str, Any]]:
        """The parameters in one group, as optimizers take them."""
        return [{"params": list(self.parameters())}]


class Spectral(Phi):
    """phi(v) = (1 + MLP(lambda)) v v^T x, for each node: with it SignNet can be any spectral filter of x.

    Signals are v, lambda and x, so `SignNet` must be built with eigenvalues and one feature. Arguments are
    those of `SpectralConfig`.

    Source: Robinson (2023), Theorem 7, by the construction of its proof. Differs: the product v v^T x is
    given, where the paper's experiment has DeepSets that see v alone.
    """

    def __init__(self, *, width: int) -> None:
        super().__init__()
        self.outputs = 1
        self.mlp = nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(
        self, signals: Float[Tensor, "rows signs inputs"], copies: Copies
    ) -> Float[Tensor, "rows signs outputs"]:
        """See `Phi.forward`."""
        vector, value, x = signals[:, 0].unbind(dim=1)  # those of v: v v^T x is the same for -v
        columns = copies.row.shape[1]
        of = copies.batch[copies.node] * columns + copies.column
        empty = vector.new_zeros(copies.graphs * columns)
        gain = 1 + self.mlp(empty.index_copy(0, of, value)[:, None])[:, 0]
        product = vector * (gain * empty.index_add(0, of, vector * x))[of]
        return product[:, None, None].expand(-1, 2, 1)


@dataclass(frozen=True, kw_only=True)
class SpectralConfig(PhiConfig):
    """Settings of a `Spectral`.

    >>> SpectralConfig(width=4).build(3).outputs
    1
    """

    width: int

    def build(self, inputs: int) -> Spectral:
        """See `PhiConfig.build`."""
        if inputs != 3:
            raise ValueError(f"expected an eigenvector, its eigenvalue and one feature, got {inputs} signals")
        return Spectral(width=self.width)


class Propagation(nn.Module):
    """D^{-1/2} (A + 1) D^{-1/2} x, with the degrees D of A + 1: what both baselines are polynomials of."""

    def __init__(self, edges: Int64[Tensor, "2 e"], nodes: int) -> None:
        super().__init__()
        loops = torch.arange(nodes)
        ends = torch.cat([edges, torch.stack([loops, loops])], dim=1)
        root = torch.bincount(ends[0], minlength=nodes).float().rsqrt()
        matrix = torch.sparse_coo_tensor(
            ends, root[ends[0]] * root[ends[1]], (nodes, nodes), check_invariants=True
        )
        self.register_buffer("matrix", matrix.coalesce(), persistent=False)
        self.matrix: Tensor

    def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """One step to the neighbors and oneself."""
        return torch.sparse.mm(self.matrix, x)


class GeneralizedPageRank(nn.Module):
    """GPR-GNN: sum_{k <= 10} gamma_k P^k MLP(x), then a linear map; gamma is learned.

    Source: Chien et al., Adaptive Universal Generalized PageRank Graph Neural Network, 2021, eq. 1.
    """

    def __init__(self, grid: Grid, *, width: int, layers: int, steps: int = 10) -> None:
        super().__init__()
        widths = [1, *[width] * layers]
        self.linear = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))
        bound = (3 / (steps + 1)) ** 0.5
        start = torch.empty(steps + 1).uniform_(-bound, bound)
        self.gamma = nn.Parameter(start / start.abs().sum())
        self.propagation = Propagation(grid.edges, len(grid.pairs.vectors))
        self.last = nn.Linear(width, 1)

    def forward(self, x: Float[Tensor, "n 1"]) -> Float[Tensor, "n 1"]:
        """The filtered image."""
        for linear in self.linear:
            x = linear(x).relu()
        total = self.gamma[0] * x
        for gamma in self.gamma[1:]:
            x = self.propagation(x)
            total = total + gamma * x
        return self.last(total)


class Arma(nn.Module):
    """PyG's ARMA convolutions, each with ReLU, then a linear map.

    Source: Bianchi et al., Graph Neural Networks with Convolutional ARMA Filters, 2021.
    """

    def __init__(self, grid: Grid, *, width: int, layers: int) -> None:
        try:
            from torch_geometric.nn import ARMAConv
        except ImportError as error:
            raise ImportError(
                'ARMA convolutions need torch_geometric: pip install "tammes[graphs]"'
            ) from error
        super().__init__()
        widths = [1, *[width] * layers]
        self.convolutions = nn.ModuleList(
            ARMAConv(*pair, num_stacks=1, num_layers=1) for pair in pairwise(widths)
        )
        self._edges = grid.edges
        self.last = nn.Linear(width, 1)

    def forward(self, x: Float[Tensor, "n 1"]) -> Float[Tensor, "n 1"]:
        """The filtered image."""
        for convolution in self.convolutions:
            x = convolution(x, self._edges).relu()
        return self.last(x)


def _signnet(grid: Grid) -> OnEigenvectors:
    signnet = SignNet(
        dim=ENCODING,
        phi=SpectralConfig(width=2),
        rho=ConcatenatedConfig(eigenvectors=grid.pairs.vectors.shape[1], layers=1),
        features=1,
    )
    return OnEigenvectors(signnet, grid)


def _basisnet(grid: Grid) -> OnEigenvectors:
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
        assert ign.features is not None  # it is told the image
        # It starts as V V^T x alone: the diagonal of n V V^T, of order 1, would drown it.
        for weight in ign.parameters():
            nn.init.zeros_(weight)
        ign.features.vectors.data[:, 1] = 1.0
    return OnEigenvectors(network, grid)


def _polynomial(width: int, layers: int, grid: Grid) -> OnEdges:
    return OnEdges(lambda: GeneralizedPageRank(grid, width=width, layers=layers))


def _arma(width: int, layers: int, grid: Grid) -> OnEdges:
    return OnEdges(lambda: Arma(grid, width=width, layers=layers))


BUILD: dict[str, dict[str, Callable[[Grid], OnEigenvectors | OnEdges]]] = {
    SIGNNET: {"one": _signnet},
    BASISNET: {"one": _basisnet},
    GPR: {
        f"{layers} layers of {width}": partial(_polynomial, width, layers)
        for layers in (2, 4)
        for width in (32, 128)
    },
    ARMA: {
        f"{layers} layers of {width}": partial(_arma, width, layers)
        for layers in (2, 4)
        for width in (32, 70)
    },
}
"""How the networks of each method are built, by their settings; each has at most 50,000 parameters a filter.

Those of the baselines are the paper's four.
"""
