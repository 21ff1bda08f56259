"""A batch spread over several processes, in the order that one process would give it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.pairs import Pairs
from tammes.reduce.autograd import first_order_only
from tammes.sources.distributed import DistributedGroup
from tammes.sources.inbatch import check_rows, in_full_precision, stack_views


@dataclass(frozen=True, kw_only=True)
class DistributedBatch:
    """This process' part of a batch that all processes of a group hold together.

    Attributes:
        group: the processes.
        counts: number of rows of a view on each process.
        local: stacked views of this process, in float32 or float64.
        sent: type in which the views came and can be sent without loss.
        ids: `(batch,)`, of the rows of all processes, in their order.
        labels: `(batch,)` or None, likewise.
    """

    group: DistributedGroup
    counts: tuple[int, ...]
    local: Pairs
    sent: torch.dtype
    ids: Int[Tensor, " batch"]
    labels: Int[Tensor, " batch"] | None

    @staticmethod
    def of(
        group: DistributedGroup,
        views: tuple[Tensor, ...],
        ids: Tensor | None,
        labels: Tensor | None,
        *,
        shared_ids: bool,
        also: Mapping[str, object] | None = None,
    ) -> DistributedBatch:
        """Return the batch of these views and those of the other processes, each of which must call.

        One message is exchanged, and the ids and labels if there are any; no embeddings yet.

        Args:
            group: the processes.
            views: one or more tensors `(own batch, d)`, of this process.
            ids: `(own batch,)` integers; by default no two rows of a view share one.
            labels: `(own batch,)` integers or None.
            shared_ids: whether an id may occur on several processes.
            also: further facts, by name, on which the processes must agree.

        Raises:
            ValueError: on all processes, whichever is at fault: views, ids or labels that do not fit
                together; NaN or infinity; no rows; processes that disagree; an id on two processes.
        """
        local, failure, facts = None, None, {}
        try:
            local = stack_views(views, ids, labels)
            check_rows(local)
            facts = _facts(local, ids, labels, also or {})
        except ValueError as error:
            failure = error
        counts = _agree(group, facts, failure)
        assert local is not None
        all_ids, all_labels = _gather_numbers(group, counts, local, ids, labels)
        if ids is not None and not shared_ids:
            _check_distinct(group, counts, all_ids)
        return DistributedBatch(
            group=group,
            counts=counts,
            local=in_full_precision(local),
            sent=local.anchors.dtype,
            ids=all_ids,
            labels=all_labels,
        )

    @property
    def size(self) -> int:
        """Number of rows of a view on all processes together."""
        return sum(self.counts)

    @property
    def rows(self) -> slice:
        """Rows of this process among those of all."""
        first = sum(self.counts[: self.group.rank])
        return slice(first, first + self.counts[self.group.rank])

    @property
    def own(self) -> Int[Tensor, " n"]:
        """`(views * own batch,)`, the positions of this process' stacked rows among those of all."""
        row = torch.arange(self.rows.start, self.rows.stop, device=self.ids.device)
        view = torch.arange(self.local.views, device=self.ids.device)[:, None]
        return (view * self.size + row).flatten()

    def all_gather(self, rows: Float[Tensor, "n d"], views: int) -> Float[Tensor, "m d"]:
        """Return the stacked rows of all processes; the gradient returns to their owners.

        Args:
            rows: `(views * own batch, d)`, those of this process.
            views: number of views stacked in `rows`.
        """
        return _AllGather.apply(rows, self, views)  # type: ignore[no-untyped-call]


