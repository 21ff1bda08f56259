"""Which patches of each image are hidden: an exact number, drawn uniformly, anew for every image and view."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from tammes.checks import check_number

CLOSE = 1e-3
"""A rate means the nearest share of the patches if it differs by no more than this: 0.49 is 24 / 49."""


@dataclass(frozen=True, eq=False)
class Mask:
    """Places of the visible and of the hidden patches of each image, both ascending.

    Args:
        visible: places of the patches that the encoder sees.
        hidden: places of the others.
    """

    visible: Int[Tensor, "batch kept"]
    hidden: Int[Tensor, "batch hidden"]

    @property
    def patches(self) -> int:
        """Number of patches of an image."""
        return self.visible.shape[1] + self.hidden.shape[1]

    def to(self, device: torch.device) -> Mask:
        """Return the mask on a device."""
        return Mask(self.visible.to(device, non_blocking=True), self.hidden.to(device, non_blocking=True))


def draw_mask(batch: int, patches: int, rate: float, *, generator: Generator | None = None) -> Mask:
    """Draw the hidden patches of each image, rate * patches of them, every set of that size equally likely.

    Drawn on the CPU, so that a seed hides the same patches on every device.

    Args:
        batch: number of images.
        patches: number of patches of an image.
        rate: share of the patches to be hidden, from 0 to below 1; within 0.001 of a whole number of patches.
        generator: source of the randomness, on the CPU; torch's by default.

    Raises:
        ValueError: a rate out of its range, that hides all patches, or that is no whole number of patches.

    Source: Robinson (2023), section 6.2.1.

    Example:
        >>> mask = draw_mask(2, 16, 0.75, generator=torch.Generator().manual_seed(0))
        >>> mask.visible.shape, mask.hidden.shape
        (torch.Size([2, 4]), torch.Size([2, 12]))
    """
    count = hidden_count(patches, rate)
    order = torch.rand(batch, patches, generator=generator).argsort(dim=1, stable=True)
    hidden, visible = order.split([count, patches - count], dim=1)
    return Mask(visible=visible.sort(dim=1).values, hidden=hidden.sort(dim=1).values)


def hidden_count(patches: int, rate: float) -> int:
    """Return the number of hidden patches, whose share differs from the rate by 0.001 at most.

    Raises:
        ValueError: a rate out of its range, that hides all patches, or that is no whole number of patches.

    Example:
        >>> hidden_count(64, 0.5)
        32
        >>> hidden_count(49, 0.49)
        24
    """
    check_number("rate", rate, minimum=0, below=1)
    exact = rate * patches
    count = round(exact)
    if abs(exact - count) > CLOSE * patches:
        # Three digits differ from the share by half of CLOSE at most, so that what is named is accepted.
        nearest = [each for each in (int(exact), int(exact) + 1) if each < patches]
        named = [f"{each / patches:.3g} ({each} of {patches})" for each in nearest]
        raise ValueError(
            f"expected a rate that hides a whole number of the {patches} patches, got {rate:g}, which is "
            f"{exact:g} of them; choose {' or '.join(named)}"
        )
    if count == patches:
        raise ValueError(f"expected a rate that leaves a patch visible, got {rate:g} of {patches} patches")
    return count


def at(patches: Float[Tensor, "batch patches width"], places: Int[Tensor, "batch some"]) -> Tensor:
    """Return the patches at some places of each image.

    Example:
        >>> at(torch.tensor([[[1.0], [2.0], [3.0]]]), torch.tensor([[2, 0]]))[0, :, 0]
        tensor([3., 1.])
    """
    return patches.gather(1, places[..., None].expand(-1, -1, patches.shape[2]))
