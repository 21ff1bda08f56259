"""MNIST: 70,000 handwritten digits, from its idx files."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from tammes.data.images import Images, numbered_images
from tammes.data.published_files import DIGITS, Split, check_classes, check_part, read_bytes

PREFIX: dict[Split, str] = {"train": "train", "test": "t10k"}
UNSIGNED_BYTE = 8  # the third byte of an idx file is the type of its numbers
SOURCE = "http://yann.lecun.com/exdb/mnist"


def mnist(path: str | Path, split: Split) -> Images:
    """Load MNIST from its four idx files, gzipped or not: 60,000 training and 10,000 test digits.

    The scans are gray, 28x28, white on black. Sets in the same format, such as Fashion-MNIST, load as well;
    their classes are then named 0 to 9.

    Args:
        path: path of the folder of `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`,
            `t10k-images-idx3-ubyte` and `t10k-labels-idx1-ubyte`, each with or without `.gz`.
        split: part of the set, "train" or "test".

    Raises:
        ValueError: If `split` is neither; if files are missing, cut off or damaged, do not belong together,
            or hold a label outside 0 to 9. The message names the file.

    Source: LeCun et al., Gradient-Based Learning Applied to Document Recognition, 1998; the idx format is
    described at the end of the set's page.

    Example:
        >>> import gzip, tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     scans = bytes([0, 0, 8, 3]) + b"".join(n.to_bytes(4) for n in (2, 28, 28)) + bytes(2 * 784)
        ...     labels = bytes([0, 0, 8, 1]) + (2).to_bytes(4) + bytes([5, 0])
        ...     _ = (Path(root) / "t10k-images-idx3-ubyte").write_bytes(scans)
        ...     _ = (Path(root) / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
        ...     mnist(root, "test")
        Images(2 images, 1x28x28, 10 classes)
    """
    check_part("split", split)
    images_at, labels_at = (_expected(Path(path), name) for name in _names(split))
    scans, labels = read_idx(images_at, dimensions=3), read_idx(labels_at, dimensions=1)
    if len(scans) != len(labels):
        raise ValueError(
            f"expected a label for each image, got {len(scans)} images in {images_at} and {len(labels)} "
            f"labels in {labels_at}; take both files from one place"
        )
    check_classes(labels, len(DIGITS), labels_at, "fetch it again")
    pixels = torch.from_numpy(scans)[:, None]  # (n, 28, 28) -> (n, 1, 28, 28)
    return numbered_images(split, pixels, torch.from_numpy(labels.astype(np.int64)), DIGITS)


def holds_mnist(path: Path) -> bool:
    """Return whether `mnist` finds one of the set's files in a folder; no file is opened.

    Example:
        >>> holds_mnist(Path("holiday"))
        False
    """
    return any(_find(path, name) is not None for split in PREFIX for name in _names(split))


def read_idx(path: Path, *, dimensions: int) -> NDArray[np.uint8]:
    """Return the bytes of an idx file as an array of the shape in its header.

    Args:
        path: path of the file, gzipped if its name ends in `.gz`.
        dimensions: number of dimensions that the array must have.

    Raises:
        ValueError: If the file cannot be read, is no idx file of bytes, or has another number of dimensions
            or another length than its header says.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     file = Path(root) / "numbers"
        ...     _ = file.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 5, 6, 7]))
        ...     read_idx(file, dimensions=1)
        array([5, 6, 7], dtype=uint8)
    """
    content = read_bytes(path, "a whole file", "; fetch it again")
    header = 4 + 4 * dimensions  # two zeros, the type, the number of dimensions; then their lengths
    if content[:4] != bytes([0, 0, UNSIGNED_BYTE, dimensions]) or len(content) < header:
        raise ValueError(
            f"expected an idx file of bytes in {dimensions} dimensions, got {path}, which begins with "
            f"{content[:4].hex(' ') or 'nothing'}; fetch it again"
        )
    shape = np.frombuffer(content, dtype=">u4", count=dimensions, offset=4).tolist()
    expected = header + int(np.prod(shape, dtype=np.uint64))
    if len(content) != expected:
        raise ValueError(
            f"expected {expected} bytes in {path}, as its header says, got {len(content)}: it is cut off or "
            "damaged; fetch it again"
        )
    # A copy, because torch needs memory that it may write to.
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape).copy()


def _names(split: Split) -> tuple[str, str]:
    return f"{PREFIX[split]}-images-idx3-ubyte", f"{PREFIX[split]}-labels-idx1-ubyte"


def _find(path: Path, name: str) -> Path | None:
    """Return a file of the set, or None; some copies of the set have a dot before `idx`."""
    spellings = (name, name.replace("-idx", ".idx"))
    found = (path / f"{spelling}{end}" for spelling in spellings for end in ("", ".gz"))
    return next((file for file in found if file.is_file()), None)


def _expected(path: Path, name: str) -> Path:
    file = _find(path, name)
    if file is None:
        raise ValueError(
            f"expected {name}, with or without .gz, in the folder {path}, found none; "
            f"the set has four files, published at {SOURCE}"
        )
    return file
