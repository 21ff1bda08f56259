"""Volumes from files: a folder of NIfTI or NumPy files with a volume each, or one NumPy file with all."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor
from torch.nn.functional import interpolate

from tammes.checks import check_file, check_integer, in_a_line
from tammes.data.listing import files_below, printable, warn_of_skipped
from tammes.data.outcomes import Outcomes, read_outcomes
from tammes.data.volumes import Size, Volumes, Window, check_window, windowed

NIFTI = (".nii", ".nii.gz")
NUMPY = (".npy", ".npz")
OUTCOMES = "outcomes.csv"
"""Table of outcomes that a folder of volumes may have."""
LABEL = "label"
"""Column of the table whose words are the classes, if it has one."""
LARGEST_SIZE = 64
"""Voxels a side up to which volumes keep their size unless another is chosen."""


def holds_volumes(path: str | Path) -> bool:
    """Return whether a path holds volumes, judged by the names of its files.

    Example:
        >>> holds_volumes("scans.npz"), holds_volumes("scan.nii.gz"), holds_volumes("cat.png")
        (True, True, False)
    """
    path = Path(path)
    if not path.is_dir():
        return path.name.lower().endswith(NIFTI + NUMPY)
    return any(_is_volume(name) for name in files_below(path)[0])


def volumes(
    path: str | Path,
    *,
    size: int | Size | None = None,
    window: Window | None = None,
    outcomes: str | Path | None = None,
    label_column: str | None = None,
    strict: bool = False,
) -> Volumes:
    r"""Load volumes into memory, in the order of their names.

    In a folder each file is a volume: NIfTI (.nii, .nii.gz; it needs `pip install 'tammes[volumes]'`), or
    NumPy (.npy, .npz with one array) of shape (d, h, w) or (1, d, h, w). A NIfTI file is turned so that its
    axes run from feet to head, from back to front and from left to right. One NumPy file may hold all: an
    array (n, d, h, w) or (n, 1, d, h, w), and in a .npz perhaps their `name`. Voxels are of any size: the
    spacing that a NIfTI file states is not used.

    A damaged file and a voxel that is NaN or infinite are errors, since a volume may not be left out of a
    table of outcomes. Other files than volumes are left out and counted in one warning.

    Args:
        path: a folder, or one NumPy file.
        size: depth, height and width in voxels to scale each volume to, or one number for all three; None
            keeps them, if all volumes are equally large and have at most 64 voxels a side.
        window: values that become 0 and 1, such as (-1000, 0) in Hounsfield units; values outside become its
            ends. None takes the smallest and the largest voxel of all volumes.
        outcomes: CSV of outcomes; None for `outcomes.csv` in the folder, or the .csv of the same name beside
            a file, if there is one. See `read_outcomes`.
        label_column: column of the outcomes whose words are the classes; None for `label`, if there is one.
        strict: whether other files in the folder are an error.

    Raises:
        ValueError: If there are no volumes, or they differ in size and none is given; if a file is damaged or
            holds NaN; if outcomes do not match; if all voxels have one value.
        ImportError: If there are NIfTI files and nibabel is not installed.

    Warns:
        SkippedFilesWarning: If files were left out; `skipped` of the result has their names.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name, value in (("a", -1000.0), ("b", 0.0)):
        ...         np.save(Path(root) / f"{name}.npy", np.full((4, 8, 8), value))
        ...     _ = Path(root, "outcomes.csv").write_text("id,share\na,0.5\nb,0.25\n")
        ...     loaded = volumes(root)
        >>> loaded, loaded.window, loaded.outcomes.real("share").tolist()
        (Volumes(2 volumes, 4x8x8, no labels), (-1000.0, 0.0), [0.5, 0.25])
    """
    path = Path(path)
    wanted = _size(size)
    if window is not None:
        check_window(window)
    skipped: list[str] = []
    if path.is_dir():
        files, skipped = files_below(path)
        names = [name for name in files if _is_volume(name)]
        skipped += [name for name in files if not _is_volume(name) and name != OUTCOMES]
        if not names:
            raise ValueError(f"expected volumes ({' '.join(NIFTI + NUMPY)}) in {path}, found none")
        found: Iterator[tuple[str, np.ndarray]] = (
            (str(path / name), _volume(_read(path / name), str(path / name))) for name in names
        )
        table = path / OUTCOMES
    else:
        names, arrays = _of_one_file(path)
        found = ((f"{path}, volume {name}", array) for name, array in zip(names, arrays, strict=True))
        table = path.with_suffix(".csv")
    voxels = _stacked(found, wanted)
    warn_of_skipped(
        f"{len(skipped)} of {len(names) + len(skipped)} files in {path} are no volumes",
        skipped,
        strict=strict,
    )
    if window is None:
        low, high = (float(end) for end in voxels.aminmax())
        if low == high:
            raise ValueError(f"all voxels in {path} are {low:g}: there is nothing to see; give a window")
        window = low, high
    shown = printable(names)
    if outcomes is None:
        of_rows = read_outcomes(table, shown) if table.is_file() else None
    else:
        of_rows = read_outcomes(outcomes, shown)
    labels, classes = _labels(of_rows, label_column, path)
    return Volumes(
        voxels=windowed(voxels, window),
        names=shown,
        labels=labels,
        classes=classes,
        outcomes=of_rows,
        window=window,
        skipped=printable(sorted(skipped)),
    )


def _labels(
    outcomes: Outcomes | None, column: str | None, path: Path
) -> tuple[Tensor | None, tuple[str, ...] | None]:
    if outcomes is None:
        if column is not None:
            raise ValueError(f"{path} has no table of outcomes with a column {column}: add {OUTCOMES}")
        return None, None
    if column is None and LABEL not in outcomes.columns:
        return None, None
    return outcomes.classes(LABEL if column is None else column)


def _is_volume(name: str) -> bool:
    return name.lower().endswith(NIFTI + NUMPY)


def _size(size: int | Size | None) -> Size | None:
    if size is None:
        return None
    sides = (size,) * 3 if isinstance(size, int) else tuple(size)
    if len(sides) != 3:
        raise ValueError(f"size must be depth, height and width in voxels, or one number, got {size}")
    depth, height, width = (check_integer("size", side, reason="it is in voxels") for side in sides)
    return depth, height, width


def _read(file: Path) -> np.ndarray:
    """Return the array of a file.

    Raises:
        ValueError: If it is damaged, or holds no numbers, or several arrays.
    """
    try:
        check_file(file)
        if file.name.lower().endswith(NIFTI):
            return _nifti(file)
        arrays = list(_arrays(file).values())
        if len(arrays) != 1:
            raise ValueError(f"expected one array, found {len(arrays)}")
        return arrays[0]
    except ImportError:  # nibabel is missing
        raise
    except Exception as error:  # NumPy and nibabel raise errors of any type for damaged files
        raise ValueError(f"{file} cannot be read as a volume: {in_a_line(error)}") from error


def _arrays(file: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a NumPy file by their names."""
    with check_file(file).open("rb") as stream:
        loaded = np.load(stream, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            return {"volumes": loaded}
        with loaded:
            # NumPy returns the raw bytes of a member that is not an .npy file.
            return {name: np.asarray(loaded[name]) for name in loaded.files}


def _nifti(file: Path) -> np.ndarray:
    """Return a NIfTI volume with axes (feet to head, back to front, left to right)."""
    try:
        nibabel: Any = importlib.import_module("nibabel")
    except ImportError as error:
        raise ImportError(
            f"{file} is a NIfTI file, which needs nibabel: python -m pip install 'tammes[volumes]'"
        ) from error
    image = nibabel.as_closest_canonical(nibabel.load(file))
    kind = image.get_data_dtype()
    if kind.kind not in "iuf":  # colors, or complex numbers, whose imaginary part would be lost
        raise ValueError(f"expected real numbers, got {kind}")
    array = np.asarray(image.dataobj, dtype=np.float32)
    while array.ndim > 3 and array.shape[-1] == 1:
        array = array[..., 0]
    # x y z -> z y x
    return array.transpose(tuple(range(array.ndim))[::-1])


def _of_one_file(file: Path) -> tuple[list[str], Sequence[np.ndarray]]:
    """Return the names and the arrays of a file that holds several volumes."""
    if not file.exists():
        raise ValueError(f"found nothing at {file}")
    if not file.name.lower().endswith(NUMPY):
        raise ValueError(f"expected a folder of volumes, or a file .npy or .npz with all, got {file}")
    try:
        arrays = _arrays(file)
    except Exception as error:  # NumPy raises errors of any type for damaged files
        raise ValueError(f"{file} cannot be read: {in_a_line(error)}") from error
    stacks = {name: array for name, array in arrays.items() if array.ndim in (4, 5)}
    if len(stacks) != 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"
        raise ValueError(
            f"expected one array of volumes (n, d, h, w) or (n, 1, d, h, w) in {file}, got {shapes}"
        )
    (stack,) = stacks.values()
    given = arrays.get("name", np.arange(len(stack))).ravel().tolist()
    names = [name.decode(errors="replace") if isinstance(name, bytes) else str(name) for name in given]
    if len(names) != len(stack):
        raise ValueError(f"expected a name for each of {len(stack)} volumes in {file}, got {len(names)}")
    return names, [_volume(array, f"{file}, volume {name}") for name, array in zip(names, stack, strict=True)]


def _volume(array: np.ndarray, where: str) -> np.ndarray:
    """Return an array (d, h, w) of finite numbers."""
    shape = array.shape
    if array.ndim == 4 and shape[0] == 1:
        array = array[0]
    if array.ndim != 3 or 0 in shape or array.dtype.kind not in "iufb":
        raise ValueError(f"{where}: expected numbers (d, h, w) or (1, d, h, w), got {array.dtype} {shape}")
    values = array.astype(np.float32)
    bad = ~np.isfinite(values)
    if bad.any():
        first = tuple(int(place) for place in np.argwhere(bad)[0])
        raise ValueError(
            f"{where}: {int(bad.sum()):,} of {values.size:,} voxels are NaN or infinite, the first at "
            f"{first}; repair the volume, or remove it"
        )
    return values


def _stacked(found: Iterator[tuple[str, np.ndarray]], size: Size | None) -> Float32[Tensor, "n 1 d h w"]:
    """Return volumes of one size; each is scaled as it is read, so that memory holds small ones."""
    parts: list[Tensor] = []
    first: tuple[str, tuple[int, ...]] | None = None
    for where, array in found:
        first = first or (where, array.shape)
        if size is None and (array.shape != first[1] or max(array.shape) > LARGEST_SIZE):
            other = "" if array.shape == first[1] else f" and {_times(array.shape)} ({where})"
            raise ValueError(
                f"volumes of {_times(first[1])} voxels ({first[0]}){other} need one size of at most "
                f"{LARGEST_SIZE} a side: give a size"
            )
        parts.append(resized(torch.from_numpy(array), size or array.shape))
    if not parts:
        raise ValueError("expected at least one volume, got none")
    return torch.stack(parts)[:, None]


def _times(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def resized(volume: Float32[Tensor, "d h w"], size: Sequence[int]) -> Float32[Tensor, "a b c"]:
    """Return a volume scaled to a size: averaged along axes that shrink, interpolated along those that grow.

    Example:
        >>> resized(torch.arange(4.0).reshape(1, 1, 4), (1, 1, 2))
        tensor([[[0.5000, 2.5000]]])
    """
    shrunk = tuple(min(old, new) for old, new in zip(volume.shape, size, strict=True))
    if shrunk != tuple(volume.shape):
        volume = interpolate(volume[None, None], size=shrunk, mode="area")[0, 0]
    if tuple(size) != shrunk:
        volume = interpolate(volume[None, None], size=tuple(size), mode="trilinear")[0, 0]
    return volume
