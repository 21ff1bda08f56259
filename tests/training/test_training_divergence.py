"""NaN and infinity in a step: found at once, or on a GPU together, before the weights change."""

import math

import pytest
import torch
from torch import Tensor

from tammes.training import divergence
from tammes.training.divergence import FiniteChecks

GRADIENTS = [torch.tensor([3.0]), torch.tensor([[4.0]])]


@pytest.mark.parametrize("values", [torch.tensor([1.0, torch.nan]), torch.tensor(torch.inf)])
def test_on_a_cpu_a_check_fails_at_once(values: Tensor) -> None:
    with pytest.raises(ValueError, match="the loss became NaN or infinite at step 3 "):
        FiniteChecks(at_once=False).add("loss", values, 3)


def test_where_reading_waits_all_checks_are_read_with_the_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divergence, "waits", lambda device: True)
    checks = FiniteChecks(at_once=False)
    checks.add("embeddings", torch.ones(2), 3)
    checks.add("loss", torch.tensor(torch.nan), 3)
    checks.add("loss of attacked images", torch.tensor(torch.nan), 3)
    with pytest.raises(ValueError, match="the loss became NaN or infinite at step 3 "):
        checks.norm(GRADIENTS, 3)
    assert checks.norm(GRADIENTS, 4) == 5.0, "what was read is not read again"


def test_several_processes_read_every_check_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divergence, "waits", lambda device: True)
    with pytest.raises(ValueError, match="the embeddings became NaN"):
        FiniteChecks(at_once=True).add("embeddings", torch.tensor(torch.nan), 0)


def test_a_gradient_gone_wrong_is_left_to_the_caller() -> None:
    assert math.isnan(FiniteChecks(at_once=False).norm([torch.tensor([torch.nan])], 0))
