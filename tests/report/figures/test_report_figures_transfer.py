"""The figure of the bounds draws the bounds, and marks what it says it marks."""

import math

import pytest

from tammes.report.figures.transfer import GROWTHS, bounds_over_negatives
from tammes.theory import ClassDistribution, best_k, closed_form_best_k, log_bound


def test_curves_are_the_bounds_with_their_least_marked() -> None:
    classes = ClassDistribution.uniform(100)
    axes = bounds_over_negatives(classes).axes[0]
    curves, dots, rings = axes.lines[::3], axes.lines[1::3], axes.lines[2::3]
    assert [text.get_text() for text in axes.texts] == list(GROWTHS.values())
    for growth, curve, dot, ring in zip(GROWTHS, curves, dots, rings, strict=True):
        k, height = curve.get_xdata()[200], curve.get_ydata()[200]
        assert height == pytest.approx(math.exp(log_bound(int(k), classes, growth=growth)))
        best = best_k(classes, growth=growth)
        assert dot.get_xdata()[0] == best
        assert dot.get_ydata()[0] == pytest.approx(min(curve.get_ydata()))
        assert ring.get_xdata()[0] == max(1, round(closed_form_best_k(classes, growth=growth)))


@pytest.mark.parametrize(("pairs", "is_marked"), [(None, False), (200, True), (1000, True), (10**5, False)])
def test_a_batch_is_marked_where_it_is_in_reach(pairs: int | None, is_marked: bool) -> None:
    axes = bounds_over_negatives(ClassDistribution.uniform(100), pairs=pairs).axes[0]
    marks = [text.get_text() for text in axes.texts if "batch" in text.get_text()]
    assert marks == ([f"batch of {pairs:,} "] if is_marked else [])
    if is_marked:
        assert axes.lines[-1].get_xdata()[0] == pairs - 1


@pytest.mark.parametrize("counts", [[1, 1], [60, 30, 9, 1], [1] * 5000])
def test_any_distribution_can_be_drawn(counts: list[int]) -> None:
    figure = bounds_over_negatives(ClassDistribution.of_counts(counts))
    figure.draw_without_rendering()
    assert f"{len(counts):,}" in figure.axes[0].get_title(loc="left")
