"""Graphs from files: the TU collection's text, and lists of edges."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tammes.extensions import edge_list, tu_graphs


def write_tu(folder: Path, edges: str, indicator: str, name: str = "TOY") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}_A.txt").write_text(edges)
    (folder / f"{name}_graph_indicator.txt").write_text(indicator)


# A triangle, an edge in both directions and twice, and a node alone.
EDGES = "1, 2\n2, 3\n1, 3\n4, 5\n5, 4\n4, 5\n"
INDICATOR = "1\n1\n1\n2\n2\n3\n"


@pytest.mark.parametrize("below", ["", "raw", "TOY/raw"])
def test_tu_graphs_are_found_and_split(tmp_path: Path, below: str) -> None:
    write_tu(tmp_path / below, EDGES, INDICATOR)
    graphs = tu_graphs(tmp_path)
    assert [graph.ground.sizes for graph in graphs] == [(3,), (2,), (1,)]
    assert [graph.edges.T.tolist() for graph in graphs] == [[[0, 1], [0, 2], [1, 2]], [[0, 1]], []]
    assert len(tu_graphs(tmp_path, most=2)) == 2


def test_an_archive_is_read_and_one_of_several_data_sets_is_not_guessed(tmp_path: Path) -> None:
    for name in ("ONE", "TWO"):
        write_tu(tmp_path / "sets" / name, EDGES, INDICATOR, name=name)
    archive = shutil.make_archive(str(tmp_path / "ONE"), "zip", tmp_path / "sets", "ONE")
    assert [graph.ground.sizes for graph in tu_graphs(archive)] == [(3,), (2,), (1,)]
    with pytest.raises(ValueError, match=r"found 2: name one of .*/ONE, .*/TWO$"):
        tu_graphs(tmp_path / "sets")


def test_folders_that_hold_no_such_graphs(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"expected NAME_A\.txt and NAME_graph.* of a data set .*, found none"
    ):
        tu_graphs(tmp_path)
    with pytest.raises(ValueError, match=r"expected a folder or the name of a TU data set, got \./nowhere"):
        tu_graphs("./nowhere")
    write_tu(tmp_path, EDGES, "1\n2\n1\n")
    with pytest.raises(ValueError, match="number of each node's graph, from 1 and never falling"):
        tu_graphs(tmp_path)
    write_tu(tmp_path, EDGES, "1\n1\n1\n")
    with pytest.raises(ValueError, match="nodes of edges must be from 0 to 2, got 0 to 4"):
        tu_graphs(tmp_path)
    write_tu(tmp_path, "1, x\n", INDICATOR)
    with pytest.raises(ValueError, match=r"expected numbers in every line of .*TOY_A\.txt"):
        tu_graphs(tmp_path)
    write_tu(tmp_path, "1, 2, 3\n", INDICATOR)
    with pytest.raises(ValueError, match=r"expected 2 integers in each line of .*TOY_A\.txt, got 3"):
        tu_graphs(tmp_path)


def test_a_name_needs_torch_geometric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torch_geometric.datasets", None)
    with pytest.raises(ImportError, match=r'pip install "tammes\[graphs\]"'):
        tu_graphs("MUTAG", cache=tmp_path)


def test_a_name_that_cannot_be_downloaded_is_no_folder_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("torch_geometric.datasets")

    def offline(root: str, name: str) -> None:
        raise OSError("no network")

    monkeypatch.setattr(datasets, "TUDataset", offline)
    with pytest.raises(ValueError, match=r"got TYPO: there is no such folder.*no network"):
        tu_graphs("TYPO", cache=tmp_path)


def test_a_list_of_edges(tmp_path: Path) -> None:
    file = tmp_path / "graph.edgelist"
    file.write_text("# comment\n1 2 0.5\n2,3\n% other\n3 1\n3 3\nalone\n\n")
    graph, names = edge_list(file)
    assert names == ("1", "2", "3", "alone")
    assert graph.edges.T.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert graph.ground.sizes == (4,)


def test_an_empty_list_is_no_graph(tmp_path: Path) -> None:
    file = tmp_path / "graph.edgelist"
    file.write_text("# nothing\n")
    with pytest.raises(ValueError, match=r"expected a line for each edge in .*; found none"):
        edge_list(file)
    with pytest.raises(FileNotFoundError):
        edge_list(tmp_path / "missing")


def test_a_file_of_edges_is_text_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "edges"
    file.write_bytes("\ufeffann bob".encode())
    assert edge_list(file)[1] == ("ann", "bob")
    file.write_bytes(bytes(range(256)))
    with pytest.raises(ValueError, match="expected text in UTF-8"):
        edge_list(file)
