"""SVHN: 99,289 digits cut out of photographs of house numbers, from its MATLAB files."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from tammes.data.images import Images, numbered_images
from tammes.data.matlab_files import read_matlab
from tammes.data.published_files import DIGITS, Split, check_part

FILES: dict[Split, str] = {"train": "train_32x32.mat", "test": "test_32x32.mat"}
SIDE = 32
SOURCE = "http://ufldl.stanford.edu/housenumbers"


def svhn(path: str | Path, split: Split) -> Images:
    """Load SVHN's cropped digits: 73,257 training and 26,032 test images, 32x32 in color.

    The files label the digit 0 as class 10; here it is class 0.

    Args:
        path: path of the folder of `train_32x32.mat` and `test_32x32.mat`.
        split: part of the set, "train" or "test".

    Raises:
        ValueError: If `split` is neither; if the file is missing, cut off or damaged, or holds other arrays
            than 32x32 color images and labels from 1 to 10. The message names the file.

    Source: Netzer et al., Reading Digits in Natural Images with Unsupervised Feature Learning, 2011,
    format 2.

    Example:
        >>> import tempfile
        >>> from scipy.io import savemat
        >>> with tempfile.TemporaryDirectory() as root:
        ...     arrays = {"X": np.zeros((32, 32, 3, 2), np.uint8), "y": np.array([[10], [3]], np.uint8)}
        ...     savemat(f"{root}/test_32x32.mat", arrays)
        ...     images = svhn(root, "test")
        ...     images, images.labels.tolist()
        (Images(2 images, 3x32x32, 10 classes), [0, 3])
    """
    check_part("split", split)
    file = Path(path) / FILES[split]
    if not file.is_file():
        raise ValueError(f"expected {FILES[split]} in the folder {path}, found none; it is at {SOURCE}")
    arrays = _arrays(file)
    pixels, labels = arrays.get("X"), arrays.get("y")
    if pixels is None or pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[:3] != (SIDE, SIDE, 3):
        raise ValueError(
            f"expected images X as uint8 (32, 32, 3, n) in {file}, got {_described(pixels)}; "
            f"take the cropped digits (format 2) from {SOURCE}"
        )
    n = pixels.shape[3]
    if labels is None or labels.size != n or labels.dtype.kind not in "iuf":
        raise ValueError(f"expected a label y for each of {n} images in {file}, got {_described(labels)}")
    if n and not (labels.min() >= 1 and labels.max() <= 10):
        raise ValueError(f"expected labels from 1 to 10 in {file}, got {labels.min()} to {labels.max()}")
    # (32, 32, 3, n) -> (n, 3, 32, 32)
    tensor = torch.from_numpy(np.ascontiguousarray(pixels.transpose(3, 2, 0, 1)))
    return numbered_images(split, tensor, torch.from_numpy(labels.reshape(-1).astype(np.int64) % 10), DIGITS)


def holds_svhn(path: Path) -> bool:
    """Return whether `svhn` finds one of the set's files in a folder; no file is opened.

    Example:
        >>> holds_svhn(Path("holiday"))
        False
    """
    return any((path / name).is_file() for name in FILES.values())


def _arrays(file: Path) -> dict[str, Any]:
    try:
        return read_matlab(file, ("X", "y"))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"expected a whole MATLAB file {file}, got one that cannot be read ({error}); "
            f"fetch it again from {SOURCE}"
        ) from error


def _described(array: Any) -> str:
    return "none" if array is None else f"{array.dtype} {array.shape}"
