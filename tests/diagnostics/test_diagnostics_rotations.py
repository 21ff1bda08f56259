"""Measures of rotations: against brute force, on actions that are known, and their laws."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tammes.diagnostics import (
    alignment,
    best_rotation,
    composition,
    cosine_variance,
    invariance,
    relative_equivariance,
    wahba_error,
)


def unit(rows: Tensor) -> Tensor:
    return rows / rows.norm(dim=1, keepdim=True)


def random_rotation(d: int, *, reflection: bool = False) -> Tensor:
    q, r = torch.linalg.qr(torch.randn(d, d, dtype=torch.float64))
    q = q * r.diagonal().sign()
    if (torch.det(q) < 0) != reflection:
        q[:, 0] = -q[:, 0]
    return q


def turn(angle: float) -> Tensor:
    c, s = math.cos(angle), math.sin(angle)
    return torch.tensor([[c, -s], [s, c]], dtype=torch.float64)


@pytest.mark.parametrize("reflections", [False, True])
def test_in_the_plane_no_angle_does_better(reflections: bool) -> None:
    before, after = torch.randn(2, 15, 2, dtype=torch.float64)
    mirrors = [torch.eye(2, dtype=torch.float64)]
    if reflections:
        mirrors.append(torch.diag(torch.tensor([1.0, -1.0], dtype=torch.float64)))
    errors = [
        float((unit(before) @ (turn(angle) @ mirror).T - unit(after)).norm())
        for angle in torch.linspace(0, 2 * math.pi, 20_001).tolist()
        for mirror in mirrors
    ]
    assert wahba_error(before, after, reflections=reflections) == pytest.approx(min(errors), abs=1e-6)


@given(n=st.integers(1, 30), d=st.integers(1, 7), seed=st.integers(0, 10**6))
def test_it_is_a_rotation_and_no_other_does_better(n: int, d: int, seed: int) -> None:
    torch.manual_seed(seed)
    before, after = torch.randn(2, n, d, dtype=torch.float64)
    rotation = best_rotation(before, after)
    torch.testing.assert_close(rotation @ rotation.T, torch.eye(d, dtype=torch.float64), rtol=0, atol=1e-12)
    assert float(torch.det(rotation)) == pytest.approx(1)
    error = wahba_error(before, after)
    assert wahba_error(before, after, reflections=True) <= error + 1e-12
    for _ in range(10):
        step = torch.linalg.matrix_exp(0.3 * torch.randn(d, d, dtype=torch.float64).triu(1) * (d > 1))
        other = rotation @ torch.linalg.qr(step).Q
        other[:, 0] *= torch.det(other).sign()
        assert float((unit(before) @ other.T - unit(after)).norm()) >= error - 1e-12


@given(n=st.integers(3, 30), d=st.integers(2, 7), seed=st.integers(0, 10**6), mirror=st.booleans())
def test_rotated_embeddings_have_no_error(n: int, d: int, seed: int, mirror: bool) -> None:
    torch.manual_seed(seed)
    before = torch.randn(n, d, dtype=torch.float64)
    action = random_rotation(d, reflection=mirror)
    after = 3 * before @ action.T
    assert wahba_error(before, after, reflections=True) < 1e-12
    assert (wahba_error(before, after) < 1e-10) == (not mirror or n < d)
    assert relative_equivariance(before, after) < 1e-20
    if n >= d:
        torch.testing.assert_close(best_rotation(before, after, reflections=True), action)


def test_a_common_rotation_changes_nothing() -> None:
    before, after = torch.randn(2, 40, 5, dtype=torch.float64)
    both = random_rotation(5)
    for measure in (wahba_error, relative_equivariance, invariance, cosine_variance):
        assert measure(before @ both, after @ both) == pytest.approx(measure(before, after))


def test_the_sign_is_fixed_on_the_last_direction() -> None:
    """With n rows in d dimensions, the text's n - 1 would turn another one, or none."""
    before = torch.cat([10 * torch.eye(3), torch.tensor([[1.0, 1, 0.2], [1, 0.5, 0.1]])]).double()
    after = before * torch.tensor([1.0, 1.0, -1.0], dtype=torch.float64)
    fixed = best_rotation(before, after)
    assert float(torch.det(fixed)) == pytest.approx(1)
    assert wahba_error(before, after) < 2.1  # only the third direction is wrong, by 2 at most


