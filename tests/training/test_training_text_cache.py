"""Training from the files of a cache: the same run as from memory, resumed at the next sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from killed import FILES, assert_resumes, assert_same_run
from tammes.cli.main import main
from tammes.data import Texts, Words, texts
from tammes.data.token_cache import MappedTokens
from tammes.encoders import BagOfWordsConfig, GRUConfig, TwoTowersConfig
from tammes.positives import Adjacent, SameClass
from tammes.recipes import logistic
from tammes.training import Adam, Machine, Run, RunFolder, TrainingConfig, train
from tammes.training.examples import Examples
from tammes.training.quick_thoughts import quick_thoughts
from tiny import random_texts, write_texts

GRU = GRUConfig(width=5, embedding=4, tokens=Words(minimum_count=1), max_length=4)
CONFIG = TrainingConfig(
    objective=quick_thoughts(),
    encoder=TwoTowersConfig(tower=GRU),
    head=None,
    augmentation=None,
    positives=Adjacent(),
    optimizer=Adam(learning_rate=0.01),
    batch_size=8,
    epochs=2,
)
WHOLE = replace(CONFIG, positives=Adjacent(whole_documents=True), batch_size=10)
BAG = replace(
    CONFIG,
    objective=logistic(),
    encoder=BagOfWordsConfig(dim=4, minimum_count=1),
    positives=SameClass(),
    batch_size=4,
)
pytestmark = pytest.mark.filterwarnings("ignore:.*longer than the encoder takes", "ignore:no positive for")


@pytest.fixture
def books(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "books", random_texts())


def go(config: TrainingConfig, data: Texts, folder: RunFolder | None = None) -> Run:
    return train(config, data, folder=folder, machine=Machine(accelerator="cpu"))


@pytest.mark.equal_bits
@pytest.mark.parametrize(
    "config", [CONFIG, WHOLE, BAG], ids=["quick-thoughts", "whole documents", "bag of words"]
)
def test_it_is_the_run_from_memory(books: Path, tmp_path: Path, config: TrainingConfig) -> None:
    cached = texts(books, cache=tmp_path / "cache")
    assert isinstance(Examples.for_training(cached, config).tokens, MappedTokens)
    for name, data in (("from memory", texts(books)), ("from cache", cached)):
        go(config, data, RunFolder(path=tmp_path / name))
    assert_same_run(
        tmp_path / "from memory", tmp_path / "from cache", files=("model.safetensors", "config.yaml")
    )


@pytest.mark.equal_bits
def test_killed_it_resumes_at_the_next_sentence(books: Path, tmp_path: Path) -> None:
    def train_in(folder: RunFolder) -> None:
        go(CONFIG, texts(books, cache=tmp_path / "cache"), folder)

    assert_resumes(train_in, tmp_path, killed_at=4, files=(*FILES, "vocabulary.json"))


def test_worker_processes_map_the_files_themselves(books: Path, tmp_path: Path) -> None:
    data = texts(books, cache=tmp_path / "cache")
    run = train(CONFIG, data, machine=Machine(accelerator="cpu", workers=1))
    assert run.metrics[-1].loss == go(CONFIG, data).metrics[-1].loss


def test_one_option_of_the_command_line_keeps_a_cache(books: Path, tmp_path: Path) -> None:
    words = f"train quick-thoughts --epochs 1 --accelerator cpu --data {books}".split()
    small = ["encoder:two-towers", "--encoder.tower.width", "4", "--encoder.tower.embedding", "4"]
    for name in ("first", "second"):
        out = ["--out", str(tmp_path / name), "--cache", str(tmp_path / "cache")]
        assert main([*words, *out, *small]) == 0
    names = {file.name for file in (tmp_path / "cache").rglob("*") if file.is_file()}
    assert {"sentences.utf8", "tokens.bin", "texts.json", "tokens.json"} <= names
    assert main(["train", "--resume", str(tmp_path / "second")]) == 0
    rows = ["--data", str(books), "--out", str(tmp_path / "rows.npz")]
    assert main(["embed", str(tmp_path / "first"), *rows]) == 0


def test_held_out_sentences_share_the_cache(books: Path, tmp_path: Path) -> None:
    words = [
        "train",
        "logistic",
        "--no-head",
        "--epochs",
        "1",
        "--batch-size",
        "4",
        "--accelerator",
        "cpu",
        "--held-out",
        "0.3",
    ]
    words += ["--data", str(books), "--out", str(tmp_path / "run"), "--cache", str(tmp_path / "cache")]
    assert main([*words, "encoder:bag-of-words", "--encoder.dim", "4", "--encoder.minimum-count", "1"]) == 0
