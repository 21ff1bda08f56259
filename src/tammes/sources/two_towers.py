"""Queries against documents, or images against captions: two encoders, and each query's own document."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.group import Group, Single
from tammes.pairs import Pairs
from tammes.sources.distributed import DistributedGroup
from tammes.sources.distributed_batch import DistributedBatch
from tammes.sources.gather import Gather
from tammes.sources.inbatch import check_rows, in_full_precision, stack_views
from tammes.traced import is_traced


@dataclass(frozen=True, kw_only=True)
class TwoTowers:
    """Queries as anchors, the documents of the batch as candidates: document r answers query r.

    The candidates of every query are all documents of the batch, then all hard negatives. Rows that share an
    id are never negatives of each other, but positives: give `ids` where a document answers several queries
    of a batch, or a query comes twice.

    With InfoNCE and h hard negatives for each of B queries the loss is

        1/B  sum_i  -log( e^(q_i.d_i / tau) / ( sum_j e^(q_i.d_j / tau) + sum_jk e^(q_i.h_jk / tau) ) )

    Args:
        symmetric: whether documents are anchors as well, with the queries as candidates (captions that look
            for their image); the loss is the mean of both directions.
        same_tower: whether the other queries are candidates of a query, too; with `symmetric` also the other
            documents, and the hard negatives, of a document.
        gather: with it, documents, hard negatives and queries of all processes are candidates of each.

    Raises:
        ValueError: fields of the wrong kind; when called: queries and documents of different shapes, hard
            negatives that are not `(batch, h, d)`, whatever `InBatch` or the `Gather` would refuse.

    Source: Radford et al. (2021), fig. 3, for both directions; Li et al. (2023), "Towards general text
    embeddings", eq. 3, for candidates of the same tower. Differs: there the four blocks share the denominator
    of one logarithm; here each direction has its own.

    Example:
        >>> import tammes
        >>> queries, documents, hard = torch.randn(8, 16), torch.randn(8, 16), torch.randn(8, 3, 16)
        >>> pairs = TwoTowers()(queries, documents, hard)
        >>> len(pairs.anchors), len(pairs.candidates)
        (8, 32)
        >>> loss = tammes.recipes.simclr(temperature=0.05)(pairs)
    """

    symmetric: bool = False
    same_tower: bool = False
    gather: Gather | None = None

    def __post_init__(self) -> None:
        for name in ("symmetric", "same_tower"):
            if not isinstance(vars(self)[name], bool):
                raise ValueError(f"{name} must be True or False, got {vars(self)[name]!r}")
        if not isinstance(self.gather, Gather | None):
            raise ValueError(f"gather must be a Gather() or None, got {self.gather!r}")

    def __call__(
        self,
        queries: Tensor,
        documents: Tensor,
        hard_negatives: Tensor | None = None,
        ids: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> Pairs:
        """Return the pairs, with those of the other direction as their `reverse` if there is one.

        The candidates are the documents; then the first hard negative of every query, the second, and so on;
        then, with `same_tower`, the queries.

        Args:
            queries: `(batch, d)`, floating point.
            documents: `(batch, d)`, likewise; row r answers query r.
            hard_negatives: `(batch, h, d)`, h documents that do not answer query r; negatives of all queries.
            ids: `(batch,)` integers; by default row r has id r, and no other row has it.
            labels: `(batch,)` integer classes of queries and their documents, for `OtherLabels`; a hard
                negative shares its class with nothing.
        """
        views = (queries, documents, *_views_of(hard_negatives, queries))
        group: Group = Single()
        if self.gather is None:
            local = stack_views(views, ids, labels)
            # To read numbers would break a graph; an objective beside it checks for itself.
            if not is_traced():
                check_rows(local)
            own = every = in_full_precision(local).anchors.unflatten(0, (len(views), -1))
            _check_negatives(every)
            if ids is None and not self.same_tower:
                return _aligned(every, local.labels, symmetric=self.symmetric)
            rows = slice(0, len(queries))
            all_ids, all_labels = local.ids[rows], None if local.labels is None else local.labels[rows]
        else:
            group = DistributedGroup(self.gather.process_group)
            also = {"symmetric": self.symmetric, "same_tower": self.same_tower}
            batch = DistributedBatch.of(
                group, views, ids, labels, shared_ids=self.gather.shared_ids, also=also
            )
            local, rows = batch.local, batch.rows
            own = local.anchors.unflatten(0, (len(views), -1))
            every = batch.all_gather(local.anchors, len(views)).unflatten(0, (len(views), -1))
            _check_negatives(every)
            all_ids, all_labels = batch.ids, batch.labels
        towers = _Towers(
            own=own,
            every=every,
            ids=_with_hard_negatives(all_ids, len(views)),
            labels=None if all_labels is None else _with_hard_negatives(all_labels, len(views)),
            rows=rows,
            group=group,
        )
        queries_only, others = [0], list(range(1, len(views)))
        forward = towers.pairs(0, others + queries_only if self.same_tower else others)
        if not self.symmetric:
            return forward
        reverse = towers.pairs(1, queries_only + others if self.same_tower else queries_only)
        return dataclasses.replace(forward, reverse=reverse)


@dataclass(frozen=True, kw_only=True)
class _Towers:
    """Queries, documents and hard negatives as views 0, 1 and 2 to h + 1.

    Attributes:
        own: `(views, own batch, d)`, of this process.
        every: `(views, batch, d)`, of all processes.
        ids: `(views, batch)`.
        labels: `(views, batch)` or None.
        rows: rows of this process in the batch.
        group: the processes.
    """

    own: Float[Tensor, "views own d"]
    every: Float[Tensor, "views batch d"]
    ids: Int[Tensor, "views batch"]
    labels: Int[Tensor, "views batch"] | None
    rows: slice
    group: Group

    def pairs(self, view: int, others: list[int]) -> Pairs:
        """Return the pairs with one view as anchors and other views, perhaps itself too, as candidates."""
        own = None
        if view in others:
            first = others.index(view) * self.every.shape[1]
            own = torch.arange(first + self.rows.start, first + self.rows.stop, device=self.ids.device)
        return Pairs(
            anchors=self.own[view],
            ids=self.ids[view, self.rows],
            labels=None if self.labels is None else self.labels[view, self.rows],
            candidates=self.every[others].flatten(0, 1),
            candidate_ids=self.ids[others].flatten(),
            candidate_labels=None if self.labels is None else self.labels[others].flatten(),
            own=own,
            group=self.group,
            first=self.rows.start,
        )


def _check_negatives(towers: Float[Tensor, "views batch d"]) -> None:
    if towers.shape[1] < 2 and towers.shape[0] < 3:
        raise ValueError(
            "expected at least two queries, got 1: one without hard negatives has no negative; with "
            "drop_last=True a DataLoader leaves a last batch of one out"
        )


def _aligned(
    towers: Float[Tensor, "views batch d"], labels: Int[Tensor, " rows"] | None, *, symmetric: bool
) -> Pairs:
    """Return the pairs of queries of which each has its own document as its only positive."""
    queries, documents = towers[0], towers[1]
    of_queries = of_all = None
    if labels is not None:
        # Both from the same numbers: with hard negatives the classes are counted anew.
        numbers = _with_hard_negatives(labels[: len(queries)], len(towers))
        of_queries, of_all = numbers[0], numbers[1:].flatten()
    return Pairs.aligned(
        queries,
        towers[1:].flatten(0, 1),
        labels=of_queries,
        candidate_labels=of_all,
        reverse=Pairs.aligned(documents, queries, labels=of_queries, candidate_labels=of_queries)
        if symmetric
        else None,
    )


def _views_of(hard_negatives: Tensor | None, queries: Tensor) -> tuple[Tensor, ...]:
    """Return the hard negatives as views, the k-th of every query in one."""
    if hard_negatives is None:
        return ()
    got = tuple(hard_negatives.shape) if isinstance(hard_negatives, Tensor) else type(hard_negatives).__name__
    if (
        not isinstance(hard_negatives, Tensor)
        or hard_negatives.ndim != 3
        or hard_negatives.shape[1] == 0
        or hard_negatives.shape[::2] != queries.shape
    ):
        raise ValueError(
            "hard_negatives must be (batch, h, dimension), h for each of the queries "
            f"{tuple(queries.shape)}, got {got}; one for each is hard_negatives[:, None], none at all is None"
        )
    return hard_negatives.unbind(1)


def _with_hard_negatives(numbers: Int[Tensor, " batch"], views: int) -> Int[Tensor, "views batch"]:
    """Return ids or labels of all views; those of hard negatives are used by nothing else."""
    if views == 2:
        return numbers.expand(2, -1)
    # Counted anew, since no integer may be left above the largest.
    known, numbers = torch.unique(numbers, return_inverse=True)
    fresh = torch.arange(len(known), len(known) + (views - 2) * len(numbers), device=numbers.device)
    return torch.cat([numbers.expand(2, -1), fresh.view(views - 2, -1)])
