"""The order in which an epoch visits the pairs, and who takes which of a batch."""

from collections.abc import Iterator
from dataclasses import dataclass

from torch.utils.data import Sampler

from tammes.training.pairing import Pairing


@dataclass(frozen=True, kw_only=True)
class Portion:
    """The rows of every batch that one process takes: a contiguous part, the first processes one row more.

    Args:
        batch_size: rows of the whole batch.
        process: which of the processes, from 0.
        processes: how many there are.

    Raises:
        ValueError: for more processes than would get two rows each.

    Example:
        >>> [Portion(batch_size=8, process=process, processes=3).rows for process in range(3)]
        [slice(0, 3, None), slice(3, 6, None), slice(6, 8, None)]
    """

    batch_size: int
    process: int = 0
    processes: int = 1

    def __post_init__(self) -> None:
        assert 0 <= self.process < self.processes
        if self.processes > 1 and self.batch_size < 2 * self.processes:
            raise ValueError(
                f"a batch of {self.batch_size} pairs is too small for {self.processes} processes, each of "
                f"which takes 2 or more: start at most {self.batch_size // 2}, or choose a batch size of at "
                f"least {2 * self.processes} (it counts the pairs of all processes together)"
            )

    @property
    def first_row(self) -> int:
        """The first row of the portion."""
        each, more = divmod(self.batch_size, self.processes)
        return self.process * each + min(self.process, more)

    @property
    def size(self) -> int:
        """How many rows it has."""
        return self.batch_size // self.processes + (self.process < self.batch_size % self.processes)

    @property
    def rows(self) -> slice:
        """The rows of the batch."""
        return slice(self.first_row, self.first_row + self.size)


class Order(Sampler[list[list[int]]]):
    """Every pair once per epoch, in an order that depends on the seed and the epoch alone, batch by batch.

    A run that stopped in the middle of an epoch goes on with the batches it has not seen: the first epoch
    to be read leaves out what came before `first_step`. The last partial batch of an epoch is dropped, and
    so is what an epoch has beyond the fewest pairs that any has: all have the same number of batches.

    Args:
        pairing: which pairs there are in an epoch.
        portion: the rows of each batch that are wanted here.
        first_step: how many steps have been taken before.

    Raises:
        ValueError: for a batch larger than the data, or data without a single pair.

    Example:
        >>> import torch
        >>> from tammes.positives import SameInstance
        >>> pairing = Pairing(positives=SameInstance(), labels=torch.zeros(5), seed=0)
        >>> portion = Portion(batch_size=2)
        >>> whole, rest = Order(pairing, portion), Order(pairing, portion, first_step=1)
        >>> list(whole)[1:] == list(rest)
        True
    """

    def __init__(self, pairing: Pairing, portion: Portion, *, first_step: int = 0) -> None:
        pairs = len(pairing)
        if pairs == 0:
            raise ValueError(
                f"there is nothing to pair: none of these {pairing.noun} has a positive by "
                f"{pairing.positives!r}; give more, or choose other positives"
            )
        if portion.batch_size > pairs:
            raise ValueError(
                f"the batch ({portion.batch_size}) is larger than the data ({pairing.words}): "
                f"choose a batch size of at most {pairs}"
            )
        self.pairing = pairing
        self.portion = portion
        self.batches = pairs // portion.batch_size
        self.epoch, self.skipped = divmod(first_step, self.batches)

    @property
    def sampler(self) -> "Order":
        """SameInstance: where lightning looks for someone to announce an epoch to."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Lightning announces each epoch here; the one that was begun before is announced again."""
        if epoch != self.epoch:
            self.epoch, self.skipped = epoch, 0

    def __len__(self) -> int:
        return self.batches

    def __iter__(self) -> Iterator[list[list[int]]]:
        pairs = self.pairing.epoch(self.epoch)
        for batch in pairs.split(self.portion.batch_size)[self.skipped : self.batches]:
            yield batch[self.portion.rows].tolist()
