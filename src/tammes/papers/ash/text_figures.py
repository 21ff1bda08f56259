"""Figures of the text study: the paper's Fig. 3, 5, 6 and 7 from our numbers, and the best k over N."""

import itertools

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tammes.estimate import Estimate
from tammes.papers.ash.accuracies import (
    Pick,
    batches_heat,
    best_place,
    draw_over_counts,
    linear,
    linear_early,
    mean,
    mean_early,
)
from tammes.papers.ash.heat_map import WITHIN, HeatMap, by_row, draw_heat_map, heat_map
from tammes.papers.ash.optimum import optimum
from tammes.papers.ash.text_summary import Summary
from tammes.papers.page import panel
from tammes.report.figures.canvas import TEXT, canvas, quiet
from tammes.report.figures.curves import label_ends
from tammes.report.markup import Panel, percent
from tammes.report.palette import GRID, MUTED, css_color, objective_color
from tammes.theory import ClassDistribution, best_k

CLASSIFIERS: dict[str, Pick] = {"mean classifier": mean, "trained linear classifier": linear}
EARLY: dict[str, Pick] = {"mean classifier": mean_early, "trained linear classifier": linear_early}


def overview(summary: Summary) -> Figure:
    """Draw the paper's Fig. 3, and the best k, on one sheet."""
    figure = Figure(figsize=(11.5, 7.6), layout="constrained")
    at = figure.subplots(2, 2)
    for axes in at.flat:
        quiet(axes)
    titles = {(0, 0): f"B = {summary.plan.batch}, every row by itself", (1, 1): "best k"}
    draw_heat_map(at[0, 0], classes_heat(summary, mean))
    draw_best(at[1, 1], summary)
    for classes in summary.plan.at_classes[:1]:
        values = summary.over_batches(mean, classes).mean(axis=0)
        draw_heat_map(at[0, 1], batches_heat(values, summary.batches, summary.plan.columns))
        titles[0, 1] = f"N = {classes}"
    for classes in summary.plan.true[:1]:
        draw_collisions(at[1, 0], summary, classes)
        titles[1, 0] = f"N = {classes}, with and without collisions"
    for place, axes in np.ndenumerate(at):
        axes.set_visible(place in titles)
    for place, title in titles.items():
        at[place].set_title(f"Mean classifier, {title}\n{summary.corpus}", fontsize=TEXT)
    return figure


def classes_heat(summary: Summary, pick: Pick) -> HeatMap:
    """Return accuracy over N and k at the fixed batch, each row on its own scale (Fig. 3 left, 5 and 6)."""
    return HeatMap(
        values=summary.over_classes(pick),
        scale=by_row,
        within=WITHIN,
        rows=[str(n) for n in summary.plan.classes],
        columns=[str(k) for k in summary.counts],
        row_title="classes N",
        column_title="negatives k",
    )


def classes_panels(summary: Summary) -> tuple[Panel, ...]:
    """Return heat maps over N and k, for both classifiers."""
    panels = []
    for name, pick in CLASSIFIERS.items():
        values = summary.over_classes(pick)
        gap = np.nanmax(values, axis=1) - np.nanmin(values, axis=1)
        words = f"from worst to best k: {percent(gap.min())} to {percent(gap.max())}, depending on N"
        description = f"Accuracy of the {name} over N and k on {summary.corpus}; {words}."
        drawing = heat_map(classes_heat(summary, pick))
        panels.append(panel(drawing, description, name=f"{name}, {summary.corpus}", caption=words))
    return tuple(panels)


def batches_panels(summary: Summary, picks: dict[str, Pick], *, words: str) -> tuple[Panel, ...]:
    """Return heat maps over B and k, for both classifiers and each N; `words` say after which training."""
    panels = []
    for classes, (name, pick) in itertools.product(summary.plan.at_classes, picks.items()):
        values = summary.over_batches(pick, classes)
        row, column = best_place(values.mean(axis=0))
        best = Estimate.over_seeds(values[:, row, column].tolist()).percent
        caption = f"best {best} %, B = {summary.batches[row]}, k = {summary.plan.columns[column]}"
        title = f"{name}, N = {classes}, {summary.corpus}"
        description = f"Accuracy over B and k after {words}, {title}; {caption}."
        drawing = heat_map(batches_heat(values.mean(axis=0), summary.batches, summary.plan.columns))
        panels.append(panel(drawing, description, name=title, caption=caption))
    return tuple(panels)


def collision_panels(summary: Summary) -> tuple[Panel, ...]:
    """Return accuracy over k with and without collisions, for each N (Fig. 3 right)."""
    panels = []
    for classes in summary.plan.true:
        figure, axes = canvas(width=3.4, height=2.4)
        draw_collisions(axes, summary, classes)
        description = f"Accuracy of the mean classifier over k, N = {classes}, with and without collisions."
        panels.append(panel(figure, description, name=f"N = {classes}, {summary.corpus}"))
    return tuple(panels)


def draw_collisions(axes: Axes, summary: Summary, classes: int) -> None:
    """Draw two lines over k: with collisions and, broken, without; bars are 95 % intervals over seeds."""
    ends: dict[str, float] = {}
    for index, (collisions, style) in enumerate(((True, "-"), (False, (0, (3, 2))))):
        values = summary.over_counts(mean, classes, collisions=collisions)
        heights = draw_over_counts(axes, summary.counts, values, index=index, style=style)
        ends |= {"with" if collisions else "without": height for height in heights[-1:]}
    axes.set_ylabel(f"accuracy (%), N = {classes}")
    label_ends(axes, ends, [objective_color(index) for index in range(len(ends))], line=0.09)


def best_panel(summary: Summary) -> Panel:
    """Return the best k over N, ours and the theory's."""
    figure, axes = canvas(width=5.0, height=3.4)
    draw_best(axes, summary)
    description = "The best number of negatives over the number of classes, measured and by two bounds."
    return panel(figure, description, name=summary.corpus, color=css_color(0))


def draw_best(axes: Axes, summary: Summary) -> None:
    """Draw points with the range of what is not resolved from them, and two lines of theory, over N."""
    classes = np.array(summary.plan.classes, dtype=float)
    counts = np.array(summary.counts, dtype=float)
    ends, colors = {}, []
    for index, (name, pick) in enumerate(CLASSIFIERS.items()):
        found = [optimum(summary.over_counts(pick, n)) for n in summary.plan.classes]
        best = counts[[each.best for each in found]]
        low, high = counts[[each.first for each in found]], counts[[each.last for each in found]]
        color, places = objective_color(index), classes * 1.05**index
        axes.errorbar(
            places, best, (best - low, high - best), color=color, linestyle="none", marker="o", capsize=2
        )
        ends[name] = best[-1]
        colors.append(color)
    for name, power, style in (("Theorem 1", 0.0, "-"), ("Theorem 3", 0.5, (0, (4, 3)))):
        theory = [best_k(ClassDistribution.uniform(n), growth=power) for n in summary.plan.classes]
        axes.plot(classes, theory, color=MUTED, linewidth=1.1, linestyle=style)
        ends[name] = float(theory[-1])
        colors.append(MUTED)
    axes.set(xscale="log", yscale="log", xlabel="classes N", ylabel="best number of negatives k")
    axes.set_xticks(classes, [str(n) for n in summary.plan.classes])
    axes.set_yticks(counts[:-1], [str(k) for k in summary.counts[:-1]])
    axes.set_xticks([], minor=True)
    axes.set_yticks([], minor=True)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    label_ends(axes, ends, colors)
