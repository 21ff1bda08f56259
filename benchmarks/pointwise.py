"""How long torch's pointwise functions of a tile of S take, beside its product by either library.

    python benchmarks/pointwise.py

Some functions of float32 are computed by Intel's library, others by torch's own vector code: which of two
that give the same number is quicker depends on the maker of the processor. The tile has 512 x 512 entries
and is written in place of another, so that no time goes into fresh memory. Medians of methods in turns.
"""

from __future__ import annotations

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
        f"{product}, oneDNN": partial(torch.ops.mkldnn._linear_pointwise, rows, rows, None, "none", [], ""),
    }
    times = side_by_side({**products, **works}, SECONDS)
    print(description())
    print("| function of a tile | us | times exp2 |\n|---|---|---|")
    for name, time in times.items():
        print(f"| {name} | {1e6 * time.median:.1f} | {time.over(times['exp2']):.2f} |")


if __name__ == "__main__":
    main()
