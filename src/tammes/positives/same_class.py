"""Positives from classes: two sentences of one document, two images of one class, paired at random."""

from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class SameClass:
    """Random disjoint pairs within each class: a row is in at most one pair.

    A class with an odd number of rows leaves one of them out, another one each time. A class with a single
    row has no pair.

    Source: Ash et al., Investigating the Role of Negatives in Contrastive Representation Learning, 2022,
    appendix D.1.

    Example:
        >>> labels = torch.tensor([0, 0, 0, 0, 1, 1, 1, 2])
        >>> pairs = SameClass().pairs(labels, seed=0)
        >>> pairs.shape, torch.equal(labels[pairs[:, 0]], labels[pairs[:, 1]])
        (torch.Size([3, 2]), True)
    """

    def pairs(self, labels: Int64[Tensor, " n"], *, seed: int) -> Int64[Tensor, "pairs 2"]:
        """Draw the pairs of one epoch.

        Args:
            labels: class of each row, from 0.
            seed: random seed of the epoch.

        Returns:
            Rows of anchor and positive, the pairs in random order.

        Raises:
            ValueError: no class has two rows, or a label is negative, such as -1 for rows without a label.
        """
        check_class_numbers(labels)
        generator = torch.Generator().manual_seed(seed)
        order, place, sizes = shuffled_by_class(labels, generator)
        first = (place % 2 == 0) & (place + 1 < sizes.repeat_interleave(sizes))
        at = first.nonzero().squeeze(1)
        if len(at) == 0:
            raise ValueError(
                f"expected a class with at least two rows to pair, got {len(sizes)} classes for "
                f"{len(labels)} rows"
            )
        at = at[torch.randperm(len(at), generator=generator)]
        return torch.stack([order[at], order[at + 1]], dim=1)

    def unpaired(self, labels: Int64[Tensor, " n"]) -> Int64[Tensor, " rows"]:
        """Return the rows that no epoch pairs, because they are alone in their class.

        Example:
            >>> SameClass().unpaired(torch.tensor([0, 0, 1, 2, 2]))
            tensor([2])
        """
        _, inverse, counts = labels.unique(return_inverse=True, return_counts=True)
        return (counts[inverse] == 1).nonzero().squeeze(1)


def shuffled_by_class(
    labels: Int64[Tensor, " n"], generator: torch.Generator
) -> tuple[Int64[Tensor, " n"], Int64[Tensor, " n"], Int64[Tensor, " classes"]]:
    """Return the rows class by class in random order, their places in the class, and the class sizes."""
    order = torch.randperm(len(labels), generator=generator)
    order = order[labels[order].argsort(stable=True)]
    _, sizes = labels[order].unique_consecutive(return_counts=True)
    starts = sizes.cumsum(0) - sizes
    return order, torch.arange(len(labels)) - starts.repeat_interleave(sizes), sizes


def check_class_numbers(labels: Int64[Tensor, " n"]) -> None:
    """Raise ValueError unless all labels are at least 0.

    Elsewhere a negative label marks a row without a class: such rows would be taken for one class.

    Example:
        >>> check_class_numbers(torch.tensor([2, 0]))
    """
    below = (labels < 0).nonzero().flatten()
    if len(below):
        row = int(below[0])
        raise ValueError(
            f"expected classes numbered from 0, got the label {int(labels[row])} in row {row} and a label "
            f"below 0 in {len(below)} of {len(labels)} rows: if it means no label, as -1 does in "
            "scikit-learn, leave these rows out; else number the classes from 0"
        )
