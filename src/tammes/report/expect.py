"""Checks of the arrays that the page is given, each with a sentence that says what was wrong."""

import numpy as np


def expect_shape(name: str, array: np.ndarray, shape: tuple[int | None, ...]) -> None:
    """Raise unless the array has this shape; None stands for any length."""
    fits = array.ndim == len(shape) and all(
        want is None or got == want for want, got in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = "(" + ", ".join("any" if want is None else str(want) for want in shape) + ")"
        raise ValueError(f"{name} expected shape {wanted}, got {array.shape}")


def expect_finite(name: str, array: np.ndarray) -> None:
    """Raise for NaN or infinity, with the first row that holds one."""
    bad = ~np.isfinite(array)
    if bad.any():
        raise ValueError(
            f"{name} expected finite numbers, got {array[bad][0]} in row {np.argwhere(bad)[0][0]}"
        )


def expect_directions(name: str, vectors: np.ndarray) -> None:
    """Raise for vectors (n, dim) that have no direction: not finite, or of length zero."""
    expect_finite(name, vectors)
    zero = ~vectors.any(axis=1)
    if zero.any():
        raise ValueError(
            f"{name} expected vectors of positive length, got zeros in row {np.argwhere(zero)[0][0]}"
        )
