"""Images in tar archives of the WebDataset layout: shards that are indexed once, and read from the middle."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import UInt8
from torch import Tensor

from tammes.checks import check_integer
from tammes.data.folder import SAMPLE, judged_shape
from tammes.data.image_cache import SourceFile, cache_place, cached
from tammes.data.image_files import MAX_PIXELS, decode, decoded
from tammes.data.images import Images, Pixels
from tammes.data.labels import labels_of_names
from tammes.data.listing import listing, printable, warn_of_skipped
from tammes.data.tar_files import JSON, CutShortError, TarSample, endings_in, shard_files, tar_samples

BUFFER = 2048
"""Images that are mixed with each other in an epoch, beyond the order of the shards."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TarPixels:
    """Pixels decoded from the members of tar archives on demand, so that memory holds only an index.

    Args:
        files: the archives.
        names: name of each image, for messages.
        members: int64 (n, 4), for each image the number of its archive, where its bytes begin, how many they
            are, and a checksum of the first of them.
        channels: 1 (gray) or 3 (red, green, blue).
        size: height and width to scale to, in pixels.
        buffer: images that an epoch mixes with each other; see `ShardedPixels`.
    """

    files: tuple[Path, ...]
    names: tuple[str, ...]
    members: np.ndarray
    channels: int
    size: int
    buffer: int = BUFFER

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, row: int) -> UInt8[Tensor, "channels size size"]:
        return decode(self.content(row), size=self.size, channels=self.channels, name=self.names[row])

    @property
    def shards(self) -> tuple[int, ...]:
        """Number of images of each archive, or of each run of images of one archive."""
        ends = np.flatnonzero(np.diff(self.members[:, 0])) + 1
        return tuple(np.diff([0, *ends, len(self)]).tolist())

    @property
    def digest(self) -> str:
        """Checksum of the size and the first bytes of each image."""
        return hashlib.sha256(np.ascontiguousarray(self.members[:, 2:]).tobytes()).hexdigest()[:12]

    def content(self, row: int) -> bytes:
        """Return the bytes of an image's file.

        Raises:
            ValueError: If the archive has become shorter.
        """
        shard, begin, size, _ = self.members[row].tolist()
        with self.files[shard].open("rb") as file:
            file.seek(begin)
            content = file.read(size)
        if len(content) < size:
            raise ValueError(
                f"{self.files[shard]} ends before {self.names[row]}, which was there at the start: put the "
                "whole archive back, and resume"
            )
        return content

    def take(self, rows: Sequence[int]) -> TarPixels:
        """Return the pixels of these rows, in this order."""
        places = np.asarray(rows, np.int64)
        names = tuple(self.names[row] for row in rows)
        return replace(self, names=names, members=self.members[places].reshape(-1, 4))


def shards(
    path: str | Path,
    *,
    size: int,
    channels: int = 3,
    label: str | None = None,
    buffer: int = BUFFER,
    strict: bool = False,
    unchecked: bool = False,
    cache: str | Path | None = None,
) -> Images:
    """Load the images in tar archives of the WebDataset layout, in the order in which they are stored.

    Members whose names agree up to the first dot belong together: `0001.jpg` is the image and `0001.cls` its
    label. Each archive is indexed here, by the headers of its members, and its images are read from the
    middle of it when they are needed. Memory holds names, labels and places. Archives must not be compressed.

    An archive that is cut short is left out as a whole, since the rest of it would come with the next copy.
    Damaged images are left out as by `folder`, which decodes each once.

    Args:
        path: an archive, a folder of archives, or a pattern of their names, `shards-{000..009}.tar`.
        size: height and width of the images in pixels: the shorter side is scaled to it, the longer
            cropped to its center.
        channels: number of channels, 1 (gray) or 3 (red, green, blue).
        label: ending of the member that holds the label (cls, txt), or a field of the member json; None for
            cls or, where no image has one, the field label. Other members are ignored, a label that does not
            stand beside its image too.
        buffer: number of images that are mixed with each other in an epoch, after the order of the archives.
        strict: whether an archive that is cut short, or a damaged image, is an error.
        unchecked: whether images are not decoded here: one that is damaged is then an error when it is read.
        cache: folder in which the decoded images are kept; see `folder`. They are then read in any order.

    Raises:
        ValueError: If there is no such archive, no image in any, labels for some images only, or no label of
            the name `label`; if `strict`, and something would be left out.

    Warns:
        SkippedFilesWarning: If archives, images or labels were left out; `skipped` of the result has their
            names.

    Example:
        >>> import io, tarfile, tempfile
        >>> from PIL import Image
        >>> def add(archive, name, content):
        ...     member = tarfile.TarInfo(name)
        ...     member.size = len(content)
        ...     archive.addfile(member, io.BytesIO(content))
        >>> with tempfile.TemporaryDirectory() as root:
        ...     with tarfile.open(Path(root) / "pets-0.tar", "w") as archive:
        ...         for name, pet in (("0001", b"cat"), ("0002", b"dog")):
        ...             image = io.BytesIO()
        ...             Image.new("RGB", (40, 30)).save(image, "PNG")
        ...             add(archive, f"{name}.png", image.getvalue())
        ...             add(archive, f"{name}.cls", pet)
        ...     images = shards(f"{root}/pets-{{0..0}}.tar", size=16)
        ...     images, images.names, images.classes
        (Images(2 images, 3x16x16, 2 classes), ('pets-0.tar:0001', 'pets-0.tar:0002'), ('cat', 'dog'))
    """
    check_integer("size", size, reason="it is the height and width in pixels")
    check_integer("buffer", buffer, reason="it counts the images that are mixed with each other")
    if channels not in (1, 3):
        raise ValueError(f"channels must be 1 (gray) or 3 (red, green, blue), got {channels}")
    if cache is not None and unchecked:
        raise ValueError("unchecked=True excludes a cache, which decodes every image: leave one of them out")
    files = shard_files(path)
    index, cut, alone = _index(files, label)
    message = f"{len(cut)} of {len(files)} shards in {path} are cut short or damaged"
    warn_of_skipped(message, cut, strict=strict)
    if not index:
        raise ValueError(f"expected images in the shards of {path}, found none")
    message = f"{len(alone)} of the labels in {path} do not stand beside an image of their name"
    warn_of_skipped(message, alone, strict=strict)

    names = [f"{files[shard].name}:{sample.key}" for shard, sample in index]
    stored = TarPixels(
        files=files,
        names=tuple(names),
        members=np.array(
            [(shard, sample.begin, sample.size, sample.checksum) for shard, sample in index], np.int64
        ),
        channels=channels,
        size=size,
        buffer=buffer,
    )
    kept, pixels = _whole(stored, path, unchecked=unchecked, cache=cache)
    damaged = [name for name, is_kept in zip(names, kept, strict=True) if not is_kept]
    message = (
        f"{len(damaged)} of {len(index)} images in {path} cannot be read, or have over {MAX_PIXELS:,} pixels"
    )
    warn_of_skipped(message, damaged, strict=strict)
    rows = np.flatnonzero(kept).tolist()
    if not rows:
        raise ValueError(f"expected images in the shards of {path}, found only {listing(damaged)}")
    classes, labels = labels_of_names([index[row][1].label for row in rows], [names[row] for row in rows])
    if label is not None and labels is None:
        raise ValueError(
            f"expected a member or a field of json {label!r} beside the images in {path}, found only members "
            f"{listing(endings_in(files[index[0][0]]))}: name another label"
        )
    return Images(
        pixels=pixels,
        names=printable([names[row] for row in rows]),
        labels=labels,
        classes=classes,
        skipped=printable([*cut, *alone, *damaged]),
    )


