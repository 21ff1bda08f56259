"""A batch as an objective sees it: the similarity matrix with its negatives and its positives."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

import tammes.deferred as deferred
from tammes.deferred import DeferredCheck
from tammes.group import Group
from tammes.guided import guide_of, without_guide
from tammes.layout import Layout, layout_of, layout_of_views
from tammes.normalization import Embeddings, prepared
from tammes.pairs import Kept, Pairs
from tammes.reduce import (
    Engine,
    Exponent,
    Negatives,
    WeightedNegatives,
    WeightedPositives,
    choose,
)
from tammes.reduce.autograd import without_autocast
from tammes.selection import Selection
from tammes.sources import InBatch
from tammes.sources.inbatch import check_views
from tammes.temperature import LogitScale, is_for_each_anchor

Samples = tuple[WeightedNegatives, WeightedPositives]
"""The negatives and the positives of each anchor."""
_SAME = 1e-4
"""Learned temperatures of processes that differ by this share are still one."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The similarity matrix S of a batch, in the order of its layout.

    Args:
        anchors: the anchors' embeddings.
        candidates: the candidates' embeddings; None where the candidates are the anchors.
        layout: the order of rows and columns, and the positive pairs.
        constant: S and its mask, without a graph.
        scale: the temperature.
        engine: the engine that reduces S.
        kept: the anchors left after those without a positive; None for all.
        partner: column of each candidate's only positive, where the candidates are the anchors of several
            processes, in pairs of equal ids; else None.
    """

    anchors: Embeddings
    candidates: Embeddings | None
    layout: Layout
    constant: Negatives
    scale: LogitScale
    engine: Engine
    kept: Kept | None = None
    partner: Int[Tensor, " m"] | None = None

    @property
    def skipped(self) -> int:
        """Number of anchors without a positive that were left out."""
        return 0 if self.kept is None else self.kept.total - len(self.kept.rows)

    @property
    def checks(self) -> tuple[DeferredCheck, ...]:
        """Checks of the embeddings that the host has yet to read."""
        sides = (self.anchors,) if self.candidates is None else (self.anchors, self.candidates)
        return tuple(side.check for side in sides if side.check is not None)

    @property
    def group(self) -> Group:
        """The processes whose losses are averaged."""
        return self.constant.group

    @property
    def lengths(self) -> Float[Tensor, " n"] | float:
        """`(n,)` lengths |z_i| of the anchors; 1 for unit vectors."""
        if self.anchors.lengths is not None:
            return 1.0
        return torch.linalg.vector_norm(self.anchors.rows, dim=1)

    @cached_property
    def negatives(self) -> Negatives:
        """S and its mask, differentiable in the embeddings and in a learned temperature."""
        scale, candidates = self.scale, self.candidates
        return self.constant.in_graph(
            scale.anchors(self.anchors.in_graph()),
            None if candidates is None else scale.candidates(candidates.in_graph()),
        )

    def samples(self, weight: Exponent) -> Samples:
        """Return the negatives and the positives of each anchor, under the weights of a fitted coupling."""
        return _samples(self.negatives, self.layout, weight, self.scale.temperature, self.engine)

    def detached_samples(self, weight: Exponent) -> Callable[[], Samples]:
        """Return a function that makes the same samples without a graph, and holds none."""
        arguments = self.constant, self.layout, weight, self.scale.temperature, self.engine
        return lambda: _samples(*arguments)

    def without_graph(self) -> Batch:
        """Return the same batch, cut from the graph of its embeddings and of a learned temperature."""
        one = self.scale.one
        return replace(
            self,
            anchors=self.anchors.without_graph(),
            candidates=None if self.candidates is None else self.candidates.without_graph(),
            scale=self.scale if one is None else replace(self.scale, one=one.detach()),
        )

    def weights(self, weight: Exponent) -> Float[Tensor, "n m"]:
        """Return w_ij as a matrix `(n, m)` in the order of the pairs; for small batches.

        Anchors that were left out have a row of zeros.
        """
        negatives, layout = self.constant, self.layout
        n, m = negatives.shape
        exponents = weight.value(negatives.anchors @ negatives.others.T, slice(0, m))
        mask = negatives.mask(slice(0, n), slice(0, m))
        if mask is not None:
            exponents = exponents.masked_fill(mask, -torch.inf)
        weights = torch.empty_like(exponents)
        columns = layout.order if layout.candidate_order is None else layout.candidate_order
        weights[layout.order[:, None], columns[None, :]] = torch.softmax(exponents, dim=1)
        if self.kept is None:
            return weights
        return weights.new_zeros(self.kept.total, m).index_copy(0, self.kept.rows, weights)


def batch_of(
    views: tuple[Tensor | Pairs, ...],
    *,
    ids: Integer[Tensor, " batch"] | None,
    labels: Integer[Tensor, " batch"] | None,
    generator: torch.Generator | None,
    learned: Float[Tensor, ""] | Float[Tensor, " k"] | None,
    temperature: float,
    selection: Selection,
    normalize: bool,
    engine: Engine | None,
    skip: bool = False,
    defers: bool = False,
    caller: object = "",
) -> Batch:
    """Return the batch of views, or of the pairs that a source has made.

    Args:
        views: two or more `(batch, d)` tensors, or one Pairs.
        ids: `(batch,)` integers for views; rows that share an id are positives.
        labels: `(batch,)` integers for views, for selections that need them.
        generator: generator of the random subset; None for torch's own.
        learned: learned temperature, one for all or one for each anchor, used instead of the fixed one; or
            None.
        temperature: fixed temperature.
        selection: who may be a negative.
        normalize: whether to bring embeddings to unit length.
        engine: engine that reduces S; None to choose one.
        skip: whether anchors without a positive are left out.
        defers: whether the caller reads the checks that are deferred, `Batch.checks`.
        caller: the objective, which must be the same on all processes that share the batch.

    Raises:
        ValueError: wrong views, ids, labels, temperature or generator, on this process or another.
    """
    differs = is_for_each_anchor(learned)
    pairs = _as_pairs(views, ids, labels, selection, plain=not differs)
    given: Tensor = views[0] if pairs is None else pairs.anchors  # type: ignore[assignment]
    candidates: Embeddings | None = None
    defers = defers and (pairs is None or pairs.group.size == 1)  # processes fail together, in the same call
    with without_autocast(given.device):
        with _failing_together(pairs, caller, learned):
            scale = LogitScale(temperature=temperature) if learned is None else LogitScale.of(learned)
            seed = selection.seed(generator)
            guides: tuple[Tensor, Tensor | None] | None = None
            if selection.guide_columns:
                assert pairs is not None
                pairs, guides = without_guide(pairs, selection.guide_columns)
            if len(given) == 0:
                raise ValueError("expected at least one anchor, got 0: leave the batch out")
            if pairs is None:
                layout = layout_of_views(len(given), len(views), given.device, selection)
                rows: tuple[Tensor, ...] = views  # type: ignore[assignment]
            else:
                pairs, layout, scale = _laid_out(pairs, scale, selection, views=len(views), skip=skip)
                rows = (layout.of_anchors(pairs.anchors),)
            name = _anchor_name(pairs, layout, len(views))
            anchors = prepared(*rows, normalize=normalize, name=name, defers=defers)
            if pairs is not None and pairs.candidates is not None:
                others = layout.of_candidates(pairs.candidates)
                name_of_other = _candidate_name(pairs, layout)
                candidates = prepared(others, normalize=normalize, name=name_of_other, defers=defers)
            guide = guide_of(selection, layout, guides, anchors, candidates)
        bound = anchors.longest * (candidates or anchors).longest
        constant = layout.negatives(
            scale.detached.anchors(anchors.values),
            None if candidates is None else candidates.values,
            bound=bound if pairs is None else _largest_bound(pairs.group, bound, scale, given.device),
            seed=seed,
            guide=guide,
        )
    return Batch(
        anchors=anchors,
        candidates=candidates,
        layout=layout,
        constant=constant,
        scale=scale,
        engine=engine or choose(constant, given.dtype),
        kept=None if pairs is None else pairs.kept,
        partner=None if pairs is None else _partners(pairs, layout),
    )


def _laid_out(
    pairs: Pairs, scale: LogitScale, selection: Selection, *, views: int, skip: bool
) -> tuple[Pairs, Layout, LogitScale]:
    """Return the pairs that are compared, their layout, and the scale of their anchors in its order."""
    if scale.differs:
        scale = scale.of_views(len(pairs.ids), views)
        pairs = pairs.with_candidates()
    every = pairs
    pairs = pairs.with_positives() if skip else pairs
    layout = layout_of(pairs, selection)
    if pairs is not every and pairs.kept is not None:
        scale = scale.taking(pairs.kept.rows)
    return pairs, layout, scale.taking(layout.order)


def _partners(pairs: Pairs, layout: Layout) -> Int[Tensor, " m"] | None:
    """Return the column of each candidate's only positive, if the candidates are the anchors of processes.

    All processes find the same, since all have all ids. None where an id does not occur twice.
    """
    # On a GPU nothing asks for them, and to look at the ids would make the host wait.
    if not pairs.candidates_are_anchors or pairs.group.size == 1 or deferred.waits(pairs.ids.device):
        return None
    assert layout.candidate_order is not None
    ids, order = pairs.ids_of_candidates[layout.candidate_order].sort(stable=True)
    first, second = ids[::2], ids[1::2]
    if len(ids) % 2 or not torch.equal(first, second) or bool((first[1:] == second[:-1]).any()):
        return None
    partner = torch.empty_like(order)
    partner[order[::2]], partner[order[1::2]] = order[1::2], order[::2]
    return partner


def _as_pairs(
    views: tuple[Tensor | Pairs, ...],
    ids: Tensor | None,
    labels: Tensor | None,
    selection: Selection,
    *,
    plain: bool,
) -> Pairs | None:
    """Return the pairs to evaluate; None for plain views, whose layout is known, unless not `plain`."""
    if len(views) == 1 and isinstance(views[0], Pairs):
        if ids is not None or labels is not None:
            raise ValueError("ids and labels belong to the Pairs: give them to the source that makes them")
        return views[0]
    if Pairs in map(type, views):
        raise ValueError("expected either one Pairs or views, got a mixture")
    known = plain and ids is None and labels is None
    if not known or not selection.keys_are_ids or selection.guide_columns:
        return InBatch()(*views, ids=ids, labels=labels)  # type: ignore[arg-type]
    check_views(views, minimum=2)  # type: ignore[arg-type]
    return None


def _samples(
    negatives: Negatives, layout: Layout, weight: Exponent, temperature: float, engine: Engine
) -> Samples:
    weighted = WeightedNegatives(negatives=negatives, weight=weight, temperature=temperature, engine=engine)
    return weighted, WeightedPositives.of(negatives, layout.positives, weight, temperature)


def _anchor_name(pairs: Pairs | None, layout: Layout, views: int) -> Callable[[int], str]:
    """Return the name of a row of S for an error message, in the caller's order."""
    if pairs is None:
        return lambda row: f"anchor row {row // views} of view {row % views}"
    names = pairs.row_names
    return lambda row: f"anchor {names(int(layout.order[row]))}"


