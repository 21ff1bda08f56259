"""Robustness to corruptions: a classifier that was trained on clean images, measured on corrupted ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tammes.checks import check_seed
from tammes.data.corrupted_images import corrupted
from tammes.data.corruptions import CORRUPTIONS, SEVERITIES, check_severity, corruption
from tammes.data.images import Images
from tammes.estimate import NO_WIDTH, Estimate
from tammes.evaluation.image_classifier import ImageClassifier, named, share


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """Accuracy of a classifier, trained on clean images, on corrupted ones.

    Each image is corrupted in each way at each severity, with the same noise for every classifier.

    Raises:
        ValueError: an unknown corruption (the message lists those that exist), none, one twice, a severity
            out of its range, none, or one twice.

    Source: Hendrycks and Dietterich, Benchmarking Neural Network Robustness to Common Corruptions and
    Perturbations, 2019; `Corruption` says what differs. There is no division by the errors of AlexNet.

    Example:
        >>> from tammes.data import digits
        >>> class Constant:
        ...     classes = torch.arange(10)
        ...     def logits(self, images):
        ...         return torch.eye(10)[torch.zeros(len(images), dtype=torch.int64)]
        >>> scores = Robustness(corruptions=("fog", "jpeg")).measure(Constant(), digits("test"))
        >>> scores.mean.mean == scores.clean.mean, scores.fall.mean
        (True, 0.0)
    """

    corruptions: tuple[str, ...] | None = None
    """Names of the corruptions; None for all, or for images with one channel all but saturation."""

    severities: tuple[int, ...] = SEVERITIES
    """Severities, from 1 to 5."""

    seed: int = 0
    """Random seed of the corruptions."""

    def __post_init__(self) -> None:
        for name, given in (("corruptions", self.corruptions), ("severities", self.severities)):
            if given is not None and (not given or len(set(given)) < len(given)):
                raise ValueError(
                    f"expected one or several different {name}, got {', '.join(map(str, given)) or 'none'}"
                )
        for name in self.corruptions or ():
            corruption(name)
        for severity in self.severities:
            check_severity(severity)
        check_seed("seed", self.seed)

    def names(self, channels: int) -> tuple[str, ...]:
        """Return the names of the corruptions of images with this number of channels.

        Raises:
            ValueError: a corruption was chosen that changes nothing in images with one channel.
        """
        if self.corruptions is None:
            return tuple(each.name for each in CORRUPTIONS if channels > 1 or not each.needs_color)
        for name in self.corruptions:
            if channels == 1 and corruption(name).needs_color:
                raise ValueError(f"{name} changes nothing in images with one channel: leave it out")
        return self.corruptions

    def measure(
        self,
        classifier: ImageClassifier,
        images: Images,
        *,
        on_corruption: Callable[[str], None] | None = None,
    ) -> CorruptionScores:
        """Return which images the classifier names correctly, clean and corrupted.

        Args:
            classifier: the classifier.
            images: labeled images.
            on_corruption: function that is given the name of each corruption after it was measured.

        Raises:
            ValueError: images without labels; see `names`.
        """
        labels = images.required_labels()
        found = {}
        for name in self.names(images.channels):
            found[name] = torch.stack(
                [
                    named(classifier, corrupted(images, name, severity=severity, seed=self.seed)) == labels
                    for severity in self.severities
                ]
            )
            if on_corruption is not None:
                on_corruption(name)
        return CorruptionScores(
            right=named(classifier, images) == labels, corrupted=found, severities=self.severities
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class CorruptionScores:
    """Which of n images a classifier names correctly, clean and corrupted.

    An image counts as one trial, however often it was corrupted: intervals of means over corruptions are
    Student's over the images, cut at 0 and 1; those of single accuracies are Wilson's, and so is that of a
    mean with the same value for each image, of which Student's would have no width.

    Args:
        right: for each clean image.
        corrupted: for each severity and image, by the name of the corruption.
        severities: the severities.

    Example:
        >>> right, corrupted = torch.tensor([True, True, False]), torch.tensor([[True, False, False]])
        >>> scores = CorruptionScores(right=right, corrupted={"fog": corrupted}, severities=(5,))
        >>> scores.fall.mean
        0.5
    """

    right: Bool[Tensor, " n"]
    corrupted: Mapping[str, Bool[Tensor, "severities n"]]
    severities: tuple[int, ...]

    @property
    def clean(self) -> Estimate:
        """Accuracy on the clean images."""
        return share(self.right)

    def at(self, name: str) -> tuple[Estimate, ...]:
        """Return the accuracy under a corruption at each severity."""
        return tuple(share(each) for each in self.corrupted[name])

    def of(self, name: str) -> Estimate:
        """Return the mean accuracy under a corruption over the severities."""
        return _accuracy(self.corrupted[name].double().mean(dim=0))

    @property
    def mean(self) -> Estimate:
        """Mean accuracy over all corruptions and severities."""
        return _accuracy(self._shares)

    @property
    def fall(self) -> Estimate | None:
        """Relative fall of the accuracy, 1 - mean / clean; None if no clean image is named correctly."""
        clean = self.right.double()
        if not bool(clean.any()):
            return None
        ratio = self._shares.mean() / clean.mean()
        # The ratio of two means over the same images, linearized.
        around = Estimate.over_seeds(((self._shares - ratio * clean) / clean.mean()).tolist())
        fall = float(1 - ratio)
        if around.is_known and around.high - around.low > NO_WIDTH:
            return Estimate(mean=fall, low=fall - around.high, high=min(1.0, fall - around.low))
        # The same share of every image that is named correctly when clean, and of no other.
        share_left = Estimate.of_share(min(1.0, float(ratio)), int(clean.sum()))
        return Estimate(mean=fall, low=1 - share_left.high, high=1 - share_left.low)

    @property
    def _shares(self) -> Tensor:
        """Share of the corruptions and severities under which each image is named correctly."""
        return torch.cat(list(self.corrupted.values())).double().mean(dim=0)


def _accuracy(shares: Float[Tensor, " n"]) -> Estimate:
    """Return the mean of one share for each image, with its interval over the images."""
    found = Estimate.of_accuracies(shares.tolist(), len(shares))
    return Estimate(mean=found.mean, low=found.low, high=found.high)
