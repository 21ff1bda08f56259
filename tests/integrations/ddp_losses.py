"""Losses of two views that processes started anew can import: right, wrong, and other libraries'."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from torch import Tensor, nn

import tammes
from tammes.sources import Gather

SIMCLR = tammes.recipes.simclr(temperature=0.5)


def gathered(a: Tensor, b: Tensor) -> Tensor:
    return SIMCLR(Gather()(a, b))


def by_itself(a: Tensor, b: Tensor) -> Tensor:
    return SIMCLR(a, b)


def too_small(a: Tensor, b: Tensor) -> Tensor:
    return gathered(a, b) / dist.get_world_size()


def without_gradient(a: Tensor, b: Tensor) -> Tensor:
    """The rows of other processes are candidates, but constants."""
    every = [torch.zeros_like(b) for _ in range(dist.get_world_size())]
    dist.all_gather(every, b.detach())
    every[dist.get_rank()] = b
    own = torch.arange(len(a)) + dist.get_rank() * len(a)
    return nn.functional.cross_entropy(a @ torch.cat(every).T, own)


def flat(a: Tensor, b: Tensor) -> Tensor:
    """The gradient is zero, as that of a hinge whose margin every pair keeps."""
    return (a - b).square().sum().neg().clamp(min=0)


def failing(a: Tensor, b: Tensor) -> Tensor:
    raise RuntimeError("no such loss")


def without_graph(a: Tensor, b: Tensor) -> Tensor:
    return torch.zeros(())


def ended(a: Tensor, b: Tensor) -> Tensor:
    os._exit(0)


def waiting(a: Tensor, b: Tensor) -> Tensor:
    if dist.get_rank() == 0 and dist.get_world_size() > 1:
        dist.barrier()
    return by_itself(a, b)


def ranking(a: Tensor, b: Tensor) -> Tensor:
    """The ranking loss of sentence-transformers, with the documents of all processes."""
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    loss = MultipleNegativesRankingLoss(nn.Identity(), gather_across_devices=True)
    return loss.compute_loss_from_embeddings([a, b], None)


def wrapped(a: Tensor, b: Tensor, *, efficient: bool = False) -> Tensor:
    """NT-Xent of pytorch-metric-learning in its wrapper for several processes."""
    from pytorch_metric_learning.losses import NTXentLoss
    from pytorch_metric_learning.utils.distributed import DistributedLossWrapper

    loss = NTXentLoss(temperature=0.5)
    rank, size = dist.get_rank(), dist.get_world_size()
    labels = (torch.arange(len(a)) + rank * len(a)).repeat(2)
    if size > 1:
        loss = DistributedLossWrapper(loss, efficient=efficient)
    return loss(torch.cat([a, b]), labels)


def wrapped_efficiently(a: Tensor, b: Tensor) -> Tensor:
    return wrapped(a, b, efficient=True)


def lightly(a: Tensor, b: Tensor) -> Tensor:
    """NT-Xent of lightly, with the rows of all processes."""
    from lightly.loss import NTXentLoss

    return NTXentLoss(temperature=0.5, gather_distributed=dist.get_world_size() > 1)(a, b)


def clip(a: Tensor, b: Tensor, *, local_loss: bool = False, gather_with_grad: bool = False) -> Tensor:
    """The loss of open_clip, by default as its command line has it."""
    from open_clip.loss import ClipLoss

    a, b = nn.functional.normalize(a), nn.functional.normalize(b)
    loss = ClipLoss(
        local_loss=local_loss,
        gather_with_grad=gather_with_grad,
        rank=dist.get_rank(),
        world_size=dist.get_world_size(),
    )
    return loss(a, b, torch.tensor(10.0, dtype=a.dtype))


def clip_local_with_gradient(a: Tensor, b: Tensor) -> Tensor:
    return clip(a, b, local_loss=True, gather_with_grad=True)
