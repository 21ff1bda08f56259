"""Graphs packed into a `GraphSet`, from arrays of all nodes and edges or from torch_geometric's graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tammes.data.graph_set import CONSTANT, GraphSet


def packed(
    owner: Int64[Tensor, " nodes"],
    pairs: Int64[Tensor, "2 pairs"],
    *,
    names: Sequence[str],
    where: str,
    features: Float[Tensor, "nodes width"] | None = None,
    columns: Sequence[str] = (),
    labels: Sequence[str] | None = None,
) -> GraphSet:
    """Return the set of graphs of nodes and edges that are numbered through all graphs.

    Edges become undirected; repeated ones and those from a node to itself are dropped.

    Args:
        owner: graph of each node, ascending.
        pairs: nodes that an edge joins, in one direction or both.
        names: name of each graph.
        where: file or folder, for messages.
        features: features of the nodes; None for the number 1.
        columns: names of the features.
        labels: name of each graph's class; None without labels.

    Raises:
        ValueError: If an edge joins two graphs, or the graphs are none of a `GraphSet`.

    Example:
        >>> of = torch.tensor
        >>> pairs = of([[0, 0, 2, 2], [1, 1, 3, 2]])
        >>> graphs = packed(of([0, 0, 1, 1]), pairs, names=("a", "b"), where="here")
        >>> graphs.edges.tolist(), graphs.edge_starts.tolist()
        ([[0, 1, 0, 1], [1, 0, 1, 0]], [0, 2, 4])
    """
    first, second = owner[pairs]
    if bool((first != second).any()):
        edge = int((first != second).nonzero()[0])
        graphs = f"{names[int(first[edge])]} and {names[int(second[edge])]}"
        raise ValueError(f"expected edges within graphs in {where}, got one that joins {graphs}")
    low, high = pairs.min(0).values, pairs.max(0).values
    # One number for each edge; the graphs ascend with the nodes, and so do the unique numbers.
    both = torch.cat([low * len(owner) + high, high * len(owner) + low])[(low != high).repeat(2)].unique()
    edges = torch.stack([both // max(1, len(owner)), both % max(1, len(owner))])
    nodes = torch.bincount(owner, minlength=len(names))
    node_starts = torch.cat([nodes.new_zeros(1), nodes.cumsum(0)])
    of_graph = torch.bincount(owner[edges[0]], minlength=len(names))
    if features is None:
        features, columns = torch.ones(len(owner), 1), (CONSTANT,)
    classes = None if labels is None else tuple(sorted(set(labels), key=_natural))
    try:
        return GraphSet(
            features=features,
            columns=tuple(columns),
            edges=edges - node_starts[:-1].repeat_interleave(of_graph),
            node_starts=node_starts,
            edge_starts=torch.cat([of_graph.new_zeros(1), of_graph.cumsum(0)]),
            names=tuple(names),
            labels=None
            if labels is None or classes is None
            else torch.tensor([classes.index(each) for each in labels]),
            classes=classes,
        )
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def graphs_of(graphs: Sequence[Any], *, names: Sequence[str] | None = None) -> GraphSet:
    """Return the set of graphs of torch_geometric, or of the rows of a data set of Hugging Face.

    Args:
        graphs: graphs of torch_geometric (`Data`, or a whole data set), or mappings with `edge_index`, and as
            far as they are known `num_nodes`, `node_feat` or `x`, and the class `y`.
        names: name of each graph; by default its number.

    Raises:
        ValueError: If features or classes are in some graphs only, or the graphs are none of a `GraphSet`.

    Example:
        >>> graphs_of([{"edge_index": [[0, 1], [1, 2]], "num_nodes": 3, "y": [1]}] * 2).edges.shape
        torch.Size([2, 8])
    """
    rows = [_row(graph) for graph in graphs]
    names = tuple(f"graph {number}" for number in range(len(rows))) if names is None else names
    for key, what in (("features", "node features"), ("label", "a label")):
        have = [row[key] is not None for row in rows]
        if any(have) and not all(have):
            raise ValueError(
                f"expected {what} in all graphs or in none, got none in {names[have.index(False)]}"
            )
    for name, row in zip(names, rows, strict=True):
        odd = row["edges"][(row["edges"] < 0) | (row["edges"] >= row["nodes"])]
        if len(odd):
            raise ValueError(
                f"expected edges between the {row['nodes']} nodes of {name}, got one of node {int(odd[0])}, "
                "counted from 0"
            )
    sizes = torch.tensor([row["nodes"] for row in rows], dtype=torch.int64)
    starts = (sizes.cumsum(0) - sizes).tolist()
    with_features = bool(rows) and rows[0]["features"] is not None
    widths = {row["features"].shape[1] for row in rows} if with_features else set()
    if len(widths) > 1:
        raise ValueError(f"expected equally many features of every node, got {sorted(widths)}")
    empty = torch.zeros(2, 0, dtype=torch.int64)
    return packed(
        torch.arange(len(rows)).repeat_interleave(sizes),
        torch.cat([empty, *(row["edges"] + start for row, start in zip(rows, starts, strict=True))], dim=1),
        names=names,
        where="the graphs",
        features=torch.cat([row["features"] for row in rows]) if with_features else None,
        columns=[f"feature {column}" for width in widths for column in range(width)],
        labels=[row["label"] for row in rows] if rows and rows[0]["label"] is not None else None,
    )


def _row(graph: Any) -> dict[str, Any]:
    """Return edges, number of nodes, features and label of one graph."""
    given = graph if isinstance(graph, Mapping) else graph.to_dict()
    edges = torch.as_tensor(given["edge_index"], dtype=torch.int64).reshape(2, -1)
    features = given.get("x", given.get("node_feat"))
    if features is not None:
        features = torch.as_tensor(features, dtype=torch.float32)
        features = features[:, None] if features.ndim == 1 else features
    nodes = given.get("num_nodes")
    if nodes is None:
        nodes = int(edges.max()) + 1 if features is None and edges.numel() else 0
        nodes = nodes if features is None else len(features)
    label = given.get("y")
    if label is not None:
        values = torch.as_tensor(label).flatten()
        label = None if values.numel() == 0 else f"{values[0].item():g}"
    return {"edges": edges, "nodes": int(nodes), "features": features, "label": label}


def _natural(name: str) -> tuple[int, float, str]:
    """Return the key that sorts numbers by size, before words."""
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name
