"""Accuracies of one encoder, with their intervals."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tammes.checks import check_number
from tammes.estimate import NO_WIDTH, Estimate

Floats = npt.NDArray[np.floating]
Integers = npt.NDArray[np.integer]


def check_finite(name: str, array: np.ndarray) -> None:
    """Raise ValueError for NaN or infinity, and name the first row that holds one."""
    bad = ~np.isfinite(array)
    if bad.any():
        raise ValueError(f"{name} must be finite, got {array[bad][0]} in row {np.argwhere(bad)[0][0]}")


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Test accuracies as fractions in [0, 1]; None for those not measured (no labels, too few).

    Args:
        knn: accuracy of the k-nearest-neighbor vote on the frozen features.
        means: accuracy of classification by class means and inner product.
        linear: accuracy of the linear classifier trained with all training labels.
        probe: accuracy of the linear probe fitted with all training labels.
        probe_10_percent: accuracy of the linear probe fitted with 10 % of them.
        probe_1_percent: accuracy of the linear probe fitted with 1 % of them.

    Raises:
        ValueError: If a number is outside [0, 1].

    Example:
        >>> Scores(knn=0.95)
        Scores(knn=0.95, means=None, linear=None, probe=None, probe_10_percent=None, probe_1_percent=None)
    """

    knn: float | None = None
    means: float | None = None
    linear: float | None = None
    probe: float | None = None
    probe_10_percent: float | None = None
    probe_1_percent: float | None = None

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            if value is not None:
                check_number(
                    f"Scores.{name}", value, minimum=0, maximum=1, reason="divide percentages by 100"
                )


@dataclass(frozen=True, kw_only=True)
class Floor:
    """Accuracies that any trained encoder should exceed.

    Args:
        name: description, such as "untrained encoder" or "raw pixels".
        scores: accuracies, measured exactly as for the trained encoders; means if there are several seeds.
        seeds: accuracies of each seed; their variation is known only with two or more.

    Example:
        >>> Floor(name="raw pixels", scores=Scores(knn=0.9)).name
        'raw pixels'
    """

    name: str
    scores: Scores
    seeds: tuple[Scores, ...] = ()


class Measured(Protocol):
    """Objective or floor with its accuracies."""

    @property
    def scores(self) -> Scores:
        """Accuracies; means if there are several seeds."""

    @property
    def seeds(self) -> tuple[Scores, ...]:
        """Accuracies of each seed; may be empty for a single one."""


@dataclass(frozen=True)
class Accuracy:
    """One of the accuracies in `Scores`, with its names on the page.

    Args:
        title: title of its column in the table.
        classifier: what classifies, in a sentence.
        where: the column, in a sentence.
        of: function that takes the accuracy from the scores.
        is_probe: whether its column stands under "linear probe".
    """

    title: str
    classifier: str
    where: str
    of: Callable[[Scores], float | None]
    is_probe: bool = False

    def values(self, measured: Measured) -> list[float]:
        """Return the accuracy of each seed; the only one where there are no seeds; none if not measured."""
        found = [self.of(each) for each in measured.seeds or (measured.scores,)]
        return [value for value in found if value is not None]

    def estimate(self, measured: Measured, test_size: int) -> Estimate | None:
        """Return the accuracy with its interval, or None if it was not measured."""
        values = self.values(measured)
        return Estimate.of_accuracies(values, test_size) if values else None

    def difference(self, more: Measured, less: Measured, test_size: int) -> Estimate | None:
        """Return the difference of two accuracies seed by seed, or None if one was not measured.

        A floor without seeds, such as raw pixels, is a constant. Where all seeds have the same difference,
        Student's interval would have no width, although the test rows are a sample: Newcombe's for two
        shares of as many rows takes its place.

        Args:
            more: an objective.
            less: an objective or a floor, which is subtracted.
            test_size: number of test rows behind each accuracy.
        """
        first, second = self.values(more), self.values(less)
        if not first or not second:
            return None
        shared = min(len(first), len(second))
        if isinstance(less, Floor) and len(second) == 1:
            shared, second = len(first), second * len(first)
        found = Estimate.of_difference(first[:shared], second[:shared])
        if found.high - found.low > NO_WIDTH:
            return found
        shares = (Estimate.of_share(fmean(each[:shared]), test_size) for each in (first, second))
        return Estimate.of_separate_shares(*shares)


KNN = Accuracy("kNN", "the vote of nearest neighbors", "by nearest neighbors", lambda scores: scores.knn)
MEANS = Accuracy("class means", "the mean classifier", "by class means", lambda scores: scores.means)
LINEAR = Accuracy(
    "linear classifier", "a linear classifier", "by a linear classifier", lambda scores: scores.linear
)
PROBE = Accuracy(
    "all labels", "a linear probe", "with all labels", lambda scores: scores.probe, is_probe=True
)
PROBE_10_PERCENT = Accuracy(
    "10 %", "a linear probe", "with 10 % of the labels", lambda scores: scores.probe_10_percent, is_probe=True
)
PROBE_1_PERCENT = Accuracy(
    "1 %", "a linear probe", "with 1 % of the labels", lambda scores: scores.probe_1_percent, is_probe=True
)
COLUMNS = (KNN, MEANS, LINEAR, PROBE, PROBE_10_PERCENT, PROBE_1_PERCENT)
"""All accuracies, in the order of the table."""
JUDGES = (PROBE, LINEAR, KNN)
"""Accuracies by which the best objective is found, the first one that all objectives have."""
OTHERS = (MEANS, PROBE_10_PERCENT, PROBE_1_PERCENT)
"""All other accuracies."""
