"""Distribution shift: a classifier on another set of images with some of the same classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from tammes.data.images import Images
from tammes.data.listing import listing
from tammes.estimate import Estimate
from tammes.evaluation.image_classifier import ImageClassifier, named, share


@dataclass(frozen=True, kw_only=True, eq=False)
class ShiftScores:
    """Which images of another set a classifier names correctly, and which of the usual ones.

    Args:
        shifted: for each image of the other set.
        right: for each usual test image of the same classes.
        classes: number of the classes.

    Example:
        >>> right = torch.tensor([True, True, True, False])
        >>> ShiftScores(shifted=right[1:], right=right, classes=2).fall.mean > 0
        True
    """

    shifted: Bool[Tensor, " m"]
    right: Bool[Tensor, " n"]
    classes: int

    @property
    def accuracy(self) -> Estimate:
        """Accuracy on the other set."""
        return share(self.shifted)

    @property
    def clean(self) -> Estimate:
        """Accuracy on the usual test images of the same classes, with the same logits."""
        return share(self.right)

    @property
    def fall(self) -> Estimate | None:
        """Relative fall of the accuracy, 1 - accuracy / clean; None if no usual image is named correctly.

        The interval is put together from Wilson's of both (Donner and Zou, 2012).
        """
        if not bool(self.right.any()):
            return None
        s, c = self.accuracy, self.clean
        product = s.mean * c.mean
        lowest = s.low * (2 * s.mean - s.low)
        root = max(0.0, product**2 - lowest * c.high * (2 * c.mean - c.high)) ** 0.5
        low = lowest / (product + root) if lowest else 0.0
        under = c.low * (2 * c.mean - c.low)
        root = max(0.0, product**2 - s.high * (2 * s.mean - s.high) * under) ** 0.5
        high = (product + root) / under
        return Estimate(mean=1 - s.mean / c.mean, low=1 - high, high=1 - low)


def measure_shift(classifier: ImageClassifier, images: Images, shifted: Images) -> ShiftScores:
    """Measure a classifier on another set of images with some of the same classes.

    The logits are restricted to the classes that the other set has, for its images and for the usual ones.

    Args:
        classifier: the classifier.
        images: usual test images, with labels.
        shifted: images of the other set, with labels; its classes are names of classes of `images`, or
            their numbers, as in ImageNet-V2.

    Raises:
        ValueError: images without labels; classes that do not match; a class that the classifier does not
            know; no usual test image of these classes.

    Source: Robinson (2023), section 6.3.5, on sets such as ImageNet-V2, -R, -A and ObjectNet.
    """
    images.required_labels()
    labels = shifted.required_labels()
    assert images.classes is not None
    assert shifted.classes is not None
    assert images.labels is not None
    places = torch.tensor(shared_classes(images.classes, shifted.classes))
    kept = places[labels.unique()].unique()
    unknown = [images.classes[int(each)] for each in kept if each not in classifier.classes]
    if unknown:
        raise ValueError(f"the classifier has learned from no image of {listing(unknown)}")
    usual = torch.isin(images.labels, kept).nonzero()[:, 0]
    if len(usual) == 0:
        raise ValueError(f"no test image has a class of the other set: {listing(shifted.classes)}")
    same = images.subset(usual.tolist())
    return ShiftScores(
        shifted=named(classifier, shifted, among=kept) == places[labels],
        right=named(classifier, same, among=kept) == images.labels[usual],
        classes=len(kept),
    )


def shared_classes(known: Sequence[str], found: Sequence[str]) -> tuple[int, ...]:
    """Return the number of each class that was found among the known ones, by its name or its number.

    Args:
        known: names of the known classes.
        found: names of the folders of another set; if none of them is known, numbers of known classes.

    Raises:
        ValueError: folders that are neither; the message names some.

    Example:
        >>> shared_classes(("cat", "dog", "owl"), ("cat", "owl"))
        (0, 2)
        >>> shared_classes(("cat", "dog", "owl"), ("0", "2"))
        (0, 2)
    """
    numbers = {name: number for number, name in enumerate(known)}
    if not set(found) & set(numbers) and all(each.isdecimal() and int(each) < len(known) for each in found):
        return tuple(int(each) for each in found)
    if odd := [each for each in found if each not in numbers]:
        raise ValueError(
            f"expected folders named as classes of the data ({listing(known)}), or by their numbers, but "
            f"found {listing(odd)}: rename or remove these"
        )
    return tuple(numbers[each] for each in found)
