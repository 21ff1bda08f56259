"""Cosine similarities of pairs that belong together and of pairs that do not."""

from dataclasses import dataclass

import numpy as np

from tammes.report.scores import Floats, Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Similarities:
    """Similarities of two kinds of pairs.

    Args:
        together: (pairs,) of equal class, or, without labels, of two views of one picture.
        apart: (pairs,) of different classes, or, without labels, of different pictures.
    """

    together: Floats
    apart: Floats

    @property
    def separation(self) -> float:
        """The chance that a pair that belongs together is the more similar one (area under the ROC curve).

        >>> Similarities(together=np.array([0.9, 0.2]), apart=np.array([0.1, 0.5])).separation
        0.75
        """
        apart = np.sort(self.apart)
        below = np.searchsorted(apart, self.together, side="left")
        not_above = np.searchsorted(apart, self.together, side="right")
        return float(np.mean(below + not_above) / (2 * len(apart)))


def by_label(embeddings: Floats, labels: Integers) -> Similarities | None:
    """Split the pairs of a sample by whether they share the label; None unless there are pairs of both kinds.

    Args:
        embeddings: (n, dim), of any length above zero.
        labels: (n,).

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
    """Split the pairs across two views by whether both are of the same picture.

    Args:
        view_a: (b, dim).
        view_b: (b, dim), row for row of the same pictures.

    >>> by_view(np.eye(2), np.eye(2)).together.tolist()
    [1.0, 1.0]
    """
    similarity = cosine(view_a, view_b)
    same = np.eye(len(view_a), dtype=bool)
    return Similarities(together=similarity[same], apart=similarity[~same])


def cosine(rows: Floats, columns: Floats) -> np.ndarray:
    """Cosines between all rows of one and all rows of the other, (n, m)."""
    unit_rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    unit_columns = columns / np.linalg.norm(columns, axis=1, keepdims=True)
    return np.clip(unit_rows @ unit_columns.T, -1, 1)
