"""Drawings that the pages of the papers share."""

import itertools

import pytest

from tammes.estimate import Estimate
from tammes.papers.figures import dots, small_multiples


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


def test_small_multiples_share_an_axis_and_keep_the_color_of_a_method() -> None:
    numbers = {1.0: Estimate.over_seeds([0.1, 0.2]), 2000.0: 0.4}
    figure = small_multiples(
        {"classes": {"a": numbers, "b": {2000.0: 0.1}}, "epsilon": {"b": {1.0: 0.3}}}, up="gain"
    )
    classes, epsilon = figure.axes
    assert classes.get_ylim() == epsilon.get_ylim()
    assert [tick.get_text() for tick in classes.get_xticklabels()] == ["1", "2,000"]
    lines = [line for axes in figure.axes for line in axes.get_lines()]
    zero, a, b, _, again = lines
    assert list(zero.get_ydata()) == [0, 0]
    assert a.get_color() != b.get_color() == again.get_color()
    assert list(again.get_xdata()) == [0]  # alone, a method stands at its value
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    (interval,) = classes.collections[0].get_segments()[:1]
    assert interval[:, 1].tolist() == pytest.approx([numbers[1.0].low, numbers[1.0].high])  # type: ignore[union-attr]


def test_many_methods_of_small_multiples_stay_at_their_value() -> None:
    figure = small_multiples({"n": {name: {1.0: 0.5, 2.0: 0.4} for name in "abcdef"}}, up="share")
    places = [line.get_xdata()[0] for line in figure.axes[0].get_lines()[1:]]  # type: ignore[index]
    assert len(places) == 6
    assert max(map(abs, places)) < 0.25
