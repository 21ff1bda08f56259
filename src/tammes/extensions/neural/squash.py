"""Maps from eigenvectors to points of the unit cube."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_number
from tammes.extensions.ground_set import GroundSet


class Squash(ABC):
    """Map of unit vectors, with signs such that their entries add up to at least 0, into [0, 1]."""

    @abstractmethod
    def __call__(self, vectors: Float[Tensor, "k total"], ground: GroundSet) -> Float[Tensor, "k total"]:
        """Return x for each vector of each input."""


@dataclass(frozen=True, kw_only=True)
class Sigmoid(Squash):
    """x = sigmoid(scale * v).

    Args:
        scale: slope, positive; the paper takes 1. An entry of v is about 1/sqrt(n), so that x is close to 1/2
            everywhere then: half of the mass lies on the set of all elements.

    Raises:
        ValueError: for a scale that is not positive.

    Source: Robinson (2023), section 8.4.2. Differs: with a sigmoid no eigenvector becomes 1_S, and
    F(1_S 1_S^T) = f(S) does not hold; it does with `Peak`.

    Example:
        >>> Sigmoid()(torch.zeros(1, 2), GroundSet(sizes=(2,)))
        tensor([[0.5000, 0.5000]])
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        check_number("scale", self.scale, above=0)

    @override
    def __call__(self, vectors: Float[Tensor, "k total"], ground: GroundSet) -> Float[Tensor, "k total"]:
        return torch.sigmoid(self.scale * vectors)


@dataclass(frozen=True, kw_only=True)
class Peak(Squash):
    """x = max(v, 0) / max over the input of v: the eigenvector of 1_S 1_S^T becomes 1_S.

    Example:
        >>> Peak()(torch.tensor([[0.6, -0.1, 0.3]]), GroundSet(sizes=(3,)))
        tensor([[1.0000, 0.0000, 0.5000]])
    """

    @override
    def __call__(self, vectors: Float[Tensor, "k total"], ground: GroundSet) -> Float[Tensor, "k total"]:
        positive = vectors.clamp(min=0)
        peak = ground.pad(positive, 0.0).amax(dim=-1)  # (k, inputs); 0 for a vector of zeros
        return positive / peak.where(peak > 0, 1.0)[:, ground.owner]
