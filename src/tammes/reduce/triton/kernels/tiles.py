# mypy: ignore-errors
# What is written here is compiled by Triton: types are the device's, and Python's checkers know none of them.
"""A tile of S: its entries, its mask, and its product with embeddings."""

from __future__ import annotations

from typing import no_type_check

from tammes.reduce.triton.kernels.compiled import LOG2_E, kernel, tl
from tammes.reduce.triton.kernels.terms import term_value


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
def turned_similarity(
    mine, held, rows, columns, n, d, DEPTH: tl.constexpr, WHOLE: tl.constexpr, PRECISION: tl.constexpr
):
    """Compute a symmetric S on a tile whose first axis is that of the columns."""
    depth = tl.arange(0, DEPTH)
    tile = tl.dot(embeddings(mine, columns, n, depth, d), tl.trans(held), input_precision=PRECISION)
    if not WHOLE:
        for begin in range(DEPTH, d, DEPTH):
            ours = embeddings(mine, rows, n, begin + depth, d)
            theirs = embeddings(mine, columns, n, begin + depth, d)
            tile = tl.dot(theirs, tl.trans(ours), tile, input_precision=PRECISION)
    return tile


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
def first_step(split, steps, splits):
    """Return the first step of a split; the product leaves 32 bits from 500 million columns on."""
    return (split.to(tl.int64) * steps // splits).to(tl.int32)


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
def tickets(anchor_keys, candidates):
    """Return the hashes of subset_sampling.py; the arguments broadcast."""
    return mixed(tl.core.add(mixed(candidates.to(tl.uint32)), anchor_keys, sanitize_overflow=False))


@kernel
@no_type_check
def are_drawn(anchor_keys, last_winners, candidates):
    """Return whether candidates won a place in the anchors' subsets; the arguments broadcast."""
    return tickets(anchor_keys, candidates) <= last_winners


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
def kept_turned(values, columns, m, start, stop, near):
    """Return a tile's values whose first axis is that of the columns, zero where there is no negative."""
    if near:
        values = tl.where(tl.trans(are_negatives(columns, m, start, stop)), values, 0.0)
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
def place_in_strip(top, left, blocks, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Return the block of rows of this program, and its first column, in a strip of `blocks` blocks.

    Programs that run at the same time take the same columns: one axis, since others end at 65,535.
    """
    program = tl.program_id(0)
    return top // ROWS + program % blocks, left + program // blocks * COLUMNS


@kernel
@no_type_check
def store_slopes(out, slopes, rows, columns, top, left, stride):
    """Write out[rows - top, columns - left], in the type of `out`, whose rows have `stride` numbers."""
    here = out + (rows - top).to(tl.int64)[:, None] * stride + (columns - left)[None, :]
    tl.store(here, slopes.to(out.dtype.element_ty), mask=(columns - left)[None, :] < stride)
