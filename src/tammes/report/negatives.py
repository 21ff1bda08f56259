"""Which pictures a coupling takes for the hardest negatives, and how often they are none."""

from dataclasses import dataclass

import numpy as np
import torch

from tammes.diagnostics import uniform_negatives
from tammes.report.comparison import Outcome
from tammes.report.scores import Integers
from tammes.report.similarities import cosine


@dataclass(frozen=True, kw_only=True)
class Negative:
    """A picture that stands as a negative of an anchor.

    Args:
        picture: its number in the sample.
        weight: the weight of its two views together, as a multiple of the uniform weight.
    """

    picture: int
    weight: float


def hardest(outcome: Outcome, anchor: int, count: int) -> list[Negative]:
    """The negatives of one anchor with the greatest weight; among equal weights, the most similar ones.

    Args:
        outcome: of which the weights and the views are used.
        anchor: number of the picture, below `outcome.pairs`; its first view is the anchor.
        count: how many, at most; negatives without weight are left out.
    """
    pairs = outcome.pairs
    views = np.concatenate([outcome.view_a, outcome.view_b])
    similarity = cosine(outcome.view_a[anchor : anchor + 1], views)[0]
    nearest = np.maximum(similarity[:pairs], similarity[pairs:])
    weight = relative_to_uniform(outcome, anchor)
    # Rounded, so that what is uniform but for the last digits counts as a tie.
    order = np.lexsort((-nearest, -np.round(weight, 5)))
    chosen = [int(picture) for picture in order if picture != anchor and weight[picture] > 0][:count]
    return [Negative(picture=picture, weight=float(weight[picture])) for picture in chosen]


def relative_to_uniform(outcome: Outcome, anchor: int) -> np.ndarray:
    """The weight of each picture, (b,), as a negative of one anchor: 1 where all pictures weigh the same."""
    pairs = outcome.pairs
    row = outcome.weights[anchor]
    return (row[:pairs] + row[pairs:]) * (pairs - 1)


def uniform_draw(outcome: Outcome, anchor: int, count: int) -> list[Negative]:
    """Negatives of one anchor drawn without regard to any weight, always the same ones; `count` at most."""
    drawn = uniform_negatives(
        torch.tensor(outcome.view_a),
        torch.tensor([anchor]),
        k=min(count, outcome.pairs - 1),
        generator=torch.Generator().manual_seed(anchor),
    )
    return [Negative(picture=picture, weight=1.0) for picture in drawn.indices[0].tolist()]


def effective_negatives(outcome: Outcome) -> float:
    """How many equally weighted negatives would be as concentrated: the mean over anchors of 1 / sum w^2."""
    return float((1 / (outcome.weights**2).sum(axis=1)).mean())


def anchors(labels: Integers | None, pairs: int, count: int) -> list[int]:
    """The first pictures of the batch, each of another class if there are labels: none is picked by eye.

    >>> anchors(np.array([4, 4, 2, 4, 1]), pairs=5, count=3)
    [0, 2, 4]
    """
    if labels is None:
        return list(range(min(count, pairs)))
    _, first = np.unique(labels[:pairs], return_index=True)
    return [int(picture) for picture in np.sort(first)[:count]]