def _whole(
    stored: TarPixels, path: str | Path, *, unchecked: bool, cache: str | Path | None
) -> tuple[list[bool], Pixels]:
    """Return which images are whole, and their pixels, decoded into the cache if there is one."""
    if unchecked:
        return [True] * len(stored), stored
    rows = range(len(stored))
    if cache is None:
        kept = [decoded(stored.content(row), size=1, channels=1) is not None for row in rows]
        return kept, stored.take([row for row in rows if kept[row]])
    found = cached(
        cache_place(cache, path, channels=stored.channels, size=stored.size),
        [_source_file(file) for file in stored.files],
        lambda row: decoded(stored.content(row), size=stored.size, channels=stored.channels),
        count=len(stored),
        channels=stored.channels,
        size=stored.size,
    )
    return [row not in found.damaged for row in rows], found.pixels


def _source_file(file: Path) -> SourceFile:
    status = file.stat()
    return str(file.resolve()), status.st_size, status.st_mtime_ns


def _index(
    files: Sequence[Path], label: str | None
) -> tuple[list[tuple[int, TarSample]], list[str], list[str]]:
    """Return the images of all whole archives, each with the number of its archive.

    Behind them are the names of the archives that are not whole, and of the labels without an image.
    """
    index: list[tuple[int, TarSample]] = []
    cut: list[str] = []
    alone: list[str] = []
    for number, file in enumerate(files):
        found: list[TarSample] = []
        try:
            for sample in tar_samples(file, label):
                found.append(sample)
        except CutShortError:
            count = sum(sample.has_image for sample in found)
            images = "1 image" if count == 1 else f"{count:,} images"
            cut.append(f"{file.name} (with {images} before the damage)")
            continue
        images_here = [sample for sample in found if sample.has_image]
        keys = {sample.key for sample in images_here}
        index += [(number, sample) for sample in images_here]
        alone += [
            f"{file.name}:{sample.key}.{ending}"
            for sample in found
            for ending in ([] if sample.has_image else sample.contents)
            # A json of another name may describe the archive.
            if ending != JSON or sample.key in keys
        ]
    return index, cut, alone


def shape_of_shards(path: str | Path, *, largest: int | None = None) -> tuple[int, Literal[1, 3]]:
    """Return the size and the channels that suit the images of shards, judged by 128 of the first archive.

    Args:
        path: an archive, a folder of archives, or a pattern of their names.
        largest: largest size in pixels; None for 64.
    """

    def contents() -> Iterator[bytes]:
        for file in shard_files(path):
            index, _, _ = _index([file], None)
            if not index:
                continue
            step = max(1, len(index) // SAMPLE)
            with file.open("rb") as raw:
                for _, sample in islice(index[::step], SAMPLE):
                    raw.seek(sample.begin)
                    yield raw.read(sample.size)
            return

    return judged_shape(contents(), largest=largest)
