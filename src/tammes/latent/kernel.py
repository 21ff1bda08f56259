"""Distributions around a point of the unit sphere: the noise of a class, the perturbation of a positive."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize
from typing_extensions import override

from tammes.checks import check_integer, check_number
from tammes.latent.streams import Streams


class SphericalKernel(ABC):
    """Distribution on the unit sphere around each of many centers.

    The same kernels spread a class around its mean and a positive around its anchor.
    """

    @abstractmethod
    def __call__(self, centers: Float[Tensor, "runs n d"], streams: Streams) -> Float[Tensor, "runs n d"]:
        """Draw one unit vector for each center.

        Args:
            centers: unit vectors, d of at least 2.
            streams: random numbers of the runs.
        """


@dataclass(frozen=True, kw_only=True)
class GaussianNoise(SphericalKernel):
    """Isotropic Gaussian noise, projected back to unit length.

        z  =  (center + scale * e) / |center + scale * e|,        e ~ N(0, 1) in R^d

    The length of the noise is about scale * sqrt(d): a scale that is small in two dimensions is large in
    fifty.

    Args:
        scale: standard deviation of each coordinate, at least 0; 0 returns the center.

    Raises:
        ValueError: the scale is negative or not finite.

    Source: Weber and Bachman (2022), sec. III.B and IV-B.

    Example:
        >>> import torch
        >>> centers = torch.tensor([[[0.0, 1.0]]])
        >>> torch.equal(GaussianNoise(scale=0.0)(centers, Streams.of((0,), "noise")), centers)
        True
    """

    scale: float

    def __post_init__(self) -> None:
        check_number("GaussianNoise.scale", self.scale, minimum=0)

    @override
    def __call__(self, centers: Float[Tensor, "runs n d"], streams: Streams) -> Float[Tensor, "runs n d"]:
        return normalize(centers + self.scale * streams.normal(*centers.shape[1:]), dim=-1)


@dataclass(frozen=True, kw_only=True)
class UniformOnSphere(SphericalKernel):
    """Uniform distribution on the whole sphere, whatever the center: the latent is drawn anew.

    Example:
        >>> import torch
        >>> drawn = UniformOnSphere()(torch.zeros(2, 4, 3), Streams.of((0, 1), "noise"))
        >>> drawn.norm(dim=-1).allclose(torch.ones(2, 4))
        True
    """

    @override
    def __call__(self, centers: Float[Tensor, "runs n d"], streams: Streams) -> Float[Tensor, "runs n d"]:
        return normalize(streams.normal(*centers.shape[1:]), dim=-1)


def check_dimension(name: str, value: int) -> int:
    """Return `value`, the dimension of a space that holds a sphere; below 2, raise ValueError."""
    return check_integer(name, value, minimum=2, reason="in one dimension a sphere is two points")
