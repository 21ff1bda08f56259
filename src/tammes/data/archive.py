"""NumPy archives of named arrays, read with nothing in them run."""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def read_archive(path: Path, names: Sequence[str]) -> dict[str, NDArray]:
    """The named arrays of an `.npz` file.

    Args:
        path: the file.
        names: of the arrays that must be in it; others are not looked at.

    Raises:
        ValueError: If the file cannot be read, is none, lacks a name, or holds a pickled object, which is
            refused: a pickle runs what it likes when it is opened.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(Path(folder) / "a.npz", y=np.arange(3))
        ...     read_archive(Path(folder) / "a.npz", ["y"])["y"].tolist()
        [0, 1, 2]
    """
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise ValueError("it is empty, cut off or of another kind")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in names if name in archive}
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(
            f"expected a whole NumPy archive {path}, got one that cannot be read ({error})"
        ) from error
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ValueError(f"expected {', '.join(names)} in {path}, found no {', '.join(missing)}")
    others = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
    if others:  # NumPy hands on the bytes of what is none of its files
        raise ValueError(f"expected arrays in {path}, got something else as {', '.join(others)}")
    return arrays
