"""Images as the encoder of CAN gets them: patches with noise, some of them hidden."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from tammes.encoders.vit import VisionTransformer
from tammes.masked.decoder import Decoder
from tammes.masked.masking import Mask, at, draw_mask

TINY = 1e-6
"""Added to the variance of a patch, where targets are normalized."""


@dataclass(frozen=True, eq=False)
class Corrupted:
    """Patches of images, with noise, of which some are hidden.

        noisy  =  patches + sigma e ,   sigma ~ U[0, noise],  e ~ N(0, 1)           for each image

    Args:
        patches: pixels of all patches, without noise.
        noisy: the same with noise.
        mask: which patches are hidden.
        levels: level sigma of each image's noise; None without noise.

    Example:
        >>> drawn = Corrupted.draw(torch.rand(2, 16, 48), rate=0.75, noise=0.05)
        >>> drawn.mask.hidden.shape, drawn.levels.shape
        (torch.Size([2, 12]), torch.Size([2]))
        >>> again = Corrupted.of_rows(drawn.rows(), pixels=48)
        >>> torch.equal(again.noisy, drawn.noisy), torch.equal(again.mask.hidden, drawn.mask.hidden)
        (True, True)
    """

    patches: Float[Tensor, "batch patches pixels"]
    noisy: Float[Tensor, "batch patches pixels"]
    mask: Mask
    levels: Float[Tensor, " batch"] | None

    @classmethod
    def draw(
        cls,
        patches: Float[Tensor, "rows patches pixels"],
        *,
        rate: float,
        noise: float,
        generator: Generator | None = None,
        first_row: int = 0,
        batch_size: int | None = None,
    ) -> Corrupted:
        """Draw masks and noise.

        Masks and levels are drawn on the CPU, so that a seed gives the same on every device; the noise of the
        pixels is drawn where they are.

        Args:
            patches: pixels of the patches of each image.
            rate: share of the patches to be hidden, from 0 to below 1; a whole number of patches.
            noise: largest level of the noise, in units of the pixels.
            generator: source of the randomness, on the CPU; torch's by default.
            first_row: place of the first image in the batch, of which these may be a part.
            batch_size: number of images of the whole batch, for all of which is drawn; None if these are all.

        Raises:
            ValueError: a rate out of its range, that hides all patches, or that is no whole number of them.
        """
        count, rows = batch_size or len(patches), slice(first_row, first_row + len(patches))
        mask = draw_mask(count, patches.shape[1], rate, generator=generator)
        mask = Mask(visible=mask.visible[rows], hidden=mask.hidden[rows]).to(patches.device)
        if not noise:
            return cls(patches, patches, mask, None)
        levels = noise * torch.rand(count, generator=generator)
        normal = _normal((count, *patches.shape[1:]), patches.device, generator)[rows]
        of_rows = levels[rows].to(patches.device, non_blocking=True)
        noisy = patches + (of_rows[:, None, None] * normal).to(patches.dtype)
        return cls(patches, noisy, mask, of_rows)

    @property
    def seen(self) -> Float[Tensor, "batch kept pixels"]:
        """Visible patches, with their noise."""
        return at(self.noisy, self.mask.visible)

    def tokens(self, encoder: VisionTransformer) -> Float[Tensor, "batch kept features"]:
        """Return the encoder's tokens of the visible patches, the only ones that it computes."""
        return encoder.tokens(self.seen, self.mask.visible)

    def rows(self) -> Float[Tensor, "batch patches columns"]:
        """Return all of it as one tensor with a row for each image, of which chunks can be cut.

        The columns of a patch are its pixels, whether it is hidden, and with noise also the noisy pixels and
        the level.
        """
        hidden = torch.zeros(self.patches.shape[:2], device=self.patches.device, dtype=self.patches.dtype)
        columns = [self.patches, hidden.scatter(1, self.mask.hidden, 1.0)[..., None]]
        if self.levels is not None:
            level = self.levels[:, None, None].expand(-1, self.patches.shape[1], 1)
            columns += [self.noisy, level.to(self.patches.dtype)]
        return torch.cat(columns, dim=2)

    @classmethod
    def of_rows(
        cls, rows: Float[Tensor, "batch patches columns"], *, pixels: int, hidden: int | None = None
    ) -> Corrupted:
        """Return what `rows` packed; all images have equally many hidden patches.

        Args:
            rows: the packed tensor.
            pixels: numbers of a patch.
            hidden: number of hidden patches of an image; None to read it from `rows`.
        """
        patches, flag, others = rows.split([pixels, 1, rows.shape[2] - pixels - 1], dim=2)
        # Stable, so that both parts stay ascending.
        order = flag[..., 0].argsort(dim=1, stable=True)
        # Counted in integers: a sum in half precision has no 257.
        hidden = int(flag[0].count_nonzero()) if hidden is None else hidden
        visible, hidden_places = order.split([order.shape[1] - hidden, hidden], dim=1)
        mask = Mask(visible=visible, hidden=hidden_places)
        if not others.shape[2]:
            return cls(patches, patches, mask, None)
        noisy, levels = others.split([pixels, 1], dim=2)
        return cls(patches, noisy, mask, levels[:, 0, 0])

    def reconstruction_errors(
        self, predicted: Float[Tensor, "batch patches pixels"], *, normalized: bool = False
    ) -> Float[Tensor, " batch"]:
        """Return the mean squared error of a pixel of the hidden patches of each image, without noise.

        Args:
            predicted: the decoder's pixels.
            normalized: whether each patch is to be predicted with mean 0 and variance 1 (He et al., 2022).
        """
        target = at(self.patches, self.mask.hidden)
        target = standardized(target) if normalized else target
        return squared_errors(at(predicted, self.mask.hidden), target)

    def denoising_errors(self, predicted: Float[Tensor, "batch patches pixels"]) -> Float[Tensor, " batch"]:
        """Return the mean squared error of a pixel of each image's visible patches, against the noise."""
        noise = at(self.noisy - self.patches, self.mask.visible)
        return squared_errors(at(predicted, self.mask.visible), noise)

    def decoded(
        self, decoder: Decoder, tokens: Float[Tensor, "batch kept features"], *, tell_noise: bool
    ) -> Float[Tensor, "batch patches pixels"]:
        """Return the decoder's pixels of all patches, which gets the level of the noise or not."""
        return decoder(tokens, self.mask, self.levels if tell_noise else None)


