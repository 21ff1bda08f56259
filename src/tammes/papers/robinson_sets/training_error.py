"""The training error as a loss: whether the singleton extension follows the error that it extends.

Robinson (2023), section 8.5.3, Figure 8-4, and F.7. The figure's numbers are not in the text. Of four
learning rates, each loss has the one that is best on validation images, as in the paper. The whole budget is
ResNet-18 on all images; less is a small network on a part of them for fewer epochs.
"""

from collections.abc import Callable, Mapping

import torch
from matplotlib.figure import Figure as Drawing

from tammes.data import Images, published_at
from tammes.papers.entry import Entry, Request
from tammes.papers.figures import curves
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.robinson_sets import loss_training
from tammes.papers.robinson_sets.loss_training import LOSSES, SINGLETON, Curve, LossScore, LossTraining
from tammes.papers.study import Study

EPOCHS: Mapping[str, int] = {"CIFAR-10": 200, "SVHN": 100, "MNIST": 100}
"""Epochs of the paper's trainings; MNIST stands in for SVHN."""
RATES = (0.01, 0.05, 0.1, 0.2)
"""Learning rates of F.7."""
PART = 4096
"""Number of training and validation images if the budget is below 1."""
VALIDATION = 0.1
"""Fraction of the images for validation; the paper does not state its own."""
Best = Mapping[str, tuple[LossTraining, LossScore]]
"""Best training of each loss, with its score."""


def run(request: Request) -> None:
    """Train with each loss at each learning rate."""
    data, budget, seed = request.required_data(), request.budget, request.seed
    published = published_at(data)
    if published is None:
        raise ValueError(f"expected {ENTRY.data} at {data}; found none")
    train, validation = parts(published.load(data, "train"), PART if budget < 1 else None, seed=seed)
    classifiers = loss_training.Classifiers(train, validation, request.out / "curves")
    Study(
        cells=cells(published.name, len(train), budget=budget, seed=seed),
        scores=LossScore,
        measure=classifiers.measure,
        name=lambda cell: f"{cell.loss}, learning rate {cell.learning_rate:g}",
        page=lambda known: page(known, classifiers.curve),
        partial=True,
    ).run(request)


def parts(images: Images, most: int | None, *, seed: int) -> tuple[Images, Images]:
    """Split images at random into training and validation images, at most `most` together."""
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed)).tolist()[:most]
    validation = max(1, round(VALIDATION * len(order)))
    return images.subset(order[validation:]), images.subset(order[:validation])


def cells(data: str, images: int, *, budget: float, seed: int) -> list[LossTraining]:
    """Return all trainings: each loss at one learning rate, then at the next."""
    return [
        LossTraining(
            data=data,
            images=images,
            network=loss_training.SMALL if budget < 1 else loss_training.LARGE,
            loss=loss,
            learning_rate=rate,
            epochs=max(2, round(EPOCHS[data] * budget)),
            seed=seed,
        )
        for rate in RATES
        for loss in LOSSES
    ]


def best_of(results: Mapping[LossTraining, LossScore]) -> Best:
    """Return for each loss the learning rate that is best on the validation images; of ties the smaller."""
    found: dict[str, tuple[LossTraining, LossScore]] = {}
    for cell, score in sorted(results.items(), key=lambda item: item[0].learning_rate):
        known = found.get(cell.loss)
        if not score.diverged and (known is None or score.validation > known[1].validation):
            found[cell.loss] = cell, score
    return {loss: found[loss] for loss in LOSSES if loss in found}


def findings(best: Best, errors: list[float]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers.

    Args:
        best: best training of each measured loss.
        errors: training error of the singleton extension in each epoch; empty if it is not measured.
    """
    near = {loss: score.distance for loss, (_, score) in best.items()}
    others = ", ".join(f"{loss} {score.error:.3f}" for loss, (_, score) in best.items())
    return (
        Finding(
            paper="The singleton extension is the only loss that approximates the training error at the same "
            "numerical scale.",
            ours="Mean distance to the error: "
            + ", ".join(f"{loss} {distance:.3f}" for loss, distance in near.items())
            + ".",
            agrees=min(near, key=lambda loss: near[loss]) == SINGLETON if len(near) == len(LOSSES) else None,
        ),
        Finding(
            paper="It can be used to minimize the error.",
            ours=f"The error falls from {errors[0]:.3f} in the first epoch to {errors[-1]:.3f} in the last; "
            f"there, {others}."
            if errors
            else "The singleton extension has not been measured yet.",
            agrees=errors[-1] < 0.9 * errors[0] if errors else None,
        ),
    )


def page(
    results: Mapping[LossTraining, LossScore], curve_of: Callable[[LossTraining], Curve]
) -> PaperPage | None:
    """Return the page of the scores; None if every training diverged."""
    best = best_of(results)
    if not best:
        return None
    series = {loss: curve_of(cell) for loss, (cell, _) in best.items()}
    drawn = {loss: _drawn(loss, own) for loss, own in series.items()}
    cell = next(iter(results))
    found = findings(best, [error for _, error in series.get(SINGLETON, [])])
    return PaperPage(
        title="The training error as a loss",
        overview=next(iter(drawn.values())),
        lead=found[0].ours,
        findings=found,
        figures=(
            Figure(
                title="Loss and error",
                words="On training images.",
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
            "The other learning rates are in table.csv.",
        ),
        settings={
            "data": f"{cell.data}, {cell.images:,} images",
            "network": cell.network,
            "epochs": f"{cell.epochs} (the paper's: {EPOCHS[cell.data]})",
            "SGD": "momentum 0.9, weight decay 5e-4, cosine; the best learning rate of "
            f"{', '.join(f'{rate:g}' for rate in RATES)} on validation images",
            "batch": str(loss_training.BATCH),
            "seed": str(cell.seed),
        },
    )


def numbers(best: Best) -> Numbers:
    """Return a row for each loss."""
    return Numbers(
        header=("", "learning rate", "loss at the end", "error at the end", "mean distance", "validation"),
        rows=tuple(
            (
                loss,
                f"{cell.learning_rate:g}",
                *(f"{each:.3f}" for each in (score.value, score.error, score.distance, score.validation)),
            )
            for loss, (cell, score) in best.items()
        ),
        note="Means over the batches of the last epoch, on training images; the distance is over all epochs. "
        "The last column is the accuracy on validation images.",
    )


def _drawn(loss: str, curve: Curve) -> Drawing:
    """Draw a loss and the training error over the epochs."""
    across = [float(epoch) for epoch in range(1, len(curve) + 1)]
    values, errors = zip(*curve, strict=True)
    return curves({"loss": (across, values), "error": (across, errors)}, across="epoch", up=loss)


ENTRY = Entry(
    name="sets-training-error",
    statement="The singleton extension of the training error, used as a loss, follows the error at its own "
    "scale, and can be used to minimize it.",
    source="Robinson (2023), section 8.5.3, Figure 8-4",
    data="CIFAR-10, SVHN or MNIST as published",
    run=run,
)
