"""Drawings that the pages of the papers share."""

import itertools

import pytest

from tammes.estimate import Estimate
from tammes.papers.figures import dots


def test_an_axis_ends_where_the_numbers_do() -> None:
    low, high = Estimate.over_seeds([0.10, 0.12]), Estimate.over_seeds([0.13, 0.14])
    left, right = dots({"a": low, "b": high}, {}, label="readout").axes[0].get_xlim()
    assert left == 0.0
    assert right == pytest.approx(1.05 * max(low.high, high.high))
    assert dots({"a": 0.2}, {"a": 0.4}, label="readout").axes[0].get_xlim() == (0.0, pytest.approx(0.42))
    assert dots({"a": low}, {}, label="readout", limits=(0.0, 1.0)).axes[0].get_xlim() == (0.0, 1.0)


def test_long_names_leave_room_for_the_axis() -> None:
    names = ["MoCHi, hardest 1024 in equal time, temperature 0.1", "b"]
    figure = dots(dict.fromkeys(names, Estimate.over_seeds([0.1, 0.3])), {}, label="readout")
    figure.canvas.draw()
    axes = figure.axes[0]
    assert axes.get_position().width * figure.get_figwidth() > 1.5  # inches
    ticks = [tick.get_window_extent() for tick in axes.get_xticklabels() if tick.get_text()]
    assert all(one.x1 < other.x0 for one, other in itertools.pairwise(ticks))
