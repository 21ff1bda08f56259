# mypy: ignore-errors
# What is written here is compiled by Triton: types are the device's, and Python's checkers know none of them.
"""The kernels of the engine `Triton`: S tile by tile on a GPU.

They stand in one file, longer than others, because Triton compiles a kernel together with the functions that
it calls, and these kernels share most of them. Exponents and their log-sum-exps are in units of log 2
throughout, since a GPU computes powers of two. A tile has ROWS x COLUMNS entries. A program owns the rows of
`mine`, n of them in all, and walks along the columns, rows of `other`, m of them in all. The d features are
taken DEPTH at a time, or at once where WHOLE.
"""

from __future__ import annotations

from typing import no_type_check

from tammes.reduce import terms

try:
    import triton
    from triton import language as tl
except ImportError:  # the engine says so, in words, when it is made
    triton = tl = None


def kernel(function):
    """Return the function for Triton to compile, or as it is where Triton is not installed."""
    return function if triton is None else triton.jit(function)


def constant(value):
    """Return a number that compiled code may read."""
    return value if triton is None else tl.constexpr(value)


LINEAR = constant(terms.Linear.code)
RECTIFIED = constant(terms.Rectified.code)
SOFTENED = constant(terms.Softened.code)
CLIPPED = constant(terms.Clipped.code)
EXPONENTIAL = constant(terms.Exponential.code)
LOG2_E = constant(1.4426950408889634)
NOTHING = constant(float("-inf"))


# --- the pointwise functions of terms.py ---------------------------------------------------------------


@kernel
@no_type_check
def term_value(y, CODE: tl.constexpr, first, second):
    """Return the term of this code, entry by entry."""
    if CODE == LINEAR:
        value = first * y
    elif CODE == RECTIFIED:
        value = tl.maximum(first * y + second, 0.0)
    elif CODE == SOFTENED:
        # softplus(y) = max(y, 0) + log1p(e^{-|y|}). There is no log1p here: log(1 + z) z / ((1 + z) - 1) has
        # its digits back, and where 1 + z rounds to 1 it is z itself.
        small = tl.exp(-tl.abs(y))
        one_more = 1.0 + small
        lost = small / tl.where(one_more == 1.0, 1.0, one_more - 1.0)
        rest = tl.where(one_more == 1.0, small, tl.log(one_more) * lost)
        value = first * (tl.maximum(y, 0.0) + rest)
    elif CODE == CLIPPED:
        value = tl.minimum(tl.maximum(first * y, -second), second)
    else:
        tl.static_assert(CODE == EXPONENTIAL)
        value = second * tl.exp(first - 2.0 * y)
    return value


@kernel
@no_type_check
def term_derivative(y, CODE: tl.constexpr, first, second):
    """Return the derivative of the term of this code."""
    if CODE == LINEAR:
        slope = y * 0.0 + first
    elif CODE == RECTIFIED:
        slope = tl.where(first * y + second > 0.0, first, 0.0)
    elif CODE == SOFTENED:
        slope = first / (1.0 + tl.exp(-y))
    elif CODE == CLIPPED:
        slope = tl.where(tl.abs(first * y) <= second, first, 0.0)
    else:
        tl.static_assert(CODE == EXPONENTIAL)
        slope = -2.0 * second * tl.exp(first - 2.0 * y)
    return slope


# --- tiles of S ----------------------------------------------------------------------------------------


@kernel
@no_type_check
def embeddings(matrix, rows, n, depth, d):
    """Load (rows, depth) of an (n, d) matrix, zero beyond its edges."""
    inside = (rows[:, None] < n) & (depth[None, :] < d)
    return tl.load(matrix + rows.to(tl.int64)[:, None] * d + depth[None, :], mask=inside, other=0.0)


