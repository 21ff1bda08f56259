"""Hubness: rows that are among the nearest neighbors of far too many others, or of none."""

import math

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from tammes.checks import check_integer

SURPRISE = 1e-3
"""Expected number of hubs among rows whose neighbors are independent and equally likely."""
TIMES = 8.0
"""Smallest k-occurrence of a hub, in multiples of its mean k."""


def k_occurrence(indices: Int64[Tensor, "rows k"], count: int) -> Int64[Tensor, " n"]:
    """Return how often each row is among the k nearest neighbors of another.

        N_k(j) = |{ i : j is one of the k nearest neighbors of i }| ,        mean k if all rows are asked

    Args:
        indices: row numbers of the neighbors of each row, -1 for none.
        count: number n of rows.

    Source: Radovanović et al. (2010), section 2.

    Example:
        >>> k_occurrence(torch.tensor([[1], [0], [1]]), 3).tolist()
        [1, 2, 0]
    """
    flat = indices.flatten()
    return torch.bincount(flat[flat >= 0], minlength=count)


def hubness(occurrence: Int64[Tensor, " n"]) -> float:
    """Return the skewness of the k-occurrence.

        E (N_k - mu)^3 / sigma^3

    Args:
        occurrence: k-occurrence of each row.

    Returns:
        About 0 without hubs, larger with hubs; 0 if all rows occur equally often. Of neighbors drawn
        independently it is 1 / sqrt(k), that of a Poisson distribution.

    Source: Radovanović et al. (2010), section 2.

    Example:
        >>> hubness(torch.tensor([1, 1, 1])), round(hubness(torch.tensor([0, 0, 0, 4])), 4)
        (0.0, 1.1547)
    """
    centered = occurrence.double() - occurrence.double().mean()
    variance = float(centered.square().mean())
    return float(centered.pow(3).mean()) / variance**1.5 if variance > 0 else 0.0


def hubs(occurrence: Int64[Tensor, " n"], *, surprise: float = SURPRISE) -> Bool[Tensor, " n"]:
    """Return which rows occur among the neighbors of others far more often than by chance.

        N_k  >=  8 k   and   n P(Poisson(k) >= N_k)  <=  surprise

    A Poisson distribution is that of the k-occurrence of independent points in many dimensions; in few it is
    narrower (Newman et al. 1983). The factor 8 leaves out counts that are only significant.

    Args:
        occurrence: k-occurrence of each row.
        surprise: largest expected number of rows above the threshold by chance.

    Example:
        >>> hubs(torch.tensor([90] + [9] * 999)).sum()
        tensor(1)
    """
    n, mean = len(occurrence), float(occurrence.double().mean())
    if mean == 0:
        return torch.zeros(n, dtype=torch.bool)
    threshold = max(math.ceil(TIMES * mean), _poisson_threshold(mean, surprise / n))
    return occurrence >= threshold


def orphans(occurrence: Int64[Tensor, " n"]) -> Bool[Tensor, " n"]:
    """Return which rows are among the k nearest neighbors of no other: a search never finds them.

    Args:
        occurrence: k-occurrence of each row.

    Source: Radovanović et al. (2010), section 3 (there, antihubs).

    Example:
        >>> orphans(torch.tensor([1, 0])).tolist()
        [False, True]
    """
    return occurrence == 0


def orphan_share_by_chance(k: int) -> float:
    """Return the share of orphans if neighbors are independent and equally likely.

        P(Poisson(k) = 0) = e^(-k)

    Args:
        k: number of neighbors of each row.

    Example:
        >>> round(orphan_share_by_chance(2), 4)
        0.1353
    """
    return math.exp(-check_integer("k", k))


def _poisson_threshold(mean: float, probability: float) -> int:
    """Return the smallest t with P(Poisson(mean) >= t) at most the probability."""
    upper = torch.arange(1, 20 + int(mean + 40 * math.sqrt(mean) + 40), dtype=torch.float64)
    # P(Poisson(m) >= t) is the regularized lower incomplete gamma function P(t, m).
    tail = torch.special.gammainc(upper, torch.tensor(mean, dtype=torch.float64))
    return int(upper[(tail <= probability).int().argmax()])
