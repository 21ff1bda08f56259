"""Arrays out of files, as tensors: refused where they hold no numbers, or not as many as they should."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy.typing import NDArray
from torch import Tensor


def whole_numbers(array: NDArray, *, name: str, file: Path, dimensions: int) -> Int64[Tensor, ...]:
    """Whole numbers, in int64, of whatever type they are stored in.

    Args:
        array: as it was read.
        name: of it within the file.
        file: where it was read.
        dimensions: that it must have.

    Raises:
        ValueError: For anything but whole numbers between -2^63 and 2^63, and another number of dimensions.

    Example:
        >>> whole_numbers(np.array([1.0, 2.0]), name="x", file=Path("a.npz"), dimensions=1)
        tensor([1, 2])
    """
    _expect("whole numbers", array, name, file, dimensions)
    # Below lie all that int64 and float64 have in common, and every number of nodes or edges.
    inside = np.abs(array.astype(np.float64)) < 2.0**63
    if not inside.all() or (array.dtype.kind == "f" and (array != np.rint(array)).any()):
        raise ValueError(f"expected whole numbers as {name} in {file}, got fractions, NaN or huge numbers")
    return torch.from_numpy(array.astype(np.int64))


def real_numbers(array: NDArray, *, name: str, file: Path, dimensions: int) -> Float[Tensor, ...]:
    """Finite numbers, in float64.

    Args:
        array: as it was read.
        name: of it within the file.
        file: where it was read.
        dimensions: that it must have.

    Raises:
        ValueError: For anything but finite real numbers, and another number of dimensions.

    Example:
        >>> real_numbers(np.array([1, 2]), name="y", file=Path("a.npz"), dimensions=1)
        tensor([1., 2.], dtype=torch.float64)
    """
    _expect("numbers", array, name, file, dimensions)
    if not np.isfinite(array).all():
        raise ValueError(f"expected finite numbers as {name} in {file}, got infinities or NaN")
    return torch.from_numpy(array.astype(np.float64))


def _expect(what: str, array: NDArray, name: str, file: Path, dimensions: int) -> None:
    if array.dtype.kind not in "biuf":
        raise ValueError(f"expected {what} as {name} in {file}, got an array of type {array.dtype}")
    if array.ndim != dimensions:
        raise ValueError(
            f"expected {what} as {name} in {file}, {dimensions}-dimensional, got an array of shape "
            f"{array.shape}"
        )
