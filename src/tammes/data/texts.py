"""Sentences to learn from, in reading order, with the documents they come from where those are known."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor
from torch.utils.data import Dataset


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Texts(Dataset[tuple[str, int]]):
    """n sentences; item i is `(sentence, i)`.

    A document is a class: its sentences have its number as their label. Sentences are held in memory.

    Args:
        sentences: the sentences, each with something in it beside space.
        names: a name for each sentence, where it was found.
        labels: int64 (n,), the document of each sentence, an index into `classes`; None where the
            documents are not known.
        classes: the names of the documents, each once; None where they are not known.
        positions: int64 (n,), the place of each sentence in its document, from 0: sentences are adjacent
            where it differs by one. Left out, the sentences are taken to be in reading order, none missing.
        skipped: what was found beside the sentences and left out, by name.

    Raises:
        ValueError: If there is no sentence, or an empty one; if there is not one name, label and position
            for each; if labels come without classes, or are no indices into them.

    Example:
        >>> texts = Texts(
        ...     sentences=("It rained.", "We stayed in.", "Once upon a time."),
        ...     names=("a:1", "a:2", "b:1"),
        ...     labels=torch.tensor([0, 0, 1]),
        ...     classes=("a", "b"),
        ... )
        >>> texts, texts.positions
        (Texts(3 sentences, 2 documents), tensor([0, 1, 0]))
        >>> texts.subset([1]).sentences
        ('We stayed in.',)
    """

    sentences: tuple[str, ...]
    names: tuple[str, ...]
    labels: Int64[Tensor, " n"] | None = None
    classes: tuple[str, ...] | None = None
    positions: Int64[Tensor, " n"] | None = None
    skipped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.sentences)
        if n == 0:
            raise ValueError("expected at least one sentence, got none")
        if len(self.names) != n:
            raise ValueError(f"expected a name for each of {n} sentences, got {len(self.names)}")
        for name, sentence in zip(self.names, self.sentences, strict=True):
            if not sentence or sentence.isspace():
                raise ValueError(f"expected words in every sentence, got an empty one: {name}")
        if (self.labels is None) != (self.classes is None):
            raise ValueError("expected labels and classes together, or neither; got only one of them")
        if self.labels is not None and self.classes is not None:
            self._check_labels(self.labels, self.classes)
        if self.positions is None:
            object.__setattr__(self, "positions", _reading_order(self.documents))
        elif self.positions.shape != (n,) or self.positions.dtype != torch.int64:
            got = f"{self.positions.dtype} {tuple(self.positions.shape)}"
            raise ValueError(f"expected positions as int64 ({n},), one for each sentence, got {got}")

    def _check_labels(self, labels: Tensor, classes: tuple[str, ...]) -> None:
        n = len(self)
        if labels.shape != (n,) or labels.dtype != torch.int64:
            got = f"{labels.dtype} {tuple(labels.shape)}"
            raise ValueError(f"expected labels as int64 ({n},), one for each sentence, got {got}")
        least, most = (int(end) for end in labels.aminmax())
        if least < 0 or most >= len(classes):
            raise ValueError(
                f"expected labels from 0 to {len(classes) - 1}, indices into the classes; "
                f"got labels from {least} to {most}"
            )
        name, times = Counter(classes).most_common(1)[0]
        if times > 1:
            raise ValueError(f"expected a name of its own for each document, got {name!r} {times} times")

    @property
    def documents(self) -> Int64[Tensor, " n"]:
        """The document of each sentence, int64 (n,); where none is known, all are of one document, 0."""
        return torch.zeros(len(self), dtype=torch.int64) if self.labels is None else self.labels

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, index: int) -> tuple[str, int]:
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"expected an index from 0 to {n - 1}, got {index}")
        row = index % n
        return self.sentences[row], row

    def subset(self, indices: Sequence[int]) -> "Texts":
        """These sentences alone, in this order, numbered anew from 0; their positions stay."""
        rows = [range(len(self))[index] for index in indices]
        assert self.positions is not None
        return Texts(
            sentences=tuple(self.sentences[row] for row in rows),
            names=tuple(self.names[row] for row in rows),
            labels=None if self.labels is None else self.labels[rows],
            classes=self.classes,
            positions=self.positions[rows],
            skipped=self.skipped,
        )

    def required_labels(self) -> Int64[Tensor, " n"]:
        """The labels, int64 (n,), for work that cannot do without them.

        Raises:
            ValueError: If the documents are not known, or there is only one.
        """
        if self.labels is None:
            raise ValueError(
                "expected sentences of known documents, got sentences without labels; put each document "
                "into a file of its own, or name the column that tells a table's documents"
            )
        if bool((self.labels == self.labels[0]).all()):
            assert self.classes is not None
            name = self.classes[int(self.labels[0])]
            raise ValueError(f"expected at least two documents, got {len(self)} sentences of {name!r} alone")
        return self.labels

    def __repr__(self) -> str:
        labels = "no documents" if self.classes is None else f"{len(self.classes)} documents"
        return f"Texts({len(self)} sentences, {labels})"


def _reading_order(documents: Tensor) -> Tensor:
    """The place of each row among the rows of its document."""
    order = documents.argsort(stable=True)
    sizes = torch.bincount(documents)
    starts = sizes.cumsum(0) - sizes
    positions = torch.empty_like(order)
    positions[order] = torch.arange(len(order)) - starts.repeat_interleave(sizes)
    return positions
