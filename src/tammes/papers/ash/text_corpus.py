"""Documents as classes: their training sentences, test sentences and vocabulary."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from tammes.data.texts_loading import texts
from tammes.data.tokens import Tokens
from tammes.data.vocabulary import Vocabulary

TRAINING_PART = 0.8
MINIMUM_COUNT = 50
"""Ash et al. (2022), sec. 4: a word that occurs less often in the training set is unknown."""
FEWEST = 5
"""Fewest sentences of a document: four for training are two pairs, and one is for testing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sentences:
    """Tokenized sentences, sorted by class.

    Args:
        tokens: n sentences.
        labels: classes, (n,), ascending.
    """

    tokens: Tokens
    labels: Int[Tensor, " n"]

    def __len__(self) -> int:
        return len(self.labels)

    def of_first(self, classes: int) -> "Sentences":
        """Return the sentences of the first `classes` classes."""
        n = int(torch.searchsorted(self.labels, classes))
        offsets = self.tokens.offsets[: n + 1]
        tokens = Tokens(self.tokens.ids[: int(offsets[-1])], offsets)
        return Sentences(tokens=tokens, labels=self.labels[:n])

    def to(self, device: torch.device) -> "Sentences":
        """Return the sentences on another device."""
        return Sentences(tokens=self.tokens.to(device), labels=self.labels.to(device))


@dataclass(frozen=True, kw_only=True, eq=False)
class Corpus:
    """Data of the study.

    Args:
        name: name beside every number.
        digest: hash of content, split and vocabulary.
        classes: number of documents.
        left_out: number of documents with too few sentences.
        vocabulary: number of known words, the unknown one included.
        train: four fifths of each document's sentences.
        test: remaining sentences.
    """

    name: str
    digest: str
    classes: int
    left_out: int
    vocabulary: int
    train: Sentences
    test: Sentences

    def pairs_of_first(self, classes: int) -> int:
        """Return how many disjoint pairs of training sentences the first `classes` classes have."""
        return int((self.train.of_first(classes).labels.bincount() // 2).sum())

    def of_first(self, classes: int) -> tuple[Sentences, Sentences]:
        """Return the training and the test sentences of the first `classes` classes.

        Raises:
            ValueError: more classes than there are.
        """
        if not 2 <= classes <= self.classes:
            raise ValueError(
                f"expected from 2 to {self.classes} classes, as many as {self.name} has, got {classes}"
            )
        return self.train.of_first(classes), self.test.of_first(classes)


def load_corpus(path: Path, *, seed: int, minimum_count: int = MINIMUM_COUNT) -> Corpus:
    """Read documents, and split the sentences of each at random.

    Args:
        path: folder with a file for each document, or table, as `texts` reads it.
        seed: random seed of the split.
        minimum_count: fewest occurrences of a known word in the training sentences.

    Raises:
        ValueError: texts that cannot be read, or fewer than two documents with enough sentences.
    """
    found = texts(path)
    labels = found.required_labels()
    generator = torch.Generator().manual_seed(seed)
    kept = torch.bincount(labels, minlength=int(labels.max()) + 1) >= FEWEST
    if int(kept.sum()) < 2:
        raise ValueError(
            f"expected two documents or more of {FEWEST} sentences or more in {path}, got {int(kept.sum())}"
        )
    number = kept.cumsum(0) - 1  # documents counted without those left out
    order = torch.randperm(len(labels), generator=generator)
    order = order[kept[labels[order]]]
    order = order[labels[order].argsort(stable=True)]  # by document, each in random order
    labels = number[labels[order]]
    sizes = torch.bincount(labels)
    place = torch.arange(len(order)) - (sizes.cumsum(0) - sizes)[labels]
    learned = place < (TRAINING_PART * sizes).floor().long()[labels]
    train_rows, test_rows = order[learned], order[~learned]
    known = Vocabulary.of([found.sentences[row] for row in train_rows.tolist()], minimum_count=minimum_count)
    tokens = known.encode(found.sentences)
    train = Sentences(tokens=tokens.take(train_rows), labels=labels[learned])
    test = Sentences(tokens=tokens.take(test_rows), labels=labels[~learned])
    return Corpus(
        name=path.stem if path.is_file() else path.name,
        digest=_digest(train, test),
        classes=int(kept.sum()),
        left_out=int((~kept).sum()),
        vocabulary=len(known),
        train=train,
        test=test,
    )


def _digest(*parts: Sentences) -> str:
    content = hashlib.sha256()
    for part in parts:
        for numbers in (part.tokens.ids, part.tokens.offsets, part.labels):
            content.update(numbers.numpy().tobytes())
    return content.hexdigest()[:12]
