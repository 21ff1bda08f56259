"""Positives by augmentation: two random views of one image that mean the same.

The functions that need kornia import it: a list of augmentations and their settings needs none.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_integer, check_number


class Augmentation(ABC):
    """Random change of images that keeps their meaning; two calls make the two views of a pair.

    A call is a function of the images, their place in the batch and the seed alone: it seeds torch's
    generator, from which kornia draws, and restores its state afterwards. Each image of a batch has its own
    random change, or each group of images one that they share. A process that holds only some rows of a batch
    states which, and gets those rows of the views of the whole batch, bit for bit on a CPU.

    Example:
        >>> augmentation = Handwriting()
        >>> images = torch.rand(4, 1, 8, 8)
        >>> view_a, view_b = augmentation(images, seed=0), augmentation(images, seed=1)
        >>> view_a.shape == images.shape, torch.equal(view_a, view_b)
        (True, False)
        >>> torch.equal(view_a, augmentation(images, seed=0))
        True
        >>> torch.equal(view_a[2:], augmentation(images[2:], seed=0, first_row=2, batch_size=4))
        True
        >>> same = augmentation(images[:1].expand(4, -1, -1, -1), seed=0, groups=2)
        >>> torch.equal(same[0], same[1]), torch.equal(same[1], same[2])
        (True, False)
    """

    @abstractmethod
    def steps(self, channels: int, size: int) -> tuple[Any, ...]:
        """Return the kornia modules that change images (batch, channels, size, size), in order."""

    @property
    def neutral(self) -> Mapping[str, float]:
        """Value at which each strength among the settings changes nothing, by name."""
        return {}

    def __call__(
        self,
        images: Float[Tensor, "rows channels size size"],
        seed: int,
        *,
        first_row: int = 0,
        batch_size: int | None = None,
        groups: int | None = None,
    ) -> Float[Tensor, "rows channels size size"]:
        """Return a random view of each image.

        Args:
            images: images with values in [0, 1], floating point, on any device.
            seed: random seed of the call.
            first_row: place of the first image in the batch, from 0.
            batch_size: number of images in the whole batch; None if these are all.
            groups: number of consecutive groups of equal size into which the whole batch is cut; the images
                of a group share one change, and each group has its own. None for one change per image.

        Returns:
            The views, of the images' shape, type and device, with values in [0, 1].

        Raises:
            ValueError: images of another shape, type or range, or outside the batch; groups that do not
                divide the batch.
        """
        _check(images)
        return self.view(images, seed, first_row=first_row, batch_size=batch_size, groups=groups)

    @torch.no_grad()
    def view(
        self,
        images: Float[Tensor, "rows channels size size"],
        seed: int,
        *,
        first_row: int = 0,
        batch_size: int | None = None,
        groups: int | None = None,
    ) -> Float[Tensor, "rows channels size size"]:
        """Return what a call returns, of images that are known to be right, such as floats made of bytes.

        To read the range of the images, a call waits for all that a GPU has been given to do.
        """
        rows = slice(first_row, first_row + len(images))
        whole = rows.stop if batch_size is None else batch_size
        drawn_rows, count = rows_of_groups(rows, whole, groups)
        # kornia draws on the CPU for all devices, so that only the CPU's generator needs restoring.
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            for step in _steps(self, images.shape[1], images.shape[2]):
                drawn = step.forward_parameters(torch.Size((count, *images.shape[1:])))
                images = step(images, params={name: _part(name, drawn[name], drawn_rows) for name in drawn})
        # Noise leaves the range of an image, and the rounding of a blur may leave it.
        return images.clamp(0, 1)


def _steps(augmentation: Augmentation, channels: int, size: int) -> tuple[Any, ...]:
    """Return the kornia modules of an augmentation; those of settings that cannot change are made once."""
    parameters = getattr(augmentation, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        return augmentation.steps(channels, size)
    return _kept_steps(augmentation, channels, size)


@lru_cache(maxsize=32)
def _kept_steps(augmentation: Augmentation, channels: int, size: int) -> tuple[Any, ...]:
    return augmentation.steps(channels, size)


def rows_of_groups(rows: slice, whole: int, groups: int | None) -> tuple[slice | Tensor, int]:
    """Return which of the drawn changes each row takes, and how many are drawn.

    Args:
        rows: rows of the batch that are changed.
        whole: number of rows of the whole batch.
        groups: number of groups that share a change; None for one change per row.

    Raises:
        ValueError: rows outside the batch, or groups that do not divide it.

    Example:
        >>> rows_of_groups(slice(1, 5), 6, 3)
        (tensor([0, 1, 1, 2]), 3)
    """
    if rows.start < 0 or rows.stop > whole:
        raise ValueError(f"expected rows within a batch of {whole}, got rows {rows.start} to {rows.stop}")
    if groups is None:
        return rows, whole
    check_integer("groups", groups)
    if whole % groups:
        fitting = ", ".join(str(number) for number in range(1, whole + 1) if whole % number == 0)
        raise ValueError(
            f"{whole} rows cannot be cut into {groups} groups of equal size: choose groups from {fitting}"
        )
    return torch.arange(rows.start, rows.stop) // (whole // groups), groups


def _part(name: str, drawn: Tensor, rows: slice | Tensor) -> Tensor:
    """Return the random parameters of some rows; two parameters are common to the whole batch."""
    return drawn if name in ("order", "forward_input_shape") else drawn[rows]


def _check(images: Tensor) -> None:
    shape = tuple(images.shape)
    if len(shape) != 4 or shape[1] not in (1, 3) or shape[2] != shape[3] or images.numel() == 0:
        raise ValueError(f"expected images (batch, 1 or 3, size, size), got {shape}")
    if not images.is_floating_point():
        raise ValueError(
            f"expected images as floating-point numbers in [0, 1], got {images.dtype}; "
            "convert bytes with tammes.data.as_floats"
        )
    smallest, largest = (float(end) for end in images.detach().aminmax())
    if not (smallest >= 0 and largest <= 1):  # true for NaN as well
        raise ValueError(f"expected images with values in [0, 1], got {smallest:g} to {largest:g}")


def _check_settings(augmentation: Augmentation, **maxima: float) -> None:
    """Raise ValueError unless every setting is from 0 to its maximum, 1 where none is given."""
    for name, value in vars(augmentation).items():
        check_number(name, value, minimum=0, maximum=maxima.get(name, 1))


@dataclass(frozen=True, kw_only=True)
class Photographs(Augmentation):
    """Crops, flips, color changes and blur, for photographs in color or gray.

    Images with one channel do without the pure color changes (saturation, hue, grayscale).

    Raises:
        ValueError: a strength or probability is out of its range.

    Source: Chen et al., A Simple Framework for Contrastive Learning, 2020, appendix A; the strengths are
    those for CIFAR-10 in Chuang et al., Debiased Contrastive Learning, 2020, without blur.

    Example:
        >>> Photographs(blur_probability=0.5)(torch.rand(2, 3, 32, 32), seed=0).shape
        torch.Size([2, 3, 32, 32])
    """

    smallest_crop: float = 0.08
    """Smallest share of the image's area that a crop keeps, from 0.001 to 1."""

    flip_probability: float = 0.5
    """Probability of a horizontal flip."""

    brightness: float = 0.4
    """Largest relative change of brightness, from 0 to 1."""

    contrast: float = 0.4
    """Largest relative change of contrast, from 0 to 1."""

    saturation: float = 0.4
    """Largest relative change of saturation, from 0 to 1."""

    hue: float = 0.1
    """Largest shift of hue, in turns of the color wheel, from 0 to 0.5."""

    jitter_probability: float = 0.8
    """Probability of any change of brightness, contrast, saturation and hue."""

    grayscale_probability: float = 0.2
    """Probability of a conversion to gray."""

    blur_probability: float = 0.0
    """Probability of a blur over a tenth of the image's width."""

    def __post_init__(self) -> None:
        check_number("smallest_crop", self.smallest_crop, minimum=1e-3, maximum=1)
        _check_settings(self, hue=0.5)

    @property
    @override
    def neutral(self) -> Mapping[str, float]:
        names = "flip_probability", "brightness", "contrast", "saturation", "hue"
        more = "grayscale_probability", "blur_probability"
        return {"smallest_crop": 1.0, **dict.fromkeys((*names, *more), 0.0)}

    @override
    def steps(self, channels: int, size: int) -> tuple[Any, ...]:
        import kornia.augmentation as kornia

        from tammes.positives.crop import Crop
        from tammes.positives.jitter import Jitter

        colored = channels == 3
        jitter = Jitter(
            self.brightness,
            self.contrast,
            self.saturation if colored else 0.0,
            self.hue if colored else 0.0,
            p=self.jitter_probability,
        )
        modules: list[Any] = [
            Crop((size, size), scale=(self.smallest_crop, 1.0)),
            kornia.RandomHorizontalFlip(p=self.flip_probability),
            jitter,
        ]
        if colored:
            modules.append(kornia.RandomGrayscale(p=self.grayscale_probability))
        if self.blur_probability > 0 and size > 1:  # a single pixel has no neighbors to blur it with
            from tammes.positives.blur import Blur

            width = max(3, size // 10 // 2 * 2 + 1)
            modules.append(Blur((width, width), (0.1, 2.0), p=self.blur_probability))
        return tuple(modules)


@dataclass(frozen=True, kw_only=True)
class Handwriting(Augmentation):
    """Small rotations, shifts, scalings, shears, noise and erasures, for handwriting and small gray images.

    There are no flips: a mirrored 2 is no 2, and a 6 upside down is a 9.

    Raises:
        ValueError: a strength or probability is out of its range.

    Example:
        >>> Handwriting(rotation=5.0)(torch.rand(2, 1, 8, 8), seed=0).shape
        torch.Size([2, 1, 8, 8])
    """

    rotation: float = 15.0
    """Largest rotation in either direction, in degrees, from 0 to 180."""

    translation: float = 0.1
    """Largest shift along each axis, as a share of the image's width."""

    scaling: float = 0.15
    """Largest relative change of size, up or down, from 0 to 0.9."""

    shear: float = 15.0
    """Largest shear along the rows in either direction, in degrees, from 0 to 60."""

    noise: float = 0.05
    """Standard deviation of the noise on each pixel, from 0 to 1 like the pixels."""

    erasing_probability: float = 0.25
    """Probability that a rectangle of 2 to 20 percent of the image becomes background."""

    background: float = 0.0
    """Gray level of uncovered and erased areas, from 0 (black) to 1 (white)."""

    def __post_init__(self) -> None:
        _check_settings(self, rotation=180, scaling=0.9, shear=60)

    @property
    @override
    def neutral(self) -> Mapping[str, float]:
        names = "rotation", "translation", "scaling", "shear", "noise", "erasing_probability"
        return dict.fromkeys(names, 0.0)

    @override
    def steps(self, channels: int, size: int) -> tuple[Any, ...]:
        import kornia.augmentation as kornia

        affine = kornia.RandomAffine(
            degrees=self.rotation,
            translate=(self.translation, self.translation),
            scale=(1 - self.scaling, 1 + self.scaling),
            shear=(-self.shear, self.shear),
            padding_mode="fill",
            fill_value=torch.full((channels,), self.background),
            p=1.0,
        )
        erasing = kornia.RandomErasing(
            scale=(0.02, 0.2), ratio=(0.5, 2.0), value=self.background, p=self.erasing_probability
        )
        noise = kornia.RandomGaussianNoise(0.0, self.noise, p=1.0)
        return affine, erasing, noise


@dataclass(frozen=True, kw_only=True)
class Identity(Augmentation):
    """No change: both views are the images themselves, for pairs of different images.

    Example:
        >>> images = torch.rand(2, 1, 8, 8)
        >>> torch.equal(Identity()(images, seed=0), images)
        True
    """

    @override
    def steps(self, channels: int, size: int) -> tuple[Any, ...]:
        return ()
