"""The lower bounds that collisions put on the loss of every encoder."""

import numpy as np
from jaxtyping import Float

from tammes.checks import check_integer
from tammes.theory.class_distribution import ClassDistribution
from tammes.theory.collision import collision_probability
from tammes.theory.coupon import integrate


def hinge_floor(k: int, classes: ClassDistribution) -> float:
    """Return the smallest expected hinge loss that any encoder can reach with k independent negatives.

        tau_k E[ hinge_|I|(0) | I not empty ] = tau_k,

    where I is the set of collisions: on average no encoder separates a negative from a positive of its class.

    Args:
        k: number of negatives of an anchor, at least 1.
        classes: class distribution of anchors and negatives.

    Raises:
        ValueError: k below 1.

    Source: Ash et al. (2022), Theorem 1 and its proof in B.1.

    Example:
        >>> hinge_floor(1, ClassDistribution.uniform(2))
        0.5
    """
    return collision_probability(k, classes)


def logistic_floor(k: int, classes: ClassDistribution) -> float:
    """Return the smallest expected logistic loss, in nats, that any encoder can reach with k negatives.

        tau_k E[ log(1 + |I|) | I not empty ]  =  E[ log(1 + |I|) ],    |I| ~ Binomial(k, rho(c)), c ~ rho,

        log(1 + n) = integral over s of  e^-s (1 - e^-sn) / s  ds.

    The negatives are independent. The bound holds for any temperature and any encoder whose positives are
    independent draws of their class. With two views of one image as positives a smaller loss is possible: the
    encoder then separates images, not classes.

    Differs: Theorem 1 has tau_k for both losses. With the natural logarithm log(1 + 1) is below 1, so that
    tau_k is no lower bound for few negatives; with logarithms to the base 2 it is.

    Args:
        k: number of negatives of an anchor, at least 1.
        classes: class distribution of anchors and negatives.

    Raises:
        ValueError: k below 1.

    Source: Ash et al. (2022), Theorem 5.

    Example:
        >>> round(logistic_floor(1, ClassDistribution.uniform(4)), 6)        # log(2) / 4
        0.173287
    """
    check_integer("k", k)

    def integrand(s: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        with np.errstate(divide="ignore"):  # log 0: a single class and a large s
            logs = k * np.log1p(np.outer(np.expm1(-s), classes.rho))  # (n, groups): log E e^(-s|I|), given c
        return np.exp(-s) * (-np.expm1(logs) @ (classes.sizes * classes.rho)) / s

    return integrate(integrand, 1e-18 / k, 50.0)
