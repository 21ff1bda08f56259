"""The formats that embeddings come in: tables and arrays, each opened and then read in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tammes.checks import check_file

Block = tuple[NDArray[Any], Mapping[str, NDArray[Any]]]
ROWS = 65_536
"""Rows of a block."""
USUAL = ("embedding", "embeddings", "features", "vector", "vectors", "projection", "x")
"""Names of which the first is taken where a file has several matrices."""
SUFFIXES = (".parquet", ".npz", ".npy", ".csv", ".tsv", ".safetensors")
IN_A_RUN = tuple(f"embeddings{suffix}" for suffix in SUFFIXES)


@dataclass(frozen=True, kw_only=True, eq=False)
class Opened:
    """A file of embeddings whose names and sizes are known, and whose rows are not yet read.

    Args:
        path: path of the file.
        name: column or array of the embeddings; of numeric columns, the first and the last.
        dim: length of each embedding.
        count: number of rows; None if it is known at the end only.
        columns: names of the columns beside the embeddings.
        blocks: function that yields blocks of rows with some columns beside them.
        others: what else the file has that is no column, in words.
    """

    path: Path
    name: str
    dim: int
    count: int | None
    columns: tuple[str, ...]
    blocks: Callable[[Sequence[str]], Iterator[Block]]
    others: tuple[str, ...] = ()


def opened(path: Path, vectors: str | None = None, beside: Sequence[str] = ()) -> Opened:
    """Return a file of embeddings, opened by its suffix.

    Args:
        path: path of the file, or folder of a run, which has `embeddings.parquet` or the like.
        vectors: name of the list column or array; None chooses.
        beside: columns of numbers that are no coordinates.

    Raises:
        ValueError: the file has no numeric matrix, or several and none is named, or is none of the formats.

    Example:
        >>> opened(Path("vectors.xlsx"))
        Traceback (most recent call last):
            ...
        ValueError: expected embeddings in .parquet, .npz, .npy, .csv, .tsv, .safetensors, got vectors.xlsx
    """
    if path.is_dir():
        path = _of_run(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"expected embeddings in {', '.join(SUFFIXES)}, got {path}")
    check_file(path)
    if path.suffix.lower() in (".npy", ".npz"):
        return _of_arrays(path, _loaded(path), vectors)
    if path.suffix.lower() == ".safetensors":
        return _safetensors(path, vectors)
    # Packages that read tables are imported for tables only.
    from tammes.diagnosis import tables

    read = tables.parquet if path.suffix.lower() == ".parquet" else tables.comma_separated
    return read(path, vectors, beside)


def chosen(path: Path, matrices: Sequence[str], others: Sequence[str], vectors: str | None) -> str:
    """Return the name of the matrix to take.

    Args:
        path: path of the file, for messages.
        matrices: names of the list columns or two-dimensional arrays.
        others: what else the file has, for messages.
        vectors: name that the user gives; None chooses the only one, or the first of the usual names.

    Raises:
        ValueError: none, several without a usual name, or a name that is none of them.

    Example:
        >>> chosen(Path("e.npz"), ["projection", "features"], [], None)
        'features'
    """
    if vectors is not None:
        if vectors not in matrices:
            raise ValueError(
                f"expected a numeric matrix {vectors} in {path}, which has {some_of(matrices) or 'none'}"
                + (f"; other columns are {some_of(others)}" if others else "")
            )
        return vectors
    if len(matrices) == 1:
        return matrices[0]
    if not matrices:
        raise ValueError(
            f"expected a numeric matrix in {path}: a list column, numeric columns or an array of two "
            f"dimensions; it has {some_of(others) or 'nothing'}"
        )
    usual = [name for name in USUAL if name in matrices]
    if not usual:
        raise ValueError(
            f"{path} has several matrices: name one of them, such as vectors='{matrices[0]}'; "
            f"there is {some_of(matrices)}"
        )
    return usual[0]


def array_of(path: Path, count: int, *, or_pairs: bool = False) -> NDArray[Any]:
    """Return the array of a .npy file, one entry for each row of the embeddings.

    Args:
        path: the file.
        count: number of rows of the embeddings.
        or_pairs: whether it may be a matrix of two columns instead, the row numbers of pairs.

    Raises:
        ValueError: a file without an array of numbers or text, or one of another shape.
    """
    arrays = list(_loaded(check_file(path)).values())  # several, if it is an .npz of another name
    shapes = [array.shape for array in arrays]
    if or_pairs and len(shapes) == 1 and len(shapes[0]) == 2 and shapes[0][1] == 2:
        return np.asarray(arrays[0])
    if shapes != [(count,)]:
        other = ", or two columns with the rows of each pair" if or_pairs else ""
        raise ValueError(
            f"expected one entry in {path} for each of {count:,} rows{other}, got the shape "
            f"{', '.join(map(str, shapes))}"
        )
    return np.asarray(arrays[0])


def some_of(names: Sequence[str]) -> str:
    """Return the first dozen names in words, and how many there are beyond."""
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _of_run(folder: Path) -> Path:
    for name in IN_A_RUN:
        if (folder / name).is_file():
            return folder / name
    raise ValueError(
        f"expected a file of embeddings, or a run that has one, got the folder {folder}: write them first, "
        f"tammes embed {folder} --data DATA --out {folder / IN_A_RUN[0]}"
    )


def _loaded(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a .npy or .npz file by name."""
    try:
        found = np.load(path, mmap_mode="r" if path.suffix.lower() == ".npy" else None, allow_pickle=False)
        return {path.stem: found} if isinstance(found, np.ndarray) else {name: found[name] for name in found}
    except (ValueError, EOFError, OSError, KeyError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"expected NumPy arrays of numbers or text in {path}: {error}") from error


