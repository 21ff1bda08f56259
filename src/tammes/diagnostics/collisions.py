"""Collisions: false negatives, which have the anchor's label and are pushed away all the same."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import check_shape
from tammes.diagnostics.blocks import SIDE, directions
from tammes.products import product


def collision_share(labels: Int[Tensor, " n"], *, ids: Int[Tensor, " n"] | None = None) -> float:
    """Return the mean share of an anchor's negatives that have its label.

        mean over anchors i of  |{j : y_j = y_i, id_j != id_i}| / |{j : id_j != id_i}|

    This is the right class prior of a debiased objective for the data.

    Args:
        labels: label of each row.
        ids: id of each row; rows with equal ids are positives of each other, not negatives. By default all
            ids differ.

    Raises:
        ValueError: labels and ids do not match, or an anchor has no negative.

    Example:
        >>> collision_share(torch.tensor([0, 0, 1, 1]))
        0.3333333333333333
    """
    if labels.ndim != 1 or len(labels) == 0:
        raise ValueError(f"expected labels (n,), got {tuple(labels.shape)}")
    if ids is None:
        ids = torch.arange(len(labels), device=labels.device)
    check_shape("ids, one for each label,", ids.shape, labels.shape)
    same_id = _sizes(ids[:, None])
    if int(same_id.max()) == len(labels):
        raise ValueError("expected rows of at least two ids, got one id alone: no row has a negative")
    same_label = _sizes(labels[:, None])
    same_both = _sizes(torch.stack([labels, ids], dim=1))
    negatives = (len(labels) - same_id).double()
    return float(((same_label - same_both) / negatives).mean())


def weighted_collision_share(
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, "n m"],
    *,
    candidate_labels: Int[Tensor, " m"] | None = None,
) -> float:
    """Return the mean share of an anchor's negative weight on rows with its label.

        mean over anchors i of  sum over j with y_j = y_i of w_ij,   where sum_j w_ij = 1.

    Compared with `collision_share`, it shows whether a coupling for hard negatives finds false ones.

    Args:
        labels: label of each anchor.
        weights: weights as returned by `Objective.weights`: rows sum to one, and positives have weight 0.
        candidate_labels: label of each candidate; None where the anchors are the candidates.

    Raises:
        ValueError: the shapes do not match, or a row does not sum to one.

    Example:
        >>> weights = torch.tensor([[0.0, 0.9, 0.1], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
        >>> round(weighted_collision_share(torch.tensor([0, 0, 1]), weights), 4)
        0.4667
    """
    columns = labels if candidate_labels is None else candidate_labels
    check_shape("weights, a row and a column for each label,", weights.shape, (len(labels), len(columns)))
    sums = weights.double().sum(dim=1)
    if not bool(((sums - 1).abs() < 1e-3).all()):
        row = int((sums - 1).abs().argmax())
        raise ValueError(f"expected rows of weights that sum to 1, got {float(sums[row]):g} in row {row}")
    same = labels[:, None] == columns[None, :]
    return float(weights.double().where(same, 0).sum(dim=1).mean())


TOO_LARGE, TOO_SMALL = 40.0, 3.0
"""Factors around the errors of `estimated_collision_share` where the truth was known, with some room.

The estimate was up to 30 times too large and 1.9 times too small (benchmarks/class_prior.py).
"""

ROUNDING = 16
"""Largest rounding error of a cosine, in units of the last place of 1."""


@torch.no_grad()
def estimated_collision_share(view_a: Float[Tensor, "n dim"], view_b: Float[Tensor, "n dim"]) -> float:
    """Estimate the share of negatives that have the anchor's label, without labels, from views of n rows.

        2 P( s(a_i, b_j) >= median over l of s(a_l, b_l) ) ,        i != j

    Half of the views of one row are more similar than the median. If views of two rows of one class were as
    similar as views of one row, and no others, half of the false negatives would be too. Where views are more
    alike than rows of a class the estimate is too small, and where the encoder confuses classes too large: of
    true shares of 5 to 10 % it was half or twice as large, of 1 % five times, of 0.2 % 30 times
    (docs/diagnostics.md).

    Args:
        view_a: embeddings of the first views, of any length above 0, by a trained encoder.
        view_b: embeddings of the second views of the same rows, in the same order.

    Returns:
        A share, at most 1; of a collapsed embedding 1.

    Raises:
        ValueError: fewer than two rows, views of different shape, or a row of length zero or not finite.

    Example:
        >>> estimated_collision_share(torch.eye(4), torch.eye(4))
        0.0
        >>> estimated_collision_share(torch.eye(2).repeat(2, 1), torch.eye(2).repeat(2, 1))
        0.6666666666666666
    """
    check_shape("view_b, of the shape of view_a,", view_b.shape, tuple(view_a.shape))
    first, second = directions(view_a), directions(view_b)
    n = len(first)
    if n < 2:
        raise ValueError(f"expected views of at least two rows, which make a negative, got {n}")
    # Products of matrices round otherwise: those of equal directions may be just below the median.
    median = (first * second).sum(dim=1).median() - ROUNDING * torch.finfo(first.dtype).eps
    similar = 0
    for start in range(0, n, SIDE):
        above = product(first[start : start + SIDE], second.T) >= median
        # Pairs of one row are no negatives.
        similar += int(above.sum()) - int(above.diagonal(start).sum())
    return min(1.0, 2 * similar / (n * (n - 1)))


def range_of_share(share: float) -> tuple[float, float]:
    """Return the ends of a range around an estimated share that held the truth wherever it was known.

    Args:
        share: estimate of `estimated_collision_share`, above 0.

    Example:
        >>> range_of_share(0.08)
        (0.002, 0.24)
    """
    return share / TOO_LARGE, min(1.0, share * TOO_SMALL)


def _sizes(keys: Int[Tensor, "n parts"]) -> Int[Tensor, " n"]:
    """Return the number of rows equal to each row, including itself."""
    _, group, count = torch.unique(keys, dim=0, return_inverse=True, return_counts=True)
    return count[group]
