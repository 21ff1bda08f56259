"""The support vector machine, with its penalty chosen by cross-validation within the training points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from tammes.checks import check_integer
from tammes.evaluation.features import LabeledFeatures, accuracy_of

COSTS = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
"""Values of C that the published evaluations of graphs search."""
BLOCK = 4096
"""Points that are classified at once."""
MOST_OF_KERNEL = 10_000
"""Most training points whose kernel is kept: 0.8 GB for 10,000, and a few times that to choose C."""


@dataclass(frozen=True, kw_only=True)
class SVM:
    """Support vector machine on the raw features; C is the best of several within the training points.

        min  |w|^2 / 2 + C sum_i max(0, 1 - y_i (w.phi(x_i) + b))

    The kernel is e^{-|x - y|^2 / (d var)}, d the width and var the variance of the training features, as
    scikit-learn's default, or the inner product. It is computed once for all values of C, in a few times
    8 n^2 bytes for n training points; of more than 10,000 points, in parts and anew for each C.

    Args:
        linear: whether the kernel is the inner product.
        costs: values of C.
        inner: folds of the training points by which C is chosen; fewer if a class has fewer points.

    Raises:
        ValueError: no value of C or one that is not positive, fewer than two folds.

    Source: Sun et al., InfoGraph, 2020, and its published code; Robinson (2023), appendix A.4.2.

    Example:
        >>> points = LabeledFeatures(
        ...     features=torch.eye(4).repeat(3, 1), labels=torch.tensor([0, 0, 1, 1]).repeat(3)
        ... )
        >>> SVM().accuracy(points, points)
        1.0
    """

    linear: bool = False
    costs: tuple[float, ...] = COSTS
    inner: int = 5

    def __post_init__(self) -> None:
        if not self.costs or not all(cost > 0 for cost in self.costs):
            raise ValueError(f"costs must be positive values of C, at least one, got {self.costs}")
        check_integer("inner", self.inner, minimum=2)

    def accuracy(self, train: LabeledFeatures, test: LabeledFeatures) -> float:
        """Return the fraction of test points classified correctly, from 0 to 1.

        Raises:
            ValueError: the features differ in width.
        """
        return accuracy_of(self.predict, train, test)

    def predict(self, train: LabeledFeatures, features: Float[Tensor, "m features"]) -> Int[Tensor, " m"]:
        """Return the predicted label of each row of `features`."""
        return self.predict_scored(train, features)[0]

    def predict_scored(
        self, train: LabeledFeatures, features: Float[Tensor, "m features"]
    ) -> tuple[Int[Tensor, " m"], float]:
        """Return the predicted labels, and the accuracy of the chosen C in the folds of the training points.

        The accuracy is 0 where C was not chosen.
        """
        from sklearn.svm import SVC

        known, tested = (each.detach().cpu().double().numpy() for each in (train.features, features))
        labels = train.labels.cpu().numpy()
        if not self.linear:
            # Distances and variance stay as they are; of squares far from zero rounding would leave nothing.
            offset = np.median(known)
            known, tested = known - offset, tested - offset
        if len(known) > MOST_OF_KERNEL:
            return self._predict_in_parts(known, labels, tested)
        between = self._between(known, known)
        cost, score = self._best_cost(between, known, labels)
        machine = SVC(C=cost, kernel="precomputed").fit(self._kernel(between, known), labels)
        found = np.empty(len(tested), labels.dtype)
        for start in range(0, len(tested), BLOCK):
            rows = slice(start, start + BLOCK)
            found[rows] = machine.predict(self._kernel(self._between(tested[rows], known), known))
        return torch.from_numpy(found), score

    def _predict_in_parts(
        self, known: NDArray[np.float64], labels: NDArray[np.int64], tested: NDArray[np.float64]
    ) -> tuple[Int[Tensor, " m"], float]:
        """Return labels and accuracy as `predict_scored`, with rows of the kernel in a cache of 200 MB."""
        from sklearn.model_selection import GridSearchCV, StratifiedKFold
        from sklearn.svm import SVC

        machine = SVC(kernel="linear" if self.linear else "rbf")
        inner = self._inner_folds(labels)
        if inner is None:
            machine.set_params(C=self._middle_cost()).fit(known, labels)
            return torch.from_numpy(machine.predict(tested)), 0.0
        search = GridSearchCV(machine, {"C": list(self.costs)}, cv=StratifiedKFold(inner)).fit(known, labels)
        return torch.from_numpy(search.predict(tested)), float(search.best_score_)

    def _best_cost(
        self, between: NDArray[np.float64], known: NDArray[np.float64], labels: NDArray[np.int64]
    ) -> tuple[float, float]:
        """Return the first C of the best mean accuracy over the inner folds, and that accuracy."""
        from sklearn.model_selection import StratifiedKFold
        from sklearn.svm import SVC

        inner = self._inner_folds(labels)
        if inner is None:
            return self._middle_cost(), 0.0
        accuracies = np.empty((len(self.costs), inner))
        for fold, (rows, held_out) in enumerate(StratifiedKFold(inner).split(known, labels)):
            kernel = self._kernel(between[:, rows], known[rows])
            for row, cost in enumerate(self.costs):
                machine = SVC(C=cost, kernel="precomputed").fit(kernel[rows], labels[rows])
                accuracies[row, fold] = (machine.predict(kernel[held_out]) == labels[held_out]).mean()
        means = accuracies.mean(1)
        return self.costs[int(means.argmax())], float(means.max())

    def _inner_folds(self, labels: NDArray[np.int64]) -> int | None:
        """Return the number of folds by which C is chosen; None for one C, or too few points to choose by."""
        inner = min(self.inner, int(np.unique(labels, return_counts=True)[1].min()))
        return None if inner < 2 or len(self.costs) == 1 else inner

    def _middle_cost(self) -> float:
        """Return the C of points that are too few to choose by."""
        return self.costs[len(self.costs) // 2]

    def _between(self, points: NDArray[np.float64], known: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return inner products, or squared distances, of points and training points."""
        products = points @ known.T
        if self.linear:
            return products
        squared = (points**2).sum(1)[:, None] + (known**2).sum(1)
        squared -= 2 * products
        return np.maximum(squared, 0, out=squared)

    def _kernel(self, between: NDArray[np.float64], learned_from: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the kernel, its width that of the points learned from."""
        if self.linear:
            return between
        return np.exp(-between / ((learned_from.var() or 1.0) * learned_from.shape[1]))
