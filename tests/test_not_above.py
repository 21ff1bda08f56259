"""Negatives that a guide's similarity decides: the loss written out row by row, and equal in every way."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tammes import (
    BCL,
    Contrast,
    Coupling,
    Debias,
    Hard,
    Hinge,
    InfoNCE,
    NotAbove,
    Objective,
    Pairs,
    Queue,
    Sigmoid,
    Subset,
    SupCon,
    Transport,
    TwoTowers,
    Uniform,
)
from tammes.reduce import Dense, Engine, Tiled
from test_group import Threads, batch, in_threads, part

B = 9


def rows(seed: int, width: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2 * B, width, dtype=torch.float64, generator=generator)


def kept(guide: Tensor, margin: float) -> Tensor:
    """`(2B, 2B)` true where a row is a negative of an anchor."""
    g = functional.normalize(guide, dim=1)
    cosine = g @ g.T
    mask = torch.zeros(2 * B, 2 * B, dtype=torch.bool)
    for i in range(2 * B):
        positive = cosine[i, (i + B) % (2 * B)]
        others = [j for j in range(2 * B) if j % B != i % B]
        allowed = [j for j in others if cosine[i, j] <= positive - margin * positive.abs()]
        mask[i, allowed or [min(others, key=lambda j: float(cosine[i, j]))]] = True
    return mask


def infonce(z: Tensor, mask: Tensor, temperature: float, beta: float) -> Tensor:
    z = functional.normalize(z, dim=1)
    logit = z @ z.T / temperature
    losses = []
    for i in range(2 * B):
        negative = logit[i, mask[i]]
        weights = torch.softmax(beta * negative, dim=0)
        positive = logit[i, (i + B) % (2 * B)]
        total = len(negative) * (weights * negative.exp()).sum()
        losses.append(torch.log(positive.exp() + total) - positive)
    return torch.stack(losses).mean()


@pytest.mark.parametrize("margin", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("guided", [True, False])
@pytest.mark.parametrize("engine", [None, Dense(), Tiled(side=4)])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_infonce_over_the_rows_below_the_positive(
    margin: float, guided: bool, engine: Engine | None, seed: int
) -> None:
    z, g = rows(seed, 5), rows(seed + 100, 3)
    mask = kept(g if guided else z, margin)
    objective = Objective(
        temperature=0.4,
        coupling=Hard(beta=0.7),
        selection=NotAbove(margin=margin, guide=3 if guided else 0),
        engine=engine,
    )
    ours, theirs = z.clone().requires_grad_(), z.clone().requires_grad_()
    given = torch.cat([ours, g], dim=1) if guided else ours
    loss, expected = objective(given[:B], given[B:]), infonce(theirs, mask, 0.4, 0.7)
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=0)
    assert objective.last["negatives"] == mask.sum(dim=1).double().mean()
    assert torch.equal(objective.weights(given[:B], given[B:]) > 0, mask)
    loss.backward()
    expected.backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(
    ("contrast", "coupling"),
    [
        (InfoNCE(), Uniform()),
        (BCL(), Hard(beta=2.0)),
        (Hinge(), Uniform()),
        (Sigmoid(bias=-1.0), Uniform()),
        (SupCon(), Transport(epsilon=0.5)),
    ],
)
def test_every_engine_has_the_same_loss_and_gradient(contrast: Contrast, coupling: Coupling) -> None:
    found = []
    for engine in (Dense(), Tiled(side=4), Tiled()):
        z = rows(5, 4).requires_grad_()
        objective = Objective(
            temperature=0.5,
            coupling=coupling,
            contrast=contrast,
            selection=NotAbove(margin=0.1),
            engine=engine,
        )
        loss = objective(z[:B], z[B:], ids=torch.arange(B) % 5)
        loss.backward()
        found.append((loss.detach(), z.grad))
    for each in found[1:]:
        torch.testing.assert_close(each, found[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_processes_have_the_loss_of_one(seed: int) -> None:
    whole = batch(6, seed=seed)
    guide = torch.randn(12, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    whole = dataclasses.replace(whole, anchors=torch.cat([whole.anchors.detach(), guide], dim=1))
    objective = Objective(temperature=0.5, selection=NotAbove(margin=0.2, guide=2))

    def own(group: Threads) -> Tensor:
        return objective(part(whole, torch.arange(12)[group.place :: 2], group))

    for each in in_threads(2, own):
        torch.testing.assert_close(each, objective(whole), rtol=1e-10, atol=0)


def test_two_towers_and_a_queue_carry_the_guide_with_the_rows() -> None:
    z, g = rows(7, 5), rows(8, 3)
    g[B:] = g[:B] + 0.8 * g[B:]
    objective = Objective(temperature=0.4, selection=NotAbove(guide=3))
    both = torch.cat([z, g], dim=1)
    pairs = TwoTowers()(both[:B], both[B:])
    q, d = functional.normalize(g[:B], dim=1), functional.normalize(g[B:], dim=1)
    cosine = q @ d.T
    mask = cosine > cosine.diagonal()[:, None]
    logit = functional.normalize(z[:B], dim=1) @ functional.normalize(z[B:], dim=1).T / 0.4
    assert mask.sum() > 0
    assert mask.sum(dim=1).max() < B - 1  # else one would be kept
    expected = functional.cross_entropy(logit.masked_fill(mask, -torch.inf), torch.arange(B))
    torch.testing.assert_close(objective(pairs), expected, rtol=1e-10, atol=0)
    queue = Queue(size=20, dim=8).double()
    first = queue(both[:B], both[B:])
    torch.testing.assert_close(objective(first), expected, rtol=1e-10, atol=0)


def test_duplicates_of_the_positive_are_kept_without_a_margin_and_go_with_one() -> None:
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(8, 5, generator=generator)
    view_a, view_b = z + 0.1 * torch.randn(8, 5, generator=generator), z.repeat(1, 1)
    view_b[1] = view_b[0]  # as similar to anchor 0 as its positive, whatever the rounding
    for engine in (Dense(), Tiled(side=3), Tiled()):
        for margin, expected in ((0.0, True), (0.05, False)):
            selection = NotAbove(margin=margin)
            objective = Objective(temperature=0.5, selection=selection, engine=engine)
            assert bool(objective.weights(view_a, view_b)[0, 9] > 0) is expected


def test_all_candidates_above_leave_the_least_similar_one() -> None:
    anchor, positive = torch.tensor([[1.0, 0.0]]), torch.tensor([[-1.0, 0.1]])
    others = torch.tensor([[1.0, 0.2], [0.0, 1.0], [0.5, 0.5]])
    pairs = Pairs(
        anchors=anchor,
        ids=torch.tensor([0]),
        candidates=torch.cat([positive, others]),
        candidate_ids=torch.arange(4),
    )
    weights = Objective(temperature=0.5, selection=NotAbove()).weights(pairs)
    assert weights.tolist() == [[0.0, 0.0, 1.0, 0.0]]


def test_a_transport_plan_is_fitted_to_all_and_cut_to_the_kept() -> None:
    z = rows(3, 4)
    transport = Transport(epsilon=0.5)
    plan = Objective(temperature=0.5, coupling=transport).weights(z[:B], z[B:])
    objective = Objective(temperature=0.5, coupling=transport, selection=NotAbove(margin=0.2))
    cut = plan * kept(z, 0.2)
    torch.testing.assert_close(
        objective.weights(z[:B], z[B:]), cut / cut.sum(dim=1, keepdim=True), rtol=1e-9, atol=0
    )


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="margin"):
        NotAbove(margin=1.0)
    with pytest.raises(ValueError, match="guide"):
        NotAbove(guide=-1)
    with pytest.raises(ValueError, match="drawn among"):
        Subset(k=2, among=NotAbove())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="true ones"):
        Objective(temperature=0.5, selection=NotAbove(), correction=Debias(class_prior=0.1))
    with pytest.raises(ValueError, match="only 5"):
        Objective(temperature=0.5, selection=NotAbove(guide=5))(rows(0, 5)[:B], rows(0, 5)[B:])
    given = torch.cat([rows(0, 5), torch.zeros(2 * B, 2)], dim=1)
    with pytest.raises(ValueError, match=r"first the guide's anchor row 0"):
        Objective(temperature=0.5, selection=NotAbove(guide=2))(given[:B], given[B:])
