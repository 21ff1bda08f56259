# mypy: ignore-errors
# What is written here is compiled by Triton: types are the device's, and Python's checkers know none of them.
"""Log-sum-exps within a range known beforehand, S symmetric: one exponential for both ways."""

from __future__ import annotations

from typing import no_type_check

from tammes.reduce.triton.kernels.compiled import kernel, tl
from tammes.reduce.triton.kernels.tiles import (
    embeddings,
    exponent,
    is_near,
    kept,
    kept_turned,
    owned_rows,
    place_in_strip,
    product,
    similarity,
    store_gradient,
    store_slopes,
    turned_similarity,
)


@kernel
@no_type_check
def power(u, EXPONENT: tl.constexpr):
    """Return u^EXPONENT by multiplications, which are quicker than another exponential."""
    result = u
    for _ in tl.static_range(EXPONENT - 1):
        result = result * u
    return result


@kernel
@no_type_check
def shared_exponentials(
    s, r: tl.constexpr, base, slopes, firsts, seconds, highest, TILTS: tl.constexpr, POWERS: tl.constexpr
):
    """Return 2^{x_r - largest x_r} on a tile: a power of `base`, or an exponential by itself."""
    if POWERS[r] > 0:
        result = power(base, POWERS[r])
    else:
        result = tl.exp2(exponent(s, slopes[r], TILTS[r], firsts[r], seconds[r]) - highest[r])
    return result


@kernel
@no_type_check
def factor(pointer, index, size):
    """Return what multiplies the exponentials of a candidate: e^column."""
    return tl.load(pointer + index, mask=index < size, other=0.0)


