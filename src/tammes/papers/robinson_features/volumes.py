"""Implicit feature modification on volumes: real and ordinal outcomes from frozen features (Table 4.2)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tammes import recipes
from tammes.data import Outcomes, Volumes, synthetic_volumes, volumes
from tammes.encoders import ProjectionHeadConfig, ResNet3DConfig
from tammes.estimate import Estimate
from tammes.evaluation import LabeledFeatures, MeasuredFeatures, RegressionValidation, ordinal_probe
from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.finding import Effect, Finding
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_features.table_4_2 import COPDGENE, TABLE_4_2
from tammes.papers.study import Study
from tammes.positives import Scans
from tammes.sources import InBatch
from tammes.training import (
    Adam,
    Cosine,
    Machine,
    Model,
    QueueConfig,
    RunConfig,
    TrainingConfig,
    VolumesSummary,
    build_model,
    embed,
    train,
)

SYNTHETIC = "synthetic volumes"
UNTRAINED, SIMCLR, MOCO = "untrained", "SimCLR", "MoCo"
EPSILONS = (0.1, 0.5, 1.0)
"""Of the thesis's 0.1, 0.2, 0.5 and 1.0: the first, and those that it says improve all predictions."""
MODIFIED: Mapping[str, tuple[str, float]] = {
    **{f"SimCLR with IFM, epsilon {epsilon:g}": (SIMCLR, epsilon) for epsilon in EPSILONS},
    "MoCo with IFM, epsilon 0.1": (MOCO, 0.1),
}
"""Arms with feature modification: their host and epsilon."""
ARMS = (UNTRAINED, SIMCLR, *list(MODIFIED)[:-1], MOCO, list(MODIFIED)[-1])

TEMPERATURE, LEARNING_RATE, WEIGHT_DECAY = 0.2, 3e-3, 1e-4
VOLUMES, EPOCHS, SEEDS = 7680, 10, 5  # of the full work
FOLDS = 5
FEWEST_OF_A_GRADE = FOLDS
MOST_GRADES = 6


@dataclass(frozen=True, kw_only=True)
class VolumesRun:
    """Training of one encoder, with all settings that its score depends on.

    Args:
        data: name of the set.
        arm: name of the arm.
        seed: random seed of the volumes, the weights and the views.
        volumes: number of volumes that the encoder is trained on.
        measured: number of volumes whose outcomes are predicted.
        epochs: epochs of training; 0 of an untrained encoder.
        batch_size: pairs of a step.
        width: width of the encoder.
    """

    data: str
    arm: str
    seed: int
    volumes: int
    measured: int
    epochs: int
    batch_size: int
    width: int


@dataclass(frozen=True, kw_only=True)
class VolumesScore:
    """Measurements of an encoder.

    Args:
        measures: R^2 or accuracy of each outcome, by its name, as JSON.
        loss: mean training loss of the last epoch.
        seconds: processor time of the training.
    """

    measures: str
    loss: float
    seconds: float

    @property
    def numbers(self) -> dict[str, float]:
        """The measurements by name."""
        return {name: float(value) for name, value in json.loads(self.measures).items()}


Parts = tuple[Volumes, Volumes]
"""Volumes to train on without their outcomes, and volumes whose outcomes are predicted in folds."""


