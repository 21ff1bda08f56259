"""Every example of the page on integrations runs, on networks and data of a few rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lightning
import pytest
import tiny_bert
import torch
import torch.distributed as dist
from datasets import Dataset
from sentence_transformers import SentenceTransformerTrainingArguments
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoTokenizer, TrainingArguments

import tammes

PAGE = (Path(__file__).parents[2] / "docs/integrations.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


def loader() -> DataLoader[tuple[Tensor, ...]]:
    return DataLoader(TensorDataset(torch.randn(16, 5), torch.randn(16, 5)), batch_size=8)


def run(title: str, **names: Any) -> dict[str, Any]:
    """Run an example with the names that it leaves to the reader."""
    code = EXAMPLES[title]
    assert code.count("\n") <= 15
    folder = names.pop("folder", None)
    names |= {"torch": torch, "tammes": tammes, "lightning": lightning}
    exec(code.replace('"microsoft/mpnet-base"', repr(str(folder))), names)
    return names


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert.saved(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def _one_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    start = dist.init_process_group
    monkeypatch.setattr(
        dist,
        "init_process_group",
        lambda kind: start(kind, store=dist.HashStore(), rank=0, world_size=1),
    )
    yield
    dist.destroy_process_group()


def settings(out: Path) -> dict[str, Any]:
    return {
        "output_dir": str(out),
        "max_steps": 2,
        "per_device_train_batch_size": 8,
        "report_to": "none",
        "save_strategy": "no",
        "use_cpu": True,
    }


@pytest.mark.usefixtures("_one_process")
def test_plain_pytorch() -> None:
    found = run("Plain PyTorch under DDP", encoder=nn.Linear(5, 3), loader=loader())
    assert found["loss"].isfinite()


@pytest.mark.filterwarnings("ignore:`isinstance:FutureWarning")  # lightning itself
def test_lightning(tmp_path: Path) -> None:
    model = run("Lightning")["Contrastive"](nn.Linear(5, 3))
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
        log_every_n_steps=1,
    )
    trainer.fit(model, DataLoader(loader().dataset, batch_size=8, num_workers=0))
    assert "effective_negatives" in trainer.logged_metrics


def test_sentence_transformers(folder: Path, tmp_path: Path) -> None:
    names = ("anchor", "positive", "negative")
    dataset = Dataset.from_dict({name: tiny_bert.sentences(16, seed) for seed, name in enumerate(names)})
    arguments = SentenceTransformerTrainingArguments(**settings(tmp_path))
    found = run("sentence-transformers", folder=folder, dataset=dataset, arguments=arguments)
    assert found["trainer"].state.global_step == 2


def test_transformers(folder: Path, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def collate(rows: list[tuple[str, str]]) -> dict[str, Any]:
        named = zip(("query", "document"), zip(*rows, strict=True), strict=True)
        return {name: dict(tokenizer(list(texts), return_tensors="pt")) for name, texts in named}

    found = run(
        "transformers",
        folder=folder,
        arguments=TrainingArguments(**settings(tmp_path), remove_unused_columns=False),
        dataset=list(zip(tiny_bert.sentences(16, 0), tiny_bert.sentences(16, 1), strict=True)),
        collate=collate,
    )
    assert found["trainer"].state.global_step == 2


def test_metric_learning() -> None:
    encoder = nn.Linear(5, 3)
    labels = torch.arange(16) % 5
    batches = DataLoader(TensorDataset(torch.randn(16, 5), labels), batch_size=8)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
    found = run("pytorch-metric-learning", encoder=encoder, loader=batches, optimizer=optimizer)
    assert found["loss"].isfinite()


def test_lightly() -> None:
    model = nn.Linear(5, 3)
    batches = [((a, b), None, None) for a, b in loader()]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert run("lightly", model=model, loader=batches, optimizer=optimizer)["loss"].isfinite()


def test_no_example_is_left_out() -> None:
    tested = {
        "Plain PyTorch under DDP",
        "Lightning",
        "sentence-transformers",
        "transformers",
        "pytorch-metric-learning",
        "lightly",
    }
    elsewhere = {
        "open_clip",
        "Is the gradient right on several processes?",
    }  # tests/hosts, test_integrations_ddp
    assert set(EXAMPLES) == tested | elsewhere
