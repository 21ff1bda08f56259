"""Characters of invented alphabets, drawn on the spot: many classes, and nothing to download."""

import math
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Bool, Float, UInt8
from torch import Tensor

from tammes.checks import check_seed, is_integer
from tammes.data.images import Images, TensorPixels
from tammes.data.published_files import Split, check_part

CHARACTERS = 400
"""Number of characters if none is given."""
MOST_CHARACTERS = 10_000
"""More would take minutes to draw, and hundreds of megabytes."""
SIZE = 12
"""Height and width of a drawing in pixels."""
TOTAL: dict[Split, int] = {"train": 3200, "test": 1600}
"""Drawings of each part, shared equally among the characters."""
FEWEST: dict[Split, int] = {"train": 8, "test": 4}
"""Drawings of each character at least, so that a set of more than 400 characters is larger."""

ALPHABET = 20
"""Characters of an alphabet."""
STROKES = 8
"""Strokes that the characters of an alphabet share."""
HELD = 2, 3, 4
"""Numbers of strokes of a character."""
POINTS = 12
"""Points on the curve of a stroke from which the distance of a pixel is measured."""

# Standard deviations of a drawing, lengths in widths of the image.
WANDER = 0.04  # of the ends and the bend of a stroke
TURN = 0.15
SHIFT = 0.05
STRETCH = 0.1  # along each axis
PEN = 0.06
"""Half of the width of the pen, in widths of the image."""

CHUNK = 256


def glyphs(split: Split, *, characters: int = CHARACTERS, seed: int = 0) -> Images:
    """Draw characters of invented alphabets: gray, 12x12, white on black, in the manner of Omniglot.

    Twenty characters make an alphabet. They share its eight curved strokes, two to four each, so that most
    characters are easily told apart, and those of one alphabet are not. Each drawing moves the strokes a
    little, and turns, shifts and stretches the character.

    Both parts have the same characters in other drawings, in equal numbers: together about 3,200 to train on
    and 1,600 to test on, but at least 8 and 4 of each character.

    Args:
        split: part of the set, "train" or "test".
        characters: number of characters, which are the classes, from 2 to 10,000. The strokes of the first
            characters do not depend on it.
        seed: random seed of the alphabets and of the drawings.

    Raises:
        ValueError: If `split` is neither, or a number is out of its range.

    Example:
        >>> glyphs("train"), glyphs("test", characters=10)
        (Images(3200 images, 1x12x12, 400 classes), Images(1600 images, 1x12x12, 10 classes))
    """
    check_part("split", split)
    if not (is_integer(characters, minimum=2) and characters <= MOST_CHARACTERS):
        raise ValueError(
            f"characters must be an integer from 2 to {MOST_CHARACTERS:,}, the number of classes, got "
            f"{characters!r}"
        )
    check_seed("seed", seed)
    each = max(FEWEST[split], TOTAL[split] // characters)
    drawn, names = [], []
    for alphabet in range(math.ceil(characters / ALPHABET)):
        count = min(ALPHABET, characters - alphabet * ALPHABET)
        # A generator for each alphabet and part, so that neither depends on what was drawn before.
        strokes, held = _alphabet(np.random.default_rng([seed, alphabet]))
        generator = np.random.default_rng([seed, alphabet, 1 if split == "train" else 2])
        drawn.append(_drawings(strokes, held[:count].repeat(each, axis=0), generator))
        names += [f"{alphabet}-{character}" for character in range(count)]
    labels = torch.arange(characters).repeat_interleave(each)
    return Images(
        pixels=TensorPixels(torch.cat(drawn)[:, None]),  # (n, 12, 12) -> (n, 1, 12, 12)
        names=tuple(f"{split} {names[label]} {row % each}" for row, label in enumerate(labels.tolist())),
        labels=labels,
        classes=tuple(names),
    )


def _alphabet(
    generator: np.random.Generator,
) -> tuple[Float[np.ndarray, "strokes 3 2"], Bool[np.ndarray, "characters strokes"]]:
    """Return both ends and the bend of each stroke, and which strokes each character has."""
    strokes = generator.uniform(0.2, 0.8, (STROKES, 3, 2))
    sets = [chosen for count in HELD for chosen in combinations(range(STROKES), count)]
    held = np.zeros((ALPHABET, STROKES), dtype=bool)
    for character, place in enumerate(generator.permutation(len(sets))[:ALPHABET]):
        held[character, list(sets[place])] = True
    return strokes, held


def _drawings(
    strokes: Float[np.ndarray, "strokes 3 2"],
    held: Bool[np.ndarray, "n strokes"],
    generator: np.random.Generator,
) -> UInt8[Tensor, "n size size"]:
    """Return a drawing of each row of `held`, each with other deviations."""
    n = len(held)
    moved = strokes + WANDER * generator.standard_normal((n, *strokes.shape))  # (n, strokes, 3, 2)
    t = np.linspace(0, 1, POINTS)
    bezier = np.stack([(1 - t) ** 2, 2 * t * (1 - t), t**2], axis=1)  # (points, 3)
    points = bezier @ moved - 0.5  # (n, strokes, points, 2), about the center
    angle = TURN * generator.standard_normal(n)
    turn = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=1)
    turn = turn.reshape(n, 1, 2, 2) * (1 + STRETCH * generator.standard_normal((n, 1, 1, 2)))
    points = points @ turn + SHIFT * generator.standard_normal((n, 1, 1, 2)) + 0.5
    curves, has = torch.from_numpy(points).float(), torch.from_numpy(held)
    parts = [_inked(*part) for part in zip(curves.split(CHUNK), has.split(CHUNK), strict=True)]
    return torch.cat(parts)


def _inked(
    curves: Float[Tensor, "n strokes points 2"], held: Bool[Tensor, "n strokes"]
) -> UInt8[Tensor, "n size size"]:
    """Return pixels that are white within half of the pen's width of a stroke that is held."""
    axis = (torch.arange(SIZE) + 0.5) / SIZE
    pixels = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), dim=-1).reshape(-1, 2)
    # By differences: by products, the digits of small distances would depend on the processor.
    distance = torch.cdist(pixels, curves.flatten(1, 2), compute_mode="donot_use_mm_for_euclid_dist")
    nearest = distance.unflatten(2, (STROKES, POINTS)).amin(dim=3)  # (n, pixels, strokes)
    nearest = nearest.where(held[:, None], math.inf).amin(dim=2)
    ink = ((PEN - nearest) * SIZE + 0.5).clamp(0, 1)  # the edge is one pixel wide
    return (255 * ink).round().to(torch.uint8).unflatten(1, (SIZE, SIZE))
