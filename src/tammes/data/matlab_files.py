"""Arrays of numbers in MATLAB's files of version 5, read without code that a damaged file can crash.

SciPy's compiled reader ends the process by a segmentation fault on some damaged files.

Source: MathWorks, MAT-File Format.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tammes.checks import check_file

HEADER = 128
MATRIX, COMPRESSED, SPARSE = 14, 15, 5
COMPLEX = 0x0800
LARGEST = 2**27
"""Most elements of a sparse matrix, which takes 1 GiB as a dense one."""
# Types of stored numbers; those of an array may be smaller than its class says.
STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}


def read_matlab(path: Path, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Return those of the named arrays that are in a MATLAB file, a sparse matrix as a dense array.

    Args:
        path: path of the file, of version 5 (which MATLAB calls 5, 6 and 7), compressed or not.
        names: names of real arrays of numbers.

    Raises:
        ValueError: If the file is not of version 5, is cut off or damaged, or a named array has other
            elements than real numbers.
        OSError: If the file cannot be read.

    Example:
        >>> import tempfile
        >>> from scipy.io import savemat
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     savemat(f"{folder}/a.mat", {"x": np.array([[1.0, 2.0]])})
        ...     read_matlab(Path(folder) / "a.mat", ("x", "y"))
        {'x': array([[1., 2.]])}
    """
    content = check_file(path).read_bytes()
    order = {b"IM": "<", b"MI": ">"}.get(content[HEADER - 2 : HEADER])
    if order is None:
        raise ValueError("it is not a MATLAB file of version 5")
    arrays: dict[str, NDArray[Any]] = {}
    try:
        for kind, element in _elements(content[HEADER:], order):
            if kind == COMPRESSED:
                kind, element = next(_elements(zlib.decompress(element), order))
            if kind == MATRIX:
                matrix = _Matrix.of(element, order)
                if matrix.name in names:
                    arrays[matrix.name] = matrix.values()
    except (struct.error, zlib.error, StopIteration, LookupError, UnicodeDecodeError) as error:
        raise ValueError(f"it is cut off or damaged ({error!r})") from error
    return arrays


def _elements(content: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Yield the type and the bytes of each element: a tag of 8 bytes, the data, zeros to a multiple of 8."""
    place = 0
    while place + 8 <= len(content):
        kind, length = struct.unpack_from(f"{order}II", content, place)
        start, end = place + 8, place + 8 + length
        if kind >> 16:  # a small element: its length is in the upper half, its data are in the tag
            kind, length = kind & 0xFFFF, kind >> 16
            start, end = place + 4, place + 4 + length
            following = place + 8
        else:
            following = end if kind == COMPRESSED else end + -length % 8
        if end > len(content) or end > following:
            raise ValueError("it is cut off or damaged (an element is longer than the file)")
        yield kind, content[start:end]
        place = following


@dataclass(frozen=True, kw_only=True)
class _Matrix:
    """Array in a file.

    Args:
        name: its name.
        kind: its class.
        is_complex: whether it has an imaginary part.
        shape: length of each axis.
        parts: the numbers, in the order of Fortran; of a sparse matrix the rows, the starts of columns, and
            the numbers.
    """

    name: str
    kind: int
    is_complex: bool
    shape: tuple[int, ...]
    parts: tuple[tuple[int, bytes], ...]
    order: str

    @staticmethod
    def of(content: bytes, order: str) -> "_Matrix":
        """Read the class, the shape and the name."""
        (_, flags), (_, shape), (_, name), *parts = _elements(content, order)
        (word,) = struct.unpack_from(f"{order}I", flags)
        return _Matrix(
            name=name.decode("latin-1"),
            kind=word & 0xFF,
            is_complex=bool(word & COMPLEX),
            shape=tuple(np.frombuffer(shape, f"{order}i4").tolist()),
            parts=tuple(parts),
            order=order,
        )

    def values(self) -> NDArray[Any]:
        """Return the numbers as an array."""
        if self.is_complex or self.kind not in (*CLASSES, SPARSE):
            raise ValueError(f"{self.name} is no array of real numbers")
        if len(self.shape) < 2 or min(self.shape) < 0:
            raise ValueError(f"{self.name} has the shape {self.shape}")
        if self.kind == SPARSE:
            return self._dense()
        numbers = self._numbers(0)
        if numbers.size != int(np.prod(self.shape, dtype=object)):
            raise ValueError(f"{self.name} has {numbers.size} numbers and the shape {self.shape}")
        return numbers.astype(CLASSES[self.kind]).reshape(self.shape, order="F")

    def _dense(self) -> NDArray[Any]:
        if int(np.prod(self.shape, dtype=object)) > LARGEST:
            raise ValueError(f"{self.name} has the shape {self.shape}, more than {LARGEST:,} numbers")
        from scipy.sparse import csc_array  # imported late, since few files have such a matrix

        rows, starts, numbers = (self._numbers(part) for part in range(3))
        starts = starts.astype("i8")
        if (np.diff(starts) < 0).any():  # scipy does not check it of a matrix without numbers
            raise ValueError(f"{self.name} has columns that end before they begin")
        used = int(starts[-1])
        matrix = csc_array((numbers[:used].astype("f8"), rows[:used], starts), shape=self.shape)
        matrix.check_format(full_check=True)
        return np.asarray(matrix.toarray())

    def _numbers(self, part: int) -> NDArray[Any]:
        kind, content = self.parts[part]
        return np.frombuffer(content, np.dtype(f"{self.order}{STORED[kind]}"))
