"""A batch that several processes make up together, in the order that one process would give it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tammes.pairs import Pairs
from tammes.reduce.autograd import first_order_only
from tammes.sources.processes import Processes
from tammes.sources.views import check_rows, in_full_precision, stacked


@dataclass(frozen=True, kw_only=True)
class Share:
    """This process' part of a batch that all processes make up together.

    Attributes:
        processes: all of them.
        counts: how many rows of a view each has.
        local: the stacked views of this process, in float32 or float64.
        sent: the type that the views came in, in which they can be sent without loss.
        ids: `(batch,)`, of the rows of all processes, in their order.
        labels: `(batch,)` or None, likewise.
    """

    processes: Processes
    counts: tuple[int, ...]
    local: Pairs
    sent: torch.dtype
    ids: Tensor
    labels: Tensor | None

    @property
    def batch(self) -> int:
        """How many rows a view of all processes has."""
        return sum(self.counts)

    @property
    def rows(self) -> slice:
        """The rows of this process among those of all."""
        first = sum(self.counts[: self.processes.place])
        return slice(first, first + self.counts[self.processes.place])

    def own(self) -> Tensor:
        """`(views * own batch,)`, where the stacked rows of this process stand among those of all."""
        row = torch.arange(self.rows.start, self.rows.stop, device=self.ids.device)
        view = torch.arange(self.local.views, device=self.ids.device)[:, None]
        return (view * self.batch + row).flatten()

    def everyone(self, rows: Tensor, views: int) -> Tensor:
        """`(views * batch, d)`, the stacked rows of all processes; the gradient returns to their owners.

        Args:
            rows: `(views * own batch, d)`, those of this process.
            views: how many views they are.
        """
        return _Everyone.apply(rows, self, views)  # type: ignore[no-untyped-call]


def share(
    processes: Processes,
    views: tuple[Tensor, ...],
    ids: Tensor | None,
    labels: Tensor | None,
    *,
    shared_ids: bool,
    also: Mapping[str, object] | None = None,
) -> Share:
    """What part of the whole batch these views are, by an exchange of shapes and, if given, one of numbers.

    Args:
        processes: all of them; each must call.
        views: of this process, one or more tensors `(own batch, d)`.
        ids: `(own batch,)` integers; by default no two rows of a view share one.
        labels: `(own batch,)` integers or None.
        shared_ids: whether an id may occur on several processes.
        also: further facts, by name, on which the processes must agree.

    Raises:
        ValueError: on all processes, whichever is at fault: views, ids or labels that do not fit together,
            NaN or infinity, no rows; processes that disagree; an id that is on two of them.
    """
    local, failure = None, None
    try:
        local = stacked(views, ids, labels)
        check_rows(local)
    except ValueError as error:
        failure = error
    facts = {} if failure is not None or local is None else _facts(local, ids, labels, also or {})
    counts = _agreed(processes, facts, failure)
    assert local is not None
    all_ids, all_labels = _numbers(processes, counts, local, ids, labels)
    if ids is not None and not shared_ids:
        _check_distinct(processes, counts, all_ids)
    return Share(
        processes=processes,
        counts=counts,
        local=in_full_precision(local),
        sent=local.anchors.dtype,
        ids=all_ids,
        labels=all_labels,
    )


def _facts(
    local: Pairs, ids: Tensor | None, labels: Tensor | None, also: Mapping[str, object]
) -> dict[str, str]:
    """What a process tells of its views: first how many rows they have, then what all must agree on."""
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


def _agreed(processes: Processes, facts: Mapping[str, str], failure: ValueError | None) -> tuple[int, ...]:
    """The rows of each process, if none has failed and they agree on everything else."""
    heard = processes.texts(f"failed\n{failure}" if failure is not None else "\n".join(facts.values()))
    messages = [text.removeprefix("failed\n") if text.startswith("failed\n") else "" for text in heard]
    if any(messages):
        raise processes.failure(messages) from failure
    told = [text.split("\n") for text in heard]
    if any(len(each) != len(facts) for each in told):
        raise ValueError("all processes must call the same source; some called a Gather and others a Queue")
    rows, *others = zip(*told, strict=True)
    for name, values in zip(list(facts)[1:], others, strict=True):
        if len(set(values)) > 1:
            places = {value: processes.name(values.index(value)) for value in dict.fromkeys(values)}
            raise ValueError(
                f"the processes must agree on {name}: "
                + ", ".join(f"{place} has {value}" for value, place in places.items())
            )
    return tuple(int(count) for count in rows)


def _numbers(
    processes: Processes, counts: tuple[int, ...], local: Pairs, ids: Tensor | None, labels: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """The ids and labels of all rows; nothing is sent where none were given."""
    device, rows = local.ids.device, slice(0, counts[processes.place])
    counting = torch.arange(sum(counts), device=device)
    if ids is None and labels is None:
        return counting, None
    ours = local.ids.new_zeros(2, max(counts))  # sent like two views of one column
    ours[0, rows] = local.ids[rows]
    if local.labels is not None:
        ours[1, rows] = local.labels[rows]
    all_ids, all_labels = processes.every(ours).flatten()[_places(counts, 2, device)].view(2, -1)
    return counting if ids is None else all_ids, None if labels is None else all_labels


def _check_distinct(processes: Processes, counts: tuple[int, ...], ids: Tensor) -> None:
    place = torch.repeat_interleave(torch.tensor(counts)).to(ids.device)
    order = torch.argsort(ids, stable=True)
    ids, place = ids[order], place[order]
    twice = (ids[1:] == ids[:-1]) & (place[1:] != place[:-1])
    if bool(twice.any()):
        at = int(twice.nonzero()[0])
        raise ValueError(
            f"id {int(ids[at])} is on {processes.name(int(place[at]))} and on "
            f"{processes.name(int(place[at + 1]))} ({int(twice.sum())} such ids): rows that share an id are "
            "positives. Make ids differ between processes, leave them out, or say shared_ids=True"
        )


class _Everyone(torch.autograd.Function):
    """Blocks of equal size are exchanged, one of each process, with its views padded to the longest."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, share: Share, views: int) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.share, ctx.views = share, views
        most, own = max(share.counts), share.counts[share.processes.place]
        block = rows.new_zeros(views, most, rows.shape[1], dtype=share.sent)
        block[:, :own] = rows.view(views, own, -1)
        blocks = share.processes.every(block).flatten(0, 2)
        return blocks.index_select(0, _places(share.counts, views, rows.device)).to(rows.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (rows,) = ctx.saved_tensors
        share, views = ctx.share, ctx.views
        most, own = max(share.counts), share.counts[share.processes.place]
        with torch.no_grad():
            blocks = gradient.new_zeros(len(share.counts) * views * most, gradient.shape[1])
            blocks[_places(share.counts, views, gradient.device)] = gradient
            block = share.processes.sum_for_each(blocks.view(len(share.counts), views, most, -1))
            to_rows = block[:, :own].reshape(views * own, -1)
        return *first_order_only((to_rows,), (rows, gradient)), None, None


def _places(counts: tuple[int, ...], views: int, device: torch.device) -> Tensor:
    """`(views * batch,)`, where in the blocks the rows of all processes stand, one view after the other."""
    numbers, batch = torch.tensor(counts, device=device), sum(counts)
    # Told its size, this does not make the host wait for the device.
    place = torch.repeat_interleave(torch.arange(len(counts), device=device), numbers, output_size=batch)
    row = torch.arange(batch, device=device) - (numbers.cumsum(0) - numbers)[place]
    view = torch.arange(views, device=device)[:, None]
    return ((place * views + view) * max(counts) + row).flatten()
