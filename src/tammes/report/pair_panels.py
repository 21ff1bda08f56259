"""Panels on which pairs are similar: histograms, overlaid by twos, and the labels by rank of similarity."""

import numpy as np
import torch
from markupsafe import Markup

from tammes.diagnostics import alignment, uniformity
from tammes.report.comparison import Comparison, Outcome
from tammes.report.figures.rank import same_label_over_rank
from tammes.report.figures.similarity import (
    alignment_uniformity,
    overlaid_histograms,
    similarity_histogram,
)
from tammes.report.markup import Panel, inline_svg, percent
from tammes.report.palette import MUTED, css_color, objective_color
from tammes.report.sample import Sample
from tammes.report.scores import Floats
from tammes.report.similarities import (
    by_label,
    by_view,
    cosine,
    has_both_kinds,
    overlap,
    same_label_by_rank,
    separation,
)

LARGEST_SAMPLE = 600
"""Number of rows in the map and the histograms; more rows take time and space and look the same."""
BEFORE = "before training"
MOST_OVERLAID = 5
"""Objectives that are laid over the first one."""


def panel_of(
    comparison: Comparison,
    index: int,
    svg: Markup,
    *,
    caption: str = "",
) -> Panel:
    """Return a drawing of one of the objectives as a panel in its color; a single one need not be named."""
    if len(comparison.outcomes) == 1:
        return Panel(svg=svg, caption=caption)
    return Panel(name=comparison.outcomes[index].name, color=css_color(index), svg=svg, caption=caption)


def similarity_panels(comparison: Comparison) -> list[Panel]:
    """Return histograms of similarity within and between classes or, without labels, of views."""
    panels = []
    for index, outcome in enumerate(comparison.outcomes):
        split, words = _split(outcome, comparison.sample)
        medians = " and ".join(f"{np.median(each):.2f}" for each in split)
        caption = f"medians {medians}; overlap {percent(overlap(*split))}; AUC {percent(separation(*split))}"
        caption = caption.replace("-", "\N{MINUS SIGN}")
        figure = similarity_histogram(*split, objective_color(index), words=words)
        long = f"Cosine similarities under {outcome.name}, {words[0]} and {words[1]}: {caption}."
        svg = inline_svg(figure, name=f"similarity-{index}", description=long)
        panels.append(panel_of(comparison, index, svg, caption=caption))
    return panels


def are_by_class(sample: Sample) -> bool:
    """Return whether the pairs of the sample are of one class and of two, so that the page compares these.

    Otherwise there are no labels, all rows have the same, or each row has its own.
    """
    return sample.labels is not None and has_both_kinds(sample.labels[:LARGEST_SAMPLE])


def _split(outcome: Outcome, sample: Sample) -> tuple[tuple[Floats, Floats], tuple[str, str]]:
    """Return the similarities of pairs that belong together and of others, and their names."""
    shown = outcome.embeddings[:LARGEST_SAMPLE]
    split = None if sample.labels is None else by_label(shown, sample.labels[:LARGEST_SAMPLE])
    if split is not None:
        return split, ("same class", "other class")
    two = "two views" if sample.partners is None and sample.pair is None else "of a pair"
    if outcome.candidates is not None:  # the views hold the anchor's own positive, and perhaps others
        of_pairs = by_view(outcome.view_a, outcome.view_b)[0]
        return (of_pairs, cosine(*outcome.sides)[outcome.weights > 0]), (two, f"other {sample.many}")
    return by_view(outcome.view_a, outcome.view_b), (two, f"other {sample.many}")


def overlaid_panels(comparison: Comparison) -> list[Panel]:
    """Return the histograms of each further objective laid over those of the first one.

    Source: Robinson (2023), figures 3-7 to 3-10.
    """
    first, *others = comparison.outcomes[: MOST_OVERLAID + 1]
    ours, words = _split(first, comparison.sample)
    panels = []
    for index, outcome in enumerate(others, start=1):
        theirs, _ = _split(outcome, comparison.sample)
        names, colors = (first.name, outcome.name), (objective_color(0), objective_color(index))
        figure = overlaid_histograms(
            (ours[0], theirs[0]), (ours[1], theirs[1]), colors, names=names, words=words
        )
        shares = [percent(overlap(mine, other)) for mine, other in zip(ours, theirs, strict=True)]
        caption = f"overlap of the two: {words[0]} {shares[0]}, {words[1]} {shares[1]}"
        long = f"Cosine similarities under {names[0]} and {names[1]}, laid over each other; {caption}."
        svg = inline_svg(figure, name=f"overlaid-{index}", description=long)
        panels.append(Panel(name=f"{names[0]} and {names[1]}", svg=svg, caption=caption))
    return panels


def rank_panel(comparison: Comparison) -> Panel | None:
    """Return the share of rows with the anchor's label by rank of similarity, before and after training.

    None without labels, and where all rows of the sample have one label or each has its own.

    Source: Jiang et al. (2023), figure 5.
    """
    labels = comparison.sample.labels
    if labels is None or not are_by_class(comparison.sample):
        return None
    labels = labels[:LARGEST_SAMPLE]
    embeddings = {each.name: each.embeddings for each in comparison.outcomes}
    colors = [objective_color(index) for index in range(len(embeddings))]
    if comparison.before is not None:
        embeddings[BEFORE] = comparison.before.embeddings
        colors.append(MUTED)
    shares = {name: same_label_by_rank(each[:LARGEST_SAMPLE], labels) for name, each in embeddings.items()}
    words = "; ".join(f"{name} {percent(float(each[0]))} at rank 1" for name, each in shares.items())
    figure = same_label_over_rank(shares, colors)
    return Panel(
        svg=inline_svg(
            figure, name="rank", description=f"Share of rows with the anchor's label by rank: {words}."
        )
    )


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
