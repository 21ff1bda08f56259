"""Intrinsic dimension: the dimension of the surface that the embeddings lie on, by two neighbors."""

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_number

DISCARDED = 0.1
"""Share of the largest ratios that the fit leaves out, as in the paper."""


def intrinsic_dimension(distances: Float[Tensor, "n two"], *, discarded: float = DISCARDED) -> float | None:
    """Return the intrinsic dimension by the distances to the two nearest neighbors (TwoNN).

        mu_i = r_i2 / r_i1 ,        -log(1 - F(mu)) = D log mu ,

    the slope D of a line through the origin, by least squares, with the empirical F(mu_(i)) = i / n.

    Args:
        distances: distances r_i1 <= r_i2 of each row to its nearest two others; rows with an equal row
            (r_i1 = 0) are left out.
        discarded: share of the largest ratios that is left out of the fit.

    Returns:
        The dimension; None if fewer than ten rows are left, or all their two distances are equal.

    Raises:
        ValueError: a share out of range.

    Source: Facco et al. (2017), equation 4.

    Example:
        >>> i = torch.arange(1, 101).double()
        >>> mu = (1 - i / 100).clamp(min=1e-9) ** (-1 / 3)  # the quantiles in 3 dimensions
        >>> round(intrinsic_dimension(torch.stack([torch.ones(100), mu], dim=1)), 3)
        3.0
    """
    check_number("discarded", discarded, minimum=0, below=1)
    first, second = distances[:, 0].double(), distances[:, 1].double()
    usable = (first > 0) & second.isfinite()
    log_mu = (second[usable] / first[usable]).log().sort().values
    n = len(log_mu)
    if n < 10:
        return None
    kept = log_mu[: int(n * (1 - discarded))]
    y = -torch.log1p(-torch.arange(1, len(kept) + 1, dtype=torch.float64) / n)
    if discarded == 0:
        kept, y = kept[:-1], y[:-1]  # F = 1 has no logarithm
    square = float(kept.square().sum())
    return float(kept @ y) / square if square > 0 else None
