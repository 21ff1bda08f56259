"""Training on pairs and triples of a table, as a user types it."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
import torch

import tammes
from tammes.cli.main import main
from tammes.data import Words, triples
from tammes.encoders import BagOfWordsConfig, TextTransformerConfig
from tammes.positives import GivenPairs, SameClass
from tammes.training import TrainingConfig, load_run, train
from tammes.training.config import RunConfig
from tammes.training.examples import Examples
from tammes.training.loader import pair_loader
from tammes.training.model import build_model
from tammes.training.module import ContrastiveModule
from tammes.training.pairing import Pairing
from tammes.training.sampler import PairSampler, Shard

COLUMNS = (
    "--anchor-column",
    "premise",
    "--positive-column",
    "entailment",
    "--negative-column",
    "contradiction",
)
FEW = "--epochs 2 --batch-size 8 --accelerator cpu"


def write(path: Path, count: int = 24, **changes: str) -> Path:
    rows = (
        {
            "premise": f"the cat {row % 12} sees a bird",
            "entailment": f"a cat {row} sees it",
            "contradiction": f"no cat {row} is there",
            **changes,
        }
        for row in range(count)
    )
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def run(words: str, *more: str | Path) -> int:
    return main([*words.split(), *map(str, more)])


def fails(capsys: pytest.CaptureFixture[str], words: str, *more: str | Path) -> str:
    """What a command says that must fail as something the user can mend."""
    capsys.readouterr()
    assert run(words, *more) == 2
    message = capsys.readouterr().err
    assert "Traceback" not in message
    return message.splitlines()[-1]


def test_triples_are_trained_on_and_resumed(tmp_path: Path) -> None:
    data, out = write(tmp_path / "nli.jsonl"), tmp_path / "run"
    words = f"train simclr --temperature 0.1 {FEW} --data"
    assert run(words, data, "--out", out, *COLUMNS) == 0
    done = load_run(out)
    assert done.config.training.positives == GivenPairs()
    assert done.config.data.count == 72  # none is held out
    assert done.metrics[-1].last["negatives"] == pytest.approx(15, abs=1)  # 8 positives and 8 negatives
    assert tammes.load(out).embed(["a cat sees it"]).shape == (1, 256)
    assert run("train --resume", out) == 0


def test_pairs_alone_are_trained_on(tmp_path: Path) -> None:
    data, out = write(tmp_path / "nli.jsonl"), tmp_path / "run"
    words = f"train hcl --temperature 0.1 --beta 1 --class-prior 0 {FEW} --out {out} --data {data}"
    assert run(f"{words} {' '.join(COLUMNS[:4])} positives:given-pairs --positives.symmetric") == 0
    assert load_run(out).config.training.positives == GivenPairs(symmetric=True)
    assert load_run(out).config.data.count == 48


def test_the_loss_is_that_of_two_towers_with_given_negatives(tmp_path: Path) -> None:
    data = triples(
        write(tmp_path / "nli.jsonl"),
        anchor_column="premise",
        positive_column="entailment",
        negative_column="contradiction",
    )
    config = TrainingConfig(
        objective=tammes.recipes.simclr(temperature=0.1),
        encoder=BagOfWordsConfig(dim=8, minimum_count=1),
        head=None,
        augmentation=None,
        positives=GivenPairs(),
        batch_size=8,
        epochs=1,
    )
    examples = Examples.for_training(data, config)
    model = build_model(RunConfig(training=config, data=examples.summary("nli")), examples.assets)
    pairing = Pairing.of(data, config.positives, seed=0)
    batch = next(iter(pair_loader(examples, PairSampler(pairing, Shard(batch_size=8)), workers=0)))
    module = ContrastiveModule(config, model, examples=examples, steps_per_epoch=3)
    module.log = lambda *words, **more: None  # type: ignore[method-assign, assignment]
    loss = module.training_step(batch, 0)

    rows = batch[2]
    assert examples.tokens is not None
    embed = {
        place: torch.nn.functional.normalize(model.encoder(examples.tokens.take(rows[:, 0] + place))).double()
        for place in range(3)
    }
    logits = embed[0] @ torch.cat([embed[1], embed[2]]).T / 0.1
    same = data.required_labels()[rows[:, 0]]
    is_positive = torch.cat([same[:, None] == same, torch.zeros(8, 8, dtype=torch.bool)], dim=1)
    negatives = logits.masked_fill(is_positive, -torch.inf).logsumexp(dim=1)
    losses = torch.where(is_positive, torch.logaddexp(logits, negatives[:, None]) - logits, 0.0)
    expected = (losses.sum(dim=1) / is_positive.sum(dim=1)).mean()
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=1e-6)


def test_chunks_give_the_same_training(tmp_path: Path) -> None:
    data = triples(
        write(tmp_path / "nli.jsonl"),
        anchor_column="premise",
        positive_column="entailment",
        negative_column="contradiction",
    )

    def last(chunk: int | None) -> float:
        config = TrainingConfig(
            objective=tammes.recipes.simclr(temperature=0.1),
            encoder=TextTransformerConfig(
                width=8, heads=2, depth=1, dropout=0.0, tokens=Words(minimum_count=1)
            ),
            head=None,
            augmentation=None,
            positives=GivenPairs(),
            batch_size=8,
            epochs=1,
            chunk=chunk,
        )
        return train(config, data).metrics[-1].loss or 0.0

    assert last(3) == pytest.approx(last(None), rel=1e-4)


def test_bad_tables_and_options_get_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write(tmp_path / "nli.jsonl")
    words = f"train simclr --temperature 0.1 {FEW} --out {tmp_path / 'run'} --data {data}"
    missing = ("--anchor-column", "query", *COLUMNS[2:])
    assert "expected a column 'query' in line 1 of" in fails(capsys, words, *missing)
    assert "--anchor-column needs --positive-column" in fails(capsys, words, *COLUMNS[:2])
    assert "--negative-column needs --anchor-column" in fails(capsys, words, *COLUMNS[4:])
    assert "--text-column is not for pairs" in fails(capsys, words, *COLUMNS, "--text-column", "premise")
    assert "--test measures classes" in fails(capsys, words, *COLUMNS, "--test", data)
    assert "quick-thoughts compares adjacent sentences" in fails(
        capsys, f"train quick-thoughts --data {data}", *COLUMNS
    )
    assert "GivenPairs takes the rows of a table" in fails(
        capsys, f"{words} --text-column premise positives:given-pairs"
    )
    assert "or the two of a table of pairs with --anchor-column and --positive-column" in fails(capsys, words)
    lists = tmp_path / "lists.jsonl"
    lists.write_text(json.dumps({"premise": "a", "entailment": "b", "contradiction": ["c", "d"]}) + "\n")
    several = fails(capsys, f"train simclr --temperature 0.1 --data {lists}", *COLUMNS)
    assert "got list in row 1: write a row for each, with the other cells repeated" in several
    write(data, contradiction="")
    assert "every cell is empty: leave the column out" in fails(capsys, words, *COLUMNS)
    assert not (tmp_path / "run").exists()


def test_rows_of_pairs_are_not_measured_as_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"train simclr --temperature 0.1 {FEW} --out {tmp_path / 'run'}"
    assert run(words, "--data", write(tmp_path / "nli.jsonl"), *COLUMNS) == 0
    said = fails(capsys, f"evaluate {tmp_path / 'run'}")
    assert "pairs of given columns have no classes to measure" in said
    assert "--tasks" in said


def test_a_row_with_an_empty_cell_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write(tmp_path / "nli.jsonl")
    data.write_text(data.read_text() + json.dumps({"premise": "a", "entailment": "", "contradiction": "b"}))
    words = f"train simclr --temperature 0.1 {FEW} --out {tmp_path / 'run'} --data {data}"
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # the command prints them
        assert run(words, *COLUMNS) == 0
    told = capsys.readouterr()
    assert "an empty cell in 1 of 25 rows" in told.err
    assert "1 file or row that cannot be used was left out: row 25:entailment" in told.out
    other = words.replace(str(tmp_path / "run"), str(tmp_path / "strict"))
    assert "an empty cell in 1 of 25 rows" in fails(capsys, other, *COLUMNS, "--strict")


def test_images_have_no_columns(capsys: pytest.CaptureFixture[str]) -> None:
    message = fails(capsys, "train simclr --temperature 0.5 --data digits", *COLUMNS)
    assert "--anchor-column, --positive-column, --negative-column is for texts" in message
    assert "is for sentences" in fails(
        capsys, "train simclr --temperature 0.5 --data digits positives:given-pairs"
    )


def test_other_positives_of_a_table_remain(tmp_path: Path) -> None:
    data, out = write(tmp_path / "nli.jsonl"), tmp_path / "run"
    words = f"train simclr --temperature 0.1 {FEW} --held-out 0 positives:same-class --data"
    assert run(words, data, "--out", out, "--text-column", "entailment", "--label-column", "premise") == 0
    assert load_run(out).config.training.positives == SameClass()
