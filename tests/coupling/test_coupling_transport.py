"""Transport: the plan's marginals, its properties, and what is said when there is none."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tammes
from tammes.contrast import Contrast
from tammes.reduce import Dense, Engine, Tiled


@given(seed=st.integers(0, 10_000), epsilon=st.floats(0.1, 5.0), side=st.integers(2, 20))
def test_rows_and_columns_of_the_plan_have_equal_mass(seed: int, epsilon: float, side: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    a = torch.randn(8, 4, generator=generator, dtype=torch.float64)
    b = torch.randn(8, 4, generator=generator, dtype=torch.float64)
    objective = tammes.Objective(
        temperature=0.5,
        coupling=tammes.Transport(epsilon=epsilon, tolerance=1e-9, max_iterations=2000),
        engine=Tiled(side=side),
    )
    plan = objective.weights(a, b)
    torch.testing.assert_close(plan.sum(0), torch.ones(16, dtype=torch.float64), rtol=0, atol=1e-6)
    # A symmetric problem has a symmetric plan.
    torch.testing.assert_close(plan, plan.T, rtol=0, atol=1e-6)
    assert float(plan.diagonal().abs().max()) == 0
    assert float(plan.diagonal(8).abs().max()) == 0


@given(seed=st.integers(0, 10_000))
def test_smaller_epsilon_is_harder(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    a, b = torch.randn(10, 4, generator=generator), torch.randn(10, 4, generator=generator)
    similarity = []
    for epsilon in (0.2, 0.6, 3.0):
        objective = tammes.recipes.hcl_ot(temperature=0.5, epsilon=epsilon)
        objective(a, b)
        similarity.append(objective.last["weighted_negative_similarity"])
    # Product-coupling-improving (Jiang et al. 2023, sec. VI): never easier than the uniform coupling.
    assert similarity[0] >= similarity[1] >= similarity[2] >= objective.last["negative_similarity"] - 1e-5


def test_a_rectangular_plan_meets_both_marginals() -> None:
    ids, candidate_ids = torch.arange(5), torch.tensor([0, 1, 2, 3, 4, 0, 1])
    pairs = tammes.Pairs(
        anchors=torch.randn(5, 3, dtype=torch.float64),
        ids=ids,
        candidates=torch.randn(7, 3, dtype=torch.float64),
        candidate_ids=candidate_ids,
    )
    coupling = tammes.Transport(epsilon=0.5, tolerance=1e-10)
    plan = tammes.Objective(temperature=1.0, coupling=coupling).weights(pairs)
    torch.testing.assert_close(plan.sum(0), torch.full((7,), 5 / 7, dtype=torch.float64), rtol=1e-8, atol=0)
    assert not bool((plan > 0)[ids[:, None] == candidate_ids[None, :]].any())


def test_no_gradient_flows_through_the_plan() -> None:
    """The gradient is that of the loss with the weights written in as constants."""
    a = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    b = torch.randn(6, 3, dtype=torch.float64)
    objective = tammes.recipes.bcl(temperature=1.0, coupling=tammes.Transport(epsilon=0.2))
    (ours,) = torch.autograd.grad(objective(a, b), a)
    weights = objective.weights(a, b)
    z = torch.nn.functional.normalize(torch.cat([a, b]), dim=1)
    loss = ((weights * (z @ z.T)).sum(1) - (z * z.roll(6, 0)).sum(1)).mean()
    (constant,) = torch.autograd.grad(loss, a)
    torch.testing.assert_close(ours, constant, rtol=1e-8, atol=1e-12)


def test_iterations_that_run_out_are_said() -> None:
    objective = tammes.Objective(
        temperature=0.5, coupling=tammes.Transport(epsilon=0.01, max_iterations=2, tolerance=1e-6)
    )
    with pytest.warns(tammes.SinkhornWarning, match=r"after 2 iterations with a marginal error of .*epsilon"):
        loss = objective(torch.randn(8, 3), torch.randn(8, 3))
    assert bool(torch.isfinite(loss))
    assert objective.last["sinkhorn_iterations"] == 2
    assert objective.last["sinkhorn_error"] > 1e-6


def test_the_warning_names_the_line_that_called_the_objective(tmp_path: Path) -> None:
    # In another process, where no function of the package is wrapped.
    script = tmp_path / "call.py"
    script.write_text(
        "import tammes, torch\n"
        "coupling = tammes.Transport(epsilon=0.01, max_iterations=2, tolerance=1e-6)\n"
        "objective = tammes.Objective(temperature=0.5, coupling=coupling)\n"
        "objective(torch.randn(8, 3), torch.randn(8, 3))\n"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert f"{script}:4: SinkhornWarning" in run.stderr


def test_a_plan_that_cannot_be_is_said() -> None:
    """Five of eight rows exclude one another: their mass has nowhere to go."""
    ids = torch.tensor([0, 0, 0, 0, 0, 1, 1, 1])
    objective = tammes.recipes.hcl_ot(temperature=0.5, epsilon=1.0)
    with pytest.warns(tammes.SinkhornWarning, match="more than half of the rows exclude one another"):
        loss = objective(tammes.Pairs(anchors=torch.randn(8, 3), ids=ids))
    assert bool(torch.isfinite(loss))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": 1.0, "cost": "squared"}, "cost must be a Cost or a function"),
        ({"epsilon": 1.0, "tolerance": 0.0}, "tolerance"),
        ({"epsilon": 1.0, "max_iterations": 0}, "max_iterations"),
    ],
)
def test_fields_out_of_range(fields: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tammes.Transport(**fields)


@pytest.mark.parametrize("constrained", [True, False])
@pytest.mark.parametrize("cost", [torch.log, lambda s: s * math.nan, lambda s: s / 0])
def test_costs_that_are_not_finite(cost: Callable, constrained: bool) -> None:
    objective = tammes.Objective(
        temperature=0.5, coupling=tammes.Transport(epsilon=0.3, cost=cost, constrained=constrained)
    )
    with pytest.raises(ValueError, match="the cost must be finite for similarities"):
        objective(torch.randn(8, 4), torch.randn(8, 4))


@pytest.mark.parametrize(("kind", "epsilon"), [(torch.float32, 1e-9), (torch.float64, 1e-28)])
def test_an_epsilon_that_leaves_no_digit_is_refused(kind: torch.dtype, epsilon: float) -> None:
    """Rounding would hide that the marginals are not met: their error would be 0."""
    a, b = torch.randn(2, 40, 8, generator=torch.Generator().manual_seed(0)).to(kind)
    with pytest.raises(ValueError, match=f"epsilon = {epsilon} is too small for {kind}"):
        tammes.recipes.hcl_ot(temperature=0.5, epsilon=epsilon)(a, b)


@pytest.mark.parametrize("cost", [lambda s: None, lambda s: s.sum(1), lambda s: 1.0])
def test_costs_of_another_shape(cost: Callable) -> None:
    objective = tammes.Objective(temperature=0.5, coupling=tammes.Transport(epsilon=0.3, cost=cost))
    with pytest.raises(ValueError, match="entry by entry"):
        objective(torch.randn(8, 4), torch.randn(8, 4))


def test_a_cost_may_work_in_place() -> None:
    a, b = torch.randn(8, 4), torch.randn(8, 4)
    values = []
    for cost in (lambda s: 1 - s, lambda s: s.neg_().add_(1)):
        for engine in (Tiled(side=5), Dense()):
            coupling = tammes.Transport(epsilon=0.3, cost=cost)
            values.append(tammes.Objective(temperature=0.5, coupling=coupling, engine=engine)(a, b))
    torch.testing.assert_close(torch.stack(values), values[0].expand(4))


FAR = tammes.Transport(epsilon=5.0, cost=tammes.ExponentialEuclidean(kappa=1.0), constrained=False)
"""Of raw inner products far below zero the cost is infinite, and the weight zero."""


@pytest.mark.parametrize("engine", [None, Dense(), Tiled(side=3)], ids=repr)
@pytest.mark.parametrize("contrast", [tammes.InfoNCE(), tammes.BCL(), tammes.Softplus()])
def test_drawn_negatives_without_weight_are_refused(contrast: Contrast, engine: Engine | None) -> None:
    """Each anchor has negatives of finite cost, on which the plan rests, but may not have drawn them."""
    rows = 10 * torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    objective = tammes.Objective(
        temperature=1.0, coupling=FAR, contrast=contrast, normalize=False, engine=engine
    )
    assert bool(torch.isfinite(objective(rows, rows)))
    objective = dataclasses.replace(objective, selection=tammes.Subset(k=1))
    with pytest.raises(ValueError, match=r"weights of all negatives of \d anchors? are zero.*all negatives"):
        objective(rows, rows, generator=torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match="weights of all negatives of"):
        objective.weights(rows, rows, generator=torch.Generator().manual_seed(0))


def test_weights_without_a_digit_are_refused() -> None:
    """Beside an exponent of -1e21 in float32 a logit of -25 has no digit: the loss could be any number."""
    rows = torch.tensor([[5.0, 0.0], [-5.0, 0.0]])
    objective = tammes.Objective(temperature=1.0, coupling=FAR, normalize=False)
    with pytest.raises(
        ValueError, match=r"negatives of 4 anchors are zero, or too close to it for torch.float"
    ):
        objective(rows, rows)
    # A mean needs the differences of the exponents alone.
    assert dataclasses.replace(objective, contrast=tammes.BCL())(rows, rows).item() == pytest.approx(-50)


def test_positives_without_weight_are_refused() -> None:
    """They stand for the false negatives, whose mean is then unknown."""
    rows = 10 * torch.eye(2)
    objective = tammes.Objective(
        temperature=1.0, coupling=FAR, correction=tammes.Debias(class_prior=0.1), normalize=False
    )
    assert bool(torch.isfinite(objective(rows, rows, rows)))
    with pytest.raises(ValueError, match=r"weights of all positives of an anchor are zero.*correction"):
        objective(rows, -rows, -rows)


def test_a_candidate_that_is_a_negative_of_no_anchor_is_named_as_a_reason() -> None:
    rows = torch.eye(4)
    objective = tammes.Objective(temperature=1.0, coupling=tammes.Transport(epsilon=0.3))
    # No plan gives mass to the first candidate, the positive of the only anchor.
    with pytest.raises(ValueError, match="every candidate a negative of some anchor"):
        objective(tammes.Pairs.aligned(rows[:1], rows))


@pytest.mark.parametrize("kappa", [math.inf, math.nan, 1000.0, -1000.0])
def test_kappa_out_of_range(kappa: float) -> None:
    with pytest.raises(ValueError, match="kappa must be a finite number at least -100 and at most 100"):
        tammes.ExponentialEuclidean(kappa=kappa)
