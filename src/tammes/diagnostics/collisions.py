"""Collisions: false negatives, which have the anchor's label and are pushed away all the same."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import check_shape


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


def weighted_collision_share(labels: Int[Tensor, " n"], weights: Float[Tensor, "n n"]) -> float:
    """Return the mean share of an anchor's negative weight on rows with its label.

        mean over anchors i of  sum over j with y_j = y_i of w_ij,   where sum_j w_ij = 1.

    Compared with `collision_share`, it shows whether a coupling for hard negatives finds false ones.

    Args:
        labels: label of each row.
        weights: weights as returned by `Objective.weights`: rows sum to one, and positives have weight 0.

    Raises:
        ValueError: the shapes do not match, or a row does not sum to one.

    Example:
        >>> weights = torch.tensor([[0.0, 0.9, 0.1], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
        >>> round(weighted_collision_share(torch.tensor([0, 0, 1]), weights), 4)
        0.4667
    """
    check_shape("weights, a row and a column for each label,", weights.shape, (len(labels), len(labels)))
    sums = weights.double().sum(dim=1)
    if not bool(((sums - 1).abs() < 1e-3).all()):
        row = int((sums - 1).abs().argmax())
        raise ValueError(f"expected rows of weights that sum to 1, got {float(sums[row]):g} in row {row}")
    same = labels[:, None] == labels[None, :]
    return float(weights.double().where(same, 0).sum(dim=1).mean())


def _sizes(keys: Int[Tensor, "n parts"]) -> Int[Tensor, " n"]:
    """Return the number of rows equal to each row, including itself."""
    _, group, count = torch.unique(keys, dim=0, return_inverse=True, return_counts=True)
    return count[group]
