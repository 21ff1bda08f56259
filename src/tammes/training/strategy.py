"""Data-parallel training for lightning's Trainer, with failures that all processes share."""

from typing import Any

import torch
import torch.distributed as dist
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from lightning.pytorch.strategies import DDPStrategy
from torch import Tensor
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

from tammes.training.peers import Peers


class Together(DDPStrategy):
    """Lightning's DDP among processes that a launcher has started and that have met already.

    Args:
        peers: the processes.
        own_gradients: filled in every step.
    """

    def __init__(self, peers: Peers, own_gradients: "OwnGradients") -> None:
        super().__init__(cluster_environment=TorchElasticEnvironment())
        self.peers = peers
        self.own_gradients = own_gradients

    def configure_ddp(self) -> None:
        """Wrap the module, and look at gradients before they are averaged."""
        super().configure_ddp()
        assert isinstance(self.model, DistributedDataParallel)
        self.model.register_comm_hook(self.own_gradients, averaged)

    def teardown(self) -> None:
        """Let go of what holds the process group, which would be closed under Python's lock otherwise.

        Its threads may need that lock to end: whoever closes it last must not hold it, and DDP's reducer,
        which the frames of an exception keep alive, does.
        """
        wrapped = self.model
        super().teardown()
        if isinstance(wrapped, DistributedDataParallel):
            wrapped.reducer = wrapped.logger = None  # type: ignore[assignment]

    def save_checkpoint(self, checkpoint: dict[str, Any], filepath: Any, storage_options: Any = None) -> None:
        """Write on process 0; a disk that is full there is an error on all."""
        self.peers.by_first(
            lambda: self.checkpoint_io.save_checkpoint(checkpoint, filepath, storage_options=storage_options)
        )


class OwnGradients:
    """Whether the gradients of this process are finite, which their average with others cannot tell.

    Attributes:
        largest: the largest entry by absolute value of each bucket in the last step, a tensor each.
    """

    def __init__(self) -> None:
        self.largest: dict[int, Tensor] = {}

    @property
    def finite(self) -> bool:
        """Whether there was neither NaN nor infinity."""
        return all(bool(torch.isfinite(value)) for value in self.largest.values())


def averaged(
    own: OwnGradients,
    bucket: dist.GradBucket,  # type: ignore[name-defined]
) -> torch.futures.Future[Tensor]:
    """DDP's usual average over the processes, with a look at this one's part before."""
    own.largest[bucket.index()] = torch.linalg.vector_norm(bucket.buffer(), ord=torch.inf)
    everyone = dist.group.WORLD
    assert everyone is not None
    return allreduce_hook(everyone, bucket)
