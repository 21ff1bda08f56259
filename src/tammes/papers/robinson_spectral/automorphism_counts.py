"""Counts of graphs with automorphisms and with repeated eigenvalues, in drawn graphs and in real ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from zlib import crc32

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from typing_extensions import override

from tammes.papers.robinson_spectral.automorphism_group import Permutation, neighbors_of, symmetry
from tammes.papers.robinson_spectral.multiplicities import Graph, decomposed, parts
from tammes.papers.robinson_spectral.random_graphs import (
    HALF,
    KINDS,
    Edges,
    connected_with_edges,
    with_edges,
)
from tammes.spectral import Laplacian, RelativeGap, Symmetric
from tammes.spectral.eigen.laplacian import Adjacency

DRAWN = "drawn"
"""Name of the data of graphs that belong to no real set."""
REAL, SAME, CONNECTED = "real", "G(n, m)", "connected, n and m"
TOLERANCES = (1e-8, 1e-10, 1e-6)
"""Differences of equal eigenvalues at most, relative to the matrix' norm: ours, and two to compare with."""
BESIDE = (SAME, CONNECTED, HALF)
"""Random graphs beside each real one: with its nodes and edges, or with its nodes only."""


@dataclass(frozen=True, kw_only=True)
class GraphSample:
    """Graphs that are counted together.

    Args:
        data: real set that the graphs are, or have their numbers of nodes from; `DRAWN` for neither.
        kind: kind of graphs, in `KINDS` or of `REAL` and `BESIDE`.
        nodes: number of nodes; 0 where it is that of a real graph.
        graphs: number of graphs at most.
        seed: random seed; real graphs are those of the first one.
    """

    data: str
    kind: str
    nodes: int
    graphs: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class SymmetryScore:
    """Numbers of graphs of a sample, with A the adjacency matrix and L the symmetric normalized Laplacian.

    Args:
        counted: all graphs.
        automorphism: graphs with a nontrivial automorphism.
        above_two: graphs with an automorphism of an order above 2.
        adjacency: graphs with a repeated eigenvalue of A.
        laplacian: graphs with a repeated eigenvalue of L.
        both_adjacency: graphs with a nontrivial automorphism and a repeated eigenvalue of A.
        both_laplacian: likewise of L.
        exceptions: graphs with an automorphism of an order above 2 and only simple eigenvalues, of A or of L;
            there are none by theory.
        residual: largest entry of |A P v - lambda P v| over the graphs with an automorphism P and over all
            eigenvectors v of unit length, relative to the norm of A.
        sensitive: graphs of which a tolerance of equal eigenvalues that is a hundred times smaller or larger
            changes the answer, for A or for L.
    """

    counted: int
    automorphism: int
    above_two: int
    adjacency: int
    laplacian: int
    both_adjacency: int
    both_laplacian: int
    exceptions: int
    sensitive: int
    residual: float


@dataclass(frozen=True, kw_only=True)
class AdjacencyMatrix(Laplacian):
    """A itself, for `eigenpairs`: its eigenvalues ascend from negative ones.

    Example:
        >>> edge = torch.tensor([[0, 1], [1, 0]]), 2
        >>> decomposed([edge], AdjacencyMatrix())[0].values.tolist()
        [[-1.0, 1.0]]
    """

    @override
    def symmetric(self, graph: Adjacency) -> tuple[Float[Tensor, " m"], Float[Tensor, " nodes"]]:
        return graph.weights, torch.zeros_like(graph.degrees)


def drawn(cell: GraphSample, real: Sequence[Graph]) -> list[Graph]:
    """Return the graphs of a sample; those of different seeds are independent.

    Args:
        cell: sample.
        real: graphs of the set that `cell.data` names; empty for `DRAWN`.

    Example:
        >>> cell = GraphSample(data=DRAWN, kind="trees", nodes=5, graphs=3, seed=0)
        >>> [(edges.shape[1], nodes) for edges, nodes in drawn(cell, [])]
        [(8, 5), (8, 5), (8, 5)]
    """
    if cell.kind == REAL:
        return list(real)
    key = crc32(f"{cell.data}, {cell.kind}, {cell.nodes}".encode())
    generator = np.random.default_rng([cell.seed, key])
    if cell.data == DRAWN:
        return [
            (_both_directions(KINDS[cell.kind](cell.nodes, generator)), cell.nodes)
            for _ in range(cell.graphs)
        ]
    return [(_both_directions(_beside(graph, cell.kind, generator)), graph[1]) for graph in real]


