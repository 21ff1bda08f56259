"""The positive pairs, listed from ids that are sorted; the host reads what it must know of them at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Int
from torch import Tensor


def within(ids: Int[Tensor, " n"], window: int) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
    """Return the least and the largest id of a positive of each, which stay within 64 bits.

    Example:
        >>> least, most = within(torch.tensor([3, 2**63 - 1]), 1)
        >>> least.tolist(), most.tolist()
        ([2, 9223372036854775806], [4, 9223372036854775807])
    """
    if window == 0:
        return ids, ids
    ends = torch.iinfo(ids.dtype)
    return ids.clamp(min=ends.min + window) - window, ids.clamp(max=ends.max - window) + window


@dataclass(frozen=True, kw_only=True)
class PositivePairs:
    """The positive pairs, one entry each, ordered by anchor; every anchor has at least one.

    Attributes:
        anchor: `(e,)` row of the anchor.
        candidate: `(e,)` row of its positive among the candidates.
        count: `(n,)` number of positives of each anchor.
        columns: number of candidates.
    """

    anchor: Int[Tensor, " e"]
    candidate: Int[Tensor, " e"]
    count: Int[Tensor, " n"]
    columns: int

    @cached_property
    def entries(self) -> Int[Tensor, " e"]:
        """`(e,)` positions of the pairs in the similarity matrix, row by row."""
        return self.anchor * self.columns + self.candidate

    @property
    def one_each(self) -> bool:
        """Whether every anchor has exactly one positive."""
        return len(self.anchor) == len(self.count)  # none has fewer


@dataclass(frozen=True, kw_only=True)
class Runs:
    """For each anchor the run of candidates with its id, among candidates sorted by id.

    Attributes:
        first: `(n,)` place of the first of them.
        count: `(n,)` number of them, the anchor itself included if it is a candidate.
        order: `(m,)` candidate at each place; None where the candidates stand in this order.
        own: `(n,)` candidate that is the anchor itself; None where no anchor is one.
        columns: number of candidates.
    """

    first: Int[Tensor, " n"]
    count: Int[Tensor, " n"]
    order: Int[Tensor, " m"] | None
    own: Int[Tensor, " n"] | None
    columns: int

    @staticmethod
    def of(
        ids: Int[Tensor, " n"],
        candidate_ids: Int[Tensor, " m"],
        own: Int[Tensor, " n"] | None,
        *,
        window: int = 0,
    ) -> Runs:
        """Return the runs of any ids.

        Args:
            ids: `(n,)` ids of the anchors.
            candidate_ids: `(m,)` ids of the candidates.
            own: `(n,)` candidate that is the anchor itself; None where no anchor is one.
            window: largest difference of the ids of a pair.
        """
        sorted_ids, order = torch.sort(candidate_ids, stable=True)
        least, most = within(ids, window)
        first = torch.searchsorted(sorted_ids, least)
        count = torch.searchsorted(sorted_ids, most, right=True) - first
        return Runs(first=first, count=count, order=order, own=own, columns=len(candidate_ids))

    @cached_property
    def positives(self) -> Int[Tensor, " n"]:
        """`(n,)` number of positives of each anchor."""
        return self.count if self.own is None else self.count - 1

    def listed(self, total: int) -> PositivePairs:
        """Return the pairs, `total` in all: with their number known, a GPU need not be asked for it.

        Example:
            >>> ids = torch.tensor([0, 1, 0, 1])
            >>> Runs.of(ids, ids, torch.arange(4)).listed(4).candidate.tolist()
            [2, 3, 0, 1]
        """
        device, count = self.first.device, self.positives
        rows = torch.arange(len(count), device=device)
        anchor = torch.repeat_interleave(rows, count, output_size=total)
        # Entry e of the list is the (e - begin)-th of its anchor's run.
        begin = torch.cumsum(count, 0) - count
        place = torch.arange(total, device=device) + (self.first - begin)[anchor]
        if self.own is not None:  # which its run leaves out: the places from its own on move by one
            own = self.own if self.order is None else _inverse(self.order)[self.own]
            place += place >= own[anchor]
        candidate = place if self.order is None else self.order[place]
        return PositivePairs(anchor=anchor, candidate=candidate, count=count, columns=self.columns)


@dataclass(frozen=True)
class PairCounts:
    """What the host must know of the runs of a batch.

    Attributes:
        total: number of positive pairs.
        fewest: number of positives of the anchor that has fewest.
        most: number of candidates with its own id, itself included, of the anchor that has most.
    """

    total: int
    fewest: int
    most: int

    @staticmethod
    def read(runs: Runs) -> PairCounts:
        """Return the counts, for which the host waits once.

        Example:
            >>> ids = torch.tensor([0, 1, 0, 1])
            >>> PairCounts.read(Runs.of(ids, ids, torch.arange(4)))
            PairCounts(total=4, fewest=1, most=2)
        """
        return PairCounts(*torch.stack(PairCounts.tensors(runs)).tolist())

    @staticmethod
    def tensors(runs: Runs) -> tuple[Tensor, Tensor, Tensor]:
        """Return the three numbers where the runs are."""
        fewest, most = torch.aminmax(runs.count)
        return runs.positives.sum(), fewest if runs.own is None else fewest - 1, most


def without_positive(
    positives: Int[Tensor, " n"],
    ids: Int[Tensor, " n"],
    row_name: Callable[[int], str],
    *,
    labeled: bool = False,
    window: int = 0,
) -> ValueError:
    """Return the error for anchors without a positive.

    Args:
        positives: `(n,)` number of positives of each anchor.
        ids: `(n,)` ids of the anchors.
        row_name: name of an anchor.
        labeled: whether labels came, which the message then tells from ids.
        window: largest difference of the ids of a pair.
    """
    alone = positives < 1
    row = int(alone.nonzero()[0])
    return ValueError(
        f"{int(alone.sum())} of {len(alone)} anchors have no positive, first {row_name(row)} "
        f"(id {int(ids[row])}): {remedy(labeled=labeled, window=window)}, or leave such anchors out with "
        "without_positive='skip'"
    )


def remedy(*, labeled: bool, window: int = 0) -> str:
    """Return what to do about anchors without a positive.

    Args:
        labeled: whether labels came, which might be taken for ids.
        window: largest difference of the ids of a pair.
    """
    if window:
        return (
            f"ids must number the sentences in reading order, and a batch must hold some that are at most "
            f"{window} apart"
        )
    if labeled:
        return (
            "labels only choose negatives; if rows of one class are to be positives (supervised contrast), "
            "pass the classes as ids=, and every id must occur at least twice"
        )
    return "every id must occur at least twice"


def _inverse(order: Int[Tensor, " m"]) -> Int[Tensor, " m"]:
    places = torch.empty_like(order)
    places[order] = torch.arange(len(order), device=order.device)
    return places
