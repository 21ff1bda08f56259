"""Networks without SignNet or BasisNet that learn a spectral filter: on the edges of a graph, or its nodes.

Robinson (2023), sections E.10.3 and E.11.3.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import comb
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from typing_extensions import override

from tammes.data.filter_images import FILTERS
from tammes.papers.robinson_spectral.filter_networks import HEADS, Grid, NodeTransformer
from tammes.spectral.baselines import AbsoluteValues, RandomFlips


class Separate(nn.Module):
    """One network for each filter, without shared weights.

    Args:
        network: constructor of the network of one filter.
    """

    def __init__(self, network: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(network() for _ in FILTERS)

    @override
    def forward(self, signal: Float[Tensor, "n 1"]) -> Float[Tensor, "n filters"]:
        return torch.cat([network(signal) for network in self.networks], dim=1)

    def rates(self, learning_rate: float) -> list[dict[str, Any]]:
        """Return the parameters in one group of an optimizer."""
        return [{"params": list(self.parameters())}]


def propagation(edges: Int64[Tensor, "2 e"], nodes: int, *, loops: bool) -> Float[Tensor, "n n"]:
    """Return P = D^{-1/2} A D^{-1/2} as a sparse matrix, with the degrees D of A; every node has an edge.

    Args:
        edges: edges of the graph, each in both directions.
        nodes: number of nodes.
        loops: whether A has an edge from each node to itself, as for GPR-GNN.
    """
    own = torch.arange(nodes if loops else 0)
    ends = torch.cat([edges, torch.stack([own, own])], dim=1)
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
        self._propagation = propagation(grid.edges, len(grid.pairs.vectors), loops=True)
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


def bernstein(
    x: Float[Tensor, "n d"], coefficients: Float[Tensor, " degrees"], adjacency: Float[Tensor, "n n"]
) -> Float[Tensor, "n d"]:
    """Return a polynomial of the Laplacian in Bernstein's basis, applied to signals.

        sum_{k <= K} theta_k C(K, k) (L / 2)^k (1 - L / 2)^{K - k} x ,        L = 1 - P

    The response is theta_0 at the eigenvalue 0 and theta_K at 2, and between the smallest and the largest
    coefficient everywhere. With all coefficients 1 the result is x.

    Args:
        x: signals on the nodes.
        coefficients: theta_0, ..., theta_K.
        adjacency: P, sparse; `propagation` without loops.

    Source: He et al., BernNet: Learning Arbitrary Graph Spectral Filters via Bernstein Approximation, 2021.

    Example:
        >>> edge = propagation(torch.tensor([[0, 1], [1, 0]]), 2, loops=False)  # eigenvalues of L: 0 and 2
        >>> bernstein(torch.tensor([[1.0], [0.0]]), torch.tensor([1.0, 0.0, 0.0]), edge).tolist()
        [[0.5], [0.5]]
    """
    degree = len(coefficients) - 1
    powers = [x]  # (1 - L / 2)^k x
    for _ in range(degree):
        powers.append((powers[-1] + torch.sparse.mm(adjacency, powers[-1])) / 2)
    # Horner's scheme in L / 2: 2 K sparse products in all, where term by term it would be K (K + 3) / 2.
    total = coefficients[degree] * x
    for k in reversed(range(degree)):
        total = (total - torch.sparse.mm(adjacency, total)) / 2
        total = total + comb(degree, k) * coefficients[k] * powers[degree - k]
    return total


class BernNet(nn.Module):
    """h := relu(A B(h) + c) layer by layer, then a linear map; B is the `bernstein` of relu(theta).

    All layers share theta, which begins as 1, where B is the identity.

    Source: as of `bernstein`, and the published code of the thesis.
    """

    def __init__(self, grid: Grid, *, width: int, layers: int, degree: int = 10) -> None:
        super().__init__()
        widths = [1, *[width] * layers]
        self.linear = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))
        self.theta = nn.Parameter(torch.ones(degree + 1))
        self._adjacency = propagation(grid.edges, len(grid.pairs.vectors), loops=False)
        self.last = nn.Linear(width, 1)

    @override
    def forward(self, x: Float[Tensor, "n 1"]) -> Float[Tensor, "n 1"]:
        for linear in self.linear:
            x = linear(bernstein(x, self.theta.relu(), self._adjacency)).relu()
        return self.last(x)


class Convolutions(nn.Module):
    """Convolutions of torch_geometric, each with ReLU, then a linear map.

    Args:
        layer: constructor of a convolution from the numbers of channels before and after it.
        grid: graph.
        width: channels of the hidden layers.
        layers: number of convolutions.

    Raises:
        ImportError: without torch_geometric.
    """

    def __init__(
        self, layer: Callable[[int, int], nn.Module], grid: Grid, *, width: int, layers: int
    ) -> None:
        super().__init__()
        widths = [1, *[width] * layers]
        self.convolutions = nn.ModuleList(layer(*pair) for pair in pairwise(widths))
        self._edges = grid.edges
        self.last = nn.Linear(width, 1)

    @override
    def forward(self, x: Float[Tensor, "n 1"]) -> Float[Tensor, "n 1"]:
        for convolution in self.convolutions:
            x = convolution(x, self._edges).relu()
        return self.last(x)


def gcn(inputs: int, outputs: int) -> nn.Module:
    """Return a graph convolution (Kipf and Welling, 2017)."""
    return _geometric().GCNConv(inputs, outputs, cached=True)  # the graph is the same at every call


def gat(inputs: int, outputs: int) -> nn.Module:
    """Return graph attention (Veličković et al., 2018); the published code has ELU behind it, not ReLU."""
    return _geometric().GATConv(inputs, outputs // HEADS, heads=HEADS)


def arma(inputs: int, outputs: int) -> nn.Module:
    """Return an ARMA convolution with one stack of one layer (Bianchi et al., 2021)."""
    return _geometric().ARMAConv(inputs, outputs, num_stacks=1, num_layers=1)


def chebyshev(inputs: int, outputs: int) -> nn.Module:
    """Return a Chebyshev convolution with polynomials of degree 2 (Defferrard et al., 2016)."""
    return _geometric().ChebConv(inputs, outputs, K=3)


def _geometric() -> Any:
    try:
        import torch_geometric.nn
    except ImportError as error:
        raise ImportError(
            'convolutions on graphs need torch_geometric: pip install "tammes[graphs]"'
        ) from error
    return torch_geometric.nn


class EigenvectorTransformer(nn.Module):
    """A `NodeTransformer` of the image and an encoding of all eigenvectors; the edges are not used.

    Args:
        encoding: constructor from the number of eigenvectors; None for a transformer of the image alone.
        grid: graph and its eigenpairs.
        width: channels of the layers.
        layers: number of transformer layers.

    Source: Robinson (2023), section E.10.3, "Transformer" without and with eigenvectors. Differs: without
    eigenvalues as further channels. They are the same at every node, so that they could add a bias alone.
    """

    def __init__(
        self,
        encoding: Callable[[int], AbsoluteValues | RandomFlips] | None,
        grid: Grid,
        *,
        width: int,
        layers: int,
    ) -> None:
        super().__init__()
        self._grid = grid
        self.encoding = None if encoding is None else encoding(grid.pairs.vectors.shape[1])
        inputs = 1 if self.encoding is None else 1 + self.encoding.dim
        self.transformer = NodeTransformer(inputs, width=width, layers=layers)

    @override
    def forward(self, x: Float[Tensor, "n 1"]) -> Float[Tensor, "n 1"]:
        if self.encoding is not None:
            pairs = self._grid.pairs
            encoded = self.encoding(None, self._grid.edges, None, pairs.vectors, pairs.values)
            x = torch.cat([x, encoded], dim=1)
        return self.transformer(x)


def flips(eigenvectors: int) -> RandomFlips:
    """Return random signs of the eigenvectors, drawn at each step from torch's generator."""
    return RandomFlips(eigenvectors, generator=torch.default_generator)
