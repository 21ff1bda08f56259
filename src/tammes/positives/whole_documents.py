"""Batches of whole documents: documents of unequal lengths, packed into batches of at most one size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice

import torch
from jaxtyping import Int64
from torch import Tensor

from tammes.checks import check_integer


def whole_documents(
    lengths: Int64[Tensor, " documents"], *, size: int, shortest: int, seed: int
) -> tuple[Int64[Tensor, " rows"], ...]:
    """Return batches of rows, in each of which documents are whole.

    Documents come in random order, each into the fullest batch that has room for it. So at most one batch is
    not more than half full, which is left out if there are others. A document longer than `size` is cut into
    pieces of `size` rows behind a first one of random length.

    Args:
        lengths: rows of each document; the documents stand one after the other, each in reading order.
        size: rows of the largest batch, at least 3 `shortest`.
        shortest: rows of the shortest piece of a document that is cut.
        seed: random seed of the order and the cuts.

    Raises:
        ValueError: a smaller size.

    Example:
        >>> batches = whole_documents(torch.tensor([2, 3, 2, 1]), size=4, shortest=1, seed=0)
        >>> [batch.tolist() for batch in batches]
        [[0, 1, 5, 6], [2, 3, 4, 7]]
    """
    check_integer(
        "size",
        size,
        minimum=3 * shortest,
        reason=f"a long document is cut into pieces of {shortest} and more",
    )
    generator = torch.Generator().manual_seed(seed)
    pieces = _pieces(lengths, size, shortest, generator)
    starts = pieces.cumsum(0) - pieces
    order = torch.randperm(len(pieces), generator=generator)
    batch_of = torch.tensor(_packed(pieces[order].tolist(), size))
    order = order[batch_of.argsort(stable=True)]
    chosen = pieces[order]
    # A row's place within its piece is the same before and after.
    shifts = (starts[order] - (chosen.cumsum(0) - chosen)).repeat_interleave(chosen)
    rows = torch.arange(len(shifts)) + shifts
    sizes = torch.zeros(int(batch_of.max()) + 1, dtype=torch.int64)
    batches = rows.split(sizes.index_add(0, batch_of.sort().values, chosen).tolist())
    kept = [batch for batch in batches if 2 * len(batch) > size] or list(batches)
    return tuple(kept[each] for each in torch.randperm(len(kept), generator=generator).tolist())


def exactly(batches: Sequence[Tensor], count: int) -> list[Tensor]:
    """Return `count` batches: without the smallest of more, with the first ones again behind fewer.

    Example:
        >>> [len(batch) for batch in exactly([torch.zeros(3), torch.zeros(2), torch.zeros(4)], 2)]
        [3, 4]
        >>> [len(batch) for batch in exactly([torch.zeros(3), torch.zeros(2)], 3)]
        [3, 2, 3]
    """
    by_size = sorted(range(len(batches)), key=lambda each: len(batches[each]), reverse=True)
    return list(islice(cycle([batches[each] for each in sorted(by_size[:count])]), count))


def _pieces(lengths: Tensor, size: int, shortest: int, generator: torch.Generator) -> Tensor:
    """Return the rows of each piece: those of each document, or of each part of a long one."""
    firsts = torch.arange(shortest, size + 1)
    pieces: list[int] = []
    for length in lengths.tolist():
        if length > size:
            rest = (length - firsts) % size
            possible = firsts[(rest == 0) | (rest >= shortest)]
            first = int(possible[torch.randint(len(possible), (), generator=generator)])
            pieces.append(first)
            length -= first
        pieces += [size] * (length // size) + [length % size] * (length % size > 0)
    return torch.tensor(pieces)


def _packed(lengths: Sequence[int], size: int) -> list[int]:
    """Return the batch of each length by best fit: the fullest that has room for it, or a new one."""
    with_room: list[list[int]] = [[] for _ in range(size + 1)]
    rooms = 0  # bit r is set if a batch has room for r more: its lowest set bit is found without a search
    found, count = [], 0
    for length in lengths:
        fitting = rooms >> length
        if fitting:
            room = length + (fitting & -fitting).bit_length() - 1
            batch = with_room[room].pop()
            rooms ^= (not with_room[room]) << room
        else:
            room, batch = size, count
            count += 1
        if room > length:
            with_room[room - length].append(batch)
            rooms |= 1 << (room - length)
        found.append(batch)
    return found
