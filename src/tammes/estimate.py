"""The one statistic of all tables and pages: a mean with its 95 % confidence interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scipy.special import ndtri, stdtrit

LEVEL = 0.95
"""Confidence of every interval."""
NO_WIDTH = 1e-12
"""Width of an interval around equal values, which differ by rounding alone."""
MOST_SEEDS = 1000
"""Largest number of seeds that `Estimate.seeds_needed` names."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Mean with its 95 % confidence interval.

    Over n seeds, or over the differences of n seeds that two methods share, by Student's t:

        mean - h  to  mean + h ,        h = t_{0.975, n - 1} s / sqrt(n)

    For a share of successes among n trials, such as the accuracy of one classifier on n test images, by
    Wilson. One seed has no interval, and no comparison with it is ever decided.

    Args:
        mean: mean of the values, or the share.
        low: lower end of the interval; minus infinity if it is unknown.
        high: upper end of the interval; infinity if it is unknown.
        values: value of each seed; empty for a share.

    Source: Student (1908); Wilson (1927); Newcombe (1998); Fisher (1921).

    Example:
        >>> print(Estimate.over_seeds([0.51, 0.52, 0.53]))
        0.520 [0.495, 0.545]
        >>> print(Estimate.over_seeds([0.51]))
        0.510 (one seed)
    """

    mean: float
    low: float = -math.inf
    high: float = math.inf
    values: tuple[float, ...] = ()

    @staticmethod
    def over_seeds(values: Sequence[float]) -> Estimate:
        """Return the mean of one value for each seed, with Student's interval.

        Raises:
            ValueError: no value, or one that is NaN or infinite.

        Example:
            >>> Estimate.over_seeds([1.0, 3.0]).mean
            2.0
        """
        if not values:
            raise ValueError("an estimate needs the value of one seed at least, got none")
        if not all(map(math.isfinite, values)):
            raise ValueError(
                f"an estimate needs finite numbers, got {list(values)}: leave out what was not measured"
            )
        mean, n = statistics.fmean(values), len(values)
        if n == 1:
            return Estimate(mean=mean, values=tuple(values))
        half = _t(n) * statistics.stdev(values) / math.sqrt(n)
        return Estimate(mean=mean, low=mean - half, high=mean + half, values=tuple(values))

    @staticmethod
    def of_difference(more: Sequence[float], less: Sequence[float]) -> Estimate:
        """Return the mean of `more - less` over the seeds that both share.

        Args:
            more: value of each seed.
            less: value of the same seeds, in the same order.

        Raises:
            ValueError: different numbers of seeds, or none.

        Example:
            >>> Estimate.of_difference([0.6, 0.8], [0.5, 0.7]).above_zero
            True
        """
        if len(more) != len(less):
            raise ValueError(f"a paired difference needs the same seeds, got {len(more)} and {len(less)}")
        return Estimate.over_seeds([a - b for a, b in zip(more, less, strict=True)])

    @staticmethod
    def of_share(share: float, trials: int) -> Estimate:
        """Return a share of successes, with Wilson's interval.

            ( p + z^2 / 2n  -+  z sqrt(p (1 - p) / n + z^2 / 4n^2) ) / (1 + z^2 / n) ,        z = 1.96

        Args:
            share: fraction p of the trials that succeeded, in [0, 1].
            trials: number n of trials.

        Example:
            >>> print(Estimate.of_share(0.95, 360))
            0.950 [0.922, 0.968]
        """
        if not 0 <= share <= 1 or trials < 1:
            raise ValueError(f"expected a share from 0 to 1 of at least one trial, got {share} of {trials}")
        z2 = float(ndtri((1 + LEVEL) / 2)) ** 2
        middle = share + z2 / (2 * trials)
        half = math.sqrt(z2 * (share * (1 - share) / trials + z2 / (4 * trials**2)))
        whole = 1 + z2 / trials
        low, high = max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole)
        return Estimate(mean=share, low=min(low, share), high=max(high, share))

    @staticmethod
    def of_outcomes(more: Sequence[bool], less: Sequence[bool]) -> Estimate:
        """Return the difference of two shares of successes in the same trials, by Newcombe's method.

            d - sqrt(a^2 - 2 phi a b' + b'^2)  to  d + sqrt(b^2 - 2 phi b a' + a'^2) ,        d = p - p'

        with a = p - l and b = u - p of Wilson's interval [l, u] of p, a' and b' likewise, and the correlation
        phi of the outcomes. Two classifiers agree on most rows, which makes phi large and the interval short.

        Args:
            more: outcome of each trial, of which p is the share of successes.
            less: outcome of the same trials, in the same order; their share p' is subtracted.

        Raises:
            ValueError: different numbers of trials, or none.

        Source: Newcombe (1998), paired data, method 10.

        Example:
            >>> right, wrong = [True] * 80 + [False] * 20, [True] * 70 + [False] * 30
            >>> print(Estimate.of_outcomes(right, wrong))
            0.100 [0.038, 0.165]
        """
        n = len(more)
        if n != len(less):
            raise ValueError(f"a paired difference needs the same trials, got {n} and {len(less)}")
        first, second = (Estimate.of_share(sum(each) / max(n, 1), n) for each in (more, less))
        return _difference_of_shares(first, second, phi=_correlation(more, less))

    @staticmethod
    def of_separate_shares(more: Estimate, less: Estimate) -> Estimate:
        """Return the difference of two shares from separate trials, by Newcombe's method.

        As in `of_outcomes`, with the correlation phi = 0.

        Args:
            more: a share, from `of_share`.
            less: the share of other trials, which is subtracted.

        Source: Newcombe (1998), independent proportions, method 10.

        Example:
            >>> print(Estimate.of_separate_shares(Estimate.of_share(0.8, 70), Estimate.of_share(0.6, 80)))
            0.200 [0.052, 0.334]
        """
        return _difference_of_shares(more, less, phi=0.0)

    @staticmethod
    def of_correlation(
        first: Sequence[float], second: Sequence[float], *, independent: int | None = None
    ) -> Estimate:
        """Return Pearson's correlation of two series, with Fisher's interval.

            tanh( artanh r  -+  1.96 / sqrt(n - 3) )

        Args:
            first: n numbers, not all equal.
            second: number that belongs to each, not all equal.
            independent: number n of independent pairs, where some pairs are repetitions, such as seeds of one
                setting; None if all are independent. Below 4 there is no interval.

        Raises:
            ValueError: series of different length or below two pairs, a number that is not finite, or a
                series of equal numbers, which has no correlation.

        Source: Fisher (1921).

        Example:
            >>> print(Estimate.of_correlation([1, 2, 3, 4, 5, 6], [1, 3, 2, 5, 4, 6]))
            0.886 [0.264, 0.987]
        """
        n = len(first) if independent is None else independent
        if len(first) != len(second) or len(first) < 2:
            raise ValueError(f"a correlation needs pairs of numbers, got {len(first)} and {len(second)}")
        if not all(map(math.isfinite, (*first, *second))):
            raise ValueError("a correlation needs finite numbers: leave out what was not measured")
        if min(first) == max(first) or min(second) == max(second):
            raise ValueError("series of equal numbers have no correlation: leave them out")
        r = max(-1.0, min(1.0, statistics.correlation(first, second)))
        if n < 4:
            return Estimate(mean=r)
        half = float(ndtri((1 + LEVEL) / 2)) / math.sqrt(n - 3)
        middle = math.atanh(r) if abs(r) < 1 else math.copysign(math.inf, r)
        return Estimate(mean=r, low=math.tanh(middle - half), high=math.tanh(middle + half))

    @staticmethod
    def of_accuracies(values: Sequence[float], trials: int | None) -> Estimate:
        """Return the mean accuracy over several seeds, with Student's interval, cut at 0 and 1.

        Wilson's takes its place for a single seed, and where all seeds have the same accuracy: Student's
        would have no width then, although the test rows are a sample.

        Args:
            values: accuracy of each seed, at least one.
            trials: number of test rows behind each; None if unknown, so that Wilson's cannot take its place.

        Example:
            >>> print(Estimate.of_accuracies([0.95], 360))
            0.950 [0.922, 0.968]
            >>> print(Estimate.of_accuracies([1.0, 1.0, 1.0], 18))
            1.000 [0.824, 1.000]
            >>> print(Estimate.of_accuracies([0.1, 0.5], 18))
            0.300 [0.000, 1.000]
        """
        found = Estimate.over_seeds(values)
        if found.is_known and found.high - found.low > NO_WIDTH:
            return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))
        if trials is None:
            return replace(found, low=-math.inf, high=math.inf)
        return replace(Estimate.of_share(found.mean, trials), values=found.values if len(values) > 1 else ())

    @property
    def is_known(self) -> bool:
        """Whether there is an interval: false for one seed."""
        return math.isfinite(self.high)

    @property
    def above_zero(self) -> bool:
        """Whether the whole interval lies above zero."""
        return self.low > 0

    @property
    def below_zero(self) -> bool:
        """Whether the whole interval lies below zero."""
        return self.high < 0

    @property
    def deviation(self) -> float | None:
        """Standard deviation over the seeds; None for one seed and for a share."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def seeds_needed(self) -> int | None:
        """Number of seeds after which the interval would exclude zero, at this mean and this deviation.

        None if that is unknown (one seed), or more than `MOST_SEEDS`.

        Example:
            >>> Estimate.over_seeds([0.01, 0.03, 0.00]).seeds_needed
            8
        """
        deviation = self.deviation
        if deviation is None or self.mean == 0:
            return None
        for n in range(2, MOST_SEEDS + 1):
            if _t(n) * deviation / math.sqrt(n) < abs(self.mean):
                return n
        return None

    def __neg__(self) -> Estimate:
        return Estimate(
            mean=-self.mean, low=-self.high, high=-self.low, values=tuple(-value for value in self.values)
        )

    def __sub__(self, constant: float) -> Estimate:
        return Estimate(
            mean=self.mean - constant,
            low=self.low - constant,
            high=self.high - constant,
            values=tuple(value - constant for value in self.values),
        )

    def text(self, digits: int = 3, *, scale: float = 1.0, signed: bool = False) -> str:
        """Return the mean with its interval in brackets.

        Args:
            digits: number of decimals.
            scale: factor before printing; 100 for percent.
            signed: whether to print a sign before positive numbers.

        Example:
            >>> Estimate.over_seeds([0.01, 0.03]).text(1, scale=100, signed=True)
            '+2.0 [\N{MINUS SIGN}10.7, +14.7]'
        """

        def printed(value: float) -> str:
            number = f"{scale * value:{'+' if signed else ''}.{digits}f}"
            if float(number) == 0:
                number = number.lstrip("+-")
            return number.replace("-", "\N{MINUS SIGN}")

        if not self.is_known:
            return f"{printed(self.mean)} (one seed)"
        return f"{printed(self.mean)} [{printed(self.low)}, {printed(self.high)}]"

    @property
    def percent(self) -> str:
        """Share in percent, with its interval.

        Example:
            >>> Estimate.of_share(0.5, 100).percent
            '50.0 [40.4, 59.6]'
        """
        return self.text(1, scale=100)

    @property
    def points(self) -> str:
        """Difference of shares in percentage points, with its interval.

        Example:
            >>> Estimate.over_seeds([0.02]).points
            '+2.0 (one seed) points'
        """
        return f"{self.text(1, scale=100, signed=True)} points"

    def __str__(self) -> str:
        return self.text()


def _difference_of_shares(first: Estimate, second: Estimate, *, phi: float) -> Estimate:
    """Return the difference of two shares whose outcomes have the correlation phi."""

    def half(one: float, other: float) -> float:
        return math.sqrt(one**2 - 2 * phi * one * other + other**2)

    mean = first.mean - second.mean
    return Estimate(
        mean=mean,
        low=mean - half(first.mean - first.low, second.high - second.mean),
        high=mean + half(first.high - first.mean, second.mean - second.low),
    )


def _correlation(one: Sequence[bool], other: Sequence[bool]) -> float:
    """Return the correlation of paired outcomes, corrected for continuity where it is positive."""
    n, ones, others = len(one), sum(one), sum(other)
    both = sum(first and second for first, second in zip(one, other, strict=True))
    spread = ones * (n - ones) * others * (n - others)
    excess = n * both - ones * others
    return (max(excess - n / 2, 0.0) if excess > 0 else excess) / math.sqrt(spread) if spread else 0.0


def _t(seeds: int) -> float:
    """Return the quantile of Student's t by which an interval over the seeds is wider than an error."""
    return float(stdtrit(seeds - 1, (1 + LEVEL) / 2))
