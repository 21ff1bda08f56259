"""Small batches on their shorter way: the same loss, gradient and numbers as by the dense reference."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import tammes
from tammes import Objective, Pairs, batch, recipes
from tammes.reduce import Dense, SoftmaxLoss, Tiled

OBJECTIVES = {
    "simclr": recipes.simclr(temperature=0.3),
    "logistic": recipes.logistic(),
    "limit": Objective(temperature=0.5, contrast=tammes.InfoNCE(limit=True)),
    "weight": Objective(temperature=0.5, contrast=tammes.InfoNCE(weight=3.0)),
    "dcl": recipes.dcl(temperature=0.5, class_prior=0.1),
    "hcl": recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
    "hcl, other beta": recipes.hcl(temperature=0.5, beta=0.7),
    "clipped": Objective(temperature=0.5, coupling=tammes.Hard(beta=1.0, clip=1.5)),
    "hcl-ot": recipes.hcl_ot(temperature=0.5, epsilon=0.3),
    "ifm": recipes.ifm(temperature=0.5, epsilon=0.1),
    "raw ifm": Objective(
        temperature=2.0, perturbation=tammes.FeatureModification(epsilon=0.1), normalize=False
    ),
    "raw": Objective(temperature=2.0, normalize=False),
    "steep": recipes.simclr(temperature=0.01),
    "steep hcl": recipes.hcl(temperature=0.02, beta=1.0),
}


def views(pairs: int, dim: int = 5, *, kind: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(pairs)
    a = torch.randn(pairs, dim, generator=generator, dtype=kind)
    b = a + 0.4 * torch.randn(pairs, dim, generator=generator, dtype=kind)
    return a.requires_grad_(), b.requires_grad_()


def by(objective: Objective, engine: Dense | Tiled | None) -> Objective:
    return dataclasses.replace(objective, engine=engine)


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("pairs", [2, 17])
def test_two_views_have_the_loss_gradient_and_numbers_of_the_reference(name: str, pairs: int) -> None:
    objective = OBJECTIVES[name]
    found = by(objective, None)
    a, b = views(pairs)
    expected = by(objective, Dense())
    losses = found(a, b), expected(a, b)
    torch.testing.assert_close(*losses, rtol=1e-10, atol=1e-12)
    for one, other in zip(*(torch.autograd.grad(loss, (a, b)) for loss in losses), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-11)
    assert dict(found.last) == pytest.approx(dict(expected.last), rel=1e-8, abs=1e-11)


@pytest.mark.parametrize(
    "name", [name for name in OBJECTIVES if name not in {"clipped", "raw ifm", "steep hcl"}]
)
@pytest.mark.parametrize("pairs", [2, 17])
def test_one_way_pairs_have_the_loss_gradient_and_numbers_of_the_reference(name: str, pairs: int) -> None:
    found, expected = by(OBJECTIVES[name], None), by(OBJECTIVES[name], Dense())
    a, b = views(pairs)
    ids = torch.arange(pairs) * 3
    given = Pairs(anchors=a, ids=ids, candidates=b, candidate_ids=ids)
    losses = found(given), expected(given)
    torch.testing.assert_close(*losses, rtol=1e-10, atol=1e-12)
    for one, other in zip(*(torch.autograd.grad(loss, (a, b)) for loss in losses), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-11)
    assert dict(found.last) == pytest.approx(dict(expected.last), rel=1e-8, abs=1e-11)


def test_ids_in_another_order_or_twice_go_the_usual_way() -> None:
    a, b = views(4)
    for ids in (torch.tensor([2, 0, 1, 3]), torch.tensor([0, 1, 1, 2])):
        given = Pairs(anchors=a, ids=ids, candidates=b, candidate_ids=ids)
        found, expected = (by(OBJECTIVES["simclr"], engine)(given) for engine in (None, Dense()))
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", ["simclr", "hcl", "hcl-ot"])
def test_a_frozen_view_takes_no_gradient(name: str) -> None:
    a, b = views(6)
    (found,) = torch.autograd.grad(by(OBJECTIVES[name], None)(a, b.detach()), a)
    (expected,) = torch.autograd.grad(by(OBJECTIVES[name], Dense())(a, b.detach()), a)
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("name", ["simclr", "hcl"])
def test_a_second_derivative_is_refused(name: str) -> None:
    a, b = views(6)
    (gradient,) = torch.autograd.grad(by(OBJECTIVES[name], None)(a, b), a, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives"):
        torch.autograd.grad(gradient.square().sum(), a)


@pytest.mark.parametrize("name", ["simclr", "hcl"])
def test_what_is_no_number_is_named_as_ever(name: str) -> None:
    a, b = (view.detach() for view in views(6))
    b[4, 2] = torch.nan
    with pytest.raises(ValueError, match="first anchor row 4 of view 1"):
        by(OBJECTIVES[name], None)(a, b)
    b[4] = 0.0
    with pytest.raises(ValueError, match=r"length zero .*row 4 of view 1"):
        by(OBJECTIVES[name], None)(a, b)


@pytest.mark.parametrize("name", ["simclr", "hcl"])
def test_numbers_hold_on_to_no_graph(name: str) -> None:
    objective = by(OBJECTIVES[name], None)
    a, b = views(6)
    middle = a * 1.0
    objective(middle, b).backward()
    freed: list[bool] = []
    weakref.finalize(middle, freed.append, True)
    del middle
    assert freed == [True]
    assert objective.last["negatives"] == 10.0


def test_half_precision_and_autocast_give_full_precision() -> None:
    a, b = (view.detach().bfloat16() for view in views(6, kind=torch.float32))
    objective = by(OBJECTIVES["simclr"], None)
    assert objective(a, b).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = objective(a.float(), b.float())
    torch.testing.assert_close(inside, objective(a.float(), b.float()), rtol=0, atol=0)


def test_a_backward_pass_under_autocast_gives_full_precision() -> None:
    a, b = views(6, kind=torch.float32)
    objective = by(OBJECTIVES["simclr"], None)
    outside = torch.autograd.grad(objective(a, b), (a, b))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = torch.autograd.grad(objective(a, b), (a, b))
    torch.testing.assert_close(inside, outside, rtol=0, atol=0)


@pytest.mark.parametrize("temperature", [0.1, 0.05, 0.03])
def test_the_loss_of_what_is_learned_well_keeps_its_digits_in_float32(temperature: float) -> None:
    """Down to 1e-12, where 1 minus the share of the positive is nothing but rounding."""

    def found(kind: torch.dtype, engine: Dense | None, *, one_way: bool) -> tuple[Tensor, Tensor]:
        a = torch.eye(16, dtype=kind).requires_grad_()
        b, ids = a.detach() + 0.05, torch.arange(16)
        objective = Objective(temperature=temperature, engine=engine)
        pairs = Pairs(anchors=a, ids=ids, candidates=b, candidate_ids=ids)
        loss = objective(pairs) if one_way else objective(a, b)
        return loss.detach(), torch.autograd.grad(loss, a)[0]

    for one_way in (False, True):
        loss, gradient = found(torch.float32, None, one_way=one_way)
        expected, slope = found(torch.float64, Dense(), one_way=one_way)
        torch.testing.assert_close(loss.double(), expected, rtol=1e-4, atol=0)
        torch.testing.assert_close(gradient.double(), slope, rtol=1e-3, atol=1e-3 * float(slope.abs().max()))


@pytest.fixture
def closed_forms(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each evaluation of the closed form, from here on, had a result."""
    found: list[bool] = []
    evaluate = SoftmaxLoss.__call__

    def recorded(*given: Any) -> Tensor | None:
        loss = evaluate(*given)
        found.append(loss is not None)
        return loss

    monkeypatch.setattr(SoftmaxLoss, "__call__", recorded)
    return found


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if name not in {"clipped", "raw ifm"}])
def test_small_batches_have_a_closed_form(name: str, closed_forms: list[bool]) -> None:
    a, b = views(6)
    by(OBJECTIVES[name], None)(a, b)
    by(OBJECTIVES[name], None)(a, b, ids=torch.tensor([3, 1, 4, 0, 5, 9]))
    assert closed_forms == [True, True]


