"""Classifiers of images that are ready to be measured: readouts of frozen features, and others like them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tammes.checks import check_finite_rows
from tammes.data.images import Images
from tammes.estimate import Estimate
from tammes.evaluation.readout import LinearReadout


class ImageClassifier(Protocol):
    """Classifier of images that is ready to be measured, such as a `FineTuned` or an `ImageReadout`."""

    @property
    def classes(self) -> Int[Tensor, " classes"]:
        """Label of each logit."""

    def logits(self, images: Images, /) -> Float[Tensor, "n classes"]:
        """Return the logits of all images, on the CPU."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageReadout:
    """Classifier of images by a linear readout of frozen features.

    Args:
        features: function from images to features (n, width), on the CPU.
        readout: the trained readout.

    Example:
        >>> readout = LinearReadout(weight=torch.eye(2), bias=torch.zeros(2), classes=torch.tensor([3, 7]))
        >>> ImageReadout(features=lambda images: torch.eye(2)[: len(images)], readout=readout).classes
        tensor([3, 7])
    """

    features: Callable[[Images], Float[Tensor, "n width"]]
    readout: LinearReadout

    @property
    def classes(self) -> Int[Tensor, " classes"]:
        """Label of each logit."""
        return self.readout.classes

    def logits(self, images: Images) -> Float[Tensor, "n classes"]:
        """Return the logits of all images."""
        return self.readout.logits(self.features(images))


def named(
    classifier: ImageClassifier, images: Images, *, among: Int[Tensor, " some"] | None = None
) -> Int[Tensor, " n"]:
    """Return the label that a classifier gives each image.

    Args:
        classifier: the classifier.
        images: the images.
        among: labels to choose from; None for all.

    Raises:
        ValueError: logits that are NaN or infinite, of which the first class would be the largest.
    """
    logits, classes = classifier.logits(images), classifier.classes.cpu()
    check_finite_rows("logits", logits)
    if among is not None:
        columns = torch.isin(classes, among)
        logits, classes = logits[:, columns], classes[columns]
    return classes[logits.argmax(dim=1)]


def share(right: Bool[Tensor, " n"]) -> Estimate:
    """Return the share of images that are named correctly, with Wilson's interval.

    Example:
        >>> print(share(torch.tensor([True, False])))
        0.500 [0.095, 0.905]
    """
    return Estimate.of_share(float(right.double().mean()), len(right))