@kernel
@no_type_check
def triangle_sums(
    mine, starts, stops, slopes, firsts, seconds, highest, base_slope, base_highest, factors, out, n, d,
    groups, blocks_per_group,
    COUNT: tl.constexpr, TILTS: tl.constexpr, POWERS: tl.constexpr, SHARES: tl.constexpr,
    LISTED: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, WHOLE: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Write out[slot, r, i] = sum over j of factor_rj 2^{x_rij - largest}, to be added up over the slots.

    S is cut into groups x groups squares, and a program takes one on or above the diagonal. Each slot of a
    row is written by one program alone: rows of square (a, b) go to slot b (of a square on the diagonal to
    the last), columns to slot a. Atomics only order what one program adds: the result is always the same.
    """
    group, other_group = tl.program_id(0), tl.program_id(1)
    if other_group < group:  # below the diagonal: the square above serves both sides
        return
    slot = tl.where(group == other_group, groups, other_group)
    rows_out = out + slot.to(tl.int64) * COUNT * n
    columns_out = out + group.to(tl.int64) * COUNT * n
    rows_end = tl.cdiv(n, ROWS)
    columns_end = tl.minimum((other_group + 1) * blocks_per_group * ROWS, n)
    for block in range(group * blocks_per_group, tl.minimum((group + 1) * blocks_per_group, rows_end)):
        rows, start, stop, lowest, last = owned_rows(block, starts, stops, n, n, ROWS)
        # Rows beyond the edge exclude all columns, whose sums they would else enter.
        beyond = (block + 1) * ROWS > n
        start, stop = tl.where(rows < n, start, 0), tl.where(rows < n, stop, n)
        held = embeddings(mine, rows, n, tl.arange(0, DEPTH), d)
        total0 = tl.zeros((COLUMNS // 16, 8, ROWS), tl.float32)
        total1, total2 = total0, total0
        # On the diagonal's square a row of tiles begins at the diagonal.
        first = tl.maximum(block, other_group * blocks_per_group) * ROWS
        for begin in range(first, columns_end, COLUMNS):
            columns = begin + tl.arange(0, COLUMNS)
            s = turned_similarity(mine, held, rows, columns, n, d, DEPTH, WHOLE, PRECISION)
            near = is_near(begin, n, lowest, last, COLUMNS) | beyond
            base = s
            if SHARES:
                base = kept_turned(tl.exp2(s * base_slope - base_highest), columns, n, start, stop, near)
            # A tile beyond the diagonal stands for its mirror image, too: its column sums are sums of rows.
            mirrored = (columns < n) & (begin >= (block + 1) * ROWS)
            for r in tl.static_range(COUNT):
                e = shared_exponentials(s, r, base, slopes, firsts, seconds, highest, TILTS, POWERS)
                if not SHARES:
                    e = kept_turned(e, columns, n, start, stop, near)
                of_rows, of_columns = e, e
                if LISTED[r]:
                    of_rows = e * factor(factors[r], columns, n)[:, None]
                    of_columns = e * factor(factors[r], rows, n)[None, :]
                by_rows = tl.sum(tl.reshape(of_rows, (COLUMNS // 16, 2, 8, ROWS)), axis=1)
                if r == 0:
                    total0 += by_rows
                elif r == 1:
                    total1 += by_rows
                else:
                    total2 += by_rows
                tl.atomic_add(
                    columns_out + r * n + columns, tl.sum(of_columns, axis=1), mask=mirrored, sem="relaxed"
                )
        tl.store(rows_out + rows, tl.sum(tl.reshape(total0, (COLUMNS // 2, ROWS)), axis=0), mask=rows < n)
        if COUNT > 1:
            tl.store(
                rows_out + n + rows, tl.sum(tl.reshape(total1, (COLUMNS // 2, ROWS)), axis=0), mask=rows < n
            )
        if COUNT > 2:
            tl.store(
                rows_out + 2 * n + rows,
                tl.sum(tl.reshape(total2, (COLUMNS // 2, ROWS)), axis=0),
                mask=rows < n,
            )


@kernel
@no_type_check
def both_lefts(lefts, rows, columns, n):
    """Return left_i + left_j on a tile."""
    of_rows = tl.load(lefts + rows, mask=rows < n, other=0.0)
    of_columns = tl.load(lefts + columns, mask=columns < n, other=0.0)
    return of_rows[:, None] + of_columns[None, :]


@kernel
@no_type_check
def symmetric_slopes(
    s, rows, columns, n, lefts, slopes, firsts, seconds, highest, base_slope, base_highest, factors,
    COUNT: tl.constexpr, TILTS: tl.constexpr, POWERS: tl.constexpr, SHARES: tl.constexpr,
    LISTED: tl.constexpr, SQUARED: tl.constexpr,
):  # fmt: skip
    """Return t_ij = sum_r 2^{x_rij - largest} (left_ri factor_rj + left_rj factor_ri) on a tile.

    It is d loss / d s_ij and the same of s_ji, which are one.
    """
    base = s
    if SHARES:
        base = tl.exp2(s * base_slope - base_highest)
    if SQUARED:  # u^2 a + u b = u (b + u a): a product less
        left = both_lefts(lefts, rows, columns, n)
        total = base * (both_lefts(lefts + n, rows, columns, n) + base * left)
    else:
        total = tl.zeros_like(s)
        for r in tl.static_range(COUNT):
            e = shared_exponentials(s, r, base, slopes, firsts, seconds, highest, TILTS, POWERS)
            if LISTED[r]:  # s_ij counts for anchor i with the factor of j, and for anchor j with that of i
                of_rows = tl.load(lefts + r * n + rows, mask=rows < n, other=0.0)[:, None]
                of_columns = tl.load(lefts + r * n + columns, mask=columns < n, other=0.0)[None, :]
                of_rows *= factor(factors[r], columns, n)[None, :]
                total += e * (of_rows + of_columns * factor(factors[r], rows, n)[:, None])
            else:
                total += e * both_lefts(lefts + r * n, rows, columns, n)
    return total


@kernel
@no_type_check
def shared_gradient(
    mine, starts, stops, lefts, slopes, firsts, seconds, highest, base_slope, base_highest, factors, out,
    n, d, splits,
    COUNT: tl.constexpr, TILTS: tl.constexpr, POWERS: tl.constexpr, SHARES: tl.constexpr,
    LISTED: tl.constexpr, SQUARED: tl.constexpr, MIRRORED: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, WHOLE: tl.constexpr, WIDTH: tl.constexpr,
    PRECISION: tl.constexpr, ROUNDED: tl.constexpr,
):  # fmt: skip
    """Write out[split, i, :] = sum_j t_ij mine_j.

    Without MIRRORED every program computes its row's whole strip of S again: 4 products of 2 N^2 d, and 4
    for the gradient; no atomics, always the same digits. With it only tiles on and above the diagonal are
    computed again, and each serves both its sides: 2 products and 4. But the second half of each tile is
    added to memory by atomics, in an order that varies from run to run.
    """
    rows, start, stop, lowest, last = owned_rows(tl.program_id(0), starts, stops, n, n, ROWS)
    split = tl.program_id(1)
    width = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    held = embeddings(mine, rows, n, tl.arange(0, DEPTH), d)
    gathered = tl.zeros((ROWS, WIDTH), tl.float32)
    before = 0
    if MIRRORED:  # the tiles left of the diagonal are left out
        before = tl.program_id(0) * ROWS // COLUMNS
    steps = tl.cdiv(n, COLUMNS) - before
    for step in range(before + split * steps // splits, before + (split + 1) * steps // splits):
        begin = step * COLUMNS
        columns = begin + tl.arange(0, COLUMNS)
        s, theirs = similarity(mine, mine, held, rows, columns, n, n, d, DEPTH, WHOLE, PRECISION)
        near = is_near(begin, n, lowest, last, COLUMNS)
        total = symmetric_slopes(
            s, rows, columns, n, lefts, slopes, firsts, seconds, highest, base_slope, base_highest, factors,
            COUNT, TILTS, POWERS, SHARES, LISTED, SQUARED,
        )  # fmt: skip
        total = kept(total, 0.0, columns, n, start, stop, near, 0, False)
        if not WHOLE:
            theirs = embeddings(mine, columns, n, width, d)
        gathered += product(total, theirs, PRECISION, ROUNDED)
        if MIRRORED:  # noqa: SIM102 - decided when the kernel is compiled; the next one when it runs
            if begin >= (tl.program_id(0) + 1) * ROWS:
                # The gradient of the tile's columns: its transpose times the rows' embeddings.
                ours = embeddings(mine, rows, n, width, d)
                turned = product(tl.trans(total), ours, PRECISION, ROUNDED)
                there = out + columns.to(tl.int64)[:, None] * d + width[None, :]
                inside = (columns[:, None] < n) & (width[None, :] < d)
                tl.atomic_add(there, turned, mask=inside, sem="relaxed")
    if MIRRORED:
        inside = (rows[:, None] < n) & (width[None, :] < d)
        here = out + rows.to(tl.int64)[:, None] * d + width[None, :]
        tl.atomic_add(here, gathered, mask=inside, sem="relaxed")
    else:
        store_gradient(out, gathered, split, rows, n, width, d)


@kernel
@no_type_check
def strip_of_slopes(
    mine, starts, stops, lefts, slopes, firsts, seconds, highest, base_slope, base_highest, factors, out,
    n, d, top, blocks, stride,
    COUNT: tl.constexpr, TILTS: tl.constexpr, POWERS: tl.constexpr, SHARES: tl.constexpr,
    LISTED: tl.constexpr, SQUARED: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, WHOLE: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Write t_ij of a strip of rows, and of all columns, from `top` on, in the type of `out`.

    `top` is a multiple of ROWS and of COLUMNS. `out` has `stride` numbers a row, and a row for each row of
    the strip, the last block's in full.
    """
    block, begin = place_in_strip(top, top, blocks, ROWS, COLUMNS)
    rows, start, stop, lowest, last = owned_rows(block, starts, stops, n, n, ROWS)
    columns = begin + tl.arange(0, COLUMNS)
    held = embeddings(mine, rows, n, tl.arange(0, DEPTH), d)
    s, _ = similarity(mine, mine, held, rows, columns, n, n, d, DEPTH, WHOLE, PRECISION)
    near = is_near(begin, n, lowest, last, COLUMNS)
    total = symmetric_slopes(
        s, rows, columns, n, lefts, slopes, firsts, seconds, highest, base_slope, base_highest, factors,
        COUNT, TILTS, POWERS, SHARES, LISTED, SQUARED,
    )  # fmt: skip
    total = kept(total, 0.0, columns, n, start, stop, near, 0, False)
    store_slopes(out, total, rows, columns, top, top, stride)
