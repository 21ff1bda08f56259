"""Collisions: negatives that carry the anchor's own label, and are pushed away nonetheless."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def collision_share(labels: Int[Tensor, " n"], *, ids: Int[Tensor, " n"] | None = None) -> float:
    """The share of an anchor's negatives that carry its label, where every negative counts the same.

        mean over anchors i of  |{j : y_j = y_i, id_j != id_i}| / |{j : id_j != id_i}|

    It is what the class prior of a debiased objective should be, for the data at hand.

    Args:
        labels: integers (n,).
        ids: integers (n,); rows with equal ids are positives of each other, and no negatives. Left out,
            every row has an id of its own.

    Raises:
        ValueError: If labels and ids do not match, or an anchor has no negative.

    Example:
        >>> collision_share(torch.tensor([0, 0, 1, 1]))
        0.3333333333333333
    """
    if labels.ndim != 1 or len(labels) == 0:
        raise ValueError(f"expected labels (n,), got {tuple(labels.shape)}")
    if ids is None:
        ids = torch.arange(len(labels), device=labels.device)
    if ids.shape != labels.shape:
        raise ValueError(f"expected an id for each of {len(labels)} labels, got {tuple(ids.shape)}")
    same_id = _sizes(ids[:, None])
    if int(same_id.max()) == len(labels):
        raise ValueError("expected rows of at least two ids, got one id alone: no row has a negative")
    same_label = _sizes(labels[:, None])
    same_both = _sizes(torch.stack([labels, ids], dim=1))
    negatives = (len(labels) - same_id).double()
    return float(((same_label - same_both) / negatives).mean())


def weighted_collision_share(labels: Int[Tensor, " n"], weights: Float[Tensor, "n n"]) -> float:
    """The share of an anchor's negative weight that lies on rows with its label.

        mean over anchors i of  sum over j with y_j = y_i of w_ij,   where sum_j w_ij = 1.

    Set beside `collision_share`, it says whether a coupling that looks for hard negatives finds false ones.

    Args:
        labels: integers (n,).
        weights: (n, n), as `Objective.weights` gives them: rows sum to one, 0 where there is no negative.

    Raises:
        ValueError: If the shapes do not match, or a row does not sum to one.

    Example:
        >>> weights = torch.tensor([[0.0, 0.9, 0.1], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
        >>> round(weighted_collision_share(torch.tensor([0, 0, 1]), weights), 4)
        0.4667
    """
    if weights.shape != (len(labels), len(labels)):
        raise ValueError(
            f"expected weights ({len(labels)}, {len(labels)}) for {len(labels)} labels, "
            f"got {tuple(weights.shape)}"
        )
    sums = weights.double().sum(dim=1)
    if not bool(((sums - 1).abs() < 1e-3).all()):
        row = int((sums - 1).abs().argmax())
        raise ValueError(f"expected rows of weights that sum to 1, got {float(sums[row]):g} in row {row}")
    same = labels[:, None] == labels[None, :]
    return float(weights.double().where(same, 0).sum(dim=1).mean())


def _sizes(keys: Int[Tensor, "n parts"]) -> Int[Tensor, " n"]:
    """How many rows are equal to each row, itself among them."""
    _, group, count = torch.unique(keys, dim=0, return_inverse=True, return_counts=True)
    return count[group]
