"""Which rows of a padded batch are nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True)
class Nodes:
    """The nodes of a batch of graphs, filled up to the widest: tensors are `(batch, channels, width, ...)`.

    Means are taken over a graph's own nodes. That asks for zeros where there is no node, which is what
    `masked` puts there.

    Args:
        sizes: the number of nodes of each graph, at least 1.
        device: where the tensors are.

    Example:
        >>> Nodes(sizes=(2, 1)).masked(torch.ones(2, 1, 2)).tolist()
        [[[1.0, 1.0]], [[1.0, 0.0]]]
    """

    sizes: Sequence[int]
    device: torch.device | None = None

    @cached_property
    def width(self) -> int:
        """The number of nodes of the largest graph."""
        return max(self.sizes)

    @cached_property
    def counts(self) -> Float[Tensor, " batch"]:
        """The sizes as a tensor."""
        return torch.tensor(self.sizes, dtype=torch.float64, device=self.device)

    @cached_property
    def mask(self) -> Bool[Tensor, "batch width"]:
        """Whether a row is a node."""
        return torch.arange(self.width, device=self.device) < self.counts[:, None]

    def mean(self, x: Float[Tensor, "batch channels *rest"], dim: int) -> Tensor:
        """The mean over a graph's own nodes along one dimension, for an x that is zero elsewhere."""
        total = x.sum(dim)
        return total / self.counts.to(total.dtype).reshape(-1, *[1] * (total.dim() - 1))

    def masked(self, x: Float[Tensor, "batch channels *widths"]) -> Float[Tensor, "batch channels *widths"]:
        """The same with zeros where an index is no node, written into x."""
        if min(self.sizes) == self.width:
            return x
        beyond = ~self.mask
        for _ in range(3, x.dim()):
            beyond = beyond[..., None] | ~self.mask.reshape(len(self.sizes), *[1] * (beyond.dim() - 1), -1)
        return x.masked_fill_(beyond[:, None], 0.0)
