"""Rows of a flat tensor that belong together, as sets of different size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Which set each row is an element of, and its place there.

    Args:
        of: the set of each row.
        place: the number of each row within its set, from 0.
        count: how many sets there are.

    Example:
        >>> groups = Groups(of=torch.tensor([0, 1, 0]), place=torch.tensor([0, 0, 1]), count=2)
        >>> groups.mean(torch.tensor([[1.0], [2.0], [3.0]])).tolist()
        [[2.0], [2.0]]
        >>> groups.padded(torch.tensor([[1.0], [2.0], [3.0]])).squeeze(-1).tolist()
        [[1.0, 3.0], [2.0, 0.0]]
    """

    of: Int[Tensor, " rows"]
    place: Int[Tensor, " rows"]
    count: int

    @cached_property
    def sizes(self) -> Int[Tensor, " sets"]:
        """How many rows each set has."""
        return torch.bincount(self.of, minlength=self.count)

    @cached_property
    def widest(self) -> int:
        """The size of the largest set."""
        return int(self.sizes.max()) if self.count else 0

    @cached_property
    def _slot(self) -> Int[Tensor, " rows"]:
        return self.of * self.widest + self.place

    @cached_property
    def exists(self) -> Bool[Tensor, "sets widest"]:
        """Which places of `padded` hold a row."""
        return torch.arange(self.widest, device=self.of.device) < self.sizes[:, None]

    def sum(self, values: Float[Tensor, "rows ..."]) -> Float[Tensor, "sets ..."]:
        """Adds the rows of each set; 0 for a set without rows."""
        return values.new_zeros(self.count, *values.shape[1:]).index_add(0, self.of, values)

    def mean(self, values: Float[Tensor, "rows ..."]) -> Float[Tensor, "sets ..."]:
        """Averages the rows of each set; 0 for a set without rows."""
        sizes = self.sizes.clamp(min=1).view(-1, *[1] * (values.dim() - 1))
        return self.sum(values) / sizes

    def padded(self, values: Float[Tensor, "rows ..."]) -> Float[Tensor, "sets widest ..."]:
        """The rows of each set in their places, filled up with zeros to the largest set."""
        empty = values.new_zeros(self.count * self.widest, *values.shape[1:])
        return empty.index_copy(0, self._slot, values).unflatten(0, (self.count, self.widest))

    def flat(self, padded: Float[Tensor, "sets widest ..."]) -> Float[Tensor, "rows ..."]:
        """The way back from `padded`."""
        return padded.flatten(0, 1)[self._slot]
