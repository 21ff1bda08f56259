"""A batch as an objective sees it: the similarity matrix with its negatives and its positives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.group import Group, Single
from tammes.layout import Layout, layout_of, layout_of_views
from tammes.normalization import prepared
from tammes.pairs import Pairs
from tammes.reduce import (
    Engine,
    Exponent,
    Negatives,
    SoftmaxLoss,
    Tiled,
    WeightedNegatives,
    WeightedPositives,
    choose,
)
from tammes.reduce.autograd import without_autocast
from tammes.selection import Selection
from tammes.sources import InBatch
from tammes.sources.views import check_views
from tammes.temperature import LogitScale

_SMALL = 512 * 512
"""Entries of a symmetric S up to which it is kept whole: it then stays in a processor's cache."""
_SMALL_ONE_WAY = 1024 * 1024
"""Likewise for other candidates, where tiles save no products: 4 MB in float32."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The similarity matrix S of a batch, in the order of its layout.

    Args:
        negatives: S and its mask; differentiable in the embeddings and in a learned temperature.
        layout: the order of rows and columns, and the positive pairs.
        anchors: `(n, d)` embeddings before the learned temperature multiplies them.
        normalized: whether they have unit length.
        scale: the temperature.
        engine: the engine that reduces S.
    """

    negatives: Negatives
    layout: Layout
    anchors: Float[Tensor, "n d"]
    normalized: bool
    scale: LogitScale
    engine: Engine

    @property
    def group(self) -> Group:
        """The processes whose losses are averaged."""
        return self.negatives.group

    @property
    def lengths(self) -> Float[Tensor, " n"] | float:
        """`(n,)` lengths |z_i| of the anchors; 1 for unit vectors."""
        return 1.0 if self.normalized else torch.linalg.vector_norm(self.anchors, dim=1)

    def samples(self, weight: Exponent) -> tuple[WeightedNegatives, WeightedPositives]:
        """Return the negatives and the positives of each anchor, under the weights of a fitted coupling."""
        temperature = self.scale.temperature
        negatives = WeightedNegatives(
            negatives=self.negatives, weight=weight, temperature=temperature, engine=self.engine
        )
        positives = WeightedPositives.of(self.negatives, self.layout.positives, weight, temperature)
        return negatives, positives

    def softmax_loss(self, loss: SoftmaxLoss, weight: Exponent) -> Float[Tensor, ""] | None:
        """Return the softmax loss in closed form, or None where this batch is no small one on a CPU.

        Args:
            loss: the closed form with its constants.
            weight: logarithm of the weights of the negatives.
        """
        negatives, (n, m) = self.negatives, self.negatives.shape
        limit = _SMALL if negatives.symmetric else _SMALL_ONE_WAY
        if (
            n * m > limit
            or negatives.anchors.device.type != "cpu"
            or negatives.subset is not None
            or self.group.size > 1
            or self.scale.one is not None
            or not self.layout.positives.one_each
            or not isinstance(self.engine, Tiled)
            or max(n, m) > self.engine.side * (1 if negatives.symmetric else 2)
        ):
            return None
        return loss(negatives.keeping(limit), weight, self.layout.positive_entries)

    def detached(self) -> Batch:
        """Return the same batch, cut from the graph."""
        return dataclasses.replace(
            self,
            negatives=self.negatives.detached,
            anchors=self.anchors.detach(),
            scale=LogitScale(temperature=self.scale.temperature),
        )

    def weights(self, weight: Exponent) -> Float[Tensor, "n m"]:
        """Return w_ij as a matrix `(n, m)` in the order of the pairs; for small batches."""
        negatives, layout = self.negatives, self.layout
        n, m = negatives.shape
        exponents = weight.value(negatives.anchors @ negatives.others.T, slice(0, m))
        mask = negatives.mask(slice(0, n), slice(0, m))
        if mask is not None:
            exponents = exponents.masked_fill(mask, -torch.inf)
        weights = torch.empty_like(exponents)
        columns = layout.order if layout.candidate_order is None else layout.candidate_order
        weights[layout.order[:, None], columns[None, :]] = torch.softmax(exponents, dim=1)
        return weights


