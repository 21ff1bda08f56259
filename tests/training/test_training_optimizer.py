import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.training import Adam, Constant, Cosine


def test_adam_has_the_papers_settings() -> None:
    defaults = Adam().build([torch.nn.Parameter(torch.zeros(1))]).defaults
    assert (defaults["lr"], defaults["weight_decay"]) == (1e-3, 1e-6)
    assert Adam().schedule == Constant()


@given(warmup=st.floats(0, 5), epochs=st.integers(6, 20), steps_per_epoch=st.integers(1, 10))
def test_the_cosine_rises_to_one_and_falls_to_zero(warmup: float, epochs: int, steps_per_epoch: int) -> None:
    steps = epochs * steps_per_epoch
    schedule = Cosine(warmup_epochs=warmup)
    factors = [
        schedule.factor(step=k, steps=steps, steps_per_epoch=steps_per_epoch) for k in range(steps + 1)
    ]
    top = factors.index(max(factors))
    assert math.isclose(max(factors), 1.0)
    assert math.isclose(factors[-1], 0.0, abs_tol=1e-12)
    assert factors[: top + 1] == sorted(factors[: top + 1])
    assert factors[top:] == sorted(factors[top:], reverse=True)
    assert factors[0] > 0, "the first step must move the weights"


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_learning_rate_that_is_none_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="learning_rate must be a finite number above 0"):
        Adam(learning_rate=value)


def test_negative_decay_and_warmup_are_refused() -> None:
    with pytest.raises(ValueError, match="weight_decay must be a finite number at least 0, got -1"):
        Adam(weight_decay=-1)
    with pytest.raises(ValueError, match="warmup_epochs must be a finite number at least 0, got -1"):
        Cosine(warmup_epochs=-1)
