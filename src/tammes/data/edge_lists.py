"""Graphs from lists of edges: a folder with a file for each graph, or one file of all, beside labels.csv."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import torch
from jaxtyping import Int64
from torch import Tensor

from tammes.checks import check_file, is_numeral
from tammes.data.csv_tables import check_once, feature_columns, numbers_of, table_of
from tammes.data.graph_packing import packed
from tammes.data.graph_set import GraphSet

SUFFIXES = frozenset({".edges", ".edgelist"})
"""Suffixes of lists of edges."""
LABELS, NODES = "labels.csv", "nodes.csv"


def holds_edge_lists(path: Path) -> bool:
    """Return whether a path is a list of edges, or a folder with some."""
    return bool(lists_in(path)) if path.is_dir() else path.suffix in SUFFIXES


def lists_in(folder: Path) -> list[Path]:
    """Return the lists of edges in a folder, in the order of their names, without hidden files."""
    return sorted(
        file for file in folder.iterdir() if file.suffix in SUFFIXES and not file.name.startswith(".")
    )


def edge_lists(path: Path | str) -> GraphSet:
    r"""Read graphs from lists of edges.

    A line has two nodes, separated by a tab, blanks or a comma; in a single file of several graphs the graph
    comes before them. The rest of a line (a weight) is ignored, and so are lines that begin with # or %.
    Beside the lists, two tables with a header may stand: labels.csv with the columns graph and label, and
    nodes.csv with the columns graph and node, behind which each column is a feature.

    Args:
        path: folder in which each file of the suffix .edges or .edgelist is a graph, named for the file; or
            one such file. It is one graph where no line has a third word, or where the third is a fraction or
            in braces; and several where a table stands beside it, or no graph has the name of a node.

    Raises:
        ValueError: If there are no graphs, a line lacks a node, features or labels are of some graphs only,
            a graph, a node or a column is there twice, an edge is of a node that nodes.csv lacks, or the
            first of three words may be a graph or a node.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.edges").write_text("1 2\n2 3\n")
        ...     _ = Path(folder, "b.edges").write_text("1 2\n")
        ...     _ = Path(folder, "labels.csv").write_text("graph,label\na,long\nb,short\n")
        ...     graphs = edge_lists(folder)
        >>> graphs, graphs.names, graphs.labels.tolist()
        (GraphSet(2 graphs, 5 nodes, 2 classes), ('a', 'b'), [0, 1])
    """
    return named_edge_lists(path)[0]


def named_edge_lists(path: Path | str) -> tuple[GraphSet, tuple[str, ...]]:
    r"""Read graphs as `edge_lists` does, and the names of their nodes, one graph after the other.

    Args:
        path: as for `edge_lists`.

    Raises:
        ValueError: as for `edge_lists`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "friends.edges")
        ...     _ = file.write_text("ann bob 0.5\nbob eve 2.5\n")
        ...     graphs, names = named_edge_lists(file)
        >>> graphs.names, names
        (('friends',), ('ann', 'bob', 'eve'))
    """
    path = Path(path)
    found: dict[str, _Graph] = {}
    if path.is_dir():
        for file in lists_in(path):
            if file.stem in found:
                both = " and ".join(f"{file.stem}{suffix}" for suffix in sorted(SUFFIXES, key=len))
                raise ValueError(f"expected one list of edges for each graph in {path}, got {both}")
            graph = found[file.stem] = _Graph()
            for line, words in lines_of(file, fewest=2):
                graph.add(words[0], words[1], f"{file}, line {line}")
    else:
        lines = lines_of(path, fewest=2)
        are_several = _name_graphs(path, [words for _, words in lines])
        for line, words in lines:
            if are_several and len(words) == 2:
                raise ValueError(
                    f"expected a graph and two nodes in each line, got {' '.join(words)!r} in line {line} of "
                    f"{path}"
                )
            name, first, second = words[:3] if are_several else (path.stem, *words[:2])
            found.setdefault(name, _Graph()).add(first, second, f"{path}, line {line}")
    if not found:
        raise ValueError(f"expected lists of edges (*.edges or *.edgelist) in {path}, found none")
    beside = path if path.is_dir() else path.parent
    columns, features = _nodes(beside / NODES, found)
    graphs = packed(
        torch.arange(len(found)).repeat_interleave(
            torch.tensor([len(graph.number) for graph in found.values()])
        ),
        _pairs(list(found.values())),
        names=tuple(found),
        where=str(path),
        features=torch.tensor(features) if columns else None,
        columns=columns,
        labels=_labels(beside / LABELS, tuple(found)),
    )
    return graphs, tuple(name for graph in found.values() for name in graph.number)


def _name_graphs(path: Path, lines: list[list[str]]) -> bool:
    """Return whether the lines of a file begin with the name of a graph, and not with a node of the only one.

    Raises:
        ValueError: If both can be.
    """
    first, second, third = ({words[place] for words in lines if len(words) > place} for place in range(3))
    if not third or (any(map(_is_data, third)) and not any(map(_is_data, second))):
        return False
    if any((path.parent / name).exists() for name in (LABELS, NODES)) or (
        second & third and not first & (second | third)
    ):
        return True
    raise ValueError(
        f"expected a graph and two nodes, or two nodes and a weight, in the lines of {path}, got words that "
        "may be both: read one graph as nodes:PATH (node_set in Python); for several, give each a file in a "
        "folder, or a name that no node has"
    )


def _is_data(word: str) -> bool:
    """Return whether a word is a weight with a point, or in braces as networkx writes it, and no node."""
    return word.startswith("{") or ("." in word and word.replace(".", "", 1).strip("-+").isdigit())


@dataclass
class _Graph:
    """Nodes in the order of their first mention, and edges between their numbers."""

    number: dict[str, int] = field(default_factory=dict)
    edges: list[tuple[int, int]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    features: dict[str, list[float]] = field(default_factory=dict)

    def add(self, first: str, second: str, line: str) -> None:
        ends = [self.number.setdefault(name, len(self.number)) for name in (first, second)]
        self.edges.append((ends[0], ends[1]))
        self.lines.append(line)


def lines_of(path: Path, *, fewest: int) -> list[tuple[int, list[str]]]:
    """Return the number and the words of each line of a list of edges, without comments.

    Args:
        path: file.
        fewest: words that a line needs, 1 or 2.

    Raises:
        ValueError: If a line has fewer words, no word between two tabs, a comma beside a name with a blank in
            it, or the file is no text in UTF-8, or JSON.
    """
    try:
        text = check_file(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"expected text in UTF-8 in {path}, got other bytes ({error})") from error
    if _is_json(text):
        raise ValueError(f"expected two nodes in each line of {path}, got JSON: write its edges as lines")
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith(("#", "%")) or not (words := _words(line, f"line {number} of {path}")):
            continue
        if len(words) < fewest:
            raise ValueError(
                f"expected two nodes in each line, got {line.strip()!r} in line {number} of {path}"
            )
        found.append((number, words))
    return found


def _is_json(text: str) -> bool:
    """Return whether a text is an object or a list of JSON; the name of a node may begin with a bracket."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _words(line: str, where: str) -> list[str]:
    """Return what is between the tabs of a line or, without any, between blanks and commas."""
    if "\t" in line.strip():
        words = [word.strip() for word in line.rstrip().split("\t")]
        if "" in words:
            raise ValueError(
                f"expected one tab between two words, got an empty word in {line.rstrip()!r} in {where}"
            )
        return words
    first, *rest = line.partition("{")[0].split(",")  # networkx writes {'weight': 1, ...} behind the names
    behind = [
        word for field in rest[:1] for word in field.split()[1:] if not is_numeral(word)
    ]  # but a weight
    if rest and (len(first.split()) > 1 or behind):
        raise ValueError(
            f"expected names without blanks, or with tabs between them, got {line.strip()!r} in {where}"
        )
    return line.replace(",", " ").split()


