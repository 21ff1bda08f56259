"""Sampling strategies: which points become anchors, and how their positives are drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import torch
from typing_extensions import override

from tammes.checks import check_integer
from tammes.latent.data_set import batched_gather
from tammes.latent.positive_samplers import PositiveSampler
from tammes.latent.round_state import Anchors, RoundState


class AnchorSampler(ABC):
    """Distribution of the anchors."""

    @abstractmethod
    def __call__(self, n: int, state: RoundState) -> Anchors:
        """Draw n anchors of every run; all randomness comes from `state.streams`."""


@dataclass(frozen=True, kw_only=True)
class FromData(AnchorSampler):
    """Anchors from the data: c ~ p_c, x ~ p_data(.|c).

    Source: Weber and Bachman (2022), Alg. 1, line 4.

    Example:
        >>> FromData()
        FromData()
    """

    @override
    def __call__(self, n: int, state: RoundState) -> Anchors:
        return Anchors.of(state.world.sample(n, state.streams), state.world)


@dataclass(frozen=True, kw_only=True)
class NearBoundary(AnchorSampler):
    """Anchors near the boundary of the classifier: of several points of the data, the nearest.

    Args:
        of: number of points drawn for each anchor, at least 1; 1 is `FromData`.

    Raises:
        ValueError: less than one point.

    Source: Weber and Bachman (2022), sec. III.B (3), which says "with a bias towards the region near the
    decision boundary" and no more.

    Example:
        >>> NearBoundary(of=2)
        NearBoundary(of=2)
    """

    of: int = 4

    def __post_init__(self) -> None:
        check_integer("NearBoundary.of", self.of)

    @override
    def __call__(self, n: int, state: RoundState) -> Anchors:
        drawn = FromData()(n * self.of, state)
        distances = state.distances(drawn.observations).unflatten(1, (n, self.of))
        nearest = torch.arange(n, device=distances.device) * self.of + distances.argmin(dim=-1)
        return drawn.map(lambda values: batched_gather(values, nearest))


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """Inner loop of both algorithms, in two parts.

    Args:
        positives: sampler of a positive for each anchor.
        anchors: sampler of the anchors.

    Raises:
        ValueError: a part of another type.

    Example:
        >>> from tammes.latent import ObservationNoise
        >>> Strategy(positives=ObservationNoise(scale=0.2))
        Strategy(positives=ObservationNoise(scale=0.2), anchors=FromData())
    """

    positives: PositiveSampler
    anchors: AnchorSampler = field(default_factory=FromData)

    def __post_init__(self) -> None:
        if not isinstance(self.positives, PositiveSampler):
            raise ValueError(f"Strategy.positives must be a PositiveSampler, got {self.positives!r}")
        if not isinstance(self.anchors, AnchorSampler):
            raise ValueError(f"Strategy.anchors must be an AnchorSampler, got {self.anchors!r}")
