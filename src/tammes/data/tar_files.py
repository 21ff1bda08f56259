"""Tar archives of the WebDataset layout: their names, and the images and labels in one of them."""

from __future__ import annotations

import json
import re
import struct
import tarfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import BinaryIO

from tammes.checks import check_file
from tammes.data.image_files import SUFFIXES
from tammes.data.listing import files_below

TAR = ".tar"
BLOCK = 512
"""Bytes of a block of a tar archive, which ends with blocks of zeros."""
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
"""First bytes of what gzip, bzip2, xz and zstd write."""
# Errors that tarfile is known to raise on damaged archives.
DAMAGE = (tarfile.TarError, EOFError, ValueError, OverflowError, struct.error)
CHECKED = 4096
"""Bytes at the beginning of an image that its checksum takes: what was read with its header."""
FIRST = 100
"""Members whose endings a message names."""
LABEL_ENDING, LABEL_FIELD, JSON = "cls", "label", "json"
"""Member, and field of the member json, that hold the label of an image if nothing else is named; json."""


class CutShortError(Exception):
    """An archive ends early, or is damaged, after some whole images."""


def holds_shards(path: str) -> bool:
    """Return whether a path names tar archives, or is a folder of them without images beside.

    Example:
        >>> holds_shards("train-{00..99}.tar"), holds_shards("photographs")
        (True, False)
    """
    place = Path(path)
    if not place.is_dir():
        return place.suffix.lower() == TAR
    endings = {Path(name).suffix.lower() for name in files_below(place)[0]}
    return TAR in endings and not endings & SUFFIXES


def shard_files(path: str | Path) -> tuple[Path, ...]:
    """Return the archives that a path names: one, those of a folder, or those of a pattern with braces.

    Raises:
        ValueError: If there is no archive, one that the pattern names is missing or named twice, or a range
            begins with its larger number.

    Example:
        >>> shard_files("nowhere-{08..10}.tar")
        Traceback (most recent call last):
            ...
        ValueError: expected a tar archive at nowhere-08.tar, found nothing; 3 of 3 shards are missing
    """
    place = Path(path)
    if place.is_dir():
        names = [name for name in files_below(place)[0] if Path(name).suffix.lower() == TAR]
        if not names:
            raise ValueError(f"expected tar archives in {place}, found none")
        return tuple(place / name for name in names)
    files = tuple(Path(name) for name in expanded(str(path)))
    missing = [file for file in files if not file.exists()]
    if missing:
        more = "" if len(files) == 1 else f"; {len(missing)} of {len(files)} shards are missing"
        raise ValueError(f"expected a tar archive at {missing[0]}, found nothing{more}")
    return tuple(check_file(file) for file in files)


def expanded(pattern: str) -> list[str]:
    """Return the names that a pattern stands for: `{000..009}` counts, `{a,b}` lists.

    Raises:
        ValueError: If a name comes twice, or a range begins with its larger number.

    Example:
        >>> expanded("{a,b}-{08..10}.tar")[1:4]
        ['a-09.tar', 'a-10.tar', 'b-08.tar']
    """
    pieces = re.split(r"\{([^{}]*)\}", pattern)
    choices = [[piece] if place % 2 == 0 else _choices(piece) for place, piece in enumerate(pieces)]
    names = ["".join(chosen) for chosen in product(*choices)]
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"expected each file once in {pattern}, got {repeated[0]} several times")
    return names


def _choices(braces: str) -> list[str]:
    ends = re.fullmatch(r"(\d+)\.\.(\d+)", braces)
    if ends is None:
        return braces.split(",")
    first, last = ends.groups()
    if int(last) < int(first):
        raise ValueError(f"expected the smaller number first in {{{braces}}}: write {{{last}..{first}}}")
    width = len(first) if first.startswith("0") else 0
    return [f"{number:0{width}d}" for number in range(int(first), int(last) + 1)]


