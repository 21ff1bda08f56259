"""NT-Xent and HCL as this package computes them, and as one would write or pick them instead.

Every loss is given raw embeddings and returns the loss of the unit vectors; its gradient is that of the raw
ones, as a training loop needs it. What is written by hand calls `normalize`; a library that normalizes by
itself does not do so twice.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from method import BETA, CLASS_PRIOR, TEMPERATURE, Group, Loss, Method, Size, assert_same_loss, training
from tammes import recipes


def nt_xent_cross_entropy(a: Tensor, b: Tensor) -> Tensor:
    """NT-Xent as most would write it: a filled diagonal and one cross-entropy."""
    z = normalize(torch.cat([a, b]), dim=1)
    logits = (z @ z.T / TEMPERATURE).fill_diagonal_(-torch.inf)
    return cross_entropy(logits, torch.arange(len(z)).roll(len(a)))


def hcl_dense(a: Tensor, b: Tensor) -> Tensor:
    """HCL with debiasing as published: every matrix formed."""
    a, b = normalize(a, dim=1), normalize(b, dim=1)
    batch, z = len(a), torch.cat([a, b])
    keep = ~torch.eye(batch, dtype=torch.bool).repeat(2, 2)
    negative = torch.exp(z @ z.T / TEMPERATURE).masked_select(keep).view(2 * batch, -1)
    positive = torch.exp((a * b).sum(-1) / TEMPERATURE).repeat(2)
    n = 2 * batch - 2
    importance = (BETA * negative.log()).exp()
    reweighted = (importance * negative).sum(-1) / importance.mean(-1)
    total = (-CLASS_PRIOR * n * positive + reweighted) / (1 - CLASS_PRIOR)
    total = torch.clamp(total, min=n * float(torch.exp(torch.tensor(-1 / TEMPERATURE))))
    return -torch.log(positive / (positive + total)).mean()


def metric_learning(name: str) -> Loss:
    """A loss of pytorch-metric-learning, which normalizes; positives are rows that share a label."""

    @cache
    def made() -> torch.nn.Module:
        from pytorch_metric_learning import losses

        kinds = {"NTXentLoss": losses.NTXentLoss, "SupConLoss": losses.SupConLoss}
        return kinds[name](temperature=TEMPERATURE)

    def loss(a: Tensor, b: Tensor) -> Tensor:
        return made()(torch.cat([a, b]), torch.arange(len(a)).repeat(2))

    return loss


NT_XENT: dict[str, Loss] = {
    "tammes, simclr": recipes.simclr(temperature=TEMPERATURE),
    "PyTorch, cross-entropy": nt_xent_cross_entropy,
    "metric-learning, NTXentLoss": metric_learning("NTXentLoss"),
    "metric-learning, SupConLoss": metric_learning("SupConLoss"),
}
HCL: dict[str, Loss] = {
    "tammes, hcl": recipes.hcl(temperature=TEMPERATURE, beta=BETA, class_prior=CLASS_PRIOR),
    "dense formula": hcl_dense,
}


def groups() -> tuple[Group, ...]:
    """NT-Xent and HCL; both need half a product forward, half again and one for the gradient."""
    limits = {"PyTorch, cross-entropy": 8192, "dense formula": 4096}
    limits |= {"metric-learning, NTXentLoss": 128, "metric-learning, SupConLoss": 4096}
    titles = {"nt-xent": "NT-Xent", "hcl": "HCL with debiasing"}
    return tuple(
        _group(key, title, losses, limits)
        for (key, title), losses in zip(titles.items(), (NT_XENT, HCL), strict=True)
    )


def _group(key: str, title: str, losses: dict[str, Loss], limits: dict[str, int]) -> Group:
    ours, *peers = (
        Method(
            name=name,
            prepare=training(loss),
            limit=limits.get(name, 10**9),
            needs="pytorch_metric_learning" if name.startswith("metric-learning") else "torch",
        )
        for name, loss in losses.items()
    )

    def agree(size: Size) -> None:
        present = {method.name: losses[method.name] for method in (ours, *peers) if method.runs(size)}
        assert_same_loss(present, size)

    return Group(
        key=key,
        title=f"{title}, forward and backward",
        ours=(ours,),
        peers=tuple(peers),
        products=2.0,
        agree=agree,
    )
