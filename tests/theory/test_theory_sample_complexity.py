"""Passive and active samples: the growth that is claimed, and what acceptance costs."""

import math

import numpy as np
import pytest

from tammes.theory import SampleComplexity, band_probability, consistent_samples


def test_the_number_of_consistent_samples_by_hand() -> None:
    expected = 10 * (4 * 3 * math.log(10) + 2 * math.log(40))
    assert consistent_samples(error=0.1, delta=0.05, vc_dimension=3) == math.ceil(expected)


def test_so_many_samples_leave_no_bad_threshold() -> None:
    """On the line, with V = 1: the worst consistent threshold is the sample nearest to the true one."""
    error, delta = 0.05, 0.1
    n = consistent_samples(error=error, delta=delta, vc_dimension=1)
    nearest = np.random.default_rng(0).random((2000, n)).min(axis=1)
    assert float((nearest >= error).mean()) <= delta


def test_passive_grows_like_one_over_the_error_and_active_like_its_logarithm() -> None:
    coarse, fine = (SampleComplexity(dimension=64, error=error) for error in (2.0**-8, 2.0**-16))
    assert fine.passive / coarse.passive == pytest.approx(2 * 2**8, rel=0.1)
    assert fine.active / coarse.active == pytest.approx(15 / 7, rel=0.02)


def test_active_grows_a_little_faster_than_the_power_of_the_dimension_that_is_stated() -> None:
    few, many = (SampleComplexity(dimension=k, error=1e-3).active for k in (64, 256))
    assert 4**1.5 < many / few < 1.3 * 4**1.5


def test_the_rounds_halve_the_error_down_to_what_is_asked() -> None:
    complexity = SampleComplexity(dimension=8, error=0.01)
    assert [each.error for each in complexity.rounds] == [2.0**-t for t in range(1, 8)]
    assert complexity.rounds[-1].error <= 0.01 < complexity.rounds[-2].error
    # a_t of Theorem 3.2, in the round after t.
    assert [each.threshold for each in complexity.rounds[1:]] == [math.pi / 2 ** (t - 1) for t in range(1, 7)]
    assert complexity.active == sum(each.samples for each in complexity.rounds)
    assert len(SampleComplexity(dimension=8, error=0.25).rounds) == 2


def test_acceptance_eats_up_what_labels_save() -> None:
    """Active samples are fewer where the error is small, but the directions drawn for them are more."""
    complexity = SampleComplexity(dimension=64, error=1e-4)
    assert complexity.active < complexity.passive / 10
    assert complexity.draws > complexity.passive
    for each in complexity.rounds[1:]:
        assert each.accepted == band_probability(64, each.threshold)
        assert each.accepted <= each.accepted_bound


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dimension": 1}, "dimension must be an integer of at least 2"),
        ({"dimension": 8, "error": 1.0}, "error must be a finite number at least 1e-300 and below 1"),
        ({"dimension": 8, "error": 1e-320}, "error must be a finite number at least 1e-300"),
        ({"dimension": 8, "delta": 0.0}, "delta must be a finite number at least 1e-300 and below 1"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SampleComplexity(**{"error": 0.1, **changes})  # type: ignore[arg-type]
