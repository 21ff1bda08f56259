"""The page of a comparison or a run, as one self-contained HTML file."""

from pathlib import Path

import numpy as np

from tammes.report.comparison import Comparison
from tammes.report.markup import listed, render
from tammes.report.palette import CLASSES, css_color
from tammes.report.panels import (
    LARGEST_SAMPLE,
    accuracy_panel,
    alignment_panel,
    loss_panels,
    map_panels,
    similarity_panels,
    weight_panels,
)
from tammes.report.sample import Sentences
from tammes.report.strips import anchor_strips, nearest_strips
from tammes.report.table import score_table
from tammes.report.verdict import verdict
from tammes.training.atomic import write_atomically


def write_comparison(path: Path, comparison: Comparison) -> None:
    """Write the page of a comparison or of a single run; the file is self-contained.

    Args:
        path: path of the HTML file; its folder must exist, and an existing file is replaced.
        comparison: content of the page. Without labels the page says so, and leaves out the parts that need
            them.
    """
    colors = tuple(css_color(index) for index in range(len(comparison.outcomes)))
    names = [outcome.name for outcome in comparison.outcomes]
    labels = comparison.sample.labels
    lead, note = verdict(comparison)
    context = {
        "kicker": "Comparison" if len(names) > 1 else "Run",
        "title": f"{listed(names)} on {comparison.data}",
        "comparison": comparison,
        "sample": comparison.sample,
        "lines": isinstance(comparison.sample, Sentences),
        "lead": lead,
        "note": note,
        "table": score_table(comparison, colors),
        "accuracy": accuracy_panel(comparison),
        "losses": loss_panels(comparison),
        "similarities": similarity_panels(comparison),
        "alignment": alignment_panel(comparison),
        "anchors": anchor_strips(comparison),
        "nearest": nearest_strips(comparison) if isinstance(comparison.sample, Sentences) else [],
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
