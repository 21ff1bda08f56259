"""The processes that train one run together: how they meet, agree, and fail together."""

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

from tammes.sources.distributed import DistributedGroup
from tammes.training.launch import Launch

T = TypeVar("T")

# How long the others wait for what process 0 does alone, such as measuring. If it dies, they notice at once.
A_DAY = timedelta(days=1)
# Seconds to wait for the last words of a process that has left.
LAST_WORDS = 2.0


class LostProcessError(ConnectionError):
    """Another process was killed, failed, or could not be reached for too long."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Peers:
    """This process and the others of its run; alone, everything is done at once and by itself.

    Args:
        launch: which of how many this is.
        store: where they leave word for each other.
        steps: for what all do at the same time, in every step.
        waits: for what the others wait for long.

    Example:
        >>> Peers().by_first(lambda: "done")
        'done'
    """

    launch: Launch = field(default_factory=Launch)
    store: Store | None = None
    steps: DistributedGroup | None = None
    waits: DistributedGroup | None = None

    @property
    def alone(self) -> bool:
        """Whether there are no others."""
        return self.launch.count == 1

    @property
    def first(self) -> bool:
        """Whether this is the process that writes, measures and prints."""
        return self.launch.rank == 0

    def failing_together(self) -> AbstractContextManager[None]:
        """Within it, a ValueError on one process is raised on all, with the rank it came from."""
        return nullcontext() if self.steps is None else self.steps.failing_together()

    def largest(self, number: int) -> int:
        """The largest of the numbers that the processes give."""
        return number if self.steps is None else int(self.steps.largest(torch.tensor(number)))

    def where(self, true: bool) -> list[int]:
        """The ranks of the processes on which something is true."""
        if self.steps is None:
            return [0] if true else []
        return self.steps.all_gather(torch.tensor(true)).nonzero().flatten().tolist()

    def means(self, numbers: Mapping[str, float], *, weight: int) -> dict[str, float]:
        """The weighted means over the processes of numbers that all have, by name."""
        if self.steps is None:
            return dict(numbers)
        own = torch.tensor([*numbers.values(), 1.0], dtype=torch.float64) * weight
        sums = self.steps.sum(own)
        return dict(zip(numbers, (sums[:-1] / sums[-1]).tolist(), strict=True))

    def by_first(self, work: Callable[[], T]) -> T:
        """Let process 0 do it while the others wait, however long, and hand its result to all.

        Raises:
            ValueError: on all processes, where the work raises it; an OSError likewise.
        """
        if self.waits is None:
            return work()
        outcome: list[object] = [None, None]
        failure = None
        if self.first:
            try:
                outcome[0] = work()
            except (ValueError, OSError) as error:
                failure = error
                outcome[1] = _picklable(error)
        dist.broadcast_object_list(outcome, src=0, group=self.waits.process_group)
        result, told = outcome
        if isinstance(told, Exception):
            raise failure or told
        return result  # type: ignore[return-value]

    def leave_word(self, message: str) -> None:
        """Say why this process leaves, for those who will miss it."""
        if self.store is not None:
            with suppress(RuntimeError):  # where process 0 kept the store and has left before
                self.store.set("word", message)

    def word(self) -> str | None:
        """What a process that has left said, if it did."""
        assert self.store is not None
        end = time.monotonic() + LAST_WORDS
        try:
            while time.monotonic() < end:
                if self.store.check(["word"]):
                    return self.store.get("word").decode()
                time.sleep(0.1)
        except RuntimeError:  # whoever kept the store has left as well
            pass
        return None


@contextmanager
def joined(launch: Launch, *, backend: str, patience: float, settings: Mapping[str, str]) -> Iterator[Peers]:
    """Meet the other processes, check that all want the same, and part at the end.

    Args:
        launch: which of how many this is.
        backend: of torch.distributed, for the tensors of a step.
        patience: seconds to wait for the others, now and within a step.
        settings: what must be the same on all, by name.

    Raises:
        ValueError: where the others cannot be reached, or want something else.
        LostProcessError: within, where another process ends.
    """
    if launch.count == 1:
        yield Peers(launch=launch)
        return
    if dist.is_initialized():
        raise ValueError("training makes the process group itself: leave init_process_group() out")
    wait = timedelta(seconds=patience)
    store = launch.store(wait)
    # A process may train several times; each time the processes meet anew.
    store = PrefixStore(str(store.add(f"meetings of {launch.rank}", 1)), store)
    _expect_same(launch, store, wait, settings)
    dist.init_process_group(backend, store=store, rank=launch.rank, world_size=launch.count, timeout=wait)
    try:
        waits = DistributedGroup(dist.new_group(backend="gloo", timeout=A_DAY))
        peers = Peers(launch=launch, store=store, steps=DistributedGroup(), waits=waits)
        with _leaving_word(peers):
            yield peers
    finally:
        dist.destroy_process_group()


@contextmanager
def _leaving_word(peers: Peers) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if isinstance(error, RuntimeError) and _is_of_connection(error):
            raise _explanation(error, peers.word()) from error
        told = isinstance(error, ValueError | OSError)
        peers.leave_word(str(error) if told else f"{peers.launch.name} failed: {error!r}")
        raise


def _explanation(error: RuntimeError, word: str | None) -> Exception:
    """What a process says that misses another: the last words of that one, if there are any."""
    if word is not None:
        return ValueError(word)
    return LostProcessError(
        f"another process was killed, or could not be reached for too long ({_reason(error)})"
    )


def _reason(error: RuntimeError) -> str:
    """What torch says first, without its places in source files and its addresses."""
    return " ".join(re.sub(r"\[[^\]]*\]:?\d*", "", str(error)).split()).partition(". ")[0][:120]


def _is_of_connection(error: RuntimeError) -> bool:
    return isinstance(error, dist.DistError) or "gloo" in str(error)


def _expect_same(launch: Launch, store: Store, wait: timedelta, settings: Mapping[str, str]) -> None:
    """Raise, with the same message everywhere, where the processes do not all want the same."""
    store.set(f"settings of {launch.rank}", json.dumps(dict(settings)))
    names = [f"settings of {rank}" for rank in range(launch.count)]
    for rank, name in enumerate(names):
        try:
            store.wait([name], wait)
        except RuntimeError as error:
            raise ValueError(
                f"rank {rank} of {launch.count} did not come within {wait.total_seconds():g} seconds: see "
                "whether it failed, or wait longer for it with more patience"
            ) from error
    everyone = [json.loads(store.get(name)) for name in names]
    expected = everyone[0]
    for rank, others in enumerate(everyone):
        found = [
            f"{name} is {expected.get(name, 'absent')} on rank 0, {others.get(name, 'absent')} on rank {rank}"
            for name in dict.fromkeys([*expected, *others])
            if expected.get(name) != others.get(name)
        ]
        if found:
            raise ValueError(
                f"the processes do not want the same: {'; '.join(found[:5])}. Start all of them with the "
                "same command, images and versions"
            )


def _picklable(error: Exception) -> Exception:
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:  # whatever an exception's own arguments make of it
        return ValueError(str(error))
