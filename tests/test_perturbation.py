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
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
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
