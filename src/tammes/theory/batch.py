"""Collisions in a batch, where negatives are drawn without replacement and form pairs of one class."""

import math

import numpy as np
from jaxtyping import Float

from tammes.checks import check_integer
from tammes.theory.class_distribution import ClassDistribution


def collision_probability_in_batch(k: int, classes: ClassDistribution, *, pairs: int) -> float:
    """Return the probability that k negatives of a batch of B positive pairs include the anchor's class.

        1 - sum_c rho(c) E[(1 - rho(c))^D],

        P(D = d) = C(B-1, d) C(d, k-d) 2^(2d-k) / C(2(B-1), k),

    where D is the number of the B - 1 other pairs that the k candidates touch.

    Differs: the paper's analysis draws the classes of the k negatives independently
    (`collision_probability`). In the batches of its experiments both members of a pair have one class and
    collide together: k = 2(B-1) candidates are only B - 1 draws of a class, and collide about as often as
    half as many independent negatives. The expected number of collisions is the same, k sum_c rho(c)^2.

    Args:
        k: number of negatives of an anchor, drawn without replacement from the other 2(B-1) views.
        classes: class distribution of the pairs.
        pairs: number B of positive pairs in the batch, at least 2.

    Raises:
        ValueError: `pairs` below 2, or k below 1 or above 2(B-1).

    Example:
        >>> rho = ClassDistribution.uniform(1000)
        >>> round(collision_probability_in_batch(1022, rho, pairs=512), 4)
        0.4003
    """
    check_integer("pairs", pairs, minimum=2)
    check_integer("k", k)
    others = pairs - 1
    if k > 2 * others:
        raise ValueError(
            f"a batch of {pairs} pairs has 2 (B - 1) = {2 * others} negatives for each anchor, got k={k}: "
            "take a smaller k or more pairs"
        )
    touched = np.arange((k + 1) // 2, min(k, others) + 1)
    missed = np.exp(touched[:, None] * classes.log_other)  # (d, groups): no touched pair has class c
    return float(1 - np.sum(_probabilities(k, others) @ missed * classes.sizes * classes.rho))


def _probabilities(k: int, others: int) -> Float[np.ndarray, " d"]:
    """Return P(D = d) for d from k/2, rounded up, to min(k, others)."""
    total = _log_choose(2 * others, k)
    logs = [
        _log_choose(others, d) + _log_choose(d, k - d) + (2 * d - k) * math.log(2) - total
        for d in range((k + 1) // 2, min(k, others) + 1)
    ]
    weights = np.exp(logs)
    return weights / weights.sum()  # rounding of the large log-factorials changes the sum by up to 1e-10


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
