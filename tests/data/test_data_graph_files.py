"""Graphs from files: the TU collection and lists of edges, whole and damaged."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import networkx
import pytest
import torch

from tammes.data import edge_lists, node_set, tu_set, tu_sets
from tammes.data.edge_lists import holds_edge_lists, named_edge_lists
from tammes.data.tu_files import tu_files
from tiny import random_graph_set, write_tu_set


@pytest.fixture
def tiny_set(tmp_path: Path) -> Path:
    return write_tu_set(tmp_path, "TINY", random_graph_set())


def zipped(folder: Path, archive: Path) -> Path:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_LZMA) as file:
        for each in sorted(folder.iterdir()):
            file.write(each, f"{folder.name}/{each.name}")
    return archive


def test_a_set_is_read_from_a_folder_or_its_archive(tiny_set: Path, tmp_path: Path) -> None:
    graphs, expected = tu_set(tiny_set), random_graph_set()
    assert torch.equal(graphs.edges, expected.edges)
    assert torch.equal(graphs.features, expected.features)
    assert torch.equal(graphs.required_labels(), expected.required_labels())
    assert graphs.columns == ("label 0", "label 1")
    assert graphs.names[:2] == ("TINY 1", "TINY 2")
    archive = zipped(tiny_set, tmp_path / "TINY.zip")
    assert tu_set(archive).digest == graphs.digest
    assert tu_set(tmp_path).digest == graphs.digest  # the folder comes before the archive beside it
    assert [files.name for files in tu_files(tmp_path)] == ["TINY"]


def test_several_sets_are_found_by_name(tiny_set: Path, tmp_path: Path) -> None:
    other = write_tu_set(tmp_path / "elsewhere", "OTHER", random_graph_set(seed=1))
    zipped(other, tmp_path / "OTHER.zip")
    assert [files.name for files in tu_files(tmp_path)] == ["OTHER", "TINY"]
    with pytest.raises(ValueError, match=r"found 2: name one of .*/OTHER\.zip, .*/TINY$"):
        tu_set(tmp_path)
    assert tu_set(tmp_path / "OTHER").digest == tu_set(tmp_path / "OTHER.zip").digest
    assert len(tu_set(tmp_path, name="OTHER")) == 22
    with pytest.raises(ValueError, match=r"of a data set of the TU collection in .*, found none"):
        tu_set(tmp_path / "nowhere")
    (tmp_path / "not.zip").write_text("no archive")
    with pytest.raises(ValueError, match=r"expected a whole zip archive, got one .* damaged: .*not\.zip"):
        tu_files(tmp_path / "not.zip")


def test_several_sets_in_one_folder_are_told_apart_by_their_names(tiny_set: Path) -> None:
    for file in write_tu_set(tiny_set / "more", "OTHER", random_graph_set(seed=1)).iterdir():
        file.rename(tiny_set / file.name)
    with pytest.raises(ValueError, match=r"found OTHER, TINY in one place: give each a separate folder"):
        tu_set(tiny_set)
    assert len(tu_set(tiny_set, name="TINY")) == 22


def test_a_named_pipe_is_not_waited_for(tiny_set: Path) -> None:
    os.mkfifo(tiny_set / "more.zip")
    assert [files.name for files in tu_files(tiny_set)] == ["TINY"]


def test_hidden_files_beside_a_set_are_no_set(tiny_set: Path, tmp_path: Path) -> None:
    for file in sorted(tiny_set.iterdir()):
        (tiny_set / f"._{file.name}").write_bytes(b"\0\5\x16\7")  # as macOS writes it on a foreign disk
    archive = zipped(tiny_set, tmp_path / "copy.zip")
    assert len(tu_set(tiny_set)) == len(tu_set(archive)) == 22


def test_a_set_without_edges_is_no_folder_of_texts(tiny_set: Path) -> None:
    (tiny_set / "TINY_A.txt").unlink()
    with pytest.raises(ValueError, match=r"the edges TINY_A\.txt beside TINY_graph_indicator\.txt in "):
        tu_files(tiny_set)


def test_a_set_without_the_graphs_of_its_nodes_is_no_folder_of_texts(tiny_set: Path, tmp_path: Path) -> None:
    (tiny_set / "TINY_graph_indicator.txt").unlink()
    archive = zipped(tiny_set, tmp_path / "CUT.zip")
    for place in (tiny_set, tmp_path, archive):
        with pytest.raises(ValueError, match=r"expected TINY_graph_indicator\.txt beside .*TINY_A\.txt in "):
            tu_files(place)
    (tiny_set / "TINY_graph_labels.txt").unlink()
    (tiny_set / "TINY_node_labels.txt").unlink()
    with pytest.raises(ValueError, match=r"expected TINY_graph_indicator\.txt beside TINY_A\.txt in "):
        tu_files(tiny_set)
    (tiny_set / "TINY_A.txt").write_text("1, 2, and other chapters\n")
    assert tu_files(tiny_set) == ()  # a text whose name ends like that


def test_attributes_are_features_if_wanted(tiny_set: Path) -> None:
    nodes = len(random_graph_set().features)
    (tiny_set / "TINY_node_attributes.txt").write_text("0.5, 1\n" * nodes)
    assert tu_set(tiny_set).columns == ("label 0", "label 1")
    graphs = tu_set(tiny_set, attributes=True)
    assert graphs.columns[2:] == ("attribute 0", "attribute 1")
    assert graphs.features[:, 2].unique().tolist() == [0.5]
    (tiny_set / "TINY_node_labels.txt").write_text("3, 1\n" * nodes)
    assert tu_set(tiny_set).columns == ("label 0, 3", "label 1, 1")


def test_labels_of_a_large_range_have_columns_where_they_occur(
    tiny_set: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, nodes = tiny_set / "TINY_node_labels.txt", len(random_graph_set().features)
    file.write_text("-9223372036854775808\n" + "1000000\n" * (nodes - 1))
    graphs = tu_set(tiny_set)
    assert graphs.columns == ("label -9223372036854775808", "label 1000000")
    assert torch.equal(graphs.features.sum(0), torch.tensor([1.0, nodes - 1.0]))
    file.write_text("3\n" + "1002\n" * (nodes - 1))  # a column for each integer, as in kept runs
    graphs = tu_set(tiny_set)
    assert graphs.columns == tuple(f"label {label}" for label in range(3, 1003))
    assert graphs.features.sum(0)[[0, 1, -1]].tolist() == [1, 0, nodes - 1]
    file.write_text("3\n" + "1003\n" * (nodes - 1))
    assert tu_set(tiny_set).columns == ("label 3", "label 1003")
    monkeypatch.setattr(tu_sets, "MOST_ENTRIES", nodes)
    with pytest.raises(ValueError, match=r"at most 1 different labels of .*node_labels\.txt, got 2, each a"):
        tu_set(tiny_set)


def test_without_node_labels_the_feature_is_one(tiny_set: Path) -> None:
    (tiny_set / "TINY_node_labels.txt").unlink()
    (tiny_set / "TINY_graph_labels.txt").unlink()
    graphs = tu_set(tiny_set)
    assert graphs.columns == ("one",)
    assert graphs.labels is None


def cut_lines(part: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        file = folder / f"TINY_{part}.txt"
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(lines[: len(lines) // 2]))

    return damage


def cut_bytes(folder: Path) -> None:
    file = folder / "TINY_A.txt"
    text = file.read_text()
    file.write_text(text[: text.rindex(",")])


def with_line(part: str, line: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        with (folder / f"TINY_{part}.txt").open("a") as file:
            file.write(line)

    return damage


def without_word(part: str, line: int) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        lines = (folder / f"TINY_{part}.txt").read_text().splitlines()
        lines[line - 1] = " "
        (folder / f"TINY_{part}.txt").write_text("\r\n".join([*lines, "", ""]))

    return damage


def not_text(folder: Path) -> None:
    (folder / "TINY_A.txt").write_bytes(b"\xff\xfe")


def empty(folder: Path) -> None:
    (folder / "TINY_A.txt").write_text("")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut_lines("A"), r"TINY_A\.txt: expected edges in every graph, got none in TINY \d+"),
        (empty, r"TINY_A\.txt: expected edges in every graph, got none in TINY 1"),
        (cut_bytes, r"expected numbers in every line of .*TINY_A\.txt"),
        (not_text, r"expected the whole text file TINY_A\.txt"),
        (cut_lines("graph_labels"), r"a label for each of the 22 graphs in .*labels\.txt, got 11: graph 12"),
        (
            cut_lines("node_labels"),
            r"a line for each of the \d+ nodes in .*node_labels\.txt, got \d+: node \d+ of TINY 1\d is the",
        ),
        (without_word("graph_labels", 5), r"every line of .*graph_labels\.txt, got none in line 5"),
        (without_word("node_labels", 1), r"every line of .*node_labels\.txt, got none in line 1"),
        (with_line("A", "1, 999\n"), r"edges between nodes 1 to \d+ in .*, got 1, 999 in line"),
        (with_line("A", "1, 20\n"), "got one that joins TINY 1 and TINY"),
        (with_line("graph_indicator", "5\n"), "from 1 and never falling"),
        (with_line("graph_indicator", "24\n"), "a label for each of the 24 graphs"),
        (with_line("graph_labels", "1, 2\n"), r"expected numbers in every line of .*graph_labels\.txt"),
    ],
)
def test_one_line_names_the_file_and_the_graph(
    tiny_set: Path, damage: Callable[[Path], None], message: str
) -> None:
    damage(tiny_set)
    with pytest.raises(ValueError, match=message) as caught:
        tu_set(tiny_set)
    assert "\n" not in str(caught.value)


def test_two_integers_where_one_is_expected_are_refused(tiny_set: Path) -> None:
    (tiny_set / "TINY_graph_labels.txt").write_text("1, 2\n" * 22)
    with pytest.raises(ValueError, match=r"expected one integer in each line of .*graph_labels\.txt, got 2"):
        tu_set(tiny_set)


def test_a_graph_without_nodes_is_named(tiny_set: Path) -> None:
    file = tiny_set / "TINY_graph_indicator.txt"
    file.write_text(file.read_text().replace("22\n", "23\n"))
    with (tiny_set / "TINY_graph_labels.txt").open("a") as labels:
        labels.write("1\n")
    with pytest.raises(ValueError, match="expected nodes in every graph, got none in TINY 22"):
        tu_set(tiny_set)


def test_an_archive_that_is_cut_short_is_refused(tiny_set: Path, tmp_path: Path) -> None:
    archive = zipped(tiny_set, tmp_path / "WHOLE.zip")
    content = bytearray(archive.read_bytes())
    (tmp_path / "CUT.zip").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"cut short or damaged: .*CUT\.zip"):
        tu_set(tmp_path / "CUT.zip")
    content[60:200] = bytes(140)
    (tmp_path / "BAD.zip").write_bytes(content)
    with pytest.raises(ValueError, match=r"expected the whole text file TINY/TINY_A\.txt in .*BAD\.zip"):
        tu_set(tmp_path / "BAD.zip")


def write_lists(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a.edges").write_text("# a path\nx y\ny,z 0.5\n\n")
    (folder / "b.edgelist").write_text("x x\nx w\n")
    (folder / "labels.csv").write_text("graph,label\nb,9\na,10\n")
    return folder


def test_a_folder_of_edge_lists(tmp_path: Path) -> None:
    folder = write_lists(tmp_path / "lists")
    graphs = edge_lists(folder)
    assert graphs.names == ("a", "b")
    assert graphs.classes == ("9", "10")
    assert graphs.required_labels().tolist() == [1, 0]
    assert graphs.sizes.tolist() == [3, 2]
    assert holds_edge_lists(folder)
    assert holds_edge_lists(folder / "a.edges")
    assert not holds_edge_lists(folder / "labels.csv")
    (folder / "nodes.csv").write_text("graph,node,size\na,x,1\na,y,2\na,z,3\na,v,4\nb,x,5\nb,w,6\n")
    graphs = edge_lists(folder)
    assert graphs.sizes.tolist() == [4, 2]
    assert graphs.features.flatten().tolist() == [1, 2, 3, 4, 5, 6]


def test_hidden_files_beside_lists_are_no_graphs(tmp_path: Path) -> None:
    folder = write_lists(tmp_path / "lists")
    (folder / "._a.edges").write_bytes(b"\0\5\xff")
    assert edge_lists(folder).names == ("a", "b")
    (folder / "b.edgelist").unlink()
    assert node_set(folder).names == ("x", "y", "z")
    (folder / "a.edges").unlink()
    assert not holds_edge_lists(folder)


def test_one_file_of_several_graphs(tmp_path: Path) -> None:
    file = tmp_path / "all.edges"
    file.write_text("a 1 2\na 2 3\nb 1 2\n")
    graphs = edge_lists(file)
    assert graphs.names == ("a", "b")
    assert graphs.labels is None
    file.write_text(file.read_text() + "c 1\n")
    with pytest.raises(ValueError, match="a graph and two nodes in each line, got 'c 1' in line 4"):
        edge_lists(file)


@pytest.mark.parametrize(
    "content",
    [
        "# plain\n1 2\n2 3\n1 3\n",
        "1 2 0.5\n2,3,2.0\n1 3\n",
        "1 2 {}\n2 3 {}\n1 3 {}\n",
        "1 2 {'weight': 3}\n2 3 {'weight': 1}\n1 3 {'weight': 3}\n",
    ],
)
def test_a_file_of_one_graph(tmp_path: Path, content: str) -> None:
    file = tmp_path / "friends.edges"
    file.write_text(content)
    graphs, names = named_edge_lists(file)
    assert graphs.names == ("friends",)
    assert names == ("1", "2", "3")
    assert graphs.edges.shape == (2, 6)


def test_a_file_that_may_be_one_graph_or_several_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "karate.edges"
    graph = networkx.karate_club_graph()
    networkx.write_weighted_edgelist(graph, file)
    with pytest.raises(
        ValueError, match=r"words that may be both: read one graph as nodes:PATH .* in a folder"
    ):
        edge_lists(file)
    numbers = "1 1 2\n1 2 3\n2 1 2\n"  # graph and nodes, or nodes and a weight
    file.write_text(numbers)
    with pytest.raises(ValueError, match="may be both"):
        edge_lists(file)
    (tmp_path / "labels.csv").write_text("graph,label\n1,x\n2,y\n")
    assert edge_lists(file).names == ("1", "2")


def test_names_of_nodes_are_in_the_order_of_rows(tmp_path: Path) -> None:
    folder = write_lists(tmp_path / "lists")
    assert named_edge_lists(folder)[1] == ("x", "y", "z", "x", "w")
    (folder / "nodes.csv").write_text("graph,node,size\na,v,4\na,x,1\na,y,2\na,z,3\nb,x,5\nb,w,6\n")
    graphs, names = named_edge_lists(folder)
    by_name = dict(zip(names[:4], graphs.features.flatten().tolist(), strict=False))
    assert by_name == {"x": 1, "y": 2, "z": 3, "v": 4}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.edges", "x\n", r"expected two nodes in each line, got 'x' in line 1 of .*a\.edges"),
        ("a.edges", "", "found no such line"),
        (
            "labels.csv",
            "graph,label\na,1\n",
            r"a label for each of the 2 graphs in .*labels\.csv, got none for b",
        ),
        ("labels.csv", "graph,label\n", "got none for a and 1 others"),
        ("labels.csv", "graph,label\na,1\nb,2\nz,1\n", "labels of graphs with edges in .*, got one of 'z'"),
        ("labels.csv", "name,label\n", "the columns graph and label in .*, got name, label"),
        ("nodes.csv", "graph,node\n", "columns of features behind graph and node"),
        (
            "nodes.csv",
            "graph,node,size\na,x,1\na,y,1\na,z,1\n",
            r"features of all graphs in .*, got none of b",
        ),
        (
            "nodes.csv",
            "graph,node,size\na,x,1\na,y,1\nb,x,1\nb,w,1\n",
            r"got node z of a in .*a\.edges, line 3",
        ),
        ("nodes.csv", "graph,node,size\nc,x,1\n", "got 'c' in line 2"),
        ("nodes.csv", "graph,node,size\na,x,red\n", "a number for each feature in line 2"),
        ("labels.csv", "graph,label\na,1\nb\n", r"2 cells in line 3 of .*labels\.csv, one .*, got 1"),
        ("labels.csv", "graph,label\na,1\nb,ring, star\n", r"2 cells in line 3 of .*labels\.csv, .* got 3"),
        ("labels.csv", "label,graph\n1,a\n\n2\n", r"2 cells in line 4 of .*labels\.csv, .*, got 1"),
        ("labels.csv", "graph,label\n,1\n", r"the name of a graph in line 2 of .*labels\.csv, got none"),
        (
            "labels.csv",
            "graph,label\na,1\nb,2\na,2\n",
            r"each graph once in .*labels\.csv, got a in line 2 and in line 4",
        ),
        ("nodes.csv", "size,graph,node\n1,a\n", r"3 cells in line 2 of .*nodes\.csv, one .*, got 2"),
        (
            "nodes.csv",
            "graph,node,size\na,x,1\nb,x,1\na,x,2\n",
            r"each node once in .*nodes\.csv, got x of a in line 2 and in line 4",
        ),
        ("nodes.csv", "graph,node,size\na,,1\n", r"the name of a node in line 2 of .*nodes\.csv"),
        ("nodes.csv", ",graph,node,x\n0,a,x,1\n", r"each column of .*nodes\.csv, got a column without one"),
        ("nodes.csv", "graph,node,x,x\n", r"each column once in .*nodes\.csv, got x twice"),
        ("a.edgelist", "x y\n", r"one list of edges for each graph in .*, got a\.edges and a\.edgelist"),
    ],
)
def test_lists_that_lack_something_are_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    folder = write_lists(tmp_path / "lists")
    (folder / name).write_text(content)
    if name == "a.edges" and not content:
        with pytest.raises(ValueError, match="expected nodes in every graph, got none in a"):
            edge_lists(folder)
        return
    with pytest.raises(ValueError, match=message):
        edge_lists(folder)


def test_names_with_blanks_stand_between_tabs(tmp_path: Path) -> None:
    file = tmp_path / "towns.edges"
    file.write_text("new york\tboston\nboston\tsalt lake city\t0.5\n")
    assert named_edge_lists(file)[1] == node_set(file).names == ("new york", "boston", "salt lake city")
    file.write_text("# from here to there, as the crow flies\na,b\n% two more, and a blank\nb, c 0.5\n")
    assert named_edge_lists(file)[1] == ("a", "b", "c")
    file.write_text("new york,boston\n")
    for read in (edge_lists, node_set):
        with pytest.raises(ValueError, match=r"without blanks, or with tabs between them, got 'new york,bos"):
            read(file)


def test_json_is_no_list_of_edges(tmp_path: Path) -> None:
    file = tmp_path / "graph.edges"
    for content in ('{"edges": [[0, 1], [1, 2]]}', "[[0, 1], [1, 2]]"):
        file.write_text(content)
        for read in (edge_lists, node_set):
            with pytest.raises(ValueError, match=r"two nodes in each line of .*graph\.edges, got JSON"):
                read(file)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    folder = write_lists(tmp_path / "lists")
    for name, message in (("labels.csv", "a CSV table in UTF-8"), ("a.edges", "text in UTF-8")):
        (folder / name).write_bytes(b"\xff\xfe\xff")
        with pytest.raises(ValueError, match=f"expected {message} in .*{name}"):
            edge_lists(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="found none"):
        edge_lists(tmp_path / "empty")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("a\t\tb\nb\t\tc\n", "one tab between two words, got an empty word in"),
        ("\ta\tb\n", "one tab between two words, got an empty word in"),
        ("Boston,New York\nChicago,New Orleans\n", "names without blanks, or with tabs between them"),
        ("New York,Boston,{'weight': 1}\n", "names without blanks, or with tabs between them"),
    ],
)
def test_words_that_would_be_other_nodes_are_refused(lines: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "a.edges"
    file.write_text(lines)
    for read in (edge_lists, node_set):
        with pytest.raises(ValueError, match=rf"{message}.*line 1 of"):
            read(file)
