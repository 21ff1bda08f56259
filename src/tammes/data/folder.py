"""Folders of images, with or without a folder for each class, decoded on demand."""

import statistics
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from tammes.checks import check_integer
from tammes.data.image_cache import MappedPixels, cache_place, cached
from tammes.data.image_files import DAMAGE, MAX_PIXELS, SUFFIXES, decode, decoded, is_image, open_image
from tammes.data.images import Images, Pixels
from tammes.data.listing import files_below, listing, printable, warn_of_skipped

SAMPLE = 128
"""Images that are looked at for the usual shape of a folder."""
SMALLEST_SIZE, LARGEST_SIZE = 8, 64
"""Bounds of the usual size, in pixels; an image may be larger by its `size`."""
OF_GRAY = frozenset({"1", "L", "LA", "I", "I;16", "I;16B"})
"""Pillow's modes of images without color."""
SPLITS = frozenset({"train", "training", "val", "valid", "validation", "dev", "test", "testing"})
"""Names of folders that are usually parts of a data set, with the classes below them."""


class MixedFolderWarning(UserWarning):
    """Warning that images lie both beside and inside folders, so that the folders are not used as classes."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FilePixels:
    """Pixels decoded from files on demand, so that memory holds only names.

    Args:
        root: path of the folder.
        names: paths of the images, relative to the folder.
        channels: 1 (gray) or 3 (red, green, blue).
        size: height and width to scale to, in pixels.
    """

    root: Path
    names: tuple[str, ...]
    channels: int
    size: int

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, row: int) -> UInt8[Tensor, "channels size size"]:
        return decode(self.root / self.names[row], size=self.size, channels=self.channels)

    def take(self, rows: Sequence[int]) -> "FilePixels":
        """Return the pixels of these rows, in this order."""
        names = tuple(self.names[row] for row in rows)
        return FilePixels(root=self.root, names=names, channels=self.channels, size=self.size)


def folder(
    path: str | Path,
    *,
    size: int,
    channels: int = 3,
    strict: bool = False,
    unchecked: bool = False,
    cache: str | Path | None = None,
) -> Images:
    """Load the images in a folder, in the order of their names.

    If every image lies in a subfolder, these subfolders are the classes, in the order of their names; deeper
    folders are searched but are not classes. If every image lies in the folder itself, there are no labels.
    PNG, JPEG, WebP, BMP, GIF and TIFF files of any mode and of up to `MAX_PIXELS` pixels are read; see
    `decode`.

    Each file is decoded once, here, so that a damaged one is found before the training: all epochs, a resumed
    run and all processes then have the same images. That takes at most the time of one epoch's decoding. With
    a `cache`, each file is decoded once for all trainings, into a file that batches are read from.

    Hidden files, Thumbs.db and desktop.ini are ignored; any other file that is not such an image, and each
    entry that `files_below` finds unusable, is left out and counted in one warning, or refused if `strict`.

    Args:
        path: path of the folder.
        size: height and width of the images in pixels: the shorter side is scaled to it, the longer
            cropped to its center.
        channels: number of channels, 1 (gray) or 3 (red, green, blue).
        strict: whether anything but images is an error.
        unchecked: whether to look at the header and the end of each file only, which is quicker: an image
            that is damaged in between is then an error when it is decoded.
        cache: folder in which the decoded images are kept, for this and later calls; see `cached`. None
            decodes an image each time that it is read.

    Raises:
        ValueError: If there is no such folder, or no image in it; if `strict`, and a file is not an image, or
            images lie both beside and inside folders; if the disk has no room for the cache, or `unchecked`
            is asked for with a cache, which decodes every image.

    Warns:
        SkippedFilesWarning: If files were left out; `skipped` of the result has their names.
        MixedFolderWarning: If images lie both beside and inside folders; the images have no labels then.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name in ("cat/1.png", "dog/1.png", "dog/2.png"):
        ...         (Path(root) / name).parent.mkdir(exist_ok=True)
        ...         Image.new("RGB", (40, 30)).save(Path(root) / name)
        ...     images = folder(root, size=16)
        ...     images, images.classes, images.labels.tolist(), images[0][0].shape
        (Images(3 images, 3x16x16, 2 classes), ('cat', 'dog'), [0, 1, 1], torch.Size([3, 16, 16]))
    """
    check_integer("size", size, reason="it is the height and width in pixels")
    if channels not in (1, 3):
        raise ValueError(f"channels must be 1 (gray) or 3 (red, green, blue), got {channels}")
    root = Path(path)
    if not root.is_dir():
        reason = "a file" if root.exists() else "no such folder"
        raise ValueError(f"expected a folder of images at {root}, found {reason}")

    if cache is not None and unchecked:
        raise ValueError("unchecked=True excludes a cache, which decodes every image: leave one of them out")

    names: list[str] = []
    files, skipped = files_below(root)
    pixels: Pixels
    if cache is None:
        for name in files:
            (names if is_image(root / name, unchecked=unchecked) else skipped).append(name)
        pixels = FilePixels(root=root, names=tuple(names), channels=channels, size=size)
    else:
        pixels, damaged = _cached(root, files, cache, channels=channels, size=size)
        for name in files:
            (skipped if name in damaged else names).append(name)
    if not names:
        wanted = " ".join(sorted(SUFFIXES))
        only = f"only {listing(skipped)}" if skipped else "no files"
        raise ValueError(f"expected images ({wanted}) in {root} or in folders below it, found {only}")
    total = len(names) + len(skipped)
    message = (
        f"{len(skipped)} of {total} files in {root} cannot be read as images of at most {MAX_PIXELS:,} pixels"
    )
    warn_of_skipped(message, skipped, strict=strict)

    classes, labels = _classes(root, names, strict)
    return Images(
        pixels=pixels,
        names=printable(names),
        labels=labels,
        classes=None if classes is None else printable(classes),
        skipped=printable(skipped),
    )


def _cached(
    root: Path, files: Sequence[str], cache: str | Path, *, channels: int, size: int
) -> tuple[MappedPixels, frozenset[str]]:
    """Return the pixels of the files that are images, and the names of the other files."""
    names = [name for name in files if Path(name).suffix.lower() in SUFFIXES]
    status = [(root / name).stat() for name in names]
    found = cached(
        cache_place(cache, root, channels=channels, size=size),
        [(name, each.st_size, each.st_mtime_ns) for name, each in zip(names, status, strict=True)],
        lambda row: decoded(root / names[row], size=size, channels=channels),
        count=len(names),
        channels=channels,
        size=size,
    )
    whole = {name for row, name in enumerate(names) if row not in found.damaged}
    return found.pixels, frozenset(files) - whole


def _classes(
    root: Path, names: Sequence[str], strict: bool
) -> tuple[tuple[str, ...] | None, Int64[Tensor, " n"] | None]:
    """Return the first folders of the paths as classes, and the labels, if all paths have one."""
    tops = [name.partition("/")[0] if "/" in name else None for name in names]
    loose = sum(top is None for top in tops)
    if loose == len(tops):
        return None, None
    if loose:
        message = (
            f"{loose} of {len(tops)} images lie in {root} itself and the others in folders inside it, "
            "so that it is unclear whether the folders are classes"
        )
        if strict:
            raise ValueError(f"{message}; put every image into a subfolder, or none")
        warnings.warn(f"{message}; the images have no labels", MixedFolderWarning, stacklevel=3)
        return None, None
    classes = tuple(sorted({top for top in tops if top is not None}))
    is_nested = any(name.count("/") > 1 for name in names)
    if is_nested and {name.lower() for name in classes} <= SPLITS:
        part = next((name for name in classes if name.lower().startswith("train")), classes[0])
        warnings.warn(
            f"the classes of {root} are its folders {', '.join(classes)}, which are named like parts of a "
            "data set: if the folders below them are the classes, give one part as the data, such as "
            f"{root / part}",
            UserWarning,
            stacklevel=3,
        )
    index = {name: label for label, name in enumerate(classes)}
    return classes, torch.tensor([index[top] for top in tops if top is not None])


def usual_shape(path: str | Path, *, largest: int | None = None) -> tuple[int, Literal[1, 3]]:
    """Return the size and the channels that suit a folder's images, judged by 128 of them.

    The size is the median of their shorter sides, from 8 to 64 pixels. There is one channel if every image
    is gray, whether or not its file has colors. A folder without images has 64 pixels and 3 channels.

    Args:
        path: the folder.
        largest: largest size in pixels; None for 64.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> with tempfile.TemporaryDirectory() as root:
        ...     Image.new("RGB", (28, 30), "gray").save(Path(root) / "1.png")
        ...     usual_shape(root)
        (28, 1)
    """
    root = Path(path)
    if not root.is_dir():
        return LARGEST_SIZE, 3
    names = [name for name in files_below(root)[0] if Path(name).suffix.lower() in SUFFIXES]
    count = min(SAMPLE, len(names))
    return judged_shape(
        (root / names[place * len(names) // count] for place in range(count)), largest=largest
    )


def judged_shape(sources: Iterable[Path | bytes], *, largest: int | None = None) -> tuple[int, Literal[1, 3]]:
    """Return the size and the channels that suit images, given by their paths or bytes; see `usual_shape`."""
    sides: list[int] = []
    gray = True
    for source in sources:
        try:
            with open_image(source) as image:
                sides.append(min(image.size))
                gray = gray and (image.mode in OF_GRAY or _without_color(source))
        except DAMAGE:
            continue
    if not sides:
        return LARGEST_SIZE, 3
    most = LARGEST_SIZE if largest is None else largest
    return min(max(round(statistics.median(sides)), SMALLEST_SIZE), most), 1 if gray else 3


def _without_color(source: Path | bytes) -> bool:
    red, green, blue = decode(source, size=LARGEST_SIZE, channels=3)
    return torch.equal(red, green) and torch.equal(green, blue)
