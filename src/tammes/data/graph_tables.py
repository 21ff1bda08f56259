"""Graphs in tables of Hugging Face: a row for each graph, in parquet or arrow files or a saved data set."""

from __future__ import annotations

from tammes.data.graph_packing import graphs_of
from tammes.data.graph_set import GraphSet
from tammes.data.listing import listing
from tammes.data.stream import column_names
from tammes.data.stream_files import open_stream

EDGES = "edge_index"
"""Column that only a table of graphs has: two lists of nodes that edges join."""


def holds_graph_table(data: str, split: str | None = None) -> bool:
    """Return whether the rows of a table are graphs, judged by its columns.

    Args:
        data: `hf:` and the path of a parquet or arrow file, of a folder of such files, or of a data set that
            `datasets` has saved.
        split: part of a saved data set that has several.

    Raises:
        ValueError: If there is no such file, or no such split.
        ImportError: If `datasets` is not installed.
    """
    return EDGES in column_names(open_stream(data, split).dataset)


def graph_table(data: str, split: str | None = None) -> GraphSet:
    """Read the graphs of a table into memory.

    The columns are `edge_index`, and as far as they are known `num_nodes`, `node_feat` or `x`, and the class
    `y`; others are ignored.

    Args:
        data: see `holds_graph_table`.
        split: part of a saved data set that has several.

    Raises:
        ValueError: If a file is cut short, features or classes are in some graphs only, or the graphs are
            none of a `GraphSet`.
        ImportError: If `datasets` is not installed.
    """
    found = open_stream(data, split)
    if found.cut:
        raise ValueError(f"expected whole files in {data}, got some that are cut short: {listing(found.cut)}")
    try:
        return graphs_of(list(found.dataset))
    except ValueError as error:
        raise ValueError(f"{data}: {error}") from error
