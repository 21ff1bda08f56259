"""The fields of an objective, and what it tells of its last call."""

from __future__ import annotations

import copy
import dataclasses
import gc
import math
import pickle
import weakref

import pytest
import torch
from torch import Tensor

import tammes
from objective_cases import good
from tammes import recipes
from tammes.reduce import Tiled


def test_replace_and_repr() -> None:
    objective = recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)
    raw = dataclasses.replace(objective, normalize=False)
    assert raw.normalize is False
    assert raw.coupling is objective.coupling
    assert raw.last is not objective.last
    assert objective == recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)
    assert "Hard(beta=1.0" in repr(objective)
    assert "Debias(class_prior=0.1" in repr(objective)
    a = torch.nn.functional.normalize(good(), dim=1)
    b = torch.nn.functional.normalize(good(), dim=1)
    torch.testing.assert_close(raw(a, b), objective(a, b))


def test_perturbation_grows_with_the_length_of_raw_embeddings() -> None:
    """For embeddings that are not unit vectors the worst case in the ball shifts by epsilon |v|."""
    a, b = good().double(), good().double()
    objective = dataclasses.replace(
        recipes.ifm(temperature=1.0, epsilon=0.2, alpha=1e9), normalize=False, engine=Tiled(side=3)
    )
    z = torch.cat([a, b])
    identity = torch.arange(4).repeat(2)
    shift = 0.2 * z.norm(dim=1)
    s = z @ z.T
    g = (torch.exp(s + shift[:, None]) * (identity[:, None] != identity[None, :])).sum(1)
    positive = (z * z.roll(4, 0)).sum(1) - shift
    expected = torch.log1p(g / torch.exp(positive)).mean()
    torch.testing.assert_close(objective(a, b), expected, rtol=1e-7, atol=1e-7)


def test_last_tells_the_numbers_of_the_call() -> None:
    a, b = torch.randn(10, 4, dtype=torch.float64), torch.randn(10, 4, dtype=torch.float64)
    objective = tammes.Objective(
        temperature=0.5,
        coupling=tammes.Transport(epsilon=0.3),
        correction=tammes.Debias(class_prior=0.1),
    )
    assert dict(objective.last) == {}
    loss = objective(a, b)
    numbers = dict(objective.last)
    z = torch.nn.functional.normalize(torch.cat([a, b]), dim=1)
    weights = objective.weights(a, b)
    similarity = z @ z.T
    negative = weights > 0
    assert math.isclose(numbers["loss"], float(loss))
    assert math.isclose(numbers["positive_similarity"], float((z * z.roll(10, 0)).sum(1).mean()))
    assert math.isclose(numbers["negative_similarity"], float(similarity[negative].mean()), rel_tol=1e-9)
    weighted = float((weights * similarity).sum(1).mean())
    assert math.isclose(numbers["weighted_negative_similarity"], weighted, rel_tol=1e-6)
    effective = float((1 / weights.square().sum(1)).mean())
    assert math.isclose(numbers["effective_negatives"], effective, rel_tol=1e-6)
    assert numbers["negatives"] == 18
    assert 0 <= numbers["debias_floor_fraction"] <= 1
    assert numbers["sinkhorn_iterations"] >= 1
    assert numbers["sinkhorn_error"] <= 1e-5


def test_last_holds_no_graph() -> None:
    """What `last` keeps for later must not keep the encoder's activations alive."""

    class Doubling(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, kept):  # type: ignore[no-untyped-def]
            ctx.kept = kept
            return x * 2

        @staticmethod
        def backward(ctx, gradient):  # type: ignore[no-untyped-def]
            return gradient * 2, None

    def call() -> weakref.ref:
        activation = torch.zeros(3)
        view = Doubling.apply(torch.randn(6, 4, requires_grad=True), activation)
        objective(view, torch.randn(6, 4))
        return weakref.ref(activation)

    objective = recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)
    alive = call()
    gc.collect()
    assert alive() is None
    assert objective.last["effective_negatives"] > 0


def test_objectives_travel_between_processes() -> None:
    objective = recipes.hcl_ot(temperature=0.5, epsilon=0.3, class_prior=0.1)
    objective(good(), good())
    for copied in (pickle.loads(pickle.dumps(objective)), copy.deepcopy(objective)):
        assert copied == objective
        assert dict(copied.last) == {}


def test_uniform_negatives_count_fully() -> None:
    objective = recipes.simclr(temperature=0.5)
    objective(good(), good())
    assert math.isclose(objective.last["effective_negatives"], 6.0, rel_tol=1e-6)
    assert objective.last["negatives"] == 6.0


@pytest.mark.parametrize("selection", [tammes.All(), tammes.Subset(k=3)])
def test_what_is_kept_in_inference_mode_serves_training(selection: tammes.Selection) -> None:
    objective = tammes.Objective(temperature=0.5, selection=selection)
    views = [torch.randn(9, 4) for _ in range(3)]  # of a shape that no other test uses
    with torch.inference_mode():
        objective(*views, generator=torch.Generator().manual_seed(0))
    anchors = views[0].clone().requires_grad_()
    objective(anchors, *views[1:], generator=torch.Generator().manual_seed(0)).backward()
    assert anchors.grad is not None
    assert float(anchors.grad.norm()) > 0


def test_a_selection_of_ones_own_need_not_be_hashable() -> None:
    @dataclasses.dataclass  # not frozen, so not hashable
    class Ids(tammes.Selection):
        def keys(self, pairs: tammes.Pairs) -> tuple[Tensor, Tensor]:
            return pairs.ids, pairs.ids_of_candidates

    a, b = good(), good()
    own = tammes.Objective(temperature=0.5, selection=Ids())
    assert own(a, b) == tammes.Objective(temperature=0.5)(a, b)
