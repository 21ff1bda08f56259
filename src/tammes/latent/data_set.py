"""The training data D_t: what is kept from round to round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.latent.rows import picked
from tammes.latent.streams import Streams


@dataclass(frozen=True, kw_only=True, eq=False)
class DataSet:
    """Pairs of every run, with the negatives that were drawn for them.

    Attributes:
        anchors: x, (runs, n, observed).
        positives: x+, (runs, n, observed).
        negatives: x-, one for each pair, or None where the other anchors of a batch are the negatives.
        labels: (runs, n), the classes of the anchors, or None.

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
        """These pairs of every run, and then the others."""
        return DataSet(
            anchors=torch.cat([self.anchors, others.anchors], dim=1),
            positives=torch.cat([self.positives, others.positives], dim=1),
            negatives=_both(self.negatives, others.negatives),
            labels=_both(self.labels, others.labels),
        )

    def batch(self, size: int, streams: Streams) -> DataSet:
        """`size` pairs of every run, drawn with replacement; all, as they are, if there are no more."""
        if size >= len(self):
            return self
        rows = streams.integers(len(self), size)
        return DataSet(
            anchors=picked(self.anchors, rows),
            positives=picked(self.positives, rows),
            negatives=None if self.negatives is None else picked(self.negatives, rows),
            labels=None if self.labels is None else picked(self.labels, rows),
        )


class Memory(ABC):
    """What D_{t+1} keeps of D_t."""

    @abstractmethod
    def __call__(self, kept: DataSet | None, new: DataSet) -> DataSet:
        """D_{t+1} from D_t (None at first) and the pairs of this round."""


@dataclass(frozen=True, kw_only=True)
class Fresh(Memory):
    """Nothing: D_{t+1} is what this round has drawn.

    Source: Weber and Bachman (2022), Alg. 2, line 11.

    Example:
        >>> pairs = DataSet(anchors=torch.zeros(2, 8, 3), positives=torch.ones(2, 8, 3))
        >>> len(Fresh()(pairs, pairs))
        8
    """

    def __call__(self, kept: DataSet | None, new: DataSet) -> DataSet:
        """See `Memory`."""
        return new


@dataclass(frozen=True, kw_only=True)
class Growing(Memory):
    """Everything.

    Source: Weber and Bachman (2022), Alg. 1, line 11.

    Example:
        >>> pairs = DataSet(anchors=torch.zeros(2, 8, 3), positives=torch.ones(2, 8, 3))
        >>> len(Growing()(pairs, pairs))
        16
    """

    def __call__(self, kept: DataSet | None, new: DataSet) -> DataSet:
        """See `Memory`."""
        return new if kept is None else kept.joined(new)


def _both(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    return None if first is None or second is None else torch.cat([first, second], dim=1)
