"""Features with labels: the training or test set of an evaluation."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from tammes.checks import check_finite_rows, check_shape


@dataclass(frozen=True, kw_only=True, eq=False)
class LabeledFeatures:
    """Feature vectors with a label for each.

    Args:
        features: feature vector of each point, floating point and finite.
        labels: label of each point, at least two different ones.

    Raises:
        ValueError: features and labels do not match in number, shape or type, a feature is NaN or infinite
            (the message has the row), or all labels are the same.

    Example:
        >>> points = LabeledFeatures(features=torch.eye(3), labels=torch.tensor([0, 0, 1]))
        >>> len(points)
        3
    """

    features: Float[Tensor, "n features"]
    labels: Int[Tensor, " n"]

    def __post_init__(self) -> None:
        if self.features.ndim != 2 or not self.features.is_floating_point() or self.features.numel() == 0:
            got = f"{self.features.dtype} {tuple(self.features.shape)}"
            raise ValueError(f"expected floating-point features (n, features), got {got}")
        if self.labels.ndim != 1 or self.labels.is_floating_point() or self.labels.is_complex():
            got = f"{self.labels.dtype} {tuple(self.labels.shape)}"
            raise ValueError(f"expected integer labels (n,), got {got}")
        check_shape("labels, one for each row of features,", self.labels.shape, (len(self.features),))
        check_finite_rows("features", self.features)
        if bool((self.labels == self.labels[0]).all()):
            raise ValueError(
                f"expected at least two different labels, got label {int(self.labels[0])} "
                f"{len(self.labels)} times; with one class there is nothing to classify"
            )

    @classmethod
    def of(
        cls, features: Tensor | NDArray[np.floating], labels: Tensor | NDArray[np.integer]
    ) -> "LabeledFeatures":
        """Make labeled features from tensors or arrays, (n, features) and (n,); integers become int64.

        Raises:
            ValueError: see `LabeledFeatures`, or arrays of something else than numbers, such as words.
        """
        found = _tensor("labels", labels)
        # Differences of unsigned numbers wrap around.
        found = found if found.is_floating_point() or found.is_complex() else found.long()
        return cls(features=_tensor("features", features), labels=found)

    def __len__(self) -> int:
        return len(self.labels)


def _tensor(name: str, values: Tensor | NDArray[np.generic]) -> Tensor:
    """Return an array as a tensor, in whichever order its bytes and its rows stand in memory."""
    if isinstance(values, Tensor):
        return values
    array = np.asarray(values)
    if array.dtype.kind not in "biufc":
        raise ValueError(f"expected numbers as {name}, got an array of {array.dtype}")
    return torch.from_numpy(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")))


def check_tested(train: LabeledFeatures, features: Float[Tensor, "m features"]) -> None:
    """Raise ValueError unless the features of test points are finite, and as wide as those of training.

    Of NaN every classifier would name a class, the first one.
    """
    check_shape("features of test points", features.shape, (None, train.features.shape[1]))
    check_finite_rows("features", features)


def check_comparable(train: LabeledFeatures, test: LabeledFeatures) -> None:
    """Raise ValueError unless both sets have features of one width, as from one encoder."""
    if train.features.shape[1] != test.features.shape[1]:
        raise ValueError(
            f"expected features of the same encoder, got width {train.features.shape[1]} for training and "
            f"{test.features.shape[1]} for testing"
        )


def accuracy_of(
    predict: Callable[[LabeledFeatures, Tensor], Tensor], train: LabeledFeatures, test: LabeledFeatures
) -> float:
    """Return the fraction of test points whose predicted label is theirs, from 0 to 1.

    Args:
        predict: function from the points to learn from and features to the labels of these.
        train: points to learn from.
        test: points to predict.

    Raises:
        ValueError: the features differ in width.
    """
    check_comparable(train, test)
    return float((predict(train, test.features) == test.labels).to(torch.float64).mean())
