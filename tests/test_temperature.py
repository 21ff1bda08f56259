"""A learned temperature: the gradient is that of the formula, through every part."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor

import tammes
from tammes import LearnedTemperature, recipes

OBJECTIVES = {
    "simclr": recipes.simclr(temperature=1.0),
    "dcl": recipes.dcl(temperature=1.0, class_prior=0.1),
    "dcl on its floor": recipes.dcl(temperature=1.0, class_prior=0.9),
    "hcl": recipes.hcl(temperature=1.0, beta=2.0, class_prior=0.05),
    "hcl_ot": recipes.hcl_ot(temperature=1.0, epsilon=0.3),
    "ifm": recipes.ifm(temperature=1.0, epsilon=0.2),
    "bcl": recipes.bcl(temperature=1.0, coupling=tammes.Hard(beta=1.0)),
    "clipped": tammes.Objective(temperature=1.0, coupling=tammes.Hard(beta=3.0, clip=0.7)),
    "triplet": recipes.triplet(margin=0.5),
    "jsd": recipes.jsd(beta=1.0),
    "raw": tammes.Objective(
        temperature=1.0,
        normalize=False,
        perturbation=tammes.FeatureModification(epsilon=0.3),
        contrast=tammes.Logistic(),
    ),
}


def views() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(7, 5, generator=generator, dtype=torch.float64)
    return a, a + 0.3 * torch.randn(7, 5, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_gradient_is_the_difference_quotient(name: str) -> None:
    objective, (a, b) = OBJECTIVES[name], views()
    if name == "hcl_ot":  # the plan is a constant, and does not depend on the temperature
        objective = tammes.Objective(temperature=1.0, coupling=tammes.Transport(epsilon=0.3, tolerance=1e-12))
    temperature = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    loss = objective(a, b, temperature=temperature)
    loss.backward()
    step = 1e-6
    above, below = (
        objective(a, b, temperature=torch.tensor(0.4 + sign * step, dtype=torch.float64)) for sign in (1, -1)
    )
    assert temperature.grad is not None
    torch.testing.assert_close(temperature.grad, (above - below) / (2 * step), rtol=2e-6, atol=1e-8)
    fixed = dataclasses.replace(objective, temperature=0.4)(a, b)
    torch.testing.assert_close(loss.detach(), fixed, rtol=1e-12, atol=0)


def test_among_other_candidates_too() -> None:
    a, b = views()
    pairs = tammes.Pairs(anchors=a, ids=torch.arange(7), candidates=b, candidate_ids=torch.arange(7).roll(0))
    temperature = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    recipes.simclr(temperature=1.0)(pairs, temperature=temperature).backward()
    logits = torch.nn.functional.normalize(a, dim=1) @ torch.nn.functional.normalize(b, dim=1).T
    other = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    torch.nn.functional.cross_entropy(logits / other, torch.arange(7)).backward()
    torch.testing.assert_close(temperature.grad, other.grad)


@pytest.mark.equal_bits
def test_a_vector_of_one_number_is_that_number() -> None:
    """With several positives of an anchor too, where numbers of anchors are spread over pairs."""
    objective, (a, b) = recipes.ifm(temperature=1.0, epsilon=0.2), views()
    number, vector = torch.tensor(0.4, requires_grad=True), torch.tensor([0.4], requires_grad=True)
    losses = [objective(a, b, a + b, temperature=each) for each in (number, vector)]
    assert torch.equal(*losses)
    for loss in losses:
        loss.backward()
    assert number.grad is not None
    assert vector.grad is not None
    assert torch.equal(number.grad, vector.grad[0])


def test_training_moves_it_and_the_bound_holds() -> None:
    a, _ = views()
    temperature = LearnedTemperature(initial=0.5, lower_bound=0.3)
    optimizer = torch.optim.SGD(temperature.parameters(), lr=20.0)
    for _ in range(3):
        optimizer.zero_grad()
        recipes.simclr(temperature=1.0)(a, a, temperature=temperature()).backward()  # wants it ever lower
        optimizer.step()
    assert temperature().item() == pytest.approx(0.3)
    assert "lower_bound=0.3" in repr(temperature)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"initial": 0.0}, "initial must be a finite number above 0"),
        ({"initial": 0.1, "lower_bound": -1.0}, "lower_bound must be a finite number above 0"),
        ({"initial": 0.01, "lower_bound": 0.1}, "lies below lower_bound=0.1"),
        ({"initial": float("nan")}, "initial must be"),
    ],
)
def test_bad_temperatures_are_refused(given: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LearnedTemperature(**given)


@pytest.mark.parametrize("value", [1e-30, 1e30])
def test_a_temperature_whose_gradient_would_be_infinite_or_lost_is_refused(value: float) -> None:
    temperature = torch.tensor(value, requires_grad=True)
    with pytest.raises(ValueError, match=r"temperature in torch.float32 must be from 1e-19 to 2e\+19"):
        recipes.simclr(temperature=0.5)(*views(), temperature=temperature)


@pytest.mark.parametrize(
    "temperature",
    [
        0.5,
        torch.tensor([0.5, 0.5]),
        torch.tensor(-1.0),
        torch.tensor(float("nan")),
        torch.tensor(1),
        torch.tensor(0.5, device="meta"),
    ],
)
def test_what_is_no_temperature_is_refused_at_the_call(temperature: object) -> None:
    with pytest.raises(ValueError, match="temperature must be"):
        recipes.simclr(temperature=0.5)(*views(), temperature=temperature)  # type: ignore[arg-type]


def test_on_the_meta_device_it_prints_without_its_value() -> None:
    with torch.device("meta"):
        assert repr(LearnedTemperature(initial=0.1)) == "LearnedTemperature(lower_bound=0.01)"
