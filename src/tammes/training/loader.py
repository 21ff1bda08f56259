"""Batches of rows and of pairs, read in this process or by worker processes."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import Array, c_long
from functools import partial
from multiprocessing import active_children
from multiprocessing.sharedctypes import RawArray
from multiprocessing.util import Finalize
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from tammes.training.examples import Examples, Inputs
from tammes.training.sampler import PairSampler

PairBatch = tuple[Inputs, Inputs | None, Tensor]
"""Anchors, positives (None if each anchor is its own positive), and int64 (batch, 2), the rows of both.

Negatives that the data give stand behind the positives."""

CAUGHT = "Caught ValueError in DataLoader worker process"


def row_loader(examples: Examples, *, batch_size: int, workers: int) -> DataLoader[Inputs]:
    """Return a loader of all rows in their order.

    Args:
        examples: data to read.
        batch_size: rows at a time.
        workers: number of processes that read; 0 reads in this process.
    """
    rows = _Batches(examples.batch, len(examples))
    return _loader(rows, batch_size=batch_size, num_workers=workers)


def pair_loader(examples: Examples, sampler: PairSampler, *, workers: int) -> DataLoader[PairBatch]:
    """Return a loader of the pairs of a sampler.

    Args:
        examples: data to read.
        sampler: sampler of batches of pairs.
        workers: number of processes that read; 0 reads in this process.
    """
    return _loader(
        _Batches(partial(_read_pairs, examples, sampler.pairing.negatives), len(examples)),
        batch_sampler=sampler,
        num_workers=workers,
        persistent_workers=workers > 0,
        worker_init_fn=leave_signals_to_parent(workers) if workers > 0 else None,
    )


def _read_pairs(examples: Examples, negatives: Tensor | None, pairs: Sequence[Sequence[int]]) -> PairBatch:
    anchors, positives = ([pair[side] for pair in pairs] for side in (0, 1))
    if negatives is not None:
        positives += negatives[anchors].tolist()
    second = None if anchors == positives else examples.batch(positives)
    return examples.batch(anchors), second, torch.tensor(pairs)


def _loader(batches: "_Batches", **settings: Any) -> DataLoader[Any]:
    # With its own generator, the loader leaves torch's global one alone.
    return DataLoader(batches, collate_fn=_identity, generator=torch.Generator(), **settings)


class _Batches(Dataset[Any]):
    """Dataset for a DataLoader that asks for whole batches."""

    def __init__(self, read: Callable[[Sequence[Any]], Any], size: int) -> None:
        self.read = read
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitems__(self, indices: Sequence[Any]) -> Any:
        return self.read(indices)


def _identity(batch: Any) -> Any:
    return batch


def leave_signals_to_parent(workers: int) -> Callable[[int], None]:
    """Return an initializer of a DataLoader's workers, which then ignore signals sent to all processes.

    The training process finishes its step and ends the workers, which also notice if it dies. If it exits
    with a DataLoader still alive, multiprocessing would send them SIGTERM and wait forever: an exit handler
    kills them before.

    Args:
        workers: number of processes of the DataLoader.
    """
    pids = RawArray("l", workers)
    Finalize(None, _kill, (pids,), exitpriority=0)
    return partial(_ignore_signals, pids)


def _ignore_signals(pids: Array[c_long], worker: int) -> None:
    pids[worker] = os.getpid()  # first: a process that ignores SIGTERM must be known
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _kill(pids: Array[c_long]) -> None:
    # torch raises an error as it hears of the death of a worker, which would leave the others alive.
    if hasattr(signal, "SIGCHLD"):  # Windows has no such signal
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    workers = set(pids)
    for child in active_children():
        if child.pid in workers:
            child.kill()


@contextmanager
def plain_errors() -> Iterator[None]:
    r"""Raise a worker's ValueError with its own message; torch's message holds the worker's whole traceback.

    Example:
        >>> with plain_errors():
        ...     raise ValueError(f"{CAUGHT} 0.\n  its traceback\nValueError: cat.png is cut off\n")
        Traceback (most recent call last):
            ...
        ValueError: cat.png is cut off
    """
    try:
        yield
    except ValueError as error:
        text = str(error)
        if not text.startswith(CAUGHT):
            raise
        raise ValueError(text.rpartition("\nValueError: ")[2].strip()) from error
