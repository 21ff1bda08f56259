"""NT-Xent, its one-way form and HCL: as this package computes them, and as one would write or pick them.

Every loss is given raw embeddings and returns the loss of the unit vectors; its gradient is that of the raw
ones, as a training loop needs it. What is written by hand calls `normalize`; a library that normalizes by
itself does not do so twice.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

import libraries
from method import BETA, CLASS_PRIOR, TEMPERATURE, LossMethod, Task, by_autograd, loss_task
from products import products_alone
from tammes import recipes
from tammes.pairs import Pairs


def nt_xent_cross_entropy(a: Tensor, b: Tensor) -> Tensor:
    """NT-Xent as most would write it: a filled diagonal and one cross-entropy."""
    z = normalize(torch.cat([a, b]), dim=1)
    logits = (z @ z.T / TEMPERATURE).fill_diagonal_(-torch.inf)
    return cross_entropy(logits, torch.arange(len(z)).roll(len(a)))


def one_way_cross_entropy(a: Tensor, b: Tensor) -> Tensor:
    """InfoNCE of the rows of one view among those of the other."""
    logits = normalize(a, dim=1) @ normalize(b, dim=1).T / TEMPERATURE
    return cross_entropy(logits, torch.arange(len(a)))


_SIMCLR = recipes.simclr(temperature=TEMPERATURE)


def one_way_tammes(a: Tensor, b: Tensor) -> Tensor:
    """The same here: anchors and candidates are two different sets."""
    ids = torch.arange(len(a))
    pairs = Pairs(anchors=a, ids=ids, candidates=b, candidate_ids=ids)
    return _SIMCLR(pairs)


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


def nt_xent() -> Task:
    """Symmetric tiles need half a product forward, half again and one for the gradient."""
    return loss_task(
        key="nt-xent",
        title="NT-Xent",
        ours=LossMethod(name="tammes, simclr", step=by_autograd(recipes.simclr(temperature=TEMPERATURE))),
        peers=(
            LossMethod(name="PyTorch, cross-entropy", step=by_autograd(nt_xent_cross_entropy), limit=8192),
            LossMethod(
                name="metric-learning, NTXentLoss",
                step=libraries.metric_learning("NTXentLoss"),
                limit=128,
                needs="pytorch_metric_learning",
            ),
            LossMethod(
                name="metric-learning, SupConLoss",
                step=libraries.metric_learning("SupConLoss"),
                limit=4096,
                needs="pytorch_metric_learning",
            ),
            LossMethod(
                name="sentence-transformers, cached",
                step=libraries.cached_nt_xent,
                limit=8192,
                needs="sentence_transformers",
            ),
        ),
        references=(products_alone(),),
        products=2.0,
    )


def one_way() -> Task:
    """One view among the other: three products of a quarter of the matrix of all views."""
    return loss_task(
        key="one-way",
        title="InfoNCE of one view among the other",
        ours=LossMethod(name="tammes, simclr of Pairs", step=by_autograd(one_way_tammes)),
        peers=(
            LossMethod(name="PyTorch, cross-entropy", step=by_autograd(one_way_cross_entropy), limit=8192),
            LossMethod(
                name="sentence-transformers, plain",
                step=libraries.ranking,
                limit=8192,
                needs="sentence_transformers",
            ),
            LossMethod(
                name="sentence-transformers, cached",
                step=libraries.cached_ranking,
                limit=8192,
                needs="sentence_transformers",
            ),
        ),
        products=0.75,
    )


def hcl() -> Task:
    """As many products as NT-Xent."""
    objective = recipes.hcl(temperature=TEMPERATURE, beta=BETA, class_prior=CLASS_PRIOR)
    return loss_task(
        key="hcl",
        title="HCL with debiasing",
        ours=LossMethod(name="tammes, hcl", step=by_autograd(objective)),
        peers=(LossMethod(name="dense formula", step=by_autograd(hcl_dense), limit=4096),),
        products=2.0,
    )