def run(request: Request) -> None:
    """Train and measure every arm."""
    seeds = request.seed_range(SEEDS, fewest=3)
    if request.data is None:
        count = max(64, round(VOLUMES * request.budget))
        tested = min(1000, max(120, round(4000 * request.budget)))
        name, part = SYNTHETIC, _drawn(count, tested)
    else:
        found = volumes(request.data)
        columns_of(found)
        name, count, tested = request.data.resolve().name, len(found), len(found)

        def part(seed: int) -> Parts:
            return found, found

    epochs = max(2, min(EPOCHS, round(100 * request.budget)))
    batch_size = max(8, min(64, count // 4))
    width = 16 if request.budget > 0.5 else 8
    cells = [
        VolumesRun(
            data=name,
            arm=arm,
            seed=seed,
            volumes=count,
            measured=tested,
            epochs=epochs if request.learning and arm != UNTRAINED else 0,
            batch_size=batch_size,
            width=width,
        )
        for seed in seeds
        for arm in ARMS
    ]
    study(cells, part, seeds).run(request)


def _drawn(count: int, tested: int) -> Callable[[int], Parts]:
    def parts(seed: int) -> Parts:
        # Two parts share no volume, and no seed has those of another.
        drawn = synthetic_volumes(count + tested, seed=seed)
        return drawn.subset(range(count)), drawn.subset(range(count, count + tested))

    return parts


def study(
    cells: Sequence[VolumesRun], parts: Callable[[int], Parts], seeds: Sequence[int]
) -> Study[VolumesRun, VolumesScore]:
    """Return the study of some cells.

    Args:
        cells: what is trained and measured.
        parts: function from a seed to the volumes.
        seeds: random seeds.
    """
    kept = lru_cache(maxsize=1)(parts)
    return Study(
        cells=cells,
        scores=VolumesScore,
        measure=lambda cell: fit(cell, kept(cell.seed)),
        name=lambda cell: f"{cell.arm}, seed {cell.seed}",
        protocol=Protocol(
            seeds=seeds,
            controls=("untrained encoder",),
            measured_on="outcomes of volumes outside of the fold that a probe learns from",
        ),
        page=page,
        partial=True,
    )


def config_of(cell: VolumesRun) -> TrainingConfig:
    """Return the settings of a run: Adam with the thesis's weight decay, epochs and dimension."""
    host, epsilon = MODIFIED.get(cell.arm, (cell.arm, 0.0))
    objective = recipes.simclr(temperature=TEMPERATURE)
    if epsilon > 0:
        objective = recipes.ifm(temperature=TEMPERATURE, epsilon=epsilon)
    queue = QueueConfig(size=4 * cell.batch_size, momentum=0.99)
    return TrainingConfig(
        objective=objective,
        encoder=ResNet3DConfig(width=cell.width),
        head=ProjectionHeadConfig(dim=128),
        augmentation=Scans(),
        optimizer=Adam(
            learning_rate=LEARNING_RATE, weight_decay=WEIGHT_DECAY, schedule=Cosine(warmup_epochs=1)
        ),
        batch_size=cell.batch_size,
        epochs=max(1, cell.epochs),
        seed=cell.seed,
        negatives=queue if host == MOCO else InBatch(),
    )


def fit(cell: VolumesRun, parts: Parts) -> VolumesScore:
    """Train and measure one encoder."""
    learned, measured = parts
    config = config_of(cell)
    if cell.epochs == 0:
        model = build_model(RunConfig(training=config, data=VolumesSummary.of(learned, source=cell.data)))
        return _score(model, measured, loss=0.0, seconds=0.0)
    start = time.process_time()
    trained = train(config, learned, source=cell.data, machine=Machine())
    seconds = time.process_time() - start
    return _score(trained.model, measured, loss=trained.metrics[-1].loss or 0.0, seconds=seconds)


def _score(model: Model, measured: Volumes, *, loss: float, seconds: float) -> VolumesScore:
    features = embed(model, measured)[0]
    assert measured.outcomes is not None  # `columns_of` refuses volumes without outcomes
    real, ordinal = columns_of(measured)
    numbers = {}
    for column in real:
        points = MeasuredFeatures(features=features, outcome=measured.outcomes.real(column))
        numbers[f"{column}, R^2"] = RegressionValidation(folds=FOLDS).r_squared(points).mean
    for column in ordinal:
        ranks = measured.outcomes.grades(column)[0]
        score = ordinal_probe(LabeledFeatures(features=features, labels=ranks))
        numbers[f"{column}, accuracy"] = score.accuracy.mean
        numbers[f"{column}, 1-off"] = score.one_off.mean
    return VolumesScore(measures=json.dumps(numbers), loss=loss, seconds=seconds)


def columns_of(measured: Volumes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of real outcomes, and those of ordinal ones.

    A column of at most six integers, each of at least five volumes, is ordinal, and another column of numbers
    real. Columns of words or of one value are left out.

    Raises:
        ValueError: if no column is left.
    """
    outcomes = measured.outcomes or Outcomes.of({})
    real, ordinal = [], []
    for column, cells in outcomes.columns.items():
        try:
            values = outcomes.real(column)
        except ValueError:
            continue
        distinct, counts = values.unique(return_counts=True)
        if len(distinct) < 2:
            continue
        are_integers = all(cell.removeprefix("-").isdecimal() for cell in cells)
        if are_integers and len(distinct) <= MOST_GRADES and int(counts.min()) >= FEWEST_OF_A_GRADE:
            ordinal.append(column)
        else:
            real.append(column)
    if not real and not ordinal:
        raise ValueError(
            "the volumes have no outcomes to predict: put outcomes.csv into their folder, with a column id "
            "and a column of numbers for each outcome"
        )
    return tuple(real), tuple(ordinal)


def page(results: Mapping[VolumesRun, VolumesScore]) -> PaperPage | None:
    """Return the page of what has been measured; None before SimCLR."""
    scores: dict[str, dict[int, dict[str, float]]] = {}
    for cell, score in results.items():
        scores.setdefault(cell.arm, {})[cell.seed] = score.numbers
    if SIMCLR not in scores:
        return None
    cell = max(results, key=lambda each: each.epochs)
    measures = list(next(iter(scores[SIMCLR].values())))

    def mean(arm: str, measure: str) -> Estimate:
        return Estimate.over_seeds([numbers[measure] for numbers in scores[arm].values()])

    drawings = {
        measure: dots({arm: mean(arm, measure) for arm in scores}, {}, label=measure, limits=(-0.2, 1.0))
        for measure in measures
    }
    rows = [(cell.data, arm, measure, mean(arm, measure).text()) for measure in measures for arm in scores]
    rows += [(COPDGENE, arm, measure, value) for arm, measure, value in TABLE_4_2]
    return PaperPage(
        title=f"Feature modification on {cell.data}",
        overview=drawings[measures[0]],
        findings=findings(scores, measures),
        figures=(
            Figure(
                title="Predicted outcomes",
                words=f"Of {cell.data}, each in one of {FOLDS} folds: mean and 95 % interval over the seeds.",
                panels=tuple(
                    panel(drawn, f"{name} of every arm.", name=name) for name, drawn in drawings.items()
                ),
                wide=True,
            ),
        ),
        numbers=Numbers(
            header=("set", "arm", "measure", "value"),
            rows=tuple(rows),
            note="Ours are means over the seeds with 95 % intervals. The thesis's are of COPDGene, which is "
            "not public: another set with other outcomes, not to be compared with ours number by number; "
            "it gives means of five folds with standard deviations.",
        ),
        remarks=(
            "Runs of one seed have the same volumes, first weights and order, so that differences are taken "
            "seed by seed. No setting was searched: all arms have the same.",
            "The thesis trains patches of scans with the anatomy-aware MoCo of Sun et al. (2021). Here a "
            "small network sees whole volumes, and SimCLR stands beside MoCo. Its row of the modified loss "
            "alone and epsilon 0.2 are left out.",
        ),
        settings={
            "data": cell.data,
            "volumes": f"{cell.volumes:,} to train on, {cell.measured:,} measured",
            "training": f"{cell.epochs} epochs, batches of {cell.batch_size}, Adam at "
            f"{LEARNING_RATE:g}, weight decay {WEIGHT_DECAY:g}, temperature {TEMPERATURE:g}",
            "encoder": f"resnet3d of width {cell.width}",
        },
    )


def findings(
    scores: Mapping[str, Mapping[int, Mapping[str, float]]], measures: Sequence[str]
) -> tuple[Finding, ...]:
    """Return the paper's statement beside our numbers, for every arm with feature modification."""

    def effect(more: str, less: str, measure: str, name: str) -> Effect:
        ours, theirs = scores.get(more, {}), scores.get(less, {})
        seeds = [seed for seed in ours if seed in theirs]
        difference = None
        if seeds:
            difference = Estimate.of_difference(
                [ours[seed][measure] for seed in seeds], [theirs[seed][measure] for seed in seeds]
            )
        return Effect(name=name, difference=difference)

    return tuple(
        Finding(
            paper="Table 4.2: IFM yields improvements on all outcome predictions (there on COPDGene).",
            ours=f"{arm} over {host}:",
            effects=tuple(effect(arm, host, measure, measure) for measure in measures),
            controls=tuple(
                effect(arm, UNTRAINED, measure, f"{arm} over untrained, {measure}") for measure in measures
            ),
        )
        for arm, (host, _) in MODIFIED.items()
    )
