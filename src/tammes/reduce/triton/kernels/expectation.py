# mypy: ignore-errors
# What is written here is compiled by Triton: types are the device's, and Python's checkers know none of them.
"""Means of a pointwise term under the weights."""

from __future__ import annotations

from typing import no_type_check

from tammes.reduce.triton.kernels.compiled import NOTHING, kernel, tl
from tammes.reduce.triton.kernels.terms import term_derivative, term_value
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
def row_means(
    mine, other, starts, stops, keys, winners, log_totals, offsets, bias, slope, first, second, scale,
    term_first, term_second, means, derivatives, masses, n, m, d, splits, p,
    TILT: tl.constexpr, BIASED: tl.constexpr, SUBSET: tl.constexpr, TERM: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, WHOLE: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Write sum_j w_ij term(scale s_ij - offset_iq) at [split, i, q], likewise of term', and sum_j w_ij.

    The last is one up to the rounding of log_total, and normalizes the others.

    One program takes one q: with several offsets for each anchor, S is computed for each of them.
    """
    rows, start, stop, lowest, highest = owned_rows(tl.program_id(0), starts, stops, n, m, ROWS)
    split, q = tl.program_id(1), tl.program_id(2)
    held = embeddings(mine, rows, n, tl.arange(0, DEPTH), d)
    log_total = tl.load(log_totals + rows, mask=rows < n, other=float("inf"))
    offset = tl.load(offsets + rows.to(tl.int64) * p + q, mask=rows < n, other=0.0)
    if SUBSET:
        key, winner = words(keys, rows, n)[:, None], words(winners, rows, n)[:, None]
    mean = tl.zeros((ROWS,), tl.float32)
    derivative = tl.zeros((ROWS,), tl.float32)
    mass = tl.zeros((ROWS,), tl.float32)
    steps = tl.cdiv(m, COLUMNS)
    for step in range(first_step(split, steps, splits), first_step(split + 1, steps, splits)):
        begin = step * COLUMNS
        columns = begin + tl.arange(0, COLUMNS)
        s, _ = similarity(mine, other, held, rows, columns, n, m, d, DEPTH, WHOLE, PRECISION)
        near = is_near(begin, m, lowest, highest, COLUMNS)
        drawn = near
        if SUBSET:
            drawn = are_drawn(key, winner, columns[None, :])
        x = exponent(s, slope, TILT, first, second) - log_total[:, None]
        if BIASED:
            x += tl.load(bias + columns, mask=columns < m, other=0.0)[None, :]
        # The weights sum to 1, nearly, so x - log_total <= 0, nearly, and no maximum is needed.
        weight = tl.exp2(kept(x, NOTHING, columns, m, start, stop, near, drawn, SUBSET))
        y = scale * s - offset[:, None]
        mean += tl.sum(weight * term_value(y, TERM, term_first, term_second), axis=1)
        derivative += tl.sum(weight * term_derivative(y, TERM, term_first, term_second), axis=1)
        mass += tl.sum(weight, axis=1)
    here = (split.to(tl.int64) * n + rows) * p + q
    tl.store(means + here, mean, mask=rows < n)
    tl.store(derivatives + here, derivative, mask=rows < n)
    tl.store(masses + here, mass, mask=rows < n)


@kernel
@no_type_check
def mean_slopes(
    s, log_totals, offsets, means, gradients, bias, slope, inner_slope, first, second, scale, term_first,
    term_second, anchors, a, candidates, c, p, columns, m, start, stop, near, drawn,
    TILT: tl.constexpr, CURVED: tl.constexpr, FLOWS: tl.constexpr, BIASED: tl.constexpr, TERM: tl.constexpr,
    SUBSET: tl.constexpr, BY_ROWS: tl.constexpr,
):  # fmt: skip
    """Return w_ij sum_q gradient_iq (scale term' + (term - mean_iq) slope_ij), i by rows or by columns.

    The gradients are divided by the sums of the weights.
    """
    x = exponent(s, slope, TILT, first, second)
    x -= along(tl.load(log_totals + anchors, mask=anchors < a, other=float("inf")), BY_ROWS)
    if BIASED:
        x += along(tl.load(bias + candidates, mask=candidates < c, other=0.0), not BY_ROWS)
    steepness = tl.zeros_like(s) + inner_slope
    if CURVED:
        steepness += term_derivative(s, TILT, first, second)
    inner = tl.zeros_like(s)
    first_offsets = anchors.to(tl.int64) * p  # there may be more than 2^31 offsets
    for q in range(p):
        offset = tl.load(offsets + first_offsets + q, mask=anchors < a, other=0.0)
        gradient = tl.load(gradients + first_offsets + q, mask=anchors < a, other=0.0)
        y = scale * s - along(offset, BY_ROWS)
        change = scale * term_derivative(y, TERM, term_first, term_second)
        if FLOWS:  # d w_ij / d s_ij = w_ij slope_ij, less what the normalization takes back
            mean = tl.load(means + first_offsets + q, mask=anchors < a, other=0.0)
            change += (term_value(y, TERM, term_first, term_second) - along(mean, BY_ROWS)) * steepness
        inner += along(gradient, BY_ROWS) * change
    return tl.exp2(kept(x, NOTHING, columns, m, start, stop, near, drawn, SUBSET)) * inner


@kernel
@no_type_check
def slopes_of_both(
    s, keys, winners, log_totals, offsets, means, gradients, bias, slope, inner_slope, first, second, scale,
    term_first, term_second, rows, n, columns, m, p, start, stop, near,
    TILT: tl.constexpr, CURVED: tl.constexpr, FLOWS: tl.constexpr, BIASED: tl.constexpr, TERM: tl.constexpr,
    SUBSET: tl.constexpr, MINE_ARE_ANCHORS: tl.constexpr, OTHER_ARE_ANCHORS: tl.constexpr,
):  # fmt: skip
    """Return d loss / d S on a tile, as the kernels of running maxima do."""
    total = tl.zeros_like(s)
    drawn = near
    if MINE_ARE_ANCHORS:
        if SUBSET:  # the anchors are the rows: tickets by row
            key, winner = words(keys, rows, n)[:, None], words(winners, rows, n)[:, None]
            drawn = are_drawn(key, winner, columns[None, :])
        total += mean_slopes(
            s, log_totals, offsets, means, gradients, bias, slope, inner_slope, first, second, scale,
            term_first, term_second, rows, n, columns, m, p, columns, m, start, stop, near, drawn,
            TILT, CURVED, FLOWS, BIASED, TERM, SUBSET, True,
        )  # fmt: skip
    if OTHER_ARE_ANCHORS:
        if SUBSET:  # the anchors are the columns: tickets by column
            key, winner = words(keys, columns, m)[None, :], words(winners, columns, m)[None, :]
            drawn = are_drawn(key, winner, rows[:, None])
        total += mean_slopes(
            s, log_totals, offsets, means, gradients, bias, slope, inner_slope, first, second, scale,
            term_first, term_second, columns, m, rows, n, p, columns, m, start, stop, near, drawn,
            TILT, CURVED, FLOWS, BIASED, TERM, SUBSET, False,
        )  # fmt: skip
    return total


@kernel
@no_type_check
def mean_gradient(
    mine, other, starts, stops, keys, winners, log_totals, offsets, means, gradients, bias, slope,
    inner_slope, first, second, scale, term_first, term_second, out, p, n, m, d, splits,
    TILT: tl.constexpr, CURVED: tl.constexpr, FLOWS: tl.constexpr, BIASED: tl.constexpr, TERM: tl.constexpr,
    SUBSET: tl.constexpr, MINE_ARE_ANCHORS: tl.constexpr, OTHER_ARE_ANCHORS: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, WHOLE: tl.constexpr, WIDTH: tl.constexpr,
    PRECISION: tl.constexpr, ROUNDED: tl.constexpr,
):  # fmt: skip
    """Write out[split, i, :] = sum_j (d loss / d s_ij) other_j, as in `log_sum_gradient`."""
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
            s, keys, winners, log_totals, offsets, means, gradients, bias, slope, inner_slope, first, second,
            scale, term_first, term_second, rows, n, columns, m, p, start, stop,
            is_near(begin, m, lowest, highest, COLUMNS),
            TILT, CURVED, FLOWS, BIASED, TERM, SUBSET, MINE_ARE_ANCHORS, OTHER_ARE_ANCHORS,
        )  # fmt: skip
        # What the tile adds to the gradient of the rows is its product with the columns' embeddings, on the
        # features of this program.
        if not WHOLE:
            theirs = embeddings(other, columns, m, width, d)
        gathered += product(total, theirs, PRECISION, ROUNDED)
    store_gradient(out, gathered, split, rows, n, width, d)


@kernel
@no_type_check
def strip_of_mean_slopes(
    mine, other, starts, stops, keys, winners, log_totals, offsets, means, gradients, bias, slope,
    inner_slope, first, second, scale, term_first, term_second, out, p, n, m, d, top, left,
    blocks, stride,
    TILT: tl.constexpr, CURVED: tl.constexpr, FLOWS: tl.constexpr, BIASED: tl.constexpr, TERM: tl.constexpr,
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
        s, keys, winners, log_totals, offsets, means, gradients, bias, slope, inner_slope, first,
        second, scale, term_first, term_second, rows, n, columns, m, p, start, stop,
        is_near(begin, m, lowest, highest, COLUMNS),
        TILT, CURVED, FLOWS, BIASED, TERM, SUBSET, MINE_ARE_ANCHORS, OTHER_ARE_ANCHORS,
    )  # fmt: skip
    store_slopes(out, total, rows, columns, top, left, stride)
