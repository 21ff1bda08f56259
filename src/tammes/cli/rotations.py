"""Whether a run's augmentations act as rotations, measured for its page and for `tammes evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tammes.cli.scores import at_most
from tammes.data import Images
from tammes.positives import Handwriting, Photographs
from tammes.training import Data, Run, TrainingConfig
from tammes.training.rotations import NEIGHBORS, ROWS, Rotations, measure_rotations

BY_NAME: Mapping[str, Photographs | Handwriting] = {
    "photographs": Photographs(),
    "handwriting": Handwriting(),
}
"""Augmentations by their names on the command line."""
LARGEST_SIDE, FEWEST_ROWS = 64, 64
"""Size in pixels above which fewer images are measured, in proportion to their area, and how few at least."""


@dataclass(frozen=True, kw_only=True)
class MeasuredRotations:
    """Measurements of a run under its augmentations, or why there are none.

    Args:
        rotations: the measurements; None if the augmentation is not known.
        missing: what is missing, and how to give it; empty if nothing is.
    """

    rotations: Rotations | None
    missing: str = ""


def known_augmentation(config: TrainingConfig) -> Photographs | Handwriting | None:
    """Return the augmentation that the equivariance loss of a run takes or would take; None without any.

    Args:
        config: settings of the run.
    """
    care = config.equivariance
    if care is not None and care.augmentation is not None:
        return care.augmentation
    return config.augmentation if isinstance(config.augmentation, Photographs | Handwriting) else None


def measured_rotations(run: Run, data: Data, named: str | None = None) -> MeasuredRotations:
    """Measure a run on some of the data.

    Args:
        run: a trained run.
        data: data held out of training, if there are any.
        named: augmentation in `BY_NAME`; None for that of the run.

    Raises:
        ValueError: an augmentation of texts.
    """
    if not isinstance(data, Images):
        if named is not None:
            raise ValueError("--augmentation is for images, but this run is not of images: leave it out")
        return MeasuredRotations(
            rotations=None, missing="only augmentations of images are measured as rotations"
        )
    augmentation = known_augmentation(run.config.training) if named is None else BY_NAME[named]
    if augmentation is None:
        return MeasuredRotations(
            rotations=None,
            missing="the run pairs different images without an augmentation, so whether augmentations act as "
            "rotations is unknown: name one by --augmentation photographs or --augmentation handwriting",
        )
    if len(data) <= NEIGHBORS:
        return MeasuredRotations(rotations=None, missing=f"rotations need more than {NEIGHBORS} images")
    some = at_most(data, measured_rows(data.size))
    assert isinstance(some, Images)
    return MeasuredRotations(rotations=measure_rotations(run.model, some, augmentation))


def measured_rows(size: int) -> int:
    """Return how many images of a size are measured, so that measuring does not take longer than training.

    Example:
        >>> measured_rows(32), measured_rows(128), measured_rows(224)
        (512, 128, 64)
    """
    fitting = ROWS * LARGEST_SIDE**2 // max(size, LARGEST_SIDE) ** 2
    return min(ROWS, max(FEWEST_ROWS, fitting))