@kernel
@no_type_check
def similarity(
    mine, other, held, rows, columns, n, m, d,
    DEPTH: tl.constexpr, WHOLE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Compute S on a tile; also return the embeddings of its columns where they are loaded whole."""
    depth = tl.arange(0, DEPTH)
    if WHOLE:  # the rows' embeddings are held from tile to tile, and the columns' serve the gradient, too
        theirs = embeddings(other, columns, m, depth, d)
        tile = tl.dot(held, tl.trans(theirs), input_precision=PRECISION)
        return tile, theirs
    else:  # only the first DEPTH features of the rows are held; the others are loaded again for each tile
        tile = tl.dot(held, tl.trans(embeddings(other, columns, m, depth, d)), input_precision=PRECISION)
        for begin in range(DEPTH, d, DEPTH):
            ours = embeddings(mine, rows, n, begin + depth, d)
            theirs = embeddings(other, columns, m, begin + depth, d)
            tile = tl.dot(ours, tl.trans(theirs), tile, input_precision=PRECISION)
        return tile, held


@kernel
@no_type_check
def are_negatives(columns, m, start, stop):
    """Return which entries of a tile are negatives before a subset is drawn."""
    outside = (columns[None, :] < start[:, None]) | (columns[None, :] >= stop[:, None])
    return outside & (columns[None, :] < m)


@kernel
@no_type_check
def owned_rows(block, starts, stops, n, m, ROWS: tl.constexpr):
    """Return the rows of a block, the range of columns that each excludes, and what these ranges span."""
    rows = block * ROWS + tl.arange(0, ROWS)
    # Beyond the edge the empty range [m, 0) leaves the span as it is.
    start = tl.load(starts + rows, mask=rows < n, other=m)
    stop = tl.load(stops + rows, mask=rows < n, other=0)
    return rows, start, stop, tl.min(start, axis=0), tl.max(stop, axis=0)


@kernel
@no_type_check
def is_near(begin, m, lowest, highest, COLUMNS: tl.constexpr):
    """Return whether a tile may hold excluded entries, or meets the edge.

    Keys are sorted, so that most tiles hold negatives alone and need no mask.
    """
    return ((begin < highest) & (begin + COLUMNS > lowest)) | (begin + COLUMNS > m)


@kernel
@no_type_check
def mixed(word):
    """Map a 32-bit word by the bijection of subset_sampling.py."""
    word = tl.core.mul(word ^ (word >> 16), 0x7FEB352D, sanitize_overflow=False)
    word = tl.core.mul(word ^ (word >> 15), 0x846CA68B, sanitize_overflow=False)
    return word ^ (word >> 16)


@kernel
@no_type_check
def are_drawn(anchor_keys, last_winners, candidates):
    """Return whether candidates won a place in the anchors' subsets; the arguments broadcast."""
    tickets = mixed(tl.core.add(mixed(candidates.to(tl.uint32)), anchor_keys, sanitize_overflow=False))
    return tickets <= last_winners


@kernel
@no_type_check
def kept(
    values, instead, columns, m, start, stop, near, drawn,
    SUBSET: tl.constexpr,
):  # fmt: skip
    """Return a tile's values, overwritten where there is no negative; only a `near` tile holds such."""
    if SUBSET:
        values = tl.where(are_negatives(columns, m, start, stop) & drawn, values, instead)
    elif near:
        values = tl.where(are_negatives(columns, m, start, stop), values, instead)
    return values


@kernel
@no_type_check
def words(pointer, index, size):
    """Load 32-bit words that are stored as 64-bit integers."""
    return tl.load(pointer + index, mask=index < size, other=0).to(tl.uint32)


@kernel
@no_type_check
def exponent(s, slope, TILT: tl.constexpr, first, second):
    """Return slope * s + tilt(s), in units of log 2, in which `slope` is given."""
    x = s * slope
    if TILT != 0:
        x += term_value(s, TILT, first, second) * LOG2_E
    return x


# --- log-sum-exps of any range: a running maximum for each row -----------------------------------------


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
    for step in range(split * steps // splits, (split + 1) * steps // splits):  # the columns of this split
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
def along(vector, BY_ROWS: tl.constexpr):
    """Broadcast a number of each row, or of each column, over a tile."""
    if BY_ROWS:
        return vector[:, None]
    else:
        return vector[None, :]


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
def product(slopes, theirs, PRECISION: tl.constexpr, ROUNDED: tl.constexpr):
    """Return slopes @ theirs, in the embeddings' type if ROUNDED, else in float32."""
    if ROUNDED:
        return tl.dot(slopes.to(theirs.dtype), theirs, input_precision=PRECISION)
    else:
        return tl.dot(slopes, theirs.to(tl.float32), input_precision=PRECISION)


@kernel
@no_type_check
def store_gradient(out, gathered, split, rows, n, width, d):
    """Write out[split, rows, width]."""
    inside = (rows[:, None] < n) & (width[None, :] < d)
    here = out + (split.to(tl.int64) * n + rows.to(tl.int64))[:, None] * d + width[None, :]
    tl.store(here, gathered, mask=inside)


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
    """Write out[split, i, :] = sum_j (d loss / d s_ij) other_j: a program for each row, no atomics.

    Where S is symmetric both sides are anchors, and the slopes of s_ij and s_ji are added up.
    """
    rows, start, stop, lowest, highest = owned_rows(tl.program_id(0), starts, stops, n, m, ROWS)
    split = tl.program_id(1)
    # The features of the gradient that this program gathers: registers hold no more than WIDTH of them.
    width = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    held = embeddings(mine, rows, n, tl.arange(0, DEPTH), d)
    gathered = tl.zeros((ROWS, WIDTH), tl.float32)
    steps = tl.cdiv(m, COLUMNS)
    for step in range(split * steps // splits, (split + 1) * steps // splits):  # the columns of this split
        begin = step * COLUMNS
        columns = begin + tl.arange(0, COLUMNS)
        s, theirs = similarity(mine, other, held, rows, columns, n, m, d, DEPTH, WHOLE, PRECISION)
        near = is_near(begin, m, lowest, highest, COLUMNS)
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
        # total is d loss / d S on the tile; what it adds to the gradient of the rows is its product with the
        # columns' embeddings, on the features of this program.
        if not WHOLE:
            theirs = embeddings(other, columns, m, width, d)
        gathered += product(total, theirs, PRECISION, ROUNDED)
    store_gradient(out, gathered, split, rows, n, width, d)


# --- log-sum-exps within a range known beforehand, S symmetric: one exponential for both ways ----------


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
def factor(pointer, index, size, LISTED: tl.constexpr):
    """Return what multiplies the exponentials of a candidate: e^column, or 1."""
    if LISTED:
        return tl.load(pointer + index, mask=index < size, other=0.0)
    else:
        return tl.where(index < size, 1.0, 0.0)


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
        held = embeddings(mine, rows, n, tl.arange(0, DEPTH), d)
        total0 = tl.zeros((ROWS,), tl.float32)
        total1, total2 = total0, total0
        # On the diagonal's square a row of tiles begins at the diagonal.
        first = tl.maximum(block, other_group * blocks_per_group) * ROWS
        for begin in range(first, columns_end, COLUMNS):
            columns = begin + tl.arange(0, COLUMNS)
            s, _ = similarity(mine, mine, held, rows, columns, n, n, d, DEPTH, WHOLE, PRECISION)
            near = is_near(begin, n, lowest, last, COLUMNS)
            base = s
            if SHARES:
                base = tl.exp2(s * base_slope - base_highest)
            # A tile beyond the diagonal stands for its mirror image, too: its column sums are sums of rows.
            mirrored = begin >= (block + 1) * ROWS
            for r in tl.static_range(COUNT):
                e = shared_exponentials(s, r, base, slopes, firsts, seconds, highest, TILTS, POWERS)
                e = kept(e, 0.0, columns, n, start, stop, near, 0, False)
                by_rows = tl.sum(e * factor(factors[r], columns, n, LISTED[r])[None, :], axis=1)
                if r == 0:
                    total0 += by_rows
                elif r == 1:
                    total1 += by_rows
                else:
                    total2 += by_rows
                if mirrored:
                    by_columns = tl.sum(e * factor(factors[r], rows, n, LISTED[r])[:, None], axis=0)
                    tl.atomic_add(columns_out + r * n + columns, by_columns, mask=columns < n, sem="relaxed")
        tl.store(rows_out + rows, total0, mask=rows < n)
        if COUNT > 1:
            tl.store(rows_out + n + rows, total1, mask=rows < n)
        if COUNT > 2:
            tl.store(rows_out + 2 * n + rows, total2, mask=rows < n)


@kernel
@no_type_check
def shared_gradient(
    mine, starts, stops, lefts, slopes, firsts, seconds, highest, base_slope, base_highest, factors, out,
    n, d, splits,
    COUNT: tl.constexpr, TILTS: tl.constexpr, POWERS: tl.constexpr, SHARES: tl.constexpr,
    LISTED: tl.constexpr, MIRRORED: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, WHOLE: tl.constexpr, WIDTH: tl.constexpr,
    PRECISION: tl.constexpr, ROUNDED: tl.constexpr,
):  # fmt: skip
    """Write out[split, i, :] = sum_j t_ij mine_j.

    t_ij = sum_r 2^{x_rij - largest} (left_ri factor_rj + left_rj factor_ri) is d loss / d s_ij and the same
    of s_ji, which are one.

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
        base = s
        if SHARES:
            base = tl.exp2(s * base_slope - base_highest)
        total = tl.zeros_like(s)
        for r in tl.static_range(COUNT):
            e = shared_exponentials(s, r, base, slopes, firsts, seconds, highest, TILTS, POWERS)
            left_rows = tl.load(lefts + r * n + rows, mask=rows < n, other=0.0)[:, None]
            left_columns = tl.load(lefts + r * n + columns, mask=columns < n, other=0.0)[None, :]
            if LISTED[r]:  # s_ij counts for anchor i with the factor of j, and for anchor j with that of i
                factor_rows = factor(factors[r], rows, n, True)[:, None]
                factor_columns = factor(factors[r], columns, n, True)[None, :]
                total += e * (left_rows * factor_columns + left_columns * factor_rows)
            else:
                total += e * (left_rows + left_columns)
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


# --- means of a pointwise term under the weights -------------------------------------------------------


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
    offset = tl.load(offsets + rows * p + q, mask=rows < n, other=0.0)
    if SUBSET:
        key, winner = words(keys, rows, n)[:, None], words(winners, rows, n)[:, None]
    mean = tl.zeros((ROWS,), tl.float32)
    derivative = tl.zeros((ROWS,), tl.float32)
    mass = tl.zeros((ROWS,), tl.float32)
    steps = tl.cdiv(m, COLUMNS)
    for step in range(split * steps // splits, (split + 1) * steps // splits):  # the columns of this split
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
    for q in range(p):
        offset = tl.load(offsets + anchors * p + q, mask=anchors < a, other=0.0)
        gradient = tl.load(gradients + anchors * p + q, mask=anchors < a, other=0.0)
        y = scale * s - along(offset, BY_ROWS)
        change = scale * term_derivative(y, TERM, term_first, term_second)
        if FLOWS:  # d w_ij / d s_ij = w_ij slope_ij, less what the normalization takes back
            mean = tl.load(means + anchors * p + q, mask=anchors < a, other=0.0)
            change += (term_value(y, TERM, term_first, term_second) - along(mean, BY_ROWS)) * steepness
        inner += along(gradient, BY_ROWS) * change
    return tl.exp2(kept(x, NOTHING, columns, m, start, stop, near, drawn, SUBSET)) * inner


@kernel
@no_type_check
def mean_gradient(
    mine, other, starts, stops, keys, winners, log_totals, offsets, means, gradients, bias, slope,
    inner_slope, first, second, scale, term_first, term_second, out, n, m, d, splits, p,
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
    for step in range(split * steps // splits, (split + 1) * steps // splits):  # the columns of this split
        begin = step * COLUMNS
        columns = begin + tl.arange(0, COLUMNS)
        s, theirs = similarity(mine, other, held, rows, columns, n, m, d, DEPTH, WHOLE, PRECISION)
        near = is_near(begin, m, lowest, highest, COLUMNS)
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
        # total is d loss / d S on the tile; what it adds to the gradient of the rows is its product with the
        # columns' embeddings, on the features of this program.
        if not WHOLE:
            theirs = embeddings(other, columns, m, width, d)
        gathered += product(total, theirs, PRECISION, ROUNDED)
    store_gradient(out, gathered, split, rows, n, width, d)


# --- the hardest negative ------------------------------------------------------------------------------


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
    for step in range(split * steps // splits, (split + 1) * steps // splits):  # the columns of this split
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
