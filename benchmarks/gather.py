"""The step of a loss whose views are spread over processes, beside one process with the whole batch.

    python benchmarks/gather.py                         # 8,192 pairs, two processes of one thread
    python benchmarks/gather.py --pairs 1024 --processes 2 4

A step is the loss and the gradient of the raw embeddings, float32, gathered by gloo on this machine. Times
are medians over rounds: wall-clock time, for which the machine needs a quiet core for each process, and
processor time of a process, which does not count the waiting for others. The products are those that a
process computes, in units of S with the embeddings, 2 m m d operations for m rows of all views.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time

import torch
import torch.distributed as dist
from rich.console import Console
from torch import multiprocessing
from torch.utils.flop_counter import FlopCounterMode

from machine import description
from method import BETA, CLASS_PRIOR, TEMPERATURE
from tammes import Gather, InBatch, Objective, recipes
from times_table import markdown_table

OBJECTIVES = {
    "simclr": recipes.simclr(temperature=TEMPERATURE),
    "hcl": recipes.hcl(temperature=TEMPERATURE, beta=BETA, class_prior=CLASS_PRIOR),
}


def in_place(into: tuple[int, int], left: tuple[int, int], right: tuple[int, int], **_: object) -> int:
    """Return the operations of a product that is added in place, which are not counted by default."""
    return 2 * left[0] * left[1] * right[1]


def measured(
    objective: Objective, source: Gather | InBatch, pairs: int, dim: int, rounds: int
) -> list[float]:
    """Return medians of the wall-clock and processor seconds of a step, and the products of one."""
    generator = torch.Generator().manual_seed(dist.get_rank() if dist.is_initialized() else 0)
    views = [torch.randn(pairs, dim, generator=generator).requires_grad_() for _ in range(2)]

    def step() -> None:
        objective(source(*views)).backward()

    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.addmm_: in_place}) as counter:
        step()
    wall, own = [], []
    for _ in range(rounds):
        if dist.is_initialized():
            dist.barrier()
        start = time.perf_counter(), time.process_time()
        step()
        wall.append(time.perf_counter() - start[0])
        own.append(time.process_time() - start[1])
    return [statistics.median(wall), statistics.median(own), float(counter.get_total_flops())]


def one_of(rank: int, size: int, folder: str, options: argparse.Namespace) -> None:
    """Measure as one of several processes; the first writes the slowest of each number."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/{size}", rank=rank, world_size=size)
    for name, objective in OBJECTIVES.items():
        mine = measured(objective, Gather(), options.pairs // size, options.dim, options.rounds)
        slowest = torch.tensor(mine, dtype=torch.double)
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        if rank == 0:
            torch.save(slowest.tolist(), f"{folder}/{name}-{size}.pt")
    dist.destroy_process_group()


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=8192, help="pairs of all processes together")
    parser.add_argument("--processes", type=int, nargs="+", default=[2])
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = markdown_table(f"{options.pairs:,} pairs of {options.dim} dimensions, one thread a process")
    for column in ("loss", "processes", "ms", "speed-up", "processor ms of each", "speed-up", "products"):
        table.add_column(column, justify="left" if column == "loss" else "right")
    with tempfile.TemporaryDirectory() as folder:
        for size in options.processes:
            multiprocessing.spawn(one_of, args=(size, folder, options), nprocs=size)
        for name, objective in OBJECTIVES.items():
            alone = measured(objective, InBatch(), options.pairs, options.dim, options.rounds)
            for size in (1, *options.processes):
                wall, own, flops = alone if size == 1 else torch.load(f"{folder}/{name}-{size}.pt")
                product = 2 * (2 * options.pairs) ** 2 * options.dim
                table.add_row(
                    name,
                    str(size),
                    f"{1e3 * wall:.0f}",
                    f"{alone[0] / wall:.2f}",
                    f"{1e3 * own:.0f}",
                    f"{alone[1] / own:.2f}",
                    f"{flops / product:.2f}",
                )
    console = Console(width=max(110, Console().width))
    console.print(description(), highlight=False)
    console.print(table)


if __name__ == "__main__":
    main()
