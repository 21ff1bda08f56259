"""Corruptions of images at five severities: noise, blur, weather, light, and losses of a camera or a file."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64, UInt8
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from tammes.checks import check_seed, is_integer

SEVERITIES = (1, 2, 3, 4, 5)
"""Severities, from the mildest."""
REFERENCE_SIZE = 32
"""Size in pixels for which lengths are given; on larger images they are in proportion."""
ZOOMS = 9
"""Images that a zoom blur averages."""
GRAY = np.array([0.299, 0.587, 0.114])
"""Weights of red, green and blue in the luminance (ITU-R BT.601)."""

Image64 = Float64[np.ndarray, "channels size size"]
Change = Callable[[Image64, float, Generator], Image64]


@dataclass(frozen=True, kw_only=True)
class Corruption:
    """Change that makes an image harder to recognize and keeps its class, at five severities.

    The bytes depend on the image, the severity, the seed and the row alone. The noise of a row is the same at
    every severity, only stronger. "pixelate" shrinks images to whole numbers of pixels, so that below 32
    pixels two severities may be the same, and a higher one may change an image less.

    Args:
        name: name of the corruption.
        levels: strength at each severity.
        change: function from an image in [0, 1], a strength and a source of randomness to the changed image.
        needs_color: whether images with one channel stay as they are.

    Source: Hendrycks and Dietterich, Benchmarking Neural Network Robustness to Common Corruptions and
    Perturbations, 2019, which has 15 corruptions and 4 more. Differs: the images are made here, by functions
    and strengths that are close to those of CIFAR-10-C and not the same, so that accuracies must not be set
    beside published ones; glass blur, snow, frost and spatter are missing.

    Example:
        >>> image = torch.tensor([[[0, 200], [200, 0]]], dtype=torch.uint8)
        >>> corruption("contrast")(image, severity=5)
        tensor([[[ 85, 115],
                 [115,  85]]], dtype=torch.uint8)
    """

    name: str
    levels: tuple[float, float, float, float, float]
    change: Change
    needs_color: bool = False

    def __call__(
        self, pixels: UInt8[Tensor, "channels size size"], *, severity: int, seed: int = 0, row: int = 0
    ) -> UInt8[Tensor, "channels size size"]:
        """Return the corrupted image.

        Args:
            pixels: the image.
            severity: severity, from 1 to 5.
            seed: random seed.
            row: number of the image, which has randomness for itself.

        Raises:
            ValueError: another severity; a seed out of its range.
        """
        check_severity(severity)
        check_seed("seed", seed)
        if self.needs_color and pixels.shape[0] == 1:
            return pixels
        entropy = [seed, row, int.from_bytes(self.name.encode(), "big")]
        generator = np.random.default_rng(entropy)
        changed = self.change(pixels.numpy() / 255, self.levels[severity - 1], generator)
        return torch.from_numpy((changed.clip(0, 1) * 255).round().astype(np.uint8))


def corruption(name: str) -> Corruption:
    """Return the corruption of a name.

    Raises:
        ValueError: an unknown name; the message lists those that exist.

    Example:
        >>> corruption("jpeg").levels
        (80, 65, 58, 50, 40)
    """
    for each in CORRUPTIONS:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in CORRUPTIONS)
    raise ValueError(f"there is no corruption {name!r}: choose from {known}")


def check_severity(severity: int) -> None:
    """Raise ValueError unless a severity is from 1 to 5."""
    if not is_integer(severity) or severity > SEVERITIES[-1]:
        raise ValueError(f"severity must be an integer from 1 to {SEVERITIES[-1]}, got {severity!r}")


def _gaussian_noise(image: Image64, level: float, generator: Generator) -> Image64:
    """Add normal noise of a standard deviation."""
    return image + level * generator.standard_normal(image.shape)


def _shot_noise(image: Image64, level: float, generator: Generator) -> Image64:
    """Count photons, `level` of them in a white pixel (Poisson)."""
    return generator.poisson(image * level) / level


def _impulse_noise(image: Image64, level: float, generator: Generator) -> Image64:
    """Replace a share of the values by black or white."""
    drawn = generator.random(image.shape)
    return np.where(drawn < level / 2, 0.0, np.where(drawn > 1 - level / 2, 1.0, image))


def _speckle_noise(image: Image64, level: float, generator: Generator) -> Image64:
    """Multiply by 1 plus normal noise of a standard deviation."""
    return image * (1 + level * generator.standard_normal(image.shape))


def _gaussian_blur(image: Image64, level: float, generator: Generator) -> Image64:
    """Blur by a Gaussian of a standard deviation, in pixels of an image of 32."""
    from scipy import ndimage  # here, so that the command line starts without it

    return ndimage.gaussian_filter(image, _length(image, level), axes=(1, 2))


def _defocus_blur(image: Image64, level: float, generator: Generator) -> Image64:
    """Blur by a disk of a radius, in pixels of an image of 32."""
    radius = _length(image, level)
    reach = int(np.ceil(radius))
    rows, columns = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    # The rim covers pixels in part.
    disk = np.clip(radius + 0.5 - np.hypot(rows, columns), 0, 1)
    return _convolved(image, disk)


def _motion_blur(image: Image64, level: float, generator: Generator) -> Image64:
    """Blur along a line of random direction and of a length, in pixels of an image of 32."""
    half = _length(image, level) / 2
    angle = generator.uniform(0, np.pi)
    reach = int(np.ceil(half)) + 1
    line = np.zeros((2 * reach + 1, 2 * reach + 1))
    places = np.linspace(-half, half, 8 * reach + 1)
    for row, column in zip(places * np.sin(angle) + reach, places * np.cos(angle) + reach, strict=True):
        top, left = int(row), int(column)
        down, right = row - top, column - left
        line[top : top + 2, left : left + 2] += np.outer([1 - down, down], [1 - right, right])
    return _convolved(image, line)


def _zoom_blur(image: Image64, level: float, generator: Generator) -> Image64:
    """Average the image zoomed about its center, by factors from 1 to `level`."""
    from scipy import ndimage

    center = (image.shape[1] - 1) / 2
    mean = np.zeros_like(image)
    for zoom in np.linspace(1, level, ZOOMS):
        offset = center * (1 - 1 / zoom)
        for channel, total in zip(image, mean, strict=True):
            total += ndimage.affine_transform(
                channel, [1 / zoom, 1 / zoom], offset=offset, order=1, mode="nearest"
            )
    return mean / ZOOMS


def _fog(image: Image64, level: float, generator: Generator) -> Image64:
    """Add clouds up to `level`, and scale the image to keep its brightest value."""
    from scipy import ndimage

    size = image.shape[1]
    clouds = np.zeros((size, size))
    cells, weight = 2, 1.0
    while cells <= size:
        grid = generator.random((cells + 1, cells + 1))
        places = np.linspace(0, cells, size)
        rows, columns = np.meshgrid(places, places, indexing="ij")
        clouds += weight * ndimage.map_coordinates(grid, [rows, columns], order=1)
        cells, weight = 2 * cells, weight / 2
    clouds -= clouds.min()
    clouds /= max(float(clouds.max()), 1e-12)
    brightest = float(image.max())
    return (image + level * clouds) * brightest / (brightest + level)


def _brightness(image: Image64, level: float, generator: Generator) -> Image64:
    """Add to the value of each pixel (of hue, saturation and value)."""
    value = image.max(axis=0, keepdims=True)
    brighter = np.minimum(value + level, 1)
    return np.where(value > 0, image * brighter / np.where(value > 0, value, 1), brighter)


def _contrast(image: Image64, level: float, generator: Generator) -> Image64:
    """Scale the distance of each value from its channel's mean."""
    mean = image.mean(axis=(1, 2), keepdims=True)
    return mean + level * (image - mean)


