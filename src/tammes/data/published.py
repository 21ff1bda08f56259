"""Which published set of images lies at a path, if any."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tammes.data.cifar10 import cifar10, holds_cifar10
from tammes.data.images import Images
from tammes.data.mnist import holds_mnist, mnist
from tammes.data.split import Split
from tammes.data.svhn import holds_svhn, svhn


@dataclass(frozen=True, kw_only=True)
class Published:
    """A set that has a form of its own, and its own test images.

    Args:
        name: as everybody calls it.
        is_at: whether its files are at a path.
        load: reads one of its parts from there.
        size: height and width of its images in pixels.
        channels: 1 or 3.
        mirrors: whether an image and its mirror image mean the same.
    """

    name: str
    is_at: Callable[[Path], bool]
    load: Callable[[Path, Split], Images]
    size: int
    channels: Literal[1, 3]
    mirrors: bool


CIFAR10 = Published(name="CIFAR-10", is_at=holds_cifar10, load=cifar10, size=32, channels=3, mirrors=True)
MNIST = Published(name="MNIST", is_at=holds_mnist, load=mnist, size=28, channels=1, mirrors=False)
SVHN = Published(name="SVHN", is_at=holds_svhn, load=svhn, size=32, channels=3, mirrors=False)


def published_at(path: str | Path) -> Published | None:
    """The set whose files are at a path, or None; contents are not read.

    Args:
        path: a folder, or CIFAR-10's archive.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (Path(root) / "train_32x32.mat").touch()
        ...     published_at(root).name
        'SVHN'
    """
    return next((each for each in (CIFAR10, MNIST, SVHN) if each.is_at(Path(path))), None)
