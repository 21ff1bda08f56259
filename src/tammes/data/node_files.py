"""The nodes of one large graph from a list of edges with a table of nodes, or from torch_geometric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tammes.data.csv_tables import check_once, feature_columns, numbers_of, table_of
from tammes.data.edge_lists import NODES, lines_of, lists_in
from tammes.data.graph_packing import class_name, graph_row
from tammes.data.graph_set import CONSTANT
from tammes.data.labels import labels_of_names
from tammes.data.node_set import NodeSet

LABEL = "label"
"""Column of nodes.csv that has the class of each node."""


def node_set(path: Path | str) -> NodeSet:
    r"""Read one graph whose nodes are the rows: a list of edges, and a table of nodes beside it.

    A line of the list has two nodes, separated by a tab, blanks or a comma. The table nodes.csv has the
    column node, perhaps label, and a feature in each other column. Without it all nodes have the feature 1,
    and no label.

    Args:
        path: folder with one file of the suffix .edges or .edgelist, or that file.

    Raises:
        ValueError: If there is no list of edges or more than one, a line lacks a node, an edge is of a node
            that nodes.csv lacks, or a node is there twice or lacks a feature or a label that others have.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "friends.edges").write_text("ann bob\nbob eve\n")
        ...     _ = Path(folder, "nodes.csv").write_text("node,label,age\nann,x,3\nbob,y,5\neve,x,4\n")
        ...     found = node_set(folder)
        >>> found, found.names, found.degrees.tolist()
        (NodeSet(3 nodes of a graph of 3, 2 classes), ('ann', 'bob', 'eve'), [1, 2, 1])
    """
    path = Path(path)
    files = lists_in(path) if path.is_dir() else [path] if path.is_file() else []
    if len(files) != 1:
        which = f"found {len(files)}: name one of them" if files else "found none"
        raise ValueError(f"expected one list of edges (*.edges or *.edgelist) in {path}, {which}")
    (file,) = files
    lines = [(number, words[0], words[1]) for number, words in lines_of(file, fewest=2)]
    table = file.parent / NODES
    if not table.exists():
        names = tuple(dict.fromkeys(name for _, *ends in lines for name in ends))
        return _joined(lines, names, file, features=None, columns=(), labels=None, table=table)
    header, rows = table_of(table, ("node",))
    names = tuple(row["node"].strip() for _, row in rows)
    check_once(((line, name) for (line, _), name in zip(rows, names, strict=True)), "node", table)
    columns = feature_columns(header, rows, others=("node", LABEL), path=table)
    features = [numbers_of(row, columns, line, table) for line, row in rows]
    labels = [row[LABEL].strip() or None for _, row in rows] if LABEL in header else None
    return _joined(
        lines,
        names,
        file,
        features=torch.tensor(features) if columns else None,
        columns=columns,
        labels=labels,
        table=table,
    )


def _joined(
    lines: Sequence[tuple[int, str, str]],
    names: tuple[str, ...],
    file: Path,
    *,
    features: Tensor | None,
    columns: Sequence[str],
    labels: Sequence[str | None] | None,
    table: Path,
) -> NodeSet:
    number = {name: place for place, name in enumerate(names)}
    pairs = []
    for line, *ends in lines:
        unknown = [name for name in ends if name not in number]
        if unknown:
            raise ValueError(
                f"expected edges between nodes of {table}, got node {unknown[0]} in line {line} of {file}"
            )
        pairs.append([number[name] for name in ends])
    return packed_nodes(
        torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T,
        names=names,
        where=str(file),
        features=features,
        columns=columns,
        labels=labels,
    )


def nodes_of(graph: Any, *, names: Sequence[str] | None = None) -> NodeSet:
    """Return the nodes of a graph of torch_geometric.

    Args:
        graph: graph of torch_geometric (`Data`), or a mapping with `edge_index`, and as far as they are known
            `x` or else `node_feat`, `num_nodes`, and the class of each node `y`, a number or a word.
        names: name of each node; by default its number.

    Raises:
        ValueError: If there are no integer edges of the shape (2, pairs), an edge is of a node that is not
            there, some nodes lack a class, or the nodes are none of a `NodeSet`.

    Example:
        >>> nodes_of({"edge_index": [[0, 1], [1, 2]], "x": [[1.0], [0.0], [2.0]], "y": [0, 1, 0]})
        NodeSet(3 nodes of a graph of 3, 2 classes)
    """
    try:
        row = graph_row(graph, labels=False)
        given = graph if isinstance(graph, Mapping) else graph.to_dict()
        labels = None if given.get("y") is None else _classes(given["y"])
    except ValueError as error:
        raise ValueError(f"{error} in the graph") from error
    count = row.nodes
    if labels is not None and row.features is None and given.get("num_nodes") is None:
        count = len(labels)  # the last nodes may have no edges
    columns = 0 if row.features is None else row.features.shape[1]
    return packed_nodes(
        row.edges,
        names=tuple(map(str, range(count))) if names is None else tuple(names),
        where="the graph",
        features=row.features,
        columns=[f"feature {column}" for column in range(columns)],
        labels=labels,
    )


def _classes(y: Any) -> list[str | None]:
    """Return the name of each node's class, None where it is missing."""
    found = np.asarray(y.detach().cpu() if isinstance(y, Tensor) else y)
    found = found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found
    if found.ndim != 1:
        raise ValueError(f"expected one class of each node as y, got an array of shape {found.shape}")
    values = found.tolist()
    names = {value: class_name(value) for value in set(values)}  # once for each class, not for each node
    return [names[value] for value in values]


def packed_nodes(
    pairs: Int64[Tensor, "2 pairs"],
    *,
    names: Sequence[str],
    where: str,
    features: Float[Tensor, "nodes width"] | None = None,
    columns: Sequence[str] = (),
    labels: Sequence[str | None] | None = None,
) -> NodeSet:
    """Return the set of all nodes of a graph.

    Edges become undirected; repeated ones and those from a node to itself are dropped.

    Args:
        pairs: nodes that an edge joins, in one direction or both.
        names: name of each node.
        where: file, for messages.
        features: features of the nodes; None for the number 1.
        columns: names of the features.
        labels: name of each node's class; None without labels.

    Raises:
        ValueError: If an edge is of a node that is not there, some nodes lack a label, or the nodes are none
            of a `NodeSet`.

    Example:
        >>> packed_nodes(torch.tensor([[0, 1], [1, 1]]), names=("a", "b"), where="here").neighbors.tolist()
        [1, 0]
    """
    size = len(names)
    if pairs.numel() and not 0 <= int(pairs.min()) <= int(pairs.max()) < size:
        odd = int(pairs.min()) if int(pairs.min()) < 0 else int(pairs.max())
        raise ValueError(f"{where}: expected edges between {size} nodes, got one of node {odd}, from 0")
    if features is None:
        features, columns = torch.ones(size, 1), (CONSTANT,)
    # One number for each edge at each end; in their order the neighbors of a node stand together.
    different = pairs[:, pairs[0] != pairs[1]]
    both = torch.cat([different[0] * size + different[1], different[1] * size + different[0]]).unique()
    ends = both // max(1, size)
    counts = torch.bincount(ends, minlength=size)
    try:
        classes, numbers = (None, None) if labels is None else labels_of_names(labels, names)
        return NodeSet(
            features=features,
            columns=tuple(columns),
            starts=torch.cat([counts.new_zeros(1), counts.cumsum(0)]),
            neighbors=both % max(1, size),
            nodes=torch.arange(size),
            names=tuple(names),
            labels=numbers,
            classes=classes,
        )
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
