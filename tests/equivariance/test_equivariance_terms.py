"""Invariance and uniformity as losses: their definitions, in value and gradient."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tammes.diagnostics import alignment
from tammes.equivariance import invariance_loss, uniformity_loss


def unit(rows: Tensor) -> Tensor:
    return rows / rows.norm(dim=1, keepdim=True)


def uniformity_by_definition(rows: Tensor, temperature: float) -> Tensor:
    similarity = unit(rows) @ unit(rows).T / temperature
    return similarity[~torch.eye(len(rows), dtype=torch.bool)].exp().mean().log()


@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_uniformity_is_its_definition(temperature: float) -> None:
    rows = torch.randn(30, 5, dtype=torch.float64, requires_grad=True)
    ours, theirs = uniformity_loss(rows, temperature=temperature), uniformity_by_definition(rows, temperature)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)
    (found,), (expected,) = torch.autograd.grad(ours, rows), torch.autograd.grad(theirs, rows)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-14)


def test_invariance_is_its_definition() -> None:
    a, b = (rows.requires_grad_() for rows in torch.randn(2, 30, 5, dtype=torch.float64))
    ours, theirs = invariance_loss(a, b), (unit(a) - unit(b)).norm(dim=1).mean()
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=0)
    for found, expected in zip(
        torch.autograd.grad(ours, (a, b)), torch.autograd.grad(theirs, (a, b)), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-14)
    assert ours.item() ** 2 <= alignment(a, b)


def test_equal_views_have_no_gradient() -> None:
    rows = torch.randn(3, 2, requires_grad=True)
    invariance_loss(rows, rows.detach()).backward()
    assert rows.grad is not None
    assert float(rows.grad.abs().max()) == 0


def test_uniform_points_have_the_least_and_collapsed_ones_the_most() -> None:
    assert float(uniformity_loss(torch.ones(10, 3))) == pytest.approx(1, abs=1e-6)
    on_the_circle = torch.tensor([[math.cos(a), math.sin(a)] for a in torch.arange(4) * math.pi / 2])
    expected = math.log((2 + math.exp(-1)) / 3)
    assert float(uniformity_loss(on_the_circle)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_low_temperatures_and_types(dtype: torch.dtype) -> None:
    rows = torch.randn(50, 8).to(dtype)
    loss = uniformity_loss(rows, temperature=0.01)
    assert loss.dtype == torch.float32
    expected = uniformity_by_definition(rows.double(), 0.01)
    assert float(loss) == pytest.approx(float(expected), rel=1e-5)
    assert invariance_loss(rows, rows).dtype == torch.float32


def test_memory_of_uniformity_is_linear() -> None:
    largest = 0

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):  # type: ignore[no-untyped-def]
            nonlocal largest
            result = function(*arguments, **(keywords or {}))
            if isinstance(result, Tensor):
                largest = max(largest, result.numel())
            return result

    rows = torch.randn(2048, 4, requires_grad=True)
    with Watch():
        uniformity_loss(rows).backward()
    assert largest <= 512 * 512  # one tile


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="at least two rows, which make a pair, got 1"):
        uniformity_loss(torch.ones(1, 2))
    with pytest.raises(ValueError, match="temperature must be a finite number above 0, got 0"):
        uniformity_loss(torch.ones(2, 2), temperature=0)
    with pytest.raises(ValueError, match=r"temperature of 1e-39 is too low for logits in torch.float32"):
        uniformity_loss(torch.ones(2, 2), temperature=1e-39)
    assert uniformity_loss(torch.ones(2, 2), temperature=1e-25).isfinite()
    with pytest.raises(ValueError, match="first row 1 of embeddings"):
        uniformity_loss(torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
    with pytest.raises(ValueError, match="first row 0 of view_b"):
        invariance_loss(torch.ones(2, 2), torch.full((2, 2), math.nan))
    with pytest.raises(ValueError, match="of one shape"):
        invariance_loss(torch.ones(2, 2), torch.ones(3, 2))
    with pytest.raises(ValueError, match="expected at least one row in each view, got none"):
        invariance_loss(torch.ones(0, 2), torch.ones(0, 2))
