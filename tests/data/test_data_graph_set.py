"""Sets of graphs, their batches as disjoint unions, and what is refused."""

from dataclasses import replace

import pytest
import torch

from tammes.data import GraphBatch, GraphSet, graphs_of
from tammes.data.graph_packing import class_names
from tiny import random_graph_set


def test_a_batch_is_the_disjoint_union_of_its_graphs() -> None:
    graphs = random_graph_set()
    rows = [3, 0, 21]
    batch = graphs.batch(rows)
    assert batch.count == len(batch) == 3
    assert batch.sizes.tolist() == graphs.sizes[rows].tolist()
    assert bool((batch.owner[batch.edges[0]] == batch.owner[batch.edges[1]]).all())
    joined = GraphBatch.cat([graphs[row][0] for row in rows])
    for name in ("features", "edges", "owner"):
        assert torch.equal(vars(batch)[name], vars(joined)[name])
    assert batch.starts.tolist() == [0, *batch.sizes.cumsum(0)[:-1].tolist()]
    assert batch.to("cpu").count == 3


def test_a_subset_has_the_same_graphs() -> None:
    graphs = random_graph_set()
    part = graphs.subset([5, -1])
    assert part.names == ("graph 5", "graph 21")
    assert torch.equal(part.batch([1, 0]).edges, graphs.batch([21, 5]).edges)
    assert part.required_labels().tolist() == [1, 1] if part.labels is None else True
    assert repr(part) == f"GraphSet(2 graphs, {len(part.features)} nodes, 2 classes)"
    assert graphs.digest != part.digest
    assert graphs.digest == random_graph_set().digest


def test_indices_count_from_the_end_and_others_are_refused() -> None:
    graphs = random_graph_set()
    last, first = graphs.batch([-1, 0]), graphs.batch([21, 0])
    for name in ("features", "edges", "owner"):
        assert torch.equal(vars(last)[name], vars(first)[name])
    assert len(graphs.batch([])) == 0
    for rows in ([22], [0, -23], torch.tensor([40])):
        with pytest.raises(IndexError, match="expected indices from 0 to 21, got"):
            graphs.batch(rows)
        with pytest.raises(IndexError, match="expected indices from 0 to 21, got"):
            graphs.subset(rows)
    with pytest.raises(ValueError, match=r"expected integers as indices, got torch\.bool"):
        graphs.batch(torch.ones(22, dtype=torch.bool))


def test_the_subgraph_of_some_nodes_keeps_the_edges_between_them() -> None:
    batch = random_graph_set().batch([0, 1])
    nodes = torch.arange(len(batch.owner)) % 2 == 0
    kept = batch.keeping(nodes)
    assert torch.equal(kept.owner, batch.owner[nodes])
    matrix = torch.zeros(len(nodes), len(nodes))
    matrix[batch.edges[0], batch.edges[1]] = 1
    other = torch.zeros(int(nodes.sum()), int(nodes.sum()))
    other[kept.edges[0], kept.edges[1]] = 1
    assert torch.equal(matrix[nodes][:, nodes], other)


def test_graphs_without_labels_have_none_to_evaluate() -> None:
    graphs = replace(random_graph_set(), labels=None, classes=None)
    with pytest.raises(ValueError, match=r"expected graphs with labels.*labels\.csv"):
        graphs.required_labels()
    with pytest.raises(ValueError, match="at least two classes, got 22 graphs"):
        replace(random_graph_set(), labels=torch.zeros(22, dtype=torch.int64)).required_labels()


def tampered(graphs: GraphSet, name: str) -> dict[str, object]:
    edges, features = graphs.edges.clone(), graphs.features.clone()
    edges[0, -1], features[-1, 0] = 99, torch.nan
    return {
        "edges": {"edges": edges},
        "features": {"features": features},
        "starts": {"edge_starts": graphs.edge_starts + 1},
        "names": {"names": ("a",)},
        "columns": {"columns": ("one",)},
        "repeated": {"columns": ("one", "one")},
    }[name]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("edges", r"between the \d nodes of graph 21, got one of node 99"),
        ("features", "NaN or infinity in graph 21"),
        ("starts", "expected 23 edge_starts from 0"),
        ("names", "a name for each of 22 graphs, got 1"),
        ("columns", r"features must have shape \(any, 1\)"),
        ("repeated", "each feature once among the columns, got 'one' twice"),
    ],
)
def test_what_contradicts_itself_is_refused(name: str, message: str) -> None:
    graphs = random_graph_set()
    with pytest.raises(ValueError, match=message):
        replace(graphs, **tampered(graphs, name))


def test_a_feature_that_the_encoder_does_not_know_is_refused() -> None:
    graphs = random_graph_set()
    swapped = graphs.with_columns(["kind 1", "kind 0"])
    assert torch.equal(swapped.features, graphs.features.flip(1))
    with pytest.raises(ValueError, match="among one, got kind 0, kind 1"):
        graphs.with_columns(["one"])


