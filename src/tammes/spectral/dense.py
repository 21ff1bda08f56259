"""Eigenpairs of many small graphs, those of equal size decomposed together as dense matrices."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.spectral.adjacency import Adjacency, expect_symmetric
from tammes.spectral.eigenspaces import RelativeGap, orthonormal_within
from tammes.spectral.laplacian import Laplacian

AT_ONCE = 2**23
"""Entries of all matrices that are held at once: 64 MiB of float64."""


def dense_eigenpairs(
    graphs: Adjacency,
    members: Int[Tensor, " some"],
    laplacian: Laplacian,
    values: Float[Tensor, "graphs k"],
    vectors: Float[Tensor, "nodes k"],
) -> None:
    """Writes the first k eigenpairs of the graphs `members` to their rows of values and vectors.

    Raises:
        ValueError: where a graph has an edge in one direction only, or of another weight in the other.
    """
    off, diagonal = laplacian.symmetric(graphs.edges, graphs.weights, graphs.degrees)
    scale = laplacian.scale(graphs.degrees)
    order = members[graphs.sizes[members].argsort(stable=True)]
    rank = torch.full_like(graphs.sizes, len(graphs.sizes))
    rank[order] = torch.arange(len(order), device=order.device)
    by_rank = rank[graphs.owner].argsort()
    ends = [0, *torch.bincount(graphs.owner, minlength=len(rank))[order].cumsum(0).tolist()]

    def decompose(part: tuple[int, int, int]) -> None:
        begin, end, size = part
        edges = by_rank[ends[begin] : ends[end]]
        place = rank[graphs.owner[edges]] - begin
        first, second = graphs.edges[:, edges] - graphs.starts[order[begin + place]]
        matrix = off.new_zeros(end - begin, size, size)
        matrix.index_put_((place, first, second), off[edges], accumulate=True)
        expect_symmetric((matrix - matrix.mT).abs().max(), matrix.abs().max())
        rows = graphs.starts[order[begin:end], None] + torch.arange(size, device=order.device)
        matrix.diagonal(dim1=1, dim2=2).add_(diagonal[rows])
        found, columns = torch.linalg.eigh(matrix)
        width = min(size, values.shape[1])
        found, columns = found[:, :width], columns[:, :, :width]
        if scale is not None:
            columns = columns * scale[rows][..., None]
            spaces = RelativeGap(warn=False)(found, torch.ones_like(found, dtype=torch.bool))
            columns = orthonormal_within(columns, spaces)
        values[order[begin:end], :width] = found
        vectors[rows, :width] = columns

    # LAPACK takes one matrix after the other: sizes are dealt to threads, which write to rows of their own.
    with ThreadPoolExecutor(torch.get_num_threads()) as threads:
        list(threads.map(decompose, _parts(graphs.sizes[order].tolist())))


def laplacian_matrix(
    edge_index: Int[Tensor, "2 m"],
    nodes: int,
    *,
    laplacian: Laplacian,
    edge_weight: Float[Tensor, " m"] | None = None,
) -> Float[Tensor, "nodes nodes"]:
    """L of one graph as a dense matrix, in float64; the graph may be directed.

    Args:
        edge_index: an edge from i to j counts in row i, and in the degree of i.
        nodes: how many there are.
        laplacian: of which kind.
        edge_weight: of each edge; left out, 1.

    Raises:
        ValueError: for edges and weights as in `eigenpairs`.

    Example:
        >>> from tammes.spectral import RandomWalk
        >>> matrix = laplacian_matrix(torch.tensor([[0, 0], [1, 2]]), 3, laplacian=RandomWalk())
        >>> matrix.round(decimals=6).tolist()
        [[1.0, -0.5, -0.5], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    batch = torch.zeros(nodes, dtype=torch.long, device=edge_index.device)
    graph = Adjacency.of(edge_index, batch, edge_weight)
    off, diagonal = laplacian.symmetric(graph.edges, graph.weights, graph.degrees)
    matrix = diagonal.diag().index_put(tuple(graph.edges), off, accumulate=True)
    scale = laplacian.scale(graph.degrees)
    return matrix if scale is None else scale[:, None] * matrix / scale


def _parts(sizes: list[int]) -> Iterator[tuple[int, int, int]]:
    """Ranges of equal size, as long as memory allows: where they begin and end, and the size."""
    begin = 0
    for size, group in itertools.groupby(sizes):
        end = begin + len(list(group))
        if size:
            for part in range(begin, end, max(1, AT_ONCE // size**2)):
                yield part, min(end, part + max(1, AT_ONCE // size**2)), size
        begin = end
