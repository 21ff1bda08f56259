"""How many samples a separator needs, drawn at random or near the present boundary."""

import math
from dataclasses import dataclass

from tammes.checks import check_integer
from tammes.theory.cap import band_probability, band_probability_bound

LEAST = 1e-300
"""The quotients of smaller numbers are infinite."""


def consistent_samples(*, error: float, delta: float, vc_dimension: int) -> int:
    """So many samples that every hypothesis of at least this error is at odds with one of them.

        N(eps, delta) = 1/eps ( 4 V log(1/eps) + 2 log(2/delta) )

    Args:
        error: eps.
        delta: the probability that one is not.
        vc_dimension: V; k for planes through the center of R^k.

    Raises:
        ValueError: For an error or delta that is not between 0 and 1, or a VC dimension below 1.

    Source: Weber and Bachman (2022), Theorem A.8, which speaks of a universal constant C that its formula
    does not have: it is taken as 1 here, so that these numbers are to be compared, not to be relied on.

    Example:
        >>> consistent_samples(error=0.1, delta=0.05, vc_dimension=3)
        351
    """
    check_integer("vc_dimension", vc_dimension)
    _expect_between("error", error)
    _expect_between("delta", delta)
    return math.ceil((4 * vc_dimension * math.log(1 / error) + 2 * math.log(2 / delta)) / error)


@dataclass(frozen=True, kw_only=True)
class Round:
    """A round of active sampling.

    Args:
        number: t, from 1.
        threshold: a_t, the greatest distance from the boundary of what was accepted.
        samples: m_t, that are added.
        error: err(w_t) after it, at most.
        accepted: the probability that a uniform direction is accepted, P(S_1).
        accepted_bound: its bound.
    """

    number: int
    threshold: float
    samples: int
    error: float
    accepted: float
    accepted_bound: float

    @property
    def draws(self) -> float:
        """How many directions must be drawn for these samples, on average."""
        return self.samples / self.accepted


@dataclass(frozen=True, kw_only=True)
class SampleComplexity:
    """What it takes to find a plane in R^k up to an error, with probability 1 - delta.

    Passive: N(eps, delta). Active: rounds t = 1 .. ceil(log2(1/eps)), after which the error is 2^-t; the
    first takes N(1/2, delta/2) samples, and round t + 1, of what lies within a_t = pi / 2^(t-1),

        m_t = N( 1 / (4 sqrt(4 pi k)), delta / (t^2 + t) ) .

    The growth is what Theorem 3.2 states but for logarithms: passive k/eps log(1/eps), active
    k^(3/2) log(k) log(1/eps). These are samples that are kept: those that are rejected before them are
    `draws`, and of them there are about as many as the passive way takes.

    Differs: Theorem 3.2 leaves out log(1/eps) from the first and log(k) from the second, and has a d where
    k is the dimension. The bound of P(S_1) that it prints is too small (see `band_probability_bound`).

    Args:
        dimension: k, of the space of representations.
        error: eps, the share of directions on the wrong side.
        delta: the probability of failing.

    Raises:
        ValueError: For a dimension below 2, or an error or delta that is not between 0 and 1.

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
        _expect_between("error", self.error)
        _expect_between("delta", self.delta)

    @property
    def passive(self) -> int:
        """Samples drawn at random."""
        return consistent_samples(error=self.error, delta=self.delta, vc_dimension=self.dimension)

    @property
    def active(self) -> int:
        """Samples of all rounds together."""
        return sum(each.samples for each in self.rounds)

    @property
    def draws(self) -> float:
        """Directions that must be drawn for the samples of all rounds, on average."""
        return sum(each.draws for each in self.rounds)

    @property
    def rounds(self) -> tuple[Round, ...]:
        """Round by round."""
        number = max(1, math.ceil(math.log2(1 / self.error) * (1 - 1e-12)))
        return (self._first(), *(self._round(t) for t in range(1, number)))

    def _first(self) -> Round:
        """Everything is accepted: nothing is known of the plane."""
        samples = consistent_samples(error=0.5, delta=self.delta / 2, vc_dimension=self.dimension)
        return Round(number=1, threshold=1.0, samples=samples, error=0.5, accepted=1.0, accepted_bound=1.0)

    def _round(self, t: int) -> Round:
        """The round after an error of 2^-t, which halves it."""
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


def _expect_between(name: str, value: float) -> None:
    if not LEAST <= value < 1:
        raise ValueError(f"{name} must be from {LEAST:g} to below 1, got {value}")
