"""Adjacent sentences: the loss of quick-thoughts, and every objective on the same pairs, against matrices."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tammes import ContextWindow, Debias, Hard, InfoNCE, Objective, Subset, SupCon, Transport, recipes
from tammes.reduce import Dense, Tiled

IDS = torch.tensor([4, 5, 6, 7, 20, 21, 40, 60, 61, 62])  # 40 is alone


def drawn(n: int = len(IDS), d: int = 5) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(2, n, d, generator=generator, dtype=torch.float64)
    return rows[0].requires_grad_(), rows[1].requires_grad_()


def plain(
    f: Tensor, g: Tensor, ids: Tensor, *, window: int, beta: float = 0.0, tau: float = 0.0, together: bool
) -> Tensor:
    """The loss on matrices: exp(beta l)-weighted negatives outside the window, debiased with a floor."""
    logits, losses = f @ g.T, []
    for i in range(len(ids)):
        distance = (ids - ids[i]).abs()
        positive = (distance <= window) & (torch.arange(len(ids)) != i)
        negative = distance > window
        if not positive.any():
            continue
        p, n = logits[i, positive], logits[i, negative]
        weights = (beta * n).softmax(0)
        mean = (weights * n.exp()).sum()
        if tau:
            others = ((beta * p).softmax(0) * p.exp()).sum() if beta else p.exp().mean()
            mean = torch.clamp((mean - tau * others) / (1 - tau), min=math.exp(-1.0))
        total = len(n) * mean
        denominator = p.exp().sum() + total if together else p.exp() + total
        losses.append(-(p.exp() / denominator).log().mean())
    return torch.stack(losses).mean()


def objective(together: bool, beta: float = 0.0, tau: float = 0.0, **more: object) -> Objective:
    return Objective(
        temperature=1.0,
        coupling=Hard(beta=beta) if beta else recipes.simclr(temperature=1.0).coupling,
        correction=Debias(class_prior=tau) if tau else None,
        contrast=SupCon() if together else InfoNCE(),
        normalize=False,
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("together", [True, False], ids=["quick-thoughts", "info-nce"])
@pytest.mark.parametrize(("beta", "tau"), [(0.0, 0.0), (0.0, 0.01), (1.0, 0.0), (2.0, 0.0), (1.0, 0.01)])
def test_it_is_the_loss_on_matrices(window: int, together: bool, beta: float, tau: float) -> None:
    f, g = drawn()
    ours = objective(together, beta, tau)(ContextWindow(window=window)(f, g, ids=IDS))
    theirs = plain(f, g, IDS, window=window, beta=beta, tau=tau, together=together)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    mine, others = torch.autograd.grad(ours, (f, g)), torch.autograd.grad(theirs, (f, g))
    for one, other in zip(mine, others, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("window", [1, 2])
@pytest.mark.parametrize("together", [True, False])
def test_one_encoder_is_both(window: int, together: bool) -> None:
    f, _ = drawn()
    ours = objective(together, 1.0)(ContextWindow(window=window)(f, ids=IDS))
    theirs = plain(f, f, IDS, window=window, beta=1.0, together=together)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    torch.testing.assert_close(
        torch.autograd.grad(ours, f)[0], torch.autograd.grad(theirs, f)[0], rtol=0, atol=1e-12
    )


EACH = [
    recipes.hcl_ot(temperature=0.5, epsilon=0.3, class_prior=0.1),
    recipes.ifm(temperature=0.5, epsilon=0.1),
    recipes.bcl(temperature=1.0),
    recipes.triplet(margin=0.5),
    recipes.logistic(),
    recipes.hinge(),
    recipes.jsd(beta=1.0),
    Objective(temperature=0.5, selection=Subset(k=3)),
    Objective(temperature=0.5, coupling=Transport(epsilon=0.3), contrast=SupCon()),
]


@pytest.mark.parametrize("each", EACH, ids=lambda each: type(each.contrast).__name__)
@pytest.mark.parametrize("towers", [1, 2])
@pytest.mark.parametrize("shuffled", [False, True])
def test_tiles_agree_with_the_dense_engine(each: Objective, towers: int, shuffled: bool) -> None:
    views = drawn()[:towers]
    order = torch.randperm(len(IDS), generator=torch.Generator().manual_seed(1)) if shuffled else slice(None)
    found = []
    for engine in (Dense(), Tiled(side=4)):
        pairs = ContextWindow(window=2)(*(view[order] for view in views), ids=IDS[order])
        loss = replace(each, engine=engine)(pairs, generator=torch.Generator().manual_seed(3))
        found.append((loss.detach(), *torch.autograd.grad(loss, views)))
    for dense, tiled in zip(*found, strict=True):
        torch.testing.assert_close(dense, tiled, rtol=1e-9, atol=1e-9)


@given(st.lists(st.integers(0, 30), min_size=4, max_size=14, unique=True), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_positives_and_negatives_share_the_candidates_but_oneself(places: list[int], window: int) -> None:
    ids = torch.tensor(places)
    near = (ids[:, None] - ids).abs() <= window
    if not ((near.sum(1) > 1).any() and bool((~near).any(1).all())):
        return
    rows = torch.randn(len(ids), 3, dtype=torch.float64)
    pairs = ContextWindow(window=window)(rows, rows.clone(), ids=ids)
    weights = Objective(temperature=1.0).weights(pairs)
    kept = near.sum(1) > 1
    assert torch.equal(weights[kept] > 0, ~near[kept])
    assert pairs.positives().count.tolist() == (near.sum(1) - 1)[kept].tolist()


def test_a_larger_shift_of_all_ids_changes_nothing() -> None:
    f, g = drawn()
    loss = objective(True, 1.0)
    one = loss(ContextWindow()(f, g, ids=IDS))
    assert torch.equal(one, loss(ContextWindow()(f, g, ids=IDS + 10**12)))
    ends = torch.iinfo(torch.int64)
    for shifted in (ends.min + IDS - IDS.min(), ends.max + (IDS - IDS.max())):
        assert torch.equal(one, loss(ContextWindow()(f, g, ids=shifted)))
        dense = replace(loss, engine=Dense())
        torch.testing.assert_close(dense(ContextWindow()(f, g, ids=shifted)), one, rtol=1e-6, atol=0)


@pytest.mark.parametrize("engine", [None, Dense()], ids=["chosen", "dense"])
def test_a_transport_plan_of_two_encoders_meets_the_marginals_of_its_columns(engine: Dense | None) -> None:
    f, g = drawn(d=16)
    ids = torch.arange(len(f)) // 2 * 10 + torch.arange(len(f)) % 2  # pairs of sentences: none is left out
    transport = Objective(temperature=0.5, coupling=Transport(epsilon=0.5, tolerance=1e-9), engine=engine)
    weights = transport.weights(ContextWindow()(f, g, ids=ids))
    torch.testing.assert_close(weights.sum(dim=0), torch.ones(len(g), dtype=torch.float64), rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_hard_and_debiased_at_large_inner_products_is_finite(dtype: torch.dtype) -> None:
    f, g = (view.detach().to(dtype).mul(8).requires_grad_() for view in drawn(d=16))
    loss = objective(True, 2.0, 0.1)(ContextWindow()(f, g, ids=IDS))
    loss.backward()
    assert bool(loss.isfinite())
    assert f.grad is not None
    assert bool(f.grad.isfinite().all())


def test_what_does_not_fit_is_refused() -> None:
    f, g = drawn()
    with pytest.raises(
        ValueError,
        match=r"none of the 10 anchors has a positive.*ids must number the sentences in reading order",
    ):
        ContextWindow()(f, g, ids=10 * torch.arange(10))
    with pytest.raises(ValueError, match="window must be an integer of at least 1, got 0"):
        ContextWindow(window=0)
    with pytest.raises(ValueError, match="one integer for each of the 10 rows"):
        ContextWindow()(f, g, ids=IDS[:4])
    with pytest.raises(ValueError, match="gather must be"):
        ContextWindow(gather=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has no negative"):
        Objective(temperature=1.0)(ContextWindow(window=100)(f, g, ids=IDS))
