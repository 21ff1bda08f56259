"""The number of negatives that the bounds prefer."""

import math
from collections.abc import Iterator

from tammes.theory.class_distribution import ClassDistribution
from tammes.theory.transfer import ROUNDING, covering_draws, covering_rounds, log_transfer_coefficient

TIE = 1e-12
"""Bounds whose logarithms differ by less are equal, and the smaller k wins."""


def best_k(classes: ClassDistribution, *, growth: float = 0.0) -> int:
    """The k at which the bound is least, exactly.

        argmin over k = 1, 2, ... of  alpha(k, N) k^growth

    Differs: by Remark 2 alpha falls until it rises. Its ceiling makes it a saw instead: it rises from each k
    to the next but where one round of covering less suffices, and the least of those corners is found here.
    For 100 classes it is at k = 103, and the closed form says 99.5.

    Args:
        classes: at least two.
        growth: how the excess loss is taken to grow with k, as a power: 0 for Theorem 1 as it stands, 0.5 for
            the refined bound (Theorem 3), 1 where nothing is left of the trade-off and the best k is 1.

    Raises:
        ValueError: For a single class, or a growth outside 0 to 1.

    Source: Ash et al. (2022), Remark 2 and Theorem 3.

    Example:
        >>> best_k(ClassDistribution.uniform(100)), best_k(ClassDistribution.uniform(100), growth=0.5)
        (103, 54)
    """
    _check(growth)
    best, least = 1, math.inf
    for k, value in _corners(classes, growth):
        if value < least - TIE:
            best, least = k, value
    return best


def closed_form_best_k(classes: ClassDistribution, *, growth: float = 0.0) -> float:
    """The k at which the bound without its ceiling is least.

        (1 - growth) / -log(1 - rho_max);        uniform: (1 - growth) / (log N - log(N - 1))

    Args:
        classes: at least two.
        growth: as for `best_k`; 0.5 gives the refined bound's.

    Returns:
        A real number; below 1 it says that a single negative is best.

    Raises:
        ValueError: For a single class, or a growth outside 0 to 1.

    Source: Ash et al. (2022), Remark 2; the text below Theorem 3. For any class distribution, the same from
    Theorem 5.

    Example:
        >>> rho = ClassDistribution.uniform(100)
        >>> round(closed_form_best_k(rho), 4), round(closed_form_best_k(rho, growth=0.5), 4)
        (99.4992, 49.7496)
    """
    _check(growth)
    covering_draws(classes)  # refuses a single class
    return (1 - growth) / -math.log1p(-classes.greatest)


def near_best_k(classes: ClassDistribution, *, growth: float = 0.0, factor: float = 1.1) -> tuple[int, int]:
    """The smallest and the largest k whose bound is at most `factor` times the least.

    Args:
        classes: at least two.
        growth: as for `best_k`.
        factor: at least 1. Between the two the bound may exceed it here and there, by the teeth of the saw.

    Raises:
        ValueError: As `best_k` does, and for a factor below 1.

    Example:
        >>> near_best_k(ClassDistribution.uniform(100))
        (65, 147)
    """
    if not factor >= 1:
        raise ValueError(f"factor must be at least 1, got {factor}")
    limit = log_bound(best_k(classes, growth=growth), classes, growth=growth) + math.log(factor) + TIE
    within = [k for k, value in _corners(classes, growth) if value <= limit]
    # Beyond a corner the bound rises until the next one: the last k within the limit is found by halving.
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
    """log( alpha(k, N) k^growth ): what `best_k` makes least, up to a constant factor of the bound.

    Args:
        k: the number of negatives of an anchor.
        classes: at least two.
        growth: as for `best_k`.

    Raises:
        ValueError: As `transfer_coefficient` does.

    Example:
        >>> rho = ClassDistribution.uniform(100)
        >>> log_bound(1, rho, growth=0.5) == log_transfer_coefficient(1, rho)
        True
    """
    return log_transfer_coefficient(k, classes) + growth * math.log(k)


def _corners(classes: ClassDistribution, growth: float) -> Iterator[tuple[int, float]]:
    """Every k at which fewer rounds cover than at k - 1, with `log_bound` there.

    There are at most 2 sqrt(covering_draws) of them.
    """
    needed = covering_draws(classes) * (1 - ROUNDING)
    rate = -math.log1p(-classes.greatest)
    k = 1
    while True:
        rounds = math.ceil(needed / k)
        yield k, math.log(2) + math.log(rounds) + rate * k + growth * math.log(k)
        if rounds == 1:
            return
        k = max(k + 1, math.ceil(needed / (rounds - 1)))


def _check(growth: float) -> None:
    if not 0 <= growth <= 1:
        raise ValueError(f"growth must be a power between 0 and 1, got {growth}")
