"""Adversarial attacks on the input of a classifier: FGSM and PGD in an l-infinity ball, and repeated FGSM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from tammes.checks import check_integer, check_number, check_seed, check_shape

Classify = Callable[[Tensor], Tensor]
"""Function from images (batch, channels, size, size) in [0, 1] to logits (batch, classes)."""
BATCH = 256
"""Images that are attacked at a time; changes time and memory only."""
LENGTHENED = 2.5
"""Steps of PGD together have this many radii, so that the border is reached from any start."""

NO_IMAGE = "expected at least one image, got none"


@dataclass(frozen=True, kw_only=True)
class PGD:
    """Projected gradient descent, here ascent of the loss, within an l-infinity ball about each image.

        x <- clip( x + step sign(grad_x l(h(x), y)) )  onto  |x - x_0|_inf <= radius,  0 <= x <= 1

    One step of the radius from the image itself is the fast gradient sign method (FGSM).

    Args:
        radius: largest change of a pixel, on the scale from 0 to 1.
        steps: number of steps.
        step: change of a pixel by a step; None for 2.5 radii divided by the number of steps.
        random_start: whether to begin at a random point of the ball instead of the image.
        seed: random seed of the start.

    Raises:
        ValueError: a number out of its range.

    Source: Madry et al. (2018), sec. 2.1; FGSM: Goodfellow et al. (2015). Both are cited by Robinson (2023),
    section 4.4.3.

    Example:
        >>> images, labels = torch.full((1, 1, 1, 2), 0.5), torch.tensor([0])
        >>> def classify(x):
        ...     return x.flatten(1)
        >>> PGD(radius=0.1, steps=1, step=0.1, random_start=False)(classify, images, labels)
        tensor([[[[0.4000, 0.6000]]]])
    """

    radius: float = 8 / 255
    steps: int = 10
    step: float | None = None
    random_start: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("radius", self.radius, minimum=0, maximum=1, reason="pixels are from 0 to 1")
        check_integer("steps", self.steps)
        if self.step is not None:
            check_number("step", self.step, above=0)
        check_seed("seed", self.seed)

    def __call__(
        self, classify: Classify, images: Float[Tensor, "n channels height width"], labels: Int[Tensor, " n"]
    ) -> Float[Tensor, "n channels height width"]:
        """Return the attacked images.

        Args:
            classify: function from images to logits, in evaluation mode.
            images: images in [0, 1].
            labels: index of the right logit of each image.

        Raises:
            ValueError: no images, pixels outside [0, 1], labels of another number, or a classifier without a
                gradient in its input.
        """
        check_shape("labels, one for each image,", labels.shape, (len(images),))
        check_pixels(images)
        check_input_gradient(classify, images)
        low, high = (images - self.radius).clamp(min=0), (images + self.radius).clamp(max=1)
        step = LENGTHENED * self.radius / self.steps if self.step is None else self.step
        moved = images.clone()
        if self.random_start:
            generator = torch.Generator().manual_seed(self.seed)
            start = torch.rand(images.shape, generator=generator).to(images)
            moved = (images + self.radius * (2 * start - 1)).clamp(low, high)
        for _ in range(self.steps):
            moved = (moved + step * _loss_gradient(classify, moved, labels).sign()).clamp(low, high)
        return moved


@torch.no_grad()
def attacked_accuracy(
    classify: Classify,
    images: Float[Tensor, "n channels height width"],
    labels: Int[Tensor, " n"],
    attack: PGD | None = None,
) -> float:
    """Return the fraction of images that are classified correctly after an attack.

    Args:
        classify: function from images to logits, in evaluation mode.
        images: images in [0, 1].
        labels: index of the right logit of each image.
        attack: attack on each image; None for none.

    Raises:
        ValueError: no images, pixels outside [0, 1], labels of another number, or a classifier without a
            gradient in its input.

    Source: Robinson (2023), Figure 4-5 and appendix B.2.3 (robust accuracy).

    Example:
        >>> images, labels = torch.tensor([[[[0.6, 0.5]]], [[[0.9, 0.1]]]]), torch.tensor([0, 0])
        >>> def classify(x):
        ...     return x.flatten(1)
        >>> attacked_accuracy(classify, images, labels)
        1.0
        >>> attacked_accuracy(classify, images, labels, PGD(radius=0.1))
        0.5
    """
    check_shape("labels, one for each image,", labels.shape, (len(images),))
    check_pixels(images)
    right = 0
    for some, named in zip(images.split(BATCH), labels.split(BATCH), strict=True):
        attacked = some if attack is None else attack(classify, some, named)
        right += int((classify(attacked).argmax(dim=1) == named).sum())
    return right / len(images)


def towards(
    classify: Classify,
    images: Float[Tensor, "n channels height width"],
    targets: Int[Tensor, " n"],
    *,
    step: float = 0.01,
    most: int = 100,
) -> tuple[Float[Tensor, "n channels height width"], Int[Tensor, " n"]]:
    """Repeat FGSM on each image until it is classified as a target.

        x <- x - step sign(grad_x l(h(x), t))     until  argmax h(x) = t

    Args:
        classify: function from images to logits, in evaluation mode.
        images: images in [0, 1].
        targets: index of the logit that each image should have largest.
        step: change of a pixel by a step.
        most: largest number of steps.

    Returns:
        The changed images, and the number of steps of each; -1 where `most` were not enough.

    Raises:
        ValueError: no images, pixels outside [0, 1], targets of another number, a number out of its range, or
            a classifier without a gradient in its input.

    Source: Robinson (2023), section 4.4.3. Differs: pixels stay in [0, 1].

    Example:
        >>> def classify(x):
        ...     return x.flatten(1)
        >>> towards(classify, torch.tensor([[[[0.52, 0.5]]]]), torch.tensor([1]), step=0.02)[1]
        tensor([1])
    """
    check_shape("targets, one for each image,", targets.shape, (len(images),))
    check_number("step", step, above=0)
    check_integer("most", most)
    check_pixels(images)
    check_input_gradient(classify, images)
    moved = images.clone()
    taken = torch.full_like(targets, -1)
    open_rows = torch.arange(len(images), device=images.device)
    for count in range(most + 1):
        with torch.no_grad():
            reached = classify(moved[open_rows]).argmax(dim=1) == targets[open_rows]
        taken[open_rows[reached]] = count
        open_rows = open_rows[~reached]
        if len(open_rows) == 0 or count == most:
            break
        slope = _loss_gradient(classify, moved[open_rows], targets[open_rows])
        moved[open_rows] = (moved[open_rows] - step * slope.sign()).clamp(0, 1)
    return moved, taken


def check_pixels(images: Float[Tensor, "n channels height width"]) -> None:
    """Raise ValueError unless there are images, in floating point and in [0, 1].

    An attack keeps pixels in [0, 1], and would cut off normalized images before it begins.

    Args:
        images: images to attack.

    Example:
        >>> check_pixels(torch.tensor([[[[-1.0, 2.0]]]]))
        Traceback (most recent call last):
            ...
        ValueError: expected images in [0, 1], got -1 to 2: normalize them within the classifier
    """
    if len(images) == 0:
        raise ValueError(NO_IMAGE)
    if not images.is_floating_point():
        raise ValueError(f"expected images in [0, 1] as floating-point numbers, got {images.dtype}")
    smallest, largest = (float(end) for end in images.aminmax())
    if not (smallest >= 0 and largest <= 1):  # true for NaN as well
        raise ValueError(
            f"expected images in [0, 1], got {smallest:g} to {largest:g}: normalize them within the "
            "classifier"
        )


def check_input_gradient(classify: Classify, images: Float[Tensor, "n channels height width"]) -> None:
    """Raise ValueError unless the logits of a classifier have a gradient in its input.

    Without one (quantized inputs, `no_grad` within the network) an attack would change nothing, and any
    encoder would look robust.

    Args:
        classify: function from images to logits.
        images: images in [0, 1], of which the first few are tried.

    Example:
        >>> check_input_gradient(lambda x: x.flatten(1), torch.rand(2, 1, 4, 4))
    """
    if len(images) == 0:
        raise ValueError(NO_IMAGE)
    with torch.enable_grad():
        some = images[:8].detach().clone().requires_grad_()
        logits = classify(some)
        gradient = None
        if logits.requires_grad:
            (gradient,) = torch.autograd.grad(logits.square().sum(), some, allow_unused=True)
    problem = ""
    if gradient is None:
        problem = "none: it computes without gradients, or does not use its input"
    elif not bool(gradient.isfinite().all()):
        problem = "NaN or infinity: it divides by zero, or takes the root of it"
    elif not bool(gradient.any()):
        problem = "zero for every pixel: it rounds its input, or cuts it off"
    if problem:
        raise ValueError(
            f"expected a classifier with a gradient in its input, which attacks follow, got {problem}"
        )


def _loss_gradient(classify: Classify, images: Tensor, labels: Tensor) -> Tensor:
    """Return the gradient of the sum of cross-entropies in the images."""
    with torch.enable_grad():
        leaf = images.detach().clone().requires_grad_()
        (gradient,) = torch.autograd.grad(cross_entropy(classify(leaf), labels, reduction="sum"), leaf)
    return gradient
