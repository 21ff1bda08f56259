"""The batches of all processes as candidates for the anchors of each."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from tammes.pairs import Pairs
from tammes.sources.distributed import DistributedGroup, ProcessGroup
from tammes.sources.distributed_batch import DistributedBatch


@dataclass(frozen=True, kw_only=True)
class Gather:
    """The batches of all processes as the source: this process' rows are anchors, all other rows candidates.

    The loss is the mean over the anchors of all processes, the same number on each. The average of the
    processes' gradients, which data-parallel training takes, is the gradient of one process with the whole
    batch. Batches may differ in size between processes; memory grows with the number of all rows, never with
    its square.

    All processes must call, and all must go backward. An error on one of them is raised on all, and so is the
    difference if they call different objectives. If a process ends, the others raise a `LostProcessError`.

    Args:
        process_group: the processes; None for all.
        shared_ids: whether an id may occur on several processes, whose rows are then positives of each
            other. By default that is an error: ids that start from 0 on every process are a common slip.

    Raises:
        ValueError: when called: torch.distributed is not initialized; on any process views, ids or labels
            that `InBatch` would refuse, NaN or infinity, or no rows; processes that differ in the number of
            views, in dimension, type or device, or in whether there are ids, labels or gradients; an id on
            two processes.

    Example:
        >>> import torch
        >>> import torch.distributed as dist
        >>> import tammes
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> gather, objective = Gather(), tammes.recipes.simclr(temperature=0.5)
        >>> view_a, view_b = torch.randn(8, 16), torch.randn(8, 16)
        >>> loss = objective(gather(view_a, view_b))
        >>> bool(torch.isclose(loss, objective(view_a, view_b)))
        True
        >>> dist.destroy_process_group()
    """

    process_group: ProcessGroup | None = None
    shared_ids: bool = False

    def __call__(self, *views: Tensor, ids: Tensor | None = None, labels: Tensor | None = None) -> Pairs:
        """Return the pairs of this process' `views` with those of all others.

        Args:
            views: one or more tensors `(own batch, d)`, floating point, of one shape.
            ids: `(own batch,)` integers; by default no two rows of a view share one, on any process.
            labels: `(own batch,)` integers, for selections that need classes.
        """
        group = DistributedGroup(self.process_group)
        batch = DistributedBatch.of(group, views, ids, labels, shared_ids=self.shared_ids)
        if batch.size < 2:
            raise ValueError(f"expected at least two pairs on all processes together, got {batch.size}")
        local, own = batch.local, batch.own
        candidate_ids = batch.ids.repeat(local.views)
        return Pairs(
            anchors=local.anchors,
            ids=candidate_ids[own],
            labels=local.labels,
            candidates=batch.all_gather(local.anchors, local.views),
            candidate_ids=candidate_ids,
            candidate_labels=None if batch.labels is None else batch.labels.repeat(local.views),
            own=own,
            group=group,
            views=local.views,
            candidates_are_anchors=True,
        )
