"""The training error as a loss: whether the singleton extension follows the error that it extends.

Robinson (2023), section 8.5.3, Figure 8-4, and F.7. The figure's numbers are not in the text. Of four
learning rates, each loss has the one that is best on validation images, as in the paper. The whole budget is
ResNet-18 on all images; less is a small network on a part of them for fewer epochs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from matplotlib.figure import Figure as Drawing

from tammes.data import Images, published_at
from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.figures import curves
from tammes.papers.finding import Effect, Finding, within
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_sets import SETS_TRAINING_ERROR, loss_training
from tammes.papers.robinson_sets.loss_training import (
    CONSTANT,
    LOSSES,
    SINGLETON,
    UNTRAINED,
    Curve,
    LossScore,
    LossTraining,
)
from tammes.papers.study import Study, grouped

EPOCHS: Mapping[str, int] = {"CIFAR-10": 200, "SVHN": 100, "MNIST": 100}
"""Epochs of the paper's trainings; MNIST stands in for SVHN."""
RATES = (0.01, 0.05, 0.1, 0.2)
"""Learning rates of F.7."""
SEEDS = 3
SMALL, PART, LEAST = 0.02, 4096, 256
"""Below a budget of 1 there are `PART` images for training and validation, and as many for testing; below
`SMALL` fewer, in proportion, and at least `LEAST`."""
VALIDATION = 0.1
"""Fraction of the images for validation; the paper does not state its own."""
COMPARABLE = 0.05
"""Largest difference of two accuracies that counts as broadly comparable."""
Best = Mapping[str, Mapping[LossTraining, LossScore]]
"""Scores of the trainings of each loss at its best learning rate, one for each seed; and of the controls."""


def run(request: Request) -> None:
    """Train with each loss at each learning rate."""
    data, budget, seeds = request.required_data(), request.budget, request.seed_range(SEEDS)
    published = published_at(data)
    if published is None:
        raise ValueError(f"expected {SETS_TRAINING_ERROR.data} at {data}; found none")
    most = max(LEAST, round(PART * min(1.0, budget / SMALL))) if budget < 1 else None
    train, validation = parts(published.load(data, "train"), most, seed=request.seed)
    test = published.load(data, "test")
    test = test.subset(_shuffled(test, request.seed)[:most])
    classifiers = loss_training.Classifiers(train, validation, test, request.out / "curves")
    rates = list(dict.fromkeys(map(request.rate, RATES)))
    Study(
        cells=cells(published.name, len(train), budget=budget, seeds=seeds, rates=rates),
        scores=LossScore,
        measure=classifiers.measure,
        name=lambda cell: f"{cell.loss}, learning rate {cell.learning_rate:g}, seed {cell.seed}",
        protocol=Protocol(
            seeds=seeds,
            controls=[UNTRAINED, CONSTANT],
            measured_on=f"training images (losses and errors) and {len(test):,} test images (accuracies)",
            search={"learning rate": rates},
            searched_on=f"{len(validation):,} validation images",
        ),
        page=lambda known: page(known, classifiers.curve),
        partial=True,
    ).run(request)


def parts(images: Images, most: int | None, *, seed: int) -> tuple[Images, Images]:
    """Split images at random into training and validation images, at most `most` together."""
    order = _shuffled(images, seed)[:most]
    validation = max(1, round(VALIDATION * len(order)))
    return images.subset(order[validation:]), images.subset(order[:validation])


def _shuffled(images: Images, seed: int) -> list[int]:
    order: list[int] = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed)).tolist()
    return order


def cells(
    data: str, images: int, *, budget: float, seeds: Iterable[int], rates: Sequence[float] = RATES
) -> list[LossTraining]:
    """Return all cells: the controls, then each loss at one learning rate, then at the next."""
    epochs = max(2, round(EPOCHS[data] * budget))
    controls = [(loss, 0.0, 0) for loss in (UNTRAINED, CONSTANT)]
    return [
        LossTraining(
            data=data,
            images=images,
            network=loss_training.SMALL if budget < 1 else loss_training.LARGE,
            loss=loss,
            learning_rate=rate,
            epochs=own,
            seed=seed,
        )
        for loss, rate, own in (*controls, *((loss, rate, epochs) for rate in rates for loss in LOSSES))
        for seed in seeds
    ]


def best_of(results: Mapping[LossTraining, LossScore]) -> Best:
    """Return each loss at the learning rate that is best on the validation images, and the controls.

    The accuracy on validation images is the mean over the seeds; of ties the smaller rate counts. A rate at
    which a seed diverged, or lacks a seed that others have, is left out.
    """
    groups = grouped(
        dict(sorted(results.items(), key=lambda item: item[0].learning_rate)), "loss", "learning_rate"
    )
    seeds = max(map(len, groups.values()))
    found: dict[str, tuple[float, Mapping[LossTraining, LossScore]]] = {}
    for (loss, _), group in groups.items():
        if len(group) < seeds or any(score.diverged for score in group.values()):
            continue
        accuracy = sum(score.validation for score in group.values())
        if loss not in found or accuracy > found[loss][0]:
            found[loss] = accuracy, group
    return {loss: found[loss][1] for loss in (*LOSSES, UNTRAINED, CONSTANT) if loss in found}


