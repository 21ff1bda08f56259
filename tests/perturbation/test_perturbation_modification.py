"""Feature modification: its shift is the worst case in the ball."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import normalize, softplus

import tammes


def test_no_point_of_the_ball_is_worse() -> None:
    """Robinson (2023), Definition 2: random perturbations within epsilon never exceed the closed form."""
    epsilon, t = 0.3, 0.5
    v, positive = normalize(torch.randn(5), dim=0), normalize(torch.randn(5), dim=0)
    negatives = normalize(torch.randn(7, 5), dim=1)

    def loss(positive: torch.Tensor, negatives: torch.Tensor) -> float:
        return float(softplus(torch.logsumexp(negatives @ v / t, 0) - positive @ v / t))

    shift = tammes.FeatureModification(epsilon=epsilon).shift(1.0, t)
    worst = float(softplus(torch.logsumexp(negatives @ v / t, 0) - positive @ v / t + 2 * shift))
    assert math.isclose(worst, loss(positive - epsilon * v, negatives + epsilon * v), rel_tol=1e-5)
    for _ in range(300):
        moved = positive + epsilon * normalize(torch.randn(5), dim=0)
        assert loss(moved, negatives + epsilon * normalize(torch.randn(7, 5), dim=1)) <= worst


@pytest.mark.parametrize("field", ["epsilon", "alpha"])
@pytest.mark.parametrize("value", [-0.1, math.nan, -math.inf])
def test_fields_out_of_range(field: str, value: float) -> None:
    fields = {"epsilon": 0.1, "alpha": 1.0} | {field: value}
    with pytest.raises(ValueError, match=f"{field} must be a finite number at least 0"):
        tammes.FeatureModification(**fields)


def test_a_large_alpha_takes_the_perturbed_loss_and_does_not_overflow() -> None:
    views = torch.randn(4, 3), torch.randn(4, 3)
    triplet = tammes.Triplet(margin=1e30)
    modification = tammes.FeatureModification(epsilon=0.1, alpha=1e30)
    loss = tammes.Objective(temperature=1.0, contrast=triplet, perturbation=modification)(*views)
    torch.testing.assert_close(loss, torch.tensor(1e30))


@pytest.mark.parametrize("contrast", [tammes.BCL(), tammes.Hinge(), tammes.InfoNCE()])
def test_a_shift_beyond_the_type_is_refused(contrast: tammes.Contrast) -> None:
    modification = tammes.FeatureModification(epsilon=1e30)
    objective = tammes.Objective(temperature=1e-10, contrast=contrast, perturbation=modification)
    with pytest.raises(ValueError, match="epsilon is too extreme"):
        objective(torch.randn(4, 3), torch.randn(4, 3))


def test_an_infinite_epsilon_is_refused_and_an_infinite_alpha_takes_the_modified_loss_alone() -> None:
    with pytest.raises(ValueError, match="epsilon must be a finite number at least 0"):
        tammes.FeatureModification(epsilon=math.inf)
    views = torch.randn(6, 4), torch.randn(6, 4)
    large, alone = (
        tammes.recipes.ifm(temperature=0.5, epsilon=0.1, alpha=alpha)(*views) for alpha in (1e9, math.inf)
    )
    torch.testing.assert_close(alone, large)


@pytest.mark.parametrize("normalize_rows", [True, False])
@pytest.mark.parametrize(("alpha", "divisor"), [(0.5, 2.0), (0.5, 1.0), (1.0, None), (0.5, None)])
def test_the_sum_is_divided_as_told(alpha: float, divisor: float | None, normalize_rows: bool) -> None:
    """(L + alpha L_epsilon) / 2 as the text prints it, L + alpha L_epsilon of Fig. B-5, and ours."""
    views = torch.randn(6, 4, dtype=torch.float64), torch.randn(6, 4, dtype=torch.float64)

    def loss(**fields: float | None) -> torch.Tensor:
        modification = tammes.FeatureModification(epsilon=0.2, **fields)  # type: ignore[arg-type]
        return tammes.Objective(temperature=0.5, perturbation=modification, normalize=normalize_rows)(*views)

    plain, modified = loss(alpha=0.0), loss(alpha=math.inf)
    expected = (plain + alpha * modified) / (1 + alpha if divisor is None else divisor)
    torch.testing.assert_close(loss(alpha=alpha, divisor=divisor), expected)


def test_a_divisor_needs_a_sum() -> None:
    with pytest.raises(ValueError, match=r"divisor=2.0 divides no sum: leave one out"):
        tammes.FeatureModification(epsilon=0.1, alpha=math.inf, divisor=2.0)
    with pytest.raises(ValueError, match="divisor must be a finite number above 0"):
        tammes.FeatureModification(epsilon=0.1, divisor=0.0)


def test_a_form_must_be_one() -> None:
    with pytest.raises(ValueError, match=r"form must be a ModificationForm, such as Shifted\(\), got 'norm'"):
        tammes.FeatureModification(epsilon=0.1, form="norm")  # type: ignore[arg-type]
