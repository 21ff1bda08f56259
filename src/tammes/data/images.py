"""A set of images of one size: pixels on demand, with labels, classes and names where there are any."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from jaxtyping import Float32, Int64, UInt8
from torch import Tensor
from torch.utils.data import Dataset


class Pixels(Protocol):
    """Where the pixels of images come from, one at a time: a tensor, or files decoded when asked for."""

    @property
    def channels(self) -> int: ...

    @property
    def size(self) -> int: ...

    def __len__(self) -> int: ...

    def __getitem__(self, row: int, /) -> UInt8[Tensor, "channels size size"]:
        """Pixels of one image, uint8 (channels, size, size)."""
        ...

    def take(self, rows: Sequence[int]) -> "Pixels":
        """The pixels of these rows, in this order."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class TensorPixels:
    """Pixels held in memory.

    Args:
        tensor: uint8 (n, channels, size, size), with 1 channel (gray) or 3 (red, green, blue).

    Raises:
        ValueError: If the tensor is anything else.
    """

    tensor: Tensor

    def __post_init__(self) -> None:
        shape = tuple(self.tensor.shape)
        if self.tensor.dtype != torch.uint8:
            raise ValueError(
                f"expected pixels as uint8 from 0 to 255, got {self.tensor.dtype}; "
                "scale them and convert with .to(torch.uint8)"
            )
        if len(shape) != 4 or shape[1] not in (1, 3) or shape[2] != shape[3] or shape[2] == 0:
            raise ValueError(f"expected pixels (n, 1 or 3, size, size), got {shape}")

    @property
    def channels(self) -> int:
        return self.tensor.shape[1]

    @property
    def size(self) -> int:
        return self.tensor.shape[2]

    def __len__(self) -> int:
        return len(self.tensor)

    def __getitem__(self, row: int) -> UInt8[Tensor, "channels size size"]:
        return self.tensor[row]

    def take(self, rows: Sequence[int]) -> "TensorPixels":
        return TensorPixels(self.tensor[list(rows)])


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Images(Dataset[tuple[Tensor, int]]):
    """n square images of one size; item i is `(pixels, i)`, the pixels uint8 (channels, size, size).

    The index comes with the pixels because the objective tells positives from negatives by ids, and an
    image's index is its id.

    Args:
        pixels: where the pixels come from.
        names: a name for each image.
        labels: int64 (n,), each an index into `classes`; None where the images have no labels.
        classes: the names of the classes; None where the images have no labels.
        skipped: the files found beside the images and left out, by name.

    Raises:
        ValueError: If there is no image; if there is not one name and one label for each; if labels come
            without classes, or are no indices into them.

    Example:
        >>> pixels = torch.zeros(3, 1, 8, 8, dtype=torch.uint8)
        >>> images = Images(pixels=TensorPixels(pixels), names=("a", "b", "c"))
        >>> images
        Images(3 images, 1x8x8, no labels)
        >>> images.subset([2, 0]).names
        ('c', 'a')
    """

    pixels: Pixels
    names: tuple[str, ...]
    labels: Int64[Tensor, " n"] | None = None
    classes: tuple[str, ...] | None = None
    skipped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.pixels)
        if n == 0:
            raise ValueError("expected at least one image, got none")
        if len(self.names) != n:
            raise ValueError(f"expected a name for each of {n} images, got {len(self.names)}")
        if (self.labels is None) != (self.classes is None):
            raise ValueError("expected labels and classes together, or neither; got only one of them")
        if self.labels is None or self.classes is None:
            return
        if self.labels.shape != (n,) or self.labels.dtype != torch.int64:
            got = f"{self.labels.dtype} {tuple(self.labels.shape)}"
            raise ValueError(f"expected labels as int64 ({n},), one for each image, got {got}")
        least, most = (int(end) for end in self.labels.aminmax())
        if least < 0 or most >= len(self.classes):
            raise ValueError(
                f"expected labels from 0 to {len(self.classes) - 1}, indices into the classes; "
                f"got labels from {least} to {most}"
            )

    @property
    def channels(self) -> int:
        """1 (gray) or 3 (red, green, blue)."""
        return self.pixels.channels

    @property
    def size(self) -> int:
        """Height and width in pixels."""
        return self.pixels.size

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"expected an index from 0 to {n - 1}, got {index}")
        row = index % n
        return self.pixels[row], row

    def batch(self, indices: Sequence[int]) -> UInt8[Tensor, "batch channels size size"]:
        """Pixels of several images at once, uint8 (len(indices), channels, size, size)."""
        return torch.stack([self[index][0] for index in indices])

    def subset(self, indices: Sequence[int]) -> "Images":
        """These images alone, in this order, numbered anew from 0."""
        rows = [range(len(self))[index] for index in indices]
        return Images(
            pixels=self.pixels.take(rows),
            names=tuple(self.names[row] for row in rows),
            labels=None if self.labels is None else self.labels[rows],
            classes=self.classes,
            skipped=self.skipped,
        )

    def required_labels(self) -> Int64[Tensor, " n"]:
        """The labels, int64 (n,), for work that cannot do without them.

        Raises:
            ValueError: If the images have no labels, or all have the same one.
        """
        if self.labels is None:
            raise ValueError(
                "expected labeled images, got images without labels; "
                "put the images of each class into a folder of its own"
            )
        if bool((self.labels == self.labels[0]).all()):
            assert self.classes is not None
            name = self.classes[int(self.labels[0])]
            raise ValueError(
                f"expected at least two classes of images, got {len(self)} of class {name!r} alone"
            )
        return self.labels

    def __repr__(self) -> str:
        labels = "no labels" if self.classes is None else f"{len(self.classes)} classes"
        return f"Images({len(self)} images, {self.channels}x{self.size}x{self.size}, {labels})"


def as_floats(pixels: UInt8[Tensor, "*shape"]) -> Float32[Tensor, "*shape"]:
    """Pixels as the float32 in [0, 1] that encoders and augmentations take.

    Args:
        pixels: uint8, any shape.

    Raises:
        ValueError: If the pixels are not uint8.

    Example:
        >>> as_floats(torch.tensor([0, 51, 255], dtype=torch.uint8))
        tensor([0.0000, 0.2000, 1.0000])
    """
    if pixels.dtype != torch.uint8:
        raise ValueError(f"expected pixels as uint8 from 0 to 255, got {pixels.dtype}")
    return pixels.to(torch.float32) / 255
