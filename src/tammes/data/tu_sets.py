"""Data sets of the TU collection: a folder of text files, or the archive of it."""

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
from jaxtyping import Float, Int64
from numpy.typing import NDArray
from torch import Tensor

from tammes.checks import check_file
from tammes.data.graph_packing import packed
from tammes.data.graph_set import GraphSet
from tammes.data.listing import listing

INDICATOR, EDGES = "graph_indicator", "A"
OTHERS = {f"{item}_{kind}" for item in ("graph", "node", "edge") for kind in ("labels", "attributes")}
"""Parts that a set may lack."""
LARGEST_RANGE = 1_000
"""Range of node labels with a column for each integer in it, whether a node has that label or not.

Kept runs know these columns (DD has 89 for 82 labels). Of a larger range, only labels that occur have one."""
MOST_ENTRIES = 2**31
"""Most entries of the columns of node labels, 8 GiB."""
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


def tu_set(path: Path | str, *, name: str | None = None, attributes: bool = False) -> GraphSet:
    """Read a data set of the TU collection.

    Node labels become features, one for each integer from the smallest label to the largest, or in a range
    of more than 1,000 one for each label; without labels, the only feature is the number 1.

    Args:
        path: folder with NAME_A.txt and NAME_graph_indicator.txt (in it, in `raw` or in `NAME/raw`), or the
            collection's zip archive of it, which is not unpacked; its suffix may be left out.
        name: name of the set; needed where a folder holds several.
        attributes: whether the real attributes of nodes are features, too, as far as there are any.

    Raises:
        ValueError: If there is no such set or more than one, a file is cut short or contradicts another, an
            edge leaves its graph, a graph has no nodes, no edges or no label, or the features of node labels
            would take more than 8 GiB.
    """
    return _read(only_set(Path(path), name=name), attributes=attributes)


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


def downloaded_set(root: Path, name: str) -> Path:
    """Return the folder of a data set that torch_geometric downloads, unless it is there already.

    Args:
        root: folder of all downloads.
        name: name of the data set.

    Raises:
        ValueError: for a name whose download fails.
        ImportError: if torch_geometric is missing.
    """
    if "/" in name or "." in name:
        raise ValueError(f"expected a folder or the name of a TU data set, got {name}: no such folder")
    try:
        from torch_geometric.datasets import TUDataset
    except ImportError as error:
        raise ImportError('TU data sets need torch_geometric: pip install "tammes[graphs]"') from error
    try:
        TUDataset(root=str(root), name=name)
    except (OSError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"expected a folder or the name of a TU data set, got {name}: there is no such folder, and the "
            f"download failed ({error})"
        ) from error
    return root / name / "raw"


def _read(files: TUFiles, *, attributes: bool) -> GraphSet:
    where = str(files.root / files.members[EDGES])
    owner = files.owner()
    graphs = int(owner[-1]) + 1
    labels = None
    if "graph_labels" in files.members:
        labels = [str(label) for label in files.integers("graph_labels")[:, 0].tolist()]
        if len(labels) != graphs:
            raise ValueError(
                f"expected a label for each of the {graphs} graphs in "
                f"{files.root / files.members['graph_labels']}, got {len(labels)}: graph "
                f"{min(graphs, len(labels)) + 1} is the first without a partner"
            )
    pairs = files.pairs()
    outside = ((pairs < 0) | (pairs >= len(owner))).any(0)
    if bool(outside.any()):
        line = int(outside.nonzero()[0])
        first, second = (pairs[:, line] + 1).tolist()
        raise ValueError(
            f"expected edges between nodes 1 to {len(owner)} in {where}, got {first}, {second} in line "
            f"{line + 1}"
        )
    features, columns = _features(files, owner, attributes=attributes)
    return packed(
        owner,
        pairs,
        names=[f"{files.name} {number}" for number in range(1, graphs + 1)],
        where=where,
        features=features,
        columns=columns,
        labels=labels,
    )


def _features(
    files: TUFiles, owner: Int64[Tensor, " nodes"], *, attributes: bool
) -> tuple[Float[Tensor, "nodes width"] | None, list[str]]:
    parts, columns, nodes = [], [], len(owner)
    if "node_labels" in files.members:
        several = torch.from_numpy(_for_each_node(files, "node_labels", owner, np.int64))
        for number, labels in enumerate(several.T):
            known, places = labels.unique(return_inverse=True)
            least, most = int(known[0]), int(known[-1])
            if most - least < LARGEST_RANGE:
                known, places = torch.arange(least, most + 1), labels - least
            if len(known) * nodes > MOST_ENTRIES:
                raise ValueError(
                    f"expected at most {MOST_ENTRIES // nodes:,} different labels of {nodes:,} nodes in "
                    f"{files.root / files.members['node_labels']}, got {len(known):,}, each a feature: leave "
                    "the file out"
                )
            prefix = "label" if several.shape[1] == 1 else f"label {number},"
            parts.append(torch.zeros(nodes, len(known)).scatter_(1, places[:, None], 1.0))
            columns += [f"{prefix} {label}" for label in known.tolist()]
    if attributes and "node_attributes" in files.members:
        real = torch.from_numpy(_for_each_node(files, "node_attributes", owner, np.float64)).float()
        parts.append(real)
        columns += [f"attribute {column}" for column in range(real.shape[1])]
    return (torch.cat(parts, dim=1) if parts else None), columns


def _for_each_node(files: TUFiles, part: str, owner: Tensor, dtype: type[Any]) -> NDArray[Any]:
    rows, nodes = files.numbers(part, dtype), len(owner)
    if len(rows) != nodes:
        first = min(nodes, len(rows))
        graph = f" of {files.name} {int(owner[first]) + 1}" if first < nodes else ""
        raise ValueError(
            f"expected a line for each of the {nodes} nodes in {files.root / files.members[part]}, got "
            f"{len(rows)}: node {first + 1}{graph} is the first without a partner"
        )
    return rows
