"""Training on the nodes of one graph: samples, the loss, resuming, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import tammes
from tammes.data import block_model
from tammes.encoders import (
    GATEncoderConfig,
    GCNEncoderConfig,
    GINEncoderConfig,
    GPSEncoderConfig,
    GraphEncoderConfig,
    LaplacianEigenvectors,
)
from tammes.evaluation import smoothed
from tammes.positives import EdgesAndFeatures, Neighbors, OneChange, OwnGraph, SameClass
from tammes.training import (
    Machine,
    NodesSummary,
    RunConfig,
    RunFolder,
    TrainingConfig,
    embed,
    suited,
    train,
)
from tammes.training.examples import Examples, concatenate
from tiny import random_graph_set, random_images

pytest.importorskip("torch_geometric")
NODES = block_model(90, classes=3, words=12, degree=6.0)
CPU = Machine(accelerator="cpu")


def config() -> TrainingConfig:
    return TrainingConfig(
        objective=tammes.recipes.simclr(temperature=0.5),
        encoder=GCNEncoderConfig(width=8, layers=2),
        augmentation=EdgesAndFeatures(),
        batch_size=16,
        epochs=2,
        fanouts=(4, 4),
    )


@pytest.mark.parametrize(
    ("settings", "hops"),
    [(GINEncoderConfig(layers=2), 2), (GATEncoderConfig(layers=3), 3), (GCNEncoderConfig(layers=2), 3)],
    ids=["gin", "gat", "gcn, whose weights depend on degrees"],
)
def test_a_sample_with_all_neighbors_gives_the_features_of_the_whole_graph(
    settings: GraphEncoderConfig, hops: int
) -> None:
    torch.manual_seed(0)
    encoder = settings.build(inputs=12).double().eval()
    nodes = replace(NODES, features=NODES.features.double())
    rows = [5, 40, 5, 88]
    whole, part = encoder(nodes.batch(rows)), encoder(nodes.around(rows, (1000,) * hops))
    torch.testing.assert_close(part, whole)
    gradients = []
    for batch in (nodes.batch(rows), nodes.around(rows, (1000,) * hops)):
        encoder.zero_grad()
        encoder(batch).square().sum().backward()
        gradients.append([each.grad.clone() for each in encoder.parameters()])
    torch.testing.assert_close(*gradients)


def test_convolutional_weights_are_those_of_torch_geometric() -> None:
    from torch_geometric.nn import GCNConv

    torch.manual_seed(0)
    encoder = GCNEncoderConfig(width=5, layers=1).build(inputs=12).eval()
    plain = GCNConv(12, 5)
    plain.load_state_dict(encoder.layers[0].state_dict())
    batch = NODES.batch([0])
    expected = encoder.norms[0](plain(batch.features, batch.edges))
    assert torch.equal(encoder.nodes(batch), expected)


def test_two_views_of_nodes_are_ordinary_pairs() -> None:
    """GRACE's loss: negatives are the other nodes in the same view and in the other one."""
    u, v = torch.randn(5, 4, dtype=torch.float64), torch.randn(5, 4, dtype=torch.float64)
    loss = tammes.recipes.simclr(temperature=0.5)(tammes.InBatch()(u, v))
    u, v = (torch.nn.functional.normalize(each, dim=1) for each in (u, v))
    terms = []
    for first, second in ((u, v), (v, u)):
        between, within = (first @ second.T / 0.5).exp(), (first @ first.T / 0.5).exp()
        negatives = between.sum(1) + within.sum(1) - within.diag()
        terms.append(-(between.diag() / negatives).log())
    torch.testing.assert_close(loss, torch.cat(terms).mean())


def test_batches_are_samples_in_training_and_the_whole_graph_else() -> None:
    examples = Examples.for_training(NODES, config())
    sample = examples.batch([1, 2])
    assert sample.hops is not None  # type: ignore[union-attr]
    assert len(concatenate(sample, sample)) == 4
    assert Examples.of(NODES).batch([1, 2]).hops is None  # type: ignore[union-attr]
    assert examples.summary("here") == NodesSummary.of(NODES, "here")
    assert Examples.for_training(NODES, replace(config(), fanouts=None)).fanouts is None


