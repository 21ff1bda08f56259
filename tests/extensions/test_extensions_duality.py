"""Linear and semidefinite programs behind extensions: their duals, and what continuity needs.

Sections 8.3, 8.4 and F.1 to F.4 of Robinson (2023), on ground sets of two to four elements.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from brute_force import (
    is_submodular,
    probabilities_by_set,
    random_submodular,
    random_table,
    seeds,
    subsets,
    table,
    vectors,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from torch import Tensor

from tammes.extensions import GroundSet, Lovasz, Multilinear, Permutation, Singleton

Array = NDArray[np.float64]
small = st.integers(2, 4)
ROUNDING = 1e-6
"""Eigenvalue below 0 that a solution may have: HiGHS allows 1e-7 in each constraint."""


def point(n: int, seed: int) -> Tensor:
    return torch.rand(n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def primal_lp(x: Tensor, f: Tensor, *, positive: bool = False) -> tuple[float, Array, float]:
    """Max x . z + b with z(S) + b <= f(S) for all S; the value, z and b."""
    n = len(x)
    constraints = np.c_[subsets(n).double().numpy(), np.ones(2**n)]
    bounds = [(0.0 if positive else None, None)] * n + [(None, None)]
    found = linprog(-np.r_[x.numpy(), 1.0], A_ub=constraints, b_ub=f.numpy(), bounds=bounds)
    assert found.status == 0
    return -found.fun, found.x[:-1], found.x[-1]


def dual_lp(x: Tensor, f: Tensor) -> tuple[float, Array]:
    """Min sum y_S f(S) with sum y_S 1_S = x, sum y_S = 1 and y >= 0; the value and y."""
    n = len(x)
    constraints = np.r_[subsets(n).double().numpy().T, np.ones((1, 2**n))]
    found = linprog(f.numpy(), A_eq=constraints, b_eq=np.r_[x.numpy(), 1.0])
    assert found.status == 0
    return found.fun, found.x


@given(n=small, seed=seeds)
@settings(max_examples=30)
def test_the_programs_of_linear_extensions_are_dual(n: int, seed: int) -> None:
    """F.1.1: strong duality, and complementary slackness."""
    x, f = point(n, seed), random_table(n, seed)
    value, z, b = primal_lp(x, f)
    least, y = dual_lp(x, f)
    assert value == pytest.approx(least, abs=1e-9)
    slack = f.numpy() - subsets(n).double().numpy() @ z - b
    assert np.abs(y * slack).max() < 1e-8


@given(n=small, seed=seeds)
@settings(max_examples=20)
def test_the_envelope_is_below_every_extension_and_equals_one_of_a_submodular_function(
    n: int, seed: int
) -> None:
    x = point(n, seed)
    for f in (random_table(n, seed), random_submodular(n, seed)):
        least, _ = dual_lp(x, f)
        for extension in (Lovasz(), Multilinear()):
            assert extension(x, table(f)).item() >= least - 1e-9
        if is_submodular(f):
            assert Lovasz()(x, table(f)).item() == pytest.approx(least, abs=1e-9)
    supermodular = -random_submodular(n, seed)
    middle = torch.full((n,), 0.5, dtype=torch.float64)
    assert not is_submodular(supermodular)
    assert Lovasz()(middle, table(supermodular)).item() > dual_lp(middle, supermodular)[0] + 1e-6


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_envelope_agrees_with_every_set_function_on_sets(n: int) -> None:
    """Differs: section 8.3 says that it does not in general; but 1_S is no mean of other sets."""
    f = random_table(n, seed=n)
    for number, members in enumerate(subsets(n)):
        least, y = dual_lp(members.double(), f)
        assert least == pytest.approx(f[number].item(), abs=1e-9)
        assert y[number] == pytest.approx(1.0, abs=1e-9)


@given(x=vectors(most=5))
def test_scalar_extensions_are_feasible_in_the_dual(x: Tensor) -> None:
    """F.3.1, F.3.4, F.3.5: probabilities with mean x, the rest on the empty set."""
    ground = GroundSet(sizes=(len(x),))
    permuted = x / x.sum().clamp(min=1)  # the simplex, with 0 in it
    for extension, at in ((Lovasz(), x), (Multilinear(), x), (Permutation(), permuted)):
        p = probabilities_by_set(extension.distribution(at[None], ground))
        assert min(p.values()) >= 0
        assert sum(p.values()) <= 1 + 1e-12
        members = subsets(len(x)).double()
        mean = sum(chance * members[number] for number, chance in p.items())
        torch.testing.assert_close(mean, at, rtol=0, atol=1e-12)


def pair_matrices(n: int) -> Array:
    """(1_S 1_T^T + 1_T 1_S^T) / 2 for all S and T, `(2^n, 2^n, n, n)`."""
    sets = subsets(n).double().numpy()
    outer = sets[:, None, :, None] * sets[None, :, None, :]
    return (outer + outer.swapaxes(2, 3)) / 2


def at_intersections(f: Tensor) -> Array:
    numbers = torch.arange(len(f))
    return f[numbers[:, None] & numbers].numpy()


def lift(x: Tensor) -> Array:
    root = x.sqrt().numpy()
    return np.outer(root, root)


def first_cuts(n: int) -> list[Array]:
    """Vectors u for constraints u . Z u >= 0, which semidefinite matrices fulfill."""
    return [*np.eye(n), *(s * a + b for s in (1, -1) for a in np.eye(n) for b in np.eye(n) if a @ b == 0)]


def primal_sdp(at: Array, f: Tensor) -> tuple[float, Array, float]:
    """Max Tr(X Z) + b with Tr(A_ST Z) + b <= f(S and T) and Z >= 0; the value, Z and b.

    Semidefinite matrices are approached from outside, by a cut for each eigenvector of a negative eigenvalue.
    """
    n, cuts = len(at), first_cuts(len(at))
    constraints = np.c_[pair_matrices(n).reshape(4**n, n * n), np.ones(4**n)]
    for _ in range(500):
        rows = np.r_[constraints, [np.r_[-np.outer(u, u).ravel(), 0.0] for u in cuts]]
        limits = np.r_[at_intersections(f).ravel(), np.zeros(len(cuts))]
        found = linprog(-np.r_[at.ravel(), 1.0], A_ub=rows, b_ub=limits, bounds=(None, None))
        assert found.status == 0
        z = found.x[:-1].reshape(n, n)
        values, vectors_ = np.linalg.eigh((z + z.T) / 2)
        if values[0] > -ROUNDING:
            return -found.fun, (z + z.T) / 2, found.x[-1]
        cuts += list(vectors_[:, values < 0].T)
    raise AssertionError("no semidefinite solution found")


def dual_sdp(at: Array, f: Tensor) -> tuple[float, Array]:
    """Min sum y_ST f(S and T) with sum y_ST A_ST >= X, sum y_ST = 1, y >= 0; the value and y."""
    n, cuts = len(at), first_cuts(len(at))
    matrices = pair_matrices(n).reshape(4**n, n, n)
    for _ in range(500):
        directions = np.stack(cuts)
        rows = -np.einsum("ci,pij,cj->cp", directions, matrices, directions)
        limits = -np.einsum("ci,ij,cj->c", directions, at, directions)
        found = linprog(
            at_intersections(f).ravel(), A_ub=rows, b_ub=limits, A_eq=np.ones((1, 4**n)), b_eq=[1.0]
        )
        assert found.status == 0
        values, vectors_ = np.linalg.eigh(np.tensordot(found.x, matrices, 1) - at)
        if values[0] > -ROUNDING:
            return found.fun, found.x
        cuts += list(vectors_[:, values < 0].T)
    raise AssertionError("no semidefinite solution found")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [2, 3])
def test_the_programs_of_neural_extensions_are_dual(n: int, seed: int) -> None:
    """F.1.3: no gap, although the derivation shows weak duality alone."""
    x, f = point(n, seed), random_table(n, seed)
    value, z, b = primal_sdp(np.outer(x, x), f)
    least, y = dual_sdp(np.outer(x, x), f)
    assert value == pytest.approx(least, abs=20 * ROUNDING)
    slack = at_intersections(f) - np.einsum("stij,ij->st", pair_matrices(n), z) - b
    assert slack.min() > -ROUNDING
    assert np.abs(y * slack.ravel()).max() < 20 * ROUNDING


@given(n=small, seed=seeds)
@settings(max_examples=30)
def test_positive_solutions_of_the_linear_program_are_solutions_of_the_semidefinite_one(
    n: int, seed: int
) -> None:
    """Proposition 11, which is Proposition 18."""
    x, f = point(n, seed), random_table(n, seed)
    z = point(n, seed + 1)
    b = (f - subsets(n).double() @ z).min().item()
    solutions = [(z.numpy(), b), primal_lp(x, f, positive=True)[1:]]
    for z_, b_ in solutions:
        lifted = np.diag(z_)
        traces = np.einsum("stij,ij->st", pair_matrices(n), lifted)
        assert (traces + b_ <= at_intersections(f) + 1e-9).all()
        assert np.linalg.eigvalsh(lifted).min() >= -1e-12
        assert np.trace(lift(x) @ lifted) == pytest.approx(x.numpy() @ z_, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_so_the_semidefinite_optimum_is_above_the_positive_linear_one(seed: int) -> None:
    x, f = point(3, seed), random_table(3, seed)
    x = x / x.sum()  # then diag(x), and with it the lift, is below a mean of singletons
    assert primal_sdp(lift(x), f)[0] >= primal_lp(x, f, positive=True)[0] - ROUNDING
    # Without the sign there is no lift: diag(z) is no semidefinite matrix.
    falling = -subsets(3).double().sum(1)
    _, z, _ = primal_lp(x, falling)
    assert np.linalg.eigvalsh(np.diag(z)).min() < -0.5


@pytest.mark.parametrize("seed", range(3))
def test_neural_extensions_are_feasible_in_the_dual(seed: int) -> None:
    """Proposition 12: X = sum of lambda_i x_i x_i^T with lambda_i summing to 1 and x_i in the cube."""
    n, f = 3, random_table(3, seed)
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(2, dtype=torch.float64, generator=generator)
    weights = weights / weights.sum()
    points = torch.rand(2, n, dtype=torch.float64, generator=generator)
    at = torch.einsum("k,ki,kj->ij", weights, points, points).numpy()
    y = np.zeros((2**n, 2**n))
    for weight, x in zip(weights, points, strict=True):
        p = np.zeros(2**n)
        for number, chance in probabilities_by_set(
            Lovasz().distribution(x[None], GroundSet(sizes=(n,)))
        ).items():
            p[number] += chance.item()
        p[0] += 1 - p.sum()
        y += weight.item() * np.outer(p, p)
    assert y.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(np.tensordot(y, pair_matrices(n), 2), at, atol=1e-12)
    value = (y * at_intersections(f)).sum()
    assert value >= dual_sdp(at, f)[0] - ROUNDING
    paired = Lovasz().paired(points, table(f))[:, 0]
    assert value == pytest.approx((weights @ paired).item(), abs=1e-12)


def chances(x: Tensor) -> Tensor:
    """p_x(S) of the Lovász extension for all S: how far the least x within S is above the largest outside."""
    n = len(x)
    sets = subsets(n)
    inside = x.where(sets, 1.0).amin(1)
    outside = x.where(~sets, 0.0).amax(1)
    return (inside - outside).clamp(min=0)


@given(x=vectors(most=5), seed=seeds)
def test_probabilities_of_the_lovasz_extension_are_lipschitz(x: Tensor, seed: int) -> None:
    """Lemma 18, with the constant root 2, at points close to x where entries are equal, too."""
    p = probabilities_by_set(Lovasz().distribution(x[None], GroundSet(sizes=(len(x),))))
    known = torch.zeros(2 ** len(x), dtype=torch.float64)
    for number, chance in p.items():
        known[number] += chance
    torch.testing.assert_close(known[1:], chances(x)[1:], rtol=0, atol=1e-12)
    for scale in (1.0, 1e-3, 1e-6):
        step = scale * (point(len(x), seed) - 0.5)
        other = (x + step).clamp(0, 1)
        change = (chances(other) - chances(x)).abs().max()
        assert change <= math.sqrt(2) * (other - x).norm() + 1e-12
    # No smaller constant will do: two entries that move apart.
    apart = torch.tensor([0.5, 0.5], dtype=torch.float64)
    moved = apart + torch.tensor([0.1, -0.1], dtype=torch.float64)
    change = (chances(moved) - chances(apart)).abs().max()
    torch.testing.assert_close(change, math.sqrt(2) * (moved - apart).norm())


@given(n=st.integers(1, 5), seed=seeds)
def test_an_extension_with_lipschitz_probabilities_is_lipschitz(n: int, seed: int) -> None:
    """Lemma 17, with k = n + 1 sets in a support, the empty one among them."""
    f = random_table(n, seed)
    x = point(n, seed)
    for scale in (1.0, 1e-4):
        other = (x + scale * (point(n, seed + 1) - 0.5)).clamp(0, 1)
        change = (Lovasz()(other, table(f)) - Lovasz()(x, table(f))).abs().item()
        bound = 2 * (n + 1) * math.sqrt(2) * f.abs().max() * (other - x).norm()
        assert change <= bound.item() + 1e-12


def test_the_bound_of_the_lemma_needs_absolute_values() -> None:
    """Differs: F.3 has max f(S), which is 0 for a function that is below 0 but for the empty set."""
    f = table(-subsets(2).double().sum(1))
    x = torch.tensor([0.5, 0.25], dtype=torch.float64)
    assert (Lovasz()(x, f) - Lovasz()(2 * x, f)).abs().item() == pytest.approx(0.75)


def test_an_extension_whose_probabilities_jump_is_not_lipschitz() -> None:
    """The singleton extension: of two equal elements the first has no probability."""
    f = table(torch.tensor([0.0, -1.0, 0.0, 0.0], dtype=torch.float64))
    ratios = []
    for gap in (1e-2, 1e-4, 1e-6):
        high, low = (torch.tensor([0.5 + each, 0.5], dtype=torch.float64) for each in (gap, -gap))
        change = (Singleton()(high, f) - Singleton()(low, f)).abs().item()
        ratios.append(change / (high - low).norm().item())
    assert ratios == sorted(ratios)
    assert ratios[-1] > 1e5
