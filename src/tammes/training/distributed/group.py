"""The processes that train one run: how they meet, agree, and fail together."""

import json
import pickle
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore, Store

from tammes.sources.distributed import DistributedGroup, LostProcessError, is_lost_connection
from tammes.training.distributed.launch import Launch

T = TypeVar("T")

# Timeout for what process 0 does alone, such as measuring. If it dies, the others notice at once.
A_DAY = timedelta(days=1)
# Seconds to wait for the message of a process that has failed.
MESSAGE_TIMEOUT = 2.0
MESSAGE = "message"


@dataclass(frozen=True, kw_only=True, eq=False)
class ProcessGroup:
    """The processes of a run, seen from one of them; a group of one does everything at once and by itself.

    Args:
        launch: rank of this process, and how many there are.
        store: key-value store through which the processes exchange messages; None for one process.
        step_group: group for the collectives of a step; None for one process.
        waiting_group: group for collectives with a long timeout; None for one process.

    Example:
        >>> ProcessGroup().on_first(lambda: "done")
        'done'
    """

    launch: Launch = field(default_factory=Launch)
    store: Store | None = None
    step_group: DistributedGroup | None = None
    waiting_group: DistributedGroup | None = None

    @property
    def is_single(self) -> bool:
        """Whether this is the only process."""
        return self.launch.count == 1

    @property
    def is_first(self) -> bool:
        """Whether this is process 0, which writes, measures and prints."""
        return self.launch.rank == 0

    def failing_together(self) -> AbstractContextManager[None]:
        """Raise a ValueError of one process on all of them, with the rank it came from."""
        return nullcontext() if self.step_group is None else self.step_group.failing_together()

    def maximum(self, number: int) -> int:
        """Return the largest of the processes' numbers."""
        if self.step_group is None:
            return number
        return int(self.step_group.largest(torch.tensor(number)))

    def means(self, numbers: Mapping[str, float], *, weight: int) -> dict[str, float]:
        """Return the mean over the processes of each number.

        Args:
            numbers: numbers by name; all processes have the same names.
            weight: weight of this process, its number of rows.
        """
        if self.step_group is None:
            return dict(numbers)
        own = torch.tensor([*numbers.values(), 1.0], dtype=torch.float64) * weight
        sums = self.step_group.sum(own)
        return dict(zip(numbers, (sums[:-1] / sums[-1]).tolist(), strict=True))

    def on_first(self, work: Callable[[], T]) -> T:
        """Run a function on process 0 while the others wait, however long, and return its result on all.

        Raises:
            ValueError: on all processes, if the function raises it; an OSError likewise.
        """
        if self.waiting_group is None:
            return work()
        outcome: list[object] = [None, None]
        failure = None
        if self.is_first:
            try:
                outcome[0] = work()
            except (ValueError, OSError) as error:
                failure = error
                outcome[1] = _picklable(error)
        dist.broadcast_object_list(outcome, src=0, group=self.waiting_group.process_group)
        result, received = outcome
        if isinstance(received, Exception):
            raise failure or received
        return result  # type: ignore[return-value]

    def post_message(self, message: str) -> None:
        """Store why this process ends, for the processes that will miss it."""
        if self.store is not None:
            with suppress(RuntimeError):  # process 0 kept the store and has ended before
                self.store.set(MESSAGE, message)

    def posted_message(self) -> str | None:
        """Return the message of a process that has ended, or None if it left none."""
        assert self.store is not None
        end = time.monotonic() + MESSAGE_TIMEOUT
        try:
            while time.monotonic() < end:
                if self.store.check([MESSAGE]):
                    return self.store.get(MESSAGE).decode()
                time.sleep(0.1)
        except RuntimeError:  # the process that kept the store has ended as well
            pass
        return None


@contextmanager
def joined(
    launch: Launch, *, backend: str, patience: float, settings: Mapping[str, str]
) -> Iterator[ProcessGroup]:
    """Join the other processes for the duration of a block, after checking that all have equal settings.

    Args:
        launch: rank of this process, and how many there are.
        backend: backend of torch.distributed for the tensors of a step.
        patience: seconds to wait for the others, now and within a step.
        settings: settings that must be equal on all processes, by name.

    Raises:
        ValueError: if the others cannot be reached, or have other settings.
        LostProcessError: within the block, if another process ends.
    """
    if launch.count == 1:
        yield ProcessGroup(launch=launch)
        return
    if dist.is_initialized():
        raise ValueError(
            "training makes the process group itself: leave init_process_group() out, or call "
            "torch.distributed.destroy_process_group() before (in a TorchTrainer of Ray, for example)"
        )
    timeout = timedelta(seconds=patience)
    store = launch.store(timeout)
    # A process may train several times; each time the processes meet under another prefix.
    store = PrefixStore(str(store.add(f"meetings of {launch.rank}", 1)), store)
    _check_equal(launch, store, timeout, settings)
    dist.init_process_group(backend, store=store, rank=launch.rank, world_size=launch.count, timeout=timeout)
    try:
        waiting = DistributedGroup(dist.new_group(backend="gloo", timeout=A_DAY))
        group = ProcessGroup(launch=launch, store=store, step_group=DistributedGroup(), waiting_group=waiting)
        with _posting_failures(group):
            yield group
    finally:
        dist.destroy_process_group()


@contextmanager
def _posting_failures(group: ProcessGroup) -> Iterator[None]:
    """Post the error that ends this process, or explain a lost connection by the error of another."""
    try:
        yield
    except Exception as error:
        lost = error.__cause__ if isinstance(error, LostProcessError) else error
        if isinstance(lost, RuntimeError) and is_lost_connection(lost):
            raise _explained(lost, group.posted_message()) from error
        is_expected = isinstance(error, ValueError | OSError)
        group.post_message(str(error) if is_expected else f"{group.launch.name} failed: {error!r}")
        raise


def _explained(error: RuntimeError, message: str | None) -> Exception:
    if message is not None:
        return ValueError(message)
    # The first sentence of torch's message, without its source lines and addresses.
    plain = " ".join(re.sub(r"\[[^\]]*\]:?\d*", "", str(error)).split())
    reason = plain.partition(". ")[0][:120]
    return LostProcessError(f"another process was killed, or could not be reached for too long ({reason})")


def _check_equal(launch: Launch, store: Store, timeout: timedelta, settings: Mapping[str, str]) -> None:
    """Raise the same ValueError on all processes unless all have equal settings."""
    store.set(f"settings of {launch.rank}", json.dumps(dict(settings)))
    keys = [f"settings of {rank}" for rank in range(launch.count)]
    for rank, key in enumerate(keys):
        try:
            store.wait([key], timeout)
        except RuntimeError as error:
            raise ValueError(
                f"rank {rank} of {launch.count} did not come within {timeout.total_seconds():g} seconds: see "
                "whether it failed, or increase patience to wait longer"
            ) from error
    of_rank = [json.loads(store.get(key)) for key in keys]
    first = of_rank[0]
    for rank, other in enumerate(of_rank):
        differences = [
            f"{name} is {first.get(name, 'absent')} on rank 0, {other.get(name, 'absent')} on rank {rank}"
            for name in dict.fromkeys([*first, *other])
            if first.get(name) != other.get(name)
        ]
        if differences:
            raise ValueError(
                f"the processes have different settings: {'; '.join(differences[:5])}. Start all of them "
                "with the same command, data and versions"
            )


def _picklable(error: Exception) -> Exception:
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:  # whatever an exception's own arguments make of it
        return ValueError(str(error))
