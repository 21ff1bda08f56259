"""Batch size and number of negatives on images, with real positives and with augmented ones.

Ash et al. (2022), sec. 4 and appendix D.2. f is trained by the logistic loss of their Definition 1 on raw
inner products; each anchor draws its own k negatives out of the 2 (B - 1) rows of the batch that are not of
its pair, so that B and k vary independently. A positive is another image of the anchor's class, nothing
augmented, or another view of the anchor, everything augmented (SimCLR). What f is worth is read by a linear
classifier trained on the labels, and by the classes' means.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from tammes.data import Published, published_at
from tammes.data.published import CIFAR10, MNIST, SVHN
from tammes.papers.ash.vision_figures import heat_panels, line_panels, overview
from tammes.papers.ash.vision_findings import findings, linear, linear_early, mean, mean_early
from tammes.papers.ash.vision_settings import LATENT, MEASURED_HERE, PAPER, Scale, grid, scale_of
from tammes.papers.ash.vision_training import POSITIVES, Parts, VisionRun, VisionRuns, VisionScore, device
from tammes.papers.ash.vision_trends import Arm, Pick, arms
from tammes.papers.entry import Entry, Request
from tammes.papers.page import Figure, Numbers, PaperPage
from tammes.papers.statistics import Interval
from tammes.papers.study import Study
from tammes.report.markup import listed

REMARKS = (
    "As in the paper, every cell is trained for the same number of epochs, so a smaller batch takes more "
    "steps. To tell one from the other, each is also measured after as many steps as the largest batch "
    "takes in all; there the larger batch has seen more images. Where the two disagree on batch size, "
    "training is too short for either to be the last word.",
    "Cells of one seed have the same images, first weights, pairs and views, in the same order: they differ "
    "by B and k alone. A trend counts as agreeing if it has the paper's sign for every seed. k is compared "
    "within a batch size, B over the values of k that the smallest and the largest batch both have.",
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
            f"finds no GPU here: choose budget {MEASURED_HERE:g}, which takes about an hour, or less"
        )
    scale, sets = scale_of(request.budget), load(request.required_data())
    Study(
        cells=cells(sets, scale, seed=request.seed),
        scores=VisionScore,
        measure=VisionRuns(sets, scale).measure,
        name=lambda cell: f"{cell.data}, {cell.positives}, B = {cell.batch_size}, k = {cell.k}",
        page=lambda results: page(arms(results), scale),
    ).run(request)


def load(data: Path) -> Mapping[str, Parts]:
    """CIFAR-10 and SVHN, or MNIST in place of SVHN, from a folder or the folders in it.

    Raises:
        ValueError: where there is none, or one cannot be read.
    """
    places = [data, *sorted(data.iterdir())] if data.is_dir() else [data]
    at: dict[Published, Path] = {}
    for place in places:
        found = published_at(place)
        if found is not None:
            at.setdefault(found, place)
    wanted = (CIFAR10, SVHN if SVHN in at else MNIST)
    if not any(each in at for each in wanted):
        raise ValueError(f"expected in {data} or a folder in it {ENTRY.data}; found none of them")
    return {
        each.name: Parts(train=each.load(at[each], "train"), test=each.load(at[each], "test"))
        for each in wanted
        if each in at
    }


def cells(sets: Mapping[str, Parts], scale: Scale, *, seed: int) -> list[VisionRun]:
    """All cells, those of the first seed first: after it a stopped study is a whole one, with fewer seeds."""
    wanted = []
    for each in range(seed, seed + scale.seeds):
        for data, parts in sets.items():
            images = len(parts.train) if scale.images is None else min(scale.images, len(parts.train))
            cell = partial(VisionRun, data=data, seed=each, images=images, epochs=scale.epochs)
            wanted += [
                cell(positives=positives, batch_size=batch_size, k=k, encoder=scale.encoder_name)
                for positives in POSITIVES
                for batch_size, k in grid(images)
            ]
    if not wanted:
        raise ValueError(f"expected at least 16 images to train on in {', '.join(sets)}, got fewer")
    return wanted


def page(found: tuple[Arm, ...], scale: Scale) -> PaperPage:
    """Return the page of what has been measured."""
    picks = (("trained linear classifier", linear), ("mean classifier", mean))
    return PaperPage(
        title="Batch size and number of negatives, on images",
        overview=overview(found, picks),
        lead=_lead(found),
        findings=findings(found),
        figures=(
            Figure(
                title="The trained linear classifier",
                words="Accuracy in percent on test images, as in the paper's Fig. 4: mean over the seeds. "
                "Lighter is better, each drawing on a scale of its own; the best cell is circled.",
                panels=heat_panels(found, linear, name="linear"),
            ),
            Figure(
                title="The mean classifier",
                words="The same, as in the paper's Fig. 8: an image gets the class with whose mean it has "
                "the largest inner product.",
                panels=heat_panels(found, mean, name="mean"),
            ),
            Figure(
                title="With error bars",
                words="The trained linear classifier again, with standard deviations over the seeds.",
                panels=line_panels(found, linear, name="lines"),
            ),
            Figure(
                title="After equally many steps",
                words="The trained linear classifier where all batch sizes have taken as many steps as the "
                "largest takes in all. (Not in the paper.)",
                panels=line_panels(found, linear_early, name="early"),
            ),
        ),
        numbers=_numbers(found),
        remarks=REMARKS,
        settings=_settings(found, scale),
    )


def _lead(found: tuple[Arm, ...]) -> str:
    """What the number of negatives does, in a sentence."""
    changes = [f"{arm.by_count(linear).change} ({arm.name})" for arm in found]
    return f"From one negative to all that a batch has, accuracy changes by {listed(changes)}."


def _settings(found: tuple[Arm, ...], scale: Scale) -> dict[str, str]:
    images = {arm.data: next(iter(arm.results)).images for arm in found}
    return {
        "images to train on": ", ".join(f"{count:,} of {data}" for data, count in images.items()),
        "encoder": f"{scale.encoder_name}, f(x) in {LATENT} dimensions",
        "epochs": str(scale.epochs),
        "seeds": str(len(found[0].seeds)),
        "Adam, learning rate": f"{scale.optimizer.learning_rate:g}",
        "loss": "logistic, raw inner products, temperature 1",
    }


def _numbers(found: tuple[Arm, ...]) -> Numbers:
    """Every cell, as mean and standard deviation over the seeds."""
    picks: tuple[Pick, ...] = (linear, mean, linear_early, mean_early)
    rows = [
        (
            f"{arm.name}, B = {batch_size}, k = {k}",
            *(Interval.of(arm.values(batch_size, k, pick)).percent for pick in picks),
        )
        for arm in found
        for batch_size in arm.batch_sizes
        for k in arm.counts(batch_size)
    ]
    return Numbers(
        header=("cell", "linear", "mean", "linear, equal steps", "mean, equal steps"),
        rows=tuple(rows),
        note="Accuracy in percent on test images; mean ± standard deviation over "
        f"{len(found[0].seeds)} seeds.",
    )


ENTRY = Entry(
    name="negatives-vision",
    statement="With augmented positives, accuracy tends to improve with batch size and with the number of "
    "negatives. With real positives it hardly depends on either on SVHN, and on CIFAR-10 it tends to "
    "increase as the batch gets smaller.",
    source="Ash, Goel, Krishnamurthy and Misra, Investigating the Role of Negatives in Contrastive "
    "Representation Learning, arXiv:2106.09943, section 4, Fig. 4 and 8, Table 2",
    run=run,
    data="CIFAR-10 (cifar-10-binary.tar.gz or cifar-10-batches-bin), and SVHN (train_32x32.mat, "
    "test_32x32.mat) or MNIST (its four idx files) in its place",
)
