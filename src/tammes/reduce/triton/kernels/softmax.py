# mypy: ignore-errors
# What is written here is compiled by Triton: types are the device's, and Python's checkers know none of them.
"""What a softmax loss needs besides the two kernels that see a symmetric S.

    excess_i = log Q + log G'_i - l+_i ,        loss_i = log(1 + e^excess_i)

as in `reduce/softmax.py`. One kernel takes what lies between the sums and the loss, and one what lies between
the gradient of unit vectors and that of the views. As operations of torch they would be some 40 launches.
"""

from __future__ import annotations

from typing import no_type_check

from tammes.reduce.triton.kernels.compiled import kernel, tl
from tammes.reduce.triton.kernels.terms import SOFTENED, term_derivative, term_value
from tammes.reduce.triton.kernels.tiles import embeddings


@kernel
@no_type_check
def of_excess(excess, shift, share, LIMIT: tl.constexpr, SHIFTED: tl.constexpr):
    """Return the loss and its derivative, for logits of which a share counts as shifted, or none, or all."""
    if LIMIT:  # without the 1 the loss is the excess itself
        loss = excess + 2.0 * shift * share
        slope = excess * 0.0 + 1.0
    else:
        # Means and floor rise by the shift and the positive falls by it: the excess grows by two shifts.
        loss = term_value(excess, SOFTENED, 1.0, 0.0)
        slope = term_derivative(excess, SOFTENED, 1.0, 0.0)
        if SHIFTED:
            moved = excess + 2.0 * shift
            loss += share * (term_value(moved, SOFTENED, 1.0, 0.0) - loss)
            slope += share * (term_derivative(moved, SOFTENED, 1.0, 0.0) - slope)
    return loss, slope


@kernel
@no_type_check
def softmax_rows(
    sums, values, partners, log_counts, losses, lefts, by_pairs, slopes, inverse_temperature, log_weight,
    log_prior, log_rest, floor, shift, share, n, d, slots,
    COUNT: tl.constexpr, LIVE: tl.constexpr, WEIGHTED: tl.constexpr, LIMIT: tl.constexpr,
    DEBIASED: tl.constexpr, SHIFTED: tl.constexpr, ROWS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Write each anchor's loss, and the derivatives of the mean loss that the gradient is made of.

    From sums[slot, r, i], the parts of sum_j w_ij e^{l_ij} and, with COUNT = 2, of sum_j w_ij: losses[i],
    lefts[r, i] = d loss / d log G_i slope_r / sum_ri for the first LIVE exponents, and by_pairs[i] =
    d loss / d s+_i.
    """
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    here = sums + rows
    total0 = tl.zeros((ROWS,), tl.float32)
    total1 = total0
    for _ in range(slots):
        total0 += tl.load(here, mask=inside, other=1.0)
        if COUNT > 1:
            total1 += tl.load(here + n, mask=inside, other=1.0)
        here += COUNT * n
    partner = tl.load(partners + rows, mask=inside, other=0)
    similarity = tl.zeros((ROWS,), tl.float32)
    for begin in range(0, d, DEPTH):
        depth = begin + tl.arange(0, DEPTH)
        ours, theirs = embeddings(values, rows, n, depth, d), embeddings(values, partner, n, depth, d)
        similarity += tl.sum(ours * theirs, axis=1)
    positive = similarity * inverse_temperature
    log_count = tl.load(log_counts + rows, mask=inside, other=0.0)
    # log(Q / N): zero where Q is the number of negatives, and taken out of no sum to be added again.
    more = positive * 0.0
    if WEIGHTED:
        more += log_weight - log_count
    if COUNT > 1:
        log_mean = tl.log(total0 / total1)
        log_sum = log_mean + log_count
    else:
        log_sum = tl.log(total0)
        log_mean = log_sum - log_count
    left = positive * 0.0 + 1.0
    on_floor = left < 0.0
    if DEBIASED:
        # log (G - tau+ e^{l+}) = log G + log left, with left = 1 - tau+ e^{l+} / G; below zero it has no log.
        left = 1.0 - tl.exp(positive - log_mean + log_prior)
        on_floor = left <= 0.0
        left = tl.where(on_floor, 1.0, left)
        corrected = log_mean + tl.log(left) - log_rest
        on_floor = on_floor | (corrected <= floor)
        log_mean = tl.where(on_floor, floor, corrected)
        log_sum = log_mean + log_count
    excess = log_sum + more - positive
    if LIMIT:
        excess = log_mean - positive
    loss, slope = of_excess(excess, shift, share, LIMIT, SHIFTED)
    # d corrected / d log G = 1 / left = 1 - d corrected / d l+; on the floor neither has a gradient.
    to_negatives = tl.where(on_floor, 0.0, slope / left) / n
    to_positives = tl.where(on_floor, slope / n, to_negatives)
    tl.store(losses + rows, loss, mask=inside)
    tl.store(lefts + rows, to_negatives * slopes[0] / total0, mask=inside)
    if LIVE > 1:
        tl.store(lefts + n + rows, to_negatives * slopes[1] / total1, mask=inside)
    tl.store(by_pairs + rows, -to_positives * inverse_temperature, mask=inside)


@kernel
@no_type_check
def gathered(found, values, partner, by_pair, rows, n, depth, d, width, splits):
    """Return d loss / d z on some features: what all splits have found, and that of both positive entries."""
    result = by_pair[:, None] * embeddings(values, partner, n, depth, d)
    inside = (rows[:, None] < n) & (depth[None, :] < d)
    here = found + rows.to(tl.int64)[:, None] * width + depth[None, :]
    for _ in range(splits):
        result += tl.load(here, mask=inside, other=0.0)
        here += n.to(tl.int64) * width
    return result


@kernel
@no_type_check
def row_gradients(
    found, values, lengths, partners, by_pairs, gradient, out, n, d, width, splits, views,
    UNIT: tl.constexpr, ROWS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Write d loss / d x at out[view, row, :], through z = x / |x| where UNIT.

    d x = (d z - z (z . d z)) / |x|, with d z the sum of found[split, i, :] and of what the positives
    add: s_ip and s_pi are one number, so row i has the gradients of both.
    """
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    partner = tl.load(partners + rows, mask=inside, other=0)
    by_pair = tl.load(by_pairs + rows, mask=inside, other=0.0)
    by_pair += tl.load(by_pairs + partner, mask=inside, other=0.0)
    scale = tl.load(gradient) + tl.zeros((ROWS,), tl.float32)
    along = tl.zeros((ROWS,), tl.float32)
    if UNIT:
        for begin in range(0, d, DEPTH):
            depth = begin + tl.arange(0, DEPTH)
            dz = gathered(found, values, partner, by_pair, rows, n, depth, d, width, splits)
            along += tl.sum(dz * embeddings(values, rows, n, depth, d), axis=1)
        scale = scale / tl.load(lengths + rows, mask=inside, other=1.0)
    # Row i is that of view i % views: the views of a row stand side by side.
    place = (rows % views) * (n // views) + rows // views
    for begin in range(0, d, DEPTH):
        depth = begin + tl.arange(0, DEPTH)
        dx = gathered(found, values, partner, by_pair, rows, n, depth, d, width, splits)
        if UNIT:
            dx -= along[:, None] * embeddings(values, rows, n, depth, d)
        there = out + place.to(tl.int64)[:, None] * d + depth[None, :]
        tl.store(there, dx * scale[:, None], mask=inside[:, None] & (depth[None, :] < d))
