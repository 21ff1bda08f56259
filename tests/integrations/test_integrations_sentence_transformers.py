"""Objectives in the training loop of sentence-transformers, equal to those of our own."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny_bert
import torch
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import MatryoshkaLoss, MultipleNegativesRankingLoss
from torch import Tensor, nn
from torch.utils.data import BatchSampler, SequentialSampler

import tammes
from tammes.data import Texts
from tammes.encoders import TransformersConfig
from tammes.integrations.sentence_transformers import CachedObjectiveLoss, ObjectiveLoss
from tammes.positives import SameClass
from tammes.training import Adam, Machine, TrainingConfig, train
from tammes.training.loader import PairBatch
from tammes.training.module import ContrastiveModule

HCL = tammes.recipes.hcl(temperature=0.2, beta=0.5)
COLUMNS = {
    "pairs": ["anchor", "positive"],
    "triplets": ["anchor", "positive", "negative"],
    "several": ["anchor", "positive", "negative_1", "negative_2", "negative_3"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert.saved(tmp_path_factory.mktemp("tiny"))


def model_of(folder: Path) -> SentenceTransformer:
    return SentenceTransformer(str(folder), device="cpu")


def texts(columns: list[str], rows: int = 8) -> dict[str, list[str]]:
    return {name: tiny_bert.sentences(rows, seed) for seed, name in enumerate(columns)}


def features(model: SentenceTransformer, columns: dict[str, list[str]]) -> list[dict[str, Tensor]]:
    return [model.tokenize(rows) for rows in columns.values()]


def embedded(model: SentenceTransformer, columns: dict[str, list[str]]) -> list[Tensor]:
    return [model(each)["sentence_embedding"] for each in features(model, columns)]


def gradients(model: nn.Module) -> list[Tensor]:
    found = [each.grad.clone() for each in model.parameters() if each.grad is not None]
    model.zero_grad()
    return found


@pytest.mark.parametrize("kind", [ObjectiveLoss, CachedObjectiveLoss])
@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
def test_value_and_gradient_are_ours(folder: Path, columns: list[str], kind: type) -> None:
    model, batch = model_of(folder), texts(columns)
    options = {"mini_batch_size": 3} if kind is CachedObjectiveLoss else {}
    loss = kind(model, HCL, **options)(features(model, batch), None)
    loss.backward()
    theirs = gradients(model)
    queries, documents, *negatives = embedded(model, batch)
    hard = torch.stack(negatives, 1) if negatives else None
    expected = HCL(tammes.TwoTowers()(queries, documents, hard))
    expected.backward()
    torch.testing.assert_close(loss, expected, rtol=1e-6, atol=1e-6)
    ours = gradients(model)
    assert len(ours) > 10
    torch.testing.assert_close(theirs, ours, rtol=1e-4, atol=1e-6)


def test_without_hardness_it_is_their_ranking_loss(folder: Path) -> None:
    model, batch = model_of(folder), texts(COLUMNS["several"])
    ours = ObjectiveLoss(model, tammes.recipes.simclr(temperature=0.05))
    theirs = MultipleNegativesRankingLoss(model, scale=20.0)
    given = features(model, batch), None
    torch.testing.assert_close(ours(*given), theirs(*given), rtol=1e-6, atol=1e-6)


def test_labels_of_pairs_keep_duplicates_from_being_negatives(folder: Path) -> None:
    model, batch = model_of(folder), texts(COLUMNS["pairs"])
    labels = torch.tensor([0, 1, 2, 3, 0, 5, 6, 7])
    loss = ObjectiveLoss(model, HCL)(features(model, batch), labels)
    expected = HCL(tammes.TwoTowers()(*embedded(model, batch), ids=labels))
    torch.testing.assert_close(loss, expected)


def test_one_column_needs_labels(folder: Path) -> None:
    model, batch = model_of(folder), texts(["text"])
    labels = torch.tensor([0, 1, 2, 3, 0, 1, 2, 3])
    loss = ObjectiveLoss(model, HCL)
    torch.testing.assert_close(loss(features(model, batch), labels), HCL(*embedded(model, batch), ids=labels))
    with pytest.raises(ValueError, match="got one column without labels"):
        loss(features(model, batch), None)


@pytest.mark.parametrize("kind", [ObjectiveLoss, CachedObjectiveLoss])
def test_scores_are_no_labels(folder: Path, kind: type) -> None:
    model, batch = model_of(folder), texts(COLUMNS["pairs"])
    with pytest.raises(ValueError, match="leave a column of scores out of the dataset"):
        kind(model, HCL)(features(model, batch), torch.full((8,), 0.5))


def trained(
    model: SentenceTransformer, loss: nn.Module, columns: list[str], out: Path, resume: str | None = None
) -> list[float]:
    """The losses of a few steps of their trainer, which writes a checkpoint after each epoch of two."""
    trainer = SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(
            output_dir=str(out),
            num_train_epochs=3,
            per_device_train_batch_size=8,
            learning_rate=1e-2,
            logging_steps=1,
            report_to="none",
            save_strategy="epoch",
            use_cpu=True,
        ),
        train_dataset=Dataset.from_dict(texts(columns, 16)),
        loss=loss,
    )
    trainer.train(resume_from_checkpoint=resume)
    return [each["loss"] for each in trainer.state.log_history if "loss" in each]


@pytest.mark.parametrize("kind", [ObjectiveLoss, CachedObjectiveLoss])
def test_their_trainer_trains_with_it(folder: Path, tmp_path: Path, kind: type) -> None:
    model = model_of(folder)
    losses = trained(model, kind(model, HCL), COLUMNS["several"], tmp_path)
    assert len(losses) == 6
    assert losses[-1] < losses[0]


def test_a_learned_temperature_is_trained(folder: Path, tmp_path: Path) -> None:
    model, temperature = model_of(folder), tammes.LearnedTemperature(initial=0.2)
    trained(model, ObjectiveLoss(model, HCL, temperature=temperature), COLUMNS["pairs"], tmp_path)
    assert temperature().item() != pytest.approx(0.2, abs=1e-4)
    # Their checkpoints hold the model alone, as the documentation says.
    model, again = model_of(folder), tammes.LearnedTemperature(initial=0.2)
    loss = ObjectiveLoss(model, HCL, temperature=again)
    trained(model, loss, COLUMNS["pairs"], tmp_path, resume=str(tmp_path / "checkpoint-6"))
    assert again().item() == pytest.approx(0.2)


@pytest.mark.parametrize("kind", [ObjectiveLoss, CachedObjectiveLoss])
def test_their_matryoshka_loss_wraps_it(folder: Path, kind: type) -> None:
    model, batch = model_of(folder), texts(COLUMNS["pairs"])
    loss = MatryoshkaLoss(model, kind(model, HCL), matryoshka_dims=[16, 4])(features(model, batch), None)
    loss.backward()
    queries, documents = embedded(model, batch)
    towers = tammes.TwoTowers()
    expected = HCL(towers(queries, documents)) + HCL(towers(queries[:, :4], documents[:, :4]))
    torch.testing.assert_close(loss.detach(), expected.detach(), rtol=1e-5, atol=1e-5)
    assert gradients(model)


def test_another_source_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"source must be a TwoTowers\(\) or None"):
        ObjectiveLoss(nn.Identity(), HCL, source=tammes.InBatch())  # type: ignore[arg-type]


def test_the_model_card_can_name_it() -> None:
    words = ObjectiveLoss(nn.Identity(), HCL).get_config_dict()
    assert "Hard(beta=0.5" in words["objective"]
    assert words["source"].startswith("TwoTowers(")


class InOrder(SentenceTransformerTrainer):
    """Their trainer, with batches in the order of the rows."""

    def get_batch_sampler(self, dataset: Dataset, batch_size: int, **_: object) -> BatchSampler:
        return BatchSampler(SequentialSampler(dataset), batch_size, drop_last=True)


def test_their_trainer_and_our_loop_have_equal_losses(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same pairs in the same order, through their trainer and through ours: each step, to 1e-5."""
    # Documents of four sentences, which share a word.
    words = [word for word in tiny_bert.WORDS[:8] for _ in range(4)]
    rows = tuple(f"{word} {more}" for word, more in zip(words, tiny_bert.sentences(32, 0), strict=True))
    documents = torch.arange(8).repeat_interleave(4)
    classes = tuple(tiny_bert.WORDS[:8])
    data = Texts(sentences=rows, names=tuple(map(str, range(32))), labels=documents, classes=classes)
    ours, batches = [], []
    step = ContrastiveModule.training_step

    def recorded(module: ContrastiveModule, batch: PairBatch, index: int) -> Tensor:
        loss = step(module, batch, index)
        ours.append(float(loss.detach()))
        batches.append(batch[2])
        return loss

    monkeypatch.setattr(ContrastiveModule, "training_step", recorded)
    config = TrainingConfig(
        objective=HCL,
        encoder=TransformersConfig(name_or_path=str(folder)),
        head=None,
        augmentation=None,
        positives=SameClass(),
        optimizer=Adam(learning_rate=2e-3, weight_decay=0.0),
        batch_size=4,
        epochs=8,
    )
    train(config, data, machine=Machine(accelerator="cpu"))
    # Both views of a batch, one below the other, as rows of one column with the pair as their label.
    order = torch.cat([pairs.T.flatten() for pairs in batches]).tolist()
    labels = torch.cat([torch.arange(len(pairs)).repeat(2) for pairs in batches]).tolist()
    model = model_of(folder)
    trainer = InOrder(
        model=model,
        args=SentenceTransformerTrainingArguments(
            output_dir=str(tmp_path),
            num_train_epochs=1,
            per_device_train_batch_size=8,
            learning_rate=2e-3,
            lr_scheduler_type="constant",
            max_grad_norm=0.0,
            logging_steps=1,
            report_to="none",
            save_strategy="no",
            use_cpu=True,
        ),
        train_dataset=Dataset.from_dict({"text": [rows[row] for row in order], "label": labels}),
        loss=(loss := ObjectiveLoss(model, HCL)),
    )
    theirs = []
    loss.register_forward_hook(lambda module, given, result: theirs.append(float(result.detach())))
    trainer.train()
    assert len(ours) == len(theirs) == 32
    assert max(abs(one - other) for one, other in zip(ours, theirs, strict=True)) <= 1e-5
    assert sum(ours[-4:]) < sum(ours[:4]) - 0.5
