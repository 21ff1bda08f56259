"""Regressions on many subsets at once equal scikit-learn's, one by one; so does the choice of C."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from tammes.evaluation import CrossValidation, LabeledFeatures
from tammes.evaluation.sentence_tasks import LogisticProtocol
from tammes.evaluation.sentence_tasks.logistic import ManyRegressions


def points(n: int, dim: int, classes: int, *, seed: int = 0, apart: float = 0.7) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % classes
    centers = torch.randn(classes, dim, generator=generator) * apart
    features = centers[labels] + torch.randn(n, dim, generator=generator) + 3.0
    return features.double(), labels


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(("n", "dim"), [(300, 6), (60, 90)])
@pytest.mark.parametrize("cost", [0.01, 1.0, 100.0])
def test_each_regression_is_that_of_scikit_learn(classes: int, n: int, dim: int, cost: float) -> None:
    features, labels = points(n, dim, classes)
    subsets = torch.rand(3, n, generator=torch.Generator().manual_seed(1)) < 0.8
    many = ManyRegressions(
        features=features, labels=labels, classes=classes, subsets=subsets, tolerance=1e-14
    )
    many.solve(cost / 4)  # a warm start must not change the solution
    many.solve(cost)
    for row, subset in enumerate(subsets):
        weight, bias = many.coefficients(row)
        exact = LogisticRegression(C=cost, tol=1e-10, max_iter=20_000, solver="newton-cholesky")
        exact.fit(features[subset].numpy(), labels[subset].numpy())
        ours = (features @ weight.T + bias).numpy()
        ours = ours[:, 0] if classes == 2 else ours - ours.mean(axis=1, keepdims=True)
        theirs = exact.decision_function(features.numpy())
        theirs = theirs if classes == 2 else theirs - theirs.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
        assert (many.predicted[row].numpy() == exact.predict(features.numpy())).all()


def test_single_precision_is_enough_for_the_predictions() -> None:
    features, labels = points(2_000, 40, 2, apart=0.2)
    subsets = torch.ones(1, 2_000, dtype=torch.bool)
    many = ManyRegressions(features=features.float(), labels=labels, classes=2, subsets=subsets)
    for cost in (1.0, 16.0, 256.0):
        many.solve(cost)
        exact = LogisticRegression(C=cost, tol=1e-8, max_iter=5_000).fit(features.numpy(), labels.numpy())
        differing = many.predicted[0].numpy() != exact.predict(features.numpy())
        assert differing.mean() <= 1e-3


def test_features_without_variance_give_the_larger_class() -> None:
    labels = torch.tensor([0, 0, 1] * 20)
    many = ManyRegressions(
        features=torch.ones(60, 3), labels=labels, classes=2, subsets=torch.ones(1, 60, dtype=torch.bool)
    )
    many.solve(1.0)
    assert many.predicted.eq(0).all()


def test_separable_classes_end() -> None:
    features, labels = points(200, 20, 3, apart=30.0)
    many = ManyRegressions(
        features=features.float(), labels=labels, classes=3, subsets=torch.ones(1, 200, dtype=torch.bool)
    )
    many.solve(256.0)
    assert bool((many.predicted[0] == labels).all())
    assert bool(many.weight.isfinite().all())


def test_nested_folds_are_those_of_a_plain_loop() -> None:
    """The other folds choose C, one by one and with scikit-learn, as in all regressions at once."""
    features, labels = points(300, 30, 2, apart=0.25)
    protocol = LogisticProtocol(folds=5, costs=(0.01, 0.1, 1.0, 10.0), patience=4)
    folds = [tested.numpy() for _, tested in CrossValidation(folds=5).splits(labels)]
    x, y = features.numpy(), labels.numpy()

    def right(left_out: list[int], tested: int, cost: float) -> np.ndarray:
        known = np.concatenate([rows for number, rows in enumerate(folds) if number not in left_out])
        exact = LogisticRegression(C=cost, tol=1e-8, max_iter=5_000).fit(x[known], y[known])
        return exact.predict(x[folds[tested]]) == y[folds[tested]]

    plain, costs = np.zeros(300, bool), []
    for i in range(5):
        scores = [
            np.mean([right([i, j], j, cost).mean() for j in range(5) if j != i]).round(9)
            for cost in protocol.costs
        ]
        costs.append(protocol.costs[int(np.argmax(scores))])
        plain[folds[i]] = right([i], i, costs[-1])
    found = protocol.in_folds(LabeledFeatures(features=features, labels=labels))
    assert found.costs == tuple(costs)
    assert ((found.labels == labels).numpy() == plain).all()


def test_a_test_set_is_classified_by_all_training_points() -> None:
    features, labels = points(240, 10, 3)
    train = LabeledFeatures(features=features[:200], labels=labels[:200])
    protocol = LogisticProtocol(costs=(1.0,))
    found = protocol.on_test(train, features[200:].float())
    exact = LogisticRegression(C=1.0, tol=1e-8, max_iter=5_000).fit(
        train.features.numpy(), labels[:200].numpy()
    )
    assert found.costs == (1.0,)
    assert (found.labels.numpy() == exact.predict(features[200:].numpy())).all()


def test_the_search_ends_after_values_that_help_no_fold() -> None:
    features, labels = points(200, 5, 2, apart=5.0)
    found = LogisticProtocol().in_folds(LabeledFeatures(features=features, labels=labels))
    assert set(found.costs) == {1.0}


@pytest.mark.parametrize("wrong", [{"folds": 2}, {"costs": ()}, {"costs": (0.0,)}, {"patience": 0}])
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LogisticProtocol(**wrong)


def test_a_class_with_fewer_points_than_folds_is_refused() -> None:
    labels = torch.tensor([0] * 20 + [1] * 4)
    with pytest.raises(ValueError, match="at least 10 points of each class"):
        LogisticProtocol().in_folds(LabeledFeatures(features=torch.randn(24, 2), labels=labels))


def test_biases_that_differ_by_a_constant_do_not_run_away() -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(90) % 6
    rows = torch.randn(90, 2, generator=generator)
    rows = rows + 2 * torch.nn.functional.one_hot(labels, 6).float() @ torch.randn(6, 2, generator=generator)
    subsets = torch.rand(40, 90, generator=generator) < 0.85
    many = ManyRegressions(features=rows, labels=labels, classes=6, subsets=subsets)
    for cost in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0):
        many.solve(cost)
    assert many.weight.isfinite().all()
    right = (many.predicted == labels).double().mean(dim=1)
    assert right.min() > 0.3  # a sixth by chance
