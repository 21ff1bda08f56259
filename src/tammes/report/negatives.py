"""Rows of the sample around an anchor: the hardest negatives of a coupling, and the nearest rows."""

import numpy as np
import torch

from tammes.diagnostics import uniform_negatives, weighted_collision_share
from tammes.report.comparison import Outcome
from tammes.report.sample import Sample
from tammes.report.scores import Floats, Integers
from tammes.report.similarities import cosine

Ranked = tuple[int, float]
"""Row of the sample, with its weight or its similarity."""


def hardest(outcome: Outcome, sample: Sample, anchor: int, count: int) -> list[Ranked]:
    """Return the negatives of an anchor with the greatest weight; ties are ordered by similarity.

    The weight of a row is that of all its views, as a multiple of the uniform weight.

    Args:
        outcome: objective with its weights and views.
        sample: sample that the views show.
        anchor: row of the anchor, below `outcome.pairs`; its first view is the anchor.
        count: largest number of rows; negatives without weight are left out.
    """
    similarity = cosine(outcome.view_a[anchor : anchor + 1], outcome.sides[1])[0]
    nearest = np.full(sample.size, -np.inf)
    np.maximum.at(nearest, rows_of_weights(outcome, sample)[1], similarity)
    weight = relative_to_uniform(outcome, sample, anchor)
    # Rounded, so that weights that differ only in the last digits are ties.
    order = np.lexsort((-nearest, -np.round(weight, 5)))
    chosen = [int(row) for row in order if row != anchor and weight[row] > 0][:count]
    return [(row, float(weight[row])) for row in chosen]


def relative_to_uniform(outcome: Outcome, sample: Sample, anchor: int) -> np.ndarray:
    """Return the weight (n,) of each row as a negative of an anchor, in multiples of the uniform weight."""
    _, columns = rows_of_weights(outcome, sample)
    views = np.bincount(columns, minlength=sample.size)
    sums = np.bincount(columns, weights=outcome.weights[anchor], minlength=sample.size)
    # Among other candidates an anchor may have several positives, and as many negatives fewer.
    are_views = outcome.candidates is None
    negatives = outcome.most_negatives if are_views else np.count_nonzero(outcome.weights[anchor])
    return sums * negatives / np.maximum(views, 1)


def rows_of_weights(outcome: Outcome, sample: Sample) -> tuple[Integers, Integers]:
    """Return the row of the sample that each row, and each column, of the weights stands for."""
    if outcome.candidates is not None:
        return np.arange(outcome.pairs), outcome.candidates.rows
    columns = sample.columns(outcome.pairs)
    return columns, columns


def nearest_rows(features: Floats, row: int, count: int) -> list[Ranked]:
    """Return the rows with the most similar features to a row, the most similar first, and the cosines."""
    similarity = cosine(features[row : row + 1], features)[0]
    order = [int(other) for other in np.argsort(-similarity, kind="stable") if other != row][:count]
    return [(other, float(similarity[other])) for other in order]


def uniform_draw(outcome: Outcome, anchor: int, count: int) -> list[Ranked]:
    """Return up to `count` negatives of an anchor drawn uniformly, with weight 1; the draw is fixed."""
    generator = torch.Generator().manual_seed(anchor)
    if outcome.candidates is not None:
        negatives = np.unique(outcome.candidates.rows[outcome.weights[anchor] > 0])
        order = torch.randperm(len(negatives), generator=generator)[:count]
        return [(int(row), 1.0) for row in negatives[order.numpy()]]
    drawn = uniform_negatives(
        torch.tensor(outcome.view_a),
        torch.tensor([anchor]),
        k=min(count, outcome.pairs - 1),
        generator=generator,
    )
    return [(row, 1.0) for row in drawn.indices[0].tolist()]


def false_negatives(outcome: Outcome, sample: Sample, labels: Integers) -> np.ndarray:
    """Return which candidates have the label of their anchor, in the shape of the weights."""
    rows, columns = rows_of_weights(outcome, sample)
    return labels[rows][:, None] == labels[columns]


def weight_on_own_class(outcome: Outcome, sample: Sample, labels: Integers) -> float:
    """Return the mean share of an anchor's weight on false negatives."""
    rows, columns = (torch.tensor(labels[of], dtype=torch.int64) for of in rows_of_weights(outcome, sample))
    return weighted_collision_share(rows, torch.tensor(outcome.weights), candidate_labels=columns)


def effective_negatives(outcome: Outcome) -> float:
    """Return the effective number of negatives: the mean over anchors of 1 / sum w^2."""
    return float((1 / (outcome.weights**2).sum(axis=1)).mean())


def anchors(labels: Integers | None, pairs: int, count: int) -> list[int]:
    """Return the first rows of the batch as anchors, each of a different class if there are labels.

    Example:
        >>> anchors(np.array([4, 4, 2, 4, 1]), pairs=5, count=3)
        [0, 2, 4]
    """
    if labels is None:
        return list(range(min(count, pairs)))
    _, first = np.unique(labels[:pairs], return_index=True)
    return [int(row) for row in np.sort(first)[:count]]
