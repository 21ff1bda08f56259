"""What a diagnosis is given, checked: embeddings, labels, pairs and splits, as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy.typing import NDArray
from torch import Tensor

from tammes.diagnosis.embeddings_file import check_usable
from tammes.diagnosis.labeled import Labels

BLOCK = 65_536


@dataclass(frozen=True, kw_only=True, eq=False)
class Given:
    """Rows to diagnose, and what is known of them.

    Args:
        points: n usable rows in float32, which nothing else uses.
        rows: number of each row in the input.
        labels: class of each row.
        pairs: row numbers of positive pairs.
        splits: split of each row.
        against: the same rows by another encoder.
        columns: columns of the table of rows that come first, such as their names.
        about: what the page says of the input.
    """

    points: Float[Tensor, "n dim"]
    rows: NDArray[np.int64]
    labels: Labels | None = None
    pairs: Int64[Tensor, "pairs 2"] | None = None
    splits: Int64[Tensor, " n"] | None = None
    against: Float[Tensor, "n other"] | None = None
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(
        embeddings: Any,
        *,
        labels: Any = None,
        pairs: Any = None,
        splits: Any = None,
        against: Any = None,
        names: Any = None,
        drop: bool = False,
    ) -> Given:
        """Return what the arguments of `diagnose` give, without the rows that may be dropped.

        Args:
            embeddings: matrix (n, dim) of numbers.
            labels: class of each row.
            pairs: positives: see `as_pairs`.
            splits: split of each row.
            against: matrix (n, other) of numbers.
            names: text of each row.
            drop: whether rows that are not usable are left out instead of refused.

        Raises:
            ValueError: arguments that do not fit.

        Example:
            >>> given = Given.of(torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]), drop=True)
            >>> given.rows.tolist(), given.about
            ([0, 2], {'dropped': '1'})
        """
        points = as_points(embeddings)
        n = len(points)
        other = None if against is None else as_points(against)
        usable = _usable(points, other, drop)
        columns = (
            {"name": _column("names", names, n, may_be_empty=True).astype(str)} if names is not None else {}
        )
        # All of them are checked before any row is left out, so that messages count the rows of the input.
        classes = None if labels is None else as_labels(labels, n)
        groups = None if splits is None else as_splits(splits, n)
        rows = np.nonzero(usable)[0]
        if len(rows) < n:
            if pairs is not None and np.ndim(pairs) == 1 and len(pairs) == n:
                pairs = np.asarray(pairs)[rows]
            points, other = points[rows], None if other is None else other[rows]
            classes = classes and as_labels(np.asarray(classes.names)[classes.index.numpy()[rows]], len(rows))
            groups = None if groups is None else as_splits(groups.numpy()[rows], len(rows))
            columns = {name: values[rows] for name, values in columns.items()}
        return Given(
            # The points are overwritten, and the caller's memory must stay as it is.
            points=points.clone() if _shares(points, embeddings) else points,
            rows=rows,
            labels=classes,
            pairs=None if pairs is None else as_pairs(pairs, len(points), rows, n),
            splits=groups,
            against=other,
            columns=columns,
            about={"dropped": f"{n - len(rows):,}"} if len(rows) < n else {},
        )


def _usable(points: Tensor, other: Tensor | None, drop: bool) -> NDArray[np.bool_]:
    """Return which rows have a direction in both embeddings; the others are refused unless dropped."""
    finite, zero = usable_rows(points)
    check_usable("the embeddings", finite, zero, drop)
    if other is None:
        return finite & ~zero
    if len(other) != len(points):
        raise ValueError(f"expected a second embedding of the same {len(points):,} rows, got {len(other):,}")
    also = usable_rows(other)
    check_usable("the second embedding", *also, drop)
    finite, zero = finite & also[0], zero | also[1]
    check_usable("the two embeddings", finite, zero, drop)
    return finite & ~zero


def _shares(points: Tensor, given: Any) -> bool:
    """Return whether the points are the caller's memory; only those of a tensor may be."""
    return isinstance(given, Tensor) and points.data_ptr() == given.data_ptr()


