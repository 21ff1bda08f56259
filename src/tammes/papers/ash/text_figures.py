"""Figures of the text study: the paper's Fig. 3, 5, 6 and 7 from our numbers, and the best k over N."""

import itertools

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tammes.papers.ash.heat_map import WITHIN, HeatMap, by_best, by_row, draw_heat_map, heat_map
from tammes.papers.ash.optimum import optimum
from tammes.papers.ash.text_summary import Pick, Summary, linear, linear_early, mean, mean_early
from tammes.papers.page import panel
from tammes.report.figures.canvas import TEXT, canvas, quiet
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
        draw_heat_map(at[0, 1], batches_heat(summary, mean, classes))
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


def batches_heat(summary: Summary, pick: Pick, classes: int) -> HeatMap:
    """Return accuracy over B and k at a fixed N, all on one scale (Fig. 3 center, 7)."""
    return HeatMap(
        values=summary.over_batches(pick, classes).mean(axis=0),
        scale=by_best,
        rows=[str(batch) for batch in summary.batches],
        columns=[str(k) for k in summary.plan.columns],
        row_title="pairs in a batch B",
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
        values = summary.over_batches(pick, classes).mean(axis=0)
        row, column = np.unravel_index(np.nanargmax(values), values.shape)
        best = f"best {percent(values[row, column])}, B = {summary.batches[row]}"
        caption = f"{best}, k = {summary.plan.columns[column]}"
        title = f"{name}, N = {classes}, {summary.corpus}"
        description = f"Accuracy over B and k after {words}, {title}; {caption}."
        drawing = heat_map(batches_heat(summary, pick, classes))
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
    """Draw two lines over k: with collisions and, broken, without; bars are deviations over seeds."""
    counts = np.array(summary.counts, dtype=float)
    for collisions, name, style in ((True, "with", "-"), (False, "without", (0, (3, 2)))):
        values = 100 * summary.over_counts(mean, classes, collisions=collisions)
        shown = np.isfinite(values).all(axis=0)
        if not shown.any():
            continue
        bars = values[:, shown].std(axis=0, ddof=1) if len(values) > 1 else None
        height = values[:, shown].mean(axis=0)
        color = objective_color(0 if collisions else 1)
        places = counts[shown] * (1.0 if collisions else 1.06)
        axes.errorbar(
            places, height, bars, color=color, linestyle=style, linewidth=1.6, marker="o", markersize=3
        )
        axes.annotate(
            f"{name} collisions",
            (0.98, 0.05 if collisions else 0.16),
            xycoords="axes fraction",
            color=color,
            fontsize=TEXT,
            ha="right",
        )
    _count_axis(axes, summary)
    axes.set_ylabel(f"accuracy (%), N = {classes}")
    axes.margins(y=0.2)


def best_panel(summary: Summary) -> Panel:
    """Return the best k over N, ours and the theory's."""
    figure, axes = canvas(width=5.0, height=3.4)
    draw_best(axes, summary)
    description = "The best number of negatives over the number of classes, measured and by two bounds."
    return panel(figure, description, name=summary.corpus, color=css_color(0))


def draw_best(axes: Axes, summary: Summary) -> None:
    """Draw points with the range of the bootstrap, and two lines of theory, on logarithmic axes."""
    classes = np.array(summary.plan.classes, dtype=float)
    counts = np.array(summary.counts, dtype=float)
    ends = []
    for index, (name, pick) in enumerate(CLASSIFIERS.items()):
        found = [optimum(summary.over_counts(pick, n)) for n in summary.plan.classes]
        best = counts[[each.best for each in found]]
        low, high = counts[[each.first for each in found]], counts[[each.last for each in found]]
        color, places = objective_color(index), classes * 1.05**index
        axes.errorbar(
            places, best, (best - low, high - best), color=color, linestyle="none", marker="o", capsize=2
        )
        ends.append((name, best[-1], color))
    for name, power, style in (("Theorem 1", 0.0, "-"), ("Theorem 3", 0.5, (0, (4, 3)))):
        theory = [best_k(ClassDistribution.uniform(n), growth=power) for n in summary.plan.classes]
        axes.plot(classes, theory, color=MUTED, linewidth=1.1, linestyle=style)
        ends.append((name, float(theory[-1]), MUTED))
    axes.set(xscale="log", yscale="log", xlabel="classes N", ylabel="best number of negatives k")
    axes.set_xticks(classes, [str(n) for n in summary.plan.classes])
    axes.set_yticks(counts[:-1], [str(k) for k in summary.counts[:-1]])
    axes.set_xticks([], minor=True)
    axes.set_yticks([], minor=True)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    for place, (name, height, color) in zip(_apart([end[1] for end in ends]), ends, strict=True):
        axes.annotate(
            name,
            (classes[-1], height),
            xytext=(1.03, place),
            textcoords=axes.get_yaxis_transform(),
            color=color,
            fontsize=TEXT,
            va="center",
            annotation_clip=False,
        )


def _apart(heights: list[float]) -> list[float]:
    """Return places for labels on a logarithmic axis, no two closer than a factor of 1.5."""
    places = list(heights)
    order = np.argsort(heights, kind="stable").tolist()
    for before, each in itertools.pairwise(order):
        places[each] = max(places[each], 1.5 * places[before])
    return places


def _count_axis(axes: Axes, summary: Summary) -> None:
    counts = summary.counts
    axes.set(xscale="log", xlabel="negatives k")
    # The last two numbers are often too close for two labels.
    shown = [k for k in counts if k == counts[-1] or 1.6 * k < counts[-1]]
    axes.set_xticks(shown, [str(k) for k in shown])
    axes.set_xticks([], minor=True)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
