"""The number of samples that a separating plane needs, drawn at random or near the current boundary."""

import math
from dataclasses import dataclass

from tammes.checks import check_integer, check_number
from tammes.theory.cap import band_probability, band_probability_bound

SMALLEST = 1e-300
"""Smallest error and delta; the quotients of smaller numbers overflow."""


def consistent_samples(*, error: float, delta: float, vc_dimension: int) -> int:
    """Return a number of samples with which every consistent hypothesis has at most the given error.

        N(eps, delta) = 1/eps ( 4 V log(1/eps) + 2 log(2/delta) )

    Args:
        error: largest error eps, above 0 and below 1.
        delta: probability that a consistent hypothesis has a larger error, above 0 and below 1.
        vc_dimension: VC dimension V, at least 1; k for planes through the center of R^k.

    Raises:
        ValueError: a number out of its range.

    Source: Weber and Bachman (2022), Theorem A.8, which mentions a universal constant C that its formula
    lacks. It is 1 here, so that the numbers serve for comparison only.

    Example:
        >>> consistent_samples(error=0.1, delta=0.05, vc_dimension=3)
        351
    """
    check_integer("vc_dimension", vc_dimension)
    check_number("error", error, minimum=SMALLEST, below=1)
    check_number("delta", delta, minimum=SMALLEST, below=1)
    return math.ceil((4 * vc_dimension * math.log(1 / error) + 2 * math.log(2 / delta)) / error)


@dataclass(frozen=True, kw_only=True)
class Round:
    """Round of active sampling.

    Attributes:
        number: number t of the round, from 1.
        threshold: largest distance a_t of an accepted sample from the boundary.
        samples: number m_t of samples that the round adds.
        error: upper bound of err(w_t) after the round.
        accepted: probability P(S_1) that a uniform direction is accepted.
        accepted_bound: upper bound of this probability.
    """

    number: int
    threshold: float
    samples: int
    error: float
    accepted: float
    accepted_bound: float

    @property
    def draws(self) -> float:
        """Mean number of directions drawn for these samples."""
        return self.samples / self.accepted


@dataclass(frozen=True, kw_only=True)
class SampleComplexity:
    """Sample complexity of finding a plane in R^k up to an error, with probability 1 - delta.

    Passive: N(eps, delta). Active: rounds t = 1 .. ceil(log2(1/eps)), after which the error is 2^-t; the
    first takes N(1/2, delta/2) samples, and round t + 1, within a_t = pi / 2^(t-1) of the boundary,

        m_t = N( 1 / (4 sqrt(4 pi k)), delta / (t^2 + t) ) .

    Up to logarithms the growth is that of Theorem 3.2: passive k/eps log(1/eps), active
    k^(3/2) log(k) log(1/eps). These count accepted samples. `draws` also counts the rejected ones, and is
    about as large as the passive number.

    Differs: Theorem 3.2 leaves out log(1/eps) from the first and log(k) from the second, and has a d where
    k is the dimension. The bound of P(S_1) that it prints is too small (see `band_probability_bound`).

    Args:
        dimension: dimension k of the representations, at least 2.
        error: share eps of directions on the wrong side, above 0 and below 1.
        delta: probability of failure, above 0 and below 1.

    Raises:
        ValueError: a number out of its range.

    Source: Weber and Bachman (2022), Theorems 3.2, A.7 and A.8.

    Example:
        >>> complexity = SampleComplexity(dimension=16, error=0.001)
        >>> complexity.passive, complexity.active, len(complexity.rounds)
        (449475, 138967, 10)
    """

    dimension: int
    error: float
    delta: float = 0.05

    def __post_init__(self) -> None:
        check_integer("dimension", self.dimension, minimum=2)
        check_number("error", self.error, minimum=SMALLEST, below=1)
        check_number("delta", self.delta, minimum=SMALLEST, below=1)

    @property
    def passive(self) -> int:
        """Number of samples drawn at random."""
        return consistent_samples(error=self.error, delta=self.delta, vc_dimension=self.dimension)

    @property
    def active(self) -> int:
        """Number of samples of all rounds together."""
        return sum(each.samples for each in self.rounds)

    @property
    def draws(self) -> float:
        """Mean number of directions drawn for the samples of all rounds."""
        return sum(each.draws for each in self.rounds)

    @property
    def rounds(self) -> tuple[Round, ...]:
        """All rounds in order."""
        number = max(1, math.ceil(math.log2(1 / self.error) * (1 - 1e-12)))
        return (self._first(), *(self._round(t) for t in range(1, number)))

    def _first(self) -> Round:
        """Return the first round, which accepts everything since nothing is known about the plane."""
        samples = consistent_samples(error=0.5, delta=self.delta / 2, vc_dimension=self.dimension)
        return Round(number=1, threshold=1.0, samples=samples, error=0.5, accepted=1.0, accepted_bound=1.0)

    def _round(self, t: int) -> Round:
        """Return the round that halves an error of 2^-t."""
        k = self.dimension
        threshold = math.ldexp(math.pi, 1 - t)
        samples = consistent_samples(
            error=1 / (4 * math.sqrt(4 * math.pi * k)), delta=self.delta / (t * t + t), vc_dimension=k
        )
        return Round(
            number=t + 1,
            threshold=threshold,
            samples=samples,
            error=math.ldexp(1.0, -t - 1),
            accepted=band_probability(k, threshold),
            accepted_bound=min(1.0, band_probability_bound(k, threshold)),
        )
