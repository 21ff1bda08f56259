import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.estimate import Estimate
from tammes.evaluation import CrossValidation, LabeledFeatures, OrdinalScore, constant_guess, ordinal_probe


def graded(n: int = 200, noise: float = 0.5) -> LabeledFeatures:
    generator = torch.Generator().manual_seed(0)
    value = 4 * torch.rand(n, generator=generator)
    features = torch.stack([value + noise * torch.randn(n, generator=generator), torch.randn(n)], dim=1)
    return LabeledFeatures(features=features, labels=value.long())


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
def test_accuracies_are_shares_of_distances(pairs: list[tuple[int, int]]) -> None:
    predicted, grades = torch.tensor(pairs).T
    score = OrdinalScore.of(predicted, grades)
    n = len(pairs)
    assert score.accuracy == Estimate.of_share(sum(p == g for p, g in pairs) / n, n)
    assert score.one_off == Estimate.of_share(sum(abs(p - g) <= 1 for p, g in pairs) / n, n)
    assert score.one_off.mean >= score.accuracy.mean
    guess = constant_guess(grades)
    assert guess.accuracy.mean >= 1 / 6
    assert guess.one_off.mean >= guess.accuracy.mean


def test_grades_that_follow_a_feature_are_predicted_and_shuffled_ones_are_not() -> None:
    points = graded()
    score = ordinal_probe(points)
    guess = constant_guess(points.labels)
    assert score.accuracy.low > guess.accuracy.mean
    assert score.one_off.low > guess.one_off.mean
    order = torch.randperm(200, generator=torch.Generator().manual_seed(0))
    null = ordinal_probe(LabeledFeatures(features=points.features, labels=points.labels[order]))
    assert null.accuracy.low < guess.accuracy.mean


def test_it_counts_what_each_fold_predicts() -> None:
    points, validation = graded(), CrossValidation(folds=4, repeats=2)
    score = ordinal_probe(points, validation=validation)
    from tammes.evaluation import LinearProbe

    assert score.accuracy.mean == pytest.approx(validation.accuracy(LinearProbe().predict, points))


def test_grades_may_be_unsigned() -> None:
    points = graded()
    unsigned = LabeledFeatures.of(points.features, points.labels.numpy().astype(np.uint8))
    assert ordinal_probe(unsigned) == ordinal_probe(points)
    grades = points.labels.to(torch.uint8)
    assert constant_guess(grades) == constant_guess(points.labels)
    assert OrdinalScore.of(grades.flip(0), grades) == OrdinalScore.of(points.labels.flip(0), points.labels)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 5 points of each class"):
        ordinal_probe(LabeledFeatures(features=torch.rand(6, 2), labels=torch.tensor([0, 0, 0, 0, 0, 1])))
    with pytest.raises(ValueError, match="one for each prediction"):
        OrdinalScore.of(torch.tensor([1]), torch.tensor([1, 2]))
    with pytest.raises(ValueError, match="at least one grade"):
        OrdinalScore.of(torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64))
