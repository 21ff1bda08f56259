"""Rules for the parts of a training's loss: negatives, temperature, crops, equivariance and attack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tammes.contrast import SupCon
from tammes.positives import Active, Adjacent, GivenPairs, OwnGraph, SameInstance, Targeted
from tammes.sources import InBatch
from tammes.temperature import LearnedTemperature
from tammes.training.annealing import Falling, Oscillating, Rising
from tammes.training.attack import InputAttack
from tammes.training.care import Care
from tammes.training.kind_rules import VIEWS_OF_ONE_ROW
from tammes.training.momentum import KeysConfig

if TYPE_CHECKING:
    from tammes.training.config import TrainingConfig


def check_negatives(config: TrainingConfig) -> None:
    """Refuse negatives of another kind.

    Raises:
        ValueError: with the kinds that there are.
    """
    if not isinstance(config.negatives, InBatch | KeysConfig):
        raise ValueError(
            "negatives must be InBatch() or a QueueConfig(...) or LearnedNegativesConfig(...), got "
            f"{config.negatives!r}"
        )


def compares_classes(config: TrainingConfig) -> bool:
    """Return whether rows of one class are positives of each other: supervised contrast within a batch."""
    return (
        isinstance(config.objective.contrast, SupCon)
        and isinstance(config.negatives, InBatch)
        and not isinstance(config.positives, Adjacent | GivenPairs | OwnGraph)
    )


def check_contrast(config: TrainingConfig, *, labeled: bool) -> None:
    """Refuse supervised contrast where no anchor has a second positive, since it is InfoNCE there.

    Args:
        config: configuration of the run.
        labeled: whether the data have classes, which are positives within a batch.

    Raises:
        ValueError: with the objective to choose instead.
    """
    several = config.crops > 2 or isinstance(config.positives, Adjacent | GivenPairs)
    contrast = config.objective.contrast
    if several or not isinstance(contrast, SupCon):
        return
    if not compares_classes(config):
        raise ValueError(
            f"{contrast!r} takes rows of one class for positives within a batch, and cannot with "
            f"{config.negatives!r} and {config.positives!r}: choose simclr"
        )
    if not labeled:
        raise ValueError(
            f"{contrast!r} takes rows of one class for positives, and these data have no classes: its loss "
            "would be that of simclr. Choose simclr, give labels, or crops above 2"
        )


def check_temperature(config: TrainingConfig) -> None:
    """Refuse a temperature that cannot be annealed or learned as asked.

    Raises:
        ValueError: with the part to leave out.
    """
    annealing = config.annealing
    if not isinstance(annealing, Falling | Rising | Oscillating | None):
        raise ValueError(
            f"annealing must be Falling(...), Rising(...), Oscillating(...) or None, got {annealing!r}"
        )
    if annealing is not None:
        annealing.check(config.objective, epochs=config.epochs)
    if config.learn_temperature and isinstance(annealing, Oscillating):
        raise ValueError(f"the temperature is either learned or follows {annealing!r}: leave one out")
    if config.learn_temperature:
        LearnedTemperature(initial=config.objective.temperature)  # refuses a start below its lower bound


def check_crops(config: TrainingConfig) -> None:
    """Refuse more than two crops where there are not several views of one image.

    Raises:
        ValueError: with what to choose instead.
    """
    views_alike = config.augmentation is not None and isinstance(config.positives, SameInstance)
    in_batch = isinstance(config.negatives, InBatch) and config.equivariance is None
    if config.crops > 2 and not (views_alike and in_batch):
        raise ValueError(
            "several crops are views of one image by one augmentation, with negatives from the batch "
            f"and no equivariance, got crops={config.crops}: choose 2, or images with SameInstance() and "
            "InBatch()"
        )


def check_queue(config: TrainingConfig) -> None:
    """Refuse a queue where a row does not show itself.

    Raises:
        ValueError: with the positives, and what to choose instead.
    """
    if isinstance(config.negatives, KeysConfig) and not isinstance(config.positives, VIEWS_OF_ONE_ROW):
        raise ValueError(
            "a queue recognizes a repeated row by its key, which shows another row if the positives "
            f"are {config.positives!r}: take negatives from the batch, or SameInstance() as the positives"
        )


def check_equivariance(config: TrainingConfig) -> None:
    """Refuse an equivariance where rows do not share augmentations.

    Raises:
        ValueError: with the part that is in the way.
    """
    care = config.equivariance
    if not isinstance(care, Care | None):
        raise ValueError(f"equivariance must be Care(...) or None, got {care!r}")
    if care is None:
        return
    if config.takes_texts:
        raise ValueError(
            "equivariance compares rows that share an augmentation, which texts do not have: leave it out"
        )
    if not isinstance(config.positives, SameInstance | Targeted):
        raise ValueError(
            f"equivariance compares views of the same rows, of which a group shares the augmentation, "
            f"but the positives are {config.positives!r}: choose positives=SameInstance(), or leave it out"
        )
    care.check(batch_size=config.batch_size)


def check_attack(config: TrainingConfig) -> None:
    """Refuse an attack where there are no pixels, or no whole batches of two views.

    Raises:
        ValueError: with the part that is in the way.
    """
    if not isinstance(config.attack, InputAttack | None):
        raise ValueError(f"attack must be InputAttack(...) or None, got {config.attack!r}")
    if config.attack is None:
        return
    if config.takes_graphs or config.takes_texts:
        raise ValueError(f"an attack changes pixels, and {config.encoder!r} takes none: leave it out")
    others = {
        "negatives": not isinstance(config.negatives, InBatch),
        "positives": isinstance(config.positives, Active),
        "equivariance": config.equivariance is not None,
        "chunk": config.chunk is not None,
    }
    for name in (name for name, excluded in others.items() if excluded):
        raise ValueError(
            f"an attack moves whole batches of two views against each other, got {name}="
            f"{vars(config)[name]!r}: leave one out"
        )
