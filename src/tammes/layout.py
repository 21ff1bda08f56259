"""Who stands where in the similarity matrix: what follows from ids and labels, and not from embeddings."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.pairs import Edges, Pairs, consecutive_ids
from tammes.reduce import Negatives
from tammes.selection import All, Selection, Subset


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The rows and columns of S in an order in which equal keys stand side by side.

    Args:
        order: `(n,)`, which row of the pairs each row of S is.
        candidate_order: `(m,)`, likewise for its columns.
        edges: the positives, in the new order.
        negatives: which entries are negatives, in the new order; their embeddings are placeholders.
        views: where every id stands in the same row of so many views and nowhere else, how many; else None.
    """

    order: Int[Tensor, " n"]
    candidate_order: Int[Tensor, " m"]
    edges: Edges
    negatives: Negatives
    views: int | None = None

    def negatives_of(
        self,
        anchors: Float[Tensor, "n d"],
        candidates: Float[Tensor, "m d"] | None,
        *,
        bound: float,
        seed: int,
    ) -> Negatives:
        """The negatives among these embeddings.

        Args:
            anchors: `(n, d)`, in the order of the pairs that this layout was made for.
            candidates: `(m, d)` likewise, or None where they are the anchors.
            bound: no |s_ij| is larger.
            seed: which subset is drawn.
        """
        return self.negatives.with_embeddings(
            self.of_rows(anchors),
            None if candidates is None else candidates.index_select(0, self.candidate_order),
            bound=bound,
            seed=seed,
        )

    def of_rows(self, values: Float[Tensor, "n ..."]) -> Float[Tensor, "n ..."]:
        """What belongs to the rows of the pairs, in the order of S."""
        if self.views is None:
            return values.index_select(0, self.order)
        # (v b) d -> (b v) d; the way back is quicker than that of picking rows.
        return values.unflatten(0, (self.views, -1)).transpose(0, 1).reshape(values.shape)


def layout_of(pairs: Pairs, selection: Selection, kind: torch.dtype) -> Layout:
    """The layout of these pairs; that of plain views is made once and kept.

    Args:
        pairs: whose ids and labels are looked at.
        selection: who may be a negative.
        kind: the type in which the embeddings will come.

    Raises:
        ValueError: an anchor without a positive or a negative, or with fewer negatives than are to be drawn.

    Example:
        >>> pairs = Pairs(anchors=torch.eye(4), ids=torch.tensor([7, 3, 7, 3]))
        >>> layout_of(pairs, All(), torch.float32).order.tolist()
        [1, 3, 0, 2]
    """
    keys, batch = selection.keys(pairs), pairs.ids.shape[0] // pairs.views
    if pairs.views > 1 and pairs.candidates is None and pairs.first == 0 and pairs.group.size == 1:
        consecutive = consecutive_ids(batch, pairs.views, pairs.ids.device)
        if pairs.ids is consecutive and keys[0] is consecutive:
            return layout_of_views(batch, pairs.views, pairs.anchors.device, kind, selection.subset_size)
    return _arranged(pairs, keys, selection, kind, views=None)


@lru_cache(maxsize=8)
def layout_of_views(batch: int, views: int, device: torch.device, kind: torch.dtype, k: int | None) -> Layout:
    """The layout of so many plain views of a batch, made once and kept.

    Args:
        batch: rows of each view.
        views: how many there are.
        device: where they are.
        kind: the type in which the embeddings will come.
        k: how many negatives are drawn for each anchor; None for all.
    """
    with torch.inference_mode(False):  # what is made in that mode could not be used in training later on
        placeholder = torch.empty(batch * views, 1, device=device, dtype=kind)
        pairs = Pairs(anchors=placeholder, ids=consecutive_ids(batch, views, device), views=views)
        selection = All() if k is None else Subset(k=k)
        return _arranged(pairs, selection.keys(pairs), selection, kind, views=views)


def _arranged(
    pairs: Pairs, keys: tuple[Tensor, Tensor], selection: Selection, kind: torch.dtype, *, views: int | None
) -> Layout:
    numbers, (anchor_keys, candidate_keys) = pairs.numbers, keys
    pairs, order, candidate_order = _without_embeddings(pairs, kind).arranged(anchor_keys, candidate_keys)
    k = selection.subset_size
    negatives = Negatives(
        anchors=pairs.anchors,
        candidates=pairs.candidates,
        keys=anchor_keys[order],
        candidate_keys=None if pairs.candidates is None else candidate_keys[candidate_order],
        bound=0.0,
        subset=k,
        rows=None if k is None else numbers[order],
        own=pairs.own,
        group=pairs.group,
    )
    _check(pairs, selection, negatives)
    return Layout(
        order=order,
        candidate_order=candidate_order,
        edges=pairs.positives(),
        negatives=negatives,
        views=views,
    )


def _without_embeddings(pairs: Pairs, kind: torch.dtype) -> Pairs:
    """The pairs with a placeholder of one column, so that nothing large is moved or kept."""

    def placeholder(rows: Tensor) -> Tensor:
        return torch.empty(len(rows), 1, device=rows.device, dtype=kind)

    candidates = None if pairs.candidates is None else placeholder(pairs.candidates)
    return dataclasses.replace(pairs, anchors=placeholder(pairs.anchors), candidates=candidates)


def _check(pairs: Pairs, selection: Selection, negatives: Negatives) -> None:
    fewest = int(negatives.available.argmin())
    least, k = int(negatives.available[fewest]), selection.subset_size
    row = pairs.row_name(fewest)
    if least == 0:
        raise ValueError(
            f"anchor {row} has no negative: all candidates share its "
            f"{'label' if selection.removes_false_negatives else 'id'}; it needs others"
        )
    if k is not None and k > least:
        raise ValueError(
            f"k = {k} negatives were asked for, but anchor {row} has only {least}: "
            "lower k, or enlarge the batch (two views of B rows give 2(B - 1)) or what the queue holds"
        )
