"""Whether ever harder negatives put classes in places as far apart as can be (section 3.4, Theorem 3).

Free points, and an encoder on handwritten digits, are trained with true negatives whose hardness grows, and
are compared with the solution of the packing problem that the theorem names (eq. 3.15).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import attrgetter

import numpy as np
import torch

from tammes.contrast import InfoNCE
from tammes.coupling import Hard
from tammes.data import digits
from tammes.encoders import ConvNetConfig, ProjectionHeadConfig
from tammes.estimate import Estimate
from tammes.objective import Objective
from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.finding import Check, Effect, Finding, effect_in_points
from tammes.papers.image_sets import balanced
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.study import Study
from tammes.positives import Handwriting, SameClass
from tammes.selection import OtherLabels
from tammes.theory import NearestNeighborBound, Packing, Population, limit_loss, nearest_medoid, pack
from tammes.training import (
    Adam,
    ImagesSummary,
    Machine,
    Rising,
    RunConfig,
    TrainingConfig,
    build_model,
    embed,
    train,
)

POINTS, ENCODER = "free points", "encoder of digits"
HARDER, UNIFORM, UNTRAINED = "ever harder", "uniform", "untrained"
SIZES = ((4, 3), (5, 3), (6, 3), (10, 3))
"""Classes and dimensions of the free points."""
ENCODER_SIZES = ((10, 3), (10, 9))
"""Classes and dimensions of the encoder: a packing of the ordinary sphere, and the simplex."""
STEPS, EPOCHS, SEEDS = 800, 60, 5
TEMPERATURE, LARGEST_BETA, CHANGES = 0.5, 50.0, 10
REACHED = 0.95
"""Share of the best possible value that counts as arrival."""
EACH, TEST_IMAGES = 3, 300
REMARKS = (
    "The value is the mean squared distance of an embedding to the nearest of another class, less the mean "
    "squared distance within its class: Theorem 3 says that its maximum is that of eq. 3.15, which is 100 %. "
    "Equal weights do not make it Tammes' problem (docs/geometry.md), so that the reference is the weighted "
    "packing.",
    "Negatives are those of other classes, as in the theorem. Free points have three copies of each class; "
    "the encoder sees images of digits, and is measured on others.",
)


@dataclass(frozen=True, kw_only=True)
class PackingRun:
    """Training of free points or of an encoder.

    Args:
        kind: `POINTS` or `ENCODER`.
        negatives: `HARDER`, `UNIFORM` or `UNTRAINED`.
        classes: number of classes.
        dimension: dimension of the embeddings.
        seed: random seed.
        steps: steps of free points, or epochs of an encoder; 0 untrained.
    """

    kind: str
    negatives: str
    classes: int
    dimension: int
    seed: int
    steps: int


@dataclass(frozen=True, kw_only=True)
class PackingScore:
    """Measurements of embeddings with classes.

    Args:
        reached: value over the best possible value; may be below zero.
        separation: smallest distance of the medoids of two classes.
        best_separation: the same of the packing.
        error: share of the embeddings whose nearest medoid is of another class.
        bound: bound on this error by the excess of the loss and the separation.
    """

    reached: float
    separation: float
    best_separation: float
    error: float
    bound: float


Results = Mapping[PackingRun, PackingScore]


def run(request: Request) -> None:
    """Train free points and encoders, and compare them with the packing."""
    seeds = request.seed_range(SEEDS, fewest=3)
    part = min(1.0, request.budget / 0.1)
    steps = {POINTS: max(5, round(STEPS * part)), ENCODER: max(2, round(EPOCHS * part))}
    cells = [
        PackingRun(
            kind=kind,
            negatives=negatives,
            classes=classes,
            dimension=dimension,
            seed=seed,
            steps=steps[kind] if request.learning and negatives != UNTRAINED else 0,
        )
        for seed in seeds
        for kind, sizes in ((POINTS, SIZES), (ENCODER, ENCODER_SIZES))
        for classes, dimension in sizes
        for negatives in (UNTRAINED, UNIFORM, HARDER)
    ]
    Study(
        cells=cells,
        scores=PackingScore,
        measure=measure,
        name=lambda run: f"{run.kind}, {run.classes} in {run.dimension}, {run.negatives}, seed {run.seed}",
        protocol=Protocol(
            seeds=seeds, controls=("untrained points and encoder",), measured_on="points; test digits"
        ),
        page=partial(page, steps=steps),
    ).run(request)


@cache
def reference(classes: int, dimension: int) -> Packing:
    """Return the best points for equally frequent classes, eq. 3.15."""
    return pack(classes, dimension, weights=np.ones(classes), restarts=6)


def measure(run: PackingRun) -> PackingScore:
    """Train and measure one cell."""
    them = free_points(run) if run.kind == POINTS else encoded_digits(run)
    best = reference(run.classes, run.dimension)
    found, loss = nearest_medoid(them), limit_loss(them)
    excess = max(0.0, loss * 2 * TEMPERATURE + best.mean_squared_distance) / 2
    return PackingScore(
        reached=-loss * 2 * TEMPERATURE / best.mean_squared_distance,
        separation=found.separation,
        best_separation=best.distance,
        error=found.error,
        bound=min(
            1.0, NearestNeighborBound(excess=excess, classes=run.classes).by_separation(found.separation)
        ),
    )


def objective_at(negatives: str, share: float) -> Objective:
    """Return the objective after a share of the training: the limit form, with beta from 1 to 1,000.

    Args:
        negatives: `HARDER`, or `UNIFORM` for a beta of 0.
        share: part of the training, from 0 to 1.
    """
    return Objective(
        temperature=TEMPERATURE,
        coupling=Hard(beta=10 ** (3 * share) if negatives == HARDER else 0.0),
        selection=OtherLabels(),
        contrast=InfoNCE(limit=True),
    )


def free_points(run: PackingRun) -> Population:
    """Train points on the sphere, three for each class."""
    generator = torch.Generator().manual_seed(run.seed)
    labels = torch.arange(run.classes).repeat(EACH)
    shape = EACH * run.classes, run.dimension
    points = torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()
    optimizer = torch.optim.Adam([points], lr=0.05)
    for step in range(run.steps):
        share = step / run.steps
        optimizer.param_groups[0]["lr"] = 0.05 * 10 ** (-2.5 * share)
        optimizer.zero_grad()
        # Each row is its own second view; rows of a class are positives.
        objective_at(run.negatives, share)(points, points, ids=labels, labels=labels).backward()
        optimizer.step()
    return Population(embeddings=points.detach().numpy(), labels=labels.numpy(), temperature=TEMPERATURE)


def encoded_digits(run: PackingRun) -> Population:
    """Train an encoder on digits with positives of the same class, and embed test digits."""
    images = digits("train")
    harder = run.negatives == HARDER
    objective = replace(objective_at(UNIFORM, 0.0), coupling=Hard(beta=LARGEST_BETA if harder else 0.0))
    epochs = max(1, run.steps)
    config = TrainingConfig(
        objective=objective,
        encoder=ConvNetConfig(width=16),
        head=ProjectionHeadConfig(dim=run.dimension),
        augmentation=Handwriting(),
        positives=SameClass(),
        optimizer=Adam(),
        batch_size=128,
        epochs=epochs,
        seed=run.seed,
        annealing=Rising(changes=min(CHANGES, epochs)) if harder else None,
    )
    if run.steps == 0:
        model = build_model(RunConfig(training=config, data=ImagesSummary.of(images, source="digits")))
    else:
        model = train(config, images, machine=Machine(accelerator="cpu")).model
    test = balanced(digits("test"), TEST_IMAGES, seed=run.seed)
    _, embeddings = embed(model, test)
    labels = test.required_labels().numpy()
    return Population(embeddings=embeddings.double().numpy(), labels=labels, temperature=TEMPERATURE)


def page(results: Results, *, steps: Mapping[str, int]) -> PaperPage:
    """Return the page of all cells."""
    drawings = {
        kind: dots(
            {
                f"{classes} in {dimension}, {negatives}": _mean(
                    results, kind, negatives, classes, dimension, "reached"
                )
                for classes, dimension in sizes
                for negatives in (UNTRAINED, UNIFORM, HARDER)
            },
            {},
            label="share of the best possible value",
            limits=(-0.5, 1.0),
        )
        for kind, sizes in ((POINTS, SIZES), (ENCODER, ENCODER_SIZES))
    }
    return PaperPage(
        title="Harder negatives and packings",
        overview=drawings[POINTS],
        findings=findings(results),
        figures=(
            Figure(
                title="How near the packing",
                words="Mean and 95 % interval over the seeds.",
                panels=tuple(
                    panel(drawn, f"Share of the best possible value, {kind}.", name=kind)
                    for kind, drawn in drawings.items()
                ),
                wide=True,
            ),
        ),
        numbers=_numbers(results),
        remarks=REMARKS,
        settings={
            "free points": f"{steps[POINTS]} steps, beta from 1 to 1,000, Adam",
            "encoder": f"ConvNet, width 16, {steps[ENCODER]} epochs on digits, beta up to {LARGEST_BETA:g}",
            "temperature": f"{TEMPERATURE:g}",
        },
    )


def findings(results: Results) -> tuple[Finding | Check, ...]:
    """Return the theorem's statements beside our numbers."""

    def above(kind: str, classes: int, dimension: int, less: str) -> Effect:
        more = _values(results, kind, HARDER, classes, dimension, "reached")
        other = _values(results, kind, less, classes, dimension, "reached")
        difference = Estimate.of_difference(more, other)
        return effect_in_points(f"{classes} in {dimension} dimensions, over {less}", difference)

    def arrived(classes: int, dimension: int) -> Effect:
        mean = _mean(results, POINTS, HARDER, classes, dimension, "reached")
        words = f"{mean.percent} %"
        return Effect(name=f"{classes} in {dimension} dimensions", difference=mean - REACHED, words=words)

    worst = max(score.error - score.bound for score in results.values())
    return (
        Finding(
            paper="Theorem 3: points trained with ever harder negatives solve the packing problem.",
            ours=f"Share of the best possible value, more than {100 * REACHED:.0f} %:",
            effects=tuple(arrived(*size) for size in SIZES),
            controls=tuple(above(POINTS, *size, UNTRAINED) for size in SIZES),
        ),
        Finding(
            paper="Theorem 3: an encoder comes nearer the packing with harder negatives than uniform ones.",
            ours="Share of the best possible value, in points:",
            effects=tuple(above(ENCODER, *size, UNIFORM) for size in ENCODER_SIZES),
            controls=tuple(above(ENCODER, *size, UNTRAINED) for size in ENCODER_SIZES),
        ),
        Check(
            paper="Theorem 4, corrected: the error of the nearest medoid is below its bound.",
            ours=f"Error less bound, the largest of {len(results)} cells: {worst:+.3f}.".replace(
                "-", "\u2212"
            ),
            passed=worst <= 1e-9,
        ),
    )


