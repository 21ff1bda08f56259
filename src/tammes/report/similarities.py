"""Cosine similarities of positive pairs and of other pairs."""

import numpy as np

from tammes.report.scores import Floats, Integers

STEPS = 60
"""Bins of a histogram of similarities."""
SHORTEST = 1e-12
"""Length below which a row has no direction, as the features of a black image under ReLUs."""


def separation(together: Floats, apart: Floats) -> float:
    """Return the area under the ROC curve: the chance that a pair together is more similar than one apart.

    Args:
        together: (pairs,) similarities within a class or, without labels, of two views of one picture.
        apart: (pairs,) similarities between classes or, without labels, of different pictures.

    Example:
        >>> separation(np.array([0.9, 0.2]), np.array([0.1, 0.5]))
        0.75
    """
    apart = np.sort(apart)
    below = np.searchsorted(apart, together, side="left")
    not_above = np.searchsorted(apart, together, side="right")
    return float(np.mean(below + not_above) / (2 * len(apart)))


def density_of(similarities: Floats) -> tuple[Floats, Floats]:
    """Return the density (60,) of cosine similarities in equal steps from -1 to 1, and the edges (61,)."""
    return np.histogram(similarities, bins=STEPS, range=(-1, 1), density=True)


def overlap(one: Floats, other: Floats) -> float:
    """Return the area that the densities of two kinds of pairs share: 0 if apart, 1 if equal.

    Args:
        one: (pairs,) similarities of the first kind.
        other: (pairs,) similarities of the second kind.

    Example:
        >>> overlap(np.array([0.9, 0.2]), np.array([0.9, -0.5]))
        0.5
    """
    first, second = density_of(one)[0], density_of(other)[0]
    return round(float(np.minimum(first, second).sum()) * 2 / STEPS, 12)


def same_label_by_rank(embeddings: Floats, labels: Integers) -> Floats:
    """Return the share (n - 1,) of rows whose neighbor of each rank, from the nearest on, has their label.

    Args:
        embeddings: (n, dim) vectors of positive length.
        labels: (n,) labels.

    Example:
        >>> same_label_by_rank(np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]), np.array([0, 0, 1])).round(2)
        array([0.67, 0.  ])
    """
    similarity = cosine(embeddings, embeddings)
    np.fill_diagonal(similarity, -np.inf)  # a row is no neighbor of itself, and comes last
    order = np.argsort(-similarity, axis=1, kind="stable")[:, :-1]
    return np.asarray((labels[order] == labels[:, None]).mean(axis=0))


def has_both_kinds(labels: Integers) -> bool:
    """Return whether some pairs of rows have one label, and others two.

    Example:
        >>> [has_both_kinds(np.array(labels)) for labels in ([0, 0, 1], [0, 0, 0], [0, 1, 2])]
        [True, False, False]
    """
    return 1 < len(np.unique(labels)) < len(labels)


def by_label(embeddings: Floats, labels: Integers) -> tuple[Floats, Floats] | None:
    """Return the similarities of pairs with one label, and of the others; None unless there are both kinds.

    Args:
        embeddings: (n, dim) vectors of positive length.
        labels: (n,) labels.

    Example:
        >>> by_label(np.eye(3), np.array([0, 0, 1]))[1].tolist()
        [0.0, 0.0]
    """
    if not has_both_kinds(labels):
        return None
    row, col = np.triu_indices(len(embeddings), k=1)
    equal = labels[row] == labels[col]
    similarity = cosine(embeddings, embeddings)[row, col]
    return similarity[equal], similarity[~equal]


def by_view(view_a: Floats, view_b: Floats) -> tuple[Floats, Floats]:
    """Return the similarities of two views of one picture, and of views of different pictures.

    Args:
        view_a: (b, dim) embeddings of the first views.
        view_b: (b, dim) embeddings of the second views, in the same order.

    Example:
        >>> by_view(np.eye(2), np.eye(2))[0].tolist()
        [1.0, 1.0]
    """
    similarity = cosine(view_a, view_b)
    same = np.eye(len(view_a), dtype=bool)
    return similarity[same], similarity[~same]


def cosine(rows: Floats, columns: Floats) -> np.ndarray:
    """Return the (n, m) cosines between all rows of two matrices; 0 for a row of length zero."""
    unit_rows, unit_columns = (
        each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), SHORTEST) for each in (rows, columns)
    )
    return np.clip(unit_rows @ unit_columns.T, -1, 1)
