"""The transfer coefficient, with which a contrastive loss bounds a supervised one."""

import math

from tammes.checks import check_integer
from tammes.theory.class_distribution import ClassDistribution
from tammes.theory.coupon import harmonic_number

ROUNDING = 1e-12
"""A quotient this close above an integer counts as that integer: N H_N is one for small N."""


def transfer_coefficient(k: int, classes: ClassDistribution) -> float:
    """Return the factor alpha(k, N) between the excess NCE loss and the loss of the mean classifier.

        L_sup(f)  <=  alpha (L_NCE(f) - floor),

        alpha = 2 / (1 - rho_max)^k * ceil( 2 (1 - rho_min) H_{N-1} / (k rho_min) ),

    which for equally likely classes is 2 / (1 - tau_k) * ceil( 2 (N-1) H_{N-1} / k ). The first factor is the
    price of collisions and grows with k; the second is the price of uncovered classes and falls.

    Differs: Theorem 5 prints max(1, x) where its proof (Lemma 4) needs, and Theorems 1 and 6 have, ceil(x).
    This function has ceil(x): at most twice the printed value, and Theorem 1 for equally likely classes.

    Differs: Theorem 1 prints the floor as tau_k for both losses. That is the floor of the hinge loss. For the
    logistic loss with the natural logarithm it is `logistic_floor`, which is smaller for few negatives; with
    tau_k the theorem is false.

    Args:
        k: number of negatives of an anchor, drawn independently, at least 1.
        classes: class distribution, at least two classes.

    Returns:
        alpha, at least 2; infinity where it overflows (`log_transfer_coefficient` does not).

    Raises:
        ValueError: k below 1, or a single class.

    Source: Ash et al. (2022), Theorems 1 and 5.

    Example:
        >>> round(transfer_coefficient(100, ClassDistribution.uniform(100)), 2)
        60.1
    """
    logarithm = log_transfer_coefficient(k, classes)
    return math.exp(logarithm) if logarithm < math.log(2) * 1024 else math.inf


def log_transfer_coefficient(k: int, classes: ClassDistribution) -> float:
    """Return the natural logarithm of `transfer_coefficient`, without overflow.

    Args:
        k: number of negatives of an anchor, at least 1.
        classes: class distribution, at least two classes.

    Raises:
        ValueError: k below 1, or a single class.

    Example:
        >>> round(log_transfer_coefficient(10**6, ClassDistribution.uniform(10)), 1)
        105361.2
    """
    rounds = covering_rounds(k, classes)
    return math.log(2) + math.log(rounds) - k * math.log1p(-classes.largest)


def covering_rounds(k: int, classes: ClassDistribution) -> int:
    """Return how many sets of k negatives suffice to cover all other classes with probability one half.

        ceil( 2 (1 - rho_min) H_{N-1} / (k rho_min) )

    Args:
        k: number of negatives in a set, at least 1.
        classes: class distribution, at least two classes.

    Raises:
        ValueError: k below 1, or a single class.

    Source: Ash et al. (2022), Lemma 4.

    Example:
        >>> covering_rounds(100, ClassDistribution.uniform(100))
        11
    """
    check_integer("k", k)
    return math.ceil(covering_draws(classes) / k * (1 - ROUNDING))


def covering_draws(classes: ClassDistribution) -> float:
    """Return how many negatives suffice to cover all other classes with probability one half.

        2 (1 - rho_min) H_{N-1} / rho_min

    Args:
        classes: class distribution, at least two classes.

    Raises:
        ValueError: a single class, which leaves no other class to cover.

    Source: Ash et al. (2022), Lemmas 2 and 4.

    Example:
        >>> covering_draws(ClassDistribution.uniform(2))
        2.0
    """
    if classes.number < 2:
        raise ValueError("the transfer theorem needs at least two classes, got one")
    return 2 * (1 - classes.smallest) * harmonic_number(classes.number - 1) / classes.smallest
