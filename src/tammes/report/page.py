"""The page of a comparison or a run, as one self-contained HTML file."""

from pathlib import Path

import numpy as np

from tammes.atomic import write_atomically
from tammes.report.comparison import Comparison
from tammes.report.confusion import confusions
from tammes.report.markup import listed, render
from tammes.report.over_training import OverTraining, Series, over_training
from tammes.report.pair_panels import (
    LARGEST_SAMPLE,
    alignment_panel,
    alignment_uniformity_of,
    are_by_class,
    overlaid_panels,
    rank_panel,
    similarity_panels,
)
from tammes.report.palette import CLASSES, css_color
from tammes.report.patches import attention_strips, reconstruction_strips
from tammes.report.reasons import reasons
from tammes.report.repeats import repeated_negatives
from tammes.report.rotations import rotation_table
from tammes.report.sample import Degrees, GraphSizes, Sentences
from tammes.report.strips import anchor_strips, nearest_strips
from tammes.report.table import score_table
from tammes.report.verdict import verdict
from tammes.report.weight_panels import map_panels, places_of, weight_map_panels, weight_panels

TOGETHER = "all objectives"


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
            label_free=outcome.label_free,
            seeds=max(1, len(outcome.seeds)),
        )
        for outcome in comparison.outcomes
    ]
    floors = {floor.name: floor.scores.knn for floor in comparison.floors if floor.scores.knn is not None}
    test_rows = f"the {comparison.test_size:,} test {comparison.sample.data} of the table"
    return over_training(series, together=TOGETHER, test_rows=test_rows, floors=floors)


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
    places = places_of(comparison)
    context = {
        "kicker": "Comparison" if len(names) > 1 else "Run",
        "title": f"{listed(names)} on {comparison.data}",
        "comparison": comparison,
        "contrasts": any(outcome.contrasts for outcome in outcomes),
        "sample": sample,
        "lines": isinstance(sample, Sentences | GraphSizes | Degrees),
        "lead": lead,
        "note": note,
        "table": score_table(comparison, colors),
        "training": training_section(comparison),
        "reasons": reasons(comparison, colors),
        "confusions": confusions(comparison),
        "similarities": similarity_panels(comparison),
        "by_class": are_by_class(sample),
        "overlaid": overlaid_panels(comparison),
        "rank": rank_panel(comparison),
        "alignment": alignment_panel(comparison),
        "align_uniform": alignment_uniformity_of(outcomes[0]),
        "rotations": rotation_table(comparison, colors),
        "reconstructions": reconstruction_strips(comparison),
        "attention": attention_strips(comparison),
        "has_denoised": any(
            each.reconstructions is not None and len(each.reconstructions.denoised) for each in outcomes
        ),
        "anchors": anchor_strips(comparison),
        "nearest": [] if isinstance(sample, GraphSizes | Degrees) else nearest_strips(comparison),
        "repeats": repeated_negatives(comparison),
        "weights": weight_panels(comparison),
        "uniform": [outcome.name for outcome in outcomes if outcome.is_uniform],
        "maps": map_panels(comparison, places),
        "weight_maps": weight_map_panels(comparison, places),
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
