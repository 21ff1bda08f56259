"""Graphs of the TU collection, from its own text files."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

import torch

from tammes.extensions.graphs import Graphs


def tu_graphs(data: Path | str, *, cache: Path | None = None, most: int | None = None) -> list[Graphs]:
    """The graphs of a TU data set, one each; labels and features are not looked at.

    Args:
        data: a folder with NAME_A.txt and NAME_graph_indicator.txt in it, or in a folder `raw` or `NAME/raw`
            below it; or the name of a data set, which torch_geometric downloads.
        cache: where it is downloaded to; by default `~/.cache/tammes/tu`.
        most: only so many, the first ones.

    Raises:
        ValueError: for a folder without such files, files that do not fit together, or a name whose download
            fails.
        ImportError: where a name is given and torch_geometric is missing.
    """
    folder = Path(data)
    if not folder.is_dir():
        name = str(data)
        if "/" in name or "." in name:
            raise ValueError(f"expected a folder or the name of a TU data set, got {name}: no such folder")
        root = cache or Path.home() / ".cache" / "tammes" / "tu"
        _download(root, name)
        folder = root / name / "raw"
    edges, indicator = _files(folder)
    owner = _integers(indicator, columns=1)[:, 0]
    pairs = _integers(edges, columns=2) - 1
    if len(owner) == 0 or bool((owner[1:] < owner[:-1]).any()):
        raise ValueError(f"expected {indicator.name} to number the graphs of the nodes in order")
    found = _graphs(pairs, owner)
    return found if most is None else found[:most]


def _graphs(pairs: torch.Tensor, owner: torch.Tensor) -> list[Graphs]:
    _, sizes = owner.unique_consecutive(return_counts=True)
    together = Graphs.of(pairs.T.contiguous(), sizes=tuple(sizes.tolist()))
    count = torch.bincount(together.owner, minlength=len(sizes))
    by_graph = together.edges[:, together.owner.argsort(stable=True)].split(count.tolist(), dim=1)
    starts = together.ground.offsets.tolist()
    return [
        Graphs.of(edges - start, sizes=(size,))
        for edges, start, size in zip(by_graph, starts, sizes.tolist(), strict=True)
    ]


def _files(folder: Path) -> tuple[Path, Path]:
    for place in (folder, folder / "raw", *sorted(folder.glob("*/raw"))):
        for edges in sorted(place.glob("*_A.txt")):
            indicator = edges.with_name(edges.name.removesuffix("_A.txt") + "_graph_indicator.txt")
            if indicator.exists():
                return edges, indicator
    raise ValueError(
        f"expected NAME_A.txt and NAME_graph_indicator.txt in {folder} (or in `raw` below it), found none; "
        "that is how the TU collection's archives unpack"
    )


def _integers(path: Path, *, columns: int) -> torch.Tensor:
    try:
        rows: Sequence[list[int]] = [
            [int(part) for part in line.split(",")] for line in path.read_text().splitlines() if line.strip()
        ]
    except ValueError as error:
        raise ValueError(f"expected lines of integers in {path}, got one of something else") from error
    if any(len(row) != columns for row in rows):
        raise ValueError(f"expected {columns} integers in every line of {path}")
    return torch.tensor(rows, dtype=torch.long).reshape(-1, columns)


def _download(root: Path, name: str) -> None:
    try:
        from torch_geometric.datasets import TUDataset
    except ImportError as error:
        raise ImportError(
            'downloading TU data sets needs torch_geometric: pip install "tammes[graphs]"'
        ) from error
    try:
        TUDataset(root=str(root), name=name)
    except (OSError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"expected a folder or the name of a TU data set, got {name}: there is no such folder, and the "
            f"download failed ({error})"
        ) from error
