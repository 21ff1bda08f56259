"""The batch that a page shows: rows paired and compared as in training."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
import torch
from torch.nn import functional

import tammes
from tammes import recipes
from tammes.cli.exhibit import LARGEST_SAMPLE, Compared, choose_sample, embedded_views, pairs_of
from tammes.cli.main import main
from tammes.cli.scores import shuffled_rows
from tammes.data import Texts, triples
from tammes.encoders import ConvNetConfig, GRUConfig, TwoTowersConfig
from tammes.positives import Adjacent, GivenPairs, Handwriting, SameInstance
from tammes.selection import Subset
from tammes.sources import NodesToGraphs
from tammes.training import Machine, TrainingConfig, embed, train
from tammes.training.quick_thoughts import quick_thoughts
from tammes.training.seeds import Purpose, derive
from tiny import (
    make_config,
    make_graph_config,
    random_graph_set,
    random_images,
    random_texts,
    write_images,
    write_texts,
)

TOWERS = "encoder:two-towers --encoder.tower.width 4 --encoder.tower.embedding 4"
CONFIG = TrainingConfig(
    objective=quick_thoughts(beta=1.0),
    encoder=TwoTowersConfig(tower=GRUConfig(width=4, embedding=4)),
    head=None,
    augmentation=None,
    positives=Adjacent(),
    batch_size=12,
    epochs=1,
)


def test_adjacent_sentences_are_one_contiguous_batch() -> None:
    texts = random_texts(3, 12)
    exhibit = choose_sample(texts, None, CONFIG)
    assert exhibit.batch == 12
    assert exhibit.sample.labels is None  # sentences of one document are no false negatives of each other
    assert isinstance(exhibit.data, Texts)
    documents, positions = exhibit.data.documents, exhibit.data.positions
    assert positions is not None
    anchors, partners = exhibit.pairs.T
    assert torch.equal(anchors, torch.arange(len(anchors)))
    assert int(partners.max()) < 12
    assert torch.equal(documents[anchors], documents[partners])
    assert bool(((positions[anchors] - positions[partners]).abs() == 1).all())
    # One run of reading order: all sentences but those at its end have the next one in the batch.
    assert int((positions[:12].sort().values.diff() > 1).sum()) <= 2
    assert exhibit.sample.labels is None
    assert exhibit.sample.partners is not None


def test_the_rows_of_a_page_are_enough_for_its_figures() -> None:
    config = replace(
        CONFIG,
        objective=tammes.recipes.simclr(temperature=0.5),
        encoder=ConvNetConfig(width=8),
        augmentation=Handwriting(),
        positives=SameInstance(),
        batch_size=2,
    )
    assert choose_sample(random_images(9), random_images(4), config).is_held_out
    assert not choose_sample(random_images(9), random_images(3), config).is_held_out


def test_data_of_which_no_page_can_be_made_are_refused_before_they_are_trained_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_images(tmp_path / "three", ".", count=3)
    for words in ("train simclr --out run", "compare simclr --report page.html"):
        command, name, option, path = words.split()
        data = ["--data", str(tmp_path / "three"), "--temperature", "0.5", option, str(tmp_path / path)]
        assert main([command, name, *data, "--batch-size", "2"]) == 2
        assert "expected at least 4 rows to train on" in capsys.readouterr().err
        assert not (tmp_path / path).exists()


def test_a_batch_of_whole_documents_is_shown_though_it_is_not_full() -> None:
    texts, held_out = random_texts(3, 12), random_texts(5, 8, seed=1)
    config = replace(CONFIG, positives=Adjacent(whole_documents=True), batch_size=20)
    exhibit = choose_sample(texts, held_out, config)
    assert exhibit.is_held_out
    assert exhibit.batch == len(exhibit.pairs) == 16
    assert isinstance(exhibit.data, Texts)
    assert exhibit.data.documents[:16].unique(return_counts=True)[1].tolist() == [8, 8]


@pytest.mark.parametrize("window", [1, 2])
@pytest.mark.parametrize("towers", [True, False])
def test_the_weights_are_those_of_the_training(window: int, towers: bool) -> None:
    encoder = CONFIG.encoder if towers else GRUConfig(width=4, embedding=4)
    config = replace(CONFIG, encoder=encoder, positives=Adjacent(window=window))
    texts = random_texts(3, 12)
    run = train(config, texts, machine=Machine(accelerator="cpu"))
    exhibit = choose_sample(texts, None, config)
    embeddings = embed(run.model, exhibit.data)[1]
    found = Compared.of(run.model, embeddings, config.objective, exhibit, config, step=1)
    assert found.candidates is not None
    contexts = torch.from_numpy(found.candidates.embeddings)
    dim = embeddings.shape[1] // (2 if towers else 1)
    assert found.embeddings.shape[1] == found.view_a.shape[1] == contexts.shape[1] == dim
    assert isinstance(exhibit.data, Texts)
    order = config.positives.reading_order(exhibit.data.documents, exhibit.data.positions)
    near = (order[: len(exhibit.pairs), None] - order[None, :12]).abs() <= window
    # Hard negatives of the plain formula: no weight on the sentence itself and those of its window.
    logits = (found.view_a @ contexts.T).masked_fill(near, -torch.inf)
    torch.testing.assert_close(found.weights, logits.softmax(dim=1))
    torch.testing.assert_close(found.view_b, contexts[exhibit.pairs[:, 1]])


@pytest.mark.parametrize("same_tower", [True, False])
@pytest.mark.parametrize("towers", [True, False])
@pytest.mark.parametrize("has_negatives", [True, False])
def test_given_pairs_are_compared_with_what_training_compares_them(
    has_negatives: bool, towers: bool, same_tower: bool, tmp_path: Path
) -> None:
    rows = ({kind: f"{kind}{row} of {row % 5}" for kind in "apn"} for row in range(20))
    table = tmp_path / "rows.jsonl"
    table.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    given = {"negative_column": "n"} if has_negatives else {}
    texts = triples(table, anchor_column="a", positive_column="p", **given)
    encoder = CONFIG.encoder if towers else GRUConfig(width=4, embedding=4)
    config = replace(
        CONFIG,
        objective=recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.0),
        encoder=encoder,
        positives=GivenPairs(same_tower=same_tower),
        batch_size=8,
    )
    run = train(config, texts, machine=Machine(accelerator="cpu"))
    exhibit = choose_sample(texts, None, config)
    assert exhibit.sample.labels is None
    embeddings = embed(run.model, exhibit.data)[1]
    found = Compared.of(run.model, embeddings, config.objective, exhibit, config, step=1)
    assert found.candidates is not None
    columns = found.candidates.rows
    names = [exhibit.data.names[row].partition(":")[2] for row in columns.tolist()]
    kinds = ["p", *(["n"] if has_negatives else []), *(["a"] if same_tower else [])]
    assert names == [kind for kind in kinds for _ in range(8)]
    assert found.candidates.negatives == 8 * len(kinds) - 1 - same_tower

    # Hard negatives of the plain formula, over all candidates but the positive and the anchor itself.
    unit = functional.normalize(embeddings.view(len(embeddings), 2 if towers else 1, -1), dim=2)
    f, g = unit[:, 0], unit[:, -1]
    others = torch.stack([(f if kind == "a" else g)[row] for kind, row in zip(names, columns, strict=True)])
    anchors = exhibit.pairs[:, 0]
    are_negatives = torch.from_numpy(columns) != exhibit.pairs[:, 1:]
    are_negatives &= torch.from_numpy(columns) != anchors[:, None]
    logits = (f[anchors] @ others.T / 0.5).masked_fill(~are_negatives, -torch.inf)
    torch.testing.assert_close(found.weights, logits.softmax(dim=1))


def test_the_first_nodes_of_graphs_are_compared_with_the_graphs() -> None:
    graphs = random_graph_set(12)
    config = replace(make_graph_config(), batch_size=8, epochs=1)
    run = train(config, graphs, machine=Machine(accelerator="cpu"))
    exhibit = choose_sample(graphs, None, config)
    assert exhibit.sample.two_of_a_pair == "the first node of a graph and this graph"
    embeddings = embed(run.model, exhibit.data)[1]
    found = Compared.of(run.model, embeddings, config.objective, exhibit, config, step=1)
    assert found.candidates is not None
    assert found.candidates.rows.tolist() == list(range(8))
    assert found.candidates.negatives == 7
    weights = config.objective.weights(NodesToGraphs()(found.view_a, found.view_b, owner=torch.arange(8)))
    torch.testing.assert_close(found.weights, weights)
    assert bool((found.weights.diagonal() == 0).all())


@pytest.mark.parametrize("crops", [2, 4])
@pytest.mark.parametrize(
    "objective",
    [
        recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
        recipes.hcl_ot(temperature=0.5, class_prior=0.1, epsilon=0.5),
        recipes.supcon(temperature=0.5),
        recipes.simclr(temperature=0.5, selection=Subset(k=3)),
    ],
    ids=["hcl", "hcl-ot", "supcon", "subset"],
)
def test_every_crop_is_compared(objective: tammes.Objective, crops: int) -> None:
    images, config = random_images(22, classes=4), replace(make_config(), objective=objective, crops=crops)
    run = train(replace(config, epochs=1), images, machine=Machine(accelerator="cpu"))
    config = replace(config, batch_size=8)
    exhibit = choose_sample(images, None, config)
    embeddings = embed(run.model, exhibit.data)[1]
    found = Compared.of(run.model, embeddings, objective, exhibit, config, step=1)
    rows, labels = torch.arange(8).repeat(crops), exhibit.data.required_labels()[:8]
    if crops == 2:
        assert found.candidates is None
        views = (found.view_a, found.view_b)
    else:
        assert found.candidates is not None
        assert torch.equal(torch.from_numpy(found.candidates.rows), rows)
        views = torch.from_numpy(found.candidates.embeddings).chunk(crops)
        assert torch.equal(torch.stack(views[:2]), torch.stack([found.view_a, found.view_b]))
        assert not any(torch.equal(*pair) for pair in combinations(views, 2))
    ids = labels if isinstance(objective.contrast, tammes.SupCon) else None
    generator = torch.Generator().manual_seed(derive(config.seed, Purpose.OBJECTIVE))
    expected = objective.weights(*views, ids=ids, labels=labels, generator=generator)
    torch.testing.assert_close(found.weights, expected[: len(found.weights)])
    assert bool((found.weights[0, rows == 0] == 0).all())


def test_the_page_of_several_crops_says_how_many_negatives_there_are(tmp_path: Path) -> None:
    data, out = write_images(tmp_path / "images", "a", "b"), tmp_path / "run"
    words = "train simclr --temperature 0.5 --crops 4 --batch-size 5 --epochs 1 --accelerator cpu"
    small = "encoder:convnet --encoder.width 8"
    assert main([*f"{words} --data {data} --out {out} {small}".split()]) == 0
    assert "of at most 16 in a batch of 5 pictures" in (out / "report.html").read_text()


def test_a_subset_is_no_larger_than_the_negatives() -> None:
    objective = replace(CONFIG.objective, selection=Subset(k=50))
    config, texts = replace(CONFIG, epochs=1), random_texts(3, 12)
    run = train(config, texts, machine=Machine(accelerator="cpu"))
    exhibit = choose_sample(texts, None, config)
    embeddings = embed(run.model, exhibit.data)[1]
    found = Compared.of(run.model, embeddings, objective, exhibit, config, step=1)
    assert (found.weights > 0).sum(dim=1).tolist() == [9] * len(exhibit.pairs)  # 12 but itself and two


def test_pairs_of_adjacent_sentences_are_no_sentence_with_itself() -> None:
    texts = random_texts(3, 12)
    pairs = pairs_of(texts, CONFIG, 20)
    assert len(pairs) == 20
    assert texts.positions is not None
    assert bool(((texts.positions[pairs[:, 0]] - texts.positions[pairs[:, 1]]).abs() == 1).all())
    run = train(CONFIG, texts, machine=Machine(accelerator="cpu"))
    view_a, view_b = embedded_views(run.model, texts, pairs, CONFIG, seeds=(0, 1))
    both = embed(run.model, texts)[1]
    torch.testing.assert_close(view_a, both[pairs[:, 0], : view_a.shape[1]])
    torch.testing.assert_close(view_b, both[pairs[:, 1], view_a.shape[1] :])


def test_the_sample_is_the_start_of_one_permutation() -> None:
    images = random_images(3_000)
    config = TrainingConfig(objective=tammes.recipes.simclr(temperature=0.5), batch_size=8)
    names = choose_sample(images, None, config).data.names
    assert names == tuple(images.names[row] for row in shuffled_rows(images)[:LARGEST_SAMPLE])
    assert shuffled_rows(images, 10) == shuffled_rows(images)[:10]


def test_the_page_of_a_run_shows_a_batch_of_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    books = write_texts(tmp_path / "books", random_texts(3, 12))
    words = f"train quick-thoughts --beta 1 --epochs 1 --accelerator cpu {TOWERS} --data {books} --out"
    assert main([*words.split(), str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out
    assert "Class prior" not in said  # documents are no classes
    assert "Negatives:" not in said
    page = (tmp_path / "run" / "report.html").read_text()
    assert "of at most 6 in a batch of 8 sentences" in page
    assert "the two sentences of a pair" in page
    assert "false negative" not in page
    assert main([*f"{words} {tmp_path / 'other'} --classes 3".split()]) == 2
    assert "--classes is for advice" in " ".join(capsys.readouterr().err.replace("│", " ").split())
