"""The negatives of some anchors: the hardest ones, and a uniform sample for comparison."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor

from tammes.checks import check_integer, check_shape
from tammes.diagnostics.blocks import directions


@dataclass(frozen=True, kw_only=True, eq=False)
class AnchorNegatives:
    """Negatives of some anchors.

    Attributes:
        indices: row numbers of the negatives of each anchor.
        similarities: cosine of each negative with its anchor.
    """

    indices: Int64[Tensor, "anchors k"]
    similarities: Float[Tensor, "anchors k"]


@torch.no_grad()
def hardest_negatives(
    embeddings: Float[Tensor, "n dim"],
    anchors: Int[Tensor, " anchors"],
    *,
    k: int,
    ids: Int[Tensor, " n"] | None = None,
) -> AnchorNegatives:
    """Return the k hardest negatives of each anchor, the most similar rows first.

    Of equally similar rows the earlier comes first.

    Args:
        embeddings: embeddings of any length above 0.
        anchors: row numbers of the anchors.
        k: number of negatives of each anchor, at least 1.
        ids: id of each row; rows with equal ids are positives of each other, not negatives. By default all
            ids differ.

    Raises:
        ValueError: an anchor that is no row or has fewer than k negatives, or a row of length zero or that is
            not finite.

    Example:
        >>> points = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6], [0.0, 1.0]])
        >>> hardest_negatives(points, torch.tensor([0]), k=2).indices
        tensor([[2, 1]])
    """
    units = directions(embeddings)
    indices, similarities = [], []
    for anchor in _numbers(anchors):
        allowed = _negatives_of(anchor, len(units), k, ids, units.device)
        similarity = (units @ units[anchor]).where(allowed, -torch.inf)
        nearest = similarity.argsort(descending=True, stable=True)[:k]
        indices.append(nearest)
        similarities.append(similarity[nearest])
    return AnchorNegatives(indices=torch.stack(indices), similarities=torch.stack(similarities))


@torch.no_grad()
def uniform_negatives(
    embeddings: Float[Tensor, "n dim"],
    anchors: Int[Tensor, " anchors"],
    *,
    k: int,
    generator: torch.Generator,
    ids: Int[Tensor, " n"] | None = None,
) -> AnchorNegatives:
    """Draw k negatives of each anchor uniformly, without repetition.

    Args:
        embeddings: embeddings of any length above 0.
        anchors: row numbers of the anchors.
        k: number of negatives of each anchor, at least 1.
        generator: source of the randomness, on the CPU.
        ids: id of each row; rows with equal ids are positives of each other, not negatives. By default all
            ids differ.

    Raises:
        ValueError: an anchor that is no row or has fewer than k negatives, or a row of length zero or that is
            not finite.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> uniform_negatives(torch.eye(3), torch.tensor([1]), k=2, generator=generator).indices.sort().values
        tensor([[0, 2]])
    """
    units = directions(embeddings)
    indices, similarities = [], []
    for anchor in _numbers(anchors):
        rows = _negatives_of(anchor, len(units), k, ids, units.device).nonzero()[:, 0]
        drawn = rows[torch.randperm(len(rows), generator=generator)[:k].to(units.device)]
        indices.append(drawn)
        similarities.append(units[drawn] @ units[anchor])
    return AnchorNegatives(indices=torch.stack(indices), similarities=torch.stack(similarities))


def _numbers(anchors: Int[Tensor, " anchors"]) -> list[int]:
    if anchors.ndim != 1 or len(anchors) == 0:
        raise ValueError(f"expected anchors (anchors,), at least one, got {tuple(anchors.shape)}")
    return [int(anchor) for anchor in anchors]


def _negatives_of(
    anchor: int, n: int, k: int, ids: Int[Tensor, " n"] | None, device: torch.device
) -> Bool[Tensor, " n"]:
    """Return the mask of the negatives of an anchor; raise ValueError if they are fewer than k."""
    if not 0 <= anchor < n:
        raise ValueError(f"expected anchors from 0 to {n - 1}, rows of the embeddings, got {anchor}")
    ids = torch.arange(n) if ids is None else ids
    check_shape("ids, one for each row,", ids.shape, (n,))
    allowed = (ids != ids[anchor]).to(device)
    count = int(allowed.sum())
    if check_integer("k", k) > count:
        raise ValueError(f"expected k from 1 to the {count} negatives of anchor {anchor}, got k={k}")
    return allowed
