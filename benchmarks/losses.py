"""NT-Xent, its one-way form and HCL: from this package, written by hand, and from other packages.

Every loss takes raw embeddings and returns the loss of the unit vectors; its gradient is that of the raw
ones, as in a training loop. Losses written by hand call `normalize`; a library that normalizes by itself
does not do so twice.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

import compilers
import libraries
from method import BETA, CLASS_PRIOR, TEMPERATURE, LossMethod, Task, by_autograd, loss_task
from products import products_alone
from tammes import recipes
from tammes.pairs import Pairs
from tammes.reduce import Dense

SIMCLR = recipes.simclr(temperature=TEMPERATURE)
HCL = recipes.hcl(temperature=TEMPERATURE, beta=BETA, class_prior=CLASS_PRIOR)
DENSE_SIMCLR, DENSE_HCL = replace(SIMCLR, engine=Dense()), replace(HCL, engine=Dense())


def simclr_whole(a: Tensor, b: Tensor) -> Tensor:
    """Return the loss as a part of a compiled graph, S in memory."""
    return DENSE_SIMCLR(a, b)


def hcl_whole(a: Tensor, b: Tensor) -> Tensor:
    """Return the same of HCL, by another function: the compiler makes eight programs of one at most."""
    return DENSE_HCL(a, b)


def nt_xent_cross_entropy(a: Tensor, b: Tensor) -> Tensor:
    """Return NT-Xent as it is usually written: a filled diagonal and one cross-entropy."""
    z = normalize(torch.cat([a, b]), dim=1)
    logits = (z @ z.T / TEMPERATURE).fill_diagonal_(-torch.inf)
    return cross_entropy(logits, torch.arange(len(z)).roll(len(a)))


def one_way_cross_entropy(a: Tensor, b: Tensor) -> Tensor:
    """Return InfoNCE of the rows of one view against those of the other."""
    logits = normalize(a, dim=1) @ normalize(b, dim=1).T / TEMPERATURE
    return cross_entropy(logits, torch.arange(len(a)))


def one_way_tammes(a: Tensor, b: Tensor) -> Tensor:
    """Return the one-way loss of this package, with anchors and candidates as two sets."""
    return SIMCLR(Pairs.aligned(a, b))


def one_way_whole(a: Tensor, b: Tensor) -> Tensor:
    """Return the same as a part of a compiled graph."""
    return DENSE_SIMCLR(Pairs.aligned(a, b))


def hcl_dense(a: Tensor, b: Tensor) -> Tensor:
    """Return HCL with debiasing as published, with every matrix formed."""
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
    """Return the task of NT-Xent: half a product forward, half again and one for the gradient."""
    return loss_task(
        key="nt-xent",
        title="NT-Xent",
        ours=LossMethod(name="tammes, simclr", step=by_autograd(SIMCLR)),
        peers=(
            LossMethod(name="PyTorch, cross-entropy", step=by_autograd(nt_xent_cross_entropy), limit=8192),
            LossMethod(
                name="compiled, cross-entropy", step=compilers.compiled(nt_xent_cross_entropy), limit=8192
            ),
            LossMethod(name="compiled, log-sum-exp", step=compilers.compiled(compilers.nt_xent), limit=8192),
            LossMethod(
                name="JAX, jit", step=compilers.by_jax(compilers.jax_nt_xent), limit=8192, needs="jax"
            ),
            LossMethod(
                name="JAX, checkpointed blocks",
                step=compilers.by_jax(compilers.jax_nt_xent_in_blocks),
                needs="jax",
            ),
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
        also_ours=(
            LossMethod(name="tammes, compiled whole", step=compilers.compiled(simclr_whole), limit=8192),
        ),
        references=(products_alone(),),
        products=2.0,
    )


def one_way() -> Task:
    """Return the one-way task: three products of a quarter of the matrix of all views."""
    return loss_task(
        key="one-way",
        title="InfoNCE of one view among the other",
        ours=LossMethod(name="tammes, simclr of Pairs", step=by_autograd(one_way_tammes)),
        also_ours=(
            LossMethod(name="tammes, compiled whole", step=compilers.compiled(one_way_whole), limit=8192),
        ),
        peers=(
            LossMethod(name="PyTorch, cross-entropy", step=by_autograd(one_way_cross_entropy), limit=8192),
            LossMethod(name="compiled", step=compilers.compiled(compilers.one_way), limit=8192),
            *(
                [LossMethod(name="linear_cross_entropy", step=by_autograd(compilers.linear_cross_entropy))]
                if compilers.has_linear_cross_entropy()
                else []
            ),
            LossMethod(
                name="JAX, jit", step=compilers.by_jax(compilers.jax_one_way), limit=8192, needs="jax"
            ),
            LossMethod(
                name="JAX, checkpointed blocks",
                step=compilers.by_jax(compilers.jax_one_way_in_blocks),
                needs="jax",
            ),
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
    """Return the task of HCL, with as many products as NT-Xent."""
    return loss_task(
        key="hcl",
        title="HCL with debiasing",
        ours=LossMethod(name="tammes, hcl", step=by_autograd(HCL)),
        also_ours=(
            LossMethod(name="tammes, compiled whole", step=compilers.compiled(hcl_whole), limit=8192),
        ),
        peers=(
            LossMethod(name="dense formula", step=by_autograd(hcl_dense), limit=4096),
            LossMethod(
                name="compiled, one exponential",
                step=compilers.compiled(compilers.hcl_exponential),
                limit=8192,
            ),
            LossMethod(
                name="compiled, log-sum-exp",
                step=compilers.compiled(compilers.hcl_log_sum_exp),
                limit=8192,
            ),
            LossMethod(name="JAX, jit", step=compilers.by_jax(compilers.jax_hcl), limit=8192, needs="jax"),
            LossMethod(
                name="JAX, checkpointed blocks",
                step=compilers.by_jax(compilers.jax_hcl_in_blocks),
                needs="jax",
            ),
        ),
        products=2.0,
    )
