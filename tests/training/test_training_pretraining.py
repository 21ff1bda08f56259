"""The thesis's settings of pre-training with masks, and how they scale."""

from __future__ import annotations

import pytest
import torch

from tammes import recipes
from tammes.data import Images, TensorPixels
from tammes.encoders import ProjectionHeadConfig, VisionTransformerConfig
from tammes.masked import Weights
from tammes.positives import Photographs
from tammes.training import Cosine, Masked, TrainingConfig, suited
from tammes.training.pretraining import (
    TABLE_D2,
    TABLE_D2_LARGE,
    TABLE_D3_LARGE,
    TABLE_D4,
    TABLE_D5,
    PretrainingTable,
    fitting_transformer,
)


def settings(masked: Masked | None, batch_size: int | None = None) -> TrainingConfig:
    noise = torch.randint(0, 256, (2_000, 3, 32, 32), generator=torch.Generator().manual_seed(0))
    images = Images(pixels=TensorPixels(noise.to(torch.uint8)), names=("",) * 2_000)
    return suited(recipes.simclr(temperature=0.1), images, masked=masked, epochs=40, batch_size=batch_size)


@pytest.mark.parametrize(
    ("table", "rate", "decay", "hidden"),
    [
        (TABLE_D2, 4e-3, 0.05, 0.5),
        (TABLE_D2_LARGE, 2e-3, 0.1, 0.5),
        (TABLE_D3_LARGE, 5e-4, 0.05, 0.5),
        (TABLE_D4, 2.4e-3, 0.05, 0.75),
        (TABLE_D5, 6e-4, 0.05, 0.75),
    ],
)
def test_tables_at_the_thesis_batch(
    table: PretrainingTable, rate: float, decay: float, hidden: float
) -> None:
    optimizer = table.optimizer(batch_size=4096, epochs=800)
    assert optimizer.learning_rate == pytest.approx(rate)
    assert (optimizer.weight_decay, optimizer.betas) == (decay, (0.9, 0.95))
    assert optimizer.schedule == Cosine(warmup_epochs=40.0)
    assert table.masked.rate == hidden


def test_tables_have_the_views_of_the_thesis() -> None:
    """Color jitter of strength s changes brightness, contrast and saturation by 0.8 s, hue by 0.2 s."""
    for table in (TABLE_D2, TABLE_D2_LARGE, TABLE_D3_LARGE):
        views = table.augmentation
        assert (views.brightness, views.contrast, views.saturation, views.hue) == (0.8, 0.8, 0.8, 0.2)
        assert (views.jitter_probability, views.grayscale_probability) == (0.8, 0.2)
        assert views.blur_probability == 0.5
    assert TABLE_D4.augmentation == TABLE_D5.augmentation == settings(Masked.mae()).augmentation


def test_can_has_its_network_head_and_optimizer() -> None:
    config = settings(Masked(), batch_size=128)
    assert config.encoder == VisionTransformerConfig(patch=4)
    assert config.head == ProjectionHeadConfig(hidden=512, layers=3, batch_norm=True, output_norm=False)
    assert config.optimizer == TABLE_D2.optimizer(batch_size=128, epochs=40)
    assert config.batch_size == 128
    assert config.augmentation == settings(None).augmentation
    assert config.masked is not None
    assert config.masked.weights == Weights.printed()


def test_mae_has_no_head_and_views_that_are_cropped_and_mirrored_alone() -> None:
    config = settings(Masked.mae())
    assert config.head is None
    assert config.augmentation == Photographs(
        jitter_probability=0.0, grayscale_probability=0.0, blur_probability=0.0
    )
    assert config.optimizer.learning_rate == pytest.approx(6e-4)


@pytest.mark.parametrize(("size", "patch"), [(8, 2), (28, 2), (32, 4), (96, 12), (224, 16), (9, 4)])
def test_patches_fit_the_images(size: int, patch: int) -> None:
    assert fitting_transformer(size).patch == patch


def test_the_last_layer_of_a_head_may_have_no_normalization() -> None:
    kinds = [type(each).__name__ for each in ProjectionHeadConfig(batch_norm=True).build(8).layers]
    bare = [
        type(each).__name__
        for each in ProjectionHeadConfig(batch_norm=True, output_norm=False).build(8).layers
    ]
    assert kinds == [*bare, "BatchNorm1d"]
