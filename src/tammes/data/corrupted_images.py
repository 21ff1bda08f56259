"""Images that are corrupted when they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import UInt8
from torch import Tensor

from tammes.checks import check_seed
from tammes.data.corruptions import Corruption, check_severity, corruption
from tammes.data.images import Images, Pixels


def corrupted(images: Images, name: str, *, severity: int, seed: int = 0) -> Images:
    """Return images that are corrupted when they are read.

    Args:
        images: images of any source.
        name: name of a corruption in `CORRUPTIONS`.
        severity: severity, from 1 to 5.
        seed: random seed.

    Raises:
        ValueError: an unknown name; another severity; a seed out of its range.

    Example:
        >>> from tammes.data import digits
        >>> images = corrupted(digits("test"), "gaussian-noise", severity=3)
        >>> images, images.pixels.batch([0]).shape
        (Images(360 images, 1x8x8, 10 classes), torch.Size([1, 1, 8, 8]))
    """
    check_severity(severity)
    check_seed("seed", seed)
    pixels = CorruptedPixels(
        source=images.pixels,
        rows=tuple(range(len(images))),
        corruption=corruption(name),
        severity=severity,
        seed=seed,
    )
    return replace(images, pixels=pixels)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CorruptedPixels:
    """Pixels of another source, corrupted when they are read.

    Args:
        source: pixels of the clean images.
        rows: number of each image, which decides its randomness.
        corruption: the corruption.
        severity: severity, from 1 to 5.
        seed: random seed.
    """

    source: Pixels
    rows: tuple[int, ...]
    corruption: Corruption
    severity: int
    seed: int

    @property
    def channels(self) -> int:
        """Number of channels, 1 (gray) or 3 (red, green, blue)."""
        return self.source.channels

    @property
    def size(self) -> int:
        """Height and width in pixels."""
        return self.source.size

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> UInt8[Tensor, "channels size size"]:
        return self.corruption(self.source[row], severity=self.severity, seed=self.seed, row=self.rows[row])

    def batch(self, rows: Sequence[int]) -> UInt8[Tensor, "batch channels size size"]:
        """Return the pixels of these rows."""
        return torch.stack([self[row] for row in rows])

    def take(self, rows: Sequence[int]) -> CorruptedPixels:
        """Return the pixels of these rows, in this order; each keeps its randomness."""
        numbers = tuple(self.rows[row] for row in rows)
        return replace(self, source=self.source.take(rows), rows=numbers)
