"""Documents as classes: the sentences to learn from, the sentences to be tried on, and the words between."""

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
"""Sentences below which a document is left out: four to learn from are two pairs, and one is to try."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sentences:
    """Tokenized sentences, those of a class side by side and the classes in order.

    Args:
        tokens: n sentences.
        labels: (n,), ascending.
    """

    tokens: Tokens
    labels: Int[Tensor, " n"]

    def __len__(self) -> int:
        return len(self.labels)

    def of_first(self, classes: int) -> "Sentences":
        """The sentences of the first so many classes."""
        n = int(torch.searchsorted(self.labels, classes))
        offsets = self.tokens.offsets[: n + 1]
        tokens = Tokens(self.tokens.ids[: int(offsets[-1])], offsets)
        return Sentences(tokens=tokens, labels=self.labels[:n])

    def to(self, device: torch.device) -> "Sentences":
        """The same on another device."""
        return Sentences(tokens=self.tokens.to(device), labels=self.labels.to(device))


@dataclass(frozen=True, kw_only=True, eq=False)
class Corpus:
    """The data of the study.

    Args:
        name: what it is called beside every number.
        digest: tells one content, split and vocabulary from another.
        classes: how many documents there are.
        left_out: how many documents had too few sentences.
        vocabulary: how many words are known, the unknown one included.
        train: four fifths of each document's sentences.
        test: the others.
    """

    name: str
    digest: str
    classes: int
    left_out: int
    vocabulary: int
    train: Sentences
    test: Sentences

    def pairs_of_first(self, classes: int) -> int:
        """How many disjoint pairs of sentences to learn from the first so many classes have."""
        return int((self.train.of_first(classes).labels.bincount() // 2).sum())

    def of_first(self, classes: int) -> tuple[Sentences, Sentences]:
        """To learn from and to be tried on, of the first so many classes.

        Raises:
            ValueError: For more classes than there are.
        """
        if not 2 <= classes <= self.classes:
            raise ValueError(
                f"expected from 2 to {self.classes} classes, as many as {self.name} has, got {classes}"
            )
        return self.train.of_first(classes), self.test.of_first(classes)


def load_corpus(path: Path, *, seed: int, minimum_count: int = MINIMUM_COUNT) -> Corpus:
    """Read documents, and split the sentences of each at random.

    Args:
        path: what `texts` reads documents from: a folder with a file for each, or a table.
        seed: of the split.
        minimum_count: how often a word must occur in the sentences to learn from.

    Raises:
        ValueError: As `texts` and `Vocabulary.of` do, and where fewer than two documents are left.
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
