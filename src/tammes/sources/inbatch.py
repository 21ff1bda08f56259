"""The views of one batch as anchors and candidates."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from tammes.pairs import Pairs
from tammes.sources.views import stacked


@dataclass(frozen=True, kw_only=True)
class InBatch:
    """Stacks the views of a batch: every row is an anchor, every other row a candidate.

    Row r of every view shows the same thing, and is a positive of row r of the other views; rows that
    share an id are positives as well.

    Example:
        >>> import torch
        >>> pairs = InBatch()(torch.randn(8, 16), torch.randn(8, 16))
        >>> pairs.anchors.shape, pairs.positives().count.tolist()[:3]
        (torch.Size([16, 16]), [1, 1, 1])
    """

    def __call__(self, *views: Tensor, ids: Tensor | None = None, labels: Tensor | None = None) -> Pairs:
        """The pairs of `views`.

        Args:
            views: one or more tensors `(batch, d)`, floating point, of one shape.
            ids: `(batch,)` integers; by default row r has id r.
            labels: `(batch,)` integers, for selections that need classes.

        Raises:
            ValueError: no view, views of different shape or of no floating type, fewer than two pairs,
                ids or labels of another length.
        """
        pairs = stacked(views, ids, labels)
        if len(views[0]) < 2:
            raise ValueError(f"expected at least two pairs, got {len(views[0])}: one has no negative")
        return pairs
