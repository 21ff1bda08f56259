"""The losses of labeled and of paired data, each against its formula written out anchor by anchor."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tammes import (
    Debias,
    FeatureModification,
    LearnedTemperature,
    Objective,
    Sigmoid,
    SupCon,
    TwoTowers,
    recipes,
)
from tammes.reduce import Dense, Tiled

TEMPERATURE = 0.3


@pytest.fixture
def rows() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(12, 5, dtype=torch.float64, generator=generator)


CLASSES = torch.tensor([0, 1, 2, 0, 1, 0])
"""Of six rows in two views: three classes of six, four and two rows."""


def terms(rows: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Of each anchor, the logits of its positives and those of its negatives."""
    z, labels = functional.normalize(rows, dim=1), CLASSES.repeat(2)
    logits = z @ z.T / TEMPERATURE
    found = []
    for i in range(len(z)):
        same = labels == labels[i]
        same[i] = False
        found.append((logits[i, same], logits[i, labels != labels[i]]))
    return found


def mean(losses: list[Tensor]) -> Tensor:
    return torch.stack(losses).mean()


def outside(positive: Tensor, negative: Tensor) -> Tensor:
    return torch.cat([positive, negative]).logsumexp(0) - positive.mean()


def inside(positive: Tensor, negative: Tensor) -> Tensor:
    return torch.cat([positive, negative]).logsumexp(0) - positive.exp().mean().log()


def sincere(positive: Tensor, negative: Tensor) -> Tensor:
    return torch.stack([torch.cat([each[None], negative]).logsumexp(0) - each for each in positive]).mean()


def decoupled(positive: Tensor, negative: Tensor) -> Tensor:
    return negative.logsumexp(0) - positive.mean() - math.log(len(negative))


@pytest.mark.parametrize(
    ("objective", "formula"),
    [
        (recipes.supcon(temperature=TEMPERATURE), outside),
        (recipes.supcon(temperature=TEMPERATURE, average="inside"), inside),
        (recipes.simclr(temperature=TEMPERATURE), sincere),
        (recipes.decoupled(temperature=TEMPERATURE), decoupled),
    ],
)
@pytest.mark.parametrize("engine", [None, Dense(), Tiled(side=4)])
def test_it_is_the_formula_of_its_paper(
    rows: Tensor, objective: Objective, formula: object, engine: object
) -> None:
    objective = Objective(temperature=TEMPERATURE, contrast=objective.contrast, engine=engine)  # type: ignore[arg-type]
    ours, theirs = rows.clone().requires_grad_(), rows.clone().requires_grad_()
    loss = objective(ours[:6], ours[6:], ids=CLASSES)
    expected = mean([formula(*each) for each in terms(theirs)])  # type: ignore[operator]
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=0)
    loss.backward()
    expected.backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("average", ["outside", "inside"])
def test_with_one_positive_supervised_contrast_is_infonce(rows: Tensor, average: str) -> None:
    supervised = Objective(
        temperature=TEMPERATURE,
        contrast=SupCon(average=average),  # type: ignore[arg-type]
        correction=Debias(class_prior=0.1),
    )
    plain = recipes.dcl(temperature=TEMPERATURE, class_prior=0.1)
    torch.testing.assert_close(supervised(rows[:6], rows[6:]), plain(rows[:6], rows[6:]), rtol=1e-12, atol=0)


def siglip(queries: Tensor, documents: Tensor, temperature: Tensor, bias: Tensor) -> Tensor:
    logits = (
        functional.normalize(queries, dim=1) @ functional.normalize(documents, dim=1).T / temperature + bias
    )
    signs = 2 * torch.eye(len(queries), dtype=logits.dtype) - 1
    return -functional.logsigmoid(signs * logits).sum() / len(queries)


