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

SIGNNET, BASISNET, GPR, ARMA = "SignNet", "BasisNet", "GPR-GNN", "ARMA"
ENCODING = 32
"""Channels of a node's encoding."""
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


class OnEigenvectors(nn.Module):
    """Encodings of the nodes from eigenvectors and image, then set layers; the edges are not used.

    All filters share the encoding, which is most of the work; each has separate set layers.

    Args:
        encoding: SignNet or BasisNet with the image as a feature.
        grid: graph and its eigenpairs.
    """

    def __init__(self, encoding: SignNet | BasisNet, grid: Grid) -> None:
        super().__init__()
        self.encoding: SignNet | BasisNet = encoding
        self._grid = grid
        self.heads = nn.ModuleList(SetHead(1 + ENCODING) for _ in FILTERS)

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


class OnEdges(nn.Module):
    """One network for each filter, without shared weights."""

    def __init__(self, network: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(network() for _ in FILTERS)

    @override
    def forward(self, signal: Float[Tensor, "n 1"]) -> Float[Tensor, "n filters"]:
        return torch.cat([network(signal) for network in self.networks], dim=1)

    def rates(self, learning_rate: float) -> list[dict[str, Any]]:
        """Return the parameters in one group of an optimizer."""
        return [{"params": list(self.parameters())}]


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


def propagation(edges: Int64[Tensor, "2 e"], nodes: int) -> Float[Tensor, "n n"]:
    """Return P = D^{-1/2} (A + 1) D^{-1/2} as a sparse matrix, with the degrees D of A + 1.

    Both baselines are polynomials of it.
    """
    loops = torch.arange(nodes)
    ends = torch.cat([edges, torch.stack([loops, loops])], dim=1)
    root = torch.bincount(ends[0], minlength=nodes).float().rsqrt()
    values = root[ends[0]] * root[ends[1]]
    return torch.sparse_coo_tensor(ends, values, (nodes, nodes), check_invariants=True).coalesce()


class GeneralizedPageRank(nn.Module):
    """GPR-GNN: sum_{k <= steps} gamma_k P^k MLP(x), then a linear map; gamma is learned.

    Source: Chien et al., Adaptive Universal Generalized PageRank Graph Neural Network, 2021, eq. 1.
    """

    def __init__(self, grid: Grid, *, width: int, layers: int, steps: int = 10) -> None:
        super().__init__()
        widths = [1, *[width] * layers]
        self.linear = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))
        bound = (3 / (steps + 1)) ** 0.5
        start = torch.empty(steps + 1).uniform_(-bound, bound)
        self.gamma = nn.Parameter(start / start.abs().sum())
        self._propagation = propagation(grid.edges, len(grid.pairs.vectors))
        self.last = nn.Linear(width, 1)

    @override
    def forward(self, x: Float[Tensor, "n 1"]) -> Float[Tensor, "n 1"]:
        for linear in self.linear:
            x = linear(x).relu()
        total = self.gamma[0] * x
        for gamma in self.gamma[1:]:
            x = torch.sparse.mm(self._propagation, x)
            total = total + gamma * x
        return self.last(total)


class Arma(nn.Module):
    """torch_geometric's ARMA convolutions, each with ReLU, then a linear map.

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

    @override
    def forward(self, x: Float[Tensor, "n 1"]) -> Float[Tensor, "n 1"]:
        for convolution in self.convolutions:
            x = convolution(x, self._edges).relu()
        return self.last(x)


def _signnet(grid: Grid) -> OnEigenvectors:
    signnet = SignNet(
        dim=ENCODING,
        phi=Spectral(width=2),
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
        assert ign.features is not None  # built with one feature, the image
        # Start from V V^T x alone: the diagonal of n V V^T, of order 1, would dominate it.
        for weight in ign.parameters():
            nn.init.zeros_(weight)
        ign.features.vectors.data[:, 1] = 1.0
    return OnEigenvectors(network, grid)


def _polynomial(network: type[GeneralizedPageRank | Arma], width: int, layers: int, grid: Grid) -> OnEdges:
    return OnEdges(lambda: network(grid, width=width, layers=layers))


BUILD: dict[str, dict[str, Callable[[Grid], OnEigenvectors | OnEdges]]] = {
    SIGNNET: {"one": _signnet},
    BASISNET: {"one": _basisnet},
    GPR: {
        f"{layers} layers of {width}": partial(_polynomial, GeneralizedPageRank, width, layers)
        for layers in (2, 4)
        for width in (32, 128)
    },
    ARMA: {
        f"{layers} layers of {width}": partial(_polynomial, Arma, width, layers)
        for layers in (2, 4)
        for width in (32, 70)
    },
}
"""Constructors by method and setting; each network has at most 50,000 parameters for each filter.

The baselines have the paper's four settings.
"""
