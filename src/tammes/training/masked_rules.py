"""Rules for the parts of a training with masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tammes.encoders import VisionTransformerConfig
from tammes.positives import Active
from tammes.sources import InBatch
from tammes.training.masked import Masked

if TYPE_CHECKING:
    from tammes.training.config import TrainingConfig


def check_masked(config: TrainingConfig) -> None:
    """Refuse parts that do not go together with masks.

    Raises:
        ValueError: with the part and what to choose instead.
    """
    masked = config.masked
    if not isinstance(masked, Masked | None):
        raise ValueError(f"masked must be Masked(...) or None, got {masked!r}")
    if masked is None:
        return
    if not isinstance(config.encoder, VisionTransformerConfig):
        raise ValueError(
            f"masks hide patches from a Vision Transformer, and {config.encoder!r} has none: choose "
            "VisionTransformerConfig()"
        )
    whole = {
        "equivariance": config.equivariance is not None,
        "attack": config.attack is not None,
        "positives": isinstance(config.positives, Active) and config.positives.chooses,
    }
    for name in (name for name, is_there in whole.items() if is_there):
        raise ValueError(
            f"{name}={vars(config)[name]!r} compares whole images, and masks hide parts: leave one out"
        )
    if not masked.contrast:
        _check_without_contrast(config)


def _check_without_contrast(config: TrainingConfig) -> None:
    of_contrast = {
        "head": config.head is not None,
        "negatives": not isinstance(config.negatives, InBatch),
        "crops": config.crops > 2,
        "learn_temperature": config.learn_temperature,
        "annealing": config.annealing is not None,
    }
    for name in (name for name, is_there in of_contrast.items() if is_there):
        alone = "None" if name == "head" else "the default"
        raise ValueError(
            f"Masked(contrast=0) contrasts nothing, so that {name}={vars(config)[name]!r} would have "
            f"nothing to do: choose {alone}, or a weight for the contrast"
        )
