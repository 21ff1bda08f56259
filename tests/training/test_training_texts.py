"""A run on texts: the same loop, with other pairs and a vocabulary."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from killed import FILES, assert_resumes
from tammes import OtherLabels, Subset, recipes
from tammes.data import Vocabulary
from tammes.encoders import ProjectionHeadConfig
from tammes.positives import Handwriting, Identity, Neighbors, SameClass, SameInstance
from tammes.training import (
    Adam,
    Machine,
    Monitor,
    QueueConfig,
    Run,
    RunConfig,
    RunFolder,
    TextsSummary,
    TrainingConfig,
    embed,
    load_run,
    train,
)
from tammes.training.config_file import from_yaml, to_yaml
from tammes.training.loader import PairBatch
from tammes.training.module import ContrastiveModule
from tiny import make_config, make_text_config, random_images, random_texts

TEXT_FILES = (*FILES, "vocabulary.json")
NEIGHBOURS = replace(make_text_config(), positives=Neighbors(), head=ProjectionHeadConfig(dim=4))


def go(config: TrainingConfig, folder: RunFolder | None = None) -> Run:
    monitor = Monitor(bank=random_texts(), held_out=random_texts(seed=1))
    return train(config, random_texts(), folder=folder, monitor=monitor, machine=Machine(accelerator="cpu"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts") / "run"
    go(make_text_config(), RunFolder(path=folder))
    return folder


def test_a_run_keeps_its_vocabulary(whole: Path) -> None:
    written = [*TEXT_FILES, "environment.yaml", "checkpoints"]
    assert sorted(file.name for file in whole.iterdir()) == sorted(written)
    run = load_run(whole)
    assert run.model.assets == Vocabulary.of(random_texts().sentences, minimum_count=2)
    data = run.config.data
    assert isinstance(data, TextsSummary)
    assert (data.count, data.documents, data.vocabulary) == (27, 3, len(run.model.assets))
    assert from_yaml(RunConfig, to_yaml(run.config)) == run.config
    assert len(run.metrics) == 4
    assert all(row.knn is not None for row in run.metrics)


@pytest.mark.equal_bits
def test_without_a_head_the_features_are_compared(whole: Path) -> None:
    run = load_run(whole)
    features, embeddings = embed(run.model, random_texts(seed=2), batch_size=5)
    assert torch.equal(features, embeddings)
    assert features.shape == (27, 6)
    again = go(make_text_config())
    assert torch.equal(embed(again.model, random_texts(seed=2))[0], features)


@pytest.mark.equal_bits
@pytest.mark.parametrize("config", [make_text_config(), NEIGHBOURS], ids=["same class", "neighbors"])
@pytest.mark.parametrize(("step", "every"), [(1, 1), (4, 1), (7, 100)])
def test_killed_and_resumed_it_is_the_same_run(
    tmp_path: Path, config: TrainingConfig, step: int, every: int
) -> None:
    assert_resumes(lambda folder: go(config, folder), tmp_path, killed_at=step, every=every, files=TEXT_FILES)


def test_the_second_view_is_the_positive(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, seen = random_texts(), []
    begin = ContrastiveModule.training_step

    def training_step(module: ContrastiveModule, batch: PairBatch, index: int) -> torch.Tensor:
        seen.append(batch[2])
        for view, rows in ((batch[0], batch[2][:, 0]), (batch[1], batch[2][:, 1])):
            expected = module.examples.batch(rows.tolist())
            assert torch.equal(view.ids, expected.ids)  # type: ignore[union-attr]
        return begin(module, batch, index)

    monkeypatch.setattr(ContrastiveModule, "training_step", training_step)
    go(make_text_config())
    assert len(seen) == 9
    pairs = torch.cat(seen)
    assert bool((pairs[:, 0] != pairs[:, 1]).all())
    assert torch.equal(texts.documents[pairs[:, 0]], texts.documents[pairs[:, 1]])


def test_images_of_one_class_are_positives_without_augmentation(monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(make_config(), positives=SameClass(), augmentation=Identity(), epochs=1)
    seen = []
    begin = ContrastiveModule.training_step

    def training_step(module: ContrastiveModule, batch: PairBatch, index: int) -> torch.Tensor:
        seen.append(batch)
        return begin(module, batch, index)

    monkeypatch.setattr(ContrastiveModule, "training_step", training_step)
    images = random_images(22)
    train(config, images, machine=Machine(accelerator="cpu"))
    assert len(seen) == 2
    for batch in seen:
        assert torch.equal(batch[1], images.batch(batch[2][:, 1].tolist()))
        assert not torch.equal(batch[0], batch[1])


def test_a_clipped_gradient_has_the_length_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []
    step = torch.optim.Adam.step

    def measured(self: torch.optim.Adam, closure: object = None) -> object:
        result = step(self, closure)  # type: ignore[arg-type]
        gradients = [p.grad for group in self.param_groups for p in group["params"] if p.grad is not None]
        lengths.append(float(torch.nn.utils.get_total_norm(gradients)))
        return result

    monkeypatch.setattr(torch.optim.Adam, "step", measured)
    go(make_text_config())
    assert max(lengths) == pytest.approx(0.05, rel=1e-4)
    lengths.clear()
    go(replace(make_text_config(), optimizer=Adam()))
    assert max(lengths) > 0.06


def test_other_texts_or_another_vocabulary_are_not_gone_on_with(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "run")
    folder = RunFolder(path=tmp_path / "run", resume=True)
    with pytest.raises(ValueError, match=r"data\.digest was '\w+', now '\w+'"):
        train(make_text_config(), random_texts(seed=5), folder=folder)
    (tmp_path / "run/vocabulary.json").unlink()
    with pytest.raises(ValueError, match=r"trained on texts, but its vocabulary\.json is missing"):
        load_run(tmp_path / "run")
    Vocabulary(words=("[UNK]", "one")).save(tmp_path / "run/vocabulary.json")
    with pytest.raises(ValueError, match=r"expected the run's vocabulary of \d+ words, got one of 2"):
        load_run(tmp_path / "run")


def test_sentences_moved_to_another_document_are_other_texts(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "run")
    texts = random_texts()
    assert texts.labels is not None
    labels = texts.labels.clone()
    labels[int((labels == 0).nonzero()[-1])] = 1  # as if a line had gone from one file to the next
    with pytest.raises(ValueError, match=r"data\.digest was '\w+', now '\w+'"):
        train(
            make_text_config(),
            replace(texts, labels=labels, positions=None),
            folder=RunFolder(path=tmp_path / "run", resume=True),
        )


def test_resuming_mends_a_damaged_vocabulary(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "run")
    file = tmp_path / "run/vocabulary.json"
    content = file.read_bytes()
    file.write_bytes(content[:50])
    train(make_text_config(), random_texts(), folder=RunFolder(path=tmp_path / "run", resume=True))
    assert file.read_bytes() == content


def test_overwriting_deletes_the_vocabulary_of_before(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "run")
    folder = RunFolder(path=tmp_path / "run", overwrite=True)
    train(replace(make_config(), epochs=1), random_images(8), folder=folder)
    assert not (tmp_path / "run/vocabulary.json").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"augmentation": Handwriting()}, "texts are not augmented, got Handwriting.*augmentation=None"),
        ({"positives": SameInstance()}, "its own positive teaches nothing.*SameClass"),
        ({"chunk": 2}, "no activations that chunks would save, got chunk=2"),
        ({"negatives": QueueConfig()}, r"a queue recognizes a repeated row.*SameClass\(\)"),
    ],
)
def test_parts_that_do_not_go_with_texts_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(make_text_config(), **change)
    with pytest.raises(ValueError, match=r"clip_norm must be a finite number above 0, got 0\.0: None"):
        Adam(clip_norm=0.0)


def test_images_want_an_augmentation_where_they_are_their_own_positives() -> None:
    with pytest.raises(ValueError, match="views of images are made by an augmentation, got None"):
        replace(make_config(), augmentation=None)
    with pytest.raises(ValueError, match="an image that is its own positive needs an augmentation"):
        replace(make_config(), augmentation=Identity())


@pytest.mark.parametrize("k", [7, 100])
def test_more_negatives_than_a_batch_has_are_refused_and_nothing_is_left(tmp_path: Path, k: int) -> None:
    config = replace(make_text_config(), objective=recipes.logistic(selection=Subset(k=k)))
    with pytest.raises(ValueError, match=rf"{k}.*6"):
        go(config, RunFolder(path=tmp_path / "run"))
    assert not list((tmp_path / "run").glob("*.*"))
    with pytest.raises(ValueError, match="k"):
        Subset(k=0)


def test_workers_read_the_same_batches() -> None:
    config = replace(make_text_config(), epochs=1)
    alone, helped = (
        train(config, random_texts(), machine=Machine(accelerator="cpu", workers=workers))
        for workers in (0, 1)
    )
    assert alone.metrics[-1].loss == helped.metrics[-1].loss


def test_a_document_of_one_sentence_is_left_out_with_a_word() -> None:
    texts = random_texts().subset(range(19))
    with pytest.warns(UserWarning, match="no positive for 1 of 19 sentences: left out"):
        train(replace(make_text_config(), epochs=1), texts, machine=Machine(accelerator="cpu"))


def test_documents_reach_the_objective() -> None:
    config = replace(make_text_config(), objective=recipes.logistic(selection=OtherLabels()), batch_size=9)
    assert go(config).metrics[-1].last["negatives"] < 16
