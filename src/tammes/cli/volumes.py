"""Volumes on the command line: scans from files, or synthetic ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tammes.data import Volumes, synthetic_volumes, volumes
from tammes.data.synthetic_volumes import MOST_VOLUMES
from tammes.data.volume_files import holds_volumes
from tammes.data.volumes import Size, Window

SYNTHETIC = "synthetic-volumes"
COUNT = 600
"""Synthetic volumes if no number is given."""


@dataclass(frozen=True, kw_only=True)
class VolumeShape:
    """Size and window to which volumes are scaled.

    Args:
        size: depth, height and width in voxels, or one number for all three; None for those of the files.
        window: values that become 0 and 1; None for the smallest and the largest.
    """

    size: int | Size | None = None
    window: Window | None = None


def are_volumes(data: str) -> bool:
    """Return whether the data are volumes, judged by their name or their files.

    Example:
        >>> are_volumes("synthetic-volumes:100"), are_volumes("scans.npz"), are_volumes("digits")
        (True, True, False)
    """
    return data.partition(":")[0] == SYNTHETIC or holds_volumes(data)


def load_volumes(data: str, shape: VolumeShape, *, label_column: str | None, strict: bool) -> Volumes:
    """Load or draw volumes.

    Args:
        data: a folder, a file, or `synthetic-volumes:N`.
        shape: size and window.
        label_column: column of the outcomes that names the classes; None for `label`.
        strict: whether other files in a folder are an error.

    Raises:
        ValueError: for a number of synthetic volumes that is none, a window or a column of their classes,
            and what `tammes.data.volumes` refuses.
    """
    name, colon, number = data.partition(":")
    if name != SYNTHETIC:
        return volumes(
            Path(data), size=shape.size, window=shape.window, label_column=label_column, strict=strict
        )
    count = COUNT if not colon else int(number) if number.isdecimal() else 0
    if not 1 <= count <= MOST_VOLUMES:
        raise ValueError(
            f"--data {SYNTHETIC}:N expected a number of volumes from 1 to {MOST_VOLUMES:,}, got {data}"
        )
    if shape.window not in (None, (0.0, 1.0)) or label_column is not None:
        raise ValueError(
            "synthetic volumes have densities from 0 to 1 and grades as classes: leave --window and "
            "--label-column out"
        )
    size = shape.size[0] if isinstance(shape.size, tuple) else shape.size
    if isinstance(shape.size, tuple) and len(set(shape.size)) > 1:
        raise ValueError(f"synthetic volumes are cubes, and the run was trained on {shape.size} voxels")
    return synthetic_volumes(count) if size is None else synthetic_volumes(count, size=size)
