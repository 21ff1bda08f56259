# mypy: ignore-errors
# What is written here is compiled by Triton: types are the device's, and Python's checkers know none of them.
"""The pointwise functions of `reduce/terms.py` and their derivatives."""

from __future__ import annotations

from typing import no_type_check

from tammes.reduce import terms
from tammes.reduce.triton.kernels.compiled import constant, kernel, tl

LINEAR = constant(terms.Linear.code)
RECTIFIED = constant(terms.Rectified.code)
SOFTENED = constant(terms.Softened.code)
CLIPPED = constant(terms.Clipped.code)
EXPONENTIAL = constant(terms.Exponential.code)


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
