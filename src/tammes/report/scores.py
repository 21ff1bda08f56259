"""What is measured of one encoder: accuracies, and numbers over the epochs of training."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tammes.report.expect import expect_finite, expect_shape

Floats = npt.NDArray[np.floating]
Integers = npt.NDArray[np.integer]


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """One number over training.

    Args:
        epochs: (points,) increasing; 0 is before the first step, 1.5 is half way through the second epoch.
        values: (points,) the number at each of them.

    Raises:
        ValueError: where the two differ in length, are empty, are not finite, or the epochs do not increase.

    >>> Curve(epochs=np.array([0, 1]), values=np.array([5.1, 4.2])).last
    4.2
    """

    epochs: Floats | Integers
    values: Floats

    def __post_init__(self) -> None:
        expect_shape("Curve.epochs", self.epochs, (None,))
        expect_shape("Curve.values", self.values, (len(self.epochs),))
        if len(self.epochs) == 0:
            raise ValueError("Curve expected at least one point, got none: hand in None instead")
        expect_finite("Curve.epochs", self.epochs)
        expect_finite("Curve.values", self.values)
        if np.any(np.diff(self.epochs) <= 0):
            raise ValueError(
                f"Curve.epochs expected increasing numbers, got {self.epochs.tolist()}: sort them"
            )

    @property
    def last(self) -> float:
        """The value at the last point."""
        return float(self.values[-1])


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Test accuracies as fractions in [0, 1]; None where one was not measured (no labels, too few).

    Args:
        knn: of the nearest-neighbor vote on the frozen features.
        means: of the class means, by inner product.
        linear: of the linear classifier trained with all training labels.
        probe: of the linear probe fitted with all training labels.
        probe_10_percent: of the linear probe fitted with 10 % of them.
        probe_1_percent: of the linear probe fitted with 1 % of them.

    Raises:
        ValueError: for a number outside [0, 1].

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
            if value is not None and not 0 <= value <= 1:
                raise ValueError(
                    f"Scores.{name} expected a fraction in [0, 1], got {value}: divide per cent by 100"
                )


@dataclass(frozen=True, kw_only=True)
class Floor:
    """What any encoder must beat.

    Args:
        name: in words, "untrained encoder" or "raw pixels".
        scores: measured exactly as for the trained encoders; a mean if there are several seeds.
        seeds: the scores of each seed; a single one, or none, says nothing of how much they vary.

    >>> Floor(name="raw pixels", scores=Scores(knn=0.9)).name
    'raw pixels'
    """

    name: str
    scores: Scores
    seeds: tuple[Scores, ...] = ()
