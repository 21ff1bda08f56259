"""Hard weights and their clip."""

from __future__ import annotations

import math

import pytest
import torch

import tammes


def test_the_clip_acts_inside_the_weights_only() -> None:
    a, b = 3 * torch.randn(6, 4, dtype=torch.float64), 3 * torch.randn(6, 4, dtype=torch.float64)
    objective = tammes.recipes.jsd(beta=1.5, clip=2.0)
    z = torch.cat([a, b])
    logits = z @ z.T
    assert float(logits.abs().max()) > 2
    identity = torch.arange(6).repeat(2)
    raw = torch.exp(1.5 * logits.clamp(-2, 2)) * (identity[:, None] != identity[None, :])
    torch.testing.assert_close(objective.weights(a, b), raw / raw.sum(1, keepdim=True))


@pytest.mark.parametrize("beta", [-1.0, math.nan, math.inf])
def test_beta_out_of_range(beta: float) -> None:
    with pytest.raises(ValueError, match="beta"):
        tammes.Hard(beta=beta)


@pytest.mark.parametrize("clip", [0.0, -1.0, math.nan])
def test_clip_out_of_range(clip: float) -> None:
    with pytest.raises(ValueError, match="clip must be a positive bound"):
        tammes.Hard(beta=1.0, clip=clip)


def test_a_clip_beyond_all_logits_clips_nothing() -> None:
    views = torch.randn(6, 3), torch.randn(6, 3)
    found, expected = (
        tammes.Objective(temperature=0.5, coupling=tammes.Hard(beta=2.0, clip=clip))(*views)
        for clip in (1e300, None)
    )
    assert found == expected


def test_a_clip_that_bounds_nothing_in_its_type_is_refused_in_words() -> None:
    """Where it was an overflow inside of torch."""
    rows = 1e8 * torch.randn(6, 3)
    hard = tammes.Hard(beta=1e30, clip=1e12)
    with pytest.raises(ValueError, match=r"beyond torch.float32.* beta"):
        tammes.Objective(temperature=0.5, coupling=hard, normalize=False)(rows, rows)


def test_a_gradient_of_weights_beyond_the_type_is_refused() -> None:
    objective = tammes.Objective(
        temperature=1e-30,
        coupling=tammes.Hard(beta=1.0, detach=False),
        contrast=tammes.BCL(),
        normalize=False,
    )
    views = torch.tensor([[0.0015], [-0.0003]]), torch.tensor([[-0.0022], [0.0006]])
    with pytest.raises(ValueError, match=r"beyond torch\.float32"):
        objective(*views)
    assert math.isfinite(objective(*(view.double() for view in views)))
