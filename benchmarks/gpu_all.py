"""All that is to be measured on a GPU, row by row, in pieces that resume: `python benchmarks/gpu.py --all`.

A row is written as soon as it is measured, and a run skips the rows that are there, so that an hour of a GPU
may come in pieces of ten minutes. The order: whether the kernels are right, what the card can do, SignNet,
small batches and where their time goes, which launches are quick, and the table, which takes longest.
"""

from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import normalize

from gpu import (
    BETA,
    KINDS,
    TEMPERATURE,
    UNITS,
    Kind,
    Loss,
    matmul_rate,
    methods,
    step,
)
from gpu_checks import correctness
from gpu_page import has_failed, page
from gpu_rows import Record, Row, Sizes, Values, median, step_times, views_of

FORWARD = (
    (128, 64, 4, 3), (128, 64, 4, 2), (64, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 2), (128, 128, 8, 3),
)  # fmt: skip
BACKWARD = (
    (128, 64, 4, 2), (128, 64, 4, 3), (128, 64, 8, 2), (128, 64, 8, 3), (128, 128, 8, 2), (128, 128, 8, 3),
    (64, 64, 4, 2), (64, 64, 4, 3),
)  # fmt: skip
"""Rows, columns, warps and stages to try."""
STRIPS = (1024, 2048, 4096)
"""Rows of a strip to try, of a backward pass that writes slopes."""


def rates(sizes: Sizes, device: torch.device) -> Iterator[Row]:
    """Yield the machine, and its rates of matrix products and of exponentials."""

    def machine() -> Values:
        import triton

        name = torch.cuda.get_device_name(device) if device.type == "cuda" else "a CPU, interpreted"
        versions = {"torch": torch.__version__, "triton": triton.__version__, "CUDA": torch.version.cuda}
        return {"device": name, "date": datetime.date.today().isoformat(), **versions}

    yield Row(name="machine", measure=machine)
    for kind in KINDS:
        yield Row(
            name=f"rate, {kind.name}",
            measure=lambda kind=kind: {
                "operations a second": matmul_rate(kind, device, sizes.matrix, max(5, sizes.rounds))
            },
        )

    def exponentials() -> Values:
        from gpu_exponentials import rate  # needs triton

        return {"a second": rate(device, sizes.rounds)}

    yield Row(name="rate, exponentials", measure=exponentials)


def small_batches(sizes: Sizes, device: torch.device) -> Iterator[Row]:
    """Yield the times of a step that launches each operation, and of its CUDA graph."""
    kind = KINDS[0]
    for pairs in sizes.small:
        for name, loss in methods(kind, small=device.type != "cuda").items():
            if "atomics" in name or "OT" in name:
                continue

            def measure(loss: Loss = loss, pairs: int = pairs) -> Values:
                torch._dynamo.reset()
                views = views_of(pairs, 128, kind, device)
                return step_times(loss, views, 5 * sizes.rounds, graph=True)

            yield Row(name=f"small, {name}, {pairs} pairs", measure=measure)


def sweep(sizes: Sizes, device: torch.device) -> Iterator[Row]:
    """Yield the times by launch: of a forward pass alone, and of a step with the usual forward launch."""
    from tammes import recipes
    from tammes.reduce import Triton
    from tammes.reduce.choice import product_for
    from tammes.reduce.triton.launch import Launch, launch_for

    objective, kind = recipes.simclr(temperature=TEMPERATURE), KINDS[0]
    product = product_for(kind.type)
    for dim in sizes.dims:
        usual, gathering = (launch_for(dim, product, device, gathers=gathers) for gathers in (False, True))

        def shaped(launch: Launch, shape: tuple[int, ...]) -> Launch:
            rows, columns, warps, stages = shape
            return dataclasses.replace(launch, rows=rows, columns=columns, warps=warps, stages=stages)

        tried = [("forward", f"{shape}", shaped(usual, shape)) for shape in FORWARD]
        if dim <= 256:  # with more features programs that gather compute S several times
            tried += [("backward", f"{shape}", shaped(gathering, shape)) for shape in BACKWARD]
        wide = dataclasses.replace(usual, rows=128, columns=128, warps=8)
        tried += [("backward", f"strips of {n}", dataclasses.replace(wide, strip=n)) for n in STRIPS]
        tried.append(("backward", "atomics", gathering))
        for which, name, launch in tried:
            backward = gathering if which == "forward" else launch
            engine = Triton(
                product=product,
                launch=launch if which == "forward" else usual,
                backward=backward,
                deterministic=name != "atomics",
            )

            def measure(engine: Triton = engine, dim: int = dim, which: str = which) -> Values:
                a, b = views_of(sizes.swept, dim, kind, device)
                loss = dataclasses.replace(objective, engine=engine)
                if which == "backward":
                    return {"ms": median(lambda: step(loss, a, b), device, sizes.rounds)}
                with torch.no_grad():
                    return {"ms": median(lambda: loss(a, b), device, sizes.rounds)}

            yield Row(name=f"sweep, {which}, d = {dim}, {name}", measure=measure)


