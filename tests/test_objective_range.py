"""Losses and gradients are finite numbers, in any precision and at any temperature."""

from __future__ import annotations

import dataclasses

import pytest
import torch

import tammes
from objective_cases import name_of
from tammes import recipes
from tammes.reduce import Dense, Engine, Tiled

EXTREME = [
    recipes.simclr(temperature=0.5),
    recipes.dcl(temperature=0.5, class_prior=0.1),
    recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
    recipes.hcl(temperature=0.5, beta=100.0, class_prior=0.1),
    recipes.hcl_ot(temperature=0.5, epsilon=0.3, class_prior=0.1),
    recipes.hcl_ot(temperature=0.5, epsilon=0.3, cost=tammes.ExponentialEuclidean(kappa=1.0)),
    recipes.ifm(temperature=0.5, epsilon=0.1),
    recipes.bcl(temperature=0.5, coupling=tammes.Hard(beta=100.0)),
    dataclasses.replace(recipes.triplet(margin=0.3, coupling=tammes.Hard(beta=100.0))),
    recipes.hinge(),
    recipes.logistic(),
    recipes.jsd(beta=100.0, class_prior=0.1),
    recipes.simclr(temperature=0.5, selection=tammes.Subset(k=7)),
]


@pytest.mark.parametrize("temperature", [0.01, 0.07, 1.0, 10.0])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("objective", EXTREME, ids=name_of)
@pytest.mark.parametrize("rows", ["apart", "duplicated", "all equal", "opposite"])
def test_finite_everywhere(
    objective: tammes.Objective, kind: torch.dtype, temperature: float, rows: str
) -> None:
    a = torch.randn(12, 6)
    b = a + 0.1 * torch.randn(12, 6)
    if rows == "duplicated":
        a[6:], b[:] = a[:6].clone(), a
    elif rows == "all equal":
        a[:], b[:] = 1.0, 1.0
    elif rows == "opposite":
        b = -a
    a, b = a.to(kind).requires_grad_(), b.to(kind).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16 if kind == torch.float32 else kind):
        loss = dataclasses.replace(objective, temperature=temperature)(a, b)
    assert loss.dtype == torch.float32
    assert bool(torch.isfinite(loss))
    loss.backward()
    assert a.grad is not None
    assert b.grad is not None
    assert bool(torch.isfinite(a.grad.float()).all())
    assert bool(torch.isfinite(b.grad.float()).all())


@pytest.mark.parametrize("temperature", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("objective", EXTREME[:8], ids=name_of)
def test_float32_is_near_float64(objective: tammes.Objective, temperature: float) -> None:
    objective = dataclasses.replace(objective, temperature=temperature)
    a, b = torch.randn(30, 8), torch.randn(30, 8)
    exact = objective(a.double(), b.double())
    torch.testing.assert_close(objective(a, b).double(), exact, rtol=2e-4, atol=2e-4)


@pytest.mark.equal_bits
def test_half_precision_inputs_are_reduced_in_float32() -> None:
    a, b = torch.randn(200, 16).bfloat16(), torch.randn(200, 16).bfloat16()
    objective = recipes.hcl(temperature=0.1, beta=1.0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = objective(a, b)
    assert torch.equal(inside, objective(a.float(), b.float()))


@pytest.mark.parametrize("class_prior", [0.0, 0.1])
@pytest.mark.parametrize("engine", [Dense(), Tiled(), Tiled(side=7)], ids=repr)
def test_a_weighted_mean_of_equal_logits_is_that_logit(engine: Engine, class_prior: float) -> None:
    """The exponents of the weights are 10,000 here, where float32 has no digit below a thousandth."""
    bcl = recipes.bcl(temperature=0.01, coupling=tammes.Hard(beta=100.0), class_prior=class_prior)
    rows = torch.randn(1, 16).expand(8, 16)
    loss = dataclasses.replace(bcl, engine=engine)(rows, rows, rows)
    assert abs(loss.item()) < 1e-4  # logits are 100
