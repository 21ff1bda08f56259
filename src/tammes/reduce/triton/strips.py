"""The gradient of a symmetric S with many features: slopes written strip by strip, products by the library.

A program that gathers the gradient itself holds a few hundred features in its registers, and so computes S
once for every few hundred. Here a kernel writes t = d loss / d s of a strip of rows, once, on and above the
diagonal, and two matrix products of the strip serve both of its sides:

    gradient of the strip's rows   +=  t   z of all rows from the strip on
    gradient of the rows below it  +=  t'  z of the strip
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.reduce.triton.launch import Launch
from tammes.reduce.triton.operands import Operands

_ALIGNED = 64
"""The rows of a strip begin at multiples of 64 numbers, for copies and products of 16 bytes at a time."""


def strip_gradients(
    operands: Operands,
    launch: Launch,
    arguments: tuple[object, ...],
    constants: dict[str, object],
    factors: tuple[Tensor, ...],
    lefts: Float[Tensor, "r n"],
) -> Float[Tensor, "1 n d"]:
    """Return d loss / d anchors, in 6 units of 2 N^2 d operations: 2 for S, and 4 for the gradient.

    Takes `launch.strip` numbers for each row, in the type in which the embeddings are multiplied; no atomics,
    always the same digits.

    Args:
        operands: the embeddings, on both sides of S.
        launch: shape of the programs, and number of rows of a strip.
        arguments: the numbers of the exponents, as the kernels take them.
        constants: what the kernels are compiled with on their account.
        factors: `(n,)` factors of the columns, one vector for each exponent.
        lefts: d loss / d sum_ri times the exponent's slope.
    """
    from tammes.reduce.triton.kernels import fixed_shift as kernels

    mine = operands.anchors
    z = mine.embeddings
    n, d = z.shape
    high = min(launch.strip, -(-n // launch.rows) * launch.rows)
    stride = -(-n // _ALIGNED) * _ALIGNED
    strip, out = z.new_empty(high, stride), z.new_zeros(n, d, dtype=torch.float32)
    for first in range(0, n, high):
        stop = min(first + high, n)
        kernels.strip_of_slopes[(-(-(stop - first) // launch.rows), -(-(n - first) // launch.columns))](
            z,
            mine.starts,
            mine.stops,
            lefts,
            *arguments,
            factors,
            strip,
            n,
            d,
            first,
            stride,
            **constants,
            **operands.constants(launch, gathers=False),
        )
        slopes = strip[: stop - first, : n - first]
        _add_product(out[first:stop], slopes, z[first:])
        if stop < n:
            _add_product(out[stop:], slopes[:, stop - first :].T, z[first:stop])
    return out[None]


def _add_product(out: Tensor, a: Tensor, b: Tensor) -> None:
    """Add a @ b, with sums in the type of `out`."""
    if a.dtype == out.dtype:
        torch.addmm(out, a, b, out=out)
    else:
        torch.addmm(out, a, b, out_dtype=out.dtype, out=out)
