"""From a comparison to one self-contained HTML file."""

from pathlib import Path

import numpy as np

from tammes.report.comparison import Comparison
from tammes.report.palette import CLASSES
from tammes.report.panels import (
    LARGEST_SAMPLE,
    accuracy_panel,
    alignment_panel,
    css_color,
    loss_panels,
    map_panels,
    similarity_panels,
    weight_panels,
)
from tammes.report.render import render
from tammes.report.strips import anchor_strips
from tammes.report.table import score_table
from tammes.report.verdict import verdict
from tammes.report.wording import listed
from tammes.training.atomic import write_atomically


def write_comparison(path: Path, comparison: Comparison) -> None:
    """Write the page of a comparison, or of a single run; it needs no network and no second file.

    Args:
        path: of the HTML file; its folder must exist, a file of this name is replaced.
        comparison: what is shown. Without labels the page says so, and leaves out what would need them.
    """
    colors = tuple(css_color(index) for index in range(len(comparison.outcomes)))
    names = [outcome.name for outcome in comparison.outcomes]
    labels = comparison.sample.labels
    context = {
        "kicker": "Comparison" if len(names) > 1 else "Run",
        "title": f"{listed(names)} on {comparison.data}",
        "comparison": comparison,
        "verdict": verdict(comparison),
        "table": score_table(comparison, colors),
        "accuracy": accuracy_panel(comparison),
        "losses": loss_panels(comparison),
        "similarities": similarity_panels(comparison),
        "similarity_words": _similarity_words(labels is not None),
        "alignment": alignment_panel(comparison),
        "anchors": anchor_strips(comparison),
        "negatives_words": _negatives_words(labels is not None),
        "weights": weight_panels(comparison),
        "maps": map_panels(comparison),
        "map_size": min(comparison.sample.size, LARGEST_SAMPLE),
        "labeled": labels is not None,
        "many_classes": labels is not None and len(np.unique(labels)) > len(CLASSES),
        "objectives": [
            {"name": outcome.name, "color": color, "text": outcome.objective}
            for outcome, color in zip(comparison.outcomes, colors, strict=True)
        ],
    }
    write_atomically(path, render("comparison.html.jinja", context).encode("utf-8", "replace"))


def _similarity_words(labeled: bool) -> str:
    if labeled:
        return (
            "Cosine similarity of the embeddings that the objective compares, for pairs of pictures of "
            "one class and of different classes. The less the two overlap, the better; “told apart” is how "
            "often a pair of one class is the more similar one."
        )
    return (
        "Cosine similarity of the embeddings that the objective compares, for two views of one picture and "
        "for different pictures. The data have no labels, so classes cannot be shown."
    )


def _negatives_words(labeled: bool) -> str:
    chosen = "first pictures of different classes" if labeled else "first pictures"
    return (
        f"The {chosen} of the batch as anchors, and the six negatives to which each objective gives the "
        "greatest weight (below each picture, as a multiple of the uniform weight; among equals, the most "
        "similar)."
    )
