"""The best of some settings, and how sure seeds are of it."""

import numpy as np
import pytest

from tammes.estimate import Estimate
from tammes.papers.ash.optimum import best_by_others, best_of_others, growth, optimum


def test_a_clear_best_is_resolved_from_all_others():
    noise = np.random.default_rng(0).standard_normal((5, 4))
    found = optimum(np.array([0.1, 0.5, 0.2, np.nan]) + 0.01 * noise)
    assert (found.best, found.first, found.last) == (1, 1, 1)


def test_what_seeds_share_does_not_count():
    # Between seeds everything moves by far more than the settings differ, and all of it together.
    values = np.array([0.30, 0.31]) + np.random.default_rng(0).standard_normal((4, 1))
    assert (optimum(values).first, optimum(values).last) == (1, 1)


def test_noise_and_a_single_seed_exclude_nothing():
    noise = optimum(np.random.default_rng(1).standard_normal((3, 6)))
    assert noise.first < noise.best < noise.last
    one = optimum(np.array([[np.nan, 0.1, 0.9, 0.2]]))
    assert (one.best, one.first, one.last) == (2, 1, 3)


def test_what_a_seed_lacks_is_never_best():
    values = np.array([[0.1, 0.9, 0.2], [0.1, np.nan, 0.2]])
    assert optimum(values).best == 2
    assert best_by_others(values).tolist() == [2, 2]
    with pytest.raises(ValueError, match="measured for every seed"):
        optimum(np.full((2, 3), np.nan))


def test_growth_has_a_slope_for_each_seed():
    noise = 0.01 * np.random.default_rng(0).standard_normal((3, 4, 3))
    at, settings = [10, 100, 1000], [1, 10, 100]
    rising = [noise[i] + np.eye(3)[i] for i in range(3)]
    assert growth(at, rising, settings).values == pytest.approx([1.0] * 4)
    assert growth(at, rising[::-1], settings).below_zero
    assert growth(at, [rising[1]] * 3, settings).values == (0.0,) * 4


def test_growth_by_chance_is_none():
    generator = np.random.default_rng(2)
    noise = [list(generator.standard_normal((3, 3, 5))) for _ in range(300)]
    slopes = [growth([1, 2, 4], values, [1, 4, 16, 64, 256]) for values in noise]
    assert sum(slope.above_zero for slope in slopes) < 20


def test_a_best_by_chance_is_none():
    # Chosen by itself, the best of pure noise would stand above the last setting for every seed.
    generator = np.random.default_rng(0)
    noise = [generator.standard_normal((3, 8)) for _ in range(300)]
    losses = [Estimate.over_seeds((best_of_others(values) - values[:, -1]).tolist()) for values in noise]
    assert abs(np.mean([loss.mean for loss in losses])) < 4 * np.sqrt(2 / 900)
    assert sum(loss.above_zero for loss in losses) < 20


def test_a_single_seed_chooses_for_itself():
    assert best_of_others(np.array([[0.1, 0.5, 0.4]])).tolist() == [0.5]
