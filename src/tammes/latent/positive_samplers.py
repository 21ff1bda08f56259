"""Positives by random changes of an anchor, in the space of latents or of observations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

from jaxtyping import Bool, Float, Int
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_number
from tammes.latent.kernel import SphericalKernel, UniformOnSphere
from tammes.latent.model import Latents
from tammes.latent.round_state import Anchors, RoundState


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledPositives:
    """Positives of some anchors, and the number of candidates that rejection sampling examined.

    Attributes:
        observations: x+ of each anchor.
        tries: candidates examined for each anchor; None where the sampler takes the first.
        missed: anchors whose positive is not what the sampler looks for: no candidate was accepted and the
            best one taken, or it lies deeper in the anchor's class; None where the sampler takes the first.
    """

    observations: Float[Tensor, "runs n observed"]
    tries: Int[Tensor, "runs n"] | None = None
    missed: Bool[Tensor, "runs n"] | None = None


class PositiveSampler(ABC):
    """Distribution of the positive of an anchor: the line in which the paper's strategies differ."""

    @abstractmethod
    def __call__(self, anchors: Anchors, state: RoundState) -> SampledPositives:
        """Draw one positive for each anchor, in the same order.

        Args:
            anchors: n anchors of every run.
            state: state of the round; all randomness comes from `state.streams`.
        """


@dataclass(frozen=True, kw_only=True)
class ObservationNoise(PositiveSampler):
    """Random augmentation: Gaussian noise on the observation.

        x+  =  x + scale * e,        e ~ N(0, 1)

    Args:
        scale: standard deviation of each coordinate, at least 0; the coordinates of observations have a mean
            square of 1.

    Raises:
        ValueError: the scale is negative or not finite.

    Source: Weber and Bachman (2022), Alg. 1 (i), sec. D.

    Example:
        >>> ObservationNoise(scale=0.2)
        ObservationNoise(scale=0.2)
    """

    scale: float

    def __post_init__(self) -> None:
        check_number("ObservationNoise.scale", self.scale, minimum=0)

    @override
    def __call__(self, anchors: Anchors, state: RoundState) -> SampledPositives:
        x = anchors.observations
        return SampledPositives(observations=x + self.scale * state.streams.normal(*x.shape[1:]))


@dataclass(frozen=True, kw_only=True)
class LatentPerturbation(PositiveSampler):
    """Perturbation of the latents, by one kernel for the informative ones and another for the others.

        z+_I ~ informative(. | z_I),    z+_-I ~ uninformative(. | z_-I),    x+ = g(z+)

    Args:
        informative: kernel around the informative latents.
        uninformative: kernel around the uninformative latents, by default uniform; unused in models without
            such latents.

    Source: Weber and Bachman (2022), Alg. 2.

    Example:
        >>> from tammes.latent import GaussianNoise
        >>> LatentPerturbation(informative=GaussianNoise(scale=0.3)).uninformative
        UniformOnSphere()
    """

    informative: SphericalKernel
    uninformative: SphericalKernel = field(default_factory=UniformOnSphere)

    @override
    def __call__(self, anchors: Anchors, state: RoundState) -> SampledPositives:
        z = anchors.latents
        moved = replace(z, informative=self.informative(z.informative, state.streams))
        return _observed(moved, self.uninformative, state)


@dataclass(frozen=True, kw_only=True)
class ClassPreserving(PositiveSampler):
    """Other latents of the anchor's class: the perturbation of a supervised method.

    Args:
        uninformative: kernel around the uninformative latents, by default uniform.

    Source: Weber and Bachman (2022), sec. IV.B (4).

    Example:
        >>> ClassPreserving()
        ClassPreserving(uninformative=UniformOnSphere())
    """

    uninformative: SphericalKernel = field(default_factory=UniformOnSphere)

    @override
    def __call__(self, anchors: Anchors, state: RoundState) -> SampledPositives:
        z, classes = anchors.latents, state.world.classes
        if z.labels is None or classes is None:
            raise ValueError(
                "ClassPreserving needs labels, and this LatentModel has none: give it classes=Classes(...), "
                "or choose LatentPerturbation(...)"
            )
        moved = replace(z, informative=classes.of_labels(z.labels, state.streams))
        return _observed(moved, self.uninformative, state)


def _observed(z: Latents, uninformative: SphericalKernel, state: RoundState) -> SampledPositives:
    """Perturb the uninformative latents, after the informative ones, and observe both."""
    if z.uninformative is not None:
        z = replace(z, uninformative=uninformative(z.uninformative, state.streams))
    return SampledPositives(observations=state.world.observe(z))
