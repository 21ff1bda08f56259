# mypy: ignore-errors
# What is written here is compiled by Triton: types are the device's, and Python's checkers know none of them.
"""Log-sum-exps of any range: a running maximum for each row."""

from __future__ import annotations

from typing import no_type_check

from tammes.reduce.triton.kernels.compiled import NOTHING, kernel, tl
from tammes.reduce.triton.kernels.terms import term_derivative
from tammes.reduce.triton.kernels.tiles import (
    along,
    are_drawn,
    embeddings,
    exponent,
    first_step,
    is_near,
    kept,
    owned_rows,
    place_in_strip,
    product,
    similarity,
    store_gradient,
    store_slopes,
    words,
)


@kernel
@no_type_check
def added(largest, total, x):
    """Update each row's running maximum and sum by a tile of exponents."""
    new = tl.maximum(largest, tl.max(x, axis=1))
    # A row with no negative so far has no maximum; any finite shift serves its empty sum.
    shift = tl.where(new == NOTHING, 0.0, new)
    total = total * tl.exp2(largest - shift) + tl.sum(tl.exp2(x - shift[:, None]), axis=1)
    return new, total


@kernel
@no_type_check
def log_sum(largest, total):
    """Return log2 of the sum; an empty sum leaves the maximum, minus infinity."""
    return largest + tl.log2(tl.where(total == 0.0, 1.0, total))


@kernel
@no_type_check
def biased_exponent(
    s, r: tl.constexpr, slopes, firsts, seconds, biases, columns, m, TILTS: tl.constexpr, BIASED: tl.constexpr
):  # fmt: skip
    """Return x on a tile, with the bias of its columns."""
    x = exponent(s, slopes[r], TILTS[r], firsts[r], seconds[r])
    if BIASED[r]:
        x += tl.load(biases[r] + columns, mask=columns < m, other=0.0)[None, :]
    return x


