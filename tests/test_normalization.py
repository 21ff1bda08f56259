"""Embeddings brought to unit length: the value, the first derivative, and no second one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import tammes
from tammes.normalization import prepared


def at_unit_length(rows: Tensor) -> Tensor:
    return prepared(rows, normalize=True, name=str).in_graph()


def test_it_is_a_division_by_the_length() -> None:
    rows = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(at_unit_length(rows), torch.nn.functional.normalize(rows, dim=1))
    assert torch.autograd.gradcheck(at_unit_length, (rows,))


def test_a_second_derivative_is_refused() -> None:
    rows = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(at_unit_length(rows).pow(3).sum(), rows, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives of an objective are not available"):
        torch.autograd.grad(gradient.square().sum(), rows)


def test_numbers_of_a_call_are_those_before_a_step_in_place() -> None:
    objective = tammes.recipes.logistic()
    points, others = torch.nn.Parameter(torch.randn(6, 3)), torch.randn(6, 3)
    objective(tammes.Pairs.aligned(points, others)).backward()
    expected = float((points.detach() * others).sum(1).mean())
    torch.optim.SGD([points], 0.5).step()
    assert objective.last["positive_similarity"] == pytest.approx(expected, rel=1e-5)
