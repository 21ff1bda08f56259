"""Tasks that measure encoders of sentences: classes, pairs, scores of pairs, and retrieval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tammes.checks import check_finite_rows, check_indices, check_shape

Embed = Callable[[Sequence[str]], Any]
"""From n sentences to their features: a tensor or an array (n, features)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SentenceClasses:
    """Sentences with a class each, classified in folds, or on a test set where the task has one.

    Args:
        name: name of the task.
        sentences: n sentences.
        labels: (n,) index of each sentence's class in `classes`.
        classes: names of the classes.
        tested: test sentences; empty for a task without a test set.
        tested_labels: (m,) index of each test sentence's class.

    Raises:
        ValueError: numbers that do not match, fewer than two classes, or a class without a sentence.

    Example:
        >>> task = SentenceClasses(name="CR", sentences=("good", "bad"), labels=torch.tensor([1, 0]),
        ...     classes=("negative", "positive"))
        >>> task.corpus
        ('good', 'bad')
    """

    name: str
    sentences: tuple[str, ...]
    labels: Int64[Tensor, " n"]
    classes: tuple[str, ...]
    tested: tuple[str, ...] = ()
    tested_labels: Int64[Tensor, " m"] | None = None

    def __post_init__(self) -> None:
        _check_labels(self.name, self.labels, len(self.sentences), len(self.classes))
        if self.tested:
            assert self.tested_labels is not None
            check_shape(f"test labels of {self.name}", self.tested_labels.shape, (len(self.tested),))
            check_indices(f"test labels of {self.name}", self.tested_labels, len(self.classes))

    @property
    def corpus(self) -> tuple[str, ...]:
        """Sentences to which features without labels may be fitted: those of the training."""
        return self.sentences


@dataclass(frozen=True, kw_only=True, eq=False)
class SentencePairs:
    """Pairs of sentences that mean the same (1) or not (0), classified on a test set.

    Args:
        name: name of the task.
        pairs: n pairs of sentences.
        labels: (n,) whether the two mean the same.
        tested: m test pairs.
        tested_labels: (m,) whether the two mean the same.

    Raises:
        ValueError: numbers that do not match, pairs of one kind only, or no test pair.

    Example:
        >>> task = SentencePairs(name="MSRP", pairs=(("a b", "b a"), ("a", "c")), labels=torch.tensor([1, 0]),
        ...     tested=(("a", "a"),), tested_labels=torch.tensor([1]))
        >>> task.corpus
        ('a b', 'b a', 'a', 'c')
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    labels: Int64[Tensor, " n"]
    tested: tuple[tuple[str, str], ...]
    tested_labels: Int64[Tensor, " m"]

    def __post_init__(self) -> None:
        _check_labels(self.name, self.labels, len(self.pairs), 2)
        if not self.tested:
            raise ValueError(f"{self.name}: expected at least one test pair, got none")
        check_shape(f"test labels of {self.name}", self.tested_labels.shape, (len(self.tested),))
        check_indices(f"test labels of {self.name}", self.tested_labels, 2)

    @property
    def corpus(self) -> tuple[str, ...]:
        """Sentences to which features without labels may be fitted: those of the training."""
        return tuple(sentence for pair in self.pairs for sentence in pair)


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredPairs:
    """Pairs of sentences with the similarity that people gave them (STS).

    Args:
        name: name of the task.
        pairs: n pairs of sentences.
        scores: (n,) similarity of each pair, on any scale.

    Raises:
        ValueError: fewer than three pairs, numbers that do not match, equal scores, or one that is NaN or
            infinite.

    Example:
        >>> pairs = (("a b", "b a"), ("a b", "a"), ("a", "c"))
        >>> len(ScoredPairs(name="STS", pairs=pairs, scores=torch.tensor([5.0, 3.0, 0.0])).corpus)
        6
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    scores: Float[Tensor, " n"]

    def __post_init__(self) -> None:
        check_shape(f"scores of {self.name}", self.scores.shape, (len(self.pairs),))
        if not bool(self.scores.isfinite().all()):
            row = int(self.scores.isfinite().logical_not().nonzero()[0])
            raise ValueError(
                f"{self.name}: expected finite scores, got {float(self.scores[row])} in row {row}"
            )
        if len(self.pairs) < 3 or bool((self.scores == self.scores[0]).all()):
            raise ValueError(
                f"{self.name}: a correlation needs three pairs with different scores at least, got "
                f"{len(self.pairs)} pairs with {len(self.scores.unique())} scores"
            )

    @property
    def corpus(self) -> tuple[str, ...]:
        """Sentences to which features without labels may be fitted: all of them."""
        return tuple(sentence for pair in self.pairs for sentence in pair)


@dataclass(frozen=True, kw_only=True, eq=False)
class Retrieval:
    """Queries, and the documents that answer them.

    Args:
        name: name of the task.
        queries: q queries.
        documents: n documents.
        relevance: for each query the gain of each relevant document, by the document's row; gains are
            positive.

    Raises:
        ValueError: no query, a query without a relevant document, a gain that is NaN or infinite, or a row
            that no document has.

    Example:
        >>> task = Retrieval(name="animals", queries=("purrs",), documents=("cats purr", "dogs bark"),
        ...     relevance=({0: 1.0},))
        >>> task.corpus
        ('cats purr', 'dogs bark')
    """

    name: str
    queries: tuple[str, ...]
    documents: tuple[str, ...]
    relevance: tuple[Mapping[int, float], ...]

    def __post_init__(self) -> None:
        check_shape(f"relevance of {self.name}", (len(self.relevance),), (len(self.queries),))
        if not self.queries:
            raise ValueError(
                f"{self.name} has no query with a relevant document: there is nothing to measure"
            )
        for query, relevant in zip(self.queries, self.relevance, strict=True):
            if not relevant or min(relevant.values()) <= 0:
                raise ValueError(
                    f"{self.name}: expected a relevant document for each query, got none for {query!r}"
                )
            if not all(map(math.isfinite, relevant.values())):
                raise ValueError(f"{self.name}: expected finite gains, got others for {query!r}")
            check_indices(f"documents of {self.name}", np.array(list(relevant)), len(self.documents))

    @property
    def corpus(self) -> tuple[str, ...]:
        """Sentences to which features without labels may be fitted: the documents."""
        return self.documents


Task = SentenceClasses | SentencePairs | ScoredPairs | Retrieval


def features_of(embed: Embed, sentences: Sequence[str]) -> Float[Tensor, "n features"]:
    """Return what an encoder makes of sentences, checked, as float32 on the CPU; equal ones once.

    Raises:
        ValueError: not one row for each sentence, NaN or infinity.

    Example:
        >>> features_of(lambda sentences: [[len(each)] for each in sentences], ["a", "bb", "a"]).tolist()
        [[1.0], [2.0], [1.0]]
    """
    rows = {sentence: row for row, sentence in enumerate(dict.fromkeys(sentences))}
    found = torch.as_tensor(embed(list(rows))).detach().float().cpu()
    check_shape("the features, a row for each sentence,", found.shape, (len(rows), None))
    check_finite_rows("features", found)
    return found[[rows[sentence] for sentence in sentences]]


def _check_labels(name: str, labels: Tensor, rows: int, classes: int) -> None:
    check_shape(f"labels of {name}", labels.shape, (rows,))
    check_indices(f"labels of {name}", labels, classes)
    present = len(labels.unique())
    if present < max(classes, 2):
        raise ValueError(f"{name}: expected sentences of {max(classes, 2)} classes, got {present}")