def batch_of(
    views: tuple[Tensor | Pairs, ...],
    *,
    ids: Int[Tensor, " batch"] | None,
    labels: Int[Tensor, " batch"] | None,
    generator: torch.Generator | None,
    learned: Float[Tensor, ""] | None,
    temperature: float,
    selection: Selection,
    normalize: bool,
    engine: Engine | None,
) -> Batch:
    """Return the batch of views, or of the pairs that a source has made.

    Args:
        views: two or more `(batch, d)` tensors, or one Pairs.
        ids: `(batch,)` integers for views; rows that share an id are positives.
        labels: `(batch,)` integers for views, for selections that need them.
        generator: generator of the random subset; None for torch's own.
        learned: learned temperature, used instead of the fixed one; or None.
        temperature: fixed temperature.
        selection: who may be a negative.
        normalize: whether to bring embeddings to unit length.
        engine: engine that reduces S; None to choose one.

    Raises:
        ValueError: wrong views, ids, labels, temperature or generator, on this process or another.
    """
    pairs = _as_pairs(views, ids, labels, selection)
    given: Tensor = views[0] if pairs is None else pairs.anchors  # type: ignore[assignment]
    group = Single() if pairs is None else pairs.group
    others: Tensor | None = None
    with without_autocast(given.device):
        with group.failing_together():
            scale, seed = LogitScale.of(temperature, learned), selection.seed(generator)
            if pairs is None:
                layout = layout_of_views(len(given), len(views), given.device, selection)
                # v b d -> b v d -> (b v) d, the order of that layout
                rows = torch.stack(views, dim=1).flatten(0, 1)  # type: ignore[arg-type]
            else:
                layout = layout_of(pairs, selection)
                rows = layout.of_anchors(pairs.anchors)
            anchors, bound = prepared(rows, normalize=normalize, name=_anchor_name(pairs, layout, len(views)))
            longest = bound
            if pairs is not None and pairs.candidates is not None:
                candidates = layout.of_candidates(pairs.candidates)
                others, longest = prepared(
                    candidates, normalize=normalize, name=_candidate_name(pairs, layout)
                )
        negatives = layout.negatives(
            scale.rows(anchors),
            None if others is None else scale.rows(others),
            # Whether a plan needs logarithms follows from the bound, and must for all processes alike.
            bound=_largest(group, bound * longest, given.device),
            seed=seed,
        )
    return Batch(
        negatives=negatives,
        layout=layout,
        anchors=anchors,
        normalized=normalize,
        scale=scale,
        engine=engine or choose(negatives, given.dtype),
    )


def _as_pairs(
    views: tuple[Tensor | Pairs, ...], ids: Tensor | None, labels: Tensor | None, selection: Selection
) -> Pairs | None:
    """Return the pairs to evaluate; None for plain views, whose layout is known."""
    if len(views) == 1 and isinstance(views[0], Pairs):
        if ids is not None or labels is not None:
            raise ValueError("ids and labels belong to the Pairs: give them to the source that makes them")
        return views[0]
    if any(isinstance(view, Pairs) for view in views):
        raise ValueError("expected either one Pairs or views, got a mixture")
    if ids is not None or labels is not None or not selection.keys_are_ids:
        return InBatch()(*views, ids=ids, labels=labels)  # type: ignore[arg-type]
    check_views(views, minimum=2)  # type: ignore[arg-type]
    return None


def _anchor_name(pairs: Pairs | None, layout: Layout, views: int) -> Callable[[int], str]:
    """Return the name of a row of S for an error message, in the caller's order."""
    if pairs is None:
        return lambda row: f"anchor row {row // views} of view {row % views}"
    return lambda row: f"anchor {pairs.row_name(int(layout.order[row]))}"


def _candidate_name(pairs: Pairs, layout: Layout) -> Callable[[int], str] | None:
    """Return the name of a column of S; None where each candidate is an anchor of some process.

    Such candidates are checked where they are anchors, and named by the process that holds them.
    """
    if pairs.own is not None and pairs.group.size > 1:
        return None
    order = layout.candidate_order
    assert order is not None
    return lambda row: f"candidate row {int(order[row])}"


def _largest(group: Group, bound: float, device: torch.device) -> float:
    if group.size == 1:
        return bound
    return float(group.largest(torch.tensor(bound, dtype=torch.float64, device=device)))
