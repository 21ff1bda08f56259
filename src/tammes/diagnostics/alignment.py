"""Alignment of positive pairs and uniformity on the sphere (Wang and Isola, 2020)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_number, check_shape
from tammes.diagnostics.blocks import SIDE, directions, pair_blocks
from tammes.products import product
from tammes.reduce.terms import exponential_


@torch.no_grad()
def alignment(view_a: Float[Tensor, "pairs dim"], view_b: Float[Tensor, "pairs dim"]) -> float:
    """Return the mean squared distance between positives on the unit sphere.

        E |x - y|^2  over positive pairs x, y:  0 where they coincide, 4 where they are opposite.

    Args:
        view_a: embeddings of any length above 0.
        view_b: the positive of each row of `view_a`.

    Raises:
        ValueError: the shapes differ, or a row has length zero or is not finite.

    Source: Wang and Isola, Understanding Contrastive Representation Learning through Alignment and
    Uniformity, 2020, section 4.1, with exponent 2.

    Example:
        >>> alignment(torch.eye(2), torch.tensor([[2.0, 0.0], [0.0, -2.0]]))
        2.0
    """
    check_shape("view_b, like view_a,", view_b.shape, view_a.shape)
    return float((directions(view_a) - directions(view_b)).square().sum(dim=1).mean())


@torch.no_grad()
def uniformity(embeddings: Float[Tensor, "n dim"], *, scale: float = 2.0, side: int = SIDE) -> float:
    """Return the logarithm of the mean Gaussian potential of all pairs on the unit sphere.

        log E exp(-scale |x - y|^2):  0 where all points coincide, lower for more even points.

    Args:
        embeddings: at least two embeddings, of any length above 0.
        scale: factor of the squared distances, above 0.
        side: rows and columns of a block; memory is proportional to its square, whatever n.

    Raises:
        ValueError: fewer than two rows, a row of length zero or that is not finite, or a scale that is not
            positive.

    Source: Wang and Isola, Understanding Contrastive Representation Learning through Alignment and
    Uniformity, 2020, section 4.1.

    Example:
        >>> uniformity(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
        -8.0
    """
    check_number("scale", scale, above=0)
    units = directions(embeddings)
    total = torch.full((), -torch.inf, dtype=torch.float64, device=units.device)
    for block in pair_blocks(units, side):
        exponent = (-2 * scale * (1 - block.similarity)).where(block.pairs, -torch.inf)
        total = torch.logaddexp(total, exponent.flatten().logsumexp(dim=0).double())
    return float(total) - math.log(len(units) * (len(units) - 1) / 2)


@torch.no_grad()
def uniformity_of_rows(
    embeddings: Float[Tensor, "n dim"], *, scale: float = 2.0, side: int = SIDE
) -> Float[Tensor, " n"]:
    """Return the mean Gaussian potential of each row with the others, of which uniformity is the log mean.

        h_i = mean over j != i of exp(-scale |x_i - x_j|^2) ,        uniformity = log mean_i h_i

    The rows that raise uniformity most are those in dense places. Deviations of h_i give an interval: the
    mean over pairs has the standard error 2 sd(h) / sqrt(n), to first order (Hoeffding 1948).

    Args:
        embeddings: at least two embeddings, of any length above 0.
        scale: factor of the squared distances, above 0.
        side: rows of a block.

    Raises:
        ValueError: fewer than two rows, a row of length zero or that is not finite, or a scale that is not
            positive.

    Source: Wang and Isola (2020), section 4.1.

    Example:
        >>> x = torch.eye(3)
        >>> round(float(uniformity_of_rows(x).mean().log()), 4), round(uniformity(x), 4)
        (-4.0, -4.0)
    """
    check_number("scale", scale, above=0)
    units = directions(embeddings)
    n = len(units)
    if n < 2:
        raise ValueError(f"expected at least two embeddings, which make a pair, got {n}")
    found = torch.empty(n, dtype=torch.float64)
    for start in range(0, n, side):
        block = units[start : start + side]
        potential = exponential_(product(block, units.T).sub_(1).mul_(2 * scale))
        potential[torch.arange(len(block)), torch.arange(start, start + len(block))] = 0
        found[start : start + side] = potential.sum(dim=1, dtype=torch.float64) / (n - 1)
    return found
