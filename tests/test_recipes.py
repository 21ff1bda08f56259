"""Every recipe equals its paper's formula, in value and gradient, and laws that tie recipes together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import published
import tammes
from tammes import recipes
from tammes.reduce import Dense, Engine, Tiled

TIGHT = 1e-13


def views(batch: int = 13, dim: int = 5, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    a = torch.randn(batch, dim, generator=generator, dtype=torch.float64)
    b = a + 0.7 * torch.randn(batch, dim, generator=generator, dtype=torch.float64)
    return a.requires_grad_(), b.requires_grad_()


def value_and_gradients(loss: Callable[[Tensor, Tensor], Tensor], a: Tensor, b: Tensor) -> list[Tensor]:
    value = loss(a, b)
    return [value, *torch.autograd.grad(value, (a, b))]


def assert_same(ours: Callable[[Tensor, Tensor], Tensor], theirs: Callable[[Tensor, Tensor], Tensor]) -> None:
    for seed in range(3):
        a, b = views(seed=seed)
        for mine, published_one in zip(
            value_and_gradients(ours, a, b), value_and_gradients(theirs, a, b), strict=True
        ):
            torch.testing.assert_close(mine, published_one, rtol=1e-9, atol=1e-9)


def transport(epsilon: float, cost: tammes.Cost) -> tammes.Transport:
    return tammes.Transport(epsilon=epsilon, cost=cost, tolerance=TIGHT, max_iterations=5000)


def test_simclr() -> None:
    assert_same(recipes.simclr(temperature=0.3), lambda a, b: published.simclr(a, b, temperature=0.3))


def test_dcl() -> None:
    assert_same(
        recipes.dcl(temperature=0.5, class_prior=0.1),
        lambda a, b: published.hcl(a, b, temperature=0.5, beta=0.0, class_prior=0.1),
    )


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_hcl(beta: float) -> None:
    assert_same(
        recipes.hcl(temperature=0.5, beta=beta, class_prior=0.05),
        lambda a, b: published.hcl(a, b, temperature=0.5, beta=beta, class_prior=0.05),
    )


def test_hcl_where_the_floor_binds() -> None:
    """A large prior puts some anchors on the floor, where no gradient passes the negatives."""
    objective = recipes.hcl(temperature=0.5, beta=0.5, class_prior=0.3)
    assert_same(objective, lambda a, b: published.hcl(a, b, temperature=0.5, beta=0.5, class_prior=0.3))
    assert 0 < objective.last["debias_floor_fraction"] < 1


@pytest.mark.parametrize("class_prior", [0.0, 0.1])
@pytest.mark.parametrize("kappa", [None, 1.0])
def test_hcl_ot(kappa: float | None, class_prior: float) -> None:
    cost = tammes.SquaredEuclidean() if kappa is None else tammes.ExponentialEuclidean(kappa=kappa)
    objective = tammes.Objective(
        temperature=0.5,
        coupling=transport(0.3, cost),
        correction=tammes.Debias(class_prior=class_prior),
    )
    recipe = recipes.hcl_ot(temperature=0.5, epsilon=0.3, cost=cost, class_prior=class_prior)
    assert recipe.coupling == tammes.Transport(epsilon=0.3, cost=cost)
    assert_same(
        objective,
        lambda a, b: published.hcl_ot(
            a, b, temperature=0.5, epsilon=0.3, class_prior=class_prior, kappa=kappa
        ),
    )


def test_hcl_ot_default_tolerance_is_close() -> None:
    a, b = views()
    loose = recipes.hcl_ot(temperature=0.5, epsilon=0.3)(a, b)
    exact = published.hcl_ot(a, b, temperature=0.5, epsilon=0.3, class_prior=0.0, kappa=None)
    torch.testing.assert_close(loose, exact, rtol=1e-5, atol=0)


def test_ifm() -> None:
    assert_same(
        recipes.ifm(temperature=0.4, epsilon=0.1, alpha=0.7),
        lambda a, b: published.ifm(a, b, temperature=0.4, epsilon=0.1, alpha=0.7),
    )


def test_bcl() -> None:
    assert_same(recipes.bcl(temperature=0.5), lambda a, b: published.bcl(a, b, temperature=0.5))


def test_triplet() -> None:
    assert_same(recipes.triplet(margin=0.5), lambda a, b: published.triplet(a, b, margin=0.5))


def test_hinge() -> None:
    assert_same(recipes.hinge(), published.hinge)


def test_logistic() -> None:
    assert_same(recipes.logistic(), published.logistic)


@pytest.mark.parametrize("beta", [0.0, 1.5])
def test_jsd(beta: float) -> None:
    assert_same(recipes.jsd(beta=beta), lambda a, b: published.jsd(a, b, beta=beta, clip=2.0))


# Laws.

engines = st.sampled_from([Dense(), Tiled(side=7)])
seeds = st.integers(0, 10_000)
temperatures = st.floats(0.05, 5.0)


def with_engine(objective: tammes.Objective, engine: Engine) -> tammes.Objective:
    return dataclasses.replace(objective, engine=engine)


@given(engine=engines, seed=seeds, temperature=temperatures, prior=st.floats(0, 0.5))
def test_beta_zero_gives_dcl(engine: Engine, seed: int, temperature: float, prior: float) -> None:
    a, b = views(seed=seed)
    hard = with_engine(recipes.hcl(temperature=temperature, beta=0.0, class_prior=prior), engine)
    debiased = with_engine(recipes.dcl(temperature=temperature, class_prior=prior), engine)
    torch.testing.assert_close(hard(a, b), debiased(a, b), rtol=1e-10, atol=1e-10)


@given(engine=engines, seed=seeds, temperature=temperatures)
def test_prior_zero_gives_simclr(engine: Engine, seed: int, temperature: float) -> None:
    a, b = views(seed=seed)
    debiased = with_engine(recipes.dcl(temperature=temperature, class_prior=0.0), engine)
    plain = with_engine(recipes.simclr(temperature=temperature), engine)
    torch.testing.assert_close(debiased(a, b), plain(a, b), rtol=1e-10, atol=1e-10)


@given(engine=engines, seed=seeds, temperature=temperatures, epsilon=st.floats(0.05, 3.0))
def test_unconstrained_transport_gives_hcl(
    engine: Engine, seed: int, temperature: float, epsilon: float
) -> None:
    """Jiang et al. (2023), end of sec. VI-A, with beta = temperature / epsilon."""
    a, b = views(seed=seed)
    free = tammes.Objective(
        temperature=temperature,
        coupling=tammes.Transport(epsilon=epsilon, constrained=False),
        engine=engine,
    )
    hard = tammes.Objective(
        temperature=temperature,
        coupling=tammes.Hard(beta=temperature / epsilon, detach=True),
        engine=engine,
    )
    for one, other in zip(value_and_gradients(free, a, b), value_and_gradients(hard, a, b), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@given(seed=seeds, prior=st.floats(0, 0.3))
def test_permuting_the_batch_changes_nothing(seed: int, prior: float) -> None:
    a, b = views(seed=seed)
    order = torch.randperm(len(a), generator=torch.Generator().manual_seed(seed))
    for objective in (
        recipes.hcl(temperature=0.5, beta=1.0, class_prior=prior),
        recipes.hcl_ot(temperature=0.5, epsilon=0.3, class_prior=prior),
    ):
        straight = value_and_gradients(objective, a, b)
        value = objective(a[order], b[order])
        gradients = torch.autograd.grad(value, (a, b))
        for one, other in zip(straight, [value, *gradients], strict=True):
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-8)


@given(engine=engines, seed=seeds)
def test_swapping_the_views_changes_nothing(engine: Engine, seed: int) -> None:
    a, b = views(seed=seed)
    objective = with_engine(recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1), engine)
    torch.testing.assert_close(objective(a, b), objective(b, a), rtol=1e-12, atol=0)


@given(seed=seeds)
def test_large_beta_gives_the_hardest_negative(seed: int) -> None:
    """Robinson (2023), Proposition 1: in the limit E_q[e^l] is the largest e^l."""
    a, b = views(seed=seed)
    s, negative, positive = published.rows(a, b)
    hardest = s.masked_fill(~negative, -torch.inf).amax(1)
    n = int(negative.sum(1)[0])
    worst = torch.nn.functional.softplus(torch.log(torch.tensor(n)) + (hardest - positive) / 0.5).mean()
    near = recipes.hcl(temperature=0.5, beta=3e4)(a, b)
    torch.testing.assert_close(near, worst, rtol=1e-3, atol=1e-3)
    assert recipes.hcl(temperature=0.5, beta=10.0)(a, b) <= worst + 1e-12


@given(seed=seeds, low=st.floats(0, 5), more=st.floats(0.01, 5))
def test_the_loss_rises_with_beta(seed: int, low: float, more: float) -> None:
    a, b = views(seed=seed)
    assert recipes.hcl(temperature=0.5, beta=low)(a, b) <= recipes.hcl(temperature=0.5, beta=low + more)(a, b)


def test_large_epsilon_gives_uniform_negatives() -> None:
    a, b = views()
    torch.testing.assert_close(
        recipes.hcl_ot(temperature=0.5, epsilon=1e7)(a, b),
        recipes.simclr(temperature=0.5)(a, b),
        rtol=1e-6,
        atol=1e-6,
    )


@pytest.mark.parametrize(
    "objective",
    [recipes.jsd(class_prior=0.1), recipes.sigmoid(), recipes.mochi(temperature=0.5, hardest=3)],
    ids=["jsd", "sigmoid", "mochi"],
)
def test_another_default_device_changes_nothing(objective: tammes.Objective) -> None:
    first, second = torch.randn(2, 8, 4)
    expected = objective(first, second, generator=torch.Generator().manual_seed(0))
    with torch.device("meta"):
        found = objective(first, second, generator=torch.Generator("cpu").manual_seed(0))
    assert torch.equal(found, expected)
