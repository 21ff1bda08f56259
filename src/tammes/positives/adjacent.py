"""Positives from a window of reading order: the sentences before and after a sentence."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor

from tammes.checks import check_integer
from tammes.positives.neighbors import Neighbors
from tammes.positives.whole_documents import whole_documents


@dataclass(frozen=True, kw_only=True)
class Adjacent:
    """The sentences at most `window` places before or after a sentence of a document (quick-thoughts).

    A batch is made of runs of contiguous sentences, and every sentence of it is an anchor: its positives are
    those of its window that are in the batch, all other sentences of the batch are its negatives. Documents
    stand one after the other, in another order in each epoch, so that a run may end one document and begin
    the next.

    With `whole_documents` a batch holds whole documents from anywhere, as many as find room in the batch
    size, so that no positive is lost at its edge; batches then differ in size, and all are more than half
    full. Only a document longer than a batch is cut, elsewhere in each epoch. Every sentence that has a
    positive is visited once in an epoch, but for at most one batch that is not half full. The number of
    batches is that of the first epoch: another epoch leaves out its smallest batches if it has more, and
    begins again if it has fewer.

    Args:
        window: Largest distance of a positive in sentences.
        run: Contiguous sentences of a batch; None for the whole batch, as in the paper. Shorter runs make
            most negatives sentences of other documents.
        whole_documents: Whether a batch is made of whole documents, instead of runs.

    Raises:
        ValueError: a window below 1, a run that is not longer than the window; whole documents and a run.

    Source: Logeswaran and Lee, An efficient framework for learning sentence representations, 2018, sec. 3.

    Example:
        >>> documents = torch.tensor([0, 0, 0, 0, 1, 1, 1, 2])
        >>> Adjacent(run=4).rows(documents, seed=0, run=4)
        tensor([4, 5, 6, 0, 1, 2, 3])
        >>> Adjacent().unpaired(documents)
        tensor([7])
        >>> whole = Adjacent(whole_documents=True)
        >>> [batch.tolist() for batch in whole.batches(documents, seed=0, size=6)]
        [[0, 1, 2, 3]]
    """

    window: int = 1
    run: int | None = None
    whole_documents: bool = False

    def __post_init__(self) -> None:
        check_integer("window", self.window, reason="it counts the sentences on each side")
        if self.run is not None:
            check_integer(
                "run", self.run, minimum=self.window + 1, reason="it holds a sentence and those of its window"
            )
        if not isinstance(self.whole_documents, bool):
            raise ValueError(f"whole_documents must be True or False, got {self.whole_documents!r}")
        if self.whole_documents and self.run is not None:
            raise ValueError(
                f"a batch is made of whole documents or of runs, got whole_documents and run={self.run}: "
                "choose one of them"
            )

    def rows(
        self,
        documents: Int64[Tensor, " n"],
        *,
        seed: int,
        run: int,
        positions: Int64[Tensor, " n"] | None = None,
    ) -> Int64[Tensor, " rows"]:
        """Return the rows of one epoch, run after run: all that have a positive, each once.

        Args:
            documents: document of each sentence.
            seed: random seed of the epoch.
            run: contiguous sentences of a batch.
            positions: position of each sentence in its document; None where the rows are in reading order
                without gaps.

        Raises:
            ValueError: no sentence has a positive, or the window is longer than every document.
        """
        order = self._readable(documents, positions)
        generator = torch.Generator().manual_seed(seed)
        names, inverse = documents[order].unique(return_inverse=True)
        # Documents in random order; stable, so that each remains in reading order.
        order = order[torch.randperm(len(names), generator=generator)[inverse].argsort(stable=True)]
        # Runs begin elsewhere in each epoch, so that every pair of neighbors meets in some epoch.
        order = order.roll(int(torch.randint(run, (), generator=generator)))
        whole = len(order) // run
        runs = order[: whole * run].view(whole, run)[torch.randperm(whole, generator=generator)]
        return torch.cat([runs.flatten(), order[whole * run :]])

    def batches(
        self,
        documents: Int64[Tensor, " n"],
        *,
        seed: int,
        size: int,
        positions: Int64[Tensor, " n"] | None = None,
    ) -> tuple[Int64[Tensor, " rows"], ...]:
        """Return the rows of each batch of one epoch, made of whole documents.

        Args:
            documents: document of each sentence.
            seed: random seed of the epoch.
            size: sentences of the largest batch, at least three times as many as the window and one.
            positions: position of each sentence in its document; None where the rows are in reading order
                without gaps.

        Raises:
            ValueError: no sentence has a positive, the window is longer than every document, or a smaller
                size.
        """
        order = self._readable(documents, positions)
        lengths = documents[order].unique_consecutive(return_counts=True)[1]
        places = whole_documents(lengths, size=size, shortest=self.window + 1, seed=seed)
        return tuple(order[each] for each in places)

    def pairs(
        self, documents: Int64[Tensor, " n"], *, seed: int, positions: Int64[Tensor, " n"] | None = None
    ) -> Int64[Tensor, "pairs 2"]:
        """Return disjoint pairs of neighbors, to look at; training has more positives than these."""
        return Neighbors().pairs(documents, seed=seed, positions=positions)

    def reading_order(
        self, documents: Int64[Tensor, " n"], positions: Int64[Tensor, " n"] | None = None
    ) -> Int64[Tensor, " n"]:
        """Return a number for each sentence: those of one window differ by at most `window`, others by more.

        Example:
            >>> Adjacent(window=2).reading_order(torch.tensor([0, 0, 1]), torch.tensor([0, 1, 0]))
            tensor([0, 1, 4])
        """
        places = _places(documents) if positions is None else positions
        return documents * (int(places.max()) + self.window + 1) + places

    def unpaired(
        self, documents: Int64[Tensor, " n"], *, positions: Int64[Tensor, " n"] | None = None
    ) -> Int64[Tensor, " rows"]:
        """Return the rows that have no positive in any batch."""
        ids = self.reading_order(documents, positions)
        order = ids.argsort()
        near = torch.nn.functional.pad(ids[order].diff() <= self.window, (1, 1))
        return order[~(near[1:] | near[:-1])].sort().values

    def _readable(self, documents: Tensor, positions: Tensor | None) -> Tensor:
        """Return the rows that have a positive, in reading order."""
        if len(documents) == 0:
            raise ValueError("expected documents of several sentences, got no sentence: give some")
        ids = self.reading_order(documents, positions)
        alone = self.unpaired(documents, positions=positions)
        if len(alone) == len(documents):
            raise ValueError(
                f"expected documents of several sentences, but none of {len(documents)} sentences has "
                f"another of its document at most {self.window} before or after it: put the sentences of a "
                "document into one file, one after the other, or choose positives=SameInstance()"
            )
        longest = int(torch.bincount(documents).max())
        if self.window >= longest:
            raise ValueError(
                f"a window of {self.window} sentences reaches over every document (the longest has "
                f"{longest}), whose sentences would all be positives: choose a window below {longest}, or "
                "positives=SameClass()"
            )
        paired = torch.ones(len(documents), dtype=torch.bool)
        paired[alone] = False
        order = ids.argsort()
        return order[paired[order]]


def _places(documents: Int64[Tensor, " n"]) -> Int64[Tensor, " n"]:
    """Return the place of each row among the rows of its document."""
    order = documents.argsort(stable=True)
    sizes = torch.bincount(documents)
    places = torch.empty_like(order)
    places[order] = torch.arange(len(order)) - (sizes.cumsum(0) - sizes).repeat_interleave(sizes)
    return places
