"""Adversarial augmentation: the change of an anchor that moves its classification most."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize
from typing_extensions import override

from tammes.checks import check_integer, check_number
from tammes.latent.positive_samplers import PositiveSampler, SampledPositives
from tammes.latent.round_state import Anchors, RoundState


@dataclass(frozen=True, kw_only=True)
class Adversarial(PositiveSampler):
    """Gradient ascent on the squared change of the scores, within a ball around a random augmentation.

        x+  =  argmax over x of  |q_t(f_t(x)) - q_t(f_t(x_i))|^2,        |x - x0| <= radius * sqrt(observed)

    The ascent starts at a proposal x0, since the gradient at the anchor itself is zero.

    Args:
        proposal: sampler of the starting point x0.
        radius: radius of the ball, above 0, as a root mean square over the coordinates of an observation.
        steps: number of ascent steps, at least 1.
        step: length of a step in units of the radius, above 0.

    Raises:
        ValueError: a number out of its range.

    Source: Weber and Bachman (2022), Alg. 1 (iii), eq. III.1. The text leaves open the loss ("e.g.,
    squared"), the region and the method.

    Example:
        >>> from tammes.latent import ObservationNoise
        >>> Adversarial(proposal=ObservationNoise(scale=0.1), radius=0.2).steps
        5
    """

    proposal: PositiveSampler
    radius: float
    steps: int = 5
    step: float = 0.5

    def __post_init__(self) -> None:
        check_integer("Adversarial.steps", self.steps)
        check_number("Adversarial.radius", self.radius, above=0)
        check_number("Adversarial.step", self.step, above=0)

    @override
    def __call__(self, anchors: Anchors, state: RoundState) -> SampledPositives:
        start = self.proposal(anchors, state).observations
        classifier = state.classifier
        with torch.no_grad():
            scores = classifier.scores(state.encoder(anchors.observations))
        radius = self.radius * start.shape[-1] ** 0.5
        x = start
        for _ in range(self.steps):
            with torch.enable_grad():
                moving = x.detach().requires_grad_()
                change = (classifier.scores(state.encoder(moving)) - scores).square().sum()
                (slope,) = torch.autograd.grad(change, moving)
            x = _project(x + self.step * radius * normalize(slope, dim=-1), start, radius)
        return SampledPositives(observations=x)


def _project(
    x: Float[Tensor, "runs n d"], center: Float[Tensor, "runs n d"], radius: float
) -> Float[Tensor, "runs n d"]:
    """Return the nearest points of the balls around the centers."""
    away = x - center
    length = torch.linalg.vector_norm(away, dim=-1, keepdim=True)
    return center + away * (radius / length.clamp(min=radius))
