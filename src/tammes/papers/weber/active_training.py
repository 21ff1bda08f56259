"""Training and measurement of one encoder of the study of active positives, and the settings of the study."""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from tammes import recipes
from tammes.data import Images
from tammes.encoders import ConvNetConfig
from tammes.evaluation import KNN, LabeledFeatures, LinearProbe
from tammes.papers.entry import Request
from tammes.papers.image_sets import Parts, balanced
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
from tammes.training import (
    Adam,
    ImagesSummary,
    Machine,
    Model,
    Run,
    RunConfig,
    RunFolder,
    TrainingConfig,
    build_model,
    embed,
    train,
)

UNTRAINED = "untrained"
"""Control: the encoder with its first weights."""
SEEDS, IMAGES = 5, 2000
TEMPERATURE = 0.5
CANDIDATES = 4
"""m, number of candidates of each active arm."""

ROUND = 50
"""Steps from one classifier to the next."""

WARM_UP = 5
"""The first of this many parts of the steps has random positives: the paper also begins with some f, q."""

LABELED = 1024
"""Images that the classifier learns from."""


@dataclass(frozen=True, kw_only=True)
class SetSettings:
    """Settings on one set of images.

    Args:
        epochs: epochs of every arm.
        longer: factor by which random positives are trained longer, to take as much time as active ones: the
            time of a step with four candidates over that of an ordinary step, rounded up.
        free: factors that vary freely under targeted positives because they say nothing about the class.
    """

    epochs: int
    longer: float
    free: tuple[str, ...]


INK = ("noise", "erasing_probability")
COLORS = ("brightness", "contrast", "saturation", "hue", "grayscale_probability")
SETTINGS: Mapping[str, SetSettings] = {
    "digits": SetSettings(epochs=20, longer=1.6, free=INK),
    "MNIST": SetSettings(epochs=12, longer=2.0, free=INK),
    "CIFAR-10": SetSettings(epochs=8, longer=2.2, free=COLORS),
    "SVHN": SetSettings(epochs=8, longer=2.2, free=COLORS),
}


@dataclass(frozen=True, kw_only=True)
class ActiveScale:
    """Size of the study.

    Args:
        images: largest number of training images of each set.
        test_images: largest number of test images.
        width: width of the convolutional network.
        batch_size: pairs of a step.
        optimizer: Adam.
        part: fraction of the epochs in `SETTINGS`.
        seeds: random seeds of every arm.
        learning: whether encoders are trained; else all keep their first weights.
    """

    images: int = IMAGES
    test_images: int = IMAGES
    width: int = 16
    batch_size: int = 128
    optimizer: Adam = field(default_factory=Adam)
    part: float = 1.0
    seeds: Sequence[int] = range(SEEDS)
    learning: bool = True


def scale_of(request: Request) -> ActiveScale:
    """Return fewer seeds for a smaller budget, at least two, then fewer epochs, then fewer images."""
    images = max(200, round(IMAGES * min(1.0, 100 * request.budget)))
    return ActiveScale(
        images=images,
        test_images=images,
        part=min(1.0, SEEDS * request.budget / 2),
        seeds=request.seed_range(SEEDS, fewest=2),
        learning=request.learning,
    )


def augmentation_for(data: str, images: Images) -> Photographs | Handwriting:
    """Return the augmentation of a set: only photographs of CIFAR-10 are mirrored."""
    if images.channels == 1:
        return Handwriting()
    return Photographs() if data == "CIFAR-10" else Photographs(flip_probability=0.0)