def _saturation(image: Image64, level: float, generator: Generator) -> Image64:
    """Scale the distance of each pixel from its gray."""
    gray = np.tensordot(GRAY, image, axes=1)
    return gray + level * (image - gray)


def _pixelate(image: Image64, level: float, generator: Generator) -> Image64:
    """Shrink to a share of the size by averaging, and enlarge without smoothing.

    The smaller size is a whole number of pixels. Of small images it is the same at two severities (6 of 8
    pixels at 2 and 3), and the error need not rise.
    """
    size = image.shape[1]
    small = max(1, round(level * size))

    def coarse(channel: NDArray[np.float64]) -> NDArray[np.float64]:
        picture = Image.fromarray(channel.astype(np.float32))
        shrunk = picture.resize((small, small), Image.Resampling.BOX)
        return np.asarray(shrunk.resize((size, size), Image.Resampling.BOX), dtype=np.float64)

    return np.stack([coarse(channel) for channel in image])


def _jpeg(image: Image64, level: float, generator: Generator) -> Image64:
    """Compress as JPEG of a quality."""
    pixels = (image * 255).round().astype(np.uint8)
    picture = Image.fromarray(pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0))
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=round(level))
    with Image.open(file) as read:
        values = np.asarray(read, dtype=np.float64) / 255
    return values[None] if values.ndim == 2 else values.transpose(2, 0, 1)


