"""HCL-OT as a whole: embeddings, transport, weighted negatives, and the gradient."""

from __future__ import annotations

from functools import cache, partial

import torch
from torch import Tensor
from torch.nn.functional import normalize

from method import EPSILON, TEMPERATURE, LossMethod, Size, Task, by_autograd, loss_task
from tammes import Objective, Transport
from transport import ERROR, fewest, spread, with_pot


def published(a: Tensor, b: Tensor) -> Tensor:
    """Return the loss as published: the cost by broadcasting, the plan by POT, then the dense formula."""
    import ot

    z = normalize(torch.cat([a, b]), dim=1)
    with torch.no_grad():
        cost = ((z[:, None, :] - z[None, :, :]) ** 2).sum(-1)
        cost[torch.eye(len(a), dtype=torch.bool).repeat(2, 2)] = 1e3
        mass = torch.full((len(z),), 1 / len(z)).numpy()
        stop = ERROR / len(z) ** 0.5  # its error is the norm of the marginals' difference
        # Its cost lacks the factor 1/2, so the same plan has twice the regularization.
        plan = torch.from_numpy(ot.sinkhorn(mass, mass, cost.numpy(), reg=2 * EPSILON, stopThr=stop))
    return _loss(z, plan)


def with_matrix_products(a: Tensor, b: Tensor) -> Tensor:
    """Return the same loss at its best: the cost as a product, and POT with the fewest iterations."""
    z = normalize(torch.cat([a, b]), dim=1)
    iterations = _iterations(Size(pairs=len(a), dim=a.shape[1]))
    with torch.no_grad():
        plan = _pot(z.detach(), iterations)
    assert isinstance(plan, Tensor)
    return _loss(z, plan)


@cache
def _iterations(size: Size) -> int:
    return fewest(_pot, spread(size))  # the unit vectors of the views of this size


def _loss(z: Tensor, plan: Tensor) -> Tensor:
    """Return the published loss."""
    half = len(z) // 2
    weights = plan / plan.sum(1, keepdim=True)
    mean = (weights * torch.exp(z @ z.T / TEMPERATURE)).sum(1)
    positive = torch.exp((z[:half] * z[half:]).sum(-1) / TEMPERATURE).repeat(2)
    return torch.log(1 + (len(z) - 2) * mean / positive).mean()


_pot = partial(with_pot, method="sinkhorn", as_numpy=False)


def hcl_ot() -> Task:
    """Return the task of the whole loss; its number of products depends on the iterations."""
    objective = Objective(temperature=TEMPERATURE, coupling=Transport(epsilon=EPSILON, tolerance=ERROR))
    return loss_task(
        key="hcl-ot",
        title="HCL-OT",
        ours=LossMethod(name="tammes, hcl_ot", step=by_autograd(objective)),
        peers=(
            LossMethod(name="as published, POT, NumPy", step=by_autograd(published), limit=512, needs="ot"),
            LossMethod(
                name="matrix products, POT, PyTorch",
                step=by_autograd(with_matrix_products),
                limit=4096,
                needs="ot",
            ),
        ),
        products=None,
    )
