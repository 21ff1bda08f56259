"""Caps and bands of a sphere: their areas and the probability of a random direction."""

import math
import sys

from tammes.checks import check_integer, check_number

LARGEST = math.log(sys.float_info.max)
"""The exponential of a larger number overflows a float."""

SMALLEST = 1e-150
"""The squares of smaller angles and heights lose digits by underflow."""


def sphere_area(dimension: int, *, radius: float = 1.0) -> float:
    """Return the area of the sphere in R^k.

        A_k(r) = 2 pi^(k/2) / Gamma(k/2) r^(k-1)

    Args:
        dimension: dimension k of the space, at least 2.
        radius: radius r, above 0.

    Raises:
        ValueError: a number out of its range, or an area too large for a float.

    Source: Weber and Bachman (2022), A.9.

    Example:
        >>> round(sphere_area(3) / math.pi, 12)
        4.0
    """
    check_integer("dimension", dimension, minimum=2)
    check_number("radius", radius, above=0)
    logarithm = _log_area(dimension) + (dimension - 1) * math.log(radius)
    if logarithm > LARGEST:
        raise ValueError(
            f"the area of the sphere in {dimension} dimensions with radius {radius:g} is e^{logarithm:.0f}, "
            "more than a float can hold; choose a smaller radius, or take probabilities"
        )
    return math.exp(logarithm)


def cap_probability(dimension: int, angle: float) -> float:
    """Return the probability that a uniform direction is within an angle of a given one.

        1/2 I_{sin^2 theta}( (k-1)/2, 1/2 )        for theta up to pi/2, else 1 minus that of pi - theta,

    with the regularized incomplete beta function I.

    Differs: A.8 has (k+1)/2 for (k-1)/2, which belongs to the cap's volume: for k = 3 and theta = pi/3 it
    gives an area of 1.96 where 2 pi (1 - cos theta) is 3.14. The text below it takes I for the probability,
    which is I / 2.

    Args:
        dimension: dimension k of the space, at least 2.
        angle: angle theta in radians, from 0 to pi.

    Raises:
        ValueError: a number out of its range.

    Source: Weber and Bachman (2022), A.8; Li (2011).

    Example:
        >>> round(cap_probability(3, math.pi / 3), 12), cap_probability(64, math.pi / 2)
        (0.25, 0.5)
    """
    check_integer("dimension", dimension, minimum=2)
    check_number("angle", angle, minimum=0, maximum=math.pi, reason="from 0 to pi, in radians")
    if angle > math.pi / 2:
        return 1 - cap_probability(dimension, math.pi - angle)
    if angle == math.pi / 2:
        return 0.5
    if angle < SMALLEST:
        return 0.0
    from scipy.special import betainc, betaincc  # imported late, so that `tammes theory` starts quickly

    half = (dimension - 1) / 2
    if angle < math.pi / 4:
        return float(betainc(half, 0.5, math.sin(angle) ** 2)) / 2
    # By the symmetry of I: near pi/2 the sine rounds to 1, and only the cosine keeps its digits.
    return float(betaincc(0.5, half, math.cos(angle) ** 2)) / 2


def cap_area(dimension: int, angle: float, *, radius: float = 1.0) -> float:
    """Return the area of the part of a sphere within an angle of a point.

        A_k(r) P( angle of z and the pole <= theta )

    Args:
        dimension: dimension k of the space, at least 2.
        angle: angle theta in radians, from 0 to pi.
        radius: radius r, above 0.

    Raises:
        ValueError: a number out of its range, or an area too large for a float.

    Source: Weber and Bachman (2022), A.8, corrected as in `cap_probability`.

    Example:
        >>> angle = 0.4
        >>> math.isclose(cap_area(3, angle), 2 * math.pi * (1 - math.cos(angle)))
        True
    """
    return sphere_area(dimension, radius=radius) * cap_probability(dimension, angle)


def band_probability(dimension: int, half_width: float) -> float:
    """Return the probability that a uniform direction lies near a plane through the center.

        P(|w . z| <= a)  =  I_{a^2}( 1/2, (k-1)/2 )        for a below 1

    Algorithm 1 accepts positives in this band: its probability is the paper's P(S_1).

    Args:
        dimension: dimension k of the space, at least 2.
        half_width: half the width a, at least 0; from 1 on the band is the whole sphere.

    Raises:
        ValueError: a number out of its range.

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

    # The density is flat near the plane: a band too thin to square has its share of one that is not.
    width = max(half_width, SMALLEST)
    return float(betainc(0.5, (dimension - 1) / 2, width**2)) * (half_width / width)


def band_probability_bound(dimension: int, half_width: float) -> float:
    """Return an upper bound of `band_probability`, close for thin bands.

        P(|w . z| <= a)  <=  a sqrt(2 k / pi)

    The density of a coordinate is greatest in the middle, Gamma(k/2) / (sqrt(pi) Gamma((k-1)/2)), and that
    is at most sqrt(k / (2 pi)).

    Differs: the paper prints a sqrt(k) / (2 pi), which is a fifth of this and below the probability itself;
    its next display uses 2 a sqrt(k / pi), which is a bound, though 1.4 times as large.

    Args:
        dimension: dimension k of the space, at least 2.
        half_width: half the width a, at least 0.

    Raises:
        ValueError: a number out of its range.

    Source: Weber and Bachman (2022), proof of Theorem A.7.

    Example:
        >>> band_probability(64, 0.01) <= band_probability_bound(64, 0.01) < 1.1 * band_probability(64, 0.01)
        True
    """
    band_probability(dimension, half_width)  # raises ValueError for numbers out of their range
    return half_width * math.sqrt(2 * dimension / math.pi)


def _log_area(dimension: int) -> float:
    """Return log A_k(1)."""
    return math.log(2) + dimension / 2 * math.log(math.pi) - math.lgamma(dimension / 2)
