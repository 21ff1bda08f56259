"""Processes that talk to each other through torch.distributed; no other file of the sources imports it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from tammes.group import Group

_TEXT = 1024
"""Bytes of what a process tells the others: a few numbers, or what is wrong with its batch."""


@dataclass(frozen=True)
class Processes(Group):
    """The processes of a torch.distributed group, each of which has called the same method.

    Args:
        process_group: the group; None for all processes.

    Raises:
        ValueError: torch.distributed is not initialized, or this process is not in the group.
    """

    process_group: dist.ProcessGroup | None = None

    def __post_init__(self) -> None:
        if not (dist.is_available() and dist.is_initialized()):
            raise ValueError(
                "the processes do not know each other: start them with torchrun and call "
                "torch.distributed.init_process_group() first, or, for one process, use InBatch() or a Queue "
                "without gather"
            )
        if dist.get_rank(self.process_group) < 0:
            raise ValueError(f"this process, rank {dist.get_rank()}, is not in the process group given")

    @property
    def size(self) -> int:
        """How many processes there are."""
        return dist.get_world_size(self.process_group)

    @property
    def place(self) -> int:
        """Where this process stands among them, from 0."""
        return dist.get_rank(self.process_group)

    def name(self, place: int) -> str:
        """How to name a process to the user: by its rank among all there are."""
        return f"rank {dist.get_process_group_ranks(self.process_group)[place]}"

    def sum(self, values: Tensor) -> Tensor:
        """See `Group.sum`."""
        return self._reduced(values, dist.ReduceOp.SUM)

    def largest(self, values: Tensor) -> Tensor:
        """See `Group.largest`."""
        return self._reduced(values, dist.ReduceOp.MAX)

    def every(self, values: Tensor) -> Tensor:
        """`(size, ...)`, the values of every process, which are of one shape; without gradient."""
        sent = values.detach().to(self._device_for(values)).contiguous()
        received = sent.new_empty(self.size, *sent.shape)
        dist.all_gather(list(received.unbind()), sent, group=self.process_group)
        return received.to(values.device)

    def sum_for_each(self, values: Tensor) -> Tensor:
        """The sum over the processes of the part of `(size, ...)` that is meant for this one."""
        sent = values.detach().to(self._device_for(values)).contiguous()
        received = torch.empty_like(sent[0])
        dist.reduce_scatter(received, list(sent.unbind()), group=self.process_group)
        return received.to(values.device)

    def texts(self, text: str) -> list[str]:
        """What every process says, cut to 1 kB."""
        said = text.encode()[:_TEXT].ljust(_TEXT, b"\0")
        heard = self.every(torch.frombuffer(bytearray(said), dtype=torch.uint8))
        return [each.numpy().tobytes().rstrip(b"\0").decode(errors="replace") for each in heard]

    @contextmanager
    def failing_together(self) -> Iterator[None]:
        """See `Group.failing_together`. One number is exchanged, and the messages if there are any."""
        failure = None
        try:
            yield
        except ValueError as error:
            failure = error
        if self.largest(torch.tensor(failure is not None, dtype=torch.long)):
            raise self.failure(self.texts("" if failure is None else str(failure))) from failure

    def failure(self, messages: list[str]) -> ValueError:
        """The error that all processes raise where some say what is wrong and others say nothing."""
        told = [f"{self.name(place)}: {message}" for place, message in enumerate(messages) if message]
        more = f" (and {len(told) - 3} more)" if len(told) > 3 else ""
        return ValueError("; ".join(told[:3]) + more)

    def _reduced(self, values: Tensor, how: Any) -> Tensor:
        sent = values.detach().to(self._device_for(values), copy=True)
        dist.all_reduce(sent, how, group=self.process_group)
        return sent.to(values.device)

    def _device_for(self, values: Tensor) -> torch.device:
        """Where values must lie to be sent: where they are if a backend serves that, else where one does."""
        served = dict(pair.split(":") for pair in dist.get_backend_config(self.process_group).split(","))
        kind = values.device.type
        # Gloo lacks some of the exchanges for tensors of a GPU.
        if kind in served and (kind == "cpu" or served[kind] != "gloo"):
            return values.device
        return torch.device("cpu" if "cpu" in served else next(iter(served)))
