"""The handwritten digits that come with scikit-learn: real scans, and no download."""

import numpy as np
import torch

from tammes.data.images import Images, TensorPixels
from tammes.data.published_files import DIGITS, Split, check_part

TEST_IMAGES = 360
SPLIT_SEED = 0  # part of the split's definition: another seed gives another split, with other numbers
WHITE = 16  # the scans have 17 levels of gray


def digits(split: Split) -> Images:
    """Load 1,797 gray scans of handwritten digits, 8x8 pixels: 1,437 training and 360 test images.

    The split is fixed and stratified: both parts have the ten digits in equal proportion. The names number
    the scans in scikit-learn's order.

    Args:
        split: part of the set, "train" or "test".

    Raises:
        ValueError: If `split` is neither.

    Source: Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning
    Repository, 1998 (its test set, the part that scikit-learn distributes).

    Example:
        >>> digits("train"), digits("test")
        (Images(1437 images, 1x8x8, 10 classes), Images(360 images, 1x8x8, 10 classes))
    """
    # scikit-learn takes a second to import, which other data can do without.
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    check_part("split", split)
    scans = load_digits()
    parts = train_test_split(
        np.arange(len(scans.target)), test_size=TEST_IMAGES, random_state=SPLIT_SEED, stratify=scans.target
    )
    rows = np.sort(parts[0] if split == "train" else parts[1])
    pixels = np.rint(scans.images[rows] * (255 / WHITE)).astype(np.uint8)
    return Images(
        pixels=TensorPixels(torch.from_numpy(pixels)[:, None]),  # (n, 8, 8) -> (n, 1, 8, 8)
        names=tuple(f"digit {row}" for row in rows),
        labels=torch.from_numpy(scans.target[rows].astype(np.int64)),
        classes=DIGITS,
    )
