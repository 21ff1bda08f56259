from dataclasses import replace

import pytest
import torch

from tammes import recipes
from tammes.data import Images, TensorPixels, Texts
from tammes.encoders import (
    BagOfWordsConfig,
    ConvNetConfig,
    GRUConfig,
    ProjectionHeadConfig,
    ResNet9Config,
    ResNetConfig,
    TextTransformerConfig,
    TwoTowersConfig,
)
from tammes.evaluation import KNN, LabeledFeatures
from tammes.positives import Handwriting, Neighbors, Photographs, SameClass
from tammes.training import Adam, Cosine, TrainingConfig, embed, suited, train
from tammes.training.optimizer import Optimizer
from tammes.training.suited import even_background, suited_augmentation
from tiny import random_texts

OBJECTIVE = recipes.simclr(temperature=0.2)


def images_of(pixels: torch.Tensor) -> Images:
    return Images(pixels=TensorPixels(pixels), names=tuple(f"{row}" for row in range(len(pixels))))


def scans(count: int, *, background: int, channels: int = 1) -> torch.Tensor:
    """Gray noise in the middle of an even background."""
    pixels = torch.full((count, channels, 12, 12), background, dtype=torch.uint8)
    middle = torch.randint(0, 256, (count, 1, 6, 6), dtype=torch.uint8)
    pixels[:, :, 3:9, 3:9] = middle
    return pixels


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("background", "level"), [(0, 0.0), (255, 1.0), (51, 0.2)])
def test_gray_images_on_an_even_background_are_distorted_over_that_background(
    background: int, level: float, channels: int
) -> None:
    drawn = images_of(scans(200, background=background, channels=channels))
    assert suited_augmentation(drawn) == Handwriting(background=level)


def test_other_images_are_photographs() -> None:
    noise = torch.randint(0, 256, (20, 1, 12, 12), dtype=torch.uint8)
    assert suited_augmentation(images_of(noise)) == Photographs()
    assert suited_augmentation(images_of(noise), mirrors=False).flip_probability == 0
    assert even_background(noise) is None
    # A border of one color is no background of gray images, nor are backgrounds of many levels.
    red = scans(20, background=0, channels=3)
    red[:, 0] += 1
    assert suited_augmentation(images_of(red)) == Photographs()
    levels = torch.cat([scans(10, background=level) for level in (0, 60, 120, 180)])
    assert suited_augmentation(images_of(levels)) == Photographs()


def test_the_sample_comes_from_all_of_the_images() -> None:
    half = torch.cat([scans(500, background=0), torch.randint(0, 256, (500, 1, 12, 12), dtype=torch.uint8)])
    assert suited_augmentation(images_of(half)) == Photographs()


@pytest.mark.parametrize(
    ("rows", "batch_size"), [(1, 2), (6, 6), (9, 8), (100, 16), (1_000, 128), (1_437, 256), (5_000, 256)]
)
def test_small_sets_have_smaller_batches(rows: int, batch_size: int) -> None:
    images = images_of(torch.zeros(rows, 1, 8, 8, dtype=torch.uint8))
    config = suited(OBJECTIVE, images, encoder=ConvNetConfig(width=16))
    assert (config.batch_size, config.encoder) == (batch_size, ConvNetConfig(width=16))


def test_texts_are_compared_without_a_head_at_a_large_learning_rate() -> None:
    texts = random_texts(4, 700)
    config = suited(OBJECTIVE, texts, seed=3)
    assert config.encoder == BagOfWordsConfig(dim=256, minimum_count=2, lowercase=True)
    assert config.head is None
    assert config.positives == SameClass()
    assert (config.optimizer.learning_rate, config.optimizer.schedule) == (0.1, Cosine(warmup_epochs=0))
    assert (config.batch_size, config.epochs, config.seed) == (256, 71, 3)
    unknown = replace(texts, labels=None, classes=None)
    assert suited(OBJECTIVE, unknown).positives == Neighbors()


@pytest.mark.parametrize("towers", [1, 2])
def test_networks_that_read_words_in_order_have_smaller_steps(towers: int) -> None:
    """At 0.1, the rate of a bag of words, a transformer over words does not learn (docs/text.md)."""
    texts = random_texts(4, 700)

    def optimizer(tower: GRUConfig | TextTransformerConfig) -> Optimizer:
        encoder = tower if towers == 1 else TwoTowersConfig(tower=tower)
        return suited(OBJECTIVE, texts, encoder=encoder, epochs=20).optimizer

    assert optimizer(GRUConfig()) == Adam(learning_rate=1e-2, schedule=Cosine(warmup_epochs=0), clip_norm=5.0)
    assert optimizer(TextTransformerConfig()) == Adam(
        learning_rate=1e-3, schedule=Cosine(warmup_epochs=2), clip_norm=1.0
    )


