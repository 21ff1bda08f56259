"""Uniformity: how evenly embeddings cover the sphere."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.diagnostics.blocks import SIDE, directions, pair_blocks


@torch.no_grad()
def uniformity(embeddings: Float[Tensor, "n dim"], *, scale: float = 2.0, side: int = SIDE) -> float:
    """The logarithm of the mean Gaussian potential of all pairs on the unit sphere.

        log E exp(-scale |x - y|^2):  0 where all points coincide, the lower the more evenly they lie.

    Args:
        embeddings: (n, dim), of any length above zero.
        scale: of the squared distances.
        side: memory is proportional to the square of this, whatever n.

    Raises:
        ValueError: If there are fewer than two rows, or one has length zero or is not finite; if the scale
            is not positive.

    Source: Wang and Isola, Understanding Contrastive Representation Learning through Alignment and
    Uniformity, 2020, section 4.1.

    Example:
        >>> uniformity(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
        -8.0
    """
    if not scale > 0:
        raise ValueError(f"expected a positive scale, got {scale}")
    units = directions(embeddings)
    total = torch.full((), -torch.inf, dtype=torch.float64, device=units.device)
    for block in pair_blocks(units, side):
        exponent = (-2 * scale * (1 - block.similarity)).where(block.pairs, -torch.inf)
        total = torch.logaddexp(total, exponent.flatten().logsumexp(dim=0).double())
    return float(total) - math.log(len(units) * (len(units) - 1) / 2)
