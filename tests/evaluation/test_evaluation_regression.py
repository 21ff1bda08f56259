import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from tammes.evaluation import MeasuredFeatures, RegressionValidation, RidgeProbe, r_squared


def points(n: int = 120, noise: float = 0.3, seed: int = 0) -> MeasuredFeatures:
    """Two features of five carry the outcome; all have other scales."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(n, 5, generator=generator)
    outcome = features[:, 0] - 2 * features[:, 3] + noise * torch.randn(n, generator=generator)
    return MeasuredFeatures(features=features * torch.tensor([1e-3, 1, 1e3, 10, 1]), outcome=outcome)


def test_it_is_ridge_regression_with_one_penalty() -> None:
    train, test = points(), points(seed=1)
    x = train.features.double().numpy()
    mean, deviation = x.mean(0), x.std(0)
    reference = Ridge(alpha=3.0).fit((x - mean) / deviation, train.outcome.double().numpy())
    found = RidgeProbe(penalties=(3.0,)).predict(train, test.features)
    expected = reference.predict((test.features.double().numpy() - mean) / deviation)
    assert np.allclose(found.numpy(), expected)


def test_the_penalty_follows_the_noise() -> None:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(30, 25, generator=generator)
    noise = MeasuredFeatures(features=features, outcome=torch.randn(30, generator=generator))
    chosen = RidgeProbe(penalties=(1e-2, 1e5)).predict(noise, features)
    assert torch.allclose(chosen, RidgeProbe(penalties=(1e5,)).predict(noise, features))
    clear = MeasuredFeatures(features=features, outcome=features[:, 0])
    chosen = RidgeProbe(penalties=(1e-2, 1e5)).predict(clear, features)
    assert torch.allclose(chosen, RidgeProbe(penalties=(1e-2,)).predict(clear, features))


def test_outcomes_that_follow_are_explained_and_shuffled_ones_are_not() -> None:
    known = points()
    found = RegressionValidation().r_squared(known)
    assert found.low > 0.9
    shuffled = known.outcome[torch.randperm(120, generator=torch.Generator().manual_seed(0))]
    null = RegressionValidation().r_squared(MeasuredFeatures(features=known.features, outcome=shuffled))
    assert null.low < 0.05
    assert null.mean < 0.05


def test_a_point_is_predicted_without_its_own_outcome() -> None:
    known = points(40)
    found = RegressionValidation(folds=4).predict(known)
    changed = known.outcome.clone()
    changed[7] += 100
    again = RegressionValidation(folds=4).predict(MeasuredFeatures(features=known.features, outcome=changed))
    assert float(found[7]) == float(again[7])
    assert not torch.equal(found, again)


def test_r_squared_is_that_of_the_textbook_and_its_interval_the_jackknife() -> None:
    known = points(50)
    predicted = RegressionValidation().predict(known)
    found = r_squared(predicted, known.outcome)
    y, p = known.outcome.double().numpy(), predicted.numpy()
    assert found.mean == pytest.approx(r2_score(y, p))
    left = [r2_score(np.delete(y, row), np.delete(p, row)) for row in range(50)]
    half = 2.0095752 * np.sqrt(49 / 50 * np.square(np.array(left) - np.mean(left)).sum())
    assert found.high - found.mean == pytest.approx(half, rel=1e-6)


def test_the_interval_holds_the_true_value_about_as_often_as_it_says() -> None:
    """The truth is that of the predictions over all points: 1 - 0.25 / 1.25."""
    generator = torch.Generator().manual_seed(0)
    predicted = torch.randn(400, 100, generator=generator)
    outcome = predicted + 0.5 * torch.randn(400, 100, generator=generator)
    found = [r_squared(p, y) for p, y in zip(predicted, outcome, strict=True)]
    held = sum(each.low <= 0.8 <= each.high for each in found)
    assert 0.9 < held / 400 < 0.99


def test_wrong_input_is_refused() -> None:
    features = torch.rand(4, 2)
    with pytest.raises(ValueError, match="floating-point outcomes of 1 axes"):
        MeasuredFeatures(features=features, outcome=torch.arange(4))
    with pytest.raises(ValueError, match="floating-point features of 2 axes"):
        MeasuredFeatures(features=features[0], outcome=torch.rand(2))
    with pytest.raises(ValueError, match="one for each row"):
        MeasuredFeatures(features=features, outcome=torch.rand(3))
    with pytest.raises(ValueError, match="two different outcomes, got 1 4 times"):
        MeasuredFeatures(features=features, outcome=torch.ones(4))
    with pytest.raises(ValueError, match="outcomes"):
        MeasuredFeatures(features=features, outcome=torch.tensor([0, 1, torch.nan, 2]))
    few = MeasuredFeatures(features=features, outcome=torch.rand(4))
    with pytest.raises(ValueError, match="at least 5 points, one for each fold, got 4"):
        RegressionValidation().predict(few)
    with pytest.raises(ValueError, match="folds"):
        RegressionValidation(folds=1)
    with pytest.raises(ValueError, match="at least one penalty"):
        RidgeProbe(penalties=())
    with pytest.raises(ValueError, match="penalties"):
        RidgeProbe(penalties=(0.0,))
    with pytest.raises(ValueError, match="three outcomes that differ"):
        r_squared(torch.rand(4), torch.ones(4))
    with pytest.raises(ValueError, match="only one is another"):
        r_squared(torch.rand(4), torch.tensor([0.0, 0, 0, 1]))
    for last in (0.9, 0.0):  # in floating point the others have a variance above 0
        with pytest.raises(ValueError, match="only one is another"):
            r_squared(torch.rand(4), torch.tensor([0.1, 0.1, 0.1, last], dtype=torch.float64))
    with pytest.raises(ValueError, match="three outcomes that differ"):
        r_squared(torch.rand(3), torch.full((3,), 0.1, dtype=torch.float64))
    with pytest.raises(ValueError, match="one for each prediction"):
        r_squared(torch.rand(4), torch.rand(3))
    for bad in (torch.nan, torch.inf):
        with pytest.raises(ValueError, match=r"expected finite predictions, .* the first of them row 1"):
            r_squared(torch.tensor([1.0, bad, 3.0]), torch.rand(3))
        with pytest.raises(ValueError, match=r"expected finite outcomes, .* the first of them row 1"):
            r_squared(torch.rand(3), torch.tensor([1.0, bad, 3.0]))
