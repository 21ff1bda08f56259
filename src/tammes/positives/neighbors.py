"""Positives from reading order: a sentence and the one that follows it."""

from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Neighbors:
    """Disjoint pairs of adjacent sentences of one document: a sentence is in at most one pair.

    Runs of adjacent sentences are cut into pairs from their first or their second sentence on, at random,
    so that over the epochs a sentence is paired with both of its neighbors.

    Example:
        >>> documents = torch.tensor([0, 0, 0, 0, 1, 1, 1, 2])
        >>> pairs = Neighbors().pairs(documents, seed=0)
        >>> pairs[:, 1] - pairs[:, 0], torch.equal(documents[pairs[:, 0]], documents[pairs[:, 1]])
        (tensor([1, 1, 1]), True)
    """

    def pairs(
        self,
        documents: Int64[Tensor, " n"],
        *,
        seed: int,
        positions: Int64[Tensor, " n"] | None = None,
    ) -> Int64[Tensor, "pairs 2"]:
        """Draw the pairs of one epoch.

        Args:
            documents: document of each sentence.
            seed: random seed of the epoch.
            positions: position of each sentence in its document, where some may be missing or out of order;
                None where the rows are in reading order without gaps.

        Returns:
            Rows of a sentence and the next, the pairs in random order.

        Raises:
            ValueError: no two sentences are adjacent.
        """
        generator = torch.Generator().manual_seed(seed)
        order, run, sizes = _runs(documents, positions)
        n = len(order)
        late = torch.randint(2, (len(sizes),), generator=generator)
        late[sizes < 3] = 0  # a run of two has one pair
        inside = torch.arange(n) - (sizes.cumsum(0) - sizes)[run] - late[run]
        first = (inside >= 0) & (inside % 2 == 0) & (inside + late[run] + 1 < sizes[run])
        at = first.nonzero().squeeze(1)
        if len(at) == 0:
            raise ValueError(f"expected two adjacent sentences of one document, got none in {n} sentences")
        at = at[torch.randperm(len(at), generator=generator)]
        return torch.stack([order[at], order[at + 1]], dim=1)

    def fewest(self, documents: Int64[Tensor, " n"], *, positions: Int64[Tensor, " n"] | None = None) -> int:
        """Return the smallest number of pairs of an epoch over all seeds.

        Example:
            >>> Neighbors().fewest(torch.tensor([0, 0, 0, 0, 1, 1]))
            2
        """
        _, _, sizes = _runs(documents, positions)
        return int(torch.where(sizes < 3, sizes // 2, (sizes - 1) // 2).sum())

    def unpaired(
        self, documents: Int64[Tensor, " n"], *, positions: Int64[Tensor, " n"] | None = None
    ) -> Int64[Tensor, " rows"]:
        """Return the rows that no epoch pairs, because both adjacent sentences are missing.

        Example:
            >>> Neighbors().unpaired(torch.tensor([0, 0, 0]), positions=torch.tensor([0, 1, 5]))
            tensor([2])
        """
        order, run, sizes = _runs(documents, positions)
        return order[sizes[run] == 1].sort().values


def _runs(
    documents: Int64[Tensor, " n"], positions: Int64[Tensor, " n"] | None
) -> tuple[Int64[Tensor, " n"], Int64[Tensor, " n"], Int64[Tensor, " runs"]]:
    """Return the rows in reading order, the run of adjacent sentences of each, and the sizes of the runs."""
    place = torch.arange(len(documents)) if positions is None else positions
    order = place.argsort(stable=True)
    order = order[documents[order].argsort(stable=True)]
    joined = (documents[order].diff() == 0) & (place[order].diff() == 1)
    run = torch.nn.functional.pad((~joined).cumsum(0), (1, 0))[: len(order)]
    return order, run, torch.bincount(run)
