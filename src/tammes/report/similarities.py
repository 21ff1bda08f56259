"""Cosine similarities of positive pairs and of other pairs."""

from dataclasses import dataclass

import numpy as np

from tammes.report.scores import Floats, Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Similarities:
    """Cosine similarities of two kinds of pairs.

    Args:
        together: (pairs,) similarities within a class or, without labels, of two views of one picture.
        apart: (pairs,) similarities between classes or, without labels, of different pictures.

    Example:
        >>> Similarities(together=np.array([0.9, 0.2]), apart=np.array([0.1, 0.5])).separation
        0.75
    """

    together: Floats
    apart: Floats

    @property
    def separation(self) -> float:
        """Area under the ROC curve: the chance that a pair together is more similar than one apart."""
        apart = np.sort(self.apart)
        below = np.searchsorted(apart, self.together, side="left")
        not_above = np.searchsorted(apart, self.together, side="right")
        return float(np.mean(below + not_above) / (2 * len(apart)))


def by_label(embeddings: Floats, labels: Integers) -> Similarities | None:
    """Split the pairs of a sample by whether they share the label; None unless there are pairs of both kinds.

    Args:
        embeddings: (n, dim) vectors of positive length.
        labels: (n,) labels.

    Example:
        >>> by_label(np.eye(3), np.array([0, 0, 1])).apart.tolist()
        [0.0, 0.0]
    """
    row, col = np.triu_indices(len(embeddings), k=1)
    equal = labels[row] == labels[col]
    if equal.all() or not equal.any():
        return None
    similarity = cosine(embeddings, embeddings)[row, col]
    return Similarities(together=similarity[equal], apart=similarity[~equal])


def by_view(view_a: Floats, view_b: Floats) -> Similarities:
    """Split the pairs across two views by whether both show the same picture.

    Args:
        view_a: (b, dim) embeddings of the first views.
        view_b: (b, dim) embeddings of the second views, in the same order.

    Example:
        >>> by_view(np.eye(2), np.eye(2)).together.tolist()
        [1.0, 1.0]
    """
    similarity = cosine(view_a, view_b)
    same = np.eye(len(view_a), dtype=bool)
    return Similarities(together=similarity[same], apart=similarity[~same])


def cosine(rows: Floats, columns: Floats) -> np.ndarray:
    """Return the (n, m) cosines between all rows of two matrices."""
    unit_rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    unit_columns = columns / np.linalg.norm(columns, axis=1, keepdims=True)
    return np.clip(unit_rows @ unit_columns.T, -1, 1)
