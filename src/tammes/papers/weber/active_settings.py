"""The settings of the study of active positives on real images."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from tammes.data import Images
from tammes.positives import (
    Active,
    Clusters,
    Handwriting,
    Labels,
    Photographs,
    Quantile,
    SameInstance,
    Targeted,
)
from tammes.training import Adam

TEMPERATURE = 0.5
CANDIDATES = 4
"""m: of the active arms, all with the same."""

ROUND = 50
"""Steps from one classifier to the next."""

WARM_UP = 5
"""The first of so many parts of the steps has random positives: the paper, too, begins with some f and q."""

LABELED = 1024
"""Images that the classifier learns from."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is done on one set of images.

    Args:
        epochs: of every arm.
        longer: how much longer random positives are trained to take as much time as active ones: the time
            of a step with four candidates over that of an ordinary step, rounded up.
        free: the factors that vary freely under targeted positives: what says nothing of the class.
    """

    epochs: int
    longer: float
    free: tuple[str, ...]


INK = ("noise", "erasing_probability")
COLORS = ("brightness", "contrast", "saturation", "hue", "grayscale_probability")
SETTINGS: Mapping[str, Setting] = {
    "digits": Setting(epochs=20, longer=1.6, free=INK),
    "MNIST": Setting(epochs=12, longer=2.0, free=INK),
    "CIFAR-10": Setting(epochs=8, longer=2.2, free=COLORS),
    "SVHN": Setting(epochs=8, longer=2.2, free=COLORS),
}


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How large the study is.

    Args:
        images: the most to train on of each set.
        test_images: the most to try on.
        width: of the convolutional network.
        batch_size: pairs per step.
        optimizer: Adam.
        part: of the epochs that `SETTINGS` names.
        seeds: how often every setting is trained.
    """

    images: int = 2000
    test_images: int = 2000
    width: int = 16
    batch_size: int = 128
    optimizer: Adam = field(default_factory=Adam)
    part: float = 1.0
    seeds: int = 5


def scale_of(budget: float) -> Scale:
    """Fewer seeds for a part of the budget, two at the least, and then fewer epochs.

    >>> scale_of(1.0).seeds, scale_of(0.4).seeds, scale_of(0.4).part, scale_of(0.1).part
    (5, 2, 1.0, 0.25)
    """
    seeds = max(2, math.ceil(5 * budget))
    return Scale(seeds=seeds, part=min(1.0, 5 * budget / seeds))


def augmentation_for(data: str, images: Images) -> Photographs | Handwriting:
    """The views that suit a set: only photographs of CIFAR-10 are mirrored."""
    if images.channels == 1:
        return Handwriting()
    return Photographs() if data == "CIFAR-10" else Photographs(flip_probability=0.0)


def arms(data: str, *, steps: int) -> Mapping[str, SameInstance | Active | Targeted]:
    """The positives that are compared on a set, by the name that the table has for them.

    Args:
        data: the set.
        steps: of training.

    >>> list(arms("digits", steps=100))
    ['random', 'active, clusters', 'active, labels', 'active, quantile', 'targeted']
    """
    active = partial(Active, candidates=CANDIDATES, refresh=ROUND, warm_up=steps // WARM_UP, sample=LABELED)
    return {
        "random": SameInstance(),
        "active, clusters": active(classes=Clusters(number=10)),
        "active, labels": active(classes=Labels()),
        "active, quantile": active(classes=Clusters(number=10), acceptance=Quantile(share=0.25)),
        "targeted": Targeted(freely=SETTINGS[data].free),
    }
