"""Collisions and coverage: what k negatives drawn at random hit, wanted or not."""

import numpy as np

from tammes.checks import check_integer
from tammes.theory.class_distribution import ClassDistribution


def collision_probability(k: int, classes: ClassDistribution) -> float:
    """How likely at least one of k independent negatives has the anchor's class.

        tau_k = 1 - sum_c rho(c) (1 - rho(c))^k;        uniform: 1 - (1 - 1/N)^k.

    Args:
        k: the number of negatives of an anchor.
        classes: what anchors and negatives are drawn from.

    Raises:
        ValueError: For k below 1.

    Source: Ash et al. (2022), Theorem 1 and appendix B (notation).

    Example:
        >>> round(collision_probability(100, ClassDistribution.uniform(100)), 4)
        0.634
    """
    check_integer("k", k)
    return float(np.sum(classes.sizes * classes.rho * -np.expm1(k * classes.log_other)))


def coverage(k: int, classes: ClassDistribution) -> float:
    """The share of all classes that k independent draws are expected to show.

        mean over classes c of  1 - (1 - rho(c))^k

    For equally likely classes this is the collision probability: each class is hit as easily as the anchor's.

    Args:
        k: the number of draws.
        classes: what is drawn from.

    Raises:
        ValueError: For k below 1.

    Example:
        >>> coverage(2, ClassDistribution(probabilities=(0.5, 0.5)))
        0.75
    """
    check_integer("k", k)
    return float(np.sum(classes.sizes * -np.expm1(k * classes.log_other)) / classes.number)


def negatives_until_collision(share: float, classes: ClassDistribution) -> int:
    """The least k at which this share of anchors meets a negative of its own class.

        min { k : tau_k >= share }

    Args:
        share: of the anchors, between 0 and 1.
        classes: what anchors and negatives are drawn from.

    Raises:
        ValueError: For a share that is not between 0 and 1.

    Example:
        >>> negatives_until_collision(0.5, ClassDistribution.uniform(1000))
        693
    """
    if not 0 < share < 1:
        raise ValueError(f"share must be above 0 and below 1, got {share}")
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
