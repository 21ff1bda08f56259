"""Stratified cross-validation of a classifier on features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from tammes.checks import check_integer, check_seed
from tammes.data.graph_set import GraphSet
from tammes.evaluation.features import LabeledFeatures

Predict = Callable[[LabeledFeatures, Tensor], Tensor]
"""From training points and features of test points to their labels: `predict` of a classifier."""


@dataclass(frozen=True, kw_only=True)
class CrossValidation:
    """Each point classified once in every repetition, by a classifier that learns from the other folds.

    Args:
        folds: number of folds, each with every class in its proportion.
        repeats: number of repetitions with other folds.
        seed: random seed of the first repetition; the next has the next.
        in_order: whether a fold is a block of each class in the order of the points, and not drawn at random.
            Neighbors in a file are often alike (proteins of one family in ENZYMES), and random folds then
            test on relatives of the training points. Every repetition is the same.

    Raises:
        ValueError: fewer than two folds, no repetition; when used, a class with fewer points than folds.

    Example:
        >>> from tammes.evaluation import SVM
        >>> points = LabeledFeatures(
        ...     features=torch.eye(4).repeat(3, 1), labels=torch.tensor([0, 0, 1, 1]).repeat(3)
        ... )
        >>> CrossValidation(folds=3).accuracy(SVM().predict, points)
        1.0
    """

    folds: int = 10
    repeats: int = 1
    seed: int = 0
    in_order: bool = False

    def __post_init__(self) -> None:
        check_integer("folds", self.folds, minimum=2)
        check_integer("repeats", self.repeats)
        check_seed("seed", self.seed, maximum=2**32 - 1)

    def accuracy(self, predict: Predict, points: LabeledFeatures) -> float:
        """Return the mean over folds and repetitions of the share of points classified correctly."""
        accuracies = self.accuracies(predict, points)
        return sum(accuracies) / len(accuracies)

    def accuracies(self, predict: Predict, points: LabeledFeatures) -> list[float]:
        """Return the share of points classified correctly in each fold, repetition by repetition."""
        accuracies = []
        for train, test in self.splits(points.labels):
            known = LabeledFeatures(features=points.features[train], labels=points.labels[train])
            found = predict(known, points.features[test])
            accuracies.append(float((found.cpu() == points.labels[test]).to(torch.float64).mean()))
        return accuracies

    def splits(self, labels: Int[Tensor, " n"]) -> Iterator[tuple[Int[Tensor, " a"], Int[Tensor, " b"]]]:
        """Yield the rows to learn from and those to classify, fold by fold."""
        from sklearn.model_selection import StratifiedKFold

        self.check(labels)
        for repeat in range(self.repeats):
            folds = StratifiedKFold(self.folds)
            if not self.in_order:
                folds = StratifiedKFold(self.folds, shuffle=True, random_state=self.seed + repeat)
            for train, test in folds.split(labels[:, None].numpy(), labels.numpy()):
                yield torch.from_numpy(train), torch.from_numpy(test)

    def check_graphs(self, graphs: GraphSet, name: str) -> None:
        """Raise ValueError for graphs without labels, of one class, or with fewer of a class than folds.

        Args:
            graphs: graphs.
            name: file or folder of the graphs, for the message.
        """
        try:
            self.check(graphs.required_labels(), graphs.classes)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error

    def check(self, labels: Int[Tensor, " n"], classes: tuple[str, ...] | None = None) -> None:
        """Raise ValueError for a class with fewer points than folds.

        Args:
            labels: label of each point.
            classes: names of the labels, for the message.
        """
        values, counts = labels.unique(return_counts=True)
        if int(counts.min()) < self.folds:
            rare = int(values[counts.argmin()])
            name = f"class {rare if classes is None else classes[rare]}"
            raise ValueError(
                f"expected at least {self.folds} points of each class, one for each fold, got "
                f"{int(counts.min())} of {name}: choose fewer folds, or leave the class out"
            )
