"""Runs of transformers' models: the loop by hand, resuming, loading without the model's folder."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

import transformers
from torch import Tensor

import tammes
import tiny_models
from tammes.data import Images, Texts, Words, triples
from tammes.encoders import (
    GRUConfig,
    ProjectionHeadConfig,
    TimmConfig,
    TransformersConfig,
    TransformersTowers,
    TwoTowersConfig,
    UnavailableWeightsError,
)
from tammes.encoders.transformers import pooled
from tammes.positives import Adjacent, GivenPairs, Handwriting, Neighbors, SameClass, SameInstance
from tammes.training import (
    Adam,
    Cosine,
    Machine,
    QueueConfig,
    Run,
    RunFolder,
    TrainingConfig,
    embed,
    load_run,
    suited,
    train,
)
from tammes.training.examples import CutWarning
from tammes.training.loader import PairBatch
from tammes.training.module import ContrastiveModule
from tammes.training.quick_thoughts import quick_thoughts, with_adjacent_sentences
from tammes.training.seeds import Purpose, derive
from tiny import random_images, random_texts

OBJECTIVE = tammes.recipes.simclr(temperature=0.5)
CPU = Machine(accelerator="cpu")


def text_config(folder: Path, **settings: Any) -> TrainingConfig:
    """BERT's usual dropout of 0.1 is on."""
    return TrainingConfig(
        objective=OBJECTIVE,
        encoder=TransformersConfig(name_or_path=str(folder), **settings),
        head=None,
        augmentation=None,
        positives=SameClass(),
        optimizer=Adam(learning_rate=1e-2),
        batch_size=4,
        epochs=2,
    )


def towers_config(folder: Path, **settings: Any) -> TrainingConfig:
    """Quick-thoughts by two models."""
    return replace(
        text_config(folder, towers=2, **settings),
        objective=quick_thoughts(temperature=8.0),
        positives=Adjacent(),
        batch_size=9,
    )


def image_config(folder: Path, **settings: Any) -> TrainingConfig:
    return TrainingConfig(
        objective=OBJECTIVE,
        encoder=TransformersConfig(name_or_path=str(folder), **settings),
        augmentation=Handwriting(),
        batch_size=4,
        epochs=2,
    )


