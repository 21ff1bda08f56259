"""Graphs packed into a `GraphSet`, from arrays of all nodes and edges or from torch_geometric's graphs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tammes.checks import check_shape
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
    numbers, classes = class_names(labels or ())
    try:
        return GraphSet(
            features=features,
            columns=tuple(columns),
            edges=edges - node_starts[:-1].repeat_interleave(of_graph),
            node_starts=node_starts,
            edge_starts=torch.cat([of_graph.new_zeros(1), of_graph.cumsum(0)]),
            names=tuple(names),
            labels=numbers,
            classes=classes,
        )
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def graphs_of(graphs: Sequence[Any], *, names: Sequence[str] | None = None, labels: bool = True) -> GraphSet:
    """Return the set of graphs of torch_geometric, or of the rows of a data set of Hugging Face.

    Args:
        graphs: graphs of torch_geometric (`Data`, or a whole data set), or mappings with `edge_index`, and as
            far as they are known `num_nodes`, `x` or else `node_feat`, and the class `y`, a number or a word.
        names: name of each graph; by default its number.
        labels: whether `y` is the class; False ignores it, as for graphs with several targets.

    Raises:
        ValueError: If features or classes are in some graphs only, a graph has several targets, or the graphs
            are none of a `GraphSet`.

    Example:
        >>> graphs_of([{"edge_index": [[0, 1], [1, 2]], "num_nodes": 3, "y": [1]}] * 2).edges.shape
        torch.Size([2, 8])
    """
    names = tuple(f"graph {number}" for number in range(len(graphs))) if names is None else names
    if len(names) != len(graphs):
        raise ValueError(f"expected a name for each of {len(graphs)} graphs, got {len(names)}")
    rows = []
    for name, graph in zip(names, graphs, strict=True):
        try:
            rows.append(graph_row(graph, labels=labels))
        except ValueError as error:
            raise ValueError(f"{error} in {name}") from error
    return packed_rows(rows, names=names, where="the graphs")


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphRow:
    """One graph as a table has it.

    Args:
        edges: (2, pairs) nodes that an edge joins, in one direction or both.
        nodes: number of nodes.
        features: (nodes, width) features of the nodes, or None.
        label: name of the class, or None.
    """

    edges: Int64[Tensor, "2 pairs"]
    nodes: int
    features: Float[Tensor, "nodes width"] | None = None
    label: str | None = None

    def without_label(self) -> GraphRow:
        """Return the same graph without its class."""
        return replace(self, label=None)


def packed_rows(rows: Sequence[GraphRow], *, names: Sequence[str], where: str) -> GraphSet:
    """Return the set of single graphs.

    Args:
        rows: the graphs.
        names: name of each graph.
        where: file or folder, for messages.

    Raises:
        ValueError: If features or classes are in some graphs only, or the graphs are none of a `GraphSet`.

    Example:
        >>> row = GraphRow(edges=torch.tensor([[0], [1]]), nodes=2, label="a")
        >>> packed_rows([row, row], names=("one", "two"), where="here")
        GraphSet(2 graphs, 4 nodes, 1 classes)
    """
    empty_ones = [name for name, row in zip(names, rows, strict=True) if row.nodes == 0]
    if empty_ones:
        raise ValueError(f"{where}: expected nodes in every graph, got none in {empty_ones[0]}: leave it out")
    with_features = _in_all([row.features for row in rows], "node features", names)
    with_labels = _in_all([row.label for row in rows], "a label", names)
    for name, row in zip(names, rows, strict=True):
        odd = row.edges[(row.edges < 0) | (row.edges >= row.nodes)]
        if len(odd):
            raise ValueError(
                f"expected edges between the {row.nodes} nodes of {name}, got one of node {int(odd[0])}, "
                "counted from 0"
            )
    sizes = torch.tensor([row.nodes for row in rows], dtype=torch.int64)
    starts = (sizes.cumsum(0) - sizes).tolist()
    features = [row.features for row in rows if row.features is not None]
    widths = [each.shape[1] for each in features]
    if len(set(widths)) > 1:
        odd_one = next(number for number, width in enumerate(widths) if width != widths[0])
        raise ValueError(
            f"expected as many features of every node as {names[0]} has ({widths[0]}), got {widths[odd_one]} "
            f"in {names[odd_one]}"
        )
    empty = torch.zeros(2, 0, dtype=torch.int64)
    return packed(
        torch.arange(len(rows)).repeat_interleave(sizes),
        torch.cat([empty, *(row.edges + start for row, start in zip(rows, starts, strict=True))], dim=1),
        names=names,
        where=where,
        features=torch.cat(features) if with_features else None,
        columns=[f"feature {column}" for width in widths[:1] for column in range(width)],
        labels=[row.label for row in rows if row.label is not None] if with_labels else None,
    )


def _in_all(found: Sequence[Any], what: str, names: Sequence[str]) -> bool:
    """Return whether all graphs have something, or none."""
    have = [each is not None for each in found]
    if any(have) and not all(have):
        raise ValueError(f"expected {what} in all graphs or in none, got none in {names[have.index(False)]}")
    return any(have)


def graph_row(graph: Any, *, labels: bool = True) -> GraphRow:
    """Return edges, number of nodes, features and label of one graph; see `graphs_of`.

    Args:
        graph: graph of torch_geometric, or a mapping.
        labels: whether `y` is the class; False ignores it.

    Raises:
        ValueError: If there are no integer edges of the shape (2, pairs), features are no numbers or of
            another number of nodes, or there are several targets; the message ends where the name of the
            graph belongs.

    Example:
        >>> row = graph_row({"edge_index": [[0, 1], [1, 2]], "num_nodes": 4, "y": [1.0]})
        >>> row.nodes, row.label
        (4, '1')
    """
    if not isinstance(graph, Mapping) and not hasattr(graph, "to_dict"):
        kind = type(graph).__name__
        raise ValueError(f"expected a graph of torch_geometric or a mapping with edge_index, got {kind}")
    given = graph if isinstance(graph, Mapping) else graph.to_dict()
    x = given.get("node_feat") if given.get("x") is None else given["x"]
    try:
        edges = torch.as_tensor(given.get("edge_index"))
        features = None if x is None else torch.as_tensor(x, dtype=torch.float32)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"expected two lists of nodes as edge_index, and numbers as features, got something else "
            f"({str(error).splitlines()[0]})"
        ) from error
    edges, nodes = _checked_edges(edges), _count(given.get("num_nodes"))
    if features is not None:
        features = features[:, None] if features.ndim == 1 else features
        check_shape("features of nodes", features.shape, (None, None))
        if nodes not in (None, len(features)):
            raise ValueError(f"expected features of {nodes} nodes (num_nodes), got {len(features)} rows")
        nodes = len(features)
    if nodes is None:
        nodes = int(edges.max()) + 1 if edges.numel() else 0
    label = class_name(given.get("y")) if labels else None
    return GraphRow(edges=edges, nodes=nodes, features=features, label=label)


def _checked_edges(edges: Tensor) -> Int64[Tensor, "2 pairs"]:
    """Return edges as integers, unless they have another shape or type; empty lists have no type."""
    if edges.numel() == 0:
        return torch.zeros(2, 0, dtype=torch.int64)
    if edges.ndim != 2 or len(edges) != 2:
        raise ValueError(f"expected two lists of nodes as edge_index, got shape {tuple(edges.shape)}")
    if edges.is_floating_point() or edges.is_complex() or edges.dtype == torch.bool:
        raise ValueError(f"expected integers as edge_index, got {edges.dtype}")
    return edges.long()


def _count(nodes: Any) -> int | None:
    """Return the number of nodes, or None where it is unknown."""
    if nodes is None:
        return None
    try:
        count = int(nodes)
        is_count = count == nodes and count >= 0 and not isinstance(nodes, bool)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        is_count = False
    if not is_count:
        raise ValueError(f"expected an integer of at least 0 as num_nodes, got {nodes!r}")
    return count


def class_name(y: Any) -> str | None:
    """Return the name of a class: a word, a whole number without decimals, or the shortest exact decimals.

    None where it is missing: None, NaN, an empty word or an empty list.

    Example:
        >>> class_name(1.0), class_name(" a "), class_name(float("nan"))
        ('1', 'a', None)
    """
    if isinstance(y, Tensor):
        y = y.detach().cpu()
        y = y.float() if y.dtype == torch.bfloat16 else y  # NumPy has no bfloat16
    values = list(np.asarray(y).flat)
    if len(values) > 1:
        raise ValueError(
            f"expected one class as y, got {len(values)} values: keep one of the targets, or leave y out"
        )
    value: Any = values[0] if values else None
    if value is None or isinstance(value, str):
        return (value or "").strip() or None
    is_number = isinstance(value, Real | np.bool_)
    if not is_number:
        raise ValueError(f"expected a number or a word as y, got {type(value).__name__}")
    if value != value:  # NaN
        return None
    is_whole = isinstance(value, Integral | np.bool_) or float(value).is_integer()
    return str(int(value)) if is_whole else str(value)


def class_names(
    labels: Sequence[str | None],
) -> tuple[Int64[Tensor, " n"], tuple[str, ...]] | tuple[None, None]:
    """Return the class of each graph and the names of the classes, numbers by their size.

    Example:
        >>> class_names(["10", "9", "10"])
        (tensor([1, 0, 1]), ('9', '10'))
    """
    known = [label for label in labels if label is not None]
    if not known:
        return None, None
    classes = tuple(sorted(set(known), key=_natural))
    numbers = {name: number for number, name in enumerate(classes)}
    return torch.tensor([numbers[label] for label in known]), classes


def _natural(name: str) -> tuple[int, float, str]:
    """Return the key that sorts numbers by size, before words; "nan" is a word, which has no size."""
    try:
        size = float(name)
    except ValueError:
        size = math.nan
    return (1, 0.0, name) if math.isnan(size) else (0, size, name)
