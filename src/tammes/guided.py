"""Embeddings that bring those of a guide along, whose similarities say which candidates are no negatives."""

from __future__ import annotations

from torch import Tensor

from tammes.layout import Layout
from tammes.normalization import Embeddings, prepared
from tammes.pairs import Pairs
from tammes.reduce import Guide
from tammes.selection import Selection


def without_guide(pairs: Pairs, columns: int) -> tuple[Pairs, tuple[Tensor, Tensor | None]]:
    """Return the pairs without the guide's columns, and these: of the anchors and of other candidates."""
    width = pairs.anchors.shape[1] - columns
    if width < 1:
        raise ValueError(
            f"guide={columns} columns of each embedding are the guide's, but embeddings have only "
            f"{pairs.anchors.shape[1]}: give torch.cat([embeddings, guide_embeddings], dim=1)"
        )
    candidates = pairs.candidates
    return pairs.with_rows(lambda rows: rows[:, :width]), (
        pairs.anchors[:, width:].detach(),
        None if candidates is None else candidates[:, width:].detach(),
    )


def guide_of(
    selection: Selection,
    layout: Layout,
    guides: tuple[Tensor, Tensor | None] | None,
    anchors: Embeddings,
    candidates: Embeddings | None,
) -> Guide | None:
    """Return the candidates that the selection excludes by a similarity: a guide's, or that of S itself."""
    own, others = anchors.values, None if candidates is None else candidates.values
    if guides is not None:
        of_anchors, of_candidates = guides
        order, candidate_order = layout.order, layout.candidate_order
        own = prepared(
            layout.of_anchors(of_anchors),
            normalize=True,
            name=lambda row: f"the guide's anchor row {int(order[row])}",
        ).values
        if of_candidates is not None:
            assert candidate_order is not None
            places = candidate_order
            others = prepared(
                layout.of_candidates(of_candidates),
                normalize=True,
                name=lambda row: f"the guide's candidate row {int(places[row])}",
            ).values
    return selection.guided(own, others, layout.positives, layout.ranges)
