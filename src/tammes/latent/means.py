"""Where the means of the classes lie on the sphere."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from tammes.latent.streams import Streams

_STEPS = 400


class Means(ABC):
    """A way to place class means on the unit sphere, another placement for each run."""

    @abstractmethod
    def __call__(self, classes: int, dim: int, streams: Streams) -> Float[Tensor, "runs classes dim"]:
        """Unit vectors (runs, classes, dim)."""


@dataclass(frozen=True, kw_only=True)
class RandomMeans(Means):
    """Independent and uniform on the sphere: some lie close together.

    Example:
        >>> RandomMeans()(4, 2, Streams.of((0, 1), "means")).shape
        torch.Size([2, 4, 2])
    """

    def __call__(self, classes: int, dim: int, streams: Streams) -> Float[Tensor, "runs classes dim"]:
        """See `Means`."""
        return normalize(streams.normal(classes, dim), dim=-1)


@dataclass(frozen=True, kw_only=True)
class SeparatedMeans(Means):
    """As far apart as they can be, turned at random: Tammes' problem, solved by descent from random means.

    Minimizes (1/beta) log sum_ij e^{beta mu_i . mu_j} over the sphere while beta grows: in the limit, the
    largest inner product. Up to d + 1 means make a simplex; what is found for more is a good local optimum.

    Source: Tammes (1930); Robinson (2023), eq. 3.15.

    Example:
        >>> means = SeparatedMeans()(3, 2, Streams.of((0,), "means"))[0]
        >>> round(float((means @ means.T).fill_diagonal_(-1).max()), 2)
        -0.5
    """

    def __call__(self, classes: int, dim: int, streams: Streams) -> Float[Tensor, "runs classes dim"]:
        """See `Means`."""
        means = RandomMeans()(classes, dim, streams)
        if classes == 1:
            return means
        itself = torch.eye(classes, dtype=torch.bool, device=means.device)
        for step in range(_STEPS):
            beta = 2 * 200 ** (step / _STEPS)
            similarity = (means @ means.mT).masked_fill(itself, -math.inf)
            pull = torch.softmax((beta * similarity).flatten(1), dim=1).view_as(similarity)
            # The step that a single pair needs to part is 1/beta: larger ones would overshoot.
            means = normalize(means - 2 * classes / beta * (pull @ means), dim=-1)
        return means
