"""The training error as a loss is a singleton extension, and goes where the training error goes."""

from __future__ import annotations

import math

import pytest
import torch
from brute_force import seeds
from hypothesis import given
from hypothesis import strategies as st

from tammes.extensions import Singleton, TrainingError, training_error


@given(classes=st.integers(1, 8), seed=seeds)
def test_it_is_a_singleton_extension(classes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(5, classes, dtype=torch.float64, generator=generator)
    labels = torch.randint(classes, (5,), generator=generator)
    found = training_error(logits, labels)
    for each, label, value in zip(logits, labels, found, strict=True):

        def right(sets: torch.Tensor, label: torch.Tensor = label) -> torch.Tensor:
            return -(sets[:, label] & (sets.sum(1) == 1)).double()

        expected = 1 + Singleton()(each.softmax(0).clamp(max=1), right).item()
        assert value.item() == pytest.approx(expected, abs=1e-12)
    assert bool((found >= -1e-12).all())
    assert bool((found <= 1 + 1e-12).all())


def test_a_tie_counts_as_an_error() -> None:
    """The singleton extension jumps there: which of two equal entries comes first is a matter of taste."""
    logits = torch.tensor([[1.0, 1.0, -9.0]])
    assert training_error(logits, torch.tensor([0])).item() == 1.0
    ahead, behind = training_error(
        torch.tensor([[1.001, 1.0, -9.0], [0.999, 1.0, -9.0]]), torch.tensor([0, 0])
    ).tolist()
    assert ahead == pytest.approx(1.0, abs=1e-3)
    assert behind == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_labels_of_any_integer_type(dtype: torch.dtype) -> None:
    logits, labels = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([1, 0])
    assert torch.equal(training_error(logits, labels.to(dtype)), training_error(logits, labels))


def test_it_is_the_error_of_certain_classifiers() -> None:
    logits = torch.eye(4)[[0, 1, 2, 2, 1]] * 200
    labels = torch.tensor([0, 1, 2, 3, 0])
    torch.testing.assert_close(TrainingError()(logits, labels).item(), 0.4)


def test_gradients_are_those_of_finite_differences() -> None:
    logits = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([0, 1, 2, 3, 4, 0])
    assert torch.autograd.gradcheck(lambda each: training_error(each, labels), (logits,))


def test_it_trains_a_classifier_to_its_own_value() -> None:
    generator = torch.Generator().manual_seed(0)
    centers = torch.randn(4, 8, generator=generator) * 3
    labels = torch.arange(4).repeat(50)
    points = centers[labels] + torch.randn(200, 8, generator=generator)
    weight = torch.zeros(8, 4, requires_grad=True)
    optimizer = torch.optim.Adam([weight], lr=0.1)
    loss = TrainingError()
    for _ in range(100):
        optimizer.zero_grad()
        value = loss(points @ weight, labels)
        value.backward()
        optimizer.step()
    error = (points @ weight).argmax(1).ne(labels).float().mean().item()
    assert error < 0.03
    assert abs(value.item() - error) < 0.02


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_extreme_logits(dtype: torch.dtype) -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0]], dtype=dtype, requires_grad=True)
    value = TrainingError()(logits, torch.tensor([1]))
    value.backward()
    assert value.item() == 1.0
    assert bool(logits.grad.isfinite().all())  # type: ignore[union-attr]


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match=r"labels must be from 0 to 2, got 0 to 3"):
        training_error(torch.randn(2, 3), torch.tensor([0, 3]))
    with pytest.raises(ValueError, match=r"logits \(batch, classes\) and integer labels"):
        training_error(torch.randn(2, 3), torch.tensor([0, 1, 2]))
    with pytest.raises(ValueError, match=r"integer labels \(batch,\), got \(2, 3\) and torch.float32"):
        training_error(torch.randn(2, 3), torch.rand(2))
    with pytest.raises(ValueError, match="expected finite logits"):
        training_error(torch.full((2, 3), math.nan), torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="at least one, got none"):
        TrainingError()(torch.zeros(0, 3), torch.zeros(0, dtype=torch.long))
