"""The coupon collector: the number of draws until every class has come up."""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from tammes.checks import check_integer
from tammes.theory.class_distribution import ClassDistribution

ASYMPTOTIC = 100
"""From this n on the expansion of H_n is exact to the last digit of a double."""

_STEP = 0.05
"""Step of the trapezoidal rule, in log t."""


def harmonic_number(n: int) -> float:
    """Return H_n = 1 + 1/2 + ... + 1/n.

    Args:
        n: number of terms, at least 1.

    Raises:
        ValueError: n below 1.

    Example:
        >>> harmonic_number(2)
        1.5
    """
    check_integer("n", n)
    if n < ASYMPTOTIC:
        return math.fsum(1 / i for i in range(1, n + 1))
    return math.log(n) + np.euler_gamma + 1 / (2 * n) - 1 / (12 * n**2) + 1 / (120 * n**4)


def expected_draws(classes: ClassDistribution) -> float:
    """Return the mean number of draws until every class has come up.

        E[M] = integral from 0 to infinity of  1 - prod_c (1 - exp(-rho(c) t))  dt;        uniform: N H_N.

    Args:
        classes: class distribution of the draws.

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
        """Return the probability that some class has not come up by time t, with draws arriving at rate 1."""
        seen = np.log(-np.expm1(-np.outer(t, classes.rho)))  # (n, groups)
        return -np.expm1(seen @ classes.sizes)

    return integrate(missing, 1e-18, (math.log(classes.number) + 45) / classes.smallest)


def expected_draws_bound(classes: ClassDistribution) -> float:
    """Return the bound on `expected_draws` that the transfer theorem uses.

        E[M] <= H_N / rho_min

    By Markov's inequality, twice as many draws cover every class with probability at least one half. The
    bound is exact for equally likely classes; for one rare class among others that are not, it is up to H_N
    times too large.

    Args:
        classes: class distribution of the draws.

    Source: Ash et al. (2022), Lemma 2.

    Example:
        >>> expected_draws_bound(ClassDistribution(probabilities=(0.75, 0.25)))
        6.0
    """
    return harmonic_number(classes.number) / classes.smallest


def integrate(function: Callable[[Float[np.ndarray, " n"]], np.ndarray], low: float, high: float) -> float:
    """Return the integral of a function from 0 to infinity, by the trapezoidal rule in log t.

        integral f(t) dt  =  integral f(e^u) e^u du

    For a smooth integrand that vanishes at both ends, the error falls faster than any power of the step.

    Args:
        function: vectorized function f.
        low: lower end, below which f(t) t is negligible.
        high: upper end, above which f(t) t is negligible.

    Example:
        >>> round(integrate(lambda t: np.exp(-t), 1e-18, 50), 12)
        1.0
    """
    logs = np.arange(np.log(low), np.log(high), _STEP)
    t = np.exp(logs)
    return float(_STEP * np.sum(function(t) * t))
