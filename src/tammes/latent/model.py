"""The latent-variable model, which generates the observations and which the encoder does not see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import check_integer, check_number
from tammes.latent.classes import Classes, DrawnClasses
from tammes.latent.kernel import UniformOnSphere, check_dimension
from tammes.latent.mixing import Mixing, MixingNetworks
from tammes.latent.streams import Streams

_SCALE_SAMPLE = 256
"""Latents of each run that set the scale of each layer of g."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Latents:
    """Latents of every run, on one sphere or on two.

    Attributes:
        informative: unit vectors on which the classes depend.
        uninformative: unit vectors on a second sphere, or None for a model without one.
        labels: class of each latent, or None for a model without classes.
    """

    informative: Float[Tensor, "runs n d"]
    uninformative: Float[Tensor, "runs n e"] | None = None
    labels: Int[Tensor, "runs n"] | None = None

    def map(self, change: Callable[[Tensor], Tensor]) -> Latents:
        """Apply one change, such as a selection of rows, to all tensors."""
        return Latents(
            informative=change(self.informative),
            uninformative=None if self.uninformative is None else change(self.uninformative),
            labels=None if self.labels is None else change(self.labels),
        )


@dataclass(frozen=True, kw_only=True)
class LatentModel:
    """Latent-variable model: latents z on one sphere or on two, and observations x = g(z).

        z  =  (informative, scale * uninformative),        x = g(z)

    Args:
        informative: dimensions of the space that holds the informative sphere, at least 2.
        mixing: mixing function g.
        classes: distribution of the informative latents; None is uniform, without labels.
        uninformative: dimensions of the space that holds the second sphere, on which latents are uniform; 0
            leaves it out, else at least 2.
        uninformative_scale: length of the uninformative latents, above 0. At 1 they contribute as much to
            the observations as the informative ones, up to the difference in dimensions.

    Raises:
        ValueError: a number out of its range.

    Source: Weber and Bachman (2022), sec. II.A, III-B and IV-B.

    Example:
        >>> from tammes.latent import Classes, GaussianNoise
        >>> classes = Classes(count=4, spread=GaussianNoise(scale=0.3))
        >>> model = LatentModel(informative=4, uninformative=4, classes=classes, mixing=Mixing(observed=32))
        >>> world = model.draw((0, 1))
        >>> world.observe(world.sample(100, Streams.of((0, 1), "anchors"))).shape
        torch.Size([2, 100, 32])
    """

    informative: int
    mixing: Mixing
    classes: Classes | None = None
    uninformative: int = 0
    uninformative_scale: float = 1.0

    def __post_init__(self) -> None:
        check_dimension("LatentModel.informative", self.informative)
        if check_integer("LatentModel.uninformative", self.uninformative, minimum=0):
            check_dimension("LatentModel.uninformative", self.uninformative)
        check_number(
            "LatentModel.uninformative_scale",
            self.uninformative_scale,
            above=0,
            reason="uninformative=0 leaves those latents out",
        )

    def draw(
        self,
        seeds: Sequence[int],
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> World:
        """Draw the classes and the mixing function g of each seed.

        Args:
            seeds: one seed for each run, at least 0.
            device: device of all tensors.
            dtype: type of all floating-point numbers, float32 or float64.

        Raises:
            ValueError: no seed, or a negative one.

        Warns:
            OverlapWarning: the classes overlap too much at their spread.
        """
        streams = Streams.of(seeds, "world", device=device, dtype=dtype)
        classes = None if self.classes is None else self.classes.draw(self.informative, streams)
        latents = _sample(self, classes, _SCALE_SAMPLE, streams)
        mixing = self.mixing.draw(_concatenated(self, latents), streams)
        return World(model=self, classes=classes, mixing=mixing)


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """Data-generating process of each run: a `LatentModel` with its classes and its g drawn.

    Attributes:
        model: settings of the process.
        classes: classes of each run, or None.
        mixing: g of each run.
    """

    model: LatentModel
    classes: DrawnClasses | None
    mixing: MixingNetworks

    def sample(self, n: int, streams: Streams) -> Latents:
        """Draw n latents of each run: c ~ p_c, z ~ p_data(.|c)."""
        return _sample(self.model, self.classes, n, streams)

    def observe(self, latents: Latents) -> Float[Tensor, "runs n observed"]:
        """Return x = g(z)."""
        return self.mixing(_concatenated(self.model, latents))

    def part(self, runs: slice) -> World:
        """Return the processes of some runs."""
        classes = None if self.classes is None else self.classes.part(runs)
        return World(model=self.model, classes=classes, mixing=self.mixing.part(runs))


def _sample(model: LatentModel, classes: DrawnClasses | None, n: int, streams: Streams) -> Latents:
    if classes is None:
        informative, labels = _uniform(n, model.informative, streams), None
    else:
        informative, labels = classes.sample(n, streams)
    uninformative = _uniform(n, model.uninformative, streams) if model.uninformative else None
    return Latents(informative=informative, uninformative=uninformative, labels=labels)


def _uniform(n: int, d: int, streams: Streams) -> Float[Tensor, "runs n d"]:
    # The kernel reads nothing of its centers but their shape.
    centers = torch.empty((), dtype=streams.dtype, device=streams.device).expand(streams.runs, n, d)
    return UniformOnSphere()(centers, streams)


def _concatenated(model: LatentModel, latents: Latents) -> Float[Tensor, "runs n latents"]:
    if latents.uninformative is None:
        return latents.informative
    return torch.cat([latents.informative, model.uninformative_scale * latents.uninformative], dim=-1)
