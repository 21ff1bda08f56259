"""A temperature for each anchor: every anchor's loss is the one that it has at that temperature alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

import tammes
from tammes import recipes

OBJECTIVES = {
    "simclr": recipes.simclr(temperature=1.0),
    "decoupled": recipes.decoupled(temperature=1.0),
    "dcl": recipes.dcl(temperature=1.0, class_prior=0.1),
    "dcl on its floor": recipes.dcl(temperature=1.0, class_prior=0.9),
    "hcl": recipes.hcl(temperature=1.0, beta=2.0, class_prior=0.05),
    "constant weights": tammes.Objective(temperature=1.0, coupling=tammes.Hard(beta=1.0, detach=True)),
    "clipped": tammes.Objective(temperature=1.0, coupling=tammes.Hard(beta=3.0, clip=0.7)),
    "ifm": recipes.ifm(temperature=1.0, epsilon=0.2),
    "bcl": recipes.bcl(temperature=1.0, coupling=tammes.Hard(beta=1.0)),
    "triplet": recipes.triplet(margin=0.5),
    "hinge": recipes.hinge(),
    "sigmoid": recipes.sigmoid(temperature=1.0, bias=-2.0),
    "supcon inside": tammes.Objective(temperature=1.0, contrast=tammes.SupCon(average="inside")),
    "jsd": recipes.jsd(beta=1.0, class_prior=0.1),
    "not above": tammes.Objective(temperature=1.0, selection=tammes.NotAbove(margin=0.95)),
    "raw": tammes.Objective(
        temperature=1.0,
        normalize=False,
        perturbation=tammes.FeatureModification(epsilon=0.3),
        contrast=tammes.Logistic(),
    ),
}
TEMPERATURES = torch.tensor([0.2, 0.9, 0.4, 1.5, 0.3, 0.7, 0.25], dtype=torch.float64)


def views() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(7, 5, generator=generator, dtype=torch.float64)
    return a, a + 0.3 * torch.randn(7, 5, generator=generator, dtype=torch.float64)


def one_by_one(objective: tammes.Objective, pairs: tammes.Pairs, temperatures: Tensor) -> Tensor:
    """Return the mean over the anchors of each one's loss, alone among all candidates."""
    whole = pairs.with_candidates()
    assert whole.own is not None
    losses = [
        objective(
            tammes.Pairs(
                anchors=whole.anchors[[row]],
                ids=whole.ids[[row]],
                candidates=whole.candidates,
                candidate_ids=whole.candidate_ids,
                own=whole.own[[row]],
            ),
            temperature=temperature,
        )
        for row, temperature in enumerate(temperatures)
    ]
    return torch.stack(losses).mean()


