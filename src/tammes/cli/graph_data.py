"""Graphs and nodes of one graph, as the command line names them."""

from pathlib import Path

from tammes.cli.images import has_own_test_images
from tammes.cli.options.data import Source
from tammes.data import GraphSet, GraphStream, NodeSet, edge_lists, graph_stream_of_files, node_set, tu_set
from tammes.data.edge_lists import holds_edge_lists
from tammes.data.graph_tables import holds_graph_table
from tammes.data.stream_files import is_stream
from tammes.data.tu_files import tu_files

NODES = "nodes:"
"""Beginning of the name of a graph whose nodes are the rows."""


def are_graphs(source: Source) -> bool:
    """Return whether the data are graphs: a set of the TU collection, lists of edges, or a table of them."""
    return not has_own_test_images(source.data) and holds_graphs(source.data, source.format.split)


def holds_graphs(path: str, split: str | None = None) -> bool:
    """Return whether a path holds graphs, judged by the names of its files, or the columns of a table.

    Args:
        path: path, or name of a table (hf:PATH).
        split: part of a table that has several.
    """
    if is_stream(path):
        return holds_graph_table(path, split)
    place = Path(path)
    return bool(tu_files(place)) or (place.exists() and holds_edge_lists(place))


def are_nodes(source: Source) -> bool:
    """Return whether the data are the nodes of one graph, which their name says: nodes:PATH."""
    return source.data.startswith(NODES)


def load_graphs(path: str, split: str | None = None, *, buffer: int) -> GraphSet | GraphStream:
    """Load the graphs at a path; those of a table are not held in memory.

    Args:
        path: path, or name of a table (hf:PATH).
        split: part of a table that has several.
        buffer: graphs of a table that an epoch mixes with each other.

    Raises:
        ValueError: for a file that is damaged, or contradicts another.
    """
    if is_stream(path):
        return graph_stream_of_files(path, split, buffer=buffer)
    place = Path(path)
    return tu_set(place) if tu_files(place) else edge_lists(place)


def load_nodes(name: str) -> NodeSet:
    """Load the nodes of the graph of a name, nodes:PATH.

    Raises:
        ValueError: for a file that is damaged, or contradicts another.
    """
    return node_set(name.removeprefix(NODES))
