"""How long torch's pointwise functions of a tile of S take, beside its product by either library.

    python benchmarks/pointwise.py

Some functions of float32 are computed by Intel's library, others by torch's own vector code: which of two
that give the same number is quicker depends on the maker of the processor. The tile has 512 x 512 entries
and is written in place of another, so that no time goes into fresh memory. Medians of methods in turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from machine import description
from timing import side_by_side

SIDE, DIM, SECONDS = 512, 128, 10.0
FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "exp": torch.exp,
    "exp2": torch.exp2,
    "square": torch.square,
    "sqrt": torch.sqrt,
    "log": torch.log,
    "log1p": torch.log1p,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


def by_onednn(left: Tensor, right: Tensor) -> Tensor:
    """Return left @ right.T by oneDNN."""
    found: Tensor = torch.ops.mkldnn._linear_pointwise(left, right, None, "none", [], "")
    return found


def first_times(rows: Tensor) -> list[float]:
    """Return the seconds of products of which each has a new shape, a little lower than the tile."""
    found = []
    for missing in range(1, 42):
        start = time.perf_counter()
        by_onednn(rows[missing:], rows)
        found.append(time.perf_counter() - start)
    return found


def main() -> None:
    """Print the table."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.nn.functional.normalize(torch.randn(SIDE, DIM, generator=generator), dim=1)
    values = torch.rand(SIDE, SIDE, generator=generator) * 10
    out = torch.empty_like(values)
    works = {name: partial(function, values, out=out) for name, function in FUNCTIONS.items()}
    product = f"product of {SIDE} x {DIM} and {DIM} x {SIDE}"
    products = {
        f"{product}, MKL": partial(torch.mm, rows, rows.T, out=out),
        f"{product}, oneDNN": partial(by_onednn, rows, rows),
    }
    times = side_by_side({**products, **works}, SECONDS)
    print(description())
    print("| function of a tile | us | times exp2 |\n|---|---|---|")
    for name, taken in times.items():
        print(f"| {name} | {1e6 * taken.median:.1f} | {taken.over(times['exp2']):.2f} |")
    once, wide = first_times(rows), torch.randn(SIDE, 2 * DIM, generator=generator)[:, :DIM]
    print()
    print("| product by oneDNN | us |\n|---|---|")
    print(f"| the first of a shape, median of {len(once)} | {1e6 * statistics.median(once):.1f} |")
    print(f"| the same shape again | {1e6 * times[f'{product}, oneDNN'].median:.1f} |")
    strided = side_by_side({"": partial(by_onednn, rows, wide)}, 1.0)[""]
    print(f"| the second factor columns of a wider matrix | {1e6 * strided.median:.1f} |")


if __name__ == "__main__":
    main()
