"""What is circled is the best, and what is lighter is larger."""

import numpy as np
import pytest

from tammes.papers.ash.heat_map import WITHIN, HeatMap, by_best, by_row, ends_of_range, heat_map

VALUES = np.array([[0.20, 0.398, 0.40, 0.399], [0.9, 0.8, np.nan, 0.1]])
NAMES = {"rows": ["N = 2", "N = 4"], "columns": ["1", "2", "4", "8"], "row_title": "N", "column_title": "k"}


def test_each_row_has_its_best_and_the_ends_of_what_is_near():
    heat = HeatMap(values=VALUES, scale=by_row, within=WITHIN, **NAMES)
    assert np.argwhere(heat.best).tolist() == [[0, 2], [1, 0]]
    assert np.argwhere(heat.near).tolist() == [[0, 1], [0, 3]]
    assert heat.shade[1, 3] == pytest.approx(1 / 9)


def test_over_all_there_is_one_best():
    heat = HeatMap(values=VALUES, scale=by_best, **NAMES)
    assert np.argwhere(heat.best).tolist() == [[1, 0]]
    assert not heat.near.any()


def test_the_range_is_that_of_the_paper():
    normalized = np.array([[0.995, 0.9949, 1.0], [1.0, 0.5, 0.5]])
    assert np.argwhere(ends_of_range(normalized)).tolist() == [[0, 0], [0, 2], [1, 0]]


def test_a_row_without_numbers_is_left_empty():
    values = np.array([[0.2, 0.4], [np.nan, np.nan]])
    names = {"rows": ["a", "b"], "columns": ["1", "2"], "row_title": "", "column_title": ""}
    heat = HeatMap(values=values, scale=by_row, within=WITHIN, **names)
    assert np.argwhere(heat.best).tolist() == [[0, 1]]
    assert [text.get_text() for text in heat_map(heat).axes[0].texts] == ["20.0", "40.0"]


def test_the_drawing_says_every_number_there_is_and_circles_the_best():
    figure = heat_map(HeatMap(values=VALUES, scale=by_row, within=WITHIN, **NAMES))
    (axes,) = figure.axes
    words = " ".join(text.get_text() for text in axes.texts)
    assert words == "20.0 39.8 40.0 39.9 90.0 80.0 10.0"
    best, near = (rings.get_offsets().tolist() for rings in axes.collections[1:])
    assert best == [[2.5, 0.5], [0.5, 1.5]]
    assert near == [[1.5, 0.5], [3.5, 0.5]]
    assert [label.get_text() for label in axes.get_yticklabels()] == NAMES["rows"]
    shades = axes.collections[0].get_array()
    assert shades[0, 2] == shades[1, 0] == 1
    assert shades[1, 3] == 0
    assert shades.mask.tolist() == np.isnan(VALUES).tolist()  # nothing is drawn where nothing was measured


def test_shapes_are_checked():
    flat = np.zeros((1, 2))
    with pytest.raises(ValueError, match=r"expected \(2, 4\) numbers"):
        HeatMap(values=flat, scale=by_row, **NAMES)
