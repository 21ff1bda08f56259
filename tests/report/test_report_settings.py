"""Settings in words: nothing at the top of a page looks like a program."""

import re
from dataclasses import replace

import pytest

import tammes
from tammes.encoders import (
    BagOfWordsConfig,
    ConvNetConfig,
    GINEncoderConfig,
    ModuleConfig,
    ProjectionHeadConfig,
    TimmConfig,
)
from tammes.positives import (
    Active,
    GivenPairs,
    Handwriting,
    Identity,
    Photographs,
    Quantile,
    SameClass,
    Targeted,
)
from tammes.report.settings import data_settings, differing_settings, in_words, training_settings
from tammes.training import (
    Adam,
    Cosine,
    Falling,
    GraphsSummary,
    ImagesSummary,
    Oscillating,
    QueueConfig,
    RunConfig,
    TextsSummary,
    TrainingConfig,
)

SIMCLR = tammes.recipes.simclr(temperature=0.5)
CONFIG = TrainingConfig(objective=SIMCLR)
DATA = ImagesSummary(source="digits", count=1437, channels=1, size=8)

PARTS: list[tuple[object, str]] = [
    (None, "none"),
    (True, "yes"),
    (7, "7"),
    (0.5, "0.5"),
    (3e-5, "3e\N{MINUS SIGN}5"),
    (1e20, "1e20"),
    ((), "none"),
    (("brightness", "hue"), "brightness and hue"),
    ((8, 16, 32), "8, 16 and 32"),
    (Identity(), "identity"),
    (ConvNetConfig(), "convnet: width 32"),
    (GINEncoderConfig(), "gin: width 32, layers 3"),
    (BagOfWordsConfig(dim=64), "bag of words: dim 64, minimum count 5, lowercase no"),
    (ModuleConfig(factory="my_package.nets:build"), "module: factory my_package.nets:build"),
    (TimmConfig(name="vit_tiny"), "timm: name vit_tiny, pretrained no"),
    (ProjectionHeadConfig(), "projection head: dim 128, layers 2, batch norm no, output norm yes"),
    (QueueConfig(size=64), "queue: size 64, momentum 0.99, rising no"),
    (Falling(changes=2), "falling: changes 2"),
    (Targeted(freely=("hue", "noise")), "targeted: freely hue and noise, little 0.25"),
    (
        Active(candidates=3, acceptance=Quantile(share=0.5)),
        "active: candidates 3, classes clusters (number 10), acceptance quantile (share 0.5), refresh 100, "
        "warm up 0, sample 2048",
    ),
    (
        Adam(clip_norm=2.5, schedule=Cosine(warmup_epochs=1)),
        "adam: learning rate 0.001, weight decay 1e\N{MINUS SIGN}6, schedule cosine (warmup epochs 1), "
        "clip norm 2.5",
    ),
]


@pytest.mark.parametrize(("part", "words"), PARTS, ids=lambda each: str(each)[:20])
def test_a_part_is_said_in_words(part: object, words: str):
    assert in_words(part) == words


CONFIGS = [
    CONFIG,
    replace(CONFIG, objective=tammes.recipes.hcl_ot(temperature=0.5, epsilon=0.3), head=None),
    replace(CONFIG, learn_temperature=True, chunk=8, precision="bf16-mixed", negatives=QueueConfig(size=7)),
    replace(CONFIG, annealing=Oscillating(low=0.1, high=1.0, period=20), augmentation=Handwriting()),
    replace(CONFIG, positives=Active(), encoder=ModuleConfig(factory="nets:build")),
    TrainingConfig(
        objective=SIMCLR,
        encoder=BagOfWordsConfig(),
        head=None,
        augmentation=None,
        positives=SameClass(),
    ),
]


@pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))
def test_no_setting_looks_like_python(config: TrainingConfig):
    for value in training_settings(config).values():
        assert not re.search(r"None|True|False|\w\(|=|'|\[|e-0|Config", value), value


def test_only_what_is_unusual_is_said():
    usual = ["encoder", "views", "batch size", "epochs", "optimizer", "seed"]
    assert list(training_settings(CONFIG)) == usual
    unusual = training_settings(CONFIGS[2])
    assert unusual["temperature"] == "learned"
    assert unusual["chunk"] == "8 views at a time"
    assert unusual["precision"] == "bf16-mixed"
    assert training_settings(CONFIGS[1])["head"] == "none"


def test_data_are_counted():
    assert data_settings(DATA) == {"images": "1,437 of 8x8 pixels in gray"}
    assert data_settings(replace(DATA, channels=3)) == {"images": "1,437 of 8x8 pixels in color"}
    texts = TextsSummary(source="a", count=5000, documents=12, vocabulary=900, digest="x")
    assert data_settings(texts) == {"sentences": "5,000 of 12 documents, 900 words"}
    assert data_settings(replace(texts, documents=0)) == {"sentences": "5,000, 900 words"}
    assert data_settings(texts, GivenPairs()) == {"sentences": "5,000 of 12 anchors, 900 words"}


def test_one_feature_is_singular():
    for columns, words in ((("1",), "1 feature"), (("a", "b"), "2 features")):
        graphs = GraphsSummary(source="x", count=54, nodes=526, columns=columns, digest="0")
        assert data_settings(graphs) == {"graphs": f"54 with 526 nodes of {words}"}


def test_settings_that_differ_are_named_with_their_values():
    other = replace(
        CONFIG,
        objective=tammes.recipes.hcl(temperature=0.2, beta=1.0),
        optimizer=Adam(clip_norm=2.5),
        augmentation=Photographs(hue=0.0),
        seed=4,
    )
    configs = [RunConfig(training=CONFIG, data=DATA), RunConfig(training=other, data=replace(DATA, size=16))]
    assert differing_settings(configs) == {
        "temperature": ["0.5", "0.2"],
        "coupling": ["uniform", "hard"],
        "coupling beta": ["–", "1"],
        "augmentation hue": ["0.1", "0"],
        "optimizer clip norm": ["none", "2.5"],
        "data size": ["8", "16"],
    }
    # What only one of the couplings has is said if it is unusual.
    clipped = replace(other, objective=replace(other.objective, coupling=tammes.Hard(beta=1.0, clip=5.0)))
    configs = [RunConfig(training=each, data=DATA) for each in (CONFIG, clipped)]
    assert differing_settings(configs)["coupling clip"] == ["–", "5"]
    seeds = [RunConfig(training=replace(CONFIG, seed=seed), data=DATA) for seed in (0, 1)]
    assert differing_settings(seeds) == {}
