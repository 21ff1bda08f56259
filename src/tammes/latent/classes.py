"""Latent classes: a mean on the sphere for each, and how its latents lie around it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import check_integer
from tammes.latent.kernel import Kernel
from tammes.latent.means import Means, SeparatedMeans
from tammes.latent.streams import Streams

_POINTS = 1000
"""Latents of a run from which its overlap is estimated."""


class OverlapWarning(UserWarning):
    """More classes than can be told apart at their noise: even the true latents do not tell them."""


@dataclass(frozen=True, kw_only=True)
class Classes:
    """Equally likely classes: a mean on the sphere for each, and a kernel around it.

    Args:
        count: how many.
        spread: how the latents of a class lie around its mean, `GaussianNoise(scale=...)` in the paper;
            the appendix's von Mises-Fisher law is `MisesFisher(concentration=...)`.
        means: where the means lie. The paper leaves that open; `RandomMeans()` is the other choice.

    Raises:
        ValueError: no class.

    Source: Weber and Bachman (2022), sec. II.A and III-B.

    Example:
        >>> from tammes.latent import GaussianNoise
        >>> classes = Classes(count=4, spread=GaussianNoise(scale=0.35))
        >>> classes.drawn(4, Streams.of((0,), "classes")).overlap.item() < 0.05
        True
    """

    count: int
    spread: Kernel
    means: Means = field(default_factory=SeparatedMeans)

    def __post_init__(self) -> None:
        check_integer("Classes.count", self.count, minimum=1)

    def drawn(self, dim: int, streams: Streams) -> DrawnClasses:
        """The classes of each run, with means on the unit sphere of R^dim.

        Raises:
            ValueError: a dimension below 2.

        Warns:
            OverlapWarning: where a latent is nearer to another class's mean than to its own more than half
                as often as it would be by chance; the warning has the overlap.
        """
        means = self.means(
            self.count,
            check_integer(
                "the dimension of the classes' sphere",
                dim,
                minimum=2,
                reason="in one dimension a sphere is two points",
            ),
            streams,
        )
        drawn = DrawnClasses(means=means, spread=self.spread, overlap=means.new_zeros(len(means)))
        latents, labels = drawn.sample(_POINTS, streams)
        nearest = (latents @ means.mT).argmax(dim=-1)
        overlap = (nearest != labels).to(means.dtype).mean(dim=1)
        chance = 1 - 1 / self.count
        if float(overlap.mean()) > chance / 2:
            warnings.warn(
                f"{self.count} classes in {dim} dimensions overlap; {100 * float(overlap.mean()):.0f} % of "
                "the latents are nearer to the mean of another class than to that of their own (by chance, "
                f"{100 * chance:.0f} % would be); take fewer classes, more dimensions or less noise",
                OverlapWarning,
                stacklevel=2,
            )
        return DrawnClasses(means=means, spread=self.spread, overlap=overlap)


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawnClasses:
    """The classes of each run.

    Attributes:
        means: unit vectors (runs, classes, d).
        spread: how latents lie around their mean.
        overlap: (runs,), the share of latents that are nearer to the mean of another class: the error of
            the best classifier of true latents, for classes that lie alike around their means.
    """

    means: Float[Tensor, "runs classes d"]
    spread: Kernel
    overlap: Float[Tensor, " runs"]

    def sample(self, n: int, streams: Streams) -> tuple[Float[Tensor, "runs n d"], Int[Tensor, "runs n"]]:
        """Latents (runs, n, d) of classes that are drawn for each, and their labels (runs, n)."""
        labels = streams.integers(self.means.shape[1], n)
        return self.of_labels(labels, streams), labels

    def of_labels(self, labels: Int[Tensor, "runs n"], streams: Streams) -> Float[Tensor, "runs n d"]:
        """A latent of each given class, (runs, n, d)."""
        own = self.means.gather(1, labels[..., None].expand(-1, -1, self.means.shape[-1]))
        return self.spread(own, streams)

    def part(self, runs: slice) -> DrawnClasses:
        """Those of some runs."""
        return DrawnClasses(means=self.means[runs], spread=self.spread, overlap=self.overlap[runs])
