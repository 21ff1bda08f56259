"""Few-shot classification: ridge regression on frozen features of a few rows of each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from tammes.checks import check_integer, check_number, check_seed
from tammes.estimate import Estimate
from tammes.evaluation.features import LabeledFeatures, check_comparable
from tammes.evaluation.readout import LinearReadout
from tammes.evaluation.regression import PENALTIES

MOST_NAMED = 3
"""Classes that a message names."""


@dataclass(frozen=True, kw_only=True)
class FewShot:
    """Ridge regression of {-1, 1} targets on the frozen features of a few rows of each class.

        min over W, b  of  sum_i |W x_i + b - t_i|^2 + penalty |W|^2 ,        t_ic = 1 if y_i = c, else -1
        label(x) = argmax_c (W x + b)_c

    The features are standardized by the shots. The shots are drawn several times, and the interval is over
    the draws, or over the test rows (Wilson) where all draws have the same accuracy. The test rows are the
    same for all draws and decide nothing: without a penalty, each draw takes the one of `PENALTIES` with the
    smallest squared error on its own shots, each left out once.

    Raises:
        ValueError: a number out of its range.

    Source: Dosovitskiy et al. (2021), section 4.1 ("regularized least-squares regression [...] to {-1, 1}^K
    target vectors", in closed form), 10 and 25 shots in Robinson (2023), section 6.3.4. Differs: neither
    gives the penalty; here leaving one out chooses it.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> labels = torch.arange(60) % 3
        >>> features = torch.eye(3)[labels] + 0.1 * torch.randn(60, 3, generator=generator)
        >>> points = LabeledFeatures(features=features, labels=labels)
        >>> print(FewShot(shots=5, draws=3).accuracy(points, points))
        1.000 [0.940, 1.000]
    """

    shots: int = 10
    """Rows of each class to learn from, at least 1."""

    draws: int = 10
    """Number of draws of the shots, at least 1."""

    penalty: float | None = None
    """Weight of the squared weights, above 0; None chooses it anew for each draw."""

    seed: int = 0
    """Random seed of the draws."""

    def __post_init__(self) -> None:
        check_integer("shots", self.shots)
        check_integer("draws", self.draws)
        check_seed("seed", self.seed)
        if self.penalty is not None:
            check_number("penalty", self.penalty, above=0, reason="None chooses it by leaving one out")

    def accuracy(self, train: LabeledFeatures, test: LabeledFeatures) -> Estimate:
        """Return the mean accuracy on the test rows over the draws, with its interval over the draws.

        A single draw has no interval.

        Raises:
            ValueError: the features differ in width; a class has fewer training rows than shots.
        """
        found = self.right(train, test).double().mean(dim=1).tolist()
        if self.draws == 1:
            return Estimate.over_seeds(found)
        return Estimate.of_accuracies(found, len(test.labels))

    def right(self, train: LabeledFeatures, test: LabeledFeatures) -> Tensor:
        """Return which test rows are classified correctly, bool (draws, m).

        Raises:
            ValueError: see `accuracy`.
        """
        check_comparable(train, test)
        labels = test.labels.cpu()
        features = test.features.detach().cpu().double()
        found = []
        for rows in self.drawn(train.labels.cpu()):
            shots = LabeledFeatures(features=train.features[rows], labels=train.labels[rows])
            found.append(self.fit(shots).predict(features) == labels)
        return torch.stack(found)

    def drawn(self, labels: Int[Tensor, " n"]) -> list[Int[Tensor, " some"]]:
        """Return the rows of each draw, ascending, `shots` of each class.

        Raises:
            ValueError: a class has fewer rows; the message names it.
        """
        check_shots(labels, self.shots)
        classes = labels.unique()
        draws = []
        for draw in range(self.draws):
            generator = np.random.default_rng([self.seed, draw])
            rows = [
                generator.permutation((labels == label).nonzero()[:, 0].numpy())[: self.shots]
                for label in classes
            ]
            draws.append(torch.from_numpy(np.sort(np.concatenate(rows))))
        return draws

    def fit(self, points: LabeledFeatures) -> LinearReadout:
        """Return the classifier of the shots, all of which it learns from."""
        x = points.features.detach().cpu().double()
        scale, mean = torch.std_mean(x, dim=0, correction=0)
        scale = torch.where(scale > 0, scale, torch.ones_like(scale))
        classes = points.labels.cpu().unique()
        targets = 2 * (points.labels.cpu()[:, None] == classes).double() - 1
        weight, bias = ridge((x - mean) / scale, targets, self._penalties)
        weight = weight / scale
        return LinearReadout(weight=weight, bias=bias - weight @ mean, classes=classes)

    @property
    def _penalties(self) -> tuple[float, ...]:
        return PENALTIES if self.penalty is None else (self.penalty,)


def check_shots(labels: Int[Tensor, " n"], shots: int, names: Sequence[str] | None = None) -> None:
    """Raise ValueError unless every class has enough rows.

    Args:
        labels: label of each row.
        shots: rows of each class to draw.
        names: names of the classes by their labels, for the message.

    Example:
        >>> check_shots(torch.tensor([0, 0, 1]), 2, ("cat", "dog"))
        Traceback (most recent call last):
            ...
        ValueError: expected at least 2 rows of each class for the shots, got 1 of dog: choose at most 1 shots
    """
    classes, counts = labels.unique(return_counts=True)
    few = [(int(label), int(count)) for label, count in zip(classes, counts, strict=True) if count < shots]
    if not few:
        return
    named = [f"{count} of {f'class {label}' if names is None else names[label]}" for label, count in few]
    more = f" and {len(few) - MOST_NAMED} more classes" if len(few) > MOST_NAMED else ""
    raise ValueError(
        f"expected at least {shots} rows of each class for the shots, got {', '.join(named[:MOST_NAMED])}"
        f"{more}: choose at most {int(counts.min())} shots"
    )


def ridge(
    x: Float64[Tensor, "n features"], targets: Float64[Tensor, "n classes"], penalties: Sequence[float]
) -> tuple[Float64[Tensor, "classes features"], Float64[Tensor, " classes"]]:
    """Return W and b of a ridge regression, with the penalty that has the smallest leave-one-out error.

        min over W, b  of  sum_i |W x_i + b - t_i|^2 + penalty |W|^2

    One eigendecomposition serves all penalties, of the smaller of X X^T and X^T X.

    Args:
        x: features.
        targets: targets t_i.
        penalties: penalties to choose from, above 0; a single one is taken as it is.

    Example:
        >>> x = torch.tensor([[0.0], [1.0], [2.0]], dtype=torch.float64)
        >>> weight, bias = ridge(x, 2 * x + 1, [1e-9])
        >>> round(float(weight), 6), round(float(bias), 6)
        (2.0, 1.0)
    """
    mean, level = x.mean(dim=0), targets.mean(dim=0)
    solution = _Solution.of(x - mean, targets - level)
    best = min(penalties, key=solution.left_out) if len(penalties) > 1 else penalties[0]
    weight = solution.weight(best)
    return weight, level - weight @ mean


@dataclass(frozen=True, eq=False)
class _Solution:
    """Eigendecomposition of centered features, from which the solution for any penalty follows."""

    scores: Float[Tensor, "n rank"]
    """X V, the features along the eigenvectors V of X^T X."""
    values: Float[Tensor, " rank"]
    """Eigenvalues of X^T X."""
    x: Float[Tensor, "n features"]
    targets: Float[Tensor, "n classes"]
    directions: Float[Tensor, "features rank"] | None
    """V; None where there are fewer rows than features, and V = X^T U / sqrt(values)."""

    @classmethod
    def of(cls, x: Tensor, targets: Tensor) -> _Solution:
        if len(x) < x.shape[1]:
            values, rows = torch.linalg.eigh(x @ x.T)
            values = values.clamp(min=0)  # rounding leaves tiny negative ones
            return cls(rows * values.sqrt(), values, x, targets, None)
        values, directions = torch.linalg.eigh(x.T @ x)
        return cls(x @ directions, values.clamp(min=0), x, targets, directions)

    def left_out(self, penalty: float) -> float:
        """Return the squared error of each row under the regression on all others, summed."""
        shrunk = self.scores / (self.values + penalty)
        errors = self.targets - shrunk @ (self.scores.T @ self.targets)
        # The mean, which is not penalized, takes a share of 1 / n of each row.
        leverage = (shrunk * self.scores).sum(dim=1) + 1 / len(self.x)
        return float((errors / (1 - leverage)[:, None]).square().sum())

    def weight(self, penalty: float) -> Float[Tensor, "classes features"]:
        """Return W."""
        if self.directions is not None:
            along = (self.scores.T @ self.targets) / (self.values + penalty)[:, None]
            return (self.directions @ along).T
        # W = T^T (X X^T + penalty)^-1 X, whose eigenvectors X X^T shares.
        identity = penalty * torch.eye(len(self.x), dtype=self.x.dtype)
        return torch.linalg.solve(self.scores @ self.scores.T + identity, self.targets).T @ self.x
