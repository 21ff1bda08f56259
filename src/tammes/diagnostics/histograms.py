"""Histograms of the cosine similarity, for pairs of equal and of different label."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from tammes.checks import check_integer, check_shape
from tammes.diagnostics.blocks import SIDE, directions, pair_blocks


@dataclass(frozen=True, kw_only=True, eq=False)
class CosineHistograms:
    """Histograms of the cosine similarity of pairs, by whether their labels are equal.

    Attributes:
        edges: edges of the bins, from -1 to 1; a pair on an edge counts to the right of it, 1 to the left.
        equal: number of pairs of equal label in each bin.
        different: number of pairs of different label in each bin.
    """

    edges: Float[Tensor, " edges"]
    equal: Int64[Tensor, " bins"]
    different: Int64[Tensor, " bins"]


@torch.no_grad()
def cosine_histograms(
    embeddings: Float[Tensor, "n dim"], labels: Int[Tensor, " n"], *, bins: int = 50, side: int = SIDE
) -> CosineHistograms:
    """Count all n (n - 1) / 2 pairs by similarity and by whether their labels are equal.

    The further apart the two histograms lie, the better the similarity of a pair predicts whether its labels
    are equal. At similarities near 1, pairs of different labels are true hard negatives, and pairs of equal
    labels false ones.

    Args:
        embeddings: at least two embeddings, of any length above 0.
        labels: label of each row.
        bins: number of bins of equal width, at least 1.
        side: rows and columns of a block; memory is proportional to its square, whatever n.

    Raises:
        ValueError: fewer than two rows, labels that do not match, a row of length zero or that is not finite,
            or no bin.

    Example:
        >>> points = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
        >>> histograms = cosine_histograms(points, torch.tensor([0, 0, 1]), bins=2)
        >>> histograms.equal, histograms.different
        (tensor([0, 1]), tensor([2, 0]))
    """
    check_integer("bins", bins)
    units = directions(embeddings)
    check_shape("labels, one for each row,", labels.shape, (len(units),))
    labels = labels.to(units.device)
    counts = torch.zeros(2 * bins, dtype=torch.int64, device=units.device)
    for block in pair_blocks(units, side):
        different = labels[block.rows, None] != labels[None, block.columns]
        # Clamped, since rounding moves cosines slightly beyond -1 and 1.
        place = ((block.similarity + 1) * (bins / 2)).floor().long().clamp(0, bins - 1)
        place = place + bins * different
        counts += torch.bincount(place[block.pairs], minlength=2 * bins)
    edges = torch.linspace(-1, 1, bins + 1, dtype=torch.float64)
    return CosineHistograms(edges=edges, equal=counts[:bins], different=counts[bins:])