def _normal(
    shape: tuple[int, ...], device: torch.device, generator: Generator | None
) -> Float[Tensor, "batch patches pixels"]:
    """Return standard normal numbers on a device, which follow from the state of a generator on the CPU."""
    if device.type == "cpu":
        return torch.randn(shape, generator=generator)
    seed = int(torch.randint(2**62, (), generator=generator))
    return torch.randn(shape, generator=Generator(device).manual_seed(seed), device=device)


def standardized(patches: Float[Tensor, "batch some pixels"]) -> Float[Tensor, "batch some pixels"]:
    """Return each patch with mean 0 and variance 1 over its pixels (He et al., 2022, section 4)."""
    variance, mean = torch.var_mean(patches, dim=2, keepdim=True)
    return (patches - mean) / (variance + TINY).sqrt()


def check_targets(pixels: int) -> None:
    """Raise ValueError unless the pixels of a patch have a variance, by which targets are normalized.

    Args:
        pixels: numbers of a patch.
    """
    if pixels < 2:
        raise ValueError(
            "normalize_targets needs patches of two numbers at least, which have a variance, got patches of "
            "one pixel: choose larger patches, or leave targets as they are"
        )


def squared_errors(predicted: Tensor, target: Tensor) -> Float[Tensor, " batch"]:
    """Return the mean squared error of a pixel of each image, in the precision of the target."""
    return (predicted.to(target.dtype) - target).square().mean(dim=(1, 2))
