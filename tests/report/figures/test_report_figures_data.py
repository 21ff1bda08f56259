"""What is drawn is what was given, and every axis says what it is."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from tammes.report import Curve
from tammes.report.figures.confusion import confusion_matrix
from tammes.report.figures.curves import accuracy_over_epochs, lines_over_steps, over_epochs
from tammes.report.figures.map import embedding_map, project, weights_on_map
from tammes.report.figures.rank import same_label_over_rank
from tammes.report.figures.similarity import (
    alignment_uniformity,
    overlaid_histograms,
    similarity_histogram,
    weight_against_similarity,
)
from tammes.report.figures.sphere import hammer, sphere_map
from tammes.report.palette import CLASSES, MUTED

COLORS = ["#0072b2", "#d55e00"]
CURVES = {
    "a": Curve(epochs=np.array([0, 1, 2]), values=np.array([0.1, 0.5, 0.75])),
    "b$": Curve(epochs=np.array([0, 2]), values=np.array([0.2, 0.76])),
}


def labeled(axes) -> bool:
    return bool(axes.get_xlabel()) and bool(axes.get_ylabel())


def test_accuracies_are_drawn_in_per_cent_with_their_floors():
    axes = accuracy_over_epochs(CURVES, COLORS, floors={"pixels": 0.4}).axes[0]
    assert labeled(axes)
    first, second, floor = axes.lines
    np.testing.assert_allclose(first.get_xydata(), [[0, 10], [1, 50], [2, 75]])
    np.testing.assert_allclose(second.get_ydata(), [20, 76])
    np.testing.assert_allclose(floor.get_ydata(), 40)
    assert [text.get_text() for text in axes.texts] == ["a", "b$", "pixels"]
    assert [to_hex(text.get_color()) for text in axes.texts] == [*COLORS, MUTED]


@pytest.mark.parametrize("values", [(1.0, 1.0), (0.0, 0.0), (0.9, 1.0)])
def test_the_axis_of_accuracies_ends_at_0_and_100_per_cent(values):
    band = np.array([-0.5, -0.5]), np.array([1.5, 1.5])
    curve = Curve(epochs=np.array([0, 1]), values=np.array(values), low=band[0], high=band[1])
    axes = accuracy_over_epochs({"a": curve}, COLORS[:1]).axes[0]
    low, high = axes.get_ylim()
    assert -1 < low < high < 101
    assert all(0 <= tick <= 100 for tick in axes.get_yticks() if low <= tick <= high)


@pytest.mark.parametrize("accuracy", [0.0, 0.01, 0.99, 1.0])
def test_no_tick_lies_beyond_the_accuracies_that_there_are(accuracy: float):
    flat = Curve(epochs=np.array([0, 1]), values=np.array([accuracy, accuracy]))
    axes = accuracy_over_epochs({"a": flat}, COLORS[:1], floors={"pixels": accuracy}).axes[0]
    low, high = axes.get_ylim()
    assert low < 100 * accuracy < high
    shown = [tick for tick in axes.get_yticks() if low <= tick <= high]
    assert shown
    assert 0 <= min(shown) <= max(shown) <= 100


def test_a_number_is_drawn_as_it_is():
    axes = over_epochs([CURVES["a"]], COLORS[:1], label="training loss").axes[0]
    assert labeled(axes)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), CURVES["a"].values)
    assert axes.get_yscale() == "linear"


def test_only_a_wide_range_is_logarithmic():
    wide = Curve(epochs=np.array([1, 2]), values=np.array([0.1, 10]))
    assert over_epochs([wide], COLORS[:1], label="gradient norm").axes[0].get_yscale() == "linear"
    for curve, scale in ((wide, "log"), (CURVES["a"], "linear")):
        axes = over_epochs([curve], COLORS[:1], label="gradient norm", may_be_log=True).axes[0]
        assert axes.get_yscale() == scale
        low, high = axes.get_ylim()
        assert low < curve.values.min() < curve.values.max() < high


def test_a_mean_over_seeds_has_a_band_that_does_not_flatten_it():
    two = [Curve(epochs=np.array([1, 2]), values=np.array(v)) for v in ([0.5, 0.7], [0.6, 0.72])]
    mean = Curve.over_seeds(two)
    axes = over_epochs([mean], COLORS[:1], label="loss").axes[0]
    band = axes.collections[0].get_paths()[0].vertices
    np.testing.assert_allclose([band[:, 1].min(), band[:, 1].max()], [mean.low.min(), mean.high.max()])
    assert axes.get_ylim()[1] < mean.high.max()
    assert not over_epochs(two, COLORS, label="loss").axes[0].collections


def test_the_second_line_of_a_color_is_dashed():
    axes = over_epochs(list(CURVES.values()), COLORS[:1] * 2, label="loss").axes[0]
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--"]


def test_long_names_at_the_ends_stay_apart():
    long = {f"{'x' * 40}{end}": CURVES["a"] for end in "ab"}
    names = [text.get_text() for text in accuracy_over_epochs(long, COLORS).axes[0].texts]
    assert names == ["x" * 10 + "…" + "x" * 10 + end for end in "ab"]
    middle = {f"{'x' * 20}{place}{'x' * 20}": CURVES["a"] for place in "ab"}
    names = [text.get_text() for text in accuracy_over_epochs(middle, COLORS).axes[0].texts]
    assert names == list(middle)


def test_a_matrix_shades_and_numbers_its_cells():
    shares = np.array([[0.75, 0.25, 0], [0, 1, 0], [0, 0, 0]])
    axes = confusion_matrix(shares, ("a", "b", "c"), color=COLORS[0]).axes[0]
    assert labeled(axes)
    shades = axes.collections[0].get_facecolor()
    assert len(shades) == 3  # a cell without rows is left empty
    assert {to_hex(shade) for shade in shades} == {COLORS[0]}
    np.testing.assert_allclose(shades[:, 3] / shades[2, 3], np.sqrt([0.75, 0.25, 1]))
    assert [text.get_text() for text in axes.texts] == ["75", "25", "100"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]


def test_many_or_rare_cells_have_no_numbers():
    assert not confusion_matrix(np.eye(11), [f"class {k}" for k in range(11)], color=COLORS[0]).axes[0].texts
    rare = np.array([[0.999, 0.001], [0, 1]])
    texts = confusion_matrix(rare, ("a", "b"), color=COLORS[0]).axes[0].texts
    assert [text.get_text() for text in texts] == ["100", "100"]


def test_lines_have_their_level():
    axes = lines_over_steps(CURVES, COLORS, label="loss", level=("log 2", 0.69)).axes[0]
    assert labeled(axes)
    np.testing.assert_allclose(axes.lines[1].get_ydata(), CURVES["b$"].values)
    np.testing.assert_allclose(axes.lines[2].get_ydata(), 0.69)


def test_histograms_are_densities():
    together, apart = np.array([0.9, 0.95, 1.0]), np.array([-1.0, 0.0])
    axes = similarity_histogram(together, apart, COLORS[0]).axes[0]
    assert labeled(axes)
    for patch, values in zip(axes.patches[::2], (apart, together), strict=True):
        heights, edges, _ = patch.get_data()
        expected, _ = np.histogram(values, bins=edges)
        np.testing.assert_allclose(heights * np.diff(edges), expected / len(values))
        np.testing.assert_allclose((heights * np.diff(edges)).sum(), 1)


def test_alignment_lies_across_and_uniformity_up():
    axes = alignment_uniformity({"a": (0.3, -2.0), "b": (0.5, -2.5)}, COLORS).axes[0]
    assert labeled(axes)
    np.testing.assert_allclose(axes.collections[0].get_offsets(), [[0.3, -2.0], [0.5, -2.5]])
    assert [to_hex(color) for color in axes.collections[0].get_facecolor()] == COLORS


def test_trifles_do_not_fill_the_axes():
    axes = alignment_uniformity({"a": (0.3, -2.0), "b": (0.3001, -2.0001)}, COLORS).axes[0]
    assert np.ptp(axes.get_xlim()) >= 0.1
    assert np.ptp(axes.get_ylim()) >= 0.5


def test_weights_show_the_median_and_the_uniform_level():
    similarity = np.repeat([-0.525, 0.225], 9)
    weight = np.concatenate([np.linspace(0.1, 0.3, 9), np.linspace(2, 4, 9)])
    axes = weight_against_similarity(similarity, weight, COLORS[0], limits=(0.05, 20)).axes[0]
    assert labeled(axes)
    assert axes.get_yscale() == "log"
    median, uniform = axes.lines
    np.testing.assert_allclose(median.get_xydata(), [[-0.525, 0.2], [0.225, 3.0]])
    np.testing.assert_allclose(uniform.get_ydata(), 1)
    drawn = axes.collections[0].get_offsets()
    assert sorted(map(tuple, drawn.tolist())) == sorted(zip(similarity, weight, strict=True))


def test_map_colors_the_ten_most_frequent_classes():
    labels = np.concatenate([np.repeat(np.arange(10), 2), [10, 11]])
    places = np.random.default_rng(0).normal(size=(22, 2))
    axes = embedding_map(places, labels, [f"c{k}" for k in range(12)], color=COLORS[0]).axes[0]
    np.testing.assert_allclose(axes.collections[0].get_offsets(), places)
    inks = [to_hex(color) for color in axes.collections[0].get_facecolor()]
    assert inks == [CLASSES[label] if label < 10 else MUTED for label in labels]
    assert [text.get_text() for text in axes.texts] == [f"c{k}" for k in range(10)]


def test_map_without_labels_has_the_color_of_the_objective():
    axes = embedding_map(np.zeros((3, 2)), None, (), color=COLORS[1]).axes[0]
    assert {to_hex(color) for color in axes.collections[0].get_facecolor()} == {COLORS[1]}
    assert not axes.texts


def test_long_class_names_are_cut():
    axes = embedding_map(np.zeros((1, 2)), np.array([0]), ["x" * 40], color=COLORS[0]).axes[0]
    assert axes.texts[0].get_text() == "x" * 7 + "…" + "x" * 8


@pytest.mark.equal_bits
def test_neighbors_stay_neighbors_on_the_map():
    rng = np.random.default_rng(0)
    features = np.repeat(np.eye(3), 15, axis=0) + 0.02 * rng.normal(size=(45, 3))
    places = project(features)
    np.testing.assert_array_equal(places, project(features))
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    assert np.all(distance.argmin(axis=1) // 15 == np.arange(45) // 15)


@pytest.mark.equal_bits
@pytest.mark.parametrize("features", [np.ones((8, 4)), np.zeros((8, 4))])
def test_equal_features_lie_in_one_place(features):
    np.testing.assert_array_equal(project(features), 0)


def test_features_of_one_dimension_have_a_map():
    assert np.isfinite(project(np.array([[1.0], [-1.0], [2.0], [-2.0], [0.5]]))).all()


def test_sphere_has_its_mean_in_the_middle():
    points = np.array([0.0, -1.0, 0.0]) + 0.05 * np.random.default_rng(0).normal(size=(50, 3))
    drawn = sphere_map(points, np.zeros(50, int)).axes[0].collections[0].get_offsets()
    np.testing.assert_allclose(drawn.mean(axis=0), 0, atol=0.01)
    assert np.abs(drawn).max() < 0.4


def test_the_map_of_the_sphere_keeps_areas():
    rng = np.random.default_rng(0)
    longitude, latitude = rng.uniform(-3, 3, 50), rng.uniform(-1.4, 1.4, 50)
    step = 1e-5
    across = (hammer(longitude + step, latitude) - hammer(longitude - step, latitude)) / (2 * step)
    up = (hammer(longitude, latitude + step) - hammer(longitude, latitude - step)) / (2 * step)
    area = across[:, 0] * up[:, 1] - across[:, 1] * up[:, 0]
    np.testing.assert_allclose(area, np.cos(latitude), rtol=1e-6)


def test_two_objectives_are_laid_over_each_other_kind_by_kind():
    rng = np.random.default_rng(0)
    together, apart = (
        (rng.uniform(0, 1, 50), rng.uniform(0.5, 1, 50)),
        (rng.uniform(-1, 0, 80), rng.uniform(-0.5, 0.5, 60)),
    )
    figure = overlaid_histograms(together, apart, (COLORS[0], COLORS[1]), names=("a", "b$"))
    above, below = figure.axes
    assert [text.get_text() for text in above.texts] == ["same class", "a", "b$"]
    assert [to_hex(text.get_color()) for text in above.texts[1:]] == COLORS
    assert [text.get_text() for text in below.texts] == ["other class"]
    assert below.get_xlabel() == "cosine similarity"
    for axes, pairs in ((above, together), (below, apart)):
        outlines = axes.patches[1::2]
        for patch, similarities in zip(outlines, pairs, strict=True):
            values, edges, _ = patch.get_data()
            np.testing.assert_allclose(np.sum(values * np.diff(edges)), 1)
            assert edges[:-1][values > 0].min() <= similarities.min()


def test_labels_are_drawn_over_the_rank_in_steps_that_widen():
    falling = np.linspace(0.9, 0.1, 200)
    shares = {"b$": falling / 2, "a": falling}
    axes = same_label_over_rank(shares, COLORS).axes[0]
    assert labeled(axes)
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.texts] == ["a", "b$"], "in the order of their starts"
    first = axes.lines[0]
    assert first.get_xdata()[0] == 1
    np.testing.assert_allclose(first.get_ydata()[0], 45)
    assert (np.diff(first.get_ydata()) < 0).all()
    assert len(first.get_xdata()) <= 24
    np.testing.assert_allclose(axes.lines[-1].get_ydata(), 100 * shares["b$"].mean())


def test_the_area_of_a_dot_is_its_weight_and_false_negatives_have_rings():
    places = np.random.default_rng(1).normal(size=(5, 2))
    weight = np.array([0.0, 1.0, 2.0, 4.0, 0.0])
    same = np.array([True, False, True, False, True])
    axes = weights_on_map(places, weight, same, anchor=0, color=COLORS[0]).axes[0]
    others, dots, rings, star = axes.collections
    np.testing.assert_allclose(others.get_offsets(), places[[0, 4]])
    np.testing.assert_allclose(dots.get_offsets(), places[1:4])
    np.testing.assert_allclose(dots.get_sizes() / dots.get_sizes().max(), [0.25, 0.5, 1])
    np.testing.assert_allclose(rings.get_offsets(), places[[2]])
    np.testing.assert_allclose(star.get_offsets(), places[[0]])
    assert len(weights_on_map(places, weight, None, anchor=0, color=COLORS[0]).axes[0].collections) == 3
