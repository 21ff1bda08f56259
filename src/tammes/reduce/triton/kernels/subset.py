# mypy: ignore-errors
# What is written here is compiled by Triton: types are the device's, and Python's checkers know none of them.
"""The k-th smallest ticket of each anchor, which says who belongs to its random subset."""

from __future__ import annotations

from typing import no_type_check

from tammes.reduce.triton.kernels.compiled import kernel, tl
from tammes.reduce.triton.kernels.tiles import tickets


@kernel
@no_type_check
def last_winners(keys, starts, stops, out, m, k, BLOCK: tl.constexpr):
    """Write the k-th smallest ticket among an anchor's negatives, a program for each anchor.

    The ticket is found digit by digit, of 8 bits: among the tickets that begin with the digits found so far,
    a histogram of the next digit says in which bin the k-th of them lies. Tickets are computed once for each
    of the four digits, and never stored.
    """
    anchor = tl.program_id(0)
    key = tl.load(keys + anchor).to(tl.uint32)
    start, stop = tl.load(starts + anchor), tl.load(stops + anchor)
    bins = tl.arange(0, 512)
    found = key * 0  # the digits so far, in their places
    left = tl.zeros((512,), tl.int32) + k  # how many of the tickets that begin with them are still to count
    for place in tl.static_range(4):
        counts = tl.zeros((512,), tl.int32)
        for begin in range(0, m, BLOCK):
            columns = begin + tl.arange(0, BLOCK)
            drawn = tickets(key, columns)
            counted = ((columns < start) | (columns >= stop)) & (columns < m)
            if place > 0:
                counted = counted & ((drawn >> (32 - 8 * place)) == (found >> (32 - 8 * place)))
            next_digits = ((drawn >> (24 - 8 * place)) & 255).to(tl.int32)
            # The last bin is for the rest.
            counts += tl.histogram(tl.where(counted, next_digits, 511), 512)
        up_to = tl.cumsum(counts, axis=0)
        digit = tl.sum(((up_to < left) & (bins < 256)).to(tl.int32), axis=0)
        left -= tl.sum(tl.where(bins < digit, counts, 0), axis=0)
        found = found | (digit.to(tl.uint32) << (24 - 8 * place))
    tl.store(out + anchor, found.to(tl.int64))
