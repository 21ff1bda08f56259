"""The text files of data sets of the TU collection, found in a folder or in the archive of one."""

from __future__ import annotations

import io
import lzma
import re
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64
from numpy.typing import NDArray
from torch import Tensor

from tammes.checks import check_file
from tammes.data.listing import listing

INDICATOR, EDGES = "graph_indicator", "A"
OTHERS = {f"{item}_{kind}" for item in ("graph", "node", "edge") for kind in ("labels", "attributes")}
"""Parts that a set may lack."""
_EMPTY_LINE = re.compile(r"^[^\S\n]*\n", re.MULTILINE)
_EDGE = re.compile(rb"\s*\d+\s*,\s*\d+\s*\n")
_DAMAGED = (OSError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError)


@dataclass(frozen=True, kw_only=True)
class TUFiles:
    """The text files of one data set, on the disk or in an archive.

    Args:
        name: name of the data set.
        root: folder or archive, which messages name.
        members: path of each file within it, by its part ("A" for NAME_A.txt).
    """

    name: str
    root: Path
    members: Mapping[str, str]

    @property
    def place(self) -> Path:
        """The archive, or the folder that holds the files."""
        return (self.root / self.members[EDGES]).parent if self.root.is_dir() else self.root

    def text(self, part: str) -> str:
        """Return the content of a file.

        Raises:
            ValueError: If it cannot be read, or is no text.
        """
        member = self.members[part]
        try:
            if self.root.is_dir():
                content = check_file(self.root / member).read_bytes()
            else:
                with zipfile.ZipFile(self.root) as archive:
                    content = archive.read(member)
            return content.decode("utf-8")
        except (*_DAMAGED, UnicodeDecodeError) as error:
            raise ValueError(
                f"expected the whole text file {member} in {self.root}, got one that cannot be read ({error})"
            ) from error

    def numbers(self, part: str, dtype: type[Any]) -> NDArray[Any]:
        """Return the numbers of a file, one row for each line.

        Raises:
            ValueError: If a line is cut off, is empty, or holds anything else.
        """
        text = self.text(part)
        if (empty := _EMPTY_LINE.search(text.rstrip())) is not None:  # which numpy would pass over
            line = text.count("\n", 0, empty.start()) + 1
            raise ValueError(
                f"expected numbers in every line of {self.root / self.members[part]}, got none in line {line}"
            )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of a file without lines
                return np.loadtxt(io.StringIO(text), dtype=dtype, delimiter=",", comments=None, ndmin=2)
        except ValueError as error:
            raise ValueError(
                f"expected numbers in every line of {self.root / self.members[part]}, as many in each "
                f"({error})"
            ) from error

    def integers(self, part: str, *, columns: int = 1) -> Int64[Tensor, "lines columns"]:
        """Return the integers of a file, one row for each line.

        Raises:
            ValueError: If a line holds more or fewer integers, or anything else.
        """
        rows = self.numbers(part, np.int64)
        if rows.size and rows.shape[1] != columns:
            expected = "one integer" if columns == 1 else f"{columns} integers"
            raise ValueError(
                f"expected {expected} in each line of {self.root / self.members[part]}, got {rows.shape[1]}"
            )
        return torch.from_numpy(rows.reshape(-1, columns))

    def owner(self) -> Int64[Tensor, " nodes"]:
        """Return the graph of each node, numbered from 0.

        Raises:
            ValueError: If there are no nodes, or the numbers of their graphs fall.
        """
        owner = self.integers(INDICATOR)[:, 0] - 1
        if len(owner) == 0 or int(owner[0]) < 0 or bool((owner.diff() < 0).any()):
            raise ValueError(
                f"expected the number of each node's graph, from 1 and never falling, in "
                f"{self.root / self.members[INDICATOR]}"
            )
        return owner

    def pairs(self) -> Int64[Tensor, "2 pairs"]:
        """Return the nodes that each edge joins, numbered from 0 through all graphs."""
        return self.integers(EDGES, columns=2).T - 1