def numbered_edges(path: Path) -> tuple[Int64[Tensor, "2 lines"], tuple[str, ...]]:
    r"""Return the edges of the only graph of a file, and the names of its nodes in order of their mention.

    Args:
        path: file; a line with one word is a node without an edge.

    Raises:
        ValueError: If there are no nodes, or the file is no text in UTF-8.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "friends.edges").write_text("ann bob\neve\n")
        ...     numbered_edges(Path(folder, "friends.edges"))
        (tensor([[0],
                [1]]), ('ann', 'bob', 'eve'))
    """
    number: dict[str, int] = {}
    pairs = []
    for _, words in lines_of(path, fewest=1):
        ends = [number.setdefault(name, len(number)) for name in words[:2]]
        pairs += [ends] * (len(ends) == 2)
    if not number:
        raise ValueError(f"expected a line for each edge in {path}, as in: 1 2; found none")
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T, tuple(number)


def _pairs(graphs: list[_Graph]) -> Tensor:
    pairs, start = [], 0
    for graph in graphs:
        pairs += [(first + start, second + start) for first, second in graph.edges]
        start += len(graph.number)
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T


def _labels(path: Path, names: tuple[str, ...]) -> list[str] | None:
    if not path.exists():
        return None
    _, rows = table_of(path, ("graph", "label"))
    check_once(((line, row["graph"].strip()) for line, row in rows), "graph", path)
    by_name = {row["graph"].strip(): row["label"].strip() for _, row in rows}
    unknown = sorted(set(by_name) - set(names))
    if unknown:
        raise ValueError(f"expected labels of graphs with edges in {path}, got one of {unknown[0]!r}")
    missing = [name for name in names if not by_name.get(name)]
    if missing:
        raise ValueError(
            f"expected a label for each of the {len(names)} graphs in {path}, got none for {missing[0]}"
            + (f" and {len(missing) - 1} others" if len(missing) > 1 else "")
        )
    return [by_name[name] for name in names]