def _values(
    results: Results, kind: str, negatives: str, classes: int, dimension: int, name: str
) -> list[float]:
    pick = attrgetter(name)
    return [
        pick(score)
        for run, score in results.items()
        if (run.kind, run.negatives, run.classes, run.dimension) == (kind, negatives, classes, dimension)
    ]


def _mean(results: Results, kind: str, negatives: str, classes: int, dimension: int, name: str) -> Estimate:
    return Estimate.over_seeds(_values(results, kind, negatives, classes, dimension, name))


def _numbers(results: Results) -> Numbers:
    rows = []
    for kind, sizes in ((POINTS, SIZES), (ENCODER, ENCODER_SIZES)):
        for classes, dimension in sizes:
            for negatives in (UNTRAINED, UNIFORM, HARDER):
                means = {
                    name: _mean(results, kind, negatives, classes, dimension, name)
                    for name in ("reached", "separation", "best_separation", "error", "bound")
                }
                rows.append(
                    (
                        f"{kind}, {classes} in {dimension}, {negatives}",
                        means["reached"].text(1, scale=100),
                        means["separation"].text(3),
                        f"{means['best_separation'].mean:.3f}",
                        means["error"].percent,
                        f"{means['bound'].mean:.2f}",
                    )
                )
    return Numbers(
        header=("what", "of the best, %", "smallest distance", "of the packing", "error, %", "bound"),
        rows=tuple(rows),
        note="Means over the seeds with 95 % intervals. Smallest distance: of the medoids of two classes. "
        "Error: of the nearest medoid; its bound is Theorem 4's, corrected, and 1 where it says nothing.",
    )
