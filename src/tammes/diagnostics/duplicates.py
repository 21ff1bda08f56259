"""Rows that are equal or far closer than their surroundings, groups of them, and leaks between splits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

FALSE_PAIRS = 0.001
"""Expected number of false near-duplicates among all rows where neighbors lie as by chance."""
CLOSEST = 0.25
"""Largest distance of near-duplicates, in multiples of the distance to the k-th neighbor."""
GROUP, SAME = 5, 0.01
"""More than five rows that are as close to each other as near-duplicates are a cluster, such as a class of
fewer than k rows, unless their distances are below this share of that to the k-th neighbor."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Duplicates:
    """Groups of rows that are equal, or nearly.

    Args:
        group: number of each row's group; rows alone have groups of one.
        exact: whether an equal row exists.
        near: whether a near-duplicate exists that is not equal.
        pairs: row numbers of the pairs found, the smaller first; of equal rows, the first with each other.
        ratio: distance of each pair over the distance to the k-th neighbor; 0 for equal rows.
        threshold: ratio up to which a pair is a near-duplicate.
    """

    group: Int64[Tensor, " n"]
    exact: Bool[Tensor, " n"]
    near: Bool[Tensor, " n"]
    pairs: Int64[Tensor, "pairs 2"]
    ratio: Float[Tensor, " pairs"]
    threshold: float

    @property
    def rows(self) -> Bool[Tensor, " n"]:
        """Whether each row has a duplicate of either kind."""
        return self.exact | self.near

    @property
    def groups(self) -> int:
        """Number of groups of two rows at least."""
        return int((torch.bincount(self.group) > 1).sum())


def near_threshold(n: int, k: int, dimension: float) -> float:
    """Return the ratio of distances below which a neighbor is too close to be there by chance.

        rho = min( 1/4, (0.001 / (n (k - 1)))^(1/D) )

    Where the density is even at the scale of k neighbors, (r_1 / r_k)^D is the least of k - 1 uniform
    numbers, so that r_1 <= rho r_k has probability 1 - (1 - rho^D)^(k - 1) at most (k - 1) rho^D: of n rows
    0.001 are then expected to fall below rho.

    Args:
        n: number of rows.
        k: number of neighbors, two at least.
        dimension: intrinsic dimension D.

    Example:
        >>> round(near_threshold(10_000, 20, 3.0), 5), near_threshold(10_000, 20, 50.0)
        (0.00174, 0.25)
    """
    return min(CLOSEST, (FALSE_PAIRS / (n * max(1, k - 1))) ** (1 / dimension))


def equal_rows(points: Float[Tensor, "n dim"]) -> Int64[Tensor, " n"]:
    """Return the number of the first row that is equal to each row; its own where it is the first.

    Args:
        points: n points.

    Example:
        >>> equal_rows(torch.tensor([[1.0], [2.0], [1.0]])).tolist()
        [0, 1, 0]
    """
    # Equal rows have equal hashes; rows of equal hash are compared, in the order of the hashes.
    keys, order = _hashes(points).sort(stable=True)
    same = torch.zeros(len(points), dtype=torch.bool)
    for block in (keys[1:] == keys[:-1]).nonzero()[:, 0].split(100_000):
        same[block + 1] = (points[order[block]] == points[order[block + 1]]).all(dim=1)
    start = (~same).cumsum(0) - 1
    first = torch.full((int(start.max()) + 1,), len(points), dtype=torch.int64)
    first.scatter_reduce_(0, start, order, "amin")
    found = torch.empty(len(points), dtype=torch.int64)
    found[order] = first[start]
    return found