def as_points(embeddings: Any) -> Float[Tensor, "n dim"]:
    """Return embeddings as a matrix in float32.

    Args:
        embeddings: array or tensor (n, dim) of numbers, or a sequence of rows.

    Raises:
        ValueError: no matrix of numbers, or rows of different length.

    Example:
        >>> as_points([[1, 2], [3]])
        Traceback (most recent call last):
            ...
        ValueError: expected a matrix of numbers (n, dim), got rows of different length
    """
    if isinstance(embeddings, Tensor):
        found = embeddings.detach().cpu()
    else:
        try:
            array = np.asarray(embeddings)
        except ValueError:
            raise ValueError("expected a matrix of numbers (n, dim), got rows of different length") from None
        if array.dtype.kind not in "fiu":
            raise ValueError(f"expected a matrix of numbers (n, dim), got {array.dtype} {array.shape}")
        with np.errstate(over="ignore"):  # an infinity is refused as one
            # A copy: the array may be the memory of a table, read-only, or of a type that torch lacks.
            found = torch.from_numpy(np.array(array, dtype=np.float32, order="C"))
    if found.ndim != 2 or found.shape[0] == 0 or found.shape[1] == 0 or found.is_complex():
        raise ValueError(f"expected a matrix of numbers (n, dim), got {found.dtype} {tuple(found.shape)}")
    return found.to(torch.float32)


