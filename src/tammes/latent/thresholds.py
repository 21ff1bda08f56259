"""How near the boundary a positive must be to be accepted, round by round."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import is_finite
from tammes.latent.stage import Stage


class Threshold(ABC):
    """a_t: positives at a distance below it from the boundary of q_t are accepted."""

    @abstractmethod
    def __call__(self, stage: Stage) -> Float[Tensor, " runs"]:
        """a_t of each run; a distance between unit vectors and a plane, so at most 1 has an effect."""


@dataclass(frozen=True, kw_only=True)
class Halving(Threshold):
    """a_t = first / 2^(t - 1), never below `least`.

    Args:
        first: a_1, of round t = 1; round 0 has twice that.
        least: where it stops, positive: without an end, nothing would be accepted after some rounds.

    Raises:
        ValueError: a number that is not positive.

    Source: Weber and Bachman (2022), Theorem 3.2, where `first` is pi and there is no end.

    Example:
        >>> Halving(least=0.05).first == math.pi
        True
    """

    least: float
    first: float = math.pi

    def __post_init__(self) -> None:
        if not all(is_finite(value) and value > 0 for value in (self.least, self.first)):
            raise ValueError(f"Halving expected positive numbers, got {self}")

    def __call__(self, stage: Stage) -> Float[Tensor, " runs"]:
        """See `Threshold`."""
        value = max(self.least, self.first * 0.5 ** (stage.round - 1))
        return torch.full((stage.streams.runs,), value, device=stage.streams.device)


@dataclass(frozen=True, kw_only=True)
class Quantile(Threshold):
    """The distance that a given share of the points of D_t does not exceed.

    It follows the embedding: as the classes part, it grows, and a region that was reached stays so.

    Args:
        share: in (0, 1].

    Raises:
        ValueError: a share out of its range.

    Source: ours; Weber and Bachman (2022) leave a_t to a search.

    Example:
        >>> Quantile(share=0.25)
        Quantile(share=0.25)
    """

    share: float

    def __post_init__(self) -> None:
        if not (is_finite(self.share) and 0 < self.share <= 1):
            raise ValueError(f"Quantile.share must lie above 0 and be at most 1, got {self.share!r}")

    def __call__(self, stage: Stage) -> Float[Tensor, " runs"]:
        """See `Threshold`."""
        distances = stage.distances(stage.known.observations)
        rank = max(1, round(self.share * distances.shape[1]))
        return distances.kthvalue(rank, dim=1).values
