"""The best of some settings, and how sure seeds are of it."""

import numpy as np
import pytest

from tammes.papers.ash.optimum import growth, optimum, resampled_best, rise_and_fall


def test_a_clear_best_is_sure():
    values = np.array([0.1, 0.5, 0.2]) + 0.01 * np.random.default_rng(0).standard_normal((5, 1))
    found = optimum(values)
    assert (found.best, found.first, found.last, found.share) == (1, 1, 1, 1.0)


def test_what_seeds_share_does_not_count():
    # Between seeds everything moves by far more than the settings differ, and all of it together.
    values = np.array([0.30, 0.31]) + np.random.default_rng(0).standard_normal((4, 1))
    assert optimum(values).share == 1.0


def test_noise_is_told_as_doubt():
    values = np.random.default_rng(1).standard_normal((3, 6))
    found = optimum(values)
    assert found.first < found.last
    assert found.share < 0.95
    assert found.first <= found.best <= found.last


def test_what_a_seed_lacks_is_never_best():
    values = np.array([[0.1, 0.9, 0.2], [0.1, np.nan, 0.2]])
    assert optimum(values).best == 2
    assert set(resampled_best(values).tolist()) == {2}
    with pytest.raises(ValueError, match="measured for every seed"):
        optimum(np.full((2, 3), np.nan))


def test_growth_is_the_share_of_resamples_in_which_it_grows():
    noise = 0.01 * np.random.default_rng(0).standard_normal((3, 4, 3))
    settings = [1, 4, 16]
    rising = [noise[i] + np.eye(3)[i] for i in range(3)]
    assert growth([10, 100, 1000], rising, settings) == 1.0
    assert growth([10, 100, 1000], rising[::-1], settings) == 0.0
    assert growth([10, 100, 1000], [rising[1]] * 3, settings) == 0.0  # the same everywhere is no growth
    undecided = growth([10, 100, 1000], [np.random.default_rng(2).standard_normal((3, 3))] * 3, settings)
    assert 0.05 < undecided < 0.95


def test_a_fall_by_chance_is_none():
    # Chosen by itself, the best of pure noise would stand above the last setting for every seed.
    generator = np.random.default_rng(0)
    falls = [rise_and_fall(generator.standard_normal((3, 8)))[1] for _ in range(300)]
    mean = np.mean([fall.mean for fall in falls])
    assert abs(mean) < 4 * np.sqrt(2 / 900)
    assert sum(fall.falls for fall in falls) < 100


def test_a_real_fall_is_seen_and_one_seed_says_nothing():
    values = np.array([[0.1, 0.5, 0.4], [0.2, 0.6, 0.4], [0.1, 0.5, 0.3]])
    rise, fall = rise_and_fall(values)
    assert rise.values == pytest.approx((0.4, 0.4, 0.4))
    assert fall.values == pytest.approx((-0.1, -0.2, -0.2))
    assert rise.rises
    assert fall.falls
    assert rise_and_fall(values[:1])[0].values == ()
