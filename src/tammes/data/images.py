"""Sets of images of one size: pixels on demand, names, and optional labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float32, Int64, UInt8
from torch import Tensor
from torch.utils.data import Dataset

from tammes.data.labels import Labeling, Rows, at_least_two_classes, check_names_and_labels, row_of, rows_of


@runtime_checkable
class Pixels(Protocol):
    """Source of the pixels of images: a tensor, or files that are decoded on demand."""

    @property
    def channels(self) -> int:
        """Number of channels, 1 (gray) or 3 (red, green, blue)."""
        ...

    @property
    def size(self) -> int:
        """Height and width in pixels."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, row: int, /) -> UInt8[Tensor, "channels size size"]:
        """Return the pixels of one image."""
        ...

    def take(self, rows: Sequence[int]) -> "Pixels":
        """Return the pixels of these rows, in this order."""
        ...


@runtime_checkable
class BatchedPixels(Pixels, Protocol):
    """Source that reads several images at once, sooner than one after the other."""

    def batch(self, rows: Sequence[int], /) -> UInt8[Tensor, "batch channels size size"]:
        """Return the pixels of these rows."""
        ...


@runtime_checkable
class ShardedPixels(Pixels, Protocol):
    """Source that is read quickly in the order in which it is stored: archives, streams.

    An epoch takes the shards in random order, and mixes `buffer` images at a time with each other.
    """

    @property
    def shards(self) -> tuple[int, ...]:
        """Number of images of each shard, in the order of the rows."""
        ...

    @property
    def buffer(self) -> int:
        """Number of images that are mixed with each other."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class TensorPixels:
    """Pixels held in memory.

    Args:
        tensor: uint8 (n, channels, size, size) pixels, with 1 channel (gray) or 3 (red, green, blue).

    Raises:
        ValueError: If the tensor has another type or shape.
    """

    tensor: UInt8[Tensor, "n channels size size"]

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
        """Number of channels, 1 (gray) or 3 (red, green, blue)."""
        return self.tensor.shape[1]

    @property
    def size(self) -> int:
        """Height and width in pixels."""
        return self.tensor.shape[2]

    def __len__(self) -> int:
        return len(self.tensor)

    def __getitem__(self, row: int) -> UInt8[Tensor, "channels size size"]:
        return self.tensor[row]

    def batch(self, rows: Sequence[int]) -> UInt8[Tensor, "batch channels size size"]:
        """Return the pixels of these rows."""
        return self.tensor[list(rows)]

    def take(self, rows: Sequence[int]) -> "TensorPixels":
        """Return the pixels of these rows, in this order."""
        return TensorPixels(self.batch(rows))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Images(Dataset[tuple[Tensor, int]]):
    """Set of n square images of one size; item i is `(pixels, i)`, the pixels uint8 (channels, size, size).

    The index comes with the pixels because an image's index is its id, by which the objective tells positives
    from negatives.

    Args:
        pixels: source of the pixels.
        names: n names, one for each image.
        labels: (n,) index of each image's class in `classes`; None without labels.
        classes: names of the classes; None without labels.
        skipped: names of the files that were found beside the images and left out.
        by_feature: labels by each feature, for images that have several: color, shape, texture.

    Raises:
        ValueError: If there is no image; if the numbers of images, names and labels differ; if labels come
            without classes, or are not indices into the classes; likewise the labels by a feature.

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
    by_feature: Mapping[str, Labeling] = field(default_factory=dict)

    def __post_init__(self) -> None:
        usual = () if self.labels is None and self.classes is None else ((self.labels, self.classes),)
        features = ((each.labels, each.classes) for each in self.by_feature.values())
        for labels, classes in (*usual, *features) or ((None, None),):
            check_names_and_labels(
                len(self.pixels), item="image", names=self.names, labels=labels, classes=classes
            )

    @property
    def channels(self) -> int:
        """Number of channels, 1 (gray) or 3 (red, green, blue)."""
        return self.pixels.channels

    @property
    def size(self) -> int:
        """Height and width in pixels."""
        return self.pixels.size

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        row = row_of(index, len(self))
        return self.pixels[row], row

    def batch(self, indices: Rows) -> UInt8[Tensor, "batch channels size size"]:
        """Return the pixels of several images."""
        rows = rows_of(indices, len(self)).tolist()
        if isinstance(self.pixels, BatchedPixels):
            return self.pixels.batch(rows)
        return torch.stack([self.pixels[row] for row in rows])

    def subset(self, indices: Rows) -> "Images":
        """Return the images with these indices, in this order, renumbered from 0."""
        rows = rows_of(indices, len(self)).tolist()
        return Images(
            pixels=self.pixels.take(rows),
            names=tuple(self.names[row] for row in rows),
            labels=None if self.labels is None else self.labels[rows],
            classes=self.classes,
            skipped=self.skipped,
            by_feature={name: labeling.of(rows) for name, labeling in self.by_feature.items()},
        )

    def of_feature(self, name: str) -> "Images":
        """Return the same images with the labels of one of their features.

        Raises:
            ValueError: If the images do not have the feature; the message names those that they have.
        """
        if not self.by_feature:
            raise ValueError(
                f"expected images with several labels for the feature {name!r}, got images with one at "
                "most: leave the feature out"
            )
        if name not in self.by_feature:
            raise ValueError(f"these images have the features {', '.join(self.by_feature)}, got {name!r}")
        labeling = self.by_feature[name]
        return replace(self, labels=labeling.labels, classes=labeling.classes)

    def in_memory(self) -> "Images":
        """Return the same images with their pixels read into memory."""
        return replace(self, pixels=TensorPixels(self.batch(range(len(self)))))

    def required_labels(self) -> Int64[Tensor, " n"]:
        """Return the labels, for uses that need them.

        Raises:
            ValueError: If the images have no labels, or all have the same label.
        """
        if self.labels is None:
            raise ValueError(
                "expected labeled images, got images without labels; "
                "put the images of each class into a separate folder"
            )
        return at_least_two_classes(self.labels, self.classes, item="image")

    def __repr__(self) -> str:
        labels = "no labels" if self.classes is None else f"{len(self.classes)} classes"
        return f"Images({len(self)} images, {self.channels}x{self.size}x{self.size}, {labels})"


def as_floats(pixels: UInt8[Tensor, "*shape"]) -> Float32[Tensor, "*shape"]:
    """Return pixels as float32 in [0, 1], the range that encoders and augmentations take.

    Args:
        pixels: bytes in any shape.

    Raises:
        ValueError: If the pixels are not uint8.

    Example:
        >>> as_floats(torch.tensor([0, 51, 255], dtype=torch.uint8))
        tensor([0.0000, 0.2000, 1.0000])
    """
    if pixels.dtype != torch.uint8:
        raise ValueError(f"expected pixels as uint8 from 0 to 255, got {pixels.dtype}")
    return pixels.to(torch.float32) / 255


def numbered_images(
    split: str,
    pixels: UInt8[Tensor, "n channels size size"],
    labels: Int64[Tensor, " n"],
    classes: Sequence[str],
) -> Images:
    """Return the labeled images of one part of a published set, each named by the part and its row."""
    names = tuple(f"{split} {row}" for row in range(len(pixels)))
    return Images(pixels=TensorPixels(pixels), names=names, labels=labels, classes=tuple(classes))
