"""Positives across scales: a node and the graph that it belongs to."""

from dataclasses import dataclass

from jaxtyping import Int64
from torch import Tensor

from tammes.positives.same_instance import SameInstance


@dataclass(frozen=True, kw_only=True)
class OwnGraph:
    """Every node paired with its own graph (InfoGraph); the graphs of an epoch come in random order.

    Source: Sun et al., InfoGraph, 2020.

    Example:
        >>> import torch
        >>> OwnGraph().pairs(torch.tensor([0, 0, 1]), seed=0).shape
        torch.Size([3, 2])
    """

    def pairs(self, labels: Int64[Tensor, " n"], *, seed: int) -> Int64[Tensor, "n 2"]:
        """Return every graph twice, in random order.

        Args:
            labels: class of each graph; only their number matters.
            seed: random seed of the epoch.
        """
        return SameInstance().pairs(labels, seed=seed)

    def unpaired(self, labels: Int64[Tensor, " n"]) -> Int64[Tensor, " rows"]:
        """Return the graphs that no epoch pairs: none.

        Example:
            >>> import torch
            >>> len(OwnGraph().unpaired(torch.tensor([0, 1])))
            0
        """
        return SameInstance().unpaired(labels)
