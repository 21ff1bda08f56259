"""Robust and non-robust features: images that a classifier takes for another class, with either label."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tammes.checks import check_indices, check_integer, check_seed, check_shape
from tammes.evaluation.attacks import BATCH, Classify, towards


@dataclass(frozen=True, kw_only=True, eq=False)
class RobustSets:
    """Images that a classifier takes for a target, changed as little as repeated FGSM does.

    With their old labels they are D_R: what is left of the old class is robust. With the targets as labels
    they are D_NR: to a human they look mislabeled, and what predicts the target is not robust.

    Args:
        images: changed images.
        labels: label of each image before the change.
        targets: label that the classifier gives it now.
        steps: number of steps that it took; -1 where none of the allowed steps was enough.
    """

    images: Float[Tensor, "n channels height width"]
    labels: Int[Tensor, " n"]
    targets: Int[Tensor, " n"]
    steps: Int[Tensor, " n"]

    @property
    def reached(self) -> Bool[Tensor, " n"]:
        """Which images are taken for their target; the others belong to neither set."""
        return self.steps >= 0


def robust_sets(
    classify: Classify,
    images: Float[Tensor, "n channels height width"],
    labels: Int[Tensor, " n"],
    *,
    classes: int,
    step: float = 0.01,
    most: int = 100,
    seed: int = 0,
) -> RobustSets:
    """Change each image until a classifier takes it for a class that is drawn uniformly at random.

    Args:
        classify: function from images to logits, in evaluation mode.
        images: images in [0, 1].
        labels: index of the right logit of each image.
        classes: number of logits.
        step: change of a pixel by a step.
        most: largest number of steps.
        seed: random seed of the targets.

    Raises:
        ValueError: labels of another number or out of range, a number out of its range, or a classifier
            without a gradient in its input.

    Source: Robinson (2023), section 4.4.3, after Ilyas et al. (2019). Differs: pixels stay in [0, 1], and
    images that do not reach their target are marked.

    Example:
        >>> def classify(x):
        ...     return x.flatten(1)
        >>> sets = robust_sets(classify, torch.rand(6, 1, 1, 2), torch.arange(6) % 2, classes=2)
        >>> bool((classify(sets.images).argmax(dim=1) == sets.targets).all())
        True
    """
    check_shape("labels, one for each image,", labels.shape, (len(images),))
    check_integer("classes", classes, minimum=2)
    check_indices("labels", labels, classes)
    check_seed("seed", seed)
    generator = torch.Generator().manual_seed(seed)
    targets = torch.randint(classes, (len(images),), generator=generator).to(labels.device)
    pairs = zip(images.split(BATCH), targets.split(BATCH), strict=True)
    found = [towards(classify, some, wanted, step=step, most=most) for some, wanted in pairs]
    moved, steps = (torch.cat(parts) for parts in zip(*found, strict=True))
    return RobustSets(images=moved, labels=labels, targets=targets, steps=steps)
