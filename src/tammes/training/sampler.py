"""Batches of pairs in the order of an epoch, and the shard of each batch that a process takes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from torch import Tensor
from torch.utils.data import Sampler

from tammes.positives.whole_documents import exactly
from tammes.training.pairing import Pairing
from tammes.training.shard_order import ShardOrder


@dataclass(frozen=True, kw_only=True)
class Shard:
    """Rows of every batch that one process takes: a contiguous part, the first processes one row more.

    Args:
        batch_size: rows of the whole batch.
        rank: rank of the process, from 0.
        processes: number of processes.

    Raises:
        ValueError: for more processes than would get two rows each.

    Example:
        >>> [Shard(batch_size=8, rank=rank, processes=3).rows for rank in range(3)]
        [slice(0, 3, None), slice(3, 6, None), slice(6, 8, None)]
    """

    batch_size: int
    rank: int = 0
    processes: int = 1

    def __post_init__(self) -> None:
        assert 0 <= self.rank < self.processes
        if self.processes > 1 and self.batch_size < 2 * self.processes:
            raise ValueError(
                f"a batch of {self.batch_size} pairs is too small for {self.processes} processes, each of "
                f"which takes 2 or more: start at most {self.batch_size // 2}, or choose a batch size of at "
                f"least {2 * self.processes} (it counts the pairs of all processes together)"
            )

    @property
    def first_row(self) -> int:
        """First row of the shard within the batch."""
        each, remainder = divmod(self.batch_size, self.processes)
        return self.rank * each + min(self.rank, remainder)

    @property
    def size(self) -> int:
        """Number of rows in the shard."""
        return self.batch_size // self.processes + (self.rank < self.batch_size % self.processes)

    @property
    def rows(self) -> slice:
        """Slice of the batch."""
        return slice(self.first_row, self.first_row + self.size)


class PairSampler(Sampler[list[list[int]]]):
    """Batches of pairs, every pair once an epoch, in an order that depends on seed and epoch alone.

    A run that stopped in the middle of an epoch continues with the remaining batches: the first epoch leaves
    out the batches before `first_step`. The last, partial batch of an epoch is dropped, and so are the pairs
    by which an epoch exceeds the smallest epoch: all epochs have the same number of batches. Batches of whole
    documents differ in size; their number is that of the first epoch (see `Adjacent`).

    The processes take parts of the same batches. Of data in shards, each process makes its part of a batch
    from its own shards, in the order of `ShardOrder`.

    Args:
        pairing: pairs of each epoch.
        shard: rows of each batch that this process takes.
        first_step: number of steps taken before.

    Raises:
        ValueError: for a batch larger than the data, or data without a single pair.

    Example:
        >>> import torch
        >>> from tammes.positives import SameInstance
        >>> pairing = Pairing(positives=SameInstance(), labels=torch.zeros(5, dtype=torch.long), seed=0)
        >>> shard = Shard(batch_size=2)
        >>> all_batches, rest = PairSampler(pairing, shard), PairSampler(pairing, shard, first_step=1)
        >>> list(all_batches)[1:] == list(rest)
        True
    """

    def __init__(self, pairing: Pairing, shard: Shard, *, first_step: int = 0) -> None:
        pairs = len(pairing)
        if pairs == 0:
            raise ValueError(
                f"there is nothing to pair: none of these {pairing.noun} has a positive by "
                f"{pairing.positives!r}; give more, or choose other positives"
            )
        if pairs == 1 < shard.batch_size:
            what = pairing.size_in_words.removeprefix("1 ")
            raise ValueError(
                f"expected at least two {what} to train on, each the negative of the other, got one: give "
                "more, or hold fewer out"
            )
        if shard.batch_size > pairs:
            raise ValueError(
                f"the batch ({shard.batch_size}) is larger than the data ({pairing.size_in_words}): "
                f"choose a batch size of at most {pairs}"
            )
        self.pairing = pairing
        self.shard = shard
        self.order = self._order()
        self.batches = pairs // shard.batch_size
        if pairing.sizes_differ:
            self._check_smallest()
            self.batches = len(pairing.batches(0, shard.batch_size))
        if self.order is not None:
            largest_part = -(-shard.batch_size // shard.processes)
            self.batches = self.order.fewest // largest_part
            if self.batches == 0:
                raise ValueError(
                    f"a process takes {largest_part} images of each batch, but may have only "
                    f"{self.order.fewest} in its shards: choose a smaller batch, or start fewer processes"
                )
        self.epoch, self.skipped = divmod(first_step, self.batches)

    @property
    def sampler(self) -> "PairSampler":
        """This object, on which lightning calls `set_epoch`."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch; lightning announces the epoch that a resumed run is in a second time."""
        if epoch != self.epoch:
            self.epoch, self.skipped = epoch, 0

    def __len__(self) -> int:
        return self.batches

    def __iter__(self) -> Iterator[list[list[int]]]:
        for batch in self._batches()[self.skipped : self.batches]:
            yield batch.tolist()

    def _batches(self) -> Sequence[Tensor]:
        """Return the part of each batch of the epoch that this process takes."""
        if self.order is not None:
            rows = self.order.epoch(self.epoch)
            return rows[:, None].expand(-1, 2).split(self.shard.size)  # an image is its own positive
        batches = self.pairing.batches(self.epoch, self.shard.batch_size)
        if not self.pairing.sizes_differ:
            return [batch[self.shard.rows] for batch in batches]
        batches = exactly(batches, self.batches)
        return [batch[replace(self.shard, batch_size=len(batch)).rows] for batch in batches]

    def _check_smallest(self) -> None:
        """Refuse processes that would get fewer than two rows of a batch that is hardly half full."""
        smallest, processes = self.shard.batch_size // 2 + 1, self.shard.processes
        if processes > 1 and smallest < 2 * processes:
            raise ValueError(
                f"of {self.shard.batch_size} sentences a batch of whole documents has {smallest} or more, "
                f"too few for {processes} processes, each of which takes 2 or more: start fewer, or choose a "
                f"batch size of at least {4 * processes - 2}"
            )

    def _order(self) -> ShardOrder | None:
        sharded, shard = self.pairing.sharded, self.shard
        if sharded is None:
            return None
        return ShardOrder(
            shards=sharded.shards,
            buffer=sharded.buffer,
            seed=self.pairing.seed,
            rank=shard.rank,
            processes=shard.processes,
        )
