"""Tiles dealt to threads: each thread computes whole tiles by itself, in its core's own cache.

The other way, all threads on one tile, makes them wait for each other dozens of times in a tile, and leaves
all but one idle while Python decides what comes next.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")

_MOST = 8
"""More threads would wait for Python's lock; beyond, each of them uses several for its products."""


def deal(tiles: Sequence[T], device: torch.device) -> list[Sequence[T]]:
    """The tiles in as many equal shares as there should be threads, in their order.

    Args:
        tiles: what there is to do.
        device: where; only a CPU's tiles are shared out.

    Example:
        >>> sum(len(share) for share in deal(range(7), torch.device("cpu")))
        7
    """
    threads = min(_MOST, torch.get_num_threads(), len(tiles)) if device.type == "cpu" else 1
    bounds = [len(tiles) * share // threads for share in range(threads + 1)]
    return [tiles[first:last] for first, last in itertools.pairwise(bounds)]


def in_parallel(work: Callable[[T], R], shares: Sequence[T]) -> list[R]:
    """`work` on each share, in a thread each, without gradient; the results in the order of the shares.

    Args:
        work: must not write where the work on another share does.
        shares: few.

    Example:
        >>> in_parallel(lambda share: sum(share), [[1, 2], [3]])
        [3, 3]
    """
    if len(shares) == 1:
        return [work(shares[0])]

    def without_gradient(share: T) -> R:
        with torch.no_grad():  # known to a thread alone
            return work(share)

    pool = _pool(len(shares), torch.get_num_threads() // len(shares))
    return list(pool.map(without_gradient, shares))


@lru_cache(maxsize=4)
def _pool(threads: int, each: int) -> ThreadPoolExecutor:
    """Threads whose own operations use `each` threads."""
    all_begun = threading.Barrier(threads + 1)

    def begin() -> None:
        torch.get_num_threads()  # the first use in a thread takes over the number of the process
        torch.set_num_threads(each)  # of this thread, and of those that are yet to begin
        all_begun.wait()

    before = torch.get_num_threads()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="tammes", initializer=begin)
    for _ in range(threads):
        pool.submit(int)
    all_begun.wait()
    torch.set_num_threads(before)
    return pool


if hasattr(os, "register_at_fork"):  # there is none on Windows
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive it
