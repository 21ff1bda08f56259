"""Published sets of images, recognized by the names of their files."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tammes.data.cifar import cifar10, cifar100, holds_cifar10, holds_cifar100
from tammes.data.images import Images
from tammes.data.mnist import holds_mnist, mnist
from tammes.data.published_files import Split
from tammes.data.svhn import holds_svhn, svhn


@dataclass(frozen=True, kw_only=True)
class Published:
    """A set of images with its own file format and its own test images.

    Args:
        name: usual name of the set.
        is_at: function that returns whether the set's files are at a path.
        load: function that reads one part of the set from a path.
        size: height and width of the images, in pixels.
        channels: number of channels, 1 or 3.
        mirrors: whether an image and its mirror image mean the same.

    Example:
        >>> MNIST.name, MNIST.size, MNIST.mirrors
        ('MNIST', 28, False)
    """

    name: str
    is_at: Callable[[Path], bool]
    load: Callable[[Path, Split], Images]
    size: int
    channels: Literal[1, 3]
    mirrors: bool


CIFAR10 = Published(name="CIFAR-10", is_at=holds_cifar10, load=cifar10, size=32, channels=3, mirrors=True)
CIFAR100 = Published(name="CIFAR-100", is_at=holds_cifar100, load=cifar100, size=32, channels=3, mirrors=True)
MNIST = Published(name="MNIST", is_at=holds_mnist, load=mnist, size=28, channels=1, mirrors=False)
SVHN = Published(name="SVHN", is_at=holds_svhn, load=svhn, size=32, channels=3, mirrors=False)


def published_at(path: str | Path) -> Published | None:
    """Return the set whose files are at a path, or None; no file is opened.

    Args:
        path: path of a folder, or of the archive of CIFAR-10 or CIFAR-100.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (Path(root) / "train_32x32.mat").touch()
        ...     published_at(root).name
        'SVHN'
    """
    return next((each for each in (CIFAR10, CIFAR100, MNIST, SVHN) if each.is_at(Path(path))), None)
