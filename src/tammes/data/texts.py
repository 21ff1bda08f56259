"""Sets of sentences in reading order, with their documents if these are known."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor
from torch.utils.data import Dataset

from tammes.data.labels import Rows, at_least_two_classes, check_names_and_labels, row_of, rows_of
from tammes.data.mapped_strings import MappedStrings


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Texts(Dataset[tuple[str, int]]):
    """Set of n sentences, in memory or in the files of a cache; item i is `(sentence, i)`.

    A document is a class: the label of a sentence is the index of its document.

    Args:
        sentences: n sentences, none of them blank.
        names: n names, which say where each sentence was found.
        labels: (n,) index of each sentence's document in `classes`; None if documents are not known.
        classes: names of the documents, without repetition; None if documents are not known.
        positions: (n,) position of each sentence in its document, from 0: adjacent sentences differ by one.
            By default, the sentences are in reading order with none missing.
        skipped: names of the files or rows that were found beside the sentences and left out.
        has_given_pairs: whether the positions are those of `triples`, which `GivenPairs` reads.

    Raises:
        ValueError: If there is no sentence, or a blank one; if the numbers of sentences, names, labels and
            positions differ; if labels come without classes, or are not indices into the classes.

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

    sentences: tuple[str, ...] | MappedStrings
    names: tuple[str, ...] | MappedStrings
    labels: Int64[Tensor, " n"] | None = None
    classes: tuple[str, ...] | None = None
    positions: Int64[Tensor, " n"] | None = None
    skipped: tuple[str, ...] = ()
    has_given_pairs: bool = False

    def __post_init__(self) -> None:
        n = len(self.sentences)
        check_names_and_labels(n, item="sentence", names=self.names, labels=self.labels, classes=self.classes)
        if not isinstance(self.sentences, MappedStrings):  # a cache holds none
            for name, sentence in zip(self.names, self.sentences, strict=True):
                if not sentence or sentence.isspace():
                    raise ValueError(f"expected words in every sentence, got an empty one: {name}")
        if self.classes is not None:
            name, times = Counter(self.classes).most_common(1)[0]
            if times > 1:
                raise ValueError(f"expected a different name for each document, got {name!r} {times} times")
        if self.positions is None:
            object.__setattr__(self, "positions", _reading_order(self.documents))
        elif self.positions.shape != (n,) or self.positions.dtype != torch.int64:
            got = f"{self.positions.dtype} {tuple(self.positions.shape)}"
            raise ValueError(f"expected positions as int64 ({n},), one for each sentence, got {got}")

    @staticmethod
    def of(sentences: Iterable[str]) -> "Texts":
        """Return sentences of no document, named by their rows.

        Example:
            >>> Texts.of(["It rained.", "We stayed in."]).names
            ('0', '1')
        """
        found = tuple(sentences)
        return Texts(sentences=found, names=tuple(map(str, range(len(found)))))

    @property
    def documents(self) -> Int64[Tensor, " n"]:
        """Document of each sentence; 0 for all sentences if documents are not known."""
        return torch.zeros(len(self), dtype=torch.int64) if self.labels is None else self.labels

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, index: int) -> tuple[str, int]:
        row = row_of(index, len(self))
        return self.sentences[row], row

    def subset(self, indices: Rows) -> "Texts":
        """Return the sentences with these indices, in this order, renumbered from 0; their positions stay."""
        rows = rows_of(indices, len(self)).tolist()
        assert self.positions is not None
        return Texts(
            sentences=_taken(self.sentences, rows),
            names=_taken(self.names, rows),
            labels=None if self.labels is None else self.labels[rows],
            classes=self.classes,
            positions=self.positions[rows],
            skipped=self.skipped,
            has_given_pairs=self.has_given_pairs,
        )

    def required_labels(self) -> Int64[Tensor, " n"]:
        """Return the labels, for uses that need them.

        Raises:
            ValueError: If the documents are not known, or there is only one.
        """
        if self.labels is None:
            raise ValueError(
                "expected sentences of known documents, got sentences without labels; put each document "
                "into a separate file, or name a table's column of documents as `label_column`"
            )
        return at_least_two_classes(self.labels, self.classes, item="sentence", kinds="documents")

    def __repr__(self) -> str:
        labels = "no documents" if self.classes is None else f"{len(self.classes)} documents"
        return f"Texts({len(self)} sentences, {labels})"


def _taken(strings: tuple[str, ...] | MappedStrings, rows: list[int]) -> tuple[str, ...] | MappedStrings:
    return strings.take(rows) if isinstance(strings, MappedStrings) else tuple(strings[row] for row in rows)


def _reading_order(documents: Int64[Tensor, " n"]) -> Int64[Tensor, " n"]:
    """Return the position of each row among the rows of its document."""
    order = documents.argsort(stable=True)
    sizes = torch.bincount(documents)
    starts = sizes.cumsum(0) - sizes
    positions = torch.empty_like(order)
    positions[order] = torch.arange(len(order)) - starts.repeat_interleave(sizes)
    return positions
