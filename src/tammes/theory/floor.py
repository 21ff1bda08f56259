"""The loss that collisions leave, whatever the encoder."""

import numpy as np
from jaxtyping import Float

from tammes.checks import check_integer
from tammes.theory.class_distribution import ClassDistribution
from tammes.theory.collision import collision_probability
from tammes.theory.quadrature import integrate


def hinge_floor(k: int, classes: ClassDistribution) -> float:
    """The least expected hinge loss that any encoder can reach with k independent negatives.

        tau_k E[ hinge_|I|(0) | I not empty ] = tau_k,

    where I are the collisions: on average no encoder tells a negative from a positive of the same class.

    Args:
        k: the number of negatives of an anchor.
        classes: what anchors and negatives are drawn from.

    Raises:
        ValueError: For k below 1.

    Source: Ash et al. (2022), Theorem 1 and its proof in B.1.

    Example:
        >>> hinge_floor(1, ClassDistribution.uniform(2))
        0.5
    """
    return collision_probability(k, classes)


def logistic_floor(k: int, classes: ClassDistribution) -> float:
    """The least expected logistic loss, in nats, that any encoder can reach with k independent negatives.

        tau_k E[ log(1 + |I|) | I not empty ]  =  E[ log(1 + |I|) ],    |I| ~ Binomial(k, rho(c)), c ~ rho,

        log(1 + n) = integral over s of  e^-s (1 - e^-sn) / s  ds.

    This holds for any temperature and any encoder whose positives are independent draws of their class. With
    positives that are views of one image a loss below it is possible, and says that images are told apart.

    Differs: Theorem 1 has tau_k here, for both losses. With the natural logarithm log(1 + 1) is below 1, so
    that tau_k is no floor for few negatives; it would be with logarithms to the base 2.

    Args:
        k: the number of negatives of an anchor.
        classes: what anchors and negatives are drawn from.

    Raises:
        ValueError: For k below 1.

    Source: Ash et al. (2022), Theorem 5.

    Example:
        >>> round(logistic_floor(1, ClassDistribution.uniform(4)), 6)        # log(2) / 4
        0.173287
    """
    check_integer("k", k)

    def integrand(s: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        with np.errstate(divide="ignore"):  # a single class and a large s: no collision is impossible
            logs = k * np.log1p(np.outer(np.expm1(-s), classes.rho))  # (n, groups): log E e^(-s|I|), given c
        return np.exp(-s) * (-np.expm1(logs) @ (classes.sizes * classes.rho)) / s

    return integrate(integrand, 1e-18 / k, 50.0)
