"""The hardest negatives are those with the greatest weight."""

from dataclasses import replace

import numpy as np

from tammes.report.negatives import anchors, effective_negatives, hardest, relative_to_uniform, uniform_draw

PAIRS = 12  # of the small comparison


def test_hardest_come_by_weight(make_outcome, sample):
    outcome = make_outcome(hard=4.0)
    shown = hardest(outcome, sample, 5, 6)
    relative = relative_to_uniform(outcome, sample, 5)
    expected = np.sort(np.delete(relative, 5))[::-1][:6]
    np.testing.assert_allclose([weight for _, weight in shown], expected)
    assert 5 not in [row for row, _ in shown]


def test_equal_weights_are_ordered_by_similarity(make_outcome, sample):
    outcome = make_outcome()
    noisy = outcome.weights * (1 + 1e-9 * np.random.default_rng(0).random(outcome.weights.shape))
    outcome = replace(outcome, weights=noisy)
    views = np.concatenate([outcome.view_a, outcome.view_b])
    unit = views / np.linalg.norm(views, axis=1, keepdims=True)
    similarity = np.max((unit[2] @ unit.T).reshape(2, PAIRS), axis=0)
    similarity[2] = -np.inf
    assert [row for row, _ in hardest(outcome, sample, 2, 4)] == np.argsort(-similarity)[:4].tolist()


def test_what_has_no_weight_is_no_negative(make_outcome, sample):
    weights = np.zeros((2 * PAIRS, 2 * PAIRS))
    weights[np.arange(2 * PAIRS), (np.arange(2 * PAIRS) + 1) % (2 * PAIRS)] = 1
    outcome = replace(make_outcome(), weights=weights)
    assert [row for row, _ in hardest(outcome, sample, 3, 6)] == [4]


def test_uniform_weights_are_one_and_effective_negatives_are_all(make_outcome, sample):
    outcome = make_outcome()
    np.testing.assert_allclose(relative_to_uniform(outcome, sample, 0)[1:PAIRS], 1)
    np.testing.assert_allclose(effective_negatives(outcome), 2 * PAIRS - 2)
    assert effective_negatives(make_outcome(hard=4.0)) < PAIRS


def test_uniform_draw_never_draws_the_anchor(make_outcome, sample):
    outcome = make_outcome()
    assert len(uniform_draw(outcome, 0, 100)) == PAIRS - 1
    for anchor in range(PAIRS):
        drawn = [row for row, _ in uniform_draw(outcome, anchor, 6)]
        assert anchor not in drawn
        assert len(set(drawn)) == 6


def test_anchors_are_the_first_of_their_classes():
    assert anchors(np.array([1, 1, 0, 1, 2]), pairs=4, count=3) == [0, 2]
    assert anchors(None, pairs=2, count=3) == [0, 1]
