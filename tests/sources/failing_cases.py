"""What is wrong on the last process, or between processes; every process must say the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from tammes import Objective, OtherLabels, Subset, recipes
from tammes.reduce import Dense
from tammes.sources import Gather, Queue

SIMCLR = recipes.simclr(temperature=0.5)


def views(rows: int = 4, dim: int = 3, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    return [torch.randn(rows, dim, dtype=dtype) for _ in range(2)]


def with_number(number: float) -> list[Tensor]:
    a, b = views()
    b[2] = number
    return [a, b]


Call = Callable[[bool, int], Any]
"""From whether this is the last process, and its rank, to a call that must fail."""


def labeled(rank: int, objective: Objective) -> Tensor:
    """Rank 0 has five rows of one class; the others have one of another each."""
    rows = 5 if rank == 0 else 1
    labels = torch.full((rows,), min(rank, 1))
    return objective(Gather()(*views(rows), labels=labels))


def queue_call(
    rank: int,
    last: bool,
    *,
    ids: Tensor | None = None,
    dim: int = 3,
    stored: int = 0,
    dtype: torch.dtype = torch.float32,
    stale_positives: bool = False,
    training: bool = True,
) -> Any:
    queue = Queue(size=8, dim=dim, gather=Gather(), dtype=dtype, stale_positives=stale_positives)
    queue.train(training)
    if last:
        queue.stored += stored
    return queue(*views(), ids=ids)


CASES: dict[str, tuple[Call, str]] = {
    "engine": (
        lambda last, rank: replace(SIMCLR, engine=Dense() if last else None)(Gather()(*views())),
        "rank {last} calls Objective",
    ),
    "temperature": (
        lambda last, rank: SIMCLR(
            Gather()(*views()), temperature=torch.tensor(float("nan") if last else 0.5)
        ),
        "temperature must be positive and finite, got nan",
    ),
    "dimension": (
        lambda last, rank: Gather()(*views(dim=4 if last else 3)),
        "the processes must agree on the embeddings' dimension: rank 0 has 3, rank {last} has 4",
    ),
    "type": (
        lambda last, rank: Gather()(*views(dtype=torch.float64 if last else torch.float32)),
        "must agree on the embeddings' type: rank 0 has torch.float32, rank {last} has torch.float64",
    ),
    "number of views": (
        lambda last, rank: Gather()(*views()[: 1 if last else 2]),
        "must agree on the number of views: rank 0 has 2, rank {last} has 1",
    ),
    "labels": (
        lambda last, rank: Gather()(*views(), labels=torch.arange(4) if last else None),
        "must agree on labels: rank 0 has none, rank {last} has some",
    ),
    "ids": (
        lambda last, rank: Gather()(*views(), ids=None if last else torch.arange(4)),
        "must agree on ids: rank 0 has some, rank {last} has none",
    ),
    "gradients": (
        lambda last, rank: Gather()(*(each.requires_grad_(last) for each in views())),
        "must agree on gradients: rank 0 has none, rank {last} has some",
    ),
    "NaN": (
        lambda last, rank: Gather()(*(with_number(float("nan")) if last else views())),
        "rank {last}: 1 of 8 embeddings hold NaN or infinity, first row 2 of view 1: the encoder or",
    ),
    "infinity": (
        lambda last, rank: Gather()(*(with_number(-float("inf")) if last else views())),
        "rank {last}: 1 of 8 embeddings hold NaN or infinity, first row 2 of view 1",
    ),
    "zero length": (
        lambda last, rank: SIMCLR(Gather()(*(with_number(0.0) if last else views()))),
        "rank {last}: 1 of 8 embeddings have length zero",
    ),
    "no rows": (
        lambda last, rank: Gather()(*views(0 if last else 4)),
        "rank {last}: the views have no rows: give every process at least one",
    ),
    "shape": (
        lambda last, rank: Gather()(torch.zeros(4, 3), torch.zeros(3 if last else 4, 3)),
        "rank {last}: the views must be matrices (batch, dimension) of one shape, got (4, 3) and (3, 3)",
    ),
    "kind": (
        lambda last, rank: Gather()(*([None, None] if last else views())),
        "rank {last}: view 0 must be a floating-point tensor (batch, dimension), got NoneType",
    ),
    "no views": (
        lambda last, rank: Gather()(*([] if last else views())),
        "rank {last}: expected one or more",
    ),
    "float ids": (
        lambda last, rank: Gather()(*views(), ids=torch.arange(4.0) if last else torch.arange(4)),
        "rank {last}: ids must be integers, got torch.float32",
    ),
    "length of ids": (
        lambda last, rank: Gather()(*views(), ids=torch.arange(3 if last else 4)),
        "rank {last}: ids must be a tensor with one integer for each of the 4 rows, got (3,)",
    ),
    "several": (
        lambda last, rank: Gather()(*views(0)),
        "rank 0: the views have no rows: give every process at least one; rank 1: the views",
    ),
    "id on two processes": (
        lambda last, rank: Gather()(*views(), ids=torch.arange(4) + 10 * rank - (7 if last else 0)),
        "is on rank {before} and on rank {last} (1 such ids): rows that share an id are positives",
    ),
    "one id with two labels": (
        lambda last, rank: Objective(temperature=0.5, selection=OtherLabels())(
            Gather(shared_ids=True)(*views(), ids=torch.arange(4), labels=torch.full((4,), int(last)))
        ),
        "id 0 occurs with the labels 0 and 1",
    ),
    "no negative": (
        lambda last, rank: SIMCLR(Gather(shared_ids=True)(*views(), ids=torch.zeros(4, dtype=torch.long))),
        "has no negative: all candidates share its id",
    ),
    "k on one process": (
        lambda last, rank: labeled(
            rank, recipes.simclr(temperature=0.5, selection=Subset(k=7, among=OtherLabels()))
        ),
        "rank 0: k = 7 negatives were asked for, but anchor row 0 of view 0 has only",
    ),
    "range": (
        lambda last, rank: recipes.logistic()(Gather()(*(1e16 * each if last else each for each in views()))),
        "are beyond torch.float32: the embeddings are too long",
    ),
    "queue's dimension": (
        lambda last, rank: queue_call(rank, last, dim=5),
        "the queue holds keys of dimension 5, these have 3",
    ),
    "queue's ids": (
        lambda last, rank: queue_call(rank, last, ids=torch.arange(4) + 10 * rank - 99 * last),
        "ids given to a queue must be 0 or above, got ",
    ),
    "objectives differ": (
        lambda last, rank: (recipes.hcl(temperature=0.5, beta=1.0) if last else SIMCLR)(Gather()(*views())),
        "the processes must call the same objective: rank 0 calls Objective(temperature=0.5, coupling=U",
    ),
    "temperatures differ": (
        lambda last, rank: recipes.simclr(temperature=0.25 if last else 0.5)(Gather()(*views())),
        "rank {last} calls Objective(temperature=0.25, ",
    ),
    "learned temperatures differ": (
        lambda last, rank: SIMCLR(Gather()(*views()), temperature=torch.tensor(0.25 if last else 0.5)),
        "the processes must have one temperature, got 0.25 to 0.5: put LearnedTemperature into the model",
    ),
    "a learned temperature on some": (
        lambda last, rank: SIMCLR(Gather()(*views()), temperature=torch.tensor(0.5) if last else None),
        "a learned temperature for all",
    ),
    "sources differ": (
        lambda last, rank: Gather()(*views()) if last else queue_call(rank, last),
        "all processes must call the same source; some called a Gather and others a Queue",
    ),
    "keys' gradients": (
        lambda last, rank: Queue(size=8, dim=3, gather=Gather())(
            torch.randn(4, 3, requires_grad=True), torch.randn(4, 3, requires_grad=last)
        ),
        "must agree on the keys' gradients: rank 0 has none, rank {last} has some",
    ),
    "queues differ": (
        lambda last, rank: queue_call(rank, last, stored=5),
        "must agree on the number of keys stored: rank 0 has 0, rank {last} has 5",
    ),
    "queues of different types": (
        lambda last, rank: queue_call(rank, last, dtype=torch.float16 if last else torch.float32),
        "must agree on the queue's type: rank 0 has torch.float32, rank {last} has torch.float16",
    ),
    "a queue in evaluation mode": (
        lambda last, rank: queue_call(rank, last, training=not last),
        "must agree on whether the queue stores keys: rank 0 has True, rank {last} has False",
    ),
    "queues of different rules": (
        lambda last, rank: queue_call(rank, last, stale_positives=last),
        "must agree on stale_positives: rank 0 has False, rank {last} has True",
    ),
}


def message(call: Call, rank: int, size: int) -> str:
    """What the ValueError says."""
    torch.manual_seed(rank)
    try:
        call(rank == size - 1, rank)
    except ValueError as error:
        return str(error)
    return "nothing was raised"
