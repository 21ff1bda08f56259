"""Sets of volumes of one size, such as scans: voxels in memory, names, and optional labels and outcomes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float32, Int64
from torch import Tensor
from torch.utils.data import Dataset

from tammes.checks import check_number
from tammes.data.labels import Rows, at_least_two_classes, check_names_and_labels, row_of, rows_of
from tammes.data.outcomes import Outcomes

Size = tuple[int, int, int]
"""Depth, height and width in voxels."""
Window = tuple[float, float]
"""Values that become 0 and 1."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Volumes(Dataset[tuple[Tensor, int]]):
    """Set of n volumes of one size; item i is `(voxels, i)`, the voxels float32 (1, d, h, w) in [0, 1].

    Args:
        voxels: float32 (n, 1, d, h, w) values in [0, 1].
        names: n names, one for each volume.
        labels: (n,) index of each volume's class in `classes`; None without labels.
        classes: names of the classes; None without labels.
        outcomes: outcomes of each volume; None without any.
        window: values of the source that became 0 and 1.
        skipped: names of the files that were found beside the volumes and left out.

    Raises:
        ValueError: If there is no volume, or a voxel is NaN or outside [0, 1]; if the numbers of volumes,
            names, labels and outcomes differ.

    Example:
        >>> volumes = Volumes(voxels=torch.zeros(3, 1, 4, 8, 8), names=("a", "b", "c"))
        >>> volumes
        Volumes(3 volumes, 4x8x8, no labels)
        >>> volumes.subset([2, 0]).names
        ('c', 'a')
    """

    voxels: Float32[Tensor, "n 1 d h w"]
    names: tuple[str, ...]
    labels: Int64[Tensor, " n"] | None = None
    classes: tuple[str, ...] | None = None
    outcomes: Outcomes | None = None
    window: Window = (0.0, 1.0)
    skipped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        shape = tuple(self.voxels.shape)
        if self.voxels.dtype != torch.float32 or len(shape) != 5 or shape[1] != 1 or 0 in shape[2:]:
            raise ValueError(f"expected voxels as float32 (n, 1, d, h, w), got {self.voxels.dtype} {shape}")
        check_names_and_labels(
            len(self), item="volume", names=self.names, labels=self.labels, classes=self.classes
        )
        for row, voxels in enumerate(self.voxels):
            smallest, largest = (float(end) for end in voxels.aminmax())
            if not (smallest >= 0 and largest <= 1):  # true for NaN as well
                raise ValueError(
                    f"expected voxels from 0 to 1, got {smallest:g} to {largest:g} in volume "
                    f"{self.names[row]}: repair it, or scale voxels by `windowed`"
                )
        if self.outcomes is not None and len(self.outcomes) != len(self):
            raise ValueError(f"expected outcomes of {len(self)} volumes, got those of {len(self.outcomes)}")

    @property
    def size(self) -> Size:
        """Depth, height and width in voxels."""
        depth, height, width = self.voxels.shape[2:]
        return depth, height, width

    def __len__(self) -> int:
        return len(self.voxels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        row = row_of(index, len(self))
        return self.voxels[row], row

    def batch(self, indices: Rows) -> Float32[Tensor, "batch 1 d h w"]:
        """Return the voxels of several volumes."""
        return self.voxels[rows_of(indices, len(self))]

    def subset(self, indices: Rows) -> Volumes:
        """Return the volumes with these indices, in this order, renumbered from 0."""
        rows = rows_of(indices, len(self)).tolist()
        return Volumes(
            voxels=self.voxels[rows],
            names=tuple(self.names[row] for row in rows),
            labels=None if self.labels is None else self.labels[rows],
            classes=self.classes,
            outcomes=None if self.outcomes is None else self.outcomes.take(rows),
            window=self.window,
            skipped=self.skipped,
        )

    def required_labels(self) -> Int64[Tensor, " n"]:
        """Return the labels, for uses that need them.

        Raises:
            ValueError: If the volumes have no labels, or all have the same label.
        """
        if self.labels is None:
            raise ValueError(
                "expected labeled volumes, got volumes without labels; add a column of them to the table of "
                "outcomes"
            )
        return at_least_two_classes(self.labels, self.classes, item="volume")

    def __repr__(self) -> str:
        labels = "no labels" if self.classes is None else f"{len(self.classes)} classes"
        return f"Volumes({len(self)} volumes, {'x'.join(map(str, self.size))}, {labels})"


def windowed(voxels: Float32[Tensor, "*shape"], window: Window) -> Float32[Tensor, "*shape"]:
    """Return voxels scaled from a window to [0, 1]; values outside become its ends, as in radiology.

        v  ->  min(max((v - low) / (high - low), 0), 1)

    Args:
        voxels: values in any unit, such as Hounsfield's.
        window: values low and high that become 0 and 1.

    Raises:
        ValueError: If the window is no two finite numbers, the first below the second.

    Example:
        >>> windowed(torch.tensor([-1200.0, -600.0, 400.0]), (-1000.0, 0.0))
        tensor([0.0000, 0.4000, 1.0000])
    """
    low, high = check_window(window)
    return ((voxels - low) / (high - low)).clamp(0, 1)


def check_window(window: Window) -> Window:
    """Return the window if it is two finite numbers, the first below the second.

    Raises:
        ValueError: for another window.

    Example:
        >>> check_window((-1000.0, 0.0))
        (-1000.0, 0.0)
    """
    ends = tuple(window) if isinstance(window, Iterable) else (window,)
    if len(ends) != 2:
        raise ValueError(f"window must be a smaller and a larger value, such as (-1000, 0), got {window!r}")
    low, high = (check_number("window", end) for end in ends)
    if not low < high:
        raise ValueError(f"window must be a smaller and a larger value, got {low:g} to {high:g}")
    return low, high
