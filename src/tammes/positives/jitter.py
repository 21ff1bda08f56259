"""A change of colors that computes what kornia's does in less time."""

from collections.abc import Callable
from typing import Any

import kornia.augmentation as kornia
import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

SEXTANTS = 6
"""Parts of the color wheel, in each of which one of the three colors rises or falls."""
HUES = (0, 2, 4)
"""Places of red, green and blue on the wheel, in sextants."""
BRIGHTNESS = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in the gray level of a color (ITU-R BT.601)."""

Colors = Float[Tensor, "channels rows pixels"]
"""Images of one or three colors, each color in one piece of memory, through which passes run fastest."""
Numbers = Float[Tensor, "rows 1"]
"""A factor or shift of each image."""


class Jitter(kornia.ColorJitter):
    """Changes of brightness, contrast, saturation and hue, in the random order that kornia draws.

    kornia's takes two thirds of the time of all augmentation of small photographs, most of it to convert to
    HSV and back for the hue. Here the hue is turned without leaving RGB, and every change overwrites pieces
    that stay in the processor's cache (`benchmarks/images.py`). The results differ by rounding errors.
    """

    @override
    def apply_transform(
        self,
        input: Tensor,
        params: dict[str, Tensor],
        flags: dict[str, Any],
        transform: Tensor | None = None,
    ) -> Tensor:
        changes: tuple[tuple[Callable[[Tensor, Tensor], None], str, float], ...] = (
            (brighten, "brightness_factor", 1.0),
            (change_contrast, "contrast_factor", 1.0),
            (saturate, "saturation_factor", 1.0),
            (turn_hue, "hue_factor", 0.0),
        )
        ordered = [changes[int(place)] for place in params["order"]]
        images = input.to(torch.promote_types(input.dtype, torch.float32))
        drawn = {
            name: params[name].to(images, non_blocking=True)[:, None]
            for _, name, neutral in ordered
            if (params[name] != neutral).any()
        }
        changed = images.new_empty(images.shape)
        rows = max(1, 2**18 // images[0].numel()) if images.device.type == "cpu" else len(images)
        for start in range(0, len(images), rows):
            part = slice(start, start + rows)
            colors = planes(images[part])
            for change, name, _ in ordered:
                if name in drawn:
                    change(colors, drawn[name][part])
            changed[part] = colors.transpose(0, 1).view_as(changed[part])
        return changed.to(input.dtype)


def planes(images: Float[Tensor, "rows channels height width"]) -> Colors:
    """Return a copy of images with each color in one piece."""
    return images.transpose(0, 1).flatten(2).clone(memory_format=torch.contiguous_format)


def brighten(colors: Colors, factors: Numbers) -> None:
    """Multiply colors by a factor, up to white."""
    colors.mul_(factors).clamp_(0, 1)


def change_contrast(colors: Colors, factors: Numbers) -> None:
    """Multiply by a factor how much colors differ from the mean gray level of their image."""
    means = colors.mean(dim=2, keepdim=True)
    gray = means[0] if len(colors) == 1 else gray_levels(means)
    colors.mul_(factors).add_(gray.mul_(1 - factors)).clamp_(0, 1)


def saturate(colors: Colors, factors: Numbers) -> None:
    """Multiply by a factor how much colors differ from their gray level; gray images stay as they are."""
    if len(colors) == 3:
        gray = gray_levels(colors).mul_(1 - factors)
        colors.mul_(factors).add_(gray).clamp_(0, 1)


def gray_levels(colors: Float[Tensor, "3 rows pixels"]) -> Float[Tensor, "rows pixels"]:
    """Return the gray levels of colors."""
    red, green, blue = (color * weight for color, weight in zip(colors, BRIGHTNESS, strict=True))
    return red.add_(green).add_(blue)


def turn_hue(colors: Float[Tensor, "3 rows pixels"], turns: Numbers) -> None:
    """Turn hues by -1/2 to 1/2 turn of the color wheel.

    With M and m the largest and the smallest of (r, g, b), c = M - m, the hue h in sextants from -3 to 3, and
    h_k the place of color k on the wheel, the turned color k is

        M - c t(2 - ||h + 6 turns - h_k| - 3|) ,   c h = +-(c + g + b - r - m) ,   t(x) = min(max(x, 0), 1) ,

    where the sign is that of g - b. Two hues that are y apart, up to a whole turn, have a distance of
    3 - ||y| - 3|. With everything times c, no pixel needs a division or a choice among the three colors,
    which would take longer than all the rest.

    Example:
        >>> red = torch.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1)
        >>> turn_hue(red, torch.tensor([[1 / 3]]))
        >>> red.flatten().round(decimals=4)
        tensor([0., 1., 0.])
    """
    red, green, blue = colors
    largest = torch.maximum(red, green)
    torch.maximum(largest, blue, out=largest)
    smallest = torch.minimum(red, green)
    torch.minimum(smallest, blue, out=smallest)
    chroma = largest - smallest
    hue = (green + blue).sub_(red).add_(chroma).sub_(smallest).copysign_(green - blue)
    half_turn, floor = 3 * chroma, smallest - chroma
    for color, place in zip(colors, HUES, strict=True):
        shift = SEXTANTS * turns - place
        shift -= SEXTANTS * torch.floor(shift / SEXTANTS + 0.5)
        torch.mul(chroma, shift, out=color)
        color.add_(hue).abs_().sub_(half_turn).abs_().add_(floor)
        torch.clamp(color, min=smallest, max=largest, out=color)


def turned_hue(
    images: Float[Tensor, "rows 3 height width"], turns: Float[Tensor, " rows"]
) -> Float[Tensor, "rows 3 height width"]:
    """Return images with their hues turned, by -1/2 to 1/2 turn of the color wheel.

    Example:
        >>> red = torch.tensor([1.0, 0.0, 0.0]).reshape(1, 3, 1, 1)
        >>> turned_hue(red, torch.tensor([1 / 3])).flatten().round(decimals=4)
        tensor([0., 1., 0.])
    """
    colors = planes(images)
    turn_hue(colors, turns[:, None])
    return colors.transpose(0, 1).reshape(images.shape)
