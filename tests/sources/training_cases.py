"""A raw loop under data-parallel training, in one pass and in two."""

from __future__ import annotations

import contextlib

import torch
import torch.distributed as dist
from gather_cases import HCL, ROWS, Case, Model, inputs, rows_of
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tammes import InBatch
from tammes.sources import Gather

STEPS = 3


def trained(model: nn.Module, source: InBatch | Gather, rows: slice) -> list[Tensor]:
    """The encoder's parameters after some steps."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    for step in range(STEPS):
        views = [torch.roll(view, step, dims=1)[rows] for view in inputs(Case(objective=HCL))]
        loss = HCL(source(*model(torch.cat(views))[0].chunk(2)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [each.detach() for each in model.parameters()]


def two_passes(model: nn.Module, source: InBatch | Gather, rows: slice) -> list[Tensor | None]:
    """The gradients of a step that holds the activations of one view at a time."""
    views = [view[rows] for view in inputs(Case(objective=HCL))]
    with torch.no_grad():
        embeddings = [model(view)[0] for view in views]
    for each in embeddings:
        each.requires_grad_()
    HCL(source(*embeddings)).backward()
    for number, (view, each) in enumerate(zip(views, embeddings, strict=True)):
        last = number == len(views) - 1 or not isinstance(model, DistributedDataParallel)
        with contextlib.nullcontext() if last else model.no_sync():
            model(view)[0].backward(each.grad)
    return [each.grad for each in model.parameters()]


def alone() -> dict[str, list[Tensor | None]]:
    everything = slice(0, ROWS)
    return {
        "trained": list(trained(Model(Case(objective=HCL)), InBatch(), everything)),
        "two passes": two_passes(Model(Case(objective=HCL)), InBatch(), everything),
    }


def together(rank: int, size: int) -> dict[str, list[Tensor | None]]:
    rows = rows_of(rank, size)
    models = [DistributedDataParallel(Model(Case(objective=HCL))) for _ in range(2)]
    return {
        "trained": list(trained(models[0], Gather(), rows)),
        "two passes": two_passes(models[1], Gather(), rows),
    }


def in_a_part(rank: int, size: int) -> str:
    """Return the error on rank 0, and on the others, which are a group whose last process fails."""
    part = dist.new_group(list(range(1, size)))
    torch.manual_seed(rank)
    views = [torch.randn(3, 4, dtype=torch.float64) for _ in range(2)]
    try:
        pairs = Gather(process_group=part)(*views)
        wrong = [view if rank < size - 1 else view * float("nan") for view in views]
        assert len(pairs.anchors) == 6
        assert pairs.candidates is not None
        assert len(pairs.candidates) == 6 * (size - 1)
        Gather(process_group=part)(*wrong)
    except ValueError as error:
        return str(error)
    return ""
