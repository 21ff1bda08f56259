"""How often processes wait for each other in a step, and how much memory a step takes."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from tammes import Objective, recipes
from tammes.sources import Gather
from tammes.sources.distributed import DistributedGroup

METHODS = ("all_gather", "reduce_scatter", "sum", "largest")
ROWS = 4096  # enough for tiles of the largest side


def exchanges(objective: Objective, rank: int, *, with_ids: bool) -> dict[str, int]:
    """How often each is called in a step; every call is one exchange."""
    counted: Counter[str] = Counter()

    def counting(name: str) -> Any:
        method = getattr(DistributedGroup, name)

        def call(group: DistributedGroup, values: Tensor) -> Tensor:
            counted[name] += 1
            return method(group, values)

        return call

    ids = torch.arange(4) + 4 * rank if with_ids else None
    views = [torch.randn(4, 3, requires_grad=True) for _ in range(2)]
    with mock.patch.multiple(DistributedGroup, **{name: counting(name) for name in METHODS}):
        objective(Gather()(*views, ids=ids, labels=ids)).backward()
    return dict(counted)


def in_place(into: tuple[int, int], left: tuple[int, int], right: tuple[int, int], **_: object) -> int:
    """Return the operations of a product that is added in place, which are not counted by default."""
    return 2 * left[0] * left[1] * right[1]


def products_of_a_step(objective: Objective, size: int) -> float:
    """How many products of the whole S with the embeddings a process computes."""
    views = [torch.randn(ROWS, 8, requires_grad=True) for _ in range(2)]
    pairs = Gather()(*views)
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.addmm_: in_place}) as counter:
        objective(pairs).backward()
    return counter.get_total_flops() / (2 * (2 * ROWS * size) ** 2 * 8)


def bytes_of_a_step(rows: int) -> int:
    """The most that tensors hold at any time of forward and backward, beyond the views."""
    views = [torch.randn(rows, 8, requires_grad=True) for _ in range(2)]
    with torch.profiler.profile(profile_memory=True, acc_events=True) as profile:
        recipes.hcl(temperature=0.5, beta=1.0)(Gather()(*views)).backward()
    held, peak = 0, 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    return peak


def together(rank: int, size: int) -> dict[str, Any]:
    torch.manual_seed(rank)
    transport = recipes.hcl_ot(temperature=0.5, epsilon=0.3)
    found = {
        "simclr": exchanges(recipes.simclr(temperature=0.5), rank, with_ids=False),
        "simclr with ids": exchanges(recipes.simclr(temperature=0.5), rank, with_ids=True),
        "hcl_ot": exchanges(transport, rank, with_ids=False),
        "products": {
            "simclr": products_of_a_step(recipes.simclr(temperature=0.5), size),
            "hcl": products_of_a_step(recipes.hcl(temperature=0.5, beta=1.0), size),
        },
        "iterations": int(transport.last["sinkhorn_iterations"]),
        "bytes of half": bytes_of_a_step(ROWS // size // 2),
        "bytes": bytes_of_a_step(ROWS // size),
    }
    if rank == 0:
        found["last"] = dict(transport.last)  # numbers that one process may read alone
    return found
