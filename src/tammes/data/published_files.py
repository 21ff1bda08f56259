"""Published files, read and checked: which part of a set, whole bytes, archives, arrays of numbers.

Every error names the file, says what was expected in it and what came.
"""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tammes.checks import check_file

Split = Literal["train", "test"]
"""The part to train on, or the part to test on."""
Part = Literal["train", "val", "test"]
"""The part to train on, the part to choose settings on, or the part to test on."""
DIGITS = tuple(str(digit) for digit in range(10))
"""Class names of the sets of digits."""


def check_part(name: str, part: str, parts: Any = Split) -> None:
    """Raise ValueError unless `part` is one of the parts of a set.

    Args:
        name: name of the argument, for the message.
        part: the value to check.
        parts: the type of the parts, `Split` or `Part`.

    Example:
        >>> check_part("part", "validation", Part)
        Traceback (most recent call last):
            ...
        ValueError: part must be "train", "val" or "test", got 'validation'
    """
    known = get_args(parts)
    if part not in known:
        *others, last = (f'"{each}"' for each in known)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {part!r}")


def check_classes(
    labels: Sequence[int] | NDArray[Any] | Tensor, classes: int, where: Path | str, advice: str
) -> None:
    """Raise ValueError for a label that is no class, and name its image.

    Args:
        labels: (n,) labels, unsigned.
        classes: number of classes.
        where: name of the file, for the message.
        advice: what to do about a damaged file, for the message.

    Example:
        >>> check_classes([3, 10], 10, "labels.bin", "fetch it again")
        Traceback (most recent call last):
            ...
        ValueError: expected labels from 0 to 9 in labels.bin, got 10 for image 1; fetch it again
    """
    wrong = np.flatnonzero(np.asarray(labels) >= classes)
    if len(wrong):
        row = int(wrong[0])
        got = f"{int(labels[row])} for image {row}"
        raise ValueError(f"expected labels from 0 to {classes - 1} in {where}, got {got}; {advice}")


def only_file(folder: Path, pattern: str) -> Path:
    """Return the one file of a folder that matches a pattern.

    Raises:
        ValueError: If no file or several files match.
    """
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise ValueError(f"expected one file {pattern} in {folder}, found {len(found)}")
    return found[0]


def read_bytes(path: Path, what: str, advice: str = "") -> bytes:
    """Return the content of a file, decompressed if its name ends in `.gz`.

    Args:
        path: path of the file.
        what: what the file should be, for the message.
        advice: what to do about a damaged file, for the message.

    Raises:
        ValueError: If the file cannot be read or decompressed.
    """
    try:
        content = check_file(path).read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise ValueError(f"expected {what} {path}, got one that cannot be read ({error}){advice}") from error


def read_archive(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the named arrays of an `.npz` file without unpickling anything.

    Args:
        path: path of the file.
        names: names of the arrays that must be in the file; other arrays are ignored.

    Raises:
        ValueError: If the file cannot be read, is no `.npz` file, lacks a name, or holds a pickled object.
            Unpickling can run any code, so pickled objects are refused.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(Path(folder) / "a.npz", y=np.arange(3))
        ...     read_archive(Path(folder) / "a.npz", ["y"])["y"].tolist()
        [0, 1, 2]
    """
    try:
        with check_file(path).open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise ValueError("it is empty, cut off or of another kind")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in names if name in archive}
    except Exception as error:  # a damaged file makes NumPy raise errors of any type
        raise ValueError(f"expected a whole NumPy archive {path}, got an unreadable one ({error})") from error
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ValueError(f"expected {', '.join(names)} in {path}, found no {', '.join(missing)}")
    # NumPy returns the raw bytes of a member that is not an .npy file.
    others = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
    if others:
        raise ValueError(f"expected arrays in {path}, got something else as {', '.join(others)}")
    return arrays


def read_tensors(path: Path, *, integers: dict[str, int], floats: dict[str, int]) -> dict[str, Tensor]:
    """Return the named arrays of an `.npz` file as int64 and float64 tensors.

    Args:
        path: path of the file.
        integers: number of dimensions of each array of integers, by name.
        floats: number of dimensions of each array of finite numbers, by name.

    Raises:
        ValueError: If the file cannot be read, or an array is missing, of another type or of another number
            of dimensions.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(Path(folder) / "a.npz", x=[1.0, 2.0], y=[1])
        ...     read_tensors(Path(folder) / "a.npz", integers={"x": 1}, floats={"y": 1})
        {'x': tensor([1, 2]), 'y': tensor([1.], dtype=torch.float64)}
    """
    arrays = read_archive(path, [*integers, *floats])
    tensors = {}
    for expected, convert in ((integers, integer_tensor), (floats, float_tensor)):
        for name, dimensions in expected.items():
            tensors[name] = convert(arrays[name], name=name, file=path, dimensions=dimensions)
    return tensors


def integer_tensor(array: NDArray[Any], *, name: str, file: Path, dimensions: int) -> Tensor:
    """Return an array of integers, stored in any type of numbers, as int64.

    Args:
        array: the array that was read.
        name: name of the array within the file, for the message.
        file: path of the file, for the message.
        dimensions: number of dimensions expected.

    Raises:
        ValueError: If the array holds anything but integers between -2^63 and 2^63, or has another number of
            dimensions.

    Example:
        >>> integer_tensor(np.array([1.0, 2.0]), name="x", file=Path("a.npz"), dimensions=1)
        tensor([1, 2])
    """
    _check_array("integers", array, name, file, dimensions)
    # int64 and float64 have this range in common, and every number of nodes or edges is within it.
    inside = np.abs(array.astype(np.float64)) < 2.0**63
    if not inside.all() or (array.dtype.kind == "f" and (array != np.rint(array)).any()):
        raise ValueError(f"expected integers as {name} in {file}, got fractions, NaN or huge numbers")
    return torch.from_numpy(array.astype(np.int64))


def float_tensor(array: NDArray[Any], *, name: str, file: Path, dimensions: int) -> Tensor:
    """Return an array of finite numbers as float64.

    Args:
        array: the array that was read.
        name: name of the array within the file, for the message.
        file: path of the file, for the message.
        dimensions: number of dimensions expected.

    Raises:
        ValueError: If the array holds anything but finite real numbers, or has another number of dimensions.

    Example:
        >>> float_tensor(np.array([1, 2]), name="y", file=Path("a.npz"), dimensions=1)
        tensor([1., 2.], dtype=torch.float64)
    """
    _check_array("numbers", array, name, file, dimensions)
    if not np.isfinite(array).all():
        raise ValueError(f"expected finite numbers as {name} in {file}, got infinities or NaN")
    return torch.from_numpy(array.astype(np.float64))


def _check_array(what: str, array: NDArray[Any], name: str, file: Path, dimensions: int) -> None:
    if array.dtype.kind not in "biuf":
        raise ValueError(f"expected {what} as {name} in {file}, got an array of type {array.dtype}")
    if array.ndim != dimensions:
        what = f"{what} as {name} in {file}, {dimensions}-dimensional"
        raise ValueError(f"expected {what}, got an array of shape {array.shape}")