def _candidate_name(pairs: Pairs, layout: Layout) -> Callable[[int], str] | None:
    """Return the name of a column of S; None where each candidate is an anchor of some process.

    Such candidates are checked where they are anchors, and named by the process that holds them.
    """
    if pairs.candidates_are_anchors and pairs.group.size > 1:
        return None
    order = layout.candidate_order
    assert order is not None
    return lambda row: f"candidate row {int(order[row])}"


def _failing_together(
    pairs: Pairs | None, caller: object, learned: Tensor | None
) -> AbstractContextManager[None]:
    """Return a context in which an error of one process is raised on all that share the batch.

    It compares what they call: the objective, and whether its temperature is learned, which decides what
    they exchange.
    """
    if pairs is None or pairs.group.size == 1:
        return nullcontext()
    if learned is None:
        return pairs.group.failing_together(caller)
    kind = "each anchor" if is_for_each_anchor(learned) else "all"
    return pairs.group.failing_together(f"{caller}, a learned temperature for {kind}")


def _largest_bound(group: Group, bound: float, scale: LogitScale, device: torch.device) -> float:
    """Return the largest bound of all processes: how a plan is found depends on it, and must not differ.

    The same exchange compares their temperatures.

    Raises:
        ValueError: on all processes, if they have learned different temperatures.
    """
    if group.size == 1:
        return bound
    # Each anchor may have another, on any process.
    temperature = 0.0 if scale.differs else scale.temperature
    sent = torch.tensor([bound, temperature, -temperature], dtype=torch.float64, device=device)
    largest, most, least = group.largest(sent).tolist()
    if most + least > _SAME * most:
        raise ValueError(
            f"the processes must have one temperature, got {-least:g} to {most:g}: put LearnedTemperature "
            "into the model that DistributedDataParallel wraps, so that all learn the same"
        )
    return float(largest)
