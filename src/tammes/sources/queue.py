"""Keys of earlier batches as further candidates."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tammes.group import Group, Single
from tammes.pairs import Pairs
from tammes.sources.gather import Gather
from tammes.sources.processes import Processes
from tammes.sources.share import share
from tammes.sources.views import check_rows, in_full_precision, stacked


class Queue(nn.Module):
    """Queries against the keys of their batch, then the last keys of earlier batches, first in, first out.

    The anchors are the queries, the candidates this batch's keys followed by what the queue holds; row r of
    the keys is the positive of row r of the queries. Then the keys are stored in place of the oldest. In
    evaluation mode nothing is stored. A batch may have any size; of one larger than the queue the last
    `size` keys are kept.

    What is stored is a constant. The keys of the batch are as they come: those of a momentum encoder have no
    gradient, and where they have one it is not cut.

    With `ids` the queue knows an image that comes again, in the next epoch or as the other view of a
    symmetric loss: its stored key is left out for this batch, since the fresh one stands for it, and is
    neither a negative nor a positive of anything. `stale_positives=True` keeps it, as a positive, which
    is what ids that are classes want. Without ids every key counts as something new.

    Args:
        size: how many keys are held.
        dim: of the embeddings.
        gather: with it the keys of all processes are candidates of each and enter the queue of each in the
            same order: every process holds the same queue, and the loss is the mean over all processes.
            Without it every process is on its own.
        wait_until_full: whether the stored keys are used only once there are `size` of them.
        stale_positives: whether a stored key that shares its id with a key of the batch is a candidate.
        dtype: what keys are stored in; anything but a half precision keeps float32 keys as they are.

    Raises:
        ValueError: sizes that are not positive; when called, what `InBatch` would refuse, NaN or infinity,
            another dimension than the queue's, ids below 0, labels where stored keys have none; when
            loaded, a queue of another size or dimension.

    Source: He et al., "Momentum contrast" (2020), sec. 3.2 and algorithm 1. Differs: they compare with the
    stored keys alone; here the other keys of the batch, the freshest there are, are negatives too.

    Example:
        >>> import tammes
        >>> queue, objective = Queue(size=4096, dim=16), tammes.recipes.simclr(temperature=0.2)
        >>> for step in range(3):
        ...     pairs = queue(torch.randn(8, 16), torch.randn(8, 16))
        ...     loss = objective(pairs)
        >>> len(pairs.anchors), len(pairs.candidates), queue.held
        (8, 24, 24)
    """

    embeddings: Tensor
    ids: Tensor
    labels: Tensor
    labeled: Tensor
    stored: Tensor

    def __init__(
        self,
        *,
        size: int,
        dim: int,
        gather: Gather | None = None,
        wait_until_full: bool = False,
        stale_positives: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        for name, number in (("size", size), ("dim", dim)):
            if not (isinstance(number, int) and not isinstance(number, bool) and number >= 1):
                raise ValueError(f"{name} must be an integer of at least 1, got {number!r}")
        if not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
            raise ValueError(f"dtype must be a floating-point type, got {dtype!r}")
        if not isinstance(gather, Gather | None):
            raise ValueError(f"gather must be a Gather() or None, got {gather!r}")
        self.gather = gather
        self.wait_until_full, self.stale_positives = wait_until_full, stale_positives
        self.register_buffer("embeddings", torch.zeros(size, dim, dtype=dtype))
        self.register_buffer("ids", torch.zeros(size, dtype=torch.long))
        self.register_buffer("labels", torch.zeros(size, dtype=torch.long))
        self.register_buffer("labeled", torch.zeros(size, dtype=torch.bool))
        # How many keys were ever stored: tells the place of the next, how many are held, and unused ids.
        self.register_buffer("stored", torch.zeros((), dtype=torch.long))
        self.register_load_state_dict_pre_hook(_check_saved)  # type: ignore[no-untyped-call]

    @property
    def size(self) -> int:
        """How many keys fit."""
        return len(self.embeddings)

    @property
    def dim(self) -> int:
        """Of the embeddings."""
        return self.embeddings.shape[1]

    @property
    def held(self) -> int:
        """How many keys are held."""
        return min(int(self.stored), self.size)

    def forward(
        self, queries: Tensor, keys: Tensor, ids: Tensor | None = None, labels: Tensor | None = None
    ) -> Pairs:
        """The pairs of queries and candidates, before the keys are stored.

        Args:
            queries: `(batch, d)`, floating point.
            keys: `(batch, d)`, likewise.
            ids: `(batch,)` integers of 0 and above, the same for a thing whenever it comes; rows that share
                one are positives.
            labels: `(batch,)` integers, for selections that need classes; at every call or at none.
        """
        batch = self._batch(queries, keys, ids, labels)
        self._check(batch)
        held = self._usable(batch)
        labels = None if batch.labels is None else torch.cat([batch.labels, self._labels_of(held)])
        pairs = Pairs(
            anchors=batch.queries,
            ids=batch.ids[batch.rows],
            labels=None if batch.labels is None else batch.labels[batch.rows],
            candidates=torch.cat([batch.keys, self.embeddings[held].to(batch.keys.dtype)]),
            candidate_ids=torch.cat([batch.ids, self.ids[held]]),
            candidate_labels=labels,
            group=batch.group,
            first=batch.rows.start,
        )
        if self.training:
            self._store(batch)
        return pairs

    def extra_repr(self) -> str:
        """For print: the fields, and how many keys are held."""
        return (
            f"size={self.size}, dim={self.dim}, gather={self.gather}, held={self.held}, "
            f"wait_until_full={self.wait_until_full}, stale_positives={self.stale_positives}"
        )

    def _batch(self, queries: Tensor, keys: Tensor, ids: Tensor | None, labels: Tensor | None) -> _Batch:
        stored = int(self.stored)
        group: Group = Single()
        if self.gather is None:
            local = stacked((queries, keys), ids, labels)
            check_rows(local)
            local, rows = in_full_precision(local), slice(0, len(queries))
            fresh = local.anchors[len(queries) :]
            numbers, classes = local.ids[rows], None if local.labels is None else local.labels[rows]
        else:
            group = Processes(self.gather.process_group)
            also = {
                "the queue's size": self.size,
                "the queue's type": self.embeddings.dtype,
                "the queue's device": self.ids.device.type,
                "whether the queue stores keys": self.training,
                "wait_until_full": self.wait_until_full,
                "stale_positives": self.stale_positives,
                "the number of keys stored": stored,
                "the keys' gradients": "some" if isinstance(keys, Tensor) and keys.requires_grad else "none",
            }
            shared_ids = self.gather.shared_ids
            whole = share(group, (queries, keys), ids, labels, shared_ids=shared_ids, also=also)
            local, rows, numbers, classes = whole.local, whole.rows, whole.ids, whole.labels
            fresh = whole.everyone(local.anchors[len(queries) :], views=1)
        return _Batch(
            queries=local.anchors[: len(queries)],
            keys=fresh,
            ids=-1 - stored - numbers if ids is None else numbers,  # below 0: never used, nor ever given
            labels=classes,
            rows=rows,
            group=group,
            known=ids is not None,
        )

    def _check(self, batch: _Batch) -> None:
        """What all processes know alike, and so refuse alike."""
        if batch.keys.shape[1] != self.dim:
            raise ValueError(
                f"the queue holds keys of dimension {self.dim}, these have {batch.keys.shape[1]}"
            )
        if batch.keys.device != self.embeddings.device:
            raise ValueError(
                f"the queue is on {self.embeddings.device}, the keys on {batch.keys.device}: move one of them"
            )
        if batch.known and bool((batch.ids < 0).any()):
            raise ValueError(f"ids given to a queue must be 0 or above, got {int(batch.ids.min())}")
        self._check_kept(batch.keys.detach())

    def _check_kept(self, keys: Tensor) -> None:
        """Refuses keys that would spoil every batch for as long as they are held."""
        kind = self.embeddings.dtype
        lengths = torch.linalg.vector_norm(keys.to(kind).to(keys.dtype), dim=1)
        large = ~torch.isfinite(lengths)
        if bool((large | ((lengths == 0) & keys.any(dim=1))).any()):
            raise ValueError(
                f"keys too {'large' if bool(large.any()) else 'small'} for {kind}, in which the queue stores "
                "them: bring them to unit length first"
            )

    def _usable(self, batch: _Batch) -> Tensor | slice:
        """The slots whose keys are candidates of this batch."""
        held = self.held
        if self.wait_until_full and held < self.size:
            held = 0
        if self.stale_positives or not batch.known:
            return slice(0, held)
        return (~torch.isin(self.ids[:held], batch.ids)).nonzero()[:, 0]

    def _labels_of(self, slots: Tensor | slice) -> Tensor:
        labeled = self.labeled[slots]
        if not bool(labeled.all()):
            raise ValueError(
                f"labels came, but {int((~labeled).sum())} of {len(labeled)} stored keys came without: give "
                "labels at every call, or at none"
            )
        return self.labels[slots]

    @torch.no_grad()
    def _store(self, batch: _Batch) -> None:
        before = len(batch.keys) - min(len(batch.keys), self.size)  # keys that would be overwritten at once
        slots = (self.stored + torch.arange(before, len(batch.keys), device=self.ids.device)) % self.size
        self.embeddings[slots] = batch.keys[before:].to(self.embeddings.dtype)
        self.ids[slots] = batch.ids[before:]
        self.labeled[slots] = batch.labels is not None
        if batch.labels is not None:
            self.labels[slots] = batch.labels[before:]
        self.stored += len(batch.keys)


@dataclass(frozen=True, kw_only=True)
class _Batch:
    """The queries of this process, and the keys of all that share the queue."""

    queries: Tensor
    keys: Tensor
    ids: Tensor
    labels: Tensor | None
    rows: slice
    group: Group
    known: bool


def _check_saved(queue: nn.Module, state: dict[str, Tensor], prefix: str, *others: object) -> None:
    saved, ours = state.get(f"{prefix}embeddings"), queue.embeddings
    assert isinstance(ours, Tensor)
    if saved is not None and saved.shape != ours.shape:
        raise ValueError(
            f"the checkpoint holds a queue of {saved.shape[0]} keys of dimension {saved.shape[1]}, this one "
            f"has {ours.shape[0]} of dimension {ours.shape[1]}: make it with size={saved.shape[0]}, "
            f"dim={saved.shape[1]}, or start a new queue"
        )
