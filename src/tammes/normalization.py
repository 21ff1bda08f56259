"""Embeddings in full precision, finite, and at unit length if asked."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.reduce.autograd import UnitLength

_ROUNDING = 1e-3
"""A generous bound on how much longer than one rounding leaves a unit vector."""


def prepared(
    rows: Float[Tensor, "n d"], *, normalize: bool, name: Callable[[int], str] | None
) -> tuple[Float[Tensor, "n d"], float]:
    """Return the rows in float32 (float64 stays), at unit length if asked, and a bound on their length.

    Args:
        rows: `(n, d)` embeddings.
        normalize: whether to bring them to unit length.
        name: name of a row, for error messages; None where another process checks these rows.

    Raises:
        ValueError: NaN or infinity in a row, or a zero-length row that is to be normalized; names the row.

    Example:
        >>> prepared(torch.full((1, 4), 3.0), normalize=True, name=str)
        (tensor([[0.5000, 0.5000, 0.5000, 0.5000]]), 1.001)
    """
    rows = rows if rows.dtype == torch.float64 else rows.float()
    lengths = torch.linalg.vector_norm(rows.detach(), dim=1, keepdim=True)
    shortest, longest = (float(each) for each in torch.aminmax(lengths))  # NaN if one is NaN
    if name is not None and (not math.isfinite(longest) or (normalize and shortest < _least(rows.dtype))):
        _refuse(lengths[:, 0], name)
    if not normalize:
        return rows, longest
    return UnitLength.apply(rows, lengths), 1.0 + _ROUNDING  # type: ignore[no-untyped-call]


def _refuse(lengths: Float[Tensor, " n"], name: Callable[[int], str]) -> None:
    infinite = ~torch.isfinite(lengths)
    if bool(infinite.any()):
        raise ValueError(
            f"{int(infinite.sum())} of {len(lengths)} embeddings hold NaN, infinity or numbers too large to "
            f"square, first {name(int(infinite.nonzero()[0]))}: the encoder or its input has diverged"
        )
    zero = lengths < _least(lengths.dtype)
    raise ValueError(
        f"{int(zero.sum())} of {len(lengths)} embeddings have length zero (below "
        f"{_least(lengths.dtype):.0e}), first {name(int(zero.nonzero()[0]))}, and no direction to normalize "
        "to: check the encoder, or set normalize=False"
    )


def _least(dtype: torch.dtype) -> float:
    """Return the smallest length of a row with a direction: the squares of shorter ones lose their digits."""
    return 1e3 * float(torch.finfo(dtype).tiny) ** 0.5