@pytest.mark.parametrize("name", ["clipped", "raw ifm"])
def test_other_parts_are_evaluated_as_in_large_batches(name: str, closed_forms: list[bool]) -> None:
    by(OBJECTIVES[name], None)(*views(6))
    assert True not in closed_forms


def test_smaller_tiles_are_made_where_they_are_asked_for(closed_forms: list[bool]) -> None:
    a, b = views(6)
    expected = by(OBJECTIVES["hcl"], None)(a, b)
    torch.testing.assert_close(by(OBJECTIVES["hcl"], Tiled(side=5))(a, b), expected)
    assert closed_forms == [True]


def test_what_is_no_generator_is_refused_though_none_is_needed() -> None:
    with pytest.raises(ValueError, match=r"must be a torch\.Generator"):
        by(OBJECTIVES["simclr"], None)(*views(4), generator=3)  # type: ignore[arg-type]


def test_reading_all_numbers_makes_the_samples_once(monkeypatch: pytest.MonkeyPatch) -> None:
    objective, passes = by(OBJECTIVES["simclr"], None), 0
    objective(*views(6))
    samples = batch._samples

    def counted(*given: Any) -> Any:
        nonlocal passes
        passes += 1
        return samples(*given)

    monkeypatch.setattr(batch, "_samples", counted)
    objective(*views(6))
    assert len(dict(objective.last)) == 6
    assert passes == 1


