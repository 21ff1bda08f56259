"""The gradient of many features: slopes written strip by strip, products by the library.

A program that gathers the gradient itself holds a few hundred features in its registers, and so computes S
once for every few hundred. Here a kernel writes t = d loss / d s of a strip of rows, once, and two matrix
products of the strip serve both of its sides:

    gradient of the strip's rows  +=  t   embeddings of the columns
    gradient of the columns       +=  t'  embeddings of the strip's rows

Where the columns are the rows, a strip has only the columns on and above the diagonal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.reduce.triton.launch import Launch

_ALIGNED = 64
"""The rows of a strip begin at multiples of 64 numbers, for copies and products of 16 bytes at a time."""


@dataclass(frozen=True, kw_only=True)
class Strip:
    """Where a kernel writes slopes.

    Attributes:
        slopes: `(r, stride)`, a row for each row of the strip; in the type of the embeddings.
        top: first row of S.
        left: first column of S.
        blocks: number of blocks of rows.
        grid: number of programs, one for each tile.
    """

    slopes: Tensor
    top: int
    left: int
    blocks: int
    grid: tuple[int]

    @property
    def stride(self) -> int:
        """Numbers from one row of the slopes to the next."""
        return self.slopes.shape[1]


def strip_gradients(
    rows: Float[Tensor, "n d"],
    columns: Float[Tensor, "m d"] | None,
    launch: Launch,
    write: Callable[[Strip], None],
    *,
    wanted: tuple[bool, ...] = (True, True),
) -> tuple[Float[Tensor, "n d"] | None, Float[Tensor, "m d"] | None]:
    """Return d loss / d rows and d loss / d columns, in 6 units of 2 n m d operations: 2 for S, and 4.

    Takes `launch.strip` numbers for each column, in the type in which the embeddings are multiplied; no
    atomics, always the same digits.

    Args:
        rows: embeddings of the rows of S.
        columns: embeddings of its columns; None where they are the rows, which takes half, and one gradient.
        launch: shape of the programs, and number of rows of a strip.
        write: function that launches the kernel which writes the slopes of a strip.
        wanted: whether the rows, and the columns, want a gradient; else it is None.
    """
    symmetric, others = columns is None, rows if columns is None else columns
    n, m = len(rows), len(others)
    by_rows = torch.zeros_like(rows, dtype=torch.float32) if wanted[0] or symmetric else None
    by_columns = torch.zeros_like(others, dtype=torch.float32) if wanted[1] and not symmetric else None
    high = min(launch.strip, -(-n // launch.rows) * launch.rows)
    memory = rows.new_empty(high, -(-m // _ALIGNED) * _ALIGNED)
    for top in range(0, n, high):
        stop = min(top + high, n)
        left, below = (top, stop) if symmetric else (0, 0)
        blocks = -(-(stop - top) // launch.rows)
        grid = (blocks * -(-(m - left) // launch.columns),)
        write(Strip(slopes=memory, top=top, left=left, blocks=blocks, grid=grid))
        slopes = memory[: stop - top, : m - left]
        if by_rows is not None:
            _add_product(by_rows[top:stop], slopes, others[left:])
        into = by_rows if symmetric else by_columns
        if into is not None and below < m:
            _add_product(into[below:], slopes[:, below - left :].T, rows[top:stop])
    return by_rows, by_columns


def _add_product(out: Tensor, a: Tensor, b: Tensor) -> None:
    """Add a @ b, with sums in the type of `out`."""
    if a.dtype == out.dtype:
        torch.addmm(out, a, b, out=out)
    else:
        torch.addmm(out, a, b, out_dtype=out.dtype, out=out)
