"""Which points become anchors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch

from tammes.checks import check_integer
from tammes.latent.rows import picked
from tammes.latent.stage import Anchors, Stage


class AnchorChoice(ABC):
    """A way to draw anchors."""

    @abstractmethod
    def __call__(self, n: int, stage: Stage) -> Anchors:
        """N anchors of every run; all randomness comes from `stage.streams`."""


@dataclass(frozen=True, kw_only=True)
class FromData(AnchorChoice):
    """c ~ p_c, x ~ p_data(.|c).

    Source: Weber and Bachman (2022), Alg. 1, line 4.

    Example:
        >>> FromData()
        FromData()
    """

    def __call__(self, n: int, stage: Stage) -> Anchors:
        """See `AnchorChoice`."""
        return Anchors.of(stage.world.sample(n, stage.streams), stage.world)


@dataclass(frozen=True, kw_only=True)
class NearBoundary(AnchorChoice):
    """Of several points of the data, the one nearest to the boundary of the classifier.

    Args:
        of: how many are drawn for one anchor; 1 is no choice.

    Raises:
        ValueError: less than one.

    Source: Weber and Bachman (2022), sec. III.B (3), which says "with a bias towards the region near the
    decision boundary" and no more.

    Example:
        >>> NearBoundary(of=2)
        NearBoundary(of=2)
    """

    of: int = 4

    def __post_init__(self) -> None:
        check_integer("NearBoundary.of", self.of, minimum=1)

    def __call__(self, n: int, stage: Stage) -> Anchors:
        """See `AnchorChoice`.

        Raises:
            ValueError: the model has no classes.
        """
        drawn = FromData()(n * self.of, stage)
        distances = stage.distances(drawn.observations).unflatten(1, (n, self.of))
        nearest = torch.arange(n, device=distances.device) * self.of + distances.argmin(dim=-1)
        return drawn.each(lambda values: picked(values, nearest))
