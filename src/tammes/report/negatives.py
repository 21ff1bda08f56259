"""Which rows of the sample a coupling takes for the hardest negatives, and which ones are nearest."""

from dataclasses import dataclass

import numpy as np
import torch

from tammes.diagnostics import uniform_negatives
from tammes.report.comparison import Outcome
from tammes.report.sample import Sample
from tammes.report.scores import Integers
from tammes.report.similarities import cosine


@dataclass(frozen=True, kw_only=True)
class Negative:
    """A row that stands as a negative of an anchor.

    Args:
        row: its number in the sample.
        weight: the weight of its views together, as a multiple of the uniform weight.
    """

    row: int
    weight: float


@dataclass(frozen=True, kw_only=True)
class Neighbor:
    """A row that lies near another.

    Args:
        row: its number in the sample.
        similarity: cosine of the features.
    """

    row: int
    similarity: float


def hardest(outcome: Outcome, sample: Sample, anchor: int, count: int) -> list[Negative]:
    """The negatives of one anchor with the greatest weight; among equal weights, the most similar ones.

    Args:
        outcome: of which the weights and the views are used.
        sample: which the views are of.
        anchor: number of the row, below `outcome.pairs`; its first view is the anchor.
        count: how many, at most; negatives without weight are left out.
    """
    views = np.concatenate([outcome.view_a, outcome.view_b])
    similarity = cosine(outcome.view_a[anchor : anchor + 1], views)[0]
    nearest = np.full(sample.size, -np.inf)
    np.maximum.at(nearest, sample.columns(outcome.pairs), similarity)
    weight = relative_to_uniform(outcome, sample, anchor)
    # Rounded, so that what is uniform but for the last digits counts as a tie.
    order = np.lexsort((-nearest, -np.round(weight, 5)))
    chosen = [int(row) for row in order if row != anchor and weight[row] > 0][:count]
    return [Negative(row=row, weight=float(weight[row])) for row in chosen]


def relative_to_uniform(outcome: Outcome, sample: Sample, anchor: int) -> np.ndarray:
    """The weight of each row, (n,), as a negative of one anchor: 1 if all that have views weigh the same."""
    columns = sample.columns(outcome.pairs)
    views = np.bincount(columns, minlength=sample.size)
    sums = np.bincount(columns, weights=outcome.weights[anchor], minlength=sample.size)
    return sums * (2 * outcome.pairs - 2) / np.maximum(views, 1)


def nearest_rows(outcome: Outcome, row: int, count: int) -> list[Neighbor]:
    """The rows of the sample whose features are most similar to one's, the most similar first."""
    similarity = cosine(outcome.features[row : row + 1], outcome.features)[0]
    order = [int(other) for other in np.argsort(-similarity, kind="stable") if other != row][:count]
    return [Neighbor(row=other, similarity=float(similarity[other])) for other in order]


def uniform_draw(outcome: Outcome, anchor: int, count: int) -> list[Negative]:
    """Negatives of one anchor drawn without regard to any weight, always the same ones; `count` at most."""
    drawn = uniform_negatives(
        torch.tensor(outcome.view_a),
        torch.tensor([anchor]),
        k=min(count, outcome.pairs - 1),
        generator=torch.Generator().manual_seed(anchor),
    )
    return [Negative(row=row, weight=1.0) for row in drawn.indices[0].tolist()]


def effective_negatives(outcome: Outcome) -> float:
    """How many equally weighted negatives would be as concentrated: the mean over anchors of 1 / sum w^2."""
    return float((1 / (outcome.weights**2).sum(axis=1)).mean())


def anchors(labels: Integers | None, pairs: int, count: int) -> list[int]:
    """The first rows of the batch, each of another class if there are labels: none is picked by eye.

    >>> anchors(np.array([4, 4, 2, 4, 1]), pairs=5, count=3)
    [0, 2, 4]
    """
    if labels is None:
        return list(range(min(count, pairs)))
    _, first = np.unique(labels[:pairs], return_index=True)
    return [int(row) for row in np.sort(first)[:count]]
