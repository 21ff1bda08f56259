"""What counts as a number where a part is made."""

from __future__ import annotations

import math
from numbers import Real
from typing import TypeGuard


def is_number(value: object) -> TypeGuard[float]:
    """Whether `value` is a plain real number; infinities are, NaN is not.

    A tensor is none: a part is a constant of the loss, and no gradient would reach it.

    Example:
        >>> is_number(0.5), is_number("0.5"), is_number(True)
        (True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)


def is_finite(value: object) -> TypeGuard[float]:
    """Whether `value` is a plain real number of finite size.

    Example:
        >>> is_finite(0.5), is_finite(math.inf)
        (True, False)
    """
    return is_number(value) and math.isfinite(value)


def is_whole(value: object, *, least: int = 1) -> TypeGuard[int]:
    """Whether `value` is a plain integer of at least `least`.

    Example:
        >>> is_whole(1), is_whole(1.0), is_whole(True), is_whole(0)
        (True, False, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
