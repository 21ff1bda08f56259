"""LiDAR: the effective rank of what distinguishes examples, beyond what differs among views of one."""

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_finite_rows, check_number, check_shape

DELTA = 1e-4
"""Ridge on the covariance within examples, as in the paper."""
EPSILON = 1e-8
"""Constant added to each share."""
ROUNDING = 64 * torch.finfo(torch.float64).eps
"""Share of the means within which they are equal, but for the rounding of their mean."""
PRECISE = 1e-6
"""Largest rounding error of the covariance within examples, in multiples of the ridge."""


@torch.no_grad()
def lidar(
    view_a: Float[Tensor, "pairs dim"],
    view_b: Float[Tensor, "pairs dim"],
    *,
    delta: float = DELTA,
    epsilon: float = EPSILON,
) -> float:
    """Return LiDAR of pairs of views.

        S_b = mean_i (m_i - m)(m_i - m)^T ,      S_w = mean over i, v of (x_iv - m_i)(x_iv - m_i)^T + delta I
        lambda = eigenvalues of S_w^(-1/2) S_b S_w^(-1/2) ,        exp(-sum_k p_k log p_k) ,
        p_k = lambda_k / sum_l lambda_l + epsilon

    with the mean m_i of the two views of example i and the mean m of all. The paper has 50 views of 1,000
    examples; two views give the same matrices with more noise in S_w. It is invariant to rotations, and to
    scale only where delta is negligible beside S_w.

    Args:
        view_a: embeddings of the first views.
        view_b: embeddings of the second views of the same examples, in the same order.
        delta: ridge on the covariance within examples, in squared units of the embeddings, above 0.
        epsilon: constant added to each share, at least 0.

    Returns:
        From 1 to the smaller of dim and pairs - 1; 0 if all means are equal.

    Raises:
        ValueError: fewer than two pairs, views of different shape, NaN or infinity, or a number out of its
            range.

    Source: Thilak et al. (2024), section 4.

    Example:
        >>> means = torch.tensor([[3.0, 0.0], [-3.0, 0.0], [0.0, 3.0], [0.0, -3.0]])
        >>> round(lidar(means + 0.1, means - 0.1), 2)
        1.03
        >>> round(lidar(means, means), 3)
        2.0
    """
    check_number("delta", delta, above=0)
    check_number("epsilon", epsilon, minimum=0)
    check_shape("view_b, like view_a,", view_b.shape, tuple(view_a.shape))
    if view_a.ndim != 2 or len(view_a) < 2:
        raise ValueError(f"expected at least two pairs of embeddings (n, dim), got {tuple(view_a.shape)}")
    check_finite_rows("first views", view_a)
    check_finite_rows("second views", view_b)
    a, b = view_a.double(), view_b.double()
    means = (a + b) / 2
    between = means - means.mean(dim=0)
    between = between.where(between.abs() > ROUNDING * means.abs().amax(dim=0), 0)
    # Both views of an example are equally far from their mean.
    within = (a - b) / 2
    n = len(a)
    s_b = between.T @ between / n
    # With S_w = L L^T the eigenvalues of L^-1 S_b L^-T are those of the symmetric form.
    lower = _factor(within / n**0.5, delta)
    half = torch.linalg.solve_triangular(lower, s_b, upper=False)
    whitened = torch.linalg.solve_triangular(lower, half.T, upper=False)
    values = torch.linalg.eigvalsh((whitened + whitened.T) / 2).clamp(min=0)
    if float(values.sum()) == 0:
        return 0.0
    p = values / values.sum() + epsilon
    return float(torch.special.entr(p).sum().exp())


def _factor(within: Float[Tensor, "pairs dim"], delta: float) -> Float[Tensor, "dim dim"]:
    """Return L with L L^T = W^T W + delta I."""
    ridge = torch.eye(within.shape[1], dtype=torch.float64)
    s_w = within.T @ within
    if torch.finfo(torch.float64).eps * float(s_w.trace()) < PRECISE * delta:
        return torch.linalg.cholesky(s_w + delta * ridge)
    # Of long embeddings the rounding of W^T W is larger than the ridge; that of W is far smaller.
    return torch.linalg.qr(torch.cat([within, delta**0.5 * ridge]), mode="r").R.T