@pytest.mark.parametrize("several", [False, True], ids=["one positive", "several positives"])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_each_anchor_has_the_loss_of_its_temperature(name: str, *, several: bool) -> None:
    objective, ids = OBJECTIVES[name], torch.arange(7) // (2 if several else 1)
    found, expected = (
        (*(view.requires_grad_() for view in views()), TEMPERATURES.clone().requires_grad_()) for _ in "ab"
    )
    loss = objective(*found[:2], ids=ids, temperature=found[2])
    dense = one_by_one(objective, tammes.InBatch()(*expected[:2], ids=ids), expected[2].repeat(2))
    torch.testing.assert_close(loss, dense, rtol=1e-10, atol=1e-12)
    for ours, theirs in zip(
        torch.autograd.grad(loss, found), torch.autograd.grad(dense, expected), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_equal_temperatures_are_one(name: str) -> None:
    """In value, gradient and measurements; the temperature's gradient is shared among the anchors."""
    objective, measured = OBJECTIVES[name], []
    each = torch.full((7,), 0.4, dtype=torch.float64, requires_grad=True)
    one = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    for temperature in (each, one):
        objective(*views(), temperature=temperature).backward()
        measured.append(dict(objective.last))
    assert each.grad is not None
    torch.testing.assert_close(each.grad.sum(), one.grad, rtol=1e-9, atol=1e-12)
    assert measured[0] == pytest.approx(measured[1], rel=1e-9)


def test_measurements_are_of_similarities_whatever_the_temperatures() -> None:
    objective = recipes.dcl(temperature=0.5, class_prior=0.3)
    objective(*views(), temperature=TEMPERATURES)
    found = dict(objective.last)
    objective(*views())
    for name in ("positive_similarity", "negative_similarity", "weighted_negative_similarity"):
        assert found[name] == pytest.approx(objective.last[name], rel=1e-9)
    floors = []
    for temperature in TEMPERATURES:
        alone = recipes.dcl(temperature=float(temperature), class_prior=0.3)
        alone(*views())
        floors.append(alone.last["debias_floor_fraction"])
    assert min(floors) <= found["debias_floor_fraction"] <= max(floors)


def test_anchors_that_are_left_out_take_their_temperatures_along() -> None:
    a, b = views()
    rows, temperatures = torch.cat([a, b]), TEMPERATURES.repeat(2)
    ids = torch.tensor([0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 99])  # rows 6 and 13 have no positive
    objective = tammes.Objective(temperature=1.0, without_positive="skip")
    found = objective(tammes.Pairs(anchors=rows, ids=ids), temperature=temperatures)
    pairs = tammes.Pairs(anchors=rows, ids=ids).with_positives()
    expected = one_by_one(objective, pairs, temperatures[[0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12]])
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


def test_anchors_that_a_source_left_out_have_no_temperature() -> None:
    sentences, contexts = views()
    ids = torch.tensor([50, 0, 1, 2, 10, 99, 11])  # rows 0 and 5 have no neighbor
    pairs = tammes.ContextWindow()(sentences, contexts, ids=ids)
    objective, temperatures = tammes.Objective(temperature=1.0), TEMPERATURES[: len(pairs.ids)]
    assert len(pairs.ids) == 5
    assert pairs.own is not None
    expected = torch.stack(
        [
            objective(
                replace(pairs, anchors=pairs.anchors[[row]], ids=pairs.ids[[row]], own=pairs.own[[row]]),
                temperature=temperature,
            )
            for row, temperature in enumerate(temperatures)
        ]
    ).mean()
    found = objective(pairs, temperature=temperatures)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "dtype"), [(1e-3, torch.float32), (1e-2, torch.bfloat16)], ids=["float32", "bfloat16"]
)
def test_an_extreme_temperature_among_others(given: float, dtype: torch.dtype) -> None:
    a, b = (view.to(dtype) for view in views())
    temperatures = torch.tensor([given, 1.0, 1.0, 10.0, 1.0, 1.0, 1.0], requires_grad=True)
    loss = recipes.hcl(temperature=0.5, beta=1.0)(a, b, temperature=temperatures)
    loss.backward()
    exact = recipes.hcl(temperature=0.5, beta=1.0)(a.double(), b.double(), temperature=temperatures.double())
    assert temperatures.grad is not None
    assert bool(temperatures.grad.isfinite().all())
    torch.testing.assert_close(loss.double(), exact, rtol=1e-4, atol=1e-6)


def test_tiles_equal_the_dense_engine() -> None:
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(1500, 8, generator=generator) for _ in "ab")
    temperatures = 0.1 + torch.rand(1500, generator=generator)
    small = tammes.Objective(temperature=1.0, engine=tammes.reduce.Dense())
    torch.testing.assert_close(
        recipes.simclr(temperature=1.0)(a, b, temperature=temperatures),
        small(a, b, temperature=temperatures),
        rtol=1e-5,
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda a, b: recipes.simclr(temperature=0.5)(a, b, temperature=torch.rand(6) + 0.1),
            "temperature must be one number, or one for each of 7 anchors, got 6 numbers",
        ),
        (
            lambda a, b: recipes.simclr(temperature=0.5)(a, b, temperature=torch.rand(7, 1) + 0.1),
            r"one for each anchor, got torch.float32 of shape \(7, 1\)",
        ),
        (
            lambda a, b: recipes.simclr(temperature=0.5)(
                a, b, temperature=torch.tensor([0.1, 0.2, 0.0, 1, 1, 1, 1])
            ),
            "temperature must be positive and finite, got 0.0",
        ),
        (
            lambda a, b: recipes.hcl_ot(temperature=0.5, epsilon=0.3)(a, b, temperature=torch.rand(7) + 0.1),
            r"the weights of Transport.* follow from similarities.*use Hard\(beta=\.\.\.\)",
        ),
        (
            lambda a, b: recipes.simclr(temperature=0.5)(
                tammes.TwoTowers(symmetric=True)(a, b), temperature=torch.rand(7) + 0.1
            ),
            "with pairs in both directions",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(*views())  # type: ignore[operator]
