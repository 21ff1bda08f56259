from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tammes.estimate import Estimate
from tammes.evaluation import FewShot, LabeledFeatures
from tammes.evaluation.few_shot import ridge
from tammes.evaluation.regression import PENALTIES


def points(count: int = 60, *, classes: int = 3, width: int = 5, seed: int = 0) -> LabeledFeatures:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % classes
    centers = 2 * torch.randn(classes, width, generator=torch.Generator().manual_seed(9))
    features = 3 + centers[labels] + torch.randn(count, width, generator=generator)
    return LabeledFeatures(features=features, labels=labels)


def normal_equations(x: Tensor, targets: Tensor, penalty: float) -> tuple[Tensor, Tensor]:
    """With a column of ones that is not penalized."""
    design = torch.cat([x, x.new_ones(len(x), 1)], dim=1)
    diagonal = torch.full((design.shape[1],), penalty, dtype=x.dtype)
    diagonal[-1] = 0
    solution = torch.linalg.solve(design.T @ design + diagonal.diag(), design.T @ targets)
    return solution[:-1].T, solution[-1]


@pytest.mark.parametrize("width", [4, 40])
@pytest.mark.parametrize("penalty", [0.01, 3.0, 1000.0])
def test_ridge_solves_the_normal_equations(width: int, penalty: float) -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(20, width, generator=generator, dtype=torch.float64) + 2
    targets = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    weight, bias = ridge(x, targets, [penalty])
    expected_weight, expected_bias = normal_equations(x, targets, penalty)
    torch.testing.assert_close(weight, expected_weight, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(bias, expected_bias, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("width", [3, 20])
def test_the_penalty_is_the_best_when_each_row_is_left_out_once(width: int) -> None:
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(12, width, generator=generator, dtype=torch.float64)
    targets = x[:, :2] + torch.randn(12, 2, generator=generator, dtype=torch.float64)

    def left_out(penalty: float) -> float:
        total = 0.0
        for row in range(len(x)):
            others = torch.arange(len(x)) != row
            weight, bias = normal_equations(x[others], targets[others], penalty)
            total += float((weight @ x[row] + bias - targets[row]).square().sum())
        return total

    errors = {penalty: left_out(penalty) for penalty in PENALTIES}
    best = min(errors, key=errors.__getitem__)
    assert PENALTIES[0] < best < PENALTIES[-1]
    torch.testing.assert_close(ridge(x, targets, PENALTIES), ridge(x, targets, [best]))


def test_the_classifier_regresses_on_targets_of_minus_one_and_one() -> None:
    shots = points(30)
    readout = FewShot(penalty=2.0).fit(shots)
    x = shots.features.double()
    standardized = (x - x.mean(0)) / x.std(0, correction=0)
    targets = torch.where(shots.labels[:, None] == torch.arange(3), 1.0, -1.0).double()
    weight, bias = normal_equations(standardized, targets, 2.0)
    torch.testing.assert_close(readout.logits(x), standardized @ weight.T + bias)


def test_constant_features_have_no_say() -> None:
    shots = points(30)
    with_constant = torch.cat([shots.features, torch.full((30, 1), 7.0)], dim=1)
    more = LabeledFeatures(features=with_constant, labels=shots.labels)
    torch.testing.assert_close(
        FewShot().fit(more).logits(with_constant.double()),
        FewShot().fit(shots).logits(shots.features.double()),
    )


def test_draws_have_as_many_rows_of_each_class_and_repeat() -> None:
    labels = torch.tensor([7] * 5 + [2] * 9)
    drawn = FewShot(shots=4, draws=3, seed=1).drawn(labels)
    assert len(drawn) == 3
    for rows in drawn:
        assert labels[rows].bincount()[[2, 7]].tolist() == [4, 4]
        assert len(rows.unique()) == 8
    assert not torch.equal(drawn[0], drawn[1])
    again = FewShot(shots=4, draws=1, seed=1).drawn(labels)
    assert torch.equal(again[0], drawn[0])
    assert not torch.equal(FewShot(shots=4, draws=1, seed=2).drawn(labels)[0], drawn[0])


def test_more_shots_help_and_the_interval_is_over_the_draws() -> None:
    train, test = points(300, width=12), points(200, width=12, seed=1)
    one, ten = (FewShot(shots=shots, draws=5).accuracy(train, test) for shots in (1, 25))
    assert ten.mean > max(one.mean, 0.8)
    assert len(ten.values) == 5
    right = FewShot(shots=25, draws=5).right(train, test)
    assert right.shape == (5, 200)
    assert right.double().mean(dim=1).tolist() == list(ten.values)


def test_the_interval_is_one_of_accuracies() -> None:
    train, test = points(40, width=12), points(2, width=12, seed=1)
    wide = FewShot(shots=1, draws=3).accuracy(train, test)
    assert 0 <= wide.low <= wide.high <= 1
    labels = torch.arange(60) % 3
    clear = LabeledFeatures(features=torch.eye(3)[labels], labels=labels)
    assert FewShot(shots=5, draws=3).accuracy(clear, clear).low == Estimate.of_share(1.0, 60).low
    assert not FewShot(shots=5, draws=1).accuracy(clear, clear).is_known


def test_too_few_rows_are_refused() -> None:
    labels = torch.tensor([0] * 9 + [1] * 3 + [2] * 2 + [3] * 4 + [4])
    with pytest.raises(ValueError, match="at least 5 rows of each class") as caught:
        FewShot(shots=5).drawn(labels)
    assert "got 3 of class 1, 2 of class 2, 4 of class 3 and 1 more classes" in str(caught.value)
    assert "choose at most 1 shots" in str(caught.value)
    with pytest.raises(ValueError, match="of the same encoder"):
        FewShot(shots=2).accuracy(points(), points(width=4))


@pytest.mark.parametrize(
    ("settings", "match"),
    [({"shots": 0}, "shots"), ({"draws": 0}, "draws"), ({"penalty": 0.0}, "penalty"), ({"seed": -1}, "seed")],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float], match: str) -> None:
    with pytest.raises(ValueError, match=f"{match} must be"):
        FewShot(**settings)  # type: ignore[arg-type]
