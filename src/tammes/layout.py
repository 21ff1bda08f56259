"""The order of rows and columns of the similarity matrix, its mask and its positives.

All of it follows from ids and labels, none from embeddings. Sorting, listing the positives and checking that
every anchor has a negative cost more than the arithmetic of a small batch, so the layouts of the two usual
batches (plain views; anchors with one aligned candidate each) are made once and kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

import tammes.deferred as deferred
from tammes.group import Group, Single
from tammes.pairs import Pairs
from tammes.positive_pairs import PairCounts, PositivePairs, Runs, without_positive
from tammes.reduce import Guide, KeyRanges, Negatives
from tammes.selection import Selection


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Rows and columns of S in an order in which equal keys stand side by side.

    Args:
        order: `(n,)` row of the pairs that each row of S is.
        candidate_order: `(m,)` candidate of the pairs that each column of S is; None where the anchors are
            the candidates.
        positives: the positive pairs, in the new order.
        ranges: the mask of S, in the new order.
        subset: number of negatives drawn for each anchor; None for all.
        rows: `(n,)` numbers of the anchors that seed their subsets; None without a subset.
        own: `(n,)` column of each anchor where the candidates are the anchors of all processes; else None.
        group: the processes that hold the other rows of S.
        in_order: whether the pairs are in this order already.
    """

    order: Int[Tensor, " n"]
    candidate_order: Int[Tensor, " m"] | None = None
    positives: PositivePairs
    ranges: KeyRanges
    subset: int | None = None
    rows: Int[Tensor, " n"] | None = None
    own: Int[Tensor, " n"] | None = None
    group: Group = field(default_factory=Single)
    in_order: bool = False

    def of_anchors(self, rows: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return rows of the anchors in the order of this layout."""
        return rows if self.in_order else rows.index_select(0, self.order)

    def of_candidates(self, rows: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
        """Return rows of the candidates in the order of this layout."""
        assert self.candidate_order is not None
        return rows if self.in_order else rows.index_select(0, self.candidate_order)

    def negatives(
        self,
        anchors: Float[Tensor, "n d"],
        candidates: Float[Tensor, "m d"] | None,
        *,
        bound: float,
        seed: int,
        guide: Guide | None = None,
    ) -> Negatives:
        """Return the negatives among embeddings in the order of this layout.

        Args:
            anchors: `(n, d)` embeddings.
            candidates: `(m, d)` embeddings, or None where the candidates are the anchors.
            bound: an upper bound of |s_ij|.
            seed: seed of the random subset.
            guide: further candidates that are no negatives; None for none.
        """
        return Negatives(
            anchors=anchors,
            candidates=candidates,
            ranges=self.ranges,
            bound=bound,
            guide=guide,
            subset=self.subset,
            seed=seed,
            rows=self.rows,
            own=self.own,
            group=self.group,
        )


def layout_of(pairs: Pairs, selection: Selection) -> Layout:
    """Return the layout of any pairs.

    Args:
        pairs: anchors and candidates with their ids and labels.
        selection: who may be a negative.

    Raises:
        ValueError: an anchor without a positive or a negative, or with fewer negatives than are to be drawn.

    Example:
        >>> from tammes.selection import All
        >>> pairs = Pairs(anchors=torch.eye(4), ids=torch.tensor([7, 3, 7, 3]))
        >>> layout_of(pairs, All()).order.tolist()
        [1, 3, 0, 2]
    """
    if selection.keys_are_ids and selection.subset_size is None and _is_aligned(pairs):
        return layout_of_aligned(len(pairs.ids), pairs.ids.device)
    keys, candidate_keys = selection.keys(pairs)
    window = pairs.window if selection.keys_are_ids else 0  # ids are ordered, labels are not
    sides = (keys,) if pairs.candidates is None else (keys, candidate_keys)
    in_order = not deferred.waits(keys.device) and all(_ascend(each) for each in sides)
    order = torch.argsort(keys, stable=True)
    ids = pairs.ids[order]
    own: Tensor | None = None
    candidate_order: Tensor | None = None
    itself: Tensor | None
    if pairs.candidates is None:
        ranges = KeyRanges(keys=keys[order], window=window)
        candidate_ids, itself = ids, torch.arange(len(ids), device=ids.device)
    else:
        same = candidate_keys is keys  # one tensor, as of rows and their answers, is sorted once
        candidate_order = order if same else torch.argsort(candidate_keys, stable=True)
        of_rows = keys[order]
        of_columns = of_rows if same else candidate_keys[candidate_order]
        ranges = KeyRanges(keys=of_rows, candidate_keys=of_columns, window=window)
        candidate_ids = pairs.ids_of_candidates
        candidate_ids = ids if same and candidate_ids is pairs.ids else candidate_ids[candidate_order]
        itself = None if pairs.own is None else torch.argsort(candidate_order)[pairs.own[order]]
        # Other candidates have columns of the anchors, too: the contexts of sentences.
        own = itself if pairs.candidates_are_anchors else None

    if selection.keys_are_ids:  # the mask has found the runs of equal ids already
        runs = Runs(
            first=ranges.start,
            count=ranges.excluded_counts,
            order=None,
            own=itself,
            columns=len(candidate_ids),
        )
    else:
        runs = Runs.of(ids, candidate_ids, itself, window=pairs.window)
    positives = _checked_positives(pairs, selection, runs, ranges, ids, order)
    return Layout(
        order=order,
        candidate_order=candidate_order,
        positives=positives,
        ranges=ranges,
        subset=selection.subset_size,
        rows=None if selection.subset_size is None else pairs.numbers[order],
        own=own,
        group=pairs.group,
        in_order=in_order,
    )


@lru_cache(maxsize=8)
def layout_of_views(batch: int, views: int, device: torch.device, selection: Selection) -> Layout:
    """Return the layout of plain views, row r of each with id r: the views of a row side by side.

    Args:
        batch: number of rows of each view.
        views: number of views.
        device: device of the views.
        selection: who may be a negative, by ids alone.

    Raises:
        ValueError: fewer negatives than are to be drawn.
    """
    with torch.inference_mode(False):  # tensors made in inference mode could not be used in training later
        numbers = torch.arange(batch * views, device=device).view(views, batch)
        row_ids = torch.arange(batch, device=device)
        placeholder = torch.empty(batch * views, 1, device=device)
        pairs = Pairs(anchors=placeholder, ids=row_ids.repeat(views), views=views)
        layout = layout_of(pairs, selection)
        assert torch.equal(layout.order, numbers.T.flatten())
        return layout


@lru_cache(maxsize=8)
def layout_of_aligned(size: int, device: torch.device) -> Layout:
    """Return the layout of anchors and as many other candidates, candidate i the positive of anchor i.

    Args:
        size: number of anchors, and of candidates.
        device: device of the pairs.
    """
    with torch.inference_mode(False):
        each = torch.arange(size, device=device)
        return Layout(
            order=each,
            candidate_order=each,
            positives=PositivePairs(anchor=each, candidate=each, count=torch.ones_like(each), columns=size),
            ranges=KeyRanges(keys=each, candidate_keys=each),
            in_order=True,
        )


def _ascend(keys: Int[Tensor, " n"]) -> bool:
    """Return whether keys ascend already; a copy of all embeddings in the same order costs more."""
    return bool((keys[1:] >= keys[:-1]).all())


def _is_aligned(pairs: Pairs) -> bool:
    """Return whether both sides have the same ids in ascending order; only asked where that costs little."""
    if pairs.candidate_ids is None or pairs.own is not None or pairs.group.size > 1 or pairs.window:
        return False
    if len(pairs.ids) < 2:
        return False
    if pairs.is_aligned or deferred.waits(pairs.ids.device):
        return pairs.is_aligned and len(pairs.ids) == len(pairs.candidate_ids)
    ascending = pairs.ids[1:] > pairs.ids[:-1]  # so no id occurs twice
    return torch.equal(pairs.ids, pairs.candidate_ids) and bool(ascending.all())


def _checked_positives(
    pairs: Pairs,
    selection: Selection,
    runs: Runs,
    ranges: KeyRanges,
    ids: Int[Tensor, " n"],
    order: Int[Tensor, " n"],
) -> PositivePairs:
    """Return the positive pairs, after a check that every anchor has positives and negatives.

    The numbers that the host must know are read at once: on a GPU it waits for each reading.
    """
    if pairs.counts is not None and selection.keys_are_ids:
        counts, available = pairs.counts, runs.columns - pairs.counts.most
    else:
        numbers = (*PairCounts.tensors(runs), ranges.available.min())
        *pair_counts, available = torch.stack(numbers).tolist()
        counts = PairCounts(*pair_counts)

    def row_name(row: int) -> str:
        return pairs.row_name(int(order[row]))

    if counts.fewest < 1:
        labeled, window = pairs.labels is not None, pairs.window
        raise without_positive(runs.positives, ids, row_name, labeled=labeled, window=window)
    if available < (selection.subset_size or 1):
        raise _without_negative(ranges.available, selection, row_name)
    return runs.listed(counts.total)


def _without_negative(
    available: Int[Tensor, " n"], selection: Selection, row_name: Callable[[int], str]
) -> ValueError:
    fewest = int(available.argmin())
    smallest, k = int(available[fewest]), selection.subset_size
    if smallest == 0:
        key = "id" if selection.keys_are_ids else "label"
        return ValueError(
            f"anchor {row_name(fewest)} has no negative: all candidates share its {key}; it needs others"
        )
    return ValueError(
        f"k = {k} negatives were asked for, but anchor {row_name(fewest)} has only {smallest}: "
        "lower k, or enlarge the batch (two views of B rows give 2(B - 1)) or the queue"
    )
