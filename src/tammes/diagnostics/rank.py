"""How many dimensions embeddings use, as numbers of their spectrum: five measures that the field compares."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_number

EPSILON = 1e-7
"""Constant that RankMe adds to each share."""


def rankme(values: Float[Tensor, " rank"], *, epsilon: float = EPSILON) -> float:
    """Return RankMe: the exponential of the entropy of the normalized singular values.

        exp(-sum_k p_k log p_k) ,        p_k = sigma_k / sum_l sigma_l + epsilon

    The singular values are those of the (n, dim) embeddings, not centered. Published codes center or do not,
    take squares or do not, and add epsilon in other places: compare numbers of one code alone, at equal n.
    Values are lower for fewer rows, since the smallest singular values of few rows are small.

    Args:
        values: min(n, dim) singular values, at least 0, of the embeddings as they are.
        epsilon: constant added to each share, 1e-7 in the paper for float32.

    Returns:
        From 1 to the number of values; 0 if all are zero.

    Raises:
        ValueError: a value is negative or not finite.

    Source: Garrido et al. (2023), equation 1.

    Example:
        >>> round(rankme(torch.tensor([2.0, 2.0, 0.0])), 4)
        2.0
    """
    sigma = _checked(values)
    if float(sigma.sum()) == 0:
        return 0.0
    p = sigma / sigma.sum() + epsilon
    return float(torch.special.entr(p).sum().exp())


def stable_rank(values: Float[Tensor, " rank"]) -> float:
    """Return the stable rank: the squared Frobenius norm over the squared spectral norm.

        sum_k sigma_k^2 / sigma_1^2

    Args:
        values: singular values of the embeddings, at least 0. Of those that are not centered the mean is one
            of the directions, usually the largest; of centered ones the result is `nesum`.

    Returns:
        From 1 to the rank; 0 if all are zero.

    Raises:
        ValueError: a value is negative or not finite.

    Source: Rudelson and Vershynin (2007).

    Example:
        >>> stable_rank(torch.tensor([2.0, 1.0, 1.0]))
        1.5
    """
    squares = _checked(values).square()
    largest = float(squares.max())
    return float(squares.sum()) / largest if largest > 0 else 0.0


def nesum(eigenvalues: Float[Tensor, " dim"]) -> float:
    """Return NESum: the sum of the eigenvalues of the covariance over the largest.

        sum_k lambda_k / lambda_1

    Args:
        eigenvalues: eigenvalues of the covariance of the embeddings (centered), at least 0.

    Returns:
        From 1 to the rank; 0 if all are zero.

    Raises:
        ValueError: a value is negative or not finite.

    Source: He and Ozay (2022), definition 2.

    Example:
        >>> nesum(torch.tensor([2.0, 1.0, 1.0]))
        2.0
    """
    values = _checked(eigenvalues)
    largest = float(values.max())
    return float(values.sum()) / largest if largest > 0 else 0.0


def alpha_req(eigenvalues: Float[Tensor, " dim"]) -> float | None:
    """Return alpha-ReQ: the exponent of the power law that the eigenvalues of the covariance follow.

        lambda_k  ~  k^(-alpha) ,        by least squares on log k and log lambda_k

    All eigenvalues above 1e-9 of the largest take part, with equal weights; published codes take ranges by
    hand, which changes the number. The paper finds readouts best near 1.

    Args:
        eigenvalues: eigenvalues of the covariance of the embeddings (centered), at least 0, largest first.

    Returns:
        The exponent: 0 for equal eigenvalues, larger for a steeper spectrum; None for fewer than two
        eigenvalues, which have no slope.

    Raises:
        ValueError: a value is negative or not finite.

    Source: Agrawal et al. (2022), section 2.

    Example:
        >>> round(alpha_req(torch.arange(1.0, 9.0) ** -1.5), 4)
        1.5
    """
    values = _checked(eigenvalues)
    values = values[values > 1e-9 * values.max()]
    if len(values) < 2:
        return None
    x = torch.arange(1, len(values) + 1, dtype=torch.float64).log()
    x -= x.mean()
    slope = (x @ values.log()) / x.square().sum()
    return -float(slope)


def isoscore(eigenvalues: Float[Tensor, " dim"]) -> float | None:
    """Return IsoScore: how evenly the variance spreads over all dimensions.

        v = sqrt(d) lambda / |lambda| ,      delta = |v - 1| / sqrt(2 (d - sqrt(d)))
        phi = (d - delta^2 (d - sqrt(d)))^2 / d^2 ,      IsoScore = (d phi - 1) / (d - 1)

    Args:
        eigenvalues: all d eigenvalues of the covariance, zeros included.

    Returns:
        From 0, where one direction has all of the variance, to 1, for equal eigenvalues; None for one
        dimension or no variance.

    Raises:
        ValueError: a value is negative or not finite.

    Source: Rudman et al. (2022), algorithm 1.

    Example:
        >>> isoscore(torch.ones(4)), isoscore(torch.tensor([1.0, 0.0, 0.0, 0.0]))
        (1.0, 0.0)
    """
    values = _checked(eigenvalues)
    d = len(values)
    norm = float(values.norm())
    if d < 2 or norm == 0:
        return None
    v = math.sqrt(d) * values / norm
    room = d - math.sqrt(d)
    delta_squared = float((v - 1).square().sum()) / (2 * room)
    phi = (d - delta_squared * room) ** 2 / d**2
    return (d * phi - 1) / (d - 1) if phi * d > 1 else 0.0


def dimensions_for(eigenvalues: Float[Tensor, " dim"], share: float = 0.99) -> int:
    """Return the number of principal directions that hold a share of the variance.

        min { k : sum_{l <= k} lambda_l  >=  share * sum_l lambda_l }

    Args:
        eigenvalues: eigenvalues of the covariance, at least 0, largest first.
        share: share of the variance, above 0 and at most 1.

    Raises:
        ValueError: a value is negative or not finite, or a share out of its range.

    Example:
        >>> dimensions_for(torch.tensor([98.0, 1.5, 0.5]))
        2
    """
    check_number("share", share, above=0, maximum=1)
    values = _checked(eigenvalues)
    if float(values.sum()) == 0:
        return 0
    reached = values.cumsum(0) >= share * values.sum() * (1 - 1e-12)
    return int(reached.int().argmax()) + 1


def _checked(values: Tensor) -> Float[Tensor, " rank"]:
    """Return the values over the largest, so that their squares neither overflow nor vanish."""
    if values.ndim != 1 or len(values) == 0 or not bool(((values >= 0) & values.isfinite()).all()):
        raise ValueError(f"expected nonnegative finite values (rank,), at least one, got {values}")
    values = values.double()
    return values / values.max() if float(values.max()) > 0 else values
