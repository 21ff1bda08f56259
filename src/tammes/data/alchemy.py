"""Alchemy: small organic molecules, with twelve quantum mechanical properties of each as the targets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tammes.checks import check_file
from tammes.data.labeled_graphs import LabeledGraphs
from tammes.data.published_files import Part
from tammes.data.tu_files import EDGES, INDICATOR, TUFiles, only_set

NAME = "alchemy_full"
"""Name of the set in the TU collection."""
ATOMS, BONDS, TARGETS = 6, 4, 12
"""Largest numbers of atom types and of bond types, and the number of targets."""
INDEX_FILES: Mapping[Part, str] = {
    "train": "train_al_10.index",
    "val": "val_al_10.index",
    "test": "test_al_10.index",
}
"""Published files with the numbers of each part's graphs."""
_ATTRIBUTES, _NODE_LABELS, _EDGE_LABELS = "graph_attributes", "node_labels", "edge_labels"


def alchemy(path: str | Path) -> tuple[LabeledGraphs, LabeledGraphs, LabeledGraphs]:
    r"""Load Alchemy's 10,000 molecules for training, 1,000 for validation and 1,000 for testing.

        y := (y - mean) / deviation

    Mean and deviation of a target are taken over *all* graphs of the set, those for testing and those in no
    part included, as in the code published with SignNet; so errors are in the unit of Table 7.2. (The code of
    Morris et al. takes them over the graphs of the three parts.)

    A molecule that the index files list more than once is there as often, in several parts too: see
    `alchemy_split`. Edges become undirected; repeated ones and those from a node to itself are dropped.
    Nothing is downloaded.

    Args:
        path: path of a folder with the set `alchemy_full` of the TU collection, as `tammes.data.tu_set` takes
            it, and the three index files in it or in its folder `alchemy_full`.

    Returns:
        The parts for training, validation and testing, in the order of the index files.

    Raises:
        ValueError: If a file is missing, damaged, or contradicts another; if there are not 12 targets of each
            graph, a target does not vary, or there are more than 6 types of atoms or 4 of bonds.

    Source: Chen et al., Alchemy: A Quantum Chemistry Dataset for Benchmarking AI Models, 2019; Morris et al.,
    TUDataset, 2020; Morris, Rattan and Mutzel, Weisfeiler and Leman Go Sparse, 2020, for the parts.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     files = {
        ...         "A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "node_labels": "0\n1\n0\n",
        ...         "edge_labels": "2\n2\n", "graph_attributes": "1" + ",1" * 11 + "\n0" + ",0" * 11,
        ...     }
        ...     for part, text in files.items():
        ...         _ = (Path(root) / f"alchemy_full_{part}.txt").write_text(text)
        ...     for name in INDEX_FILES.values():
        ...         _ = (Path(root) / name).write_text("1,0")
        ...     train, _, _ = alchemy(root)
        ...     len(train), train.nodes.tolist(), round(train.targets[1, 0].item(), 4)
        (2, [0, 0, 1], 0.7071)
    """
    folder = Path(path)
    # The index files first: they are read at once, the set takes long.
    split = alchemy_split(folder)
    files = only_set(folder, name=NAME)
    for part, what in (
        (_NODE_LABELS, "types of the atoms"),
        (_EDGE_LABELS, "types of the bonds"),
        (_ATTRIBUTES, "targets"),
    ):
        if part not in files.members:
            raise ValueError(f"expected the {what}, {NAME}_{part}.txt, in {files.place}, found none")
    molecules = _molecules(files)
    parts = []
    for part_name, numbers in split.items():
        if int(numbers.max()) >= len(molecules):
            raise ValueError(
                f"expected numbers of the {len(molecules):,} graphs of {files.place}, from 0, in "
                f"{INDEX_FILES[part_name]}, got {int(numbers.max())}"
            )
        parts.append(molecules.subset(numbers.tolist()))
    train, validation, test = parts
    return train, validation, test


def alchemy_split(path: str | Path) -> dict[Part, Int64[Tensor, " graphs"]]:
    """Return the numbers of the graphs of each part, from 0, as they stand in the index files.

    The published files name some graphs twice, and some in two parts: 20038 is twice in the one for
    validation, 126442 is in those for validation and for testing, 33405 in those for training and for
    validation. They are returned as they stand, since the published errors are those of these parts.

    Args:
        path: path of a folder with `train_al_10.index`, `val_al_10.index` and `test_al_10.index`, which hold
            numbers between commas; or of one with these files in its folder `alchemy_full`.

    Raises:
        ValueError: If a file is missing, is in both folders, or holds anything but such numbers.

    Source: Morris, Rattan and Mutzel, Weisfeiler and Leman Go Sparse, 2020.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name, numbers in zip(INDEX_FILES.values(), ("4,0,7", "1", "2,4"), strict=True):
        ...         _ = (Path(root) / name).write_text(numbers)
        ...     split = alchemy_split(root)
        ...     split["train"].tolist(), torch.isin(split["test"], split["train"]).tolist()
        ([4, 0, 7], [False, True])
    """
    return {part: _numbers(Path(path), name) for part, name in INDEX_FILES.items()}


