"""Neural extensions obey eq. 8.3 and 8.4, and their eigenpairs have gradients that stay finite."""

from __future__ import annotations

import math

import pytest
import torch
from brute_force import number_of, pairs_of, random_table, seeds, subsets, table, tables
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tammes.extensions import (
    BoundedLovasz,
    Eigensolver,
    ExactEigenpairs,
    Extension,
    GroundSet,
    Lovasz,
    Multilinear,
    Neural,
    Peak,
    Permutation,
    PowerIterations,
    Sigmoid,
    Singleton,
)

SOLVERS = [ExactEigenpairs(), PowerIterations(steps=60)]
ALL = [Lovasz(), BoundedLovasz(k=2), Singleton(), Permutation(), Multilinear()]


def embeddings_of(n: int, d: int, seed: int) -> Tensor:
    return torch.randn(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("extension", [Lovasz(), Multilinear(), BoundedLovasz(k=3)], ids=repr)
@given(n=st.integers(1, 8), seed=seeds)
def test_it_agrees_with_f_on_sets(extension: Extension, solver: Eigensolver, n: int, seed: int) -> None:
    values = random_table(n, seed)
    neural = Neural(extension=extension, eigenvectors=2, solver=solver, squash=Peak())
    sets = subsets(n)
    if isinstance(extension, BoundedLovasz):
        sets = sets[sets.sum(1) <= extension.k]
    for chosen in sets[torch.randperm(len(sets), generator=torch.Generator().manual_seed(seed))[:3]]:
        found = neural(chosen.double()[:, None], table(values))  # X = 1_S 1_S^T
        torch.testing.assert_close(found.item(), values[number_of(chosen)].item())


@pytest.mark.parametrize("squash", [Sigmoid(), Peak()], ids=repr)
@pytest.mark.parametrize("extension", ALL, ids=repr)
@given(n=st.integers(1, 6), d=st.integers(1, 5), seed=seeds)
def test_it_is_the_double_sum_over_pairs_of_sets(
    extension: Extension, squash: Sigmoid | Peak, n: int, d: int, seed: int
) -> None:
    """Eq. 8.3, with eigenpairs of the full matrix from torch."""
    values = random_table(n, seed)
    embeddings = embeddings_of(n, d, seed)
    ground = GroundSet(sizes=(n,))
    eigenvalues, vectors = torch.linalg.eigh(embeddings @ embeddings.T)
    k = min(3, n, d)
    eigenvalues, vectors = eigenvalues[-k:], vectors[:, -k:]
    vectors = vectors * torch.where(vectors.sum(0) < 0, -1.0, 1.0)
    x = extension.within(squash(vectors.T, ground), ground)
    expected = sum(
        weight * pairs_of(extension.distribution(row[None], ground), values)
        for weight, row in zip(eigenvalues / eigenvalues.sum(), x, strict=True)
    )
    neural = Neural(extension=extension, eigenvectors=3, solver=ExactEigenpairs(), squash=squash)
    torch.testing.assert_close(neural(embeddings, table(values)).item(), float(expected))


@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4), d=st.integers(1, 4), seed=seeds)
@pytest.mark.parametrize("solver", [ExactEigenpairs(), PowerIterations()], ids=repr)
def test_a_batch_is_its_inputs(solver: Eigensolver, sizes: list[int], d: int, seed: int) -> None:
    values = [random_table(n, seed + number) for number, n in enumerate(sizes)]
    embeddings = embeddings_of(sum(sizes), d, seed)
    neural = Neural(eigenvectors=2, solver=solver)
    found = neural(embeddings, tables(*values))
    for number, part in enumerate(embeddings.split(sizes)):
        torch.testing.assert_close(found[number], neural(part, table(values[number]))[0])