def mostly_common_words(documents: int, sentences: int) -> Texts:
    """Sentences with one word of their document among seven that all documents share."""
    generator = torch.Generator().manual_seed(0)
    rows = []
    for document in range(documents):
        for _ in range(sentences):
            own = int(torch.randint(0, 3, (), generator=generator))
            common = torch.randint(0, 60, (7,), generator=generator).tolist()
            rows.append(" ".join([f"d{document}w{own}", *(f"w{word}" for word in common)]))
    return Texts(
        sentences=tuple(rows),
        names=tuple(map(str, range(len(rows)))),
        labels=torch.arange(documents).repeat_interleave(sentences),
        classes=tuple(f"document {number}" for number in range(documents)),
    )


def test_texts_learn_what_their_documents_share() -> None:
    """At Adam's usual rate of 1e-3 and with a head the same bag of words stays near where it began."""
    texts = mostly_common_words(4, 60)
    train_texts = texts.subset([row for row in range(len(texts)) if row % 3])
    test_texts = texts.subset([row for row in range(len(texts)) if row % 3 == 0])
    config = replace(suited(OBJECTIVE, train_texts), epochs=20)

    def accuracy(config: TrainingConfig) -> float:
        run = train(config, train_texts, source="letters")
        features = [embed(run.model, part)[0] for part in (train_texts, test_texts)]
        known, unknown = (
            LabeledFeatures(features=each, labels=part.required_labels())
            for each, part in zip(features, (train_texts, test_texts), strict=True)
        )
        return KNN(neighbors=5).accuracy(known, unknown)

    slow = replace(config, optimizer=Adam(), head=ProjectionHeadConfig())
    learned, stayed = accuracy(config), accuracy(slow)
    assert learned > stayed + 0.2, f"{learned} against {stayed}"


@pytest.mark.parametrize(("rows", "epochs"), [(100, 100), (2_000, 100), (5_000, 40), (60_000, 3), (10**6, 3)])
def test_handwriting_is_visited_two_hundred_thousand_times(rows: int, epochs: int) -> None:
    images = images_of(torch.zeros(1, 1, 8, 8, dtype=torch.uint8).expand(rows, 1, 8, 8))
    config = suited(OBJECTIVE, images)
    assert config.epochs == epochs
    assert config.encoder == ConvNetConfig()
    assert config.optimizer == Adam(schedule=Cosine(warmup_epochs=1))


@pytest.mark.parametrize(("rows", "epochs"), [(1_000, 100), (5_000, 20), (60_000, 3)])
def test_photographs_have_a_larger_network_with_larger_steps(rows: int, epochs: int) -> None:
    photograph = torch.randint(256, (1, 3, 8, 8), dtype=torch.uint8)
    config = suited(OBJECTIVE, images_of(photograph.expand(rows, 3, 8, 8)))
    assert config.epochs == epochs
    assert config.encoder == ResNet9Config(width=32)
    assert config.optimizer == Adam(learning_rate=3e-3, schedule=Cosine(warmup_epochs=1))
    assert config.head == ProjectionHeadConfig(batch_norm=True)


def test_another_network_has_the_usual_head_learning_rate_and_epochs() -> None:
    photographs = images_of(torch.randint(256, (1, 3, 8, 8), dtype=torch.uint8).expand(5_000, 3, 8, 8))
    config = suited(OBJECTIVE, photographs, encoder=ConvNetConfig())
    assert config.head == ProjectionHeadConfig()
    assert config.optimizer.learning_rate == 1e-3
    assert config.epochs == 40


def test_large_images_have_a_residual_network() -> None:
    images = images_of(torch.zeros(10, 1, 65, 65, dtype=torch.uint8))
    assert suited(OBJECTIVE, images).encoder == ResNetConfig(small_image_stem=False)


def test_normalization_in_the_head_needs_two_rows() -> None:
    photographs = images_of(torch.randint(256, (1, 3, 8, 8), dtype=torch.uint8).expand(100, 3, 8, 8))
    with pytest.raises(
        ValueError, match=r"a single one has no variance, got chunk=1 for \d+ rows: choose at least 2"
    ):
        replace(suited(OBJECTIVE, photographs), chunk=1)
    with pytest.raises(ValueError, match="chunk=2 for 7 rows: choose at least 3"):
        replace(suited(OBJECTIVE, photographs), batch_size=7, chunk=2)
    assert replace(suited(OBJECTIVE, photographs), batch_size=7, chunk=4).chunk == 4
    assert replace(suited(OBJECTIVE, photographs, encoder=ConvNetConfig()), chunk=1).chunk == 1
