"""The advice on negatives: counted, given or estimated, or not said at all."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tammes import Objective, OtherLabels, Subset, recipes
from tammes.cli.advice import advice, advice_of_views, positives_of_texts
from tammes.cli.main import main
from tammes.cli.options.data import Split
from tammes.cli.train import precision_hint
from tammes.data import Texts
from tammes.encoders import (
    BagOfWordsConfig,
    GINEncoderConfig,
    GRUConfig,
    TextEncoderConfig,
    TextTransformerConfig,
    TwoTowersConfig,
    VisionTransformerConfig,
)
from tammes.positives import Adjacent, GivenPairs, OwnGraph
from tammes.report import Curve, Outcome, Scores
from tammes.training import Machine, Masked, QueueConfig, TrainingConfig
from tammes.training.suited import suited
from tiny import random_images, write_images

SETTINGS = (
    "--size 8 --batch-size 4 --epochs 1 --accelerator cpu encoder:convnet --encoder.width 8 --head.dim 8"
)


def of(objective: Objective) -> TrainingConfig:
    return suited(objective, random_images(40))


def outcome(view_a: torch.Tensor, view_b: torch.Tensor) -> Outcome:
    pairs = len(view_a)
    allowed = np.kron(np.ones((2, 2)), 1 - np.eye(pairs))
    return Outcome(
        name="simclr",
        objective="Objective()",
        scores=Scores(),
        seconds=1.0,
        loss=Curve(epochs=np.array([1]), values=np.array([1.0])),
        features=view_a.numpy(),
        embeddings=view_a.numpy(),
        view_a=view_a.numpy(),
        view_b=view_b.numpy(),
        weights=allowed / allowed.sum(axis=1, keepdims=True),
    )


def views_of_ten_classes() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    centers = torch.randn(10, 32, generator=generator)[torch.arange(200) % 10]
    view_a, view_b = (centers + 0.3 * torch.randn(200, 32, generator=generator) for _ in range(2))
    return view_a, view_b


def test_labels_are_counted_and_a_number_goes_before_them() -> None:
    images, config = random_images(40), of(recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1))
    negatives, coupling, prior = advice(Split(data="x"), images, [config])
    assert negatives.startswith("Negatives: with 2 classes, 50.0 % of random ones are false")
    assert coupling.startswith("Coupling: uniform")
    assert prior == "Class prior: the objective has 0.1, the data 0.5: give it that."
    negatives, coupling, prior = advice(Split(data="x", classes=1000), images, [config])
    assert negatives.startswith("Negatives: with 1,000 classes, 0.10 %")
    assert coupling.startswith("Coupling: hard")
    assert "the data 0.001: give it that" in prior


def test_rows_without_a_class_of_their_own_are_no_classes() -> None:
    """Rows of a table without labels are documents, and of pairs the anchors are: neither are classes."""
    objective = recipes.simclr(temperature=0.1)
    each = Texts(
        sentences=("a b", "c d", "e f"), names=("1", "2", "3"), labels=torch.arange(3), classes=tuple("abc")
    )
    assert advice(Split(data="x"), each, [suited(objective, each)]) == ()
    two = replace(each, labels=torch.tensor([0, 1, 1]), classes=("a", "b"))
    config = suited(objective, two)
    assert advice(Split(data="x"), two, [config])[0].startswith("Negatives: with 2 classes")
    assert advice(Split(data="x"), two, [replace(config, positives=GivenPairs())]) == ()


def test_the_pairs_of_texts_are_said() -> None:
    labeled = Texts.of(["a b", "c d", "e f", "g h"])
    labeled = replace(labeled, labels=torch.tensor([0, 0, 1, 1]), classes=("a", "b"))
    config = suited(recipes.simclr(temperature=0.1), labeled)
    assert "the labels are trained on" in positives_of_texts(labeled, config)[0]
    without = replace(labeled, labels=None, classes=None)
    (said,) = positives_of_texts(without, suited(recipes.simclr(temperature=0.1), without))
    assert "For rows in no order" in said
    assert positives_of_texts(labeled, replace(config, positives=Adjacent())) == ()
    assert positives_of_texts(random_images(40), of(recipes.simclr(temperature=0.5))) == ()


def test_negatives_are_counted_where_they_are_the_views_of_the_other_rows() -> None:
    images, config = random_images(40), of(recipes.simclr(temperature=0.5))
    queue = replace(config, negatives=QueueConfig(size=64))
    graphs = TrainingConfig(
        objective=recipes.jsd(), encoder=GINEncoderConfig(), augmentation=None, positives=OwnGraph()
    )
    assert f"of the {2 * config.batch_size - 2} in a batch" in advice(Split(data="x"), images, [config])[0]
    for other in (replace(config, crops=3), queue, graphs):
        assert "in a batch" not in advice(Split(data="x"), images, [other])[0]
        assert "in a batch" not in advice_of_views(outcome(*views_of_ten_classes()), [other])[0]


def test_of_several_objectives_the_prior_is_that_of_one_that_has_one() -> None:
    configs = [of(recipes.simclr(temperature=0.5)), of(recipes.dcl(temperature=0.5, class_prior=0.4))]
    assert "has 0.4, the data 0.5." in advice(Split(data="x"), random_images(40), configs)[2]
    assert "has none" in advice(Split(data="x"), random_images(40), configs[:1])[2]


def test_objectives_that_know_the_labels_have_no_false_negatives() -> None:
    for selection in (OtherLabels(), Subset(k=3, among=OtherLabels())):
        config = of(recipes.simclr(temperature=0.5, selection=selection))
        assert advice(Split(data="x"), random_images(40), [config]) == ()


def test_masked_autoencoders_have_no_negatives() -> None:
    simclr = of(recipes.simclr(temperature=0.5))
    mae, can = (
        suited(simclr.objective, random_images(40), encoder=VisionTransformerConfig(), masked=masked)
        for masked in (Masked.mae(), Masked())
    )
    trained = outcome(*views_of_ten_classes())
    assert advice(Split(data="x"), random_images(40), [mae]) == advice_of_views(trained, [mae]) == ()
    assert advice(Split(data="x"), random_images(40), [mae, can]) != ()
    assert advice_of_views(trained, [can]) != ()


def test_without_classes_the_views_are_asked() -> None:
    config = of(recipes.simclr(temperature=0.5))
    images = random_images(40)
    unlabeled = type(images)(pixels=images.pixels, names=images.names)
    assert advice(Split(data="x"), unlabeled, [config]) == ()
    negatives, coupling, _ = advice_of_views(outcome(*views_of_ten_classes()), [config])
    assert "judged by this embedding" in negatives
    assert "nothing is resolved" in coupling
    collapsed = torch.ones(200, 4)
    assert advice_of_views(outcome(collapsed, collapsed), [config]) == ()
    assert advice_of_views(outcome(torch.eye(200), torch.eye(200)), [config]) == ()


@pytest.mark.parametrize("classes", [1, 10**10])
def test_a_number_of_classes_out_of_range_is_refused(
    classes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"train simclr --data digits --temperature 0.5 --classes {classes}"
    assert main(words.split()) == 2
    assert "--classes must be from 2 to 1,000,000,000" in capsys.readouterr().err


def test_a_training_says_it_and_its_page_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    data = write_images(tmp_path / "pets", "cat", "dog", count=9)
    words = f"train simclr --data {data} --temperature 0.5 --out {tmp_path / 'run'} {SETTINGS}"
    assert main(words.split()) == 0
    said = capsys.readouterr().out
    sentence = "Negatives: with 2 classes, 50.0 % of random ones are false, of the anchor"
    assert said.index(sentence) < said.index("epoch 1/1")
    assert said.count("Coupling: ") == 1
    page = (tmp_path / "run/report.html").read_text()
    assert sentence in page
    assert "Class prior: the objective has none; that of the data is 0.5." in page
    assert "before training" in page


def test_a_comparison_without_labels_is_told_the_number_of_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    data = write_images(tmp_path / "flat", ".", count=9)
    words = f"compare simclr hcl --data {data} --classes 200 --report {tmp_path / 'r.html'} {SETTINGS}"
    assert main(words.split()) == 0
    said = capsys.readouterr().out
    assert said.count("Negatives: with 200 classes, 0.50 %") == 1
    assert "Class prior: the objective has 0.1, the data 0.005: give it that." in said
    assert "with 200 classes" in (tmp_path / "r.html").read_text()


def yes() -> bool:
    return True


def no() -> bool:
    return False


def test_the_precision_that_the_processor_is_quicker_in_is_named() -> None:
    config, machine = of(recipes.simclr(temperature=0.5)), Machine(accelerator="cpu")
    mixed = replace(config, precision="bf16-mixed")
    (said,) = precision_hint(config, machine, is_quick=yes, is_slow=no)
    assert "--precision bf16-mixed" in said
    assert not precision_hint(config, machine, is_quick=no, is_slow=yes)
    assert not precision_hint(mixed, machine, is_quick=yes, is_slow=no)
    (said,) = precision_hint(mixed, machine, is_quick=no, is_slow=yes)
    assert "--precision 32-true" in said


@pytest.mark.parametrize(
    ("encoder", "would_gain"),
    [
        (GRUConfig(width=256), True),
        (TwoTowersConfig(tower=GRUConfig(width=256)), True),
        (TextTransformerConfig(width=256), True),
        (GRUConfig(width=64), False),
        (BagOfWordsConfig(), False),
    ],
)
def test_bfloat16_is_named_for_wide_networks_of_words(encoder: TextEncoderConfig, would_gain: bool) -> None:
    texts = Texts.of(["a b", "c d", "e f", "g h"])
    config = suited(recipes.simclr(temperature=0.5), texts, encoder=encoder)
    assert bool(precision_hint(config, Machine(accelerator="cpu"), is_quick=yes, is_slow=no)) is would_gain
