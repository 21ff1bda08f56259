"""The page of a comparison or a run, as one self-contained HTML file, and its panels of figures."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure

from tammes.diagnostics import alignment, uniformity
from tammes.report.comparison import Comparison, Outcome
from tammes.report.confusion import confusions
from tammes.report.figures.map import embedding_map, project
from tammes.report.figures.similarity import (
    alignment_uniformity,
    similarity_histogram,
    weight_against_similarity,
)
from tammes.report.markup import Panel, inline_svg, listed, percent, render
from tammes.report.negatives import effective_negatives
from tammes.report.over_training import OverTraining, Series, over_training
from tammes.report.palette import CLASSES, css_color, objective_color
from tammes.report.rotations import rotation_table
from tammes.report.sample import GraphSizes, Sentences
from tammes.report.similarities import by_label, by_view, cosine, separation
from tammes.report.strips import anchor_strips, nearest_strips
from tammes.report.table import score_table
from tammes.report.verdict import verdict
from tammes.training.atomic import write_atomically

TOGETHER = "all objectives"
LARGEST_SAMPLE = 600
"""Number of rows in the map and the histograms; more rows take time and space and look the same."""


def training_section(comparison: Comparison) -> OverTraining | None:
    """Return the curves of all objectives over the epochs; None if there is nothing to see."""
    series = [
        Series(
            name=outcome.name,
            loss_kind=outcome.name,
            knn=outcome.knn,
            loss=outcome.loss,
            gradient_norm=outcome.gradient_norm,
            learning_rate=outcome.learning_rate,
            seeds=max(1, len(outcome.seeds)),
        )
        for outcome in comparison.outcomes
    ]
    floors = {floor.name: floor.scores.knn for floor in comparison.floors if floor.scores.knn is not None}
    test_rows = f"the {comparison.test_size:,} test {comparison.sample.data} of the table"
    return over_training(series, together=TOGETHER, test_rows=test_rows, floors=floors)


def _panel(
    comparison: Comparison,
    index: int,
    figure: Figure,
    *,
    name: str,
    description: str,
    caption: str = "",
    titles: Sequence[str] = (),
) -> Panel:
    """Return a figure of one of the objectives as a panel in its color; a single one need not be named."""
    svg = inline_svg(figure, name=f"{name}-{index}", description=description, titles=titles)
    if len(comparison.outcomes) == 1:
        return Panel(svg=svg, caption=caption)
    return Panel(name=comparison.outcomes[index].name, color=css_color(index), svg=svg, caption=caption)


def similarity_panels(comparison: Comparison) -> list[Panel]:
    """Return histograms of similarity within and between classes or, without labels, of views."""
    labels = comparison.sample.labels
    panels = []
    for index, outcome in enumerate(comparison.outcomes):
        shown = outcome.embeddings[:LARGEST_SAMPLE]
        split = None if labels is None else by_label(shown, labels[:LARGEST_SAMPLE])
        words = ("same class", "other class")
        if split is None:
            two = "two views" if comparison.sample.partners is None else "of a pair"
            split = by_view(outcome.view_a, outcome.view_b)
            words = two, f"other {comparison.sample.many}"
        medians = " and ".join(f"{np.median(each):.2f}" for each in split)
        caption = f"medians {medians}; AUC {percent(separation(*split))}".replace("-", "\N{MINUS SIGN}")
        figure = similarity_histogram(*split, objective_color(index), words=words)
        long = f"Cosine similarities under {outcome.name}, {words[0]} and {words[1]}: {caption}."
        panels.append(_panel(comparison, index, figure, name="similarity", description=long, caption=caption))
    return panels


def alignment_panel(comparison: Comparison) -> Panel | None:
    """Return alignment against uniformity of all objectives; None for one, whose two numbers say as much."""
    points = {outcome.name: alignment_uniformity_of(outcome) for outcome in comparison.outcomes}
    if len(points) == 1:
        return None
    colors = [objective_color(index) for index in range(len(points))]
    words = "; ".join(f"{name} {align:.2f}, {uniform:.2f}" for name, (align, uniform) in points.items())
    figure = alignment_uniformity(points, colors)
    return Panel(svg=inline_svg(figure, name="alignment", description=f"Alignment and uniformity: {words}."))


def alignment_uniformity_of(outcome: Outcome) -> tuple[float, float]:
    """Return alignment of the views and uniformity of the embeddings of one objective."""
    close = alignment(torch.tensor(outcome.view_a), torch.tensor(outcome.view_b))
    return close, uniformity(torch.tensor(outcome.embeddings))


def weight_panels(comparison: Comparison) -> list[Panel]:
    """Return the weight of negatives against their similarity, on a common scale.

    Objectives that weight all negatives alike are left out: theirs would be a straight line.
    """
    scatters = {
        index: _weights_and_similarities(outcome)
        for index, outcome in enumerate(comparison.outcomes)
        if not outcome.is_uniform
    }
    if not scatters:
        return []
    limits = _weight_limits([weight for _, weight in scatters.values()])
    panels = []
    for index, (similarity, weight) in scatters.items():
        outcome = comparison.outcomes[index]
        caption = f"{effective_negatives(outcome):.0f} effective negatives of {2 * outcome.pairs - 2}"
        figure = weight_against_similarity(similarity, weight, objective_color(index), limits=limits)
        long = (
            f"Weight of negatives against their similarity to the anchor under {outcome.name}: from "
            f"{weight.min():.2g} to {weight.max():.2g} times the uniform weight, {caption}."
        )
        panels.append(_panel(comparison, index, figure, name="weights", description=long, caption=caption))
    return panels


def _weights_and_similarities(outcome: Outcome) -> tuple[np.ndarray, np.ndarray]:
    """Return the similarity and the relative weight of every negative, (negatives,) each."""
    views = np.concatenate([outcome.view_a, outcome.view_b])
    relative = outcome.relative_weights
    counted = relative > 0
    return cosine(views, views)[counted], relative[counted]


def _weight_limits(weights: list[np.ndarray]) -> tuple[float, float]:
    """Return the limits of the shared axis: all but the extreme thousandth, and at least 0.1 to 10."""
    low = min(float(np.quantile(weight, 0.001)) for weight in weights)
    high = max(float(np.quantile(weight, 0.999)) for weight in weights)
    return min(0.1, 10 ** (math.log10(max(low, 1e-6)) - 0.1)), max(10.0, 10 ** (math.log10(high) + 0.1))


def map_panels(comparison: Comparison) -> list[Panel]:
    """Return a map of the features of each objective; features that are all equal have none."""
    sample = comparison.sample
    labels = None if sample.labels is None else sample.labels[:LARGEST_SAMPLE]
    classes = [] if labels is None else [sample.class_name(label) for label in range(int(labels.max()) + 1)]
    titles = [sample.title(row) for row in range(min(sample.size, LARGEST_SAMPLE))]
    width = 4.0 if len(comparison.outcomes) == 1 else 2.4
    panels = []
    for index, outcome in enumerate(comparison.outcomes):
        places = project(outcome.features[:LARGEST_SAMPLE])
        if not places.any():
            continue
        figure = embedding_map(places, labels, classes, color=objective_color(index), width=width)
        words = f"t-SNE map of the features of {outcome.name} for {len(places)} {sample.many}."
        panels.append(_panel(comparison, index, figure, name="map", description=words, titles=titles))
    return panels


def write_comparison(path: Path, comparison: Comparison) -> None:
    """Write the page of a comparison or of a single run; the file is self-contained.

    Args:
        path: path of the HTML file; its folder must exist, and an existing file is replaced.
        comparison: content of the page. Without labels the page says so, and leaves out the parts that need
            them.
    """
    colors = tuple(css_color(index) for index in range(len(comparison.outcomes)))
    outcomes, sample = comparison.outcomes, comparison.sample
    names = [outcome.name for outcome in outcomes]
    lead, note = verdict(comparison)
    maps = map_panels(comparison)
    context = {
        "kicker": "Comparison" if len(names) > 1 else "Run",
        "title": f"{listed(names)} on {comparison.data}",
        "comparison": comparison,
        "sample": sample,
        "lines": isinstance(sample, Sentences | GraphSizes),
        "lead": lead,
        "note": note,
        "table": score_table(comparison, colors),
        "training": training_section(comparison),
        "confusions": confusions(comparison),
        "similarities": similarity_panels(comparison),
        "alignment": alignment_panel(comparison),
        "align_uniform": alignment_uniformity_of(outcomes[0]),
        "rotations": rotation_table(comparison, colors),
        "anchors": anchor_strips(comparison),
        "nearest": nearest_strips(comparison) if isinstance(sample, Sentences) else [],
        "weights": weight_panels(comparison),
        "uniform": [outcome.name for outcome in outcomes if outcome.is_uniform],
        "maps": maps,
        "map_size": min(sample.size, LARGEST_SAMPLE),
        "labeled": sample.labels is not None,
        "many_classes": sample.labels is not None and len(np.unique(sample.labels)) > len(CLASSES),
        "objectives": [
            {"name": outcome.name, "color": color, "text": outcome.objective}
            for outcome, color in zip(outcomes, colors, strict=True)
        ],
        "origin": comparison.origin,
    }
    write_atomically(path, render("comparison.html.jinja", context).encode("utf-8", "replace"))
