"""Training and measurement of one encoder of the studies on rotations, and the size of these studies."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from tammes import recipes
from tammes.data import Images
from tammes.diagnostics.blocks import directions
from tammes.encoders import ProjectionHeadConfig
from tammes.evaluation import KNN, LabeledFeatures, LinearProbe
from tammes.papers.arms import UNTRAINED
from tammes.papers.image_sets import Parts, balanced, drawer
from tammes.papers.page import PaperPage
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_geometry.arms import ARMS, MOMENTUM_ARMS
from tammes.papers.robinson_geometry.care_scale import ENCODERS, CareScale, batch_of
from tammes.papers.study import Study
from tammes.positives import Handwriting, Photographs
from tammes.training import (
    Adam,
    ImagesSummary,
    Machine,
    Model,
    QueueConfig,
    RunConfig,
    RunFolder,
    TrainingConfig,
    build_model,
    embed,
    train,
)
from tammes.training.embedding import embed_pairs
from tammes.training.rotations import Rotations, measure_rotations
from tammes.training.seeds import Purpose, derive
from tammes.training.suited import suited_augmentation

TEMPERATURE, MOMENTUM_TEMPERATURE = 0.5, 0.1
"""C.3.1: of SimCLR and of MoCo."""


@dataclass(frozen=True, kw_only=True)
class CareRun:
    """Training of one encoder, with all settings that its score depends on.

    Args:
        data: name of the set of images.
        arm: name of the arm, in `ARMS` or `MOMENTUM_ARMS`, or `UNTRAINED`.
        dimension: dimension of the embeddings; 2 for the circle.
        seed: random seed of the images, the weights and the views.
        images: number of training images.
        epochs: epochs of training; 0 of an untrained encoder.
        batch_size: pairs of a step.
        groups: groups of a batch that share an augmentation, for the arms that have some.
        encoder: name of the encoder.
    """

    data: str
    arm: str
    dimension: int
    seed: int
    images: int
    epochs: int
    batch_size: int
    groups: int
    encoder: str


@dataclass(frozen=True, kw_only=True)
class CareScore:
    """Measurements of an encoder on test images, at the end and after a quarter and half of the epochs.

    Args:
        probe: accuracy of the linear readout from the features.
        knn: accuracy of the 20 nearest neighbors.
        wahba: Wahba's error, the mean over augmentations.
        worst: largest error among the augmentations.
        each: error of each augmentation, separated by spaces.
        unexplained: share of the movement that no rotation explains.
        gamma: relative rotational equivariance at the end.
        gamma_half: the same after half of the epochs.
        gamma_quarter: the same after a quarter of them.
        invariance: mean movement of an embedding at the end.
        invariance_half: the same after half of the epochs.
        invariance_quarter: the same after a quarter of them.
        cosine_variance: variance of the cosine by which an augmentation moves embeddings.
        composition: distance of twice augmented images from the product of two rotations.
        kept: share of the five nearest images that stay when the colors of the query change.
        followed: slope by which the colors of the nearest images follow those of the query.
        positive: mean cosine of the two views of an image.
        positive_half: the same after half of the epochs.
        positive_quarter: the same after a quarter of them.
        deciles: deciles of the cosine of the two views, separated by spaces.
        other: mean cosine of views of different images: 1 if all embeddings are one point.
        loss: mean training loss of the last epoch.
        steps: training steps.
        seconds: processor time of the training.
    """

    probe: float
    knn: float
    wahba: float
    worst: float
    each: str
    unexplained: float
    gamma: float
    gamma_half: float
    gamma_quarter: float
    invariance: float
    invariance_half: float
    invariance_quarter: float
    cosine_variance: float
    composition: float
    kept: float
    followed: float
    positive: float
    positive_half: float
    positive_quarter: float
    deciles: str
    other: float
    loss: float
    steps: int
    seconds: float


Page = Callable[[Mapping[CareRun, CareScore], CareScale], PaperPage | None]
"""Function from the scores to the page; None before the first trained arm."""


def cell(arm: str, data: str, parts: Parts, scale: CareScale, seed: int, *, dimension: int = 128) -> CareRun:
    """Return the cell of an arm for a seed.

    Args:
        arm: name of the arm.
        data: name of the set.
        parts: the set, whole.
        scale: size of the study.
        seed: random seed.
        dimension: dimension of the embeddings.
    """
    images = len(parts[0]) if scale.images is None else min(scale.images, len(parts[0]))
    batch_size, groups = batch_of(images)
    return CareRun(
        data=data,
        arm=arm,
        dimension=dimension,
        seed=seed,
        images=images,
        epochs=scale.epochs if scale.learning and arm != UNTRAINED else 0,
        batch_size=batch_size,
        groups=groups,
        encoder=scale.encoder,
    )


def study_of_arms(
    arms: Sequence[str], sets: Mapping[str, Parts], scale: CareScale, page: Page
) -> Study[CareRun, CareScore]:
    """Return the study of some arms, with embeddings of 128 dimensions, seed by seed; see `study_of`."""
    cells = [
        cell(arm, name, parts, scale, seed)
        for seed in scale.seeds
        for name, parts in sets.items()
        for arm in arms
    ]
    return study_of(cells, sets, scale, page)


def study_of(
    cells: Sequence[CareRun], sets: Mapping[str, Parts], scale: CareScale, page: Page
) -> Study[CareRun, CareScore]:
    """Return the study of some cells.

    Args:
        cells: what is trained and measured.
        sets: the sets, by their names.
        scale: size of the study.
        page: function from the scores to the page.
    """
    return Study(
        cells=cells,
        scores=CareScore,
        measure=measurer(sets, scale),
        name=lambda run: f"{run.arm}, {run.dimension} dimensions, seed {run.seed}",
        protocol=Protocol(seeds=scale.seeds, controls=("untrained encoder",), measured_on="test images"),
        page=lambda results: page(results, scale),
        partial=True,
    )


def measurer(sets: Mapping[str, Parts], scale: CareScale) -> Callable[[CareRun], CareScore]:
    """Return the function that trains and measures one encoder.

    Args:
        sets: sets of images by name, whole.
        scale: size of the study.
    """
    draw = drawer(sets, scale.test_images)
    return lambda run: fit(run, scale, draw(run))


def config_of(run: CareRun, images: Images) -> TrainingConfig:
    """Return the settings of a run: Adam at 1e-3 without a schedule, as in C.3.1 for CIFAR-10.

    Args:
        run: the run.
        images: training images, which decide the augmentation.
    """
    care = {UNTRAINED: None, **ARMS, **MOMENTUM_ARMS}[run.arm]
    config = TrainingConfig(
        objective=recipes.simclr(temperature=TEMPERATURE),
        encoder=ENCODERS[run.encoder],
        head=ProjectionHeadConfig(dim=run.dimension),
        augmentation=suited_augmentation(images),
        optimizer=Adam(),
        batch_size=run.batch_size,
        epochs=max(1, run.epochs),
        seed=run.seed,
        equivariance=None if care is None else replace(care, groups=run.groups),
    )
    if run.arm not in MOMENTUM_ARMS:
        return config
    return replace(
        config,
        objective=recipes.simclr(temperature=MOMENTUM_TEMPERATURE),
        negatives=QueueConfig(size=16 * run.batch_size, momentum=0.99),
    )


def fit(run: CareRun, scale: CareScale, parts: Parts) -> CareScore:
    """Train and measure one encoder."""
    config = config_of(run, parts[0])
    if run.epochs == 0:
        model = build_model(RunConfig(training=config, data=ImagesSummary.of(parts[0], source="data")))
        whole = _turned(model, config, parts[1], scale)
        return _score(model, parts, [whole, whole, whole], loss=0.0, steps=0, seconds=0.0)
    stages, seconds = [], 0.0
    with tempfile.TemporaryDirectory() as path:
        kept = RunFolder(path=Path(path, "run"))
        for epochs in (-(-run.epochs // 4), -(-run.epochs // 2), run.epochs):
            # No setting depends on the number of epochs, so resuming is the longer run from its beginning.
            start = time.process_time()
            trained = train(replace(config, epochs=epochs), parts[0], folder=kept, machine=Machine())
            seconds += time.process_time() - start
            stages.append(_turned(trained.model, config, parts[1], scale))
            kept = replace(kept, resume=True)
    last = trained.metrics[-1]
    return _score(trained.model, parts, stages, loss=last.loss or 0.0, steps=last.step, seconds=seconds)


@dataclass(frozen=True, kw_only=True)
class _Turned:
    """Measurements of embeddings of augmented test images."""

    rotations: Rotations
    cosines: torch.Tensor
    other: float


def _turned(model: Model, config: TrainingConfig, test: Images, scale: CareScale) -> _Turned:
    augmentation = config.augmentation
    assert isinstance(augmentation, Photographs | Handwriting)
    some = balanced(test, scale.measured, seed=config.seed)
    rotations = measure_rotations(
        model,
        some,
        augmentation,
        seed=config.seed,
        augmentations=scale.augmentations,
        compositions=min(5, scale.augmentations - 1),
    )
    pairs = torch.arange(len(some)).repeat(2, 1).T
    seeds = derive(config.seed, Purpose.FIRST_VIEW), derive(config.seed, Purpose.SECOND_VIEW)
    views = embed_pairs(model, some, pairs, (augmentation, augmentation), seeds=seeds)
    a, b = (directions(view.double()) for view in views)
    cosines = (a * b).sum(dim=1)
    n = len(a)
    other = (float(a.sum(dim=0) @ b.sum(dim=0)) - float(cosines.sum())) / (n * (n - 1))
    return _Turned(rotations=rotations, cosines=cosines, other=other)


def _score(
    model: Model, parts: Parts, stages: Sequence[_Turned], *, loss: float, steps: int, seconds: float
) -> CareScore:
    learned, tried = (
        LabeledFeatures(features=embed(model, part)[0], labels=part.required_labels()) for part in parts
    )
    quarter, half, end = stages
    found = end.rotations
    deciles = torch.quantile(end.cosines, torch.linspace(0, 1, 11, dtype=torch.float64))
    return CareScore(
        probe=LinearProbe().accuracy(learned, tried),
        knn=KNN(neighbors=min(20, len(learned))).accuracy(learned, tried),
        wahba=found.wahba,
        worst=max(found.each),
        each=" ".join(f"{error:.6g}" for error in found.each),
        unexplained=_known(found.unexplained),
        gamma=_known(found.gamma),
        gamma_half=_known(half.rotations.gamma),
        gamma_quarter=_known(quarter.rotations.gamma),
        invariance=found.invariance,
        invariance_half=half.rotations.invariance,
        invariance_quarter=quarter.rotations.invariance,
        cosine_variance=found.cosine_variance,
        composition=_known(found.composition_error),
        kept=found.neighbors_kept,
        followed=_known(found.color_followed),
        positive=float(end.cosines.mean()),
        positive_half=float(half.cosines.mean()),
        positive_quarter=float(quarter.cosines.mean()),
        deciles=" ".join(f"{value:.4g}" for value in deciles.tolist()),
        other=end.other,
        loss=loss,
        steps=steps,
        seconds=seconds,
    )


def _known(value: float | None) -> float:
    """Return a measurement, or infinity where embeddings do not move and it is not defined."""
    return math.inf if value is None else value
