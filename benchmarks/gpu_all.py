"""All that is to be measured on a GPU, row by row, in pieces that resume: `python benchmarks/gpu.py --all`.

A row is written as soon as it is measured, and a run skips the rows that are there, so that an hour of a GPU
may come in pieces of ten minutes. The order: whether the kernels are right, what the card can do, which
launches are quick, the table, and where the time of small batches goes.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize

from gpu import BETA, EPSILON, KINDS, TEMPERATURE, UNITS, Kind, Loss, matmul_rate, methods, milliseconds, step

Values = dict[str, Any]
FORWARD = ((128, 128, 8, 2), (128, 128, 8, 3), (128, 64, 8, 3), (128, 64, 4, 2), (64, 64, 4, 3))
BACKWARD = (
    (128, 128, 8, 2), (128, 128, 8, 3), (128, 64, 8, 3), (64, 64, 4, 2), (64, 64, 4, 3), (128, 64, 4, 2),
)  # fmt: skip
"""Rows, columns, warps and stages to try."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What is measured, and how often.

    Args:
        pairs: pairs of the table, ascending.
        dims: dimensions of the table.
        swept: pairs at which launches are compared.
        checked: rows at which values are compared with the dense formula.
        matrix: size of the matrix whose product gives the card's rate.
        profiled: pairs of the profiles.
        rounds: rounds of every row.
    """

    pairs: tuple[int, ...] = (4096, 16384, 65536, 262144)
    dims: tuple[int, ...] = (128, 256, 512, 1024)
    swept: int = 16384
    checked: int = 2048
    matrix: int = 8192
    profiled: tuple[int, ...] = (1024, 4096)
    rounds: int = 9


TINY = Sizes(pairs=(8,), dims=(16,), swept=8, checked=8, matrix=64, profiled=(8,), rounds=1)
"""For a smoke test in the interpreter."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row: its name, which says everything that it depends on, and how it is measured."""

    name: str
    measure: Callable[[], Values]


class Record:
    """Rows in a file, one JSON object a line; what is there is not measured again.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, Values] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    row = json.loads(line)
                except ValueError:  # cut off in the middle of a line
                    continue
                self.rows[row["row"]] = row

    def add(self, name: str, values: Values) -> None:
        """Write a row, to the disk."""
        self.rows[name] = {"row": name, **values}
        whole = not self.path.exists() or self.path.read_bytes()[-1:] in (b"\n", b"")
        with self.path.open("a", encoding="utf-8") as file:
            file.write(("" if whole else "\n") + json.dumps(self.rows[name]) + "\n")
            file.flush()


def views_of(pairs: int, dim: int, kind: Kind, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return two views."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(pairs, dim, generator=generator).to(device, kind.type) for _ in range(2))
    return a.requires_grad_(), b.requires_grad_()


def median(work: Callable[[], object], device: torch.device, rounds: int) -> float:
    """Return the median milliseconds of a call, after two that warm up."""
    for _ in range(2):
        work()
    return statistics.median(milliseconds(work, device) for _ in range(rounds))


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

    def outcome(objective: Any, kind: Kind, exact: bool) -> list[Tensor]:
        torch.set_float32_matmul_precision(kind.precision)
        engine = Dense() if exact else Triton(product=product_for(kind.type))
        given = views_of(sizes.checked, 128, kind, device)
        views = [each.detach().to(torch.float64 if exact else kind.type).requires_grad_() for each in given]
        loss = dataclasses.replace(objective, engine=engine)(*views)
        return [each.double() for each in (loss.detach(), *torch.autograd.grad(loss, views))]

    def values(objective: Any, kind: Kind) -> Values:
        ours, again = outcome(objective, kind, False), outcome(objective, kind, False)
        theirs = outcome(objective, kind, True)
        errors = [float((one - other).norm() / other.norm()) for one, other in zip(ours, theirs, strict=True)]
        same = all(torch.equal(one, other) for one, other in zip(ours, again, strict=True))
        return {"relative error": errors[0], "of the gradient": max(errors[1:]), "same digits": same}

    for kind in KINDS:
        for name, objective in losses.items():
            yield Row(
                name=f"values, {name}, {kind.name}",
                measure=lambda objective=objective, kind=kind: values(objective, kind),
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


def rates(sizes: Sizes, device: torch.device) -> Iterator[Row]:
    """Yield the rates of matrix products and of exponentials."""
    for kind in KINDS:
        yield Row(
            name=f"rate, {kind.name}",
            measure=lambda kind=kind: {
                "operations a second": matmul_rate(kind, device, sizes.matrix, max(5, sizes.rounds))
            },
        )

    def exponentials() -> Values:
        x = torch.randn(sizes.matrix, sizes.matrix, device=device)
        out = torch.empty_like(x)
        return {"a second": x.numel() / (1e-3 * median(lambda: torch.exp2(x, out=out), device, sizes.rounds))}

    yield Row(name="rate, exponentials through memory", measure=exponentials)


def sweep(sizes: Sizes, device: torch.device) -> Iterator[Row]:
    """Yield the times by launch: of a forward pass alone, and of a step with the usual forward launch."""
    from tammes import recipes
    from tammes.reduce import Triton
    from tammes.reduce.choice import product_for
    from tammes.reduce.triton.launch import Launch, launch_for

    objective = recipes.simclr(temperature=TEMPERATURE)
    for dim in sizes.dims:
        kind = KINDS[0]
        product = product_for(kind.type)
        for gathers, shapes in ((False, FORWARD), (True, BACKWARD)):
            usual = launch_for(dim, product, device, gathers=gathers)
            for rows, columns, warps, stages in shapes:
                launch: Launch = dataclasses.replace(
                    usual, rows=rows, columns=columns, warps=warps, stages=stages
                )
                engine = Triton(product=product, **{"backward" if gathers else "launch": launch})  # type: ignore[arg-type]
                if not gathers:  # a given launch would serve both passes
                    other = launch_for(dim, product, device, gathers=True)
                    engine = dataclasses.replace(engine, backward=other)
                which = "backward" if gathers else "forward"

                def measure(
                    engine: Triton = engine, dim: int = dim, kind: Kind = kind, gathers: bool = gathers
                ) -> Values:
                    a, b = views_of(sizes.swept, dim, kind, device)
                    loss = dataclasses.replace(objective, engine=engine)
                    if gathers:
                        return {"ms": median(lambda: step(loss, a, b), device, sizes.rounds)}
                    with torch.no_grad():
                        return {"ms": median(lambda: loss(a, b), device, sizes.rounds)}

                yield Row(
                    name=f"sweep, {which}, d = {dim}, {rows}x{columns}, {warps} warps, {stages} stages",
                    measure=measure,
                )


def linear_cross_entropy(a: Tensor, b: Tensor) -> Tensor:
    """Return the one-way softmax loss by torch's chunked operation: other candidates, half of the work."""
    a, b = normalize(a, dim=1), normalize(b, dim=1)
    targets = torch.arange(len(a), device=a.device)
    return torch.nn.functional.linear_cross_entropy(a / TEMPERATURE, b, targets)


