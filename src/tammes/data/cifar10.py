"""CIFAR-10: 60,000 small photographs in color, ten classes, from its binary version."""

import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import UInt8
from torch import Tensor

from tammes.data.images import Images, TensorPixels
from tammes.data.split import Split, check_split

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
    """CIFAR-10 from its binary version: 50,000 photographs to train on and 10,000 to test on, 32x32.

    The Python version of the set is pickled, and a pickle runs what it likes when it is opened: it is
    refused.

    Args:
        path: `cifar-10-binary.tar.gz`, the folder `cifar-10-batches-bin` that is packed in it, or a folder
            that holds one of the two.
        split: which part, "train" or "test".

    Raises:
        ValueError: If the split is neither; if files are missing, cut off or damaged, or hold another
            label than 0 to 9: the message names the file.

    Source: Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009; the form is described
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
    check_split(split)
    place = _place(Path(path))
    if place is None:
        raise ValueError(
            f"expected CIFAR-10 at {path}: the archive {ARCHIVE}, or the folder {FOLDER} that is packed in "
            f"it, with {FILES['train'][0]}, ... and {FILES['test'][0]}; {_found_instead(Path(path))}"
        )
    pixels, labels = [], []
    for file in place.files(FILES[split]):
        records = _records(file)
        labels.append(records[:, 0])
        pixels.append(records[:, 1:].reshape(-1, CHANNELS, SIZE, SIZE))
    tensor = torch.cat(pixels)
    return Images(
        pixels=TensorPixels(tensor),
        names=tuple(f"{split} {row}" for row in range(len(tensor))),
        labels=torch.cat(labels).long(),
        classes=CLASSES,
    )


def holds_cifar10(path: Path) -> bool:
    """Whether `cifar10` would look for the set here; contents are not read.

    >>> holds_cifar10(Path("holiday"))
    False
    """
    return _place(path) is not None


@dataclass(frozen=True, kw_only=True)
class File:
    """A file of the set and what it holds."""

    name: str
    content: bytes


@dataclass(frozen=True, kw_only=True)
class Folder:
    """The unpacked files."""

    path: Path

    def files(self, names: tuple[str, ...]) -> Iterator[File]:
        """The files of these names, one after the other."""
        for name in names:
            file = self.path / name
            if not file.is_file():
                raise ValueError(f"expected the file {file}, found none; unpack {ARCHIVE} again")
            yield File(name=str(file), content=file.read_bytes())


@dataclass(frozen=True, kw_only=True)
class Archive:
    """The files as they are packed; nothing is written to the disk."""

    path: Path

    def files(self, names: tuple[str, ...]) -> Iterator[File]:
        """The files of these names, in their order, whatever that of the archive."""
        found = {}
        try:
            with tarfile.open(self.path) as archive:
                for member in archive:
                    name = Path(member.name).name
                    if name in names and member.isfile():
                        opened = archive.extractfile(member)
                        assert opened is not None  # it is a file
                        found[name] = opened.read()
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            raise ValueError(
                f"expected a whole archive {self.path}, got one that cannot be read ({error}); "
                f"fetch {ARCHIVE} again from {SOURCE}"
            ) from error
        for name in names:
            if name not in found:
                raise ValueError(
                    f"expected {name} in the archive {self.path}, found none; it is in the binary version, "
                    f"{ARCHIVE} from {SOURCE}"
                )
            yield File(name=f"{name} in {self.path}", content=found[name])


def _place(path: Path) -> Folder | Archive | None:
    """Where the files are, if `path` is or holds the binary version."""
    if path.is_file():
        return Archive(path=path) if path.name.startswith("cifar-10") and ".tar" in path.name else None
    for folder in (path, path / FOLDER):
        if any((folder / name).is_file() for names in FILES.values() for name in names):
            return Folder(path=folder)
    return Archive(path=path / ARCHIVE) if (path / ARCHIVE).is_file() else None


def _found_instead(path: Path) -> str:
    if any((folder / PICKLED).is_file() for folder in (path, path / "cifar-10-batches-py")):
        return f"found the Python version, which is pickled and not opened; fetch {ARCHIVE} from {SOURCE}"
    return f"found neither; fetch {ARCHIVE} from {SOURCE}"


def _records(file: File) -> UInt8[Tensor, "n 3073"]:
    """The images of a file, a row for each: its label and its pixels."""
    whole, rest = divmod(len(file.content), RECORD)
    if rest or not whole:
        raise ValueError(
            f"expected images of {RECORD} bytes each in {file.name}, got {len(file.content)} bytes: it is "
            f"cut off or of another form; fetch {ARCHIVE} again from {SOURCE}"
        )
    # A copy, because torch wants memory that it may write to.
    records = torch.frombuffer(bytearray(file.content), dtype=torch.uint8).reshape(whole, RECORD)
    labels = records[:, 0]
    if labels.max() >= len(CLASSES):
        row = int((labels >= len(CLASSES)).nonzero()[0])
        raise ValueError(
            f"expected labels from 0 to {len(CLASSES) - 1} in {file.name}, got {int(labels[row])} for image "
            f"{row}: it is damaged or of another form; fetch {ARCHIVE} again from {SOURCE}"
        )
    return records
