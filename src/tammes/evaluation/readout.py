"""Linear readout: a trained linear classifier with a gradient, and the accuracy by each feature of images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import check_shape
from tammes.evaluation.features import LabeledFeatures

if TYPE_CHECKING:
    from tammes.evaluation.probe import LinearProbe


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearReadout:
    """Linear classifier with given weights.

        logits = W f(x) + b

    Args:
        weight: W, a row for each class.
        bias: b.
        classes: label of each row, ascending.

    Raises:
        ValueError: weights, bias and classes do not match in number.

    Example:
        >>> readout = LinearReadout(weight=torch.eye(2), bias=torch.zeros(2), classes=torch.tensor([3, 7]))
        >>> readout.predict(torch.tensor([[0.2, 0.9]]))
        tensor([7])
    """

    weight: Float[Tensor, "classes features"]
    bias: Float[Tensor, " classes"]
    classes: Int[Tensor, " classes"]

    def __post_init__(self) -> None:
        for name, given in (("bias", self.bias), ("classes", self.classes)):
            check_shape(f"{name}, one for each row of weights,", given.shape, (len(self.weight),))

    def logits(self, features: Float[Tensor, "n features"]) -> Float[Tensor, "n classes"]:
        """Return the logits, in the type and on the device of the features."""
        weight, bias = (each.to(features) for each in (self.weight, self.bias))
        return features @ weight.T + bias

    @torch.no_grad()
    def predict(self, features: Float[Tensor, "n features"]) -> Int[Tensor, " n"]:
        """Return the label of each row of features, on their device."""
        return self.classes.to(features.device)[self.logits(features).argmax(dim=1)]


def feature_readouts(
    train: tuple[Float[Tensor, "n features"], Mapping[str, Int[Tensor, " n"]]],
    test: tuple[Float[Tensor, "m features"], Mapping[str, Int[Tensor, " m"]]],
    probe: LinearProbe,
) -> dict[str, float]:
    """Return the accuracy of a linear readout of each feature of images.

    A feature is a label of the images, such as their color; all are read from the same vectors of an encoder.

    Args:
        train: vectors to train on, and their labels by the name of the feature.
        test: vectors to test on, and their labels.
        probe: settings of the classifiers.

    Raises:
        ValueError: other features in one part than in the other, or labels that `LabeledFeatures` refuses.

    Warns:
        ProbeNotConvergedWarning: the solver ran out of iterations.

    Source: Robinson (2023), Figures 4-2, 4-3 and 4-6.

    Example:
        >>> from tammes.evaluation import LinearProbe
        >>> points = torch.eye(4), {"color": torch.tensor([0, 0, 1, 1]), "shape": torch.tensor([0, 1, 0, 1])}
        >>> feature_readouts(points, points, LinearProbe())
        {'color': 1.0, 'shape': 1.0}
    """
    (known, by_feature), (tried, asked) = train, test
    if set(by_feature) != set(asked):
        raise ValueError(
            f"expected the same features in both parts, got {', '.join(by_feature)} to train on and "
            f"{', '.join(asked)} to test on"
        )
    return {
        name: probe.accuracy(
            LabeledFeatures(features=known, labels=labels),
            LabeledFeatures(features=tried, labels=asked[name]),
        )
        for name, labels in by_feature.items()
    }
