"""The sweep over other candidates: the loss, gradient and numbers of the dense reference, in any strips."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor

import tammes
from tammes import Objective, Pairs, recipes
from tammes.reduce import Dense, Negatives, sweep
from tammes.reduce.sweep import Sweep

OBJECTIVES = {
    "simclr": recipes.simclr(temperature=0.3),
    "logistic": recipes.logistic(),
    "limit": Objective(temperature=0.5, contrast=tammes.InfoNCE(limit=True)),
    "weight": Objective(temperature=0.5, contrast=tammes.InfoNCE(weight=3.0)),
    "dcl": recipes.dcl(temperature=0.5, class_prior=0.1),
    "dcl on its floor": recipes.dcl(temperature=0.5, class_prior=0.9),
    "hcl": recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
    "hcl, other beta": recipes.hcl(temperature=0.5, beta=0.7),
    "hcl-ot": recipes.hcl_ot(temperature=0.5, epsilon=0.3),
    "ifm": recipes.ifm(temperature=0.5, epsilon=0.1),
    "raw": Objective(temperature=2.0, normalize=False),
    "steep": recipes.simclr(temperature=0.06),
    "steep hcl": recipes.hcl(temperature=0.1, beta=1.0),
    "jsd": recipes.jsd(),
    "jsd, hard": recipes.jsd(beta=1.0, clip=0.8),
    "jsd, constant weights": Objective(
        temperature=2.0,
        coupling=tammes.Hard(beta=3.0, clip=0.8, detach=True),
        contrast=tammes.Softplus(),
        normalize=False,
    ),
    "sigmoid": recipes.sigmoid(),
    "sigmoid, hard": recipes.sigmoid(temperature=0.5, bias=-1.0, coupling=tammes.Hard(beta=1.0)),
    "sigmoid, weight": Objective(temperature=0.5, contrast=tammes.Sigmoid(bias=-2.0, weight=3.0)),
}


@pytest.fixture(autouse=True)
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches are evaluated as large ones are."""
    monkeypatch.setattr(Negatives, "fits_cache", False)


@pytest.fixture(params=[(1, 1), (60, 3), (10**6, 1)], ids=["rows", "strips", "one strip"])
def strips(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    entries, fewest = request.param
    monkeypatch.setattr(sweep, "_ENTRIES", entries)
    monkeypatch.setattr(sweep, "_FEWEST_ROWS", fewest)


@pytest.fixture
def sweeps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, bool]]:
    """Which gradients each sweep was asked for, from here on."""
    found: list[tuple[bool, bool]] = []
    mean = Sweep.mean

    def recorded(self: Sweep, *, wanted: tuple[bool, bool]) -> object:
        found.append(wanted)
        return mean(self, wanted=wanted)

    monkeypatch.setattr(Sweep, "mean", recorded)
    return found


