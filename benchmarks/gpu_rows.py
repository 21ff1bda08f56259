"""Rows of `gpu_all.py`: their names, sizes and file."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gpu import Kind, Loss, milliseconds, step

Values = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What is measured, and how often.

    Args:
        pairs: pairs of the table, what is most wanted first.
        dims: dimensions of the table.
        swept: pairs at which launches are compared.
        checked: rows at which values are compared with the dense formula.
        matrix: size of the matrix whose product gives the card's rate.
        profiled: pairs of the profiles.
        small: pairs of the batches whose times are those of the host.
        graphs: numbers of molecules in a batch of SignNet.
        rounds: rounds of every row.
    """

    pairs: tuple[int, ...] = (16384, 262144, 4096, 65536)
    dims: tuple[int, ...] = (128, 256, 512, 1024)
    swept: int = 16384
    checked: int = 2048
    matrix: int = 8192
    profiled: tuple[int, ...] = (1024, 4096)
    small: tuple[int, ...] = (64, 256, 1024, 4096)
    graphs: tuple[int, ...] = (8, 128)
    rounds: int = 9


TINY = Sizes(
    pairs=(8,), dims=(16,), swept=8, checked=8, matrix=64, profiled=(8,), small=(8,), graphs=(2,), rounds=1
)
"""For a smoke test in the interpreter."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row: its name, which says everything that it depends on, and how it is measured."""

    name: str
    measure: Callable[[], Values]


def file_name(device: str, version: str) -> str:
    """Return the name of the file of rows: the device, and torch's version without patch and build.

    Example:
        >>> file_name("NVIDIA H200", "2.11.0+cu130")
        'NVIDIA-H200-2.11.jsonl'
    """
    return f"{device.replace(' ', '-')}-{'.'.join(version.split('+')[0].split('.')[:2])}.jsonl"


class Record:
    """Rows in a file, one JSON object a line; what is there is not measured again.

    A row that was measured again stands below the one that it replaces.

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
    generator = torch.Generator(device).manual_seed(0)
    a, b = (torch.randn(pairs, dim, generator=generator, device=device).to(kind.type) for _ in range(2))
    return a.requires_grad_(), b.requires_grad_()


def median(work: Callable[[], object], device: torch.device, rounds: int) -> float:
    """Return the median milliseconds of a call, after two that warm up.

    Calls shorter than 10 ms are queued one behind the other and timed together, as in a training loop, where
    the host launches a step while the device still computes the one before. At least three times are taken,
    in about two seconds; one where a call takes seconds.
    """
    first = milliseconds(work, device)
    if first > 5000:
        return milliseconds(work, device)
    queued = max(1, math.ceil(10 / milliseconds(work, device)))

    def works() -> None:
        for _ in range(queued):
            work()

    times: list[float] = []
    while len(times) < rounds and (len(times) < 3 or queued * sum(times) < 2000):
        times.append(milliseconds(works, device) / queued)
    return statistics.median(times)


def captured(work: Callable[[], object]) -> Callable[[], None]:
    """Return a function that does the same work again as a CUDA graph, at no cost to the host."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def step_times(loss: Loss, views: tuple[Tensor, Tensor], rounds: int, *, graph: bool) -> Values:
    """Return the milliseconds of a step, and of its CUDA graph."""
    device = views[0].device
    values = {"ms": median(lambda: step(loss, *views), device, rounds)}
    if graph and device.type == "cuda":
        values["ms as a graph"] = median(captured(lambda: step(loss, *views)), device, rounds)
    return values