def _beside(graph: Graph, kind: str, generator: np.random.Generator) -> Edges:
    edges, nodes = graph
    if kind == HALF:
        return KINDS[HALF](nodes, generator)
    count = sum(map(len, neighbors_of(edges, nodes))) // 2
    draw = {SAME: with_edges, CONNECTED: connected_with_edges}[kind]
    return draw(nodes, count, generator)


def _both_directions(pairs: Edges) -> Tensor:
    return torch.from_numpy(np.concatenate([pairs, pairs[:, ::-1]]).T.copy())


def measure(graphs: Sequence[Graph]) -> SymmetryScore:
    """Return the counts of some graphs, at least one.

    Example:
        >>> star = torch.tensor([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])
        >>> score = measure([(star, 4)])
        >>> score.automorphism, score.above_two, score.adjacency, score.exceptions
        (1, 1, 1, 0)
    """
    return together([_measured(part) for part in parts(graphs)])


def _measured(part: Sequence[Graph]) -> SymmetryScore:
    found = [symmetry(neighbors_of(edges, nodes)) for edges, nodes in part]
    moved = torch.tensor([each.automorphism is not None for each in found])
    above_two = torch.tensor([each.above_two for each in found])
    pairs, mask = decomposed(part, AdjacencyMatrix())
    matrices = pairs.values, decomposed(part, Symmetric())[0].values
    repeated = torch.stack([_are_repeated(values, mask) for values in matrices])  # (2, tolerances, graphs)
    adjacency, laplacian = repeated[:, 0]
    vectors = pairs.vectors.split([nodes for _, nodes in part])
    residuals = [
        residual(graph, each.automorphism, own[:, : graph[1]], values[: graph[1]])
        for graph, each, own, values in zip(part, found, vectors, pairs.values, strict=True)
        if each.automorphism is not None
    ]
    return SymmetryScore(
        counted=len(part),
        automorphism=int(moved.sum()),
        above_two=int(above_two.sum()),
        adjacency=int(adjacency.sum()),
        laplacian=int(laplacian.sum()),
        both_adjacency=int((moved & adjacency).sum()),
        both_laplacian=int((moved & laplacian).sum()),
        exceptions=int((above_two & ~(adjacency & laplacian)).sum()),
        sensitive=int((repeated != repeated[:, :1]).flatten(end_dim=1).any(dim=0).sum()),
        residual=max(residuals, default=0.0),
    )


def _are_repeated(values: Tensor, mask: Tensor) -> Bool[Tensor, "tolerances graphs"]:
    """Return which graphs have a repeated eigenvalue, by each of the tolerances."""
    spaces = [RelativeGap(tolerance=each, warn=False)(values, mask) for each in TOLERANCES]
    return torch.stack([(each.dimension > 1).any(dim=1) for each in spaces])


def residual(
    graph: Graph, automorphism: Permutation, vectors: Float[Tensor, "n n"], values: Float[Tensor, " n"]
) -> float:
    """Return the largest entry of |A P v - lambda P v| over all eigenpairs, relative to the norm of A.

    Args:
        graph: edges in both directions, and number of nodes.
        automorphism: image of each node; P moves the entry of a node to its image.
        vectors: eigenvectors v of A, as columns.
        values: eigenvalues lambda of A.

    Source: Robinson (2023), equation E.10.

    Example:
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 3
        >>> pairs, _ = decomposed([path], AdjacencyMatrix())
        >>> residual(path, (2, 1, 0), pairs.vectors, pairs.values[0]) < 1e-12
        True
        >>> residual(path, (1, 0, 2), pairs.vectors, pairs.values[0]) > 0.1  # no automorphism
        True
    """
    edges, nodes = graph
    moved = torch.empty_like(vectors)
    moved[torch.tensor(automorphism)] = vectors
    matrix = torch.zeros(nodes, nodes, dtype=vectors.dtype)
    matrix[edges[0], edges[1]] = 1.0
    norm = max(1.0, float(values.abs().max()))
    return float((matrix @ moved - moved * values).abs().max()) / norm


def together(scores: Iterable[SymmetryScore]) -> SymmetryScore:
    """Return the counts of several samples as those of one.

    Example:
        >>> pair = measure([(torch.tensor([[0, 1], [1, 0]]), 2)])
        >>> together([pair, pair]).automorphism
        2
    """
    columns = [vars(score) for score in scores]
    counts = {
        field.name: sum(each[field.name] for each in columns)
        for field in fields(SymmetryScore)
        if field.name != "residual"
    }
    return SymmetryScore(**counts, residual=max(each["residual"] for each in columns))
