"""Latent classes: where their means lie on the sphere, and how their latents spread around the means."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize
from typing_extensions import override

from tammes.checks import check_integer
from tammes.latent.kernel import SphericalKernel, check_dimension
from tammes.latent.streams import Streams

_DESCENT_STEPS = 400

_OVERLAP_SAMPLE = 1000
"""Latents of each run from which the overlap of its classes is estimated."""


class OverlapWarning(UserWarning):
    """Classes overlap so much that even the true latents tell them apart poorly."""


class Means(ABC):
    """Placement of class means on the unit sphere, another one for each run."""

    @abstractmethod
    def __call__(self, classes: int, dim: int, streams: Streams) -> Float[Tensor, "runs classes dim"]:
        """Return a unit vector for each class of each run."""


@dataclass(frozen=True, kw_only=True)
class RandomMeans(Means):
    """Means that are independent and uniform on the sphere; some lie close together.

    Example:
        >>> RandomMeans()(4, 2, Streams.of((0, 1), "means")).shape
        torch.Size([2, 4, 2])
    """

    @override
    def __call__(self, classes: int, dim: int, streams: Streams) -> Float[Tensor, "runs classes dim"]:
        return normalize(streams.normal(classes, dim), dim=-1)


@dataclass(frozen=True, kw_only=True)
class SeparatedMeans(Means):
    """Means as far apart as possible: Tammes' problem, solved by descent from random means.

    Minimizes (1/beta) log sum_ij e^{beta mu_i . mu_j} over the sphere while beta grows; in the limit that is
    the largest inner product. Up to d + 1 means form a simplex; for more, the result is a good local optimum.

    Source: Tammes (1930); Robinson (2023), eq. 3.15.

    Example:
        >>> means = SeparatedMeans()(3, 2, Streams.of((0,), "means"))[0]
        >>> round(float((means @ means.T).fill_diagonal_(-1).max()), 2)
        -0.5
    """

    @override
    def __call__(self, classes: int, dim: int, streams: Streams) -> Float[Tensor, "runs classes dim"]:
        means = RandomMeans()(classes, dim, streams)
        if classes == 1:
            return means
        diagonal = torch.eye(classes, dtype=torch.bool, device=means.device)
        for step in range(_DESCENT_STEPS):
            beta = 2 * 200 ** (step / _DESCENT_STEPS)  # annealed from 2 to 400
            similarity = (means @ means.mT).masked_fill(diagonal, -math.inf)
            pull = torch.softmax((beta * similarity).flatten(1), dim=1).view_as(similarity)
            # A pair of means separates with steps of 1/beta; larger ones would overshoot.
            means = normalize(means - 2 * classes / beta * (pull @ means), dim=-1)
        return means


@dataclass(frozen=True, kw_only=True)
class Classes:
    """Equally likely classes: a mean on the sphere for each, and a kernel around it.

    Args:
        count: number of classes, at least 1.
        spread: distribution of the latents of a class around its mean: `GaussianNoise(scale=...)` in the
            paper, `MisesFisher(concentration=...)` in its appendix.
        means: placement of the means. The paper leaves it open; the other choice is `RandomMeans()`.

    Raises:
        ValueError: no class.

    Source: Weber and Bachman (2022), sec. II.A and III-B.

    Example:
        >>> from tammes.latent import GaussianNoise
        >>> classes = Classes(count=4, spread=GaussianNoise(scale=0.35))
        >>> classes.draw(4, Streams.of((0,), "classes")).overlap.item() < 0.05
        True
    """

    count: int
    spread: SphericalKernel
    means: Means = field(default_factory=SeparatedMeans)

    def __post_init__(self) -> None:
        check_integer("Classes.count", self.count)

    def draw(self, dim: int, streams: Streams) -> DrawnClasses:
        """Draw the classes of each run, with means on the unit sphere of R^dim.

        Raises:
            ValueError: a dimension below 2.

        Warns:
            OverlapWarning: a latent is nearer to the mean of another class than to its own more than half
                as often as by chance; the warning states the overlap.
        """
        check_dimension("the dimension of the classes' sphere", dim)
        means = self.means(self.count, dim, streams)
        drawn = DrawnClasses(means=means, spread=self.spread, overlap=means.new_zeros(len(means)))
        latents, labels = drawn.sample(_OVERLAP_SAMPLE, streams)
        overlap = ((latents @ means.mT).argmax(dim=-1) != labels).to(means.dtype).mean(dim=1)
        chance = 1 - 1 / self.count
        if float(overlap.mean()) > chance / 2:
            warnings.warn(
                f"{self.count} classes in {dim} dimensions overlap; {100 * float(overlap.mean()):.0f} % of "
                "the latents are nearer to the mean of another class than to that of their own (by chance, "
                f"{100 * chance:.0f} % would be); take fewer classes, more dimensions or less noise",
                OverlapWarning,
                stacklevel=2,
            )
        return replace(drawn, overlap=overlap)


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawnClasses:
    """Classes of each run.

    Attributes:
        means: unit vector of each class.
        spread: distribution of latents around their mean.
        overlap: share of latents that are nearer to the mean of another class. For classes of equal spread
            it is the error of the best classifier of the true latents.
    """

    means: Float[Tensor, "runs classes d"]
    spread: SphericalKernel
    overlap: Float[Tensor, " runs"]

    def sample(self, n: int, streams: Streams) -> tuple[Float[Tensor, "runs n d"], Int[Tensor, "runs n"]]:
        """Draw n classes for each run and a latent of each; return the latents and their labels."""
        labels = streams.integers(self.means.shape[1], n)
        return self.of_labels(labels, streams), labels

    def of_labels(self, labels: Int[Tensor, "runs n"], streams: Streams) -> Float[Tensor, "runs n d"]:
        """Draw a latent of each given class."""
        centers = self.means.gather(1, labels[..., None].expand(-1, -1, self.means.shape[-1]))
        return self.spread(centers, streams)

    def part(self, runs: slice) -> DrawnClasses:
        """Return the classes of some runs."""
        return replace(self, means=self.means[runs], overlap=self.overlap[runs])
