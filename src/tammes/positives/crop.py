"""A random crop, resized, that computes what kornia's does in less time."""

from typing import Any

import kornia.augmentation as kornia
import torch
from jaxtyping import Float, Int64
from torch import Tensor
from typing_extensions import override

Taps = tuple[Int64[Tensor, "rows _"], Int64[Tensor, "rows _"], Float[Tensor, "rows _"]]
"""Pixels before and after each pixel of a resized line (rows, pixels), and the weight of the second."""


class Crop(kornia.RandomResizedCrop):
    """Random part of each image, resized bilinearly, with the parts that kornia draws.

    kornia's goes image by image, or through a grid of coordinates of each image. A crop along the axes is one
    interpolation of rows and then one of columns, whose places are the same in all rows
    (`benchmarks/images.py`). The results differ by rounding errors.
    """

    @override
    def compute_transformation(
        self, input: Tensor, params: dict[str, Tensor], flags: dict[str, Any]
    ) -> Tensor:
        # kornia's solves a system of equations for each image, for a matrix that is not used here.
        return torch.eye(3, device=input.device, dtype=input.dtype).expand(len(input), 3, 3)

    @override
    def apply_transform(
        self,
        input: Tensor,
        params: dict[str, Tensor],
        flags: dict[str, Any],
        transform: Tensor | None = None,
    ) -> Tensor:
        images = input.to(torch.promote_types(input.dtype, torch.float32))
        height, width = flags["size"]
        # (rows, corner, 2): corner 0 is the first pixel (x, y) that a crop keeps, corner 2 the last.
        corners = params["src"].to(images.device, non_blocking=True)
        first, last = corners[:, 0], corners[:, 2]
        of_rows = taps(first[:, 1], last[:, 1], height)
        of_columns = taps(first[:, 0], last[:, 0], width)
        return resized(images, of_rows, of_columns).to(input.dtype)


def taps(first: Float[Tensor, " rows"], last: Float[Tensor, " rows"], pixels: int) -> Taps:
    """Return where to read the pixels of a line that shows those from `first` to `last`, both at its ends.

    Pixel j of n stands at first + j (last - first) / (n - 1), between two pixels of the image.

    Example:
        >>> before, after, weights = taps(torch.tensor([2.0]), torch.tensor([4.0]), pixels=5)
        >>> before.tolist(), after.tolist(), weights.tolist()
        ([[2, 2, 3, 3, 4]], [[3, 3, 4, 4, 4]], [[0.0, 0.5, 0.0, 0.5, 0.0]])
    """
    first, last = first.double()[:, None], last.double()[:, None]
    steps = torch.arange(pixels, device=first.device, dtype=torch.float64) / max(1, pixels - 1)
    places = first + steps * (last - first)
    # The rounding of a place must not leave the crop.
    before = places.floor().minimum(last)
    return before.long(), (before + 1).minimum(last).long(), places - before


def resized(
    images: Float[Tensor, "rows channels height width"], of_rows: Taps, of_columns: Taps
) -> Float[Tensor, "rows channels new_height new_width"]:
    """Return images whose rows and columns are interpolated between others.

    Only single sums and products are used, so that the result for one image does not depend on the rest of
    the batch; products of matrices would be as quick, but round by the size of the batch.

    Example:
        >>> image = torch.arange(9.0).reshape(1, 1, 3, 3)
        >>> middle = taps(torch.tensor([0.0]), torch.tensor([1.0]), pixels=3)
        >>> resized(image, middle, middle)[0, 0]
        tensor([[0.0000, 0.5000, 1.0000],
                [1.5000, 2.0000, 2.5000],
                [3.0000, 3.5000, 4.0000]])
    """
    count, channels, height, width = images.shape
    before, after, weights = of_rows
    # Whole rows of pixels are copied at once: (rows * channels * height, width).
    flat = images.reshape(-1, width)
    starts = torch.arange(0, count * channels * height, height, device=images.device)
    places = (starts.view(count, channels, 1) + each[:, None] for each in (before, after))
    low, high = (flat.index_select(0, each.flatten()).view(count, channels, -1, width) for each in places)
    images = _between(low, high, weights[:, None, :, None])
    before, after, weights = of_columns
    shape = (*images.shape[:3], before.shape[1])
    low, high = (images.gather(3, each[:, None, None].expand(shape)) for each in (before, after))
    return _between(low, high, weights[:, None, None])


def _between(low: Tensor, high: Tensor, weights: Tensor) -> Tensor:
    """Return low + weights (high - low), in the memory of `high`."""
    return high.sub_(low).mul_(weights.to(high.dtype)).add_(low)
