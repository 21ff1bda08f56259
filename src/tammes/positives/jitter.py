"""A change of colors that computes what kornia's does in less time."""

from collections.abc import Callable
from typing import Any

import kornia.augmentation as kornia
import torch
from jaxtyping import Float
from kornia.enhance import (
    adjust_brightness_accumulative,
    adjust_contrast_with_mean_subtraction,
    adjust_saturation_with_gray_subtraction,
)
from torch import Tensor
from typing_extensions import override

SEXTANTS = 6
"""Parts of the color wheel, in each of which one of the three colors rises or falls."""


class Jitter(kornia.ColorJitter):
    """Changes of brightness, contrast, saturation and hue, in the random order that kornia draws.

    kornia's takes two thirds of the time of all augmentation of small photographs, most of it to convert to
    HSV and back for the hue. Here the hue is turned without leaving RGB, on pieces that stay in the
    processor's cache (`benchmarks/images.py`). The results differ by rounding errors.
    """

    @override
    def apply_transform(
        self,
        input: Tensor,
        params: dict[str, Tensor],
        flags: dict[str, Any],
        transform: Tensor | None = None,
    ) -> Tensor:
        changes: tuple[tuple[Callable[[Tensor, Tensor], Tensor], str, float], ...] = (
            (adjust_brightness_accumulative, "brightness_factor", 1.0),
            (adjust_contrast_with_mean_subtraction, "contrast_factor", 1.0),
            (adjust_saturation_with_gray_subtraction, "saturation_factor", 1.0),
            (turned_hue, "hue_factor", 0.0),
        )
        ordered = [changes[int(place)] for place in params["order"]]
        drawn = {
            name: params[name].to(input) for _, name, neutral in ordered if (params[name] != neutral).any()
        }
        rows = max(1, 2**18 // input[0].numel()) if input.device.type == "cpu" else len(input)
        changed = []
        for start in range(0, len(input), rows):
            images = input[start : start + rows]
            for change, name, _ in ordered:
                if name in drawn:
                    images = change(images, drawn[name][start : start + rows])
            changed.append(images)
        return torch.cat(changed).clamp(0, 1)


def turned_hue(
    images: Float[Tensor, "rows 3 height width"], turns: Float[Tensor, " rows"]
) -> Float[Tensor, "rows 3 height width"]:
    """Return images with their hues turned, by -1/2 to 1/2 turn of the color wheel.

    With M = max(r, g, b), c = M - min(r, g, b) and the hue h in sextants from 0 to 6,

        (r, g, b)  =  M - c (t(2 - |h - 3|), t(|h - 2| - 1), t(|h - 4| - 1)) ,     t(x) = min(max(x, 0), 1) .

    Example:
        >>> red = torch.tensor([1.0, 0.0, 0.0]).reshape(1, 3, 1, 1)
        >>> turned_hue(red, torch.tensor([1 / 3])).flatten().abs().round(decimals=4)
        tensor([0., 1., 0.])
    """
    red, green, blue = images.unbind(1)
    largest = images.amax(1)
    chroma = largest - images.amin(1)
    # A gray pixel has no hue; it stays as it is, since its chroma is 0.
    scale = 1 / torch.where(chroma > 0, chroma, 1)
    of_red, of_green, of_blue = (green - blue) * scale, (blue - red) * scale + 2, (red - green) * scale + 4
    hue = torch.where(largest == red, of_red, torch.where(largest == green, of_green, of_blue))
    hue = hue + (SEXTANTS * turns)[:, None, None]
    hue -= SEXTANTS * torch.floor(hue / SEXTANTS)
    lacks = (2 - (hue - 3).abs_(), (hue - 2).abs_() - 1, (hue - 4).abs_() - 1)
    return torch.stack([largest - chroma * lack.clamp_(0, 1) for lack in lacks], dim=1)