@pytest.mark.parametrize("side", [3, 1024])
def test_relative_equivariance_is_its_definition(side: int) -> None:
    before, after = torch.randn(2, 10, 3, dtype=torch.float64)
    f, g = unit(before), unit(after)
    total = 0.0
    for i in range(10):
        for j in range(10):
            if i != j:
                change = (g[i] - g[j]).square().sum() - (f[i] - f[j]).square().sum()
                moved = (g[i] - f[i]).square().sum() + (g[j] - f[j]).square().sum()
                total += float(change**2 / moved**2)
    assert relative_equivariance(before, after, side=side) == pytest.approx(total / 90)


def test_relative_equivariance_depends_on_how_far_noise_moves_and_not_on_how_far_a_rotation_does() -> None:
    before = unit(torch.randn(200, 8, dtype=torch.float64))
    noise = torch.randn(200, 8, dtype=torch.float64)
    near, far = (relative_equivariance(before, before + apart * noise) for apart in (1e-4, 1e-2))
    assert near / far == pytest.approx(1e4, rel=0.02)
    assert relative_equivariance(before, before @ random_rotation(8).T) < 1e-20


def test_embeddings_that_do_not_move_are_left_out() -> None:
    before = torch.eye(4, dtype=torch.float64)[[0, 1, 2]]
    after = torch.eye(4, dtype=torch.float64)[[0, 1, 3]]
    assert relative_equivariance(before, after) == 0
    after[2] = after[0]
    # The pairs of the third with the others: |g - g'|^2 changes from 2 to 0 or stays; it moves by 2.
    assert relative_equivariance(before, after) == pytest.approx((1 + 0) / 2)
    with pytest.raises(ValueError, match="no embedding moves"):
        relative_equivariance(before, 2 * before)
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float16, torch.float32, torch.float64):  # and not by the rounding of 3 x either
        rows = torch.randn(30, 5, generator=generator, dtype=torch.float64).to(dtype)
        with pytest.raises(ValueError, match="no embedding moves"):
            relative_equivariance(rows, 3 * rows)


def test_on_the_circle_only_a_rotation_has_no_variance() -> None:
    before = torch.randn(50, 2, dtype=torch.float64)
    assert cosine_variance(before, before @ turn(0.4).T) < 1e-28
    angles = torch.randn(50, dtype=torch.float64)
    moved = torch.stack([row @ turn(angle).T for row, angle in zip(before, angles.tolist(), strict=True)])
    assert cosine_variance(before, moved) == pytest.approx(float(angles.cos().var()))


def test_invariance_is_the_mean_distance() -> None:
    before, after = torch.randn(2, 50, 3)
    distance = (unit(before) - unit(after)).norm(dim=1)
    assert invariance(before, after) == pytest.approx(float(distance.mean()), rel=1e-6)
    assert alignment(before, after) == pytest.approx(float(distance.square().mean()), rel=1e-6)


def test_augmentations_that_rotate_compose() -> None:
    before = torch.randn(30, 4, dtype=torch.float64)
    a, b = random_rotation(4), random_rotation(4)
    right = composition(before, before @ a.T, before @ b.T, before @ (b @ a).T)
    assert max(right.error, right.best, right.rotations) < 1e-12
    # In the other order they do not: rotations of more than two dimensions do not commute.
    wrong = composition(before, before @ a.T, before @ b.T, before @ (a @ b).T)
    assert wrong.best < 1e-12
    assert wrong.error > 1
    assert wrong.rotations > 0.1
    noise = composition(*torch.randn(4, 30, 4, dtype=torch.float64))
    assert noise.error >= noise.best > 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_lower_precision_comes_close(dtype: torch.dtype) -> None:
    before, after = torch.randn(2, 50, 6, dtype=torch.float64)
    for measure in (wahba_error, relative_equivariance, invariance, cosine_variance):
        assert measure(before.to(dtype), after.to(dtype)) == pytest.approx(measure(before, after), rel=0.02)


def test_wrong_embeddings_are_refused() -> None:
    good = torch.eye(3)
    for measure in (wahba_error, relative_equivariance, invariance, cosine_variance, best_rotation):
        with pytest.raises(ValueError, match="after, like before, must have shape"):
            measure(good, torch.ones(2, 3))  # type: ignore[operator]
        with pytest.raises(ValueError, match="length zero in row 0"):
            measure(torch.zeros(3, 3), good)  # type: ignore[operator]
    with pytest.raises(ValueError, match="which have a variance, got 1"):
        cosine_variance(torch.ones(1, 2), torch.ones(1, 2))
    with pytest.raises(ValueError, match="which make a pair, got 1"):
        relative_equivariance(torch.ones(1, 2), torch.ones(1, 2))
