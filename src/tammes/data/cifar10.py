"""CIFAR-10: 60,000 small photographs in color, ten classes, from its binary version."""

import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import torch
from jaxtyping import UInt8
from torch import Tensor

from tammes.data.images import Images, numbered_images
from tammes.data.published_files import Split, check_part, check_ten_classes

ARCHIVE, FOLDER = "cifar-10-binary.tar.gz", "cifar-10-batches-bin"
FILES: dict[Split, tuple[str, ...]] = {
    "train": tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
    "test": ("test_batch.bin",),
}
PICKLED = "data_batch_1"
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
CHANNELS, SIZE = 3, 32
RECORD = 1 + CHANNELS * SIZE * SIZE  # a label, then the red, the green and the blue plane
SOURCE = "https://www.cs.toronto.edu/~kriz/cifar.html"


def cifar10(path: str | Path, split: Split) -> Images:
    """Load CIFAR-10 from its binary version: 50,000 training and 10,000 test photographs, 32x32.

    The Python version of the set is pickled. Unpickling can run any code, so that version is refused.

    Args:
        path: path of `cifar-10-binary.tar.gz`, of the unpacked folder `cifar-10-batches-bin`, or of a folder
            that holds either.
        split: part of the set, "train" or "test".

    Raises:
        ValueError: If `split` is neither; if a file is missing, cut off or damaged, or holds a label outside
            0 to 9. The message names the file.

    Source: Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009; the format is described
    at https://www.cs.toronto.edu/~kriz/cifar.html.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     red = bytes([8]) + bytes([255] * 1024) + bytes(2048)
        ...     _ = (Path(root) / "test_batch.bin").write_bytes(red + red)
        ...     images = cifar10(root, "test")
        ...     images, images.classes[images.labels[0]], images[1][0][:, 0, 0].tolist()
        (Images(2 images, 3x32x32, 10 classes), 'ship', [255, 0, 0])
    """
    check_part("split", split)
    place = _place(Path(path))
    if place is None:
        raise ValueError(
            f"expected CIFAR-10 at {path}: the archive {ARCHIVE}, or the folder {FOLDER} that is packed in "
            f"it, with {FILES['train'][0]}, ... and {FILES['test'][0]}; {_found_instead(Path(path))}"
        )
    contents = _unpacked(place, FILES[split]) if place.is_dir() else _packed(place, FILES[split])
    records = torch.cat([_records(name, content) for name, content in contents])
    pixels = records[:, 1:].reshape(-1, CHANNELS, SIZE, SIZE)
    return numbered_images(split, pixels, records[:, 0].long(), CLASSES)


def holds_cifar10(path: Path) -> bool:
    """Return whether `cifar10` finds the set's files at a path; no file is opened.

    Example:
        >>> holds_cifar10(Path("holiday"))
        False
    """
    return _place(path) is not None


def _place(path: Path) -> Path | None:
    """Return the archive or the folder of the binary version that `path` is or holds."""
    if path.is_file():
        return path if path.name.startswith("cifar-10") and ".tar" in path.name else None
    for folder in (path, path / FOLDER):
        if any((folder / name).is_file() for names in FILES.values() for name in names):
            return folder
    return path / ARCHIVE if (path / ARCHIVE).is_file() else None


def _found_instead(path: Path) -> str:
    if any((folder / PICKLED).is_file() for folder in (path, path / "cifar-10-batches-py")):
        return f"found the Python version, which is pickled and not opened; fetch {ARCHIVE} from {SOURCE}"
    return f"found neither; fetch {ARCHIVE} from {SOURCE}"


def _unpacked(folder: Path, names: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of each named file of a folder."""
    for name in names:
        file = folder / name
        if not file.is_file():
            raise ValueError(f"expected the file {file}, found none; unpack {ARCHIVE} again")
        yield str(file), file.read_bytes()


def _packed(path: Path, names: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each named file of an archive, without unpacking it to the disk."""
    found = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                name = Path(member.name).name
                if name in names and member.isfile():
                    opened = archive.extractfile(member)
                    assert opened is not None  # it is a file
                    found[name] = opened.read()
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise ValueError(
            f"expected a whole archive {path}, got one that cannot be read ({error}); "
            f"fetch {ARCHIVE} again from {SOURCE}"
        ) from error
    for name in names:
        if name not in found:
            raise ValueError(
                f"expected {name} in the archive {path}, found none; it is in the binary version, "
                f"{ARCHIVE} from {SOURCE}"
            )
        yield f"{name} in {path}", found[name]


def _records(name: str, content: bytes) -> UInt8[Tensor, "n 3073"]:
    """Return a file's images, each as a row of its label and its pixels."""
    n, rest = divmod(len(content), RECORD)
    if rest or not n:
        raise ValueError(
            f"expected images of {RECORD} bytes each in {name}, got {len(content)} bytes: it is cut off or "
            f"in another format; fetch {ARCHIVE} again from {SOURCE}"
        )
    # A copy, because torch needs memory that it may write to.
    records = torch.frombuffer(bytearray(content), dtype=torch.uint8).reshape(n, RECORD)
    check_ten_classes(records[:, 0], name, f"fetch {ARCHIVE} again from {SOURCE}")
    return records
