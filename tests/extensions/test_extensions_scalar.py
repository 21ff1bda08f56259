"""Every scalar extension obeys the laws of the theory, against all subsets."""

from __future__ import annotations

import math

import pytest
import torch
from brute_force import (
    involutions,
    is_submodular,
    number_of,
    pairs_of,
    probabilities_by_set,
    random_submodular,
    random_table,
    seeds,
    subsets,
    table,
    tables,
    vectors,
)
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tammes.extensions import (
    BoundedLovasz,
    Extension,
    GraphFunction,
    Graphs,
    GroundSet,
    Lovasz,
    Multilinear,
    Normalized,
    Permutation,
    SampledMultilinear,
    Singleton,
    clique_penalty,
)

FEASIBLE = [Lovasz(), Multilinear(), BoundedLovasz(k=1), BoundedLovasz(k=3), Permutation()]
ALL = [*FEASIBLE, Singleton()]
by_repr = pytest.mark.parametrize("extension", ALL, ids=repr)


def one(extension: Extension, x: Tensor) -> tuple[GroundSet, Tensor]:
    """The ground set of a single input, and x as a row that the extension's domain holds."""
    ground = GroundSet(sizes=(len(x),))
    return ground, extension.within(x[None], ground)


def extended_sets(extension: Extension, n: int) -> Tensor:
    """The sets S for which F(1_S) = f(S) is claimed."""
    sets = subsets(n)
    size = sets.sum(1)
    if isinstance(extension, BoundedLovasz):
        return sets[size <= extension.k]
    return sets[size <= 1] if isinstance(extension, Singleton | Permutation) else sets


@by_repr
@given(n=st.integers(1, 8), seed=seeds)
def test_it_agrees_with_f_on_sets(extension: Extension, n: int, seed: int) -> None:
    values = random_table(n, seed)
    sets = extended_sets(extension, n)
    found = extension(sets.double(), table(values))
    torch.testing.assert_close(found[:, 0], values[number_of(sets)])


@by_repr
@given(x=vectors())
def test_probabilities_are_probabilities(extension: Extension, x: Tensor) -> None:
    ground, rows = one(extension, x)
    p = extension.distribution(rows, ground)
    assert all(float(each) >= -1e-12 for each in probabilities_by_set(p).values())
    assert p.mass.item() <= 1 + 1e-12


@pytest.mark.parametrize("extension", FEASIBLE, ids=repr)
@given(x=vectors())
def test_the_mean_of_the_sets_is_x(extension: Extension, x: Tensor) -> None:
    ground, rows = one(extension, x)
    p = extension.distribution(rows, ground)
    torch.testing.assert_close(p.mean, rows)
    written_out = sum(
        chance * subsets(len(x))[number].double() for number, chance in probabilities_by_set(p).items()
    )
    torch.testing.assert_close(written_out, rows[0])


@given(x=vectors())
def test_mass_that_is_known(x: Tensor) -> None:
    ground = GroundSet(sizes=(len(x),))
    torch.testing.assert_close(Multilinear().distribution(x[None], ground).mass.item(), 1.0)
    torch.testing.assert_close(Lovasz().distribution(x[None], ground).mass.item(), x.max().item())


@by_repr
@given(x=vectors(), seed=seeds)
def test_no_value_is_below_the_least_of_f(extension: Extension, x: Tensor, seed: int) -> None:
    """Proposition 10; that the least value is attained follows from agreement on sets."""
    values = random_table(len(x), seed)
    _, rows = one(extension, x)
    least = values[number_of(extended_sets(extension, len(x)))].min()
    assert extension(rows, table(values)).item() >= least.item() - 1e-12


