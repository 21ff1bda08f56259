"""Caps and bands of a sphere: their areas, and how likely a random direction lies in them."""

import math
import sys

from tammes.checks import check_integer

LARGEST = math.log(sys.float_info.max)
"""exp of more is no float."""

SMALLEST = 1e-150
"""The squares of smaller angles and heights are no floats with all their digits."""


def sphere_area(dimension: int, *, radius: float = 1.0) -> float:
    """The area of the sphere in R^k.

        A_k(r) = 2 pi^(k/2) / Gamma(k/2) r^(k-1)

    Args:
        dimension: k, of the space; the sphere itself has one less.
        radius: r.

    Raises:
        ValueError: For a dimension below 2, a radius that is not positive, or an area too large for a float.

    Source: Weber and Bachman (2022), A.9.

    Example:
        >>> round(sphere_area(3) / math.pi, 12)
        4.0
    """
    _expect_sphere(dimension, radius)
    logarithm = _log_area(dimension) + (dimension - 1) * math.log(radius)
    if logarithm > LARGEST:
        raise ValueError(
            f"the area of the sphere in {dimension} dimensions with radius {radius:g} is e^{logarithm:.0f}, "
            "more than a float can hold; choose a smaller radius, or take probabilities"
        )
    return math.exp(logarithm)


def cap_probability(dimension: int, angle: float) -> float:
    """How likely a uniform direction is within an angle of a given one.

        1/2 I_{sin^2 theta}( (k-1)/2, 1/2 )        for theta up to pi/2, else 1 minus that of pi - theta,

    with the regularized incomplete beta function I.

    Differs: A.8 has (k+1)/2 for (k-1)/2, which belongs to the cap's volume: for k = 3 and theta = pi/3 it
    gives an area of 1.96 where 2 pi (1 - cos theta) is 3.14. The text below it takes I for the probability;
    that is I / 2.

    Args:
        dimension: k, of the space.
        angle: theta, in [0, pi].

    Raises:
        ValueError: For a dimension below 2, or an angle outside [0, pi].

    Source: Weber and Bachman (2022), A.8; Li (2011).

    Example:
        >>> round(cap_probability(3, math.pi / 3), 12), cap_probability(64, math.pi / 2)
        (0.25, 0.5)
    """
    check_integer("dimension", dimension, minimum=2)
    if not 0 <= angle <= math.pi:
        raise ValueError(f"angle must be from 0 to pi, in radians, got {angle}")
    if angle > math.pi / 2:
        return 1 - cap_probability(dimension, math.pi - angle)
    if angle == math.pi / 2:
        return 0.5
    if angle < SMALLEST:
        return 0.0
    from scipy.special import betainc, betaincc  # `tammes theory` starts without it

    half = (dimension - 1) / 2
    if angle < math.pi / 4:
        return float(betainc(half, 0.5, math.sin(angle) ** 2)) / 2
    # The same by the symmetry of I: near the plane the sine is 1, and only the cosine has digits left.
    return float(betaincc(0.5, half, math.cos(angle) ** 2)) / 2


def cap_area(dimension: int, angle: float, *, radius: float = 1.0) -> float:
    """The area of the part of a sphere within an angle of a point.

        A_k(r) P( angle of z and the pole <= theta )

    Args:
        dimension: k, of the space.
        angle: theta, in [0, pi].
        radius: r.

    Raises:
        ValueError: As `cap_probability` and `sphere_area` do.

    Source: Weber and Bachman (2022), A.8, with the change named at `cap_probability`.

    Example:
        >>> angle = 0.4
        >>> math.isclose(cap_area(3, angle), 2 * math.pi * (1 - math.cos(angle)))
        True
    """
    return sphere_area(dimension, radius=radius) * cap_probability(dimension, angle)


def band_probability(dimension: int, half_width: float) -> float:
    """How likely a uniform direction lies near a plane through the center.

        P(|w . z| <= a)  =  I_{a^2}( 1/2, (k-1)/2 )        for a below 1

    It is where Algorithm 1 accepts positives: P(S_1).

    Args:
        dimension: k, of the space.
        half_width: a, at least 0; from 1 on everything lies within.

    Raises:
        ValueError: For a dimension below 2, or a negative width.

    Source: Weber and Bachman (2022), proof of Theorem A.7.

    Example:
        >>> round(band_probability(3, 0.25), 12)        # Archimedes: the height is uniform
        0.25
    """
    check_integer("dimension", dimension, minimum=2)
    if not half_width >= 0:
        raise ValueError(f"half_width must be 0 or more, got {half_width}")
    if half_width >= 1:
        return 1.0
    from scipy.special import betainc

    # The density is flat near the plane, so that the thinnest bands are parts of one that can be squared.
    width = max(half_width, SMALLEST)
    return float(betainc(0.5, (dimension - 1) / 2, width**2)) * (half_width / width)


def band_probability_bound(dimension: int, half_width: float) -> float:
    """An upper bound of `band_probability`, close for thin bands.

        P(|w . z| <= a)  <=  a sqrt(2 k / pi)

    The density of a coordinate is greatest in the middle, Gamma(k/2) / (sqrt(pi) Gamma((k-1)/2)), and that
    is at most sqrt(k / (2 pi)).

    Differs: the paper prints a sqrt(k) / (2 pi), which is a fifth of it and below the probability itself;
    the display after it uses 2 a sqrt(k / pi), which is a bound again, though 1.4 times as large.

    Args:
        dimension: k, of the space.
        half_width: a.

    Raises:
        ValueError: As `band_probability` does.

    Source: Weber and Bachman (2022), proof of Theorem A.7.

    Example:
        >>> band_probability(64, 0.01) <= band_probability_bound(64, 0.01) < 1.1 * band_probability(64, 0.01)
        True
    """
    band_probability(dimension, half_width)  # refuses what is none
    return half_width * math.sqrt(2 * dimension / math.pi)


def _log_area(dimension: int) -> float:
    """Log A_k(1)"""
    return math.log(2) + dimension / 2 * math.log(math.pi) - math.lgamma(dimension / 2)


def _expect_sphere(dimension: int, radius: float) -> None:
    check_integer("dimension", dimension, minimum=2)
    if not (math.isfinite(radius) and radius > 0):
        raise ValueError(f"radius must be a positive number, got {radius}")