def duplicates(
    first_equal: Int64[Tensor, " n"],
    indices: Int64[Tensor, "n k"],
    distances: Float[Tensor, "n k"],
    dimension: float | None,
) -> Duplicates:
    """Return the rows that are equal to another, or much closer to it than to their other neighbors.

        d(i, j)  <=  rho_k min(r_k(i), r_k(j)) ,        rho_k = near_threshold(n, k, D)

    Rows of a tight cluster of fewer than k rows are as close, and no duplicates. So the same must hold of the
    fifth neighbor, unless the rows are so close that rho_k may be 0.01: of near-duplicates that are further
    apart, groups of up to five rows are found. Groups are the connected components of the pairs.

    Args:
        first_equal: number of the first row equal to each row, as `equal_rows` returns it.
        indices: row numbers of the k nearest neighbors of each row.
        distances: their distances.
        dimension: intrinsic dimension; None if it is unknown, which leaves equal rows alone.

    Example:
        >>> x = torch.cat([torch.eye(8), torch.eye(8)[:1] + 0.001])
        >>> from tammes.diagnostics.nearest import nearest_neighbors
        >>> near = nearest_neighbors(x, 3)
        >>> duplicates(equal_rows(x), near.indices, near.distances, 7.0).pairs.tolist()
        [[0, 8]]
    """
    n, k = indices.shape
    rows = torch.arange(n)
    copies = torch.bincount(first_equal, minlength=n)
    exact = copies[first_equal] > 1
    repeated = (first_equal != rows).nonzero()[:, 0]
    pairs = torch.stack([first_equal[repeated], repeated], dim=1)
    ratio = torch.zeros(len(pairs))
    threshold = 0.0 if dimension is None else near_threshold(n, k, dimension)
    scale, few = distances[:, -1], min(GROUP, k)
    if k > 1 and dimension is not None:
        i, place = (distances[:, :-1] <= threshold * scale[:, None]).nonzero(as_tuple=True)
        j = indices[i, place]
        bound, inner = (torch.minimum(each[i], each[j]) for each in (scale, distances[:, few - 1]))
        d = distances[i, place]
        apart = (d <= near_threshold(n, few, dimension) * inner).logical_or_(d <= SAME * bound)
        kept = (j >= 0) & (d <= threshold * bound) & apart & (first_equal[i] != first_equal[j])
        close = torch.stack([torch.minimum(i, j), torch.maximum(i, j)], dim=1)[kept]
        close, inverse = torch.unique(close, dim=0, return_inverse=True)
        near_ratio = torch.zeros(len(close))
        # Of k equal neighbors and more the k-th is as close as the first: 0 / 0.
        near_ratio[inverse] = (d / bound.clamp(min=torch.finfo(d.dtype).tiny))[kept].float()
        pairs, ratio = torch.cat([pairs, close]), torch.cat([ratio, near_ratio])
    near = torch.zeros(n, dtype=torch.bool)
    near[pairs[len(repeated) :].flatten()] = True
    return Duplicates(
        group=_components(n, pairs), exact=exact, near=near, pairs=pairs, ratio=ratio, threshold=threshold
    )


def leaked(group: Int64[Tensor, " n"], split: Int64[Tensor, " n"]) -> Bool[Tensor, " n"]:
    """Return which rows have a duplicate in another split.

    Args:
        group: number of each row's group of duplicates.
        split: number of each row's split.

    Example:
        >>> leaked(torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 1, 1])).tolist()
        [True, True, False, False]
    """
    count = int(group.max()) + 1
    low = torch.full((count,), int(split.max()) + 1).scatter_reduce(0, group, split, "amin")
    high = torch.full((count,), -1).scatter_reduce(0, group, split, "amax")
    return (low < high)[group]


def _hashes(points: Tensor) -> Int64[Tensor, " n"]:
    """Return a number for each row that depends on its bits alone: rounding cannot part equal rows."""
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[points.element_size()]
    generator = torch.Generator().manual_seed(0)
    weights = torch.randint(1, 2**62, (points.shape[1],), generator=generator) | 1
    # Adding zero turns -0 into 0, which equals it; products and sums of integers wrap around.
    blocks = points.split(8192)
    return torch.cat([((each + 0.0).view(bits).long() * weights).sum(dim=1) for each in blocks])


def _components(n: int, pairs: Int64[Tensor, "pairs 2"]) -> Int64[Tensor, " n"]:
    """Return the number of each row's connected component, counted from 0 in the order of the rows."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(pairs)), pairs.T.numpy()), shape=(n, n))
    return torch.from_numpy(connected_components(graph, directed=False)[1]).long()
