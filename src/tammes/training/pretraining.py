"""Settings of pre-training with masks as the thesis prints them, and how they scale to a training."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tammes.checks import check_integer
from tammes.encoders import ProjectionHeadConfig, VisionTransformerConfig
from tammes.positives import Photographs
from tammes.training.masked import Masked
from tammes.training.optimizer import AdamW, Cosine

if TYPE_CHECKING:
    from tammes.training.config import TrainingConfig

PRINTED_BATCH, BASE_BATCH = 4096, 256
"""Batch of the tables, and the one to which a base learning rate belongs."""
MOST_PATCHES_A_SIDE, LARGEST_PATCH = 8, 16


@dataclass(frozen=True, kw_only=True)
class PretrainingTable:
    """Settings of a pre-training: AdamW with betas 0.9 and 0.95, a warm-up, half a cosine, and masks.

        learning rate  =  base_rate 4096 / 256 sqrt( batch / 4096 )

    At the batch of the tables, 4,096, this is the base rate times batch / 256, as it is printed. To smaller
    batches the rate falls with the square root, as suits Adam, whose steps do not grow with the gradient. The
    warm-up of 40 epochs out of 800 is a twentieth of any training.

    Args:
        base_rate: base learning rate, a sixteenth of that at a batch of 4,096.
        weight_decay: weight decay of AdamW.
        masked: rate of the masks, and weights of the terms.
        augmentation: the views, of photographs of 224 pixels.
        warmup_share: share of the epochs in which the learning rate rises.

    Source: Robinson (2023), Tables D.2 to D.5; color jitter of strength 1 is that of Chen et al. (2020),
    appendix A. `tammes.evaluation.FineTuning` has Table D.6. The linear probe of Table D.7 (LARS, batches of
    16,384, 100 epochs) is not offered: `tammes.evaluation.LinearProbe` is a logistic regression in its place.
    Differs: the square root, where a base rate usually means a linear rule; the tables have one batch alone.
    Images are mirrored, too, which the tables do not list.

    Example:
        >>> TABLE_D2.optimizer(batch_size=256, epochs=100)
        AdamW(learning_rate=0.001, weight_decay=0.05, schedule=Cosine(warmup_epochs=5.0), clip_norm=None, betas=(0.9, 0.95))
    """  # noqa: E501

    base_rate: float
    weight_decay: float = 0.05
    masked: Masked
    augmentation: Photographs
    warmup_share: float = 0.05

    def optimizer(self, *, batch_size: int, epochs: int) -> AdamW:
        """Return the optimizer of a training.

        Args:
            batch_size: pairs per step.
            epochs: number of epochs.
        """
        share = check_integer("batch_size", batch_size) / PRINTED_BATCH
        rate = self.base_rate * PRINTED_BATCH / BASE_BATCH * math.sqrt(share)
        schedule = Cosine(warmup_epochs=self.warmup_share * check_integer("epochs", epochs))
        return AdamW(learning_rate=rate, weight_decay=self.weight_decay, schedule=schedule)


STRONG_COLORS = Photographs(brightness=0.8, contrast=0.8, saturation=0.8, hue=0.2, blur_probability=0.5)
"""Views with color jitter of strength 1, twice that of `Photographs`, and blur."""
CROPS_ALONE = Photographs(jitter_probability=0.0, grayscale_probability=0.0, blur_probability=0.0)
"""Crops and mirror images."""
TABLE_D2 = PretrainingTable(base_rate=2.5e-4, masked=Masked(), augmentation=STRONG_COLORS)
"""CAN (and SimCLR, with `Masked.contrast_alone()`) on ImageNet, of ViT-B."""
TABLE_D2_LARGE = replace(TABLE_D2, base_rate=1.25e-4, weight_decay=0.1)
"""The same of ViT-L."""
TABLE_D3 = TABLE_D2
"""CAN on JFT-300M and ImageNet-21K, of ViT-B."""
TABLE_D3_LARGE = replace(TABLE_D3, base_rate=3.125e-5)
"""The same of ViT-L."""
TABLE_D4 = PretrainingTable(base_rate=1.5e-4, masked=Masked.mae(), augmentation=CROPS_ALONE)
"""MAE on ImageNet."""
TABLE_D5 = replace(TABLE_D4, base_rate=3.75e-5)
"""MAE on JFT-300M and ImageNet-21K."""


def with_masks(config: TrainingConfig, masked: Masked) -> TrainingConfig:
    """Return the settings of a training with masks: the optimizer and the head of the thesis.

    The head has two hidden layers with batch normalization (appendix D.3). Without contrast there is none,
    and photographs are cropped and mirrored alone (Table D.4).

    Args:
        config: settings of the training without masks.
        masked: settings of the masks.

    Source: Robinson (2023), Tables D.2 and D.4. Differs: with contrast the views stay those of `config`,
    which suit small images (colors at half the strength, no blur); `TABLE_D2.augmentation` has those of the
    thesis.

    Example:
        >>> from tammes import recipes
        >>> from tammes.data import digits
        >>> from tammes.training import suited
        >>> config = suited(recipes.simclr(temperature=0.1), digits("train"))
        >>> config = replace(config, encoder=VisionTransformerConfig(patch=2))
        >>> with_masks(config, Masked()).optimizer.weight_decay
        0.05
    """
    table = TABLE_D2 if masked.contrast else TABLE_D4
    head = ProjectionHeadConfig(hidden=512, layers=3, batch_norm=True, output_norm=False)
    views = config.augmentation
    if not masked.contrast and isinstance(views, Photographs):
        views = replace(views, jitter_probability=0.0, grayscale_probability=0.0, blur_probability=0.0)
    return replace(
        config,
        masked=masked,
        head=head if masked.contrast else None,
        augmentation=views,
        optimizer=table.optimizer(batch_size=config.batch_size, epochs=config.epochs),
    )


def fitting_transformer(size: int) -> VisionTransformerConfig:
    """Return a small Vision Transformer whose patches fit the images: about 8 x 8 of them.

    Both sides have an even number of patches, so that a half and three quarters can be hidden.

    Args:
        size: height and width of the images in pixels.

    Example:
        >>> [fitting_transformer(size).patch for size in (8, 28, 32, 64, 224)]
        [2, 2, 4, 8, 16]
    """
    fitting = [patch for patch in range(1, _largest_patch(size) + 1) if size % (2 * patch) == 0]
    return VisionTransformerConfig(patch=fitting[-1]) if fitting else VisionTransformerConfig()


def fitting_size(size: int) -> int:
    """Return the largest size, up to the given one, for which `fitting_transformer` has about 8 x 8 patches.

    Sizes with patches of at least half the usual side, and of 2, stay as they are.

    Args:
        size: height and width of the images in pixels, 8 or more.

    Example:
        >>> [fitting_size(size) for size in (9, 28, 34, 37, 64)]
        [8, 28, 32, 32, 64]
    """
    largest = _largest_patch(size)
    if any(size % (2 * patch) == 0 for patch in range(max(2, (largest + 1) // 2), largest + 1)):
        return size
    return size // (2 * largest) * 2 * largest


def _largest_patch(size: int) -> int:
    return min(LARGEST_PATCH, max(2, size // MOST_PATCHES_A_SIDE))
