"""Whether the kernels are right on the device: values, digits, memory, and a group of one process."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from gpu import BETA, EPSILON, KINDS, TEMPERATURE, Kind, Loss, step
from gpu_rows import Row, Sizes, Values, views_of


def correctness(sizes: Sizes, device: torch.device) -> Iterator[Row]:
    """Yield rows on values, digits, memory and nccl."""
    from tammes import recipes
    from tammes.reduce import Dense, Triton
    from tammes.reduce.choice import product_for

    losses = {
        "NT-Xent": recipes.simclr(temperature=TEMPERATURE),
        "HCL": recipes.hcl(temperature=TEMPERATURE, beta=BETA),
        "HCL-OT": recipes.hcl_ot(temperature=TEMPERATURE, epsilon=EPSILON),
        "NT-Xent, cold": recipes.simclr(temperature=0.01),
    }

    def outcome(objective: Any, kind: Kind, dim: int, exact: bool) -> list[Tensor]:
        torch.set_float32_matmul_precision(kind.precision)
        engine = Dense() if exact else Triton(product=product_for(kind.type))
        given = views_of(sizes.checked, dim, kind, device)
        views = [each.detach().to(torch.float64 if exact else kind.type).requires_grad_() for each in given]
        loss = dataclasses.replace(objective, engine=engine)(*views)
        return [each.double() for each in (loss.detach(), *torch.autograd.grad(loss, views))]

    def values(objective: Any, kind: Kind, dim: int) -> Values:
        ours, again = (outcome(objective, kind, dim, False) for _ in range(2))
        theirs = outcome(objective, kind, dim, True)
        errors = [float((one - other).norm() / other.norm()) for one, other in zip(ours, theirs, strict=True)]
        same = all(torch.equal(one, other) for one, other in zip(ours, again, strict=True))
        return {"relative error": errors[0], "of the gradient": max(errors[1:]), "same digits": same}

    for kind in KINDS:
        for name, objective in losses.items():
            for dim in (sizes.dims[0], sizes.dims[-1]):
                yield Row(
                    name=f"values, {name}, {kind.name}, d = {dim}",
                    measure=lambda objective=objective, kind=kind, dim=dim: values(objective, kind, dim),
                )
    if device.type == "cuda":
        yield Row(name="memory", measure=lambda: memory(losses["HCL"], device))
        yield Row(name="nccl, one process", measure=lambda: nccl(losses["HCL"], device))


def memory(objective: Loss, device: torch.device) -> Values:
    """Return the peak MB of a step by pairs: it must grow as they do."""
    peaks = {}
    for pairs in (16384, 32768, 65536):
        a, b = views_of(pairs, 128, KINDS[0], device)
        step(objective, a, b)
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step(objective, a, b)
        peaks[str(pairs)] = (torch.cuda.max_memory_allocated() - before) / 1e6
    return {"peak MB": peaks}


def nccl(objective: Any, device: torch.device) -> Values:
    """Return the difference between the loss over a group of one process and without one."""
    import torch.distributed as dist

    import tammes

    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    try:
        a, b = views_of(1024, 128, KINDS[2], device)
        gathered, plain = objective(tammes.Gather()(a, b)), objective(a, b)
        return {"difference": abs(float(gathered.detach()) - float(plain.detach()))}
    finally:
        dist.destroy_process_group()
