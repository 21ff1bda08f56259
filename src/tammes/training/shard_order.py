"""Order of an epoch of data that are stored in shards: shards at random, and a buffer of rows mixed."""

import hashlib
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Int64
from torch import Tensor

from tammes.data.graph_stream import GraphStream
from tammes.data.images import Images
from tammes.data.shards import TarPixels
from tammes.data.stream import StreamPixels
from tammes.training.seeds import Purpose, derive


@runtime_checkable
class Sharded(Protocol):
    """Rows that are read quickly in the order of `ShardOrder` only: of archives, of streams."""

    @property
    def shards(self) -> tuple[int, ...]:
        """Number of rows of each shard, in the order of the rows."""
        ...

    @property
    def buffer(self) -> int:
        """Number of rows that are mixed with each other."""
        ...


def sharded(data: object) -> Sharded | None:
    """Return what is known of the shards of data; None for rows that are read in any order.

    Example:
        >>> from tammes.data import digits
        >>> print(sharded(digits("test")))
        None
    """
    source = data.pixels if isinstance(data, Images) else data
    return source if isinstance(source, Sharded) else None


@dataclass(frozen=True, kw_only=True)
class ShardOrder:
    """Rows of an epoch in the order in which a process reads them.

    The shards are put into random order and dealt to the processes in turn, so that no two processes read a
    shard, and no row comes twice. A process reads its shards one after the other, and mixes `buffer` rows at
    a time with each other. The order depends on the seed, the epoch and the process alone: a run that resumes
    knows the rows that it has seen without having kept a list.

    Args:
        shards: number of rows of each shard, in the order of the rows.
        buffer: number of rows that are mixed with each other.
        seed: random seed of the run.
        rank: rank of the process, from 0.
        processes: number of processes.

    Raises:
        ValueError: for more processes than shards.

    Example:
        >>> order = ShardOrder(shards=(2, 3, 1), buffer=2, seed=0)
        >>> order.epoch(0).tolist(), order.epoch(1).tolist()
        ([0, 5, 2, 1, 3, 4], [0, 1, 2, 5, 4, 3])
    """

    shards: tuple[int, ...]
    buffer: int
    seed: int
    rank: int = 0
    processes: int = 1

    def __post_init__(self) -> None:
        if self.processes > len(self.shards):
            raise ValueError(
                f"each process reads shards for itself, but there are {self.processes} processes and "
                f"{len(self.shards)} shards: start at most {len(self.shards)}, or write more, smaller shards"
            )

    def epoch(self, number: int) -> Int64[Tensor, " rows"]:
        """Return the rows that this process reads in an epoch, in their order."""
        generator = torch.Generator().manual_seed(derive(self.seed, Purpose.ORDER, number))
        own = torch.randperm(len(self.shards), generator=generator)[self.rank :: self.processes]
        starts = [0, *accumulate(self.shards)]
        rows = torch.cat([torch.arange(starts[shard], starts[shard + 1]) for shard in own.tolist()])
        blocks = [block[torch.randperm(len(block), generator=generator)] for block in rows.split(self.buffer)]
        return torch.cat(blocks)

    @property
    def fewest(self) -> int:
        """Number of rows that every process has in any epoch, whichever shards it gets."""
        return sum(sorted(self.shards)[: len(self.shards) // self.processes])


@dataclass(frozen=True, kw_only=True)
class ShardsSummary:
    """Description of the shards of a run's data, by which a resume recognizes the order of their rows.

    Args:
        count: Number of shards.
        buffer: Number of rows that an epoch mixes with each other.
        digest: Checksum of the numbers of rows of the shards, and of the rows' names and labels.
        content: Checksum of what the shards hold, by samples of their bytes; empty if it is not known, as in
            runs of older versions, or kept elsewhere, as of graphs.
    """

    count: int
    buffer: int
    digest: str
    content: str = ""

    @classmethod
    def of(cls, data: Images | GraphStream) -> "ShardsSummary | None":
        """Describe the shards of images or graphs; None for images that are read in any order."""
        rows = sharded(data)
        if rows is None:
            return None
        digest = hashlib.sha256(f"{rows.shards}\0".encode())
        digest.update("\0".join(data.names).encode(errors="surrogateescape"))
        if data.labels is not None:
            digest.update(data.labels.numpy().tobytes())
        return cls(
            count=len(rows.shards),
            buffer=rows.buffer,
            digest=digest.hexdigest()[:12],
            content=rows.digest if isinstance(rows, TarPixels | StreamPixels) else "",
        )
