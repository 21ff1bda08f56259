"""Pairs are split by label or by view."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from tammes.report.similarities import by_label, by_view, cosine, overlap, same_label_by_rank, separation

numbers = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=1, max_size=12)


@given(together=numbers, apart=numbers)
def test_separation_is_the_area_under_the_roc_curve(together, apart):
    ours = separation(np.array(together), np.array(apart))
    truth = [1] * len(together) + [0] * len(apart)
    np.testing.assert_allclose(ours, roc_auc_score(truth, together + apart))


def test_every_pair_is_counted_once():
    labels = np.array([0, 0, 0, 1, 1])
    split = by_label(np.random.default_rng(0).normal(size=(5, 3)), labels)
    assert split is not None
    assert (len(split[0]), len(split[1])) == (3 + 1, 3 * 2)


def test_one_class_alone_has_nothing_to_compare():
    assert by_label(np.eye(3), np.zeros(3, int)) is None
    assert by_label(np.eye(3), np.arange(3)) is None


def test_views_of_one_picture_belong_together():
    view = np.random.default_rng(0).normal(size=(4, 3))
    together, apart = by_view(view, 2 * view)
    np.testing.assert_allclose(together, 1)
    assert len(apart) == 12


@given(one=numbers, other=numbers)
def test_overlap_is_a_share_that_is_one_for_equal_densities_alone(one, other):
    first, second = np.array(one), np.array(other)
    share = overlap(first, second)
    assert 0 <= share <= 1
    assert share == overlap(second, first)
    assert overlap(first, np.repeat(first, 2)) == 1
    counts = [
        [each.count(value) / len(each) for value in (-1.0, -0.5, 0.0, 0.25, 1.0)] for each in (one, other)
    ]
    np.testing.assert_allclose(share, np.minimum(*counts).sum())


def test_ranks_are_counted_from_the_nearest():
    angles = np.array([0.0, 0.1, 0.3, 2.0])
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    shares = same_label_by_rank(rows, np.array([0, 0, 1, 1]))
    # Nearest first: 1 2 3, 0 2 3, 1 0 3, 2 1 0.
    np.testing.assert_allclose(shares, [3 / 4, 0, 1 / 4])
    everyone = same_label_by_rank(np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 3)
    np.testing.assert_allclose(everyone.mean(), 9 / 29)


def test_a_row_without_a_direction_is_like_nothing():
    np.testing.assert_allclose(cosine(np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([[3.0, 0.0]])), [[0], [1]])