def one_way(anchors: int, more: int = 0, *, kind: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(anchors)
    a = torch.randn(anchors, 5, generator=generator, dtype=kind)
    others = torch.randn(more, 5, generator=generator, dtype=kind)
    b = torch.cat([a + 0.4 * torch.randn(anchors, 5, generator=generator, dtype=kind), others])
    return a.requires_grad_(), b.requires_grad_()


def by(name: str, engine: Dense | None = None) -> Objective:
    return dataclasses.replace(OBJECTIVES[name], engine=engine)


def assert_equal(name: str, given: Pairs, inputs: tuple[Tensor, ...]) -> None:
    """Assert that an objective has the loss, gradients and numbers that the dense engine gives it."""
    found, expected = by(name), by(name, Dense())
    losses = found(given), expected(given)
    torch.testing.assert_close(*losses, rtol=1e-10, atol=1e-12)
    for one, other in zip(*(torch.autograd.grad(loss, inputs) for loss in losses), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-11)
    assert dict(found.last) == pytest.approx(dict(expected.last), rel=1e-8, abs=1e-11)


@pytest.mark.usefixtures("strips")
@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("anchors", [2, 17])
def test_it_equals_the_dense_reference(name: str, anchors: int, sweeps: list[tuple[bool, bool]]) -> None:
    a, b = one_way(anchors)
    ids = torch.arange(anchors) * 3
    assert_equal(name, Pairs(anchors=a, ids=ids, candidates=b, candidate_ids=ids), (a, b))
    assert sweeps == [(True, True)]


@pytest.mark.usefixtures("strips")
@pytest.mark.parametrize("name", ["simclr", "dcl", "hcl", "hcl, other beta", "jsd", "jsd, hard"])
def test_more_candidates_in_any_order_and_positives_that_anchors_share(name: str) -> None:
    a, b = one_way(11, more=9)
    order = torch.randperm(20, generator=torch.Generator().manual_seed(0))
    b = b.detach()[order].requires_grad_()
    ids = torch.cat([torch.arange(10), torch.tensor([4])])  # the last anchor has the positive of another
    candidate_ids = torch.cat([torch.arange(10), torch.arange(10) + 50])
    given = Pairs(anchors=a, ids=ids, candidates=b, candidate_ids=candidate_ids[order])
    assert_equal(name, given, (a, b))


@pytest.mark.usefixtures("strips")
@pytest.mark.parametrize("name", ["simclr", "hcl", "hcl-ot"])
def test_only_the_gradients_that_are_wanted_are_made(name: str, sweeps: list[tuple[bool, bool]]) -> None:
    (a, b), ids = one_way(9), torch.arange(9)
    for candidates, anchors, wanted in ((b.detach(), a, (True, False)), (b, a.detach(), (False, True))):
        given = Pairs(anchors=anchors, ids=ids, candidates=candidates, candidate_ids=ids)
        assert_equal(name, given, (a if wanted[0] else b,))
        assert sweeps[-1] == wanted
    with torch.no_grad():
        by(name)(Pairs(anchors=a, ids=ids, candidates=b, candidate_ids=ids))
    assert sweeps[-1] == (False, False)


@pytest.mark.parametrize("name", ["simclr", "hcl", "jsd, hard", "sigmoid, hard"])
def test_gradcheck(name: str) -> None:
    (a, b), ids = one_way(4), torch.arange(4)

    def loss(a: Tensor, b: Tensor) -> Tensor:
        return 3 * by(name)(Pairs(anchors=a, ids=ids, candidates=b, candidate_ids=ids))

    assert torch.autograd.gradcheck(loss, (a, b))


def test_a_second_derivative_is_refused() -> None:
    (a, b), ids = one_way(4), torch.arange(4)
    loss = by("hcl")(Pairs(anchors=a, ids=ids, candidates=b, candidate_ids=ids))
    (gradient,) = torch.autograd.grad(loss, a, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives"):
        torch.autograd.grad(gradient.square().sum(), a)


def test_a_range_that_needs_a_running_maximum_is_evaluated_in_tiles() -> None:
    (a, b), ids = one_way(6, kind=torch.float32), torch.arange(6)
    given = Pairs(anchors=a, ids=ids, candidates=b, candidate_ids=ids)
    objective = recipes.simclr(temperature=0.01)  # logits from -100 to 100
    expected = dataclasses.replace(objective, engine=Dense())
    for one, other in zip(
        *(torch.autograd.grad(each(given), (a, b)) for each in (objective, expected)), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["simclr", "hcl", "jsd", "jsd, hard"])
def test_float32_has_the_digits_of_the_reference_over_many_strips(name: str) -> None:
    (a, b), ids = one_way(700, more=300, kind=torch.float32), torch.arange(1000)
    found, expected = (
        torch.autograd.grad(
            dataclasses.replace(OBJECTIVES[name], engine=engine)(
                Pairs(anchors=a.to(kind), ids=ids[:700], candidates=b.to(kind), candidate_ids=ids)
            ),
            (a, b),
        )
        for kind, engine in ((torch.float32, None), (torch.float64, Dense()))
    )
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6 * float(other.abs().max()) + 1e-9)
