"""The mask of the similarity matrix that follows from keys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tammes.positive_pairs import within


@dataclass(frozen=True, kw_only=True)
class KeyRanges:
    """Mask of S as ranges: a candidate is a negative of an anchor exactly where their keys differ enough.

    Rows and columns of S are sorted by key, so the candidates that are no negatives of anchor i are the
    columns `start[i]` to `stop[i]`, and most tiles of S have no masked entry at all.

    Args:
        keys: `(n,)` keys of the anchors, ascending.
        candidate_keys: `(m,)` keys of the candidates, ascending; None where the candidates are the anchors.
        window: largest difference of the keys of an anchor and a candidate that is no negative.

    Example:
        >>> ranges = KeyRanges(keys=torch.tensor([0, 0, 1]))
        >>> ranges.start.tolist(), ranges.stop.tolist()
        ([0, 0, 2], [2, 2, 3])
        >>> KeyRanges(keys=torch.arange(4), window=1).stop.tolist()
        [2, 3, 4, 4]
    """

    keys: Int[Tensor, " n"]
    candidate_keys: Int[Tensor, " m"] | None = None
    window: int = 0

    @property
    def keys_of_candidates(self) -> Int[Tensor, " m"]:
        """`(m,)` keys in the order of the columns."""
        return self.keys if self.candidate_keys is None else self.candidate_keys

    @property
    def transposed(self) -> KeyRanges:
        """The mask of the transposed S: the same one where both sides have one tensor of keys."""
        if self.candidate_keys is None or self.candidate_keys is self.keys:
            return self
        return KeyRanges(keys=self.candidate_keys, candidate_keys=self.keys, window=self.window)

    @cached_property
    def _ends(self) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
        """The least and the largest key that is no negative of each anchor."""
        return within(self.keys, self.window)

    @cached_property
    def start(self) -> Int[Tensor, " n"]:
        """`(n,)` first column that is no negative of the anchor."""
        return torch.searchsorted(self.keys_of_candidates, self._ends[0])

    @cached_property
    def stop(self) -> Int[Tensor, " n"]:
        """`(n,)` one past the last column that is no negative of the anchor."""
        return torch.searchsorted(self.keys_of_candidates, self._ends[1], right=True)

    @cached_property
    def excluded_counts(self) -> Int[Tensor, " n"]:
        """`(n,)` number of candidates that are no negatives of the anchor."""
        return self.stop - self.start

    @cached_property
    def words(self) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
        """`start` and `stop` as a kernel reads them, in 32 bits."""
        return self.start.to(torch.int32), self.stop.to(torch.int32)

    @cached_property
    def width(self) -> int | None:
        """Number of candidates that are no negatives, where it is the same for all anchors: usually so."""
        first = int(self.excluded_counts[0])
        return first if bool((self.excluded_counts == first).all()) else None

    @cached_property
    def _on_host(self) -> tuple[list[int], list[int]]:
        """`start` and `stop` as lists: reading single entries of a tensor would make a GPU wait."""
        return self.start.tolist(), self.stop.tolist()

    @cached_property
    def available(self) -> Int[Tensor, " n"]:
        """`(n,)` number of negatives of each anchor before a subset is drawn."""
        return len(self.keys_of_candidates) - self.excluded_counts

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
        if not self.touch(rows, columns):
            return None
        others = self.keys_of_candidates[columns]
        if self.window == 0:
            return self.keys[rows, None] == others
        least, most = (end[rows, None] for end in self._ends)
        return (least <= others).logical_and_(others <= most)

    def touch(self, rows: slice, columns: slice) -> bool:
        """Return whether a tile holds entries where no negative stands, or may."""
        first, last = self._on_host
        return first[rows.start] < columns.stop and last[rows.stop - 1] > columns.start

    @cached_property
    def excluded_entries(self) -> Int[Tensor, " e"]:
        """`(e,)` positions in S, row by row, where no negative stands; for small S, or one in each row.

        They are few, and index_fill_ is quicker than a mask.
        """
        n, m = len(self.keys), len(self.keys_of_candidates)
        if self.width == 1:
            return self.start + torch.arange(0, n * m, m, device=self.start.device)
        mask = self.excluded(slice(0, n), slice(0, m))
        return self.keys.new_empty(0) if mask is None else mask.view(-1).nonzero()[:, 0]