def test_sigmoid_of_two_towers_is_that_of_its_paper_with_its_gradients(rows: Tensor) -> None:
    temperature = LearnedTemperature(initial=0.1).double()
    bias = nn.Parameter(torch.tensor(-3.0, dtype=torch.float64))
    ours = rows.clone().requires_grad_()
    objective = recipes.sigmoid()
    pairs = TwoTowers()(ours[:6], ours[6:])
    loss = objective(pairs, temperature=temperature(), bias=bias)
    loss.backward()
    theirs, other = rows.clone().requires_grad_(), LearnedTemperature(initial=0.1).double()
    other_bias = nn.Parameter(bias.detach().clone())
    expected = siglip(theirs[:6], theirs[6:], other(), other_bias)
    expected.backward()
    torch.testing.assert_close(loss, expected, rtol=1e-9, atol=0)
    for mine, its in ((ours, theirs), (bias, other_bias), (temperature.log_scale, other.log_scale)):
        torch.testing.assert_close(mine.grad, its.grad, rtol=1e-7, atol=1e-12)
    assert objective.last["loss"] == pytest.approx(expected.item(), rel=1e-9)


def test_the_module_of_the_sigmoid_trains_its_bias(rows: Tensor) -> None:
    bias = nn.Parameter(torch.tensor(-3.0, dtype=torch.float64))
    module = recipes.sigmoid().module(temperature=LearnedTemperature(initial=0.1), bias=bias)
    assert {name for name, _ in module.named_parameters()} == {"bias", "temperature.log_scale"}
    loss = module(rows[:6], rows[6:])
    expected = Objective(temperature=0.1, contrast=Sigmoid(bias=-3.0))(rows[:6], rows[6:])
    torch.testing.assert_close(loss, expected, rtol=1e-6, atol=0)
    loss.backward()
    assert float(bias.grad) != 0  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="only Sigmoid has one"):
        recipes.simclr(temperature=0.5).module(bias=bias)
    with pytest.raises(ValueError, match="bias must be"):
        recipes.sigmoid().module(bias=torch.zeros(2))  # type: ignore[arg-type]


def test_a_given_bias_is_the_one_of_the_contrast(rows: Tensor) -> None:
    fixed = Objective(temperature=0.2, contrast=Sigmoid(bias=-1.5), correction=Debias(class_prior=0.1))
    given = Objective(temperature=0.2, contrast=Sigmoid(), correction=Debias(class_prior=0.1))
    bias = torch.tensor(-1.5, dtype=torch.float64)
    expected = fixed(rows[:6], rows[6:])
    torch.testing.assert_close(given(rows[:6], rows[6:], bias=bias), expected, rtol=1e-12, atol=0)
    assert given.contrast == Sigmoid()


@pytest.mark.parametrize(
    ("bias", "words"),
    [
        (-1.0, "a tensor that holds one finite number"),
        (torch.tensor(torch.nan), "a tensor that holds one finite number"),
        (torch.zeros(2), "a tensor that holds one finite number"),
    ],
)
def test_another_bias_is_refused(rows: Tensor, bias: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        recipes.sigmoid()(rows[:6], rows[6:], bias=bias)  # type: ignore[arg-type]


def test_a_bias_belongs_to_the_sigmoid(rows: Tensor) -> None:
    with pytest.raises(ValueError, match="only Sigmoid has one"):
        recipes.simclr(temperature=0.5)(rows[:6], rows[6:], bias=torch.tensor(1.0))


def test_a_perturbation_needs_a_loss_that_falls_with_each_positive() -> None:
    moved = FeatureModification(epsilon=0.1)
    Objective(temperature=0.5, contrast=SupCon(average="inside"), perturbation=moved)
    with pytest.raises(ValueError, match="not the worst"):
        Objective(temperature=0.5, contrast=SupCon(), perturbation=moved)


@pytest.mark.parametrize("fields", [{"average": "mean"}, {"weight": 0.0}])
def test_other_fields_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        SupCon(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("fields", [{"bias": math.nan}, {"weight": -1.0}])
def test_other_fields_of_the_sigmoid_are_refused(fields: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Sigmoid(**fields)