@given(n=st.integers(2, 6), seed=seeds, submodular=st.booleans())
def test_lovasz_is_convex_exactly_if_f_is_submodular(n: int, seed: int, submodular: bool) -> None:
    values = random_submodular(n, seed) if submodular else random_table(n, seed)
    assert is_submodular(values) or not submodular
    corners = subsets(n).double()
    inner = torch.rand(64, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    points = torch.cat([corners, inner])
    height = Lovasz()(points, table(values))[:, 0]
    first, second = torch.combinations(torch.arange(len(points))).T
    middle = Lovasz()((points[first] + points[second]) / 2, table(values))[:, 0]
    is_convex = bool((middle <= (height[first] + height[second]) / 2 + 1e-9).all())
    assert is_convex == is_submodular(values)


@given(x=vectors(), more=st.integers(0, 3), seed=seeds)
def test_bounded_by_all_is_lovasz(x: Tensor, more: int, seed: int) -> None:
    f = table(random_table(len(x), seed))
    torch.testing.assert_close(BoundedLovasz(k=len(x) + more)(x, f), Lovasz()(x, f))
    squared = BoundedLovasz(k=len(x) + more).paired(x[None], f)
    torch.testing.assert_close(squared, Lovasz().paired(x[None], f))


@given(x=vectors(ties=False), k=st.integers(1, 8))
def test_bounded_probabilities_solve_the_linear_system(x: Tensor, k: int) -> None:
    ground, rows = one(BoundedLovasz(k=k), x)
    n = len(x)
    matrix = torch.zeros(n, n, dtype=torch.float64)
    for j in range(n):
        matrix[max(0, j - k + 1) : j + 1, j] = 1
    high = rows[0].sort(descending=True).values
    (p,) = BoundedLovasz(k=k).distribution(rows, ground).probabilities
    torch.testing.assert_close(p[0], torch.linalg.solve(matrix, high))


@given(x=vectors(most=5), seed=seeds)
def test_every_involutory_permutation_gives_the_same(x: Tensor, seed: int) -> None:
    values = random_table(len(x), seed)
    _, rows = one(Permutation(), x)
    found = Permutation()(rows, table(values)).item()
    for order in involutions(len(x)):
        matrix = torch.eye(len(x), dtype=torch.float64)[list(order)]
        p = matrix @ rows[0]
        torch.testing.assert_close((p * values[number_of(matrix.T.bool())]).sum().item(), found)


@by_repr
@given(x=vectors(most=6), seed=seeds)
def test_pairs_are_the_double_sum(extension: Extension, x: Tensor, seed: int) -> None:
    values = random_table(len(x), seed)
    ground, rows = one(extension, x)
    expected = pairs_of(extension.distribution(rows, ground), values)
    torch.testing.assert_close(extension.paired(rows, table(values)).item(), expected.item())


@given(x=vectors())
def test_one_eigenvector_of_equation_8_4(x: Tensor) -> None:
    ((p,),) = Lovasz().distribution(x[None], GroundSet(sizes=(len(x),))).probabilities
    ((pairs,),) = Lovasz().intersections(x[None], GroundSet(sizes=(len(x),))).probabilities
    later = p.sum() - p.cumsum(0)
    torch.testing.assert_close(pairs, p * (p + 2 * later))


@by_repr
def test_gradients_are_those_of_finite_differences(extension: Extension) -> None:
    f = tables(random_table(4, 0), random_table(6, 1))
    x = torch.rand(2, 10, dtype=torch.float64) / 8
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda rows: extension(rows, f), (x,))
    assert torch.autograd.gradcheck(lambda rows: extension.paired(rows, f), (x,))
    wide = (x * 8).detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda rows: extension(extension.within(rows, f.ground), f), (wide,))


@by_repr
@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4), seed=seeds)
def test_a_batch_is_its_inputs(extension: Extension, sizes: list[int], seed: int) -> None:
    values = [random_table(n, seed + number) for number, n in enumerate(sizes)]
    together = tables(*values)
    x = torch.rand(2, sum(sizes), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    x = extension.within(x, together.ground)
    found, paired = extension(x, together), extension.paired(x, together)
    for number, part in enumerate(x.split(sizes, dim=1)):
        torch.testing.assert_close(found[:, number], extension(part, table(values[number]))[:, 0])
        alone = extension.paired(part, table(values[number]))[:, 0]
        torch.testing.assert_close(paired[:, number], alone)


@by_repr
@given(x=vectors(), seed=seeds)
def test_the_best_set_is_the_best_in_the_support(extension: Extension, x: Tensor, seed: int) -> None:
    values = random_table(len(x), seed)
    ground, rows = one(extension, x)
    p = extension.distribution(rows, ground)
    score, members = p.best(table(values))
    assert score.item() == max(values[number].item() for number in probabilities_by_set(p))
    assert values[number_of(members)].item() == score.item()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 2e-2)])
