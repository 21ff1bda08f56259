"""Documents of adjacent sentences as latent classes: their parts, batches, and collisions in these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tammes.data import Texts
from tammes.positives import Adjacent
from tammes.training.pairing import Pairing

HELD_OUT = 0.1
"""Last part of each document, which no training reads."""
MOST_LEARNED, MOST_TESTED = 200, 50
"""Sentences of a document by which its mean is known, and on which it is tested."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SentenceCorpus:
    """Documents in two parts: sentences that are trained on, and later ones that are not.

    Args:
        train: sentences in reading order, to train on.
        learned: some of them, by which the means of the documents are known.
        test: held-out sentences.
    """

    train: Texts
    learned: Texts
    test: Texts

    @staticmethod
    def of(books: Texts, *, sentences: int | None) -> SentenceCorpus:
        """Hold out the last tenth of each document.

        Args:
            books: two documents or more.
            sentences: first sentences of each document that are taken; None for all.

        Raises:
            ValueError: fewer than two documents, or too short ones to hold out any sentence.
        """
        if sentences is not None:
            assert books.positions is not None
            books = books.subset((books.positions < sentences).nonzero()[:, 0].tolist())
        labels = books.required_labels()
        train: list[Tensor] = []
        learned: list[Tensor] = []
        test: list[Tensor] = []
        for rows in labels.argsort(stable=True).split(torch.bincount(labels).tolist()):
            kept = len(rows) - int(HELD_OUT * len(rows))
            train.append(rows[:kept])
            learned.append(_spread(rows[:kept], MOST_LEARNED))
            test.append(_spread(rows[kept:], MOST_TESTED))
        if not any(map(len, test)):
            raise ValueError(
                f"expected documents of {round(1 / HELD_OUT)} sentences or more, the last tenth of which is "
                f"held out, got {books!r}"
            )
        parts = (books.subset(torch.cat(rows).tolist()) for rows in (train, learned, test))
        return SentenceCorpus(**dict(zip(("train", "learned", "test"), parts, strict=True)))

    @property
    def documents(self) -> int:
        """Number of documents."""
        assert self.train.classes is not None
        return len(self.train.classes)

    def batches(
        self, run: int, *, batch_size: int, seed: int, epochs: int = 1
    ) -> Iterator[Int64[Tensor, " batch"]]:
        """Return the rows of each batch of a training.

        Args:
            run: contiguous sentences of a batch; 0 for the whole batch.
            batch_size: sentences of a batch.
            seed: random seed of the training.
            epochs: number of epochs.
        """
        pairing = Pairing.of(self.train, Adjacent(run=run or None), seed=seed, batch_size=batch_size)
        for epoch in range(epochs):
            rows = pairing.epoch(epoch)[:, 0]
            yield from rows[: len(rows) // batch_size * batch_size].split(batch_size)

    def colliding(self, run: int, counts: Sequence[int], *, batch_size: int, seed: int) -> tuple[float, ...]:
        """Return the share of anchors that k random negatives of the first epoch's batches collide with.

            mean over anchors of  1 - C(m - c, k) / C(m, k) ,

        where c of the m candidates of an anchor are of its document: drawn without replacement, as in
        training, and not independently, as in the theory.

        Args:
            run: contiguous sentences of a batch; 0 for the whole batch.
            counts: values of k.
            batch_size: sentences of a batch.
            seed: random seed of the training.
        """
        order = Adjacent().reading_order(self.train.documents, self.train.positions)
        k = torch.tensor(counts, dtype=torch.float64)
        total, anchors = torch.zeros(len(counts), dtype=torch.float64), 0
        for rows in self.batches(run, batch_size=batch_size, seed=seed):
            document = self.train.documents[rows]
            away = (order[rows][:, None] - order[rows]).abs() > 1  # neither itself nor a positive
            has_positive = away.sum(dim=1) < batch_size - 1
            same = ((document[:, None] == document) & away).sum(dim=1)[has_positive]
            most = away.sum(dim=1)[has_positive]
            total += (1 - _none_of(same.double(), most.double(), k)).sum(dim=0)
            anchors += len(same)
        return tuple((total / max(anchors, 1)).tolist())

    def fewest_true(self, run: int, *, batch_size: int, seed: int, epochs: int) -> int:
        """Return the smallest number of sentences of other documents that an anchor has in its batch."""
        largest = [
            int(torch.bincount(self.train.documents[rows]).max())
            for rows in self.batches(run, batch_size=batch_size, seed=seed, epochs=epochs)
        ]
        return batch_size - max(largest, default=batch_size)


def _spread(rows: Tensor, most: int) -> Tensor:
    """Return the rows, or `most` of them at equal distances."""
    return rows if len(rows) <= most else rows[torch.arange(most) * len(rows) // most]


def _none_of(
    same: Float[Tensor, " anchors"], most: Float[Tensor, " anchors"], k: Float[Tensor, " counts"]
) -> Float[Tensor, "anchors counts"]:
    """Return the probability that k draws without replacement hit none of the `same` among `most`."""
    same, most = same[:, None], most[:, None]
    left = most - same
    logs = (left + 1).lgamma() - (left - k + 1).clamp(min=1).lgamma()
    logs = logs - (most + 1).lgamma() + (most - k + 1).clamp(min=1).lgamma()
    return torch.where(left >= k, logs.exp(), 0.0)