@pytest.mark.parametrize("name", ["simclr", "hcl", "hcl-ot", "ifm"])
def test_what_inference_mode_made_serves_training_too(name: str) -> None:
    objective = by(OBJECTIVES[name], None)
    a, b = views(9)
    with torch.inference_mode():
        found = float(objective(a.detach(), b.detach()))
    assert objective.last["loss"] == pytest.approx(found)
    loss = objective(a, b)
    loss.backward()
    assert float(loss.detach()) == found


@pytest.mark.parametrize("name", ["simclr", "hcl"])
def test_views_may_share_memory_and_change_before_the_backward_pass(name: str) -> None:
    objective, (a, _) = by(OBJECTIVES[name], None), views(6)
    rows = a * 1.0
    loss = objective(rows, rows.flip(0))
    with torch.no_grad():
        rows.zero_()
    (found,) = torch.autograd.grad(loss, a)
    (expected,) = torch.autograd.grad(by(OBJECTIVES[name], Dense())(a, a.flip(0)), a)
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-11)


def test_one_way_pairs_written_to_before_the_backward_pass_are_noticed() -> None:
    (a, b), ids = views(6), torch.arange(6)
    rows = a * 1.0
    loss = by(OBJECTIVES["raw"], None)(Pairs(anchors=rows, ids=ids, candidates=b, candidate_ids=ids))
    with torch.no_grad():
        rows.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_steep_slope_has_the_loss_and_gradient_of_a_cross_entropy_in_float32() -> None:
    angle = torch.linspace(0.0, 3.0, 32)
    rows = torch.stack([angle.cos(), angle.sin()], dim=1).requires_grad_()
    loss = Objective(temperature=0.01, normalize=False)(rows[::2], rows[1::2])
    unsparing = (100.0 * rows @ rows.T).fill_diagonal_(-torch.inf)
    expected = torch.nn.functional.cross_entropy(unsparing, torch.arange(32) ^ 1)
    torch.testing.assert_close(loss, expected)
    gradients = (torch.autograd.grad(each, rows)[0] for each in (loss, expected))
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)  # logits of 100 have errors of 1e-5


class _Operations(TorchDispatchMode):
    """Counts what torch is asked to do, views of tensors among it."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def operations(loss: Callable[[], Tensor]) -> int:
    loss().backward()  # what is found once is found
    with _Operations() as counted:
        loss().backward()
    return counted.count


def test_the_closed_form_takes_fewer_operations() -> None:
    a, b = views(64, 128, kind=torch.float32)
    objective, one = by(OBJECTIVES["simclr"], None), torch.tensor(0.3)
    short, general = operations(lambda: objective(a, b)), operations(lambda: objective(a, b, temperature=one))
    assert short <= 43
    assert 3 * short <= 2 * general
