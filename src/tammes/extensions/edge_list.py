"""One graph from a text file of edges."""

from __future__ import annotations

from pathlib import Path

import torch

from tammes.extensions.graphs import Graphs


def edge_list(path: Path) -> tuple[Graphs, tuple[str, ...]]:
    """A graph whose edges are the lines of a file: two names of nodes, apart by blanks or a comma.

    What follows in a line (a weight, say) is not looked at; lines that begin with # or % are comments, and a
    line with one name is a node without an edge.

    Args:
        path: the file.

    Returns:
        The graph, and the names of its nodes, in order of their first mention.

    Raises:
        ValueError: for a file without nodes, or that is no text.
        OSError: for a file that cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "friends.edgelist")
        ...     _ = file.write_text("# who knows whom\\nann bob\\nbob,cy\\n")
        ...     graph, names = edge_list(file)
        >>> graph.edges.tolist(), names
        ([[0, 1], [1, 2]], ('ann', 'bob', 'cy'))
    """
    number: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    try:
        text = path.read_text(encoding="utf-8-sig")  # some programs begin with a byte order mark
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