def _numbers(folder: Path, name: str) -> Int64[Tensor, " graphs"]:
    places = [place / name for place in (folder, folder / NAME)]
    found = [place for place in places if place.is_file()]
    if len(found) != 1:
        came = f"{len(found)}: keep one" if found else "none: the code published with SignNet has it"
        raise ValueError(f"expected one file {name} in {folder} or in {folder / NAME}, found {came}")
    try:
        numbers = [int(word) for word in check_file(found[0]).read_text(encoding="utf-8").split(",")]
        if min(numbers) < 0:
            raise ValueError("one is below 0")
        return torch.tensor(numbers)
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: beyond 64 bits
        raise ValueError(f"expected numbers of graphs between commas in {found[0]} ({error})") from error


def _molecules(files: TUFiles) -> LabeledGraphs:
    """Return all graphs of the set."""
    owner = files.owner()
    # Before anything as long as the number of graphs, which a damaged file may say is huge.
    targets = _targets(files, graphs=int(owner[-1]) + 1)
    sizes = owner.bincount()
    if bool((sizes == 0).any()):
        raise ValueError(
            f"expected nodes of every graph in {_name(files, INDICATOR)}, got none of graph "
            f"{int((sizes == 0).nonzero()[0]) + 1}"
        )
    starts = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    edges, bonds = _bonds(files, owner)
    of_graph = owner[edges[0]].bincount(minlength=len(sizes))
    return LabeledGraphs(
        nodes=_types(files, _NODE_LABELS, lines=len(owner), most=ATOMS),
        edges=edges - starts[owner[edges[0]]],
        bonds=bonds,
        node_starts=starts,
        edge_starts=torch.cat([of_graph.new_zeros(1), of_graph.cumsum(0)]),
        targets=targets,
    )


def _bonds(files: TUFiles, owner: Int64[Tensor, " n"]) -> tuple[Int64[Tensor, "2 e"], Int64[Tensor, " e"]]:
    """Return the edges in both directions, sorted by their nodes and so by graphs, and their types."""
    pairs, nodes = files.pairs(), len(owner)
    outside = ((pairs < 0) | (pairs >= nodes)).any(0)
    if bool(outside.any()):
        line = int(outside.nonzero()[0])
        raise ValueError(
            f"expected edges between nodes 1 to {nodes} in {_name(files, EDGES)}, got "
            f"{', '.join(str(node + 1) for node in pairs[:, line].tolist())} in line {line + 1}"
        )
    crossing = owner[pairs[0]] != owner[pairs[1]]
    if bool(crossing.any()):
        line = int(crossing.nonzero()[0])
        raise ValueError(
            f"expected edges within graphs in {_name(files, EDGES)}, got one of two graphs in line {line + 1}"
        )
    types = _types(files, _EDGE_LABELS, lines=pairs.shape[1], most=BONDS)
    proper = pairs[0] != pairs[1]
    pairs, types = pairs[:, proper], types[proper]
    # One number for each undirected edge, which both its lines share.
    low, high = pairs.min(0).values, pairs.max(0).values
    edges, place = (low * nodes + high).unique(return_inverse=True)
    kind = torch.zeros_like(edges).index_copy(0, place, types)
    if bool((kind[place] != types).any()):
        line = int(proper.nonzero()[(kind[place] != types).nonzero()[0]])
        raise ValueError(
            f"expected one type of each bond in {_name(files, _EDGE_LABELS)}, got two of the one in line "
            f"{line + 1}"
        )
    low, high = edges // nodes, edges % nodes
    both, order = torch.cat([low * nodes + high, high * nodes + low]).sort()
    return torch.stack([both // nodes, both % nodes]), kind.repeat(2)[order]


def _types(files: TUFiles, part: str, *, lines: int, most: int) -> Int64[Tensor, " lines"]:
    """Return labels as types from 0, in the order of those that occur in the set."""
    labels = files.integers(part)[:, 0]
    if len(labels) != lines:
        raise ValueError(f"expected {lines} lines in {_name(files, part)}, got {len(labels)}")
    known, types = labels.unique(return_inverse=True)
    if len(known) > most:
        raise ValueError(
            f"expected at most {most} different labels in {_name(files, part)}, got {len(known)}: this is "
            "another set"
        )
    return types


def _targets(files: TUFiles, *, graphs: int) -> Float[Tensor, "graphs 12"]:
    """Return the targets in standard deviations from their means, both over all graphs."""
    values = torch.from_numpy(files.numbers(_ATTRIBUTES, np.float64))
    if values.shape != (graphs, TARGETS):
        raise ValueError(
            f"expected {TARGETS} targets of each of {graphs} graphs in {_name(files, _ATTRIBUTES)}, got "
            f"{values.shape[1]} of {len(values)}"
        )
    if not bool(values.isfinite().all()):
        raise ValueError(f"expected finite numbers in {_name(files, _ATTRIBUTES)}, got infinities or NaN")
    same = (values == values[0]).all(dim=0)
    if bool(same.any()):
        raise ValueError(
            f"expected targets that vary in {_name(files, _ATTRIBUTES)}, got the same number for all graphs "
            f"in column {int(same.nonzero()[0]) + 1}"
        )
    return ((values - values.mean(dim=0)) / values.std(dim=0)).float()


def _name(files: TUFiles, part: str) -> Path:
    return files.root / files.members[part]
