"""Panels on the weights of negatives: against their similarity, and as the size of dots on the map."""

import math

import numpy as np

from tammes.report.comparison import Comparison, Outcome
from tammes.report.figures.map import embedding_map, project, weights_on_map
from tammes.report.figures.similarity import weight_against_similarity
from tammes.report.markup import Panel, inline_svg
from tammes.report.negatives import effective_negatives, relative_to_uniform
from tammes.report.pair_panels import LARGEST_SAMPLE, panel_of
from tammes.report.palette import objective_color
from tammes.report.similarities import cosine

Places = dict[int, np.ndarray]
"""Coordinates (rows, 2) of the sample's rows on the map of each objective that has one, by its number."""


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
        caption = f"{effective_negatives(outcome):.0f} effective negatives of {outcome.most_negatives}"
        figure = weight_against_similarity(similarity, weight, objective_color(index), limits=limits)
        long = (
            f"Weight of negatives against their similarity to the anchor under {outcome.name}: from "
            f"{weight.min():.2g} to {weight.max():.2g} times the uniform weight, {caption}."
        )
        svg = inline_svg(figure, name=f"weights-{index}", description=long)
        panels.append(panel_of(comparison, index, svg, caption=caption))
    return panels


def _weights_and_similarities(outcome: Outcome) -> tuple[np.ndarray, np.ndarray]:
    """Return the similarity and the relative weight of every negative, (negatives,) each."""
    relative = outcome.relative_weights
    counted = relative > 0
    return cosine(*outcome.sides)[counted], relative[counted]


def _weight_limits(weights: list[np.ndarray]) -> tuple[float, float]:
    """Return the limits of the shared axis: all but the extreme thousandth, and at least 0.1 to 10."""
    low = min(float(np.quantile(weight, 0.001)) for weight in weights)
    high = max(float(np.quantile(weight, 0.999)) for weight in weights)
    return min(0.1, 10 ** (math.log10(max(low, 1e-6)) - 0.1)), max(10.0, 10 ** (math.log10(high) + 0.1))


def places_of(comparison: Comparison) -> Places:
    """Return the places of the rows on the map of each objective; features that are all equal have none."""
    found = {
        index: project(outcome.features[:LARGEST_SAMPLE]) for index, outcome in enumerate(comparison.outcomes)
    }
    return {index: places for index, places in found.items() if places.any()}


def map_panels(comparison: Comparison, places_by_objective: Places) -> list[Panel]:
    """Return a map of the features of each objective.

    Args:
        comparison: content of the page.
        places_by_objective: places of the rows, from `places_of`.
    """
    sample = comparison.sample
    labels = None if sample.labels is None else sample.labels[:LARGEST_SAMPLE]
    classes = [] if labels is None else [sample.class_name(label) for label in range(int(labels.max()) + 1)]
    titles = [sample.title(row) for row in range(min(sample.size, LARGEST_SAMPLE))]
    width = 4.0 if len(comparison.outcomes) == 1 else 2.4
    panels = []
    for index, places in places_by_objective.items():
        figure = embedding_map(places, labels, classes, color=objective_color(index), width=width)
        words = (
            f"t-SNE map of the features of {comparison.outcomes[index].name} for {len(places)} {sample.many}."
        )
        svg = inline_svg(figure, name=f"map-{index}", description=words, titles=titles)
        panels.append(panel_of(comparison, index, svg))
    return panels


def weight_map_panels(comparison: Comparison, places_by_objective: Places) -> list[Panel]:
    """Return the map of each objective with the weights of one anchor's negatives as the size of the dots.

    The anchor is the first row of the batch. Objectives that weight all negatives alike are left out.

    Args:
        comparison: content of the page.
        places_by_objective: places of the rows, from `places_of`.

    Source: Jiang et al. (2023), figure 6.
    """
    sample, anchor = comparison.sample, 0
    panels = []
    for index, places in places_by_objective.items():
        outcome = comparison.outcomes[index]
        if outcome.is_uniform:
            continue
        weight = relative_to_uniform(outcome, sample, anchor)[: len(places)]
        same = None if sample.labels is None else (sample.labels == sample.labels[anchor])[: len(places)]
        figure = weights_on_map(places, weight, same, anchor=anchor, color=objective_color(index))
        heaviest = f"the greatest weight is {weight.max():.1f} times the uniform weight"
        words = (
            f"Map of the features of {outcome.name} with the weights of one anchor's negatives: {heaviest}."
        )
        svg = inline_svg(figure, name=f"weight-map-{index}", description=words)
        panels.append(panel_of(comparison, index, svg, caption=heaviest))
    return panels
