"""Table of how far augmentations act as rotations of the embeddings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tammes.estimate import Estimate
from tammes.report.comparison import Comparison
from tammes.report.table import ScoreCell, ScoreRow, ScoreTable
from tammes.training.rotations import Rotations

COLUMNS: dict[str, tuple[Callable[[Rotations], float | None], int]] = {
    "Wahba's error": (lambda found: found.wahba, 2),
    "not a rotation": (lambda found: None if found.unexplained is None else 100 * found.unexplained, 1),
    "gamma": (lambda found: found.gamma, 3),
    "moved by": (lambda found: found.invariance, 3),
    "variance of the cosine": (lambda found: found.cosine_variance, 4),
    "composition": (lambda found: found.composition_error, 2),
    "neighbors kept": (lambda found: 100 * found.neighbors_kept, 1),
    "color followed": (lambda found: found.color_followed, 2),
}
"""Measurements and their decimals, by the titles of their columns."""


def rotation_table(comparison: Comparison, colors: Sequence[str]) -> ScoreTable | None:
    """Return the table of a page, with means and intervals over the seeds; None if nothing was measured.

    Args:
        comparison: content of the page.
        colors: CSS color of each objective.
    """
    measured = [outcome for outcome in comparison.outcomes if outcome.rotations]
    if not measured:
        return None
    first = measured[0].rotations[0]
    rows = [
        ScoreRow(
            name=outcome.name,
            color=color,
            cells=tuple(
                _cell([pick(found) for found in outcome.rotations], digits)
                for pick, digits in COLUMNS.values()
            ),
        )
        for outcome, color in zip(comparison.outcomes, colors, strict=True)
        if outcome.rotations
    ]
    return ScoreTable(
        first="objective",
        leading=tuple(COLUMNS),
        probes=(),
        trailing=(),
        rows=tuple(rows),
        note=f"Means over {first.augmentations} augmentations, each of which is applied to the same "
        f"{first.rows} images. Wahba's error is 0 if one rotation explains an augmentation, and "
        f"{first.largest_wahba:.1f} where no rotation helps; it is low also where embeddings hardly move, so "
        "read it beside how far they are moved, and beside the share of that movement, in per cent, that no "
        "rotation explains. Gamma is the change of distances relative to that movement. "
        "Composition is the distance of twice augmented images from what two rotations predict. Neighbors "
        "kept, in per cent, and color followed say what changes in the five nearest images if the colors of "
        "an image are changed.",
    )


def _cell(values: Sequence[float | None], digits: int) -> ScoreCell:
    known = [value for value in values if value is not None]
    if not known:
        return ScoreCell(text="–")
    estimate = Estimate.over_seeds(known)
    mean, low, high = (
        f"{number:.{digits}f}".replace("-", "\N{MINUS SIGN}")
        for number in (estimate.mean, estimate.low, estimate.high)
    )
    return ScoreCell(text=mean, interval=f"{low}, {high}" if estimate.is_known else "")
