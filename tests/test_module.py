"""Objectives as modules: the same loss and gradient, and the state that hosts expect."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from torch import Tensor, nn

import tammes
from tammes.module import ObjectiveModule

VIEWS = torch.randn(2, 6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).unbind(0)
OBJECTIVES = [
    tammes.recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
    tammes.recipes.bcl(temperature=1.0, coupling=tammes.Transport(epsilon=0.5)),
    tammes.recipes.triplet(margin=0.5),
]


def gradients(loss: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss, inputs)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: type(objective.contrast).__name__)
def test_a_module_has_the_loss_the_gradient_and_the_numbers(objective: tammes.Objective) -> None:
    views = [view.clone().requires_grad_() for view in VIEWS]
    module, ids = objective.module(), torch.tensor([0, 1, 2, 3, 4, 4])
    loss, expected = module(*views, ids=ids), objective(*views, ids=ids)
    torch.testing.assert_close(loss, expected, rtol=0, atol=0)
    torch.testing.assert_close(gradients(loss, *views), gradients(expected, *views), rtol=0, atol=0)
    assert module.last is objective.last
    assert list(module.parameters()) == []
    assert module.state_dict() == {}


def test_a_learned_temperature_belongs_to_the_module() -> None:
    objective = tammes.recipes.simclr(temperature=0.5)
    learned = tammes.LearnedTemperature(initial=0.2)
    module = objective.module(temperature=learned)
    loss = module(*VIEWS)
    torch.testing.assert_close(loss, tammes.recipes.simclr(temperature=0.2)(*VIEWS))
    (slope,) = gradients(loss, learned.log_scale)
    (expected,) = gradients(objective(*VIEWS, temperature=learned()), learned.log_scale)
    assert torch.equal(slope, expected)
    assert slope != 0


def test_hosts_move_copy_list_and_save_a_module() -> None:
    module = tammes.recipes.simclr(temperature=0.5).module(temperature=tammes.LearnedTemperature(initial=0.2))
    losses = nn.ModuleList([module, copy.deepcopy(module)]).to(torch.float64).train()
    assert {parameter.dtype for parameter in losses.parameters()} == {torch.float64}
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert isinstance(loaded, ObjectiveModule)
    torch.testing.assert_close(loaded(*VIEWS), module(*VIEWS))
    other = tammes.recipes.simclr(temperature=0.5).module(temperature=tammes.LearnedTemperature(initial=0.7))
    other = other.double()
    other.load_state_dict(module.state_dict())
    torch.testing.assert_close(other(*VIEWS), module(*VIEWS))
    assert "Objective(temperature=0.5" in repr(module)


def test_a_number_is_no_learned_temperature() -> None:
    with pytest.raises(ValueError, match=r"must be a LearnedTemperature\(initial=...\) or None, got 0.1"):
        tammes.recipes.simclr(temperature=0.5).module(temperature=0.1)  # type: ignore[arg-type]
