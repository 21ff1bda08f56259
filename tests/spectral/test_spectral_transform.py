"""The transform adds the eigenpairs of every graph, batches, and reads from disk what it kept."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest
import safetensors.torch
import torch
from batches import edges_of

pytest.importorskip("torch_geometric")

from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.loader import DataLoader

from tammes.spectral import Combinatorial, RandomWalk, eigenpairs
from tammes.spectral.transform import ADVICE, AddEigenpairs


def data_of(graph: nx.Graph) -> Data:
    edges, batch = edges_of([graph])
    return Data(edge_index=edges, num_nodes=len(batch))


def some() -> list[Data]:
    graphs = [nx.path_graph(4), nx.cycle_graph(6), nx.empty_graph(1), nx.star_graph(3), nx.empty_graph(5)]
    return [data_of(graph) for graph in graphs]


def same(one: list[Data], other: list[Data]) -> bool:
    return all(
        torch.equal(a.eigenvectors, b.eigenvectors) and torch.equal(a.eigenvalues, b.eigenvalues)
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("count", [None, 2, 9])
def test_a_list_is_as_its_batch(count: int | None) -> None:
    added = AddEigenpairs(count=count, laplacian=Combinatorial(), dtype=torch.float64)(some())
    batch = Batch.from_data_list(added)
    pairs = eigenpairs(batch.edge_index, batch.batch, laplacian=Combinatorial(), count=count)
    assert batch.eigenvectors.shape == pairs.vectors.shape
    torch.testing.assert_close(batch.eigenvalues, pairs.values, rtol=0, atol=1e-13)
    torch.testing.assert_close(batch.eigenvectors.abs(), pairs.vectors.abs(), rtol=0, atol=1e-10)


def test_one_graph_at_a_time_is_as_all_together() -> None:
    transform = AddEigenpairs(count=3)
    together = transform(some())
    alone = [transform(graph) for graph in some()]
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one.eigenvalues, other.eigenvalues, rtol=0, atol=1e-13)
        assert one.eigenvectors.dtype == torch.float32
        assert one.eigenvalues.dtype == torch.float64
        assert one.eigenvectors.shape == other.eigenvectors.shape == (one.num_nodes, 3)


def test_what_came_is_not_changed() -> None:
    graphs = some()
    AddEigenpairs()(graphs)
    AddEigenpairs()(graphs[0])
    assert all("eigenvectors" not in graph for graph in graphs)


@pytest.mark.equal_bits
def test_kept_eigenpairs_are_read_and_equal_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transform = AddEigenpairs(folder=tmp_path / "kept")
    first = transform(some())
    (file,) = (tmp_path / "kept").iterdir()
    before = file.read_bytes()

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("computed anew")

    monkeypatch.setattr("tammes.spectral.transform.eigenpairs", refuse)
    assert same(transform(some()), first)
    assert file.read_bytes() == before


def test_other_graphs_and_settings_are_kept_apart(tmp_path: Path) -> None:
    graphs = some()
    weighted = [Data(edge_index=g.edge_index, num_nodes=g.num_nodes) for g in graphs]
    for graph in weighted:
        graph.edge_weight = torch.full((graph.edge_index.shape[1],), 2.0)
    AddEigenpairs(folder=tmp_path)(graphs)
    AddEigenpairs(folder=tmp_path)(graphs[1:])
    AddEigenpairs(folder=tmp_path)(weighted)
    AddEigenpairs(folder=tmp_path, count=2)(graphs)
    AddEigenpairs(folder=tmp_path, laplacian=RandomWalk())(graphs)
    AddEigenpairs(folder=tmp_path, dtype=torch.float64)(graphs)
    AddEigenpairs(folder=tmp_path, count=2, whole_eigenspaces=True)(graphs)
    assert len(list(tmp_path.iterdir())) == 7


def _flipped(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize("damage", [_flipped, lambda content: content[:-9], lambda content: b"damaged"])
def test_a_damaged_file_is_named(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    AddEigenpairs(folder=tmp_path)(some())
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match=f"{file.name}.*delete it"):
        AddEigenpairs(folder=str(tmp_path))(some())
    file.write_bytes(safetensors.torch.save({"vectors": torch.ones(2, 2), "values": torch.zeros(1, 2)}))
    with pytest.raises(ValueError, match=r"2 nodes of 1 graphs.*delete it"):
        AddEigenpairs(folder=tmp_path)(some())


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"folder must be a folder, got the file .*file; name another path"):
        AddEigenpairs(folder=tmp_path / "file")


def test_long_lists_are_decomposed_in_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = AddEigenpairs()(some())
    monkeypatch.setattr("tammes.spectral.transform.GRAPHS_OF_A_CHUNK", 2)
    parts = AddEigenpairs(folder=tmp_path)(some())
    assert len(list(tmp_path.iterdir())) == 3
    assert same(whole, parts)


def test_wrong_graphs_are_refused() -> None:
    good = data_of(nx.path_graph(3))
    with pytest.raises(ValueError, match="between nodes 0 to 1 in graph 1"):
        AddEigenpairs()([good, Data(edge_index=torch.tensor([[0, 2], [2, 0]]), num_nodes=2)])
    with pytest.raises(ValueError, match="got none in graph 1"):
        AddEigenpairs()([good, Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=0)])
    with pytest.raises(ValueError, match="between nodes 0 to 1 in graph 1"):
        AddEigenpairs()([good, Data(edge_index=torch.tensor([[0, -1], [-1, 0]]), num_nodes=2)])
    with (
        pytest.warns(UserWarning, match="num_nodes"),
        pytest.raises(ValueError, match="set its num_nodes"),
    ):
        AddEigenpairs()([Data()])
    with pytest.raises(ValueError, match="got a Batch of several"):
        AddEigenpairs()(Batch.from_data_list([good, good]))
    for strange in ("abc", [good, good.edge_index]):
        with pytest.raises(ValueError, match=r"expected a graph of torch_geometric \(Data\), or a list, got"):
            AddEigenpairs()(strange)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"expected edge_index of shape \(2, m\) in all graphs"):
        AddEigenpairs()([good, Data(edge_index=torch.tensor([0, 1]), num_nodes=2)])
    weighted = data_of(nx.path_graph(3))
    weighted.edge_weight = torch.ones(4)
    with pytest.raises(ValueError, match="in all graphs or in none"):
        AddEigenpairs()([good, weighted])
    fewer, more = (data_of(nx.path_graph(3)) for _ in range(2))  # together as many weights as edges
    fewer.edge_weight, more.edge_weight = torch.ones(3), torch.ones(5)
    with pytest.raises(ValueError, match=r"edge_weight of graph 0 in the shape \(4,\), .* got \(3,\)"):
        AddEigenpairs()([fewer, more])
    with pytest.raises(ValueError, match="count must be"):
        AddEigenpairs(count=0)
    with pytest.raises(ValueError, match="dtype must be a float type"):
        AddEigenpairs(dtype=torch.int64)
    with pytest.raises(ValueError, match="laplacian must be a Laplacian"):
        AddEigenpairs(laplacian="sym")(good)  # type: ignore[arg-type]


def test_several_kinds_of_nodes_are_refused() -> None:
    several = HeteroData()
    several["paper"].x = torch.ones(2, 1)
    several["author"].x = torch.ones(3, 1)
    for given in (several, [data_of(nx.path_graph(3)), several]):
        with pytest.raises(ValueError, match=r"got HeteroData.*to_homogeneous"):
            AddEigenpairs()(given)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (
            AddEigenpairs(count=3, whole_eigenspaces=True),
            "got 3 columns of Symmetric(), whole eigenspaces and 3 columns of Symmetric(); call",
        ),
        (AddEigenpairs(count=4), "got 4 columns of Symmetric() and 3 columns of Symmetric()"),
        (
            AddEigenpairs(count=3, laplacian=RandomWalk()),
            "got 3 columns of RandomWalk() and 3 columns of Sym",
        ),
        (AddEigenpairs(), "got 2 columns of Symmetric() and 3 columns of Symmetric()"),
    ],
)
def test_other_settings_are_found_when_graphs_are_batched(other: AddEigenpairs, words: str) -> None:
    first, second = AddEigenpairs(count=3)(data_of(nx.cycle_graph(5))), other(data_of(nx.path_graph(2)))
    with pytest.raises(ValueError, match=re.escape(words)):
        next(iter(DataLoader([first, second], batch_size=2)))
    with pytest.raises(ValueError, match="call AddEigenpairs once"):
        Batch.from_data_list([second, first])
    moved = [first.to("cpu"), second.to("cpu")]  # torch_geometric makes plain dictionaries of it
    with pytest.raises(KeyError, match=r"columns of .*; call AddEigenpairs once on the list of all graphs"):
        Batch.from_data_list(moved[::-1])
    again = Batch.from_data_list([first, AddEigenpairs(count=3)(second)])  # replaced
    assert again.eigenvectors.shape == (7, 3)


def test_graphs_without_eigenpairs_in_a_batch_are_torch_geometrics_to_find() -> None:
    without = data_of(nx.path_graph(2))
    added = AddEigenpairs(count=3)(data_of(nx.cycle_graph(5)))
    with pytest.raises(KeyError, match="eigenpairs"):
        Batch.from_data_list([added, without])
    assert "eigenvectors" not in Batch.from_data_list([without, added])
    same_settings = [added.clone(), AddEigenpairs(count=3)(without).clone()]
    assert Batch.from_data_list(same_settings).eigenvectors.shape == (7, 3)


def test_batches_come_apart_and_together_again() -> None:
    added = AddEigenpairs()(some())
    assert same(Batch.from_data_list(added).to_data_list(), added)
    again = Batch.from_data_list(Batch.from_data_list(added).to_data_list())
    assert torch.equal(again.eigenvectors, Batch.from_data_list(added).eigenvectors)
    assert again.eigenpairs == {f"6 columns of Symmetric(){ADVICE}": [None] * 5}


@pytest.mark.parametrize("shape", [(4,), (4, 1)])
def test_weights_under_another_name_are_pointed_out(shape: tuple[int, ...]) -> None:
    graph = data_of(nx.path_graph(3))
    graph.edge_attr = torch.ones(shape)
    with pytest.warns(UserWarning, match="call them edge_weight"):
        AddEigenpairs()(graph)
    graph.edge_weight = torch.ones(4)
    AddEigenpairs()(graph)  # no warning
    kinds = data_of(nx.path_graph(3))
    kinds.edge_attr = torch.ones(4, 3)
    AddEigenpairs()([kinds])
    kinds.edge_attr = torch.ones(4, dtype=torch.long)
    AddEigenpairs()([kinds])


def test_settings_show_in_the_name() -> None:
    assert repr(AddEigenpairs(count=8)) == (
        "AddEigenpairs(count=8, whole_eigenspaces=False, laplacian=Symmetric(), dtype=torch.float32)"
    )


def test_without_torch_geometric_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    for module in ("tammes.spectral.transform", "tammes.spectral.networks"):
        monkeypatch.delitem(sys.modules, module, raising=False)
        with pytest.raises(ImportError, match=r"pip install \"tammes\[graphs\]\""):
            importlib.import_module(module)


def test_eigenpairs_and_weights_in_bfloat16_are_kept_in_a_folder(tmp_path: Path) -> None:
    edges, _ = edges_of([nx.path_graph(5)])
    weight = torch.ones(edges.shape[1], dtype=torch.bfloat16)
    add = AddEigenpairs(dtype=torch.bfloat16, folder=tmp_path / "kept")
    first, again = (add([Data(edge_index=edges, edge_weight=weight, num_nodes=5)]) for _ in range(2))
    assert len(list((tmp_path / "kept").iterdir())) == 1
    assert torch.equal(first[0].eigenvectors, again[0].eigenvectors)
