"""Graphs from files: data sets of the TU collection, and lists of edges."""

from pathlib import Path

import torch

from tammes.data.edge_lists import numbered_edges
from tammes.data.tu_files import only_set, tu_files
from tammes.data.tu_sets import downloaded_set
from tammes.extensions.graphs import Graphs


def tu_graphs(data: Path | str, *, cache: Path | None = None, most: int | None = None) -> list[Graphs]:
    """Return the graphs of a TU data set, each as a batch of one; labels and features are ignored.

    Args:
        data: a folder with NAME_A.txt and NAME_graph_indicator.txt in it, or in a folder `raw` or `NAME/raw`
            below it; the collection's zip archive of it, whose suffix may be left out; or the name of a data
            set, which torch_geometric downloads.
        cache: folder for downloads; `~/.cache/tammes/tu` unless given.
        most: number of graphs to return, the first ones; all unless given.

    Raises:
        ValueError: for a folder without such files or with several data sets, files that contradict each
            other, or a name whose download fails.
        ImportError: if a name is given and torch_geometric is missing.
    """
    path = Path(data)
    if not path.exists() and not tu_files(path):
        path = downloaded_set(cache or Path.home() / ".cache" / "tammes" / "tu", str(data))
    files = only_set(path)
    owner, pairs = files.owner(), files.pairs()
    if most is not None:  # nodes are numbered in the order of the graphs
        owner = owner[owner.unique(return_inverse=True)[1] < most]
        pairs = pairs[:, (pairs < len(owner)).any(dim=0)]
    sizes = owner.unique_consecutive(return_counts=True)[1].tolist()
    together = Graphs.of(pairs, sizes=tuple(sizes))  # with the edges of one graph after the other
    edges = together.edges.split(torch.bincount(together.owner, minlength=len(sizes)).tolist(), dim=1)
    starts = together.ground.offsets.tolist()
    return [
        Graphs.of(own - start, sizes=(size,)) for own, start, size in zip(edges, starts, sizes, strict=True)
    ]


def edge_list(path: Path) -> tuple[Graphs, tuple[str, ...]]:
    r"""Return the graph whose edges are the lines of a file, two node names in each.

    A tab, blanks or a comma separate them. The rest of a line (a weight, say) is ignored; lines that begin
    with # or % are comments, and a line with one name is a node without an edge.

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
    edges, names = numbered_edges(path)
    return Graphs.of(edges, sizes=(len(names),)), names
