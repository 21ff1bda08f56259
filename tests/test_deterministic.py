"""Losses under torch's deterministic algorithms, which refuse operations whose order may vary."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

import tammes
from objective_cases import name_of
from tammes import TwoTowers, recipes

RECIPES = (
    recipes.simclr(temperature=0.5),
    recipes.dcl(temperature=0.5, class_prior=0.1),
    recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
    recipes.hcl_ot(temperature=0.5, epsilon=0.3),
    recipes.ifm(temperature=0.5, epsilon=0.1),
    recipes.mochi(temperature=0.5, hardest=8),
    recipes.supcon(temperature=0.5),
    recipes.sigmoid(),
    recipes.jsd(beta=1.0),
    recipes.logistic(),
    recipes.bcl(temperature=0.5),
    recipes.triplet(margin=0.5),
    recipes.hinge(),
)


@pytest.fixture(autouse=True)
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("count", [16, 300], ids=["small", "tiled"])
@pytest.mark.parametrize("objective", RECIPES, ids=name_of)
def test_the_gradient_is_that_of_other_algorithms(objective: tammes.Objective, count: int) -> None:
    torch.manual_seed(0)
    first, second = torch.randn(2, count, 8, dtype=torch.double)
    queue = tammes.Queue(size=8, dim=8, dtype=torch.double)
    queue(first[:8], second[:8])
    queue.eval()
    for source in (tammes.InBatch(), TwoTowers(), TwoTowers(symmetric=True), queue):
        ids = torch.arange(count) + 8 if source is queue else None

        def gradient(source=source, ids=ids) -> Tensor:  # type: ignore[no-untyped-def]
            given = first.clone().requires_grad_()
            generator = torch.Generator().manual_seed(0)
            loss = objective(source(given, second, ids=ids), generator=generator)
            (found,) = torch.autograd.grad(loss, given)
            return found

        found = gradient()
        torch.use_deterministic_algorithms(False)
        expected = gradient()
        torch.use_deterministic_algorithms(True)
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-14)
