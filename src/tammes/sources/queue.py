"""Keys of earlier batches as further candidates (MoCo)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from typing_extensions import override

import tammes.deferred as deferred
from tammes.checks import check_integer
from tammes.group import Group, Single
from tammes.pairs import Pairs
from tammes.positive_pairs import PairCounts, Runs
from tammes.sources.distributed import DistributedGroup
from tammes.sources.distributed_batch import DistributedBatch
from tammes.sources.gather import Gather
from tammes.sources.inbatch import (
    are_not_finite,
    check_any_rows,
    check_rows,
    in_full_precision,
    stack_views,
)


class Queue(nn.Module):
    """Queue of keys from earlier batches, first in, first out, as further candidates of the queries.

    The anchors are the queries; the candidates are the keys of their batch, followed by the keys of the
    queue. Row r of the keys is the positive of row r of the queries. Then the batch's keys are stored in
    place of the oldest. In evaluation mode nothing is stored. A batch may have any size; of one larger than
    the queue the last `size` keys are stored.

    Stored keys are constants. The keys of the batch keep the gradient that they have: those of a momentum
    encoder have none.

    On a GPU the host remembers how many keys are stored, until torch sees that somebody wrote to the buffers.
    It does not see an exchange of torch.distributed that is called on them: after one, load the queue's own
    `state_dict()`.

    With `ids` the queue recognizes an image that comes again, in the next epoch or as the other view of a
    symmetric loss: for this batch its stored key is neither a negative nor a positive, since the fresh key
    replaces it. `stale_positives=True` keeps it as a positive, which is right for ids that are classes.
    Without ids every key counts as new.

    Args:
        size: number of keys that the queue holds, at least 1.
        dim: dimension of the embeddings, at least 1.
        gather: with it, the keys of all processes are candidates of each and enter the queue of each in the
            same order: every process holds the same queue, and the loss is the mean over all processes.
            Without it, every process has a queue for itself.
        wait_until_full: whether the stored keys are used only once there are `size` of them.
        stale_positives: whether a stored key that shares its id with a key of the batch is a candidate.
        dtype: floating-point type in which keys are stored; only a half precision rounds float32 keys.

    Raises:
        ValueError: sizes that are not positive; when called: whatever `InBatch` would refuse, NaN or
            infinity, another dimension than the queue's, ids below 0, labels where stored keys have none;
            when loaded: a queue of another size or dimension.

    Source: He et al., "Momentum contrast" (2020), sec. 3.2 and algorithm 1. Differs: they compare with the
    stored keys alone; here the other keys of the batch, the freshest there are, are negatives, too.

    Example:
        >>> import tammes
        >>> queue, objective = Queue(size=4096, dim=16), tammes.recipes.simclr(temperature=0.2)
        >>> for step in range(3):
        ...     pairs = queue(torch.randn(8, 16), torch.randn(8, 16))
        ...     loss = objective(pairs)
        >>> len(pairs.anchors), len(pairs.candidates), queue.held
        (8, 24, 24)
    """

    embeddings: Float[Tensor, "size dim"]
    ids: Int[Tensor, " size"]
    labels: Int[Tensor, " size"]
    labeled: Bool[Tensor, " size"]
    stored: Int[Tensor, ""]

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
        check_integer("size", size)
        check_integer("dim", dim)
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
        # The number of keys ever stored gives the slot of the next, how many are held, and unused ids.
        self.register_buffer("stored", torch.zeros((), dtype=torch.long))
        self._known: tuple[Tensor, int, int] | None = None  # `stored`, its version, and its value
        self.register_load_state_dict_pre_hook(_check_saved)  # type: ignore[no-untyped-call]

    @property
    def size(self) -> int:
        """Number of keys that fit."""
        return len(self.embeddings)

    @property
    def dim(self) -> int:
        """Dimension of the embeddings."""
        return self.embeddings.shape[1]

    @property
    def held(self) -> int:
        """Number of keys that the queue holds now."""
        return min(self._stored, self.size)

    @property
    def _stored(self) -> int:
        """Number of keys ever stored; on a GPU read again only after others wrote to the buffer."""
        if not deferred.waits(self.stored.device):
            return int(self.stored)
        known = self._known
        if known is None or known[0] is not self.stored or known[1] != self.stored._version:
            self._known = known = self.stored, self.stored._version, int(self.stored)
        return known[2]

    @override
    def forward(
        self, queries: Tensor, keys: Tensor, ids: Tensor | None = None, labels: Tensor | None = None
    ) -> Pairs:
        """Return the pairs of queries and candidates, and store the keys in training mode.

        Args:
            queries: `(batch, d)`, floating point.
            keys: `(batch, d)`, likewise.
            ids: `(batch,)` integers of at least 0, the same for an image whenever it comes; rows that share
                one are positives.
            labels: `(batch,)` integers, for selections that need classes; at every call or at none.
        """
        batch = self._batch(queries, keys, ids, labels)
        held, counts = self._checked(batch)
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
            counts=counts,
        )
        if self.training:
            self._store(batch)
        return pairs

    @override
    def extra_repr(self) -> str:
        held = "" if self.stored.is_meta else f"held={self.held}, "
        return (
            f"size={self.size}, dim={self.dim}, gather={self.gather}, {held}"
            f"wait_until_full={self.wait_until_full}, stale_positives={self.stale_positives}"
        )

    def _batch(self, queries: Tensor, keys: Tensor, ids: Tensor | None, labels: Tensor | None) -> _Batch:
        """Return the queries of this process and the keys of its batch, or of the batch of all processes."""
        stored = self._stored
        group: Group = Single()
        if self.gather is None:
            local = stack_views((queries, keys), ids, labels)
            check_any_rows(local)
            local, rows = in_full_precision(local), slice(0, len(queries))
            fresh = local.anchors[len(queries) :]
            numbers, classes = local.ids[rows], None if local.labels is None else local.labels[rows]
        else:
            group = DistributedGroup(self.gather.process_group)
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
            shared_ids, views = self.gather.shared_ids, (queries, keys)
            shared = DistributedBatch.of(group, views, ids, labels, shared_ids=shared_ids, also=also)
            local, rows, numbers, classes = shared.local, shared.rows, shared.ids, shared.labels
            fresh = shared.all_gather(local.anchors[len(queries) :], views=1)
        return _Batch(
            queries=local.anchors[: len(queries)],
            keys=fresh,
            # Keys without ids get negative ones: never used before, and never given by a user.
            ids=-1 - stored - numbers if ids is None else numbers,
            labels=classes,
            rows=rows,
            group=group,
            known=ids is not None,
            local=local,
        )

    def _checked(self, batch: _Batch) -> tuple[Tensor | slice, PairCounts | None]:
        """Return the slots whose keys are candidates of this batch, and the numbers of positive pairs.

        The numbers that the host must know are read at once: on a GPU it waits for each reading.

        Raises:
            ValueError: keys that the queue cannot take; all processes see the same keys.
        """
        if batch.keys.shape[1] != self.dim:
            raise ValueError(
                f"the queue holds keys of dimension {self.dim}, these have {batch.keys.shape[1]}: make it "
                f"with dim={batch.keys.shape[1]}"
            )
        if batch.keys.device != self.embeddings.device:
            raise ValueError(
                f"the queue is on {self.embeddings.device}, the keys on {batch.keys.device}: move one of them"
            )
        kind, keys = self.embeddings.dtype, batch.keys.detach()
        lengths = torch.linalg.vector_norm(keys.to(kind).to(keys.dtype), dim=1)
        large, small = ~torch.isfinite(lengths), (lengths == 0) & keys.any(dim=1)
        held = self._usable
        known = torch.isin(self.ids[held], batch.ids) if batch.known else None
        numbers = [(large | small).sum(), batch.ids.min()]
        numbers.append(numbers[1] * 0 if known is None else known.sum())
        # Those of other processes were checked before they were sent.
        alone = isinstance(batch.group, Single)
        numbers.append(are_not_finite(batch.local).sum() if alone else numbers[1] * 0)
        if deferred.waits(batch.ids.device):  # of the keys of the batch; the objective then reads no more
            numbers += PairCounts.tensors(Runs.of(batch.ids[batch.rows], batch.ids, None))
        unkept, lowest, repeated, bad_rows, *pairs = torch.stack(numbers).tolist()
        if bad_rows:
            check_rows(batch.local)
        if batch.known and lowest < 0:
            raise ValueError(f"ids given to a queue must be 0 or above, got {lowest}")
        if unkept:  # they would make every batch NaN for as long as the queue holds them
            raise ValueError(
                f"keys too {'large' if bool(large.any()) else 'small'} for {kind}, in which the queue stores "
                "them: bring them to unit length first"
            )
        counts = PairCounts(*pairs) if pairs and not (repeated and self.stale_positives) else None
        if known is None or self.stale_positives or not repeated:
            return held, counts
        # The others, in their order.
        return torch.sort(known, stable=True).indices[: len(known) - repeated], counts

    @property
    def _usable(self) -> slice:
        """Slots whose keys may be candidates: none while a queue that waits is not full."""
        held = self.held
        return slice(0, 0 if self.wait_until_full and held < self.size else held)

    def _labels_of(self, slots: Tensor | slice) -> Tensor:
        labeled = self.labeled[slots]
        if not bool(labeled.all()):
            raise ValueError(
                f"labels are given, but {int((~labeled).sum())} of {len(labeled)} stored keys have none: "
                "give labels at every call, or at none"
            )
        return self.labels[slots]

    @torch.no_grad()
    def _store(self, batch: _Batch) -> None:
        first = max(0, len(batch.keys) - self.size)  # the keys before would be overwritten at once
        slots = (self.stored + torch.arange(first, len(batch.keys), device=self.ids.device)) % self.size
        self.embeddings[slots] = batch.keys[first:].to(self.embeddings.dtype)
        self.ids[slots] = batch.ids[first:]
        self.labeled[slots] = batch.labels is not None
        if batch.labels is not None:
            self.labels[slots] = batch.labels[first:]
        stored = self._stored + len(batch.keys)
        self.stored += len(batch.keys)
        if deferred.waits(self.stored.device):
            self._known = self.stored, self.stored._version, stored


@dataclass(frozen=True, kw_only=True)
class _Batch:
    """Queries of this process, and the keys of all processes that share the queue.

    Attributes:
        queries: `(own batch, d)`.
        keys: `(batch, d)`.
        ids: `(batch,)`, of the keys.
        labels: `(batch,)` or None, likewise.
        rows: positions of the queries' positives among the keys.
        group: the processes.
        known: whether the caller gave the ids.
        local: queries and keys of this process, stacked.
    """

    queries: Tensor
    keys: Tensor
    ids: Tensor
    labels: Tensor | None
    rows: slice
    group: Group
    known: bool
    local: Pairs


def _check_saved(queue: nn.Module, state: dict[str, Tensor], prefix: str, *others: object) -> None:
    saved, ours = state.get(f"{prefix}embeddings"), queue.embeddings
    assert isinstance(ours, Tensor)
    if saved is not None and saved.shape != ours.shape:
        raise ValueError(
            f"the checkpoint holds a queue of {saved.shape[0]} keys of dimension {saved.shape[1]}, this one "
            f"has {ours.shape[0]} of dimension {ours.shape[1]}: make it with size={saved.shape[0]}, "
            f"dim={saved.shape[1]}, or start a new queue"
        )
