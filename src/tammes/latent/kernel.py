"""What is drawn around a point of the unit sphere: the noise of a class, the perturbation of a positive."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from tammes.checks import is_finite
from tammes.latent.streams import Streams


class Kernel(ABC):
    """A distribution on the unit sphere around each of many centers.

    The same parts say how a class lies around its mean and how a positive lies around its anchor.
    """

    @abstractmethod
    def __call__(self, centers: Float[Tensor, "runs n d"], streams: Streams) -> Float[Tensor, "runs n d"]:
        """One unit vector for each center.

        Args:
            centers: unit vectors (runs, n, d), d of at least 2.
            streams: of the runs.
        """


@dataclass(frozen=True, kw_only=True)
class GaussianNoise(Kernel):
    """Isotropic Gaussian noise, then brought back to unit length.

        z  =  (center + scale * e) / |center + scale * e|,        e ~ N(0, 1) in R^d

    The noise's length is about scale * sqrt(d): what is small in two dimensions is large in fifty.

    Args:
        scale: standard deviation of each coordinate, not negative; 0 gives the center itself.

    Raises:
        ValueError: a negative scale.

    Source: Weber and Bachman (2022), sec. III.B and IV-B.

    Example:
        >>> import torch
        >>> centers = torch.tensor([[[0.0, 1.0]]])
        >>> torch.equal(GaussianNoise(scale=0.0)(centers, Streams.of((0,), "noise")), centers)
        True
    """

    scale: float

    def __post_init__(self) -> None:
        if not (is_finite(self.scale) and self.scale >= 0):
            raise ValueError(f"GaussianNoise.scale must be a number of at least 0, got {self.scale!r}")

    def __call__(self, centers: Float[Tensor, "runs n d"], streams: Streams) -> Float[Tensor, "runs n d"]:
        """See `Kernel`."""
        _, n, d = centers.shape
        return normalize(centers + self.scale * streams.normal(n, d), dim=-1)


@dataclass(frozen=True, kw_only=True)
class Uniform(Kernel):
    """Uniform on the whole sphere, wherever the center is: a latent that is drawn anew.

    Example:
        >>> import torch
        >>> drawn = Uniform()(torch.zeros(2, 4, 3), Streams.of((0, 1), "noise"))
        >>> drawn.norm(dim=-1).allclose(torch.ones(2, 4))
        True
    """

    def __call__(self, centers: Float[Tensor, "runs n d"], streams: Streams) -> Float[Tensor, "runs n d"]:
        """See `Kernel`."""
        _, n, d = centers.shape
        return normalize(streams.normal(n, d), dim=-1)
