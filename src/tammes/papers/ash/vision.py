"""Batch size and number of negatives on images, with real positives and with augmented ones.

Ash et al. (2022), sec. 4 and appendix D.2. f is trained by the logistic loss of their Definition 1 on raw
inner products; each anchor draws its k negatives from the 2 (B - 1) rows of the batch outside its pair, so
that B and k vary independently. A positive is another image of the anchor's class, nothing augmented, or
another view of the anchor, everything augmented (SimCLR). f is judged by a linear classifier trained on the
labels, and by the classes' means.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product

from tammes.estimate import Estimate
from tammes.papers.ash import NEGATIVES_VISION
from tammes.papers.ash.accuracies import (
    in_points,
    linear,
    linear_early,
    mean,
    mean_early,
    over_seeds,
    points,
)
from tammes.papers.ash.vision_training import (
    BATCH_SIZES,
    COUNTS,
    LATENT,
    MEASURED_HERE,
    PAPER,
    POSITIVES,
    Scale,
    VisionRun,
    VisionScore,
    device,
    measurer,
    scale_of,
)
from tammes.papers.ash.vision_trends import VisionArm, arms, heat_panels, line_panels, overview
from tammes.papers.entry import Request
from tammes.papers.finding import Finding, within
from tammes.papers.image_sets import Parts, published_sets
from tammes.papers.page import Figure, Numbers, PaperPage
from tammes.papers.protocol import Protocol
from tammes.papers.study import Study
from tammes.report.markup import listed

ALIKE = 0.02
"""Accuracies that differ by less than this, two points, count as roughly equivalent."""
WORSE = 0.05
"""Five points: the difference that we take for significantly worse."""
REMARKS = (
    "As in the paper, every run has the same number of epochs, so a smaller batch takes more "
    "steps. To tell one from the other, each is also measured after as many steps as the largest batch "
    "takes in all; there the larger batch has seen more images. Where the two disagree on batch size, "
    "training is too short to decide.",
    "Runs of one seed have the same images, first weights, pairs and views, in the same order: they differ "
    "by B and k alone, and all differences are paired by seed. k is compared within a batch size, B over the "
    "values of k that the smallest and the largest batch both have. Where the best setting is compared, that "
    "of a seed is chosen on the other seeds.",
    "With real positives the classes are used, and with ten classes a tenth of the negatives are of the "
    "anchor's own class. An epoch has as many pairs as there are images, whichever the positives.",
)


def run(request: Request) -> None:
    """Measure every batch size and number of negatives on each set.

    Raises:
        ValueError: the whole budget without a GPU, or a folder without a set that can be read.
    """
    if request.budget == 1 and device().type == "cpu":
        raise ValueError(
            f"the whole budget trains ResNet-18 for {PAPER.epochs} epochs, hundreds of times, and PyTorch "
            f"finds no GPU here: choose budget {MEASURED_HERE:g}, which takes about 40 minutes, or less"
        )
    scale = scale_of(request.budget)
    sets = published_sets(request.required_data(), wanted=NEGATIVES_VISION.data)
    seeds = request.seed_range(scale.seeds, fewest=scale.seeds)
    Study(
        cells=cells(sets, scale, seeds),
        scores=VisionScore,
        measure=measurer(sets, scale, rate=request.rate(scale.learning_rate)),
        name=lambda run: (
            f"{run.data}, {run.positives}, B = {run.batch_size}, "
            + (f"k = {run.k}" if run.epochs else "untrained")
        ),
        protocol=Protocol(seeds=seeds, controls=["untrained network"], measured_on="test images"),
        page=lambda results: page(arms(results), scale),
    ).run(request)


def grid(images: int) -> tuple[tuple[int, int], ...]:
    """Return every (batch size, k) that a number of images allows: k is at most 2 (B - 1).

    Example:
        >>> grid(40)
        ((16, 1), (16, 4), (16, 30))
    """
    return tuple(
        (batch_size, k)
        for batch_size, k in product(BATCH_SIZES, COUNTS)
        if batch_size <= images and k <= 2 * (batch_size - 1)
    )


def cells(sets: Mapping[str, Parts], scale: Scale, seeds: Sequence[int]) -> list[VisionRun]:
    """Return all runs, those of the first seed first, and the untrained network for each batch size."""
    wanted = []
    for each in seeds:
        for data, (train, _) in sets.items():
            images = len(train) if scale.images is None else min(scale.images, len(train))
            run = partial(VisionRun, data=data, seed=each, images=images, encoder=scale.encoder)
            wanted += [
                run(positives=positives, batch_size=batch_size, k=k, epochs=epochs)
                for positives in POSITIVES
                for batch_size, k in grid(images)
                for epochs in ((0, scale.epochs) if k == COUNTS[0] else (scale.epochs,))
            ]
    if not wanted:
        raise ValueError(f"expected at least 16 images to train on in {', '.join(sets)}, got fewer")
    return wanted


def page(found: tuple[VisionArm, ...], scale: Scale) -> PaperPage:
    """Return the page of what has been measured."""
    changes = [f"{arm.by_count(linear).points} ({arm.name})" for arm in found]
    images = {arm.data: next(iter(arm.results)).images for arm in found}
    return PaperPage(
        title="Batch size and number of negatives, on images",
        overview=overview(found, {"trained linear classifier": linear, "mean classifier": mean}),
        lead=f"From one negative to all that a batch has, accuracy changes by {listed(changes)}.",
        findings=findings(found),
        figures=(
            Figure(
                title="The trained linear classifier",
                words="Accuracy in percent on test images, as in the paper's Fig. 4: mean over the seeds. "
                "Lighter is better, each drawing on its own scale; the best setting is circled.",
                panels=heat_panels(found, linear, words="trained linear classifier"),
            ),
            Figure(
                title="The mean classifier",
                words="The same, as in the paper's Fig. 8: an image gets the class whose mean has the "
                "largest inner product with it.",
                panels=heat_panels(found, mean, words="mean classifier"),
            ),
            Figure(
                title="With intervals",
                words="The trained linear classifier again, with 95 % intervals over the seeds.",
                panels=line_panels(found, linear, words="equal epochs"),
            ),
            Figure(
                title="After equally many steps",
                words="The trained linear classifier where all batch sizes have taken as many steps as the "
                "largest takes in all. (Not in the paper.)",
                panels=line_panels(found, linear_early, words="equal steps"),
            ),
        ),
        numbers=_numbers(found),
        remarks=REMARKS,
        settings={
            "images to train on": ", ".join(f"{count:,} of {data}" for data, count in images.items()),
            "images to test on": "all" if scale.test_images is None else f"{scale.test_images:,} of each set",
            "encoder": f"{scale.encoder}, f(x) in {LATENT} dimensions",
            "epochs": str(scale.epochs),
            "Adam, learning rate": f"{scale.learning_rate:g}",
            "loss": "logistic, raw inner products, temperature 1",
        },
    )


def _numbers(found: tuple[VisionArm, ...]) -> Numbers:
    """Return every setting, and the untrained network, with intervals over the seeds."""
    rows = []
    for arm in found:
        picks = (linear, mean, linear_early, mean_early)
        for row, batch_size in enumerate(arm.batch_sizes):
            settings = {"untrained": [arm.untrained(pick)[:, row] for pick in picks]}
            for column, k in enumerate(arm.counts(batch_size)):  # the first of `COUNTS`
                settings[f"k = {k}"] = [arm.values(pick)[:, row, column] for pick in picks]
            for name, accuracies in settings.items():
                cells = (Estimate.over_seeds(each.tolist()).percent for each in accuracies)
                rows.append((f"{arm.name}, B = {batch_size}, {name}", *cells))
    return Numbers(
        header=("cell", "linear", "mean", "linear, equal steps", "mean, equal steps"),
        rows=tuple(rows),
        note=f"Accuracy in percent on test images; mean and 95 % interval over {len(found[0].seeds)} seeds.",
    )


def findings(arms: Sequence[VisionArm]) -> tuple[Finding, ...]:
    """Return the statements that these sets can test."""
    found: list[Finding] = []
    for arm in arms:
        if arm.positives == "real":
            continue
        real = next(each for each in arms if (each.data, each.positives) == (arm.data, "real"))
        found += _batch_sizes(
            arm, "Sec. 4: with augmentation, accuracy tends to improve with increasing batch size."
        )
        found.append(
            Finding(
                paper="Sec. 4: with augmentation, accuracy tends to improve with increasing k.",
                ours=_counts_in_words(arm),
                effects=(in_points("k from 1 to all", arm.by_count(linear)),),
                controls=(arm.learned(linear),),
            )
        )
        found += _photographs(real, arm) if arm.data == "CIFAR-10" else _digits(real, arm)
        found.append(Finding(paper="(No statement: k with real positives.)", ours=_counts_in_words(real)))
    return tuple(found)


def _photographs(real: VisionArm, augmented: VisionArm) -> list[Finding]:
    """Return the statements on CIFAR-10."""
    difference = over_seeds(augmented.best_of_others(linear) - real.best_of_others(linear) - ALIKE)
    return [
        *_batch_sizes(
            real,
            "Sec. 4: with real positives on CIFAR-10, accuracy tends to increase as batch size decreases.",
        ),
        Finding(
            paper="Sec. 4: on CIFAR-10, accuracy without augmentation is poor in comparison with "
            "augmentation.",
            ours=f"Best {real.best(linear)[2].percent} % with real positives, "
            f"{augmented.best(linear)[2].percent} % with augmented ones.",
            effects=(in_points(f"difference beyond {100 * ALIKE:g} points", difference),),
            controls=(augmented.learned(linear),),
        ),
    ]


def _digits(real: VisionArm, augmented: VisionArm) -> list[Finding]:
    """Return the statements on SVHN."""
    stand_in = "" if real.data == "SVHN" else f" ({real.data} stands in.)"
    worse = over_seeds(augmented.best_of_others(linear) - augmented.best_of_others(mean) - WORSE)
    settings = [
        within(f"B = {batch_size}, k = {k}", difference, 0.0, ALIKE)
        for batch_size, k, difference in real.from_the_middle(linear)
    ]
    return [
        Finding(
            paper="Sec. 4: with real positives on SVHN, nearly all combinations of k and batch size give "
            f"roughly equivalent representations.{stand_in}",
            ours=f"{real.name}, each setting minus the mean of all, as fractions; nearly all: all but one. "
            f"Best {real.best(linear)[2].percent} %.",
            effects=tuple(settings),
            controls=(real.learned(linear),),
            required=max(1, len(settings) - 1),
        ),
        Finding(
            paper="Appendix D.2: with augmentation on SVHN, the mean classifier is significantly worse than "
            f"the trained one.{stand_in}",
            ours=f"{augmented.name}: best {augmented.best(mean)[2].percent} % against "
            f"{augmented.best(linear)[2].percent} %.",
            effects=(in_points(f"difference beyond {100 * WORSE:g} points", worse),),
            controls=(augmented.learned(linear),),
        ),
    ]


def _batch_sizes(arm: VisionArm, paper: str) -> list[Finding]:
    """Return a statement on batch sizes, after equal epochs as in the paper, and after equal steps.

    Augmented positives should gain from a larger batch, real ones lose.
    """
    if len(arm.batch_sizes) < 2:
        return []
    smallest, largest = arm.batch_sizes[0], arm.batch_sizes[-1]
    change = arm.by_batch_size(linear)
    if arm.positives == "real" and change is not None:
        change = -change
    bigger, smaller = (largest, smallest) if arm.positives == "augmented" else (smallest, largest)
    return [
        Finding(
            paper=paper,
            ours=f"{arm.name}, B from {smallest} to {largest} at equal k, mean classifier: "
            f"{points(arm.by_batch_size(mean))}.",
            effects=(in_points(f"linear classifier, B = {bigger} above {smaller}", change),),
            controls=(arm.learned(linear),),
        ),
        Finding(
            paper="(No statement: the same where all batch sizes take equally many steps.)",
            ours=f"{arm.name}, B from {smallest} to {largest} at equal k: "
            f"{points(arm.by_batch_size(linear_early))} (mean classifier "
            f"{points(arm.by_batch_size(mean_early))}).",
        ),
    ]


def _counts_in_words(arm: VisionArm) -> str:
    """Return how accuracy changes from one negative to all, and from a few to all."""
    few = arm.counts(arm.batch_sizes[0])[1]
    return (
        f"{arm.name}, k from 1 to all of the batch: {arm.by_count(linear).points} (mean classifier "
        f"{arm.by_count(mean).points}); from {few} to all: {arm.by_count(linear, since=few).points}."
    )
