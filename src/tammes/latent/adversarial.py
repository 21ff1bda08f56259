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
    """Gradient ascent on the change of the scores, within a ball around a random augmentation x0.

        x+  =  argmax over x of  l(x),        |x - x0| <= radius * sqrt(observed)

        l(x)  =  |q_t(f_t(x)) - q_t(f_t(x_i))|^2                               squared change (III.1)
        l(x)  =  max over c' other than c of q_c'(f_t(x))  -  q_c(f_t(x))      signed margin (A.12)

    Here c is the class of the anchor x_i. The squared change has no direction: the ascent continues to the
    side on which x0 happens to lie, and about half of the positives end deeper in the anchor's class. The
    text wants "the most margin-transgressing positive instance", which is the signed margin. The ascent
    starts at x0 since the gradient of the squared change at the anchor is zero. Positives deeper in the class
    than their anchor count as missed.

    Args:
        proposal: sampler of the starting point x0.
        radius: radius of the ball, above 0, as a root mean square over the coordinates of an observation.
        steps: number of ascent steps, at least 1.
        step: length of a step in units of the radius, above 0.
        signed: whether l is the signed margin; else it is the squared change.

    Raises:
        ValueError: a number out of its range.

    Source: Weber and Bachman (2022), Alg. 1 (iii), sec. III.A.3, eq. III.1, A.12. The text leaves open the
    loss ("e.g., squared"), the region and the method.

    Example:
        >>> from tammes.latent import ObservationNoise
        >>> Adversarial(proposal=ObservationNoise(scale=0.1), radius=0.2).steps
        5
    """

    proposal: PositiveSampler
    radius: float
    steps: int = 5
    step: float = 0.5
    signed: bool = False

    def __post_init__(self) -> None:
        check_integer("Adversarial.steps", self.steps)
        check_number("Adversarial.radius", self.radius, above=0)
        check_number("Adversarial.step", self.step, above=0)

    @override
    def __call__(self, anchors: Anchors, state: RoundState) -> SampledPositives:
        start = self.proposal(anchors, state).observations
        classifier, labels = state.classifier, anchors.latents.labels
        assert labels is not None  # the classifier was fitted to labels
        with torch.no_grad():
            anchor = state.encoder(anchors.observations)
            scores, margins = classifier.scores(anchor), classifier.margins(anchor, labels)
        radius = self.radius * start.shape[-1] ** 0.5
        x = start
        for _ in range(self.steps):
            with torch.enable_grad():
                moving = x.detach().requires_grad_()
                embeddings = state.encoder(moving)
                if self.signed:
                    gain = -classifier.margins(embeddings, labels).sum()
                else:
                    gain = (classifier.scores(embeddings) - scores).square().sum()
                (slope,) = torch.autograd.grad(gain, moving)
            x = _project(x + self.step * radius * normalize(slope, dim=-1), start, radius)
        with torch.no_grad():
            deeper = classifier.margins(state.encoder(x), labels) > margins
        return SampledPositives(observations=x, missed=deeper)


def _project(
    x: Float[Tensor, "runs n d"], center: Float[Tensor, "runs n d"], radius: float
) -> Float[Tensor, "runs n d"]:
    """Return the nearest points of the balls around the centers."""
    away = x - center
    length = torch.linalg.vector_norm(away, dim=-1, keepdim=True)
    return center + away * (radius / length.clamp(min=radius))
