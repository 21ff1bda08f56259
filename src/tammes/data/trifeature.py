"""Trifeature: images of a shape with a texture in a color, each one of ten, drawn on the spot."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int8

from tammes.checks import check_integer, check_seed
from tammes.data.images import Images, TensorPixels
from tammes.data.labels import Labeling
from tammes.data.published_files import Split, check_part

SIZE = 32
"""Height and width in pixels if none is given."""
SMALLEST, LARGEST = 16, 512
"""Sizes that can be drawn: textures of smaller images would be single pixels."""
EXAMPLES = 9
"""Training drawings of each combination if no number is given; the paper has 90, and 10 to test on."""
MOST_EXAMPLES = 900
TRAINED_EACH_TESTED = 9
"""Training drawings for each test drawing: the paper's random split is 90 to 10."""

RADII = 0.26, 0.42
"""Smallest and largest radius of a shape, in widths of the image."""
LARGEST_TURN = np.pi / 4
"""Largest rotation of a shape and, independently, of a texture, in radians."""
PERIOD = 0.5
"""Period of a texture, in radii of the shape."""
DARK = 0.25
"""Brightness of the dark parts of a texture; the light parts have 1."""
FINE = 64
"""Samples of an image along each axis, of which a pixel is the mean; at least 2 for each pixel."""

COLORS: Mapping[str, tuple[int, int, int]] = {
    "red": (220, 30, 30),
    "orange": (250, 140, 20),
    "yellow": (240, 230, 40),
    "green": (40, 170, 50),
    "cyan": (40, 220, 220),
    "blue": (40, 70, 230),
    "purple": (130, 40, 170),
    "pink": (250, 130, 190),
    "brown": (130, 80, 40),
    "white": (245, 245, 245),
}

Plane = Float32[np.ndarray, "n samples samples"]
Part = Bool[np.ndarray, "n samples samples"]


def _beyond(u: Plane, v: Plane, sides: int, apothem: float) -> Int8[np.ndarray, "n samples samples"]:
    """Return how many of the sides of a regular polygon a point lies beyond."""
    angles = np.pi / 2 + 2 * np.pi * np.arange(sides) / sides
    normals = zip(np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32), strict=True)
    count = np.zeros(u.shape, dtype=np.int8)
    for x, y in normals:
        count += (x * u + y * v > np.float32(apothem)).astype(np.int8)
    return count


def _box(u: Plane, v: Plane, wide: float, high: float) -> Part:
    return (np.abs(u) <= wide) & (np.abs(v) <= high)


SHAPES: Mapping[str, Callable[[Plane, Plane], Part]] = {
    "circle": lambda u, v: u * u + v * v <= 0.72,
    "ring": lambda u, v: (u * u + v * v <= 0.85) & (u * u + v * v >= 0.2),
    "triangle": lambda u, v: _beyond(u, v, 3, 0.5) == 0,
    "square": lambda u, v: _box(u, v, 0.7, 0.7),
    "pentagon": lambda u, v: _beyond(u, v, 5, 0.78) == 0,
    # The five points of a star each lie beyond one side of the pentagon in its middle.
    "star": lambda u, v: _beyond(u, v, 5, 0.3) <= 1,
    "plus": lambda u, v: _box(u, v, 0.3, 0.92) | _box(u, v, 0.92, 0.3),
    "tee": lambda u, v: _box(u, v, 0.22, 0.72) | _box(u, v + np.float32(0.47), 0.68, 0.25),
    "rhombus": lambda u, v: np.abs(u) / np.float32(0.55) + np.abs(v) <= 0.98,
    "trapezoid": lambda u, v: (np.abs(v) <= 0.5) & (np.abs(u) <= 0.6 + np.float32(0.45) * v),
}
"""Whether a point lies within a shape of radius 1 about the origin, by the name of the shape."""


def _within(x: Plane) -> Plane:
    return x - np.floor(x)


def _bits(a: Plane, b: Plane) -> Part:
    """Return a bit for each half period of a plane, by a hash that has no visible pattern."""
    cell = np.floor(2 * a).astype(np.int64) * 0x1F123BB5 + np.floor(2 * b).astype(np.int64) * 0x2545F491
    cell = (cell ^ (cell >> 15)) * 0x2C1B3C6D
    return ((cell ^ (cell >> 12)) & 1).astype(bool)


TEXTURES: Mapping[str, Callable[[Plane, Plane], Part]] = {
    "solid": lambda a, b: np.ones(a.shape, dtype=bool),
    "stripes": lambda a, b: _within(a) < 0.5,
    "grid": lambda a, b: (_within(a) < 0.3) | (_within(b) < 0.3),
    "checks": lambda a, b: (_within(a) < 0.5) ^ (_within(b) < 0.5),
    "dots": lambda a, b: (_within(a) - 0.5) ** 2 + (_within(b) - 0.5) ** 2 < 0.11,
    "zigzags": lambda a, b: _within(a + np.abs(2 * _within(b) - 1)) < 0.5,
    "triangles": lambda a, b: _within(a) < _within(b),
    "pluses": lambda a, b: (
        _box(_within(a) - np.float32(0.5), _within(b) - np.float32(0.5), 0.13, 0.4)
        | _box(_within(a) - np.float32(0.5), _within(b) - np.float32(0.5), 0.4, 0.13)
    ),
    "rain": lambda a, b: (_within(a) < 0.35) & (_within(b / 2 + np.floor(a) / 2) < 0.5),
    "noise": _bits,
}
"""Whether a point of the plane is light, by the name of the texture; its period is 1."""


