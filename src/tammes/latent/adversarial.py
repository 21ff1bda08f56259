"""Adversarial augmentation: the change of an anchor that moves its classification most."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from tammes.checks import check_integer, is_finite
from tammes.latent.positives import Drawn, Positives
from tammes.latent.stage import Anchors, Stage


@dataclass(frozen=True, kw_only=True)
class Adversarial(Positives):
    """Gradient ascent on the squared change of the scores, within a ball around a random augmentation.

        x+  =  argmax over x of  |q_t(f_t(x)) - q_t(f_t(x_i))|^2,        |x - x0| <= radius * sqrt(observed)

    x0 is a proposal, since at the anchor itself the gradient is zero.

    Args:
        proposal: draws the starting point x0.
        radius: of the ball, as a root mean square over the coordinates of an observation.
        steps: of the ascent.
        step: the length of one, as a part of the radius.

    Raises:
        ValueError: a number out of its range.

    Source: Weber and Bachman (2022), Alg. 1 (iii), eq. III.1. The text leaves the loss ("e.g., squared"), the
    region and the method open.

    Example:
        >>> from tammes.latent import Observed
        >>> Adversarial(proposal=Observed(scale=0.1), radius=0.2).steps
        5
    """

    proposal: Positives
    radius: float
    steps: int = 5
    step: float = 0.5

    def __post_init__(self) -> None:
        check_integer("Adversarial.steps", self.steps, minimum=1)
        if not all(is_finite(value) and value > 0 for value in (self.radius, self.step)):
            raise ValueError(f"Adversarial expected a positive radius and step, got {self}")

    def __call__(self, anchors: Anchors, stage: Stage) -> Drawn:
        """See `Positives`.

        Raises:
            ValueError: the model has no classes.
        """
        start = self.proposal(anchors, stage).observations
        classifier = stage.classifier
        with torch.no_grad():
            scores = classifier.scores(stage.encoder(anchors.observations))
        radius = self.radius * start.shape[-1] ** 0.5
        x = start
        for _ in range(self.steps):
            with torch.enable_grad():
                moving = x.detach().requires_grad_()
                change = (classifier.scores(stage.encoder(moving)) - scores).square().sum()
                (slope,) = torch.autograd.grad(change, moving)
            x = _within(x + self.step * radius * normalize(slope, dim=-1), start, radius)
        return Drawn(observations=x)


def _within(
    x: Float[Tensor, "runs n d"], center: Float[Tensor, "runs n d"], radius: float
) -> Float[Tensor, "runs n d"]:
    """The nearest points of the balls around the centers."""
    away = x - center
    length = torch.linalg.vector_norm(away, dim=-1, keepdim=True)
    return center + away * (radius / length.clamp(min=radius))