def test_graphs_of_torch_geometric_and_rows_of_a_table() -> None:
    geometric = pytest.importorskip("torch_geometric.data")
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    data = [
        geometric.Data(edge_index=edges, x=torch.ones(3, 2), y=torch.tensor([label])) for label in (4, 10)
    ]
    graphs = graphs_of(data)
    assert graphs.classes == ("4", "10")
    assert graphs.columns == ("feature 0", "feature 1")
    rows = [{"edge_index": edges.tolist(), "node_feat": [1.0, 2.0, 3.0], "num_nodes": 3, "y": 1}]
    assert graphs_of(rows, names=["molecule"]).features.tolist() == [[1.0], [2.0], [3.0]]
    assert graphs_of([{"edge_index": [[0], [1]], "y": []}]).labels is None
    with pytest.raises(ValueError, match="node features in all graphs or in none, got none in graph 1"):
        graphs_of([data[0], geometric.Data(edge_index=edges, num_nodes=3, y=1)])
    with pytest.raises(ValueError, match="a label in all graphs or in none, got none in graph 0"):
        graphs_of([{**rows[0], "y": None}, rows[0]])
    with pytest.raises(ValueError, match="between the 2 nodes of graph 0, got one of node 2"):
        graphs_of([{"edge_index": edges, "num_nodes": 2}])
    with pytest.raises(ValueError, match="between the 2 nodes of graph 0, got one of node -1"):
        graphs_of([{"edge_index": [[0], [-1]], "num_nodes": 2}])
    with pytest.raises(ValueError, match=r"as many features of every node as graph 0 has \(1\), got 2"):
        graphs_of([rows[0], {**rows[0], "node_feat": torch.ones(3, 2)}])
    with pytest.raises(ValueError, match="the graphs: expected edges in every graph, got none in graph 0"):
        graphs_of([{"edge_index": [[], []], "num_nodes": 2}])
    with pytest.raises(ValueError, match="expected at least one graph"):
        graphs_of([])


PATH = {"edge_index": [[0, 1], [1, 2]], "num_nodes": 3}


@pytest.mark.parametrize(
    ("first", "second", "classes"),
    [
        ([1234567], [1234568], ("1234567", "1234568")),
        (0.12345678, 0.12345679, ("0.12345678", "0.12345679")),
        (torch.tensor([0.1]), torch.tensor([0.2]), ("0.1", "0.2")),
        (2**53, 2**53 + 1, (str(2**53), str(2**53 + 1))),
        (-1.0, [[1.0]], ("-1", "1")),
        (False, torch.tensor(True), ("0", "1")),
        ("ring", [" star "], ("ring", "star")),
        (torch.tensor([0.5], dtype=torch.bfloat16), "a", ("0.5", "a")),
    ],
    ids=str,
)
def test_different_numbers_and_words_are_different_classes(
    first: object, second: object, classes: tuple[str, ...]
) -> None:
    assert graphs_of([{**PATH, "y": first}, {**PATH, "y": second}]).classes == classes


@pytest.mark.parametrize("missing", [None, [], float("nan"), "", [None]], ids=str)
def test_what_is_no_class_is_no_label(missing: object) -> None:
    assert graphs_of([{**PATH, "y": missing}]).labels is None


def test_a_class_named_nan_stands_behind_the_numbers() -> None:
    for count in range(5, 60):  # sorted among the numbers it would break their order
        names = (*map(str, range(count)), "nan")
        assert class_names(names)[1] == names


def test_several_targets_are_refused_unless_labels_are_left_out() -> None:
    rows = [{**PATH, "y": [0, 1]}, {**PATH, "y": [0, 0]}]
    with pytest.raises(ValueError, match=r"one class as y, got 2 values: keep one .* in graph 0"):
        graphs_of(rows)
    assert graphs_of(rows, labels=False).labels is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edge_index": [[0.0, 1.0], [1.0, 2.5]]}, r"integers as edge_index, got torch\.float32 in graph 0"),
        (
            {"edge_index": [[False, True], [True, True]]},
            r"integers as edge_index, got torch\.bool in graph 0",
        ),
        ({"num_nodes": 3.7}, r"an integer of at least 0 as num_nodes, got 3\.7 in graph 0"),
        ({"num_nodes": -1}, "an integer of at least 0 as num_nodes, got -1"),
        ({"num_nodes": "many"}, "an integer of at least 0 as num_nodes, got 'many'"),
        ({"x": 1.0}, r"features of nodes must have shape \(any, any\), got \(\) in graph 0"),
        ({"y": {"a": 1}}, "a number or a word as y, got dict in graph 0"),
    ],
    ids=str,
)
def test_other_types_are_refused_in_a_line(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        graphs_of([{**PATH, **change}])
    assert "\n" not in str(caught.value)


def test_what_is_no_graph_is_refused_and_so_are_too_few_names() -> None:
    with pytest.raises(ValueError, match=r"a graph of torch_geometric or a mapping .*, got int in graph 0"):
        graphs_of([3])
    with pytest.raises(ValueError, match="a name for each of 2 graphs, got 1"):
        graphs_of([PATH, PATH], names=["a"])


def test_features_under_the_other_name_are_kept() -> None:
    row = {**PATH, "x": None, "node_feat": [[1.0], [2.0], [3.0]]}
    assert graphs_of([row]).features.flatten().tolist() == [1, 2, 3]
    assert graphs_of([{**PATH, "num_nodes": torch.tensor(3.0)}]).sizes.tolist() == [3]


def test_many_graphs_take_linear_memory() -> None:
    graphs = random_graph_set(4).subset([0, 1, 2, 3] * 500)
    batch = graphs.batch(range(2000))
    assert batch.features.numel() + batch.edges.numel() < 200 * 2000