@dataclass(kw_only=True)
class TarSample:
    """Members of one key: the place of the image in its archive, and the label.

    Args:
        key: what the names of the members share.
        begin: where the bytes of the image begin.
        size: number of bytes of the image.
        checksum: checksum of its first bytes.
        has_image: whether there is an image.
        label: name of the class, or None.
        contents: bytes of the members that may hold the label, by their endings.
    """

    key: str
    begin: int = 0
    size: int = 0
    checksum: int = 0
    has_image: bool = False
    label: str | None = None
    contents: dict[str, bytes] = field(default_factory=dict)


def tar_samples(file: Path, label: str | None) -> Iterator[TarSample]:
    """Yield the images of an archive, in their order, and members that hold a label without an image.

    A member that repeats a name begins an image of the same key.

    Args:
        file: path of the archive.
        label: ending of the member, or field of the member json, that holds the label; None for the usual.

    Yields:
        Members of one key; those without an image have no place and no label, only contents.

    Raises:
        CutShortError: If the archive has no whole end, after all its whole images.
        ValueError: If it is compressed, or a label is neither the name nor the number of a class.
    """
    current: TarSample | None = None
    endings: set[str] = set()
    try:
        for member, read in _members(file):
            folder, _, base = member.name.rpartition("/")
            stem, _, ending = base.partition(".")
            key, ending = f"{folder}/{stem}" if folder else stem, ending.lower()
            if current is None or current.key != key or ending in endings:
                if current is not None and (current.has_image or current.contents):
                    yield _labeled(current, label, file)
                current, endings = TarSample(key=key), set()
            endings.add(ending)
            if f".{ending}" in SUFFIXES and not current.has_image:
                current.begin, current.size, current.has_image = member.offset_data, member.size, True
                current.checksum = zlib.crc32(read(CHECKED))
            elif ending in {(label or LABEL_ENDING).lower(), LABEL_ENDING, JSON}:
                current.contents[ending] = read()
    except CutShortError:
        # The headers of its members are there, but perhaps not the bytes behind them.
        if current is not None and current.has_image and current.begin + current.size <= file.stat().st_size:
            yield current
        raise
    if current is not None and (current.has_image or current.contents):
        yield _labeled(current, label, file)


def endings_in(file: Path) -> list[str]:
    """Return the endings of the members at the beginning of an archive, each once."""
    names = [member.name.rpartition("/")[2] for member, _ in islice(_members(file), FIRST)]
    return list(dict.fromkeys(name.partition(".")[2].lower() for name in names if "." in name))


def _members(file: Path) -> Iterator[tuple[tarfile.TarInfo, partial[bytes]]]:
    """Yield the files of an archive, each with a function that reads it, or as many bytes as it is given.

    Raises:
        CutShortError: If the archive has no whole end.
        ValueError: If it is compressed.
    """
    with file.open("rb") as raw:
        if raw.read(6).startswith(COMPRESSED):
            raise ValueError(
                f"expected an uncompressed tar archive at {file}, got a compressed one: unpack it"
            )
    try:
        with file.open("rb") as raw, tarfile.open(fileobj=raw, mode="r:") as archive:
            while (member := archive.next()) is not None:
                if member.isreg() and not member.issparse():
                    yield member, partial(_read, raw, member)
            raw.seek(archive.offset)
            # What is no header ends the list without an error; a whole archive has a block of zeros there.
            if raw.read(BLOCK) != bytes(BLOCK):
                raise CutShortError
    except DAMAGE as error:
        raise CutShortError from error


def _read(raw: BinaryIO, member: tarfile.TarInfo, most: int | None = None) -> bytes:
    raw.seek(member.offset_data)
    return raw.read(member.size if most is None else min(most, member.size))


def _labeled(sample: TarSample, label: str | None, file: Path) -> TarSample:
    """Set the label of an image from its members, and forget these."""
    if not sample.has_image:
        return sample
    contents, sample.contents = sample.contents, {}
    if (ending := (label or LABEL_ENDING).lower()) in contents:
        sample.label = contents[ending].decode("utf-8", errors="replace").strip() or None
    elif JSON in contents:
        where = f"{file}:{sample.key}.json"
        try:
            value = json.loads(contents[JSON])[label or LABEL_FIELD]
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"expected a JSON object in {where}: {error}") from error
        except KeyError:
            return sample
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError(f"expected the name or number of a class in {where}, got {value!r}")
        sample.label = str(value).strip() or None
    return sample
