"""Data-parallel training for lightning's Trainer, with failures that all processes share."""

from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from lightning.pytorch.strategies import DDPStrategy
from torch import Tensor
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel
from typing_extensions import override

from tammes.training.distributed.group import ProcessGroup

GradientMaxima = dict[int, Tensor]
"""Largest absolute gradient entry of this process in the last step, for each bucket of DDP."""


class LaunchedDDPStrategy(DDPStrategy):
    """Lightning's DDP for processes that a launcher has started and that have met already.

    Args:
        group: the processes of the run.
        local_maxima: dictionary that every step fills, before gradients are averaged. The average cannot
            tell which process had the NaN.
    """

    def __init__(self, group: ProcessGroup, local_maxima: GradientMaxima) -> None:
        super().__init__(cluster_environment=TorchElasticEnvironment())
        self.group = group
        self.local_maxima = local_maxima

    @override
    def configure_ddp(self) -> None:
        super().configure_ddp()
        assert isinstance(self.model, DistributedDataParallel)
        self.model.register_comm_hook(Averaging(self.local_maxima), average_gradients)

    @override
    def teardown(self) -> None:
        # DDP's reducer holds the process group, and the frames of an exception keep the reducer alive. Closed
        # that late, the group would be closed under Python's lock, which its threads need in order to end.
        wrapped = self.model
        super().teardown()
        if isinstance(wrapped, DistributedDataParallel):
            wrapped.reducer = wrapped.logger = None  # type: ignore[assignment]

    @override
    def save_checkpoint(self, checkpoint: dict[str, Any], filepath: Any, storage_options: Any = None) -> None:
        # On process 0 alone; a full disk there is an error on all.
        self.group.on_first(
            lambda: self.checkpoint_io.save_checkpoint(checkpoint, filepath, storage_options=storage_options)
        )


@dataclass
class Averaging:
    """Averages of one step's gradients that are under way.

    Attributes:
        local_maxima: the strategy's.
        unfinished: for each bucket, what waits for its sum, its gradients and the future given to DDP.
    """

    local_maxima: GradientMaxima
    unfinished: list[tuple[dist.Work, Tensor, torch.futures.Future[Tensor]]] = field(default_factory=list)


def average_gradients(
    averaging: Averaging,
    bucket: dist.GradBucket,  # type: ignore[name-defined]
) -> torch.futures.Future[Tensor]:
    """Average a bucket of gradients as DDP does, and note this process's largest entry first.

    Buckets are summed beside the backward pass, and the last one waits for all. DDP's own hook has a callback
    in Python instead, which Gloo's threads call and let go of: a program that ends before they did is aborted
    ("terminate called without an active exception"). NCCL calls it at once, in the thread that asks.
    """
    gradients = bucket.buffer()
    averaging.local_maxima[bucket.index()] = torch.linalg.vector_norm(gradients, ord=torch.inf)
    world = dist.group.WORLD
    assert world is not None
    if gradients.is_cuda:
        return allreduce_hook(world, bucket)
    if bucket.index() == 0:
        averaging.unfinished.clear()
    work = dist.all_reduce(gradients.div_(world.size()), async_op=True)
    assert work is not None
    average: torch.futures.Future[Tensor] = torch.futures.Future()
    averaging.unfinished.append((work, gradients, average))
    if bucket.is_last():
        for work, summed, future in averaging.unfinished:
            work.wait()
            future.set_result(summed)
        averaging.unfinished.clear()
    return average
