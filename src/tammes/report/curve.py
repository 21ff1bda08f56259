"""One number over training, of one run or as a mean over seeds with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tammes.checks import check_shape
from tammes.estimate import Estimate
from tammes.report.scores import Floats, Integers, check_finite
from tammes.training import EpochMetrics


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """One number over training.

    Args:
        epochs: (points,) increasing; 0 is before the first step, 1.5 is half way through the second epoch.
        values: (points,) value at each of them; the mean if there are several seeds.
        low: (points,) lower ends of the 95 % intervals of means over several seeds; or None.
        high: (points,) upper ends.

    Raises:
        ValueError: If the arrays differ in length, are empty or not finite, or the epochs do not increase.

    Example:
        >>> Curve(epochs=np.array([0, 1]), values=np.array([5.1, 4.2])).last
        4.2
    """

    epochs: Floats | Integers
    values: Floats
    low: Floats | None = None
    high: Floats | None = None

    def __post_init__(self) -> None:
        check_shape("Curve.epochs", self.epochs.shape, (None,))
        if len(self.epochs) == 0:
            raise ValueError("Curve expected at least one point, got none: pass None instead of a curve")
        for name in ("values", "low", "high"):
            array = vars(self)[name]
            if array is not None:
                check_shape(f"Curve.{name}", array.shape, (len(self.epochs),))
                check_finite(f"Curve.{name}", array)
        check_finite("Curve.epochs", self.epochs)
        if np.any(np.diff(self.epochs) <= 0):
            raise ValueError(f"Curve.epochs must increase, got {self.epochs.tolist()}: sort them")

    @staticmethod
    def of(rows: Sequence[EpochMetrics], name: str) -> Curve | None:
        """Return a number over the epochs after which it was recorded, or None if it never was.

        Args:
            rows: metrics of a run.
            name: field of `EpochMetrics`, such as "loss", or one of its `last` numbers.
        """
        known = [(row.epoch, {**row.last, **vars(row)}.get(name)) for row in rows]
        points = [(epoch, value) for epoch, value in known if value is not None]
        if not points:
            return None
        return Curve(epochs=np.array([e for e, _ in points]), values=np.array([v for _, v in points]))

    @staticmethod
    def over_seeds(curves: Sequence[Curve | None]) -> Curve | None:
        """Return the mean of a curve for each seed, with Student's interval at each epoch that all share.

        None if the curve of a seed is missing, or there is no such epoch.

        Example:
            >>> low, high = (Curve(epochs=np.array([1]), values=np.array([v])) for v in (0.5, 0.7))
            >>> float(Curve.over_seeds([low, high]).values[0])
            0.6
        """
        known = [curve for curve in curves if curve is not None]
        if len(known) < len(curves):
            return None
        if len(known) == 1:
            return known[0]
        at = [dict(zip(curve.epochs.tolist(), curve.values.tolist(), strict=True)) for curve in known]
        shared = sorted(set.intersection(*map(set, at)))
        if not shared:
            return None
        means = [Estimate.over_seeds([values[epoch] for values in at]) for epoch in shared]
        return Curve(
            epochs=np.array(shared),
            values=np.array([each.mean for each in means]),
            low=np.array([each.low for each in means]),
            high=np.array([each.high for each in means]),
        )

    @property
    def last(self) -> float:
        """Value at the last point."""
        return float(self.values[-1])

    @property
    def is_shown(self) -> bool:
        """Whether there is something to see: two points at least, and not all of them zero."""
        return len(self.values) > 1 and bool(np.any(self.values))

    @property
    def is_constant(self) -> bool:
        """Whether all values are the same."""
        return bool(np.all(self.values == self.values[0]))
