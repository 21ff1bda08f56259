"""Objectives in compiled steps: one break of the graph, and the numbers of a step that is not compiled."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import tammes
from tammes import recipes

OBJECTIVES: dict[str, Callable[..., Tensor]] = {
    "simclr": recipes.simclr(temperature=0.5),
    "hcl": recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
    "hcl_ot": recipes.hcl_ot(temperature=0.5, epsilon=0.3),
    "module": recipes.simclr(temperature=0.5).module(temperature=tammes.LearnedTemperature(initial=0.2)),
}

# Where a graph goes on after a break, the compiler looks at `.grad` of the tensors that it is given.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")


class Step(nn.Module):
    """Loss of a small encoder, with work before and after the objective."""

    def __init__(self, objective: Callable[..., Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
        self.objective = objective

    def forward(self, view_a: Tensor, view_b: Tensor) -> Tensor:
        return 2 * self.objective(self.encoder(view_a), self.encoder(view_b))


def views(batch: int = 12) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(batch, 6, generator=generator)
    return a, a + 0.1 * torch.randn(batch, 6, generator=generator)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_graph_breaks_once(name: str) -> None:
    torch._dynamo.reset()
    explained = torch._dynamo.explain(Step(OBJECTIVES[name]))(*views())
    # The learned temperature of a module is a small graph before the objective.
    assert explained.graph_break_count == (2 if name == "module" else 1)
    for reason in explained.break_reasons:
        assert "an objective is evaluated between two graphs" in str(reason)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_value_and_gradient_are_those_of_a_plain_step(name: str) -> None:
    torch._dynamo.reset()
    step = Step(OBJECTIVES[name])
    compiled = torch.compile(step, backend="aot_eager")
    for batch in (12, 7):  # another size compiles the encoder anew, and not the objective
        found, expected = compiled(*views(batch)), step(*views(batch))
        torch.testing.assert_close(found, expected)
        parameters = list(step.parameters())
        for ours, theirs in zip(
            torch.autograd.grad(found, parameters), torch.autograd.grad(expected, parameters), strict=True
        ):
            torch.testing.assert_close(ours, theirs)


def test_a_learned_bias_too() -> None:
    torch._dynamo.reset()
    bias = nn.Parameter(torch.tensor(-3.0))
    objective = recipes.sigmoid(temperature=0.5).module(bias=bias)
    step = torch.compile(Step(objective), backend="aot_eager")
    step(*views()).backward()
    found, bias.grad = bias.grad, None
    Step(objective)(*views()).backward()
    torch.testing.assert_close(found, bias.grad)


def test_errors_are_the_objectives() -> None:
    torch._dynamo.reset()
    step = torch.compile(Step(recipes.simclr(temperature=0.5)), backend="aot_eager")
    a, b = views()
    with pytest.raises(ValueError, match="embeddings hold NaN"):
        step(a, b * torch.nan)
