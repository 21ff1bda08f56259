import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.theory import ClassDistribution


@given(counts=st.lists(st.integers(1, 1000), min_size=1, max_size=30))
def test_groups_hold_what_the_counts_say(counts: list[int]) -> None:
    classes = ClassDistribution.of_counts(counts)
    each = np.repeat(classes.rho, classes.sizes)
    np.testing.assert_allclose(np.sort(each), np.sort(counts) / np.sum(counts))
    assert classes.number == len(counts)
    assert classes.class_prior == pytest.approx(float((each**2).sum()))
    assert classes.is_uniform == (len(set(counts)) == 1)
    assert 1 <= classes.effective_number <= len(counts) * (1 + 1e-12)


def test_labels_are_counted_whatever_they_are() -> None:
    assert ClassDistribution.of_labels(["a", "b", "b", "a"]) == ClassDistribution.uniform(2)
    assert ClassDistribution.of_labels([3, 3, 1]).smallest == 1 / 3
    for labels in (torch.tensor([3, 3, 1]), np.array([3, 3, 1])):
        assert ClassDistribution.of_labels(labels) == ClassDistribution.of_labels([3, 3, 1])
        assert ClassDistribution.of_counts(labels) == ClassDistribution.of_counts([3, 3, 1])


def test_many_classes_cost_nothing() -> None:
    classes = ClassDistribution.uniform(10**12)
    assert (classes.number, len(classes.rho)) == (10**12, 1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"probabilities": ()}, "at least one class, got none"),
        ({"probabilities": (0.5, 0.0, 0.5)}, "above 0 and at most 1, got 0.0: leave out"),
        ({"probabilities": (float("nan"),)}, "above 0 and at most 1, got nan"),
        ({"probabilities": (0.5, 0.4)}, "must sum to 1, got 0.9"),
        (
            {"probabilities": (0.5,), "repeats": (1, 1)},
            r"repeats, one for each probability, must have shape \(1,\), got \(2,\)",
        ),
        ({"probabilities": (0.5,), "repeats": (0,)}, "a repeat must be an integer of at least 1, got 0"),
    ],
)
def test_what_is_no_distribution_is_refused(fields: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ClassDistribution(**fields)


def test_counts_that_count_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one class"):
        ClassDistribution.of_labels([])
    with pytest.raises(ValueError, match="examples of a class must be an integer of at least 1, got 0"):
        ClassDistribution.of_counts([3, 0])
    with pytest.raises(ValueError, match="classes must be an integer of at least 1, got 0"):
        ClassDistribution.uniform(0)
