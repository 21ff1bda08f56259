"""The published protocol of sentence classification: logistic regression, C by inner cross-validation."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from tammes.checks import check_integer, check_seed
from tammes.evaluation.cross_validation import CrossValidation
from tammes.evaluation.features import LabeledFeatures, check_comparable
from tammes.evaluation.sentence_tasks.logistic import ManyRegressions

COSTS = tuple(2.0**power for power in range(9))
"""Values of C that the published evaluation searches."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Classified:
    """Predicted labels, with the C by which each was predicted.

    Args:
        labels: (n,) predicted label of each point.
        costs: C of each fold, or of the only classifier.
    """

    labels: Int64[Tensor, " n"]
    costs: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class LogisticProtocol:
    """Logistic regression on raw features, whose C is the best in an inner cross-validation.

    In folds, the inner folds of an outer fold are the other outer folds. Then the regressions without folds
    i and j serve both, and 10 folds take 45 of them beside the 10 that are tested, where separate inner folds
    take 100. All regressions of one C are solved together, beginning from those of the smaller C.

    Args:
        folds: folds of a task without a test set; else of the training set, by which C is chosen.
        costs: values of C, tried in ascending order; of equally good ones the smallest is taken.
        patience: number of values of C in a row that are better in no fold, after which the search ends:
            large values take longest, since the classes of some points are then almost certain.
        seed: random seed of the folds.

    Raises:
        ValueError: fewer than three folds, no C or one that is not positive; when used, a class with fewer
            points than folds.

    Source: Kiros et al., Skip-thought vectors, 2015, and its published code; Logeswaran and Lee, 2018.

    Differs: 9 inner folds in place of 10, and an end of the search by `patience`.

    Example:
        >>> x = torch.eye(2).repeat(20, 1)
        >>> found = LogisticProtocol().in_folds(LabeledFeatures(features=x, labels=x[:, 1].long()))
        >>> bool((found.labels == x[:, 1]).all()), set(found.costs)
        (True, {1.0})
    """

    folds: int = 10
    costs: tuple[float, ...] = COSTS
    patience: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer("folds", self.folds, minimum=3)
        check_integer("patience", self.patience)
        check_seed("seed", self.seed, maximum=2**32 - 1)
        if not self.costs or not all(cost > 0 for cost in self.costs):
            raise ValueError(f"costs must be positive values of C, at least one, got {self.costs}")

    def in_folds(self, points: LabeledFeatures) -> Classified:
        """Return the label of each point by the regression that learned from the other folds."""
        names, labels = points.labels.unique(return_inverse=True)
        fold = self._fold_of(labels)
        # Row i * folds + j: the points outside folds i and j; those with i = j are the tested regressions.
        first, second = torch.tril_indices(self.folds, self.folds)
        subsets = (fold != first[:, None]) & (fold != second[:, None])
        position = torch.empty(self.folds, self.folds, dtype=torch.long)
        position[first, second] = position[second, first] = torch.arange(len(first))
        many = _regressions(points.features, labels, len(names), subsets)
        best = torch.full((self.folds,), -1.0, dtype=torch.float64)
        chosen = torch.zeros(self.folds, dtype=torch.float64)
        found = torch.zeros_like(labels)
        worse = 0
        for cost in sorted(self.costs):
            many.solve(cost)
            right = many.predicted == labels
            # inner[i, j]: accuracy on fold j of the regression without i and j.
            inner = torch.stack(
                [right[position[:, j]][:, fold == j].double().mean(dim=1) for j in range(self.folds)], dim=1
            )
            inner.fill_diagonal_(0)
            score = inner.sum(dim=1) / (self.folds - 1)
            worse = 0 if bool((score > best).any()) else worse + 1
            for i in (score > best).nonzero().flatten().tolist():
                best[i], chosen[i] = score[i], cost
                found[fold == i] = many.predicted[position[i, i]][fold == i]
            if worse == self.patience:
                break
        return Classified(labels=names[found], costs=tuple(chosen.tolist()))

    def on_test(self, train: LabeledFeatures, features: Float[Tensor, "m features"]) -> Classified:
        """Return the label of each row of `features` by a regression on all training points."""
        names, labels = train.labels.unique(return_inverse=True)
        fold = self._fold_of(labels)
        # The last subset has all points.
        subsets = fold != torch.arange(self.folds + 1)[:, None]
        many = _regressions(train.features, labels, len(names), subsets)
        best, chosen, found = -1.0, 0.0, torch.zeros(len(features), dtype=torch.long)
        worse = 0
        for cost in sorted(self.costs):
            many.solve(cost)
            right = many.predicted == labels
            score = float(
                torch.stack([right[j, fold == j].double().mean() for j in range(self.folds)]).mean()
            )
            worse = 0 if score > best else worse + 1
            if worse == self.patience:
                break
            if score > best:
                best, chosen, found = score, cost, many.predict(features)[-1]
        return Classified(labels=names[found], costs=(chosen,))

    def accuracy(self, train: LabeledFeatures, test: LabeledFeatures) -> float:
        """Return the share of test points classified correctly.

        Raises:
            ValueError: the features differ in width.
        """
        check_comparable(train, test)
        return float((self.on_test(train, test.features).labels == test.labels).double().mean())

    def _fold_of(self, labels: Int64[Tensor, " n"]) -> Int64[Tensor, " n"]:
        fold = torch.empty_like(labels)
        for number, (_, tested) in enumerate(
            CrossValidation(folds=self.folds, seed=self.seed).splits(labels)
        ):
            fold[tested] = number
        return fold


def _regressions(
    features: Tensor, labels: Tensor, classes: int, subsets: Bool[Tensor, "s n"]
) -> ManyRegressions:
    return ManyRegressions(features=features.float(), labels=labels, classes=classes, subsets=subsets)
