"""Pairs: who is compared with whom. The noun that sources make and everything else hands on."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.group import Group, Single


def consecutive_ids(batch: int, views: int, device: torch.device) -> Int[Tensor, " n"]:
    """`(n,)`, 0 to batch - 1 for each view: the ids of views that came without; the same tensor each time.

    What follows from ids can then be kept as well: see `tammes.layout`. Once someone has written to it,
    it is theirs, and the next call makes another.

    Example:
        >>> consecutive_ids(3, 2, torch.device("cpu")).tolist()
        [0, 1, 2, 0, 1, 2]
    """
    ids = _kept_ids(batch, views, device)
    if ids._version > 0:
        _kept_ids.cache_clear()
        ids = _kept_ids(batch, views, device)
    return ids


@lru_cache(maxsize=8)
def _kept_ids(batch: int, views: int, device: torch.device) -> Tensor:
    with torch.inference_mode(False):  # what is made in that mode could not be used in training later on
        return torch.arange(batch, device=device).repeat(views)


@dataclass(frozen=True, kw_only=True)
class Edges:
    """The positive pairs, one entry each, ordered by anchor.

    Attributes:
        anchor: `(e,)`, the row of the anchor.
        candidate: `(e,)`, the row of its positive among the candidates.
        count: `(n,)`, how many positives each anchor has.
    """

    anchor: Int[Tensor, " e"]
    candidate: Int[Tensor, " e"]
    count: Int[Tensor, " n"]

    @cached_property
    def one_each(self) -> bool:
        """Whether every anchor has exactly one positive."""
        return len(self.anchor) == len(self.count) and bool((self.count == 1).all())

    @cached_property
    def side_by_side(self) -> bool:
        """Whether rows 2k and 2k + 1 are each other's only positive, for every k."""
        neighbor = torch.arange(len(self.count), device=self.count.device).bitwise_xor_(1)
        return self.one_each and torch.equal(self.candidate, neighbor)


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Anchors, the candidates they are compared with, and the ids that say who belongs together.

    Candidate j is a positive of anchor i where their ids are equal; position plays no part. Where the
    anchors are themselves the candidates (`candidates=None`, the usual batch of several views), or stand
    among them (`own`), an anchor is neither its own positive nor its own negative.

    Args:
        anchors: `(n, d)`, floating point.
        ids: `(n,)`, integers; what the anchors show (two views of one image share an id).
        candidates: `(m, d)`, or None where the anchors are the candidates.
        candidate_ids: `(m,)`, given exactly where `candidates` is.
        labels: `(n,)` integers or None; classes, for selections that need them.
        candidate_labels: `(m,)`, for the candidates likewise.
        own: `(n,)`, where among the candidates each anchor itself stands, no two in the same place; None
            where the anchors are the candidates, or no anchor is one.
        group: the processes whose losses are averaged, each with anchors of its own.
        first: how many anchors other processes have before these, where `own` does not tell.
        views: how many views were stacked to make the anchors; used to name a row in an error.
        origin: `(n,)`, the rows that the anchors were before they were arranged; used likewise.

    Raises:
        ValueError: shapes or types that do not fit together.

    Example:
        >>> pairs = Pairs(anchors=torch.eye(4), ids=torch.tensor([0, 1, 0, 1]))
        >>> pairs.positives().candidate.tolist()
        [2, 3, 0, 1]
    """

    anchors: Float[Tensor, "n d"]
    ids: Int[Tensor, " n"]
    candidates: Float[Tensor, "m d"] | None = None
    candidate_ids: Int[Tensor, " m"] | None = None
    labels: Int[Tensor, " n"] | None = None
    candidate_labels: Int[Tensor, " m"] | None = None
    own: Int[Tensor, " n"] | None = None
    group: Group = field(default_factory=Single)
    first: int = 0
    views: int = 1
    origin: Int[Tensor, " n"] | None = None

    def __post_init__(self) -> None:
        _check_rows("anchors", self.anchors, self.ids, self.labels)
        if self.candidates is not None and self.candidate_ids is not None:
            _check_rows("candidates", self.candidates, self.candidate_ids, self.candidate_labels)
        for name in ("ids", "candidate_ids", "labels", "candidate_labels"):
            numbers = vars(self)[name]
            if isinstance(numbers, Tensor) and not numbers.is_floating_point():
                object.__setattr__(self, name, numbers.long())  # the narrower types lack operations
        if self.candidates is None:
            if any(each is not None for each in (self.candidate_ids, self.candidate_labels, self.own)):
                raise ValueError("candidate_ids, candidate_labels or own came without candidates")
            return
        if self.candidate_ids is None:
            raise ValueError("candidates came without candidate_ids, which say whose positives they are")
        if (self.labels is None) != (self.candidate_labels is None):
            raise ValueError("labels must be given for the anchors and the candidates, or for neither")
        if self.anchors.shape[1] != self.candidates.shape[1]:
            raise ValueError(
                f"anchors have dimension {self.anchors.shape[1]}, candidates {self.candidates.shape[1]}: "
                "both must come from the same space"
            )
        if self.own is not None and self.own.shape != self.ids.shape:
            raise ValueError(
                f"own must name the place of each of the {len(self.ids)} anchors among the candidates: got "
                f"shape {tuple(self.own.shape)}"
            )

    @property
    def ids_of_candidates(self) -> Int[Tensor, " m"]:
        """`(m,)`, the ids in the order of the candidates, whoever they are."""
        return self.ids if self.candidate_ids is None else self.candidate_ids

    @property
    def labels_of_candidates(self) -> Int[Tensor, " m"] | None:
        """`(m,)`, the labels in the order of the candidates, whoever they are."""
        return self.labels if self.candidates is None else self.candidate_labels

    @property
    def numbers(self) -> Int[Tensor, " n"]:
        """`(n,)`, numbers that no anchor of another process has; each draws its random subset by its own."""
        if self.own is not None:
            return self.own
        return torch.arange(self.first, self.first + len(self.ids), device=self.ids.device)

    def row_name(self, row: int) -> str:
        """How to name anchor `row` to the one who gave the views."""
        row = row if self.origin is None else int(self.origin[row])
        per_view = len(self.anchors) // self.views
        return f"row {row}" if self.views == 1 else f"row {row % per_view} of view {row // per_view}"

    def positives(self) -> Edges:
        """All pairs of equal id, except a row with itself.

        Raises:
            ValueError: an anchor has no positive.
        """
        candidate_ids, order = torch.sort(self.ids_of_candidates, stable=True)
        first = torch.searchsorted(candidate_ids, self.ids)
        count = torch.searchsorted(candidate_ids, self.ids, right=True) - first
        anchor = torch.repeat_interleave(torch.arange(len(self.ids), device=self.ids.device), count)
        # Entry e of the list is the (e - begin)-th of its anchor's run of equal ids.
        begin = torch.cumsum(count, 0) - count
        candidate = order[torch.arange(len(anchor), device=anchor.device) + (first - begin)[anchor]]
        if self.candidates is None or self.own is not None:
            other = candidate != (anchor if self.own is None else self.own[anchor])
            anchor, candidate, count = anchor[other], candidate[other], count - 1
        alone = count == 0
        if bool(alone.any()):
            row = int(alone.nonzero()[0])
            raise ValueError(
                f"{int(alone.sum())} of {len(count)} anchors have no positive, first {self.row_name(row)} "
                f"(id {int(self.ids[row])}): every id must occur at least twice"
            )
        return Edges(anchor=anchor, candidate=candidate, count=count)

    def arranged(
        self, keys: Int[Tensor, " n"], candidate_keys: Int[Tensor, " m"]
    ) -> tuple[Pairs, Int[Tensor, " n"], Int[Tensor, " m"]]:
        """The same pairs with equal keys side by side, and the orders that led there."""
        order = torch.argsort(keys, stable=True)
        if self.candidates is None:
            return self._reordered(order, order), order, order
        candidate_order = torch.argsort(candidate_keys, stable=True)
        return self._reordered(order, candidate_order), order, candidate_order

    def _reordered(self, order: Tensor, candidate_order: Tensor) -> Pairs:
        def picked(rows: Tensor | None, by: Tensor) -> Tensor | None:
            return None if rows is None else rows.index_select(0, by)

        return dataclasses.replace(
            self,
            anchors=self.anchors.index_select(0, order),
            ids=self.ids.index_select(0, order),
            labels=picked(self.labels, order),
            candidates=picked(self.candidates, candidate_order),
            candidate_ids=picked(self.candidate_ids, candidate_order),
            candidate_labels=picked(self.candidate_labels, candidate_order),
            own=None if self.own is None else torch.argsort(candidate_order)[self.own[order]],
            origin=order,
        )


def _check_rows(name: str, rows: Tensor, ids: Tensor, labels: Tensor | None) -> None:
    if rows.ndim != 2 or rows.shape[1] == 0 or not rows.is_floating_point():
        raise ValueError(
            f"{name} must be a floating-point matrix (rows, dimension) of at least one dimension; "
            f"got shape {tuple(rows.shape)} of {rows.dtype}"
        )
    for what, numbers in (("ids", ids), ("labels", labels)):
        if numbers is None:
            continue
        if numbers.shape != rows.shape[:1]:
            raise ValueError(
                f"{what} must name each of the {len(rows)} {name} once: got shape {tuple(numbers.shape)}"
            )
        if numbers.is_floating_point() or numbers.is_complex() or numbers.dtype == torch.bool:
            raise ValueError(f"{what} must be integers, got {numbers.dtype}")
