"""The regression probe: ridge regression of a real outcome on frozen features, and its R^2."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64
from scipy import stats
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn
from torch import Tensor

from tammes.checks import check_finite_rows, check_integer, check_number, check_seed, check_shape
from tammes.estimate import LEVEL, Estimate

PENALTIES = tuple(10.0**power for power in range(-2, 6))
"""Penalties to choose from."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredFeatures:
    """Feature vectors with a real outcome of each.

    Args:
        features: feature vector of each point, floating point and finite.
        outcome: outcome of each point, finite, at least two different ones.

    Raises:
        ValueError: features and outcomes do not match in number, shape or type, one of them is NaN or
            infinite (the message has the row), or all outcomes are the same.

    Example:
        >>> len(MeasuredFeatures(features=torch.eye(3), outcome=torch.tensor([0.1, 0.2, 0.2])))
        3
    """

    features: Float[Tensor, "n features"]
    outcome: Float[Tensor, " n"]

    def __post_init__(self) -> None:
        for name, tensor, ndim in (("features", self.features, 2), ("outcomes", self.outcome, 1)):
            if tensor.ndim != ndim or not tensor.is_floating_point() or tensor.numel() == 0:
                got = f"{tensor.dtype} {tuple(tensor.shape)}"
                raise ValueError(f"expected floating-point {name} of {ndim} axes, got {got}")
        check_shape("outcomes, one for each row of features,", self.outcome.shape, (len(self.features),))
        check_finite_rows("features", self.features)
        check_finite_rows("outcomes", self.outcome[:, None])
        if bool((self.outcome == self.outcome[0]).all()):
            raise ValueError(
                f"expected at least two different outcomes, got {float(self.outcome[0]):g} "
                f"{len(self.outcome)} times; a constant needs no regression"
            )

    def __len__(self) -> int:
        return len(self.outcome)


@dataclass(frozen=True, kw_only=True)
class RidgeProbe:
    """Ridge regression on frozen features, each standardized to mean 0 and variance 1.

        min over w, b  of  sum_i (y_i - w x_i - b)^2 + penalty |w|^2

    The penalty is the one of `penalties` with the smallest squared error on inner folds of the training
    points alone, each fold of one point (leave-one-out, which costs no more than one fit).

    Raises:
        ValueError: no penalty, or one out of its range.

    Example:
        >>> features = torch.arange(20.0)[:, None]
        >>> points = MeasuredFeatures(features=features, outcome=2 * features[:, 0] + 1)
        >>> round(float(RidgeProbe().predict(points, torch.tensor([[30.0]]))))
        61
    """

    penalties: tuple[float, ...] = PENALTIES
    """Penalties to choose from, above 0."""

    def __post_init__(self) -> None:
        if not self.penalties:
            raise ValueError("expected at least one penalty, got none")
        for penalty in self.penalties:
            check_number("penalties", penalty, above=0)

    def predict(
        self, train: MeasuredFeatures, features: Float[Tensor, "m features"]
    ) -> Float64[Tensor, " m"]:
        """Return the predicted outcome of each row of `features`, on the CPU."""
        from sklearn.linear_model import RidgeCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        probe = make_pipeline(StandardScaler(), RidgeCV(alphas=list(self.penalties)))
        x, y = (each.detach().cpu().double().numpy() for each in (train.features, train.outcome))
        # One thread: the systems are small, and the bits do not depend on the machine's threads.
        with threadpool_limits(1):
            probe.fit(x, y)
            return torch.from_numpy(probe.predict(features.detach().cpu().double().numpy()))


@dataclass(frozen=True, kw_only=True)
class RegressionValidation:
    """Each point predicted once, by a probe that learns from the other folds.

    Args:
        folds: number of folds.
        seed: random seed of the folds.
        probe: the probe.

    Raises:
        ValueError: fewer than two folds; when used, fewer points than folds.

    Example:
        >>> features = torch.arange(20.0)[:, None]
        >>> points = MeasuredFeatures(features=features, outcome=2 * features[:, 0] + 1)
        >>> RegressionValidation().r_squared(points).mean > 0.99
        True
    """

    folds: int = 5
    seed: int = 0
    probe: RidgeProbe = RidgeProbe()

    def __post_init__(self) -> None:
        check_integer("folds", self.folds, minimum=2)
        check_seed("seed", self.seed, maximum=2**32 - 1)

    def predict(self, points: MeasuredFeatures) -> Float64[Tensor, " n"]:
        """Return the outcome of each point as the probe of the other folds predicts it."""
        if len(points) < self.folds:
            raise ValueError(
                f"expected at least {self.folds} points, one for each fold, got {len(points)}: choose fewer "
                "folds"
            )
        from sklearn.model_selection import KFold

        found = torch.empty(len(points), dtype=torch.float64)
        folds = KFold(self.folds, shuffle=True, random_state=self.seed)
        for known, tested in folds.split(np.empty(len(points))):
            train = MeasuredFeatures(features=points.features[known], outcome=points.outcome[known])
            found[tested] = self.probe.predict(train, points.features[tested])
        return found

    def r_squared(self, points: MeasuredFeatures) -> Estimate:
        """Return R^2 of these predictions, with its interval over the points; see `r_squared`."""
        return r_squared(self.predict(points), points.outcome)


def r_squared(predicted: Float[Tensor, " n"], outcome: Float[Tensor, " n"]) -> Estimate:
    """Return the coefficient of determination, with its 95 % interval over the points by the jackknife.

        R^2  =  1 - sum_i (y_i - p_i)^2 / sum_i (y_i - mean(y))^2

    It is 0 for the mean of the outcomes, and below 0 for worse predictions. The interval is Student's,
    of the n values with one point left out, with the predictions as they are.

    Args:
        predicted: prediction p_i of each point.
        outcome: outcome y_i of each point, at least three and not all equal.

    Raises:
        ValueError: If the numbers differ, or the outcomes do not; a prediction or an outcome that is NaN or
            infinite.

    Source: Efron and Stein, The Jackknife Estimate of Variance, 1981.

    Example:
        >>> y = torch.tensor([0.0, 1.0, 2.0, 3.0])
        >>> print(r_squared(y + torch.tensor([0.1, -0.1, 0.1, -0.1]), y))
        0.992 [0.968, 1.016]
    """
    check_shape("outcomes, one for each prediction,", outcome.shape, tuple(predicted.shape))
    check_finite_rows("predictions", predicted[:, None])
    check_finite_rows("outcomes", outcome[:, None])
    y, p = (each.detach().cpu().double() for each in (outcome, predicted))
    n = len(y)
    around = (y - y.mean()).square()
    ordered = y.sort().values  # of equal outcomes rounding can leave a sum above 0
    if n < 3 or bool(ordered[0] == ordered[-1]):
        raise ValueError(f"expected at least three outcomes that differ, got {n}")
    errors = (y - p).square()
    mean = 1 - errors.sum() / around.sum()
    # Without point i the sum around the new mean is smaller by n / (n - 1) times its square.
    left = around.sum() - around * n / (n - 1)
    only_one = bool((ordered[0] == ordered[-2]) | (ordered[1] == ordered[-1]))
    if only_one or not bool((left > 0).all()):
        raise ValueError("expected outcomes that still differ without any one of them: only one is another")
    without = 1 - (errors.sum() - errors) / left
    deviation = math.sqrt(float((without - without.mean()).square().sum()) * (n - 1) / n)
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * deviation
    return Estimate(mean=float(mean), low=float(mean) - half, high=float(mean) + half)
