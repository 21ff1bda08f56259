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
from tammes.reduce.exponent import Pointwise
from tammes.reduce.subset_sampling import not_sampled, row_keys, thresholds

_CHUNK = 1 << 20
"""Number of hashes in memory at a time while the thresholds of the subsets are computed."""
_KEPT = 512 * 512
"""Number of entries up to which S is kept: about one tile, which stays in a processor's cache."""


@dataclass(frozen=True, kw_only=True)
class KeyRanges:
    """Mask of S as ranges: a candidate is a negative of an anchor exactly where their keys differ.

    Rows and columns of S are sorted by key, so the candidates that are no negatives of anchor i are the
    columns `start[i]` to `stop[i]`, and most tiles of S have no masked entry at all.

    Args:
        keys: `(n,)` keys of the anchors, ascending.
        candidate_keys: `(m,)` keys of the candidates, ascending; None where the candidates are the anchors.

    Example:
        >>> ranges = KeyRanges(keys=torch.tensor([0, 0, 1]))
        >>> ranges.start.tolist(), ranges.stop.tolist()
        ([0, 0, 2], [2, 2, 3])
    """

    keys: Int[Tensor, " n"]
    candidate_keys: Int[Tensor, " m"] | None = None

    @property
    def keys_of_candidates(self) -> Int[Tensor, " m"]:
        """`(m,)` keys in the order of the columns."""
        return self.keys if self.candidate_keys is None else self.candidate_keys

    @cached_property
    def start(self) -> Int[Tensor, " n"]:
        """`(n,)` first column that is no negative of the anchor."""
        return torch.searchsorted(self.keys_of_candidates, self.keys)

    @cached_property
    def stop(self) -> Int[Tensor, " n"]:
        """`(n,)` one past the last column that is no negative of the anchor."""
        return torch.searchsorted(self.keys_of_candidates, self.keys, right=True)

    @cached_property
    def _on_host(self) -> tuple[list[int], list[int]]:
        """`start` and `stop` as lists: reading single entries of a tensor would make a GPU wait."""
        return self.start.tolist(), self.stop.tolist()

    @cached_property
    def available(self) -> Int[Tensor, " n"]:
        """`(n,)` number of negatives of each anchor before a subset is drawn."""
        return len(self.keys_of_candidates) - (self.stop - self.start)

    @cached_property
    def _log_available(self) -> dict[torch.dtype, Tensor]:
        return {}

    def log_available(self, dtype: torch.dtype) -> Float[Tensor, " n"]:
        """Return `(n,)` the logarithm of `available`, made once for each type."""
        if dtype not in self._log_available:
            self._log_available[dtype] = self.available.to(dtype).log()
        return self._log_available[dtype]

    def excluded(self, rows: slice, columns: slice) -> Bool[Tensor, "r c"] | None:
        """Return a tile of the mask, true where no negative stands, or None for a tile of negatives only."""
        first, last = self._on_host
        if first[rows.start] >= columns.stop or last[rows.stop - 1] <= columns.start:
            return None
        return self.keys[rows, None] == self.keys_of_candidates[columns]

    @cached_property
    def excluded_entries(self) -> Int[Tensor, " e"]:
        """`(e,)` positions in S, row by row, where no negative stands; for small S.

        They are few, and index_fill_ is quicker than a mask.
        """
        mask = self.excluded(slice(0, len(self.keys)), slice(0, len(self.keys_of_candidates)))
        return self.keys.new_empty(0) if mask is None else mask.view(-1).nonzero()[:, 0]


@dataclass(frozen=True, kw_only=True)
class Negatives:
    """The similarity matrix S of anchors and candidates, never formed, with the mask of its negatives.

    Args:
        anchors: `(n, d)` embeddings, in the order of `ranges`.
        ranges: the mask of S.
        bound: an upper bound of |s_ij|, on this process and all others.
        candidates: `(m, d)` embeddings, in the order of `ranges`; None where the candidates are the anchors
            (S is then symmetric).
        subset: number of negatives that each anchor keeps, drawn without replacement; None for all.
        seed: seed of the subset.
        rows: `(n,)` numbers that identify the anchors, so that each draws its own subset.
        own: `(n,)` column of each anchor, where it stands among other candidates; else None.
        group: the processes that hold the other rows of S.
        kept: number of entries up to which S is kept between passes: a constant, so memory stays linear.
        constant: the same negatives without a graph; None to cut them when needed.
    """

    anchors: Float[Tensor, "n d"]
    ranges: KeyRanges
    bound: float
    candidates: Float[Tensor, "m d"] | None = None
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
        available = self.ranges.available
        return available if self.subset is None else torch.full_like(available, self.subset)

    @cached_property
    def log_count(self) -> Float[Tensor, " n"]:
        """`(n,)` log N_i, in the type of the embeddings."""
        if self.subset is None:
            return self.ranges.log_available(self.anchors.dtype)
        return self.count.to(self.anchors.dtype).log()

    def mask(self, rows: slice, columns: slice) -> Bool[Tensor, "r c"] | None:
        """Return true where an entry of a tile is no negative, or None for a tile of negatives only."""
        excluded = self.ranges.excluded(rows, columns)
        if self.subset is None:
            return excluded
        column = torch.arange(columns.start, columns.stop, device=self.anchors.device)
        left_out = not_sampled(self._row_keys(rows), column, self.threshold[rows])
        return left_out if excluded is None else left_out.logical_or_(excluded)

    @cached_property
    def threshold(self) -> Int[Tensor, " n"]:
        """`(n,)` k-th smallest hash among the negatives of each anchor: the largest that is sampled."""
        assert self.subset is not None
        n, m = self.shape
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

    def without_subset(self) -> Negatives:
        """Return the negatives from which the subset is drawn."""
        return self if self.subset is None else dataclasses.replace(self, subset=None, constant=None)

    def transposed(self) -> Negatives:
        """Return the transposed S: candidates as anchors and anchors as candidates, without a subset."""
        assert self.subset is None
        if self.candidates is None:
            return self
        assert self.ranges.candidate_keys is not None
        return dataclasses.replace(
            self,
            anchors=self.candidates,
            candidates=self.anchors,
            ranges=KeyRanges(keys=self.ranges.candidate_keys, candidate_keys=self.ranges.keys),
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
        return self.anchors @ self.others.T

    @cached_property
    def kept_exponentials(self) -> dict[tuple[float, Pointwise | None], Float[Tensor, "n m"]]:
        """Exponentials of S by slope and tilt; for small, detached negatives only."""
        return {}
