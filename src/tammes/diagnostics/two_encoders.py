"""Two embeddings of the same rows: their neighbors, inner products, best rotation and order of distances."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tammes.checks import check_finite_rows, check_shape
from tammes.diagnostics.blocks import directions
from tammes.diagnostics.moments import BLOCK


def neighbor_overlap(first: Int64[Tensor, "n k"], second: Int64[Tensor, "n k"]) -> Float[Tensor, " n"]:
    """Return the share of neighbors that two embeddings have in common, row by row.

        |N_a(i) and N_b(i)| / k ,        k / (n - 1) in expectation for unrelated embeddings

    Args:
        first: row numbers of the k neighbors of each row in the first embedding.
        second: the same in the second.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> neighbor_overlap(torch.tensor([[1, 2]]), torch.tensor([[2, 3]])).tolist()
        [0.5]
    """
    check_shape("second, like first,", second.shape, tuple(first.shape))
    blocks = zip(first.split(BLOCK), second.split(BLOCK), strict=True)
    found = [(a[:, :, None] == b[:, None, :]).any(dim=2).float().mean(dim=1) for a, b in blocks]
    return torch.cat(found)


@torch.no_grad()
def linear_cka(first: Float[Tensor, "n dim"], second: Float[Tensor, "n other"]) -> float:
    """Return the linear centered kernel alignment of two embeddings of the same rows.

        |X^T Y|_F^2 / ( |X^T X|_F |Y^T Y|_F )        of centered X, Y

    It does not change by rotations, shifts and scales of either.

    Args:
        first: embeddings of n rows.
        second: embeddings of the same rows, in the same order; their dimension may differ.

    Returns:
        From 0 to 1, where they are equal up to a rotation, shift and scale; 0 if one is constant. Of few rows
        in many dimensions it is large for unrelated embeddings too.

    Raises:
        ValueError: different numbers of rows, or NaN or infinity.

    Source: Kornblith et al. (2019), equation 5.

    Example:
        >>> x = torch.tensor([[1.0, 0.0], [0.0, 2.0], [-1.0, -2.0]])
        >>> round(linear_cka(x, 3 * x.flip(1) + 1), 6)
        1.0
    """
    xx, yy, xy = _products(first, second)
    scale = float(xx.norm() * yy.norm())
    return float(xy.square().sum()) / scale if scale > 0 else 0.0


@torch.no_grad()
def procrustes_distance(first: Float[Tensor, "n dim"], second: Float[Tensor, "n other"]) -> float:
    """Return what remains of the difference of two embeddings after the best rotation, shift and scale.

        min over rotations R (reflections too) and scales s of  |X - s Y R|_F^2 / |X|_F^2  =
        1 - ( |X^T Y|_* / (|X|_F |Y|_F) )^2        of centered X, Y

    with the nuclear norm |.|_*. The narrower embedding is padded with zeros.

    Args:
        first: embeddings of n rows.
        second: embeddings of the same rows, in the same order; their dimension may differ.

    Returns:
        From 0, where the two differ by a rotation, shift and scale only, to 1; 1 if one is constant.

    Raises:
        ValueError: different numbers of rows, or NaN or infinity.

    Source: Schönemann (1966); Gower (1975).

    Example:
        >>> x = torch.tensor([[1.0, 0.0], [0.0, 2.0], [-1.0, -2.0]], dtype=torch.float64)
        >>> round(procrustes_distance(x, 3 * x.flip(1) + 1), 6)
        0.0
    """
    xx, yy, xy = _products(first, second)
    scale = float((xx.trace() * yy.trace()).sqrt())
    if scale == 0:
        return 1.0
    return max(0.0, 1 - (float(torch.linalg.svdvals(xy).sum()) / scale) ** 2)


@torch.no_grad()
def rsa(first: Float[Tensor, "n dim"], second: Float[Tensor, "n other"]) -> float:
    """Return the correlation of the orders of all distances in two embeddings of the same rows.

        Spearman's rank correlation of  1 - cos(x_i, x_j)  and  1 - cos(y_i, y_j)  over all pairs i < j

    Memory is quadratic in n: give a sample of rows.

    Args:
        first: embeddings of n rows, three at least, none of length zero.
        second: embeddings of the same rows, in the same order; their dimension may differ.

    Returns:
        From -1 to 1; 0 for unrelated embeddings, and if all distances of one are equal.

    Raises:
        ValueError: different numbers of rows, or a row of length zero or that is not finite.

    Source: Kriegeskorte et al. (2008).

    Example:
        >>> x = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-1.0, 1.0]])
        >>> round(rsa(x, -2 * x), 6)
        1.0
    """
    _check(first, second)
    row, column = torch.triu_indices(len(first), len(first), 1)
    ranks = []
    for each in (first, second):
        units = directions(each.double())
        # Rounding below 1e-9 must not order distances that are equal.
        ranks.append(_ranks((units @ units.T)[row, column].mul(1e9).round()))
    a, b = (each - each.mean() for each in ranks)
    scale = float(a.norm() * b.norm())
    return float(a @ b) / scale if scale > 0 else 0.0


def cka_by_chance(n: int, dim: int, other: int) -> float:
    """Return the linear CKA of unrelated Gaussian embeddings, as the ratio of expectations.

        sqrt( d d' / ((d + m + 1)(d' + m + 1)) ) ,        m = n - 1

    Args:
        n: number of rows.
        dim: dimension d of the first.
        other: dimension d' of the second.

    Example:
        >>> round(cka_by_chance(1001, 100, 100), 4)
        0.0908
    """
    return float((dim * other / ((dim + n) * (other + n))) ** 0.5)


def _products(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return X^T X, Y^T Y and X^T Y of the centered embeddings, in float64, block by block."""
    _check(first, second)
    means = first.double().mean(dim=0), second.double().mean(dim=0)
    xx, yy, xy = (
        torch.zeros(a.shape[1], b.shape[1], dtype=torch.float64)
        for a, b in ((first, first), (second, second), (first, second))
    )
    for left, right in zip(first.split(BLOCK), second.split(BLOCK), strict=True):
        x, y = left.double() - means[0], right.double() - means[1]
        xx.addmm_(x.T, x)
        yy.addmm_(y.T, y)
        xy.addmm_(x.T, y)
    return xx, yy, xy


def _check(first: Tensor, second: Tensor) -> None:
    """Raise ValueError for other rows, and for NaN, which compares like an embedding without variance."""
    check_shape("second, with the rows of first,", second.shape, (len(first), None))
    check_finite_rows("first embeddings", first)
    check_finite_rows("second embeddings", second)


def _ranks(values: Tensor) -> Tensor:
    """Return the ranks of values; equal values share the mean of theirs."""
    _, inverse, counts = torch.unique(values, return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    return (last - (counts - 1) / 2)[inverse]
