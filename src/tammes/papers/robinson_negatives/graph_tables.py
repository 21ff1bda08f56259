"""What the pages of the entries on graphs share: scores by set and method, the table and the figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Drawing

from tammes.data import GraphSet
from tammes.estimate import Estimate
from tammes.objective import Objective
from tammes.papers.finding import Effect, effect_in_points
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_negatives.graph_scores import GraphScore
from tammes.papers.robinson_negatives.graph_training import (
    BATCH,
    FLOORS,
    LAYERS,
    NO_VIEWS,
    UNTRAINED,
    WIDTH,
    GraphRun,
    GraphScale,
    batch_size,
    cells_of,
    measurer,
)
from tammes.papers.study import Study, grouped
from tammes.positives import GraphAugmentation
from tammes.report.figures.canvas import TEXT, quiet
from tammes.report.markup import Panel
from tammes.report.palette import MUTED, objective_color

Pick = Callable[[Any], Any]
"""One of the measurements of a score: a number, or one for each test fold."""
CLEAN: Pick = attrgetter("svm")
PUBLISHED: Pick = attrgetter("published")
TESTS: Pick = attrgetter("tests")
INNER: Pick = attrgetter("inner")
COLUMNS: Mapping[str, Pick] = {
    "published protocol": PUBLISHED,
    "last epoch": CLEAN,
    "different graphs": attrgetter("distinct"),
    "folds in file order": attrgetter("blocks"),
    "logistic regression": attrgetter("logistic"),
}
REMARKS = (
    "Runs of one seed have the same first weights, order of graphs and folds, so that differences are taken "
    "seed by seed. The encoder is trained on all graphs, without labels, as in the papers.",
    "Published protocol: the best of five epochs by the test folds themselves. Last epoch: nothing is chosen "
    "on a test fold; C comes from inner folds. Different graphs: the same without graphs that color "
    "refinement cannot tell from an earlier one, which have other proportions of the classes. Folds in file "
    "order: of graphs that are adjacent in the file, where relatives stand together (ENZYMES).",
    "What is chosen among several settings is chosen for each test fold, by the inner folds of its training "
    "graphs. Their mean over all test folds would know every label, and favor whatever was chosen.",
    "The graphs are the same for all seeds: an interval says what other weights and folds would give, not "
    "what other graphs would.",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphResults:
    """Scores by set, method and seed.

    Args:
        scores: scores of all cells that were measured; a cell has the fields `data`, `method` and `seed`.
    """

    scores: Mapping[Any, Any]

    @property
    def sets(self) -> tuple[str, ...]:
        """Names of the sets, in order."""
        return tuple(dict.fromkeys(run.data for run in self.scores))

    def of(self, data: str, method: str, pick: Pick) -> list[Any]:
        """Return one measurement for each seed."""
        return [pick(score) for run, score in self.scores.items() if (run.data, run.method) == (data, method)]

    def over(self, data: str, more: str, less: str, pick: Pick) -> Estimate:
        """Return the difference of two methods, seed by seed."""
        return Estimate.of_difference(self.of(data, more, pick), self.of(data, less, pick))

    def best(self, data: str, methods: Sequence[str], pick: Pick, by: Pick) -> list[float]:
        """Return a measurement of the best method, chosen for each seed by another measurement.

        Where both are numbers for each test fold, the method is chosen for each fold, and the mean returned.
        """
        measured, known = (
            np.array([[np.atleast_1d(value) for value in self.of(data, method, one)] for method in methods])
            for one in (pick, by)
        )  # a row for each method, a column for each seed, and the folds behind
        best = np.take_along_axis(measured, known.argmax(axis=0)[None], axis=0)[0]
        return [float(mean) for mean in best.mean(axis=1)]

    def best_over(
        self, data: str, methods: Sequence[str], rivals: Sequence[str], pick: Pick, by: Pick
    ) -> Estimate:
        """Return the difference of the best method from the best rival, both chosen by `by`."""
        return Estimate.of_difference(self.best(data, methods, pick, by), self.best(data, rivals, pick, by))

    def best_by_all_over(self, data: str, methods: Sequence[str], rivals: Sequence[str]) -> Estimate:
        """Return the difference of the best method from the best rival, both chosen by all inner folds.

        The training graphs of all test folds are all graphs, so that this choice knows every label.
        """
        return self.best_over(data, methods, rivals, CLEAN, lambda score: fmean(score.inner))

    def best_mean_over(self, data: str, methods: Sequence[str], less: str, pick: Pick) -> Estimate:
        """Return the difference of the method with the best mean, as a table shows it, from another one."""
        best = max(methods, key=lambda method: Estimate.over_seeds(self.of(data, method, pick)).mean)
        return self.over(data, best, less, pick)


def study_of(
    objectives: Mapping[str, Objective],
    sets: Mapping[str, GraphSet],
    scale: GraphScale,
    page: Callable[[GraphResults, Mapping[str, GraphSet], GraphScale], PaperPage],
    *,
    search: Mapping[str, Sequence[float]],
    views: Mapping[str, GraphAugmentation] = NO_VIEWS,
) -> Study[GraphRun, GraphScore]:
    """Return the study of some objectives on some sets.

    Args:
        objectives: objectives by the names of their rows.
        sets: sets by name.
        scale: size of the study.
        page: function from the scores to the page.
        search: settings that are chosen by the inner folds, with their values.
        views: augmentation of each method that compares two views of a graph; see `measurer`.
    """
    return Study(
        cells=cells_of(sets, tuple(objectives), scale),
        scores=GraphScore,
        measure=measurer(sets, objectives, scale, views),
        name=lambda run: f"{run.data}, {run.method}, seed {run.seed}",
        protocol=Protocol(
            seeds=scale.seeds,
            controls=FLOORS,
            measured_on="test folds",
            search=search,
            searched_on="inner folds of the training graphs, fold by fold",
        ),
        page=lambda results: page(GraphResults(scores=results), sets, scale),
    )


def learned(results: GraphResults, methods: Sequence[str]) -> tuple[Effect, ...]:
    """Return the controls: the best of the methods over the untrained encoder, set by set."""
    return tuple(
        effect_in_points(
            f"{data}, over untrained", results.best_over(data, methods, (UNTRAINED,), TESTS, INNER)
        )
        for data in results.sets
    )


def numbers(
    results: GraphResults,
    paper: Mapping[tuple[str, str], str],
    base: str,
    *,
    note: str = "",
    columns: Mapping[str, Pick] = COLUMNS,
    pick: Pick = CLEAN,
) -> Numbers:
    """Return the table of all sets and methods.

    Args:
        results: scores.
        paper: numbers of the paper by set and method, as they are printed; empty where it has none, and the
            table then has no column of them.
        base: method from which the last column takes the difference.
        note: sentence about the numbers.
        columns: measurements that are shown.
        pick: measurement of which the difference is taken.
    """
    rows = []
    for (data, method), group in grouped(results.scores, "data", "method").items():
        several = list(group.values())
        cells = [_cell([shown(score) for score in several]) for shown in columns.values()]
        over = "–" if method == base else results.over(data, method, base, pick).points
        seconds = f"{sum(score.seconds for score in several) / len(several):.0f}"
        said = (paper.get((data, method), "–"),) if paper else ()
        rows.append((f"{data}, {method}", *cells, over, *said, seconds, str(len(several))))
    return Numbers(
        header=("negatives", *columns, f"over {base}", *(("paper",) if paper else ()), "seconds", "seeds"),
        rows=tuple(rows),
        note="Accuracy in percent, means over the seeds with 95 % intervals; the difference is after the "
        f"last epoch, in points; seconds of processor time. {note}",
    )


def _cell(values: Sequence[float]) -> str:
    """Return the mean in percent, or a dash if there is none: NaN, and 0 in tables of earlier versions."""
    return Estimate.over_seeds(values).percent if all(value > 0 for value in values) else "–"


def overview(
    results: GraphResults,
    methods: Sequence[str],
    base: str,
    *,
    pick: Pick = CLEAN,
    floors: Sequence[str] = FLOORS,
) -> Drawing:
    """Draw the differences of all methods from one, set by set, side by side.

    Args:
        results: scores.
        methods: methods, from above.
        base: method from which the difference is taken.
        pick: measurement.
        floors: methods without training, in another color.
    """
    figure = Drawing(figsize=(2.1 * len(results.sets) + 1.6, 0.3 * len(methods) + 1.2))
    figure.set_layout_engine("constrained", w_pad=0.15)  # room for numbers at the ends of an axis
    grid = figure.subplots(1, len(results.sets), squeeze=False, sharey=True)[0]
    for axes, data in zip(grid, results.sets, strict=True):
        quiet(axes)
        axes.axvline(0, color=MUTED, linewidth=0.8)
        for row, method in enumerate(methods):
            difference = results.over(data, method, base, pick)
            mean, low, high = (100 * number for number in (difference.mean, difference.low, difference.high))
            axes.errorbar(
                [mean],
                [row],
                xerr=[[mean - low], [high - mean]] if difference.is_known else None,
                color=objective_color(1 if method in floors else 0),
                marker="o",
                markersize=4,
                linewidth=1.4,
            )
        axes.set_yticks(range(len(methods)), list(methods))
        axes.set_ylim(len(methods) - 0.5, -0.5)
        axes.locator_params(axis="x", nbins=5)
        axes.set_xlabel("points")
        axes.set_title(data, fontsize=TEXT)
    return figure


def figure_over(
    results: GraphResults, methods: Sequence[str], base: str, *, name: str = "InfoGraph", words: str = ""
) -> Figure:
    """Return the figure of the differences of all methods from one, with a panel for each set.

    Args:
        results: scores.
        methods: methods, from above; the first three are the floors.
        base: method from which the difference is taken.
        name: name of that method in the title.
        words: description of that method; empty for its name.
    """
    return Figure(
        title=f"Over {name}",
        words=f"Accuracy after the last epoch over that of {words or name}, mean and 95 % interval over the "
        "seeds, in points. The first three cost no training.",
        panels=_set_panels(results, methods, base),
        wide=True,
    )


def _set_panels(results: GraphResults, methods: Sequence[str], base: str) -> tuple[Panel, ...]:
    """Return a drawing of the differences for each set."""
    found = []
    for data in results.sets:
        alone = GraphResults(scores={run: score for run, score in results.scores.items() if run.data == data})
        words = "; ".join(f"{method} {alone.over(data, method, base, CLEAN).points}" for method in methods)
        drawing = overview(alone, methods, base)
        found.append(panel(drawing, f"{data}, over {base} after the last epoch: {words}.", name=data))
    return tuple(found)


def settings_of(sets: Mapping[str, GraphSet], scale: GraphScale, results: GraphResults) -> dict[str, str]:
    """Return the settings of a study as its page shows them."""
    epochs = {run.data: run.epochs for run in results.scores if run.epochs}
    each = {
        data: f"{len(graphs):,} graphs, {epochs.get(data, 0)} epochs of batches of {batch_size(len(graphs))}"
        for data, graphs in sets.items()
    }
    return {
        **each,
        "encoder": f"GIN, {LAYERS} layers of width {WIDTH}, all summed over the nodes",
        "head": "InfoGraph's two heads for nodes and graphs; a perceptron of two layers for two views",
        "features of nodes": "one for each node label; the number 1 in sets without labels",
        "batch": f"{BATCH} graphs, half of a smaller set; as many steps as the paper's {scale.epochs} epochs",
        "Adam": f"learning rate {scale.learning_rate:g}, weight decay 1e-6",
        "evaluation": f"SVM, {scale.folds} stratified folds for each seed, C from {min(scale.costs):g} to "
        f"{max(scale.costs):g} by inner folds",
    }