def _of_arrays(path: Path, arrays: Mapping[str, Any], vectors: str | None) -> Opened:
    """Return a matrix among arrays, with the arrays of as many rows as columns beside it."""
    shapes = {name: f"{name} {array.dtype} {tuple(array.shape)}" for name, array in arrays.items()}
    matrices = [
        name
        for name, array in arrays.items()
        if array.ndim == 2 and array.shape[1] > 0 and array.dtype.kind in "fiu"
    ]
    others = [text for name, text in shapes.items() if name not in matrices]
    name = chosen(path, matrices, others, vectors)
    matrix = arrays[name]
    count, dim = matrix.shape
    beside = {each: array for each, array in arrays.items() if array.ndim == 1 and len(array) == count}
    beside |= _named_labels(beside.get("label"), arrays.get("classes"))

    def blocks(columns: Sequence[str]) -> Iterator[Block]:
        for start in range(0, count, ROWS):
            part = slice(start, start + ROWS)
            # A map of the whole file would count as memory of the process: each block has its map.
            rows = np.load(path, mmap_mode="r") if isinstance(matrix, np.memmap) else matrix
            yield rows[part], {each: np.asarray(beside[each][part]) for each in columns}

    unfit = tuple(text for each, text in shapes.items() if each != name and each not in beside)
    return Opened(
        path=path, name=name, dim=dim, count=count, columns=tuple(beside), blocks=blocks, others=unfit
    )


def _named_labels(label: Any, classes: Any) -> dict[str, Any]:
    """Return the names of the classes in place of their numbers, as `tammes embed` keeps both."""
    if label is None or classes is None or label.dtype.kind not in "iu" or classes.dtype.kind != "U":
        return {}
    is_named = classes.ndim == 1 and len(label) > 0 and 0 <= label.min() <= label.max() < len(classes)
    return {"label": classes[label]} if is_named else {}


def _safetensors(path: Path, vectors: str | None) -> Opened:
    from safetensors import SafetensorError, safe_open

    try:
        file: Any = safe_open(path, framework="pt")
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118, no mapping
        shapes = {name: tuple(each.get_shape()) for name, each in slices.items()}
    except SafetensorError as error:
        raise ValueError(f"expected a safetensors file at {path}: {error}") from error
    numeric = [name for name, each in slices.items() if each.get_dtype() != "BOOL"]
    matrices = [name for name in numeric if len(shapes[name]) == 2 and shapes[name][1] > 0]
    others = [f"{name} {shape}" for name, shape in shapes.items() if name not in matrices]
    name = chosen(path, matrices, others, vectors)
    count, dim = shapes[name]
    beside = tuple(each for each in numeric if shapes[each] == (count,))

    def blocks(columns: Sequence[str]) -> Iterator[Block]:
        for start in range(0, count, ROWS):
            end = min(start + ROWS, count)
            part = slices[name][start:end].float().numpy()
            yield part, {each: slices[each][start:end].numpy() for each in columns}

    return Opened(path=path, name=name, dim=dim, count=count, columns=beside, blocks=blocks)
