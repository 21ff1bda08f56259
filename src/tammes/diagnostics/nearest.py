"""The nearest neighbors of all rows or of queries: exact in blocks, or by an index of cells for many rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy.typing import NDArray
from torch import Tensor

from tammes.checks import check_integer
from tammes.products import product

ELEMENTS = 2**24
"""Distances of one block: 64 MiB in float32, whatever the number of rows."""
CACHED = 2**19
"""Entries of a block of differences: 2 MiB in float32."""
QUERIES = 32_768
"""Rows that search an index at a time."""
TESTED = 1_000
"""Rows whose exact neighbors measure the recall of an index."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Neighbors:
    """The nearest rows of each row, itself left out.

    Args:
        indices: row numbers, nearest first.
        distances: Euclidean distances, computed from differences, so that close pairs are exact.
        recall: share of the true neighbors found; 1 for an exact search.
        tested: rows on which the recall was measured; 0 for an exact search.
    """

    indices: Int64[Tensor, "rows k"]
    distances: Float[Tensor, "rows k"]
    recall: float = 1.0
    tested: int = 0


@torch.no_grad()
def nearest_neighbors(
    points: Float[Tensor, "n dim"], k: int, *, rows: Int64[Tensor, " rows"] | None = None
) -> Neighbors:
    """Return the k nearest other points of each point in Euclidean distance, exactly, block by block.

        argmin over j != i of  |x_i - x_j|

    For unit vectors that is the order of the cosines. Memory is that of a block, whatever n.

    Args:
        points: n points; in float32 or float64.
        k: number of neighbors, below n.
        rows: row numbers of the points whose neighbors are searched; None for all.

    Raises:
        ValueError: k of n or more.

    Example:
        >>> nearest_neighbors(torch.tensor([[0.0], [1.0], [3.0]]), 1).indices.flatten().tolist()
        [1, 0, 1]
    """
    _check(points, k)
    rows = torch.arange(len(points)) if rows is None else rows
    # From the mean: far from 0, or on a small part of the sphere, products round by more than points differ.
    center = points.mean(dim=0)
    parts = points.split(max(1, ELEMENTS // points.shape[1]))
    half = torch.cat([torch.linalg.vector_norm(part - center, dim=1).square_() / 2 for part in parts])
    side = max(1, ELEMENTS // len(points))
    # So do products with points themselves, if their mean is longer than they differ. These are centered in
    # parts, since a whole copy may not fit.
    far, found = bool(center.square().sum() > 2 * half.mean()), []
    for block in rows.split(side):
        left = points[block] - center
        if far:
            products = torch.cat([product(left, (part - center).T) for part in parts], dim=1)
        else:
            products = product(left, points.T)
        found.append(_nearest(products, half, block, k))
    indices = torch.cat(found)
    # The order by inner products has their rounding errors: close pairs are sorted again.
    distances, order = distances_to(points, rows, indices).sort(dim=1, stable=True)
    return Neighbors(indices=indices.gather(1, order), distances=distances)


@torch.no_grad()
def largest_products(
    queries: Float[Tensor, "q dim"], rows: Float[Tensor, "n dim"] | NDArray[np.float32], k: int
) -> tuple[Float[Tensor, "q k"], Int64[Tensor, "q k"]]:
    """Return the k largest inner products of each query and their rows, the largest first, block by block.

    Memory is that of a block and of the result, whatever n.

    Args:
        queries: q vectors, unit vectors for cosines.
        rows: n vectors; an array may be mapped from a file.
        k: number of rows; all n, if that is fewer.

    Example:
        >>> largest_products(torch.eye(2), torch.eye(3, 2), 1)[1].tolist()
        [[0], [1]]
    """
    check_integer("k", k)
    side = max(1, ELEMENTS // max(1, len(queries), queries.shape[1]))
    values, places = queries.new_empty(len(queries), 0), torch.empty(len(queries), 0, dtype=torch.int64)
    for start in range(0, len(rows), side):
        products = product(queries, torch.as_tensor(rows[start : start + side]).T)
        best = products.topk(min(k, products.shape[1]), dim=1)
        values = torch.cat([values, best.values], dim=1)
        places = torch.cat([places, best.indices + start], dim=1)
        best = values.topk(min(k, values.shape[1]), dim=1)
        values, places = best.values, places.gather(1, best.indices)
    return values, places


def distances_to(
    points: Float[Tensor, "n dim"], rows: Int64[Tensor, " rows"], indices: Int64[Tensor, "rows k"]
) -> Float[Tensor, "rows k"]:
    """Return the distances of rows to others, from differences in blocks.

    Args:
        points: n points.
        rows: row number of each row of `indices`.
        indices: row numbers of the others.

    Example:
        >>> x = torch.tensor([[0.0], [1.0], [3.0]])
        >>> distances_to(x, torch.tensor([2]), torch.tensor([[1, 0]])).tolist()
        [[2.0, 3.0]]
    """
    found = torch.empty(indices.shape, dtype=points.dtype)
    # Blocks that stay in the cache, changed in place, take a sixth of the time of large ones.
    side = max(1, CACHED // (indices.shape[1] * points.shape[1]))
    for start in range(0, len(rows), side):
        part = slice(start, start + side)
        others = points.index_select(0, indices[part].flatten()).view(*indices[part].shape, -1)
        others -= points[rows[part], None]
        found[part] = torch.linalg.vector_norm(others, dim=2)
    return found


@torch.no_grad()
def indexed_neighbors(
    points: Float[Tensor, "n dim"], k: int, *, generator: torch.Generator, probes: int = 24
) -> Neighbors:
    """Return about the k nearest other points of each point, by an index of faiss, with its recall.

    The points are sorted into cells around centers (IVF), and their residuals compressed to 4 bits for two
    dimensions (PQ); each point searches the cells nearest to it, and the best 2 k of these are ordered by
    their exact distances. The recall is measured on rows drawn at random, against an exact search.

    Args:
        points: n points in float32, 10,000 at least.
        k: number of neighbors, below n.
        generator: source of the rows that measure the recall.
        probes: cells that each point searches.

    Raises:
        ValueError: k of n or more, or fewer points than cells.
        ImportError: faiss is not installed.

    Source: Jégou et al. (2011), section 4; the library faiss.
    """
    _check(points, k)
    if len(points) < 10_000:
        raise ValueError(f"an index pays from 10,000 points on, got {len(points):,}: search them exactly")
    x = points.float().contiguous().numpy()
    index = cell_index(x, probes)
    indices = torch.empty(len(points), k, dtype=torch.int64)
    distances = torch.empty(len(points), k, dtype=points.dtype)
    for block in torch.arange(len(points)).split(QUERIES):
        _, candidates = index.search(x[block[0] : block[-1] + 1], min(2 * k + 1, len(points)))
        indices[block], distances[block] = _nearest_of(points, block, torch.from_numpy(candidates), k)
    found = Neighbors(indices=indices, distances=distances)
    tested = torch.randperm(len(points), generator=generator)[:TESTED]
    exact = nearest_neighbors(points, k, rows=tested)
    # Of equally far neighbors any counts as found.
    share = (found.distances[tested] <= exact.distances[:, -1:] * (1 + 1e-6)).double().mean()
    return replace(found, recall=float(share), tested=len(tested))


def _nearest_of(points: Tensor, block: Tensor, candidates: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the nearest of each row's candidates by their exact distances, with these."""
    # The row itself, and places that the search has left empty, are no neighbors.
    usable = (candidates >= 0) & (candidates != block[:, None])
    distance = distances_to(points, block, candidates.clamp(min=0)).where(usable, torch.inf)
    nearest = distance.topk(k, dim=1, largest=False)
    return candidates.gather(1, nearest.indices), nearest.values


def cell_index(x: Any, probes: int = 24) -> Any:
    """Return an index of faiss: cells with compressed residuals, of which each query searches some.

    Args:
        x: array (n, dim) of points in float32, of which 10,000 or more pay.
        probes: cells that each query searches.

    Raises:
        ImportError: faiss is not installed.
    """
    faiss = faiss_module()
    n, dim = x.shape
    # About 2 sqrt(n): more cells take longer to find, fewer longer to search.
    cells = 2 ** round(math.log2(2 * n**0.5))
    # A code of 4 bits for two dimensions; few dimensions need one each.
    most = dim if dim <= 64 else dim // 2
    pieces = next(each for each in range(most, 0, -1) if dim % each == 0)
    index = faiss.index_factory(dim, f"IVF{cells},PQ{pieces}x4fs")
    # Few rows for each cell and few steps are enough for cells, and take seconds instead of minutes.
    index.cp.niter, index.cp.max_points_per_centroid, index.cp.min_points_per_centroid = 6, 40, 1
    index.train(x[:: max(1, n // (40 * cells))])
    index.add(x)
    index.nprobe = probes
    return index


def faiss_module() -> Any:
    """Return the library faiss.

    Raises:
        ImportError: it is not installed; says what to install.
    """
    try:
        import faiss
    except ImportError as error:
        raise ImportError(
            'neighbors of this many rows need `faiss`: pip install "tammes[neighbors]", or take a sample'
        ) from error
    return faiss


def _nearest(products: Tensor, half: Tensor, block: Tensor, k: int) -> Int64[Tensor, "block k"]:
    # |x_i - x_j|^2 / 2 = |x_j - m|^2 / 2 - (x_i - m) . x_j, up to terms that are the same for all j; so it is
    # with x_j - m in place of x_j.
    closeness = products.sub_(half)
    closeness[torch.arange(len(block)), block] = -torch.inf
    return closeness.topk(k, dim=1).indices


def _check(points: Tensor, k: int) -> None:
    check_integer("k", k)
    if k >= len(points):
        raise ValueError(f"expected fewer neighbors than the {len(points):,} rows, got k={k}: choose fewer")
