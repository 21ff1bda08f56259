"""Histograms of the cosine similarity, for pairs of equal and of different label."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from tammes.diagnostics.blocks import SIDE, directions, pair_blocks


@dataclass(frozen=True, kw_only=True, eq=False)
class CosineHistograms:
    """How many pairs have which cosine similarity.

    Args:
        edges: (bins + 1,) from -1 to 1; a pair on an edge counts to the right of it, 1 itself to the left.
        equal: (bins,) pairs of equal label.
        different: (bins,) pairs of different label.
    """

    edges: Float[Tensor, " edges"]
    equal: Int64[Tensor, " bins"]
    different: Int64[Tensor, " bins"]


@torch.no_grad()
def cosine_histograms(
    embeddings: Float[Tensor, "n dim"], labels: Int[Tensor, " n"], *, bins: int = 50, side: int = SIDE
) -> CosineHistograms:
    """Count all n (n - 1) / 2 pairs by similarity and by whether their labels are equal.

    The further apart the two histograms lie, the better a pair's similarity tells whether it shares a
    label. Different labels at similarities near 1 are true hard negatives; equal labels there are the false
    negatives among hard ones.

    Args:
        embeddings: (n, dim), of any length above zero.
        labels: integers (n,).
        bins: of equal width, from -1 to 1.
        side: memory is proportional to the square of this, whatever n.

    Raises:
        ValueError: If there are fewer than two rows, not one label for each, a row of length zero or one
            that is not finite, or no bin.

    Example:
        >>> points = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
        >>> histograms = cosine_histograms(points, torch.tensor([0, 0, 1]), bins=2)
        >>> histograms.equal, histograms.different
        (tensor([0, 1]), tensor([2, 0]))
    """
    if bins < 1:
        raise ValueError(f"expected at least one bin, got {bins}")
    units = directions(embeddings)
    if labels.shape != (len(units),):
        raise ValueError(f"expected labels ({len(units)},), one for each row, got {tuple(labels.shape)}")
    labels = labels.to(units.device)
    counts = torch.zeros(2 * bins, dtype=torch.int64, device=units.device)
    for block in pair_blocks(units, side):
        different = labels[block.rows, None] != labels[None, block.columns]
        # Rounding takes cosines a little past -1 and 1.
        place = ((block.similarity + 1) * (bins / 2)).floor().long().clamp(0, bins - 1)
        place = place + bins * different
        counts += torch.bincount(place[block.pairs], minlength=2 * bins)
    edges = torch.linspace(-1, 1, bins + 1, dtype=torch.float64)
    return CosineHistograms(edges=edges, equal=counts[:bins], different=counts[bins:])