@by_repr
def test_low_precision(extension: Extension, dtype: torch.dtype, tolerance: float) -> None:
    f = table(random_table(8, 0))
    x = extension.within(torch.rand(1, 8, dtype=torch.float64), f.ground) * 0.9
    low = x.to(dtype).requires_grad_()
    value = extension(low, f)
    value.sum().backward()
    assert value.dtype == torch.float32
    torch.testing.assert_close(
        value.double(), extension(low.detach().double(), f), atol=tolerance * 4, rtol=0
    )
    assert bool(low.grad.isfinite().all())  # type: ignore[union-attr]


@pytest.mark.parametrize("extension", [Lovasz(), Multilinear()], ids=repr)
def test_counts_beyond_the_range_of_float16(extension: Extension) -> None:
    nodes = 400
    f = GraphFunction(graphs=Graphs.of(torch.zeros(2, 0).long(), sizes=(nodes,)), formula=clique_penalty())
    x = torch.rand(nodes, generator=torch.Generator().manual_seed(0)).half()
    torch.testing.assert_close(extension(x, f), extension(x.float(), f), rtol=1e-3, atol=0)


def test_only_singletons_need_be_finite() -> None:
    def f(sets: Tensor) -> Tensor:
        weights = torch.tensor([3.0, 1.0, 2.0])
        return torch.where(sets.sum(1) == 1, sets.float() @ weights, math.inf * sets.any(1)).nan_to_num(0.0)

    x = torch.tensor([0.5, 1.0, 0.25])
    assert Singleton()(x, f).item() == pytest.approx(0.5 * 1 + 0.25 * 3 + 0.25 * 2)


def test_samples_have_the_mean_and_the_gradient_of_the_multilinear_extension() -> None:
    f = table(random_table(4, 3) + 7.0 * subsets(4).any(1))
    x = torch.tensor([0.2, 0.5, 0.7, 0.4], dtype=torch.float64, requires_grad=True)
    drawn = SampledMultilinear(samples=8, generator=torch.Generator().manual_seed(0))
    copies = x.expand(20_000, 4)
    estimates = drawn(copies, f)[:, 0]
    exact = Multilinear()(x, f)[0]
    error = estimates.std() / math.sqrt(len(estimates))
    assert abs(estimates.mean() - exact).item() < 4 * error.item()
    (found,) = torch.autograd.grad(estimates.mean(), x)
    (expected,) = torch.autograd.grad(exact, x)
    torch.testing.assert_close(found, expected, atol=0.1, rtol=0)
    # A constant that is added to f does not pass through.
    ground = GroundSet(sizes=(4,))
    mass = drawn.distribution(x[None], ground).mass
    torch.testing.assert_close(mass.item(), 1.0)
    (of_a_constant,) = torch.autograd.grad(mass.sum(), x)
    torch.testing.assert_close(of_a_constant, torch.zeros(4, dtype=torch.float64))


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
@by_repr
def test_x_outside_the_unit_interval_is_refused(extension: Extension, bad: float) -> None:
    with pytest.raises(ValueError, match=r"expected x in \[0, 1\], got"):
        extension(torch.tensor([0.1, bad, 0.2]), table(random_table(3, 0)))


