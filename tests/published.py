"""The papers' formulas as they stand there, on plain matrices: what the objectives are compared with.

Two views (B, d) of unit vectors; all 2B rows are anchors. Nothing here uses the package.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def rows(view_a: Tensor, view_b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Similarities (2B, 2B), the mask of negatives, and the similarity of each anchor's positive."""
    z = torch.nn.functional.normalize(torch.cat([view_a, view_b]), dim=1)
    batch = len(view_a)
    identity = torch.arange(batch).repeat(2)
    similarity = z @ z.T
    positive = similarity[torch.arange(2 * batch), (torch.arange(2 * batch) + batch) % (2 * batch)]
    return similarity, identity[:, None] != identity[None, :], positive


def simclr(view_a: Tensor, view_b: Tensor, *, temperature: float) -> Tensor:
    """Robinson (2023), eq. 3.1 with Q = N."""
    s, negative, positive = rows(view_a, view_b)
    g = (torch.exp(s / temperature) * negative).sum(1)
    e = torch.exp(positive / temperature)
    return -torch.log(e / (e + g)).mean()


def hcl(view_a: Tensor, view_b: Tensor, *, temperature: float, beta: float, class_prior: float) -> Tensor:
    """Robinson (2023), eq. 3.7 and 3.12 with importance weights; beta = 0 is eq. 3.8."""
    s, negative, positive = rows(view_a, view_b)
    n = negative.sum(1)
    e = torch.exp(s / temperature)
    z_beta = (e**beta * negative).sum(1) / n
    expectation = (e ** (1 + beta) * negative).sum(1) / n / z_beta
    e_positive = torch.exp(positive / temperature)
    g = (expectation - class_prior * e_positive) / (1 - class_prior)
    g = torch.clamp(g, min=math.exp(-1 / temperature))
    return -torch.log(e_positive / (e_positive + n * g)).mean()


def plan(cost: Tensor, negative: Tensor, epsilon: float, iterations: int = 3000) -> Tensor:
    """Jiang et al. (2023), eq. 5, by Sinkhorn's alternating scaling of the kernel, uniform marginals."""
    kernel = torch.exp(-cost / epsilon) * negative
    n = len(cost)
    u, v = torch.ones(n, dtype=cost.dtype), torch.ones(n, dtype=cost.dtype)
    for _ in range(iterations):
        u = 1 / n / (kernel @ v)
        v = 1 / n / (kernel.T @ u)
    return u[:, None] * kernel * v[None, :]


def hcl_ot(
    view_a: Tensor,
    view_b: Tensor,
    *,
    temperature: float,
    epsilon: float,
    class_prior: float,
    kappa: float | None,
) -> Tensor:
    """Jiang et al. (2023), eq. 5 and 8, debiased; kappa is None for the squared Euclidean cost."""
    s, negative, positive = rows(view_a, view_b)
    distance = 2 - 2 * s.detach()
    cost = 0.5 * distance if kappa is None else torch.exp(distance - kappa)
    p = plan(cost, negative, epsilon)
    conditional = p / p.sum(1, keepdim=True)
    expectation = (conditional * torch.exp(s / temperature)).sum(1)
    e_positive = torch.exp(positive / temperature)
    g = (expectation - class_prior * e_positive) / (1 - class_prior)
    g = torch.clamp(g, min=math.exp(-1 / temperature))
    return torch.log(1 + negative.sum(1) * g / e_positive).mean()


def ifm(view_a: Tensor, view_b: Tensor, *, temperature: float, epsilon: float, alpha: float) -> Tensor:
    """Robinson (2023), eq. 4.2 and the multi-task loss below Definition 2, normalized by 1 + alpha."""
    s, negative, positive = rows(view_a, view_b)

    def loss(eps: float) -> Tensor:
        e = torch.exp((positive - eps) / temperature)
        g = (torch.exp((s + eps) / temperature) * negative).sum(1)
        return -torch.log(e / (e + g)).mean()

    return (loss(0.0) + alpha * loss(epsilon)) / (1 + alpha)


def bcl(view_a: Tensor, view_b: Tensor, *, temperature: float) -> Tensor:
    """Jiang et al. (2023), eq. 9, uniform negatives, in logits."""
    s, negative, positive = rows(view_a, view_b)
    return (((s * negative).sum(1) / negative.sum(1) - positive) / temperature).mean()


def triplet(view_a: Tensor, view_b: Tensor, *, margin: float) -> Tensor:
    """Jiang et al. (2023), sec. IV: squared distances, averaged over the negatives."""
    s, negative, positive = rows(view_a, view_b)
    loss = torch.clamp((2 - 2 * positive)[:, None] - (2 - 2 * s) + margin, min=0)
    return ((loss * negative).sum(1) / negative.sum(1)).mean()


def raw(view_a: Tensor, view_b: Tensor) -> tuple[Tensor, Tensor]:
    """v_ij = f(x_i).(f(x_i+) - f(x_j)) on raw inner products, and the mask of negatives."""
    z = torch.cat([view_a, view_b])
    batch = len(view_a)
    identity = torch.arange(batch).repeat(2)
    s = z @ z.T
    positive = s[torch.arange(2 * batch), (torch.arange(2 * batch) + batch) % (2 * batch)]
    return positive[:, None] - s, identity[:, None] != identity[None, :]


def hinge(view_a: Tensor, view_b: Tensor) -> Tensor:
    """Ash et al. (2022), below Definition 1: max{0, 1 + max_i(-v_i)}."""
    v, negative = raw(view_a, view_b)
    return torch.clamp(1 + (-v).masked_fill(~negative, -torch.inf).amax(1), min=0).mean()


def logistic(view_a: Tensor, view_b: Tensor) -> Tensor:
    """Ash et al. (2022), below Definition 1: log(1 + sum_i exp(-v_i))."""
    v, negative = raw(view_a, view_b)
    return torch.log(1 + (torch.exp(-v) * negative).sum(1)).mean()


def jsd(view_a: Tensor, view_b: Tensor, *, beta: float, clip: float) -> Tensor:
    """Robinson (2023), appendix A.2: sp(-T) on positives, E_q[sp(T)] with q proportional to e^{beta T}."""
    z = torch.cat([view_a, view_b])
    batch = len(view_a)
    identity = torch.arange(batch).repeat(2)
    t = z @ z.T
    negative = identity[:, None] != identity[None, :]
    positive = t[torch.arange(2 * batch), (torch.arange(2 * batch) + batch) % (2 * batch)]
    q = torch.exp(beta * t.clamp(-clip, clip)) * negative
    q = q / q.sum(1, keepdim=True)
    return (torch.log1p(torch.exp(-positive)) + (q * torch.log1p(torch.exp(t))).sum(1)).mean()
