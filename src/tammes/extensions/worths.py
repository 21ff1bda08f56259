"""What a set of nodes is worth: larger is better, minus infinity where it is not allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.extensions.counts import Counts
from tammes.extensions.formulas import Formula


@dataclass(frozen=True, kw_only=True)
class CliqueWorth(Formula):
    """|S| for a clique, minus infinity for other sets."""

    def __call__(self, counts: Counts) -> Float[Tensor, ...]:
        """See `Formula.__call__`."""
        return counts.size.masked_fill(counts.missing > 0, -torch.inf)


@dataclass(frozen=True, kw_only=True)
class IndependentWorth(Formula):
    """|S| for an independent set, minus infinity for other sets."""

    def __call__(self, counts: Counts) -> Float[Tensor, ...]:
        """See `Formula.__call__`."""
        return counts.size.masked_fill(counts.edges > 0, -torch.inf)


@dataclass(frozen=True, kw_only=True)
class CutWorth(Formula):
    """The number of edges with one end in S."""

    linear: ClassVar[bool] = True

    def __call__(self, counts: Counts) -> Float[Tensor, ...]:
        """See `Formula.__call__`."""
        return counts.cut


@dataclass(frozen=True, kw_only=True)
class LargeCliqueWorth(Formula):
    """1 for a clique of at least k nodes, else 0.

    Args:
        k: at least 1.
    """

    k: int

    def __call__(self, counts: Counts) -> Float[Tensor, ...]:
        """See `Formula.__call__`."""
        return ((counts.missing == 0) & (counts.size >= self.k)).to(counts.size.dtype)
