"""Embeddings made fit for the similarity matrix: full precision, finite, of unit length if asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor

from tammes.pairs import Pairs

_ROUNDING = 1e-3
"""How much longer than one rounding may leave a unit vector, generously."""


def in_full_precision(pairs: Pairs, *, normalize: bool) -> tuple[Pairs, float]:
    """The pairs in float32 (float64 stays), at unit length if asked, and a bound on all |s_ij|.

    Raises:
        ValueError: NaN or infinity in a row, or a zero-length row that is to be normalized; names the row.

    Example:
        >>> pairs = Pairs(anchors=torch.full((2, 4), 3.0), ids=torch.tensor([0, 0]))
        >>> in_full_precision(pairs, normalize=True)[0].anchors[0].tolist()
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
    return dataclasses.replace(pairs, anchors=anchors, candidates=candidates), longest * longest_candidate


def _checked(rows: Tensor, normalize: bool, name: Callable[[int], str] | None) -> tuple[Tensor, float]:
    rows = rows if rows.dtype == torch.float64 else rows.float()
    norms = torch.linalg.vector_norm(rows, dim=1)
    if name is not None:
        _check(norms, normalize, name)
    if not normalize:
        return rows, float(norms.detach().max())
    return rows / norms[:, None], 1.0 + _ROUNDING


def _check(norms: Tensor, normalize: bool, name: Callable[[int], str]) -> None:
    infinite = ~torch.isfinite(norms)
    if bool(infinite.any()):
        raise ValueError(
            f"{int(infinite.sum())} of {len(norms)} embeddings hold NaN, infinity or numbers too large to "
            f"square, first {name(int(infinite.nonzero()[0]))}: the encoder or its input has diverged"
        )
    if not normalize:
        return
    shortest = 1e3 * torch.finfo(norms.dtype).tiny ** 0.5  # below it squares lose their digits
    zero = norms < shortest
    if bool(zero.any()):
        raise ValueError(
            f"{int(zero.sum())} of {len(norms)} embeddings have length zero (below {shortest:.0e}), first "
            f"{name(int(zero.nonzero()[0]))}, and no direction to normalize to: check the encoder, or set "
            "normalize=False"
        )