def linear_cross_entropy(a: Tensor, b: Tensor) -> Tensor:
    """Return the one-way softmax loss by torch's chunked operation: other candidates, half of the work."""
    a, b = normalize(a, dim=1), normalize(b, dim=1)
    targets = torch.arange(len(a), device=a.device)
    return torch.nn.functional.linear_cross_entropy(a / TEMPERATURE, b, targets)


def inf_cl(a: Tensor, b: Tensor) -> Tensor:
    """Return the same by the kernels of Inf-CL (the package inf_cl, where it is installed)."""
    from inf_cl import cal_flash_loss

    a, b = normalize(a, dim=1), normalize(b, dim=1)
    return cal_flash_loss(a, b, scale=1 / TEMPERATURE, head_dim=min(256, a.shape[1])).mean()


def one_way(kind: Kind, device: torch.device) -> dict[str, Loss]:
    """Return the one-way softmax loss of this package, and of those that have one."""
    from tammes import Pairs, recipes
    from tammes.reduce import Triton
    from tammes.reduce.choice import product_for

    objective = dataclasses.replace(
        recipes.simclr(temperature=TEMPERATURE), engine=Triton(product=product_for(kind.type))
    )

    def ours(a: Tensor, b: Tensor) -> Tensor:
        return objective(Pairs.aligned(a, b))

    losses: dict[str, Loss] = {"one-way softmax, tammes": ours}
    if find_spec("inf_cl") is not None and device.type == "cuda":
        losses["one-way softmax, Inf-CL"] = inf_cl
    if hasattr(torch.nn.functional, "linear_cross_entropy"):
        losses["one-way softmax, torch's linear_cross_entropy"] = linear_cross_entropy
    return losses


def not_tried(name: str, pairs: int, kind: Kind, device: torch.device) -> str:
    """Return why a method is not tried; empty where it may fit."""
    size = (2 * pairs) ** 2 * kind.type.itemsize
    if device.type != "cuda" or "dense" not in name or size < torch.cuda.mem_get_info(device)[1] / 3:
        return ""
    return f"not tried: S, its softmax and its gradient take {size / 1e9:,.0f} GB each"


def table(sizes: Sizes, device: torch.device) -> Iterator[Row]:
    """Yield the times of a step by type, dimension, pairs and method; what is most wanted first."""
    first, *others = sizes.pairs
    blocks = [(kind, first) for kind in KINDS]
    largest = max(sizes.pairs)
    blocks += [(kind, pairs) for pairs in others for kind in (KINDS[:1] if pairs == largest else KINDS)]
    blocks += [(kind, largest) for kind in KINDS[1:] if others]  # a step takes seconds
    for kind, pairs, dim in ((*block, dim) for block in blocks for dim in sizes.dims):
        torch.set_float32_matmul_precision(kind.precision)
        losses = methods(kind, small=device.type != "cuda") | one_way(kind, device)
        for name, loss in losses.items():
            if "atomics" in name:  # in the sweep
                continue

            def measure(
                name: str = name, kind: Kind = kind, dim: int = dim, pairs: int = pairs, loss: Loss = loss
            ) -> Values:
                torch.set_float32_matmul_precision(kind.precision)
                if reason := not_tried(name, pairs, kind, device):
                    return {"error": reason}
                torch._dynamo.reset()
                # HCL-OT reads its error, and one-way pairs how many they are: no graph can.
                graph = pairs <= first and not any(part in name for part in ("OT", "one-way", "dense"))
                views = views_of(pairs, dim, kind, device)
                values = step_times(loss, views, sizes.rounds, graph=graph or "compiled" in name)
                return values | {"operations of the 8-unit count": UNITS * 2 * pairs**2 * dim}

            yield Row(name=f"{name}, {kind.name}, d = {dim}, {pairs} pairs", measure=measure)


def signnet(sizes: Sizes, device: torch.device) -> Iterator[Row]:
    """Yield the times of SignNet, forward and backward, and of the direct ways, which take turns."""
    for count in sizes.graphs:

        def measure(count: int = count) -> Values:
            from spectral import signnet_works

            torch.set_float32_matmul_precision("highest")
            works = signnet_works(count, device)
            times = {name: median(work, device, sizes.rounds) for name, work in works.items()}
            return {"ms": times}

        yield Row(name=f"SignNet, {count} molecules", measure=measure)


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
    "SignNet": signnet,
    "small batches": small_batches,
    "profiles": profiles,
    "sweep": sweep,
    "table": table,
}


def measure_all(
    sizes: Sizes, device: torch.device, path: Path, minutes: float, *, retry_errors: bool = False
) -> bool:
    """Measure the rows that the file lacks until the time is up, one at least; return whether all are there.

    A row that fails is a row, too: it says why. With `retry_errors` it is measured again.
    """
    record, end, measured = Record(path), time.monotonic() + 60 * minutes, 0
    for name, stage in STAGES.items():
        for row in stage(sizes, device):
            known = record.rows.get(row.name)
            if known is not None and not (retry_errors and has_failed(known)):
                continue
            if measured and time.monotonic() > end:
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
            measured += 1
            record.add(row.name, {"stage": name, "date": datetime.date.today().isoformat(), **values})
            print(f"{row.name}: {values}", flush=True)
            path.with_suffix(".md").write_text(page(record.rows), encoding="utf-8")
    return True
