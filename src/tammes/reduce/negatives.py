"""Which entries of the similarity matrix are negatives."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tammes.group import Group, Single
from tammes.reduce.exponent import Pointwise
from tammes.reduce.subset_sampling import are_lost, last_winners, row_keys

_CHUNK = 1 << 20
"""How many tickets are held at a time while the winning ones are sought."""
_KEPT = 512 * 512
"""Up to how many entries S is kept: about one tile, which stays in a processor's cache."""
_OF_EMBEDDINGS = ("detached", "kept_similarity", "kept_exponentials", "last_winner")
"""What is found out once about the embeddings or the seed; everything else follows from the keys."""


@dataclass(frozen=True, kw_only=True)
class Negatives:
    """The similarity matrix S of anchors and candidates, never formed, and the mask of its negatives.

    Rows and columns are arranged so that candidates of equal key stand side by side, and a candidate is
    a negative exactly where its key differs from the anchor's. What is no negative of anchor i is then a
    range of columns, and most tiles of S have no masked entry at all.

    Args:
        anchors: `(n, d)`, in ascending order of `keys`.
        candidates: `(m, d)`, in ascending order of `candidate_keys`; None where they are the anchors
            (S is then symmetric).
        keys: `(n,)` integers.
        candidate_keys: `(m,)`; None where the candidates are the anchors.
        bound: no |s_ij| is larger, of this process or another.
        subset: how many of its negatives each anchor keeps, drawn without replacement, or None for all.
        seed: which subset; used only with `subset`.
        rows: `(n,)`, numbers that name the anchors, so that each has a subset of its own.
        own: `(n,)`, the column of each anchor itself, where it stands among other candidates; or None.
        group: the processes that hold the other rows of S.
        kept: up to how many entries S may be kept between passes: a constant, so that memory stays linear.
    """

    anchors: Float[Tensor, "n d"]
    keys: Int[Tensor, " n"]
    bound: float
    candidates: Float[Tensor, "m d"] | None = None
    candidate_keys: Int[Tensor, " m"] | None = None
    subset: int | None = None
    seed: int = 0
    rows: Int[Tensor, " n"] | None = None
    own: Int[Tensor, " n"] | None = None
    group: Group = field(default_factory=Single)
    kept: int = _KEPT

    @property
    def symmetric(self) -> bool:
        """Whether the candidates are the anchors."""
        return self.candidates is None

    @property
    def others(self) -> Float[Tensor, "m d"]:
        """The candidates, whoever they are."""
        return self.anchors if self.candidates is None else self.candidates

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m), the shape of S."""
        n = self.anchors.shape[0]
        return n, n if self.candidates is None else self.candidates.shape[0]

    @cached_property
    def start(self) -> Int[Tensor, " n"]:
        """`(n,)`, the first candidate that is no negative of the anchor."""
        return torch.searchsorted(self.keys_of_candidates, self.keys)

    @cached_property
    def stop(self) -> Int[Tensor, " n"]:
        """`(n,)`, one past the last candidate that is no negative of the anchor."""
        return torch.searchsorted(self.keys_of_candidates, self.keys, right=True)

    @cached_property
    def _ranges(self) -> tuple[list[int], list[int]]:
        """`start` and `stop` where looking at single ones costs nothing."""
        return self.start.tolist(), self.stop.tolist()

    @cached_property
    def available(self) -> Int[Tensor, " n"]:
        """`(n,)`, how many negatives each anchor has before a subset is drawn."""
        return self.shape[1] - (self.stop - self.start)

    @cached_property
    def count(self) -> Int[Tensor, " n"]:
        """`(n,)`, how many negatives each anchor has: N_i."""
        return self.available if self.subset is None else torch.full_like(self.available, self.subset)

    @cached_property
    def log_count(self) -> Float[Tensor, " n"]:
        """`(n,)`, log N_i, in the type of the embeddings."""
        return self.count.to(self.anchors.dtype).log()

    def mask(self, rows: slice, columns: slice) -> Bool[Tensor, "r c"] | None:
        """True where a tile's entry is no negative, or None where all of them are."""
        excluded = self._excluded(rows, columns)
        if self.subset is None:
            return excluded
        column = torch.arange(columns.start, columns.stop, device=self.anchors.device)
        lost = are_lost(self._ticket_keys(rows), column, self.last_winner[rows])
        return lost if excluded is None else lost.logical_or_(excluded)

    def _excluded(self, rows: slice, columns: slice) -> Bool[Tensor, "r c"] | None:
        first, last = self._ranges
        if first[rows.start] >= columns.stop or last[rows.stop - 1] <= columns.start:
            return None
        return self.keys[rows, None] == self.keys_of_candidates[columns]

    def _ticket_keys(self, rows: slice) -> Int[Tensor, " r"]:
        assert self.rows is not None
        return row_keys(self.seed, self.rows[rows])

    @cached_property
    def last_winner(self) -> Int[Tensor, " n"]:
        """`(n,)`, the k-th smallest ticket among each anchor's negatives."""
        assert self.subset is not None
        n, m = self.shape
        cutoff = torch.empty_like(self.keys)
        step = max(1, _CHUNK // m)
        for first in range(0, n, step):
            rows = slice(first, min(first + step, n))
            excluded = self._excluded(rows, slice(0, m))
            cutoff[rows] = last_winners(self._ticket_keys(rows), excluded, self.subset, m)
        return cutoff

    def with_embeddings(
        self,
        anchors: Float[Tensor, "n d"],
        candidates: Float[Tensor, "m d"] | None,
        *,
        bound: float,
        seed: int,
    ) -> Negatives:
        """The same negatives among other embeddings, arranged as these are."""
        # Found out once, here at the latest, and copied with the rest.
        assert anchors.shape[0] == len(self._ranges[0]) == self.log_count.shape[0]
        if self.subset is None and self.is_small:
            assert self.kept_excluded.ndim == 1
        same = self._copied(anchors=anchors, candidates=candidates, bound=bound, seed=seed)
        for name in _OF_EMBEDDINGS:
            vars(same).pop(name, None)
        return same

    def _copied(self, *, anchors: Tensor, candidates: Tensor | None, bound: float, seed: int) -> Negatives:
        """A copy that knows all that was found out about the keys."""
        same = object.__new__(Negatives)
        vars(same).update(vars(self))
        vars(same).update(anchors=anchors, candidates=candidates, bound=bound, seed=seed)
        return same

    def keeping(self, entries: int) -> Negatives:
        """The same negatives, for many passes: S is kept if it has no more than so many entries."""
        return self if self.is_small else dataclasses.replace(self, kept=entries)

    def without_subset(self) -> Negatives:
        """The same negatives before a subset was drawn."""
        return self if self.subset is None else dataclasses.replace(self, subset=None)

    def transposed(self) -> Negatives:
        """Candidates as anchors and anchors as candidates; before a subset is drawn."""
        assert self.subset is None
        if self.candidates is None:
            return self
        assert self.candidate_keys is not None
        return dataclasses.replace(
            self,
            anchors=self.candidates,
            keys=self.candidate_keys,
            candidates=self.anchors,
            candidate_keys=self.keys,
            rows=None,
            own=None,
        )

    @cached_property
    def detached(self) -> Negatives:
        """The same negatives, cut from the graph of their embeddings."""
        candidates = None if self.candidates is None else self.candidates.detach()
        return self._copied(
            anchors=self.anchors.detach(), candidates=candidates, bound=self.bound, seed=self.seed
        )

    @property
    def is_small(self) -> bool:
        """Whether S is small enough to be kept between passes."""
        return self.shape[0] * self.shape[1] <= self.kept

    @property
    def fits_cache(self) -> bool:
        """Whether S is as small as one tile."""
        return self.shape[0] * self.shape[1] <= _KEPT

    @cached_property
    def kept_similarity(self) -> Float[Tensor, "n m"]:
        """S itself; of small, detached negatives only."""
        return self.anchors @ self.others.T

    def neighbor_similarity(self) -> Float[Tensor, " n"]:
        """S of rows 2k and 2k + 1, for both of them; of small, detached, symmetric negatives only."""
        return neighbors(self.kept_similarity).reshape(-1)

    @cached_property
    def kept_excluded(self) -> Int[Tensor, " e"]:
        """Where in all of S, row by row, no negative stands; of small negatives only.

        They are few, and quicker to reach by number than by a mask.
        """
        n, m = self.shape
        mask = self.mask(slice(0, n), slice(0, m))
        return self.keys.new_empty(0) if mask is None else mask.view(-1).nonzero()[:, 0]

    @cached_property
    def kept_exponentials(self) -> dict[tuple[float, Pointwise | None], Float[Tensor, "n m"]]:
        """Exponentials of S by slope and tilt; of small, detached negatives only."""
        return {}

    @property
    def keys_of_candidates(self) -> Int[Tensor, " m"]:
        """`(m,)`, the keys in the order of the candidates, whoever they are."""
        return self.keys if self.candidate_keys is None else self.candidate_keys


def neighbors(square: Float[Tensor, "n n"]) -> Float[Tensor, "n/2 2"]:
    """The entries (2k, 2k + 1) and (2k + 1, 2k) of a contiguous matrix, as a view.

    Example:
        >>> neighbors(torch.arange(16.0).view(4, 4)).tolist()
        [[1.0, 4.0], [11.0, 14.0]]
    """
    n = len(square)
    return square.as_strided((n // 2, 2), (2 * n + 2, n - 1), square.storage_offset() + 1)
