"""The training data D_t: pairs of every run, kept or replaced from round to round."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from tammes.latent.streams import Streams


@dataclass(frozen=True, kw_only=True, eq=False)
class DataSet:
    """Pairs of every run, with the negatives that were drawn for them.

    Attributes:
        anchors: x of each pair.
        positives: x+ of each pair.
        negatives: x- drawn for each pair, or None where the other anchors of a batch are the negatives.
        labels: class of each anchor, or None.

    Example:
        >>> pairs = DataSet(anchors=torch.zeros(2, 8, 3), positives=torch.ones(2, 8, 3))
        >>> len(pairs.joined(pairs)), len(pairs.batch(5, Streams.of((0, 1), "batches")))
        (16, 5)
    """

    anchors: Float[Tensor, "runs n observed"]
    positives: Float[Tensor, "runs n observed"]
    negatives: Float[Tensor, "runs n observed"] | None = None
    labels: Int[Tensor, "runs n"] | None = None

    def __len__(self) -> int:
        return self.anchors.shape[1]

    def joined(self, others: DataSet) -> DataSet:
        """Return these pairs of every run followed by the others."""

        def both(first: Tensor | None, second: Tensor | None) -> Tensor | None:
            return None if first is None or second is None else torch.cat([first, second], dim=1)

        return DataSet(
            anchors=torch.cat([self.anchors, others.anchors], dim=1),
            positives=torch.cat([self.positives, others.positives], dim=1),
            negatives=both(self.negatives, others.negatives),
            labels=both(self.labels, others.labels),
        )

    def batch(self, size: int, streams: Streams) -> DataSet:
        """Draw `size` pairs of every run with replacement; return all pairs if there are no more."""
        if size >= len(self):
            return self
        rows = streams.integers(len(self), size)
        return DataSet(
            anchors=batched_gather(self.anchors, rows),
            positives=batched_gather(self.positives, rows),
            negatives=None if self.negatives is None else batched_gather(self.negatives, rows),
            labels=None if self.labels is None else batched_gather(self.labels, rows),
        )


def batched_gather(
    values: Shaped[Tensor, "runs n *rest"], rows: Int[Tensor, "runs k"]
) -> Shaped[Tensor, "runs k *rest"]:
    """Return the given rows of every run.

    Example:
        >>> batched_gather(torch.tensor([[5, 6, 7], [8, 9, 10]]), torch.tensor([[0, 0], [2, 1]])).tolist()
        [[5, 5], [10, 9]]
    """
    return values.take_along_dim(rows.view(*rows.shape, *[1] * (values.ndim - 2)), dim=1)
