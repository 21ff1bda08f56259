"""Collisions and coverage: the classes that k random negatives hit."""

import numpy as np

from tammes.checks import check_integer, check_number
from tammes.theory.class_distribution import ClassDistribution


def collision_probability(k: int, classes: ClassDistribution) -> float:
    """Return the probability that at least one of k independent negatives has the anchor's class.

        tau_k = 1 - sum_c rho(c) (1 - rho(c))^k;        uniform: 1 - (1 - 1/N)^k.

    Args:
        k: number of negatives of an anchor, at least 1.
        classes: class distribution of anchors and negatives.

    Raises:
        ValueError: k below 1.

    Source: Ash et al. (2022), Theorem 1 and appendix B (notation).

    Example:
        >>> round(collision_probability(100, ClassDistribution.uniform(100)), 4)
        0.634
    """
    check_integer("k", k)
    # Above 1 by rounding where all collide.
    return min(1.0, float(np.sum(classes.sizes * classes.rho * -np.expm1(k * classes.log_other))))


def coverage(k: int, classes: ClassDistribution) -> float:
    """Return the expected share of all classes that k independent draws cover.

        mean over classes c of  1 - (1 - rho(c))^k

    For equally likely classes this is the collision probability, since each class is hit as easily as the
    anchor's.

    Args:
        k: number of draws, at least 1.
        classes: class distribution of the draws.

    Raises:
        ValueError: k below 1.

    Example:
        >>> coverage(2, ClassDistribution(probabilities=(0.5, 0.5)))
        0.75
    """
    check_integer("k", k)
    return min(1.0, float(np.sum(classes.sizes * -np.expm1(k * classes.log_other)) / classes.number))


def negatives_until_collision(share: float, classes: ClassDistribution) -> int:
    """Return the smallest k at which a share of the anchors has a negative of its own class.

        min { k : tau_k >= share }

    Args:
        share: share of the anchors, above 0 and below 1.
        classes: class distribution of anchors and negatives.

    Raises:
        ValueError: the share is out of its range.

    Example:
        >>> negatives_until_collision(0.5, ClassDistribution.uniform(1000))
        693
    """
    check_number("share", share, above=0, below=1)
    enough = 1
    while collision_probability(enough, classes) < share:
        enough *= 2
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if collision_probability(middle, classes) < share:
            too_few = middle
        else:
            enough = middle
    return enough
