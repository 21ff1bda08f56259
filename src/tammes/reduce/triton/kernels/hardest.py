# mypy: ignore-errors
# What is written here is compiled by Triton: types are the device's, and Python's checkers know none of them.
"""The hardest negative of each row."""

from __future__ import annotations

from typing import no_type_check

from tammes.reduce.triton.kernels.compiled import NOTHING, kernel, tl
from tammes.reduce.triton.kernels.tiles import (
    are_drawn,
    embeddings,
    first_step,
    is_near,
    kept,
    owned_rows,
    similarity,
    words,
)


@kernel
@no_type_check
def row_hardest(
    mine, other, starts, stops, keys, winners, largest_out, where_out, n, m, d, splits,
    SUBSET: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, WHOLE: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Write the largest similarity among the negatives of a split's columns, and the column that has it."""
    rows, start, stop, lowest, highest = owned_rows(tl.program_id(0), starts, stops, n, m, ROWS)
    split = tl.program_id(1)
    held = embeddings(mine, rows, n, tl.arange(0, DEPTH), d)
    if SUBSET:
        key, winner = words(keys, rows, n)[:, None], words(winners, rows, n)[:, None]
    largest = tl.full((ROWS,), NOTHING, tl.float32)
    where = tl.zeros((ROWS,), tl.int32)
    steps = tl.cdiv(m, COLUMNS)
    for step in range(first_step(split, steps, splits), first_step(split + 1, steps, splits)):
        begin = step * COLUMNS
        columns = begin + tl.arange(0, COLUMNS)
        s, _ = similarity(mine, other, held, rows, columns, n, m, d, DEPTH, WHOLE, PRECISION)
        near = is_near(begin, m, lowest, highest, COLUMNS)
        drawn = near
        if SUBSET:
            drawn = are_drawn(key, winner, columns[None, :])
        s = kept(s, NOTHING, columns, m, start, stop, near, drawn, SUBSET)
        value, place = tl.max(s, axis=1, return_indices=True)
        # Strictly larger: of equal ones the first column counts.
        where = tl.where(value > largest, begin + place.to(tl.int32), where)
        largest = tl.maximum(largest, value)
    tl.store(largest_out + split.to(tl.int64) * n + rows, largest, mask=rows < n)
    tl.store(where_out + split.to(tl.int64) * n + rows, where, mask=rows < n)
