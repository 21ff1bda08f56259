"""The number of negatives that the bounds prefer."""

import math
from collections.abc import Iterator

from tammes.checks import check_number
from tammes.theory.class_distribution import ClassDistribution
from tammes.theory.transfer import ROUNDING, covering_draws, covering_rounds, log_transfer_coefficient

TIE = 1e-12
"""Bounds whose logarithms differ by less count as equal, and the smaller k wins."""


def best_k(classes: ClassDistribution, *, growth: float = 0.0) -> int:
    """Return the k that minimizes the bound, exactly.

        argmin over k = 1, 2, ... of  alpha(k, N) k^growth

    Differs: by Remark 2 alpha falls until it rises. Its ceiling makes it a sawtooth instead: it rises with k
    except at the corners, where one covering round less suffices. This function returns the lowest corner.
    For 100 classes it is at k = 103; the closed form gives 99.5.

    Args:
        classes: class distribution, at least two classes.
        growth: power of k with which the excess loss grows, from 0 to 1: 0 for Theorem 1, 0.5 for the refined
            bound (Theorem 3), 1 for no trade-off, where the best k is 1.

    Raises:
        ValueError: a single class, or a growth out of its range.

    Source: Ash et al. (2022), Remark 2 and Theorem 3.

    Example:
        >>> best_k(ClassDistribution.uniform(100)), best_k(ClassDistribution.uniform(100), growth=0.5)
        (103, 54)
    """
    check_number("growth", growth, minimum=0, maximum=1)
    best, lowest = 1, math.inf
    for k, value in _corners(classes, growth):
        if value < lowest - TIE:
            best, lowest = k, value
    return best


def closed_form_best_k(classes: ClassDistribution, *, growth: float = 0.0) -> float:
    """Return the real k that minimizes the bound without its ceiling.

        (1 - growth) / -log(1 - rho_max);        uniform: (1 - growth) / (log N - log(N - 1))

    Args:
        classes: class distribution, at least two classes.
        growth: power of k in the bound, as for `best_k`.

    Returns:
        A real number; below 1, a single negative is best.

    Raises:
        ValueError: a single class, or a growth out of its range.

    Source: Ash et al. (2022), Remark 2 and the text below Theorem 3 for equally likely classes; likewise from
    Theorem 5 for any class distribution.

    Example:
        >>> rho = ClassDistribution.uniform(100)
        >>> round(closed_form_best_k(rho), 4), round(closed_form_best_k(rho, growth=0.5), 4)
        (99.4992, 49.7496)
    """
    check_number("growth", growth, minimum=0, maximum=1)
    covering_draws(classes)  # raises ValueError for a single class
    return (1 - growth) / -math.log1p(-classes.largest)


def near_best_k(classes: ClassDistribution, *, growth: float = 0.0, factor: float = 1.1) -> tuple[int, int]:
    """Return the smallest and the largest k whose bound is at most `factor` times the minimum.

    Args:
        classes: class distribution, at least two classes.
        growth: power of k in the bound, as for `best_k`.
        factor: multiple of the minimum, at least 1. Some k between the two may exceed it, since the bound is
            a sawtooth.

    Raises:
        ValueError: a single class, or a growth or factor out of its range.

    Example:
        >>> near_best_k(ClassDistribution.uniform(100))
        (65, 147)
    """
    check_number("factor", factor, minimum=1)
    limit = log_bound(best_k(classes, growth=growth), classes, growth=growth) + math.log(factor) + TIE
    within = [k for k, value in _corners(classes, growth) if value <= limit]
    # Between corners the bound rises, so that bisection finds the last k within the limit.
    largest, beyond = within[-1], 2 * within[-1]
    while covering_rounds(beyond, classes) == 1 and log_bound(beyond, classes, growth=growth) <= limit:
        beyond *= 2
    while beyond - largest > 1:
        middle = (largest + beyond) // 2
        same = covering_rounds(middle, classes) == covering_rounds(within[-1], classes)
        if same and log_bound(middle, classes, growth=growth) <= limit:
            largest = middle
        else:
            beyond = middle
    return within[0], largest


def log_bound(k: int, classes: ClassDistribution, *, growth: float = 0.0) -> float:
    """Return log( alpha(k, N) k^growth ), which `best_k` minimizes.

    Args:
        k: number of negatives of an anchor, at least 1.
        classes: class distribution, at least two classes.
        growth: power of k in the bound, as for `best_k`.

    Raises:
        ValueError: k below 1, or a single class.

    Example:
        >>> rho = ClassDistribution.uniform(100)
        >>> log_bound(1, rho, growth=0.5) == log_transfer_coefficient(1, rho)
        True
    """
    return log_transfer_coefficient(k, classes) + growth * math.log(k)


def _corners(classes: ClassDistribution, growth: float) -> Iterator[tuple[int, float]]:
    """Yield the k that need fewer rounds than k - 1, at most 2 sqrt(covering_draws), with `log_bound`."""
    needed = covering_draws(classes) * (1 - ROUNDING)
    rate = -math.log1p(-classes.largest)
    k = 1
    while True:
        rounds = math.ceil(needed / k)
        yield k, math.log(2) + math.log(rounds) + rate * k + growth * math.log(k)
        if rounds == 1:
            return
        k = max(k + 1, math.ceil(needed / (rounds - 1)))