@pytest.mark.parametrize("solver", [ExactEigenpairs(), PowerIterations()], ids=repr)
@given(n=st.integers(2, 6), seed=seeds)
def test_the_order_of_the_elements_does_not_matter(solver: Eigensolver, n: int, seed: int) -> None:
    embeddings = embeddings_of(n, 3, seed)
    weights = torch.rand(n, dtype=torch.float64)
    order = torch.randperm(n)
    neural = Neural(eigenvectors=2, solver=solver)

    def value(embedded: Tensor, weight: Tensor) -> Tensor:
        return neural(embedded, lambda sets: (sets.double() @ weight).sqrt())

    torch.testing.assert_close(value(embeddings, weights), value(embeddings[order], weights[order]))


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize(("n", "d"), [(7, 3), (3, 7)])
def test_eigenpairs_are_those_of_the_matrix(solver: Eigensolver, n: int, d: int) -> None:
    factor = embeddings_of(n, d, 1)
    values, vectors = solver(factor[None], 4)
    matrix = factor @ factor.T
    expected = torch.linalg.eigvalsh(matrix).flip(0)[:3]
    torch.testing.assert_close(values[0, :3], expected, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(matrix @ vectors[0, :, :3], vectors[0, :, :3] * expected, rtol=1e-3, atol=1e-3)
    assert values[0, 3].item() < 1e-6  # the rank is 3


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize(("n", "d"), [(7, 4), (4, 7), (5, 5), (3, 3)])
def test_eigenpairs_beyond_the_rank_are_zeros(solver: Eigensolver, n: int, d: int) -> None:
    factor = (embeddings_of(n, 2, 1) @ embeddings_of(d, 2, 2).T)[None]
    values, vectors = solver(torch.cat([factor, torch.zeros_like(factor)]), 4)
    assert (values > 0).sum(1).tolist() == [2, 0]
    torch.testing.assert_close(vectors.norm(dim=1), (values > 0).double())


@pytest.mark.parametrize("solver", [ExactEigenpairs(broadening=1e-9), PowerIterations()], ids=repr)
@pytest.mark.parametrize("squash", [Sigmoid(), Peak()], ids=repr)
@pytest.mark.parametrize("d", [3, 9])
def test_gradients_are_those_of_finite_differences(
    solver: Eigensolver, squash: Sigmoid | Peak, d: int
) -> None:
    f = tables(random_table(4, 0), random_table(5, 1))
    neural = Neural(eigenvectors=3, solver=solver, squash=squash)
    embeddings = embeddings_of(9, d, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda z: neural(z, f), (embeddings,), atol=1e-4)


@pytest.mark.parametrize("gap", [0.0, 1e-7, 1e-4])
@pytest.mark.parametrize("solver", [ExactEigenpairs(), PowerIterations()], ids=repr)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_stay_finite_where_eigenvalues_are_near(
    solver: Eigensolver, gap: float, dtype: torch.dtype
) -> None:
    orthogonal = torch.linalg.qr(embeddings_of(8, 4, 0)).Q
    lengths = torch.tensor([1.0, math.sqrt(1 - gap), 0.5, 0.5], dtype=torch.float64)
    embeddings = (orthogonal * lengths).to(dtype).requires_grad_()
    neural = Neural(eigenvectors=4, solver=solver)
    value = neural(embeddings, table(random_table(8, 0).to(dtype)))
    (gradient,) = torch.autograd.grad(value.sum(), embeddings)
    assert bool(gradient.isfinite().all())
    assert gradient.abs().max().item() < 1e4  # torch's own is infinite, or about 1/gap


def test_a_broadened_gap_leaves_what_does_not_depend_on_the_basis() -> None:
    """The projection on a space of equal eigenvalues is smooth, and its gradient is right."""
    orthogonal = torch.linalg.qr(embeddings_of(6, 3, 0)).Q
    factor = (orthogonal * torch.tensor([2.0, 2.0, 1.0], dtype=torch.float64)).requires_grad_()
    weights = embeddings_of(6, 6, 1)

    def projection(z: Tensor) -> Tensor:
        _, vectors = ExactEigenpairs(broadening=1e-6)(z[None], 2)
        return (vectors[0] @ vectors[0].T * weights).sum()

    (found,) = torch.autograd.grad(projection(factor), factor)
    step = 1e-5
    direction = embeddings_of(6, 3, 2)
    difference = projection(factor + step * direction) - projection(factor - step * direction)
    torch.testing.assert_close((found * direction).sum(), difference / (2 * step), rtol=1e-4, atol=1e-6)


def test_nothing_is_the_empty_set() -> None:
    f = tables(random_table(3, 0), random_table(2, 1))
    embeddings = torch.cat([torch.zeros(3, 2), torch.rand(2, 2)]).double().requires_grad_()
    found = Neural(solver=ExactEigenpairs())(embeddings, f)
    assert found[0].item() == 0.0
    (gradient,) = torch.autograd.grad(found.sum(), embeddings)
    assert bool(gradient.isfinite().all())


@pytest.mark.parametrize("solver", [ExactEigenpairs(), PowerIterations()], ids=repr)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_and_autocast_leave_the_arithmetic_as_it_is(
    solver: Eigensolver, dtype: torch.dtype
) -> None:
    embeddings = embeddings_of(400, 6, 0).to(dtype)
    neural = Neural(solver=solver)

    def pairs(sets: Tensor) -> Tensor:  # up to 79,800, which float16 cannot hold
        return sets.sum(1).double() * (sets.sum(1) - 1) / 2

    found = neural(embeddings, pairs)
    assert torch.equal(found, neural(embeddings.float(), pairs))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(found, neural(embeddings.float(), pairs))


def test_a_single_element_is_an_input() -> None:
    found = Neural()(torch.tensor([[3.0, 4.0]]), lambda sets: sets.sum(1).float())
    assert found.item() == pytest.approx(torch.sigmoid(torch.tensor(1.0)).item() ** 2)


def test_decoding_takes_the_best_set_of_all_eigenvectors() -> None:
    values = random_table(6, 5)
    embeddings = embeddings_of(6, 4, 7)
    ground = GroundSet(sizes=(6,))
    p = Neural(eigenvectors=4, solver=ExactEigenpairs()).distribution(embeddings, ground)
    score, members = p.best(table(values))
    _, x = Neural(eigenvectors=4, solver=ExactEigenpairs()).points(embeddings, ground)
    each = [Lovasz().distribution(row[None], ground).best(table(values))[0].item() for row in x]
    assert score.item() == max(each) == values[number_of(members)].item()


def test_wrong_embeddings_are_refused() -> None:
    f = table(random_table(3, 0))
    with pytest.raises(
        ValueError, match=r"embeddings, one for each element, must have shape \(3, any\), got \(4, 2\)"
    ):
        Neural()(torch.rand(4, 2), f)
    with pytest.raises(ValueError, match="expected finite embeddings"):
        Neural()(torch.full((3, 2), math.nan), f)
    for extreme in (1e30, 1e-20):
        with pytest.raises(ValueError, match=r"products torch.float32 can hold, scale them up or down"):
            Neural()(torch.full((3, 2), extreme), f)
    with pytest.raises(ValueError, match=r"in floating point, got torch.int64"):
        Neural()(torch.ones(3, 2, dtype=torch.int64), f)
    with pytest.raises(ValueError, match=r"assumes f\(empty set\) = 0"):
        Neural()(torch.rand(3, 2), lambda sets: torch.ones(len(sets)))


@pytest.mark.parametrize("wrong", [0, -1, 2.0, True])
def test_wrong_numbers_are_refused(wrong: int) -> None:
    with pytest.raises(ValueError, match="eigenvectors must be an integer of at least 1"):
        Neural(eigenvectors=wrong)
    with pytest.raises(ValueError, match="steps must be an integer of at least 1"):
        PowerIterations(steps=wrong)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_what_must_be_positive(wrong: float) -> None:
    with pytest.raises(ValueError, match="broadening must be a finite number above 0"):
        ExactEigenpairs(broadening=wrong)
    with pytest.raises(ValueError, match="scale must be a finite number above 0"):
        Sigmoid(scale=wrong)


@pytest.mark.parametrize("solver", [ExactEigenpairs(), PowerIterations()], ids=repr)
@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_factors_that_are_not_finite_are_refused(solver: Eigensolver, wrong: float) -> None:
    factor = torch.ones(2, 3, 2)
    factor[1, 2, 0] = wrong
    with pytest.raises(ValueError, match="expected finite factors, got NaN or infinity in 1 of 2 rows"):
        solver(factor, 1)


def test_derivatives_are_those_of_eigh_where_eigenvalues_are_apart() -> None:
    """In double precision to 1e-9: gaps are at least 0.1 of the largest eigenvalue here."""
    basis = torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64))[0]
    roots = torch.tensor([1.0, 0.9, 0.75, 0.6, 0.45, 0.3], dtype=torch.float64)
    factor = (basis * roots).requires_grad_()
    weights = torch.randn(6, 6, dtype=torch.float64)

    def gradient(vectors: torch.Tensor) -> torch.Tensor:
        squares = vectors.square()  # the same for either sign
        return torch.autograd.grad((squares * weights).sum(), factor)[0]

    found = gradient(ExactEigenpairs()(factor[None], 6)[1][0])
    expected = gradient(torch.linalg.eigh(factor @ factor.mT)[1].flip(-1))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
