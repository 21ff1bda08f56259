"""Runs on adjacent sentences: contiguous batches, two towers, resuming, and dropout as augmentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import tammes
from killed import FILES, assert_resumes
from tammes.data import BytePairs, Texts, Unigrams, Words
from tammes.data.subwords import Subwords
from tammes.encoders import GRUConfig, ProjectionHeadConfig, TextTransformerConfig, TwoTowersConfig
from tammes.positives import Adjacent, Photographs, SameInstance
from tammes.training import Adam, Machine, QueueConfig, Run, RunFolder, TrainingConfig, embed, train
from tammes.training.loader import PairBatch
from tammes.training.module import ContrastiveModule
from tammes.training.pairing import Pairing
from tammes.training.quick_thoughts import quick_thoughts
from tammes.training.sampler import PairSampler, Shard
from tiny import random_texts

WORDS = Words(minimum_count=1)
GRU = GRUConfig(width=5, embedding=4, tokens=WORDS, max_length=4)
TRANSFORMER = TextTransformerConfig(width=8, depth=1, heads=2, tokens=BytePairs(size=30))
CONFIG = TrainingConfig(
    objective=quick_thoughts(beta=1.0, class_prior=0.01),
    encoder=TwoTowersConfig(tower=GRU),
    head=None,
    augmentation=None,
    positives=Adjacent(),
    optimizer=Adam(learning_rate=0.01),
    batch_size=8,
    epochs=2,
)
SIMCSE = replace(
    CONFIG,
    objective=tammes.recipes.simclr(temperature=0.1),
    encoder=TRANSFORMER,
    positives=SameInstance(),
    chunk=3,
)
pytestmark = pytest.mark.filterwarnings("ignore:.*longer than the encoder takes")


def go(config: TrainingConfig, folder: RunFolder | None = None) -> Run:
    return train(config, random_texts(), folder=folder, machine=Machine(accelerator="cpu"))


@pytest.mark.parametrize(
    "config",
    [
        CONFIG,
        replace(CONFIG, encoder=GRU, positives=Adjacent(window=2, run=4)),
        replace(CONFIG, positives=Adjacent(whole_documents=True), batch_size=10),
        replace(CONFIG, encoder=replace(GRU, tokens=Unigrams(size=30)), head=ProjectionHeadConfig(dim=4)),
        SIMCSE,
        replace(SIMCSE, encoder=replace(GRU, dropout=0.2), chunk=None),
    ],
    ids=["two towers", "gru", "whole documents", "subwords", "dropout", "dropout of words"],
)
@pytest.mark.equal_bits
def test_killed_and_resumed_it_is_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: TrainingConfig
) -> None:
    find, found = Unigrams.of, []

    def of(tokens: Unigrams, sentences: Sequence[str]) -> Subwords:
        # Of pieces of equal value each training keeps others, so both runs begin with those of one.
        found.append(find(tokens, sentences))
        return found[0]

    monkeypatch.setattr(Unigrams, "of", of)
    assert_resumes(
        lambda folder: go(config, folder), tmp_path, killed_at=4, files=(*FILES, "vocabulary.json")
    )


def test_a_loaded_encoder_gives_the_features_of_both_towers(tmp_path: Path) -> None:
    run = go(CONFIG, RunFolder(path=tmp_path / "run"))
    loaded = tammes.load(tmp_path / "run")
    assert loaded.features == 10
    features = loaded.embed(list(random_texts().sentences))
    assert torch.equal(features, embed(run.model, random_texts())[0])
    weights_alone = tammes.load(tmp_path / "run" / "model.safetensors")
    assert torch.equal(features, weights_alone.embed(random_texts()))


def test_a_step_compares_each_sentence_with_those_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, seen = random_texts(), []
    begin = ContrastiveModule.training_step

    def training_step(module: ContrastiveModule, batch: PairBatch, index: int) -> Tensor:
        loss, rows = begin(module, batch, index), batch[2][:, 0]
        f, g = module.model.encoder(batch[0]).chunk(2, dim=1)
        near = (texts.documents[rows][:, None] == texts.documents[rows]) & (
            (texts.positions[rows][:, None] - texts.positions[rows]).abs() == 1  # type: ignore[index]
        )
        logits = (f @ g.T).masked_fill(torch.eye(len(rows), dtype=torch.bool), -torch.inf)
        logs = logits.log_softmax(1).masked_fill(~near, 0.0).sum(1)[near.any(1)]
        expected = -(logs / near.sum(1)[near.any(1)]).mean()
        torch.testing.assert_close(loss, expected)
        seen.append(rows)
        return loss

    monkeypatch.setattr(ContrastiveModule, "training_step", training_step)
    go(replace(CONFIG, objective=quick_thoughts()))
    assert len(seen) == 6
    assert all(len(set(rows.tolist())) == 8 for rows in seen)


@pytest.mark.parametrize("run", [8, 4])
def test_a_batch_is_made_of_runs_of_contiguous_sentences(run: int) -> None:
    texts = random_texts(documents=5, sentences=16)
    pairing = Pairing.of(texts, Adjacent(run=run), seed=0, batch_size=8)
    for epoch in range(3):
        rows = pairing.epoch(epoch)[:, 0]
        assert sorted(rows.tolist()) == list(range(80))
        for part in rows.split(run):
            jumps = (part.diff() != 1) & ~((part[1:] % 16 == 0) & (part[:-1] % 16 == 15))
            assert int(jumps.sum()) <= 1  # where the order was turned
    assert not torch.equal(pairing.epoch(0), pairing.epoch(1))


def uneven_texts() -> Texts:
    """Documents of 2 to 9 sentences, and one of 30."""
    lengths = torch.tensor([2, 3, 4, 5, 6, 7, 8, 9] * 3 + [30])
    names = tuple(map(str, range(int(lengths.sum()))))
    sentences = tuple(f"w{row % 3} w{row % 5}" for row in range(len(names)))
    labels = torch.arange(len(lengths)).repeat_interleave(lengths)
    return Texts(sentences=sentences, names=names, labels=labels, classes=names[: len(lengths)])


def test_batches_of_whole_documents_are_as_many_in_each_epoch_and_shared_by_processes() -> None:
    pairing = Pairing.of(uneven_texts(), Adjacent(whole_documents=True), seed=0, batch_size=13)
    one = PairSampler(pairing, Shard(batch_size=13))
    parts = [PairSampler(pairing, Shard(batch_size=13, rank=rank, processes=3)) for rank in range(3)]
    seen = set()
    for epoch in range(8):
        for sampler in (one, *parts):
            sampler.set_epoch(epoch)
        whole = list(one)
        shared = [[*a, *b, *c] for a, b, c in zip(*parts, strict=True)]
        assert shared == whole
        assert len(whole) == len(one)
        assert {len(batch) for batch in whole} <= set(range(7, 14))
        later = PairSampler(pairing, Shard(batch_size=13), first_step=epoch * len(one) + 3)
        assert list(later) == whole[3:]
        seen.add(len(pairing.batches(epoch, 13)))
    assert len(seen) > 1  # epochs pack into different numbers of batches


def test_batches_of_whole_documents_train(monkeypatch: pytest.MonkeyPatch) -> None:
    rows_of_steps, begin = [], ContrastiveModule.training_step

    def training_step(module: ContrastiveModule, batch: PairBatch, index: int) -> Tensor:
        loss = begin(module, batch, index)
        rows_of_steps.append(batch[2][:, 0])
        assert module.rows == len(batch[2])
        return loss

    monkeypatch.setattr(ContrastiveModule, "training_step", training_step)
    texts = uneven_texts()
    config = replace(CONFIG, positives=Adjacent(whole_documents=True), batch_size=13)
    run = train(config, texts, machine=Machine(accelerator="cpu"))
    assert run.metrics[-1].step == len(rows_of_steps)
    sizes = torch.bincount(texts.required_labels())
    for rows in rows_of_steps:
        documents, counts = texts.required_labels()[rows].unique(return_counts=True)
        assert torch.equal(counts[sizes[documents] <= 13], sizes[documents][sizes[documents] <= 13])


def test_more_processes_than_a_half_full_batch_feeds_are_refused() -> None:
    pairing = Pairing.of(uneven_texts(), Adjacent(whole_documents=True), seed=0, batch_size=13)
    with pytest.raises(ValueError, match=r"has 7 or more, too few for 4 processes.*size of at least 14"):
        PairSampler(pairing, Shard(batch_size=13, processes=4))
    PairSampler(pairing, Shard(batch_size=14, processes=4))


@pytest.mark.parametrize("chunk", [2, 5, 100])
def test_dropout_is_the_same_in_the_second_pass_of_a_gradient_cache(chunk: int) -> None:
    """A cached gradient is that of a loop over the same chunks which keeps all activations."""
    from tammes.training import GradientCache
    from tammes.training.examples import FromRows

    torch.manual_seed(0)
    encoder = replace(TRANSFORMER, dropout=0.3).build(words=tuple(map(str, range(9))))
    ids = torch.randint(9, (7, 5))
    objective = tammes.recipes.simclr(temperature=0.1)
    network = torch.nn.Sequential(FromRows(), encoder)
    torch.manual_seed(1)
    loss = objective(*GradientCache(network, chunk=chunk)(ids, ids))
    cached = torch.autograd.grad(loss, list(encoder.parameters()))
    torch.manual_seed(1)
    parts = -(-7 // chunk)
    views = [torch.cat([network(rows) for rows in ids.tensor_split(parts)]) for _ in range(2)]
    assert not torch.allclose(*views)  # the two views differ by their dropout
    again = objective(*views)
    torch.testing.assert_close(loss, again)
    plain = torch.autograd.grad(again, list(encoder.parameters()))
    for one, other in zip(cached, plain, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_a_chunk_changes_no_run_without_dropout() -> None:
    whole, chunked = (go(replace(CONFIG, chunk=chunk, epochs=1)) for chunk in (None, 3))
    for one, other in zip(whole.model.parameters(), chunked.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"head": ProjectionHeadConfig()}, "two towers are compared without a head"),
        ({"positives": SameInstance()}, "teaches nothing without dropout"),
        ({"positives": Adjacent(run=3)}, "run must divide the batch of 8 sentences, got 3"),
        ({"positives": Adjacent(window=4)}, "window=4 leaves no negatives in a batch of 8 sentences"),
        ({"positives": Adjacent(window=2, whole_documents=True)}, "choose a batch of at least 10"),
        (
            {
                "objective": replace(quick_thoughts(), selection=tammes.Subset(k=3)),
                "positives": Adjacent(whole_documents=True),
            },
            "whose anchors have 2 negatives, but .* takes 3: choose a smaller k, or a batch of at least 10",
        ),
        ({"augmentation": Photographs()}, "texts are not augmented"),
        ({"negatives": QueueConfig(size=16)}, "a queue recognizes a repeated row by its key"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(CONFIG, **changes)


def alone(count: int) -> Texts:
    names = tuple(map(str, range(count)))
    sentences = tuple(f"w{row % 3} w{row % 5}" for row in range(count))
    return Texts(sentences=sentences, names=names, labels=torch.arange(count), classes=names)


def test_documents_without_adjacent_sentences_are_refused() -> None:
    with pytest.raises(ValueError, match="expected documents of several sentences, but none of 20"):
        train(CONFIG, alone(20))
    config = replace(CONFIG, positives=Adjacent(window=9), batch_size=24)
    with pytest.raises(ValueError, match=r"a window of 9 sentences reaches over every document .the longest"):
        train(config, random_texts())


def test_sentences_without_a_neighbor_are_counted() -> None:
    texts = random_texts()
    kept = [row for row in range(27) if row not in (1,)]  # row 0 is alone then
    with pytest.warns(UserWarning, match="no positive for 1 of 26 sentences: left out"):
        train(replace(CONFIG, epochs=1), texts.subset(kept), machine=Machine(accelerator="cpu"))
