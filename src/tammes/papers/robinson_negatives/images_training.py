"""Training and measurement of one encoder of the study of negatives on images, and the size of the study."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache

import torch

from tammes.data import Images
from tammes.data.fifths import every_fifth_apart
from tammes.encoders import ResNet9Config, ResNetConfig
from tammes.evaluation import KNN, LabeledFeatures, LinearProbe
from tammes.papers.entry import Request
from tammes.papers.image_sets import Parts, balanced, of_classes
from tammes.papers.robinson_negatives.images_arms import CHANGES, OBJECTIVES, RESNET_9, WIDTHS, ImageRun
from tammes.papers.unfinished import Unfinished
from tammes.positives import SameClass, SameInstance
from tammes.report.similarities import by_label, overlap
from tammes.sources import InBatch
from tammes.training import (
    Adam,
    Cosine,
    EpochMetrics,
    Falling,
    ImagesSummary,
    Machine,
    Model,
    Monitor,
    QueueConfig,
    Rising,
    RunConfig,
    TrainingConfig,
    build_model,
    embed,
    train,
)
from tammes.training.seeds import Purpose, derive
from tammes.training.suited import suited_augmentation

SEEDS, MEASURED_HERE, TRENDS_FROM = 5, 0.1, 0.01
"""Paired seeds of every verdict; the budget of the docs; the budget from which on the trends are trained."""
NEIGHBORS, VOTES = 200, 0.07
"""Section 3.6.4: weighted nearest neighbors, k = 200."""
MEASURED_TIMES, SAMPLE = 5, 1000
"""Measurements over the epochs, and test images whose similarities are compared."""
MOMENTUM = 0.99
ENCODERS: Mapping[str, ResNet9Config | ResNetConfig] = {
    **{RESNET_9.format(width): ResNet9Config(width=width) for width in WIDTHS},
    "ResNet-18": ResNetConfig(depth=18),
}


See = Callable[[ImageRun, Model, TrainingConfig, Images, Sequence[EpochMetrics]], None]
"""From a run, its encoder, the settings, the images to measure on, and a row of metrics for each epoch."""


@dataclass(frozen=True, kw_only=True)
class ImageScale:
    """Size of the study.

    Args:
        encoder: name of the encoder, in `ENCODERS`.
        images: largest number of training images; None for all.
        test_images: largest number of test images, and of validation images.
        epochs: epochs of training.
        batch_size: pairs of a step.
        seeds: random seeds of every arm.
        trends: whether the arms of the trends are trained, and then those along other settings.
        learning: whether encoders are trained; else all keep their first weights.
        on_gpu: whether the network computes on a GPU, in bfloat16.
    """

    encoder: str = "ResNet-9, width 16"
    images: int | None = 5000
    test_images: int = 4000
    epochs: int = 10
    batch_size: int = 256
    seeds: Sequence[int] = range(SEEDS)
    trends: bool = True
    learning: bool = True
    on_gpu: bool = False


def scale_of(request: Request) -> ImageScale:
    """Return ResNet-18 on all images for the whole budget, else a small network on some of the images.

    Images and epochs grow like the square root of the budget.

    Raises:
        ValueError: the whole budget without a GPU.
    """
    if request.budget == 1:
        if not torch.cuda.is_available():
            raise ValueError(
                "the whole budget trains ResNet-18 on all images for 200 epochs, many times, and PyTorch "
                f"finds no GPU here: choose budget {MEASURED_HERE:g}, which takes some hours of one core, "
                "or less"
            )
        return ImageScale(
            encoder="ResNet-18",
            images=None,
            test_images=10_000,
            epochs=200,
            batch_size=512,
            seeds=request.seed_range(SEEDS),
            learning=request.learning,
            on_gpu=True,
        )
    size, whole = math.sqrt(request.budget / MEASURED_HERE), request.budget >= TRENDS_FROM
    return ImageScale(
        images=max(300, round(5000 * size)),
        test_images=4000 if whole else 500,
        epochs=max(2, round(10 * size)),
        seeds=request.seed_range(SEEDS, fewest=SEEDS if whole else 1),
        trends=whole,
        learning=request.learning,
    )


@dataclass(frozen=True, kw_only=True)
class ImageScore:
    """Measurements of an encoder.

    Args:
        probe: accuracy of the linear readout with all labels; not a number in the search, which goes by
            nearest neighbors.
        tenth: the same with a tenth of the labels, at least one for each class.
        hundredth: the same with a hundredth of them.
        knn: accuracy of 200 weighted nearest neighbors.
        epochs_measured: epochs after which `curve` was measured, separated by spaces.
        curve: accuracy of nearest neighbors after these epochs, separated by spaces.
        overlap: area that the densities of the cosines of equal and of other labels share; not a number if no
            two images have one label.
        loss: mean training loss of the last epoch.
        steps: training steps.
        seconds: processor time of the training with its measurements; of one that can be resumed, its
            wall-clock time without them.
    """

    probe: float
    tenth: float
    hundredth: float
    knn: float
    epochs_measured: str
    curve: str
    overlap: float
    loss: float
    steps: int
    seconds: float

    @property
    def over_epochs(self) -> dict[int, float]:
        """Accuracy of nearest neighbors by epoch."""
        return dict(zip(map(int, self.epochs_measured.split()), map(float, self.curve.split()), strict=True))


def measurer(
    sets: Mapping[str, Parts],
    scale: ImageScale,
    unfinished: Unfinished | None = None,
    see: See | None = None,
) -> Callable[[ImageRun], ImageScore]:
    """Return the function that trains and measures one encoder.

    Args:
        sets: sets of images by name, whole.
        scale: size of the study.
        unfinished: place of the training that the study may be stopped in; None starts each training anew.
        see: function that is given each encoder before it is measured; or None.
    """

    @lru_cache(maxsize=2)
    def parts_of(data: str, classes: int, images: int, seed: int, measured_on: str) -> Parts:
        return _drawn(sets[data], classes, images, scale.test_images, seed, measured_on)

    def measure(run: ImageRun) -> ImageScore:
        parts = parts_of(run.data, run.classes, run.images, run.seed, run.measured_on)
        return fit(run, scale, parts, unfinished, see)

    return measure


def fit(
    run: ImageRun,
    scale: ImageScale,
    parts: Parts,
    unfinished: Unfinished | None = None,
    see: See | None = None,
) -> ImageScore:
    """Train and measure one encoder.

    Args:
        run: the training.
        scale: size of the study.
        parts: images to train on, and images to measure on.
        unfinished: place of the training, which resumes there; None keeps it in memory.
        see: function that is given each encoder before it is measured; or None.
    """
    learned, tried = parts
    neighbors = KNN(neighbors=min(NEIGHBORS, len(learned)), temperature=VOTES)
    config = config_of(run, scale, learned)
    searching = run.measured_on != "test images"
    if run.epochs == 0:
        model = build_model(RunConfig(training=config, data=ImagesSummary.of(learned, source="data")))
        if see is not None:
            see(run, model, config, tried, ())
        return _score(model, parts, neighbors, searching, curve=None, loss=0.0, steps=0, seconds=0.0)
    monitor = Monitor(
        bank=learned,
        held_out=tried,
        every=max(1, run.epochs // MEASURED_TIMES),
        knn=neighbors,
    )
    start = time.process_time()
    with nullcontext() if unfinished is None else unfinished.training(run, config) as folder:
        trained = train(config, learned, folder=folder, monitor=monitor, machine=Machine())
        last = trained.metrics[-1]
        if see is not None:
            see(run, trained.model, config, tried, trained.metrics)
        return _score(
            trained.model,
            parts,
            neighbors,
            searching,
            curve={row.epoch: row.knn for row in trained.metrics if row.knn is not None},
            loss=last.loss or 0.0,
            steps=last.step,
            # The processor time of a resumed training is that of its last piece alone.
            seconds=time.process_time() - start if folder is None else trained.seconds or 0.0,
        )


def config_of(run: ImageRun, scale: ImageScale, images: Images) -> TrainingConfig:
    """Return the settings of a run: Adam along half a cosine, the same for every objective.

    Args:
        run: the run.
        scale: size of the study.
        images: training images, which decide the augmentation.
    """
    changes = min(CHANGES, max(1, run.epochs))
    annealing = {"none": None, "falling": Falling(changes=changes), "rising": Rising(changes=changes)}
    return TrainingConfig(
        objective=OBJECTIVES[run.objective](run),
        encoder=ENCODERS[run.encoder],
        augmentation=suited_augmentation(images),
        positives=SameInstance() if run.positives == "views" else SameClass(),
        optimizer=Adam(
            learning_rate=1e-3 if scale.on_gpu else 3e-3, schedule=Cosine(warmup_epochs=min(1, run.epochs))
        ),
        batch_size=run.batch_size,
        epochs=max(1, run.epochs),
        seed=run.seed,
        precision="bf16-mixed" if scale.on_gpu else "32-true",
        annealing=annealing[run.annealing],
        negatives=QueueConfig(size=run.queue, momentum=MOMENTUM) if run.queue else InBatch(),
    )


def _drawn(parts: Parts, classes: int, images: int, test_images: int, seed: int, measured_on: str) -> Parts:
    """Draw the classes of a seed, its training images, and the images to measure on."""
    train_part, test_part = parts
    labels = train_part.required_labels()
    names = labels.unique()
    if classes < len(names):
        generator = torch.Generator().manual_seed(derive(seed, Purpose.HOLDOUT))
        names = names[torch.randperm(len(names), generator=generator)[:classes]]
        train_part, test_part = (of_classes(part, names) for part in parts)
    if measured_on == "test images":
        return balanced(train_part, images, seed=seed), balanced(test_part, test_images, seed=seed)
    # The search has a fifth of the training images for validation, and never sees the test part.
    learned, tried = every_fifth_apart(train_part, at=0)
    return balanced(learned, images, seed=seed), balanced(tried, test_images, seed=seed)


def _score(
    model: Model,
    parts: Parts,
    neighbors: KNN,
    searching: bool,
    *,
    curve: Mapping[int, float] | None,
    loss: float,
    steps: int,
    seconds: float,
) -> ImageScore:
    learned, tried = (
        LabeledFeatures(features=embed(model, part)[0], labels=part.required_labels()) for part in parts
    )
    knn = neighbors.accuracy(learned, tried)
    curve = {0: knn} if curve is None else curve
    probe, tenth, hundredth = (math.nan,) * 3 if searching else _readouts(learned, tried)
    return ImageScore(
        probe=probe,
        tenth=tenth,
        hundredth=hundredth,
        knn=knn,
        epochs_measured=" ".join(map(str, curve)),
        curve=" ".join(f"{value:.5f}" for value in curve.values()),
        overlap=overlap_by_label(tried),
        loss=loss,
        steps=steps,
        seconds=seconds,
    )


def overlap_by_label(tried: LabeledFeatures) -> float:
    """Return the overlap of the cosines of equal and of other labels, of 1,000 images; NaN without a pair.

    Args:
        tried: features of images that stand class by class.
    """
    count = min(SAMPLE, len(tried))
    # Equal steps take some images of each class; of very many classes, no two of any.
    for sample in (torch.linspace(0, len(tried) - 1, count).long(), torch.arange(count)):
        split = by_label(tried.features[sample].double().numpy(), tried.labels[sample].numpy())
        if split is not None:
            return overlap(*split)
    return math.nan


def _readouts(learned: LabeledFeatures, tried: LabeledFeatures) -> tuple[float, float, float]:
    """Return the accuracies with all labels, a tenth and a hundredth of them."""
    tenth = LinearProbe(fraction=0.1).accuracy(learned, tried)
    # Of fewer than 15 images of a class, both fractions draw the same one.
    alike = int(learned.labels.bincount().max()) < 15
    hundredth = tenth if alike else LinearProbe(fraction=0.01).accuracy(learned, tried)
    return LinearProbe().accuracy(learned, tried), tenth, hundredth
