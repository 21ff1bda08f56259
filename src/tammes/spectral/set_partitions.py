"""Set partitions: each is one linear map between tensors that does not care for the order of nodes."""

from __future__ import annotations

from collections.abc import Iterator

from tammes.checks import check_integer


def set_partitions(size: int) -> Iterator[tuple[int, ...]]:
    """All partitions of {0, ..., size - 1}, each as the block that every element lies in.

    Blocks are numbered as they appear, so that element 0 lies in block 0, and no two results are the same
    partition. There are as many as the Bell number of the size.

    Args:
        size: how many elements; 0 has one partition, without blocks.

    Raises:
        ValueError: for a size that is not an integer of at least 0.

    Example:
        >>> list(set_partitions(3))
        [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]
    """
    check_integer("size", size, minimum=0)
    return _grown(size, (), 0)


def _grown(missing: int, blocks: tuple[int, ...], used: int) -> Iterator[tuple[int, ...]]:
    """Each next element joins one of the blocks used, or opens another."""
    if missing == 0:
        yield blocks
        return
    for block in range(used + 1):
        yield from _grown(missing - 1, (*blocks, block), max(used, block + 1))


def bell(size: int) -> int:
    """How many partitions a set has.

    Args:
        size: how many elements.

    Raises:
        ValueError: for a size that is not an integer of at least 0.

    Example:
        >>> [bell(size) for size in range(7)]
        [1, 1, 2, 5, 15, 52, 203]
    """
    check_integer("size", size, minimum=0)
    row = [1]
    for _ in range(size):
        following = [row[-1]]
        for number in row:
            following.append(following[-1] + number)
        row = following
    return row[0]
