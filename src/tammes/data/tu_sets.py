"""Data sets of the TU collection: a folder of text files, or the archive of it."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy.typing import NDArray
from torch import Tensor

from tammes.data.graph_packing import packed
from tammes.data.graph_set import GraphSet
from tammes.data.tu_files import EDGES, TUFiles, only_set

LARGEST_RANGE = 1_000
"""Range of node labels with a column for each integer in it, whether a node has that label or not.

Kept runs know these columns (DD has 89 for 82 labels). Of a larger range, only labels that occur have one."""
MOST_ENTRIES = 2**31
"""Most entries of the columns of node labels, 8 GiB."""


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