def findings(best: Best, first_errors: Sequence[float]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers.

    Args:
        best: trainings of each measured loss, and the controls.
        first_errors: training error of the singleton extension in the first epoch, one for each seed; empty
            if it is not measured.
    """

    def values(field: str, loss: str) -> list[float]:
        return [getattr(score, field) for score in best.get(loss, {}).values()]

    def difference(field: str, more: str, less: str) -> Estimate | None:
        both = more in best and less in best
        return Estimate.of_difference(values(field, more), values(field, less)) if both else None

    def comparable(loss: str) -> Effect:
        found = difference("test", SINGLETON, loss)
        name = f"test accuracy less that of {loss}"
        return Effect(name=name, difference=None) if found is None else within(name, found, 0.0, COMPARABLE)

    others = [loss for loss in LOSSES if loss != SINGLETON]
    learned = (
        Effect(
            name=f"training error below that of the {CONSTANT}",
            difference=difference("error", CONSTANT, SINGLETON),
        ),
        Effect(
            name=f"test accuracy above the {UNTRAINED}", difference=difference("test", SINGLETON, UNTRAINED)
        ),
    )
    last = [(loss, Estimate.over_seeds(values("error", loss))) for loss in LOSSES if loss in best]
    fall = Estimate.of_difference(first_errors, values("error", SINGLETON)) if first_errors else None
    return (
        Finding(
            paper="The singleton extension is the only loss that approximates the training error at the same "
            "numerical scale.",
            ours="Mean distance to the error, less that of the singleton extension:",
            effects=tuple(
                Effect(name=loss, difference=difference("distance", loss, SINGLETON)) for loss in others
            ),
            controls=learned,
        ),
        Finding(
            paper="It can be used to minimize the error.",
            ours=f"Error in the last epoch: {', '.join(f'{loss} {error}' for loss, error in last)}.",
            effects=(Effect(name="Fall from the first epoch to the last", difference=fall),),
            controls=learned,
        ),
        Finding(
            paper="Figure F-1: in test accuracy, the singleton extension performs broadly comparably to "
            "other losses.",
            effects=tuple(map(comparable, others)),
            controls=learned,
        ),
    )


def page(
    results: Mapping[LossTraining, LossScore], curve_of: Callable[[LossTraining], Curve]
) -> PaperPage | None:
    """Return the page of the scores; None if no training has ended without divergence."""
    best = best_of(results)
    series = {loss: [curve_of(cell) for cell in group] for loss, group in best.items() if loss in LOSSES}
    if not series:
        return None
    drawn = {loss: _drawn(loss, own) for loss, own in series.items()}
    cell = max(results, key=lambda each: each.epochs)
    return PaperPage(
        title="The training error as a loss",
        overview=next(iter(drawn.values())),
        findings=findings(best, [curve[0][1] for curve in series.get(SINGLETON, [])]),
        figures=(
            Figure(
                title="Loss and error",
                words="On training images; bands are 95 % intervals over the seeds.",
                panels=tuple(
                    panel(figure, f"{loss} and training error over epochs.", name=loss)
                    for loss, figure in drawn.items()
                ),
                wide=True,
            ),
        ),
        numbers=numbers(best),
        remarks=(
            "The extension jumps where the right class draws level with another one, and a tie counts as an "
            "error: it lies above the error while the network is uncertain.",
            "A loss stays near an error that does not change. So the statements count only if the network "
            "has learned: its error is below that of giving all images the most frequent class, and its "
            "test accuracy above that of the untrained network.",
            "The other learning rates are in table.csv.",
        ),
        settings={
            "data": f"{cell.data}, {cell.images:,} training images",
            "network": cell.network,
            "epochs": f"{cell.epochs} (the paper's: {EPOCHS[cell.data]})",
            "SGD": "momentum 0.9, weight decay 5e-4, cosine",
            "batch": str(loss_training.BATCH),
            "split": "the same for all seeds",
        },
    )


def numbers(best: Best) -> Numbers:
    """Return a row for each loss and each control."""

    def row(loss: str, group: Mapping[LossTraining, LossScore]) -> tuple[str, ...]:
        def text(field: str) -> str:
            return Estimate.over_seeds([getattr(score, field) for score in group.values()]).text(3)

        rates = {f"{cell.learning_rate:g}" for cell in group}
        trained = (*rates, text("value"), text("error"), text("distance"))
        control = ("–", "–", text("error"), "–")
        return loss, *(trained if loss in LOSSES else control), text("validation"), text("test")

    return Numbers(
        header=(
            "",
            "learning rate",
            "loss",
            "error",
            "mean distance",
            "validation accuracy",
            "test accuracy",
        ),
        rows=tuple(row(*item) for item in best.items()),
        note="With 95 % intervals over the seeds. Loss and error are means over the batches of the last "
        "epoch, on training images; the distance is over all epochs.",
    )


def _drawn(loss: str, series: Sequence[Curve]) -> Drawing:
    """Draw a loss and the training error over the epochs."""
    epochs = [*zip(*series, strict=True)]
    across = [float(epoch) for epoch in range(1, len(epochs) + 1)]
    lines = {
        name: (across, [Estimate.over_seeds([means[place] for means in epoch]) for epoch in epochs])
        for place, name in enumerate(("loss", "error"))
    }
    return curves(lines, across="epoch", up=loss)
