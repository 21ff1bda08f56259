"""The linear probe: how well a linear map reads labels off the features, given all labels or few."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn
from torch import Tensor

from tammes.evaluation.features import LabeledFeatures, check_comparable


class ProbeNotConvergedWarning(UserWarning):
    """A linear probe stopped before it converged: its accuracy may be too low."""


@dataclass(frozen=True, kw_only=True)
class LinearProbe:
    """Logistic regression on frozen features, each standardized to mean 0 and variance 1.

        min over W, b  of  |W|^2 / 2 + C sum_i -log softmax(W x_i + b)[y_i]

    The labels it may use are drawn at random, from each class in proportion, one at the least.

    Raises:
        ValueError: If the fraction is not in (0, 1], or another number not positive.

    Example:
        >>> import torch
        >>> points = LabeledFeatures(features=torch.eye(4), labels=torch.tensor([0, 0, 1, 1]))
        >>> LinearProbe().accuracy(points, points)
        1.0
    """

    fraction: float = 1.0
    """Fraction of the training labels to use, in (0, 1]."""

    regularization: float = 1.0
    """Strength 1/C of the penalty on the squared weights."""

    iterations: int = 2000
    """Most steps of the solver."""

    seed: int = 0
    """Seed of the draw of labels."""

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise ValueError(f"expected a fraction of the labels in (0, 1], got {self.fraction}")
        if not self.regularization > 0 or self.iterations < 1:
            raise ValueError(f"expected positive regularization and iterations, got {self}")

    def accuracy(self, train: LabeledFeatures, test: LabeledFeatures) -> float:
        """The fraction of the test points, from 0 to 1, that get their label.

        Raises:
            ValueError: If the features differ in width.

        Warns:
            ProbeNotConvergedWarning: If the solver ran out of iterations.
        """
        check_comparable(train, test)
        labels = train.labels.cpu().numpy()
        rows = draw_labels(labels, self.fraction, np.random.default_rng(self.seed))
        # The solver's stopping rule wants more digits than float32 has.
        x = train.features.detach().cpu().double().numpy()[rows]
        classifier = make_pipeline(
            StandardScaler(), LogisticRegression(C=1 / self.regularization, max_iter=self.iterations)
        )
        # The solver's steps are short: where others use the machine too, threads wait for one another.
        with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            classifier.fit(x, labels[rows])
        for warning in caught:
            if not issubclass(warning.category, ConvergenceWarning):
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
                continue
            warnings.warn(
                f"the linear probe on {len(rows)} labels did not converge in {self.iterations} iterations: "
                "its accuracy may be too low; allow more iterations, or regularize more",
                ProbeNotConvergedWarning,
                stacklevel=2,
            )
        score = classifier.score(test.features.detach().cpu().double().numpy(), test.labels.cpu().numpy())
        return float(score)


def linear_probe(
    train_features: Tensor | NDArray[np.floating],
    train_labels: Tensor | NDArray[np.integer],
    test_features: Tensor | NDArray[np.floating],
    test_labels: Tensor | NDArray[np.integer],
    probe: LinearProbe = LinearProbe(),
) -> float:
    """The fraction of test points that a linear classifier of the training points classifies rightly.

    Args:
        train_features: (n, features), tensor or array; the points that are learned from.
        train_labels: integers (n,).
        test_features: (m, features); the points that are classified.
        test_labels: integers (m,).
        probe: which part of the labels is used, and how.

    Raises:
        ValueError: As `LabeledFeatures` does.

    Warns:
        ProbeNotConvergedWarning: If the solver ran out of iterations.

    Example:
        >>> features, labels = np.eye(4), np.array([0, 0, 1, 1])
        >>> linear_probe(features, labels, features, labels)
        1.0
    """
    train = LabeledFeatures.of(train_features, train_labels)
    return probe.accuracy(train, LabeledFeatures.of(test_features, test_labels))


def draw_labels(
    labels: NDArray[np.integer], fraction: float, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Rows whose labels a probe may use: of each class the same fraction, at random, and at least one.

    Args:
        labels: (n,).
        fraction: of each class, rounded to whole labels.
        generator: what draws.

    Returns:
        Row numbers, ascending.

    Example:
        >>> draw_labels(np.array([0] * 98 + [1] * 2), 0.01, np.random.default_rng(0)).shape
        (2,)
    """
    drawn = []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        drawn.append(generator.permutation(rows)[: max(1, round(fraction * len(rows)))])
    return np.sort(np.concatenate(drawn))
