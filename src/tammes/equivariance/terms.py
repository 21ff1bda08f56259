"""The terms beside the equivariance loss: invariance, which keeps rotations small, and uniformity.

    L_InfoNCE ~ L_inv + L_unif,        L_CARE  =  L_inv + L_unif + lambda L_equi

Each alone, and in sums, they are the ablation of CARE. `tammes.diagnostics` measures the same quantities.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_number
from tammes.equivariance.loss import precise
from tammes.normalization import prepared
from tammes.reduce import Exponent, KeyRanges, Negatives, choose
from tammes.reduce.autograd import without_autocast
from tammes.sources.inbatch import check_views


def invariance_loss(view_a: Float[Tensor, "n d"], view_b: Float[Tensor, "n d"]) -> Float[Tensor, ""]:
    """Return the mean distance between the two embeddings of an example, at unit length.

        L_inv  =  mean over i of |a_i - b_i|

    Where two embeddings coincide, their part of the gradient is zero.

    Args:
        view_a: `(n, d)` embeddings of one view, of any length above 0.
        view_b: `(n, d)` embeddings of the other view, in the same order.

    Returns:
        A scalar in float32, or in float64 for embeddings in float64.

    Raises:
        ValueError: views that do not fit together; no rows; NaN, infinity or a zero-length row in them.

    Source: Robinson (2023), below eq. 5.4. Differs: InfoNCE has half the square of the distance.

    Example:
        >>> invariance_loss(torch.tensor([[3.0, 0.0]]), torch.tensor([[-1.0, 0.0]])).item()
        2.0
    """
    check_views((view_a, view_b))
    if not len(view_a):
        raise ValueError("expected at least one row in each view, got none")
    with without_autocast(view_a.device):
        a, b = _precise_units(view_a, "view_a"), _precise_units(view_b, "view_b")
        loss = torch.linalg.vector_norm(a - b, dim=1).mean()
    return loss if torch.float64 in (view_a.dtype, view_b.dtype) else loss.float()


def _precise_units(view: Tensor, name: str) -> Float[Tensor, "n d"]:
    """Return the rows at unit length, in the graph.

    In float64: the distance of two embeddings that almost agree has few digits in float32.
    """
    precise_rows = view.to(precise(view.device))
    return prepared(precise_rows, normalize=True, name=lambda row: f"row {row} of {name}").in_graph()


def uniformity_loss(embeddings: Float[Tensor, "n d"], *, temperature: float = 1.0) -> Float[Tensor, ""]:
    """Return the logarithm of the mean exponential similarity of pairs, at unit length.

        L_unif  =  log mean over i != j of e^{z_i . z_j / temperature}

    Memory is linear in n: the engines of `tammes.reduce` reduce the similarities.

    Args:
        embeddings: `(n, d)` embeddings of different examples, of any length above 0.
        temperature: divisor of the similarities; 1 in the source.

    Returns:
        A scalar in float32, or in float64 for embeddings in float64.

    Raises:
        ValueError: fewer than two rows; NaN, infinity or a zero-length row; a temperature that is not
            positive, or whose inverse nears the end of the type.

    Source: Robinson (2023), eq. 5.3.

    Example:
        >>> uniformity_loss(torch.tensor([[1.0, 0.0], [-1.0, 0.0]])).item()
        -1.0
    """
    check_number("temperature", temperature, above=0)
    check_views((embeddings,))
    n = len(embeddings)
    if n < 2:
        raise ValueError(f"expected at least two rows, which make a pair, got {n}")
    slope = 1 / temperature
    with without_autocast(embeddings.device):
        rows = prepared(embeddings, normalize=True, name=lambda row: f"row {row} of embeddings")
        if not slope < torch.finfo(rows.values.dtype).max ** 0.75:
            raise ValueError(f"a temperature of {temperature:g} is too low for logits in {rows.values.dtype}")
        ranges = KeyRanges(keys=torch.arange(n, device=embeddings.device))
        constant = Negatives(anchors=rows.values, ranges=ranges, bound=rows.longest**2)
        engine = choose(constant, embeddings.dtype)
        exponent = Exponent(slope=slope, gradient_slope=slope)
        (totals,) = engine.log_sum_exp(constant.in_graph(rows.in_graph(), None), (exponent,))
        return totals.logsumexp(dim=0) - math.log(n * (n - 1))
