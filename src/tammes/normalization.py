"""Embeddings made fit for the similarity matrix: full precision, finite, of unit length if asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.pairs import Pairs
from tammes.reduce.autograd import UnitLength

_ROUNDING = 1e-3
"""How much longer than one rounding may leave a unit vector, generously."""


@dataclass(frozen=True, kw_only=True)
class Embeddings:
    """Rows in full precision that hold numbers, and what is to be made of them.

    Args:
        rows: `(n, d)`, as they came but for their type; in the graph.
        lengths: `(n, 1)`, |row|; without gradient.
        normalize: whether they are brought to unit length.
        longest: no row is longer, once it is.
    """

    rows: Float[Tensor, "n d"]
    lengths: Float[Tensor, "n 1"]
    normalize: bool
    longest: float

    def in_graph(self) -> Float[Tensor, "n d"]:
        """The rows, at unit length if asked."""
        if not self.normalize:
            return self.rows
        return UnitLength.apply(self.rows, self.lengths)  # type: ignore[no-untyped-call]

    def values(self) -> Float[Tensor, "n d"]:
        """The same numbers without a graph; `through_unit_length` is the way back."""
        rows = self.rows.detach()
        return rows / self.lengths if self.normalize else rows


def in_full_precision(pairs: Pairs, *, normalize: bool) -> tuple[Embeddings, Embeddings | None]:
    """Anchors and candidates in float32 (float64 stays), to be brought to unit length if asked.

    Raises:
        ValueError: NaN or infinity in a row, or a zero-length row that is to be normalized; names the row.

    Example:
        >>> pairs = Pairs(anchors=torch.full((2, 4), 3.0), ids=torch.tensor([0, 0]))
        >>> in_full_precision(pairs, normalize=True)[0].values()[0].tolist()
        [0.5, 0.5, 0.5, 0.5]
    """
    anchors = _checked(pairs.anchors, normalize, lambda row: f"anchor {pairs.row_name(row)}")
    if pairs.candidates is None:
        return anchors, None
    # Where all of them are anchors of some process, they are checked there, and named by who has them.
    elsewhere = pairs.own is not None and pairs.group.size > 1
    name = None if elsewhere else lambda row: f"candidate row {row}"
    return anchors, _checked(pairs.candidates, normalize, name)


def longest_of(lengths: Tensor, normalize: bool) -> float | None:
    """No row is longer, once normalized if so; None where a row is no number or has no direction.

    Example:
        >>> longest_of(torch.tensor([3.0, 4.0]), False), longest_of(torch.tensor([3.0, 0.0]), True)
        (4.0, None)
    """
    shortest, longest = (float(each) for each in torch.aminmax(lengths))  # NaN if one is NaN
    if not math.isfinite(longest) or (normalize and shortest < _least(lengths.dtype)):
        return None
    return 1.0 + _ROUNDING if normalize else longest


def _checked(rows: Tensor, normalize: bool, name: Callable[[int], str] | None) -> Embeddings:
    rows = rows if rows.dtype == torch.float64 else rows.float()
    lengths = torch.linalg.vector_norm(rows.detach(), dim=1, keepdim=True)
    longest = longest_of(lengths, normalize)
    if longest is None:
        if name is not None:
            _refuse(lengths[:, 0], normalize, name)
        longest = 1.0 + _ROUNDING if normalize else float(lengths.max())
    return Embeddings(rows=rows, lengths=lengths, normalize=normalize, longest=longest)


def _refuse(lengths: Tensor, normalize: bool, name: Callable[[int], str]) -> None:
    infinite = ~torch.isfinite(lengths)
    if bool(infinite.any()):
        raise ValueError(
            f"{int(infinite.sum())} of {len(lengths)} embeddings hold NaN, infinity or numbers too large to "
            f"square, first {name(int(infinite.nonzero()[0]))}: the encoder or its input has diverged"
        )
    assert normalize
    zero = lengths < _least(lengths.dtype)
    raise ValueError(
        f"{int(zero.sum())} of {len(lengths)} embeddings have length zero (below "
        f"{_least(lengths.dtype):.0e}), first {name(int(zero.nonzero()[0]))}, and no direction to normalize "
        "to: check the encoder, or set normalize=False"
    )


def _least(kind: torch.dtype) -> float:
    """The least length of a row that has a direction: the squares of shorter ones lose their digits."""
    return 1e3 * float(torch.finfo(kind).tiny) ** 0.5