def trifeature(split: Split, *, size: int = SIZE, examples: int = EXAMPLES, seed: int = 0) -> Images:
    """Draw images with three features: one of ten shapes, of ten textures and of ten colors, on black.

    Each of the 1,000 combinations has the same number of drawings. Position, size and rotation of the shape
    are random, and so are rotation and phase of its texture. Labels are those of the shape;
    `images.of_feature("color")` is the same set with the labels of another feature.

    Args:
        split: part of the set, "train" or "test". The test part has other drawings of the same combinations,
            one for every nine, at least one.
        size: height and width in pixels, from 16 to 512; 128 in the paper.
        examples: training drawings of each combination, from 1 to 900; 90 in the paper.
        seed: random seed of the drawings.

    Raises:
        ValueError: If `split` is neither, or a number is out of its range.

    Source: Hermann and Lampinen, What shapes feature representations?, 2020; Robinson (2023), appendix B.2.2.
    Differs: the shapes, textures and colors are drawn by our own formulas.

    Example:
        >>> images = trifeature("test")
        >>> images
        Images(1000 images, 3x32x32, 10 classes)
        >>> list(images.by_feature), images.of_feature("color").classes[:3]
        (['shape', 'texture', 'color'], ('red', 'orange', 'yellow'))
    """
    check_part("split", split)
    _check_between("size", size, SMALLEST, LARGEST, "the height and width in pixels")
    _check_between("examples", examples, 1, MOST_EXAMPLES, "the training drawings of each combination")
    check_seed("seed", seed)
    each = examples if split == "train" else max(1, examples // TRAINED_EACH_TESTED)
    colors = np.array(list(COLORS.values()), dtype=np.float32).repeat(each, axis=0)  # (10 each, 3)
    drawn = []
    for place, (inside, light) in enumerate((s, t) for s in SHAPES.values() for t in TEXTURES.values()):
        # A generator for each shape with each texture, so that none depends on the others.
        generator = np.random.default_rng([seed, place, 1 if split == "train" else 2])
        brightness = _brightness(inside, light, len(colors), size, generator)
        pixels = np.rint(colors[:, :, None, None] * brightness[:, None])
        drawn.append(torch.from_numpy(pixels.astype(np.uint8)))
    by_feature = _labelings(each)
    names = [
        " ".join(labeling.classes[label] for labeling, label in zip(by_feature.values(), row, strict=True))
        for row in zip(*(labeling.labels.tolist() for labeling in by_feature.values()), strict=True)
    ]
    return Images(
        pixels=TensorPixels(torch.cat(drawn)),
        names=tuple(f"{split} {name} {row % each}" for row, name in enumerate(names)),
        labels=by_feature["shape"].labels,
        classes=by_feature["shape"].classes,
        by_feature=by_feature,
    )


def _labelings(each: int) -> dict[str, Labeling]:
    rows = torch.arange(len(SHAPES) * len(TEXTURES) * len(COLORS) * each)
    by_color = rows // each
    return {
        "shape": Labeling(labels=by_color // 100, classes=tuple(SHAPES)),
        "texture": Labeling(labels=by_color // 10 % 10, classes=tuple(TEXTURES)),
        "color": Labeling(labels=by_color % 10, classes=tuple(COLORS)),
    }


def _brightness(
    inside: Callable[[Plane, Plane], Part],
    light: Callable[[Plane, Plane], Part],
    count: int,
    size: int,
    generator: np.random.Generator,
) -> Float32[np.ndarray, "n size size"]:
    """Return the brightness of the pixels of drawings, from 0 to 1, each with another place and rotation."""
    radius = generator.uniform(*RADII, count)
    center = radius + generator.uniform(0, 1, (2, count)) * (1 - 2 * radius)
    turns = generator.uniform(-LARGEST_TURN, LARGEST_TURN, (2, count))
    phase = generator.uniform(0, 100, (2, count))
    samples = max(2, -(-FINE // size))
    axis = (np.arange(size * samples) + 0.5) / (size * samples)
    # In float32 from here on: digits that depend on the processor's sine are gone then.
    x, y = (((axis - each[:, None]) / radius[:, None]).astype(np.float32) for each in center)
    u, v = _turned(x, y, turns[0])
    a, b = _turned(x, y, turns[1])
    a, b = (
        each / np.float32(PERIOD) + shift.astype(np.float32)[:, None, None]
        for each, shift in zip((a, b), phase, strict=True)
    )
    bright = inside(u, v) * np.where(light(a, b), np.float32(1), np.float32(DARK))
    # Sums of quarters, which have no rounding.
    return bright.reshape(count, size, samples, size, samples).sum(axis=(2, 4)) / np.float32(samples**2)


def _turned(
    x: Float32[np.ndarray, "n samples"], y: Float32[np.ndarray, "n samples"], angle: Float[np.ndarray, " n"]
) -> tuple[Plane, Plane]:
    """Return both coordinates of all points of a grid in axes that are turned by an angle."""
    cosine, sine = (each.astype(np.float32)[:, None, None] for each in (np.cos(angle), np.sin(angle)))
    across, down = x[:, None, :], y[:, :, None]
    return cosine * across + sine * down, cosine * down - sine * across


def _check_between(name: str, value: object, smallest: int, largest: int, what: str) -> None:
    number = check_integer(name, value, minimum=smallest, reason=f"it is {what}")
    if number > largest:
        raise ValueError(f"{name} must be at most {largest}, {what}, got {number}")
