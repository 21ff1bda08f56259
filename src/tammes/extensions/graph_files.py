"""Graphs from files: the text files of the TU collection, and lists of edges."""

import warnings
import zipfile
from pathlib import Path

import numpy as np
import torch

from tammes.checks import check_file
from tammes.extensions.graphs import Graphs


def tu_graphs(data: Path | str, *, cache: Path | None = None, most: int | None = None) -> list[Graphs]:
    """Return the graphs of a TU data set, each as a batch of one; labels and features are ignored.

    Args:
        data: a folder with NAME_A.txt and NAME_graph_indicator.txt in it, or in a folder `raw` or `NAME/raw`
            below it; or the name of a data set, which torch_geometric downloads.
        cache: folder for downloads; `~/.cache/tammes/tu` unless given.
        most: number of graphs to return, the first ones; all unless given.

    Raises:
        ValueError: for a folder without such files, files that contradict each other, or a name whose
            download fails.
        ImportError: if a name is given and torch_geometric is missing.
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
    if most is not None:  # nodes are numbered in the order of the graphs
        owner = owner[owner.unique(return_inverse=True)[1] < most]
        pairs = pairs[(pairs < len(owner)).any(dim=1)]
    return _graphs(pairs, owner)


def edge_list(path: Path) -> tuple[Graphs, tuple[str, ...]]:
    r"""Return the graph whose edges are the lines of a file: two node names, separated by blanks or a comma.

    The rest of a line (a weight, say) is ignored; lines that begin with # or % are comments, and a line with
    one name is a node without an edge.

    Args:
        path: text file in UTF-8.

    Returns:
        The graph and the names of its nodes, in order of their first mention.

    Raises:
        ValueError: for a file without nodes or with bytes that are not UTF-8.
        OSError: for a file that cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "friends.edgelist")
        ...     _ = file.write_text("# who knows whom\nann bob\nbob,cy\n")
        ...     graph, names = edge_list(file)
        >>> graph.edges.tolist(), names
        ([[0, 1], [1, 2]], ('ann', 'bob', 'cy'))
    """
    number: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    try:
        text = check_file(path).read_text(encoding="utf-8-sig")  # some programs begin with a byte order mark
    except UnicodeDecodeError as error:
        raise ValueError(f"expected text in UTF-8 in {path}, got other bytes ({error})") from error
    for line in text.splitlines():
        if line.lstrip().startswith(("#", "%")):
            continue
        ends = [number.setdefault(name, len(number)) for name in line.replace(",", " ").split()[:2]]
        if len(ends) == 2:
            pairs.append((ends[0], ends[1]))
    if not number:
        raise ValueError(f"expected a line for each edge in {path}, as in: 1 2; found none")
    edges = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    return Graphs.of(edges, sizes=(len(number),)), tuple(number)


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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a file without lines: graphs without edges
            rows = np.loadtxt(
                check_file(path), dtype=np.int64, delimiter=",", comments=None, ndmin=2, encoding="utf-8"
            )
    except ValueError as error:
        raise ValueError(
            f"expected {columns} integers in every line of {path}, got something else ({error})"
        ) from error
    if rows.size and rows.shape[1] != columns:
        raise ValueError(f"expected {columns} integers in every line of {path}, got {rows.shape[1]}")
    return torch.from_numpy(rows.reshape(-1, columns))


def _download(root: Path, name: str) -> None:
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
