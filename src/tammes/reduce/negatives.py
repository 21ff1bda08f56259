"""Which entries of the similarity matrix are negatives."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tammes.group import Group, Single
from tammes.products import product
from tammes.reduce.exponent import Pointwise
from tammes.reduce.guide import Guide
from tammes.reduce.key_ranges import KeyRanges
from tammes.reduce.subset_sampling import not_sampled, row_keys, thresholds

_CHUNK = 1 << 20
"""Number of hashes in memory at a time while the thresholds of the subsets are computed."""
_FEW = 8
"""Entries of each row up to which they are overwritten one by one, not by a mask of the tile."""
_KEPT = 512 * 512
"""Number of entries up to which S is kept: about one tile, which stays in a processor's cache."""


@dataclass(frozen=True, kw_only=True)
class Negatives:
    """The similarity matrix S of anchors and candidates, never formed, with the mask of its negatives.

    Args:
        anchors: `(n, d)` embeddings, in the order of `ranges`.
        ranges: the mask of S.
        bound: an upper bound of |s_ij|, on this process and all others.
        candidates: `(m, d)` embeddings, in the order of `ranges`; None where the candidates are the anchors
            (S is then symmetric).
        guide: further candidates that are no negatives; None for none.
        subset: number of negatives that each anchor keeps, drawn without replacement; None for all.
        seed: seed of the subset.
        rows: `(n,)` numbers that identify the anchors, so that each draws its own subset.
        own: `(n,)` column of each anchor, where the candidates are the anchors of all processes; else None.
        group: the processes that hold the other rows of S.
        kept: number of entries up to which S is kept between passes: a constant, so memory stays linear.
        constant: the same negatives without a graph; None to cut them when needed.
    """

    anchors: Float[Tensor, "n d"]
    ranges: KeyRanges
    bound: float
    candidates: Float[Tensor, "m d"] | None = None
    guide: Guide | None = None
    subset: int | None = None
    seed: int = 0
    rows: Int[Tensor, " n"] | None = None
    own: Int[Tensor, " n"] | None = None
    group: Group = field(default_factory=Single)
    kept: int = _KEPT
    constant: Negatives | None = field(default=None, repr=False)

    @property
    def symmetric(self) -> bool:
        """Whether the candidates are the anchors."""
        return self.candidates is None

    @property
    def others(self) -> Float[Tensor, "m d"]:
        """`(m, d)` embeddings of the candidates."""
        return self.anchors if self.candidates is None else self.candidates

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m), the shape of S."""
        n = self.anchors.shape[0]
        return n, n if self.candidates is None else self.candidates.shape[0]

    @cached_property
    def count(self) -> Int[Tensor, " n"]:
        """`(n,)` number of negatives of each anchor, N_i."""
        if self.guide is not None:
            return self.guide.count(self.ranges)
        available = self.ranges.available
        return available if self.subset is None else torch.full_like(available, self.subset)

    @cached_property
    def log_count(self) -> Float[Tensor, " n"]:
        """`(n,)` log N_i, in the type of the embeddings."""
        if self.by_keys_alone:
            return self.ranges.log_available(self.anchors.dtype)
        return self.count.to(self.anchors.dtype).log()

    def mask(self, rows: slice, columns: slice) -> Bool[Tensor, "r c"] | None:
        """Return true where an entry of a tile is no negative, or None for a tile of negatives only."""
        excluded = self.ranges.excluded(rows, columns)
        if self.guide is not None:
            above = self.guide.above(rows, columns)
            return above if excluded is None else above.logical_or_(excluded)
        if self.subset is None:
            return excluded
        column = torch.arange(columns.start, columns.stop, device=self.anchors.device)
        left_out = not_sampled(self._row_keys(rows), column, self.threshold[rows])
        return left_out if excluded is None else left_out.logical_or_(excluded)

    def without(self, tile: Float[Tensor, "r c"], rows: slice, columns: slice, value: float) -> Tensor:
        """Return a tile of S, overwritten by `value` where it holds no negative."""
        width = self.ranges.width if self.by_keys_alone else None
        if width is not None and width <= _FEW:
            if self.ranges.touch(rows, columns):
                # To compare all keys would take longer than an exponential of them.
                column = self.ranges.start[rows, None] + self._offsets[:width]
                if columns.stop - columns.start == self.shape[1]:
                    tile.scatter_(1, column, value)
                else:
                    _fill(tile, column - columns.start, value)
            return tile
        mask = self.mask(rows, columns)
        return tile if mask is None else tile.masked_fill_(mask, value)

    @cached_property
    def _offsets(self) -> Int[Tensor, " few"]:
        return torch.arange(_FEW, device=self.anchors.device)

    @cached_property
    def threshold(self) -> Int[Tensor, " n"]:
        """`(n,)` k-th smallest hash among the negatives of each anchor: the largest that is sampled."""
        assert self.subset is not None
        n, m = self.shape
        if self.anchors.is_cuda and _has_kernels(self.anchors.device):
            from tammes.reduce.triton.subset import last_winners

            return last_winners(self._row_keys(slice(0, n)), self.ranges, self.subset)
        threshold = torch.empty_like(self.ranges.keys)
        step = max(1, _CHUNK // m)
        for first in range(0, n, step):
            rows = slice(first, min(first + step, n))
            excluded = self.ranges.excluded(rows, slice(0, m))
            threshold[rows] = thresholds(self._row_keys(rows), excluded, self.subset, m)
        return threshold

    def _row_keys(self, rows: slice) -> Int[Tensor, " r"]:
        assert self.rows is not None
        return row_keys(self.seed, self.rows[rows])

    def keeping(self, entries: int) -> Negatives:
        """Return the same negatives with S kept up to `entries` entries, for many passes over it."""
        return self if self.is_small else dataclasses.replace(self, kept=entries, constant=None)

    @property
    def by_keys_alone(self) -> bool:
        """Whether the keys alone decide, so that the mask is symmetric where S is."""
        return self.subset is None and self.guide is None

    def all_by_keys(self) -> Negatives:
        """Return all negatives by their keys, before a subset is drawn or a guide excludes any."""
        if self.by_keys_alone:
            return self
        return dataclasses.replace(self, subset=None, guide=None, constant=None)

    def transposed(self) -> Negatives:
        """Return the transposed S: candidates as anchors and anchors as candidates, by keys alone."""
        assert self.by_keys_alone
        if self.candidates is None:
            return self
        return dataclasses.replace(
            self,
            anchors=self.candidates,
            candidates=self.anchors,
            ranges=self.ranges.transposed,
            rows=None,
            own=None,
            constant=None,
        )

    @cached_property
    def detached(self) -> Negatives:
        """The same negatives, cut from the graph of their embeddings."""
        if self.constant is not None:
            return self.constant
        candidates = None if self.candidates is None else self.candidates.detach()
        return dataclasses.replace(self, anchors=self.anchors.detach(), candidates=candidates)

    def in_graph(self, anchors: Float[Tensor, "n d"], candidates: Float[Tensor, "m d"] | None) -> Negatives:
        """Return these negatives with embeddings of the same values that have a graph."""
        return dataclasses.replace(self, anchors=anchors, candidates=candidates, constant=self)

    @property
    def is_small(self) -> bool:
        """Whether S is small enough to be kept between passes."""
        return math.prod(self.shape) <= self.kept

    @cached_property
    def fits_cache(self) -> bool:
        """Whether S is as small as one tile."""
        return math.prod(self.shape) <= _KEPT

    @cached_property
    def kept_similarity(self) -> Float[Tensor, "n m"]:
        """S itself; for small, detached negatives only."""
        return product(self.anchors, self.others.T)

    @cached_property
    def kept_exponentials(self) -> dict[tuple[float, Pointwise | None], Float[Tensor, "n m"]]:
        """Exponentials of S by slope and tilt; for small, detached negatives only."""
        return {}


def _fill(tile: Float[Tensor, "r c"], column: Int[Tensor, "r few"], value: float) -> None:
    """Overwrite some columns of each row, those of the tile."""
    inside = (column >= 0) & (column < tile.shape[1])
    if bool(inside.all()):
        tile.scatter_(1, column, value)
        return
    row, place = inside.nonzero().unbind(1)
    tile[row, column[row, place]] = value


def _has_kernels(device: torch.device) -> bool:
    from tammes.reduce.choice import has_kernels  # which imports this module

    return has_kernels(device)