def table(sizes: Sizes, device: torch.device) -> Iterator[Row]:
    """Yield the times of a step by type, dimension, pairs and method."""
    for kind in KINDS:
        for dim in sizes.dims:
            for pairs in sizes.pairs:
                losses = dict(methods(kind, small=device.type != "cuda"))
                if hasattr(torch.nn.functional, "linear_cross_entropy"):
                    losses["one-way softmax, torch's linear_cross_entropy"] = linear_cross_entropy
                for name, loss in losses.items():

                    def measure(
                        kind: Kind = kind, dim: int = dim, pairs: int = pairs, loss: Loss = loss
                    ) -> Values:
                        torch.set_float32_matmul_precision(kind.precision)
                        a, b = views_of(pairs, dim, kind, device)
                        return {
                            "ms": median(lambda: step(loss, a, b), device, sizes.rounds),
                            "operations of the 8-unit count": UNITS * 2 * pairs**2 * dim,
                        }

                    yield Row(name=f"{name}, {kind.name}, d = {dim}, {pairs} pairs", measure=measure)


def profiles(sizes: Sizes, device: torch.device) -> Iterator[Row]:
    """Yield the operations of a step of small batches, with their microseconds on the device and the host."""
    from tammes import recipes

    for name, objective in (
        ("NT-Xent", recipes.simclr(temperature=TEMPERATURE)),
        ("HCL", recipes.hcl(temperature=TEMPERATURE, beta=BETA)),
    ):
        for pairs in sizes.profiled:

            def measure(objective: Loss = objective, pairs: int = pairs) -> Values:
                a, b = views_of(pairs, 128, KINDS[0], device)
                for _ in range(3):
                    step(objective, a, b)
                with torch.profiler.profile() as profile:
                    step(objective, a, b)
                return {
                    "operations": {
                        event.key: [event.count, event.device_time_total, event.self_cpu_time_total]
                        for event in profile.key_averages()
                    }
                }

            yield Row(name=f"profile, {name}, {pairs} pairs", measure=measure)


STAGES: Mapping[str, Callable[[Sizes, torch.device], Iterator[Row]]] = {
    "correctness": correctness,
    "rates": rates,
    "sweep": sweep,
    "table": table,
    "profiles": profiles,
}


def measure_all(sizes: Sizes, device: torch.device, path: Path, minutes: float) -> bool:
    """Measure the rows that the file lacks until the time is up; return whether it has all of them.

    A row that fails is a row, too: it says why, and is not tried again.
    """
    record, end = Record(path), time.monotonic() + 60 * minutes
    for name, stage in STAGES.items():
        for row in stage(sizes, device):
            if row.name in record.rows:
                continue
            if time.monotonic() > end:
                print(f"the time is up before {row.name}: the same command goes on from there")
                return False
            try:
                values = row.measure()
            except torch.OutOfMemoryError:
                values = {"error": "does not fit into memory"}
            except Exception as error:
                values = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
            if device.type == "cuda":
                torch.cuda.empty_cache()
            record.add(row.name, {"stage": name, **values})
            print(f"{row.name}: {values}", flush=True)
    return True
