"""Eigenpairs of a batch of graphs: small ones as dense matrices, large ones by Lanczos iterations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import scipy.sparse
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.spectral.eigen.adjacency import Adjacency, check_symmetric
from tammes.spectral.eigen.eigenspaces import RelativeGap, orthonormal_within
from tammes.spectral.eigen.lanczos import lower_bound, smallest_eigenpairs
from tammes.spectral.eigen.laplacian import Laplacian

MATRIX_ENTRIES = 2**23
"""Entries of the dense matrices that are in memory at once: 64 MiB of float64."""


def dense_eigenpairs(
    graphs: Adjacency,
    members: Int[Tensor, " some"],
    laplacian: Laplacian,
    values: Float[Tensor, "graphs k"],
    vectors: Float[Tensor, "nodes k"],
) -> None:
    """Write the first k eigenpairs of the graphs `members` to their rows of `values` and `vectors`.

    Graphs of equal size are stacked and decomposed together.

    Raises:
        ValueError: where the weights of the two directions of an edge differ.
    """
    off, diagonal = laplacian.symmetric(graphs.edges, graphs.weights, graphs.degrees)
    scale = laplacian.scale(graphs.degrees)
    order = members[graphs.sizes[members].argsort(stable=True)]
    rank = torch.full_like(graphs.sizes, len(graphs.sizes))
    rank[order] = torch.arange(len(order), device=order.device)
    by_rank = rank[graphs.owner].argsort()
    ends = [0, *torch.bincount(graphs.owner, minlength=len(rank))[order].cumsum(0).tolist()]

    def decompose(stack: tuple[int, int, int]) -> None:
        begin, end, size = stack
        edges = by_rank[ends[begin] : ends[end]]
        place = rank[graphs.owner[edges]] - begin
        first, second = graphs.edges[:, edges] - graphs.starts[order[begin + place]]
        matrix = off.new_zeros(end - begin, size, size)
        matrix.index_put_((place, first, second), off[edges], accumulate=True)
        check_symmetric(float((matrix - matrix.mT).abs().max()), float(matrix.abs().max()))
        rows = graphs.starts[order[begin:end], None] + torch.arange(size, device=order.device)
        matrix.diagonal(dim1=1, dim2=2).add_(diagonal[rows])
        found, columns = torch.linalg.eigh(matrix)
        width = min(size, values.shape[1])
        found, columns = found[:, :width], columns[:, :, :width]
        if scale is not None:
            columns = _rescaled(found, columns, scale[rows])
        values[order[begin:end], :width] = found
        vectors[rows, :width] = columns

    # LAPACK decomposes the matrices of a stack one by one. Threads take one size each and write to disjoint
    # rows, so no lock is needed.
    with ThreadPoolExecutor(torch.get_num_threads()) as threads:
        list(threads.map(decompose, _stacks(graphs.sizes[order].tolist())))


def sparse_eigenpairs(
    graphs: Adjacency,
    members: Int[Tensor, " some"],
    laplacian: Laplacian,
    values: Float[Tensor, "graphs k"],
    vectors: Float[Tensor, "nodes k"],
) -> None:
    """Write the first k eigenpairs of the large graphs `members`, as `dense_eigenpairs` does for small ones.

    Raises:
        ValueError: where the weights of the two directions of an edge differ.
    """
    off, diagonal = laplacian.symmetric(graphs.edges, graphs.weights, graphs.degrees)
    scale = laplacian.scale(graphs.degrees)
    signed = bool((graphs.weights < 0).any())
    for member in members.tolist():
        start, size = int(graphs.starts[member]), int(graphs.sizes[member])
        rows = slice(start, start + size)
        own = (graphs.owner == member).nonzero().flatten()
        first, second = (graphs.edges[:, own] - start).cpu().numpy()
        matrix = scipy.sparse.coo_array((off[own].cpu().numpy(), (first, second)), shape=(size, size)).tocsr()
        check_symmetric(float(abs(matrix - matrix.T).max()), float(abs(matrix).max()))
        matrix = (matrix + scipy.sparse.diags_array(diagonal[rows].cpu().numpy())).tocsr()
        lower = lower_bound(matrix) if signed else 0.0
        found, columns = map(
            torch.from_numpy, smallest_eigenpairs(matrix, min(size, values.shape[1]), lower=lower)
        )
        if scale is not None:
            columns = _rescaled(found[None], columns[None], scale[rows].cpu()[None])[0]
        values[member, : len(found)] = found.to(values)
        vectors[rows, : len(found)] = columns.to(vectors)


def _rescaled(
    values: Float[Tensor, "graphs k"], columns: Float[Tensor, "graphs n k"], scale: Float[Tensor, "graphs n"]
) -> Float[Tensor, "graphs n k"]:
    """Return eigenvectors D^{-1/2} u of L, orthonormal within each eigenspace."""
    spaces = RelativeGap(warn=False)(values, torch.ones_like(values, dtype=torch.bool))
    return orthonormal_within(columns * scale[..., None], spaces)


def _stacks(sizes: list[int]) -> Iterator[tuple[int, int, int]]:
    """Yield ranges of graphs of equal size that fit the memory: begin, end, size."""
    begin = 0
    for size, group in itertools.groupby(sizes):
        end = begin + len(list(group))
        if size:
            for first in range(begin, end, max(1, MATRIX_ENTRIES // size**2)):
                yield first, min(end, first + max(1, MATRIX_ENTRIES // size**2)), size
        begin = end
