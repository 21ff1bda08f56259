"""Embeddings in full precision, finite, and at unit length if asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

import tammes.deferred as deferred
from tammes.deferred import DeferredCheck
from tammes.reduce.autograd import UnitLength

_ROUNDING = 1e-3
"""A generous bound on how much longer than one rounding leaves a unit vector."""


@dataclass(frozen=True, kw_only=True)
class Embeddings:
    """Rows in full precision, with and without their graph.

    Args:
        given: `(batch, d)` embeddings of any length, of one view or of several in turn; in the graph.
        lengths: `(n, 1)` their lengths, where they are to be normalized; else None.
        values: `(n, d)` the same at unit length, if so; without a graph.
        longest: an upper bound of the length of `values`.
        check: the check of these rows, if it was deferred.
    """

    given: tuple[Float[Tensor, "batch d"], ...]
    lengths: Float[Tensor, "n 1"] | None
    values: Float[Tensor, "n d"]
    longest: float
    check: DeferredCheck | None = None

    @cached_property
    def rows(self) -> Float[Tensor, "n d"]:
        """`(n, d)` the embeddings of all views; in the graph."""
        return _in_turn(self.given)

    def without_graph(self) -> Embeddings:
        """Return the same rows, cut from their graph."""
        return replace(self, given=tuple(view.detach() for view in self.given))

    def in_graph(self) -> Float[Tensor, "n d"]:
        """Return `values`, differentiable in `rows`."""
        if self.lengths is None:
            return self.rows
        return UnitLength.apply(self.rows, self.lengths, self.values)  # type: ignore[no-untyped-call]


def prepared(
    *views: Float[Tensor, "batch d"],
    normalize: bool,
    name: Callable[[int], str] | None,
    defers: bool = False,
) -> Embeddings:
    """Return the rows in float32 (float64 stays), at unit length if asked.

    Args:
        views: `(batch, d)` embeddings; the rows of several views stand in turn.
        normalize: whether to bring them to unit length.
        name: name of a row, for error messages; None where another process checks these rows.
        defers: whether the caller reads a deferred check, so that a GPU makes nobody wait for it.

    Raises:
        ValueError: NaN or infinity in a row, or a zero-length row that is to be normalized; names the row.

    Example:
        >>> prepared(torch.full((1, 4), 3.0), normalize=True, name=str).values
        tensor([[0.5000, 0.5000, 0.5000, 0.5000]])
    """
    given = tuple(view if view.dtype == torch.float64 else view.float() for view in views)
    values = _in_turn(tuple(view.detach() for view in given))
    if not normalize and values.data_ptr() == views[0].data_ptr():
        values = values.clone()  # the caller may write to the embeddings before the numbers are read
    lengths = torch.linalg.vector_norm(values, dim=1, keepdim=True)
    ends = torch.aminmax(lengths)
    if deferred.waits(values.device):
        if normalize and defers:
            check = None if name is None else _deferred(ends, lengths[:, 0], name)
            unit = values / lengths
            return Embeddings(given=given, lengths=lengths, values=unit, longest=1.0 + _ROUNDING, check=check)
        low, high = torch.stack(ends).tolist()  # at once: the host waits for each reading
    else:
        low, high = float(ends[0]), float(ends[1])  # NaN if one is NaN
    if name is not None and _are_wrong(low, high, values.dtype, normalize=normalize):
        raise _refusal(lengths[:, 0], name)
    if not normalize:
        return Embeddings(given=given, lengths=None, values=values, longest=high)
    return Embeddings(given=given, lengths=lengths, values=values / lengths, longest=1.0 + _ROUNDING)


def _deferred(
    ends: tuple[Tensor, Tensor], lengths: Float[Tensor, " n"], name: Callable[[int], str]
) -> DeferredCheck:
    """Return the check of rows that are to be normalized, to be read later."""

    def failure(numbers: list[float]) -> ValueError | None:
        low, high = numbers
        return _refusal(lengths, name) if _are_wrong(low, high, lengths.dtype, normalize=True) else None

    return DeferredCheck(torch.stack(ends), failure)


def _are_wrong(low: float, high: float, dtype: torch.dtype, *, normalize: bool) -> bool:
    """Return whether a row is refused, given the smallest and the largest length."""
    return not math.isfinite(high) or (normalize and low < _least(dtype))


def _in_turn(views: tuple[Float[Tensor, "batch d"], ...]) -> Float[Tensor, "n d"]:
    """Return row 0 of each view, row 1 of each view, and so on."""
    # v b d -> b v d -> (b v) d
    return views[0] if len(views) == 1 else torch.stack(views, dim=1).flatten(0, 1)


def _refusal(lengths: Float[Tensor, " n"], name: Callable[[int], str]) -> ValueError:
    """Return the error for rows that are not finite, or have no direction."""
    infinite = ~torch.isfinite(lengths)
    if bool(infinite.any()):
        return ValueError(
            f"{int(infinite.sum())} of {len(lengths)} embeddings hold NaN, infinity or numbers too large to "
            f"square, first {name(int(infinite.nonzero()[0]))}: the encoder or its input has diverged"
        )
    zero = lengths < _least(lengths.dtype)
    return ValueError(
        f"{int(zero.sum())} of {len(lengths)} embeddings have length zero (below "
        f"{_least(lengths.dtype):.0e}), first {name(int(zero.nonzero()[0]))}, and no direction to normalize "
        "to: check the encoder, or set normalize=False"
    )


def _least(dtype: torch.dtype) -> float:
    """Return the smallest length of a row with a direction: the squares of shorter ones lose their digits."""
    return 1e3 * float(torch.finfo(dtype).tiny) ** 0.5
