"""The partition function of the von Mises-Fisher distribution, in any dimension, at any concentration."""

import math

from tammes.checks import check_integer, check_number

UNDERFLOW = 1e-280
"""Bessel functions smaller than this have lost digits, or all of them."""

SERIES = 2800.0
"""Largest kappa^2 / (k / 2) of the hypergeometric series, which is at most e^700 there."""


def log_partition(dimension: int, concentration: float) -> float:
    """Return the logarithm of the partition function of the von Mises-Fisher distribution.

        log C_p  =  log of the integral of e^{kappa z . w} over unit vectors w in R^k

    With a positive z+ of this distribution, kappa = 1/tau, and an encoder h onto the sphere, the cross
    entropy of the positive under what the encoder recovers is

        E H(p(.|z), q_h(.|z))  =  L_align + L_uni + log A_k ,        A_k the area of the sphere,

    which h = z reaches with the entropy of p: log C_p - kappa E z . z+. Differs: Corollary A.2 has log |C|,
    the number of classes, where an integral over latents becomes a mean over uniform ones. That factor is
    the area, `sphere_area`.

    Args:
        dimension: dimension k of the space, at least 2.
        concentration: kappa, at least 0.

    Raises:
        ValueError: a number out of its range.

    Source: Weber and Bachman (2022), A.2 and Corollary A.2.

    Example:
        >>> round(log_partition(3, 0.0) - math.log(4 * math.pi), 12)
        0.0
        >>> round(log_partition(3, 2.0) - math.log(4 * math.pi * math.sinh(2) / 2), 12)
        0.0
    """
    mean = log_mean_exponential(dimension, concentration)
    half = dimension / 2
    return math.log(2) + half * math.log(math.pi) - math.lgamma(half) + mean


def log_mean_exponential(dimension: int, concentration: float) -> float:
    """Return the logarithm of the mean of e^{kappa u . v} over uniform unit vectors u.

        log( Gamma(k/2) (2 / kappa)^{k/2 - 1} I_{k/2 - 1}(kappa) )

    Args:
        dimension: dimension k of the space, at least 2.
        concentration: kappa, at least 0.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> round(log_mean_exponential(3, 2.0) - math.log(math.sinh(2) / 2), 12)
        0.0
    """
    check_integer("dimension", dimension, minimum=2)
    check_number("concentration", concentration, minimum=0)
    from scipy.special import hyp0f1, ive  # imported late, so that `tammes theory` starts quickly

    half, order = dimension / 2, dimension / 2 - 1
    scaled = float(ive(order, concentration))  # I without its factor e^kappa, which would overflow
    if scaled >= UNDERFLOW and concentration >= 1:
        bessel = math.log(scaled) + concentration
    elif concentration / half * concentration < SERIES:
        # The same as a hypergeometric series; Bessel's function vanishes with kappa, and in many dimensions.
        return math.log(float(hyp0f1(half, concentration**2 / 4)))
    else:  # in very many dimensions it is 0, and of very large arguments NaN
        bessel = _log_bessel(order, concentration)
    return math.lgamma(half) + order * math.log(2 / concentration) + bessel


def _log_bessel(order: float, x: float) -> float:
    """Return log I_v(x) where v or x is in the hundreds or more, to about 1e-9.

        log I_v(x)  =  s + v log( x / (v + s) ) - 1/2 log(2 pi s) + log( 1 + u_1 / v + u_2 / v^2 + ... )

    with s = sqrt(v^2 + x^2): Debye's expansion, in which v / s is bounded whatever v and x are.
    """
    s = math.hypot(order, x)
    r, by = (order / s) ** 2, 1 / s
    terms = (3 - 5 * r) / 24 * by + (81 - 462 * r + 385 * r**2) / 1152 * by * by
    return s + order * math.log(x / (order + s)) - math.log(2 * math.pi * s) / 2 + math.log1p(terms)
