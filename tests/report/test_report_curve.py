"""Curves of one run, and their means over seeds."""

import numpy as np
import pytest
from scipy import stats

from tammes.report import Curve
from tammes.training import EpochMetrics


def curve(*values: float, first: int = 0) -> Curve:
    return Curve(epochs=np.arange(first, first + len(values)), values=np.array(values))


def test_a_mean_over_seeds_has_student_s_interval():
    mean = Curve.over_seeds([curve(0.5, 0.9), curve(0.5, 0.8), curve(0.5, 0.4)])
    assert mean is not None
    np.testing.assert_allclose(mean.values, [0.5, 0.7])
    half = stats.t.ppf(0.975, 2) * np.std([0.9, 0.8, 0.4], ddof=1) / np.sqrt(3)
    assert mean.low is not None
    assert mean.high is not None
    np.testing.assert_allclose(mean.low, [0.5, 0.7 - half])
    np.testing.assert_allclose(mean.high, [0.5, 0.7 + half])


def test_one_seed_has_no_band():
    alone = curve(0.5, 0.9)
    assert Curve.over_seeds([alone]) is alone


def test_only_epochs_that_all_seeds_have_are_averaged():
    mean = Curve.over_seeds([curve(0.5, 0.9, 1.0), curve(0.7, 0.8, first=1)])
    assert mean is not None
    assert mean.epochs.tolist() == [1, 2]
    np.testing.assert_allclose(mean.values, [0.8, 0.9])
    assert Curve.over_seeds([curve(0.5), curve(0.5, first=1)]) is None
    assert Curve.over_seeds([curve(0.5), None]) is None


def test_a_run_gives_the_epochs_that_were_recorded():
    rows = (
        EpochMetrics(epoch=0, step=0, knn=0.1),
        EpochMetrics(epoch=1, step=5, loss=2.0),
        EpochMetrics(epoch=2, step=10, loss=1.0, knn=0.3),
    )
    knn = Curve.of(rows, "knn")
    assert knn is not None
    assert (knn.epochs.tolist(), knn.values.tolist()) == ([0, 2], [0.1, 0.3])
    assert Curve.of(rows, "gradient_norm") is None


@pytest.mark.parametrize(
    ("values", "shown", "constant"),
    [((1.0,), False, True), ((0.0, 0.0), False, True), ((0.5, 0.5), True, True), ((0.0, 0.5), True, False)],
)
def test_what_there_is_to_see(values: tuple[float, ...], shown: bool, constant: bool):
    assert curve(*values).is_shown == shown
    assert curve(*values).is_constant == constant


def test_a_band_has_the_length_of_its_curve():
    with pytest.raises(ValueError, match=r"Curve\.low must have shape \(2,\), got \(1,\)"):
        Curve(epochs=np.arange(2), values=np.ones(2), low=np.ones(1))