@kernel
@no_type_check
def row_log_sums(
    mine, other, starts, stops, keys, winners, slopes, firsts, seconds, biases, out, n, m, d, splits,
    COUNT: tl.constexpr, TILTS: tl.constexpr, BIASED: tl.constexpr, SUBSET: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, WHOLE: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Write out[split, r, i] = log2 sum_j 2^{x_rij} over the columns of a split; COUNT <= 3 exponents."""
    rows, start, stop, lowest, highest = owned_rows(tl.program_id(0), starts, stops, n, m, ROWS)
    split = tl.program_id(1)
    held = embeddings(mine, rows, n, tl.arange(0, DEPTH), d)
    if SUBSET:
        key, winner = words(keys, rows, n)[:, None], words(winners, rows, n)[:, None]
    # Separate variables for each exponent, since Triton carries no list of tensors through a loop.
    largest0 = tl.full((ROWS,), NOTHING, tl.float32)
    total0 = tl.zeros((ROWS,), tl.float32)
    largest1, total1, largest2, total2 = largest0, total0, largest0, total0
    steps = tl.cdiv(m, COLUMNS)
    for step in range(first_step(split, steps, splits), first_step(split + 1, steps, splits)):
        begin = step * COLUMNS
        columns = begin + tl.arange(0, COLUMNS)
        s, _ = similarity(mine, other, held, rows, columns, n, m, d, DEPTH, WHOLE, PRECISION)
        near = is_near(begin, m, lowest, highest, COLUMNS)
        drawn = near
        if SUBSET:
            drawn = are_drawn(key, winner, columns[None, :])
        x = biased_exponent(s, 0, slopes, firsts, seconds, biases, columns, m, TILTS, BIASED)
        x = kept(x, NOTHING, columns, m, start, stop, near, drawn, SUBSET)
        largest0, total0 = added(largest0, total0, x)
        if COUNT > 1:
            x = biased_exponent(s, 1, slopes, firsts, seconds, biases, columns, m, TILTS, BIASED)
            x = kept(x, NOTHING, columns, m, start, stop, near, drawn, SUBSET)
            largest1, total1 = added(largest1, total1, x)
        if COUNT > 2:
            x = biased_exponent(s, 2, slopes, firsts, seconds, biases, columns, m, TILTS, BIASED)
            x = kept(x, NOTHING, columns, m, start, stop, near, drawn, SUBSET)
            largest2, total2 = added(largest2, total2, x)
    here = out + split.to(tl.int64) * COUNT * n + rows
    tl.store(here, log_sum(largest0, total0), mask=rows < n)
    if COUNT > 1:
        tl.store(here + n, log_sum(largest1, total1), mask=rows < n)
    if COUNT > 2:
        tl.store(here + 2 * n, log_sum(largest2, total2), mask=rows < n)


@kernel
@no_type_check
def log_sum_slopes(
    s, sums, gradients, slopes, inner_slopes, firsts, seconds, biases, anchors, a, candidates, c,
    columns, m, start, stop, near, drawn,
    COUNT: tl.constexpr, TILTS: tl.constexpr, CURVED: tl.constexpr, BIASED: tl.constexpr,
    SUBSET: tl.constexpr, BY_ROWS: tl.constexpr,
):  # fmt: skip
    """Return sum_r gradient_ri slope_rij 2^{x_rij - sum_ri}, the anchors i along the rows or the columns."""
    result = tl.zeros_like(s)
    for r in tl.static_range(COUNT):
        x = exponent(s, slopes[r], TILTS[r], firsts[r], seconds[r])
        if BIASED[r]:
            x += along(tl.load(biases[r] + candidates, mask=candidates < c, other=0.0), not BY_ROWS)
        # Beyond the edge an infinite sum leaves no weight.
        total = tl.load(sums + r * a + anchors, mask=anchors < a, other=float("inf"))
        gradient = tl.load(gradients + r * a + anchors, mask=anchors < a, other=0.0)
        # x - sum <= 0: the share of an entry in its anchor's sum, and nothing where there is no negative.
        x = kept(x - along(total, BY_ROWS), NOTHING, columns, m, start, stop, near, drawn, SUBSET)
        share = tl.exp2(x) * along(gradient, BY_ROWS)
        # d x / d s: the slope, and that of the tilt where the gradient passes through it.
        if CURVED[r]:
            share *= inner_slopes[r] + term_derivative(s, TILTS[r], firsts[r], seconds[r])
        else:
            share *= inner_slopes[r]
        result += share
    return result


@kernel
@no_type_check
def slopes_of_both(
    s, keys, winners, sums, gradients, slopes, inner_slopes, firsts, seconds, biases, rows, n, columns, m,
    start, stop, near,
    COUNT: tl.constexpr, TILTS: tl.constexpr, CURVED: tl.constexpr, BIASED: tl.constexpr,
    SUBSET: tl.constexpr, MINE_ARE_ANCHORS: tl.constexpr, OTHER_ARE_ANCHORS: tl.constexpr,
):  # fmt: skip
    """Return d loss / d S on a tile.

    Where S is symmetric both sides are anchors, and the slopes of s_ij and s_ji are added up.
    """
    total = tl.zeros_like(s)
    drawn = near
    if MINE_ARE_ANCHORS:
        if SUBSET:  # the anchors are the rows: tickets by row
            key, winner = words(keys, rows, n)[:, None], words(winners, rows, n)[:, None]
            drawn = are_drawn(key, winner, columns[None, :])
        total += log_sum_slopes(
            s, sums, gradients, slopes, inner_slopes, firsts, seconds, biases, rows, n, columns, m,
            columns, m, start, stop, near, drawn, COUNT, TILTS, CURVED, BIASED, SUBSET, True,
        )  # fmt: skip
    if OTHER_ARE_ANCHORS:
        if SUBSET:  # the anchors are the columns: tickets by column
            key, winner = words(keys, columns, m)[None, :], words(winners, columns, m)[None, :]
            drawn = are_drawn(key, winner, rows[:, None])
        total += log_sum_slopes(
            s, sums, gradients, slopes, inner_slopes, firsts, seconds, biases, columns, m, rows, n,
            columns, m, start, stop, near, drawn, COUNT, TILTS, CURVED, BIASED, SUBSET, False,
        )  # fmt: skip
    return total


@kernel
@no_type_check
def log_sum_gradient(
    mine, other, starts, stops, keys, winners, sums, gradients, slopes, inner_slopes, firsts, seconds, biases,
    out, n, m, d, splits,
    COUNT: tl.constexpr, TILTS: tl.constexpr, CURVED: tl.constexpr, BIASED: tl.constexpr,
    SUBSET: tl.constexpr, MINE_ARE_ANCHORS: tl.constexpr, OTHER_ARE_ANCHORS: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, WHOLE: tl.constexpr, WIDTH: tl.constexpr,
    PRECISION: tl.constexpr, ROUNDED: tl.constexpr,
):  # fmt: skip
    """Write out[split, i, :] = sum_j (d loss / d s_ij) other_j: a program for each row, no atomics."""
    rows, start, stop, lowest, highest = owned_rows(tl.program_id(0), starts, stops, n, m, ROWS)
    split = tl.program_id(1)
    # The features of the gradient that this program gathers: registers hold no more than WIDTH of them.
    width = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    held = embeddings(mine, rows, n, tl.arange(0, DEPTH), d)
    gathered = tl.zeros((ROWS, WIDTH), tl.float32)
    steps = tl.cdiv(m, COLUMNS)
    for step in range(first_step(split, steps, splits), first_step(split + 1, steps, splits)):
        begin = step * COLUMNS
        columns = begin + tl.arange(0, COLUMNS)
        s, theirs = similarity(mine, other, held, rows, columns, n, m, d, DEPTH, WHOLE, PRECISION)
        total = slopes_of_both(
            s, keys, winners, sums, gradients, slopes, inner_slopes, firsts, seconds, biases, rows, n,
            columns, m, start, stop, is_near(begin, m, lowest, highest, COLUMNS),
            COUNT, TILTS, CURVED, BIASED, SUBSET, MINE_ARE_ANCHORS, OTHER_ARE_ANCHORS,
        )  # fmt: skip
        # What the tile adds to the gradient of the rows is its product with the columns' embeddings, on the
        # features of this program.
        if not WHOLE:
            theirs = embeddings(other, columns, m, width, d)
        gathered += product(total, theirs, PRECISION, ROUNDED)
    store_gradient(out, gathered, split, rows, n, width, d)


@kernel
@no_type_check
def strip_of_log_sum_slopes(
    mine, other, starts, stops, keys, winners, sums, gradients, slopes, inner_slopes, firsts, seconds, biases,
    out, n, m, d, top, left, blocks, stride,
    COUNT: tl.constexpr, TILTS: tl.constexpr, CURVED: tl.constexpr, BIASED: tl.constexpr,
    SUBSET: tl.constexpr, MINE_ARE_ANCHORS: tl.constexpr, OTHER_ARE_ANCHORS: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, WHOLE: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Write d loss / d S of a strip of rows from `top` on, and of the columns from `left` on."""
    block, begin = place_in_strip(top, left, blocks, ROWS, COLUMNS)
    rows, start, stop, lowest, highest = owned_rows(block, starts, stops, n, m, ROWS)
    columns = begin + tl.arange(0, COLUMNS)
    held = embeddings(mine, rows, n, tl.arange(0, DEPTH), d)
    s, _ = similarity(mine, other, held, rows, columns, n, m, d, DEPTH, WHOLE, PRECISION)
    total = slopes_of_both(
        s, keys, winners, sums, gradients, slopes, inner_slopes, firsts, seconds, biases, rows, n,
        columns, m, start, stop, is_near(begin, m, lowest, highest, COLUMNS),
        COUNT, TILTS, CURVED, BIASED, SUBSET, MINE_ARE_ANCHORS, OTHER_ARE_ANCHORS,
    )  # fmt: skip
    store_slopes(out, total, rows, columns, top, left, stride)
