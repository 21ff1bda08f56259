"""The section of a page about the epochs of training: accuracy, loss, gradient and learning rate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tammes.report.curve import Curve
from tammes.report.figures.curves import accuracy_over_epochs, over_epochs
from tammes.report.markup import Panel, inline_svg, listed, percent
from tammes.report.palette import INK, css_color, objective_color
from tammes.training import EpochMetrics

LABEL_FREE = {
    "rankme": "RankMe, features",
    "projection_rankme": "RankMe, embeddings",
    "dimensions_99": "dimensions, 99 %",
    "alpha_req": "alpha-ReQ",
    "hubness": "hubness",
    "uniformity": "uniformity",
    "alignment": "alignment",
    "lidar": "LiDAR",
}
"""Measures without labels that a training records, and the label of the axis of each."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """Curves of one objective, or of one group of runs; None for what was not recorded.

    Args:
        name: its name.
        loss_kind: losses of equal kinds are the same quantity, and can be compared.
        knn: nearest-neighbor accuracy.
        loss: training loss.
        gradient_norm: norm of the gradient.
        learning_rate: learning rate.
        label_free: measures without labels, by name.
        seeds: number of seeds, over which the curves are means.
    """

    name: str
    loss_kind: str
    knn: Curve | None
    loss: Curve | None
    gradient_norm: Curve | None
    learning_rate: Curve | None
    label_free: Mapping[str, Curve] = field(default_factory=dict)
    seeds: int = 1


@dataclass(frozen=True, kw_only=True)
class OverTraining:
    """Section of the page.

    Args:
        words: explanation of the panels.
        accuracy: accuracies of all; None if there is nothing to see.
        panels: small panels: losses, gradient norms, learning rates, measures without labels.
    """

    words: str
    accuracy: Panel | None
    panels: tuple[Panel, ...]


def label_free_curves(runs: Sequence[Sequence[EpochMetrics]]) -> dict[str, Curve]:
    """Return the measures without labels over the epochs that all runs took, as means over the seeds.

    Args:
        runs: metrics of the run of each seed.
    """
    curves = {name: Curve.over_seeds([Curve.of(rows, name) for rows in runs]) for name in LABEL_FREE}
    return {name: curve for name, curve in curves.items() if curve is not None}


def over_training(
    series: Sequence[Series], *, together: str, test_rows: str, floors: Mapping[str, float] | None = None
) -> OverTraining | None:
    """Return the section, or None if no number was recorded more than once.

    Args:
        series: curves, one for each color of the page.
        together: name of a panel that shows all of them, such as "all objectives".
        test_rows: rows that the accuracy was measured on, in words: "the 360 test images of the table".
        floors: accuracies to draw beside the curves, by name.
    """
    together = together if len(series) > 1 else ""
    accuracy = _accuracy(series, together, floors or {})
    losses = _losses(series)
    gradients = _overlay(_shown(series, "gradient_norm"), series, "gradient norm", together)
    rates = _overlay(_shown(series, "learning_rate"), series, "learning rate", together)
    unlabeled = _label_free(series, together)
    if accuracy is None and not (losses or gradients or rates or unlabeled):
        return None
    words = []
    if accuracy is not None:
        words.append(f"The accuracy of the vote of nearest neighbors on {test_rows}.")
    if losses:
        words.append("The training loss, the mean over the steps of an epoch.")
    if losses and len({each.loss_kind for each in series}) > 1:
        words.append(
            "Losses of different objectives or batches are different quantities, so only the shapes of their "
            "curves can be compared."
        )
    if gradients:
        words.append("The norm of the gradient before clipping, also a mean over the steps.")
    if rates:
        words.append("The learning rate of the last step of each epoch.")
    if unlabeled:
        words.append(
            "Measures without labels, on rows of the training data that stay the same: RankMe, dimensions "
            "with 99 % of the variance, alpha-ReQ and hubness of the features; RankMe, uniformity, alignment "
            "and LiDAR of the embeddings."
        )
    if max(each.seeds for each in series) > 1:
        words.append(
            "Curves are means over the seeds; bands, cut off at the edges of a figure, are their 95 % "
            "intervals (Student)."
        )
    return OverTraining(
        words=" ".join(words), accuracy=accuracy, panels=(*losses, *gradients, *rates, *unlabeled)
    )


def _shown(series: Sequence[Series], name: str) -> dict[int, Curve]:
    """Return the curves of this name in which there is something to see, by their places in the series."""
    curves = {place: vars(each)[name] for place, each in enumerate(series)}
    return {place: curve for place, curve in curves.items() if curve is not None and curve.is_shown}


def _accuracy(series: Sequence[Series], together: str, floors: Mapping[str, float]) -> Panel | None:
    curves = {series[place].name: curve for place, curve in _shown(series, "knn").items()}
    if not curves:
        return None
    colors = [objective_color(place) for place in _shown(series, "knn")]
    ends = ", ".join(f"{name} ends at {percent(curve.last)}" for name, curve in curves.items())
    figure = accuracy_over_epochs(curves, colors, floors=floors)
    svg = inline_svg(figure, name="accuracy", description=f"kNN accuracy over epochs: {ends}.")
    return Panel(name=together, svg=svg)


def _losses(series: Sequence[Series]) -> list[Panel]:
    """Return a panel for each kind of loss, with the curves of all that have it."""
    kinds: dict[str, dict[int, Curve]] = {}
    for place, curve in _shown(series, "loss").items():
        kinds.setdefault(series[place].loss_kind, {})[place] = curve
    panels = []
    for curves in kinds.values():
        places = list(curves)
        figure = over_epochs(list(curves.values()), list(map(objective_color, places)), label="training loss")
        long = "; ".join(_change(f"Training loss of {series[place].name}", curves[place]) for place in places)
        svg = inline_svg(figure, name=f"loss-{places[0]}", description=f"{long}.")
        name = listed([series[place].name for place in places]) if len(kinds) > 1 else ""
        color = css_color(places[0]) if name and len(places) == 1 else ""
        panels.append(Panel(name=name, color=color, svg=svg))
    return panels


def _label_free(series: Sequence[Series], together: str) -> list[Panel]:
    """Return a panel for each measure without labels that was taken."""
    panels = []
    for name, label in LABEL_FREE.items():
        found = {place: each.label_free.get(name) for place, each in enumerate(series)}
        curves = {place: curve for place, curve in found.items() if curve is not None and curve.is_shown}
        panels += _overlay(curves, series, label, together)
    return panels


def _overlay(curves: Mapping[int, Curve], series: Sequence[Series], label: str, together: str) -> list[Panel]:
    """Return a panel with the curves of all, or none if all are constant or nothing was recorded."""
    if all(curve.is_constant for curve in curves.values()):
        return []
    first, *others = curves.values()
    long = "; ".join(_change(f"{label} of {series[place].name}", curve) for place, curve in curves.items())
    if all(np.array_equal(first.values, other.values) for other in others):
        # Equal curves would hide each other behind the color of the last.
        drawn, colors = [first], [INK if others else objective_color(next(iter(curves)))]
    else:
        drawn, colors = list(curves.values()), list(map(objective_color, curves))
    figure = over_epochs(drawn, colors, label=label, may_be_log=label == "gradient norm")
    long = f"{long[0].upper()}{long[1:]}."
    return [Panel(name=together, svg=inline_svg(figure, name=label.replace(" ", "-"), description=long))]


def _change(subject: str, curve: Curve) -> str:
    return f"{subject} over epochs, from {curve.values[0]:.3g} to {curve.last:.3g}"
