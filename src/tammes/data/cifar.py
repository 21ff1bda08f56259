"""CIFAR-10 and CIFAR-100: 60,000 small photographs in color each, from their binary versions."""

import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import UInt8
from torch import Tensor

from tammes.data.images import Images, numbered_images
from tammes.data.published_files import Split, check_classes, check_part

CHANNELS, SIZE = 3, 32
PIXELS = CHANNELS * SIZE * SIZE  # the red, the green and the blue plane
SOURCE = "https://www.cs.toronto.edu/~kriz/cifar.html"


@dataclass(frozen=True, kw_only=True)
class _Version:
    """Files of the binary version of one of the sets.

    Args:
        name: name of the set.
        folder: folder that its archive holds.
        files: names of the files of each part.
        beside: name of a file that is in the folder, too, where those of `files` are common ones.
        labels: bytes of labels before the pixels of an image; the last is its class.
        classes: names of the classes.
        pickled: file and folder of the Python version.
    """

    name: str
    folder: str
    files: Mapping[Split, tuple[str, ...]]
    beside: str | None = None
    labels: int
    classes: tuple[str, ...]
    pickled: tuple[str, str]

    @property
    def archive(self) -> str:
        """Name of the archive."""
        return f"{self.name.lower()}-binary.tar.gz"

    @property
    def advice(self) -> str:
        """What to do about a damaged file."""
        return f"fetch {self.archive} again from {SOURCE}"

    def place(self, path: Path) -> Path | None:
        """Return the archive or the folder of the binary version that `path` is or holds."""
        if path.is_file():
            is_archive = re.match(rf"{self.name.lower()}(?!\d).*\.tar", path.name)
            return path if is_archive else None
        for folder in (path, path / self.folder):
            is_known = self.beside is None or folder.name == self.folder or (folder / self.beside).is_file()
            if is_known and any((folder / name).is_file() for names in self.files.values() for name in names):
                return folder
        return path / self.archive if (path / self.archive).is_file() else None

    def load(self, path: Path, split: Split) -> Images:
        """Return one part of the set."""
        check_part("split", split)
        place = self.place(path)
        if place is None:
            first, last = self.files["train"][0], self.files["test"][0]
            several = ", ..." if len(self.files["train"]) > 1 else ""
            raise ValueError(
                f"expected {self.name} at {path}: the archive {self.archive}, or the folder {self.folder} "
                f"that is packed in it, with {first}{several} and {last}; {self._found_instead(path)}"
            )
        names = self.files[split]
        contents = self._unpacked(place, names) if place.is_dir() else self._packed(place, names)
        records = torch.cat([self._records(name, content) for name, content in contents])
        pixels = records[:, self.labels :].reshape(-1, CHANNELS, SIZE, SIZE)
        return numbered_images(split, pixels, records[:, self.labels - 1].long(), self.classes)

    def _found_instead(self, path: Path) -> str:
        fetch = f"fetch {self.archive} from {SOURCE}"
        file, folder = self.pickled
        # The Python version of CIFAR-100 has common names, which its folder tells from others.
        places = [path / folder, *([path] if self.beside is None or path.name == folder else [])]
        if any((place / file).is_file() for place in places):
            return f"found the Python version, which is pickled and not opened; {fetch}"
        return f"found neither; {fetch}"

    def _unpacked(self, folder: Path, names: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
        """Yield the path and the content of each named file of a folder."""
        for name in names:
            file = folder / name
            if not file.is_file():
                raise ValueError(f"expected the file {file}, found none; unpack {self.archive} again")
            yield str(file), file.read_bytes()

    def _packed(self, path: Path, names: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the content of each named file of an archive, which stays packed."""
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
                f"expected a whole archive {path}, got one that cannot be read ({error}); {self.advice}"
            ) from error
        for name in names:
            if name not in found:
                raise ValueError(
                    f"expected {name} in the archive {path}, found none; it is in the binary version, "
                    f"{self.archive} from {SOURCE}"
                )
            yield f"{name} in {path}", found[name]

    def _records(self, name: str, content: bytes) -> UInt8[Tensor, "n bytes"]:
        """Return a file's images, each as a row of its labels and its pixels."""
        record = self.labels + PIXELS
        n, rest = divmod(len(content), record)
        if rest or not n:
            raise ValueError(
                f"expected images of {record} bytes each in {name}, got {len(content)} bytes: it is cut off "
                f"or in another format; {self.advice}"
            )
        # A copy, because torch needs memory that it may write to.
        records = torch.frombuffer(bytearray(content), dtype=torch.uint8).reshape(n, record)
        check_classes(records[:, self.labels - 1], len(self.classes), name, self.advice)
        return records


_FINE = """
apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can
castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin
elephant flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard
lobster man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid otter palm_tree pear
pickup_truck pine_tree plain plate poppy porcupine possum rabbit raccoon ray road rocket rose sea seal
shark shrew skunk skyscraper snail snake spider squirrel streetcar sunflower sweet_pepper table tank
telephone television tiger tractor train trout tulip turtle wardrobe whale willow_tree wolf woman worm
"""
# In the order of the published file of their names.

_CIFAR10 = _Version(
    name="CIFAR-10",
    folder="cifar-10-batches-bin",
    files={
        "train": tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
        "test": ("test_batch.bin",),
    },
    labels=1,
    classes=("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    pickled=("data_batch_1", "cifar-10-batches-py"),
)
_CIFAR100 = _Version(
    name="CIFAR-100",
    folder="cifar-100-binary",
    files={"train": ("train.bin",), "test": ("test.bin",)},
    beside="fine_label_names.txt",
    labels=2,
    classes=tuple(_FINE.split()),
    pickled=("train", "cifar-100-python"),
)


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
    return _CIFAR10.load(Path(path), split)


def cifar100(path: str | Path, split: Split) -> Images:
    """Load CIFAR-100 from its binary version: 50,000 training and 10,000 test photographs, 32x32.

    The labels are the hundred fine ones. The Python version, which is pickled, is refused.

    Args:
        path: path of `cifar-100-binary.tar.gz`, of the unpacked folder `cifar-100-binary`, or of a folder
            that holds either.
        split: part of the set, "train" or "test".

    Raises:
        ValueError: If `split` is neither; if a file is missing, cut off or damaged, or holds a label outside
            0 to 99. The message names the file.

    Source: Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009; the format is described
    at https://www.cs.toronto.edu/~kriz/cifar.html.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     folder = Path(root) / "cifar-100-binary"
        ...     folder.mkdir()
        ...     red = bytes([4, 72]) + bytes([255] * 1024) + bytes(2048)
        ...     _ = (folder / "test.bin").write_bytes(red + red)
        ...     images = cifar100(root, "test")
        ...     images, images.classes[images.labels[0]], images[1][0][:, 0, 0].tolist()
        (Images(2 images, 3x32x32, 100 classes), 'seal', [255, 0, 0])
    """
    return _CIFAR100.load(Path(path), split)


def holds_cifar10(path: Path) -> bool:
    """Return whether `cifar10` finds the set's files at a path; no file is opened.

    Example:
        >>> holds_cifar10(Path("holiday"))
        False
    """
    return _CIFAR10.place(path) is not None


def holds_cifar100(path: Path) -> bool:
    """Return whether `cifar100` finds the set's files at a path; no file is opened.

    Example:
        >>> holds_cifar100(Path("holiday"))
        False
    """
    return _CIFAR100.place(path) is not None
