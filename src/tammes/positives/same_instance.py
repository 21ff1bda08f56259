"""Positives from the row itself: augmentation makes both views of a pair from one row."""

from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class SameInstance:
    """Every row paired with itself, in random order.

    Example:
        >>> pairs = SameInstance().pairs(torch.tensor([0, 0, 1]), seed=0)
        >>> pairs.shape, torch.equal(pairs[:, 0], pairs[:, 1])
        (torch.Size([3, 2]), True)
    """

    def pairs(self, labels: Int64[Tensor, " n"], *, seed: int) -> Int64[Tensor, "n 2"]:
        """Return the pairs of one epoch: every row twice, in random order.

        Args:
            labels: class of each row; only their number matters.
            seed: random seed of the epoch.
        """
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
        return torch.stack([order, order], dim=1)

    def unpaired(self, labels: Int64[Tensor, " n"]) -> Int64[Tensor, " rows"]:
        """Return the rows that no epoch pairs: none.

        Example:
            >>> len(SameInstance().unpaired(torch.tensor([0, 0, 1])))
            0
        """
        return labels.new_empty(0)