def usable_rows(points: Float[Tensor, "n dim"]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows are finite, and which have length zero.

    Args:
        points: n rows.

    Example:
        >>> finite, zero = usable_rows(torch.tensor([[0.0], [float("nan")]]))
        >>> finite.tolist(), zero.tolist()
        ([True, False], [True, False])
    """
    largest = torch.cat([block.abs().amax(dim=1) for block in points.split(BLOCK)])
    return largest.isfinite().numpy(), (largest == 0).numpy()


def as_labels(labels: Sequence[Any] | NDArray[Any] | Tensor, n: int) -> Labels:
    """Return the class of each row.

    Args:
        labels: a number or a text for each row.
        n: number of rows.

    Raises:
        ValueError: another number of labels, rows without one, one class alone, or a class for each row.

    Example:
        >>> as_labels(["cat", "dog", "cat"], 3).index.tolist()
        [0, 1, 0]
    """
    values = _column("labels", labels, n)
    names, index = np.unique(values, return_inverse=True)
    if len(names) < 2:
        raise ValueError(
            f"expected labels of two classes at least, got one alone, {names[0]}: leave them out"
        )
    if len(names) == n:
        raise ValueError(f"expected labels that rows share, got another for each of {n:,} rows")
    return Labels(index=torch.from_numpy(index.astype(np.int64)), names=tuple(str(name) for name in names))


def as_splits(splits: Sequence[Any] | NDArray[Any] | Tensor, n: int) -> Int64[Tensor, " n"]:
    """Return the number of each row's split.

    Args:
        splits: a number or a text for each row, such as `train` and `test`.
        n: number of rows.

    Raises:
        ValueError: another number of splits than rows, rows without one, or one split alone.

    Example:
        >>> as_splits(["train", "test", "train"], 3).tolist()
        [1, 0, 1]
    """
    names, index = np.unique(_column("splits", splits, n), return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"expected two splits at least, got one alone, {names[0]}: leave them out")
    return torch.from_numpy(index.astype(np.int64))


def as_pairs(
    pairs: Sequence[Any] | NDArray[Any] | Tensor,
    n: int,
    rows: NDArray[np.int64] | None = None,
    before: int | None = None,
) -> Int64[Tensor, "pairs 2"]:
    """Return the row numbers of positive pairs, the smaller first, each once.

    Args:
        pairs: for each row the number of its positive, counted from 0, and -1 or nothing for a row without
            one; or a matrix (pairs, 2) of row numbers.
        n: number of rows.
        rows: number that each row had before some were dropped; None if none was.
        before: number of rows before some were dropped; None if none was.

    Raises:
        ValueError: a number that is no row, a row that is its own positive, another number of entries than
            rows, or fewer than two pairs.

    Example:
        >>> as_pairs([1, 0, 3, -1], 4).tolist()
        [[0, 1], [2, 3]]
    """
    array = np.asarray(pairs.detach().cpu().numpy() if isinstance(pairs, Tensor) else pairs)
    if array.ndim == 2 and array.shape[1] == 2:
        found = _numbers(array)
    else:
        partners = _numbers(_column("pairs", array, n, may_miss=True))
        own = np.arange(n) if rows is None else rows
        found = np.stack([own, partners], axis=1)[partners >= 0]
    known = np.arange(n) if rows is None else rows
    last = int(known.max()) if before is None else before - 1
    place = np.full(last + 1, -1)
    place[known] = np.arange(len(known))
    if len(found) and (found.min() < 0 or found.max() > last):
        bad = found[(found < 0).any(axis=1) | (found > last).any(axis=1)][0]
        raise ValueError(
            f"expected pairs of rows from 0 to {last}, got {bad.tolist()}: a row without a positive has -1"
        )
    found = place[found]
    found = found[(found >= 0).all(axis=1)]  # the others were dropped
    if len(found) and (found[:, 0] == found[:, 1]).any():
        row = int(found[found[:, 0] == found[:, 1]][0, 0])
        raise ValueError(f"expected pairs of different rows, got row {row} as its own positive")
    found = np.unique(np.sort(found, axis=1), axis=0)
    if len(found) < 2:
        raise ValueError(f"expected two pairs at least, got {len(found)}")
    return torch.from_numpy(found.astype(np.int64))


def _column(
    name: str, values: Any, n: int, *, may_miss: bool = False, may_be_empty: bool = False
) -> NDArray[Any]:
    """Return a column of as many entries as rows."""
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    if array.shape != (n,):
        got = f"{len(array):,}" if array.ndim == 1 else f"an array {array.shape}"
        raise ValueError(f"expected {name}, one for each of the {n:,} rows, got {got}")
    if array.dtype.kind == "U" and not isinstance(values, np.ndarray):
        array = np.array(values, dtype=object)  # among texts NumPy makes "nan" of NaN
    if may_miss:
        return array
    if array.dtype == object:
        missing = sum(_is_missing(each) or (each == "" and not may_be_empty) for each in array)
    elif array.dtype.kind in "US":
        missing = 0 if may_be_empty else int((np.char.str_len(array) == 0).sum())
    else:
        missing = int((array != array).sum())  # NaN, or a missing time
    if missing:
        raise ValueError(f"expected {name} for all {n:,} rows, got none for {missing:,}: fill them in")
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8")
    return array.astype(str) if array.dtype == object else array


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or the NA of pandas, which has no truth value."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _numbers(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return row numbers; what is missing becomes -1."""
    found = np.array(
        [-1.0 if _is_missing(each) or each == "" else each for each in array.ravel()], dtype=object
    )
    try:
        numbers = found.astype(np.float64)
    except ValueError:
        bad = next(each for each in found if not _is_number(each))
        raise ValueError(f"expected pairs as row numbers from 0, got {str(bad)!r}") from None
    numbers[np.isnan(numbers)] = -1.0  # the text "nan"
    if (numbers != np.floor(numbers)).any():
        raise ValueError("expected pairs as row numbers from 0, got fractions")
    if (np.abs(numbers) > 2**53).any():  # no row has this number, and an integer may not hold it
        raise ValueError(f"expected pairs as row numbers from 0, got {numbers[np.abs(numbers).argmax()]:g}")
    return numbers.astype(np.int64).reshape(array.shape)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
