"""A run on graphs: the same loop, with nodes against graphs or two views of each graph."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import tammes
from killed import assert_resumes
from tammes import Subset, recipes
from tammes.encoders import (
    GINEncoderConfig,
    GPSEncoderConfig,
    LaplacianEigenvectors,
    ProjectionHeadConfig,
    ShortcutHeadConfig,
    SignInvariant,
)
from tammes.positives import Handwriting, Neighbors, OneChange, OwnGraph, SameClass, SameInstance
from tammes.sources import NodesToGraphs
from tammes.training import (
    Adam,
    GraphsSummary,
    ImagesSummary,
    Machine,
    Monitor,
    QueueConfig,
    Run,
    RunConfig,
    RunFolder,
    TrainingConfig,
    embed,
    load_run,
    suited,
    train,
)
from tammes.training.config_file import from_yaml, to_yaml
from tammes.training.embedding import embed_pairs
from tammes.training.examples import Examples
from tammes.training.loader import PairBatch
from tammes.training.module import ContrastiveModule
from tiny import (
    make_config,
    make_graph_config,
    make_text_config,
    random_graph_set,
    random_images,
    random_texts,
)

pytest.importorskip("torch_geometric")
VIEWS = replace(make_graph_config(), positives=SameInstance(), augmentation=OneChange())
SETTINGS = {
    "own graph": make_graph_config(),
    "views": VIEWS,
    "queue": replace(VIEWS, negatives=QueueConfig(size=8)),
    "positions": replace(
        make_graph_config(), encoder=GINEncoderConfig(width=4, layers=2, positions=SignInvariant(count=3))
    ),
}


def go(config: TrainingConfig, folder: RunFolder | None = None) -> Run:
    monitor = Monitor(bank=random_graph_set(), held_out=random_graph_set(seed=1))
    return train(
        config, random_graph_set(), folder=folder, monitor=monitor, machine=Machine(accelerator="cpu")
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graphs") / "run"
    go(make_graph_config(), RunFolder(path=folder))
    return folder


def test_a_run_on_graphs_is_a_run_like_others(whole: Path) -> None:
    run = load_run(whole)
    data = run.config.data
    assert isinstance(data, GraphsSummary)
    assert (data.count, data.columns) == (22, ("kind 0", "kind 1"))
    assert from_yaml(RunConfig, to_yaml(run.config)) == run.config
    assert all(row.knn is not None for row in run.metrics)
    features, embeddings = embed(run.model, random_graph_set(seed=2), batch_size=5)
    assert (features.shape, embeddings.shape) == ((22, 8), (22, 8))
    again = tammes.load(whole).embed(random_graph_set(seed=2), batch_size=22)
    torch.testing.assert_close(features, again)


@pytest.mark.equal_bits
@pytest.mark.parametrize("name", SETTINGS)
def test_killed_and_resumed_it_is_the_same_run(tmp_path: Path, name: str) -> None:
    assert_resumes(lambda folder: go(SETTINGS[name], folder), tmp_path, killed_at=4)


def test_a_step_is_the_objective_of_nodes_against_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = []
    begin = ContrastiveModule.training_step

    def training_step(module: ContrastiveModule, batch: PairBatch, index: int) -> torch.Tensor:
        loss = begin(module, batch, index)
        nodes, graphs = module.model.nodes_and_graphs(batch[0])  # BatchNorm has the same batch again
        expected = recipes.jsd(beta=1.0)(NodesToGraphs()(nodes, graphs, owner=batch[0].owner))
        losses.append((loss.item(), expected.item()))
        return loss

    monkeypatch.setattr(ContrastiveModule, "training_step", training_step)
    go(replace(make_graph_config(), objective=recipes.jsd(beta=1.0)))
    assert len(losses) == 15
    for ours, theirs in losses:
        assert ours == pytest.approx(theirs, rel=1e-5)


def test_nodes_and_graphs_have_heads_that_differ() -> None:
    model = go(make_graph_config()).model
    assert model.node_head is not None
    names = dict(model.named_parameters())
    assert {name.split(".")[0] for name in names} == {"encoder", "head", "node_head"}
    assert not torch.equal(names["head.shortcut.weight"], names["node_head.shortcut.weight"])
    plain = go(replace(make_graph_config(), head=None)).model
    assert isinstance(plain.node_head, torch.nn.Identity)
    assert go(VIEWS).model.node_head is None


def test_views_of_a_pair_are_those_of_training() -> None:
    graphs = random_graph_set()
    pairs = torch.arange(4).repeat(2, 1).T
    model = go(VIEWS).model
    first, second = embed_pairs(model, graphs, pairs, VIEWS.augmentations, seeds=(1, 2))
    assert first.shape == second.shape == (4, 8)
    assert not torch.equal(first, second)
    of_node, of_graph = embed_pairs(go(make_graph_config()).model, graphs, pairs, (None, None), seeds=(1, 2))
    assert of_node.shape == of_graph.shape == (4, 8)


@pytest.mark.parametrize(
    "config",
    [
        replace(make_graph_config(), positives=SameClass(), head=ProjectionHeadConfig(dim=4)),
        replace(make_graph_config(), encoder=GPSEncoderConfig(width=8, layers=1)),
        replace(
            make_graph_config(), encoder=GINEncoderConfig(width=4, positions=LaplacianEigenvectors(count=2))
        ),
        replace(make_graph_config(), objective=recipes.hcl_ot(temperature=0.5, epsilon=0.5)),
        replace(make_graph_config(), objective=recipes.simclr(temperature=0.5, selection=Subset(k=2))),
        replace(make_graph_config(), learn_temperature=True, objective=recipes.simclr(temperature=0.5)),
    ],
    ids=["same class", "gps", "lappe", "transport", "subset", "learned temperature"],
)
def test_every_part_works_on_graphs(config: TrainingConfig) -> None:
    assert go(replace(config, epochs=1)).metrics[-1].loss is not None


def test_usual_settings_are_those_of_info_graph() -> None:
    config = suited(recipes.jsd(), random_graph_set(1000))
    assert config.encoder == GINEncoderConfig(width=32, layers=3)
    assert (config.head, config.positives, config.augmentation) == (ShortcutHeadConfig(), OwnGraph(), None)
    assert (config.batch_size, config.epochs) == (128, 100)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"augmentation": Handwriting()},
            "Handwriting.* changes images, and GINEncoderConfig.* takes graphs",
        ),
        ({"augmentation": OneChange()}, "without views, got augmentation=OneChange"),
        ({"positives": SameInstance()}, "its own positive needs an augmentation"),
        ({"positives": Neighbors()}, r"Neighbors\(\) is not for graphs: choose OwnGraph"),
        ({"negatives": QueueConfig()}, "takes its negatives from the batch"),
        ({"chunk": 2}, "chunks are cut of images and texts, got chunk=2"),
    ],
)
def test_parts_that_do_not_go_with_graphs_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(make_graph_config(), **change)


def test_parts_of_graphs_go_with_nothing_else() -> None:
    for config in (make_config(), make_text_config()):
        with pytest.raises(ValueError, match=r"positives=OwnGraph\(\) is for graphs, and"):
            replace(config, positives=OwnGraph())
    with pytest.raises(ValueError, match=r"augmentation=OneChange.* is for graphs, and ConvNet"):
        replace(make_config(), augmentation=OneChange())
    with pytest.raises(ValueError, match="takes other data, got GraphSet"):
        train(make_config(), random_graph_set())
    with pytest.raises(ValueError, match="takes graphs, got Images"):
        train(make_graph_config(), random_images(22))
    images = ImagesSummary(source="images", count=4, channels=1, size=8)
    with pytest.raises(ValueError, match=r"GINEncoderConfig.* does not take data of this kind"):
        RunConfig(training=make_graph_config(), data=images)


def test_other_graphs_are_refused(whole: Path) -> None:
    with pytest.raises(ValueError, match=r"data\.digest was '\w+', now '\w+'"):
        train(make_graph_config(), random_graph_set(seed=5), folder=RunFolder(path=whole, resume=True))
    encoder = tammes.load(whole)
    swapped = random_graph_set().with_columns(["kind 1", "kind 0"])
    torch.testing.assert_close(encoder.embed(swapped), encoder.embed(random_graph_set()))
    with pytest.raises(ValueError, match=r"expected graphs \(.*\), got Texts"):
        encoder.embed(random_texts())
    unknown = replace(random_graph_set(), columns=("kind 0", "kind 7"))
    with pytest.raises(ValueError, match="among kind 0, kind 1, got kind 7"):
        encoder.embed(unknown)


def test_the_trained_encoder_takes_graphs_of_torch_geometric(whole: Path) -> None:
    geometric = pytest.importorskip("torch_geometric.data")
    run = load_run(whole)
    encoder = tammes.load(whole)
    data = [geometric.Data(edge_index=torch.tensor([[0, 1], [1, 0]]), x=torch.eye(2))] * 3
    with pytest.raises(ValueError, match="among kind 0, kind 1, got feature 0, feature 1"):
        encoder.embed(data)
    assert run.model.encoder.features == 8


def test_a_batch_larger_than_the_data_is_refused() -> None:
    config = replace(make_graph_config(), batch_size=64, optimizer=Adam())
    with pytest.raises(ValueError, match=r"the batch \(64\) is larger than the data \(22 graphs\)"):
        train(config, random_graph_set())


def test_nodes_are_compared_with_graphs_of_one_process() -> None:
    model = go(replace(make_graph_config(), epochs=1)).model
    group = SimpleNamespace(is_single=False)
    with pytest.raises(ValueError, match="compares the nodes and graphs of one process, got several"):
        ContrastiveModule(
            make_graph_config(),
            model,
            examples=Examples.of(random_graph_set()),
            steps_per_epoch=1,
            group=group,  # type: ignore[arg-type]
        )