def tu_files(path: Path) -> tuple[TUFiles, ...]:
    """Return the data sets of the TU collection in a folder or an archive, by their names.

    A folder may hold the text files, in `raw` or `NAME/raw` too, or folders or archives of several sets.

    Args:
        path: folder or zip archive; anything else holds none. NAME stands for NAME.zip where there is no
            folder NAME.

    Raises:
        ValueError: If a zip archive is cut short, or a set lacks its edges, or the graphs of its nodes.
    """
    if not path.exists():
        path = path.with_name(f"{path.name}.zip")
    if path.is_file():
        if path.suffix == ".zip" and not zipfile.is_zipfile(path):
            raise ValueError(f"expected a whole zip archive, got one that is cut short or damaged: {path}")
        return _of_members(path, _members(path))
    if not path.is_dir():
        return ()
    found: dict[str, TUFiles] = {}
    below = [
        file
        for depth in ("*", "*/*", "*/raw/*")
        for file in path.glob(depth)
        if file.suffix in (".txt", ".zip") and file.is_file()
    ]
    for files in _of_members(path, [file.relative_to(path).as_posix() for file in sorted(below)]):
        found.setdefault(files.name, files)
    for archive in sorted(file for file in below if file.suffix == ".zip" and zipfile.is_zipfile(file)):
        for files in _of_members(archive, _members(archive)):
            found.setdefault(files.name, files)
    return tuple(found[name] for name in sorted(found))


def _members(path: Path) -> list[str]:
    if not zipfile.is_zipfile(path):
        return []
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def _of_members(root: Path, members: list[str]) -> tuple[TUFiles, ...]:
    """Return the sets whose edges and indicator are among the members; hidden ones do not count.

    macOS puts a hidden file of its own beside each file of an archive or a foreign disk.
    """
    members = [member for member in members if not PurePosixPath(member).name.startswith(".")]
    sets = []
    for member in members:
        place = PurePosixPath(member)
        if not place.name.endswith(f"_{EDGES}.txt"):
            continue
        name = place.name.removesuffix(f"_{EDGES}.txt")
        beside = {
            PurePosixPath(other).stem.removeprefix(f"{name}_"): other
            for other in members
            if PurePosixPath(other).parent == place.parent
            and PurePosixPath(other).name.startswith(f"{name}_")
            and other.endswith(".txt")
        }
        if INDICATOR in beside:
            sets.append(TUFiles(name=name, root=root, members=beside))
        elif beside.keys() & OTHERS or _lists_edges(root / member):  # a set that was cut short
            raise ValueError(f"expected {name}_{INDICATOR}.txt beside {member} in {root}, found none")
    ends, known = f"_{INDICATOR}.txt", {files.members[INDICATOR] for files in sets}
    for member in members:
        if member.endswith(ends) and member not in known:
            edges = f"{PurePosixPath(member).name.removesuffix(ends)}_{EDGES}.txt"
            raise ValueError(f"expected the edges {edges} beside {member} in {root}, found none")
    return tuple(sets)


def _lists_edges(file: Path) -> bool:
    """Return whether a file on the disk begins with two integers, as no text does."""
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return _EDGE.match(stream.readline(100)) is not None


def only_set(path: Path, *, name: str | None = None) -> TUFiles:
    """Return the files of the one data set in a folder or an archive.

    Args:
        path: folder or zip archive.
        name: name of the set; needed where there are several.

    Raises:
        ValueError: If there is no such set or more than one.
    """
    found = tu_files(path)
    if name is not None:
        found = tuple(each for each in found if each.name == name)
    if len(found) != 1:
        places = list(dict.fromkeys(str(each.place) for each in found))
        which = f"{len(found)}: name one of {listing(places)}"
        if len(places) < len(found):
            which = f"{', '.join(each.name for each in found)} in one place: give each a separate folder"
        raise ValueError(
            f"expected NAME_A.txt and NAME_graph_indicator.txt of a data set of the TU collection in {path}, "
            f"found {which if found else 'none'}"
        )
    return found[0]
