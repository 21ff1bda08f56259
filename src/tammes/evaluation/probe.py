"""The linear probe: logistic regression on frozen features, with all labels or few."""

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn
from torch import Tensor

from tammes.checks import check_integer, check_number, check_seed
from tammes.evaluation.features import LabeledFeatures, check_comparable
from tammes.evaluation.readout import LinearReadout

# Beginning of scikit-learn's warning about few labels of each class, of which a probe with 1 % of the labels
# has few by design.
FEW_OF_EACH = "The number of unique classes is greater than"


class ProbeNotConvergedWarning(UserWarning):
    """The solver of a linear probe stopped before it converged, so that the accuracy may be too low."""


@dataclass(frozen=True, kw_only=True)
class LinearProbe:
    """Logistic regression on frozen features, each standardized to mean 0 and variance 1.

        min over W, b  of  |W|^2 / 2 + C sum_i -log softmax(W x_i + b)[y_i]

    as in scikit-learn: of two classes one logit (the other is 0), of more a logit for each; b is not
    penalized.

    A random sample of the labels trains it, the same fraction of each class and at least one.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> import torch
        >>> points = LabeledFeatures(features=torch.eye(4), labels=torch.tensor([0, 0, 1, 1]))
        >>> LinearProbe().accuracy(points, points)
        1.0
    """

    fraction: float = 1.0
    """Fraction of the training labels to use, above 0 and at most 1."""

    regularization: float = 1.0
    """Strength 1/C of the penalty on the squared weights, above 0."""

    iterations: int = 2000
    """Largest number of solver steps, at least 1."""

    seed: int = 0
    """Random seed of the sample of labels."""

    def __post_init__(self) -> None:
        check_number("fraction", self.fraction, above=0, maximum=1)
        check_number("regularization", self.regularization, above=0)
        check_integer("iterations", self.iterations)
        check_seed("seed", self.seed)

    def accuracy(self, train: LabeledFeatures, test: LabeledFeatures) -> float:
        """Return the fraction of test points classified correctly, from 0 to 1.

        Raises:
            ValueError: the features differ in width.

        Warns:
            ProbeNotConvergedWarning: the solver ran out of iterations.
        """
        check_comparable(train, test)
        return float((self._labels(train, test.features) == test.labels.cpu()).to(torch.float64).mean())

    def predict(self, train: LabeledFeatures, features: Float[Tensor, "m features"]) -> Int[Tensor, " m"]:
        """Return the predicted label of each row of `features`, on the CPU.

        Warns:
            ProbeNotConvergedWarning: the solver ran out of iterations.
        """
        return self._labels(train, features)

    def fit(self, train: LabeledFeatures) -> LinearReadout:
        """Return the trained classifier, whose logits have a gradient in the features.

        Warns:
            ProbeNotConvergedWarning: the solver ran out of iterations.
        """
        scaler, regression = self._fitted(train)
        weight = regression.coef_ / scaler.scale_
        bias = regression.intercept_ - weight @ scaler.mean_
        if len(weight) == 1:  # of two classes, scikit-learn has the logit of the second over the first
            weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
        return LinearReadout(
            weight=torch.from_numpy(weight),
            bias=torch.from_numpy(bias),
            classes=torch.from_numpy(regression.classes_),
        )

    def _labels(self, train: LabeledFeatures, features: Tensor) -> Tensor:
        """Return the labels; a warning names the caller of the method that calls this one."""
        classifier = self._fitted(train, level=4)
        return torch.from_numpy(classifier.predict(features.detach().cpu().double().numpy()))

    def _fitted(self, train: LabeledFeatures, *, level: int = 3) -> Pipeline:
        """Return the trained steps; a warning names the caller that many levels up."""
        labels = train.labels.cpu().numpy()
        rows = draw_labels(labels, self.fraction, np.random.default_rng(self.seed))
        # In float64: the stopping rule of the solver is below the rounding errors of float32.
        x = train.features.detach().cpu().double().numpy()[rows]
        classifier = make_pipeline(
            StandardScaler(), LogisticRegression(C=1 / self.regularization, max_iter=self.iterations)
        )
        # One thread: the solver's steps are so short that threads on a busy machine wait for each other.
        with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            classifier.fit(x, labels[rows])
        for warning in caught:
            if str(warning.message).startswith(FEW_OF_EACH):
                continue
            if not issubclass(warning.category, ConvergenceWarning):
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
                continue
            warnings.warn(
                f"the linear probe on {len(rows)} labels did not converge in {self.iterations} iterations: "
                "its accuracy may be too low; allow more iterations, or regularize more",
                ProbeNotConvergedWarning,
                stacklevel=level,
            )
        return classifier


def linear_probe(
    train_features: Tensor | NDArray[np.floating],
    train_labels: Tensor | NDArray[np.integer],
    test_features: Tensor | NDArray[np.floating],
    test_labels: Tensor | NDArray[np.integer],
    probe: LinearProbe = LinearProbe(),
) -> float:
    """Return the fraction of test points that a linear probe on the training points classifies correctly.

    Args:
        train_features: features of the training points, (n, features).
        train_labels: integer labels (n,).
        test_features: features of the test points, (m, features).
        test_labels: integer labels (m,).
        probe: settings of the probe.

    Raises:
        ValueError: input that `LabeledFeatures` refuses.

    Warns:
        ProbeNotConvergedWarning: the solver ran out of iterations.

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
    """Draw the rows whose labels a probe uses: the same fraction of each class, and at least one.

    Args:
        labels: label of each row.
        fraction: fraction of each class, rounded to the nearest number of labels.
        generator: source of the randomness.

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
