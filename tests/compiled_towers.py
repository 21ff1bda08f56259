"""Compare the loss of queries and documents within a compiled graph with that of a plain call.

A program of `test_compiled.py`; it prints the number of comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import torch
from torch import Tensor

from tammes import LearnedTemperature, Matryoshka, recipes
from tammes.objective import Objective
from tammes.reduce import Dense
from tammes.sources import TwoTowers

OBJECTIVES = (
    recipes.simclr(temperature=0.5),
    recipes.hcl(temperature=0.05, beta=1.0, class_prior=0.1),
    replace(recipes.simclr(temperature=1.0), normalize=False),
)


def compare(plain: Objective | Matryoshka, source: TwoTowers, rows: list[Tensor]) -> None:
    """Raise AssertionError unless value and gradients are equal, in one graph."""
    torch._dynamo.reset()
    whole = replace(plain, engine=Dense()) if isinstance(plain, Objective) else plain
    compiled = torch.compile(lambda *rows: whole(source(*rows)), backend="aot_eager", fullgraph=True)
    found, expected = compiled(*rows), plain(source(*rows))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found, rows), torch.autograd.grad(expected, rows))


def compare_with_a_learned_temperature(rows: list[Tensor]) -> None:
    """Raise AssertionError unless the gradient of a learned temperature is equal, from half precision."""
    torch._dynamo.reset()
    found = []
    for engine in (Dense(), None):
        learned = LearnedTemperature(initial=0.2)
        loss = replace(OBJECTIVES[1], engine=engine).module(temperature=learned)

        def step(queries: Tensor, documents: Tensor, loss: Callable[..., Tensor] = loss) -> Tensor:
            return loss(TwoTowers()(queries, documents))

        run = step if engine is None else torch.compile(step, backend="aot_eager", fullgraph=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            run(*rows).backward()
        found.append([each.grad for each in learned.parameters()])
    torch.testing.assert_close(*found)


def keeps_the_digits_of_a_small_loss() -> None:
    """Raise AssertionError unless a loss of 2e-9 has its digits in float32: log(1 + e^-20)."""
    torch._dynamo.reset()
    sharp = replace(recipes.simclr(temperature=0.05), engine=Dense())
    compiled = torch.compile(lambda *rows: sharp(TwoTowers()(*rows)), backend="aot_eager", fullgraph=True)
    found = compiled(torch.eye(2), torch.eye(2))
    torch.testing.assert_close(found.item(), math.log1p(math.exp(-20)), rtol=1e-4, atol=0.0)


if __name__ == "__main__":
    generator = torch.Generator().manual_seed(0)
    cases = list(product(OBJECTIVES, (False, True), ((), ((7, 3, 4),))))
    for objective, symmetric, hard_negatives in cases:
        shapes = ((7, 4), (7, 4), *hard_negatives)
        made = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
        compare(objective, TwoTowers(symmetric=symmetric), [each.requires_grad_() for each in made])
    compare_with_a_learned_temperature([torch.randn(7, 4).bfloat16() for _ in range(2)])
    lengths = Matryoshka(objective=replace(OBJECTIVES[0], engine=Dense()), dims=(2, 4))
    compare(lengths, TwoTowers(symmetric=True), [torch.randn(7, 4).double().requires_grad_() for _ in "ab"])
    keeps_the_digits_of_a_small_loss()
    print(len(cases))
