"""Nodes of one large graph: the whole graph, samples around some nodes, files, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.data import NodeBatch, NodeSet, block_model, node_set, nodes_of
from tammes.data.neighbor_sampling import neighborhood


def small() -> NodeSet:
    return block_model(60, classes=3, words=12, degree=6.0)


def dense(batch: NodeBatch) -> torch.Tensor:
    matrix = torch.zeros(len(batch.owner), len(batch.owner))
    matrix[batch.edges[0], batch.edges[1]] = 1
    return matrix


def test_the_whole_graph_has_both_directions_of_each_edge() -> None:
    nodes = small()
    batch = nodes.batch([7, 3, 7])
    assert len(batch) == 3
    assert batch.roots.tolist() == [7, 3, 7]
    assert torch.equal(dense(batch), dense(batch).T)
    assert torch.equal(nodes.degrees, dense(batch).sum(0).long())
    assert nodes[-1][1] == 59
    assert batch.to("cpu").hops is None


def test_a_part_has_fewer_rows_of_the_same_graph() -> None:
    nodes = small()
    part = nodes.subset([5, -1])
    assert part.names == ("5", "59")
    assert part.batch([1]).roots.tolist() == [59]
    assert torch.equal(part.batch([0]).edges, nodes.batch([0]).edges)
    assert part.digest != nodes.digest
    assert nodes.digest == small().digest


@given(roots=st.lists(st.integers(0, 59), min_size=1, max_size=6), hops=st.integers(1, 3))
def test_more_neighbors_than_any_node_has_are_the_whole_neighborhood(roots: list[int], hops: int) -> None:
    nodes = small()
    matrix = dense(nodes.batch([0])) > 0
    batch = nodes.around(roots, (1000,) * hops)
    assert batch.hops is not None
    reached = [torch.zeros(60, dtype=torch.bool)]
    reached[0][roots] = True
    for _ in range(hops):
        reached.append(reached[-1] | (matrix & reached[-1][None, :]).any(1))
    for hop, within in enumerate(reached):
        assert int((batch.hops <= hop).sum()) == int(within.sum())
    # Every node but the farthest has all its neighbors.
    inner = batch.hops < hops
    degrees = torch.bincount(batch.edges[1], minlength=len(batch.owner))
    assert int(degrees[inner].sum()) == int(matrix[reached[hops - 1]].sum())
    assert int(degrees[~inner].sum()) == 0
    assert torch.equal(batch.features[batch.roots], nodes.features[roots])


def test_a_node_gets_no_more_neighbors_than_its_fanout_and_none_twice() -> None:
    nodes = small()
    rows = list(range(0, 60, 7))
    batch = nodes.around(rows, (3, 2))
    degrees = torch.bincount(batch.edges[1], minlength=len(batch.owner))
    assert batch.hops is not None
    assert torch.equal(degrees[batch.roots], nodes.degrees[rows].clamp(max=3))
    assert int(degrees[batch.hops == 1].max()) <= 2
    assert int(degrees[batch.hops == 2].sum()) == 0
    assert len(batch.edges.unique(dim=1).T) == batch.edges.shape[1]


def test_neighbors_are_drawn_equally_often() -> None:
    size, stars = 9, 4000
    centers = size * torch.arange(stars)
    leaves = centers[:, None] + torch.arange(1, size)
    edges = torch.stack([centers[:, None].expand_as(leaves), leaves]).flatten(1)
    graph = nodes_of({"edge_index": edges, "num_nodes": size * stars})
    generator = torch.Generator().manual_seed(0)
    found = neighborhood(graph.starts, graph.neighbors, centers, [2], generator=generator)
    counts = torch.bincount(found.nodes[found.edges[0]] % size, minlength=size)
    assert int(counts[0]) == 0
    assert int(counts.sum()) == 2 * stars
    assert torch.allclose(counts[1:].float(), torch.tensor(1000.0), atol=120)  # four standard deviations


def test_equal_batches_have_equal_samples_and_others_others() -> None:
    nodes = small()
    first, again, other = (nodes.around(rows, (2, 2)) for rows in ([1, 2], [1, 2], [2, 1]))
    assert torch.equal(first.edges, again.edges)
    assert torch.equal(first.features, again.features)
    assert first.edges.shape != other.edges.shape or not torch.equal(first.edges, other.edges)


def test_views_stand_side_by_side() -> None:
    nodes = small()
    for one, two in (
        (nodes.around([1], (3,)), nodes.around([2], (3,))),
        (nodes.batch([1]), nodes.batch([2])),
    ):
        both = one.beside(two)
        assert both.count == 2
        assert both.roots.tolist() == [int(one.roots), len(one.owner) + int(two.roots)]
        assert torch.equal(both.features[both.roots[1]], two.features[two.roots[0]])
        assert (both.hops is None) == (one.hops is None)
        assert both.to("cpu").edges.shape[1] == one.edges.shape[1] + two.edges.shape[1]


def test_a_part_of_a_sample_keeps_its_roots() -> None:
    batch = small().around([4, 9], (5, 5))
    assert batch.hops is not None
    kept = batch.keeping(batch.hops <= 1)
    assert torch.equal(kept.features[kept.roots], batch.features[batch.roots])
    assert kept.hops is not None
    assert int(kept.hops.max()) == 1
    assert small().batch([4]).keeping(torch.arange(60) > 2).roots.tolist() == [1]


def test_features_are_put_into_the_order_of_a_run() -> None:
    nodes = small()
    wanted = ("more", *reversed(nodes.columns))
    assert torch.equal(nodes.with_columns(wanted).features[:, 1:], nodes.features.flip(1))
    with pytest.raises(ValueError, match="expected node features among word 0, got word 1, word 2"):
        nodes.with_columns(["word 0"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"starts": torch.zeros(61, dtype=torch.int64)}, "expected 61 starts from 0 to"),
        ({"nodes": torch.arange(60) + 1}, "nodes, rows of the graph, must be from 0 to 59, got 1 to 60"),
        ({"names": ("a",)}, "expected a name for each of 60 nodes, got 1"),
        ({"features": torch.full((60, 12), torch.nan)}, "got NaN or infinity of node 0"),
        ({"features": torch.ones(60, 3)}, "features"),
    ],
    ids=["starts", "nodes", "names", "nan", "width"],
)
def test_what_is_no_graph_is_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(small(), **changed)  # type: ignore[arg-type]


def test_starts_never_fall_and_labels_are_needed() -> None:
    nodes = small()
    starts = nodes.starts.clone()
    starts[1] = starts[-1] + 1
    with pytest.raises(ValueError, match="expected starts that never fall"):
        replace(nodes, starts=starts)
    with pytest.raises(ValueError, match=r"expected nodes with labels.*nodes\.csv a column label"):
        replace(nodes, labels=None, classes=None).required_labels()
    with pytest.raises(ValueError, match="at least two classes, got 60 nodes"):
        replace(nodes, labels=torch.zeros(60, dtype=torch.int64)).required_labels()


def test_a_graph_of_torch_geometric_is_read() -> None:
    data = pytest.importorskip("torch_geometric.data")
    graph = data.Data(
        x=torch.arange(3.0), edge_index=torch.tensor([[0, 1, 1], [1, 0, 1]]), y=torch.tensor([0, 1, 0])
    )
    nodes = nodes_of(graph)
    assert (nodes.columns, nodes.neighbors.tolist()) == (("feature 0",), [1, 0])
    assert nodes.degrees.tolist() == [1, 1, 0]
    assert nodes_of({"edge_index": [[0], [2]]}).columns == ("one",)
    with pytest.raises(ValueError, match="expected edges between 3 nodes, got one of node 5"):
        nodes_of({"edge_index": [[0], [5]], "num_nodes": 3})
    with pytest.raises(ValueError, match="expected edges between 3 nodes, got one of node -1"):
        nodes_of({"edge_index": [[0], [-1]], "num_nodes": 3})
    with pytest.raises(ValueError, match="expected edges between the nodes, got none"):
        nodes_of({"edge_index": [[], []], "num_nodes": 3})
    with pytest.raises(ValueError, match="expected at least one node, got none"):
        nodes_of({"edge_index": [[], []]})


@pytest.mark.parametrize(
    "y", [torch.tensor([10.0, 9.0, 10.0]), torch.tensor([[10], [9], [10]]), ["10", "9", "10"]]
)
def test_classes_of_nodes_are_numbers_or_words(y: object) -> None:
    nodes = nodes_of({"edge_index": [[0], [1]], "y": y})
    assert (nodes.classes, nodes.labels.tolist()) == (("9", "10"), [1, 0, 1])


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (
            {"edge_index": [[0, 1], [1, 2], [2, 0]]},
            r"two lists of nodes as edge_index, got shape \(3, 2\) in",
        ),
        ({"edge_index": [[0.0, 1.7], [1.2, 2.0]]}, "expected integers as edge_index, got torch.float32 in"),
        ({"x": [[1.0]]}, "expected two lists of nodes as edge_index"),
        ([1], "expected a graph of torch_geometric or a mapping with edge_index, got list"),
        ({"edge_index": [[0], [1]], "y": [0.0, float("nan")]}, "for every item or for none, got 1 of 2"),
        ({"edge_index": [[0], [1]], "y": [[0, 1], [1, 0]]}, r"one class of each node .* shape \(2, 2\) in"),
    ],
)
def test_a_graph_of_another_form_is_refused(graph: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nodes_of(graph)


def write(folder: Path, edges: str, nodes: str | None) -> Path:
    folder.mkdir()
    (folder / "all.edges").write_text(edges)
    if nodes is not None:
        (folder / "nodes.csv").write_text(nodes)
    return folder


def test_a_list_of_edges_alone_is_enough(tmp_path: Path) -> None:
    folder = write(tmp_path / "a", "# comment\n1 2\n2,3\n3 3\n", None)
    for path in (folder, folder / "all.edges"):
        nodes = node_set(path)
        assert (nodes.names, nodes.columns, nodes.labels) == (("1", "2", "3"), ("one",), None)


def test_columns_without_a_name_are_no_features(tmp_path: Path) -> None:
    nodes = node_set(write(tmp_path / "blank", "1 2\n", "node,age,\n1,3,\n2,4, \n"))
    assert (nodes.columns, nodes.features.tolist()) == (("age",), [[3.0], [4.0]])
    numbered = write(tmp_path / "numbered", "1 2\n", ",node,age\n0,1,3\n1,2,4\n")  # as pandas writes it
    with pytest.raises(ValueError, match=r"each column of .*nodes\.csv, got a column without one"):
        node_set(numbered)


@pytest.mark.parametrize(
    ("edges", "nodes", "message"),
    [
        (
            "1 2\n1 9\n",
            "node,label\n1,a\n2,b\n",
            r"expected edges between nodes of .*nodes\.csv, got node 9 in line 2",
        ),
        ("1 2\n", "node,label\n1,a\n2,b\n2,b\n", r"node once in .*nodes\.csv, got 2 in line 3 and in line 4"),
        (
            "1 2\n",
            "node,label\n1,a\n2,\n",
            "expected a label for every item or for none, got 1 of 2 without one, first 2",
        ),
        ("1 2\n", "node,age\n1,3\n2,old\n", r"expected a number for each feature in line 3 of .*nodes\.csv"),
        ("1 2\n", "node,age\n1,3\n2\n", r"expected 2 cells in line 3 of .*nodes\.csv, one .*, got 1"),
        ("1 2\n", "x,label,node\n1,a,1\n2,b\n", r"expected 3 cells in line 3 of .*nodes\.csv, .* got 2"),
        ("1 2\n", "node,x,x\n1,3,4\n2,3,4\n", r"expected each column once in .*nodes\.csv, got x twice"),
        ("1 2\n", "name\n1\n", r"expected the column node in .*nodes\.csv, got name"),
        ("1\n", None, "expected two nodes in each line, got '1' in line 1"),
        ("1 2\n", "node,age\n1,3\n2,nan\n", "got NaN or infinity of node 1"),
        ("", None, "expected at least one node, got none"),
    ],
    ids=["end", "twice", "label", "word", "short", "cut", "repeated", "column", "line", "nan", "empty"],
)
def test_one_line_says_what_is_wrong_with_the_files(
    tmp_path: Path, edges: str, nodes: str | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        node_set(write(tmp_path / "a", edges, nodes))


def test_one_list_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected one list of edges .* found none"):
        node_set(tmp_path)
    folder = write(tmp_path / "a", "1 2\n", None)
    (folder / "more.edgelist").write_text("1 2\n")
    with pytest.raises(ValueError, match="found 2: name one of them"):
        node_set(folder)


def test_the_block_model_has_its_degrees_classes_and_words() -> None:
    nodes = block_model(3000, classes=3, degree=8.0, within=0.9, words=30, own_words=0.5)
    labels = nodes.required_labels()
    ends = labels[nodes.neighbors]
    own = labels.repeat_interleave(nodes.starts.diff())
    assert float((ends == own).float().mean()) == pytest.approx(0.9, abs=0.03)
    assert 6.5 < float(nodes.degrees.float().mean()) <= 8
    assert int(nodes.degrees.max()) > 10 * float(nodes.degrees.float().median())
    mean = torch.stack([nodes.features[labels == label].mean(0) for label in range(3)])
    assert bool((mean.reshape(3, 3, 10).mean(2).argmax(1) == torch.arange(3)).all())
    for wrong in ({"classes": 1}, {"exponent": 2.0}, {"within": 1.5}, {"degree": 0.0}, {"words": 2}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            block_model(100, **{"classes": 3, **wrong})  # type: ignore[arg-type]
