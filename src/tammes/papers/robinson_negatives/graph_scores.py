"""Measurements of features of graphs, in the same folds for every method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from tammes.evaluation import SVM, CrossValidation, LabeledFeatures, LinearProbe
from tammes.evaluation.weisfeiler_lehman import first_of_each, leaked_share


@dataclass(frozen=True, kw_only=True)
class GraphScore:
    """Measurements of an encoder, all in the same stratified folds.

    Args:
        published: accuracy of the SVM at the best of several epochs, by the test folds themselves.
        svm: accuracy of the SVM after the last epoch, the mean of `tests`.
        tests: its accuracy on each test fold.
        inner: its accuracy in the inner folds of the training graphs of each test fold, which know nothing of
            the labels of that fold.
        logistic: accuracy of the logistic regression after the last epoch.
        distinct: accuracy of the SVM after the last epoch, without graphs that equal an earlier one; NaN if a
            class has fewer of them than folds.
        blocks: accuracy of the SVM after the last epoch, in folds of graphs that are adjacent in the file.
        different: number of graphs without equal ones.
        leaked: share of the test graphs with an equal one among the training graphs.
        loss: mean training loss of the last epoch.
        seconds: processor time of the training.
    """

    published: float
    svm: float
    tests: tuple[float, ...]
    inner: tuple[float, ...]
    logistic: float
    distinct: float
    blocks: float
    different: int
    leaked: float
    loss: float
    seconds: float


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphTest:
    """The measurements of features, in the same folds for every method.

    Args:
        labels: class of each graph.
        numbers: number of each graph, the same for graphs that are equal.
        validation: folds.
        machine: support vector machine.
    """

    labels: Tensor
    numbers: Tensor
    validation: CrossValidation
    machine: SVM

    def score(self, several: Sequence[Tensor], *, loss: float, seconds: float) -> GraphScore:
        """Return the measurements of features after several epochs, the last ones last."""
        tests, inner = zip(*map(self._svm, several), strict=True)
        accuracies = [sum(folds) / len(folds) for folds in tests]
        first = first_of_each(self.numbers)
        points = LabeledFeatures(features=several[-1], labels=self.labels)
        return GraphScore(
            published=max(accuracies),
            svm=accuracies[-1],
            tests=tests[-1],
            inner=inner[-1],
            logistic=self.validation.accuracy(LinearProbe().predict, points),
            distinct=self._distinct(several[-1], first),
            blocks=replace(self.validation, in_order=True).accuracy(self.machine.predict, points),
            different=len(first),
            leaked=leaked_share(self.numbers, self.labels, self.validation),
            loss=loss,
            seconds=seconds,
        )

    def _svm(self, features: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the accuracy on each test fold, and in the inner folds of its training graphs."""
        inner = []

        def predict(train: LabeledFeatures, tested: Tensor) -> Tensor:
            found, score = self.machine.predict_scored(train, tested)
            inner.append(score)
            return found

        points = LabeledFeatures(features=features, labels=self.labels)
        return tuple(self.validation.accuracies(predict, points)), tuple(inner)

    def _distinct(self, features: Tensor, first: list[int]) -> float:
        """Return the accuracy on different graphs; NaN if a class has fewer of them than folds."""
        labels = self.labels[first]
        counts = labels.unique(return_counts=True)[1]
        if len(counts) < 2 or int(counts.min()) < self.validation.folds:
            return math.nan
        points = LabeledFeatures(features=features[first], labels=labels)
        return self.validation.accuracy(self.machine.predict, points)