@pytest.mark.equal_bits
def test_a_stopped_run_ends_with_the_same_weights(tmp_path: Path) -> None:
    whole = train(config(), NODES, machine=CPU)
    folder = RunFolder(path=tmp_path / "run")
    train(replace(config(), epochs=1), NODES, folder=folder, machine=CPU)
    resumed = train(config(), NODES, folder=replace(folder, resume=True), machine=CPU)
    for name, weights in whole.model.state_dict().items():
        assert torch.equal(weights, resumed.model.state_dict()[name]), name
    encoder = tammes.load(tmp_path / "run")
    features = encoder.embed(NODES)
    assert torch.equal(features, embed(resumed.model, NODES)[0])
    assert torch.equal(encoder.embed(NODES.subset([3, 1])), features[[3, 1]])
    graph = {"edge_index": [[0], [1]], "x": torch.zeros(2, 12).tolist()}
    with pytest.raises(ValueError, match="expected node features among word 0"):
        encoder.embed(graph)


def test_smoothed_features_are_those_of_the_dense_matrix() -> None:
    assert smoothed(NODES, hops=0).equal(NODES.features)
    degrees = NODES.degrees.to(torch.float64)
    matrix = torch.zeros(90, 90, dtype=torch.float64)
    batch = NODES.batch([0])
    matrix[batch.edges[1], batch.edges[0]] = 1
    scale = torch.diag((degrees + 1).rsqrt())
    step = scale @ (matrix + torch.eye(90)) @ scale
    torch.testing.assert_close(smoothed(NODES), (step @ step @ NODES.features.double()).float())


def test_defaults_suit_nodes() -> None:
    found = suited(tammes.recipes.simclr(temperature=0.5), NODES)
    assert (found.encoder, found.fanouts) == (GCNEncoderConfig(width=128, layers=2), (10, 10))
    deeper = suited(found.objective, NODES, encoder=GINEncoderConfig(layers=3))
    assert deeper.fanouts == (10, 10, 10)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"fanouts": (4,)}, "fanouts need a number for each of the 2 layers of the encoder"),
        ({"fanouts": (4, 0)}, "fanouts must be"),
        ({"encoder": GPSEncoderConfig()}, "takes whole graphs at once"),
        (
            {"encoder": GINEncoderConfig(layers=2, positions=LaplacianEigenvectors())},
            "takes whole graphs at once",
        ),
        ({"positives": OwnGraph(), "augmentation": None}, r"OwnGraph\(\) compares nodes with several graphs"),
        ({"augmentation": OneChange()}, "changes the nodes of a graph, and here they are the rows"),
    ],
    ids=["few", "zero", "attention", "positions", "own", "change"],
)
def test_parts_that_make_no_sense_for_nodes_are_refused(changed: dict[str, object], message: str) -> None:
    def make() -> RunConfig:
        settings = replace(config(), **{"fanouts": None, **changed})  # type: ignore[arg-type]
        return RunConfig(training=settings, data=NodesSummary.of(NODES, "here"))

    with pytest.raises(ValueError, match=message):
        make()


def test_nodes_of_a_class_are_pairs_too() -> None:
    run = train(replace(config(), positives=SameClass(), augmentation=None, epochs=1), NODES, machine=CPU)
    assert run.metrics[-1].step > 0


def test_fanouts_are_for_nodes_alone() -> None:
    with pytest.raises(ValueError, match=r"draws neighbors of nodes, and .* takes no graph"):
        TrainingConfig(objective=config().objective, fanouts=(3, 3))
    settings = replace(config(), augmentation=OneChange())
    with pytest.raises(ValueError, match="draws neighbors of nodes of one graph, and these are whole graphs"):
        train(settings, random_graph_set(), machine=CPU)
    with pytest.raises(ValueError, match="takes graphs, got"):
        train(config(), random_images(8), machine=CPU)
    with pytest.raises(ValueError, match="takes other data, got"):
        train(TrainingConfig(objective=config().objective), NODES, machine=CPU)
    with pytest.raises(ValueError, match=r"Neighbors\(.*\) is not for graphs"):
        replace(config(), positives=Neighbors())
