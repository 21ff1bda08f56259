"""Objectives in the Trainer of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny_bert
import torch
from torch import Tensor, nn
from transformers import (
    AutoModel,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    TrainingArguments,
)

import tammes
from tammes.integrations.transformers import ObjectiveTrainer

HCL = tammes.recipes.hcl(temperature=0.2, beta=0.5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert.saved(tmp_path_factory.mktemp("tiny"))


def embed(model: nn.Module, batch: dict[str, Any]) -> list[Tensor]:
    return [model(**batch[name]).last_hidden_state[:, 0] for name in ("query", "document")]


def trainer_of(
    folder: Path, out: Path, embed: Any = embed, model: nn.Module | None = None, **settings: Any
) -> ObjectiveTrainer:
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def collate(rows: list[tuple[str, str]]) -> dict[str, Any]:
        columns = zip(*rows, strict=True)
        named = zip(("query", "document"), columns, strict=True)
        return {name: dict(tokenizer(list(texts), return_tensors="pt")) for name, texts in named}

    data = list(zip(tiny_bert.sentences(16, 0), tiny_bert.sentences(16, 1), strict=True))
    arguments = TrainingArguments(
        output_dir=str(out),
        learning_rate=1e-2,
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        remove_unused_columns=False,
        use_cpu=True,
        **settings,
    )
    return ObjectiveTrainer(
        objective=HCL,
        embed=embed,
        model=AutoModel.from_pretrained(folder) if model is None else model,
        args=arguments,
        train_dataset=data,
        data_collator=collate,
    )


def test_their_trainer_minimizes_it(folder: Path, tmp_path: Path) -> None:
    trainer = trainer_of(folder, tmp_path, per_device_train_batch_size=8, num_train_epochs=4)
    trainer.train()
    losses = [each["loss"] for each in trainer.state.log_history if "loss" in each]
    assert len(losses) == 8
    assert losses[-1] < losses[0]


def test_value_is_ours_and_the_embeddings_come_with_it(folder: Path, tmp_path: Path) -> None:
    trainer = trainer_of(folder, tmp_path)
    batch = trainer.data_collator(trainer.train_dataset[:8])
    loss, found = trainer.compute_loss(trainer.model, batch, return_outputs=True)
    views = embed(trainer.model, batch)
    torch.testing.assert_close(loss, HCL(*views))
    torch.testing.assert_close([found["view_0"], found["view_1"]], views)

    def pairs(model: nn.Module, batch: dict[str, Any]) -> tammes.Pairs:
        return tammes.TwoTowers()(*embed(model, batch))

    trainer.embed = pairs
    torch.testing.assert_close(trainer.compute_loss(trainer.model, batch), HCL(tammes.TwoTowers()(*views)))


@pytest.mark.parametrize("model", [AutoModel, AutoModelForSequenceClassification])
def test_an_evaluation_measures_the_objective_of_each_batch(folder: Path, tmp_path: Path, model: Any) -> None:
    """Also of a model whose own loss would need labels."""

    def states(model: nn.Module, batch: dict[str, Any]) -> list[Tensor]:
        return [
            model(**batch[name], output_hidden_states=True).hidden_states[-1][:, 0]
            for name in ("query", "document")
        ]

    settings = {"per_device_eval_batch_size": 8}
    trainer = trainer_of(folder, tmp_path, states, model.from_pretrained(folder), **settings)
    rows = trainer.train_dataset
    with torch.no_grad():
        embedded = [states(trainer.model.eval(), trainer.data_collator(rows[place:][:8])) for place in (0, 8)]
    expected = sum(HCL(*views) for views in embedded) / 2
    assert trainer.evaluate(rows)["eval_loss"] == pytest.approx(float(expected), rel=1e-5)
    first, second = trainer.predict(rows).predictions
    expected_views = [torch.cat(views) for views in zip(*embedded, strict=True)]
    torch.testing.assert_close([torch.tensor(first), torch.tensor(second)], expected_views)


def test_accumulated_gradients_are_the_mean_over_the_batches(folder: Path, tmp_path: Path) -> None:
    seen: list[list[Tensor]] = []
    trainer = trainer_of(
        folder,
        tmp_path,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=2,
        max_steps=1,
        max_grad_norm=0.0,
    )
    start = AutoModel.from_pretrained(folder)
    trainer.create_optimizer()
    parameters = list(trainer.model.parameters())
    trainer.optimizer.register_step_pre_hook(
        lambda *_: seen.append([each.grad.clone() for each in parameters if each.grad is not None])
    )
    batches = list(trainer.get_train_dataloader())
    trainer.get_train_dataloader = lambda: batches  # the order is drawn anew otherwise
    trainer.train()
    (sum(HCL(*embed(start, batch)) for batch in batches) / 2).backward()
    expected = [each.grad for each in start.parameters() if each.grad is not None]
    torch.testing.assert_close(seen[0], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("wrong", [lambda model, batch: {"a": 1}, lambda model, batch: torch.zeros(4, 2)])
def test_an_embed_that_returns_something_else_is_told(folder: Path, tmp_path: Path, wrong: Any) -> None:
    trainer = trainer_of(folder, tmp_path, embed=wrong)
    with pytest.raises(ValueError, match="embed must return Pairs, or a list of tensors"):
        trainer.compute_loss(trainer.model, {})


def test_a_loss_function_beside_the_objective_is_refused() -> None:
    with pytest.raises(ValueError, match="expected no compute_loss_func"):
        ObjectiveTrainer(objective=HCL, embed=embed, compute_loss_func=print)
