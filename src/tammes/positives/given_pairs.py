"""Positives and negatives that the data give: rows of anchor, positive and, perhaps, negative."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor

from tammes.data.triples import STRIDE


@dataclass(frozen=True, kw_only=True)
class GivenPairs:
    """Each anchor with the positive of its row, against all positives and all given negatives of the batch.

    Sentences come from a table of pairs or triples (`tammes.data.triples`). Its negatives are candidates of
    every anchor of the batch. Rows with the same anchor are positives of each other (see `TwoTowers`).

    Args:
        symmetric: Whether positives are anchors as well, and look for theirs among the anchors of the batch.
        same_tower: Whether the other anchors of the batch are negatives of an anchor, too.

    Raises:
        ValueError: A setting that is not true or false.

    Source: Henderson et al., Efficient Natural Language Response Suggestion, 2017, for negatives from the
    batch; Gao et al., SimCSE, 2021, sec. 4, for the contradictions of natural language inference.

    Example:
        >>> documents, positions = torch.tensor([0, 0, 0, 1, 1, 1]), torch.tensor([0, 1, 2, 0, 1, 2])
        >>> GivenPairs().pairs(documents, seed=0, positions=positions)
        tensor([[0, 1],
                [3, 4]])
        >>> GivenPairs().negatives(documents, positions=positions)
        tensor([ 2, -1, -1,  5, -1, -1])
    """

    symmetric: bool = False
    same_tower: bool = False

    def __post_init__(self) -> None:
        for name in ("symmetric", "same_tower"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}")

    def pairs(
        self, documents: Int64[Tensor, " n"], *, seed: int, positions: Int64[Tensor, " n"]
    ) -> Int64[Tensor, "pairs 2"]:
        """Return the pairs of one epoch: every row of the table once, in random order.

        Args:
            documents: anchor of each sentence's row.
            seed: random seed of the epoch.
            positions: position of each sentence; see `tammes.data.triples`.
        """
        anchors, positives = self._anchors(positions), self._beside(documents, positions, 1)[0]
        order = anchors[torch.randperm(len(anchors), generator=torch.Generator().manual_seed(seed))]
        return torch.stack([order, positives[order]], dim=1)

    def negatives(
        self, documents: Int64[Tensor, " n"], *, positions: Int64[Tensor, " n"]
    ) -> Int64[Tensor, " n"] | None:
        """Return the row of the given negative of each anchor, -1 for other sentences; None without any."""
        rows, found = self._beside(documents, positions, 2)
        return rows if found else None

    def unpaired(
        self, documents: Int64[Tensor, " n"], *, positions: Int64[Tensor, " n"] | None = None
    ) -> Int64[Tensor, " rows"]:
        """Return the rows that no epoch pairs: none, since tables hold whole rows alone."""
        return documents.new_empty(0)

    def _anchors(self, positions: Tensor) -> Tensor:
        return (positions % STRIDE == 0).nonzero()[:, 0]

    def _beside(self, documents: Tensor, positions: Tensor, places: int) -> tuple[Tensor, bool]:
        """Return the sentence `places` behind each anchor, -1 without one, and whether any has one."""
        keys = documents * (int(positions.max()) + STRIDE) + positions
        known, order = keys.sort()
        anchors = self._anchors(positions)
        at = torch.searchsorted(known, keys[anchors] + places).clamp(max=len(known) - 1)
        is_there = known[at] == keys[anchors] + places
        rows = torch.full_like(documents, -1)
        rows[anchors[is_there]] = order[at[is_there]]
        return rows, bool(is_there.any())
