"""Pairs of rows, read batch by batch."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from tammes.training.examples import Examples
from tammes.training.module import Batch
from tammes.training.order import Order
from tammes.training.workers import SignalsLeftToParent


class _Pairs(Dataset[Batch]):
    """Pairs of rows as a DataLoader wants them: it asks for whole batches."""

    def __init__(self, examples: Examples) -> None:
        self.examples = examples

    def __getitems__(self, pairs: Sequence[Sequence[int]]) -> Batch:
        first, second = ([pair[side] for pair in pairs] for side in (0, 1))
        return Batch(
            first=self.examples.batch(first),
            second=None if first == second else self.examples.batch(second),
            pairs=torch.tensor(pairs),
        )


def _as_read(batch: Any) -> Any:
    """The batch: it comes as a whole, and there is nothing to collate."""
    return batch


def batches(examples: Examples, order: Order, *, workers: int) -> DataLoader[Batch]:
    """The batches of an order.

    Args:
        examples: what is read.
        order: which pairs make a batch.
        workers: processes that read; 0 reads in this one.
    """
    return DataLoader(
        _Pairs(examples),
        batch_sampler=order,
        num_workers=workers,
        persistent_workers=workers > 0,
        worker_init_fn=SignalsLeftToParent(workers) if workers > 0 else None,
        collate_fn=_as_read,
        generator=torch.Generator(),  # so that torch's global one is left alone
    )
