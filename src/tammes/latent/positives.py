"""Where positives come from: changes of an anchor, in the space of latents or of observations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import is_finite
from tammes.latent.kernel import Kernel, Uniform
from tammes.latent.stage import Anchors, Stage


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """Positives, and what it took to find them.

    Attributes:
        observations: x+, (runs, n, observed).
        tries: (runs, n), candidates looked at for each; None where the first was taken.
        missed: (runs, n), where no candidate was accepted and the best of them was taken; None likewise.
    """

    observations: Float[Tensor, "runs n observed"]
    tries: Int[Tensor, "runs n"] | None = None
    missed: Tensor | None = None


class Positives(ABC):
    """A way to draw a positive of each anchor: the line of the algorithms in which they differ."""

    @abstractmethod
    def __call__(self, anchors: Anchors, stage: Stage) -> Drawn:
        """One positive for each anchor, in the same order.

        Args:
            anchors: (runs, n) of them.
            stage: what is known in this round; all randomness comes from `stage.streams`.
        """


@dataclass(frozen=True, kw_only=True)
class Observed(Positives):
    """Random augmentation: Gaussian noise on the observation.

        x+  =  x + scale * e,        e ~ N(0, 1)

    Args:
        scale: standard deviation of each coordinate; those of an observation have a mean square of 1.

    Raises:
        ValueError: a negative scale.

    Source: Weber and Bachman (2022), Alg. 1 (i), sec. D.

    Example:
        >>> Observed(scale=0.2)
        Observed(scale=0.2)
    """

    scale: float

    def __post_init__(self) -> None:
        if not (is_finite(self.scale) and self.scale >= 0):
            raise ValueError(f"Observed.scale must be a number of at least 0, got {self.scale!r}")

    def __call__(self, anchors: Anchors, stage: Stage) -> Drawn:
        """See `Positives`."""
        x = anchors.observations
        return Drawn(observations=x + self.scale * stage.streams.normal(*x.shape[1:]))


@dataclass(frozen=True, kw_only=True)
class Perturbed(Positives):
    """A perturbation of the latents, of the informative and of the others each in its own way.

        z+_I ~ informative(. | z_I),    z+_-I ~ uninformative(. | z_-I),    x+ = g(z+)

    Args:
        informative: the kernel around the informative latents.
        uninformative: the kernel around the others, by default drawn anew; of no effect without such latents.

    Source: Weber and Bachman (2022), Alg. 2.

    Example:
        >>> from tammes.latent import GaussianNoise
        >>> Perturbed(informative=GaussianNoise(scale=0.3)).uninformative
        Uniform()
    """

    informative: Kernel
    uninformative: Kernel = field(default_factory=Uniform)

    def __call__(self, anchors: Anchors, stage: Stage) -> Drawn:
        """See `Positives`."""
        z = anchors.latents
        moved = replace(z, informative=self.informative(z.informative, stage.streams))
        if z.uninformative is not None:
            moved = replace(moved, uninformative=self.uninformative(z.uninformative, stage.streams))
        return Drawn(observations=stage.world.observe(moved))


@dataclass(frozen=True, kw_only=True)
class SameClass(Positives):
    """Other latents of the anchor's class: what a perturbation that knows the classes would do.

    Args:
        uninformative: the kernel around the uninformative latents, by default drawn anew.

    Source: Weber and Bachman (2022), sec. IV.B (4).

    Example:
        >>> SameClass()
        SameClass(uninformative=Uniform())
    """

    uninformative: Kernel = field(default_factory=Uniform)

    def __call__(self, anchors: Anchors, stage: Stage) -> Drawn:
        """See `Positives`.

        Raises:
            ValueError: the model has no classes.
        """
        z, classes = anchors.latents, stage.world.classes
        if z.labels is None or classes is None:
            raise ValueError(
                "SameClass needs labels, and this LatentModel has none: give it classes=Classes(...), or "
                "choose Perturbed(...)"
            )
        moved = replace(z, informative=classes.of_labels(z.labels, stage.streams))
        if z.uninformative is not None:
            moved = replace(moved, uninformative=self.uninformative(z.uninformative, stage.streams))
        return Drawn(observations=stage.world.observe(moved))
