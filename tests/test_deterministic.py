"""Recipes under torch's deterministic algorithms, which refuse operations whose order may vary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor

import tammes
from tammes import Objective, Pairs, TwoTowers, recipes

RECIPES: dict[str, Objective] = {
    "simclr": recipes.simclr(temperature=0.5),
    "dcl": recipes.dcl(temperature=0.5, class_prior=0.1),
    "hcl": recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
    "hcl_ot": recipes.hcl_ot(temperature=0.5, epsilon=0.3),
    "ifm": recipes.ifm(temperature=0.5, epsilon=0.1),
    "mochi": recipes.mochi(temperature=0.5, hardest=8),
    "decoupled": recipes.decoupled(temperature=0.5),
    "supcon": recipes.supcon(temperature=0.5),
    "sigmoid": recipes.sigmoid(),
    "jsd": recipes.jsd(beta=1.0),
    "logistic": recipes.logistic(),
    "bcl": recipes.bcl(temperature=0.5),
    "triplet": recipes.triplet(margin=0.5),
    "hinge": recipes.hinge(),
}


@contextmanager
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def queued(first: Tensor, second: Tensor) -> Pairs:
    queue = tammes.Queue(size=8, dim=first.shape[1], dtype=first.dtype)
    queue(first[:8].detach(), second[:8])
    queue.eval()
    return queue(first, second, ids=torch.arange(len(first)) + 8)


SOURCES: tuple[Callable[[Tensor, Tensor], Pairs], ...] = (
    tammes.InBatch(),
    TwoTowers(),
    TwoTowers(symmetric=True),
    queued,
)


def test_every_recipe_is_here() -> None:
    assert set(RECIPES) == set(recipes.__all__)


@pytest.mark.parametrize("count", [16, 300], ids=["small", "tiled"])
@pytest.mark.parametrize("name", RECIPES)
def test_the_gradient_is_that_of_other_algorithms(name: str, count: int) -> None:
    first, second = torch.randn(2, count, 8, dtype=torch.double)

    def gradient(source: Callable[[Tensor, Tensor], Pairs]) -> Tensor:
        given = first.clone().requires_grad_()
        loss = RECIPES[name](source(given, second), generator=torch.Generator().manual_seed(0))
        (found,) = torch.autograd.grad(loss, given)
        return found

    for source in SOURCES:
        with deterministic():
            found = gradient(source)
        torch.testing.assert_close(found, gradient(source), rtol=1e-12, atol=1e-14)
