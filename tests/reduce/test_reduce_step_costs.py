"""What a step costs the host of a GPU, as `docs/triton.md` says: readings of the device, and launches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from host_reads import HostReads, as_on_a_device
from launches import Launches
from steps import DIM, HCL, HCL_OT, ROWS, SIMCLR, Step, learned, on_kernels, one_way, queued, views, with_ids

import tammes

pytest.importorskip("triton", reason="triton exists for Linux only")
pytestmark = pytest.mark.skipif(
    torch.cuda.is_available(), reason="counts what the interpreter runs, on a CPU"
)
DOCUMENT = Path(__file__).parents[2] / "docs/triton.md"


def in_bfloat16(objective: tammes.Objective) -> torch.Tensor:
    return objective(*(torch.randn(ROWS, DIM, dtype=torch.bfloat16, requires_grad=True) for _ in range(2)))


def with_one_positive_each(objective: tammes.Objective) -> torch.Tensor:
    return objective(*(torch.randn(ROWS, DIM, requires_grad=True) for _ in range(2)), ids=torch.arange(ROWS))


STEPS: dict[str, tuple[tammes.Objective, Callable[[], Step]]] = {
    "NT-Xent, two views": (SIMCLR, lambda: views),
    "NT-Xent, two views in bfloat16": (SIMCLR, lambda: in_bfloat16),
    "HCL with its correction, two views": (HCL, lambda: views),
    "HCL with its correction, two views in bfloat16": (HCL, lambda: in_bfloat16),
    "NT-Xent, `ids`, one positive each": (SIMCLR, lambda: with_one_positive_each),
    "NT-Xent, `ids`, three positives each": (SIMCLR, lambda: with_ids),
    "NT-Xent, one-way pairs": (SIMCLR, lambda: one_way),
    "HCL with its correction, one-way pairs": (HCL, lambda: one_way),
    "NT-Xent, learned temperature": (SIMCLR, lambda: learned),
    "NT-Xent, queue": (SIMCLR, lambda: queued(known=False)),
    "NT-Xent, queue with `ids`": (SIMCLR, lambda: queued(known=True)),
    "HCL-OT, two views": (HCL_OT, lambda: views),
}
"""An objective for each row of the table, and what makes its step."""


def table() -> dict[str, tuple[int, int]]:
    """Waits and operations of today, by step."""
    text = DOCUMENT.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith(("| NT-Xent, ", "| HCL"))]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: (int(row[2]), int(row[4])) for row in rows if len(row) == 5 and row[0] in STEPS}


@pytest.fixture(autouse=True)
def _on_a_device() -> Iterator[None]:
    torch.manual_seed(0)
    with as_on_a_device():
        yield


def test_the_table_has_every_step() -> None:
    assert set(table()) == set(STEPS)


@pytest.mark.parametrize("name", STEPS)
def test_the_table_says_what_a_step_costs(name: str) -> None:
    """Of the third step: what depends on shapes alone is known by then."""
    objective, make = STEPS[name]
    waits, operations = table()[name]
    objective, step = on_kernels(objective), make()
    for _ in range(2):
        step(objective).backward()
    with HostReads() as reads, Launches() as launches:
        step(objective).backward()
    assert sum(reads.lines.values()) == waits, str(reads)
    assert sum(launches.operations.values()) == operations, str(launches.operations)
