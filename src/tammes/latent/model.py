"""The latent-variable model: what the observations come from, known to us and hidden from the encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import check_integer, is_finite
from tammes.latent.classes import Classes, DrawnClasses
from tammes.latent.kernel import Uniform
from tammes.latent.mixing import Mixed, Mixing
from tammes.latent.streams import Streams

_SAMPLE = 256
"""Latents over which the scale of each layer of g is set."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Latents:
    """Latents of every run, on one sphere or on two.

    Args:
        informative: unit vectors (runs, n, d), on which the classes depend.
        uninformative: unit vectors (runs, n, d'), or None where there are none.
        labels: (runs, n), the class of each, or None where there are no classes.
    """

    informative: Float[Tensor, "runs n d"]
    uninformative: Float[Tensor, "runs n e"] | None = None
    labels: Int[Tensor, "runs n"] | None = None

    def each(self, change: Callable[[Tensor], Tensor]) -> Latents:
        """All of it changed in the same way, such as a choice of rows."""
        return Latents(
            informative=change(self.informative),
            uninformative=None if self.uninformative is None else change(self.uninformative),
            labels=None if self.labels is None else change(self.labels),
        )


@dataclass(frozen=True, kw_only=True)
class LatentModel:
    """Latents z on a sphere, or on two of which one is informative, and observations x = g(z).

        z  =  (informative, scale * uninformative),        x = g(z)

    Args:
        informative: dimensions of the space in which the informative sphere lies, at least 2.
        mixing: g.
        classes: how the informative latents are distributed; None is uniform, without labels.
        uninformative: dimensions for the second sphere, on which latents are uniform; 0 is none.
        uninformative_scale: how much of the observations comes from it; 1 is as much as from the other,
            up to the difference in dimensions.

    Raises:
        ValueError: a dimension below 2 that is not an `uninformative` of 0, a scale that is not positive.

    Source: Weber and Bachman (2022), sec. II.A, III-B and IV-B.

    Example:
        >>> from tammes.latent import Classes, GaussianNoise
        >>> classes = Classes(count=4, spread=GaussianNoise(scale=0.3))
        >>> model = LatentModel(informative=4, uninformative=4, classes=classes, mixing=Mixing(observed=32))
        >>> world = model.drawn((0, 1))
        >>> world.observe(world.sample(100, Streams.of((0, 1), "anchors"))).shape
        torch.Size([2, 100, 32])
    """

    informative: int
    mixing: Mixing
    classes: Classes | None = None
    uninformative: int = 0
    uninformative_scale: float = 1.0

    def __post_init__(self) -> None:
        check_integer(
            "LatentModel.informative",
            self.informative,
            minimum=2,
            reason="in one dimension a sphere is two points",
        )
        if check_integer("LatentModel.uninformative", self.uninformative, minimum=0):
            check_integer(
                "LatentModel.uninformative",
                self.uninformative,
                minimum=2,
                reason="in one dimension a sphere is two points",
            )
        if not (is_finite(self.uninformative_scale) and self.uninformative_scale > 0):
            raise ValueError(
                "LatentModel.uninformative_scale must be a positive number, got "
                f"{self.uninformative_scale!r}; uninformative=0 leaves those latents out"
            )

    def drawn(
        self,
        seeds: Sequence[int],
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> World:
        """The world of each seed: its classes and its g.

        Raises:
            ValueError: no seed, or a negative one.

        Warns:
            OverlapWarning: more classes than can be told apart at their noise.
        """
        streams = Streams.of(seeds, "world", device=device, dtype=dtype)
        classes = None if self.classes is None else self.classes.drawn(self.informative, streams)
        latents = _sample(self, classes, _SAMPLE, streams)
        mixed = self.mixing.drawn(_joined(self, latents), streams)
        return World(model=self, classes=classes, mixed=mixed)


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """What a `LatentModel` became for each seed; made by its `drawn`.

    Attributes:
        model: where it comes from.
        classes: the classes of each run, or None.
        mixed: g of each run.
    """

    model: LatentModel
    classes: DrawnClasses | None
    mixed: Mixed

    def sample(self, n: int, streams: Streams) -> Latents:
        """N latents of each run: c ~ p_c, z ~ p_data(.|c)."""
        return _sample(self.model, self.classes, n, streams)

    def observe(self, latents: Latents) -> Float[Tensor, "runs n observed"]:
        """X = g(z)."""
        return self.mixed(_joined(self.model, latents))

    def part(self, runs: slice) -> World:
        """That of some runs."""
        classes = None if self.classes is None else self.classes.part(runs)
        return World(model=self.model, classes=classes, mixed=self.mixed.part(runs))


def _sample(model: LatentModel, classes: DrawnClasses | None, n: int, streams: Streams) -> Latents:
    labels = None
    if classes is None:
        informative = Uniform()(_nowhere(n, model.informative, streams), streams)
    else:
        informative, labels = classes.sample(n, streams)
    uninformative = None
    if model.uninformative:
        uninformative = Uniform()(_nowhere(n, model.uninformative, streams), streams)
    return Latents(informative=informative, uninformative=uninformative, labels=labels)


def _nowhere(n: int, d: int, streams: Streams) -> Tensor:
    """Centers for a kernel that does not look at them, without memory of their own."""
    return torch.empty((), dtype=streams.dtype, device=streams.device).expand(streams.runs, n, d)


def _joined(model: LatentModel, latents: Latents) -> Float[Tensor, "runs n latents"]:
    if latents.uninformative is None:
        return latents.informative
    return torch.cat([latents.informative, model.uninformative_scale * latents.uninformative], dim=-1)