def _nodes(path: Path, graphs: dict[str, _Graph]) -> tuple[list[str], list[list[float]]]:
    """Return the names of the features and the features of all nodes; none without a table of nodes."""
    if not path.exists():
        return [], []
    header, rows = table_of(path, ("graph", "node"))
    columns = list(feature_columns(header, rows, others=("graph", "node"), path=path))
    if not columns:
        raise ValueError(f"expected columns of features behind graph and node in {path}, found none")
    named = [(line, row["graph"].strip(), row["node"].strip()) for line, row in rows]
    check_once(((line, node and f"{node} of {graph}") for line, graph, node in named), "node", path)
    for (line, row), (_, name, node) in zip(rows, named, strict=True):
        graph = graphs.get(name)
        if graph is None:
            raise ValueError(f"expected graphs with edges in {path}, got {name!r} in line {line}")
        graph.features[node] = numbers_of(row, columns, line, path)
    return columns, [features for name, graph in graphs.items() for features in _of_nodes(name, graph, path)]


def _of_nodes(name: str, graph: _Graph, path: Path) -> list[list[float]]:
    """Return the features of a graph's nodes, with those that have no edges at the end."""
    if not graph.features:
        raise ValueError(f"expected node features of all graphs in {path}, got none of {name}")
    ends = list(graph.number)
    for (first, second), line in zip(graph.edges, graph.lines, strict=True):
        for end in (ends[first], ends[second]):
            if end not in graph.features:
                raise ValueError(
                    f"expected edges between nodes of {path}, got node {end} of {name} in {line}"
                )
    for node in graph.features:
        graph.number.setdefault(node, len(graph.number))
    return [graph.features[node] for node in graph.number]
