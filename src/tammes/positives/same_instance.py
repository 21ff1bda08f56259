"""Positives from nothing but the row itself: both views of a pair are made of it, by augmentation."""

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

    def pairs(self, labels: Int64[Tensor, " n"], *, seed: int) -> Int64[Tensor, "pairs 2"]:
        """The pairs of one epoch.

        Args:
            labels: the class of each row, int64 (n,); only their number matters.
            seed: of this epoch; another seed gives another order.

        Returns:
            int64 (n, 2): every row, twice, the pairs in random order.
        """
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
        return torch.stack([order, order], dim=1)

    def unpaired(self, labels: Int64[Tensor, " n"]) -> Int64[Tensor, " rows"]:
        """The rows that are in no pair of any epoch: none.

        Example:
            >>> len(SameInstance().unpaired(torch.tensor([0, 0, 1])))
            0
        """
        return labels.new_empty(0)