def go(
    config: TrainingConfig, data: Texts | Images | None = None, folder: Path | None = None, **how: Any
) -> Run:
    run_folder = None if folder is None else RunFolder(path=folder, **how)
    return train(config, random_texts() if data is None else data, folder=run_folder, machine=CPU)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.write_text_model(tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture(scope="module")
def vit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.write_model(tmp_path_factory.mktemp("models") / "vit", tiny_models.vit())


class ByHand:
    """The same training in a loop of one's own, with nothing but transformers, torch and the objective."""

    def __init__(self, folder: Path, chunk: int | None) -> None:
        self.model = transformers.AutoModel.from_pretrained(folder, add_pooling_layer=False).train()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.chunk = chunk
        self.losses: list[float] = []

    def embed(self, sentences: list[str]) -> Tensor:
        tokens = self.tokenizer(sentences, padding=True, return_tensors="pt")
        return pooled(self.model(**tokens).last_hidden_state, tokens["attention_mask"], "mean")

    def train(self, batches: list[Tensor], sentences: tuple[str, ...]) -> None:
        optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2, weight_decay=1e-6)
        for step, pairs in enumerate(batches):
            views = [[sentences[row] for row in side] for side in pairs.T.tolist()]
            torch.manual_seed(derive(0, Purpose.STEP, step))
            if self.chunk is None:
                view_a, view_b = self.embed(views[0] + views[1]).chunk(2)
            else:
                view_a, view_b = (
                    torch.cat([self.embed(view[at : at + self.chunk]) for at in range(0, 4, self.chunk)])
                    for view in views
                )
            loss = OBJECTIVE(view_a, view_b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            self.losses.append(float(loss.detach()))


@pytest.mark.parametrize("chunk", [None, 2], ids=["whole", "chunks of 2"])
def test_a_run_is_the_loop_by_hand(bert: Path, monkeypatch: pytest.MonkeyPatch, chunk: int | None) -> None:
    losses, batches = [], []
    begin = ContrastiveModule.training_step

    def training_step(module: ContrastiveModule, batch: PairBatch, index: int) -> Tensor:
        loss = begin(module, batch, index)
        losses.append(float(loss.detach()))
        batches.append(batch[2])
        return loss

    monkeypatch.setattr(ContrastiveModule, "training_step", training_step)
    run = go(replace(text_config(bert), chunk=chunk))
    by_hand = ByHand(bert, chunk)
    by_hand.train(batches, random_texts().sentences)
    assert len(losses) == 6
    assert losses == pytest.approx(by_hand.losses, rel=1e-5)
    trained = run.model.encoder.model.state_dict()
    for name, expected in by_hand.model.state_dict().items():
        torch.testing.assert_close(trained[name], expected, rtol=1e-3, atol=1e-4)


@pytest.mark.equal_bits
@pytest.mark.parametrize("kind", ["texts", "images", "texts in chunks", "two towers"])
def test_resumed_without_the_folder_of_the_model_it_is_the_same_run(
    bert: Path, vit: Path, tmp_path: Path, kind: str
) -> None:
    model = Path(shutil.copytree(vit if kind == "images" else bert, tmp_path / "model"))
    config = image_config(model) if kind == "images" else text_config(model)
    config = replace(config, chunk=3 if "chunks" in kind else None)
    if kind == "two towers":
        config = towers_config(model)
    data = random_images(22) if kind == "images" else random_texts()
    go(config, data, tmp_path / "whole")
    go(replace(config, epochs=1), data, tmp_path / "run")
    shutil.rmtree(model)
    (tmp_path / "run/model.safetensors").unlink()
    run = go(config, data, tmp_path / "run", resume=True)
    for name in ("model.safetensors", "model.json", "metrics.csv", "config.yaml"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "run" / name).read_bytes(), name
    expected = embed(run.model, data)[0]
    for path in (tmp_path / "run", tmp_path / "run/model.safetensors"):
        encoder = tammes.load(path)
        assert not encoder.training
        assert torch.equal(encoder.embed(data), expected)
    with pytest.raises(ValueError, match="neither a folder here nor a model"):
        go(config, data, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_run_that_has_no_checkpoint_needs_the_weights(bert: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(bert, tmp_path / "model"))
    go(text_config(model), folder=tmp_path / "run")
    shutil.rmtree(model)
    for name in ("model.safetensors", "checkpoints/last.ckpt", "checkpoints/previous.ckpt"):
        (tmp_path / "run" / name).unlink()
    with pytest.raises(UnavailableWeightsError, match=r"the weights of .* cannot be read"):
        go(text_config(model), folder=tmp_path / "run", resume=True)


def test_resuming_mends_a_damaged_description(bert: Path, tmp_path: Path) -> None:
    go(text_config(bert), folder=tmp_path / "run")
    file = tmp_path / "run/model.json"
    content = file.read_bytes()
    file.write_bytes(content[:50])
    with pytest.raises(ValueError, match="expected a description of a model as JSON"):
        load_run(tmp_path / "run")
    go(text_config(bert), folder=tmp_path / "run", resume=True)
    assert file.read_bytes() == content
    file.unlink()
    with pytest.raises(
        ValueError, match=r"trained by a model of transformers, but its model\.json is missing"
    ):
        load_run(tmp_path / "run")


def test_overwriting_deletes_the_description(bert: Path, tmp_path: Path) -> None:
    go(text_config(bert), folder=tmp_path / "run")
    config = TrainingConfig(objective=OBJECTIVE, batch_size=4, epochs=1, augmentation=Handwriting())
    go(config, random_images(8), tmp_path / "run", overwrite=True)
    assert not (tmp_path / "run/model.json").exists()


@pytest.mark.parametrize("batch_size", [1, 4, 27])
def test_features_do_not_depend_on_the_batch(bert: Path, batch_size: int) -> None:
    run = go(replace(text_config(bert), epochs=1))
    texts = random_texts(seed=2)
    mixed = replace(texts, sentences=tuple(each[: 2 + 3 * (i % 5)] for i, each in enumerate(texts.sentences)))
    expected = embed(run.model, mixed)[0]
    found = embed(run.model, mixed, batch_size=batch_size)[0]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


def test_without_pretrained_weights_the_seed_decides(bert: Path, vit: Path) -> None:
    for config, data in (
        (text_config(bert, pretrained=False), random_texts()),
        (image_config(vit, pretrained=False), random_images(8)),
    ):
        first, again, other = (
            embed(go(replace(config, epochs=1, seed=seed), data).model, data)[0] for seed in (0, 0, 1)
        )
        assert torch.equal(first, again)
        assert not torch.allclose(first, other, atol=1e-2)


def test_sentences_that_lose_their_ends_are_counted_once(bert: Path, tmp_path: Path) -> None:
    config = text_config(bert, max_length=6)
    texts = random_texts()
    longer = replace(
        texts, sentences=tuple(each if i % 3 else each[:5] for i, each in enumerate(texts.sentences))
    )
    with pytest.warns(CutWarning, match="18 of 27 sentences are longer than the encoder takes") as seen:
        run = go(config, longer, tmp_path / "run")
    assert len(seen) == 1
    assert tammes.load(tmp_path / "run").embed(["w0 w1 w2 w3", "w0 w1 w2 w3 w4"]).diff(dim=0).abs().max() == 0
    assert embed(run.model, longer)[0].shape == (27, 8)


def test_a_sentence_may_be_its_own_positive_by_dropout(bert: Path, tmp_path: Path) -> None:
    config = replace(text_config(bert), positives=SameInstance())
    assert go(config).metrics[-1].loss > 0
    queue = replace(config, negatives=QueueConfig(size=8), chunk=2)
    assert go(queue).metrics[-1].step == 12
    calm = tiny_models.bert(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    folder = tiny_models.write_text_model(tmp_path / "calm", calm)
    with pytest.raises(ValueError, match=r"teaches nothing without dropout, and .*calm has none"):
        go(replace(text_config(folder), positives=SameInstance()))


def test_data_of_the_other_kind_are_refused_before_training(bert: Path, vit: Path) -> None:
    with pytest.raises(ValueError, match=r"expected Texts with augmentation=None, got Images\(8"):
        go(text_config(bert), random_images(8))
    with pytest.raises(ValueError, match=r"expected Images with augmentation=Handwriting.*, got Texts\(27"):
        go(image_config(vit), random_texts())
    with pytest.raises(ValueError, match="vit is a model of images, but the data are texts"):
        go(text_config(vit))
    with pytest.raises(ValueError, match="bert is a model of texts, but the data are images"):
        go(image_config(bert), random_images(8))
    with pytest.raises(ValueError, match="the last token means nothing in an image"):
        image_config(vit, pooling="last")


def test_a_run_on_images_refuses_texts_and_the_reverse(bert: Path, vit: Path) -> None:
    images, texts = go(image_config(vit), random_images(8)), go(text_config(bert))
    with pytest.raises(ValueError, match="trained on images, but the data are Texts"):
        embed(images.model, random_texts())
    with pytest.raises(ValueError, match="trained on texts, but the data are Images"):
        embed(texts.model, random_images(4))


def test_convolutions_train_and_load(tmp_path: Path) -> None:
    model = tiny_models.write_model(tmp_path / "resnet", tiny_models.resnet())
    run = go(image_config(model), random_images(22), tmp_path / "run")
    shutil.rmtree(model)
    assert torch.equal(
        tammes.load(tmp_path / "run").embed(random_images(5)), embed(run.model, random_images(5))[0]
    )


def test_a_scikit_learn_pipeline_reads_sentences(bert: Path, tmp_path: Path) -> None:
    go(text_config(bert), folder=tmp_path / "run")
    sentences = list(random_texts(seed=4).sentences)
    found = tammes.Embedder(tmp_path / "run", batch_size=4).transform(sentences)
    torch.testing.assert_close(
        torch.from_numpy(found), tammes.load(tmp_path / "run").embed(sentences), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize(
    ("rows", "pretrained", "epochs", "batch_size"),
    [(100, True, 10, 16), (8_000, True, 2, 64), (40_000, True, 1, 64), (8_000, False, 25, 64)],
)
def test_settings_suit_a_network_of_transformers(
    rows: int, pretrained: bool, epochs: int, batch_size: int
) -> None:
    texts = random_texts(1, 9).subset([row % 9 for row in range(rows)])
    encoder = TransformersConfig(name_or_path="here", pretrained=pretrained)
    config = suited(OBJECTIVE, texts, encoder=encoder)
    rate = 3e-5 if pretrained else 3e-4
    assert config.optimizer == Adam(
        learning_rate=rate, clip_norm=1.0, schedule=Cosine(warmup_epochs=epochs / 10)
    )
    assert (config.encoder, config.head, config.augmentation) == (encoder, None, None)
    assert (config.epochs, config.batch_size, config.positives) == (epochs, batch_size, SameClass())
    shorter = suited(OBJECTIVE, texts, encoder=encoder, epochs=5)
    assert (shorter.epochs, shorter.optimizer.schedule) == (5, Cosine(warmup_epochs=0.5))
    unknown = replace(texts, labels=None, classes=None)
    assert suited(OBJECTIVE, unknown, encoder=encoder).positives == Neighbors()


def test_settings_suit_pretrained_networks_of_images() -> None:
    images = random_images(100)
    for encoder in (TransformersConfig(name_or_path="here"), TimmConfig(name="resnet18", pretrained=True)):
        config = suited(OBJECTIVE, images, encoder=encoder)
        assert config.optimizer.learning_rate == 3e-5
        assert config.augmentation is not None
        assert config.head is not None
    assert suited(OBJECTIVE, images, encoder=TimmConfig(name="resnet18")).optimizer.learning_rate == 1e-3


def test_two_models_begin_with_the_pretrained_weights_and_share_none(bert: Path) -> None:
    texts, config = random_texts(), towers_config(bert)
    encoder = go(config).model.encoder
    assert isinstance(encoder, TransformersTowers)
    assert encoder.features == 16
    f, g = (dict(network.named_parameters()) for network in encoder.networks)
    assert not {id(weight) for weight in f.values()} & {id(weight) for weight in g.values()}
    assert any(not torch.allclose(f[name], g[name]) for name in f)  # each has learned its own
    untrained = replace(config, optimizer=Adam(learning_rate=1e-12))
    first, second = embed(go(untrained).model, texts)[0].chunk(2, dim=1)
    torch.testing.assert_close(first, second)
    random = replace(untrained, encoder=replace(config.encoder, pretrained=False))  # type: ignore[type-var]
    first, second = embed(go(random).model, texts)[0].chunk(2, dim=1)
    assert not torch.allclose(first, second, atol=1e-2)


def test_a_step_compares_one_model_of_a_sentence_with_the_other_of_those_around(tmp_path: Path) -> None:
    calm = tiny_models.bert(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    config = towers_config(tiny_models.write_text_model(tmp_path / "calm", calm))
    texts, losses = random_texts(), []

    def training_step(module: ContrastiveModule, batch: PairBatch, index: int) -> Tensor:
        loss, rows = begin(module, batch, index), batch[2][:, 0]
        f, g = module.model.encoder(batch[0]).chunk(2, dim=1)
        order = Adjacent().reading_order(texts.documents, texts.positions)[rows]
        near = (order[:, None] - order).abs() == 1
        logits = (f @ g.T / 8.0).masked_fill(torch.eye(len(rows), dtype=torch.bool), -torch.inf)
        logs = logits.log_softmax(1).masked_fill(~near, 0.0).sum(1)[near.any(1)]
        torch.testing.assert_close(loss, -(logs / near.sum(1)[near.any(1)]).mean())
        losses.append(loss)
        return loss

    begin = ContrastiveModule.training_step
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ContrastiveModule, "training_step", training_step)
        go(config)
    assert len(losses) == 6


def table(path: Path) -> Texts:
    rows = (
        f"w{row % 4} d0w{5 + row % 3},w{row % 4} d1w{5 + row % 3},w4 d2w{5 + row % 3}" for row in range(12)
    )
    path.write_text("".join(f"{row}\n" for row in ("a,b,c", *rows)))
    return triples(path, anchor_column="a", positive_column="b", negative_column="c")


@pytest.mark.parametrize("chunk", [None, 3])
@pytest.mark.parametrize("kind", ["transformers", "gru"])
def test_given_pairs_compare_f_of_anchors_with_g_of_the_others(
    tmp_path: Path, kind: str, chunk: int | None
) -> None:
    calm = tiny_models.bert(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    folder = tiny_models.write_text_model(tmp_path / "calm", calm)
    texts, seen = table(tmp_path / "table.csv"), []
    encoder = TransformersConfig(name_or_path=str(folder), pretrained=False, towers=2)
    words = TwoTowersConfig(tower=GRUConfig(width=4, embedding=3, tokens=Words(minimum_count=1)))
    config = replace(
        text_config(folder), encoder=encoder if kind == "transformers" else words, positives=GivenPairs()
    )

    def training_step(module: ContrastiveModule, batch: PairBatch, index: int) -> Tensor:
        loss, labels = begin(module, batch, index), texts.required_labels()[batch[2][:, 0]]
        f = module.model.encoder(batch[0]).chunk(2, dim=1)[0]
        g = module.model.encoder(batch[1]).chunk(2, dim=1)[1]
        cosines = torch.nn.functional.normalize(f) @ torch.nn.functional.normalize(g).T
        same = torch.cat([labels[:, None] == labels, torch.zeros(len(f), len(f), dtype=torch.bool)], dim=1)
        logits = cosines / OBJECTIVE.temperature
        if int(same.sum()) == len(f):  # no anchor occurs twice in this batch
            expected = (logits.logsumexp(1) - logits[same]).mean()
            torch.testing.assert_close(loss, expected)
            weights = [each for each in module.model.parameters() if each.requires_grad]
            gradients = torch.autograd.grad(loss, weights, retain_graph=True)
            for one, other in zip(gradients, torch.autograd.grad(expected, weights), strict=True):
                torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)
            seen.append(labels)
        return begin(module, batch, index)

    begin = ContrastiveModule.training_step
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ContrastiveModule, "training_step", training_step)
        run = go(replace(config, chunk=chunk), texts, tmp_path / "run")
    assert seen
    features = tammes.load(tmp_path / "run").embed(texts)
    assert torch.equal(features, embed(run.model, texts)[0])
    assert features.shape[1] == (16 if kind == "transformers" else 8)


def test_two_towers_in_the_wrong_place_are_refused(bert: Path, vit: Path) -> None:
    config = towers_config(bert)
    for positives in (Adjacent(), GivenPairs()):
        with pytest.raises(ValueError, match=r"two towers are compared without a head"):
            replace(config, positives=positives, head=ProjectionHeadConfig())
    with pytest.raises(ValueError, match=r"towers=2 is for texts"):
        image_config(vit, towers=2)
    for towers in (0, 3, True):
        with pytest.raises(ValueError, match=f"towers must be 1 or 2, got {towers}"):
            TransformersConfig(name_or_path="here", towers=towers)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"two models of transformers are TransformersConfig\(towers=2\)"):
        TwoTowersConfig(tower=TransformersConfig(name_or_path="here"))  # type: ignore[arg-type]


def test_quick_thoughts_keeps_the_small_steps_of_a_pretrained_model(bert: Path) -> None:
    encoder = TransformersConfig(name_or_path=str(bert), towers=2)
    usual = suited(quick_thoughts(), random_texts(30, 40), encoder=encoder)
    config = with_adjacent_sentences(usual, 1200)
    assert config == replace(usual, positives=Adjacent())
    assert (config.optimizer.learning_rate, config.batch_size, config.head) == (3e-5, 64, None)
