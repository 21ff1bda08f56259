"""Candidates that a second similarity takes for false negatives of an anchor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tammes.products import product
from tammes.reduce.key_ranges import KeyRanges

_CHUNK = 1 << 20
"""Number of similarities in memory at a time."""
_ROUNDING = 64
"""Units in the last place by which equal similarities may differ from one product to another."""


@dataclass(frozen=True, kw_only=True)
class Guide:
    """Mask of S: candidate j is no negative of anchor i where g_ij exceeds the anchor's threshold.

    Args:
        anchors: `(n, e)` embeddings of the anchors that give g, unit vectors for the cosine.
        candidates: `(m, e)` embeddings of the candidates; None where the candidates are the anchors.
        threshold: `(n,)` largest g_ij of a negative.
    """

    anchors: Float[Tensor, "n e"]
    candidates: Float[Tensor, "m e"] | None
    threshold: Float[Tensor, " n"]

    @staticmethod
    def of(
        anchors: Float[Tensor, "n e"],
        candidates: Float[Tensor, "m e"] | None,
        limit: Float[Tensor, " n"],
        ranges: KeyRanges,
    ) -> Guide:
        """Return the guide; an anchor that would lose all its negatives keeps the least similar one.

        Args:
            anchors: `(n, e)` embeddings of the anchors.
            candidates: `(m, e)` embeddings of the candidates, or None.
            limit: `(n,)` largest g_ij of a negative.
            ranges: who may be a negative by the keys.

        Example:
            >>> z = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
            >>> guide = Guide.of(z, None, torch.tensor([0.5, 0.7, -1.0]), KeyRanges(keys=torch.arange(3)))
            >>> guide.above(slice(0, 3), slice(0, 3)).tolist()  # the last keeps the first, at 0
            [[True, True, False], [False, True, True], [False, True, True]]
        """
        with torch.no_grad():
            others = anchors if candidates is None else candidates
            longest = _longest(anchors) * _longest(others)
            slack = _ROUNDING * torch.finfo(anchors.dtype).eps * longest
            least = torch.empty_like(limit)
            for rows in _chunks(len(anchors), len(others)):
                similarity = product(anchors[rows], others.T)
                excluded = ranges.excluded(rows, slice(0, len(others)))
                if excluded is not None:
                    similarity.masked_fill_(excluded, torch.inf)
                least[rows] = similarity.amin(dim=1)
            threshold = torch.maximum(limit, least) + slack
        return Guide(anchors=anchors, candidates=candidates, threshold=threshold)

    def above(self, rows: slice, columns: slice) -> Bool[Tensor, "r c"]:
        """Return a tile of the mask, true where the similarity exceeds the anchor's threshold."""
        others = self.anchors if self.candidates is None else self.candidates
        return product(self.anchors[rows], others[columns].T) > self.threshold[rows, None]

    def count(self, ranges: KeyRanges) -> Tensor:
        """Return `(n,)` number of negatives that are left to each anchor."""
        n, m = len(self.threshold), len(ranges.keys_of_candidates)
        count = torch.empty(n, dtype=torch.long, device=self.threshold.device)
        for rows in _chunks(n, m):
            left_out = self.above(rows, slice(0, m))
            excluded = ranges.excluded(rows, slice(0, m))
            if excluded is not None:
                left_out |= excluded
            count[rows] = m - left_out.sum(dim=1)
        return count


def _longest(rows: Tensor) -> Tensor:
    return torch.linalg.vector_norm(rows, dim=1).amax()


def _chunks(n: int, m: int) -> Iterator[slice]:
    step = max(1, _CHUNK // m)
    for first in range(0, n, step):
        yield slice(first, min(first + step, n))
