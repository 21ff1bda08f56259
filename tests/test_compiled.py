"""Objectives in compiled steps: one break of the graph or none, and the numbers of a plain step."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import tammes
from tammes import recipes
from tammes.contrast import InfoNCE
from tammes.coupling import Hard
from tammes.reduce import Dense
from tammes.sources import TwoTowers

OBJECTIVES: dict[str, Callable[..., Tensor]] = {
    "simclr": recipes.simclr(temperature=0.5),
    "hcl": recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
    "hcl_ot": recipes.hcl_ot(temperature=0.5, epsilon=0.3),
    "module": recipes.simclr(temperature=0.5).module(temperature=tammes.LearnedTemperature(initial=0.2)),
}

# Where a graph goes on after a break, the compiler looks at `.grad` of the tensors that it is given.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")


@pytest.mark.parametrize("name", ["simclr", "hcl"])
def test_torch_func_transforms_the_dense_loss(name: str) -> None:
    objective = OBJECTIVES[name]
    assert isinstance(objective, tammes.Objective)
    small = replace(objective, engine=Dense())
    first, second = (view.double() for view in views(5))
    given = first.clone().requires_grad_()
    (expected,) = torch.autograd.grad(objective(given, second), given)
    torch.testing.assert_close(torch.func.grad(small)(first, second), expected, rtol=1e-12, atol=1e-12)
    pairs = torch.func.grad(lambda a: small(tammes.Pairs.aligned(a, second)))(first)
    (of_pairs,) = torch.autograd.grad(objective(tammes.Pairs.aligned(given, second)), given)
    torch.testing.assert_close(pairs, of_pairs, rtol=1e-12, atol=1e-12)

    along = torch.randn_like(first)
    step = 1e-6 * along
    change = torch.func.grad(small)(first + step, second) - torch.func.grad(small)(first - step, second)
    hessian = torch.func.hessian(small)(first, second)
    torch.testing.assert_close(
        torch.einsum("ijkl, kl -> ij", hessian, along), change / 2e-6, rtol=1e-5, atol=1e-7
    )
    several = torch.stack([first, second, first + second])
    each = torch.func.vmap(small, in_dims=(0, None))(several, second)
    torch.testing.assert_close(each, torch.stack([small(one, second) for one in several]))


def test_torch_func_transforms_towers_and_a_learned_temperature() -> None:
    first, second = (view.double() for view in views(5))
    small = replace(recipes.simclr(temperature=0.5), engine=Dense())

    def towers(a: Tensor) -> Tensor:
        return small(TwoTowers()(a, second))

    several = torch.stack([first, second])
    torch.testing.assert_close(torch.func.vmap(towers)(several), torch.stack([towers(a) for a in several]))

    learned = tammes.LearnedTemperature(initial=0.5, lower_bound=0.1)

    def at(log_scale: Tensor) -> Tensor:
        temperature = torch.func.functional_call(learned, {"log_scale": log_scale}, ())
        return small(first, second, temperature=temperature)

    scales = torch.tensor([0.3, 1.2, 5.0], dtype=torch.double)
    expected = torch.stack([at(scale.clone()) for scale in scales])  # outside, the last is set to the edge
    torch.testing.assert_close(torch.func.vmap(at)(scales), expected)
    torch.testing.assert_close(
        torch.func.grad(at)(scales[1]),
        (at(scales[1] + 1e-6) - at(scales[1] - 1e-6)) / 2e-6,
        rtol=1e-6,
        atol=0,
    )
    assert torch.func.grad(at)(scales[2]) != 0  # as at the edge
    assert scales.tolist() == [0.3, 1.2, 5.0]


def test_other_losses_say_what_torch_func_transforms() -> None:
    first, second = views(5)
    for objective in (
        OBJECTIVES["simclr"],
        replace(recipes.hcl_ot(temperature=0.5, epsilon=0.3), engine=Dense()),
    ):
        with pytest.raises(ValueError, match=r"softmax losses of the dense engine alone.*or plain backward"):
            torch.func.grad(objective)(first, second)
    small = replace(recipes.simclr(temperature=0.5), engine=Dense())
    with pytest.raises(ValueError, match=r"temperature must be a tensor, got 0\.5"):
        torch.func.grad(lambda a: small(a, second, temperature=0.5))(first)  # type: ignore[arg-type]


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


WHOLE = {
    "simclr": recipes.simclr(temperature=0.5),
    "sharp": recipes.simclr(temperature=0.005),
    "dcl": recipes.dcl(temperature=0.5, class_prior=0.1),
    "on the floor": recipes.dcl(temperature=0.5, class_prior=0.9),
    "hcl": recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
    "sharp hcl": recipes.hcl(temperature=0.05, beta=1.0, class_prior=0.1),
    "hcl of another beta": recipes.hcl(temperature=0.5, beta=0.5, class_prior=0.1),
    "constant weights": replace(
        recipes.hcl(temperature=0.2, beta=2.0, class_prior=0.1), coupling=Hard(beta=2.0, detach=True)
    ),
    "clipped weights": replace(recipes.simclr(temperature=0.2), coupling=Hard(beta=2.0, clip=1.0)),
    "limit": replace(recipes.simclr(temperature=0.5), contrast=InfoNCE(limit=True)),
    "weight": replace(recipes.simclr(temperature=0.5), contrast=InfoNCE(weight=7.0)),
    "raw products": replace(recipes.simclr(temperature=1.0), normalize=False),
    "logistic": recipes.logistic(),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_dense_softmax_loss_is_a_part_of_the_graph(name: str) -> None:
    torch._dynamo.reset()
    step, whole = Step(WHOLE[name]).double(), Step(replace(WHOLE[name], engine=Dense())).double()
    compiled = torch.compile(whole, backend="aot_eager", fullgraph=True)
    for batch in (12, 7):
        a, b = (view.double() for view in views(batch))
        found, expected = compiled(a, b), step(a, b)
        torch.testing.assert_close(found, expected)
        gradients = torch.autograd.grad(found, list(whole.parameters()))
        torch.testing.assert_close(gradients, torch.autograd.grad(expected, list(step.parameters())))


def test_so_is_that_of_queries_and_their_documents() -> None:
    # In a process of its own: the compiler does not trace classes whose shapes are checked.
    found = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("compiled_towers.py"))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.split() == ["12"]


@pytest.mark.parametrize(
    "pairs_of",
    [
        lambda queries, documents: TwoTowers()(queries, documents, ids=torch.arange(7) // 2),
        lambda queries, documents: TwoTowers(same_tower=True)(queries, documents),
    ],
    ids=["ids", "same tower"],
)
def test_other_pairs_break_the_graph_and_keep_their_loss(
    pairs_of: Callable[[Tensor, Tensor], tammes.Pairs],
) -> None:
    torch._dynamo.reset()
    objective = replace(recipes.simclr(temperature=0.5), engine=Dense())

    def step(*rows: Tensor) -> Tensor:
        return objective(pairs_of(*rows))

    rows = torch.randn(7, 4), torch.randn(7, 4)
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(step, backend="aot_eager", fullgraph=True)(*rows)
    torch._dynamo.reset()
    compiled = torch.compile(step, backend="aot_eager")
    torch.testing.assert_close(compiled(*rows), objective(pairs_of(*rows)))


def test_with_a_learned_temperature_it_is_one_too() -> None:
    torch._dynamo.reset()
    found = []
    for engine in (Dense(), None):
        learned = tammes.LearnedTemperature(initial=0.2)
        objective = replace(recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1), engine=engine)
        step = Step(objective.module(temperature=learned))
        run = step if engine is None else torch.compile(step, backend="aot_eager", fullgraph=True)
        run(*views()).backward()
        found.append([each.grad for each in step.parameters()])
    torch.testing.assert_close(*found)


def test_half_precision_is_evaluated_in_float32() -> None:
    torch._dynamo.reset()
    objective = recipes.simclr(temperature=0.5)
    a, b = (view.bfloat16() for view in views())
    compiled = torch.compile(replace(objective, engine=Dense()), backend="aot_eager", fullgraph=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = compiled(a, b)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, objective(a, b))


OTHER_PARTS = {
    "transport": recipes.hcl_ot(temperature=0.5, epsilon=0.3),
    "sigmoid": recipes.sigmoid(temperature=0.5),
    "perturbed": recipes.ifm(temperature=0.5, epsilon=0.1),
}


@pytest.mark.parametrize("name", OTHER_PARTS)
def test_other_parts_of_a_dense_objective_break_the_graph_as_before(name: str) -> None:
    torch._dynamo.reset()
    objective = replace(OTHER_PARTS[name], engine=Dense())
    explained = torch._dynamo.explain(objective)(*views())
    assert explained.graph_break_count <= 1
    torch.testing.assert_close(torch.compile(objective, backend="aot_eager")(*views()), objective(*views()))


@pytest.mark.parametrize(("a", "b", "words"), [((3, 4), (2, 4), "views"), ((1, 4), (1, 4), "negative")])
def test_a_dense_objective_refuses_wrong_views_when_compiled(a: tuple, b: tuple, words: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(replace(recipes.simclr(temperature=0.5), engine=Dense()), backend="aot_eager")
    with pytest.raises(ValueError, match=words):
        compiled(torch.randn(a), torch.randn(b))


def test_a_part_of_the_graph_checks_nothing_and_records_nothing() -> None:
    torch._dynamo.reset()
    objective = replace(recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1), engine=Dense())
    compiled = torch.compile(objective, backend="aot_eager", fullgraph=True)
    a, b = views()
    objective(a, b)
    before = objective.last["loss"]
    assert compiled(b, a + 1).isfinite()
    assert objective.last["loss"] == before
    for wrong in (torch.nan, 0.0):
        assert compiled(torch.cat([wrong * a[:1], a[1:]]), b).isnan()