def _elastic(image: Image64, level: float, generator: Generator) -> Image64:
    """Move each pixel by a smooth random field of a root mean square, in pixels of an image of 32."""
    from scipy import ndimage

    size = image.shape[1]
    fields = ndimage.gaussian_filter(generator.standard_normal((2, size, size)), size / 12, axes=(1, 2))
    fields *= _length(image, level) / np.sqrt((fields**2).mean(axis=(1, 2), keepdims=True))
    rows, columns = np.mgrid[:size, :size] + fields
    moved = [ndimage.map_coordinates(each, [rows, columns], order=1, mode="reflect") for each in image]
    return np.stack(moved)


def _length(image: Image64, level: float) -> float:
    """Return a length in pixels, which is given for images of up to 32."""
    return level * max(1.0, image.shape[1] / REFERENCE_SIZE)


def _convolved(image: Image64, kernel: NDArray[np.float64]) -> Image64:
    """Return the image after convolution with a kernel of any sum, scaled to 1."""
    from scipy import ndimage

    return ndimage.convolve(image, kernel[None] / kernel.sum(), mode="reflect")


CORRUPTIONS = (
    Corruption(name="gaussian-noise", levels=(0.04, 0.06, 0.08, 0.09, 0.10), change=_gaussian_noise),
    Corruption(name="shot-noise", levels=(500, 250, 100, 75, 50), change=_shot_noise),
    Corruption(name="impulse-noise", levels=(0.01, 0.02, 0.03, 0.05, 0.07), change=_impulse_noise),
    Corruption(name="speckle-noise", levels=(0.06, 0.10, 0.12, 0.16, 0.20), change=_speckle_noise),
    Corruption(name="gaussian-blur", levels=(0.4, 0.6, 0.7, 0.8, 1.0), change=_gaussian_blur),
    Corruption(name="defocus-blur", levels=(0.6, 0.8, 1.0, 1.3, 1.6), change=_defocus_blur),
    Corruption(name="motion-blur", levels=(1.5, 2.5, 3.5, 4.5, 6.0), change=_motion_blur),
    Corruption(name="zoom-blur", levels=(1.06, 1.11, 1.16, 1.21, 1.26), change=_zoom_blur),
    Corruption(name="fog", levels=(0.2, 0.5, 0.75, 1.0, 1.5), change=_fog),
    Corruption(name="brightness", levels=(0.05, 0.10, 0.15, 0.20, 0.30), change=_brightness),
    Corruption(name="contrast", levels=(0.75, 0.50, 0.40, 0.30, 0.15), change=_contrast),
    Corruption(name="saturation", levels=(1.5, 2.0, 2.5, 3.0, 4.0), change=_saturation, needs_color=True),
    Corruption(name="pixelate", levels=(0.9, 0.8, 0.7, 0.6, 0.5), change=_pixelate),
    Corruption(name="jpeg", levels=(80, 65, 58, 50, 40), change=_jpeg),
    Corruption(name="elastic", levels=(0.4, 0.6, 0.8, 1.0, 1.3), change=_elastic),
)
"""All corruptions: four of noise, four of blur, four of weather and light, three of cameras and files."""
