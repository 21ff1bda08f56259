"""Checks of numbers (integers, finite numbers, intervals, multiples, seeds), shapes, indices and files.

Every check names the argument, what was expected and what came.
"""

from __future__ import annotations

import difflib
import errno
import math
import os
import stat
from collections.abc import Iterable, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, TypeGuard

LARGEST_SEED = 2**63 - 1
"""Largest random seed, which a signed integer of 64 bits holds."""

MOST_SEEDS = 10_000
"""Most seeds of one study, far more than any has."""


def is_number(value: object) -> TypeGuard[float]:
    """Return whether `value` is a plain real number; infinities are, NaN is not.

    A tensor is not: a part is a constant of the loss, and no gradient would reach it.

    Example:
        >>> is_number(0.5), is_number("0.5"), is_number(True)
        (True, False, False)
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:  # an integer beyond every float
        return False


def is_numeral(text: str | bytes) -> bool:
    """Return whether a word of a file is a number.

    Example:
        >>> is_numeral("1e-3"), is_numeral("one")
        (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_finite(value: object) -> TypeGuard[float]:
    """Return whether `value` is a plain, finite real number.

    Example:
        >>> is_finite(0.5), is_finite(math.inf)
        (True, False)
    """
    return is_number(value) and math.isfinite(value)


def is_integer(value: object, *, minimum: int = 1) -> TypeGuard[int]:
    """Return whether `value` is a plain integer of at least `minimum`.

    Example:
        >>> is_integer(1), is_integer(1.0), is_integer(True), is_integer(0)
        (True, False, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and value >= minimum


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the word of those known that another one may stand for by mistake; None if none is like it.

    Example:
        >>> nearest("simcrl", ["simclr", "dcl"])
        'simclr'
    """
    return next(iter(difflib.get_close_matches(word, list(known), n=1)), None)


def check_integer(name: str, value: object, *, minimum: int = 1, reason: str = "") -> int:
    """Return `value`, an integer of at least `minimum`; anything else raises ValueError.

    Args:
        name: name of the field or argument, for the message.
        value: the value to check.
        minimum: smallest value allowed.
        reason: why smaller values make no sense, for the message.

    Example:
        >>> check_integer("layers", 0)
        Traceback (most recent call last):
            ...
        ValueError: layers must be an integer of at least 1, got 0
    """
    if not is_integer(value, minimum=minimum):
        why = f": {reason}" if reason else ""
        raise ValueError(f"{name} must be an integer of at least {minimum}, got {value!r}{why}")
    return value


def check_seed(name: str, value: object, *, maximum: int = LARGEST_SEED) -> int:
    """Return `value`, a random seed from 0 to `maximum`; anything else raises ValueError.

    Args:
        name: name of the field or argument, for the message.
        value: the value to check.
        maximum: largest seed, 2^63 - 1 by default.

    Example:
        >>> check_seed("seed", -1)
        Traceback (most recent call last):
            ...
        ValueError: seed must be an integer from 0 to 9223372036854775807, got -1
    """
    if not is_integer(value, minimum=0) or value > maximum:
        raise ValueError(f"{name} must be an integer from 0 to {maximum}, got {value!r}")
    return value


def check_seeds(first: int, count: object, *, maximum: int = LARGEST_SEED) -> range:
    """Return the seeds of several runs, `count` of them from `first` on.

    Args:
        first: the first seed.
        count: number of seeds, from 1 to 10,000.
        maximum: largest seed, 2^63 - 1 by default.

    Raises:
        ValueError: If the number is out of range, or a seed is.

    Example:
        >>> check_seeds(7, 3)
        range(7, 10)
    """
    if not is_integer(count) or count > MOST_SEEDS:
        raise ValueError(f"seeds must be an integer from 1 to {MOST_SEEDS}, got {count!r}")
    check_seed("seed", first, maximum=maximum)
    check_seed("the last seed", first + count - 1, maximum=maximum)
    return range(first, first + count)


def check_number(
    name: str,
    value: object,
    *,
    above: float | None = None,
    minimum: float | None = None,
    below: float | None = None,
    maximum: float | None = None,
    reason: str = "",
) -> float:
    """Return `value`, a finite number within the bounds; anything else raises ValueError.

    Args:
        name: name of the field or argument, for the message.
        value: the value to check.
        above: the value must be larger than this.
        minimum: the value must be at least this.
        below: the value must be smaller than this.
        maximum: the value must be at most this.
        reason: why other values make no sense, for the message.

    Example:
        >>> check_number("share", 1.5, above=0, maximum=1)
        Traceback (most recent call last):
            ...
        ValueError: share must be a finite number above 0 and at most 1, got 1.5
    """
    if (
        is_finite(value)
        and (above is None or value > above)
        and (minimum is None or value >= minimum)
        and (below is None or value < below)
        and (maximum is None or value <= maximum)
    ):
        return value
    bounds = (("above", above), ("at least", minimum), ("below", below), ("at most", maximum))
    expected = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
    why = f": {reason}" if reason else ""
    raise ValueError(f"{name} must be a finite number {expected}".rstrip() + f", got {value!r}{why}")


def check_multiple(name: str, value: int, of: str, parts: int) -> None:
    """Raise ValueError unless `value` is a multiple of `parts`.

    Args:
        name: name of the value, for the message.
        value: the value to check.
        of: name of the divisor, for the message.
        parts: the divisor.

    Example:
        >>> check_multiple("width", 6, "heads", 4)
        Traceback (most recent call last):
            ...
        ValueError: expected a width that is a multiple of the heads, got 6 and 4
    """
    if value % parts:
        raise ValueError(f"expected a {name} that is a multiple of the {of}, got {value} and {parts}")


def check_shape(name: str, shape: Sequence[int], expected: Sequence[int | None]) -> None:
    """Raise ValueError unless `shape` is the expected one.

    Args:
        name: name of the tensor or array, for the message.
        shape: its shape.
        expected: length of each axis; None allows any length.

    Example:
        >>> check_shape("weights", (2, 3), (None, 2))
        Traceback (most recent call last):
            ...
        ValueError: weights must have shape (any, 2), got (2, 3)
    """
    fits = len(shape) == len(expected)
    if not fits or any(want not in (None, got) for got, want in zip(shape, expected, strict=True)):
        wanted = str(tuple(expected)).replace("None", "any")
        raise ValueError(f"{name} must have shape {wanted}, got {tuple(shape)}")


def check_finite_rows(name: str, rows: Any) -> None:
    """Raise ValueError for rows of a tensor that hold NaN or infinity.

    Args:
        name: name of the tensor, for the message.
        rows: tensor (n, features).

    Example:
        >>> import torch
        >>> check_finite_rows("features", torch.tensor([[0.0], [math.nan]]))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ValueError: expected finite features, got NaN or infinity in 1 of 2 rows, the first of them row 1; ...
    """
    finite = rows.isfinite().all(dim=1)
    if not finite.all():
        row = int(finite.logical_not().nonzero()[0])
        bad = len(finite) - int(finite.sum())
        raise ValueError(
            f"expected finite {name}, got NaN or infinity in {bad} of {len(finite)} rows, "
            f"the first of them row {row}; an encoder that has diverged gives such {name}"
        )


def check_indices(name: str, indices: Any, count: int) -> None:
    """Raise ValueError unless all integers of a tensor or an array are from 0 to `count` - 1.

    Args:
        name: name of the tensor or array, for the message.
        indices: the integers, in any shape.
        count: number of things that they number.

    Example:
        >>> import numpy as np
        >>> check_indices("labels", np.array([0, 3]), 3)
        Traceback (most recent call last):
            ...
        ValueError: labels must be from 0 to 2, got 0 to 3
    """
    if 0 in indices.shape:
        return
    low, high = int(indices.min()), int(indices.max())
    if low < 0 or high >= count:
        raise ValueError(f"{name} must be from 0 to {count - 1}, got {low} to {high}")


def in_a_line(error: Exception) -> str:
    """Return what an error says in one line, or its type if it says nothing.

    Example:
        >>> in_a_line(ValueError("two  words")), in_a_line(KeyError())
        ('two words', 'KeyError')
    """
    return " ".join(str(error).split()) or type(error).__name__


def check_file(path: Path) -> Path:
    """Return the path of a regular file, or of a link to one.

    Reading a named pipe or a device may never end.

    Raises:
        ValueError: If there is something else at the path, for example a named pipe.
        OSError: If there is nothing or a folder at the path, or its kind cannot be found out.

    Example:
        >>> check_file(Path(os.devnull))
        Traceback (most recent call last):
            ...
        ValueError: expected a regular file at /dev/null, got a device: save the content to a file first
    """
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        return path
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    kind = "a named pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise ValueError(f"expected a regular file at {path}, got {kind}: save the content to a file first")
