"""Embeddings made fit for the similarity matrix: full precision, finite, of unit length if asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tammes.pairs import Pairs
from tammes.reduce.first_order import first_order_only

_ROUNDING = 1e-3
"""How much longer than one rounding may leave a unit vector, generously."""


def in_full_precision(pairs: Pairs, *, normalize: bool) -> tuple[Tensor, Tensor | None, float]:
    """Anchors and candidates in float32 (float64 stays), at unit length if asked; a bound on all |s_ij|.

    Raises:
        ValueError: NaN or infinity in a row, or a zero-length row that is to be normalized; names the row.

    Example:
        >>> pairs = Pairs(anchors=torch.full((2, 4), 3.0), ids=torch.tensor([0, 0]))
        >>> in_full_precision(pairs, normalize=True)[0][0].tolist()
        [0.5, 0.5, 0.5, 0.5]
    """
    anchors, longest = _checked(pairs.anchors, normalize, lambda row: f"anchor {pairs.row_name(row)}")
    candidates, longest_candidate = pairs.candidates, longest
    if candidates is not None:
        # Where all of them are anchors of some process, they are checked there, and named by who has them.
        elsewhere = pairs.own is not None and pairs.group.size > 1
        candidates, longest_candidate = _checked(
            candidates, normalize, None if elsewhere else lambda row: f"candidate row {row}"
        )
    return anchors, candidates, longest * longest_candidate


def _checked(rows: Tensor, normalize: bool, name: Callable[[int], str] | None) -> tuple[Tensor, float]:
    rows = rows if rows.dtype == torch.float64 else rows.float()
    norms = torch.linalg.vector_norm(rows.detach(), dim=1)
    shortest, longest = (float(each) for each in torch.aminmax(norms))  # NaN if one is NaN
    if name is not None:
        _check(norms, shortest, longest, normalize, name)
    if not normalize:
        return rows, longest
    return _UnitLength.apply(rows, norms), 1.0 + _ROUNDING  # type: ignore[no-untyped-call]


def _check(
    norms: Tensor, shortest: float, longest: float, normalize: bool, name: Callable[[int], str]
) -> None:
    if not math.isfinite(longest):
        infinite = ~torch.isfinite(norms)
        raise ValueError(
            f"{int(infinite.sum())} of {len(norms)} embeddings hold NaN, infinity or numbers too large to "
            f"square, first {name(int(infinite.nonzero()[0]))}: the encoder or its input has diverged"
        )
    least = 1e3 * torch.finfo(norms.dtype).tiny ** 0.5  # below it squares lose their digits
    if normalize and shortest < least:
        zero = norms < least
        raise ValueError(
            f"{int(zero.sum())} of {len(norms)} embeddings have length zero (below {least:.0e}), first "
            f"{name(int(zero.nonzero()[0]))}, and no direction to normalize to: check the encoder, or set "
            "normalize=False"
        )


class _UnitLength(torch.autograd.Function):
    """z = x / |x|, with d x = (d z - z (z . d z)) / |x|."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, norms: Tensor) -> Tensor:
        unit = rows / norms[:, None]
        ctx.save_for_backward(unit, norms)
        return unit

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None]:
        unit, norms = ctx.saved_tensors
        with torch.no_grad():
            along = torch.linalg.vecdot(unit, gradient)[:, None]
            found = torch.addcmul(gradient, unit, along, value=-1).div_(norms[:, None])
        return first_order_only((found,), (unit, gradient))[0], None
