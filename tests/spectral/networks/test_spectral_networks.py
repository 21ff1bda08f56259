"""Networks on graphs see neighbors and edge features, and take encodings beside node features."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from batches import batch_of

pytest.importorskip("torch_geometric")

from torch_geometric.data import Data

from tammes.spectral import GINConfig, SignNet
from tammes.spectral.networks import (
    GATConfig,
    GatedGCNConfig,
    GINEConfig,
    GraphNetworkConfig,
    PNAConfig,
    Readout,
    SparseTransformerConfig,
    degree_counts,
)

DATA = batch_of(nx.path_graph(4), nx.cycle_graph(6), nx.empty_graph(1), nx.star_graph(3))
COUNTS = (1, 5, 8, 1)
CONFIGS: tuple[GraphNetworkConfig, ...] = (
    GATConfig(width=8, layers=2, heads=2),
    GatedGCNConfig(width=8, layers=2),
    GINEConfig(width=8, layers=2),
    PNAConfig(width=8, layers=2, degrees=COUNTS, towers=2),
    SparseTransformerConfig(width=8, layers=2, heads=2),
)


@pytest.mark.equal_bits
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
@pytest.mark.parametrize("edge_features", [0, 3])
def test_nodes_see_as_far_as_there_are_layers(config: GraphNetworkConfig, edge_features: int) -> None:
    network = config.build(2, edge_features).double().eval()
    x = torch.randn(len(DATA.batch), 2, dtype=torch.float64)
    attributes = torch.randn(DATA.edges.shape[1], 3, dtype=torch.float64)[:, :edge_features]
    given = attributes if edge_features else None
    before = network(x, DATA.edges, given)
    assert before.shape == (len(x), network.outputs)
    changed = x.clone()
    changed[0] += 1  # the end of the path
    moved = (network(changed, DATA.edges, given) - before).abs().amax(1) > 1e-9
    assert moved.tolist() == [True, True, True, False] + [False] * (len(x) - 4)
    if edge_features:
        other = network(x, DATA.edges, attributes + 1)
        assert (other - before)[DATA.batch == 0].abs().max() > 1e-6
        assert torch.equal(other[10], before[10])  # the node without edges


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
def test_results_move_with_the_nodes(config: GraphNetworkConfig) -> None:
    network = config.build(2).double().eval()
    x = torch.randn(len(DATA.batch), 2, dtype=torch.float64)
    moved, order = DATA.permuted(3)
    difference = network(x[order], moved.edges) - network(x, DATA.edges)[order]
    assert difference.abs().max() < 1e-12


def test_attention_is_a_mean_over_a_node_and_its_neighbors() -> None:
    (layer,) = GATConfig(width=6, layers=1, heads=2).build(6).double().layers
    with torch.no_grad():
        layer.att_src.zero_()  # every neighbor alike
        layer.att_dst.zero_()
    h = torch.randn(len(DATA.batch), 6, dtype=torch.float64)
    sums = (h @ layer.lin.weight.T).index_add(0, DATA.edges[1], (h @ layer.lin.weight.T)[DATA.edges[0]])
    degrees = torch.bincount(DATA.edges[1], minlength=len(h))
    torch.testing.assert_close(layer(h, DATA.edges, None), sums / (1 + degrees)[:, None] + layer.bias)


def test_signnet_goes_before_any_network_in_a_line() -> None:
    signnet = SignNet(dim=5, phi=GINConfig(width=6, layers=2)).double()
    network = GINEConfig(width=8, layers=2).build(2 + signnet.dim).double()
    readout = Readout(network.outputs, 1).double()
    x = torch.randn(len(DATA.batch), 2, dtype=torch.float64)
    encoded = torch.cat([x, signnet(x, *DATA.arguments())], dim=1)
    predicted = readout(network(encoded, DATA.edges), DATA.batch)
    assert predicted.shape == (4, 1)
    predicted.square().sum().backward()
    assert all(
        parameter.grad is not None and parameter.grad.isfinite().all() for parameter in signnet.parameters()
    )


def test_a_readout_is_a_mean_or_a_sum() -> None:
    h = torch.tensor([[1.0], [3.0], [5.0]])
    batch = torch.tensor([0, 0, 2])
    for sums, expected in ((False, [2.0, 0.0, 5.0]), (True, [4.0, 0.0, 5.0])):
        readout = Readout(1, 1, layers=1, sums=sums)
        with torch.no_grad():
            (linear,) = readout.mlp.layers
            linear.weight.fill_(1)
            linear.bias.zero_()
        assert readout(h, batch).flatten().tolist() == expected
        assert readout(h, batch, graphs=4).flatten().tolist() == [*expected, 0.0]
    with pytest.raises(ValueError, match="a row for each of 3 nodes"):
        readout(h[:2], batch)


def test_degrees_are_counted_over_all_graphs() -> None:
    graphs = [
        Data(edge_index=DATA.edges[:, DATA.batch[DATA.edges[0]] == 0], num_nodes=4),
        Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=2),
    ]
    assert degree_counts(graphs) == (2, 2, 2)


def test_wrong_settings_and_input_are_refused() -> None:
    for make, message in (
        (lambda: GatedGCNConfig(width=0), "width"),
        (lambda: GINEConfig(dropout=1.0), "dropout"),
        (lambda: SparseTransformerConfig(width=6, heads=4), "multiple of the heads"),
        (lambda: GATConfig(width=6, heads=4), "multiple of the heads"),
        (lambda: PNAConfig(degrees=(3,)), "at least one node with a neighbor"),
        (lambda: PNAConfig(degrees=(0, 3), width=6, towers=4), "multiple of the towers"),
        (lambda: GINEConfig().build(0), "features"),
        (lambda: Readout(1, 1, layers=0), "layers"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    network = GINEConfig(width=4).build(2, edge_features=1)
    with pytest.raises(ValueError, match=r"expected node features of shape \(nodes, 2\)"):
        network(torch.zeros(15, 3), DATA.edges)
    with pytest.raises(ValueError, match=r"in floating point, got torch.int64 \(15, 2\); embed"):
        network(torch.zeros(15, 2).long(), DATA.edges)
    with pytest.raises(ValueError, match="expected edge features of shape"):
        network(torch.zeros(15, 2), DATA.edges)
    kinds = torch.zeros(DATA.edges.shape[1], 1, dtype=torch.long)
    with pytest.raises(ValueError, match=r"in floating point, got torch\.int64"):
        network(torch.zeros(15, 2), DATA.edges, kinds)
