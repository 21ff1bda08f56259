"""Groups of processes by torch.distributed: the only file of the sources that imports it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import Tensor
from typing_extensions import override

from tammes.group import Group

if TYPE_CHECKING or dist.is_available():
    from torch.distributed import ProcessGroup as ProcessGroup
else:  # a build of torch without it
    ProcessGroup = object

_MESSAGE = 1024
"""Bytes of the message that each process sends: a few facts about its batch, or what is wrong with it."""


class LostProcessError(ConnectionError):
    """Another process was killed, failed, or could not be reached for too long."""


def is_distributed() -> bool:
    """Return whether this process is one of several.

    Example:
        >>> is_distributed()
        False
    """
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def is_lost_connection(error: RuntimeError) -> bool:
    """Return whether a backend raised the error because it could not exchange with another process."""
    return isinstance(error, dist.DistError) or "gloo" in str(error)


@dataclass(frozen=True)
class DistributedGroup(Group):
    """Processes of a torch.distributed group, all of which call the same methods in the same order.

    Args:
        process_group: the processes; None for all.

    Raises:
        ValueError: torch.distributed is not initialized, or this process is not in the group.
    """

    process_group: ProcessGroup | None = None

    def __post_init__(self) -> None:
        if not (dist.is_available() and dist.is_initialized()):
            raise ValueError(
                "torch.distributed is not initialized: start the processes with torchrun and call "
                "torch.distributed.init_process_group() first; for one process, use InBatch(), or Queue(...) "
                "or TwoTowers(...) without gather"
            )
        if dist.get_rank(self.process_group) < 0:
            raise ValueError(f"this process, rank {dist.get_rank()}, is not in the process group given")

    @property
    @override
    def size(self) -> int:
        return dist.get_world_size(self.process_group)

    @property
    @override
    def rank(self) -> int:
        return dist.get_rank(self.process_group)

    def name(self, rank: int) -> str:
        """Return how to name a process of the group to the user: by its rank among all processes."""
        return f"rank {dist.get_process_group_ranks(self.process_group)[rank]}"

    @override
    def sum(self, values: Tensor) -> Tensor:
        return self._all_reduce(values, dist.ReduceOp.SUM)

    @override
    def largest(self, values: Tensor) -> Tensor:
        return self._all_reduce(values, dist.ReduceOp.MAX)

    def all_gather(self, values: Tensor) -> Tensor:
        """Return `(size, *shape)`, the values of every process, all of one shape; without gradient."""
        sent = values.detach().to(self._device_for(values)).contiguous()
        received = sent.new_empty(self.size, *sent.shape)
        with self._exchanging(f"rows of shape {tuple(sent.shape)}"):
            dist.all_gather(list(received.unbind()), sent, group=self.process_group)
        return received.to(values.device)

    def reduce_scatter(self, values: Tensor) -> Tensor:
        """Return the sum over the processes of row `rank` of their `(size, *shape)`; without gradient."""
        sent = values.detach().to(self._device_for(values)).contiguous()
        received = torch.empty_like(sent[0])
        with self._exchanging(f"gradients of shape {tuple(received.shape)}"):
            dist.reduce_scatter(received, list(sent.unbind()), group=self.process_group)
        return received.to(values.device)

    def all_gather_messages(self, message: str) -> list[str]:
        """Return the messages of all processes, each cut to 1 kB."""
        sent = message.encode()[:_MESSAGE].ljust(_MESSAGE, b"\0")
        received = self.all_gather(torch.frombuffer(bytearray(sent), dtype=torch.uint8))
        return [each.numpy().tobytes().rstrip(b"\0").decode(errors="replace") for each in received]

    @contextmanager
    @override
    def failing_together(self, caller: object = "") -> Iterator[None]:
        failure = None
        try:
            yield
        except ValueError as error:
            failure = error
        # Where a repr shows an address, as of a user's function, it differs between processes.
        called = re.sub(r" at 0x[0-9a-f]+", "", str(caller))
        checksum = zlib.crc32(called.encode(errors="replace"))
        # Three numbers are exchanged, and messages only if there are any; of the checksum, its largest value
        # and the negative of its smallest.
        own = torch.tensor([failure is not None, checksum, -checksum], dtype=torch.long)
        failed, largest, smallest = self.largest(own).tolist()
        if failed:
            raise self.failure(self.all_gather_messages("" if failure is None else str(failure))) from failure
        if largest != -smallest:
            raise self._disagreement(self.all_gather_messages(called))

    def failure(self, messages: list[str]) -> ValueError:
        """Return the error that all processes raise.

        Args:
            messages: what is wrong on each process; empty where nothing is.
        """
        named = [f"{self.name(rank)}: {message}" for rank, message in enumerate(messages) if message]
        more = f" (and {len(named) - 3} more)" if len(named) > 3 else ""
        return ValueError("; ".join(named[:3]) + more)

    def _disagreement(self, called: list[str]) -> ValueError:
        first = {text: self.name(called.index(text)) for text in dict.fromkeys(called)}
        shown = ", ".join(f"{process} calls {text or 'another function'}" for text, process in first.items())
        return ValueError(f"the processes must call the same objective: {shown}")

    @contextmanager
    def _exchanging(self, what: str) -> Iterator[None]:
        """Raise the error of a backend that has lost another process in words, with this process' rank."""
        try:
            yield
        except RuntimeError as error:
            if not is_lost_connection(error):
                raise
            raise LostProcessError(
                f"{self.name(self.rank)} has lost another process while they exchanged {what}: it has ended, "
                "called something else, or did not answer in time. Look for the first error among the "
                "processes, and start all of them again"
            ) from error

    def _all_reduce(self, values: Tensor, operation: dist.ReduceOp.RedOpType) -> Tensor:
        sent = values.detach().to(self._device_for(values), copy=True)
        with self._exchanging(f"numbers of shape {tuple(sent.shape)}"):
            dist.all_reduce(sent, operation, group=self.process_group)
        return sent.to(values.device)

    def _device_for(self, values: Tensor) -> torch.device:
        """Return the device to send values from: theirs if a backend serves it, else one that it serves."""
        served = dict(pair.split(":") for pair in dist.get_backend_config(self.process_group).split(","))
        kind = values.device.type
        # Gloo lacks some of the exchanges for tensors of a GPU.
        if kind in served and (kind == "cpu" or served[kind] != "gloo"):
            return values.device
        return torch.device("cpu" if "cpu" in served else next(iter(served)))