def arms(data: str, *, steps: int) -> Mapping[str, SameInstance | Active | Targeted]:
    """Return the positives that are compared on a set, by their name in the table.

    Args:
        data: name of the set.
        steps: number of training steps.

    Example:
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


@dataclass(frozen=True, kw_only=True)
class ActiveRun:
    """Training of one encoder, with all settings that its score depends on.

    Args:
        data: name of the set of images.
        positives: name of the arm.
        seed: random seed of the images, the weights and the views.
        images: number of training images.
        epochs: epochs of training; 0 of an untrained encoder.
        longer: factor by which the longer training of random positives has more epochs.
    """

    data: str
    positives: str
    seed: int
    images: int
    epochs: int
    longer: float


@dataclass(frozen=True, kw_only=True)
class ActiveScore:
    """Measurements of an encoder on test images, after equally many updates and after equal time.

    Args:
        probe: accuracy of the linear probe that learns from all labels, after equally many updates.
        few: accuracy of the linear probe that learns from a tenth of them.
        knn: accuracy of the 20 nearest neighbors.
        probe_as_long: `probe` after about the time that active positives take.
        few_as_long: `few` after that time.
        knn_as_long: `knn` after that time.
        loss: mean training loss of the last of the equally many epochs.
        steps: training steps of the equally many epochs.
        steps_as_long: training steps in all.
        seconds: processor time of the equally many epochs.
        seconds_as_long: processor time of all.
    """

    probe: float
    few: float
    knn: float
    probe_as_long: float
    few_as_long: float
    knn_as_long: float
    loss: float
    steps: int
    steps_as_long: int
    seconds: float
    seconds_as_long: float


def measurer(sets: Mapping[str, Parts], scale: ActiveScale) -> Callable[[ActiveRun], ActiveScore]:
    """Return the function that trains and measures one encoder.

    Args:
        sets: sets of images by name, whole.
        scale: size of the study.
    """

    def measure(run: ActiveRun) -> ActiveScore:
        train, test = sets[run.data]
        images = balanced(train, run.images, seed=run.seed)
        return fit(run, scale, (images, balanced(test, scale.test_images, seed=run.seed)))

    return measure


def fit(run: ActiveRun, scale: ActiveScale, parts: Parts) -> ActiveScore:
    """Train and measure one encoder; with random positives, measure it again after a longer training."""
    images, _ = parts
    steps = run.epochs * (len(images) // scale.batch_size)
    positives = {UNTRAINED: SameInstance(), **arms(run.data, steps=steps)}[run.positives]
    config = TrainingConfig(
        objective=recipes.simclr(temperature=TEMPERATURE),
        encoder=ConvNetConfig(width=scale.width),
        augmentation=augmentation_for(run.data, images),
        positives=positives,
        optimizer=scale.optimizer,
        batch_size=scale.batch_size,
        epochs=max(1, run.epochs),
        seed=run.seed,
    )
    if run.epochs == 0:
        return _untrained(config, parts)
    with tempfile.TemporaryDirectory() as folder:
        kept = RunFolder(path=Path(folder, "run"))
        first, seconds = _timed(config, images, kept)
        probe, few, knn = _accuracies(first.model, parts, seed=run.seed)
        late, seconds_late = first, 0.0
        if isinstance(config.positives, SameInstance):
            # No setting depends on the number of epochs, so resuming is the longer run from its beginning.
            more = replace(config, epochs=round(run.longer * run.epochs))
            late, seconds_late = _timed(more, images, replace(kept, resume=True))
        probe_as_long, few_as_long, knn_as_long = _accuracies(late.model, parts, seed=run.seed)
    return ActiveScore(
        probe=probe,
        few=few,
        knn=knn,
        probe_as_long=probe_as_long,
        few_as_long=few_as_long,
        knn_as_long=knn_as_long,
        loss=first.metrics[-1].loss or 0.0,
        steps=first.metrics[-1].step,
        steps_as_long=late.metrics[-1].step,
        seconds=seconds,
        seconds_as_long=seconds + seconds_late,
    )


def _untrained(config: TrainingConfig, parts: Parts) -> ActiveScore:
    """Measure an encoder with its first weights."""
    images, _ = parts
    model = build_model(RunConfig(training=config, data=ImagesSummary.of(images, source="data")))
    probe, few, knn = _accuracies(model, parts, seed=config.seed)
    return ActiveScore(
        probe=probe,
        few=few,
        knn=knn,
        probe_as_long=probe,
        few_as_long=few,
        knn_as_long=knn,
        loss=0.0,
        steps=0,
        steps_as_long=0,
        seconds=0.0,
        seconds_as_long=0.0,
    )


def wanted_cells(sets: Mapping[str, Parts], scale: ActiveScale) -> list[ActiveRun]:
    """Return all runs, those of the first seed first: a study stopped after it is whole, with fewer seeds."""
    return [
        ActiveRun(
            data=data,
            positives=positives,
            seed=each,
            images=min(scale.images, len(images)),
            epochs=max(1, round(scale.part * SETTINGS[data].epochs))
            if scale.learning and positives != UNTRAINED
            else 0,
            longer=SETTINGS[data].longer,
        )
        for each in scale.seeds
        for data, (images, _) in sets.items()
        for positives in (UNTRAINED, *arms(data, steps=1))
    ]


def _timed(config: TrainingConfig, images: Images, folder: RunFolder) -> tuple[Run, float]:
    start = time.process_time()
    run = train(config, images, folder=folder, machine=Machine(accelerator="auto"))
    return run, time.process_time() - start


def _accuracies(model: Model, parts: Parts, *, seed: int) -> tuple[float, float, float]:
    """Return the accuracies of the probe with all labels, with a tenth of them, and of nearest neighbors."""
    learned, tried = (
        LabeledFeatures(features=embed(model, part)[0], labels=part.required_labels()) for part in parts
    )
    few = LinearProbe(fraction=0.1, seed=seed)
    return (
        LinearProbe().accuracy(learned, tried),
        few.accuracy(learned, tried),
        KNN(neighbors=min(20, len(learned))).accuracy(learned, tried),
    )