def test_x_off_the_simplex_is_refused_where_it_must_lie_there() -> None:
    x = torch.tensor([0.9, 0.8, 0.7])
    with pytest.raises(ValueError, match=r"x_1 \+ \.\.\. \+ x_n <= 1, got 2.4 for input 0"):
        Permutation()(x, table(random_table(3, 0)))
    with pytest.raises(ValueError, match=r"x_\(1\+k\).*got 1.6 for input 0; `within`"):
        BoundedLovasz(k=2)(x, table(random_table(3, 0)))


def test_a_wrong_shape_is_refused() -> None:
    f = tables(random_table(3, 0), random_table(2, 0))
    with pytest.raises(ValueError, match=r"expected x of shape \(5,\) or \(rows, 5\).*got \(4,\)"):
        Lovasz()(torch.rand(4), f)
    with pytest.raises(ValueError, match="expected x in floating point"):
        Lovasz()(torch.ones(5, dtype=torch.long), f)


def test_set_functions_that_are_none_are_refused() -> None:
    x = torch.tensor([0.1, 0.3, 0.2])
    with pytest.raises(ValueError, match="expected a set function or a callable"):
        Lovasz()(x, 3.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"one for each set, must have shape \(1,\), got \(1, 3\)"):
        Lovasz()(x, lambda sets: sets.float())
    with pytest.raises(ValueError, match=r"tensor of real numbers, got torch.complex64"):
        Lovasz()(x, lambda sets: sets.sum(1) * 1j)
    with pytest.raises(ValueError, match="got a single number"):
        Lovasz()(torch.tensor(0.5), lambda sets: sets.sum(1))
    with pytest.raises(ValueError, match="tensor of real numbers, got float"):
        Lovasz()(x, lambda sets: 1.0)
    with pytest.raises(ValueError, match=r"got NaN for \{1, 2\} of input 0"):
        Lovasz()(x, lambda sets: torch.where(sets.sum(1) == 2, math.nan, 0.0))
    with pytest.raises(ValueError, match=r"got NaN for \{0, 1\} of input 0"):
        Multilinear()(x, lambda sets: torch.where((sets.sum(1) == 2) & ~sets[:, 2], math.nan, 0.0))


def test_something_for_nothing_is_refused_and_can_be_subtracted() -> None:
    f = table(random_table(3, 0) + 2.0)
    x = torch.tensor([0.1, 0.3, 0.2], dtype=torch.float64)
    with pytest.raises(ValueError, match=r"assumes f\(empty set\) = 0, got 2 for input 0; extend Normalized"):
        Lovasz()(x, f)
    torch.testing.assert_close(Lovasz()(x, Normalized(function=f)), Lovasz()(x, table(random_table(3, 0))))


def test_empty_inputs_are_refused() -> None:
    with pytest.raises(ValueError, match="every input to have an element, got 0 for input 1"):
        GroundSet(sizes=(2, 0))
    with pytest.raises(ValueError, match="at least one input"):
        GroundSet(sizes=())


def test_too_many_subsets_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 16 elements to list all subsets, got 17"):
        Multilinear()(torch.rand(17), lambda sets: sets.any(1).float())


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_no_sets_of_such_a_size(k: int) -> None:
    with pytest.raises(ValueError, match="k must be an integer of at least 1"):
        BoundedLovasz(k=k)


def test_one_sample_has_no_baseline() -> None:
    with pytest.raises(ValueError, match="samples must be an integer of at least 2"):
        SampledMultilinear(samples=1, generator=torch.Generator())


@pytest.mark.parametrize("extension", [Permutation(), BoundedLovasz(k=3)], ids=repr)
@pytest.mark.parametrize(("dtype", "allowed"), [(torch.bfloat16, 0.02), (torch.float32, 1e-5)])
def test_the_mean_of_many_windows_is_as_exact_as_the_type(
    extension: Extension, dtype: torch.dtype, allowed: float
) -> None:
    ground = GroundSet(sizes=(1000,))
    x = torch.rand(1, 1000, generator=torch.Generator().manual_seed(0)).to(dtype)
    rows = extension.within(x, ground)
    mean = extension.distribution(rows, ground).mean
    assert (mean - rows).abs().max() <= allowed * rows.max()
