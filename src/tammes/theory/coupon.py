"""The coupon collector: how many draws show every class."""

import math

import numpy as np
from jaxtyping import Float

from tammes.checks import check_integer
from tammes.theory.class_distribution import ClassDistribution
from tammes.theory.quadrature import integrate

ASYMPTOTIC = 100
"""From here on the expansion of H_n is exact to the last digit of a double."""


def harmonic_number(n: int) -> float:
    """H_n = 1 + 1/2 + ... + 1/n.

    Args:
        n: at least 1.

    Raises:
        ValueError: For n below 1.

    Example:
        >>> harmonic_number(2)
        1.5
    """
    check_integer("n", n)
    if n < ASYMPTOTIC:
        return math.fsum(1 / i for i in range(1, n + 1))
    return math.log(n) + np.euler_gamma + 1 / (2 * n) - 1 / (12 * n**2) + 1 / (120 * n**4)


def expected_draws(classes: ClassDistribution) -> float:
    """How many draws it takes on average until every class has come up.

        E[M] = integral from 0 to infinity of  1 - prod_c (1 - exp(-rho(c) t))  dt;        uniform: N H_N.

    Args:
        classes: what is drawn from.

    Source: Ash et al. (2022), Lemma 2.

    Example:
        >>> round(expected_draws(ClassDistribution.uniform(2)), 9)
        3.0
        >>> round(expected_draws(ClassDistribution(probabilities=(0.75, 0.25))), 9)
        4.333333333
    """
    if classes.is_uniform:
        return classes.number * harmonic_number(classes.number)

    def missing(t: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """That some class has not come up when draws arrive at rate 1 until time t."""
        seen = np.log(-np.expm1(-np.outer(t, classes.rho)))  # (n, groups)
        return -np.expm1(seen @ classes.sizes)

    return integrate(missing, 1e-18, (math.log(classes.number) + 45) / classes.least)


def expected_draws_bound(classes: ClassDistribution) -> float:
    """The bound on `expected_draws` that the transfer theorem uses.

        E[M] <= H_N / rho_min

    By Markov's inequality twice as many draws show every class with probability at least one half. The bound
    is met by equally likely classes; where one class is rare and the others are not, it is up to H_N times
    too large.

    Args:
        classes: what is drawn from.

    Source: Ash et al. (2022), Lemma 2.

    Example:
        >>> expected_draws_bound(ClassDistribution(probabilities=(0.75, 0.25)))
        6.0
    """
    return harmonic_number(classes.number) / classes.least
