"""Label-free measures of a run, and the training that they end."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import tammes
from killed import Killed, steps
from tammes import recipes
from tammes.data import Volumes, Words
from tammes.diagnostics import alignment, lidar, uniformity
from tammes.encoders import GRUConfig, ResNet3DConfig
from tammes.positives import Adjacent, Scans
from tammes.training import (
    Adam,
    Constant,
    EpochMetrics,
    Machine,
    Run,
    RunFolder,
    TrainingConfig,
    embed,
    load_run,
    train,
)
from tammes.training.early_stop import early_stop
from tammes.training.examples import Data
from tammes.training.label_free import LabelFree
from tammes.training.quick_thoughts import quick_thoughts
from tiny import (
    make_config,
    make_graph_config,
    make_text_config,
    random_graph_set,
    random_images,
    random_texts,
)

MEASURES = {"rankme", "dimensions_99", "alpha_req", "hubness", "uniformity", "alignment", "lidar"}


def steady(**settings: object) -> TrainingConfig:
    return replace(make_config(), optimizer=Adam(schedule=Constant()), **settings)


def go(config: TrainingConfig, data: Data, folder: RunFolder | None = None) -> Run:
    return train(config, data, folder=folder, machine=Machine(accelerator="cpu"))


def columns(run: Run) -> list[set[str]]:
    return [(MEASURES | {"projection_rankme"}) & set(row.last) for row in run.metrics]


def test_they_are_those_of_a_diagnosis_of_the_same_rows() -> None:
    config = steady(diagnose_every=1, epochs=1)
    run = go(config, random_images(40))
    measure = LabelFree.of(random_images(40), config)
    assert measure is not None
    features, embeddings = embed(run.model, measure.data)
    found, doctor = run.metrics[-1].last, tammes.diagnose(features)
    for name in ("rankme", "dimensions_99", "alpha_req", "hubness"):
        assert found[name] == pytest.approx(doctor[name].value, rel=1e-6), name
    assert found["projection_rankme"] == pytest.approx(tammes.diagnose(embeddings)["rankme"].value, rel=1e-6)
    assert found["uniformity"] == pytest.approx(uniformity(embeddings), rel=1e-6)
    views = measure._views(run.model)
    assert found["alignment"] == pytest.approx(alignment(*views), rel=1e-6)
    assert found["lidar"] == pytest.approx(lidar(*views), rel=1e-6)
    assert 0 < found["alignment"] < 4


def test_they_are_taken_every_few_epochs_and_at_both_ends() -> None:
    run = go(steady(diagnose_every=2, epochs=3), random_images(22))
    assert [bool(each) for each in columns(run)] == [True, False, True, True]
    assert columns(run)[-1] == MEASURES | {"projection_rankme"}
    assert not any(columns(go(steady(epochs=1), random_images(22))))


@pytest.mark.parametrize("kind", ["texts", "graphs", "volumes"])
def test_they_are_taken_of_any_kind_of_data(kind: str) -> None:
    if kind == "texts":
        config, data = replace(make_text_config(), diagnose_every=1, epochs=1), random_texts()
    elif kind == "graphs":
        config, data = replace(make_graph_config(), diagnose_every=1, epochs=1), random_graph_set()
    else:
        voxels = torch.rand(8, 1, 8, 8, 8, generator=torch.Generator().manual_seed(0))
        data = Volumes(voxels=voxels, names=tuple("abcdefgh"), window=(0.0, 1.0))
        config = TrainingConfig(
            objective=recipes.simclr(temperature=0.5),
            encoder=ResNet3DConfig(width=8),
            augmentation=Scans(),
            batch_size=4,
            epochs=1,
            diagnose_every=1,
        )
    row = columns(go(config, data))[-1]
    assert row == MEASURES | (set() if config.head is None else {"projection_rankme"})


def test_they_change_nothing_of_the_training() -> None:
    plain, measured = (go(steady(diagnose_every=every), random_images(22)) for every in (None, 1))
    for one, other in zip(plain.model.parameters(), measured.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_large_set_is_measured_on_two_thousand_rows_drawn_once() -> None:
    images = random_images(5_000)
    first, second = (LabelFree.of(images, steady(diagnose_every=1)) for _ in range(2))
    assert first is not None
    assert second is not None
    assert len(first.data) == 2_000
    assert first.data.names == second.data.names
    assert torch.equal(first.pairs, second.pairs)
    assert len(first.pairs) == 1_000
    assert not np.array_equal(np.array(first.data.names), np.array(images.names[:2_000]))


def test_a_collapsed_encoder_is_measured_too() -> None:
    run = go(steady(diagnose_every=1, epochs=1), random_images(22))
    with torch.no_grad():
        for parameter in run.model.parameters():
            parameter.zero_()
    measure = LabelFree.of(random_images(22), steady(diagnose_every=1))
    assert measure is not None
    found = measure.measure(run.model)
    assert (found["rankme"], found["dimensions_99"], found["uniformity"]) == (0.0, 0.0, 0.0)


def rows(*values: float, name: str = "rankme") -> list[EpochMetrics]:
    return [EpochMetrics(epoch=epoch, step=epoch, last={name: value}) for epoch, value in enumerate(values)]


@pytest.mark.parametrize(
    ("name", "values", "stops"),
    [
        ("rankme", (9.0, 1.0, 2.0, 1.5, 1.9), True),
        ("rankme", (9.0, 1.0, 2.0, 1.5, 2.1), False),
        ("rankme", (9.0, 2.0, 2.0, 2.0), True),
        ("uniformity", (0.0, -1.0, -2.0, -1.5, -1.9), True),
        ("uniformity", (0.0, -1.0, -2.0, -2.5, -2.6), False),
    ],
)
def test_it_stops_when_the_measure_has_not_improved_for_long(
    name: str, values: tuple[float, ...], stops: bool
) -> None:
    config = replace(steady(stop_patience=2, epochs=9), stop_on=name)
    assert (early_stop(config, rows(*values, name=name)) is not None) == stops


def test_the_last_epoch_is_no_early_stop() -> None:
    config = steady(stop_on="rankme", stop_patience=1, epochs=3)
    assert early_stop(config, rows(0.0, 3.0, 2.0, 1.0)) is None
    assert early_stop(config, rows(0.0, 3.0, 2.0)) is not None


@pytest.fixture
def falling(monkeypatch: pytest.MonkeyPatch) -> None:
    """RankMe rises up to the second epoch, and falls from then on."""
    spectrum = iter([5.0, 6.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0])

    def measure(_: LabelFree, model: object) -> dict[str, float]:
        return {"rankme": next(spectrum)}

    monkeypatch.setattr(LabelFree, "measure", measure)


def falls(epochs: int = 8) -> TrainingConfig:
    return steady(stop_on="rankme", stop_patience=2, epochs=epochs)


@pytest.mark.usefixtures("falling")
def test_a_stopped_run_is_a_finished_run_that_says_so(tmp_path: Path) -> None:
    run = go(falls(), random_images(22), RunFolder(path=tmp_path / "run"))
    assert [row.epoch for row in run.metrics] == [0, 1, 2, 3, 4]
    found = load_run(tmp_path / "run")
    said = "Stopped after epoch 4 of 8: rankme was best after epoch 2 (7) and not in 2 measurements since."
    assert early_stop(found.config.training, found.metrics) == said
    longer = go(replace(falls(4), stop_on=None, diagnose_every=None), random_images(22))
    for stopped, whole in zip(found.model.parameters(), longer.model.parameters(), strict=True):
        assert torch.equal(stopped, whole)


@pytest.mark.usefixtures("falling")
def test_a_stopped_run_that_is_resumed_takes_no_further_step(tmp_path: Path) -> None:
    go(falls(), random_images(22), RunFolder(path=tmp_path / "run"))
    before = (tmp_path / "run" / "model.safetensors").read_bytes()
    again = go(falls(), random_images(22), RunFolder(path=tmp_path / "run", resume=True))
    assert again.metrics[-1].epoch == 4
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == before


def test_killed_and_resumed_it_stops_where_it_would_have(tmp_path: Path) -> None:
    config = steady(stop_on="uniformity", stop_patience=1, epochs=12)
    whole = go(config, random_images(22))
    with pytest.raises(Killed), steps(killed_at=7):
        go(config, random_images(22), RunFolder(path=tmp_path / "run", checkpoint_every=1))
    resumed = go(config, random_images(22), RunFolder(path=tmp_path / "run", checkpoint_every=1, resume=True))
    assert resumed.metrics[-1].epoch < 12
    assert [row.last for row in resumed.metrics] == [row.last for row in whole.metrics]
    for one, other in zip(resumed.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_adjacent_sentences_have_the_measures_that_need_no_pairs() -> None:
    encoder = GRUConfig(width=4, embedding=3, tokens=Words(minimum_count=1))
    config = TrainingConfig(
        objective=quick_thoughts(),
        encoder=encoder,
        head=None,
        augmentation=None,
        positives=Adjacent(),
        batch_size=8,
        epochs=1,
        diagnose_every=1,
    )
    last = train(config, random_texts(), machine=Machine(accelerator="cpu")).metrics[-1].last
    assert MEASURES - {"alignment", "lidar"} <= last.keys()
    assert not {"alignment", "lidar"} & last.keys()
    with pytest.raises(ValueError, match=r"stop_on='lidar' compares two views.*Adjacent.*choose 'rankme'"):
        replace(config, stop_on="lidar")


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(ValueError, match="stop_on must be None or one of rankme"):
        steady(stop_on="loss")
    with pytest.raises(ValueError, match="there is none: choose 'rankme'"):
        steady(stop_on="projection_rankme", head=None)
    with pytest.raises(ValueError, match="stop_patience"):
        steady(stop_patience=0)
    with pytest.raises(ValueError, match="diagnose_every"):
        steady(diagnose_every=0)