def _facts(
    local: Pairs, ids: Tensor | None, labels: Tensor | None, also: Mapping[str, object]
) -> dict[str, str]:
    """Return the facts of this process' views: the number of rows, then what all processes must agree on."""
    return {
        "rows": str(len(local.anchors) // local.views),
        "the number of views": str(local.views),
        "the embeddings' dimension": str(local.anchors.shape[1]),
        "the embeddings' type": str(local.anchors.dtype),
        "the device": local.anchors.device.type,
        "ids": "none" if ids is None else "some",
        "labels": "none" if labels is None else "some",
        # The backward pass is an exchange as well.
        "gradients": "some" if local.anchors.requires_grad else "none",
        **{name: str(fact) for name, fact in also.items()},
    }


def _agree(group: DistributedGroup, facts: Mapping[str, str], failure: ValueError | None) -> tuple[int, ...]:
    """Return the number of rows of each process, if none has failed and they agree on all other facts."""
    sent = f"failed\n{failure}" if failure is not None else "\n".join(facts.values())
    received = group.all_gather_messages(sent)
    failures = [text.removeprefix("failed\n") if text.startswith("failed\n") else "" for text in received]
    if any(failures):
        raise group.failure(failures) from failure
    by_process = [text.split("\n") for text in received]
    if any(len(each) != len(facts) for each in by_process):
        raise ValueError("all processes must call the same source; some called a Gather and others a Queue")
    counts, *others = zip(*by_process, strict=True)
    for name, values in zip(list(facts)[1:], others, strict=True):
        if len(set(values)) > 1:
            first = {value: group.name(values.index(value)) for value in dict.fromkeys(values)}
            raise ValueError(
                f"the processes must agree on {name}: "
                + ", ".join(f"{process} has {value}" for value, process in first.items())
            )
    return tuple(int(count) for count in counts)


def _gather_numbers(
    group: DistributedGroup, counts: tuple[int, ...], local: Pairs, ids: Tensor | None, labels: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Return the ids and labels of all rows; nothing is sent where there are neither."""
    device, rows = local.ids.device, slice(0, counts[group.rank])
    counting = torch.arange(sum(counts), device=device)
    if ids is None and labels is None:
        return counting, None
    sent = local.ids.new_zeros(2, max(counts))  # like two views of one column
    sent[0, rows] = local.ids[rows]
    if local.labels is not None:
        sent[1, rows] = local.labels[rows]
    all_ids, all_labels = group.all_gather(sent).flatten()[_places(counts, 2, device)].view(2, -1)
    return counting if ids is None else all_ids, None if labels is None else all_labels


def _check_distinct(group: DistributedGroup, counts: tuple[int, ...], ids: Tensor) -> None:
    """Raise ValueError for an id that occurs on two processes."""
    rank = torch.repeat_interleave(torch.tensor(counts)).to(ids.device)
    order = torch.argsort(ids, stable=True)
    ids, rank = ids[order], rank[order]
    twice = (ids[1:] == ids[:-1]) & (rank[1:] != rank[:-1])
    if bool(twice.any()):
        at = int(twice.nonzero()[0])
        raise ValueError(
            f"id {int(ids[at])} is on {group.name(int(rank[at]))} and on {group.name(int(rank[at + 1]))} "
            f"({int(twice.sum())} such ids): rows that share an id are positives. Make ids differ between "
            "processes, leave them out, or say shared_ids=True"
        )


class _AllGather(torch.autograd.Function):
    """All-gather of blocks of equal size, one of each process, with its views padded to the longest.

    The backward pass is the reduce-scatter: a row's gradient is the sum over the processes that compared
    their anchors with it.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, batch: DistributedBatch, views: int) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.batch, ctx.views = batch, views
        own = batch.counts[batch.group.rank]
        block = rows.new_zeros(views, max(batch.counts), rows.shape[1], dtype=batch.sent)
        block[:, :own] = rows.view(views, own, -1)
        blocks = batch.group.all_gather(block).flatten(0, 2)  # (processes * views * most, d)
        return blocks.index_select(0, _places(batch.counts, views, rows.device)).to(rows.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (rows,) = ctx.saved_tensors
        views, counts, group = ctx.views, ctx.batch.counts, ctx.batch.group
        own = counts[group.rank]
        with torch.no_grad():
            blocks = gradient.new_zeros(len(counts) * views * max(counts), gradient.shape[1])
            blocks[_places(counts, views, gradient.device)] = gradient
            block = group.reduce_scatter(blocks.view(len(counts), views, max(counts), -1))
            by_rows = block[:, :own].reshape(views * own, -1)
        return *first_order_only((by_rows,), (rows, gradient)), None, None


def _places(counts: tuple[int, ...], views: int, device: torch.device) -> Int[Tensor, " m"]:
    """Return `(views * batch,)`, where in the padded blocks the rows of all processes stand, view by view."""
    numbers, batch = torch.tensor(counts, device=device), sum(counts)
    # With its output's size given, this does not make the host wait for the device.
    process = torch.repeat_interleave(torch.arange(len(counts), device=device), numbers, output_size=batch)
    row = torch.arange(batch, device=device) - (numbers.cumsum(0) - numbers)[process]
    view = torch.arange(views, device=device)[:, None]
    return ((process * views + view) * max(counts) + row).flatten()
