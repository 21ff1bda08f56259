"""The study's loss is that of Definition 1, averaged over both sentences of a pair as in appendix D.1."""

import dataclasses

import pytest
import torch
from torch import Tensor

from tammes import recipes
from tammes.objective import Objective
from tammes.papers.ash.text_training import TextRun, objective
from tammes.reduce import Dense, Tiled
from tammes.selection import All, OtherLabels, Subset

PAIRS, DIM, K = 9, 5, 6
LABELS = torch.tensor([0, 0, 1, 1, 1, 2, 3, 4, 5])


def views() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    a, b = (1.3 * torch.randn(PAIRS, DIM, generator=generator, dtype=torch.float64) for _ in range(2))
    return a.requires_grad_(), b.requires_grad_()


def logistic(v: Tensor) -> Tensor:
    """l(v) = log(1 + sum_i exp(-v_i))."""
    return torch.log1p(torch.exp(-v).sum())


def hinge(v: Tensor) -> Tensor:
    """l(v) = max(0, 1 + max_i(-v_i))."""
    return torch.clamp(1 + (-v).max(), min=0)


def definition_1(ell, view_a: Tensor, view_b: Tensor, negatives: list[list[int]]) -> Tensor:
    """Anchor by anchor as it is printed: l of f(x) . (f(x+) - f(x_i^-)), both sentences of a pair as x."""
    f = torch.cat([view_a, view_b])
    losses = []
    for x in range(2 * PAIRS):
        positive = (x + PAIRS) % (2 * PAIRS)
        v = torch.stack([f[x] @ (f[positive] - f[negative]) for negative in negatives[x]])
        losses.append(ell(v))
    return torch.stack(losses).mean()  # 1/(2B) over the anchors of both views


def everyone_else() -> list[list[int]]:
    """C_i: all rows of other pairs."""
    return [[j for j in range(2 * PAIRS) if j % PAIRS != x % PAIRS] for x in range(2 * PAIRS)]


def drawn_by(objective: Objective, seed: int) -> list[list[int]]:
    """Who is drawn for each anchor: those with a weight."""
    a, b = views()
    generator = torch.Generator().manual_seed(seed)
    weights = objective.weights(a, b, labels=LABELS, generator=generator)
    return [row.nonzero().flatten().tolist() for row in weights]


def assert_same(ours: Tensor, theirs: Tensor, inputs: tuple[Tensor, Tensor]) -> None:
    """In value and gradient."""
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-9, abs=1e-9)
    for mine, expected in zip(
        torch.autograd.grad(ours, inputs), torch.autograd.grad(theirs, inputs), strict=True
    ):
        torch.testing.assert_close(mine, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("recipe", "ell"), [(recipes.logistic, logistic), (recipes.hinge, hinge)])
def test_with_all_negatives_the_loss_is_definition_1(recipe, ell):
    inputs = views()
    assert_same(recipe(selection=All())(*inputs), definition_1(ell, *inputs, everyone_else()), inputs)


@pytest.mark.parametrize("engine", [Dense(), Tiled(side=4)], ids=["dense", "tiled"])
@pytest.mark.parametrize("among", [All(), OtherLabels()], ids=["collisions", "true negatives"])
@pytest.mark.parametrize(("recipe", "ell"), [(recipes.logistic, logistic), (recipes.hinge, hinge)])
def test_with_k_negatives_the_loss_is_definition_1_on_the_same_ones(recipe, ell, among, engine):
    ours = dataclasses.replace(recipe(selection=Subset(k=K, among=among)), engine=engine)
    drawn = drawn_by(recipes.logistic(selection=Subset(k=K, among=among)), seed=7)
    assert [len(row) for row in drawn] == [K] * 2 * PAIRS
    assert all(j in others for row, others in zip(drawn, everyone_else(), strict=True) for j in row)
    if among == OtherLabels():
        labels = LABELS.repeat(2)
        assert all(labels[j] != labels[x] for x, row in enumerate(drawn) for j in row)
    inputs = views()
    loss = ours(*inputs, labels=LABELS, generator=torch.Generator().manual_seed(7))
    assert_same(loss, definition_1(ell, *inputs, drawn), inputs)


def test_appendix_d1_as_printed_leaves_the_positive_out_and_is_not_followed():
    inputs = views()
    ours = recipes.logistic()(*inputs)
    f = torch.cat(inputs)
    printed = torch.stack(
        [
            -torch.log(
                torch.exp(f[x] @ f[(x + PAIRS) % (2 * PAIRS)])
                / sum(torch.exp(f[x] @ f[j]) for j in everyone_else()[x])
            )
            for x in range(2 * PAIRS)
        ]
    ).mean()
    assert abs(ours.item() - printed.item()) > 1e-3


def cell(**settings) -> TextRun:
    usual = {"corpus": "", "digest": "", "classes": 5, "batch": PAIRS, "negatives": K, "collisions": True}
    usual |= {"seed": 0, "dim": DIM, "epochs": 1, "linear_epochs": 1, "early": 0}
    return TextRun(**(usual | settings))


def test_the_study_trains_by_it():
    assert objective(cell()) == recipes.logistic(selection=Subset(k=K))
    assert objective(cell(collisions=False)) == recipes.logistic(selection=Subset(k=K, among=OtherLabels()))
    assert objective(cell(negatives=2 * PAIRS - 2)) == recipes.logistic()


@pytest.mark.parametrize("k", [0, 2 * PAIRS - 1])
def test_k_that_a_batch_does_not_have_is_refused(k):
    with pytest.raises(ValueError, match=f"expected from 1 to 16 negatives.*got {k}"):
        objective(cell(negatives=k))
