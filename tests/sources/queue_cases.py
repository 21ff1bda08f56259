"""A queue that several processes share, and one of a single process, over some steps in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from gather_cases import DIM, KAPPA, LABELS, ROWS, rows_of
from torch import Tensor

from tammes import Objective, OtherLabels, Subset, recipes
from tammes.sources import Gather, Queue

STEPS, SIZE = 4, 31


@dataclass(frozen=True, kw_only=True)
class QueueCase:
    """An objective on batches of 13 queries and keys, of which each process has some."""

    objective: Objective
    ids: bool = False
    labels: bool = False
    wait_until_full: bool = False
    stale_positives: bool = False


CASES = {
    "queue": QueueCase(objective=recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)),
    "queue_transport": QueueCase(objective=recipes.hcl_ot(temperature=0.5, epsilon=0.3)),
    "queue_transport_cost": QueueCase(objective=recipes.hcl_ot(temperature=0.5, epsilon=0.5, cost=KAPPA)),
    "queue_subset": QueueCase(objective=recipes.ifm(temperature=0.5, epsilon=0.1, selection=Subset(k=4))),
    "queue_labels": QueueCase(
        objective=recipes.hcl(temperature=0.5, beta=1.0, selection=OtherLabels()), labels=True
    ),
    "queue_ids": QueueCase(objective=recipes.simclr(temperature=0.3), ids=True, wait_until_full=True),
    "queue_stale": QueueCase(objective=recipes.simclr(temperature=0.3), ids=True, stale_positives=True),
}


def solve(case: QueueCase, gather: Gather | None, rows: slice) -> dict[str, Any]:
    """Loss and gradients of each step on these rows, and what the queue holds in the end."""
    queue = Queue(
        size=SIZE,
        dim=DIM,
        gather=gather,
        dtype=torch.float64,
        wait_until_full=case.wait_until_full,
        stale_positives=case.stale_positives,
    )
    generator = torch.Generator().manual_seed(2)
    losses: list[Tensor] = []
    gradients: list[Tensor | None] = []
    for step in range(STEPS):
        both = torch.randn(2, ROWS, DIM, dtype=torch.float64, generator=generator)
        queries, keys = (each[rows].clone().requires_grad_() for each in both)
        ids = (torch.arange(ROWS) + 5 * step)[rows] if case.ids else None
        pairs = queue(queries, keys, ids=ids, labels=LABELS[rows] if case.labels else None)
        loss = case.objective(pairs, generator=torch.Generator().manual_seed(step))
        loss.backward()
        losses.append(loss.detach())
        gradients += [queries.grad, keys.grad]
    return {"losses": torch.stack(losses), "gradients": gradients, "queue": queue.state_dict()}


def alone(case: QueueCase) -> dict[str, Any]:
    return solve(case, None, slice(0, ROWS))


def together(case: QueueCase, rank: int, size: int) -> dict[str, Any]:
    return solve(case, Gather(), rows_of(rank, size))
